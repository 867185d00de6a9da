"""A curve that is known through the law of its loss alone."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tradeoff.composition.composition import Composition
from tradeoff.curves.contract import TradeOff
from tradeoff.intervals.bounds import Pair
from tradeoff.intervals.functions import clip
from tradeoff.intervals.rounding import Array


class LawCurve(TradeOff):
    """Curve whose every question the engine answers from ``loss_law()``."""

    composed = True

    @cached_property
    def _engine(self) -> Composition:
        return Composition([self.loss_law()], [1], symmetric=self.symmetric)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        inside = (alpha > 0) & (alpha < 1)
        low, high = np.zeros(len(alpha)), np.zeros(len(alpha))
        low[alpha == 0], high[alpha == 0] = clip(1 - self.mass_at_infinity, 0.0, 1.0)
        if inside.any():
            low[inside], high[inside] = self._engine.beta(alpha[inside], tol)
        return low, high

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return self._engine.delta(epsilon, tol)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        return self._engine.epsilon(delta, tol)
