"""Two sums that are normal up to known errors: what every test between them then satisfies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy.special import ndtr, ndtri

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import UNIT, Array

_WIDEST = 40.0
"""Quantiles of a float probability are nearer than this."""


@dataclass(frozen=True)
class NormalPair:
    """A pair P, Q with |P(S <= t) - Phi((t - m_P)/s_P)| <= gamma_p at every t, and likewise under Q.

    A test at threshold t = m_P + s_P z has alpha = P(S > t) within gamma_p of Phi(-z) and beta = Q(S <= t) within gamma_q
    of Phi((s_P z - gap)/s_Q), gap = m_Q - m_P. Masses ``p_minus`` at -inf under P and ``q_plus`` at +inf under Q are apart:
    f(alpha) = (1 - q) f_finite(alpha/(1 - p)).
    """

    gap: Bounds
    sd_p: Bounds
    sd_q: Bounds
    gamma_p: float
    gamma_q: float
    p_minus: float = 0.0
    q_plus: float = 0.0

    @cached_property
    def _corners(self) -> tuple[Array, Array]:
        """Return slopes s_P/s_Q and offsets gap/s_Q at the corners of what is known: beta is monotone in each number."""
        corners = [(p / q, gap / q) for gap, p, q in product(self.gap, self.sd_p, self.sd_q)]
        ratio, distance = np.array(corners).T
        return ratio[:, None], distance[:, None]

    @cached_property
    def _rounding(self) -> float:
        """Return what rounding adds to any probability: the density is at most 0.4 and z at most 40."""
        ratio, distance = self._corners
        return float(UNIT * (64 + 8 * _WIDEST * np.max(ratio) + 8 * np.max(distance)))

    def _beta(self, z: Array) -> Array:
        ratio, distance = self._corners
        return np.asarray(ndtr(ratio * z - distance))

    def lower(self, alpha: Array) -> Array:
        """Return a lower bound on f(alpha): Phi((s_P z - gap)/s_Q) - gamma_q with Phi(-z) = alpha + gamma_p."""
        inner = alpha / (1 - self.p_minus) if self.p_minus < 1 else np.ones_like(alpha)
        reached = np.minimum((inner + self.gamma_p) * (1 + 8 * UNIT), 1.0)
        value = np.min(self._beta(-ndtri(reached)), axis=0) - self.gamma_q - self._rounding
        return np.asarray(np.maximum((1 - self.q_plus) * value * (1 - 8 * UNIT), 0.0))

    def upper(self, alpha: Array) -> Array:
        """Return an upper bound on f(alpha): the same with both signs of gamma turned."""
        inner = (
            np.minimum(alpha / (1 - self.p_minus) * (1 - 4 * UNIT), 1.0)
            if self.p_minus < 1
            else np.ones_like(alpha)
        )
        reached = np.maximum(inner * (1 - 4 * UNIT) - self.gamma_p * (1 + 4 * UNIT), 0.0)
        value = np.max(self._beta(-ndtri(reached)), axis=0) + self.gamma_q + self._rounding
        finite = np.minimum(value, 1 - inner + 4 * UNIT)
        beyond = alpha * (1 - 4 * UNIT) >= 1 - self.p_minus
        return np.where(beyond, 0.0, np.minimum((1 - self.q_plus) * finite * (1 + 8 * UNIT), 1 - alpha))

    @cached_property
    def _ends(self) -> tuple[Array, float]:
        """Return, corner by corner, the z before which the lower bound on f is 0, and the z at which its alpha is 0."""
        last = float(np.clip(-ndtri(min(self.gamma_p, 1.0)), -_WIDEST, _WIDEST))
        ratio, distance = self._corners
        first = (float(np.clip(ndtri(min(self.gamma_q, 1.0)), -_WIDEST, _WIDEST)) + distance) / ratio
        return np.minimum(first, last), last

    def delta(self, epsilon: Array) -> tuple[Array, Array]:
        """Bound delta(eps) = sup_t Q(S > t) - e^eps P(S > t), whose supremum for normal laws solves a quadratic.

        From above it is sup_alpha 1 - lower(alpha) - e^eps alpha: thresholds at which alpha >= 0 and lower(alpha) >= 0.
        """
        if max(self.p_minus, self.q_plus) >= 1:
            return np.ones_like(epsilon), np.ones_like(epsilon)
        inner = epsilon + np.log1p(-self.p_minus) - np.log1p(-self.q_plus)
        weight = np.exp(np.minimum(inner, 700.0))
        free = self._candidates(inner)[:, None, :]  # each at every corner
        first, last = self._ends
        held = np.concatenate(
            [np.clip(free, first, last), [first + 0 * inner, np.full_like(first, last) + 0 * inner]]
        )
        units = 8 * (1 + np.abs(inner))
        with np.errstate(
            over="ignore"
        ):  # -inf, a threshold that proves nothing; the last one, where alpha = 0, is always finite
            low = 1 - self._beta(free) - self.gamma_q - weight * self._alpha(free, units, +1)
            high = (
                1 - np.maximum(self._beta(held) - self.gamma_q, 0.0) - weight * self._alpha(held, units, -1)
            )
        # Any threshold proves a lower bound if it does for every corner; each corner's best one bounds from above.
        below, above = (
            np.max(np.min(low, axis=1), axis=0) - self._rounding,
            np.max(high, axis=(0, 1)) + self._rounding,
        )
        trivial = -np.expm1(np.minimum(inner, 0.0)) * (1 - 8 * UNIT) - 8 * UNIT
        below, above = (
            np.maximum(np.maximum(below, trivial), 0.0),
            np.minimum(np.maximum(above, trivial + 16 * UNIT), 1.0),
        )
        q = self.q_plus
        return (q + (1 - q) * below) * (1 - 8 * UNIT), np.minimum((q + (1 - q) * above) * (1 + 8 * UNIT), 1.0)

    def _alpha(self, z: Array, units: Array, sign: int) -> Array:
        """Return Phi(-z) + gamma from above, or Phi(-z) - gamma from below, e^epsilon's own rounding included; 0 where negative."""
        ratio, distance = self._corners
        slack = sign * UNIT * (units + 64 * (1 + z * z + np.abs(z) * np.max(distance / ratio)))
        return np.asarray(
            np.maximum(ndtr(-z) * (1 + slack) + sign * self.gamma_p * (1 + sign * 8 * UNIT), 0.0)
        )

    def slopes(self) -> Array:
        """Return losses log(slope) at many points of the lower bound, dense where probabilities are neither 0 nor 1."""
        if max(self.p_minus, self.q_plus) >= 1:
            return np.zeros(1)
        (ratio, *_), (distance, *_) = (corner[:, 0] for corner in self._corners)
        first, last = self._ends
        bulk = np.concatenate([np.linspace(-8.5, 8.5, 1201), np.linspace(-_WIDEST, _WIDEST, 401)])
        z = np.clip(np.concatenate([bulk, (bulk + distance) / ratio]), np.min(first), last)
        loss = np.log(ratio) + (z - (ratio * z - distance)) * (z + (ratio * z - distance)) / 2
        return np.asarray(np.clip(loss - np.log1p(-self.p_minus) + np.log1p(-self.q_plus), -600.0, 600.0))

    def _candidates(self, epsilon: Array) -> Array:
        """Return every z, corner by corner, with s_P/s_Q phi(s_P z/s_Q - gap/s_Q) = e^eps phi(z)."""
        ratio, distance = self._corners
        level = distance**2 + 2 * (epsilon - np.log(ratio))
        bend = 1 - ratio**2  # bend z^2 + 2 ratio distance z = level
        root = np.sqrt(np.maximum((ratio * distance) ** 2 + bend * level, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            near, far = level / (ratio * distance + root), -(ratio * distance + root) / bend
        return np.asarray(
            np.clip(
                np.nan_to_num(np.concatenate([near, far]), posinf=_WIDEST, neginf=-_WIDEST), -_WIDEST, _WIDEST
            )
        )
