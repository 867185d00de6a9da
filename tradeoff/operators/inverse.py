"""Inverse of a curve that has no closed form of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.intervals.bounds import Bounds, Pair, make_bounds
from tradeoff.intervals.functions import exp, expm1
from tradeoff.intervals.roots import turned
from tradeoff.intervals.rounding import Array, around
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.transformed import ReversedPLD


class Inverse(Derived):
    """T(Q, P): f^-1(alpha) = inf{t : f(t) <= alpha}."""

    name = "inverse"

    def __init__(self, base: TradeOff) -> None:
        self.operands = (base,)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return turned(self.operands[0].bounds, alpha)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        # 1 - e^eps (1 - delta_f(-eps)); beyond 700 delta_{f^-1} is at most its value there.
        within = np.minimum(epsilon, 700.0)
        result = exp(within) * self.operands[0].bounds.delta(-within) - expm1(within)
        low = np.where(epsilon > within, self.mass_at_infinity.lower, result.lower)
        return low, np.asarray(result.upper)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        q = self.operands[0].mass_at_minus_infinity  # rounded twice
        return Bounds(q, q) if q in {0.0, 1.0} else make_bounds(*around(q, 4))

    @property
    def mass_at_minus_infinity(self) -> float:
        return self.operands[0].mass_at_plus_infinity

    def inverse(self) -> TradeOff:
        return self.operands[0]

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        base: TradeOff = change(self.operands[0])
        return base.inverse()

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        low, high = self.operands[0].laws()
        below = ReversedPLD(low)
        return below, below if high is low else ReversedPLD(high)
