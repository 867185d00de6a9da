"""Masses at infinity, where no limit theorem applies: split off before one, attached again after it."""

from __future__ import annotations

from tradeoff.core.curve import TradeOff
from tradeoff.core.piecewise_linear import PiecewiseLinear
from tradeoff.families.total_variation import TotalVariation


def attached(finite: TradeOff, p_minus: float, q_plus: float) -> TradeOff:
    """Return (1 - q) f(alpha/(1 - p)), the product of f with a pair of which P says -inf with p and Q says +inf with q."""
    if p_minus == q_plus:
        return finite @ TotalVariation(q_plus)
    if p_minus >= 1 or q_plus >= 1:
        return TotalVariation(1.0)
    return finite @ PiecewiseLinear([0.0, 1 - p_minus], [1 - q_plus, 0.0])
