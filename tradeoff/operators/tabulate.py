"""Whole curves, piecewise-linear below and above f and valid at every alpha, and where to ask for delta."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import lcm
from typing import NamedTuple, Self

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import Numbers, reals
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, shown
from tradeoff.intervals.functions import exp
from tradeoff.intervals.polygon import ONE, Line, Point, corners, hull, kink, whole
from tradeoff.intervals.rounding import UNIT, Array

STEEPEST = 700.0  # largest epsilon asked: e^eps is still a float
_WIDTH = 1e-3  # width of whole curves that is aimed at, relative to min(beta, 1 - alpha - beta)
_REACH = 1e-21  # type I errors below which lines are laid no closer: below the 1e-20 that is promised
_LEAST = 1e-290  # least unit that a gap is divided by: the quotient is still a float
_CLOSEST = 1e-14  # least distance of nodes in nats: e^eps tells them apart
_ROUNDS = 16  # halvings of a cell before it is left as it is
_MOST = 2500  # nodes after which no more are asked: a second for closed forms
_ENDS: list[Point] = [(0, ONE), (ONE, 0)]  # of every curve above all others


class Tabulated(NamedTuple):
    """Two curves with lower <= f <= upper at every alpha; unpacks as ``lower, upper``."""

    lower: PiecewiseLinear
    upper: PiecewiseLinear

    def described(self, f: TradeOff) -> Tabulated:
        """Return the sides of a curve with its assumptions; none is exact but the curve itself."""
        sides = (side if side is f else limited(side.assuming(*f.assumptions), BOUND) for side in self)
        return Tabulated(*sides)


def tabulate(f: TradeOff, alphas: Numbers | None = None) -> Tabulated:
    """Piecewise-linear curves below and above f, valid at every alpha, rounding included.

    Below: the largest of certified lines, 1 - delta(eps) - e^eps alpha for eps >= 0 and the same of f^-1.
    Above: the hull of points certified to lie above f. A piecewise-linear f is both itself.

    ``alphas`` in [0, 1] are nodes. By default they are chosen so that lower and upper differ by about 1e-3 of
    min(beta, 1 - alpha - beta) for alpha from 1e-20 to 1 - 1e-20, wherever f's own bounds on delta are that
    narrow (they resolve 1 - delta to 1e-16, so not where 1 - delta(0) is as small as that: no privacy to
    speak of).

    The lines are Dong, Roth, Su 2022, Proposition 2.12; in terms of 1 - beta near alpha = 0, and of 1 - alpha
    near alpha = 1, they keep their relative accuracy. Vertices hold 1 - alpha and 1 - beta beside alpha and
    beta for the same reason.

    >>> from tradeoff import Gaussian
    >>> f = Gaussian(1)
    >>> lower, upper = f.tabulate()
    >>> lower(0.05) <= f(0.05) <= upper(0.05) <= 1.001 * lower(0.05)
    True
    """
    if alphas is not None:
        return _at(f, alphas)
    if isinstance(f, PiecewiseLinear):
        return Tabulated(f, f)
    return of_orders(f) if f.symmetric else of_orders(f, f.inverse())


def of_orders(*curves: TradeOff) -> Tabulated:
    """Return the sides of the maximum of all lines of slope <= -1 of f, and those of the last, mirrored."""
    orders = [LineNodes.of(f) for f in curves]
    below, above = [order.supporting() for order in orders], [order.covering() for order in orders]
    return Tabulated(largest(_both(below), up=False), largest(_both(above), up=True))


def largest(lines: Iterable[Line], *, up: bool) -> PiecewiseLinear:
    """Return the largest of lines below a curve, or of lines one of which is above it, anywhere."""
    result = corners(lines, up=up)
    # A flat line may end beyond alpha = 1, where a chord to the end of every curve does.
    return _curve([*(point for point in result if point[0] < ONE), *_ENDS] if up else result)


def segments(f: PiecewiseLinear) -> list[Line]:
    """Return the lines of a polygon, which is the largest of them and 0."""
    result = []
    for (a, b), (c, d) in pairwise(f.vertices):
        rise, run, level = b - d, c - a, (b - d) * a + (c - a) * b
        scale = lcm(*(x.denominator for x in (rise, run, level)))
        u, v, w = (x.numerator * (scale // x.denominator) for x in (rise, run, level))
        result.append((u, v, w))
    return result


def _both(orders: list[list[Line]]) -> list[Line]:
    """Add the lines of f^-1, which are those of f with the errors exchanged."""
    return orders[0] + [(a, b, c) for b, a, c in orders[-1]]


def _at(f: TradeOff, alphas: Numbers) -> Tabulated:
    """Chords between the given nodes, and the certified lines parallel to them."""
    nodes = reals("alphas", alphas)
    if nodes.ndim != 1 or len(nodes) == 0 or not np.all((nodes >= 0) & (nodes <= 1)):
        raise DomainError(
            f"alphas = {shown(alphas)} is not a non-empty one-dimensional list of type I errors in [0, 1]"
        )
    nodes = np.unique(np.concatenate([[0.0], nodes, [1.0]]))
    points = zip(map(whole, nodes.tolist()), map(whole, f.bounds(nodes).upper.tolist()), strict=True)
    upper = hull([*points, *_ENDS])
    epsilon = np.array([_log_ratio(b - d, c - a) for (a, b), (c, d) in pairwise(upper)] + [0.0])
    steep, flat = np.unique(epsilon[epsilon >= 0]), np.unique(-epsilon[epsilon <= 0])
    below = [_lines_below(e, g.bounds.delta(e).upper) for g, e in ((f, steep), (f.inverse(), flat))]
    return Tabulated(_curve(corners(_both(below), up=False)), _curve(upper))


def _curve(points: list[Point]) -> PiecewiseLinear:
    return PiecewiseLinear.of_wholes(*zip(*hull(points), strict=True))


def _log_ratio(rise: int, run: int) -> float:
    """Return the epsilon of a chord; where it is too steep or too flat, that of a line near enough."""
    result = np.log(rise / ONE) - np.log(run / ONE) if rise > 0 else -STEEPEST
    return float(np.clip(result, -STEEPEST, STEEPEST))


def _lines_below(epsilon: Array, delta: Array) -> list[Line]:
    """Return the lines 1 - delta - e^eps alpha, for bounds from above on delta: steeper ones are lower."""
    return [_line(s, d) for s, d in zip(exp(epsilon).upper.tolist(), delta.tolist(), strict=True)]


def _line(slope: float, delta: float) -> Line:
    """Return the line slope alpha + beta = 1 - delta."""
    return whole(slope), ONE, ONE - whole(delta)


@dataclass
class LineNodes:
    """delta of one order at chosen epsilon: a little below 0, then 0, then up to where the tail ends."""

    f: TradeOff
    epsilon: Array
    low: Array
    high: Array
    last: tuple[float, float]

    @classmethod
    def of(cls, f: TradeOff) -> Self:
        """Choose nodes: to where the tail ends, closer where the bounds stay apart."""
        top = _top(f)
        scale = np.concatenate([np.geomspace(2.0**-20, 1.0, 41), np.linspace(0.0, 1.0, 33)[1:]]) * top
        positive = np.unique(scale[scale >= _CLOSEST])
        nodes = np.concatenate([[-positive[0] if len(positive) else -_CLOSEST, 0.0], positive])
        nodes = nodes[np.append(True, np.diff(nodes) >= _CLOSEST / 2)]
        profile = cls.about(f, nodes)
        for _ in range(_ROUNDS):
            fresh = profile.wanted()
            if len(fresh) == 0:
                break
            profile.ask(fresh[: _MOST - len(profile.epsilon)])
        return profile

    @classmethod
    def about(cls, f: TradeOff, nodes: Array) -> Self:
        """Take the nodes given."""
        empty, last = np.empty(0), f.bounds.delta(np.inf)
        profile = cls(f, empty, empty, empty, (last.lower, last.upper))
        profile.ask(np.unique(nodes))
        return profile

    def ask(self, fresh: Array, tol: float | None = None) -> None:
        """Add nodes; delta falls, so that a bound holds on one side of its node too.

        A node may be asked again, to the relative width ``tol``.
        """
        low, high = self.f.bounds.delta(fresh, tol=tol)
        high = np.where(fresh >= self.f.sup_loss, np.minimum(high, self.last[1]), high)
        self.epsilon, at = np.unique(np.append(self.epsilon, fresh), return_inverse=True)
        below, above = np.zeros(len(self.epsilon)), np.ones(len(self.epsilon))
        np.maximum.at(below, at, np.append(self.low, low))
        np.minimum.at(above, at, np.append(self.high, high))
        self.low = np.maximum.accumulate(below[::-1])[::-1]
        self.high = np.minimum.accumulate(above)

    def wanted(self) -> Array:
        """Return the middles of cells whose sides are too far apart for their nodes, the worst first."""
        if len(self.epsilon) < 3:
            return np.empty(0)
        e, alpha, excess = self._corners()
        gap = self._gaps()
        # min(beta, 1 - alpha - beta) for f; for f^-1 this gap is one in alpha, s times as wide as that in
        # beta
        unit = np.minimum(np.minimum(np.maximum(1 - alpha - excess, UNIT), excess), np.exp(e[:-1]) * alpha)
        ratio = gap / np.maximum(unit, _LEAST)
        own = self.high - self.low
        # Where to ask is a choice: no bound hangs on the units here, nor on those of the nodes' ends below.
        blurred = gap < 6 * np.maximum(own[1:-1], own[2:]) + 24 * UNIT * excess
        reached = alpha + excess < self.last[0] + _REACH
        open_ = np.flatnonzero((ratio > _WIDTH) & ~blurred & ~reached & (np.diff(e) > 2 * _CLOSEST))
        worst = open_[np.argsort(-ratio[open_])]
        return np.asarray((e[worst] + e[worst + 1]) / 2)

    def _corners(self) -> tuple[Array, Array, Array]:
        """Return the nodes from 0 on, and alpha and 1 - alpha - beta where the lines of neighbours meet."""
        e, high = self.epsilon[1:], self.high[1:]
        alpha = (high[:-1] - high[1:]) / (np.exp(e[:-1]) * np.expm1(np.diff(e)))
        return e, alpha, high[:-1] + np.expm1(e[:-1]) * alpha

    def _gaps(self) -> Array:
        """Return how far apart the sides may be in each cell: its chord above, the meeting point below."""
        low, high = self.low, self.high
        step = np.exp(self.epsilon[:-1]) * np.expm1(np.diff(self.epsilon))
        width, a, b = step[1:], low[1:-1], low[2:]
        rise = (a - high[:-2]) / step[:-1]
        fall = np.append((high[3:] - low[2:-1]) / step[2:], 0.0)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            t = np.clip(np.nan_to_num((b - fall * width - a) / (rise - fall)), 0.0, width)
        chord = high[1:-1] + (high[2:] - high[1:-1]) * (t / width)
        return np.asarray(chord - np.maximum(a + rise * t, b - fall * (width - t)))

    def supporting(self) -> list[Line]:
        """Return lines below f: 1 - delta(eps) - e^eps alpha."""
        return _lines_below(self.epsilon[1:], self.high[1:])

    def covering(self) -> list[Line]:
        """Return lines whose maximum is above f: those of the vertices of a convex curve below delta(log s).

        On a cell of s, delta lies above the chord of the cell to the left, prolonged, and above that of the
        cell to the right; sup_s 1 - delta - s alpha over the cell is then at an end or where the two meet.
        """
        s = exp(self.epsilon)
        below = list(zip(s.lower.tolist(), self.low.tolist(), strict=True))
        above = list(zip(s.upper.tolist(), self.high.tolist(), strict=True))
        result = [*below[1:], (below[-1][0], self.last[0])]
        for k in range(1, len(below) - 1):
            meet = _meet(above[k - 1], below[k], below[k + 1], above[k + 2] if k + 2 < len(above) else None)
            if meet is not None:
                result.append(meet)
        return [_line(s, d) for s, d in result]

    def flattest(self) -> Line:
        """Return the line above f where it is flatter than those of ``covering``: delta(log s) >= 1 - s."""
        s = whole(float(exp(self.epsilon[1:2]).lower[0]))
        return s, ONE, s


def _meet(
    before: tuple[float, float],
    left: tuple[float, float],
    right: tuple[float, float],
    after: tuple[float, float] | None,
) -> tuple[float, float] | None:
    """Return where the prolonged chords before-left and right-after meet over the cell from left to right."""
    if after is None or after[1] >= right[1]:
        after = (2 * right[0], right[1])  # delta falls: to the left of ``right`` it is at least as large
    p, q, r, s = ((whole(x), whole(y)) for x, y in (before, left, right, after))
    result = kink((p, q), (r, s))
    # A corner outside the cell, but for the rounding of its ends, is no corner.
    inside = result is not None and left[0] * (1 - 8 * UNIT) <= result[0] <= right[0] * (1 + 8 * UNIT)
    return result if inside else None


def _top(f: TradeOff) -> float:
    """Return an epsilon beyond which P(L > eps) and delta - Q(L = inf) are negligible."""
    limit = min(max(f.sup_loss, 0.0) * (1 + 8 * UNIT), STEEPEST)
    epsilon = _until(np.exp2(np.arange(-44.0, 1.0)), limit)
    delta = f.bounds.delta(epsilon).upper
    while (top := _end(f, epsilon, delta)) is None:
        epsilon = np.append(epsilon, min(2 * epsilon[-1], limit))
        delta = np.append(delta, f.bounds.delta(epsilon[-1:]).upper)
    finer = _until(np.unique(top * np.arange(1.0, 33.0) / 32), limit)  # fewer floats below a subnormal top
    return _end(f, finer, f.bounds.delta(finer).upper) or top


def _until(epsilon: Array, limit: float) -> Array:
    return np.append(epsilon[epsilon < limit], limit) if epsilon[-1] >= limit else epsilon


def _end(f: TradeOff, epsilon: Array, delta: Array) -> float | None:
    """Return the first node after which there is next to nothing; None if that may go on beyond the last."""
    last = f.bounds.delta(np.inf).upper
    # P(L > b) (e^b - e^a) <= delta(a) - delta(b), whose rounding counts as mass
    fall = np.maximum(delta[:-1] - delta[1:], 0.0) + 4 * UNIT * delta[:-1]
    with np.errstate(divide="ignore", over="ignore"):
        alpha = np.exp(np.log(fall) - epsilon[:-1] - np.log(np.expm1(np.diff(epsilon))))
    heavy = np.flatnonzero((alpha > _REACH / 10) | (delta[:-1] > last * (1 + 64 * UNIT) + _REACH / 10))
    after = int(heavy[-1]) + 1 if len(heavy) else 0
    ended = after < len(epsilon) - 1 or epsilon[-1] >= min(f.sup_loss, STEEPEST)
    return float(epsilon[after]) if ended else None
