"""Conjugation with bounds: sup_x 1 - g(x) - s x for a convex g known from both sides at chosen points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tradeoff.intervals.rounding import UNIT, Array

_ROUNDS, _TOWARDS_0 = 24, 2.0**-17
"""Halvings of a cell, from 12 to 1e-5 in log s, where smooth functions are 1e-10 from their chords; and the
share at which a cell that begins at 0 is cut, to 2^-68 in four of them."""

_MAX_POINTS = 6000
"""Points of one slope after which what is known is reported."""

_TOGETHER = 2**13
"""Points of slopes that are searched at once, as rows of arrays: NumPy's overhead is that of as many."""

_CLOSE = 1e-10
"""Relative width that is aimed at where none is asked."""


def conjugate(
    g: Callable[[Array], tuple[Array, Array]], slopes: Array, points: Array, tol: float | None = None
) -> tuple[Array, Array]:
    """Bound sup_x {1 - g(x) - s x} over x >= 0 for every slope s >= 0.

    Parameters
    ----------
    g
        Bounds on a convex, non-increasing function with values in [0, 1].
    slopes
        Values of s.
    points
        Starting points, increasing from 0.
    tol
        Relative width to stop at.

    Notes
    -----
    Any point gives a lower bound. For the upper one, a concave function lies under each of its chords
    prolonged: between two neighbours it is below the chords of the cells to the left and to the right, which
    meet in a peak. Cells whose peak exceeds the best value are halved; cost is a few dozen points a slope.
    Each slope is answered from points of its own, though all are asked together: what else is asked does not
    matter.
    """
    goal = _CLOSE if tol is None else tol / 4
    # The points that each slope asked for. From x = 1/s on 1 - g - s x <= 0, and the supremum is
    # not below 0: two points there give the cell of 1/s a neighbour on the right.
    with np.errstate(divide="ignore", over="ignore"):
        own = [points[:k] for k in np.searchsorted(points, 1 / slopes) + 2]
    points = points[: max(map(len, own), default=0)]
    values = np.array(g(points))
    low, high = np.empty(len(slopes)), np.empty(len(slopes))
    going = list(range(len(slopes)))
    for _ in range(_ROUNDS):
        fresh: dict[int, Array] = {}
        going.sort(key=lambda k: -len(own[k]))
        while going:
            size = max(_TOGETHER // len(own[going[0]]), 1)
            some, going = going[:size], going[size:]
            x = _rows([own[k] for k in some])
            low_g, high_g = values[:, np.searchsorted(points, x)]
            low[some], high[some], promising = _search(x, low_g, high_g, slopes[some, None], goal)
            for k, ends, cells in zip(some, x, promising, strict=True):
                if cells.any() and len(own[k]) <= _MAX_POINTS and len(middles := _middles(ends, cells)):
                    fresh[k] = middles
        if not (going := list(fresh)):
            break
        more = np.setdiff1d(np.concatenate(list(fresh.values())), points)
        every = np.concatenate([points, more])
        order = np.argsort(every, kind="stable")
        values = np.hstack([values, g(more)])[:, order] if len(more) else values
        points = every[order]
        for k in going:
            own[k] = np.sort(np.append(own[k], fresh[k]))
    return low, high


def _rows(points: list[Array]) -> Array:
    """Return arrays as the rows of one, each with its last number repeated."""
    sizes = np.array([len(each) for each in points])
    column = np.minimum(np.arange(np.max(sizes)), sizes[:, None] - 1)
    rows: Array = np.concatenate(points)[(np.cumsum(sizes) - sizes)[:, None] + column]
    return rows


def _middles(x: Array, cells: NDArray[np.bool_]) -> Array:
    """Return the points that halve cells, on a logarithmic scale where they are wide."""
    left, right = x[:-1][cells], x[1:][cells]
    fresh = np.where(left > 0, np.sqrt(left) * np.sqrt(right), right * _TOWARDS_0)
    fresh = np.where(right < 2 * left, (left + right) / 2, fresh)
    return np.asarray(fresh[(fresh > left) & (fresh < right)])


def _search(
    x: Array, low_g: Array, high_g: Array, s: Array, goal: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return bounds for the slope of every row, and the cells worth halving for it."""
    # Three roundings of terms up to 1 + s x, and as many in the peaks that are made of them.
    rounding = 8 * UNIT * (1 + s * x)
    below, above = 1 - high_g - s * x - rounding, 1 - low_g - s * x + rounding
    best = np.max(below, axis=1)[:, None]
    peak = _peaks(below, above, np.diff(x))
    ends = np.maximum(above[:, :1], above[:, -1:])
    gap = np.maximum(above[:, :-1], above[:, 1:]) - best
    worth = (peak > np.maximum(ends, best) + goal * np.abs(best) + 1e-300) & (
        peak - np.maximum(gap, 0) - best > goal * np.abs(best) / 2
    )
    return best[:, 0], np.maximum(np.max(peak, axis=1, initial=0.0), ends[:, 0]), worth


def _peaks(below: Array, above: Array, width: Array) -> Array:
    """Bound a concave function on every cell by the meeting point of its neighbours' chords prolonged.

    Cells of no width, where a row repeats its last point, are no neighbours and bound nothing.
    """
    a, b = above[:, :-1], above[:, 1:]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # At least the slope of each cell's chord, and of all that follow; minus the slope, of all before.
        rise, fall = (b - below[:, :-1]) / width, (a - below[:, 1:]) / width
        from_left, from_right = np.full(width.shape, np.inf), np.full(width.shape, np.inf)
        from_left[:, 1:], from_right[:, :-1] = rise[:, :-1], fall[:, 1:]
        # y <= a + r t and y <= b + f (w - t) meet at t = (b - a + f w)/(r + f), inside the cell if at all.
        t = np.clip((b - a + from_right * width) / (from_left + from_right), 0.0, width)
        meet = np.minimum(a + from_left * t, b + from_right * (width - t))
        one_sided_left = np.where(from_left > 0, a + from_left * width, a)
        one_sided_right = np.where(from_right > 0, b + from_right * width, b)
    inner = np.isfinite(from_left) & np.isfinite(from_right)
    single = np.where(
        np.isfinite(from_left), one_sided_left, np.where(np.isfinite(from_right), one_sided_right, np.inf)
    )
    # When one chord falls into the cell the maximum sits at its start.
    meet = np.where(inner & (from_left <= 0), a, np.where(inner & (from_right <= 0), b, meet))
    bound = np.where(inner, np.maximum(meet, np.minimum(a, b)), single)
    return np.where(width > 0, np.minimum(bound, 1.0), -np.inf)
