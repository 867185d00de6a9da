"""Law of L = log q - log p of two densities on the line, from pieces on which L is monotone.

{L >= t} is an interval at one end of every piece, so its masses are integrals of the densities, by one
adaptive Clenshaw-Curtis quadrature with its error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import elementwise

from tradeoff.errors import DomainError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, exp, expm1
from tradeoff.intervals.quadrature import applied
from tradeoff.intervals.rounding import TINY, UNIT, Array, Index

TRUST = 1e-12  # assumed accuracy of a density, relative, at the argument that it computes
REACH = 2.0**498  # farthest point at which a density is evaluated, about 1e150: squares are floats
CLOSEST = 2.0**-1000  # closest point to 0 at which a density is evaluated

_NORMALISED = 1e-9  # most by which an integral may miss 1 before it is refused
_MAX_ERROR = 1e-6  # most that the error of an integral may be
_AGREED = 2e-13  # relative difference of a panel and its halves at which it is accepted
_DEPTH = 8  # halvings after which that doubles each time: noise is charged instead of resolved
_DEGREE = 32  # of the polynomials that a panel integrates exactly
_CUT = 0.382  # where a panel is cut: a simple share would hide waves of that period
_MOVED = 8 * UNIT  # relative rounding of a node, in the quadrature and in (x - loc)/scale
_OVERFLOW = 709.0  # log-density above which it is not a float
_ROUNDED = 16 * UNIT  # relative error of an exponential, in units of its argument
LEAST_LOG = -700.0  # log-density below which a density may have lost digits, and is not resolved further
_LEAST = 1e-300  # least mass of a tail in which a law is looked at
_MAX_PANELS = 100_000  # a density that needs more is noise
PROBES = 4.0 ** np.arange(-500.0, 250.0)  # first edges of panels around 0
_FEW_STEPS = 4.0 ** np.arange(-30.0, 31.0)  # and around other places, in scales


class Density:
    """A law on the line that is given by its logarithmic density.

    Parameters
    ----------
    log_density : vectorised; ``-inf`` where the density is zero
    name : name in messages
    support : interval outside which the density is zero
    centres : points (location, scale) around which panels begin at powers of 4 of the scale
    cuts : points at which the density may jump, besides the ends of the support
    rounded : those of the points and ends that are not exactly where the density jumps
    least_log : log-density below which its digits are not known

    Notes
    -----
    A panel is accepted where 33 nodes agree with 33 in each part; the difference, the rounding of nodes and
    ``TRUST`` of the mass are its error. Mass within ``CLOSEST`` of 0 and beyond ``REACH`` lies between 0 and
    twice the sum that the last two powers of 4 extrapolate to.
    """

    def __init__(
        self,
        log_density: Callable[[Array], Array],
        name: str,
        support: tuple[float, float],
        centres: Sequence[tuple[float, float]] = (),
        cuts: Sequence[float] = (),
        *,
        rounded: Sequence[float] = (),
        least_log: float = -np.inf,
    ) -> None:
        self._log_density, self.name, self.support, self._least_log = log_density, name, support, least_log
        self.cuts = sorted({*(x for x in support if np.isfinite(x)), *cuts})
        self.rounded = frozenset(rounded)
        self._log_total = 0.0
        start, stop, mass, error = self._adapt(self._first_edges(centres))
        places = [(-np.inf, -REACH), (-CLOSEST, 0.0), (0.0, CLOSEST), (REACH, np.inf)]
        for low, high in places:
            if support[0] < high and low < support[1]:
                most = _extrapolate(start, mass, low, high)
                start, stop = np.append(start, max(low, support[0])), np.append(stop, min(high, support[1]))
                mass, error = np.append(mass, most / 2), np.append(error, most / 2)
        order = np.argsort(start)
        mass, error = mass[order], error[order]
        self.total, off = float(np.sum(mass)), float(np.sum(error))
        if not (abs(self.total - 1) <= _NORMALISED + off and off <= _MAX_ERROR):
            raise DomainError(
                f"the density of {name} must integrate to 1 within {_NORMALISED:g}, got {self.total:.10g} "
                f"with error {off:.2g}; divide it by its integral, give its support or breaks next to its "
                "peaks, or place poles and narrow peaks at 0"
            )
        self.total = self.total if abs(self.total - 1) > off else 1.0
        self._log_total = float(np.log(self.total))
        self.edges = np.append(start[order], stop[order][-1])
        self.mass, self.error = mass / self.total, error / self.total + (TRUST + 64 * UNIT) * mass
        self._left = np.array([np.append(0.0, np.cumsum(x)) for x in (self.mass, self.error)])
        self._right = np.array([np.append(np.cumsum(x[::-1])[::-1], 0.0) for x in (self.mass, self.error)])

    def log_density(self, x: Array) -> Array:
        """Return the logarithm of the density, divided by its integral; ``-inf`` outside the support."""
        inside = (x >= self.support[0]) & (x <= self.support[1])
        with np.errstate(all="ignore"):
            value = np.asarray(self._log_density(np.clip(x, *self.support)), dtype=float) - self._log_total
        return np.where(inside & (value >= self._least_log), value, -np.inf)

    def bound_mass(self, x: Array, y: Array) -> Bounds:
        """Bound P(x < X < y), x <= y, with an error relative to it but for rounding of the smaller tail."""
        most = len(self.mass) - 1
        first = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, most)
        last = np.clip(np.searchsorted(self.edges, y, side="left") - 1, 0, most)
        low, high = np.clip(x, self.edges[0], self.edges[-1]), np.clip(y, self.edges[0], self.edges[-1])
        apart = last > first
        middle = np.where(apart, self.edges[first + 1], high), np.where(apart, self.edges[last], high)
        parts = np.sum(
            self._part(np.array([first, last]), np.array([low, middle[1]]), np.array([middle[0], high])), 1
        )
        from_left, from_right = self._left[0, last], self._right[0, first + 1]
        between = np.where(
            from_left < from_right,
            self._left[:, last] - self._left[:, first + 1],
            self._right[:, first + 1] - self._right[:, last],
        )
        mass, error = parts + np.where(last > first + 1, between, 0.0)
        error += np.where(
            last > first + 1, 2 * len(self.mass) * UNIT * np.minimum(from_left, from_right), 0.0
        )
        error = np.where(high > low, error * (1 + 8 * UNIT) + TINY, 0.0)
        return Bounds(np.maximum(mass - error, 0.0), np.where(high > low, mass + error, 0.0))

    def bound_scaled_mass(self, low: float, high: float, log_scale: float) -> Bounds[float]:
        """Bound e^log_scale P(low < X < high) by a quadrature of its own, where P may be below all floats."""
        if high <= low:
            return Bounds(0.0, 0.0)
        if self._least_log > -np.inf or (low < CLOSEST and high > -CLOSEST):
            return Bounds(0.0, np.inf)
        inner = self.edges[(self.edges > low) & (self.edges < high)]
        try:
            _, _, mass, error = self._adapt(np.concatenate([[low], inner, [high]]), log_scale)
        except DomainError:  # more panels than are allowed
            return Bounds(0.0, np.inf)
        total = float(np.sum(mass))
        off = float(np.sum(error)) * (1 + 1e-9) + (TRUST + (64 + len(mass)) * UNIT) * total
        return Bounds(max(total - off, 0.0), total + off)

    @property
    def points(self) -> Array:
        """Return the nodes of all panels between which the law has mass."""
        keep = (self._left[0, 1:] > _LEAST) & (self._right[0, :-1] > _LEAST)
        keep &= (np.abs(self.edges[1:]) >= CLOSEST) & (np.abs(self.edges[:-1]) >= CLOSEST)
        keep &= np.maximum(np.abs(self.edges[1:]), np.abs(self.edges[:-1])) <= REACH
        return np.unique(_nodes(self.edges[:-1][keep], self.edges[1:][keep]))

    def _first_edges(self, centres: Sequence[tuple[float, float]]) -> Array:
        low, high = max(self.support[0], -REACH), min(self.support[1], REACH)
        around = [centre + scale * sign * _FEW_STEPS for centre, scale in centres for sign in (-1.0, 1.0)]
        even = np.linspace(low, high, 33) if high - low < REACH else np.zeros(0)
        places = np.concatenate([-PROBES, PROBES, self.cuts, [low, high], even, *around])
        return np.unique(places[(places >= low) & (places <= high)])

    def _adapt(self, edges: Array, log_scale: float = 0.0) -> tuple[Array, Array, Array, Array]:
        """Return panels with their masses and errors, times e^log_scale, cut until they agree with parts."""
        start, stop = edges[:-1], edges[1:]
        keep = ~((start < CLOSEST) & (stop > -CLOSEST))
        start, stop = start[keep], stop[keep]
        mass, rounding = self._integrate(start, stop, log_scale)
        accepted = []
        for depth in range(2000):
            middle = start + _CUT * (stop - start)
            left, left_off = self._integrate(start, middle, log_scale)
            right, right_off = self._integrate(middle, stop, log_scale)
            difference = np.abs(left + right - mass)
            tolerance = _AGREED * 2.0 ** max(depth - _DEPTH, 0)
            done = difference <= np.maximum(tolerance * (left + right), rounding)
            done |= (middle <= start) | (middle >= stop)
            accepted.append(np.array([start, stop, left + right, difference + rounding + TINY])[:, done])
            more = ~done
            if not more.any():
                break
            if np.count_nonzero(more) + sum(panels.shape[1] for panels in accepted) > _MAX_PANELS:
                raise DomainError(
                    f"the density of {self.name} must be smooth between its breaks, but needs more than "
                    f"{_MAX_PANELS} panels; give the breaks, or place its narrow parts near 0"
                )
            start, stop = np.append(start[more], middle[more]), np.append(middle[more], stop[more])
            mass, rounding = np.append(left[more], right[more]), np.append(left_off[more], right_off[more])
        begins, ends, masses, errors = np.concatenate(accepted, axis=1)
        return begins, ends, masses, errors

    def _integrate(self, start: Array, stop: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return integrals over panels, and the rounding of nodes and of exponentials."""
        x, half = _nodes(start, stop), (stop - start) / 2
        known = np.asarray(self._log_density(x.ravel())).reshape(x.shape) - self._log_total
        log = known + log_scale
        if not (log < _OVERFLOW).all():
            at = x[~(log < _OVERFLOW)][0]
            raise DomainError(
                f"the density of {self.name} must be finite, but is not at {at:.6g}; place poles at 0"
            )
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            value = np.exp(log)
            rounding = _ROUNDED * np.nan_to_num((np.abs(known) + abs(log_scale)) * value)
        moved = _MOVED * np.maximum(np.abs(start), np.abs(stop)) * np.ptp(value, axis=1)
        # A density that may have lost digits is bounded by its greatest value alone.
        greatest = np.max(log, axis=1)
        with np.errstate(divide="ignore", under="ignore", over="ignore"):
            lost = np.where(greatest < LEAST_LOG, np.exp(greatest + np.log(stop - start)), 0.0)
        rounding = moved + applied(rounding, _weights()) * half + lost
        return applied(value, _weights()) * half, rounding

    def _part(self, panel: Index, start: Array, stop: Array) -> Array:
        """Return masses and errors of parts of panels; of extrapolated ones all or nothing."""
        low, high = self.edges[panel], self.edges[panel + 1]
        outer = np.maximum(np.abs(low), np.abs(high))
        inside = (stop > start) & ((start > low) | (stop < high)) & (outer <= REACH) & (outer > CLOSEST)
        result = np.array([self.mass[panel], self.error[panel]]) * (stop > start)
        if inside.any():
            mass, rounding = self._integrate(start[inside], stop[inside])
            share = np.minimum(mass / np.maximum(result[0, inside], TINY), 1.0)
            result[:, inside] = mass, share * result[1, inside] + rounding
        return result


