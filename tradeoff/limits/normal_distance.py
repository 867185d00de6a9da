"""How far a sum of independent losses can be from a normal law: Berry and Esseen's constants."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import minimum, rational, sqrt, whole

_INDEPENDENT = rational(Fraction("0.56"))
"""sup |F - Phi| <= 0.56 sum E|X_j - E X_j|^3/V^(3/2) for independent summands of variance V in all (Shevtsova
2010)."""

_IDENTICAL = tuple(
    (rational(Fraction(a)), rational(Fraction(b)))
    for a, b in (("0.4690", "0"), ("0.3322", "0.429"), ("0.3031", "0.646"))
)
"""(a, b) with sup |F - Phi| <= a (rho + b)/sqrt(n), rho = E|X - E X|^3/sd^3, for n identical summands
(Shevtsova 2013); the floats next to most of them are below them."""


class Rough(NamedTuple):
    """E|X - E X|^3 and variance of a summand that is not normal, and how often it is drawn."""

    third: Bounds
    variance: Bounds
    times: int


def normal_distance(rough: Sequence[Rough], variance: Bounds, *, sharp: bool = True) -> Any:
    """Bound sup |F - Phi| of a standardised sum of this variance in all, the normal summands' included.

    Of arrays it is one, of floats a float. A normal summand costs nothing: it is a sum of m narrower ones,
    whose third moments add up to less as m grows. Nor does it move two distribution functions apart, so that
    identical summands may also be measured on their own.
    """
    if not rough:
        return 0.0
    third = sum((whole(each.times) * each.third for each in rough), Bounds(0.0, 0.0))
    gamma = _INDEPENDENT * third / (variance * sqrt(variance))
    if sharp and len(rough) == 1:
        [(third, own, n)] = rough
        rho = third / (own * sqrt(own))
        gamma = minimum(gamma, *(a * (rho + b) / sqrt(whole(n)) for a, b in _IDENTICAL))
    return gamma.upper
