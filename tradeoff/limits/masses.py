"""Masses at infinity, where no limit theorem applies: split off before one, attached again after it."""

from __future__ import annotations

import math

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.families.total_variation import TotalVariation


def attached(finite: TradeOff, p_minus: float, q_plus: float) -> TradeOff:
    """Return (1 - q) f(alpha/(1 - p)), the product of f with a pair of which P says -inf with p and Q says +inf with q."""
    if p_minus == q_plus:
        return finite @ TotalVariation(q_plus)
    if p_minus >= 1 or q_plus >= 1:
        return TotalVariation(1.0)
    return finite @ PiecewiseLinear([0.0, 1 - p_minus], [1 - q_plus, 0.0])


def lost(each: list[tuple[float, int]]) -> float:
    """Return 1 - prod (1 - mass)^n, the mass that n draws of each leave at infinity."""
    leaking = [(mass, n) for mass, n in each if mass > 0]
    if any(mass >= 1 for mass, _ in leaking):
        return 1.0
    if len(leaking) == 1 and leaking[0][1] == 1:
        return leaking[0][0]
    return -math.expm1(math.fsum(n * math.log1p(-mass) for mass, n in leaking))
