"""delta, and the least epsilon, from lines in one strip of one order of the pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tradeoff.engines.contour.aim import aim, blurred
from tradeoff.engines.contour.draw import Aim, draw
from tradeoff.engines.contour.line import Line
from tradeoff.engines.law import LossLaw
from tradeoff.engines.saddle import Cumulant
from tradeoff.errors import SizeError
from tradeoff.numerics.rounding import UNIT, Array

_REMEMBERED = 2**20
"""Most nodes of lines kept for later questions: 64 MiB."""

ASTRAY = 100.0
"""A line that does not find its answer within this many times where the sketch did says nothing of it."""

_WIDEST = 1.0
"""A Gaussian of a larger mu tells nothing of the product it is added to."""

_FARTHEST = 1e100

_NEWTON = 12
_OUTWARD = 16


class _Drawn(NamedTuple):
    x: float
    aim: Aim
    accuracy: float
    complete: bool
    line: Line


class Strip:
    """Lines of one strip: ``middle`` for 0 < c < 1, where the line holds 1 - delta, else c > 1, where it holds delta - q_plus."""

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], q_plus: float, *, middle: bool) -> None:
        self.laws, self.counts, self.q_plus, self.middle = laws, counts, q_plus, middle
        self.drawn: list[_Drawn] = []

    @cached_property
    def cumulant(self) -> Cumulant:
        return Cumulant([(law.sketch(), count) for law, count in zip(self.laws, self.counts, strict=True)])

    @cached_property
    def too_far(self) -> bool:
        """Whether losses are so large that the numbers of a line overflow."""
        return bool(np.max(np.abs(self.cumulant.loss)) > _FARTHEST)

    def near(self, x: float, most: float, accuracy: float, *, share: float = 1.0) -> Line | None:
        """Return a line aimed at the loss x, from memory if one is near.

        Where the product does not decay a Gaussian is added, for a ``share`` of the cost allowed.
        """
        if self.too_far:
            return None
        for one in self.drawn:
            enough = one.complete or (one.aim.most >= most * share and 0 < one.accuracy <= accuracy)
            if abs(one.x - x) <= 0.3 * one.aim.scale and enough:
                return one.line
        sharp = aim(self.cumulant, x, most, middle=self.middle)
        if not sharp.drawable:
            return None
        line = self._draw(sharp)
        complete = line is not None and line.cut <= 10 * sharp.goal * math.pi * line.last
        if line is not None and not complete and accuracy > 0:
            sharp = sharp._replace(most=most * share)
            soft = blurred(sharp, accuracy, len(self.laws))
            line = (self._draw(soft) if soft.tau <= _WIDEST else None) or line
        if line is not None:
            self.drawn.append(_Drawn(x, sharp, accuracy, complete, line))
            while len(self.drawn) > 1 and sum(len(one.line.log) for one in self.drawn) > _REMEMBERED:
                del self.drawn[0]
        return line

    def _draw(self, where: Aim) -> Line | None:
        try:
            return draw(self.laws, self.counts, where)
        except SizeError:
            return None

    def delta(self, line: Line, x: Array) -> tuple[Array, Array]:
        """Bound delta(x)."""
        low, high = line.psi(x)
        if self.middle:
            return np.maximum(1 - high - UNIT, 0.0), np.minimum(1 - low + UNIT, 1.0)
        return self.q_plus * (1 - 16 * UNIT) + low * (1 - UNIT), np.minimum(self.q_plus * (1 + 16 * UNIT) + high, 1.0)

    def chernoff(self, question: Callable[[Sequence[LossLaw], Sequence[int], Cumulant, float], float], x: float) -> float:
        """Answer a question by Chernoff's bound alone, from above."""
        return math.inf if self.too_far else question(self.laws, self.counts, self.cumulant, float(x))

    def epsilon(self, line: Line, delta: Array, guess: float) -> tuple[Array, Array]:
        """Bound the least epsilon: Newton's method on log psi, then outwards until both sides are certified."""
        target = 1 - delta if self.middle else np.maximum(delta - self.q_plus, 1e-320)
        x, slope, width = _solve(line, np.log(target), np.full(len(delta), guess))
        far = ASTRAY * (1 + abs(guess))
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


def _solve(line: Line, log_target: Array, x: Array) -> tuple[Array, Array, Array]:
    """Return x with log psi(x) = target, the slope there, and the relative width of psi."""
    scale = 1e-4 / (1 + abs(line.c))
    slope, width = np.ones(len(x)), np.ones(len(x))
    for _ in range(_NEWTON):
        low, high = line.psi(np.concatenate([x, x + scale]))
        centre = np.log(np.maximum((low + high) / 2, 1e-320))
        here, there = centre[: len(x)], centre[len(x) :]
        width = (high - low)[: len(x)] / np.maximum(high[: len(x)], 1e-320)
        slope = (there - here) / scale
        move = (log_target - here) / np.where(np.abs(slope) > 1e-12, slope, 1.0)
        if np.all(np.abs(move) <= np.maximum(width / np.maximum(np.abs(slope), 1e-12), 1e-14)):
            break
        x = x + np.clip(move, -5.0, 5.0)
    return x, slope, width
