"""From bounds on delta to bounds on epsilon and on beta, whatever engine gave them.

An engine bounds, about a loss, one of three numbers none of which is a difference from 1 there: delta(x)
where it is small, 1 - delta(x) where that is, or the other order's delta(-x), as 1 - delta(x) = e^x (1 -
delta_{f^-1}(-x)). The rest is

    epsilon(delta) = inf {x : delta(x) <= delta},    f(alpha) = sup over s = e^x of 1 - delta(x) - s alpha,

a monotone crossing and the supremum of a concave function of s (Dong, Roth, Su 2022, Proposition 2.12).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import clip, exp, expm1
from tradeoff.intervals.rounding import UNIT, Array, Index

Mask = NDArray[np.bool_]
Kind = Literal["delta", "rest", "other"]

# Newton's method takes three or four steps; beside a supremum, where log delta falls to -inf, halves take
# over.
_NEWTON, _HALVING = 12, 60

# Share of the bounds' own width to which a crossing is solved for: it is lost, and more steps gain nothing.
_CLOSE = 0.05

# Distance over which a slope is taken, in spreads of the integrand: half the digits of what is differenced
# are left.
_GAP = 1e-4

_BESIDE = 1.1  # half widths from a crossing at which its sides are tried first

# Steps outward before nothing is said; after so many that double, they grow sixteenfold.
_OUTWARD, _GENTLE = 20, 6

_BACK = 4  # halvings of such a factor, which leave at most twice the distance needed
_ASTRAY = 100.0  # a crossing farther than so many times 1 + the loss expected is none: nothing is said of it

# Stands for a number that rounding or ignorance left at 0, where a logarithm is taken to aim by.
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

    Newton's method for the place, then outwards until it is certified.
    """
    x, reach = _crossing(e, level, e.crossing(level, guess))
    farthest = _ASTRAY * (1 + np.abs(guess))
    step, n = np.clip(reach, 4 * UNIT * (1 + np.abs(x)), farthest), len(x)

    def holds(at: Array, k: Index) -> Mask:
        low, high = delta(e, at)
        return np.asarray(np.where(k < n, low > level[k % n], high <= level[k % n]))

    result = _outward(holds, np.tile(x, 2), np.append(-step, step), np.tile(farthest, 2))
    return result[:n], result[n:]


def _outward(holds: Callable[[Array, Index], Mask], x: Array, step: Array, farthest: Array) -> Array:
    """Return points near x, on the side of ``step``, from where on a condition holds; or infinities."""
    missed, bounds = np.zeros(len(x)), np.copysign(np.inf, step)
    for k in range(_OUTWARD):
        active = np.flatnonzero(np.isinf(bounds) & (np.abs(missed) < farthest))
        if not len(active):
            break
        result = holds((x + step)[active], active)
        bounds[active] = np.where(result, step[active], bounds[active])
        missed[active] = np.where(result, missed[active], step[active])
        step = np.clip(step * (2 if k < _GENTLE else 16), -farthest, farthest)
    for _ in range(_BACK):
        active = np.flatnonzero(np.isfinite(bounds) & (np.abs(bounds) > 3 * np.abs(missed)) & (missed != 0))
        if not len(active):
            break
        middle = np.copysign(np.sqrt(missed[active] * bounds[active]), bounds[active])
        result = holds(x[active] + middle, active)
        bounds[active] = np.where(result, middle, bounds[active])
        missed[active] = np.where(result, missed[active], middle)
    return x + bounds


def _crossing(e: Enclosure, level: Array, x: Array) -> tuple[Array, Array]:
    """Estimate x with delta(x) = level, and how far from it both sides are first looked for."""
    goal = np.log(np.maximum(level - e.leak, _LEAST)) if e.kind == "delta" else np.log1p(-level)
    start, x, reach = x, x.copy(), np.ones(len(x))
    active = np.arange(len(x))
    left, right = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    for k in range(_HALVING):
        at = x[active]
        gap = np.clip((right - left)[active] / 8, 1e-14 * (1 + np.abs(at)), _GAP * min(1.0, e.scale))
        here, width, slope = _log_with_slope(e, at, gap)
        before = (here > goal[active]) == (e.kind == "delta")  # delta falls, and 1 - delta rises
        left[active], right[active] = np.where(before, at, left[active]), np.where(before, right[active], at)
        with np.errstate(over="ignore"):
            move, within = (here - goal[active]) / slope, width / np.abs(slope)
        reach[active] = _BESIDE * within / 2
        far = np.abs(move) > np.maximum(_CLOSE * within, 1e-15 * (1 + np.abs(at)))
        next_ = at - np.clip(move, -5.0, 5.0)
        lost = ~((next_ > left[active]) & (next_ < right[active])) & np.isfinite(left[active] + right[active])
        next_ = np.where(lost, (left[active] + right[active]) / 2, next_)
        x[active] = np.where(far, next_, at)
        active = active[far & (right[active] - left[active] > 4 * UNIT * (1 + np.abs(at)))]
        # What has not crossed its level by now never does, and is looked for from where it began.
        if k == _NEWTON:
            lost = active[~np.isfinite(left[active] + right[active])]
            x[lost], reach[lost] = start[lost], 0.0
            active = np.setdiff1d(active, lost)
        if not len(active):
            break
    return x, reach


def _log_with_slope(e: Enclosure, x: Array, gap: Array) -> tuple[Array, Array, Array]:
    """Estimate the logarithm that crosses its level, the relative width of its bounds, and its slope."""
    low, high = e.bound(np.concatenate([x, x + gap]))
    middle = (low + high) / 2
    value = np.log(np.maximum(middle - e.leak if e.kind == "delta" else middle, _LEAST))
    if e.kind == "other":
        value = np.concatenate([x, x + gap]) + np.log1p(-np.minimum(middle, 1 - UNIT))
    here, there = value[: len(x)], value[len(x) :]
    scale = np.maximum(1 - middle if e.kind == "other" else middle - e.leak, _LEAST)[: len(x)]
    with np.errstate(over="ignore", invalid="ignore"):  # where the scale is subnormal, or floats hold no gap
        width = np.minimum((high - low)[: len(x)] / scale, 1.0)
        slope = (there - here) / gap
    usual = -1.0 if e.kind == "delta" else 1.0
    # Far from the aim all is rounding, and a slope of the wrong sign leads away from the level.
    return here, width, np.where(slope * usual > 1e-12, slope, usual)


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
    below the chords of both neighbouring pairs, prolonged: one rises over the cell and one falls, so whatever
    point is taken for their meeting, nothing exceeds the greater of the two there.
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
    rise = _growth(high[:, 1:-2], low[:, :-3]) * exp(Bounds.of(x[:, 1:-2]) - x[:, :-3]) * (inner / before)
    fall = _growth(high[:, 2:-1], low[:, 3:]) * exp(Bounds.of(x[:, 1:-2]) - x[:, 2:-1]) * (inner / after)
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


def _growth(high: Array, low: Array) -> Bounds:
    """Bound from above, by at least 0, how much a function grows between two samples."""
    return Bounds.of(np.maximum((Bounds.of(high) - low).upper, 0.0))


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
