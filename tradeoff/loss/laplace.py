"""The law of L between Laplace laws epsilon apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.intervals.differences import position_slack
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.law import Atoms, Cells, LossLaw, Sketch


@dataclass(frozen=True, eq=False)
class LaplaceLaw(LossLaw):
    """L = |x| - |x - epsilon|: atoms at both ends, and L = 2x - epsilon between."""

    epsilon: float

    @property
    def support(self) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    @property
    def atoms(self) -> Atoms:
        ends = np.array([-self.epsilon, self.epsilon])
        return Atoms(
            ends, np.log(0.5) + np.array([0.0, -self.epsilon]), np.full(2, (4 + 2 * self.epsilon) * UNIT)
        )

    def sketch(self) -> Sketch:
        x = (np.arange(400) + 0.5) * (self.epsilon / 400)
        inside = np.log(self.epsilon / 800) - x
        loss = np.concatenate([[-self.epsilon], 2 * x - self.epsilon, [self.epsilon]])
        return Sketch(loss, np.concatenate([[np.log(0.5)], inside, [np.log(0.5) - self.epsilon]]))

    def _cells(self, edges: Array) -> Cells:
        # With x = (L + epsilon)/2 and w the cell's width in x, both integrals of e^-x (e^2t - 1)/2 are e^-x 2 sinh^2(w/2).
        x = (edges + self.epsilon) / 2
        twice = 2 * np.sinh(np.diff(x) / 2) ** 2
        slack = 16 * UNIT + position_slack(edges, 2 * UNIT * (np.abs(edges) + self.epsilon))
        return Cells(np.exp(edges[:-1] - x[:-1]) * twice, np.exp(-x[1:]) * twice, slack)

    def description(self) -> dict[str, Any]:
        return {"kind": "laplace", "epsilon": self.epsilon}
