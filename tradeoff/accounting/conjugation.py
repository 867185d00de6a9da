"""Suprema of concave functions from bounds on their values: the conjugate of a curve or of its profile.

For each slope s the function of x is 1 - g(x) - s x. Points of all slopes are in one array, sorted by slope
and then by x; ``row`` is the slope of a point, ``first`` the index where the points of a slope begin. A cell
lies between two neighbouring points of one slope; ``low_g`` and ``high_g`` are bounds on g.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tradeoff.intervals.bounds import Array, Index
from tradeoff.pld.units import UNIT


def conjugate(
    g: Callable[[Array], tuple[Array, Array]],
    slopes: Array,
    points: Array | Sequence[Array],
    tol: float | None = None,
    *,
    limit: float | None = None,
) -> tuple[Array, Array]:
    """Bound sup_x {1 - g(x) - s x} over x >= 0 for every slope s >= 0, g convex and falling in [0, 1].

    The search starts at ``points``, increasing from 0, for each slope or for all, and ends at the last. It
    stops at the width ``tol``, relative to the supremum, and with a ``limit`` to 1 - s less it if that is
    smaller. A limit is a lower bound on g; ``g`` then bounds g - (1 - x)_+, so that small suprema keep their
    digits, at an x whose logarithm errs by 10 units of 1 and itself; slopes are in (0, 1), and all x >= 0 are
    searched.

    Any point gives a lower bound. For the upper one, a concave function lies under each of its chords
    prolonged: between two neighbours it is below the chords of the cells to the left and to the right, which
    meet in a peak. Cells whose peak exceeds the best value are quartered; cost is a few dozen points a slope.
    Each slope has points of its own, though g is evaluated for all slopes together: results do not depend on
    the other slopes.
    """
    closest = 2e-11  # relative width down to which cells are quartered: x errs by 1e-12, a fourth of a part
    if isinstance(points, np.ndarray):
        # From x = 1/s on 1 - g - s x <= 0, and the supremum is not below 0: two points there give the cell of
        # 1/s a neighbour on the right.
        with np.errstate(divide="ignore", over="ignore"):
            points = [points[:k] for k in np.searchsorted(points, 1 / slopes) + 2]
    low, high = np.empty(len(slopes)), np.empty(len(slopes))
    row = np.repeat(np.arange(len(slopes)), [len(each) for each in points])
    x = np.concatenate([np.empty(0), *points])
    low_g, high_g = _evaluate_once(g, x)
    if limit is not None:  # a last point with the bounds of all x, where 1 - g - s x is at most -3
        ends = zip(slopes.tolist(), (each[-1] for each in points), strict=True)
        top = [max(min(4 / s, 1e305), end * (1 + 2 * closest)) for s, end in ends]
        row, x = np.append(row, np.arange(len(slopes))), np.append(x, top)
        low_g, high_g = np.append(low_g, np.full(len(top), limit)), np.append(high_g, np.ones(len(top)))
    # Cells narrow from 12 to 1e-5 in log x, where smooth functions are 1e-10 from their chords.
    for k in range(24 if len(slopes) else 0):
        order = np.lexsort((x, row))
        # Of points with an error, and nearer to each other than quartered cells leave them, one stays.
        apart = np.diff(x[order]) > (0.0 if limit is None else closest / 8) * x[order][1:]
        order = order[np.append(True, apart | (np.diff(row[order]) > 0))]
        row, x, low_g, high_g = row[order], x[order], low_g[order], high_g[order]
        first = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
        mine = row[first]  # slopes not yet settled
        low[mine], high[mine], cells, around = _bound_each(x, low_g, high_g, slopes[row], first, tol, limit)
        # Cells are quartered, wide ones halved on a logarithmic scale; the outermost are cut at a multiple of
        # the ratio that points span already, which grows with every cut. In the first five passes a slope
        # whose best cells are ``is_smooth`` gets the four points ``around`` its vertex instead.
        size = np.diff(first, append=len(x))
        with np.errstate(all="ignore"):  # of rows of less than four points
            span = np.log(x[first + size - 2] / x[np.minimum(first + 1, len(x) - 1)])
        span = np.where(size > 3, np.maximum(size - 4, 2) * span, math.inf)
        reach = np.exp(np.clip(span, 2.0**-20, 17 * math.log(2)))  # from 0 to 2^-68 in four cuts
        own = np.searchsorted(first, cells, side="right") - 1  # index in ``mine`` of each cell's slope
        cells, own = cells[size[own] <= 6000], own[size[own] <= 6000]
        is_smooth = np.isin(np.arange(len(mine)), own) & (k < 5)
        is_smooth &= around[:, 1] - around[:, 0] > closest * around[:, 3]
        cells, own = cells[~is_smooth[own]], own[~is_smooth[own]]
        left, right, reach = x[cells], x[cells + 1], reach[own]
        with np.errstate(over="ignore"):
            middles = np.where(left > 0, np.sqrt(left) * np.sqrt(right), right / reach)
            outermost = (cells == first[own] + size[own] - 2) & (left > 0)
            middles = np.where(outermost, np.minimum(middles, left * reach), middles)
        close = (right < 2 * left) & (right - left > closest * right)
        wide = (right >= 2 * left) & (middles > left) & (middles < right)
        quarters = np.linspace(left[close], right[close], 5)[1:-1]
        more = np.concatenate([middles[wide], quarters.ravel(), around[is_smooth].ravel()])
        if not len(more):
            break
        parents = np.append(cells[wide], np.tile(cells[close], 3))
        theirs = np.append(row[parents], np.repeat(mine[is_smooth], 4))  # the slope of each new point
        stays = np.isin(row, theirs)
        row, x = np.append(row[stays], theirs), np.append(x[stays], more)
        low_more, high_more = _evaluate_once(g, more)
        low_g, high_g = np.append(low_g[stays], low_more), np.append(high_g[stays], high_more)
    return low, high


def vertex(x: Array, value: Array) -> Array:
    """Return the x at which the parabola through each row's largest sample and its neighbours peaks.

    Where that sample is at an end, return a step past it.
    """
    rows, last = np.arange(len(x)), x.shape[1] - 1
    k = np.argmax(value, axis=1)
    inner = np.clip(k, 1, last - 1)
    near = [(x[rows, inner + j], value[rows, inner + j]) for j in (0, -1, 1)]
    (x0, y0), (left, below), (right, above) = near
    left, right, down, up = left - x0, right - x0, below - y0, above - y0
    with np.errstate(all="ignore"):
        bend = right * down - left * up
        peak = x0 + np.where(bend != 0, (right**2 * down - left**2 * up) / (2 * bend), 0.0)
    outside = 2 * x[rows, k] - x[rows, np.where(k == 0, 1, last - 1)]
    return np.asarray(np.where(k == inner, peak, outside))


def _evaluate_once(g: Callable[[Array], tuple[Array, Array]], x: Array) -> Array:
    """Return the lower and the upper bound on g, two rows, at points in any order: each is computed once."""
    distinct, which = np.unique(x, return_inverse=True)
    return np.array(g(distinct))[:, which]


def _bound_each(
    x: Array, low_g: Array, high_g: Array, s: Array, first: Index, tol: float | None, limit: float | None
) -> tuple[Array, Array, Index, Array]:
    """Return lower and upper bounds for each slope, the indices of cells to cut, and points (slopes, 4).

    ``s`` is the slope of each point. The four points are about the vertex of a parabola, apart by 1/32 of the
    smaller cell next to the best point, or more where the vertex is far from that; NaN where a cell is
    missing or wide.
    """
    small = x < (0.0 if limit is None else 1.0)  # where ``g`` lacks 1 - x, and so does ``line``, 1 - s x
    line = np.where(small, (1 - s) * x, 1 - s * x)
    # Three roundings of two terms, and the error of x: in both of them, or in s x. A peak is a value plus the
    # rise of a chord over a cell, with six roundings more: where those exceed 2 sizes, it exceeds them all.
    moved = np.where(small, (1 - s) * x + high_g, s * x)
    size = np.where(small, moved, 1 + moved)
    off = (0 if limit is None else 10) * UNIT * (1 + np.abs(np.log(np.where(x > 0, x, 1.0))))
    rounding = 8 * UNIT * size + off * moved
    below, above = line - high_g - rounding, line - low_g + rounding
    inside = np.ones(len(x), bool)  # whether a cell begins at the point
    inside[np.append(first[1:] - 1, -1)] = False
    inside, sizes = inside[:-1], np.diff(first, append=len(x))
    best = np.maximum.reduceat(below, first)
    ends = np.maximum(above[first], above[first + sizes - 1])
    width = np.where(inside, np.diff(x), 1.0)
    # The right end has the larger error: both change a width by 2 o, o = off x/width <= 1/4 for cells of that
    # width, and 1/(1 - 2 o) <= 1 + 4 o.
    peak = _peaks(below, above, width, (4.5 * off * x)[1:] / width, 2 * rounding[1:], inside)
    peak = np.where(inside, np.minimum(peak, (1 - (limit or 0.0)) * (1 + 2 * UNIT)), 0.0)
    goal = 1e-10 * np.abs(best)
    if tol is not None:
        rest = np.abs(best) if limit is None else np.maximum(1 - s[first] - best, 0.0)
        goal = tol / 4 * np.minimum(np.abs(best), rest)
    most = np.maximum(np.maximum.reduceat(np.append(peak, 0.0), first), np.maximum(ends, 0.0))
    enough, aim, best_here = (np.repeat(each, sizes)[:-1] for each in (np.maximum(ends, best), goal, best))
    gap = np.maximum(above[:-1], above[1:]) - best_here
    # Where the function is flat, chords rise by half of the error of values, however close points are.
    unsure = np.maximum(above - below, 0.0) + 2 * rounding
    rise = np.maximum(aim / 2, np.minimum(unsure[:-1], unsure[1:]))
    worth = inside & (peak > enough + aim + 1e-300) & (peak - np.maximum(gap, 0) - best_here > rise)
    top = np.where(below == np.repeat(best, sizes), np.arange(len(x)), 0)
    top = np.maximum(np.maximum.reduceat(top, first), first)
    near = np.clip(top[:, None] + np.array([-1, 0, 1]), 0, len(x) - 1)
    three, is_inner = x[near], (top > first) & (top < first + sizes - 1)
    centre = vertex(three, below[near])
    apart = np.maximum(np.min(np.diff(three), axis=1), 2 * np.abs(centre - three[:, 1])) / 64
    with np.errstate(invalid="ignore", over="ignore"):
        around = centre[:, None] + apart[:, None] * np.array([-3.0, -1.0, 1.0, 3.0])
    around[~(is_inner & (three[:, 2] < 2 * three[:, 0]))] = np.nan
    return best, most, np.flatnonzero(worth), around


def _peaks(
    below: Array, above: Array, width: Array, slip: Array, rounding: Array, inside: NDArray[np.bool_]
) -> Array:
    """Bound concave functions on every cell by the meeting point of its neighbours' chords prolonged.

    ``below`` and ``above`` bound values at all points. Widths and their reciprocals have relative errors of
    ``slip``, chords an error of ``rounding``; cells that are not ``inside`` lie between two functions.
    """
    # ``rise`` is at least the slope of the chord of each cell, where that is positive, and of all that
    # follow; ``fall`` at least minus the slope, likewise for all before.
    rise = np.where(inside, (above[1:] - below[:-1]) / width * (1 + slip), np.inf)
    fall = np.where(inside, (above[:-1] - below[1:]) / width * (1 + slip), np.inf)
    width = width * (1 + slip)
    from_left, from_right = np.append(np.inf, rise[:-1]), np.append(fall[1:], np.inf)
    a, b = above[:-1], above[1:]
    # y <= a + r t and y <= b + f (w - t): they meet at t = (b - a + f w)/(r + f), inside the cell if at all;
    # one rises and one falls, so at every point the greater of the two is an upper bound.
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        t = np.clip((b - a + from_right * width) / (from_left + from_right), 0.0, width)
        meet = np.maximum(a + from_left * t, b + from_right * (width - t)) + rounding
    inner = np.isfinite(from_left) & np.isfinite(from_right)
    one_sided_left = np.where(from_left > 0, a + from_left * width + rounding, a)
    one_sided_right = np.where(from_right > 0, b + from_right * width + rounding, b)
    single = np.where(np.isfinite(from_right), one_sided_right, np.inf)
    single = np.where(np.isfinite(from_left), one_sided_left, single)
    # Where a chord falls into the cell the maximum is at its start.
    meet = np.where(inner & (from_left <= 0), a, np.where(inner & (from_right <= 0), b, meet))
    return np.where(inner, np.maximum(meet, np.minimum(a, b)), single)
