"""The pieces of the line on which log q - log p is monotone: between ends of supports, breaks and turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tradeoff.errors import DomainError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.pld.density import CLOSEST, Density
from tradeoff.pld.real_line import MARGIN, Piece, RealLineLaw, log_ratio

_FAN = 64  # parts into which the floats between two points are cut at once, to find where L turns
_NEAR = 8 * UNIT  # relative distance from an end at which its neighbours lie
_STEADY = 1.5  # most that L changes up to an end at which it is known, over the change just before
_FADED = -600.0  # log-density from which on a density may go on below the least float
_MAX_PIECES = 1000  # more turns are noise


class Pieces(NamedTuple):
    """A law, the places where L turns, and the number of points at which it was evaluated."""

    law: RealLineLaw
    turns: tuple[float, ...]
    looked: int


def find_pieces(p: Density, q: Density, breaks: Sequence[float] | None, *, bounded: bool = False) -> Pieces:
    """Return the law of L = log q - log p.

    Parameters
    ----------
    p, q
        The densities. L is evaluated at the nodes of their quadrature.
    breaks
        Points between which L is monotone; found if None.
    bounded
        Whether L is proved to take no greater or smaller values beyond the points than at some of them.

    Raises
    ------
    DomainError
        If L turns between the breaks, or more than a thousand times.
    """
    strips, x = _scan(p, q, breaks or ())
    lost, unknown, pieces, turns = [Bounds(0.0, 0.0)] * 2, [0.0, 0.0], [], list(breaks or ())
    for low, high in strips:
        for i, side in enumerate((p, q)):  # a rounded end may lie outside its float: twice
            unknown[i] += 2 * float(_mass_between(side, low, high).upper)
    ends = [-np.inf, *(end for strip in strips for end in strip), np.inf]
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        inner = x[(x > low) & (x < high)]
        kind = int(np.bincount(_kinds(p, q, inner), minlength=4).argmax()) if len(inner) else 0
        if kind == 3 and np.isfinite(log_ratio(p, q, inner)[0]).any():
            result = _turns(p, q, inner)
            if result and breaks is not None:
                raise DomainError(
                    f"log(q/p) must be monotone between breaks, but turns near {result[0]:.6g}; "
                    "add the break, or leave breaks out"
                )
            turns += result
            pieces += [_piece(p, q, *part, inner) for part in pairwise([low, *result, high])]
            continue
        for i, side in enumerate((p, q)):
            mass = _mass_between(side, low, high)
            if kind == i + 1 and not _fades((q, p)[i], low, high):
                lost[i] += mass
            else:
                unknown[i] += float(mass.upper)
    if len(pieces) > _MAX_PIECES:
        raise DomainError(
            f"log(q/p) must turn at most {_MAX_PIECES} times, but turns {len(pieces)} times; "
            "give smooth densities, or their breaks"
        )
    if bounded:
        pieces = _bounded(pieces)
    return Pieces(
        RealLineLaw(p, q, tuple(pieces), (lost[0], lost[1]), (unknown[0], unknown[1])),
        tuple(sorted(turns)),
        len(x),
    )


def _bounded(pieces: Sequence[Piece]) -> list[Piece]:
    """Bound L at unknown ends by its values elsewhere."""
    low, high = min(min(each.low[1:-1]) for each in pieces), max(max(each.high[1:-1]) for each in pieces)
    return [Piece(each.x, np.maximum(each.low, low), np.minimum(each.high, high)) for each in pieces]


def _scan(p: Density, q: Density, breaks: Sequence[float]) -> tuple[list[tuple[float, float]], Array]:
    """Return the strips in which a density begins or ends, and the points outside at which L is evaluated."""
    strips = _strips(p, q, breaks)
    x = np.union1d(p.points, q.points)
    x = np.union1d(x, [y for low, high in strips for y in (*_neighbours(low, -1.0), *_neighbours(high, 1.0))])
    for low, high in strips:
        x = x[(x < low) | (x > high)]
    kinds = _kinds(p, q, x)
    for k in np.flatnonzero(np.diff(kinds)):
        if not any(x[k] < low and high < x[k + 1] for low, high in strips):
            strips.append(_change(p, q, x[k], x[k + 1], kinds[k]))
    return sorted(strips), x


def _strips(p: Density, q: Density, breaks: Sequence[float]) -> list[tuple[float, float]]:
    """Return the ends and breaks, as intervals of width 0 but where they are rounded; none overlap."""
    strips: list[tuple[float, float]] = []
    for side in (p, q):
        for x in side.cuts:
            off = _NEAR * abs(x) if x in side.rounded else 0.0
            strips.append((x - off, x + off))
    strips = sorted({*strips, *((x, x) for x in breaks)})
    merged = strips[:1]
    for low, high in strips[1:]:
        if low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _neighbours(x: float, way: float) -> tuple[float, float]:
    """Return two points next to a place."""
    step = max(_NEAR * abs(x), CLOSEST) if np.isfinite(x) else 0.0
    return x + way * step, x + 2 * way * step


def _kinds(p: Density, q: Density, x: Array) -> Array:
    """Return 3 where both laws have a density, 2 where only Q has, 1 where only P has, 0 where neither."""
    return (p.log_density(x) > -np.inf) * 1 + (q.log_density(x) > -np.inf) * 2


def _change(p: Density, q: Density, low: float, high: float, kind: int) -> tuple[float, float]:
    """Return neighbouring floats between which the kind changes."""
    while low < (middle := _float(_order(low) + (_order(high) - _order(low)) // 2)) < high:
        low, high = (middle, high) if _kinds(p, q, np.array([middle]))[0] == kind else (low, middle)
    return low, high


def _mass_between(side: Density, low: float, high: float) -> Bounds:
    mass = side.bound_mass(np.array([low]), np.array([high]))
    return Bounds(float(mass.lower[0]), float(mass.upper[0]))


def _fades(side: Density, low: float, high: float) -> bool:
    """Whether a density that is 0 in floats between two points is nearly 0 next to them."""
    if high <= side.support[0] or low >= side.support[1]:
        return False
    next_to = side.log_density(np.array([_neighbours(low, -1.0)[0], _neighbours(high, 1.0)[0]]))
    return bool(((next_to > -np.inf) & (next_to < _FADED)).any())


def _turns(p: Density, q: Density, x: Array) -> list[float]:
    """Return where L turns by more than 4 errors."""
    loss, margin = log_ratio(p, q, x)
    x, loss, error = x[np.isfinite(loss)], loss[np.isfinite(loss)], (2 / MARGIN * margin)[np.isfinite(loss)]
    low, high = (loss - error).tolist(), (loss + error).tolist()
    places, way, top, bottom = [], 0, 0, 0
    for k in range(1, len(x)):
        top, bottom = (k if high[k] > high[top] else top), (k if low[k] < low[bottom] else bottom)
        if way >= 0 and high[k] < low[top]:
            places += [(top, 1)] if way else []
            way, bottom = -1, k
        elif way <= 0 and low[k] > high[bottom]:
            places += [(bottom, -1)] if way else []
            way, top = 1, k
    return [_turn(p, q, x[max(k - 1, 0)], x[min(k + 1, len(x) - 1)], way) for k, way in places]


def _turn(p: Density, q: Density, low: float, high: float, way: int) -> float:
    """Return the float at which L is greatest (``way`` 1) or least between two points."""
    a, b = _order(low), _order(high)
    while True:
        places = sorted({a + (b - a) * k // _FAN for k in range(_FAN + 1)})
        x = np.array([_float(place) for place in places])
        best = int(np.argmax(np.nan_to_num(way * log_ratio(p, q, x)[0], nan=-np.inf)))
        if b - a <= _FAN:
            return float(x[best])
        a, b = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]


def _piece(p: Density, q: Density, low: float, high: float, x: Array) -> Piece:
    """Return the piece between two ends."""
    near = np.array([_neighbours(low, 1.0), _neighbours(high, -1.0)])
    inner = np.union1d(x, near[np.isfinite([low, high])])
    inner = inner[(inner >= near[0, 0]) & (inner <= near[1, 0]) & (inner > low) & (inner < high)]
    loss, margin = log_ratio(p, q, inner)
    seen = np.isfinite(loss)
    if not seen.any():
        return Piece(np.array([low, low, high]), np.full(3, -np.inf), np.full(3, np.inf))
    inner, loss, margin = inner[seen], loss[seen], margin[seen]
    ends = [(low, *_at_end(p, q, low, 1.0)), (high, *_at_end(p, q, high, -1.0))]
    if loss[-1] < loss[0]:
        ends, inner, loss, margin = ends[::-1], inner[::-1], loss[::-1], margin[::-1]
    (bottom, least, off), (top, most, room) = ends
    lows, highs = loss - margin, loss + margin
    return Piece(
        np.array([bottom, *inner, top]),
        np.array([least - off, *lows, max(most - room, lows[-1])]),
        np.array([min(least + off, highs[0]), *highs, most + room]),
    )


def _at_end(p: Density, q: Density, end: float, way: float) -> tuple[float, float]:
    """Return L at an end and its error: infinite where L changes more up to the end than next to it."""
    if np.isinf(end):
        return 0.0, np.inf
    loss, margin = log_ratio(p, q, np.array([end, *_neighbours(end, way)]))
    with np.errstate(invalid="ignore"):
        first, second = np.abs(np.diff(loss))
    known = first <= _STEADY * second + margin[1]
    return (float(loss[0]), float(margin[0] + first)) if known else (0.0, np.inf)


def _order(x: float) -> int:
    """Map floats to integers in their order, neighbours to neighbours."""
    bits = int(np.float64(abs(x)).view(np.int64))
    return bits if x >= 0 else -bits


def _float(order: int) -> float:
    """Invert ``_order``."""
    return (
        float(np.int64(order).view(np.float64)) if order >= 0 else -float(np.int64(-order).view(np.float64))
    )
