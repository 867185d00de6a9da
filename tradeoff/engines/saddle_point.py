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

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from tradeoff.engines.atomic import BinomialLaw, binomial_law
from tradeoff.engines.contour.aim import middle_tilt
from tradeoff.engines.contour.pieces import pieces
from tradeoff.engines.law import LossLaw, Reversed, lost_mass
from tradeoff.engines.saddle import Cumulant, epsilon_for_alpha, epsilon_for_delta, log_delta_for_epsilon, tilt_for_epsilon
from tradeoff.engines.tilted import Tilted, tilted
from tradeoff.engines.tilted_normal import half, part, scaled
from tradeoff.errors import NoClosedForm
from tradeoff.numerics.rounding import UNIT, Array

Pair = tuple[Array, Array]
Range = tuple[float, float]

_HALF = math.log(0.5)
_NEAR = 0.2
"""A tilt serves losses within this many standard deviations of its aim."""

_REMEMBERED = 256
_LARGEST = 600.0
_EDGE = 16 * UNIT
_STEPS, _FIRST = 48, 0.01
"""Doublings of a first step of so many standard deviations, and halvings."""

_OFFSETS, _ROUNDS = [k / 4 for k in range(-4, 5)], 14


class SaddlePoint:
    """Bounds delta, epsilon and f by tilted normal laws; any number of rounds costs the same.

    Useful where a round's tilted third moment is small against n^(1/2) times its variance to 3/2. For rarely sampled
    Gaussians (DP-SGD) it is not: the bounds hold and say little, Chernoff's at best.
    """

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], *, symmetric: bool = False) -> None:
        rounds = [_single_rounds(law, count) for law, count in zip(laws, counts, strict=True)]
        self.laws, self.counts, self.symmetric = [law for law, _ in rounds], [count for _, count in rounds], symmetric
        for law in self.laws:
            if pieces(law) is None:
                raise NoClosedForm(f"method='saddle-point' needs densities in closed form, and {law!r} has none; method='lattice' answers")
        self.q_plus, self.p_minus = (lost_mass([getattr(law, end) for law in self.laws], self.counts) for end in ("q_plus", "p_minus"))
        self.drawn: list[tuple[float, Tilted | None, float]] = []

    @cached_property
    def cumulant(self) -> Cumulant:
        """K, from sketches: it says where to tilt, and enters no bound."""
        return Cumulant([(law.sketch(), count) for law, count in zip(self.laws, self.counts, strict=True)])

    @cached_property
    def other(self) -> Cumulant:
        """K of the pair in the other order."""
        if self.symmetric:
            return self.cumulant
        return Cumulant([(Reversed(law).sketch(), count) for law, count in zip(self.laws, self.counts, strict=True)])

    def near(self, x: float) -> Tilted | None:
        """Return a tilt aimed at the loss x, from memory if one is near."""
        for at, found, reach in self.drawn:
            if abs(at - x) <= reach and (at < 0) == (x < 0):
                return found
        c = self._tilt(x)
        found = tilted(self.laws, self.counts, c)
        spread = math.sqrt(max(self.cumulant(c)[2], 0.0)) if found is None else found.sd
        self.drawn = [*self.drawn[-_REMEMBERED:], (x, found, _NEAR * spread)]
        return found

    def _tilt(self, x: float) -> float:
        if x >= 0 and log_delta_for_epsilon(self.cumulant, x) < _HALF:
            return tilt_for_epsilon(self.cumulant, x)
        if x < 0 and log_delta_for_epsilon(self.other, -x) < _HALF:
            return 1 - tilt_for_epsilon(self.other, -x)
        return middle_tilt(self.cumulant, x)

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon): the estimate and its proved error, and Chernoff's bound where that is less."""
        return _columns(self._delta(float(x)) for x in epsilon)

    def _delta(self, x: float) -> Range:
        """Bound delta(x), never worse than by 1 - e^x and 1."""
        least = -math.expm1(x) * (1 - 4 * UNIT) if x < 0 else 0.0
        near = self.near(x) if abs(x) < math.inf else None
        if near is None:
            return least, 1.0
        low, high = part(near, x)
        if near.c > 1:
            low, high = self.q_plus * (1 - _EDGE) + low * (1 - UNIT), self.q_plus * (1 + _EDGE) + high
        elif near.c > 0:
            low, high = 1 - high - UNIT, 1 - low + UNIT
        else:
            line, slip = -math.expm1(x) + math.exp(x) * self.p_minus, _EDGE * (1 + math.exp(x) * self.p_minus)
            low, high = line + low - slip, line + high + slip
        return max(low, least), min(high * (1 + 2 * UNIT), 1.0)

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound the least epsilon with delta(epsilon) <= delta: the outermost losses where delta's bounds prove it."""
        return _columns(self._epsilon(float(d)) for d in delta)

    def _epsilon(self, delta: float) -> Range:
        left = delta - self.q_plus
        if not 0 < left < 1:
            return -math.inf, math.inf
        start = max(epsilon_for_delta(self.cumulant, left), 0.0) if math.log(left) < _HALF else 0.0
        low = _edge(lambda x: self._delta(x)[0] > delta, start, -self._step(start))
        return low, _edge(lambda x: self._delta(x)[1] <= delta, start, self._step(start))

    def _step(self, x: float) -> float:
        near = self.near(x)
        return _FIRST * (1.0 if near is None else near.sd)

    def beta(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha) for alpha in (0, 1): from below by lines 1 - delta(x) - e^x alpha, from above by the tests L > t."""
        return _columns(self._beta(float(a)) for a in alpha)

    def _beta(self, alpha: float) -> Range:
        start = epsilon_for_alpha(self.cumulant, alpha)
        near = self.near(start)
        if near is None:
            return 0.0, 1 - alpha
        # f(alpha) <= f(P(L > t)) = Q(L <= t) wherever P(L > t) <= alpha.
        t = _edge(lambda x: self._above(x) <= alpha, start, self._step(start))
        high = min(self._below(t), 1 - alpha) if math.isfinite(t) else 1 - alpha
        return max(self._best_line(start, alpha, 2 * near.sd), 0.0), high

    def _best_line(self, x: float, alpha: float, reach: float) -> float:
        """Return the greatest of all lines tried; a concave function of e^x is followed to its top."""
        best = -math.inf
        for _ in range(_ROUNDS):
            near = self.near(x)
            if near is None:
                break
            value, x = max((self._line(near, x + k * reach, alpha), x + k * reach) for k in _OFFSETS)
            best, reach = max(best, value), reach / 4
        return best

    def _line(self, near: Tilted, x: float, alpha: float) -> float:
        """Bound 1 - delta(x) - e^x alpha from below; each strip holds the part that does not cancel."""
        if not abs(x) < _LARGEST:
            return 0.0
        low, high = part(near, x)
        cost = math.exp(x) * alpha
        if near.c > 1:
            return 1 - self.q_plus - high - cost - _EDGE * (1 + high + cost)
        if near.c > 0:
            return low - cost - _EDGE * (low + cost)
        top = math.exp(x) * (1 - self.p_minus)
        return top - cost - high - _EDGE * (top + cost + high)

    def _above(self, x: float) -> float:
        """Bound P(L > x) from above."""
        near = self.near(x)
        if near is None:
            return 1.0
        g = (near.mean - x) / near.sd
        if near.c > 0:
            return scaled(near.log_m, near.c * x, near.log_m_error, half(near, near.c, g))[1]
        return 1 - self.p_minus - scaled(near.log_m, near.c * x, near.log_m_error, half(near, -near.c, -g))[0] + _EDGE

    def _below(self, x: float) -> float:
        """Bound Q(L <= x) from above."""
        near = self.near(x)
        if near is None:
            return 1.0
        g, u = (near.mean - x) / near.sd, near.c - 1
        if u < 0:
            return scaled(near.log_m, u * x, near.log_m_error, half(near, -u, -g))[1]
        return 1 - self.q_plus - scaled(near.log_m, u * x, near.log_m_error, half(near, u, g))[0] + _EDGE


def _edge(holds: Callable[[float], bool], start: float, step: float) -> float:
    """Return the least x where ``holds``, or the greatest for a negative step, near the first such; infinite if none is met.

    What is returned holds; only how near it is to the edge rests on the condition's being monotone.
    """
    good = start if holds(start) else math.copysign(math.inf, step)
    bad, away = start, step if math.isinf(good) else -step
    for k in range(_STEPS):
        x = start + away * 2.0**k
        if holds(x):
            good = x
        else:
            bad = x
        if (good == x) == (away == step):
            break
    if math.isinf(good):
        return good
    for _ in range(_STEPS):
        x = (good + bad) / 2
        if x in {good, bad}:
            break
        good, bad = (x, bad) if holds(x) else (good, x)
    return good


def _columns(rows: Iterator[Range]) -> Pair:
    with np.errstate(all="ignore"):  # what overflows or is undefined is found where it would enter a bound
        found = np.array(list(rows), dtype=float).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _single_rounds(law: LossLaw, count: int) -> tuple[LossLaw, int]:
    """Return n rounds of randomised response as such: the theorem wants many summands."""
    return (binomial_law(law.epsilon, 1), count * law.n) if isinstance(law, BinomialLaw) else (law, count)
