"""Conjugation with bounds: sup_x 1 - g(x) - s x for a convex g known from both sides at chosen points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tradeoff.numerics.rounding import UNIT, Array

_ROUNDS, _MAX_POINTS = 14, 6000
_CLOSE = 1e-10


def conjugate(g: Callable[[Array], tuple[Array, Array]], slopes: Array, points: Array, tol: float | None = None) -> tuple[Array, Array]:
    """Bound sup_x {1 - g(x) - s x} over x >= 0 for every slope s >= 0.

    Parameters
    ----------
    g
        Bounds on a convex, non-increasing function with values in [0, 1].
    slopes
        Values of s.
    points
        Starting points, increasing; the supremum is taken over [points[0], infinity).
    tol
        Relative width to stop at.

    Notes
    -----
    Any point gives a lower bound. For the upper one, a concave function lies under each of its chords prolonged:
    between two neighbours it is below the chords of the cells to the left and to the right, which meet in a peak.
    Cells whose peak exceeds the best value are halved; cost is a few dozen points a slope.
    """
    goal = _CLOSE if tol is None else tol / 4
    low_g, high_g = g(points)
    for _ in range(_ROUNDS):
        low, high, promising = _search(points, low_g, high_g, slopes, goal)
        cells = np.flatnonzero(promising)
        if len(cells) == 0 or len(points) > _MAX_POINTS:
            break
        left, right = points[cells], points[cells + 1]
        fresh = np.where(left > 0, np.sqrt(left) * np.sqrt(right), right / 16)
        fresh = np.where(right < 2 * left, (left + right) / 2, fresh)
        fresh = fresh[(fresh > left) & (fresh < right)]
        if len(fresh) == 0:
            break
        low_new, high_new = g(fresh)
        order = np.argsort(np.concatenate([points, fresh]), kind="stable")
        points = np.concatenate([points, fresh])[order]
        low_g, high_g = np.concatenate([low_g, low_new])[order], np.concatenate([high_g, high_new])[order]
    return low, high


def _search(x: Array, low_g: Array, high_g: Array, slopes: Array, goal: float) -> tuple[Array, Array, Array]:
    """Return bounds for every slope and the cells worth halving for any of them."""
    low, high = np.empty(len(slopes)), np.empty(len(slopes))
    promising = np.zeros(len(x) - 1, dtype=bool)
    width = np.diff(x)
    for k, s in enumerate(slopes):
        rounding = 8 * UNIT * (1 + s * x)
        below, above = 1 - high_g - s * x - rounding, 1 - low_g - s * x + rounding
        best = float(np.max(below))
        peak = _peaks(below, above, width)
        low[k] = best
        high[k] = max(float(np.max(peak, initial=0.0)), float(above[0]), float(above[-1]))
        ends = max(float(above[0]), float(above[-1]), best)
        gap = np.maximum(above[:-1], above[1:]) - best
        worth = (peak > ends + goal * abs(best) + 1e-300) & (peak - np.maximum(gap, 0) - best > goal * abs(best) / 2)
        promising |= worth
    return low, high, promising


def _peaks(below: Array, above: Array, width: Array) -> Array:
    """Bound a concave function on every cell by the meeting point of its neighbours' chords prolonged."""
    rise = (above[1:] - below[:-1]) / width  # at least the slope of the chord of each cell, and of all that follow
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
    single = np.where(np.isfinite(from_left), one_sided_left, np.where(np.isfinite(from_right), one_sided_right, np.inf))
    # When one chord falls into the cell the maximum sits at its start.
    meet = np.where(inner & (from_left <= 0), a, np.where(inner & (from_right <= 0), b, meet))
    return np.minimum(np.where(inner, np.maximum(meet, np.maximum(np.minimum(a, b), -np.inf)), single), 1.0)