def _extrapolate(start: Array, mass: Array, low: float, high: float) -> float:
    """Bound the mass between 0 and CLOSEST, or beyond REACH, by that of the two steps by 4 next to it."""
    side = 1.0 if high > 0 else -1.0
    ends = CLOSEST * np.array([1.0, 4.0, 16.0]) if 0.0 in (low, high) else REACH / np.array([1.0, 4.0, 16.0])
    at, sizes = np.where(np.sign(start) == side, np.abs(start), np.inf), []
    for a, b in (np.sort(ends[:2]), np.sort(ends[1:])):
        inside = (at >= a) & (at < b) if side > 0 else (at > a) & (at <= b)
        sizes.append(float(np.sum(mass[inside])))
    if sizes[0] == 0:
        return 0.0
    ratio = sizes[0] / sizes[1] if sizes[1] else np.inf
    return 2 * sizes[0] * ratio / (1 - ratio) if ratio < 1 else np.inf


def _nodes(start: Array, stop: Array) -> Array:
    """Return the nodes of panels, the outermost next to the ends: a density may jump there."""
    x = (start + stop)[:, None] / 2 + (stop - start)[:, None] / 2 * np.cos(
        np.pi * np.arange(_DEGREE + 1) / _DEGREE
    )
    low, high = np.nextafter(start, np.inf), np.nextafter(stop, -np.inf)
    return np.where((low <= high)[:, None], np.clip(x, low[:, None], np.maximum(low, high)[:, None]), x)


