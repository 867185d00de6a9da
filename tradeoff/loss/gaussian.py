"""The law of L between normal laws mu apart: its cells, component and transform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.intervals.differences import position_slack
from tradeoff.intervals.quadrature import integrate
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.components import AffineBase, Component, QuadratureNodes, exponents
from tradeoff.loss.half_normal import HalfNormalBase
from tradeoff.loss.law import Cells, LossLaw, Sketch
from tradeoff.loss.normal_nodes import line_points, line_rule, nodes, path_points, path_rule
from tradeoff.loss.transform import AffineRatio, Transform

_REACH = 39.0
"""Standard deviations beyond which a normal law has no mass a float can hold."""

_LARGEST = 1e150
"""A sketch of a larger mu is that of this one: its losses are past all that engines represent, and squares
are floats."""

_LOG_SQRT_2PI = math.log(2 * math.pi) / 2

_DROP = 9.0
"""Standard deviations beyond the steepest tilt: what is left of a tilted mass, e^-40, is in no bound."""


@dataclass(frozen=True, eq=False)
class GaussianLaw(LossLaw):
    """L = mu x - mu^2/2 with x standard normal under P."""

    mu: float

    symmetric = True

    @property
    def support(self) -> tuple[float, float]:
        reach = self.mu * _REACH + self.mu * self.mu / 2
        return -reach, reach

    @property
    def range(self) -> tuple[float, float]:
        return (-np.inf, np.inf) if self.mu else (0.0, 0.0)

    def sketch(self) -> Sketch:
        mu = min(self.mu, _LARGEST)
        x = np.linspace(-_REACH, mu + _REACH, 751)
        return Sketch(mu * x - mu * mu / 2, np.log(x[1] - x[0]) - x**2 / 2 - _LOG_SQRT_2PI)

    def components(self) -> list[Component]:
        return [Component(NormalBase(self.mu))]

    def transform(self, c: float, digits: float) -> Transform:
        return GaussianTransform(self.mu, c)

    def description(self) -> dict[str, Any]:
        return {"kind": "gaussian", "mu": self.mu}

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + self._cut_error(edges)

    def _cut_error(self, edges: Array) -> Array:
        """Bound the error of an edge by 4 units of a and mu^2: a quotient and a sum."""
        return 4 * UNIT * (np.abs(edges) + self.mu * self.mu)

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
        # With z = |x| + mu: point and difference, known to 3 units of z, and a square move the exponent by 4
        # z^2; exp, expm1, weights and a sum of 12 terms cost less than 64.
        density = (64 + 4 * (steepest + mu) ** 2) * UNIT
        return Cells(excess, deficit, density + position_slack(edges, self._cut_error(edges)))


@dataclass(frozen=True)
class NormalBase(AffineBase):
    """The standard normal density over the line, with l = mu x - mu^2/2."""

    mu: float

    bend = 1.0

    @property
    def scale(self) -> float:  # type: ignore[override]  # a derived value here, a constant in the other
        return self.mu

    def above(self) -> AffineBase:
        return HalfNormalBase(self, self.mu)

    def loss(self, x: Array) -> Array:
        return self.mu * x - self.mu * self.mu / 2

    def log_density(self, x: Array) -> Array:
        return -x * x / 2 - _LOG_SQRT_2PI

    def fall(self, x: Array) -> Array:
        return x

    def grid(self, component: Component, c: float, size: int) -> Array:
        mu = self.mu
        under_q, under_p = exponents(component.b, c + 1), exponents(component.d, 2 - c)
        low = mu * (under_q[0] + under_p[0] - 1) - _DROP
        high = mu * max(under_q[1] + under_p[1], 1.0) + _DROP
        coarse = np.linspace(low, high, size)
        logs = component.logs(self.loss(coarse), np.zeros(size))
        top = float(coarse[np.argmax((1 - c) * logs.p + c * logs.q + self.log_density(coarse))])
        return np.linspace(max(low, top - _DROP), high, size)

    def nodes(self, component: Component, c: float, y: float, digits: float) -> QuadratureNodes:
        return nodes(line_points, component, c, line_rule(component, c, y, digits))

    def path(self, component: Component, c: float, digits: float) -> QuadratureNodes | None:
        rule = path_rule(component, c, digits)
        return None if rule is None else nodes(path_points, component, c, rule)


class GaussianTransform(Transform):
    """The Gaussian: K(z) = mu^2 (z^2 - z)/2."""

    def __init__(self, mu: float, c: float) -> None:
        self.mu, c = mu, float(c)  # whose products overflow to infinity, which bounds nothing, without a word
        self.log_m = mu * mu * (c * c - c) / 2
        self.log_m_error = 4 * UNIT * mu * mu * (c * c + abs(c))  # four roundings, of terms that may cancel
        self.mean = mu * mu * (2 * c - 1) / 2

    def ratio(self, y: Array, *, even: bool = False) -> AffineRatio:
        value = self._log(y)
        # Three roundings of a square. The centre is a float too: the true phase is y mu^2 (2c - 1)/2, known
        # to four units and, where 2c - 1 was rounded, to one of mu^2.
        error = 4 * UNIT * (np.abs(value) + np.abs(y * self.mean) + y * self.mu * self.mu)
        return AffineRatio(value.astype(complex), error, np.minimum(value * (1 - 4 * UNIT), 0.0))

    def around(self, y: Array, radius: float) -> Array:
        return self._log(np.maximum(y - radius * (1 + 4 * UNIT), 0.0)) * (1 - 8 * UNIT)

    def far(self, y: float) -> float:
        return float(self._log(np.asarray(y))) * (1 - 4 * UNIT)

    def _log(self, y: Array) -> Array:
        """Return log |rho|, three roundings of a square."""
        return -((self.mu * y) ** 2) / 2
