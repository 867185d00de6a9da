"""From a description to the library's curve, and to the expression that makes it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import scipy.stats

import tradeoff as to
from tests.truth.atoms import DiscreteGaussian, DiscreteLaplace, Masses, PureDP, TotalVariation
from tests.truth.continuous import Gaussian, Gaussians, Gumbel, Laplace, Logistic
from tests.truth.line import Histograms, Normals, Powers, Restated
from tests.truth.mixtures import NormalMixtures
from tests.truth.operators import (
    FixedSize,
    Group,
    Maximum,
    Minimum,
    Mixture,
    Product,
    ReversedPLD,
    Subsampled,
)
from tests.truth.polygons import Hull, Polygon
from tests.truth.spec import Spec
from tradeoff.families.discrete import DiscreteGaussianCurve, DiscreteLaplaceCurve

NAMES = {
    "to": to,
    "F": Fraction,
    "st": scipy.stats,
    "DiscreteGaussianCurve": DiscreteGaussianCurve,
    "DiscreteLaplaceCurve": DiscreteLaplaceCurve,
}
"""What an expression may name; ``inf`` is written as float("inf")."""


def written(spec: Spec) -> str:  # noqa: C901, PLR0911, PLR0912 - one case a description
    """Return the expression that makes the curve."""
    match spec:
        case Gaussians():
            return written(Product(tuple((Gaussian(mu), n) for mu, n in spec.mu)))
        case Gaussian() | Laplace() | PureDP() | TotalVariation() | DiscreteLaplace() | DiscreteGaussian():
            name = type(spec).__name__
            name = f"{name}Curve" if name.startswith("Discrete") else f"to.{name}"
            return f"{name}({', '.join(map(number, vars(spec).values()))})"
        case Logistic(shift, scale) | Gumbel(shift, scale):
            name = "logistic" if isinstance(spec, Logistic) else "gumbel_r"
            return f"to.LocationShift(st.{name}(scale={number(scale)}), {number(shift)})"
        case NormalMixtures(null, alternative, sigma):
            return f"to.GaussianMixtures({by_mean(null)}, {by_mean(alternative)}, {number(sigma)})"
        case Restated(base, way):
            return assume(base, way)
        case Normals(mean, scale):
            return f"to.from_scipy(st.norm(), st.norm({number(mean)}, {number(scale)}))"
        case Powers(power, "beta", loc):
            return f"to.from_scipy(st.beta(1, 1, {loc}), st.beta({float(power)!r}, 1, {loc}))"
        case Powers(power):
            return f"to.from_scipy(st.expon(), st.expon(scale={float(1 / power)!r}))"
        case Histograms(p, q, edges):
            sides = (
                f"st.rv_histogram(({listed(side)}, {listed(edges)}), density=False)()" for side in (p, q)
            )
            return f"to.from_scipy({', '.join(sides)})"
        case Masses(p, q):
            return f"to.from_masses({listed(p)}, {listed(q)})"
        case Polygon(alpha, beta):  # Hull among them
            made = "to.PiecewiseLinear.hull" if isinstance(spec, Hull) else "to.PiecewiseLinear"
            return f"{made}({listed(alpha)}, {listed(beta)})"
        case Subsampled(base, rate) | FixedSize(base, rate):
            scheme = ', scheme="without-replacement"' if isinstance(spec, FixedSize) else ""
            return f"to.subsample({written(base)}, {number(rate)}{scheme})"
        case ReversedPLD(base):
            return f"(~{written(base)})"
        case Group(base, size):
            return f"{written(base)}.group({size})"
        case Minimum(parts) | Maximum(parts):
            return f"to.{type(spec).__name__.lower()}({', '.join(map(written, parts))})"
        case Mixture(parts):
            return f"to.mixture({{{', '.join(f'{written(part)}: {number(w)}' for w, part in parts)}}})"
        case Product(parts):
            return f"({' @ '.join(written(part) + (f' ** {n}' if n != 1 else '') for part, n in parts)})"
    raise TypeError(spec)


def assume(spec: Spec, way: str) -> str:
    """Return the expression that makes a curve in a way of the user's own."""
    pairs = {
        Gaussian: lambda f: ("st.norm()", f"st.norm({number(f.mu)})", []),
        Laplace: lambda f: ("st.laplace()", f"st.laplace({number(f.epsilon_0)})", [0.0, f.epsilon_0]),
        Logistic: lambda f: (
            f"st.logistic(scale={number(f.scale)})",
            f"st.logistic({number(f.shift)}, {number(f.scale)})",
            [],
        ),
    }
    if way == "formula":
        return f"{written(spec)}.symbolic()"
    p, q, breaks = pairs[type(spec)](spec)
    if way == "scipy":
        return f"to.from_scipy({p}, {q}, breaks={listed(breaks)})"
    given = f", breaks={listed(breaks)}" if way == "densities and breaks" else ""
    return f"to.from_densities({p}.pdf, {q}.pdf{given})"


def number(x: object) -> str:
    """Return an expression for a number."""
    if isinstance(x, Fraction):
        return f"F({x.numerator}, {x.denominator})"
    return f'float("{x}")' if x in {float("inf"), float("-inf")} else repr(x)


def listed(numbers: Iterable[object]) -> str:
    """Return an expression for a list of numbers."""
    return f"[{', '.join(map(number, numbers))}]"


def by_mean(weights: Iterable[tuple[object, object]]) -> str:
    """Return an expression for weights by mean."""
    return f"{{{', '.join(f'{number(mean)}: {number(weight)}' for mean, weight in weights)}}}"


def built(spec: Spec) -> to.TradeOff:
    """Return the curve of the library."""
    curve: to.TradeOff = eval(written(spec), dict(NAMES))
    return curve
