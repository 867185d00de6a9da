"""Masses at infinity, where no limit theorem applies: split off before one, attached again after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, expm1, log1p, total, whole
from tradeoff.intervals.rounding import around
from tradeoff.limits.moments import KNOWN

End = Literal["q_plus", "p_minus"]


def attached(finite: TradeOff, p_minus: float, q_plus: float) -> TradeOff:
    """Return (1 - q) f(alpha/(1 - p)): f with masses p at -inf under P and q at +inf under Q."""
    if p_minus == q_plus:
        return finite @ TotalVariation(q_plus)
    if p_minus >= 1 or q_plus >= 1:
        return TotalVariation(1.0)
    return finite @ PiecewiseLinear([0.0, 1 - p_minus], [1 - q_plus, 0.0])


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
        return (factor if end == "q_plus" else factor.inverse()).mass_at_infinity
    mass = getattr(laws[side], end)
    return Bounds(0.0, 0.0) if mass == 0 else clip(Bounds(*around(mass, KNOWN)), 0.0, 1.0)
