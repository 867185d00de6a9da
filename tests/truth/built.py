"""From a description to the library's curve, and to the expression that makes it."""

from __future__ import annotations

from fractions import Fraction

import tradeoff as to
from tests.truth.atoms import DiscreteGaussian, DiscreteLaplace, PureDP, TotalVariation
from tests.truth.continuous import Gaussian, Gaussians, Laplace
from tests.truth.operators import Group, Maximum, Minimum, Mixture, Product, Reversed, Subsampled
from tests.truth.polygons import Polygon
from tests.truth.spec import Spec
from tradeoff.families.discrete import DiscreteGaussianCurve, DiscreteLaplaceCurve

NAMES = {
    "to": to,
    "F": Fraction,
    "DiscreteGaussianCurve": DiscreteGaussianCurve,
    "DiscreteLaplaceCurve": DiscreteLaplaceCurve,
}
"""What an expression may name; ``inf`` is written as float("inf")."""


def written(spec: Spec) -> str:  # noqa: C901, PLR0911, PLR0912 - one case a description
    """Return the expression that makes the curve."""
    match spec:
        case Gaussians():
            return written(Product(tuple((Gaussian(mu), n) for mu, n in spec.mu)))
        case Gaussian(mu):
            return f"to.Gaussian({number(mu)})"
        case Laplace(epsilon):
            return f"to.Laplace({number(epsilon)})"
        case PureDP(epsilon):
            return f"to.PureDP({number(epsilon)})"
        case TotalVariation(mass):
            return f"to.TotalVariation({number(mass)})"
        case DiscreteLaplace(scale, shift):
            return f"DiscreteLaplaceCurve({number(scale)}, {shift})"
        case DiscreteGaussian(sigma, shift):
            return f"DiscreteGaussianCurve({number(sigma)}, {shift})"
        case Polygon(alpha, beta):
            return f"to.PiecewiseLinear([{', '.join(map(number, alpha))}], [{', '.join(map(number, beta))}])"
        case Subsampled(base, rate):
            return f"to.subsample({written(base)}, {number(rate)})"
        case Reversed(base):
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


def number(x: object) -> str:
    """Return an expression for a number."""
    if isinstance(x, Fraction):
        return f"F({x.numerator}, {x.denominator})"
    return f'float("{x}")' if x in {float("inf"), float("-inf")} else repr(x)


def built(spec: Spec) -> to.TradeOff:
    """Return the curve of the library."""
    curve: to.TradeOff = eval(written(spec), dict(NAMES))  # noqa: S307 - an expression written above
    return curve
