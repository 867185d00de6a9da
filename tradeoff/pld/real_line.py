"""Law of L = log q - log p of densities p (of P) and q (of Q) on the line, from pieces where L is monotone.

{L >= t} is an interval at one end of every piece, so its masses are integrals of the densities, by one
adaptive Clenshaw-Curtis quadrature with its error: the line is cut into *panels*, each with 33 nodes.
``Bounds`` have a lower and an upper end; errors are absolute and one for both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import ArrayLike

from tradeoff.errors import DomainError
from tradeoff.intervals.bounds import Array, Bounds, Index
from tradeoff.intervals.functions import clip, exp, expm1
from tradeoff.pld.special import applied
from tradeoff.pld.units import TINY, UNIT

TRUST = 1e-12  # assumed accuracy of a density, relative, at the argument that it computes
REACH = 2.0**498  # farthest point at which a density is evaluated, about 1e150: squares are floats
CLOSEST = 2.0**-1000  # closest point to 0 at which a density is evaluated
LEAST_LOG = -700.0  # log-density below which a density may have lost digits, and is not resolved further
PROBES = 4.0 ** np.arange(-500.0, 250.0)  # first edges of panels around 0

_MOVED = 8 * UNIT  # relative rounding of a node x, in the quadrature and in a density's (x - loc)/scale

# Nodes on [-1, 1] and the Clenshaw-Curtis weights, which integrate polynomials of degree 32 there.
_NODES = np.cos(np.pi * np.arange(33.0) / 32)
_WEIGHTS = np.asarray(  # from the integrals of Chebyshev polynomials
    np.linalg.solve(chebvander(_NODES, 32).T, [0.0 if k % 2 else 2 / (1.0 - k * k) for k in range(33)]),
    dtype=np.float64,
)


class Density:
    """A law on the line that is given by its logarithmic density, ``-inf`` where the density is zero.

    First panels end at location +- scale 4^k for each (location, scale) of ``centres``. The density may jump
    at the ends of the ``support`` and at ``cuts``, of which those in ``rounded`` are near the true place
    only; where its log is below ``least_log`` its digits are not known, and it counts as 0.

    A panel is accepted where 33 nodes agree with 33 in each part; the difference, the rounding of nodes and
    ``TRUST`` of the mass are its error. Mass within ``CLOSEST`` of 0 and outside ``REACH`` lies between 0 and
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
        tolerance = 1e-9  # most by which an integral may miss 1 before it is refused
        self._log_density, self.name, self.support, self._least_log = log_density, name, support, least_log
        self.cuts, self.rounded = sorted({*(x for x in support if np.isfinite(x)), *cuts}), frozenset(rounded)
        self._log_total = 0.0
        low, high = max(support[0], -REACH), min(support[1], REACH)
        steps = 4.0 ** np.arange(-30.0, 31.0)
        near = [centre + scale * sign * steps for centre, scale in centres for sign in (-1.0, 1.0)]
        even = np.linspace(low, high, 33) if high - low < REACH else [low, high]
        edges = np.unique(np.concatenate([-PROBES, PROBES, self.cuts, even, *near]))
        edges = edges[(edges >= low) & (edges <= high)]
        keep = ~((edges[:-1] < CLOSEST) & (edges[1:] > -CLOSEST))
        each = np.array([edges[:-1], edges[1:], np.zeros(len(keep))])[:, keep]
        start, stop, mass, error, _ = self._adapt(*each)
        # Panels without nodes have from 0 to twice ``half``.
        for low, high in ((-np.inf, -REACH), (-CLOSEST, 0.0), (0.0, CLOSEST), (REACH, np.inf)):
            if support[0] < high and low < support[1]:
                half = _extrapolate((start + stop) / 2, mass, low, high) / 2
                start, stop = np.append(start, max(low, support[0])), np.append(stop, min(high, support[1]))
                mass, error = np.append(mass, half), np.append(error, half)
        order = np.argsort(start)
        mass, error = mass[order], error[order]
        self.total, off = float(np.sum(mass)), float(np.sum(error))
        if not (abs(self.total - 1) <= tolerance + off and off <= 1e-6):
            raise DomainError(
                f"the density of {name} must integrate to 1 within {tolerance:g}, got {self.total:.10g} "
                f"with error {off:.2g}; divide it by its integral, give its support or breaks next to its "
                "peaks, or place poles and narrow peaks at 0"
            )
        self.total = self.total if abs(self.total - 1) > off else 1.0
        self._log_total = float(np.log(self.total))
        self.edges = np.append(start[order], stop[order][-1])
        self.mass, self.error = mass / self.total, error / self.total + (TRUST + 64 * UNIT) * mass
        # Masses (row 0) and errors (row 1) of all panels to the left, and to the right, of each edge.
        each = np.array([self.mass, self.error])
        self._left = np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0)))
        self._right = np.pad(np.cumsum(each[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))

    def log_density(self, x: Array) -> Array:
        """Return the logarithm of the density, divided by its integral; ``-inf`` outside the support."""
        inside = (x >= self.support[0]) & (x <= self.support[1])
        with np.errstate(all="ignore"):
            value = np.asarray(self._log_density(np.clip(x, *self.support)), dtype=float) - self._log_total
        return np.where(inside & (value >= self._least_log), value, -np.inf)

    def bound_mass(self, x: ArrayLike, y: ArrayLike) -> Bounds:
        """Bound P(x < X < y), x <= y, by the panels inside and parts of the two at the ends.

        The error is relative but for the rounding of sums of all panels on the side of the smaller tail.
        """
        edges, final = self.edges, len(self.mass) - 1
        first = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, final)
        last = np.clip(np.searchsorted(edges, y, side="left") - 1, 0, final)
        low, high, apart = np.clip(x, edges[0], edges[-1]), np.clip(y, edges[0], edges[-1]), last > first
        # The parts of the first and the last panel; where they are one, the second part is empty.
        panel, start = np.array([first, last]), np.array([low, np.where(apart, edges[last], high)])
        stop = np.array([np.where(apart, edges[first + 1], high), high])
        parts = np.array([self.mass[panel], self.error[panel]]) * (stop > start)
        outer = np.maximum(np.abs(edges[panel]), np.abs(edges[panel + 1]))  # extrapolated panels count whole
        cut = (stop > start) & ((start > edges[panel]) | (stop < edges[panel + 1]))
        cut &= (outer <= REACH) & (outer > CLOSEST)
        if cut.any():
            known = parts[1, cut] / np.maximum(parts[0, cut], TINY)
            _, _, masses, errors, owner = self._adapt(start[cut], stop[cut], known)
            mass, off = (np.bincount(owner, each, np.count_nonzero(cut)) for each in (masses, errors))
            share = np.minimum(mass / np.maximum(parts[0, cut], TINY), 1.0)
            parts[:, cut] = mass, share * parts[1, cut] + off  # errors of panels spread as their mass does
        from_left, from_right = self._left[0, last], self._right[0, first + 1]
        left = self._left[:, last] - self._left[:, first + 1]
        right = self._right[:, first + 1] - self._right[:, last]
        is_inside = last > first + 1  # whether whole panels lie between the two at the ends
        inside = np.where(is_inside, np.where(from_left < from_right, left, right), 0)
        mass, error = np.sum(parts, axis=1) + inside
        lost = 2 * len(self.mass) * UNIT * np.minimum(from_left, from_right)  # of sums and their difference
        error = (error + np.where(is_inside, lost, 0.0)) * (1 + 8 * UNIT) + TINY
        error = np.where(high > low, error, 0.0)
        return Bounds(np.maximum(mass - error, 0.0), np.where(high > low, mass + error, 0.0))

    @property
    def points(self) -> Array:
        """Return the nodes of all panels between which the law has mass."""
        size = np.abs(self.edges)
        keep = (self._left[0, 1:] > 1e-300) & (self._right[0, :-1] > 1e-300)
        keep &= (np.minimum(size[1:], size[:-1]) >= CLOSEST) & (np.maximum(size[1:], size[:-1]) <= REACH)
        return np.unique(_nodes(self.edges[:-1][keep], self.edges[1:][keep]))

    def _adapt(self, start: Array, stop: Array, known: Array) -> tuple[Array, Array, Array, Array, Index]:
        """Cut panels until the integrals of each and its parts agree, or nearly.

        The parts of a given panel need agree only to the relative error ``known`` of that panel. Return the
        starts, stops, masses and absolute errors of all parts, and the index of the given panel of each.
        """
        most_panels = 100_000 + 10 * len(start)  # a density that needs more is noise
        mass, rounding = self._integrate(start, stop)
        accepted, owner = [], np.arange(len(start))
        for depth in range(2000):
            middle = start + 0.382 * (stop - start)  # halves would meet a wave in the same phase each time
            left, left_off = self._integrate(start, middle)
            right, right_off = self._integrate(middle, stop)
            difference = np.abs(left + right - mass)
            # What still differs after 8 cuts is noise: some 45 cuts later all of it is counted as error.
            share = np.maximum(2e-13 * 2.0 ** max(depth - 8, 0), known[owner])
            done = difference <= np.maximum(share * (left + right), rounding)
            done |= (middle <= start) | (middle >= stop)  # neighbouring floats
            panels = np.array([start, stop, left + right, difference + rounding + TINY, owner])
            accepted.append(panels[:, done])
            more = ~done
            if not more.any():
                break
            if np.count_nonzero(more) + sum(each.shape[1] for each in accepted) > most_panels:
                raise DomainError(
                    f"the density of {self.name} must be smooth between its breaks, but needs more than "
                    f"{most_panels} panels; give the breaks, or place its narrow parts near 0"
                )
            start, stop = np.append(start[more], middle[more]), np.append(middle[more], stop[more])
            mass, rounding = np.append(left[more], right[more]), np.append(left_off[more], right_off[more])
            owner = np.append(owner[more], owner[more])
        start, stop, mass, error, owners = np.concatenate(accepted, axis=1)
        return start, stop, mass, error, owners.astype(int)

    def _integrate(self, start: Array, stop: Array) -> tuple[Array, Array]:
        """Return integrals of the density over panels, and bounds on the rounding of nodes and exponentials.

        An exponential errs by 16 units of its argument. Where a density is below LEAST_LOG and may have lost
        digits, its greatest value times the width is the error.
        """
        x, half = _nodes(start, stop), (stop - start) / 2
        log = np.asarray(self._log_density(x.ravel())).reshape(x.shape) - self._log_total
        if not (log < 709.0).all():  # above, it is not a float
            at = f"{x[~(log < 709.0)][0]:.6g}"
            raise DomainError(
                f"the density of {self.name} must be finite, but is not at {at}; place poles at 0"
            )
        with np.errstate(all="ignore"):
            value, greatest = np.exp(log), np.max(log, axis=1)
            rounding = applied(16 * UNIT * np.nan_to_num(np.abs(log) * value), _WEIGHTS) * half
            rounding += np.where(greatest < LEAST_LOG, np.exp(greatest + np.log(stop - start)), 0.0)
        moved = _MOVED * np.maximum(np.abs(start), np.abs(stop)) * np.ptp(value, axis=1)
        return applied(value, _WEIGHTS) * half, rounding + moved


