"""Every question to a product of laws, answered from lines: both sides, or nothing where no line can be drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property

import numpy as np

from tradeoff.engines import widths
from tradeoff.engines.allowance import allowance
from tradeoff.engines.atomic import BinomialLaw, binomial_law
from tradeoff.engines.contour import chernoff
from tradeoff.engines.contour.aim import log_middle, middle_tilt
from tradeoff.engines.contour.beta import greatest
from tradeoff.engines.contour.pieces import pieces
from tradeoff.engines.contour.strip import ASTRAY, Strip
from tradeoff.engines.law import LossLaw, Reversed, lost_mass
from tradeoff.engines.saddle import epsilon_for_alpha, epsilon_for_delta, log_delta_for_epsilon
from tradeoff.engines.widths import Measure
from tradeoff.numerics.rounding import UNIT, Array

Pair = tuple[Array, Array]

USUAL, EACH, PATIENT = 2e7, 2e5, 1e9
"""Terms summed for one line while no tolerance is asked (at least EACH a distinct factor), and when one is."""

BLUR = 1e-5
"""Relative width left by a Gaussian added where the product does not decay, while no tolerance is asked."""

USUAL_WIDTH = 1e-5
"""Widest answer, in the question's own unit, that a line aimed elsewhere may give while no tolerance is asked."""

_HALF = math.log(0.3)
_ATTEMPTS = 8
_SEARCH = 64
"""How much cheaper lines with an added Gaussian are while the place of an answer is looked for."""

_MISSES, _HOPEFUL = 2, 1e-2
"""Without an added Gaussian, so many answers in a row as wide as this say that the product does not decay."""

_WIDE = 1.0
"""Bounds on epsilon farther apart than this are set beside Chernoff's."""

_STEEPEST = 600.0
"""Slopes beyond e^600 are not sampled."""

_OFFSETS = np.array([-64.0, -16, -6, -3, -2, -1, 0, 1, 2, 3, 6, 16, 64])


