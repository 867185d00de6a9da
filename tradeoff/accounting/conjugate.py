"""From bounds on delta to bounds on epsilon and beta, for every engine.

An engine bounds, about a loss, one of three numbers none of which is a difference from 1 there: delta(x)
where it is small, 1 - delta(x) where that is, or the other order's delta(-x), as 1 - delta(x) = e^x (1 -
delta_{f^-1}(-x)). The rest is

    epsilon(delta) = inf {x : delta(x) <= delta},    f(alpha) = sup over s = e^x of 1 - delta(x) - s alpha,

a monotone crossing and the supremum of a concave function of s (Dong, Roth, Su 2022, Proposition 2.12).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import clip, exp, expm1
from tradeoff.intervals.rounding import UNIT, Array, Index

Mask = NDArray[np.bool_]
Kind = Literal["delta", "rest", "other"]

# In place of a number that rounding left at 0, where a logarithm is taken to aim by.
_LEAST = 1e-320


@dataclass(frozen=True, eq=False, kw_only=True)
class Enclosure(ABC):
    """Bounds at every loss from one table or one line, sharp about one loss."""

    kind: Kind = "delta"
    """Which number ``bound`` bounds: delta(x), 1 - delta(x), or the other order's delta(-x)."""

    center: float = 0.0
    """The loss it was made for."""

    scale: float = math.inf
    """How far from the aim it serves as well."""

    leak: float = 0.0
    """About how much of ``bound`` never falls."""

    refinement_factor: float = 1.0
    """About how many times narrower than this the finest one is, 1 where none is finer."""

    final: bool = False
    """Whether a greater effort encloses no otherwise."""

    noisy: bool = False
    """Whether it does where the bounds are wide, by digits alone."""

    @abstractmethod
    def bound(self, x: Array) -> Bounds:
        """Bound the number of its kind at losses x."""

    def crossing(self, delta: Array, guess: Array) -> Array:
        """Return a better guess of epsilon(delta), if it has one."""
        return guess

    def peak(self, alpha: Array, guess: Array) -> Array:
        """Return a better guess of the x at which f(alpha) is reached, if it has one."""
        return guess


class Supremum(NamedTuple):
    """Bounds on suprema, where they may lie, and whether the samples fence them in: else ``high`` is void."""

    low: Array
    high: Array
    place: Array
    is_fenced: Mask


def delta(e: Enclosure, x: Array) -> Bounds:
    """Bound delta(x)."""
    if e.kind == "delta":
        return clip(e.bound(x), 0.0, 1.0)
    if e.kind == "rest":
        return clip(1 - e.bound(x), 0.0, 1.0)
    # 1 - e^x + e^x delta(-x), whose terms are positive for the x < 0 that this kind is for
    return clip(exp(x) * e.bound(x) - expm1(x), 0.0, 1.0)


def epsilon(e: Enclosure, level: Array, guess: Array) -> Pair:
    """Bound the least x with delta(x) <= level.

    Newton's method for the place, then outwards until it is certified, by steps that double and, after six,
    grow sixteenfold; a factor that is too large is halved at most four times. A crossing farther than 100
    times 1 + the loss expected bounds nothing.
    """
    x, reach = _crossing(e, level, e.crossing(level, guess))
    farthest, n = np.tile(100.0 * (1 + np.abs(guess)), 2), len(x)
    step = np.clip(reach, 4 * UNIT * (1 + np.abs(x)), farthest[:n])
    x, step = np.tile(x, 2), np.append(-step, step)
    missed, bounds = np.zeros(2 * n), np.copysign(np.inf, step)

    def holds(at: Array, k: Index) -> Mask:
        low, high = delta(e, at)
        return np.asarray(np.where(k < n, low > level[k % n], high <= level[k % n]))

    for k in range(20):
        active = np.flatnonzero(np.isinf(bounds) & (np.abs(missed) < farthest))
        if not len(active):
            break
        result = holds((x + step)[active], active)
        bounds[active] = np.where(result, step[active], bounds[active])
        missed[active] = np.where(result, missed[active], step[active])
        step = np.clip(step * (2 if k < 6 else 16), -farthest, farthest)
    for _ in range(4):
        active = np.flatnonzero(np.isfinite(bounds) & (np.abs(bounds) > 3 * np.abs(missed)) & (missed != 0))
        if not len(active):
            break
        middle = np.copysign(np.sqrt(missed[active] * bounds[active]), bounds[active])
        result = holds(x[active] + middle, active)
        bounds[active] = np.where(result, middle, bounds[active])
        missed[active] = np.where(result, missed[active], middle)
    x += bounds
    return x[:n], x[n:]


