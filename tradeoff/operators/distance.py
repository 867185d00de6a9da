"""Distances between curves, from both sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import choice
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, maximum
from tradeoff.intervals.rounding import Array

Metric = Literal["uniform", "levy"]
_POINTS = 257  # points to begin with: cells are then halved where they are open
_ROUNDS = 10  # halvings, to a thousandth of a cell
_MOST = 20_000  # points after which what is known is reported: a second for closed forms
_CLOSE = 1e-7  # distance that nobody tells from none
_FARTHEST = 40.0  # loss at which a distance of profiles ends, as e^-40 is below every answer


def distance(f: TradeOff, g: TradeOff, *, metric: Metric = "uniform") -> Bounds[float]:
    """Distance between two curves, held from both sides.

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
        Lower and upper bound in [0, 1], about 1e-4 apart for closed forms.

    Examples
    --------
    >>> from tradeoff import Gaussian, Identity
    >>> round(distance(Gaussian(1), Identity(), metric="levy").upper, 3)  # half of the total variation
    0.192
    """
    choice("metric", metric, get_args(Metric))
    if operand(f) == operand(g):
        return Bounds(0.0, 0.0)
    return _uniform(f, g) if metric == "uniform" else _levy(f, g)


def _uniform(f: TradeOff, g: TradeOff) -> Bounds[float]:
    tails = np.geomspace(1e-9, 0.5, 64)
    grid = np.unique(np.concatenate([np.linspace(0, 1, _POINTS), tails, 1 - tails]))
    return _largest(f.bounds, g.bounds, grid, lambda alpha: Bounds.of(np.ones_like(alpha)))


def _levy(f: TradeOff, g: TradeOff) -> Bounds[float]:
    """Weigh the profiles by 1/(1 + e^eps), which falls with eps as they do."""
    grid = np.linspace(-_FARTHEST, _FARTHEST, 4 * _POINTS)
    found = _largest(f.bounds.delta, g.bounds.delta, grid, lambda epsilon: 1 / (1 + exp(epsilon)))
    # Outside: to the right the weight is below e^-40, to the left both profiles are within e^-40 of 1.
    return maximum(found, Bounds(0.0, float(exp(-_FARTHEST).upper)))


def _largest(
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
        if len(fresh) == 0 or len(grid) > _MOST:
            break
    return Bounds(low, min(1.0, float(np.max(cell))))
