"""Law of L = log q - log p of two laws on the line, from their tails, where L is monotone piece by piece.

{L >= t} is an interval at one end of every piece, so its masses are differences of cdf or sf, whichever are
smaller; errors are absolute where they cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from tradeoff.errors import DomainError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip
from tradeoff.intervals.rounding import TINY, UNIT, Array, Index

TRUST = 1e-12
"""Relative accuracy taken for granted of a cdf and an sf, and absolute accuracy of a log-density."""

LOSS_ERROR = 4 * TRUST
"""Error of a computed loss: two log-densities, and 8 units of each, below 1500 in size."""

REACH = 1e150
"""Farthest point at which densities are asked: squares of what is larger are no floats."""

_UNDERFLOW = 1e-305
"""Absolute error of a mass: what SciPy returns below it may have lost all digits."""

_FARTHEST = 690.0
"""Loss up to which e^loss times a mass is known: beyond, one mass alone bounds delta."""

_SURE = 40.0
"""Losses by which q is more than 2^53 times e^eps p."""

_STEPS = 160
"""Steps of a search, half of them bisections of the floats, of which 64 separate any two."""

_FAN = 64
"""Parts into which the floats between two points are cut at once, to find where L turns."""

_HIDDEN = 2 * LOSS_ERROR
"""Turns of L that no piece ends for: the bounds of a law allow for them."""

_MOST = 1000
"""Pieces beyond which L is noise, and no law is made of it."""


class Side(Protocol):
    """One of the two laws: its density, and its tails."""

    def logpdf(self, x: Array) -> Array:
        """Log-density, -inf where there is none."""

    def cdf(self, x: Array) -> Array:
        """P(X <= x)."""

    def sf(self, x: Array) -> Array:
        """P(X > x)."""


class Piece(NamedTuple):
    """An interval, perhaps infinite, inside which L rises, or else falls from its lower end.

    ``first`` and ``last`` are the outermost points that are looked at; ``known_low`` and ``known_high`` say
    whether L is there, but for its error, what it is up to the end.
    """

    low: float
    high: float
    rising: bool
    first: float
    last: float
    known_low: bool
    known_high: bool

    @property
    def inside(self) -> tuple[float, float]:
        """Return the outermost points, first the one where L is least."""
        return (self.first, self.last) if self.rising else (self.last, self.first)

    @property
    def ends(self) -> tuple[float, float]:
        """Return the ends, first the one where L is least."""
        return (self.low, self.high) if self.rising else (self.high, self.low)

    @property
    def known(self) -> tuple[bool, bool]:
        """Return of which ends L is known, first the one where it is least."""
        return (self.known_low, self.known_high) if self.rising else (self.known_high, self.known_low)


@dataclass(frozen=True, eq=False)
class LineLaw:
    """Law of L on its pieces; ``p_minus`` and ``q_plus`` are the masses where one density is zero.

    ``bounded`` says that beyond the points looked at L is no larger and no smaller than at some of them;
    ``off`` is what masses, those among them that are not 0, may err by beside their share.
    """

    first: Side
    second: Side
    pieces: tuple[Piece, ...]
    p_minus: float = 0.0
    q_plus: float = 0.0
    bounded: bool = False
    off: float = 0.0

    def reversed(self) -> LineLaw:
        """Return the law of the other order of the pair."""
        pieces = tuple(piece._replace(rising=not piece.rising) for piece in self.pieces)
        return LineLaw(self.second, self.first, pieces, self.q_plus, self.p_minus, self.bounded, self.off)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        """Bound Q(L = inf)."""
        off = self.off if self.q_plus > 0 else 0.0
        return clip(self.q_plus * Bounds(1 - 2 * TRUST, 1 + 2 * TRUST) + Bounds(-off, off), 0.0, 1.0)

    def log_ratio(self, x: Array) -> Array:
        """Return L(x)."""
        with np.errstate(all="ignore"):
            return np.asarray(self.second.logpdf(x) - self.first.logpdf(x), dtype=float)

    @cached_property
    def extremes(self) -> list[tuple[float, float]]:
        """Least and greatest loss seen on each piece."""
        found = (self.log_ratio(np.array(piece.inside)) for piece in self.pieces)
        return [(float(low), float(high)) for low, high in found]

    def _threshold(self, k: int, loss: Array) -> tuple[Array, Array]:
        """Return points with L < loss up to the first, seen from the low end, and L >= loss from the second.

        They are one point where L meets the loss to a quarter of its error, and neighbouring floats where it
        jumps over it; beyond the floats looked at, nothing is claimed.
        """
        piece, (least, most) = self.pieces[k], self.extremes[k]
        (start, stop), (low, high), settled = piece.inside, piece.ends, piece.known
        outer, inner = np.full(loss.shape, start), np.full(loss.shape, stop)
        below, above = least - loss, most - loss
        every, none = below >= 0, ~(above >= 0)
        going = np.flatnonzero(~every & ~none)
        for step in range(_STEPS):
            if len(going) == 0:
                break
            a, b = outer[going], inner[going]
            x = middle(a, b)
            if step % 2:
                with np.errstate(all="ignore"):
                    line = a - below[going] * ((b - a) / (above[going] - below[going]))
                x = np.where((line > np.minimum(a, b)) & (line < np.maximum(a, b)), line, x)
            value = self.log_ratio(x) - loss[going]
            last, met = (x == a) | (x == b), np.abs(value) <= LOSS_ERROR / 4
            risen = value >= 0
            outer[going] = np.where(~risen | met, x, a)
            inner[going] = np.where(risen | met, x, b)
            below[going] = np.where(risen, below[going], value)
            above[going] = np.where(risen, value, above[going])
            going = going[~(last | met)]
        # Of an end where L is not known what lies beyond the floats looked at is in doubt.
        known, sure = (
            end if seen or self.bounded else near
            for near, end, seen in ((start, low, settled[0]), (stop, high, settled[1]))
        )
        outer, inner = np.where(every, low, outer), np.where(every, known, inner)
        return np.where(none, sure, outer), np.where(none, high, inner)

    def _mass(self, start: Array, stop: Array) -> Array:
        """Return P- and Q-masses between points, from whichever tails are smaller, and their errors."""
        x, y = np.minimum(start, stop), np.maximum(start, stop)
        (p, p_error), (q, q_error) = (_between(side, x, y, self.off) for side in (self.first, self.second))
        return np.array([p, q, p_error, q_error])

    def beyond(self, loss: Array) -> tuple[Array, Array]:
        """Return the masses of L >= loss, and those where no float tells whether it is, with their errors."""
        inside, gap = np.zeros((2, 4, len(loss)))
        for k, piece in enumerate(self.pieces):
            outer, inner = self._threshold(k, loss)
            end = np.full(loss.shape, piece.ends[1])
            both = self._mass(np.append(inner, outer), np.append(end, inner))
            inside, gap = inside + both[:, : len(loss)], gap + both[:, len(loss) :]
        return inside, gap

    def tail(self, epsilon: Array) -> tuple[Array, Array]:
        """Bound delta(eps) for eps >= 0.

        Whatever is rejected bounds delta from below. From above: let e be the error of a loss, and 2e the
        turn a piece may hide. What is rejected at eps + 4e has L > eps, what is not at eps - 4e has L < eps,
        and in between L > eps - 8e: there q - e^eps p and its positive part differ by at most
        (1 - e^(-8e)) e^eps p. Where L jumps between two floats, q is taken whole.
        """
        error, far = LOSS_ERROR * (1 + epsilon / 1000), epsilon >= _FARTHEST
        asked = np.append(epsilon + np.where(far, _SURE, 4 * error), epsilon - 4 * error)
        (inside, outside), (gap, wide) = (np.hsplit(masses, 2) for masses in self.beyond(asked))
        (p, q, p_error, q_error), (p_out, q_out, p_off, q_off) = inside, outside
        scale = np.exp(np.minimum(epsilon, _FARTHEST))
        value = q - scale * p
        noise = q_error + scale * p_error + 4 * UNIT * (q + scale * p)
        hidden = gap[1] + gap[3] + wide[1] + wide[3]  # masses of Q, and their errors
        with np.errstate(over="ignore", invalid="ignore"):  # far out, where it is not asked
            near = np.expm1(8 * error) * scale * (p_out + p_off)
        most = q_out + q_off + wide[1] + wide[3]
        # Where e^eps p is no float, q alone bounds, from below where e^eps p is less than a unit of it.
        low = np.where(far, (q - q_error) * (1 - 4 * UNIT), value - noise)
        high = np.maximum(np.where(far, most, np.minimum(value + noise + hidden + near, most)), 0.0)
        lost = self.mass_at_infinity
        return np.maximum(low, 0.0) + lost.lower, high * (1 + 4 * UNIT) + lost.upper + TINY


def _between(side: Side, x: Array, y: Array, off: float) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        before, after = (np.asarray(side.cdf(at), dtype=float) for at in (x, y))
        beyond, rest = (np.asarray(side.sf(at), dtype=float) for at in (x, y))
    right = beyond < after
    mass = np.where(right, beyond - rest, after - before)
    error = TRUST * np.where(right, beyond + rest, before + after) + _UNDERFLOW + off
    some = x < y
    return np.where(some, np.maximum(mass, 0.0), 0.0), np.where(some, error, 0.0)


def ordered(x: Array) -> Index:
    """Map floats to integers in their order, neighbours to neighbours; its own inverse, up to the type."""
    bits = np.asarray(x, dtype=np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


def middle(x: Array, y: Array) -> Array:
    """Return the float half-way between two in the order of the floats."""
    a, b = ordered(x), ordered(y)
    return floats((a & b) + ((a ^ b) >> 1))


def floats(order: Index) -> Array:
    """Return the floats of their places in the order, as ``ordered`` maps them."""
    bits = np.asarray(order, dtype=np.int64)
    return np.asarray((bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.float64))


class Found(NamedTuple):
    """A law with the places where its pieces meet, and how many points were looked at."""

    law: LineLaw
    breaks: tuple[float, ...]
    looked: int


def law_of(p: Side, q: Side, points: Array, ends: Sequence[float], breaks: Sequence[float] | None) -> Found:
    """Return the law of L = log q - log p, in pieces between the ends of supports and breaks.

    The two are looked at in increasing ``points``, dense wherever either has mass. L is monotone between the
    breaks; where they are None, they are found. DomainError if L turns between given breaks, or too often.
    """
    bare = LineLaw(p, q, ())
    edges = {float(x) for x in (*ends, *(breaks or ())) if np.isfinite(x)}
    # Beside an end both densities may be 0 in floats, where nothing else is looked at.
    points = np.union1d(points, [x for edge in edges for x in _neighbours(edge)])
    kinds = _kinds(p, q, points)
    changes = [_change(p, q, points[k : k + 2], kinds[k]) for k in np.flatnonzero(np.diff(kinds))]
    between = sorted(edges | {x for x in changes if not edges & {x, *_neighbours(x)}})
    pieces: list[Piece] = []
    turns: list[float] = []
    lost = {1: 0.0, 2: 0.0}
    for low, high in pairwise([-np.inf, *between, np.inf]):
        x = points[(points > low) & (points < high)]
        if len(x) == 0:  # of an interval that no point is in a float stands for all
            x = middle(np.array([low]), np.array([high]))
            if not (np.isfinite([low, high]).all() and low < x[0] < high):
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
    """Return the piece between two ends, looked at up to these, or to the last points."""
    first, known_low = _edge(law, low, np.inf) if np.isfinite(low) else (float(x[0]), False)
    last, known_high = _edge(law, high, -np.inf) if np.isfinite(high) else (float(x[-1]), False)
    start, stop = law.log_ratio(np.array([first, last]))
    if np.isnan(start) or np.isnan(stop):
        raise DomainError(
            f"both densities are 0 in floats beside {low:g} or {high:g}, and not between; give the support "
            "on which they are not"
        )
    return Piece(low, high, bool(stop >= start), first, last, known_low, known_high)


def _edge(law: LineLaw, end: float, inward: float) -> tuple[float, bool]:
    """Return the outermost point towards a finite end, and whether L is known from there on.

    It is where L comes to the end as it comes to the float beside, by a few times what it changes between
    the next two; and where both densities are constant there, as where they jump at the end. Where one
    vanishes, or has no bound, L may have none between two floats.
    """
    near = float(np.nextafter(end, inward))
    x = np.array([end, near, np.nextafter(near, inward)])
    with np.errstate(all="ignore"):
        steps = np.abs(np.diff(law.log_ratio(x)))
        if steps[0] <= 4 * steps[1] + LOSS_ERROR and np.isfinite(steps[1]):
            return end, True
        logs = np.array([side.logpdf(x[1:]) for side in (law.first, law.second)])
        still = np.abs(np.diff(logs)[:, 0]) <= 4 * UNIT * (1 + np.abs(logs[:, 0]))
    return near, bool(still.all())
