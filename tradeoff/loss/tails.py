"""Law of L of a shift from tail probabilities alone, for densities taken on the caller's word."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from tradeoff.intervals.rounding import TINY, Array
from tradeoff.loss.law import Cells, LossLaw, Sketch

TRUST = 1e-12
"""Relative accuracy taken for granted of a foreign cdf and sf, and absolute accuracy of its log-density."""

_LEAST_TAIL = 1e-290
"""Tails are followed down to here; below, SciPy's quantiles lose their digits to subnormal numbers."""


class AssumedLaw(LossLaw):
    """Law of L = log q - log p, q(x) = p(x - shift), with masses as differences of the nearer tails.

    Differences cancel, so their absolute error becomes the slack: honest, and wide on fine grids.
    """

    sup_loss = np.inf

    def __init__(self, distribution: Any, shift: float) -> None:
        self.distribution, self.shift = distribution, shift

    def _log_ratio(self, x: Array) -> Array:
        log_p, log_q = self.distribution.logpdf(x), self.distribution.logpdf(x - self.shift)
        return np.asarray(log_q - log_p)

    def _beyond(self, x: Array) -> tuple[Array, Array]:
        """Return P and Q of the side where L is greater."""
        tail = self.distribution.sf if self.shift > 0 else self.distribution.cdf
        return np.asarray(tail(x)), np.asarray(tail(x - self.shift))

    def _before(self, x: Array) -> tuple[Array, Array]:
        tail = self.distribution.cdf if self.shift > 0 else self.distribution.sf
        return np.asarray(tail(x)), np.asarray(tail(x - self.shift))

    @cached_property
    def _span(self) -> tuple[float, float]:
        """Return the ends of the line in the direction in which L grows, as far out as tails are floats."""
        d, s = self.distribution, self.shift
        low, high = float(d.ppf(_LEAST_TAIL)), float(d.isf(_LEAST_TAIL))
        low, high = min(low, low + s), max(high, high + s)
        return (low, high) if s > 0 else (high, low)

    def _locate(self, loss: Array) -> tuple[Array, Array]:
        """Return x and a bound on |L(x) - loss|, infinite where the loss is not taken."""
        low, high = (np.full(loss.shape, end) for end in self._span)
        for _ in range(80):
            middle = (low + high) / 2
            below = self._log_ratio(middle) < loss
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        x = (low + high) / 2
        return x, np.abs(self._log_ratio(x) - loss) + 2 * TRUST

    @cached_property
    def support(self) -> tuple[float, float]:
        low, high = self._log_ratio(np.array(self._span))
        return float(low), float(high)

    def sketch(self) -> Sketch:
        x = np.linspace(*self._span, 4001)
        middle = (x[1:] + x[:-1]) / 2
        log_p = self.distribution.logpdf(middle) + np.log(np.abs(np.diff(x)))
        return Sketch(self._log_ratio(middle), log_p)

    def _cells(self, edges: Array) -> Cells:
        x, error = self._locate(edges)
        p, p_error = self._mass(x, 0)
        q, q_error = self._mass(x, 1)
        a, b = edges[:-1], edges[1:]
        noise = q_error + np.exp(a) * p_error + np.exp(b) * np.expm1(error[:-1] + error[1:]) * p
        excess = np.maximum(q - np.exp(a) * p, noise)
        noise_b = np.exp(-b) * q_error + p_error + np.exp(-a) * np.expm1(error[:-1] + error[1:]) * q
        deficit = np.maximum(p - np.exp(-b) * q, noise_b)
        with np.errstate(divide="ignore", invalid="ignore"):
            slack = np.maximum(
                np.where(excess > 0, 2 * noise / excess, 0.0),
                np.where(deficit > 0, 2 * noise_b / deficit, 0.0),
            )
        return Cells(excess, deficit, slack)

    def _mass(self, x: Array, which: int) -> tuple[Array, Array]:
        """Return the mass between consecutive points, and its error, from whichever tails are smaller."""
        beyond, before = self._beyond(x)[which], self._before(x)[which]
        near = beyond[:-1] < before[1:]
        mass = np.where(near, beyond[:-1] - beyond[1:], before[1:] - before[:-1])
        return np.maximum(mass, 0.0), TRUST * np.where(
            near, beyond[:-1] + beyond[1:], before[1:] + before[:-1]
        )

    def tail(self, epsilon: Array) -> tuple[Array, Array]:
        """Bound delta(eps): any threshold does from below, e^eps P times the error of L covers the rest."""
        x, error = self._locate(epsilon)
        p, q = self._beyond(x)
        p_before, q_before = self._before(x)
        scale = np.exp(epsilon)
        right = q - scale * p
        # 1 - e^eps - Q(before) + e^eps P(before) is the same number, better where both tails are nearly
        # whole.
        left = -np.expm1(epsilon) + scale * p_before - q_before
        noise_right, noise_left = (
            TRUST * (q + scale * p),
            TRUST * (np.abs(np.expm1(epsilon)) + scale * p_before + q_before),
        )
        value, noise = np.where(noise_right <= noise_left, right, left), np.minimum(noise_right, noise_left)
        low, high = self.support
        inside = (epsilon > low) & (epsilon < high)
        moved = np.where(inside, np.expm1(np.minimum(error, 1.0)) * scale * p, TRUST * (q + scale * p))
        return np.maximum(value - noise, 0.0), value + noise + moved + TINY

    def beta(self, alpha: Array) -> tuple[Array, Array]:
        """Bound f(alpha) by the tangent at a computed threshold: alpha is missed by its residual."""
        d, near = self.distribution, np.minimum(alpha, 1 - alpha)
        inside = near > 0
        safe = np.where(inside, near, 0.25)
        right, left = (d.isf, d.ppf) if self.shift > 0 else (d.ppf, d.isf)
        x = np.where(alpha <= 0.5, right(safe), left(safe))
        beyond, before = self._beyond(x), self._before(x)
        got = np.where(alpha <= 0.5, beyond[0], before[0])
        residual = np.abs(got - safe) + TRUST * safe
        with np.errstate(over="ignore"):
            slope = np.exp(self._log_ratio(x))
        value = np.where(before[1] < 0.5, before[1], 1 - beyond[1])
        width = 2 * slope * residual + TRUST * np.minimum(before[1], beyond[1]) + 1e-15 * value
        low, high = np.maximum(value - width, 0.0), value + width + TINY
        return np.where(inside, low, np.where(alpha == 0, 1 - TRUST, 0.0)), np.where(inside, high, 1 - alpha)