def _extrapolate(middle: Array, mass: Array, low: float, high: float) -> float:
    """Bound the mass between 0 and +-CLOSEST, or past +-REACH, from above.

    With m_1 the mass of the last step by a factor 4 up to there and m_2 that of the one before, r = m_1/m_2:
    the sum m_1 r/(1 - r) of a geometric series, doubled.
    """
    at, steps = (middle if high > 0 else -middle), np.array([1.0, 4.0, 16.0])
    ends = CLOSEST * steps if 0.0 in (low, high) else REACH / steps
    last, before = (float(np.sum(mass[(at > min(each)) & (at < max(each))])) for each in pairwise(ends))
    ratio = last / before if before else np.inf
    return 2 * last * ratio / (1 - ratio) if ratio < 1 else np.inf if last else 0.0


def _nodes(start: Array, stop: Array) -> Array:
    """Return the nodes of panels, the outermost next to the ends: a density may jump there."""
    x = (start + stop)[:, None] / 2 + (stop - start)[:, None] / 2 * _NODES
    low, high = np.nextafter(start, np.inf), np.nextafter(stop, -np.inf)
    inside = np.clip(x, low[:, None], np.maximum(low, high)[:, None])
    # Between neighbouring floats all would round to one end, at which the density may be 0.
    return np.where((low <= high)[:, None], inside, np.where(_NODES > 0, stop[:, None], start[:, None]))


