"""Law of L = log q - log p of two densities on the line, from pieces on which L is monotone.

{L >= t} is an interval at one end of every piece, so its masses are integrals of the densities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import elementwise

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, exp, expm1
from tradeoff.intervals.rounding import TINY, UNIT, Array
from tradeoff.pld.density import REACH, TRUST, Density

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
