"""Every question to a product of laws, answered from lines: both sides, or nothing where no line can be drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property

import numpy as np

from tradeoff.composition import widths
from tradeoff.composition.cache import alike
from tradeoff.composition.contour import chernoff
from tradeoff.composition.contour.beta import greatest
from tradeoff.composition.contour.place import middle_tilt
from tradeoff.composition.contour.strip import APART, ASTRAY, HALF, Strip
from tradeoff.composition.options import query_options
from tradeoff.intervals.roots import bracket_root
from tradeoff.intervals.rounding import UNIT, Array, Index
from tradeoff.loss.changed import Reversed
from tradeoff.loss.cumulant import epsilon_for_alpha
from tradeoff.loss.law import LossLaw, lost_mass

Pair = tuple[Array, Array]

USUAL, EACH, PATIENT = 2e7, 2e5, 1e9
"""Terms summed for one line while no tolerance is asked (at least EACH a distinct factor), and when one is."""

BLUR = 1e-5
"""Relative width left by a Gaussian added where the product does not decay, while no tolerance is asked."""

_ATTEMPTS = 8
_SEARCH = 64
"""How much cheaper lines with an added Gaussian are while the place of an answer is looked for."""

_WIDE = 1.0
"""Bounds on epsilon farther apart than this are set beside Chernoff's."""

_FARTHEST = 1e4
"""Losses beyond this are not looked for in the middle strip."""

_STEEPEST = 600.0
"""Slopes beyond e^600 are not sampled."""

_OFFSETS = np.array([-64.0, -16, -6, -3, -2, -1, 0, 1, 2, 3, 6, 16, 64])


