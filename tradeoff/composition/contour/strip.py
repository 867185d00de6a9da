"""delta, and the least epsilon, from lines in one strip of one order of the pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.composition.cache import Cache, anchors
from tradeoff.composition.contour.draw import Placement, draw
from tradeoff.composition.contour.line import ContourLine
from tradeoff.composition.contour.place import GOAL, aim, smoothed
from tradeoff.composition.options import query_options
from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.cumulant import Cumulant
from tradeoff.loss.law import LossLaw
from tradeoff.loss.saddle_table import SaddleTable

_REMEMBERED = 2**20
"""Most nodes of lines kept for later questions: 64 MiB."""

ASTRAY = 100.0
"""A line that does not find its answer within this many times where the sketch did says nothing of it."""

_HOPELESS = 1e-2
"""Without an added Gaussian, what is left out of a product that does not decay is more than this."""

_WIDEST = 1.0
"""A Gaussian of a larger mu tells nothing of the product it is added to."""

_FARTHEST = 1e100

_NEWTON = 12
_OUTWARD = 16


HALF = math.log(0.3)
"""Tails rarer than this are answered for c > 1, where they lose nothing to a difference from 1."""

APART = 2.0
"""Most spreads of the integrand between places lines are aimed at: at half of it from one, e^(1/2) of its accuracy is lost."""

_POLES = (0.0, 1.0)
_NEARLY = 1 - 1e-9
"""Saddles of the middle strip stay away from its end, where they are of losses beyond 1e9."""


class _Drawn(NamedTuple):
    """A line, or None where none can be drawn, as it was aimed."""

    aim: Placement
    line: ContourLine | None

    def leaves(self, share: float) -> bool:
        """Whether what is beyond the last node may be more than a share of the answer."""
        return (
            self.line is not None
            and self.line.cut > share * (self.aim.goal / GOAL) * math.pi * self.line.last
        )


class Strip:
    """Lines of one strip: ``middle`` for 0 < c < 1, where the line holds 1 - delta, else c > 1, where it holds delta - q_plus."""

    def __init__(
        self, laws: Sequence[LossLaw], counts: Sequence[int], q_plus: float, *, middle: bool
    ) -> None:
        self.laws, self.counts, self.q_plus, self.middle = laws, counts, q_plus, middle
        self.drawn: Cache[_Drawn] = Cache(
            _REMEMBERED, lambda drawn: 0 if drawn.line is None else len(drawn.line.log)
        )

    @cached_property
    def cumulant(self) -> Cumulant:
        return Cumulant([(law.sketch(), count) for law, count in zip(self.laws, self.counts, strict=True)])

    @cached_property
    def too_far(self) -> bool:
        """Whether losses are so large that the numbers of a line overflow."""
        return bool(np.max(np.abs(self.cumulant.loss)) > _FARTHEST)

    @cached_property
    def saddles(self) -> SaddleTable:
        """The saddle points of the strip, by loss."""
        return (
            SaddleTable(self.cumulant, _POLES, last=_NEARLY)
            if self.middle
            else SaddleTable(self.cumulant, _POLES, start=1.0)
        )

    def anchors(self, x: Array) -> Array:
        """Return where lines are aimed that serve questions at losses x."""
        return x if self.too_far else anchors(x, self.saddles.spread(x), APART)

    def rare(self, x: Array) -> NDArray[np.bool_]:
        """Whether delta(x) is so small, at losses x >= 0, that it is answered as such and not as what is left of 1."""
        return np.zeros(len(x), bool) if self.too_far else (x >= 0) & (self.saddles.at(x).log < HALF)

    def near(self, x: float, most: float, accuracy: float, *, share: float = 1.0) -> ContourLine | None:
        """Return the line that serves the loss x.

        Where the product does not decay a Gaussian is added, for a ``share`` of the cost allowed.
        """
        return self.at(float(self.anchors(np.array([x]))[0]), most, accuracy, share=share)

    def at(self, x: float, most: float, accuracy: float, *, share: float = 1.0) -> ContourLine | None:
        """Return the line aimed at the loss x; without an ``accuracy`` only where the product decays by itself."""
        if self.too_far:
            return None
        sharp = self._remembered(x, most, 0.0)
        if accuracy == 0:
            return None if sharp.leaves(_HOPELESS) else sharp.line
        if sharp.line is None or not sharp.leaves(10 * GOAL):
            return sharp.line
        return self._remembered(x, most * share, accuracy).line or sharp.line

    def _remembered(self, x: float, most: float, accuracy: float) -> _Drawn:
        key = (x, most, accuracy, *query_options().choices[1:])  # whichever method asks for it
        return self.drawn.of(key, lambda: self._drawn(x, most, accuracy))

    def _drawn(self, x: float, most: float, accuracy: float) -> _Drawn:
        where = aim(self.cumulant, x, most, middle=self.middle)
        if not where.drawable:
            return _Drawn(where, None)
        if accuracy > 0:
            where = smoothed(where, accuracy, len(self.laws))
        try:
            return _Drawn(where, draw(self.laws, self.counts, where) if where.tau <= _WIDEST else None)
        except SizeError:
            return _Drawn(where, None)

    def delta(self, line: ContourLine, x: Array) -> tuple[Array, Array]:
        """Bound delta(x)."""
        low, high = line.psi(x)
        if self.middle:
            return np.maximum(1 - high - UNIT, 0.0), np.minimum(1 - low + UNIT, 1.0)
        return self.q_plus * (1 - 16 * UNIT) + low * (1 - UNIT), np.minimum(
            self.q_plus * (1 + 16 * UNIT) + high, 1.0
        )

    def chernoff(
        self, question: Callable[[Sequence[LossLaw], Sequence[int], Cumulant, float], float], x: float
    ) -> float:
        """Answer a question by Chernoff's bound alone, from above."""
        return math.inf if self.too_far else question(self.laws, self.counts, self.cumulant, float(x))

    def epsilon(self, line: ContourLine, delta: Array, guess: Array) -> tuple[Array, Array]:
        """Bound the least epsilon: Newton's method on log psi, then outwards until both sides are certified."""
        target = 1 - delta if self.middle else np.maximum(delta - self.q_plus, 1e-320)
        x, slope, width = _solve(line, np.log(target), guess)
        far = ASTRAY * (1 + np.abs(guess))
        step = np.clip(2 * width / np.maximum(np.abs(slope), 1e-300), 4 * UNIT * (1 + np.abs(x)), far)
        low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
        for _ in range(_OUTWARD):
            below, above = ~np.isfinite(low), ~np.isfinite(high)
            if below.any():
                at = (x - step)[below]
                low[below] = np.where(self.delta(line, at)[0] > delta[below], at, -np.inf)
            if above.any():
                at = (x + step)[above]
                high[above] = np.where(self.delta(line, at)[1] <= delta[above], at, np.inf)
            if np.isfinite(low).all() and np.isfinite(high).all():
                break
            step = np.minimum(2 * step, far)
        return low, high


def _solve(line: ContourLine, log_target: Array, x: Array) -> tuple[Array, Array, Array]:
    """Return x with log psi(x) = target, the slope there, and the relative width of psi."""
    scale = 1e-4 / (1 + abs(line.c))
    x, slope, width = x.copy(), np.ones(len(x)), np.ones(len(x))
    going = np.arange(len(x))
    for _ in range(_NEWTON):
        at = x[going]
        low, high = line.psi(np.concatenate([at, at + scale]))
        centre = np.log(np.maximum((low + high) / 2, 1e-320))
        here, there = centre[: len(at)], centre[len(at) :]
        width[going] = (high - low)[: len(at)] / np.maximum(high[: len(at)], 1e-320)
        slope[going] = steep = (there - here) / scale
        move = (log_target[going] - here) / np.where(np.abs(steep) > 1e-12, steep, 1.0)
        far = ~(np.abs(move) <= np.maximum(width[going] / np.maximum(np.abs(steep), 1e-12), 1e-14))
        x[going] += np.where(far, np.clip(move, -5.0, 5.0), 0.0)
        going = going[far]
        if not len(going):
            break
    return x, slope, width