class Piece(NamedTuple):
    """Points ``x`` from one end of an interval to the other, along which L rises, and bounds on L there.

    ``x`` falls where L does on the line. At an end where L is not known it is between its value at the next
    point and -inf, at the first, or inf, at the last.
    """

    x: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class RealLineLaw:
    """Law of L on its pieces, ``first`` being P and ``second`` Q.

    ``lost`` are the masses of P where q = 0 (L = -inf), and of Q where p = 0 (L = inf); ``unknown`` bounds
    those where nothing is known of L. ``extrema`` lie between pieces, located among ``evaluated`` points.
    """

    first: Density
    second: Density
    pieces: tuple[Piece, ...]
    lost: Sequence[Bounds]
    unknown: Sequence[float]
    extrema: tuple[float, ...] = ()
    evaluated: int = 0

    def reversed(self) -> RealLineLaw:
        pieces = tuple(Piece(x[::-1], -high[::-1], -low[::-1]) for x, low, high in self.pieces)
        return RealLineLaw(self.second, self.first, pieces, self.lost[::-1], self.unknown[::-1])

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        """Bounds on Q(L = inf), to which unknown mass of Q may belong."""
        return clip(self.lost[1] + Bounds(0.0, self.unknown[1]), 0.0, 1.0)

    @property
    def sup_loss(self) -> Bounds[float]:
        """Bounds on the greatest finite loss."""
        low = max((float(np.max(piece.low)) for piece in self.pieces), default=-np.inf)
        high = max((float(piece.high[-1]) for piece in self.pieces), default=-np.inf)
        return Bounds(low, np.inf if self.unknown[1] > 0 else max(low, high))

    def tail(self, epsilon: Array) -> tuple[Array, Array]:
        """Return a lower and an upper bound on delta(eps) = sup_S Q(S) - e^eps P(S) for eps >= 0.

        With S the points where L >= eps is certain, Q(S) - e^eps P(S) bounds delta from below (up to eps =
        690, where e^eps is a float), and so does (1 - e^-40) Q(L >= eps + 40). The first misses at most (1 -
        e^(eps - t)) Q of the points between those where L < eps and those in S, L being at most t there.
        """
        n, steepest, ahead = len(epsilon), 690.0, 40.0
        losses = np.append(epsilon, epsilon + ahead)
        p, q, missed = (Bounds(np.zeros(size), np.zeros(size)) for size in (n, 2 * n, 2 * n))
        for piece in self.pieces:
            outer, inner, top = self._threshold(piece, losses)
            end = np.full(2 * n, piece.x[-1])
            near = np.where(inner == end, piece.x[-2], inner)  # the last point at which L is known
            # Q of S; of the points between, L <= top; and past the last known point, if S is empty.
            places = np.array([[inner, end], [outer, near], [np.where(inner == end, near, end), end]])
            each = self.second.bound_mass(np.min(places, axis=1), np.max(places, axis=1))
            p = p + self.first.bound_mass(np.minimum(inner, end)[:n], np.maximum(inner, end)[:n])
            q = q + Bounds(each.lower[0], each.upper[0])
            for k, most in ((1, top), (2, np.full(2 * n, piece.high[-1]))):
                share = -expm1(losses - Bounds.of(np.maximum(most, losses)))
                missed = missed + Bounds(each.lower[k], each.upper[k]) * share
        value = Bounds(q.lower[:n], q.upper[:n]) - exp(np.minimum(epsilon, steepest)) * p
        certain = (Bounds(q.lower[n:], q.lower[n:]) * (1 - np.exp(-ahead))).lower
        low = np.maximum(np.where(epsilon > steepest, 0.0, value.lower), np.maximum(certain, 0.0))
        high = Bounds.of(np.maximum(value.upper, 0.0)) + missed.upper[:n] + TINY
        return tuple(Bounds(low, np.maximum(high.upper, low)) + self.mass_at_infinity)

    def _threshold(self, piece: Piece, loss: Array) -> tuple[Array, Array, Array]:
        """Return (outer, inner, top): along the piece L < loss up to ``outer`` and L >= loss from ``inner``.

        ``top`` bounds L at ``inner`` from above. Where L does not cross the loss points are ends of the
        piece. ``good`` are the outer (``upper``) and inner points so far, at which an upper or a lower bound
        on L is on the right side; ``bad`` the next points, where it is not, up to which roots are sought.
        """
        x, last, n = piece.x, len(piece.x) - 1, len(loss)
        below = np.searchsorted(np.maximum.accumulate(piece.high), loss) - 1  # last point with high < loss
        above = np.searchsorted(np.minimum.accumulate(piece.low[::-1])[::-1], loss)  # first with low >= loss
        good = x[np.clip(np.append(below, above), 0, last)]
        bad, upper = np.clip(np.append(below + 1, above - 1), 0, last), np.arange(2 * n) < n
        inside = np.append((below >= 0) & (below < last), (above > 0) & (above <= last)) & np.isfinite(good)
        search = np.flatnonzero(inside & np.isfinite(np.where(upper, piece.high[bad], piece.low[bad])))
        if len(search):
            from scipy.optimize import elementwise  # its import takes 0.1 s

            def height(at: Array, goal: Array, upper: Array) -> Array:
                value, margin = log_ratio(self.first, self.second, at)
                return value + np.where(upper, margin, -margin) - goal

            side, ends = upper[search], np.sort([good[search], x[bad[search]]], axis=0)
            root = elementwise.find_root(height, (ends[0], ends[1]), args=(np.tile(loss, 2)[search], side))
            for place, value in zip((*root.bracket, root.x), (*root.f_bracket, root.f_x), strict=True):
                good[search] = np.where(np.where(side, value <= 0, value >= 0), place, good[search])
        # A density may have rounded its argument: both points move outward by that.
        away = _MOVED * np.abs(np.where(inside, good, 0.0)) * np.where(upper == (x[0] < x[last]), -1.0, 1.0)
        outer, inner = np.split(np.clip(good + away, min(x[0], x[last]), max(x[0], x[last])), 2)
        value, margin = log_ratio(self.first, self.second, np.clip(inner, -REACH, REACH))
        ends_high = np.where(inner == x[0], piece.high[0], piece.high[last - 1])
        return outer, inner, np.where((inner == x[0]) | (inner == x[last]), ends_high, value + margin)


