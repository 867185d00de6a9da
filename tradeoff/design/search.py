"""Where a question crosses its target: estimates say where to ask next, certified answers where that is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.interpolate import krogh_interpolate

from tradeoff.curves.parameters import MOST
from tradeoff.design.target import Target
from tradeoff.errors import DomainError, PrecisionError
from tradeoff.intervals.bounds import Bounds

_MOST_EVALUATIONS = 150  # halving to where a question jumps takes some 50
_STARTS = (1.0, 0.5, 2.0, 0.1, 10.0, 0.01, 100.0)  # most parameters are of the order of 1, and rates below it

# Steps on the scale of logarithms.
_FARTHEST = math.log(1e12)  # without ``between``, nothing beyond 1e12 or below its inverse is looked at
_BLIND = [sign * 4**k * math.log(2.0) for k in range(4) for sign in (1, -1)]  # while no estimate helps
_LONGEST = math.log(1000.0)  # of an estimate: a power law need not hold farther from what was asked
_BEYOND, _LEAST = 0.1, 1e-3  # share of a step by which it passes the estimate to its other side, at least
_AT_WALL = 1e-6  # distance to where nothing is answered, within which no root is looked for
_AGAINST = 1e-6  # distance to a root of verdicts against its estimate, each of which doubles the step
_WIDE = 0.3  # width of an undecided answer that says nothing about where the root is

_SHARE = 0.4  # of the tolerance: the steps of the proof to both sides of an estimate make 0.8 of it
_ENOUGH = 4.0  # width of the bracket over that of undecided answers in it, where asking on is in vain
_PATIENCE = 4  # estimates in a row that may fail to halve the bracket before its middle is asked


class Point(NamedTuple):
    """A number asked, the answer, what it says, and its gap to the target with the width of that."""

    x: float
    answer: Bounds[float]
    met: bool | None
    gap: float
    blur: float


class Estimate(NamedTuple):
    """Place of a root, about its error (the product of distances to nodes), and what answers leave open."""

    t: float
    error: float
    blur: float


@dataclass
class Search:
    """The points asked so far, and where to ask next, on a scale of log x, or log(1 + n) for whole numbers.

    ``ask`` bounds the answer at a number, or raises ``DomainError`` or ``PrecisionError``; ``tol`` is the
    relative distance wanted; ``walls`` are places where nothing useful is answered, and why.
    """

    target: Target
    ask: Callable[[float], Bounds[float]]
    tol: float
    integer: bool = False
    points: list[Point] = field(default_factory=list)
    walls: dict[float, str] = field(default_factory=dict)

    def run(self, between: tuple[float, float] | None) -> tuple[Point, Point]:
        """Return neighbours of which the first is proved to meet the target, the second not to; or raise."""
        if between:
            self.points += [self._end(x) for x in between]
        else:
            self._spread()
        widths: list[float] = []
        while (pair := self._bracket) and len(widths) < _MOST_EVALUATIONS:
            x = self._inside(*pair, widths)
            if x is None:
                break
            try:
                self.points.append(self._point(x))
            except (DomainError, PrecisionError):  # undecided: the crossing lies somewhere about
                self.points.append(Point(x, Bounds(-math.inf, math.inf), None, math.nan, math.inf))
        if pair is None:
            raise self._hopeless()
        return pair

    @property
    def _decided(self) -> list[Point]:
        """Points proved to meet the target, or proved not to, the nearest to it first."""
        known = [p for p in self.points if p.met is not None]
        return sorted(known, key=lambda p: abs(p.gap) if math.isfinite(p.gap) else math.inf)

    @property
    def _bracket(self) -> tuple[Point, Point] | None:
        for a, b in pairwise(sorted(self._decided)):
            if a.met != b.met:
                return (a, b) if a.met else (b, a)
        return None

    def _point(self, x: float) -> Point:
        answer = self.ask(x)
        low, high = (self.target.gap(end) for end in answer)
        return Point(x, answer, self.target.met(answer), (low + high) / 2, abs(high - low))

    def _end(self, x: float) -> Point:
        try:
            return self._point(x)
        except (DomainError, PrecisionError) as error:
            raise DomainError(f"nothing is known at {x:g}, an end of between; move it: {error}") from error

    def _place(self, x: float) -> float:
        return math.log1p(x) if self.integer else math.log(x)

    def _number(self, t: float) -> float:
        return float(round(math.expm1(t))) if self.integer else math.exp(t)

    def _estimate(self) -> Estimate | None:
        """Place of the root: a polynomial through the places of answers as a function of the gap, at 0."""
        nodes = list({p.gap: p for p in self._decided if math.isfinite(p.gap)}.values())
        nodes = nodes[:4] if self._bracket else nodes[:2]  # beyond all answers, a line is the safer guess
        if len(nodes) < 2:
            return None
        gaps, places = [p.gap for p in nodes], [self._place(p.x) for p in nodes]
        with np.errstate(all="ignore"):
            root = places[0] + float(krogh_interpolate(gaps, [t - places[0] for t in places], 0.0))
        slope = abs((places[1] - places[0]) / (gaps[1] - gaps[0]))
        return Estimate(root, math.prod(abs(t - root) for t in places), slope * nodes[0].blur)

    # Outward, until the answers to two numbers differ.

    def _spread(self) -> None:
        """Ask from a start outward: where an estimate leads, else to both sides in ever longer steps."""
        start = next((x for x in _STARTS if (x >= 1 or not self.integer) and self._tried(x)), None)
        if start is None:
            return
        blind = (self._free(self._place(start) + step) for step in _BLIND)
        for _ in range(_MOST_EVALUATIONS):
            led = self._led()
            t = next((t for t in blind if t is not None), None) if led is None else led
            if t is None or self._bracket:
                return
            self._tried(self._number(t))

    def _tried(self, x: float) -> bool:
        """Ask, and remember a wall where there is no answer, or one that says nothing."""
        try:
            point = self._point(x)
        except (DomainError, PrecisionError) as error:
            self.walls[self._place(x)] = str(error)
            return False
        if point.met is None and not point.blur <= _WIDE:
            self.walls[self._place(x)] = f"only {point.answer} is known at {x:g}"
            return False
        self.points.append(point)
        return True

    def _led(self) -> float | None:
        """Return a place a little beyond the estimate; None if there is none that is new."""
        result = self._estimate()
        if result is None:
            return None
        nearest = self._decided[0].x
        step = result.t - self._place(nearest)
        step += math.copysign(max(_BEYOND * abs(step), _LEAST), step)
        t = self._place(nearest) + math.copysign(min(abs(step), _LONGEST), step)
        if self.integer and self._number(t) == nearest:
            t = self._place(max(nearest + math.copysign(1.0, step), 0.0))
        return self._free(t)

    def _free(self, t: float) -> float | None:
        """Return a place within the ends, or halfway to a wall beyond which it would be; None if not new."""
        known = sorted(self._place(p.x) for p in self.points)
        least, most = (0.0, self._place(MOST)) if self.integer else (-_FARTHEST, _FARTHEST)
        t = min(max(t, least), most)
        for last, side in ((known[-1], 1.0), (known[0], -1.0)):
            beyond = (abs(wall - last) for wall in self.walls if (wall - last) * side > 0)
            room = min(beyond, default=math.inf)
            if (t - last) * side >= room:
                t = last + side * room / 2 if room > _AT_WALL else last
        tried = {p.x for p in self.points} | {self._number(wall) for wall in self.walls}
        return None if self._number(t) in tried else t

    # Inward, until the two numbers are close.

    def _inside(self, met: Point, unmet: Point, widths: list[float]) -> float | None:
        """Return where to ask between the ends of the bracket; None where asking is done."""
        low, high = sorted((met.x, unmet.x))
        doubts = [p.x for p in self.points if low < p.x < high]
        least = 1.0 if self.integer else self.tol * high
        if high - low <= max(least, _ENOUGH * (max(doubts) - min(doubts)) if doubts else 0.0):
            return None
        widths.append(high - low)
        stuck = len(widths) > _PATIENCE and widths[-1] > widths[-1 - _PATIENCE] / 2
        result, (start, end) = self._estimate(), (self._place(low), self._place(high))
        x = middle = self._number((start + end) / 2)
        if doubts:
            left = high * result.blur / 2 if result else 0.0
            x = _aside(low, high, min(doubts), max(doubts), max(_SHARE * least * 2 ** len(doubts), left))
        elif result and not stuck and result.error < _SHARE * least / high:
            root = self._number(min(max(result.t, start), end))
            wrong = sum(math.isnan(p.gap) and abs(p.x / root - 1) < _AGAINST for p in self._decided)
            x = _aside(low, high, root, root, max(_SHARE * least * 2**wrong, high * result.blur))
        elif result and not stuck and start < result.t < end:
            x = self._number(result.t)
        x = min(max(round(x), low + 1), high - 1) if self.integer else x
        return next((each for each in (x, middle) if low < each < high and each not in doubts), None)

    def _hopeless(self) -> DomainError:
        """Say why no two numbers differ: value, limit, remedy."""
        walls = "".join(f"; {why}" for why in list(self.walls.values())[:1])
        if not self.points:
            return DomainError(f"no number tried has an answer{walls}; give between=(low, high)")
        first, *_, last = sorted(self.points * 2)
        given = (f"{self.target.told(p.answer)} at {p.x:.12g}" for p in (first, last))
        known = f"{self.target.question} is {', '.join(given)}"
        if first.answer == last.answer:
            endless = math.isinf(first.answer.lower)
            known += ": infinite" if endless else ": the same, so does build use its number?"
        if any(p.met is None for p in self.points):
            return DomainError(f"whether {self.target} is undecided: {known}{walls}; give another between")
        which, remedy = ("every", "less") if first.met else ("no", "more")
        said = f"{self.target} holds at {which} number tried: {known}{walls}"
        return DomainError(f"{said}; allow {remedy} loss, or give another between")


def _aside(low: float, high: float, first: float, last: float, step: float) -> float:
    """Return a number a step outside [first, last], on the side with more room, at most halfway there."""
    below, above = first - low, high - last
    return last + min(step, above / 2) if above > below else first - min(step, below / 2)
