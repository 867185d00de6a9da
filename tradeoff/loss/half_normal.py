"""The upper half of a normal pair, where its loss is positive, and the quadrature of its end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import UNIT, Array, Index
from tradeoff.loss.components import MARGIN, MAX_NODES, AffineBase, Component, QuadratureNodes, slopes
from tradeoff.loss.thinning import thinned_loss, thinned_slope

_RULE = 32
"""Gauss-Legendre nodes a panel."""

_LEGENDRE = np.polynomial.legendre.leggauss(_RULE)

_RHO = 4.0
"""Parameter of the Bernstein ellipse about a panel: 32 nodes leave rho^-64 = e^-88.7 of what it bounds."""

_AXES = (_RHO + 1 / _RHO) / 2, (_RHO - 1 / _RHO) / 2
"""Half axes of that ellipse about [-1, 1]."""

_ROOM = 87.2
"""Minus the logarithm of (64/15) rho^-64/(1 - rho^-2)."""

_WIDEST = 1.5
"""Width of a panel in l at most: |Im l| < 1.41 within its ellipse, and 1 - p + p e^l may vanish at pi."""

_AT_ONCE = 5.0
"""Most pieces a panel is cut into at once: in wider ones the bounds are too coarse to tell how many do."""

_LEAST_ROOM = 8.0
"""Exponent an integrand may grow by, however many digits are asked: by then panels are narrow enough."""


@dataclass(frozen=True)
class HalfNormalBase(AffineBase):
    """The standard normal density beyond mu/2, in t = x - mu/2 > 0: near 0, l = mu t is not rounded."""

    whole: AffineBase
    mu: float

    bend = 1.0
    half = True

    @property
    def scale(self) -> float:  # type: ignore[override]  # a derived value here, a constant in the base
        return self.mu

    def above(self) -> AffineBase:
        return self

    def loss(self, x: Array) -> Array:
        return self.mu * x

    def log_density(self, x: Array) -> Array:
        return self.whole.log_density(x + self.mu / 2)

    def fall(self, x: Array) -> Array:
        return x + self.mu / 2

    def grid(self, component: Component, c: float, size: int) -> Array:
        x = self.whole.grid(component, c, size) - self.mu / 2
        return np.linspace(max(float(x[0]), 0.0), x[-1], size)

    def nodes(self, component: Component, c: float, y: float, digits: float) -> QuadratureNodes:
        """Gauss-Legendre rule on panels, cut until the integrand is bounded on their Bernstein ellipses.

        On a panel of half-width r the rule errs by (64/15) rho^-64/(1 - rho^-2) r times the largest modulus
        inside the ellipse of parameter rho (Trefethen 2013, Theorem 19.3). That is at most the integrand in
        the middle at y = 0 times what ``_growth`` bounds; ``_share`` compares it with the whole sum, from
        which the integral at y = 0 differs by no more.
        """
        high, spare = slopes(component, (c - MARGIN, c + MARGIN))[1], math.sqrt(2 * digits) + 1.5
        edges = self._panels(component, c, y, digits, self.mu * (high - 0.5) + spare)
        at, weight = _LEGENDRE
        a, b = edges[:-1, None], edges[1:, None]
        r = (b - a) / 2
        t = ((a + b) / 2 + r * at).ravel()
        # t is a sum of a sum and a product, 5 units of the panel's end, and l another product.
        reach = np.repeat(edges[1:], _RULE)
        logs = component.logs(self.loss(t), 6 * UNIT * self.mu * reach)
        width = np.log((r * weight).ravel() * component.k)
        log_p = width + self.log_density(t) + logs.p
        # x = t + mu/2, known to 6 units of the end, moves x^2/2 by x times that, beside 1.5 x^2 units of its
        # own; weights of 32 nodes are known to 64 units, logarithms to 8 of themselves, sums to their size.
        square = 8 * (reach + self.mu / 2) ** 2
        units = 128 + square + 12 * np.abs(width) + 4 * np.abs(logs.p) + component.units
        weights = np.array([log_p + power * logs.loss for power in (c, c - MARGIN, c + MARGIN, 0.0)])
        sums = _log_sums(weights)
        share = _most(weights - sums)
        # From the last node on the integrand falls at least as fast as e^-(x - mu high)^2/2.
        tail = math.exp(share[-1] - width[-1] + math.log(component.k)) / spare
        kept = share > -digits - 20
        error = self._growth(component, c, y, edges) + self._share(component, c, edges, sums) - _ROOM
        missed = float(np.sum(np.exp(error)))
        lost = 2 * tail + len(t) * math.exp(-digits - 20) + (1.01 * missed if missed < 0.01 else math.inf)
        return QuadratureNodes(
            logs.loss[kept], log_p[kept], (logs.p_error + UNIT * units)[kept], logs.error[kept], lost
        )

    def _panels(self, component: Component, c: float, y: float, digits: float, end: float) -> Array:
        """Return the ends of panels from 0 to ``end``: choices only."""
        room, most = max(_ROOM - digits, _LEAST_ROOM), MAX_NODES // _RULE
        count = end * (self.mu / _WIDEST + 0.3)
        if count < most:
            edges = np.linspace(0.0, end, math.ceil(count) + 1)
            while len(edges) <= most:
                allowed = room - self._share(component, c, edges) - math.log(len(edges))
                over = self._growth(component, c, y, edges) / np.maximum(allowed, 1.0)
                if (over <= 1).all():
                    return edges
                pieces = np.where(over <= _AT_ONCE, np.ceil(over), 2).astype(np.int64)
                edges = np.append(_cut(edges, pieces), end)
            count = len(edges)
        raise SizeError(f"the quadrature of {self!r} needs {count * _RULE:.3g} nodes, above {MAX_NODES}")

    def _share(self, component: Component, c: float, edges: Array, sums: Array | None = None) -> Array:
        """Bound log of r times the integrand in the middle over its sum, for the powers of ``_most``."""
        r, middle = np.diff(edges) / 2, (edges[:-1] + edges[1:]) / 2
        logs = component.logs(self.loss(middle), np.zeros(len(r)))
        log_p = np.log(r * component.k) + self.log_density(middle) + logs.p
        heights = np.array([log_p + power * logs.loss for power in (c, c - MARGIN, c + MARGIN, 0.0)])
        return _most(heights - (_log_sums(heights) if sums is None else sums))

    def _growth(self, component: Component, c: float, y: float, edges: Array) -> Array:
        """Bound log of the integrand on a panel's ellipse over its value in the middle at y = 0.

        At t + i s the modulus of phi is that at t times e^(s^2/2). With u = mu s, that of 1 - p + p e^l lies
        between cos(u/2) and 1 times that at t, and the arguments of both densities differ by at most |u| h/
        cos(u/2)^2, h = |dL/dl| at t. Along the line log of the integrand has the slope ``lean`` in the middle
        and a second derivative of at most ``bend``, where the slopes s of logarithms of densities have the
        derivatives s (1 - s) <= 1/4 in l. Logarithms of those, and of h <= 1, are no steeper than 1 in l.
        """
        mu, (across, up) = self.mu, _AXES
        r, middle = np.diff(edges) / 2, (edges[:-1] + edges[1:]) / 2
        loss, away = mu * middle, np.exp(mu * across * r)
        s_q, s_p = (thinned_slope(share, loss, thinned_loss(share, loss)) for share in component.shares)
        turning = component.turning(loss)
        lean = np.maximum(
            np.abs(mu * (c * s_q + (1 - c) * s_p) - self.fall(middle)) + MARGIN * mu * turning,
            np.abs(mu * s_p - self.fall(middle)),
        )
        w_q, w_p = (np.minimum(s * (1 - s) * away, 0.25) for s in (s_q, s_p))
        bend = mu * mu * (max(c + MARGIN, 0.0) * w_q + max(1 - c + MARGIN, 1.0) * w_p) - 1
        cosine = np.cos(mu * up * r / 2)
        turned = (y + MARGIN) * mu * up * r * np.minimum(turning * away, 1.0) / cosine**2
        falling = max(0.0, MARGIN - c) + max(0.0, c + MARGIN - 1)
        along = lean * across * r + np.maximum(bend, 0.0) * (across * r) ** 2 / 2
        return np.asarray((along + turned + (up * r) ** 2 / 2 - falling * np.log(cosine)) * (1 + 1e-9))


def _cut(edges: Array, pieces: Index) -> Array:
    """Return where equal pieces of every panel begin."""
    index = np.arange(np.sum(pieces)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.repeat(edges[:-1], pieces) + index * np.repeat(np.diff(edges) / pieces, pieces)


def _most(share: Array) -> Array:
    """Bound log of a share of the sum for all powers within the margin of c, and for 0.

    Given are those for c, c - MARGIN, c + MARGIN and 0. In the power it is concave, a line less the logarithm
    of a sum of exponentials: from c on it stays below the line through the first two, and before c below that
    through the first and the third.
    """
    inside = share[0] + np.maximum(share[0] - np.minimum(share[1], share[2]), 0.0)
    return np.asarray(np.maximum(inside, share[3]))


def _log_sums(weights: Array) -> Array:
    """Return the logarithm of the sum of e^w of each row, as a column."""
    peak = np.max(weights, axis=1, keepdims=True)
    return np.asarray(peak + np.log(np.sum(np.exp(weights - peak), axis=1, keepdims=True)))
