"""The loss of a product as a sum of independent losses under both laws, and how far from normal it is.

Masses at infinity, where no limit theorem applies, are split off before one and attached again after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeVar

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, expm1, log1p, minimum, rational, sqrt, total, whole
from tradeoff.limits.closed_forms import NOTHING, Moments
from tradeoff.limits.moments import factors, known_mass, measurable, moments
from tradeoff.operators.symmetrise import Envelope

T = TypeVar("T")

Law = list[tuple[Moments, int]]  # moments of the summands, each with the number of times it is drawn

# sup |F - Phi| <= 0.56 sum E|X_j - E X_j|^3/V^(3/2) for independent summands, V in all (Shevtsova 2010).
_INDEPENDENT = rational(Fraction("0.56"))

# (a, b) with sup |F - Phi| <= a (rho + b)/sqrt(n), rho = E|X - E X|^3/sd^3, for n identical summands
# (Shevtsova 2013); the floats next to most of them are below them.
_IDENTICAL = tuple(
    (rational(Fraction(a)), rational(Fraction(b)))
    for a, b in (("0.4690", "0"), ("0.3322", "0.429"), ("0.3031", "0.646"))
)

End = Literal["mass_at_plus_infinity", "mass_at_minus_infinity"]


class LossSum(NamedTuple):
    """Summands of finite L under P and of -L under Q, the gap E_Q L - E_P L, and masses at infinity."""

    null: Law
    other: Law
    gap: Bounds
    mass_at_minus_infinity: Bounds
    mass_at_plus_infinity: Bounds


def attached(finite: TradeOff, mass_at_minus_infinity: float, mass_at_plus_infinity: float) -> TradeOff:
    """Return (1 - q) f(alpha/(1 - p)): f with masses p at -inf under P and q at +inf under Q."""
    if mass_at_minus_infinity == mass_at_plus_infinity:
        return finite @ TotalVariation(mass_at_plus_infinity)
    if mass_at_minus_infinity >= 1 or mass_at_plus_infinity >= 1:
        return TotalVariation(1.0)
    return finite @ PiecewiseLinear([0.0, 1 - mass_at_minus_infinity], [1 - mass_at_plus_infinity, 0.0])


def lost(powers: Mapping[TradeOff, int], side: int, end: End) -> Bounds:
    """Bound 1 - prod (1 - mass)^n of a curve below (side 0) or above (1) a product."""
    leaking = [(mass, n) for factor, n in powers.items() if (mass := _mass(factor, side, end)).upper > 0]
    if len(leaking) == 1 and leaking[0][1] == 1:
        return leaking[0][0]
    return clip(-expm1(total(whole(n) * log1p(-mass) for mass, n in leaking)), 0.0, 1.0)


def _mass(factor: TradeOff, side: int, end: End) -> Bounds:
    """Bound the mass of the law that stands for a factor: one below it may leak where the factor does not."""
    laws = factor.laws()
    if laws[0] is laws[1]:
        return (factor if end == "mass_at_plus_infinity" else factor.inverse()).mass_at_infinity
    return known_mass(getattr(laws[side], end))


def per_order(curve: TradeOff, made: Callable[[LossSum], T]) -> tuple[tuple[T, T], ...]:
    """Return what is made of a sum below and of one above, for each order of the pair that counts."""
    orders = curve.operands if isinstance(curve, Envelope) else (curve,)
    return tuple(_both_sides(factors(order), made) for order in orders)


def _both_sides(powers: dict[TradeOff, int], made: Callable[[LossSum], T]) -> tuple[T, T]:
    """Return the same twice where every factor's law is exact."""
    below = made(_loss_sum(powers, 0))
    exact = all(moments(factor)[0] is moments(factor)[1] for factor in powers)
    return below, below if exact else made(_loss_sum(powers, 1))


def _loss_sum(powers: dict[TradeOff, int], side: int) -> LossSum:
    null = [(_smoothed(factor, side), n) for factor, n in powers.items()]
    other = [(_smoothed(factor, side, reverse=not factor.symmetric), n) for factor, n in powers.items()]
    gap = added(null, "kl") + added(other, "kl")
    return LossSum(
        null,
        other,
        gap,
        lost(powers, side, "mass_at_minus_infinity"),
        lost(powers, side, "mass_at_plus_infinity"),
    )


def _smoothed(factor: TradeOff, side: int, *, reverse: bool = False) -> Moments:
    """Return a factor's moments; G_mu is made of m factors G_{mu/sqrt(m)}, whose higher moments vanish."""
    result = moments(factor, reverse=reverse)[side]
    return result._replace(third=NOTHING) if isinstance(factor, Gaussian) else result


def rough(law: Law) -> Law:
    """Return the summands that are not normal."""
    return [(m, n) for m, n in law if m.third.upper > 0]


def variance(law: Law) -> Bounds:
    """Return the variance of a sum, unless floats do not hold its third moments."""
    return measurable(added(law, "variance"))


def deviation(law: Law) -> Bounds:
    """Return the standard deviation of a sum; 1 of a constant 0, so that it is normal with a gap of 0."""
    result = variance(law)
    return Bounds(1.0, 1.0) if result.upper == 0 else sqrt(result)


def added(law: Law, moment: str) -> Bounds:
    """Add a moment of the summands up."""
    return total(whole(n) * getattr(m, moment) for m, n in law)


def normal_distance(rough: Sequence[tuple[Any, int]], variance: Bounds, *, sharp: bool = True) -> Any:
    """Bound sup |F - Phi| of a standardised sum of this variance in all, the normal summands' included.

    ``rough`` has the moments ``third`` and ``variance`` of those that are not normal, and their numbers. Of
    arrays it is one, of floats a float. A normal summand costs nothing: it is a sum of m narrower ones, whose
    third moments add up to less as m grows. Nor does it move two distribution functions apart, so that
    identical summands may also be measured on their own.
    """
    if not rough:
        return 0.0
    third = sum((whole(n) * m.third for m, n in rough), NOTHING)
    gamma = _INDEPENDENT * third / (variance * sqrt(variance))
    if sharp and len(rough) == 1:
        [(m, n)] = rough
        rho = m.third / (m.variance * sqrt(m.variance))
        gamma = minimum(gamma, *(a * (rho + b) / sqrt(whole(n)) for a, b in _IDENTICAL))
    return gamma.upper
