"""A curve that is known through the law of its loss alone."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.intervals.bounds import Pair
from tradeoff.intervals.functions import clip
from tradeoff.intervals.rounding import Array

if TYPE_CHECKING:
    from tradeoff.composition.planner import Composition


class LawCurve(TradeOff):
    """Curve whose every question the engine answers from ``loss_law()``."""

    composed = True

    @cached_property
    def _engine(self) -> Composition:
        from tradeoff.composition.planner import (
            Composition,
        )  # the engines are loaded when a number is asked

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
