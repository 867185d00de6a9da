"""The best tests between two mixtures whose loss increases along the line: thresholds, by normal tails.

At the threshold x, with e = L(x): f(P(X > x)) = Q(X <= x), and delta(e) = Q(X > x) - e^e P(X > x). No root is
trusted: every answer is bounded by the tests at thresholds proved to lie on either side of the best one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import exp, expm1, log1p, maximum, meet, rational
from tradeoff.intervals.roots import bracket_root, bracket_sides
from tradeoff.intervals.rounding import TINY, UNIT, Array, around
from tradeoff.intervals.special import tail_above
from tradeoff.pld.normal_mixtures import MixturePair

_OUTSIDE = 60.0  # standard deviations beyond all means where neither law has mass a float can hold


class Thresholds:
    """Single questions to a pair with an increasing loss."""

    def __init__(self, pair: MixturePair) -> None:
        self.pair = pair
        gains = [q - p for p, q in zip(pair.p_weights, pair.q_weights, strict=True)]
        self._p, self._q, self._d = map(_column, (pair.p_weights, pair.q_weights, gains))

    def _mass(self, weight: Bounds, x: Array, side: float) -> Bounds:
        """Bound sum_i w_i Phi(side (m_i - x)): the mass above x for ``side`` 1, below it for -1."""
        m = Bounds(*around(self.pair.means[:, None], 1))  # they round once
        each = weight * tail_above(side * (Bounds.of(x) - m))
        low, high = (np.sum(side, axis=0) for side in each)
        off = (len(m.lower) + 1) * UNIT * np.sum(np.maximum(np.abs(each.lower), np.abs(each.upper)), axis=0)
        return Bounds(low - off, high + off)

    def _loss(self, x: Array) -> Bounds:
        known = self.pair.logs(x)
        return Bounds(known.loss - known.error, known.loss + known.error)

    def beta(self, alpha: Array) -> Pair:
        """Bound f(alpha) by the Q-mass below thresholds whose P-mass is above and below alpha."""
        near, trivial = alpha <= 0.5, 1 - Bounds.of(alpha)

        def mass(x: Array, which: int) -> Array:
            above, below = self._mass(self._p, x, 1.0), -self._mass(self._p, x, -1.0)
            return np.asarray(np.where(near, tuple(above)[which], tuple(below)[which]))

        level = np.where(near, alpha, alpha - 1)  # exact for alpha >= 1/2
        left, right = (bracket_root(partial(mass, which=k), level)[k] for k in (0, 1))
        low = np.where(np.isfinite(left), self._mass(self._q, _finite(left), -1.0).lower, 0.0)
        high = np.where(np.isfinite(right), self._mass(self._q, _finite(right), -1.0).upper, 1.0)
        inside = (alpha > 0) & (alpha < 1)
        low, high = np.maximum(low, 0.0), np.minimum(high, trivial.upper)
        return np.where(inside, low, trivial.lower), np.where(inside, high, trivial.upper)

    def _test(self, x: Array, rise: Bounds) -> Bounds:
        """Bound Q(X > x) - e^t P(X > x), ``rise`` = e^t - 1, by the masses above x and by those below.

        Masses of one mean are taken together, q_i - e^t p_i = d_i - (e^t - 1) p_i: nothing cancels but tails.
        """
        weight = self._d - rise * self._p
        return meet(self._mass(weight, x, 1.0), -rise - self._mass(weight, x, -1.0))

    def delta(self, epsilon: Array) -> Pair:
        """Bound delta(epsilon): any test is a lower bound, and misses only mass beyond its threshold.

        At a threshold x below the best one, y, it misses int_x^y (e^eps P - Q) <= (e^eps - e^L(x)) P(X > x).
        Besides, delta is at most Q(X > x), e^(sup L) - e^eps, and 1 - e^eps + (e^eps - e^(inf L))_+.
        """
        bottom, top = self.pair.limits
        # Farther out no float holds a mass, and no bracket a threshold.
        last = self._loss(self.pair.means[-1:] + _OUTSIDE).upper
        x = bracket_root(lambda x: -self._loss(x).upper, -np.minimum(epsilon, last))[0]
        x = np.maximum(x, self.pair.means[0] - _OUTSIDE)
        t, rise = Bounds.of(epsilon), expm1(epsilon)
        result = self._test(x, rise)
        missed = maximum(-expm1(self._loss(x) - t), 0.0) * exp(t) * self._mass(self._p, x, 1.0)
        whole = -rise + maximum(-expm1(bottom - t), 0.0) * exp(t)
        far = maximum(expm1(top - t), 0.0) * exp(t)
        above = [result + missed + TINY, self._mass(self._q, x, 1.0) + TINY, whole, far]
        return maximum(result, -rise, 0.0).lower, np.minimum.reduce([each.upper for each in above])

    def epsilon(self, delta: Array) -> Pair:
        """Bound epsilon(delta), with the loss at the threshold for the unknown."""
        left, right = bracket_sides(lambda x: self._test(x, expm1(self._loss(x))), delta)
        bottom, top = self.pair.limits
        least = log1p(-Bounds.of(delta))  # delta >= 1 - e^eps, equal where eps is below all losses
        low = np.where(np.isfinite(left), self._loss(_finite(left)).lower, -np.inf)
        high = np.where(np.isfinite(right), self._loss(_finite(right)).upper, top)
        high = np.where(least.upper <= bottom, least.upper, np.minimum(high, top))
        return np.maximum(low, least.lower), high


def _column(weights: Sequence[Fraction]) -> Bounds:
    low, high = zip(*map(rational, weights), strict=True)
    return Bounds(np.array(low)[:, None], np.array(high)[:, None])


def _finite(x: Array) -> Array:
    return np.where(np.isfinite(x), x, 0.0)
