"""Saddle-point bounds: a central limit theorem under the tilt, with its error proved (Alghamdi et al. 2023).

For any c other than 0 and 1, X = L - x and E_c the law tilted by e^(cL),

    e^(K(c) - (c - 1) x) E_c h(X) = delta(x) - Q(L = inf)                         with h(X) = (e^X - 1)+ e^(-cX)  for c > 1,
                                  = 1 - delta(x)                                  with h(X) = min(e^X, 1) e^(-cX) for 0 < c < 1,
                                  = delta(x) - 1 + e^x (1 - P(L = -inf))          with h(X) = (1 - e^X)+ e^(-cX)  for c < 0.

Put a normal law N in place of the tilted one, within gamma of its distribution function: as E_c h - E_N h = -int (F_c - F_N) dh
and h rises to its maximum and falls again, the error is at most 2 gamma max h, with max h = |c - 1|^(c - 1)/|c|^c, and 1 for
0 < c < 1. Nothing asks c to be the saddle point; near it the error is least. With 0.56 for the constant of Berry and Esseen
2 gamma is their Theorem's 1.12 sum P3/K''^(3/2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tradeoff.composition.saddle_point.tilted_normal import half, part, scaled
from tradeoff.composition.saddle_point.tilts import Tilts
from tradeoff.errors import NoClosedForm
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.law import LossLaw, lost_mass

Pair = tuple[Array, Array]
Holds = Callable[[Array], NDArray[np.bool_]]

_LARGEST = 600.0
_EDGE = 16 * UNIT
_STEPS, _FIRST = 48, 0.01
"""Doublings of a first step of so many standard deviations, and halvings."""

_OFFSETS, _ROUNDS = np.arange(-4, 5) / 4, 14


class SaddlePoint:
    """Bounds delta, epsilon and f by tilted normal laws; any number of rounds costs the same.

    Useful where a round's tilted third moment is small against n^(1/2) times its variance to 3/2. For rarely sampled
    Gaussians (DP-SGD) it is not: the bounds hold and say little, Chernoff's at best.
    """

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], *, symmetric: bool = False) -> None:
        rounds = [law.single_rounds(count) for law, count in zip(laws, counts, strict=True)]
        each, numbers = [law for law, _ in rounds], [count for _, count in rounds]
        for law in each:
            if not law.has_transform:
                raise NoClosedForm(
                    f"method='saddle-point' needs densities in closed form, and {law!r} has none; method='lattice' answers"
                )
        self.q_plus, self.p_minus = (
            lost_mass([getattr(law, end) for law in each], numbers) for end in ("q_plus", "p_minus")
        )
        self.tilts = Tilts(each, numbers, symmetric=symmetric)

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon): by each tilt the estimate with its proved error, or Chernoff's bound where that is less."""
        with np.errstate(
            all="ignore"
        ):  # what overflows or is undefined is found where it would enter a bound
            return self._delta(np.asarray(epsilon, dtype=float))

    def _delta(self, x: Array) -> Pair:
        """Bound delta(x), never worse than by 1 - e^x and 1."""
        near = self.tilts.near(x)
        low, high = part(near, x)
        e_x, above, below = np.exp(x), near.c > 1, near.c < 0
        line, slip = -np.expm1(x) + e_x * self.p_minus, _EDGE * (1 + e_x * self.p_minus)
        lower = np.select(
            [above, below], [self.q_plus * (1 - _EDGE) + low * (1 - UNIT), line + low - slip], 1 - high - UNIT
        )
        upper = np.select(
            [above, below], [self.q_plus * (1 + _EDGE) + high, line + high + slip], 1 - low + UNIT
        )
        least = np.where(x < 0, -np.expm1(x) * (1 - 4 * UNIT), 0.0)
        # The best of all tilts, each of which holds; fmax and fmin pass over NaN.
        return np.fmax(np.fmax.reduce(lower), least), np.fmin(np.fmin.reduce(upper) * (1 + 2 * UNIT), 1.0)

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound the least epsilon with delta(epsilon) <= delta: the outermost losses where delta's bounds prove it."""
        left = np.asarray(delta, dtype=float) - self.q_plus
        low, high = np.full(len(left), -np.inf), np.full(len(left), np.inf)
        inside = (left > 0) & (left < 1)
        with np.errstate(all="ignore"):  # as above
            if inside.any():
                low[inside], high[inside] = self._epsilon(delta[inside], self.tilts.x_for_delta(left[inside]))
        return low, high

    def _epsilon(self, delta: Array, start: Array) -> Pair:
        start, step = self._first(start)
        return _edge(lambda x: self._delta(x)[0] > delta, start, -step), _edge(
            lambda x: self._delta(x)[1] <= delta, start, step
        )

    def beta(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha) for alpha in (0, 1): from below by lines 1 - delta(x) - e^x alpha, from above by the tests L > t."""
        if not len(alpha):
            return np.zeros(0), np.zeros(0)
        with np.errstate(all="ignore"):  # as above
            start, step = self._first(self.tilts.x_for_alpha(alpha))
            # f(alpha) <= f(P(L > t)) = Q(L <= t) wherever P(L > t) <= alpha.
            t = _edge(lambda x: self._above(x) <= alpha, start, step)
            high = np.where(np.isfinite(t), np.fmin(self._below(t), 1 - alpha), 1 - alpha)
            return self._best_line(start, alpha, 2 / _FIRST * step), high

    def _first(self, start: Array) -> Pair:
        """Return where to start, and a first step: 0 and 1 where the estimates overflowed."""
        start = np.where(np.isfinite(start), start, 0.0)
        step = _FIRST * self.tilts.sd(start)
        return start, np.where(np.isfinite(step), step, 1.0)

    def _best_line(self, x: Array, alpha: Array, reach: Array) -> Array:
        """Return the greatest of all lines tried, or 0; a concave function of e^x is followed to its top."""
        best = np.zeros(len(x))
        for k in range(_ROUNDS):
            at = x + np.multiply.outer(_OFFSETS, reach / 4**k)
            value = self._line(at, alpha)
            top = np.argmax(value, axis=0), np.arange(len(x))
            best, x = np.maximum(best, value[top]), at[top]
        return best

    def _line(self, x: Array, alpha: Array) -> Array:
        """Bound 1 - delta(x) - e^x alpha from below, or give minus infinity; each strip holds the part that does not cancel."""
        near = self.tilts.near(x)
        low, high = part(near, x)
        cost, top = np.exp(x) * alpha, np.exp(x) * (1 - self.p_minus)
        over = 1 - self.q_plus - high - cost - _EDGE * (1 + high + cost)
        between = low - cost - _EDGE * (low + cost)
        under = top - cost - high - _EDGE * (top + cost + high)
        found = np.fmax.reduce(np.select([near.c > 1, near.c > 0], [over, between], under))
        return np.where((np.abs(x) < _LARGEST) & ~np.isnan(found), found, -np.inf)

    def _above(self, x: Array) -> Array:
        """Bound P(L > x) from above."""
        return self._tail(x, 0.0, 1.0, self.p_minus)

    def _below(self, x: Array) -> Array:
        """Bound Q(L <= x) from above."""
        return self._tail(x, 1.0, -1.0, self.q_plus)

    def _tail(self, x: Array, pole: float, side: float, lost: float) -> Array:
        """Bound the probability beyond x on one side, under P or Q, whose tilt is 0 or 1: itself, or what it leaves of 1 - lost."""
        near = self.tilts.near(x)
        u, g = side * (near.c - pole), side * (near.mean - x) / near.sd
        low, high = scaled(
            near.log_m, (near.c - pole) * x, near.log_m_error, half(near, np.abs(u), np.sign(u) * g)
        )
        return np.asarray(np.fmin.reduce(np.where(u > 0, high, 1 - lost - low + _EDGE)))


def _edge(holds: Holds, start: Array, step: Array) -> Array:
    """Return each least x where ``holds``, or the greatest for a negative step, near the first such; infinite if none is met.

    What is returned holds; only how near it is to the edge rests on the condition's being monotone.
    """
    inner = holds(start)  # from here the edge is outwards, else inwards
    good, bad = np.where(inner, start, np.copysign(np.inf, step)), start
    away, going = np.where(inner, -step, step), np.ones(len(start), bool)
    for k in range(_STEPS):
        x = start + away * 2.0**k
        held = holds(x)
        good, bad = np.where(going & held, x, good), np.where(going & (inner | ~held), x, bad)
        going &= held == inner
        if not going.any():
            break
    met = np.isfinite(good)
    for _ in range(_STEPS):
        x = np.where(met, (good + bad) / 2, start)
        if np.all(~met | (x == good) | (x == bad)):
            break
        held = holds(x)
        good, bad = np.where(met & held, x, good), np.where(held, bad, x)
    return np.where(np.isfinite(good), good, np.copysign(np.inf, step))