def log_ratio(p: Density, q: Density, x: Array) -> tuple[Array, Array]:
    """Return L(x), NaN where both densities are below all floats, and 6 times its error, the ``margin``."""
    first, second = p.log_density(x), q.log_density(x)
    with np.errstate(invalid="ignore"):
        error = 2 * TRUST + 8 * UNIT * (np.abs(first) + np.abs(second))
        loss = np.where(np.maximum(first, second) > -1000.0, second - first, np.nan)
    # Bounds of L allow for 6 errors: the loss's own, and 4 that end no piece.
    return loss, 6 * np.where(np.isfinite(error), error, 0.0)


def find_pieces(
    p: Density, q: Density, breaks: Sequence[float] | None, *, bounded: bool = False
) -> RealLineLaw:
    """Return the law of L = log q - log p, evaluated at the nodes of both quadratures.

    L must be monotone between ``breaks``; extrema are located if these are None. ``bounded``: it is proved
    that L takes its least and its greatest value at some of the points. Raise DomainError where L is not
    monotone between ``breaks``, or has more than a thousand extrema.
    """
    strips, x = _scan(p, q, breaks or ())
    lost, unknown, pieces, extrema = [Bounds(0.0, 0.0)] * 2, [0.0, 0.0], [], list(breaks or ())
    for low, high in strips:
        # Each side of a strip may have all of its mass: the true end of a rounded one may lie on either.
        for i, side in enumerate((p, q)):
            unknown[i] += 2 * float(side.bound_mass(low, high).upper)
    ends = [-np.inf, *(end for strip in strips for end in strip), np.inf]
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        inner = x[(x > low) & (x < high)]
        kind = int(np.bincount(_kinds(p, q, inner), minlength=4).argmax()) if len(inner) else 0
        if kind == 3 and np.isfinite(log_ratio(p, q, inner)[0]).any():
            places = _find_extrema(p, q, inner)
            if places and breaks is not None:
                raise DomainError(
                    f"log(q/p) must be monotone between breaks, got an extremum near {places[0]:.6g}; "
                    "add the break, or leave breaks out"
                )
            extrema += places
            pieces += [_piece(p, q, *part, inner) for part in pairwise([low, *places, high])]
            continue
        for i, (side, other) in enumerate(((p, q), (q, p))):
            mass = side.bound_mass(low, high)
            if kind == i + 1 and not _underflows(other, low, high):
                lost[i] += mass
            else:
                unknown[i] += float(mass.upper)
    most = 1000  # more extrema of L are noise
    if len(pieces) > most:
        raise DomainError(
            f"log(q/p) must have at most {most} extrema, got {len(pieces)}; "
            "give smooth densities, or their breaks"
        )
    if bounded:
        least, most = min(min(one.low[1:-1]) for one in pieces), max(max(one.high[1:-1]) for one in pieces)
        pieces = [Piece(one.x, np.maximum(one.low, least), np.minimum(one.high, most)) for one in pieces]
    return RealLineLaw(p, q, tuple(pieces), lost, unknown, tuple(sorted(extrema)), len(x))


