"""Bound distances between curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import choice
from tradeoff.curves.piecewise_linear import PiecewiseLinear, interpolate
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, maximum, rational
from tradeoff.intervals.rounding import Array
from tradeoff.operators.order import approximate, vertices_of

Metric = Literal["uniform", "levy"]
Point = tuple[Fraction, Fraction]
_POINTS = 257  # first points: open cells are halved
_ROUNDS = 10  # halvings, to a thousandth of a cell
_MAX_POINTS = 20_000  # points after which the bounds so far are returned: a second for closed forms
_CLOSE = 1e-7  # distance below which cells are not halved
_MAX_VERTICES = 5000  # vertices of two polygons compared in fractions, in a second
_FARTHEST = 40.0  # loss at which a distance of profiles ends, as e^-40 is below every answer


def distance(f: TradeOff, g: TradeOff, *, metric: Metric = "uniform") -> Bounds[float]:
    """Bound the distance between two curves.

    Parameters
    ----------
    f, g
        Curves.
    metric
        ``"uniform"``: sup_alpha |f - g|. ``"levy"``: the least kappa with f(alpha + kappa) - kappa <=
        g(alpha) for all alpha and the same with f and g exchanged, which is max over eps of |delta_f -
        delta_g|/(1 + e^eps): the largest gap in Bayes error over priors (Gomez et al. 2026).

    Returns
    -------
    Bounds
        Lower and upper bound in [0, 1]: of polygons and (eps, delta)-DP the distance at their vertices, up to
        rounding; of other curves about 1e-4 apart.

    Examples
    --------
    >>> from tradeoff import Gaussian, Identity
    >>> round(distance(Gaussian(1), Identity(), metric="levy").upper, 3)  # half of the total variation
    0.192
    >>> from tradeoff import PureDP
    >>> distance(PureDP(1), Identity()).width < 1e-14
    True
    """
    choice("metric", metric, get_args(Metric))
    if operand(f) == operand(g):
        return Bounds(0.0, 0.0)
    mine, theirs = _vertices(f), _vertices(g)
    if mine and theirs and len(mine[0]) + len(theirs[0]) <= _MAX_VERTICES:
        # The vertices of f_{eps,delta} lie between rationals.
        doubt = sum(_at_vertices(*both, metric) for both in (mine, theirs))
        result = _at_vertices(mine[0], theirs[0], metric)
        return Bounds(
            rational(max(result - doubt, Fraction(0))).lower, rational(min(result + doubt, Fraction(1))).upper
        )
    if metric == "uniform":
        tails = np.geomspace(1e-9, 0.5, 64)
        grid = np.unique(np.concatenate([np.linspace(0, 1, _POINTS), tails, 1 - tails]))
        return _largest_gap(f.bounds, g.bounds, grid, lambda alpha: Bounds.of(np.ones_like(alpha)))
    # The weights 1/(1 + e^eps) of the profiles fall with eps as these do.
    grid = np.linspace(-_FARTHEST, _FARTHEST, 4 * _POINTS)
    inner = _largest_gap(f.bounds.delta, g.bounds.delta, grid, lambda epsilon: 1 / (1 + exp(epsilon)))
    # Outside: to the right the weight is below e^-40, to the left both profiles are within e^-40 of 1.
    return maximum(inner, Bounds(0.0, float(exp(-_FARTHEST).upper)))


def _vertices(f: TradeOff) -> tuple[Sequence[Point], Sequence[Point]] | None:
    """Return the vertices of a polygon below and of one above a curve of finitely many lines."""
    if isinstance(f, PiecewiseLinear):
        return f.vertices, f.vertices
    if approximate(f) is None:
        return None
    low, high = ([(v.alpha[side], v.beta[side]) for v in vertices_of(f) or ()] for side in (0, 1))
    return low, high


def _at_vertices(one: Sequence[Point], two: Sequence[Point], metric: Metric) -> Fraction:
    """Return the distance of two polygons: the difference is linear between vertices.

    That of Levy moves along alpha - beta = u: half the difference of alpha + beta as a function of u.
    """
    sides: list[tuple[Any, Any]] = []
    for vertices in (one, two):
        points = set(vertices)
        if metric == "levy":
            ends = (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))
            points = {(a - b, (a + b) / 2) for a, b in (*vertices, *ends)}
        x, y = (np.array(v, dtype=object) for v in zip(*sorted(points), strict=True))
        sides.append((x, y))
    at = np.concatenate([x for x, _ in sides])
    return Fraction(max(abs(interpolate(at, *sides[0]) - interpolate(at, *sides[1]))))


def _largest_gap(
    f: Callable[[Array], Bounds[Array]],
    g: Callable[[Array], Bounds[Array]],
    grid: Array,
    weigh: Callable[[Array], Bounds[Array]],
) -> Bounds[float]:
    """Bound sup |f - g| of weighed functions that fall: in a cell it is at most a difference of ends."""
    fresh, grid = grid, np.empty(0)
    mine = theirs = Bounds.of(grid)
    for _ in range(_ROUNDS):
        order = np.argsort(np.append(grid, fresh))
        grid = np.append(grid, fresh)[order]
        mine, theirs = (
            Bounds(*(np.append(old, new)[order] for old, new in zip(known, ask(fresh), strict=True)))
            for known, ask in ((mine, f), (theirs, g))
        )
        gap = (mine - theirs) * weigh(grid)
        low = max(0.0, float(np.max(gap.lower)), float(np.max(-gap.upper)))
        over, under = (Bounds.of(a.upper[:-1]) - b.lower[1:] for a, b in ((mine, theirs), (theirs, mine)))
        cell = (maximum(over, under, 0.0) * weigh(grid[:-1])).upper
        open_ = np.flatnonzero(cell > low + _CLOSE + 1e-3 * low)
        fresh = np.setdiff1d((grid[open_] + grid[open_ + 1]) / 2, grid)
        if len(fresh) == 0 or len(grid) > _MAX_POINTS:
            break
    return Bounds(low, min(1.0, float(np.max(cell))))