@cache
def _weights() -> Array:
    """Return the Clenshaw-Curtis weights, which integrate polynomials up to the degree on [-1, 1]."""
    k = np.arange(_DEGREE + 1)
    moments = np.where(k % 2, 0.0, 2 / (1.0 - np.where(k % 2, 0, k) ** 2))
    nodes = np.cos(np.pi * k / _DEGREE)
    return np.asarray(
        np.linalg.solve(np.polynomial.chebyshev.chebvander(nodes, _DEGREE).T, moments), dtype=float
    )


MARGIN = 6  # errors of a loss that bounds of L allow for: its own, and a turn of 4 that ends no piece
_MOVED = 8 * UNIT  # relative rounding of the arguments of a density
_NOTHING = -1000.0  # log-density of which no float holds the exponential
_CERTAIN = 40.0  # losses above eps at which q is more than 2^53 times e^eps p
_STEEPEST = 690.0  # epsilon above which e^eps P takes an integral of its own, as P is below all floats


class Piece(NamedTuple):
    """Points in the order in which L rises, from one end of an interval to the other, and bounds of L there.

    At an end where L is not known it is between -inf, or inf, and its value at the next point.
    """

    x: Array
    low: Array
    high: Array

    def reversed(self) -> Piece:
        """Return the piece for -L."""
        return Piece(self.x[::-1], -self.high[::-1], -self.low[::-1])