def _crossing(e: Enclosure, level: Array, x: Array) -> tuple[Array, Array]:
    """Estimate x with delta(x) = level, and how far from it both sides are first looked for.

    Newton's method takes three or four steps; next to a supremum, where log delta falls to -inf, halves take
    over. It is solved to a twentieth of the bounds' own width; slopes are taken over 1e-4 spreads of the
    integrand, where the differences keep half of the digits.
    """
    goal = np.log(np.maximum(level - e.leak, _LEAST)) if e.kind == "delta" else np.log1p(-level)
    start, x, reach, usual = x, x.copy(), np.ones(len(x)), -1.0 if e.kind == "delta" else 1.0
    active = np.arange(len(x))
    left, right = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    for k in range(60):
        at, n = x[active], len(active)
        gap = np.clip((right - left)[active] / 8, 1e-14 * (1 + np.abs(at)), 1e-4 * min(1.0, e.scale))
        both = np.concatenate([at, at + gap])
        low, high = e.bound(both)
        middle = (low + high) / 2
        value = np.log(np.maximum(middle - e.leak if e.kind == "delta" else middle, _LEAST))
        if e.kind == "other":
            value = both + np.log1p(-np.minimum(middle, 1 - UNIT))
        scale = np.maximum(1 - middle if e.kind == "other" else middle - e.leak, _LEAST)[:n]
        with np.errstate(invalid="ignore"):  # where floats hold no gap
            here, slope = value[:n], (value[n:] - value[:n]) / gap
        # Far from the aim all is rounding, and a slope of the wrong sign leads away from the level.
        slope = np.where(slope * usual > 1e-12, slope, usual)
        before = (here > goal[active]) == (e.kind == "delta")  # delta falls, and 1 - delta rises
        left[active], right[active] = np.where(before, at, left[active]), np.where(before, right[active], at)
        with np.errstate(over="ignore"):  # where a scale is subnormal
            within = np.minimum((high - low)[:n] / scale, 1.0) / np.abs(slope)
            move = (here - goal[active]) / slope
        reach[active] = 0.55 * within  # a tenth more than half of it
        far = np.abs(move) > np.maximum(0.05 * within, 1e-15 * (1 + np.abs(at)))
        next_ = at - np.clip(move, -5.0, 5.0)
        lost = ~((next_ > left[active]) & (next_ < right[active])) & np.isfinite(left[active] + right[active])
        next_ = np.where(lost, (left[active] + right[active]) / 2, next_)
        x[active] = np.where(far, next_, at)
        active = active[far & (right[active] - left[active] > 4 * UNIT * (1 + np.abs(at)))]
        if k == 12:  # entries that have not crossed their level by now never do: restart them
            lost = active[~np.isfinite(left[active] + right[active])]
            x[lost], reach[lost] = start[lost], 0.0
            active = np.setdiff1d(active, lost)
        if not len(active):
            break
    return x, reach


def gains(kind: Kind, x: Array, value: Bounds, alpha: Array) -> tuple[Bounds, Bounds]:
    """Bound 1 - delta(x) - e^x alpha less a base, and return the base, in a form in which nothing cancels.

    ``value`` bounds the number of the kind at losses x, of which each alpha has a row.
    """
    rest, none = 1 - Bounds.of(alpha), Bounds.of(np.zeros_like(alpha))
    if kind == "delta":
        return -(value + expm1(x) * alpha), rest
    if kind == "rest":
        return value - exp(x) * alpha, none
    return exp(x) * (rest - value), none