class ContourEngine:
    """Bounds from saddle-point contours, for laws whose densities have a closed form.

    A first question costs 5 to 50 ms a distinct factor, later ones near it about 1 ms; counts cost nothing.
    """

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], *, symmetric: bool = False) -> None:
        plain = [law.single_rounds(count) for law, count in zip(laws, counts, strict=True)]
        laws, counts = [law for law, _ in plain], [count for _, count in plain]
        turned = laws if symmetric else [Reversed(law) for law in laws]
        q_plus, p_minus = (
            lost_mass([getattr(law, end) for law in laws], counts) for end in ("q_plus", "p_minus")
        )
        self.tail = Strip(laws, counts, q_plus, middle=False)
        self.other = self.tail if symmetric else Strip(turned, counts, p_minus, middle=False)
        self.middle = Strip(laws, counts, q_plus, middle=True)
        self.blur = True

    @cached_property
    def sharp(self) -> ContourEngine:
        """Return the same lines without any that need an added Gaussian: fast, and silent where atoms never let the product decay."""
        view = copy(self)
        view.blur = False
        return view

    @cached_property
    def possible(self) -> bool:
        """Whether all densities are known in closed form."""
        return all(law.has_transform for law in self.tail.laws)

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon)."""
        low, high, settled = np.zeros(len(epsilon)), np.ones(len(epsilon)), 0
        far = self.tail.rare(epsilon)
        for strip, mine in ((self.tail, np.flatnonzero(far)), (self.middle, np.flatnonzero(~far))):
            for x, which in alike(strip.anchors(epsilon[mine])) if len(mine) else ():
                query_options().tell(settled, len(epsilon))
                settled += len(which)
                if (line := strip.at(x, *self._cost(tol))) is not None:
                    low[mine[which]], high[mine[which]] = strip.delta(line, epsilon[mine[which]])
        for k in np.flatnonzero((high >= 1) & (epsilon > 0)):
            high[k] = min(
                self.tail.q_plus * (1 + 16 * UNIT) + self.tail.chernoff(chernoff.delta, epsilon[k]), 1.0
            )
        return low, high

    def _cost(self, tol: float | None) -> tuple[float, float]:
        """Return the terms that may be summed for a line, and the relative width that an added Gaussian may leave."""
        most = max(USUAL, EACH * len(self.tail.laws)) if tol is None else PATIENT
        return most, 0.0 if not self.blur else BLUR if tol is None else min(BLUR, tol / 12)

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound the least epsilon with delta(epsilon) <= delta, for delta > Q(L = inf)."""
        low, high = np.full(len(delta), -np.inf), np.full(len(delta), np.inf)
        for strip, mine, aimed in () if self.tail.too_far else self._starts(delta):
            low[mine], high[mine] = self._epsilon(strip, delta[mine], aimed, tol)
        for k in np.flatnonzero(~(high - low < _WIDE)):
            left = (delta[k] - self.tail.q_plus * (1 + 16 * UNIT)) * (1 - UNIT)
            high[k] = min(high[k], self.tail.chernoff(chernoff.epsilon, left)) if left > 0 else high[k]
        return low, high

    def _epsilon(self, strip: Strip, delta: Array, aimed: Array, tol: float | None) -> Pair:
        """Follow each answer from anchor to anchor by cheap lines, then ask the line it has come to."""
        going, far, cost = np.arange(len(delta)), ASTRAY * (1 + np.abs(aimed)), self._cost(tol)
        aimed = aimed.copy()
        for _ in range(_ATTEMPTS):
            moved = np.zeros(len(delta), bool)
            for x, which in alike(strip.anchors(aimed[going])):
                mine = going[which]
                if (line := strip.at(x, *cost, share=1 / _SEARCH)) is not None:
                    found = strip.epsilon(line, delta[mine], aimed[mine])[1]
                    away = np.abs(found - x)
                    moved[mine] = (away > line.scale * APART) & (away < far[mine])
                    aimed[mine] = np.where(moved[mine], found, aimed[mine])
            if not len(going := np.flatnonzero(moved)):
                break
        low, high, settled = np.full(len(delta), -np.inf), np.full(len(delta), np.inf), 0
        for x, which in alike(strip.anchors(aimed)):
            query_options().tell(settled, len(delta))
            settled += len(which)
            if (line := strip.at(x, *cost)) is not None:
                low[which], high[which] = strip.epsilon(line, delta[which], aimed[which])
        return low, high

    def _starts(self, delta: Array) -> Iterator[tuple[Strip, Index, Array]]:
        """Yield the strips with the entries that they answer, and where saddle points expect the answers."""
        left = delta - self.tail.q_plus
        guess = self.tail.saddles.x_for(np.log(left))
        far = (guess >= 0) & (np.log(left) < HALF)
        if far.any():
            yield self.tail, np.flatnonzero(far), guess[far]
        if not far.all():
            goal = -np.log1p(-delta[~far])
            x = bracket_root(lambda x: -self.middle.saddles.at(x).log, goal)[1]
            yield self.middle, np.flatnonzero(~far), np.clip(x, -_FARTHEST, _FARTHEST)

    def beta(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha) for alpha in (0, 1)."""
        low, high = np.zeros(len(alpha)), 1 - alpha
        for k, each in enumerate(alpha.tolist()):
            query_options().tell(k, len(alpha))
            found = self._beta(each, *self._cost(tol), 1e-3 if tol is None else tol)
            low[k], high[k] = (low[k], high[k]) if found is None else found
        return low, high

    def _beta(self, alpha: float, most: float, accuracy: float, tol: float) -> tuple[float, float] | None:
        """Sample the supremum over s where it lies: closer while the bounds are wide, wider while it is not fenced in."""
        x = epsilon_for_alpha(self.tail.cumulant, alpha)
        pace = 1e-2 * min(1.0, math.sqrt(self.tail.cumulant(self._tilt(x))[2]))
        low, high, share, measure = 0.0, 1 - alpha, 1 / _SEARCH, widths.beta(np.array([alpha]))
        for _ in range(_ATTEMPTS):
            sampled = self._samples(alpha, x, pace * _OFFSETS, most, accuracy, share)
            if sampled is None:
                return None
            at, below, above, base = sampled
            found = greatest(at, below, above)
            x = self._better(at, (below + above) / 2)
            if found is None:
                low, pace = max(low, base + float(np.max(below)) - 4 * UNIT), 2 * pace
                high = min(high, _under_a_tangent(alpha, at, above + base))
                continue
            share = 1.0
            low, high = (
                max(low, base + found[0] - 4 * UNIT * base),
                min(high, base + found[1] + 4 * UNIT * base),
            )
            width = float(measure(np.array([low]), np.array([high]))[0])
            if width <= tol / 2:
                break
            pace = pace * max(min(0.5, math.sqrt(tol / width) / 2), 1e-2)
        return low, high

    def _tilt(self, x: float) -> float:
        return middle_tilt(self.middle.cumulant, x)

    @staticmethod
    def _better(at: Array, value: Array) -> float:
        """Return the top of the parabola through the best sample and its neighbours, or the best sample at an end."""
        k = int(np.argmax(value))
        if k in {0, len(at) - 1}:
            return float(at[k] + (at[k] - at[k - 1 if k else 1]))
        left, right = at[k - 1] - at[k], at[k + 1] - at[k]
        down, up = value[k - 1] - value[k], value[k + 1] - value[k]
        bend = right * down - left * up
        return float(at[k] + (right**2 * down - left**2 * up) / (2 * bend)) if bend != 0 else float(at[k])

    def _samples(
        self, alpha: float, x: float, offsets: Array, most: float, accuracy: float, share: float
    ) -> tuple[Array, Array, Array, float] | None:
        """Return losses, bounds on 1 - delta - s alpha less a base, and the base, from the strip where nothing cancels."""
        at = np.clip(x, -_STEEPEST, _STEEPEST) + offsets
        with np.errstate(under="ignore"):
            s = np.exp(at)
        slip = 8 * UNIT
        if self.tail.rare(np.array([x]))[0]:
            if (line := self.tail.near(x, most, accuracy, share=share)) is None:
                return None
            low, high = self.tail.delta(line, at)
            cost = np.expm1(at) * alpha
            return (
                at,
                -(high + cost) - slip * (high + np.abs(cost)),
                -(low + cost) + slip * (high + np.abs(cost)),
                1 - alpha,
            )
        if x < 0 and self.other.rare(np.array([-x]))[0]:
            if (line := self.other.near(-x, most, accuracy, share=share)) is None:
                return None
            low, high = self.other.delta(line, -at)
            return (
                at,
                s * (1 - alpha - high) - slip * s * (1 - alpha + high),
                s * (1 - alpha - low) + slip * s * (1 - alpha + high),
                0.0,
            )
        if (line := self.middle.near(x, most, accuracy, share=share)) is None:
            return None
        low, high = line.psi(at)
        return (
            at,
            low - s * alpha - slip * (high + s * alpha),
            high - s * alpha + slip * (high + s * alpha),
            0.0,
        )


def _under_a_tangent(alpha: float, at: Array, line: Array) -> float:
    """Bound f(alpha) given 1 - delta(log s) - s alpha <= ``line``: a tangent touches f at a + s b <= t, so f <= t from t/s on."""
    s = np.exp(at)
    t = (line + s * alpha) * (1 + 8 * UNIT) + 8 * UNIT * (1 + s * alpha)
    return float(np.min(t, where=s * alpha >= t, initial=1.0))