@dataclass(frozen=True, eq=False)
class RealLineLaw:
    """Law of L on its pieces.

    ``lost`` are the masses of P where q = 0, and of Q where p = 0; ``unknown`` bounds those of P and Q at
    which the loss may be any.
    """

    first: Density
    second: Density
    pieces: tuple[Piece, ...]
    lost: tuple[Bounds, Bounds]
    unknown: tuple[float, float]

    def reversed(self) -> RealLineLaw:
        """Return the law of the other order of the pair."""
        pieces = tuple(piece.reversed() for piece in self.pieces)
        return RealLineLaw(self.second, self.first, pieces, self.lost[::-1], self.unknown[::-1])

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        """Bounds on Q(L = inf)."""
        return clip(self.lost[1] + Bounds(0.0, self.unknown[1]), 0.0, 1.0)

    @property
    def sup_loss(self) -> Bounds[float]:
        """Bounds on the greatest finite loss."""
        low = max((float(np.max(piece.low)) for piece in self.pieces), default=-np.inf)
        high = max((float(piece.high[-1]) for piece in self.pieces), default=-np.inf)
        return Bounds(low, np.inf if self.unknown[1] > 0 else max(low, high))

    def tail(self, epsilon: Array) -> tuple[Array, Array]:
        """Bound delta(eps) for eps >= 0.

        Rejecting where L >= eps is certain bounds delta from below, by Q - e^eps P or, at eps + 40, by
        (1 - e^-40) Q. It misses at most (1 - e^(eps - t)) Q between the places where L < eps and L >= eps are
        certain, where L is at most t.
        """
        n = len(epsilon)
        losses = np.append(epsilon, epsilon + _CERTAIN)
        p, q, missed = (Bounds(np.zeros(size), np.zeros(size)) for size in (n, 2 * n, 2 * n))
        for piece in self.pieces:
            outer, inner, top = self._threshold(piece, losses)
            end = np.full(2 * n, piece.x[-1])
            near = np.where(inner == end, piece.x[-2], inner)  # the last point at which L is known
            places = np.array([[inner, end], [outer, near], [np.where(inner == end, near, end), end]])
            each = self.second.bound_mass(*_ordered(places))
            p = p + self._lifted_mass(epsilon, inner[:n], inner[n:], end[:n])
            q = q + Bounds(each.lower[0], each.upper[0])
            for k, most in ((1, top), (2, np.full(2 * n, piece.high[-1]))):
                share = -expm1(losses - Bounds.of(np.maximum(most, losses)))
                missed = missed + Bounds(each.lower[k], each.upper[k]) * share
        value = Bounds(q.lower[:n], q.upper[:n]) - p
        certain = (Bounds(q.lower[n:], q.lower[n:]) * (1 - np.exp(-_CERTAIN))).lower
        least = Bounds(np.maximum.reduce([value.lower, certain, np.zeros(n)]), np.maximum(value.upper, 0.0))
        return tuple(least + Bounds(np.zeros(n), missed.upper[:n] + TINY) + self.mass_at_infinity)

    def _lifted_mass(self, epsilon: Array, inner: Array, certain: Array, end: Array) -> Bounds:
        """Bound e^eps times the mass of P from ``inner`` to the end of a piece, where L >= eps.

        Above eps = 690 it is integrated where L < eps + 40, up to ``certain``, and Q has mass that a
        float holds; the rest is at most Q, and beyond ``certain`` at most e^-40 Q.
        """
        mass = self.first.bound_mass(*_ordered(np.array([inner, end])))
        low, high = exp(np.minimum(epsilon, _STEEPEST)) * mass
        steep = np.flatnonzero((epsilon > _STEEPEST) & (inner != end))
        bulk = self.second.points[[0, -1]] if len(steep) else np.zeros(2)
        for k in steep:
            start, stop = np.clip([inner[k], certain[k]], *bulk).tolist()
            stop = stop if (stop > start) == (end[k] > inner[k]) else start
            part = self.first.bound_scaled_mass(min(start, stop), max(start, stop), float(epsilon[k]))
            rest = self.second.bound_mass(*_ordered(np.array([[inner[k], stop], [start, end[k]]]))).upper
            share = np.exp(-_CERTAIN) * (1 + 16 * UNIT) if stop == certain[k] else 1.0
            low[k], high[k] = part.lower, part.upper + (rest[0] + rest[1] * share) * (1 + 4 * UNIT)
        return Bounds(low, high)

    def _threshold(self, piece: Piece, loss: Array) -> tuple[Array, Array, Array]:
        """Return points with L < loss up to the first and L >= loss from the second, and the most L is there.

        They are the ends of the piece where L does not cross.
        """
        x, last = piece.x, len(piece.x) - 1
        below = np.searchsorted(np.maximum.accumulate(piece.high), loss) - 1  # last point with high < loss
        above = np.searchsorted(np.minimum.accumulate(piece.low[::-1])[::-1], loss)  # first with low >= loss
        good = x[np.clip(np.append(below, above), 0, last)]
        bad = np.clip(np.append(below + 1, above - 1), 0, last)
        sides = np.split(np.arange(2 * len(loss)), 2)
        edge = np.append(piece.high[bad[sides[0]]], piece.low[bad[sides[1]]])
        inside = np.append((below >= 0) & (below < last), (above > 0) & (above <= last)) & np.isfinite(good)
        search = np.flatnonzero(inside & np.isfinite(edge))
        if len(search):
            upper, goal = np.append(sides[0] >= 0, sides[1] < 0)[search], np.tile(loss, 2)[search]

            def height(at: Array, goal: Array, upper: Array) -> Array:
                value, margin = log_ratio(self.first, self.second, at)
                return value + np.where(upper, margin, -margin) - goal

            ends = np.minimum(good[search], x[bad[search]]), np.maximum(good[search], x[bad[search]])
            root = elementwise.find_root(height, ends, args=(goal, upper))
            for place, value in zip((*root.bracket, root.x), (*root.f_bracket, root.f_x), strict=True):
                good[search] = np.where(np.where(upper, value <= 0, value >= 0), place, good[search])
        # A density may have rounded its argument: both points move outward by that.
        way = (1.0 if x[0] < x[last] else -1.0) * np.append(-np.ones(len(loss)), np.ones(len(loss)))
        moved = good + np.where(inside, way * _MOVED * np.abs(np.where(inside, good, 0.0)), 0.0)
        outer, inner = np.split(np.clip(moved, min(x[0], x[last]), max(x[0], x[last])), 2)
        value, margin = log_ratio(self.first, self.second, np.clip(inner, -REACH, REACH))
        ends = np.where(inner == x[0], piece.high[0], piece.high[last - 1])
        return outer, inner, np.where((inner == x[0]) | (inner == x[last]), ends, value + margin)