def supremum(x: Array, value: Bounds) -> Supremum:
    """Bound the maximum over s = e^x of concave functions, a row each, from samples at increasing x.

    If a function provably rises from one sample to the next and falls between two at the right, it is below
    the first and the last of these outside of them; the nearest ones are taken. Between two samples it is
    below the chords of both neighbouring pairs, extended: one rises over the cell and one falls, so at
    any point taken for their crossing the greater of the two is an upper bound.
    """
    low, high = value
    cells, step = np.arange(x.shape[1] - 1), np.diff(x)
    top = np.argmax(low, axis=1)[:, None]
    rises = (high[:, :-1] <= low[:, 1:]) & (cells >= 1) & (cells < top)
    falls = (high[:, 1:] <= low[:, :-1]) & (cells >= top) & (cells < len(cells) - 1)
    first = len(cells) - 1 - np.argmax(rises[:, ::-1], axis=1)[:, None]
    last = np.argmax(falls, axis=1)[:, None]
    inside = (cells >= first) & (cells <= last)
    used = (cells >= first - 1) & (cells <= last + 1)
    is_fenced = rises.any(axis=1) & falls.any(axis=1) & np.all((step > 1e-12) | ~used, axis=1)
    widths = expm1(Bounds.of(x[:, 1:]) - x[:, :-1])  # over the s at their left ends
    before, inner, after = (Bounds(*(side[:, k : k + len(cells) - 2] for side in widths)) for k in range(3))
    up, down = (  # how much it grows between two samples, from above
        Bounds.of(np.maximum((Bounds.of(least) - most).upper, 0.0))
        for least, most in ((high[:, 1:-2], low[:, :-3]), (high[:, 2:-1], low[:, 3:]))
    )
    rise = up * exp(Bounds.of(x[:, 1:-2]) - x[:, :-3]) * (inner / before)
    fall = down * exp(Bounds.of(x[:, 1:-2]) - x[:, 2:-1]) * (inner / after)
    slope = rise.upper + fall.upper
    with np.errstate(invalid="ignore"):  # of samples that bound nothing
        share = (high[:, 2:-1] - high[:, 1:-2] + fall.upper) / np.where(slope > 0, slope, 1.0)
    share = np.nan_to_num(np.clip(share, 0.0, 1.0))
    from_left = Bounds.of(high[:, 1:-2]) + rise * share
    from_right = Bounds.of(high[:, 2:-1]) + fall * (1 - Bounds.of(share))
    peaks = np.where(inside[:, 1:-1], np.maximum(from_left.upper, from_right.upper), -np.inf)
    rows, best = np.arange(len(x)), np.argmax(peaks, axis=1)
    place = x[rows, 1 + best] + share[rows, best] * step[rows, 1 + best]
    return Supremum(low[rows, top[:, 0]], peaks[rows, best], place, is_fenced)


def under_a_tangent(x: Array, value: Array, alpha: Array) -> Array:
    """Bound f(alpha) given 1 - delta(x) - e^x alpha <= ``value``, row by row.

    A tangent touches f at a + s b <= t, so f <= t from t/s on.
    """
    s = exp(x)
    t = (value + s * alpha).upper
    return np.asarray(np.min(t, axis=1, where=(s * alpha).lower >= t, initial=1.0))


def vertex(x: Array, value: Array) -> Array:
    """Return where the parabola through each row's largest sample and its neighbours peaks.

    Of a sample at an end, return a step beyond it.
    """
    rows, last = np.arange(len(x)), x.shape[1] - 1
    k = np.argmax(value, axis=1)
    inner = np.clip(k, 1, last - 1)
    (x0, y0), (left, below), (right, above) = (
        (x[rows, inner + j], value[rows, inner + j]) for j in (0, -1, 1)
    )
    left, right, down, up = left - x0, right - x0, below - y0, above - y0
    with np.errstate(all="ignore"):
        bend = right * down - left * up
        peak = x0 + np.where(bend != 0, (right**2 * down - left**2 * up) / (2 * bend), 0.0)
    outside = 2 * x[rows, k] - x[rows, np.where(k == 0, 1, last - 1)]
    return np.asarray(np.where(k == inner, peak, outside))
