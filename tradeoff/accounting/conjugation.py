"""Suprema of concave functions from bounds on their values: the conjugate of a curve or of its profile."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tradeoff.intervals.rounding import Array, Index
from tradeoff.pld.units import UNIT


def conjugate(
    g: Callable[[Array], tuple[Array, Array]],
    slopes: Array,
    points: Array | Sequence[Array],
    tol: float | None = None,
    *,
    limit: float | None = None,
) -> tuple[Array, Array]:
    """Bound sup_x {1 - g(x) - s x} over x >= 0 for every slope s >= 0.

    Parameters
    ----------
    g
        Bounds on a convex, non-increasing function with values in [0, 1].
    slopes
        Values of s.
    points
        Starting points, increasing from 0, for each slope or for all; the search ends at the last.
    tol
        Width to stop at, relative to the supremum, and with a ``limit`` to 1 - s less it if that is smaller.
    limit
        If given, a lower bound on g; ``g`` then bounds g - (1 - x)_+, so that small suprema keep their
        digits, at an x whose logarithm errs by 10 units of 1 and itself; slopes are in (0, 1), and all
        x >= 0 are searched.

    Notes
    -----
    Any point gives a lower bound. For the upper one, a concave function lies under each of its chords
    prolonged: between two neighbours it is below the chords of the cells to the left and to the right, which
    meet in a peak. Cells whose peak exceeds the best value are quartered; cost is a few dozen points a slope.
    Each slope has points of its own, though g is evaluated for all slopes together: results do not depend on
    the other slopes.
    """
    # Width of a cell, relative to x, down to which it is quartered: the error of x is 1e-12, a fourth of a
    # part.
    closest = 2e-11
    if isinstance(points, np.ndarray):
        # From x = 1/s on 1 - g - s x <= 0, and the supremum is not below 0: two points there give the cell of
        # 1/s a neighbour on the right.
        with np.errstate(divide="ignore", over="ignore"):
            points = [points[:k] for k in np.searchsorted(points, 1 / slopes) + 2]
    every = np.unique(np.concatenate([np.empty(0), *points]))
    own, values = [np.searchsorted(every, each) for each in points], np.array(g(every))
    low, high = np.empty(len(slopes)), np.empty(len(slopes))
    active = list(range(len(slopes)))
    # From 12 to 1e-5 in log s, where smooth functions are 1e-10 from their chords.
    for _ in range(24):
        fresh: dict[int, Array] = {}
        for k in active:
            s, (low_g, high_g) = float(slopes[k]), values[:, own[k]]
            x = every[own[k]]
            if limit is not None:  # a last point with the bounds of all x, where 1 - g - s x is at most -3
                x = np.append(x, max(min(4 / s, 1e305), x[-1] * (1 + 2 * closest)))
                low_g, high_g = np.append(low_g, limit), np.append(high_g, 1.0)
            low[k], high[k], cells = _search(x, low_g, high_g, s, tol, limit)
            # Cells are quartered, wide ones halved on a logarithmic scale; the outermost are cut at a
            # multiple of the ratio that points span already, which grows with every cut.
            left, right = x[cells], x[cells + 1]
            reach = max(len(x) - 4, 2) * math.log(x[-2] / x[1]) if len(x) > 3 else math.inf
            reach = math.exp(min(max(reach, 2.0**-20), 17 * math.log(2)))  # from 0 to 2^-68 in four cuts
            middles = np.where(left > 0, np.sqrt(left) * np.sqrt(right), right / reach)
            with np.errstate(over="ignore"):
                outermost = (cells == len(x) - 2) & (left > 0)
                middles = np.where(outermost, np.minimum(middles, left * reach), middles)
            close = (right < 2 * left) & (right - left > closest * right)
            quarters = np.linspace(left[close], right[close], 5)[1:-1].ravel()
            middles = np.append(middles[(right >= 2 * left) & (middles > left) & (middles < right)], quarters)
            if len(middles := np.setdiff1d(middles, x)) and len(own[k]) <= 6000:
                fresh[k] = middles
        if not fresh:
            break
        more = np.setdiff1d(np.concatenate(list(fresh.values())), every)
        requested = {k: np.concatenate([every[own[k]], middles]) for k, middles in fresh.items()}
        every = np.concatenate([every, more])
        order = np.argsort(every, kind="stable")
        values = np.hstack([values, g(more)])[:, order] if len(more) else values
        every, active = every[order], list(fresh)
        for k in active:
            own[k] = np.searchsorted(every, np.sort(requested[k]))
    return low, high


def _search(
    x: Array, low_g: Array, high_g: Array, s: float, tol: float | None, limit: float | None
) -> tuple[float, float, Index]:
    """Return bounds for one slope, and the cells worth halving for it."""
    small = x < (0.0 if limit is None else 1.0)
    line = np.where(small, (1 - s) * x, 1 - s * x)
    # Three roundings of two terms, and the error of x: in both of them, or in s x. A peak is a value plus the
    # rise of a chord over a cell, with six roundings more: where those exceed 2 sizes, it exceeds them all.
    moved = np.where(small, (1 - s) * x + high_g, s * x)
    size = np.where(small, moved, 1 + moved)
    off = (0 if limit is None else 10) * UNIT * (1 + np.abs(np.log(np.where(x > 0, x, 1.0))))
    rounding = 8 * UNIT * size + off * moved
    below, above = line - high_g - rounding, line - low_g + rounding
    best, width = float(np.max(below)), np.diff(x)
    # The right end has the larger error: both change a width by 2 o, o = off x/width <= 1/4 for cells of that
    # width, and 1/(1 - 2 o) <= 1 + 4 o.
    peak = _peaks(below, above, width, (4.5 * off * x)[1:] / width, 2 * rounding[1:])
    peak = np.minimum(peak, (1 - (limit or 0.0)) * (1 + 2 * UNIT))
    ends = max(float(above[0]), float(above[-1]))
    gap = np.maximum(above[:-1], above[1:]) - best
    # Where the function is flat, chords rise by half of the error of values, however close points are.
    unsure = np.maximum(above - below, 0.0) + 2 * rounding
    goal = 1e-10 * abs(best)
    if tol is not None:
        goal = tol / 4 * (abs(best) if limit is None else min(abs(best), max(1 - s - best, 0.0)))
    rise = np.maximum(goal / 2, np.minimum(unsure[:-1], unsure[1:]))
    worth = (peak > max(ends, best) + goal + 1e-300) & (peak - np.maximum(gap, 0) - best > rise)
    return best, max(float(np.max(peak, initial=0.0)), ends), np.flatnonzero(worth)


def _peaks(below: Array, above: Array, width: Array, slip: Array, rounding: Array) -> Array:
    """Bound a concave function on every cell by the meeting point of its neighbours' chords prolonged.

    Widths and their reciprocals have relative errors of ``slip``, chords an error of ``rounding``.
    """
    # At least the slope of the chord of each cell, where that is positive, and of all that follow; and minus
    # the slope, likewise for all before.
    rise = (above[1:] - below[:-1]) / width * (1 + slip)
    fall = (above[:-1] - below[1:]) / width * (1 + slip)
    cells, width = len(width), width * (1 + slip)
    from_left = np.full(cells, np.inf)
    from_left[1:] = rise[:-1]
    from_right = np.full(cells, np.inf)
    from_right[:-1] = fall[1:]
    a, b = above[:-1], above[1:]
    # y <= a + r t and y <= b + f (w - t): they meet at t = (b - a + f w)/(r + f), inside the cell if at all;
    # one rises and one falls, so at every point the greater of the two is an upper bound.
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        t = np.clip((b - a + from_right * width) / (from_left + from_right), 0.0, width)
        meet = np.maximum(a + from_left * t, b + from_right * (width - t)) + rounding
    inner = np.isfinite(from_left) & np.isfinite(from_right)
    one_sided_left = np.where(from_left > 0, a + from_left * width + rounding, a)
    one_sided_right = np.where(from_right > 0, b + from_right * width + rounding, b)
    single = np.where(
        np.isfinite(from_left), one_sided_left, np.where(np.isfinite(from_right), one_sided_right, np.inf)
    )
    # When one chord falls into the cell the maximum sits at its start.
    meet = np.where(inner & (from_left <= 0), a, np.where(inner & (from_right <= 0), b, meet))
    return np.where(inner, np.maximum(meet, np.minimum(a, b)), single)