def _ordered(places: Array) -> tuple[Array, Array]:
    """Return the smaller and the larger of the last but one axis."""
    return np.min(places, axis=-2), np.max(places, axis=-2)


def log_ratio(p: Density, q: Density, x: Array) -> tuple[Array, Array]:
    """Return L(x) and the margin of its bounds; NaN where both densities are below all floats."""
    first, second = p.log_density(x), q.log_density(x)
    with np.errstate(invalid="ignore"):
        error = 2 * TRUST + 8 * UNIT * (np.abs(first) + np.abs(second))
        loss = np.where(np.maximum(first, second) > _NOTHING, second - first, np.nan)
    return loss, MARGIN * np.where(np.isfinite(error), error, 0.0)


_FAN = 64  # parts into which an interval is cut at once, to find where L turns
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
        least, most = (
            min(min(each.low[1:-1]) for each in pieces),
            max(max(each.high[1:-1]) for each in pieces),
        )
        pieces = [Piece(each.x, np.maximum(each.low, least), np.minimum(each.high, most)) for each in pieces]
    return Pieces(
        RealLineLaw(p, q, tuple(pieces), (lost[0], lost[1]), (unknown[0], unknown[1])),
        tuple(sorted(turns)),
        len(x),
    )


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
    while low < (middle := low + (high - low) / 2) < high:
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
    while True:
        x = np.unique(np.linspace(low, high, _FAN + 1))
        best = int(np.argmax(np.nan_to_num(way * log_ratio(p, q, x)[0], nan=-np.inf)))
        if len(x) <= _FAN:
            return float(x[best])
        low, high = float(x[max(best - 1, 0)]), float(x[min(best + 1, _FAN)])


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
