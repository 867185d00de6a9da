"""Whole curves, piecewise-linear below and above f and valid at every alpha, and the choice of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import lcm
from typing import NamedTuple

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import Numbers, reals
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp
from tradeoff.intervals.polygon import ONE, Line, Point, corners, hull, whole
from tradeoff.intervals.rounding import Array
from tradeoff.operators.profile_samples import Nodes, chords, under

STEEPEST = 700.0  # largest epsilon of a node: e^eps is still a float

# Where nodes are chosen; no bound depends on these.
_WIDTH = 1e-3  # width of whole curves that is aimed at, relative to min(beta, 1 - alpha - beta)
_REACH = 1e-21  # type I errors below which lines are laid no closer: below the 1e-20 that is promised
_LEAST = 1e-290  # least unit that a gap is divided by: the quotient is still a float
_NOISE = 1e-16  # relative differences of delta that rounding may make
_CLOSEST = 1e-14  # least distance of nodes in nats: e^eps differs there
_ROUNDS = 16  # halvings of a cell
_MAX_NODES = 2500  # a second for closed forms
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
    narrow (they resolve 1 - delta to 1e-16, so not where 1 - delta(0) is that small: hardly any privacy).

    The lines are Dong, Roth, Su 2022, Proposition 2.12; in terms of 1 - beta near alpha = 0, and of 1 - alpha
    near alpha = 1, they keep their relative accuracy. Vertices store 1 - alpha and 1 - beta with alpha
    and beta for the same reason.

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
    """Return both sides from lines of slope <= -1 of f and, mirrored, of the last curve, f^-1 or f itself."""
    nodes = [refined_nodes(f) for f in curves]
    below, above = ([lines(each) for each in nodes] for lines in (lines_below, lines_above))
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
            f"alphas must be a non-empty one-dimensional list of type I errors in [0, 1], got {shown(alphas)}"
        )
    nodes = np.unique(np.concatenate([[0.0], nodes, [1.0]]))
    points = zip(map(whole, nodes.tolist()), map(whole, f.bounds(nodes).upper.tolist()), strict=True)
    upper = hull([*points, *_ENDS])
    epsilon = np.array([_log_ratio(b - d, c - a) for (a, b), (c, d) in pairwise(upper)] + [0.0])
    steep, flat = np.unique(epsilon[epsilon >= 0]), np.unique(-epsilon[epsilon <= 0])
    below = [lines_below(Nodes.of(g, e)) for g, e in ((f, steep), (f.inverse(), flat))]
    return Tabulated(_curve(corners(_both(below), up=False)), _curve(upper))


def _curve(points: list[Point]) -> PiecewiseLinear:
    return PiecewiseLinear.of_wholes(*zip(*hull(points), strict=True))


def _log_ratio(rise: int, run: int) -> float:
    """Return the epsilon of a chord; where it is too steep or too flat, that of a line near enough."""
    result = np.log(rise / ONE) - np.log(run / ONE) if rise > 0 else -STEEPEST
    return float(np.clip(result, -STEEPEST, STEEPEST))


def lines_below(nodes: Nodes) -> list[Line]:
    """Return lines below f, 1 - delta(eps) - e^eps alpha: steeper ones are lower."""
    return _lines(exp(nodes.epsilon).upper, nodes.upper)


def lines_above(nodes: Nodes) -> list[Line]:
    """Return lines whose maximum is above f where it is steeper than at the second node.

    They are those of the vertices of a polygon below delta(log s), as sup_s 1 - delta - s alpha is reached at
    one of them; the first cell has no chord on its left. Beyond the last node delta is at least Q(L = inf).
    """
    t, low = under(nodes)
    s = (exp(nodes.epsilon[1:-1]) * (1 + Bounds(t.lower[:2, 1:], t.upper[:2, 1:]))).lower
    end = exp(nodes.epsilon[-1:]).lower
    deltas = [nodes.lower[-1], nodes.curve.mass_at_infinity.lower]
    return _lines(np.append(s.ravel(), [end, end]), np.append(low[:2, 1:].ravel(), deltas))


def flattest_above(nodes: Nodes) -> Line:
    """Return the line above f where it is flatter than at the second node: delta(log s) >= 1 - s."""
    s = whole(float(exp(nodes.epsilon[1:2]).lower[0]))
    return s, ONE, s


def _lines(slopes: Array, deltas: Array) -> list[Line]:
    """Return the lines slope alpha + beta = 1 - delta."""
    return [(whole(s), ONE, ONE - whole(d)) for s, d in zip(slopes.tolist(), deltas.tolist(), strict=True)]


def refined_nodes(f: TradeOff) -> Nodes:
    """Choose nodes from about 0 to where the tail ends, closer where sides are farther apart than bounds."""
    top = _top(f)
    scale = np.concatenate([np.geomspace(2.0**-20, 1.0, 41), np.linspace(0.0, 1.0, 33)[1:]]) * top
    positive = np.unique(scale[scale >= _CLOSEST])
    positive = positive if len(positive) else np.array([_CLOSEST])
    first = np.concatenate([[-positive[0], 0.0], positive])
    nodes = Nodes.of(f, first[np.append(True, np.diff(first) >= _CLOSEST / 2)])
    for _ in range(_ROUNDS):
        fresh = _open_cells(nodes)[: _MAX_NODES - len(nodes.epsilon)]
        if len(fresh) == 0:
            break
        nodes = nodes.more(fresh)
    return nodes


def _open_cells(nodes: Nodes) -> Array:
    """Return the middles of cells whose sides are too far apart, the worst first."""
    t, low = under(nodes)
    gap = np.max(chords(nodes, nodes.upper, t) - low, axis=0)
    e, high = nodes.epsilon, nodes.upper
    # alpha and 1 - alpha - beta where the lines of both ends meet
    alpha = (high[:-1] - high[1:]) / (np.exp(e[:-1]) * np.expm1(np.diff(e)))
    excess = high[:-1] + np.expm1(e[:-1]) * alpha
    # min(beta, 1 - alpha - beta) for f; for f^-1 this gap is one in alpha, s times as wide as that in beta
    unit = np.minimum(np.minimum(np.maximum(1 - alpha - excess, _NOISE), excess), np.exp(e[:-1]) * alpha)
    ratio = gap / np.maximum(unit, _LEAST)
    own = high - nodes.lower
    blurred = gap < 6 * np.maximum(own[:-1], own[1:]) + 24 * _NOISE * excess
    reached = alpha + excess < nodes.curve.mass_at_infinity.lower + _REACH
    open_ = np.flatnonzero((ratio > _WIDTH) & ~blurred & ~reached & (np.diff(e) > 2 * _CLOSEST))
    open_ = open_[open_ > 0]
    return nodes.middle(open_[np.argsort(-ratio[open_])])


def _top(f: TradeOff) -> float:
    """Return an epsilon beyond which P(L > eps) and delta - Q(L = inf) are negligible."""
    limit = min(max(f.sup_loss, 0.0) * (1 + 8 * _NOISE), STEEPEST)
    epsilon = _until(np.exp2(np.arange(-44.0, 1.0)), limit)
    delta = f.bounds.delta(epsilon).upper
    while (top := _end(f, epsilon, delta)) is None:
        epsilon = np.append(epsilon, min(2 * epsilon[-1], limit))
        delta = np.append(delta, f.bounds.delta(epsilon[-1:]).upper)
    finer = _until(np.unique(top * np.arange(1.0, 33.0) / 32), limit)
    return _end(f, finer, f.bounds.delta(finer).upper) or top


def _until(epsilon: Array, limit: float) -> Array:
    return np.append(epsilon[epsilon < limit], limit) if epsilon[-1] >= limit else epsilon


def _end(f: TradeOff, epsilon: Array, delta: Array) -> float | None:
    """Return the first node after which there is next to nothing; None if that may be beyond the last."""
    last = f.mass_at_infinity.upper
    # P(L > b) (e^b - e^a) <= delta(a) - delta(b), whose rounding counts as mass
    fall = np.maximum(delta[:-1] - delta[1:], 0.0) + 4 * _NOISE * delta[:-1]
    with np.errstate(divide="ignore", over="ignore"):
        alpha = np.exp(np.log(fall) - epsilon[:-1] - np.log(np.expm1(np.diff(epsilon))))
    heavy = np.flatnonzero((alpha > _REACH / 10) | (delta[:-1] > last * (1 + 64 * _NOISE) + _REACH / 10))
    after = int(heavy[-1]) + 1 if len(heavy) else 0
    ended = after < len(epsilon) - 1 or epsilon[-1] >= min(f.sup_loss, STEEPEST)
    return float(epsilon[after]) if ended else None
