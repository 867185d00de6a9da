"""The law of L between normal laws mu apart: its cells, component and transform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradeoff.errors import SizeError
from tradeoff.intervals.differences import position_slack
from tradeoff.intervals.quadrature import integrate
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss import path
from tradeoff.loss.components import (
    MARGIN,
    MAX_NODES,
    Component,
    QuadratureNodes,
    Trapezoid,
    exponents,
    slopes,
)
from tradeoff.loss.half_normal import HalfNormalBase
from tradeoff.loss.law import Cells, LossLaw, Sketch
from tradeoff.loss.smoothness import AffineBase
from tradeoff.loss.transform import AffineRatio, Transform

_REACH = 39.0
"""Standard deviations beyond which a normal law has no mass a float can hold."""

_LARGEST = 1e150
"""A sketch of a larger mu is that of this one: its losses are past all that engines represent, and squares
are floats."""

_LOG_SQRT_2PI = math.log(2 * math.pi) / 2

_ANGLE = 2.8
"""Most of the half-width of the strip, as an angle of e^l: short of pi, where 1 - p + p e^l may vanish."""

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
        rule = self.rule(component, c, y, digits)
        found, kept = self.points(component, c, rule, np.arange(rule.first, rule.last + 1, dtype=float))
        return found.only(kept)

    def rule(self, component: Component, c: float, y: float, digits: float) -> Trapezoid:
        """Return the trapezoid rule over the whole line.

        On Im x = a the modulus of phi grows by e^(a^2/2), that of e^(iyL) by at most e^(y mu a), since arg
        e^l = mu a bounds the difference of the two arguments; a negative power of 1 - p + p e^l grows by at
        most cos(mu a/2)^power. An integrand analytic in the strip then errs by 2/(e^(2 pi a/h) - 1) times its
        largest integral there (Trefethen, Weideman 2014, Theorem 5.1).
        """
        mu, powers = self.mu, (c - MARGIN, c + MARGIN)
        falling = max(0.0, -powers[0]) * (min(component.b) > 0)
        falling += max(0.0, powers[1] - 1) * (min(component.d) > 0)
        # About the widest step: -log cos(u/2) is near u^2/8.
        a = min(math.sqrt(2 * digits / (1 + falling * mu * mu / 4)), _ANGLE / mu)
        growth = a * a / 2 + y * mu * a - falling * math.log(math.cos(mu * a / 2))
        h = 2 * math.pi * a / (digits + growth)
        low, high = slopes(component, powers)
        spare = math.sqrt(2 * digits) + 1.5
        first, last = math.floor((mu * low - spare) / h), math.ceil((mu * high + spare) / h)
        # Log-weights turn by at most 1 in a stride: their derivatives lie between mu low - x and mu high - x.
        stride = max(1, int(1 / (h * (mu * (high - low) + spare + h))))
        _within((last - first) / stride, self)
        looked = np.append(np.arange(first, last, stride, dtype=float), float(last))
        if stride > 1:
            first, last = self._held(component, h, looked, (*powers, c, 0.0), digits)
        _within(last - first, self)
        return Trapezoid(h, first, last, spare, digits, float(looked[-1] - looked[0]), 0.0, 0.0)

    def points(
        self, component: Component, c: float, rule: Trapezoid, at: Array
    ) -> tuple[QuadratureNodes, NDArray[np.bool_]]:
        """Return the nodes ``at``, from the rule's first to its last, and which of them say anything.

        With columns in the base, the component and the rule it does so for rows of nodes.
        """
        mu, h, spare, digits = self.mu, rule.h, rule.spare, rule.digits
        x, powers = h * at, (c - MARGIN, c + MARGIN, c, 0.0)
        # l is two products and a difference, of a node that is a product itself.
        logs = component.logs(self.loss(x), 4 * UNIT * (np.abs(mu * x) + mu * mu))
        width = np.log(h * component.k)
        log_p = width + self.log_density(x) + logs.p
        # x^2/2 errs by 1.5 x^2 units and each of three sums by its size; log(h k) by 8 of itself, and by
        # those of k.
        slack = logs.p_error + UNIT * (
            16 + 4 * x * x + 12 * abs(width) + 4 * np.abs(logs.p) + component.units
        )
        # Beyond the ends log-weights fall at least as fast as -(x - mu high)^2/2: each tail is at most its
        # end's weight over h spare.
        weights = np.array([log_p + power * logs.loss for power in powers])
        weights -= np.max(weights, axis=-1, keepdims=True)
        ends = np.max(np.exp(weights[..., [0, -1]]), axis=(0, -1), keepdims=True)[0]
        tails = 2 * ends * (1 + 1 / (h * spare))
        # What is left out is below e^-(digits + 20), each, of the largest term; so are tails beyond it.
        kept = np.max(weights, axis=0) > -digits - 20
        out = rule.reach + 2 * (1 + 1 / (h * spare))
        lost = 3 * np.exp(-digits) + tails + out * np.exp(-digits - 20)
        return QuadratureNodes(logs.loss, log_p, slack, logs.error, lost), kept

    def _held(
        self, component: Component, h: float, looked: Array, powers: Sequence[float], digits: float
    ) -> tuple[int, int]:
        """Return the first and last node beyond which all hold less than e^-(digits + 20) of the largest.

        Between nodes ``looked`` at log-weights are above the nearer neighbour's by 1/2 at most.
        """
        x = h * looked
        logs = component.logs(self.loss(x), np.zeros(len(x)))
        weights = np.array([self.log_density(x) + logs.p + power * logs.loss for power in powers])
        weights -= np.max(weights, axis=1, keepdims=True)
        near = np.flatnonzero(np.max(weights, axis=0) > -digits - 21)
        return int(looked[max(near[0] - 1, 0)]), int(looked[min(near[-1] + 1, len(x) - 1)])

    def path(self, component: Component, c: float, digits: float) -> QuadratureNodes | None:
        rule = path.rule(component, c, digits)
        if rule is None:
            return None
        found, kept = path.points(component, c, rule, np.arange(rule.first, rule.last + 1.0))
        return found.only(kept)


def _within(nodes: float, base: NormalBase) -> None:
    """Refuse a quadrature of more nodes than allowed."""
    if nodes > MAX_NODES:
        raise SizeError(f"the quadrature of {base!r} needs {nodes:.3g} nodes, above {MAX_NODES}")


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
