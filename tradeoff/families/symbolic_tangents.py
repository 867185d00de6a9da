"""Profiles and polygons of a convex formula by its tangents, which lie below it whatever was rounded."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from tradeoff.families.later import sympy
from tradeoff.families.symbolic_numbers import (
    Evaluator,
    balls,
    compiled,
    digits_for,
    ends,
    mp,
    narrow,
    outward,
)
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import meet
from tradeoff.intervals.polygon import ONE, Line, Point, corners, hull, whole
from tradeoff.intervals.polygon import settled as rounded
from tradeoff.intervals.rounding import Array

STEEPEST = 700.0  # loss, of either sign, beyond which delta is only known to fall: e^eps is still a float
_FARTHEST = 745.0  # log odds of the least float
_HALVINGS = 64  # of the log odds: what is left of 1490 is below the spacing of floats
_STEPS = 8  # tangents of one question in one precision: Newton's method needs two, a corner three
_DIGITS = 40  # digits besides those that alpha, or 1 - alpha, costs twice
_MOST_DIGITS = 2000  # digits after which what is known is reported
_BESIDE = 2.0**-40  # share of the smaller error by which a place is moved to see the other side of a corner
_NEAR = 0.25  # share of it that a step of Newton's method may have
_SCALE = ONE.bit_length() - 1  # binary digits of the coordinates of polygons
_NODES = 200  # nodes on either side of 1/2 at which a polygon touches a formula


class Tangent(NamedTuple):
    """Point x, gain 1 - f(x) - s x, and its slope there, the last two in balls."""

    x: Any
    gain: Any
    rise: Any


class Tangents:
    """Supremum of 1 - f(alpha) - s alpha for a convex f, each ball of whose slope holds a subgradient.

    The gain is concave, so it is below each of its tangents, and largest where its slope changes sign. Where
    that is, floats guess and Newton's method refines; what is reported holds wherever the guess lies.
    """

    def __init__(self, expression: Any, alpha: Any, value: Evaluator) -> None:
        slope = sympy.diff(expression, alpha)
        slope = sympy.nan if slope.has(sympy.Derivative, sympy.Subs) else slope  # of a floor there is none
        self._value, self._slope = value, Evaluator(slope, alpha)
        self._bend = Evaluator(sympy.diff(slope, alpha), alpha)
        # From either end, so that the smaller error keeps its digits.
        self._of_alpha = compiled(slope, [alpha])
        self._of_rest = compiled(slope.subs(alpha, 1 - alpha), [alpha])

    @cached_property
    def known(self) -> bool:
        """Whether the slope has balls at all, and floats to guess by."""
        try:
            self._of_alpha(np.array([0.5]))
        except NameError:  # a function that is neither NumPy's nor SciPy's
            return False
        return self._slope.ball(0.5, _DIGITS) is not None

    @cached_property
    def steepest(self) -> Bounds:
        """Bound sup L = log -f'(0+); where f has no finite slope at 0, by that at 1e-90 from below."""
        near = self._log_slope("1e-90")
        # The same slope at both places is assumed to say enough.
        settled = not self._slope.proved and near == self._log_slope("1e-60")
        return meet(self._log_slope(0), near if settled else Bounds(near.lower, np.inf))

    @cached_property
    def flattest(self) -> Bounds:
        """Bound inf L = log -f'(1-) of an f that is positive below 1, likewise."""
        near = self._log_slope("1e-90", rest=True)
        settled = not self._slope.proved and near == self._log_slope("1e-60", rest=True)
        return meet(self._log_slope(1), near if settled else Bounds(-np.inf, near.upper))

    def _log_slope(self, place: Any, *, rest: bool = False) -> Bounds:
        """Bound log -f' at a place, or as far from 1; without a finite slope nothing is known."""
        with mp().workdps(4 * _DIGITS):
            x = mp().mpf(place)
            found = self._slope.ball(1 - x if rest else x, 4 * _DIGITS)
        if found is None or ends(found)[1] >= 0:
            return Bounds(-np.inf, np.inf)
        return Bounds(*outward(*ends(balls().log(-found))))

    def profile(self, epsilon: Array) -> Pair:
        """Bound delta at losses of at most ``STEEPEST`` in size."""
        found = list(map(self._supremum, epsilon.tolist(), self._guesses(epsilon)))
        return np.array([low for low, _ in found]), np.array([high for _, high in found])

    def _guesses(self, epsilon: Array) -> Iterator[Any]:
        """Yield about where f' = -e^eps, by halving in floats."""
        low, high = np.full(len(epsilon), -_FARTHEST), np.full(len(epsilon), _FARTHEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fall = -np.where(middle < 0, self._of_alpha(expit(middle)), self._of_rest(expit(-middle)))
            with np.errstate(divide="ignore", invalid="ignore"):
                steeper = np.log(fall) > epsilon
            low, high = np.where(steeper, middle, low), np.where(steeper, high, middle)
        for odds in low.tolist():
            near = mp().mpf(float(expit(-abs(odds))))
            yield near if odds < 0 else mp().fsub(1, near, exact=True)

    def _supremum(self, epsilon: float, x: Any) -> tuple[float, float]:
        """Bound the largest gain, with more digits until twenty are known."""
        low, high = 0.0, 1.0
        digits = _DIGITS + 2 * int(digits_for(np.array([max(float(min(x, 1 - x)), 1e-320)]))[0])
        while digits <= _MOST_DIGITS:
            low, high, x = self._searched(epsilon, x, digits)
            if narrow(low, high):
                break
            digits *= 2
        least, most = outward(low, high)
        return max(least, 0.0), min(most, 1.0)

    def _searched(self, epsilon: float, x: Any, digits: int) -> tuple[Any, Any, Any]:
        """Return bounds on the largest gain, and the best place, from a few tangents of so many digits."""
        own = balls()
        own.dps = digits
        s = own.exp(epsilon)
        left = right = None
        low, high, best = mp().mpf(0), mp().mpf(1), x
        with mp().workdps(digits):
            for step in range(_STEPS):
                here = self._tangent(x, s, digits)
                if here is None:
                    break
                gain, (falling, rising) = ends(here.gain)[0], ends(here.rise)
                low, best = (gain, x) if gain > low else (low, best)
                left, right = here if rising >= 0 else left, here if falling <= 0 else right
                meeting, most = _peak(left, right)
                high = min(high, most)
                if narrow(low, high) or left is right:
                    break
                newton = self._newton(here, digits) if step % 2 == 0 else None
                x = _next(here, left, right, meeting if newton is None else newton, step)
        return low, high, best

    def _tangent(self, x: Any, s: Any, digits: int) -> Tangent | None:
        value, slope = self._value.ball(x, digits), self._slope.ball(x, digits)
        balls().dps = digits
        return None if value is None or slope is None else Tangent(x, 1 - value - s * x, -slope - s)

    def _newton(self, here: Tangent, digits: int) -> Any:
        """Return where the slope of the gain would be 0 if it were straight; None if that is far."""
        bend = self._bend.at(here.x, digits)
        if not bend > 0:
            return None
        step = sum(ends(here.rise)) / 2 / bend
        return here.x + step if abs(step) <= _NEAR * min(here.x, 1 - here.x) else None

    def polygons(self) -> tuple[list[Point], list[Point]]:
        """Return vertices of a curve below, made of tangents, and of one above, made of chords."""
        tails = np.concatenate([np.geomspace(1e-40, 1e-13, 28), np.geomspace(1e-12, 0.5, _NODES)]).tolist()
        lines: list[Line] = []
        points: list[Point] = [(0, ONE), (ONE, 0)]
        for tail in tails:
            digits = _DIGITS + 2 * int(digits_for(np.array([tail]))[0])
            near, place = mp().mpf(tail), whole(tail)
            for x, alpha in ((near, place), (mp().fsub(1, near, exact=True), ONE - place)):
                value, slope = self._value.ball(x, digits), self._slope.ball(x, digits)
                if value is not None:
                    points.append((alpha, _whole(ends(value)[1], up=True)))
                if value is not None and slope is not None:
                    lines.append(_line(x, value, slope, digits))
        return hull(corners(lines, up=False)), hull(rounded(hull(points), up=True))


def _line(x: Any, value: Any, slope: Any, digits: int) -> Line:
    """Return a line below f(x) + f'(x) (alpha - x): a slope that floats nearly hold, and what it leaves."""
    own = balls()
    own.dps = digits
    with mp().workdps(digits):
        fall = max(-sum(ends(slope)) / 2, mp().mpf(0))
        off = abs(slope + fall) * max(x, 1 - x)
        # The slope is rounded down to a multiple of 2^-1074, which takes as much from the line at most.
        return _whole(fall, up=False), ONE, _whole(ends(value + fall * own.mpf(x) - off)[0], up=False) - 1


def _whole(x: Any, *, up: bool) -> int:
    """Return x as a multiple of 2^-1074, rounded to one side."""
    scaled = mp().ldexp(x, _SCALE)
    return int(mp().ceil(scaled, prec=0) if up else mp().floor(scaled, prec=0))


def _peak(left: Tangent | None, right: Tangent | None) -> tuple[Any, Any]:
    """Return where tangents of either side meet, at the ends of [0, 1] if one is missing, and how high."""
    meeting = None
    if left and right and left is not right:
        cross = left.rise - right.rise
        meeting = sum(ends((right.gain - left.gain + left.rise * left.x - right.rise * right.x) / cross)) / 2
    if meeting is None or not mp().isfinite(meeting):
        meeting, at_left, at_right = None, 1, 0
    else:
        at_left = at_right = meeting
    tops = [(left, at_left), (right, at_right)]
    return meeting, max(ends(t.gain + t.rise * (balls().mpf(at) - t.x))[1] for t, at in tops if t)


def _next(here: Tangent, left: Tangent | None, right: Tangent | None, wanted: Any, step: int) -> Any:
    """Return a place between the tangents: as wanted, or halfway; with one of them, ever farther off."""
    least, most = left.x if left else 0, right.x if right else 1
    if wanted is not None and least < wanted < most:
        return wanted
    if left and right:
        return (least + most) / 2
    move = min(_BESIDE * 256**step, 0.5) * min(here.x, 1 - here.x)
    return here.x + move if left else here.x - move
