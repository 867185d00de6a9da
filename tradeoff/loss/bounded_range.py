"""The law of L between logistic laws epsilon apart: that of Laplace laws, without its atoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.components import Component
from tradeoff.loss.laplace import IntervalBase, LaplaceLaw
from tradeoff.loss.law import Cells, LossLaw, Sketch

_CELLS = 800
"""Points of a sketch."""

_UNITS = 12
"""Of the factor 2/(1 - e^-epsilon): 8 of expm1, and a quotient."""


@dataclass(frozen=True, eq=False)
class BoundedRangeLaw(LossLaw):
    """Density e^(-l/2)/(4 sinh(epsilon/2)) on [-epsilon, epsilon]: k times that of ``IntervalBase``."""

    epsilon: float

    symmetric = True

    @property
    def support(self) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    @property
    def _factor(self) -> float:
        return float(-2 / np.expm1(-self.epsilon))

    def sketch(self) -> Sketch:
        # A cell [a, a + h] has P-mass k e^-(a + h/2 + epsilon)/2 sinh(h/4); Q has e^(a + h/2) times that.
        # It is split between its ends so that both are kept: e^(h/2) to 1.
        loss = np.linspace(-self.epsilon, self.epsilon, _CELLS + 1)
        h = 2 * self.epsilon / _CELLS
        cell = np.log(self._factor) + np.log(np.sinh(h / 4)) - (loss[:-1] + h / 2 + self.epsilon) / 2
        right = cell - np.logaddexp(0.0, h / 2)
        return Sketch(loss, np.logaddexp(np.append(right + h / 2, -np.inf), np.append(-np.inf, right)))

    def components(self) -> list[Component]:
        return [Component(IntervalBase(self.epsilon), k=self._factor, units=_UNITS)]

    def _cells(self, edges: Array) -> Cells:
        excess, deficit, slack = LaplaceLaw(self.epsilon).cells(edges)
        return Cells(self._factor * excess, self._factor * deficit, slack + (_UNITS + 2) * UNIT)
