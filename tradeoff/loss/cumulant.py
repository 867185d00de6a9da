"""Where to tilt: saddle points of the cumulant, from sketches of the laws. Estimates, never bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from tradeoff.intervals.roots import find_root
from tradeoff.intervals.rounding import Array
from tradeoff.loss.law import Sketch

_RAREST = 600.0
"""Minus the logarithm of the rarest round worth tilting to: e^-600 is short of where floats end."""

_SMALL = 0.1
"""Where t L stays below this the logarithm of E e^(t L) would lose a digit and more."""

_ROUNDED = 1e-10
"""Sketches' masses add up to 1 within about 1e-13."""

_CHUNK = 2**15
"""Exponentials at once, where many tilts are looked at: 256 KiB, which a cache holds."""


class Cumulant:
    """K(t) = sum n_i log E_P e^(t L_i) of a product, and two derivatives: one pass over all sketches."""

    def __init__(self, parts: Sequence[tuple[Sketch, int]]) -> None:
        self.loss = np.concatenate([sketch.loss for sketch, _ in parts])
        self.log_p = np.concatenate([sketch.log_p for sketch, _ in parts])
        self.sizes = np.array([len(sketch.loss) for sketch, _ in parts])
        self.starts = np.cumsum(self.sizes) - self.sizes
        # One number repeats at once, as many numbers do not.
        self.repeats = self.sizes if np.any(self.sizes != self.sizes[0]) else int(self.sizes[0])
        self.counts = np.array([count for _, count in parts], dtype=float)

    @cached_property
    def steepest(self) -> float:
        """Return the largest theta worth trying: it reaches the last atoms, or rounds rarer than e^-600."""
        widest = float(np.max(self.loss))  # losses far below only lose their weight
        limit = max(2000 / max(widest, 1e-12), 2e-3)
        low, high = 1e-3, limit
        if self._rarity(limit) <= _RAREST:
            return limit
        for _ in range(20):
            middle = float(np.sqrt(low * high))
            low, high = (middle, high) if self._rarity(middle) <= _RAREST else (low, middle)
        return low

    def _rarity(self, theta: float) -> float:
        """Return the largest theta K_i' - K_i: minus the log-probability under P of what tilted rounds do."""
        weight, total, peak = self._tilted(theta)
        mean = np.add.reduceat(weight * self.loss, self.starts) / total
        return max(0.0, float(np.max(theta * mean - peak - np.log(total))))

    def _tilted(self, t: float | Array) -> tuple[Array, Array, Array]:
        """Return e^(log_p + t loss - peak) of every point, and sum and peak of every sketch.

        Of a column of tilts it does so in rows, and so does ``_logs``.
        """
        exponent = self.log_p + t * self.loss
        peak = np.maximum.reduceat(exponent, self.starts, axis=-1)
        weight = np.exp(exponent - np.repeat(peak, self.repeats, axis=-1))
        return weight, np.add.reduceat(weight, self.starts, axis=-1), peak

    def weights(self, t: float) -> list[Array]:
        """Return the tilted, normalised weights of every sketch."""
        weight, total, _ = self._tilted(t)
        return np.split(weight / np.repeat(total, self.repeats), self.starts[1:])

    def each(self, t: float) -> list[float]:
        """Return log E e^(t L_i) of one copy of every factor."""
        _, total, peak = self._tilted(t)
        return [float(value) for value in peak + np.log(total)]

    @cached_property
    def _p(self) -> Array:
        return np.asarray(np.exp(self.log_p))

    @cached_property
    def _missing(self) -> Array:
        """Return what the masses of every sketch lack of 1, but for the rounding of their sum."""
        missing: Array = 1 - np.add.reduceat(self._p, self.starts)
        return np.where(np.abs(missing) < _ROUNDED, 0.0, missing)

    @cached_property
    def _farthest(self) -> Array:
        """Return the largest |loss| of every sketch."""
        return np.asarray(np.maximum.reduceat(np.abs(self.loss), self.starts))

    def _logs(self, t: float | Array, plain: Array) -> Array:
        """Return log E e^(t L_i); from E (e^(t L_i) - 1), for many rounds, where that is near 0."""
        near = (np.abs(t) * self._farthest < _SMALL) & (self._missing < _SMALL)
        if not near.any():
            return plain
        change = (
            np.add.reduceat(self._p * np.expm1(np.clip(t * self.loss, -1.0, 1.0)), self.starts, axis=-1)
            - self._missing
        )
        return np.where(near, np.log1p(np.where(near, change, 0.0)), plain)

    def values(self, t: Array) -> Array:
        """Return K at many t."""
        step = max(1, _CHUNK // len(self.loss))
        found = [self._row_values(t[start : start + step, None]) for start in range(0, len(t), step)]
        return np.concatenate(found)

    def _row_values(self, t: Array) -> Array:
        _, total, peak = self._tilted(t)
        with np.errstate(over="ignore", invalid="ignore"):  # as below
            return np.asarray(self._logs(t, peak + np.log(total)) @ self.counts)

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return K, K' and K'' at t."""
        weight, total, peak = self._tilted(t)
        first = np.add.reduceat(weight * self.loss, self.starts) / total
        # Losses beyond 1e150: the choices made of this are poor, and only choices.
        with np.errstate(over="ignore", invalid="ignore"):
            second = (
                np.add.reduceat(weight * (self.loss - np.repeat(first, self.repeats)) ** 2, self.starts)
                / total
            )
            value, mean, variance = (
                self._logs(t, peak + np.log(total)) @ self.counts,
                first @ self.counts,
                second @ self.counts,
            )
        return float(value), float(mean), float(variance)

    def edge(self, theta: float, sign: int, log_eta: float) -> tuple[float, float]:
        """Return (loss, t): by Chernoff at t, tilted mass e^log_eta is beyond the loss."""
        base, _, variance = self(theta)
        steps = np.geomspace(0.05, 60, 24) / np.sqrt(max(variance, 1e-300))
        reaches = [(self(theta + sign * t)[0] - base - log_eta) / t for t in steps]
        best = int(np.argmin(reaches))
        return sign * reaches[best], float(steps[best])


def _find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the crossing of an increasing function, on a logarithmic scale."""
    return math.exp(find_root(lambda log: function(math.exp(log)), math.log(low), math.log(high)))


def tilt_for_epsilon(cumulant: Cumulant, epsilon: float) -> float:
    """Return theta > 1 at the saddle of e^(K - (theta-1) eps)/(theta (theta-1))."""
    return 1 + _find_root(
        lambda u: cumulant(1 + u)[1] - 1 / (1 + u) - 1 / u - epsilon, 1e-6, cumulant.steepest
    )


def _log_delta(cumulant: Cumulant, theta: float) -> tuple[float, float]:
    value, mean, variance = cumulant(theta)
    u = theta - 1
    epsilon = mean - 1 / theta - 1 / u
    spread = variance + theta**-2 + u**-2
    return epsilon, value - u * epsilon - np.log(theta * u) - 0.5 * np.log(2 * np.pi * spread)


def epsilon_for_delta(cumulant: Cumulant, delta: float) -> float:
    """Estimate epsilon(delta); negative values mean delta > delta(0)."""
    goal = np.log(delta)
    return _log_delta(
        cumulant, 1 + _find_root(lambda u: goal - _log_delta(cumulant, 1 + u)[1], 1e-6, cumulant.steepest)
    )[0]


def log_delta_for_epsilon(cumulant: Cumulant, epsilon: float) -> float:
    """Estimate log delta(epsilon)."""
    return _log_delta(cumulant, tilt_for_epsilon(cumulant, epsilon))[1]


def epsilon_for_alpha(cumulant: Cumulant, alpha: float) -> float:
    """Estimate the loss epsilon with P(L > epsilon) = alpha."""
    sign = 1 if alpha <= 0.5 else -1
    goal = np.log(alpha if sign > 0 else max(1 - alpha, 1e-300))

    def tail(u: float) -> tuple[float, float]:
        value, mean, variance = cumulant(sign * u)
        epsilon = mean - sign / u
        return epsilon, value - sign * u * epsilon - np.log(u) - 0.5 * np.log(2 * np.pi * (variance + u**-2))

    return tail(_find_root(lambda u: goal - tail(u)[1], 1e-6, cumulant.steepest))[0]
