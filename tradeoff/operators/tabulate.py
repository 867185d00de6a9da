"""Whole curves: piecewise-linear curves below and above f, valid at every alpha."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import lcm
from typing import NamedTuple

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import Numbers, reals
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, shown
from tradeoff.intervals.polygon import ONE, Line, Point, corners, hull, whole
from tradeoff.operators.line_nodes import STEEPEST, LineNodes, lines_below

_ENDS: list[Point] = [(0, ONE), (ONE, 0)]  # of every curve above all others


class Tabulated(NamedTuple):
    """Two curves with lower <= f <= upper at every alpha; unpacks as ``lower, upper``."""

    lower: PiecewiseLinear
    upper: PiecewiseLinear

    def assuming(self, assumptions: tuple[str, ...]) -> Tabulated:
        """Return the sides of a curve that rests on assumptions: so do they."""
        return Tabulated(*(side.assuming(*assumptions) for side in self)) if assumptions else self


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
    found = corners(lines, up=up)
    # A flat line may end beyond alpha = 1, where a chord to the end of every curve does.
    return _curve([*(point for point in found if point[0] < ONE), *_ENDS] if up else found)


def segments(f: PiecewiseLinear) -> list[Line]:
    """Return the lines of a polygon, which is the largest of them and 0."""
    found = []
    for (a, b), (c, d) in pairwise(f.vertices):
        rise, run, level = b - d, c - a, (b - d) * a + (c - a) * b
        scale = lcm(*(x.denominator for x in (rise, run, level)))
        u, v, w = (x.numerator * (scale // x.denominator) for x in (rise, run, level))
        found.append((u, v, w))
    return found


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
    points = [
        (whole(a), whole(b)) for a, b in zip(nodes.tolist(), f.bounds(nodes).upper.tolist(), strict=True)
    ]
    upper = hull([*points, *_ENDS])
    epsilon = np.array([_log_ratio(b - d, c - a) for (a, b), (c, d) in pairwise(upper)] + [0.0])
    steep, flat = np.unique(epsilon[epsilon >= 0]), np.unique(-epsilon[epsilon <= 0])
    below = [lines_below(e, g.bounds.delta(e).upper) for g, e in ((f, steep), (f.inverse(), flat))]
    return Tabulated(_curve(corners(_both(below), up=False)), _curve(upper))


def _curve(points: list[Point]) -> PiecewiseLinear:
    return PiecewiseLinear.of_wholes(*zip(*hull(points), strict=True))


def _log_ratio(rise: int, run: int) -> float:
    """Return the epsilon of a chord; where it is too steep or too flat, that of a line near enough."""
    return (
        float(np.clip(np.log(rise / ONE) - np.log(run / ONE), -STEEPEST, STEEPEST)) if rise > 0 else -STEEPEST
    )
