"""The law of L between normal laws mu apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.intervals.differences import position_slack
from tradeoff.intervals.quadrature import integrate
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.law import Cells, LossLaw, Sketch

_REACH = 39.0
"""Standard deviations beyond which a normal law has no mass a float can hold."""

_LOG_SQRT_2PI = 0.9189385332046727


@dataclass(frozen=True, eq=False)
class GaussianLaw(LossLaw):
    """L = mu x - mu^2/2 with x standard normal under P."""

    mu: float

    @property
    def support(self) -> tuple[float, float]:
        reach = self.mu * _REACH + self.mu**2 / 2
        return -reach, reach

    @property
    def range(self) -> tuple[float, float]:
        return (-np.inf, np.inf) if self.mu else (0.0, 0.0)

    def sketch(self) -> Sketch:
        x = np.linspace(-_REACH, self.mu + _REACH, 751)
        return Sketch(self.mu * x - self.mu**2 / 2, np.log(x[1] - x[0]) - x**2 / 2 - _LOG_SQRT_2PI)

    def _cells(self, edges: Array) -> Cells:
        mu = self.mu
        x = edges / mu + mu / 2

        def gaps(point: Array, rise: Array, fall: Array) -> tuple[Array, Array]:
            # e^L dP is the normal law around mu, so e^L - e^a needs no large number.
            under_q = np.exp(-((point - mu) ** 2) / 2 - _LOG_SQRT_2PI)
            under_p = np.exp(-point * point / 2 - _LOG_SQRT_2PI)
            return under_q * -np.expm1(-mu * rise), under_p * -np.expm1(-mu * fall)

        steepest = np.maximum(np.abs(x[:-1]), np.abs(x[1:]))
        excess, deficit = integrate(gaps, x[:-1], x[1:], steepest + mu + 1)
        slack = (64 + (steepest + mu) ** 2) * UNIT + position_slack(
            edges, 4 * UNIT * (np.abs(edges) + mu * mu)
        )
        return Cells(excess, deficit, slack)

    def description(self) -> dict[str, Any]:
        return {"kind": "gaussian", "mu": self.mu}