def _scan(p: Density, q: Density, breaks: Sequence[float]) -> tuple[list[tuple[float, float]], Array]:
    """Return strips (low, high) where a density or a piece begins or ends, and the points to evaluate L at.

    Ends and breaks are strips of width 0, rounded ends a few units wide; overlapping ones are one. Between
    two points at which different densities are 0 a strip reaches from one float to the next, by bisection.
    """
    cuts = {
        (x - off, x + off)
        for side in (p, q)
        for x in side.cuts
        for off in [_MOVED * abs(x) if x in side.rounded else 0.0]
    }
    strips: list[tuple[float, float]] = []
    for low, high in sorted({*cuts, *((x, x) for x in breaks)}):
        if strips and low <= strips[-1][1]:
            strips[-1] = strips[-1][0], max(high, strips[-1][1])
        else:
            strips.append((low, high))
    near = [y for low, high in strips for y in (*_neighbours(low, -1.0), *_neighbours(high, 1.0))]
    x = np.unique(np.concatenate([p.points, q.points, near]))
    for low, high in strips:
        x = x[(x < low) | (x > high)]
    kinds = _kinds(p, q, x)
    for k in np.flatnonzero(np.diff(kinds)):
        low, high = float(x[k]), float(x[k + 1])
        if not any(low < end and start < high for start, end in strips):
            while low < (middle := low + (high - low) / 2) < high:
                same = _kinds(p, q, np.array([middle]))[0] == kinds[k]
                low, high = (middle, high) if same else (low, middle)
            strips.append((low, high))
    return sorted(strips), x


