"""Safe roots of monotone functions, many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tradeoff.numerics.rounding import Array

_HALVINGS = 120
_FARTHEST = 1e18


def straddle(function: Callable[[Array], Array], level: Array, start: float = 1.0) -> tuple[Array, Array]:
    """Find neighbouring points where a decreasing function is above ``level`` and not above it.

    Parameters
    ----------
    function
        Decreasing up to rounding; called with arrays shaped like ``level``.
    level
        Levels to cross.
    start
        First half-width of the search, doubled until the level is crossed.

    Returns
    -------
    tuple of arrays
        ``above`` with function(above) > level, or -inf; ``at_most`` with function(at_most) <= level, or +inf.
        Both were evaluated, so they hold whatever the function does between.
    """
    low, high = np.full(level.shape, -start), np.full(level.shape, start)
    for _ in range(70):
        grow_low, grow_high = function(low) <= level, function(high) > level
        if not (grow_low.any() or grow_high.any()) or np.max(np.abs([low, high])) > _FARTHEST:
            break
        low, high = np.where(grow_low, 2 * low, low), np.where(grow_high, 2 * high, high)
    low = np.where(function(low) > level, low, -np.inf)
    high = np.where(function(high) <= level, high, np.inf)
    return _halve(function, level, low, high)


def _halve(function: Callable[[Array], Array], level: Array, low: Array, high: Array) -> tuple[Array, Array]:
    both = np.isfinite(low) & np.isfinite(high)
    for _ in range(_HALVINGS):
        middle = np.where(both, (low + high) / 2, 0.0)
        moving = both & (middle > low) & (middle < high)
        if not moving.any():
            break
        above = function(middle) > level
        low, high = np.where(moving & above, middle, low), np.where(moving & ~above, middle, high)
    return low, high
