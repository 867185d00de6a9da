"""The pieces of the line on which log q - log p is monotone: between ends of supports, breaks and turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tradeoff.errors import DomainError
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.line import LOSS_ERROR, LineLaw, Piece, Side, between, floats, middle, ordered

_FAN = 64  # parts into which the floats between two points are cut at once, to find where L turns

# By how much more L may change up to an end than before: poles within three floats outside change it.
_MORE = 1.3

_HIDDEN = 2 * LOSS_ERROR  # turns of L that no piece ends for: the bounds of a law allow for them
_LEAST = -1400.0  # a log-density from which on a loss is known to its error: see ``LOSS_ERROR``
_FADED = -690.0  # a log-density from which on the next float below may be 0
_MOST = 1000  # pieces beyond which L is noise, and no law is made of it


class Found(NamedTuple):
    """A law with the places where L turns, how many points were looked at, and where any pieces meet."""

    law: LineLaw
    breaks: tuple[float, ...]
    looked: int
    places: tuple[float, ...]


def law_of(
    p: Side,
    q: Side,
    points: Array,
    ends: Sequence[float],
    breaks: Sequence[float] | None,
    rounded: Sequence[float] = (),
) -> Found:
    """Return the law of L = log q - log p, in pieces between the ends of supports and breaks.

    The two are looked at in increasing ``points``, dense wherever either has mass. L is monotone between the
    breaks; where they are None, they are found. Ends that are ``rounded`` lie between the floats beside.
    DomainError if L turns between given breaks, or too often.
    """
    edges = {float(x) for x in (*ends, *(breaks or ())) if np.isfinite(x)}
    # Beside an end both densities may be 0 in floats, where nothing else is looked at.
    fine = max(p.fine, q.fine)
    points = np.union1d(points, [x for edge in edges for x in _neighbours(edge, fine)])
    points = points[np.abs(points) >= fine] if 0.0 in edges else points
    kinds = _kinds(p, q, points)
    changes = [_change(p, q, points[k : k + 2], kinds[k]) for k in np.flatnonzero(np.diff(kinds))]
    places = sorted(edges | {x for x in changes if not edges & {x, *_beside(x, fine)}})
    finder = _Finder(p, q, given=breaks is not None)
    for end in rounded:
        finder.hidden(*_neighbours(end, fine))
    for low, high in pairwise([-np.inf, *places, np.inf]):
        finder.look(low, high, points[(points > low) & (points < high)])
    turns = finder.turns if breaks is None else sorted(map(float, breaks))
    return Found(finder.law(), tuple(turns), len(points), tuple(sorted({*places, *turns})))


class _Finder:
    """The pieces found so far, the masses where one density is zero, and those that may lie anywhere.

    In doubt is what a law has where its density is 0 in floats, between two of them, beside an end that is
    rounded, and beside a kink or a pole, which may lie between two floats.
    """

    def __init__(self, p: Side, q: Side, *, given: bool) -> None:
        self.sides, self.bare, self.given = (p, q), LineLaw(p, q, ()), given
        self.pieces: list[Piece] = []
        self.turns: list[float] = []
        self.lost, self.apart, self.doubt = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]

    def doubted(self, low: float, high: float, *, kind: int = 0) -> None:
        """Count what the laws that a ``kind`` is not of have between two points as in doubt.

        Where they have no density, and their tails are the same at both, they have nothing.
        """
        for i, side in enumerate(self.sides):
            mass, error = _mass(side, low, high)
            if not kind & (i + 1) and mass > 0:
                self.doubt[i] += mass + error

    def hidden(self, low: float, high: float) -> None:
        """Count what both laws have between two neighbouring floats as in doubt, with what it may err by."""
        x = np.array([low, high, *middle(np.array([low]), np.array([high]))])
        for i, side in enumerate(self.sides):
            mass, error = _mass(side, low, high)
            with np.errstate(all="ignore"):
                some = mass > 0 or bool((side.logpdf(x) > -np.inf).any())
            self.doubt[i] += (mass + error) * some

    def look(self, low: float, high: float, x: Array) -> None:
        """Take an interval on which neither density begins or ends, with the points inside."""
        if len(x) == 0:  # a float stands for all
            x = middle(np.array([low]), np.array([high]))
            if not np.isfinite([low, high]).all():
                self.doubted(low, high)
                return
            if not low < x[0] < high:
                self.hidden(low, high)
                return
        kind = int(np.bincount(_kinds(*self.sides, x)).argmax())
        self.doubted(low, high, kind=kind)
        if kind in {1, 2}:
            mass, error = _mass(self.sides[kind - 1], low, high)
            if _fades(self.sides[2 - kind], low, high):
                self.doubt[kind - 1] += mass + error
                return
            self.lost[kind - 1] += mass
            self.apart[kind - 1] += error
        elif kind:
            self.monotone(low, high, x)

    def monotone(self, low: float, high: float, x: Array) -> None:
        """Cut an interval on which both laws have a density where L turns."""
        own = _turns(self.bare, x)
        if own and self.given:
            raise DomainError(
                f"the likelihood ratio turns near {own[0]:.6g}, between the breaks {low:g} and {high:g}; "
                "add the break, or leave breaks out"
            )
        for at in own:
            before, after = _neighbours(at, max(side.fine for side in self.sides))
            steps = np.abs(np.diff(self.bare.log_ratio(np.array([before, at, after]))))
            if not (steps <= LOSS_ERROR).all():
                self.hidden(before, after)
        self.turns += own
        self.pieces += [_piece(self.bare, a, b, x) for a, b in pairwise([low, *own, high])]

    def law(self) -> LineLaw:
        """Return the law of all pieces."""
        if len(self.pieces) > _MOST:
            raise DomainError(
                f"the likelihood ratio turns {len(self.pieces)} times; give smooth densities, or their breaks"
            )
        (p_minus, q_plus), (p_apart, q_apart), (p_doubt, q_doubt) = self.lost, self.apart, self.doubt
        apart, doubt = (p_apart, q_apart), (p_doubt, q_doubt)
        return LineLaw(*self.sides, tuple(self.pieces), p_minus, q_plus, apart=apart, doubt=doubt)


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


def _neighbours(x: float, fine: float) -> tuple[float, float]:
    return _inward(x, -np.inf, fine)[0], _inward(x, np.inf, fine)[0]


def _beside(x: float, fine: float) -> set[float]:
    """Return the ends that a change of kind may be one of: those a float away, or 0."""
    return {0.0} if abs(x) <= fine else {float(np.nextafter(x, way)) for way in (-np.inf, np.inf)}


def _inward(end: float, way: float, fine: float) -> tuple[float, float]:
    """Return the two floats next to an end; next to 0 those at which densities have all their digits."""
    if end == 0:
        return float(np.copysign(fine, way)), float(np.copysign(2 * fine, way))
    near = float(np.nextafter(end, way))
    return near, float(np.nextafter(near, way))


def _fades(side: Side, low: float, high: float) -> bool:
    """Whether a density that is 0 in floats between two points is next to nothing beside: it may go on.

    Not beyond its support.
    """
    if high <= side.support[0] or low >= side.support[1]:
        return False
    beside = np.array([np.nextafter(low, -np.inf), np.nextafter(high, np.inf)])
    with np.errstate(all="ignore"):
        log = side.logpdf(beside)
    return bool(((log > -np.inf) & (log < _FADED)).any())


def _mass(side: Side, low: float, high: float) -> tuple[float, float]:
    """Return the mass of an interval and what it may err by."""
    mass, error = between(side, np.array([low]), np.array([high]))
    return float(mass[0]), float(error[0])


def _turns(law: LineLaw, x: Array) -> list[float]:
    """Return where L turns by more than its error, each found among its neighbours."""
    loss = law.log_ratio(x)
    found: list[float] = []
    way, best = 0, 0  # the direction, once known, and where L went farthest in it
    lowest = highest = 0
    for k in range(1, len(x)):
        if way == 0:
            lowest = k if loss[k] < loss[lowest] else lowest
            highest = k if loss[k] > loss[highest] else highest
            if loss[highest] - loss[lowest] > _HIDDEN:
                way, best = (1, highest) if highest > lowest else (-1, lowest)
        elif way * (loss[k] - loss[best]) >= 0:
            best = k
        elif way * (loss[best] - loss[k]) > _HIDDEN:
            found.append(_turn(law, x[max(best - 1, 0)], x[min(best + 1, len(x) - 1)], way))
            way, best = -way, k
    return found


def _turn(law: LineLaw, low: float, high: float, way: int) -> float:
    """Return the float at which L is greatest (``way`` 1) or least between two points.

    Kinks and poles lie at one: those in between are looked at ever closer, in the order of the floats.
    """
    a, b = ordered(np.array([low, high])).tolist()
    while True:
        at = np.unique([a + (b - a) * k // _FAN for k in range(_FAN + 1)])
        x = floats(at)
        best = int(np.argmax(np.nan_to_num(way * law.log_ratio(x), nan=-np.inf)))
        if b - a <= _FAN:
            return float(x[best])
        a, b = int(at[max(best - 1, 0)]), int(at[min(best + 1, len(at) - 1)])


def _piece(law: LineLaw, low: float, high: float, x: Array) -> Piece:
    """Return the piece between two ends, looked at up to these, or to the outermost points.

    To the points too where a density is too small there for its logarithm to be known, or a loss at a point
    is beyond those at the ends.
    """
    inner = x[(x > low) & (x < high)]
    near = [float(inner[k]) if len(inner) else end for k, end in ((0, low), (-1, high))]
    at = [
        _edge(law, end, inward) if np.isfinite(end) else (point, False)
        for end, inward, point in ((low, np.inf, near[0]), (high, -np.inf, near[1]))
    ]
    if len(inner):
        at = [each if _told(law, each[0]) else (point, False) for each, point in zip(at, near, strict=True)]
        seen, reached = law.log_ratio(inner), law.log_ratio(np.array([point for point, _ in at]))
        least, most = np.min(reached) - _HIDDEN, np.max(reached) + _HIDDEN
        if not (np.min(seen) >= least and np.max(seen) <= most):  # nor where a loss is NaN
            at = [(point, False) for point in near]
    (first, known_low), (last, known_high) = at
    start, stop = law.log_ratio(np.array([first, last]))
    if np.isnan(start) or np.isnan(stop):
        raise DomainError(
            f"both densities are 0 or infinite in floats beside {low:g} or {high:g}, and not between; give "
            "the support on which they are neither"
        )
    return Piece(low, high, bool(stop >= start), first, last, known_low, known_high)


def _told(law: LineLaw, x: float) -> bool:
    """Whether both log-densities are of a size at which their difference is known."""
    with np.errstate(all="ignore"):
        return all(float(side.logpdf(np.array([x]))[0]) > _LEAST for side in (law.first, law.second))


def _edge(law: LineLaw, end: float, inward: float) -> tuple[float, bool]:
    """Return the outermost point towards a finite end, and whether L is known from there on.

    It is where L comes to the end as it comes to the float beside, by little more than it changes between
    the next two; and where both densities are constant there, as where they jump at the end. Where one
    vanishes, or has no bound, L may have none between two floats.
    """
    near, after = _inward(end, inward, max(law.first.fine, law.second.fine))
    x = np.array([end, near, after])
    with np.errstate(all="ignore"):
        steps = np.abs(np.diff(law.log_ratio(x)))
        if steps[0] <= _MORE * steps[1] + LOSS_ERROR and np.isfinite(steps[1]):
            return end, True
        logs = np.array([side.logpdf(x[1:]) for side in (law.first, law.second)])
        still = np.abs(np.diff(logs)[:, 0]) <= 4 * UNIT * (1 + np.abs(logs[:, 0]))
    return near, bool(still.all())
