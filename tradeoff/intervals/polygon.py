"""Polygons of certified lines and points, in exact arithmetic: every float is an integer multiple of 2^-1074.

A coordinate is that multiple, so that alpha = 1e-20 and alpha = 1 - 1e-20 are equally exact. Rounding happens
once, when a corner (x/d, y/d), where two lines meet, gets coordinates that floats can hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.intervals.bounds import Array, Index
from tradeoff.intervals.functions import quotient

ONE = 1 << 1074  # the number 1, as a multiple of the least positive float

Line = tuple[int, int, int]  # half-plane a alpha + b beta >= c with a, b >= 0
Point = tuple[int, int]  # a pair (alpha, beta) of multiples of 2^-1074


def whole(x: float) -> int:
    """Return a float as its multiple of 2^-1074."""
    n, d = float(x).as_integer_ratio()
    return n << (1075 - d.bit_length())


def envelope(lines: Iterable[Line]) -> list[tuple[int, int, int]]:
    """Return the corners (x/d, y/d), as (x, y, d), where half-planes and alpha, beta >= 0 intersect."""
    kept: list[Line] = []
    # Steepest first: of parallel lines the one farther out comes last, and removes the other.
    for line in sorted([*map(reduced, lines), (1, 0, 0), (0, 1, 0)], key=cmp_to_key(_steeper)):
        if kept and _cross(kept[-1], line) == 0:
            kept.pop()
        while len(kept) > 1:
            (a, b, c), (x, y, d) = kept[-1], _corner(kept[-2], line)
            if a * x + b * y < c * d:  # the corner without the last line is below it: the line stays
                break
            kept.pop()
        kept.append(line)
    return [_corner(one, two) for one, two in pairwise(kept)]


def round_corners(corners: Iterable[tuple[int, int, int]], *, up: bool) -> list[Point]:
    """Round both coordinates of the corners (x/d, y/d) of a convex curve to one side.

    Down: a corner stays on or below the two falling lines that meet there, so that each chord joins two
    points below one line. Up: it stays above every falling curve that is below the envelope.
    """
    return [(_coordinate(x, d, up=up), _coordinate(y, d, up=up)) for x, y, d in corners]


def hull(points: Iterable[Point]) -> list[Point]:
    """Return the vertices of the greatest convex curve below points and 1 - alpha, up to its first zero.

    It is at most the polygon through the points, and at least every convex curve below all of them.
    """
    ordered = sorted((a, min(b, ONE - a)) for a, b in points)
    x, y = (np.array(column, dtype=object) for column in zip(*ordered, strict=True))
    alpha, beta = lower_hull(x, y)
    stop = int(np.argmax(beta == 0)) + 1
    return list(zip(alpha[:stop].tolist(), beta[:stop].tolist(), strict=True))


def reduced(line: Line) -> Line:
    """Divide by the common power of two, most of which is that of the scale."""
    every = line[0] | line[1] | line[2]
    shift = max((every & -every).bit_length() - 1, 0)
    return line[0] >> shift, line[1] >> shift, line[2] >> shift


def _cross(one: Line, two: Line) -> int:
    """Return the determinant of (a, b) of both: above 0 where ``one`` is steeper, 0 of parallel lines."""
    return one[0] * two[1] - two[0] * one[1]


def _steeper(one: Line, two: Line) -> int:
    """Compare for sorting: steeper first, and of parallel lines the one farther out last."""
    order = _cross(two, one) or one[2] * (two[0] + two[1]) - two[2] * (one[0] + one[1])
    return (order > 0) - (order < 0)


def _corner(one: Line, two: Line) -> tuple[int, int, int]:
    """Return (x, y, d) with the point (x/d, y/d) on both lines."""
    (a, b, c), (e, f, g) = one, two
    return c * f - g * b, a * g - e * c, a * f - e * b


def _coordinate(n: int, d: int, *, up: bool) -> int:
    """Round n/d to c so that c and 1 - c are floats; near 0 and 1 only the smaller is exact."""
    # Multiples of 2^-53: floats hold both them and their distance to 1. Coordinates within 1/1024 of 0 or 1
    # keep the digits of their distance to it instead.
    grid, edge = 53, 1024
    if n * edge >= d and (d - n) * edge >= d:
        scaled = n << grid
        return (-(-scaled // d) if up else scaled // d) * (ONE >> grid)
    if 2 * n < d:
        return whole(quotient(n, d).upper if up else quotient(n, d).lower)
    return ONE - whole(quotient(d - n, d).lower if up else quotient(d - n, d).upper)


def floats(values: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return multiples of 2^-1074 as the nearest floats."""
    return np.array([value / ONE for value in values])


def below_chords(x: Array, y: Array) -> Index:
    """Return the places of points that may be vertices of the lower hull, by fast sweeps; x is sorted.

    A point above the chord of its neighbours is not a vertex. Coordinates are floats in [0, 1] within 2^-53
    of the true ones, so each product errs by at most 1e-15: above 1e-14 the true point is above, too.
    """
    places = np.arange(len(x))
    while len(x) > 2:
        (left, right), (down, up) = ((side[1:-1] - side[:-2], side[2:] - side[1:-1]) for side in (x, y))
        kept = np.concatenate([[True], down * right - up * left <= 1e-14, [True]])
        if np.mean(kept) > 0.98:  # another sweep no longer pays
            break
        x, y, places = x[kept], y[kept], places[kept]
    return places


def lower_hull(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the vertices of the greatest convex function below points of non-decreasing x; cost linear.

    Works entry by entry on arrays of floats, or of fractions, where the result is exact.
    """
    kept: list[int] = []
    at, to = x.tolist(), y.tolist()  # entries of lists cost a tenth of those of arrays
    for k, (a, b) in enumerate(zip(at, to, strict=True)):
        if kept and a == at[kept[-1]]:
            if b >= to[kept[-1]]:
                continue
            kept.pop()
        while len(kept) > 1:
            i, j = kept[-2], kept[-1]
            if (to[j] - to[i]) * (a - at[j]) < (b - to[j]) * (at[j] - at[i]):
                break
            kept.pop()
        kept.append(k)
    index = np.array(kept)
    return x[index], y[index]
