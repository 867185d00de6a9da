"""The form of every curve that a file can hold; formulas are code, and stay out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import count, number
from tradeoff.curves.piecewise_linear import MAX_VERTICES, PiecewiseLinear
from tradeoff.curves.tensor import Tensor, tensor
from tradeoff.errors import DomainError, shown
from tradeoff.exchange.codec import Codec, Form, attributes, record
from tradeoff.families.bounded_range import BoundedRange
from tradeoff.families.discrete import (
    AllocatedCurve,
    BinomialCurve,
    DiscreteGaussianCurve,
    DiscreteLaplaceCurve,
    ShuffledCurve,
    SkellamCurve,
)
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.gaussian_mixtures import GaussianMixtures
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.location_shift import LocationShift, LogConcaveShift
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.families.truncated import Truncated
from tradeoff.families.zero_concentrated import ZeroConcentrated
from tradeoff.intervals.polygon import ONE, hull
from tradeoff.operators.group import Group
from tradeoff.operators.inverse import Inverse
from tradeoff.operators.mixture import Mixture, mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum, maximum, minimum
from tradeoff.operators.subsample import Subsampled, one_order
from tradeoff.operators.symmetrise import Envelope, ProfileSymmetrised


def _polygon_fields(f: PiecewiseLinear) -> dict[str, Any]:
    """Return the vertices, and where they are floats what they are less than 1: the small number is exact."""
    if f.assumptions:
        raise DomainError(f"{f!r} rests on assumptions, which no file holds; keep it where it was made")
    sides = {"alpha": f.alpha.tolist(), "beta": f.beta.tolist()}
    if f.is_rational:
        return sides
    rest, power = f.complements
    return sides | {"one_minus_alpha": rest.tolist(), "one_minus_beta": power.tolist()}


def _polygon(
    alpha: Any, beta: Any, one_minus_alpha: Any = None, one_minus_beta: Any = None
) -> PiecewiseLinear:
    if exact := one_minus_alpha is None and one_minus_beta is None:
        x, y = ([_rational(v) for v in side] for side in (alpha, beta))
    else:
        x, y = _exactly(alpha, one_minus_alpha), _exactly(beta, one_minus_beta)
    wholes = _convex_multiples(x, y)
    if wholes is None:
        if max(len(x), len(y)) > MAX_VERTICES:  # checked in fractions, ten times slower
            raise DomainError(
                f"alpha and beta must be strictly convex floats, or at most {MAX_VERTICES:,} vertices, "
                f"got {len(x):,}; save PiecewiseLinear.hull(alpha, beta)"
            )
        checked = PiecewiseLinear(x, y)  # in fractions, where no violation is forgiven
        if exact:
            return checked
        wholes = tuple([int(v * ONE) for v in side] for side in zip(*checked.vertices, strict=True))
    if exact:
        return PiecewiseLinear.of_checked(
            np.array(x, dtype=object), np.array(y, dtype=object), is_rational=True
        )
    return PiecewiseLinear.of_wholes(*wholes)


def _convex_multiples(x: list[Fraction], y: list[Fraction]) -> tuple[list[int], ...] | None:
    """Return the vertices as multiples of 2^-1074 if they are those of a curve; else None."""
    if not (len(x) == len(y) > 0 == x[0] == y[-1]) or any(ONE % d for d in {v.denominator for v in (*x, *y)}):
        return None
    wholes = tuple([v.numerator * (ONE // v.denominator) for v in side] for side in (x, y))
    points = list(zip(*wholes, strict=True))
    return wholes if wholes[0][-1] <= ONE and min(wholes[1]) == 0 and hull(points) == points else None


def _exactly(values: Any, rests: Any) -> list[Fraction]:
    """Return coordinates from the smaller number of each pair that adds to 1, which must agree."""
    if rests is None or len(values) != len(rests):
        raise DomainError("alpha, beta, one_minus_alpha and one_minus_beta must have one length")
    if any(abs(v + r - 1) > 1e-15 for v, r in zip(values, rests, strict=True)):
        raise DomainError("alpha + one_minus_alpha and beta + one_minus_beta must be 1")
    return [_rational(v) if v <= 0.5 else 1 - _rational(r) for v, r in zip(values, rests, strict=True)]


def _rational(value: Any) -> Fraction:
    """Return a number as a fraction; Python would read texts such as "1e999999999" for hours."""
    if isinstance(value, bool) or not isinstance(value, Fraction | int | float):
        raise DomainError(f"{shown(value)} is no number")
    return Fraction(value)


def _product(curves: Any, powers: Any) -> TradeOff:
    pairs = zip(curves, powers, strict=True)
    return tensor([(operand(curve), count("power", n, 1)) for curve, n in pairs])


def _mixture(curves: Any, weights: Any) -> TradeOff:
    """Return a mixture; fractions that add to 1 are kept as they are."""
    shares = dict(zip(map(operand, curves), weights, strict=True))
    if len(shares) < len(curves):
        raise DomainError("a curve stands twice among those mixed; add its weights")
    return mixture(shares)


def _subsampled(curve: Any, rate: Any, flipped: Any) -> TradeOff:
    if not isinstance(flipped, bool):
        raise DomainError(f"flipped = {shown(flipped)} is neither true nor false")
    found = one_order(operand(curve), number("rate", rate, 0, 1))
    return found.inverse() if flipped else found


def _either(what: str, **given: Any) -> None:
    """Refuse what has not one of the numbers, or more."""
    if sum(number is not None for number in given.values()) != 1:
        raise DomainError(f"{what} has either {' or '.join(given)}")


def _gaussian_fields(f: Gaussian) -> dict[str, Any]:
    return {"mu": f.mu} if f.square is None else {"square": f.square}


def _gaussian(mu: Any = None, square: Any = None) -> Gaussian:
    """Return the curve, of mu or of mu^2 where that is the square of no float."""
    _either("a Gaussian", mu=mu, square=square)
    return Gaussian(mu) if square is None else Gaussian.from_weight(_rational(square))


def _shift_fields(f: LogConcaveShift) -> dict[str, Any]:
    names, values = zip(*f.arguments, strict=True)
    shift = float(f.shift)
    return {"law": f.name, "names": names, "values": values, "shift": shift if shift == f.shift else f.shift}


def _shift(law: Any, names: Any, values: Any, shift: Any) -> TradeOff:
    import scipy.stats

    distribution = getattr(scipy.stats, law, None) if isinstance(law, str) else None
    if not isinstance(distribution, scipy.stats.rv_continuous):
        raise DomainError(f"law = {law!r} is no continuous distribution of scipy.stats")
    return LocationShift(distribution(**_each_once("names", names, values)), shift)


def _mixtures_fields(f: GaussianMixtures) -> dict[str, Any]:
    means = sorted({*f.null, *f.alternative})
    null, alternative = ([side.get(mean, 0) for mean in means] for side in (f.null, f.alternative))
    return {"means": means, "null": null, "alternative": alternative, "sigma": f.sigma}


def _mixtures(means: Any, null: Any, alternative: Any, sigma: Any) -> TradeOff:
    p, q = (_each_once("means", means, weights) for weights in (null, alternative))
    return GaussianMixtures(p, q, sigma)


def _each_once(name: str, keys: Any, values: Any) -> dict[Any, Any]:
    found = dict(zip(keys, values, strict=True))
    if len(found) < len(keys):
        raise DomainError(f"{name} holds an entry twice")
    return found


def _of_operands(kind: type, make: Callable[..., TradeOff]) -> Form:
    """Return the form of an operator on any number of curves."""
    return Form(
        kind, lambda f: {"curves": f.operands}, lambda curves: make(*map(operand, curves)), ("curves",)
    )


def _of_one(kind: type, make: Callable[[TradeOff], TradeOff]) -> Form:
    """Return the form of an operator on one curve."""
    return Form(kind, lambda f: {"curve": f.operands[0]}, lambda curve: make(operand(curve)), ("curve",))


# Curves by the name they have in a file.
CURVES = Codec(
    {
        "identity": attributes(Identity),
        "gaussian": Form(Gaussian, _gaussian_fields, _gaussian, ("mu", "square"), ("mu", "square")),
        "laplace": attributes(Laplace, epsilon="epsilon_0"),
        "pure-dp": attributes(PureDP, epsilon="epsilon_0"),
        "total-variation": Form(
            TotalVariation, lambda f: {"delta": f.delta_0}, TotalVariation, ("delta",), ("delta",)
        ),
        "discrete-gaussian-curve": attributes(DiscreteGaussianCurve, sigma="sigma", shift="shift"),
        "bounded-range": attributes(BoundedRange, epsilon="epsilon_0"),
        "zero-concentrated": record(ZeroConcentrated),
        "allocated-curve": record(AllocatedCurve),
        "shuffled-curve": record(ShuffledCurve),
        "skellam-curve": attributes(SkellamCurve, variance="variance", shift="shift"),
        "binomial-curve": attributes(BinomialCurve, coins="coins", shift="shift"),
        "truncated": attributes(Truncated, scale="scale", shift="shift", cut="cut", normal="normal"),
        "gaussian-mixtures": Form(
            GaussianMixtures, _mixtures_fields, _mixtures, ("means", "null", "alternative", "sigma")
        ),
        "discrete-laplace-curve": attributes(DiscreteLaplaceCurve, scale="scale", shift="shift"),
        "location-shift": Form(LogConcaveShift, _shift_fields, _shift, ("law", "names", "values", "shift")),
        "piecewise-linear": Form(
            PiecewiseLinear,
            _polygon_fields,
            _polygon,
            ("alpha", "beta", "one_minus_alpha", "one_minus_beta"),
            ("one_minus_alpha", "one_minus_beta"),
        ),
        "product": Form(
            Tensor,
            lambda f: {"curves": list(f.factors), "powers": list(f.factors.values())},
            _product,
            ("curves", "powers"),
        ),
        "subsampled": Form(
            Subsampled,
            lambda f: {"curve": f.operands[0], "rate": f.p, "flipped": f.flipped},
            _subsampled,
            ("curve", "rate", "flipped"),
        ),
        "mixture": Form(
            Mixture, lambda f: {"curves": f.operands, "weights": f.shares}, _mixture, ("curves", "weights")
        ),
        "minimum": _of_operands(HullOfMinimum, minimum),
        "maximum": _of_operands(Maximum, maximum),
        "either-order": _of_one(Envelope, lambda f: f.symmetrise(assume="either-order")),
        "profile-symmetrised": _of_one(ProfileSymmetrised, lambda f: f.symmetrise(assume="profile")),
        "inverse": _of_one(Inverse, lambda f: f.inverse()),
        "group": Form(
            Group,
            lambda f: {"curve": f.operands[0], "k": f.k},
            lambda curve, k: operand(curve).group(k),
            ("curve", "k"),
        ),
    }
)