def _neighbours(x: float, way: float) -> tuple[float, float]:
    """Return the points one and two roundings of x away from it, above for ``way`` 1, below for -1."""
    step = max(_MOVED * abs(x), CLOSEST) if np.isfinite(x) else 0.0
    return x + way * step, x + 2 * way * step


def _kinds(p: Density, q: Density, x: Array) -> Array:
    """Return 3 where both laws have a density, 2 where only Q has, 1 where only P has, 0 where neither."""
    return (p.log_density(x) > -np.inf) * 1 + (q.log_density(x) > -np.inf) * 2


def _underflows(side: Density, low: float, high: float) -> bool:
    """Whether a density that is 0 between two points may be 0 in floats only: e^-600 or less next to them."""
    if high <= side.support[0] or low >= side.support[1]:
        return False
    next_to = side.log_density(np.array([_neighbours(low, -1.0)[0], _neighbours(high, 1.0)[0]]))
    return bool(((next_to > -np.inf) & (next_to < -600.0)).any())


def _find_extrema(p: Density, q: Density, x: Array) -> list[float]:
    """Return the floats at which L is locally greatest or least, where it changes by more than 4 errors.

    A walk along x keeps the ``top`` and the ``bottom`` since the last extremum, and the ``way`` of L, +-1.
    """
    loss, margin = log_ratio(p, q, x)
    seen = np.isfinite(loss)
    x, loss, error = x[seen], loss[seen], margin[seen] / 3  # two of the six errors
    low, high = (loss - error).tolist(), (loss + error).tolist()
    extrema, way, top, bottom = [], 0, 0, 0
    for k in range(1, len(x)):
        top, bottom = (k if high[k] > high[top] else top), (k if low[k] < low[bottom] else bottom)
        if way >= 0 and high[k] < low[top]:
            extrema += [(top, 1)] if way else []
            way, bottom = -1, k
        elif way <= 0 and low[k] > high[bottom]:
            extrema += [(bottom, -1)] if way else []
            way, top = 1, k
    places = []
    for k, sign in extrema:
        # Points that are as high, up to errors, may hide the true place: search up to the next that are not.
        away = np.flatnonzero(sign * (loss[k] - loss) > error + error[k])
        start, stop = x[max(away[away < k], default=0)], x[min(away[away > k], default=-1)]
        while True:  # 64 parts at a time, until they are neighbouring floats
            fan = np.unique(np.linspace(start, stop, 65))
            best = int(np.argmax(np.nan_to_num(sign * log_ratio(p, q, fan)[0], nan=-np.inf)))
            if len(fan) < 65:
                places.append(float(fan[best]))
                break
            start, stop = fan[max(best - 1, 0)], fan[min(best + 1, 64)]
    return places


