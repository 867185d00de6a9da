"""Safe roots of monotone functions, many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tradeoff.intervals.rounding import TINY, Array

_HALVINGS = 120
"""Most points in a bracket: halves lead from 1e18 to neighbouring floats of 1e-18."""

_FARTHEST = 1e18
"""Arguments beyond are not searched: no loss, quantile or level asked here lies there."""

_TRUNCATED = 0.2
"""Share of a bracket, times what is left of the first one, by which its chord's zero is moved to the middle:
the next point lies beyond the root, and both ends come near."""


def bracket_root(
    function: Callable[[Array], Array], level: Array, *, farthest: float = _FARTHEST
) -> tuple[Array, Array]:
    """Find neighbouring points where a decreasing function is above ``level`` and not above it.

    Parameters
    ----------
    function
        Decreasing up to rounding; called with arrays shaped like ``level``.
    level
        Levels to cross.
    farthest
        Where the search, from -1 and 1 outwards, gives up.

    Returns
    -------
    tuple of arrays
        ``above`` with function(above) > level, or -inf; ``at_most`` with function(at_most) <= level, or +inf.
        Both were evaluated, so they hold whatever the function does between.
    """
    low, high = np.full(level.shape, -1.0), np.full(level.shape, 1.0)
    for _ in range(70):
        grow_low, grow_high = function(low) <= level, function(high) > level
        if not (grow_low.any() or grow_high.any()) or np.max(np.abs([low, high])) > farthest:
            break
        low, high = np.where(grow_low, 2 * low, low), np.where(grow_high, 2 * high, high)
    at_low, at_high = function(low), function(high)
    low, high = np.where(at_low > level, low, -np.inf), np.where(at_high <= level, high, np.inf)
    return _narrow(function, level, low, high, at_low, at_high)


def bracket_sides(
    sides: Callable[[Array], Iterable[Array]], level: Array, *, farthest: float = _FARTHEST
) -> tuple[Array, Array]:
    """Bound the root of a decreasing function known from both sides, searched at once: calls cost most."""
    n = len(level)

    def nearer(x: Array) -> Array:
        low, high = sides(x)
        return np.append(low[:n], high[n:])

    above, at_most = bracket_root(nearer, np.tile(level, 2), farthest=farthest)
    return above[:n], at_most[n:]


def turned(sides: Callable[[Array], Iterable[Array]], level: Array) -> tuple[Array, Array]:
    """Bound inf{t in [0, 1] : f(t) <= level} of a decreasing function known from both sides."""
    low, high = bracket_sides(lambda t: sides(np.clip(t, 0.0, 1.0)), level)
    _, start = sides(np.zeros_like(level))
    return np.clip(low, 0.0, 1.0), np.where(start <= level, 0.0, np.clip(high, 0.0, 1.0))


def _narrow(
    function: Callable[[Array], Array], level: Array, low: Array, high: Array, at_low: Array, at_high: Array
) -> tuple[Array, Array]:
    """Interpolate, truncate and project (Oliveira, Takahashi 2021): at most a step more than halves take."""
    both = np.isfinite(low) & np.isfinite(high)
    a, b = np.where(both, low, 0.0), np.where(both, high, 0.0)
    first = np.maximum(b - a, TINY)
    fine = np.spacing(np.maximum(np.abs(a), np.abs(b)))
    halves = np.ceil(np.log2(first / fine + 1))
    for step in range(_HALVINGS):
        middle, width = (a + b) / 2, b - a
        moving = both & (middle > a) & (middle < b)
        if not moving.any():
            break
        off = (_chord(at_low, at_high, level) - 0.5) * width  # from the middle
        off -= np.sign(off) * np.minimum(np.abs(off), _TRUNCATED * width * (width / first))
        most = np.maximum(fine * np.exp2(halves - step) - width / 2, 0.0)
        trial = middle + np.clip(off, -most, most)
        x = np.where(moving, np.clip(trial, np.nextafter(a, np.inf), np.nextafter(b, -np.inf)), middle)
        found = function(x)
        above, below = moving & (found > level), moving & ~(found > level)
        a, at_low = np.where(above, x, a), np.where(above, found, at_low)
        b, at_high = np.where(below, x, b), np.where(below, found, at_high)
    return np.where(both, a, low), np.where(both, b, high)


def _chord(at_low: Array, at_high: Array, level: Array) -> Array:
    """Return the share of the way where a chord meets the level: of logarithms, where all are positive."""
    with np.errstate(all="ignore"):
        plain = (at_low - level) / (at_low - at_high)
        logs = np.log(at_low / level) / np.log(at_low / at_high)
    share = np.where((level > 0) & (at_high > 0), logs, plain)
    return np.where((share >= 0) & (share <= 1), share, 0.5)


def largest(holds: Callable[[float], bool], low: float, high: float, halvings: int = 50) -> float:
    """Return about the largest argument at which a statement holds that holds at ``low``, and there."""
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def find_root(function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-10) -> float:
    """Return about where an increasing function crosses 0 between two points, or the end nearest to it.

    Chandrupatla's method (1997): inverse quadratic steps where they can be trusted, halves elsewhere; about
    ten values. NaN counts as positive.
    """

    def value(x: float) -> float:
        y = function(x)
        return np.inf if np.isnan(y) else y

    a, b, f_a, f_b = high, low, value(high), value(low)
    if not f_b < 0 < f_a:
        return high if f_b < 0 else low
    c, f_c, t = a, f_a, 0.5
    for _ in range(_HALVINGS):
        x = a + t * (b - a)
        f_x = value(x)
        if (f_x < 0) == (f_a < 0):
            c, f_c = a, f_a
        else:
            c, f_c, b, f_b = b, f_b, a, f_a
        a, f_a = x, f_x
        if f_a == 0 or abs(b - a) <= 2 * tolerance:
            break
        with np.errstate(all="ignore"):
            t = _step(*map(np.float64, (a, b, c, f_a, f_b, f_c)))
        least = tolerance / abs(b - a)
        t = min(max(t, least), 1 - least)
    return a


def _step(
    a: np.float64, b: np.float64, c: np.float64, f_a: np.float64, f_b: np.float64, f_c: np.float64
) -> float:
    """Return the share of the way from a to b: inverse quadratic where it is monotone, else a half."""
    xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
    if not (phi**2 < xi and (1 - phi) ** 2 < 1 - xi):
        return 0.5
    return float(
        f_a / (f_b - f_a) * f_c / (f_b - f_c) + (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
    )
