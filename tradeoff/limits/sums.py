"""The loss of a product as a sum of independent losses: what is known of it under both laws, split from masses at infinity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from tradeoff.curves.contract import TradeOff
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import UNIT
from tradeoff.limits.masses import lost
from tradeoff.limits.moments import NOTHING, Moments, factors, measurable, moments
from tradeoff.operators.symmetrise import Envelope

T = TypeVar("T")

Law = list[tuple[Moments, int]]
"""Moments of the summands under one law, each with the number of times it is drawn."""


class LossSum(NamedTuple):
    """Summands of L under P and of -L under Q, the gap E_Q L - E_P L, and masses at infinity."""

    null: Law
    other: Law
    gap: Bounds
    p_minus: float
    q_plus: float


def per_order(curve: TradeOff, made: Callable[[LossSum], T]) -> tuple[tuple[T, T], ...]:
    """Return what is made of a sum below and of one above, for each order of the pair that counts."""
    found = (both_sides(order) for order in (curve.operands if isinstance(curve, Envelope) else (curve,)))
    return tuple((one := made(below), one if above is below else made(above)) for below, above in found)


def both_sides(curve: TradeOff) -> tuple[LossSum, LossSum]:
    """Return what is known of a curve below and of one above a product; the same twice where every factor's law is exact."""
    powers = factors(curve)
    below = _loss_sum(powers, 0)
    exact = all(moments(factor)[0] is moments(factor)[1] for factor in powers)
    return below, below if exact else _loss_sum(powers, 1)


def _loss_sum(powers: dict[TradeOff, int], side: int) -> LossSum:
    null = [(_smoothed(factor, side), n) for factor, n in powers.items()]
    other = [(_smoothed(factor, side, reverse=not factor.symmetric), n) for factor, n in powers.items()]
    kl = [total(law, "kl") for law in (null, other)]
    p, q = (lost(powers, side, end) for end in ("p_minus", "q_plus"))
    return LossSum(null, other, kl[0] + kl[1], (p.lower + p.upper) / 2, (q.lower + q.upper) / 2)


def _smoothed(factor: TradeOff, side: int, *, reverse: bool = False) -> Moments:
    """Return a factor's moments; G_mu is the product of m factors G_{mu/sqrt(m)}, whose higher moments vanish as m grows."""
    found = moments(factor, reverse=reverse)[side]
    return found._replace(third=NOTHING, fourth=NOTHING) if isinstance(factor, Gaussian) else found


def rough(law: Law) -> Law:
    """Return the summands that are not normal."""
    return [(m, n) for m, n in law if m.third.upper > 0]


def variance(law: Law) -> Bounds:
    """Return the variance of a sum, unless floats do not hold its third moments."""
    return measurable(total(law, "variance"))


def deviation(law: Law) -> Bounds:
    """Return the standard deviation of a sum; 1 of a constant, which is 0, so that it is normal with a gap of 0."""
    found = variance(law)
    if found.upper == 0:
        return Bounds(1.0, 1.0)
    return Bounds(math.sqrt(found.lower) * (1 - 4 * UNIT), math.sqrt(found.upper) * (1 + 4 * UNIT))


def total(law: Law, moment: str) -> Bounds:
    """Add a moment of the summands up."""
    low, high = (
        math.fsum(n * getattr(getattr(m, moment), side) for m, n in law) for side in ("lower", "upper")
    )
    return Bounds(low - 8 * UNIT * abs(low), high + 8 * UNIT * abs(high))