class Contour:
    """Bounds from saddle-point contours, for laws whose densities have a closed form.

    A first question costs 5 to 50 ms a distinct factor, later ones near it about 1 ms; counts cost nothing.
    """

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], *, symmetric: bool = False) -> None:
        plain = [_single_rounds(law, count) for law, count in zip(laws, counts, strict=True)]
        laws, counts = [law for law, _ in plain], [count for _, count in plain]
        turned = laws if symmetric else [Reversed(law) for law in laws]
        q_plus, p_minus = (lost_mass([getattr(law, end) for law in laws], counts) for end in ("q_plus", "p_minus"))
        self.tail = Strip(laws, counts, q_plus, middle=False)
        self.other = self.tail if symmetric else Strip(turned, counts, p_minus, middle=False)
        self.middle = Strip(laws, counts, q_plus, middle=True)
        self.blur = True

    @cached_property
    def sharp(self) -> Contour:
        """Return the same lines without any that need an added Gaussian: fast, and silent where atoms never let the product decay."""
        view = copy(self)
        view.blur = False
        return view

    @cached_property
    def possible(self) -> bool:
        """Whether all densities are known in closed form."""
        return all(pieces(law) is not None for law in self.tail.laws)

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon)."""

        def once(which: int, at: Array, most: float, accuracy: float) -> Pair | None:
            strip = self._strip(float(at[which]))
            line = strip.near(float(at[which]), most, accuracy)
            return None if line is None else strip.delta(line, at)

        low, high = self._cover(epsilon, once, widths.delta, tol, (0.0, 1.0))
        for k in np.flatnonzero((high >= 1) & (epsilon > 0)):
            high[k] = min(self.tail.q_plus * (1 + 16 * UNIT) + self.tail.chernoff(chernoff.delta, epsilon[k]), 1.0)
        return low, high

    def _strip(self, x: float) -> Strip:
        far = x >= 0 and log_delta_for_epsilon(self.tail.cumulant, x) < _HALF
        return self.tail if far else self.middle

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound the least epsilon with delta(epsilon) <= delta, for delta > Q(L = inf)."""

        def once(which: int, at: Array, most: float, accuracy: float) -> Pair | None:
            strip, aimed = self._start(float(at[which]))
            far = ASTRAY * (1 + abs(aimed))
            for _ in range(_ATTEMPTS):
                line = strip.near(aimed, most, accuracy, share=1 / _SEARCH)
                if line is None:
                    return None
                x = float(strip.epsilon(line, at[which : which + 1], aimed)[1][0])
                if not 0.3 * line.scale < abs(x - aimed) < far:
                    break
                aimed = x
            line = strip.near(aimed, most, accuracy)
            return None if line is None else strip.epsilon(line, at, aimed)

        low, high = self._cover(delta, once, widths.epsilon, tol, (-np.inf, np.inf))
        for k in np.flatnonzero(~(high - low < _WIDE)):
            left = (delta[k] - self.tail.q_plus * (1 + 16 * UNIT)) * (1 - UNIT)
            high[k] = min(high[k], self.tail.chernoff(chernoff.epsilon, left)) if left > 0 else high[k]
        return low, high

    def _start(self, delta: float) -> tuple[Strip, float]:
        left = delta - self.tail.q_plus
        guess = epsilon_for_delta(self.tail.cumulant, left)
        if guess >= 0 and math.log(left) < _HALF:
            return self.tail, guess
        low, high = -1.0, 1.0
        cumulant, goal = self.middle.cumulant, math.log1p(-delta)
        while log_middle(cumulant, low) > goal and low > -1e4:
            low *= 2
        while log_middle(cumulant, high) < goal and high < 1e4:
            high *= 2
        for _ in range(40):
            x = (low + high) / 2
            low, high = (x, high) if log_middle(cumulant, x) < goal else (low, x)
        return self.middle, high

    def beta(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha) for alpha in (0, 1)."""

        def once(which: int, at: Array, most: float, accuracy: float) -> Pair | None:
            low, high = np.zeros(len(at)), 1 - at
            found = self._beta(float(at[which]), most, accuracy, 1e-3 if tol is None else tol)
            if found is None:
                return None
            low[which], high[which] = found
            return low, high

        return self._cover(alpha, once, widths.beta(alpha), tol, (0.0, 1.0))

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
            low, high = max(low, base + found[0] - 4 * UNIT * base), min(high, base + found[1] + 4 * UNIT * base)
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
        if x >= 0 and log_delta_for_epsilon(self.tail.cumulant, x) < _HALF:
            if (line := self.tail.near(x, most, accuracy, share=share)) is None:
                return None
            low, high = self.tail.delta(line, at)
            cost = np.expm1(at) * alpha
            return at, -(high + cost) - slip * (high + np.abs(cost)), -(low + cost) + slip * (high + np.abs(cost)), 1 - alpha
        if x < 0 and log_delta_for_epsilon(self.other.cumulant, -x) < _HALF:
            if (line := self.other.near(-x, most, accuracy, share=share)) is None:
                return None
            low, high = self.other.delta(line, -at)
            return at, s * (1 - alpha - high) - slip * s * (1 - alpha + high), s * (1 - alpha - low) + slip * s * (1 - alpha + high), 0.0
        if (line := self.middle.near(x, most, accuracy, share=share)) is None:
            return None
        low, high = line.psi(at)
        return at, low - s * alpha - slip * (high + s * alpha), high - s * alpha + slip * (high + s * alpha), 0.0

    def _cover(self, at: Array, once: Once, measure: Measure, tol: float | None, trivial: tuple[float, float]) -> Pair:
        """Answer all entries, a line at a time: aim at one, keep what the line also answers well, go on with the rest."""
        low, high = np.full(len(at), trivial[0]), np.full(len(at), trivial[1])
        waiting = np.ones(len(at), bool)
        most = max(USUAL, EACH * len(self.tail.laws)) if tol is None else PATIENT
        accuracy = 0.0 if not self.blur else BLUR if tol is None else min(BLUR, tol / 12)
        misses = 0
        while waiting.any() and (self.blur or misses < _MISSES):
            allowance().tell(int(len(at) - waiting.sum()), len(at))
            which = int(np.flatnonzero(waiting)[waiting.sum() // 2])
            waiting[which] = False
            found = once(which, at, most, accuracy)
            if found is None:
                continue
            low, high = np.maximum(low, found[0]), np.minimum(high, found[1])
            with np.errstate(invalid="ignore"):
                reached = measure(low, high)
            misses = 0 if reached[which] <= _HOPEFUL else misses + 1
            goal = min(max(3 * float(reached[which]), 1e-9), USUAL_WIDTH) if tol is None else tol
            waiting &= ~(reached <= goal)
        return low, high


def _under_a_tangent(alpha: float, at: Array, line: Array) -> float:
    """Bound f(alpha) given 1 - delta(log s) - s alpha <= ``line``: a tangent touches f at a + s b <= t, so f <= t from t/s on."""
    s = np.exp(at)
    t = (line + s * alpha) * (1 + 8 * UNIT) + 8 * UNIT * (1 + s * alpha)
    return float(np.min(t, where=s * alpha >= t, initial=1.0))


Once = Callable[[int, Array, float, float], Pair | None]


def _single_rounds(law: LossLaw, count: int) -> tuple[LossLaw, int]:
    """Return n rounds of randomised response as such, not written out: counts cost nothing here."""
    return (binomial_law(law.epsilon, 1), count * law.n) if isinstance(law, BinomialLaw) else (law, count)
