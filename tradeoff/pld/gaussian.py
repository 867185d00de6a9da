"""The law of L between normal laws mu apart: its cells, its component and the half of it, its transform."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradeoff.errors import SizeError
from tradeoff.intervals.quadrature import integrate
from tradeoff.intervals.rounding import UNIT, Array, position_slack
from tradeoff.pld.components import (
    LEGENDRE,
    MARGIN,
    MAX_NODES,
    RULE,
    AffineBase,
    Component,
    QuadratureNodes,
    SamplingRate,
    Tail,
    log_sum,
    scaled,
    slopes,
    subsampled_loss,
    subsampled_slope,
)
from tradeoff.pld.law import Cells, LogRatio, PlanningPoints, PrivacyLossDistribution, Transform
from tradeoff.pld.normal_nodes import (
    LOG_SQRT_2PI,
    damped_rule,
    line_points,
    line_rule,
    nodes,
    path_points,
    path_rule,
)

REACH = 39.0  # standard deviations beyond which a normal law has no mass a float can hold
DROP = 9.0  # standard deviations beyond the steepest tilt: the tilted mass left, e^-40, is in no bound

_RHO = (
    4.0  # parameter of the Bernstein ellipse about a panel: 32 nodes leave rho^-64 = e^-88.7 of the maximum
)
_AXES = (_RHO + 1 / _RHO) / 2, (_RHO - 1 / _RHO) / 2  # half axes of that ellipse about [-1, 1]
_ROOM = 87.2  # minus the logarithm of (64/15) rho^-64/(1 - rho^-2)
_LEAST_ROOM = 8.0  # exponent an integrand may grow by at least: by then panels are narrow enough

# Width of a panel in l at most: |Im l| < 1.41 within its ellipse, and 1 - p + p e^l may vanish at pi.
_WIDEST = 1.5

# Most pieces a panel is cut into at once: in wider ones the bounds are too coarse to show how many are
# needed.
_AT_ONCE = 5.0


@dataclass(frozen=True, eq=False)
class GaussianLaw(PrivacyLossDistribution):
    """L = mu x - mu^2/2 with x standard normal under P.

    Where ``square`` is given it is mu^2, and ``mu`` its root to nearest: a unit of it is in all errors.
    """

    mu: float
    square: Fraction | None = None

    symmetric = True
    damping = True

    @property
    def support(self) -> tuple[float, float]:
        reach = self.mu * REACH + self.mu * self.mu / 2
        return -reach, reach

    @property
    def range(self) -> tuple[float, float]:
        return (-np.inf, np.inf) if self.mu else (0.0, 0.0)

    def sketch(self) -> PlanningPoints:
        x = np.linspace(-REACH, self.mu + REACH, 751)
        return PlanningPoints(
            self.mu * x - self.mu * self.mu / 2, np.log(x[1] - x[0]) - x**2 / 2 - LOG_SQRT_2PI
        )

    def components(self) -> list[Component]:
        return [Component(NormalBase(self.mu))]

    def transform(self, c: float, digits: float) -> Transform:
        return GaussianTransform(self.mu, c)

    def description(self) -> dict[str, Any]:
        given = {"mu": self.mu} if self.square is None else {"square": str(self.square)}
        return {"kind": "gaussian", **given}

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + self._cut_error(edges)

    def _cut_error(self, edges: Array) -> Array:
        """Bound the error of an edge by 4 units of a and mu^2: mu itself, a quotient and a sum."""
        return 4 * UNIT * (np.abs(edges) + self.mu * self.mu)

    def _bulk(self, x: Array) -> Iterator[tuple[tuple[float, float], NDArray[np.bool_]]]:
        """Yield where P or Q has a density that is a float, and the cells of which it is all the curvature.

        The part of P's integrand taken off by a reference falls as e^(-mu t) from where a cell stops, and
        that of Q's from where it starts: a unit away it is nothing.
        """
        mu, start, stop = self.mu, x[:-1], x[1:]
        if mu > 2 * REACH:
            yield (-REACH, REACH), stop > REACH + 1
            yield (mu - REACH, mu + REACH), start < mu - REACH - 1
        else:
            yield (-REACH, mu + REACH), np.zeros(len(start), dtype=bool)

    def _cells(self, edges: Array) -> Cells:
        mu = self.mu
        x = edges / mu + mu / 2

        def gaps(point: Array, rise: Array, fall: Array) -> tuple[Array, Array]:
            # e^L dP is the normal law around mu, so e^L - e^a needs no large number.
            under_q = np.exp(-((point - mu) ** 2) / 2 - LOG_SQRT_2PI)
            under_p = np.exp(-point * point / 2 - LOG_SQRT_2PI)
            return under_q * -np.expm1(-mu * rise), under_p * -np.expm1(-mu * fall)

        steepest = np.maximum(np.abs(x[:-1]), np.abs(x[1:]))
        excess, deficit = np.sum(
            [
                integrate(gaps, x[:-1], x[1:], np.where(alone, REACH + 1, steepest + mu + 1), within)
                for within, alone in self._bulk(x)
            ],
            axis=0,
        )
        # With z = |x| + mu: point and difference, known to 4 units of z, and a square move the exponent by 5
        # z^2; exp, expm1, weights and a sum of 12 terms cost less than 64.
        density = (64 + 5 * (steepest + mu) ** 2) * UNIT
        return Cells(excess, deficit, density + position_slack(edges, self._cut_error(edges)))


@dataclass(frozen=True)
class NormalBase(AffineBase):
    """The standard normal density over the line, with l = mu x - mu^2/2, mu the ``scale``."""

    scale: float

    bend = 1.0

    def positive_part(self) -> NormalBase:
        return HalfNormalBase(self.scale)

    def loss(self, x: Array) -> Array:
        return self.scale * x - self.scale * self.scale / 2

    def log_density(self, x: Array) -> Array:
        return -x * x / 2 - LOG_SQRT_2PI

    def fall(self, x: Array) -> Array:
        return x

    def grid(self, component: Component, c: float, size: int) -> Array:
        q, p = scaled(c + 1, component.b.slopes), scaled(2 - c, component.d.slopes)
        low = self.scale * (q[0] + p[0] - 1) - DROP
        high = self.scale * max(q[1] + p[1], 1.0) + DROP
        coarse = np.linspace(low, high, size)
        logs = component.logs(self.loss(coarse), np.zeros(size))
        top = float(coarse[np.argmax((1 - c) * logs.p + c * logs.q + self.log_density(coarse))])
        return np.linspace(max(low, top - DROP), high, size)

    def nodes(self, component: Component, c: float, y: float, digits: float) -> QuadratureNodes:
        return nodes(line_points, component, c, line_rule(component, c, y, digits))

    def path(self, component: Component, c: float, digits: float) -> QuadratureNodes | None:
        rule = path_rule(component, c, digits)
        return None if rule is None else nodes(path_points, component, c, rule)


@dataclass(frozen=True)
class DampedNormalBase(NormalBase):
    """The standard normal density times e^-e^(k (x - last)), k = ``sharp``, which no tilt outweighs."""

    last: float
    sharp: float

    def damping(self, x: Array, a: float = 0.0) -> Any:
        size, angle = np.exp(self.sharp * (x - self.last)), self.sharp * a
        return size * (math.cos(angle) + 1j * math.sin(angle)) if a else size

    def stiffness(self, x: Array) -> Array:
        # A difference of x, a product itself, and a product; three functions and two products.
        return 40 + 4 * self.sharp * (np.abs(x) + abs(self.last))

    def outside(self, rate: SamplingRate) -> float:
        """Bound the mass of (1 - s) phi(x) + s phi(x - mu) that is taken off: 1 - e^-t <= t."""
        k = self.sharp
        lost = rate.rest + rate.part * math.exp(k * self.scale)
        return math.exp(k * k / 2 - k * self.last) * lost * (1 + 1e-9)

    def tail(self, component: Component, c: float, log_m: float, log_m_error: float) -> Tail:
        return Tail(np.zeros(1), np.zeros(1))  # trivial: the path bounds it

    def nodes(self, component: Component, c: float, y: float, digits: float) -> QuadratureNodes:
        return nodes(line_points, component, c, damped_rule(component, c, digits, y))

    def path(self, component: Component, c: float, digits: float) -> QuadratureNodes | None:
        return nodes(path_points, component, c, damped_rule(component, c, digits))


@dataclass(frozen=True)
class HalfNormalBase(NormalBase):
    """The standard normal density beyond mu/2, in t = x - mu/2 > 0: near 0, l = mu t is not rounded."""

    half = True

    def positive_part(self) -> NormalBase:
        return self

    def loss(self, x: Array) -> Array:
        return self.scale * x

    def log_density(self, x: Array) -> Array:
        return super().log_density(x + self.scale / 2)

    def fall(self, x: Array) -> Array:
        return x + self.scale / 2

    def grid(self, component: Component, c: float, size: int) -> Array:
        x = NormalBase(self.scale).grid(component, c, size) - self.scale / 2
        return np.linspace(max(float(x[0]), 0.0), x[-1], size)

    def path(self, component: Component, c: float, digits: float) -> None:
        return None

    def nodes(self, component: Component, c: float, y: float, digits: float) -> QuadratureNodes:
        """Gauss-Legendre rule on panels, cut until the integrand is bounded on their Bernstein ellipses.

        On a panel of half-width r the rule errs by (64/15) rho^-64/(1 - rho^-2) r times the largest modulus
        inside the ellipse of parameter rho (Trefethen 2013, Theorem 19.3). That is at most the integrand in
        the middle at y = 0 times the bound of ``_growth``; ``_share`` compares it with the whole sum, from
        which the integral at y = 0 differs by no more.
        """
        high, spare = slopes(component, (c - MARGIN, c + MARGIN))[1], math.sqrt(2 * digits) + 1.5
        edges = self._panels(component, c, y, digits, self.scale * (high - 0.5) + spare)
        at, weight = LEGENDRE
        a, b = edges[:-1, None], edges[1:, None]
        r = (b - a) / 2
        t = ((a + b) / 2 + r * at).ravel()
        # t is a sum of a sum and a product, 5 units of the panel's end, and l another product with mu.
        reach = np.repeat(edges[1:], RULE)
        logs = component.logs(self.loss(t), 7 * UNIT * self.scale * reach)
        width = np.log((r * weight).ravel() * component.k)
        log_p = width + self.log_density(t) + logs.p
        # x = t + mu/2, known to 6 units of the end, moves x^2/2 by x times that, besides 1.5 x^2 units of its
        # own; weights of 32 nodes are known to 64 units, logarithms to 8 of themselves, sums to their size.
        square = 8 * (reach + self.scale / 2) ** 2
        units = 128 + square + 12 * np.abs(width) + 4 * np.abs(logs.p) + component.units
        weights = np.array([log_p + power * logs.loss for power in (c, c - MARGIN, c + MARGIN, 0.0)])
        sums = log_sum(weights)
        share = _most(weights - sums)
        # From the last node on the integrand falls at least as fast as e^-(x - mu high)^2/2.
        tail = math.exp(share[-1] - width[-1] + math.log(component.k)) / spare
        kept = share > -digits - 20
        error = self._growth(component, c, y, edges) + self._share(component, c, edges, sums) - _ROOM
        missed = float(np.sum(np.exp(error)))
        lost = 2 * tail + len(t) * math.exp(-digits - 20) + (1.01 * missed if missed < 0.01 else math.inf)
        result = QuadratureNodes(logs.loss, log_p, logs.p_error + UNIT * units, logs.error, np.array(lost))
        return result.only(kept)

    def _panels(self, component: Component, c: float, y: float, digits: float, end: float) -> Array:
        """Return the ends of panels from 0 to ``end``: choices only."""
        room, most = max(_ROOM - digits, _LEAST_ROOM), MAX_NODES // RULE
        count = end * (self.scale / _WIDEST + 0.3)
        if count < most:
            edges = np.linspace(0.0, end, math.ceil(count) + 1)
            while len(edges) <= most:
                allowed = room - self._share(component, c, edges) - math.log(len(edges))
                over = self._growth(component, c, y, edges) / np.maximum(allowed, 1.0)
                if (over <= 1).all():
                    return edges
                pieces = np.where(over <= _AT_ONCE, np.ceil(over), 2).astype(np.int64)
                index = np.arange(np.sum(pieces)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
                steps = np.repeat(np.diff(edges) / pieces, pieces)
                edges = np.append(np.repeat(edges[:-1], pieces) + index * steps, end)
            count = len(edges)
        raise SizeError(f"the quadrature of {self!r} needs {count * RULE:.3g} nodes, above {MAX_NODES}")

    def _share(self, component: Component, c: float, edges: Array, sums: Array | None = None) -> Array:
        """Bound log of r times the integrand in the middle over its sum, for the powers of ``_most``."""
        r, middle = np.diff(edges) / 2, (edges[:-1] + edges[1:]) / 2
        logs = component.logs(self.loss(middle), np.zeros(len(r)))
        log_p = np.log(r * component.k) + self.log_density(middle) + logs.p
        heights = np.array([log_p + power * logs.loss for power in (c, c - MARGIN, c + MARGIN, 0.0)])
        return _most(heights - (log_sum(heights) if sums is None else sums))

    def _growth(self, component: Component, c: float, y: float, edges: Array) -> Array:
        """Bound log of the integrand on a panel's ellipse over its value in the middle at y = 0.

        At t + i s the modulus of phi is that at t times e^(s^2/2). With u = mu s, that of 1 - p + p e^l lies
        between cos(u/2) and 1 times that at t, and the arguments of both densities differ by at most |u| h/
        cos(u/2)^2, h = |dL/dl| at t. Along the line log of the integrand has the slope ``lean`` in the middle
        and a second derivative of at most ``bend``, where the slopes s of logarithms of densities have the
        derivatives s (1 - s) <= 1/4 in l. Logarithms of those, and of h <= 1, are no steeper than 1 in l.
        """
        mu, (across, up) = self.scale, _AXES
        r, middle = np.diff(edges) / 2, (edges[:-1] + edges[1:]) / 2
        loss, away = mu * middle, np.exp(mu * across * r)
        log_q, log_p = subsampled_loss(component.b, loss), subsampled_loss(component.d, loss)
        s_q, s_p = subsampled_slope(component.b, loss, log_q), subsampled_slope(component.d, loss, log_p)
        steep = component.relative_slope(loss, log_p, log_q)
        lean = np.maximum(
            np.abs(mu * (c * s_q + (1 - c) * s_p) - self.fall(middle)) + MARGIN * mu * steep,
            np.abs(mu * s_p - self.fall(middle)),
        )
        w_q, w_p = (np.minimum(s * (1 - s) * away, 0.25) for s in (s_q, s_p))
        bend = mu * mu * (max(c + MARGIN, 0.0) * w_q + max(1 - c + MARGIN, 1.0) * w_p) - 1
        cosine = np.cos(mu * up * r / 2)
        turned = (y + MARGIN) * mu * up * r * np.minimum(steep * away, 1.0) / cosine**2
        falling = max(0.0, MARGIN - c) + max(0.0, c + MARGIN - 1)
        along = lean * across * r + np.maximum(bend, 0.0) * (across * r) ** 2 / 2
        return np.asarray((along + turned + (up * r) ** 2 / 2 - falling * np.log(cosine)) * (1 + 1e-9))


def _most(share: Array) -> Array:
    """Bound log of a share of the sum for all powers within the margin of c, and for 0.

    Given are those for c, c - MARGIN, c + MARGIN and 0. In the power it is concave, a line less the logarithm
    of a sum of exponentials: from c on it stays below the line through the first two, and before c below that
    through the first and the third.
    """
    inside = share[0] + np.maximum(share[0] - np.minimum(share[1], share[2]), 0.0)
    return np.asarray(np.maximum(inside, share[3]))


class GaussianTransform(Transform):
    """The Gaussian: K(z) = mu^2 (z^2 - z)/2."""

    def __init__(self, mu: float, c: float) -> None:
        self.mu, c = mu, float(c)  # whose products overflow to infinity, a trivial bound, without a warning
        self.log_m = mu * mu * (c * c - c) / 2
        # Four roundings, of terms that may cancel, and twice that of mu.
        self.log_m_error = 6 * UNIT * mu * mu * (c * c + abs(c))
        self.mean = mu * mu * (2 * c - 1) / 2

    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        value = self._log(y)
        # Three roundings of a square, and twice those of its node and of mu. The centre is a float too: the
        # true phase is y mu^2 (2c - 1)/2, known to six units and, where 2c - 1 was rounded, to one of mu^2.
        error = 4 * UNIT * (2 * np.abs(value) + 1.5 * np.abs(y * self.mean) + y * self.mu * self.mu)
        return LogRatio(value.astype(complex), error, np.minimum(value * (1 - 8 * UNIT), 0.0))

    def around(self, y: Array, radius: float) -> Array:
        return self._log(np.maximum(y - radius * (1 + 4 * UNIT), 0.0)) * (1 - 8 * UNIT)

    def far(self, y: float) -> float:
        return float(self._log(np.asarray(y))) * (1 - 8 * UNIT)

    def _log(self, y: Array) -> Array:
        """Return log |rho|, three roundings of a square, and twice that of mu."""
        return -((self.mu * y) ** 2) / 2
