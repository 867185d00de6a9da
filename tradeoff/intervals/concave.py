"""Conjugation with bounds: sup_x 1 - g(x) - s x for a convex g known from both sides at chosen points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tradeoff.intervals.rounding import UNIT, Array, Index

_ROUNDS, _TOWARDS_0 = 24, 2.0**-17
"""Halvings of a cell, from 12 to 1e-5 in log s, where smooth functions are 1e-10 from their chords; and the
share at which a cell that begins at 0 is cut, to 2^-68 in four of them."""

_MAX_POINTS = 6000
"""Points of one slope after which what is known is reported."""

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
    # Of all points, those that each slope asked for. From x = 1/s on 1 - g - s x <= 0, and the supremum is
    # not below 0: two points there give the cell of 1/s a neighbour on the right.
    with np.errstate(divide="ignore", over="ignore"):
        own = [np.arange(min(k, len(points))) for k in np.searchsorted(points, 1 / slopes) + 2]
    points = points[: max(map(len, own), default=0)]
    values = np.array(g(points))
    low, high = np.empty(len(slopes)), np.empty(len(slopes))
    going = list(range(len(slopes)))
    for _ in range(_ROUNDS):
        fresh: dict[int, Array] = {}
        for k in going:
            x = points[own[k]]
            low[k], high[k], promising = _search(
                x, values[0, own[k]], values[1, own[k]], float(slopes[k]), goal
            )
            middles = _middles(x, np.flatnonzero(promising))
            if len(middles) and len(x) <= _MAX_POINTS:
                fresh[k] = middles
        if not fresh:
            break
        more = np.setdiff1d(np.concatenate(list(fresh.values())), points)
        every = np.concatenate([points, more])
        order = np.argsort(every, kind="stable")
        values = np.hstack([values, g(more)])[:, order] if len(more) else values
        asked = {k: np.concatenate([points[own[k]], middles]) for k, middles in fresh.items()}
        points, going = every[order], list(fresh)
        for k in going:
            own[k] = np.searchsorted(points, np.sort(asked[k]))
    return low, high


def _middles(x: Array, cells: Index) -> Array:
    """Return the points that halve cells, on a logarithmic scale where they are wide."""
    left, right = x[cells], x[cells + 1]
    fresh = np.where(left > 0, np.sqrt(left) * np.sqrt(right), right * _TOWARDS_0)
    fresh = np.where(right < 2 * left, (left + right) / 2, fresh)
    return np.asarray(fresh[(fresh > left) & (fresh < right)])


def _search(
    x: Array, low_g: Array, high_g: Array, s: float, goal: float
) -> tuple[float, float, NDArray[np.bool_]]:
    """Return bounds for one slope, and the cells worth halving for it."""
    # Three roundings of terms up to 1 + s x, and as many in the peaks that are made of them.
    rounding = 8 * UNIT * (1 + s * x)
    below, above = 1 - high_g - s * x - rounding, 1 - low_g - s * x + rounding
    best = float(np.max(below))
    peak = _peaks(below, above, np.diff(x))
    ends = max(float(above[0]), float(above[-1]))
    gap = np.maximum(above[:-1], above[1:]) - best
    worth = (peak > max(ends, best) + goal * abs(best) + 1e-300) & (
        peak - np.maximum(gap, 0) - best > goal * abs(best) / 2
    )
    return best, max(float(np.max(peak, initial=0.0)), ends), worth


def _peaks(below: Array, above: Array, width: Array) -> Array:
    """Bound a concave function on every cell by the meeting point of its neighbours' chords prolonged."""
    rise = (
        above[1:] - below[:-1]
    ) / width  # at least the slope of the chord of each cell, and of all that follow
    fall = (above[:-1] - below[1:]) / width  # minus the slope, at least, likewise for all before
    cells = len(width)
    from_left = np.full(cells, np.inf)
    from_left[1:] = rise[:-1]
    from_right = np.full(cells, np.inf)
    from_right[:-1] = fall[1:]
    a, b = above[:-1], above[1:]
    # y <= a + r t and y <= b + f (w - t): they meet at t = (b - a + f w)/(r + f), inside the cell if at all.
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        t = np.clip((b - a + from_right * width) / (from_left + from_right), 0.0, width)
        meet = np.minimum(a + from_left * t, b + from_right * (width - t))
    inner = np.isfinite(from_left) & np.isfinite(from_right)
    one_sided_left = np.where(from_left > 0, a + from_left * width, a)
    one_sided_right = np.where(from_right > 0, b + from_right * width, b)
    single = np.where(
        np.isfinite(from_left), one_sided_left, np.where(np.isfinite(from_right), one_sided_right, np.inf)
    )
    # When one chord falls into the cell the maximum sits at its start.
    meet = np.where(inner & (from_left <= 0), a, np.where(inner & (from_right <= 0), b, meet))
    return np.minimum(np.where(inner, np.maximum(meet, np.maximum(np.minimum(a, b), -np.inf)), single), 1.0)
