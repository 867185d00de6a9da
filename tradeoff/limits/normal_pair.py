"""Two sums that are normal up to known errors: what every test between them then satisfies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtri

from tradeoff.intervals.bounds import Bounds, Pair, make_bounds
from tradeoff.intervals.functions import clip, exp, expm1, log1p, maximum, minimum
from tradeoff.intervals.rounding import UNIT, Array, down, up
from tradeoff.limits.closed_forms import NOTHING
from tradeoff.limits.moments import within

_STEEPEST = 600.0  # no line is steeper than e^600: floats hold its product with any probability
_WIDEST = 40.0  # quantiles of a float probability are nearer than this

# Thresholds whose slopes make the guarantee: dense where probabilities are neither 0 nor 1.
_BULK = np.concatenate([np.linspace(-8.5, 8.5, 1201), np.linspace(-_WIDEST, _WIDEST, 401)])

# Above what a candidate's rounding, dz of some 1e-13, takes off a maximum: G''/2 dz^2 <= 8 r (1 + r) dz^2.
_OFF_THE_TOP = 64 * UNIT
_FLUSHED = 1e-300  # SciPy's log Phi(x) is 0 where it is nearer to 0 than this


@dataclass(frozen=True)
class NormalPair:
    """A pair P, Q with |P(S <= t) - Phi((t - m_P)/s_P)| <= gamma_p at every t, and likewise under Q.

    A test at threshold t = m_P + s_P z has alpha = P(S > t) within gamma_p of Phi(-z) and beta = Q(S <= t)
    within gamma_q of Phi((s_P z - gap)/s_Q), gap = m_Q - m_P. With ``mass_at_minus_infinity`` p under P and
    ``mass_at_plus_infinity`` q under Q, f(alpha) = (1 - q) f_finite(alpha/(1 - p)).
    """

    gap: Bounds
    sd_p: Bounds
    sd_q: Bounds
    gamma_p: float
    gamma_q: float
    mass_at_minus_infinity: Bounds = NOTHING
    mass_at_plus_infinity: Bounds = NOTHING

    @cached_property
    def ratio(self) -> Bounds:
        """Bound s_P/s_Q."""
        return self.sd_p / self.sd_q

    @cached_property
    def distance(self) -> Bounds:
        """Bound gap/s_Q."""
        return self.gap / self.sd_q

    @cached_property
    def void(self) -> bool:
        """Whether all of P or of Q may be at infinity."""
        return bool(max(self.mass_at_minus_infinity.upper, self.mass_at_plus_infinity.upper) >= 1)

    def _beta(self, z: Bounds | ArrayLike) -> Bounds:
        return exp(log_phi(self.ratio * z - self.distance))

    def bounds(self, alpha: Array) -> Pair:
        """Bound f(alpha): Phi((s_P z - gap)/s_Q) up to gamma_q, with Phi(-z) = alpha up to gamma_p."""
        most = (1 - Bounds.of(alpha)).upper
        if self.void:
            return np.zeros_like(alpha), most
        inner = clip(alpha / (1 - self.mass_at_minus_infinity), 0.0, 1.0)
        z = -quantile(clip(inner + within(self.gamma_p), 0.0, 1.0))
        finite = minimum(clip(self._beta(z) + within(self.gamma_q), 0.0, 1.0), 1 - inner)
        low, high = clip((1 - self.mass_at_plus_infinity) * finite, 0.0, 1.0)
        return low, np.where(alpha >= (1 - self.mass_at_minus_infinity).upper, 0.0, np.minimum(high, most))

    def delta(self, epsilon: Array) -> Pair:
        """Bound delta(eps) = sup_t Q(S > t) - e^eps P(S > t), a quadratic's root for normal laws.

        Any threshold proves it from below. From above it is sup_alpha 1 - lower(alpha) - e^eps alpha, its
        terms clipped at 0: the supremum is where normal laws have it, or where a term is 0.
        """
        if self.void:
            return np.zeros_like(epsilon), np.ones_like(epsilon)
        inner = epsilon + log1p(-self.mass_at_minus_infinity) - log1p(-self.mass_at_plus_infinity)
        # A supremum has its candidates at one epsilon: it falls, so each side is that of an end.
        most = self._supremum(inner.lower)
        least = most if (inner.lower == inner.upper).all() else self._supremum(inner.upper)
        finite = clip(maximum(-expm1(inner), Bounds(least.lower, most.upper)), 0.0, 1.0)
        return tuple(clip(self.mass_at_plus_infinity + (1 - self.mass_at_plus_infinity) * finite, 0.0, 1.0))

    def _supremum(self, epsilon: Array) -> Bounds:
        """Bound delta at the epsilon of the finite losses."""
        free = self._candidates(epsilon)
        ends = ([np.full_like(free[:1], side) for side in end] for end in self._ends)
        every = Bounds(*map(np.concatenate, zip((free, free), *ends, strict=True)))
        gain = self._gain(every, Bounds.of(epsilon))
        low = np.max(gain(self.gamma_p, self.gamma_q).lower[: len(free)], axis=0)
        return Bounds(low, np.max(gain(-self.gamma_p, -self.gamma_q).upper, axis=0) + _OFF_THE_TOP)

    def _gain(self, z: Bounds, epsilon: Bounds) -> Callable[[float, float], Bounds]:
        """Bound 1 - (Phi(y) + gamma_q)_+ - e^eps (Phi(-z) + gamma_p)_+ at y = (s_P z - gap)/s_Q."""
        beta, weighted, slope = self._beta(z), exp(epsilon + log_phi(-z)), exp(epsilon)
        return lambda gamma_p, gamma_q: (
            1 - maximum(beta + gamma_q, 0.0) - maximum(weighted + slope * gamma_p, 0.0)
        )

    @cached_property
    def _ends(self) -> tuple[Bounds, Bounds]:
        """Bound the z below which the lower bound on f is 0, and the z at which its alpha is 0."""
        low, high = (quantile(min(gamma, 1.0)) for gamma in (self.gamma_q, self.gamma_p))
        return (low + self.distance) / self.ratio, -high

    def _candidates(self, epsilon: Array) -> Array:
        """Return every z with r phi(r z - d) = e^eps phi(z), r = s_P/s_Q, d = gap/s_Q, for all their ends."""
        result = []
        for r, d in product(self.ratio, self.distance):
            level = d * d + 2 * (epsilon - np.log(r))
            bend = 1 - r * r  # bend z^2 + 2 r d z = level
            with np.errstate(all="ignore"):
                root = np.sqrt(np.maximum((r * d) * (r * d) + bend * level, 0.0))
                result += [level / (r * d + root), -(r * d + root) / bend * np.ones_like(epsilon)]
        known = np.nan_to_num(np.array(result), posinf=_WIDEST, neginf=-_WIDEST)
        return np.asarray(np.clip(known, -_WIDEST, _WIDEST))

    def slopes(self) -> Array:
        """Return losses log(slope) at many points of the lower bound."""
        if self.void:
            return np.zeros(1)
        r, d = self.ratio.lower, self.distance.upper
        first, last = (np.clip(end.upper, -_WIDEST, _WIDEST) for end in self._ends)
        z = np.clip(np.concatenate([_BULK, (_BULK + d) / r]), min(first, last), last)
        with np.errstate(over="ignore"):
            loss = np.log(r) + (z - (r * z - d)) * (z + (r * z - d)) / 2
        moved = np.log1p(-self.mass_at_plus_infinity.upper) - np.log1p(-self.mass_at_minus_infinity.upper)
        return np.asarray(np.clip(loss + moved, -_STEEPEST, _STEEPEST))


def log_phi(x: Bounds | ArrayLike) -> Bounds:
    """Bound log Phi(x): SciPy's is known to 32 units, and to 4 x^2 more where it is nearly 0."""
    return clip(_known(log_ndtr, x, 32, 4) - Bounds(0.0, _FLUSHED), -np.inf, 0.0)


def quantile(p: Bounds | ArrayLike) -> Bounds:
    """Bound the z with Phi(z) = p: SciPy's is known to 16 units of itself and of 1."""
    return _known(ndtri, p, 16) + within(16 * UNIT)


def _known(function: Callable[[Array], Array], x: Bounds | ArrayLike, units: int, more: int = 0) -> Bounds:
    """Bound an increasing function known to ``units`` and ``more`` x^2 units, exactly where infinite."""
    low, high = (np.asarray(side, dtype=float) for side in Bounds.of(x))
    below, above = function(low), function(high)
    charge = units + more * np.clip([low, high], 0.0, _WIDEST) ** 2
    with np.errstate(invalid="ignore"):
        return make_bounds(
            np.where(np.isinf(below), below, down(below, charge[0])),
            np.where(np.isinf(above), above, up(above, charge[1])),
        )
