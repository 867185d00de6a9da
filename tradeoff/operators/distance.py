"""Distances between curves, from both sides."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import choice
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import UNIT

Metric = Literal["uniform", "levy"]
_POINTS, _ROUNDS = 257, 10


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
        Lower and upper bound, about 1e-4 apart for closed forms.
    """
    choice("metric", metric, get_args(Metric))
    if operand(f) == operand(g):
        return Bounds(0.0, 0.0)
    return _uniform(f, g) if metric == "uniform" else _levy(f, g)


def _uniform(f: TradeOff, g: TradeOff) -> Bounds[float]:
    """Both fall, so between neighbours |f - g| is at most the larger of f(a) - g(b) and g(a) - f(b)."""
    tails = np.geomspace(1e-9, 0.5, 64)
    grid = np.unique(np.concatenate([np.linspace(0, 1, _POINTS), tails, 1 - tails]))
    for _ in range(_ROUNDS):
        mine, theirs = f.bounds(grid), g.bounds(grid)
        low = float(max(0.0, np.max(np.maximum(mine.lower - theirs.upper, theirs.lower - mine.upper))))
        cell = np.maximum(mine.upper[:-1] - theirs.lower[1:], theirs.upper[:-1] - mine.lower[1:])
        open_ = np.flatnonzero(cell > low + 1e-7 + 1e-3 * low)
        if len(open_) == 0 or len(grid) > 20_000:
            break
        grid = np.unique(np.concatenate([grid, (grid[open_] + grid[open_ + 1]) / 2]))
    return Bounds(low * (1 - 4 * UNIT), min(1.0, float(np.max(cell)) + 4 * UNIT))


def _levy(f: TradeOff, g: TradeOff) -> Bounds[float]:
    """Weigh the profiles by 1/(1 + e^eps): both fall with eps, so cells are bounded by their ends."""
    grid = np.linspace(-40.0, 40.0, 4 * _POINTS)
    for _ in range(_ROUNDS):
        mine, theirs = f.bounds.delta(grid), g.bounds.delta(grid)
        weight = 1 / (1 + np.exp(grid))
        low = float(
            max(0.0, np.max(weight * np.maximum(mine.lower - theirs.upper, theirs.lower - mine.upper)))
        )
        gap = np.maximum(mine.upper[:-1] - theirs.lower[1:], theirs.upper[:-1] - mine.lower[1:])
        cell = weight[:-1] * np.maximum(gap, 0.0)
        open_ = np.flatnonzero(cell > low + 1e-7 + 1e-3 * low)
        if len(open_) == 0 or len(grid) > 20_000:
            break
        grid = np.unique(np.concatenate([grid, (grid[open_] + grid[open_ + 1]) / 2]))
    # Outside: to the right the weight is below e^-40, to the left both profiles are within e^-40 of 1.
    return Bounds(low * (1 - 16 * UNIT), min(1.0, max(float(np.max(cell)) * (1 + 8 * UNIT), 5e-18)))