def _piece(p: Density, q: Density, low: float, high: float, x: Array) -> Piece:
    """Return the piece between two ends, from the points ``x`` among them and two more at each end."""
    (first, second), (last_but, last) = _neighbours(low, 1.0), _neighbours(high, -1.0)[::-1]
    near = [y for y in (first, second, last_but, last) if np.isfinite(y)]
    inner = np.union1d(x, near)
    inner = inner[(inner >= first) & (inner <= last) & (inner > low) & (inner < high)]
    loss, margin = log_ratio(p, q, inner)
    seen = np.isfinite(loss)
    if not seen.any():
        return Piece(np.array([low, low, high]), np.full(3, -np.inf), np.full(3, np.inf))
    inner, loss, margin = inner[seen], loss[seen], margin[seen]
    sides = (low, 1.0, x[x < low][-1:]), (high, -1.0, x[x > high][:1])
    ends = [(end, *_loss_at_end(p, q, end, way, across)) for end, way, across in sides]
    if loss[-1] < loss[0]:
        ends, inner, loss, margin = ends[::-1], inner[::-1], loss[::-1], margin[::-1]
    (start, least, off), (stop, most, off_stop) = ends  # places, L there and its errors
    lower, upper = loss - margin, loss + margin
    lows = np.array([least - off, *lower, max(most - off_stop, lower[-1])])
    highs = np.array([min(least + off, upper[0]), *upper, most + off_stop])
    return Piece(np.array([start, *inner, stop]), lows, highs)


def _loss_at_end(p: Density, q: Density, end: float, way: float, across: Array) -> tuple[float, float]:
    """Return L at an end and its error; ``across`` has the next point on the other side, if any.

    The error is infinite where L changes more in the step up to the end (``way`` 1: from above) than in the
    next one, or is not known across: L goes on up to a zero of both densities, which are below all floats.
    """
    if np.isinf(end) or np.isnan(log_ratio(p, q, across)[0]).any():
        return 0.0, np.inf
    loss, margin = log_ratio(p, q, np.array([end, *_neighbours(end, way)]))
    with np.errstate(invalid="ignore"):
        first, second = np.abs(np.diff(loss))
    is_known = first <= 1.5 * second + margin[1]
    return (float(loss[0]), float(margin[0] + first)) if is_known else (0.0, np.inf)
