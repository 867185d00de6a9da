"""Where the likelihood ratio of two laws on the line turns: the pieces on which it is monotone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tradeoff.errors import DomainError
from tradeoff.intervals.rounding import Array
from tradeoff.loss.line import LOSS_ERROR, LineLaw, Piece, Side, middle

_HIDDEN = 2 * LOSS_ERROR
"""Turns of L that no piece ends for: the bounds of a law allow for them."""

_MOST = 1000
"""Pieces beyond which L is noise, and no law is made of it."""


class Found(NamedTuple):
    """A law with the places where its pieces meet, and how many points were looked at."""

    law: LineLaw
    breaks: tuple[float, ...]
    looked: int


def law_of(p: Side, q: Side, points: Array, ends: Sequence[float], breaks: Sequence[float] | None) -> Found:
    """Return the law of L = log q - log p, in pieces between the given ends and breaks, or where L turns.

    Parameters
    ----------
    p, q
        The two laws.
    points
        Increasing points where they are looked at, dense wherever either has mass.
    ends
        Ends of supports.
    breaks
        Places between which L is monotone; None: found among the points.

    Raises
    ------
    DomainError
        If L turns between given breaks, or too often.
    """
    bare = LineLaw(p, q, ())
    kinds = _kinds(p, q, points)
    edges = {float(x) for x in (*ends, *(breaks or ())) if np.isfinite(x)}
    changes = [_change(p, q, points[k : k + 2], kinds[k]) for k in np.flatnonzero(np.diff(kinds))]
    between = sorted(edges | {x for x in changes if not edges & {x, *_neighbours(x)}})
    pieces: list[Piece] = []
    turns: list[float] = []
    lost = {1: 0.0, 2: 0.0}
    for low, high in pairwise([-np.inf, *between, np.inf]):
        x = points[(points > low) & (points < high)]
        if len(x) == 0:
            continue
        kind = int(np.median(_kinds(p, q, x)))
        if kind in lost:
            lost[kind] += _mass((p, q)[kind - 1], low, high)
        elif kind == 3:
            own = _turns(bare, x)
            if own and breaks is not None:
                raise DomainError(
                    f"the likelihood ratio turns near {own[0]:.6g}, between the breaks {low:g} and {high:g}; "
                    "add the break, or leave breaks out"
                )
            turns += own
            pieces += [_piece(bare, a, b, x) for a, b in pairwise([low, *own, high])]
    if len(pieces) > _MOST:
        raise DomainError(
            f"the likelihood ratio turns {len(pieces)} times; give smooth densities, or their breaks"
        )
    law = LineLaw(p, q, tuple(pieces), p_minus=lost[1], q_plus=lost[2])
    return Found(law, tuple(turns) if breaks is None else tuple(sorted(map(float, breaks))), len(points))


def _kinds(p: Side, q: Side, x: Array) -> Array:
    """Return 3 where both laws have a density, 2 where only Q has, 1 where only P has, 0 where neither."""
    with np.errstate(all="ignore"):
        return (p.logpdf(x) > -np.inf) * 1 + (q.logpdf(x) > -np.inf) * 2


def _change(p: Side, q: Side, ends: Array, kind: int) -> float:
    """Return the float at which the kind changes between two."""
    low, high = ends[:1], ends[1:]
    while True:
        x = middle(low, high)
        if x[0] == low[0] or x[0] == high[0]:
            return float(high[0])
        low, high = (x, high) if _kinds(p, q, x)[0] == kind else (low, x)


def _neighbours(x: float) -> set[float]:
    return {float(np.nextafter(x, side)) for side in (-np.inf, np.inf)}


def _mass(side: Side, low: float, high: float) -> float:
    """Return the mass of an interval, from whichever tails are smaller."""
    with np.errstate(all="ignore"):
        (before, after), (beyond, rest) = (np.asarray(f(np.array([low, high]))) for f in (side.cdf, side.sf))
    return float(beyond - rest if beyond < after else after - before)


def _turns(law: LineLaw, x: Array) -> list[float]:
    """Return where L turns by more than its error, each found among its neighbours."""
    loss = law.log_ratio(x)
    found: list[float] = []
    way, best = 0, 0  # the direction, once known, and where L went farthest in it
    lowest = highest = 0
    for k in range(1, len(x)):
        if way == 0:
            lowest, highest = (
                (k if loss[k] < loss[lowest] else lowest),
                (k if loss[k] > loss[highest] else highest),
            )
            if loss[highest] - loss[lowest] > _HIDDEN:
                way, best = (1, highest) if highest > lowest else (-1, lowest)
        elif way * (loss[k] - loss[best]) >= 0:
            best = k
        elif way * (loss[best] - loss[k]) > _HIDDEN:
            found.append(_turn(law, x[max(best - 1, 0)], x[best], x[min(best + 1, len(x) - 1)], way))
            way, best = -way, k
    return found


def _turn(law: LineLaw, low: float, best: float, high: float, way: int) -> float:
    """Return the place of a maximum (``way`` 1) or minimum between two points."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda x: -way * float(law.log_ratio(np.array([x]))[0]),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-15 * (abs(low) + abs(high))},
    )
    here = law.log_ratio(np.array([found.x, best]))
    return float(found.x if way * here[0] >= way * here[1] else best)


def _piece(law: LineLaw, low: float, high: float, x: Array) -> Piece:
    """Return the piece between two ends, looked at up to the floats next to them, or to the last points."""
    first = float(np.nextafter(low, np.inf)) if np.isfinite(low) else float(x[0])
    last = float(np.nextafter(high, -np.inf)) if np.isfinite(high) else float(x[-1])
    start, stop = law.log_ratio(np.array([first, last]))
    return Piece(low, high, bool(stop >= start), first, last)
