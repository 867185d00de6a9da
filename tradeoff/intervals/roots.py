"""Roots of monotone functions, many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tradeoff.intervals.bounds import Array


def bracket_root(
    function: Callable[[Array], Array], level: Array, *, farthest: float = 1e18
) -> tuple[Array, Array]:
    """Find neighbouring points where a decreasing function is above each ``level`` and not above it.

    That is function(above) > level, or -inf, and function(at_most) <= level, or +inf. Both were evaluated, so
    they are valid whatever the function does in between; where it does not cross within reach, one is the
    farthest point evaluated. The search, from -1 and 1 outwards, gives up at ``farthest``: losses, quantiles
    and levels are smaller. Then Chandrupatla's method (1997), until no float is left between: halves, or
    inverse quadratic steps.
    """
    ends = []
    for start, outside in ((-1.0, np.less_equal), (1.0, np.greater)):
        x = np.full(level.shape, start)
        at = function(x)
        while (more := outside(at, level)).any() and np.max(np.abs(x)) <= min(farthest, 1e300):
            x = np.where(more, 2 * x, x)
            at = np.where(more, function(x), at)
        ends.append((x, at))
    (low, at_low), (high, at_high) = ends
    both = (at_low > level) & (at_high <= level)
    # The newest point a, the one b on the other side, and c, the one before; the next one is a + share (b -
    # a).
    a, b = np.where(both, low, 0.0), np.where(both, high, 0.0)
    f_a, f_b, above = _gap(at_low, level), _gap(at_high, level), np.ones(level.shape, dtype=bool)
    share = np.full(level.shape, 0.5)
    # Most points in a bracket: halves lead from 1e18 to neighbouring floats of 1e-18.
    for _ in range(120):
        left, right = np.minimum(a, b), np.maximum(a, b)
        inside = np.nextafter(left, np.inf), np.nextafter(right, -np.inf)
        moving = both & (inside[0] < right)
        if not moving.any():
            break
        unit = np.spacing(np.maximum(-left, right)) / np.where(moving, right - left, 1.0)
        least = np.sqrt(np.minimum(unit, 0.25))
        x = a + np.clip(share, least, 1 - least) * (b - a)
        x = np.where(moving, np.clip(x, *inside), a)
        result = function(x)
        f_x, over = _gap(result, level), np.where(moving, result > level, above)
        same = over == above
        c, f_c = np.where(same, a, b), np.where(same, f_a, f_b)
        b, f_b = np.where(same, b, a), np.where(same, f_b, f_a)
        a, f_a, above = x, f_x, over
        with np.errstate(all="ignore"):
            xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
            share = f_a / (f_b - f_a) * f_c / (f_b - f_c)
            share += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
            trusted = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(share)
        share = np.where(trusted, share, 0.5)
    crossing = np.where(above, a, b), np.where(above, b, a)
    return (
        np.where(both, crossing[0], np.where(at_high > level, high, np.where(at_low > level, low, -np.inf))),
        np.where(both, crossing[1], np.where(at_low <= level, low, np.where(at_high <= level, high, np.inf))),
    )


def bracket_sides(sides: Callable[[Array], Iterable[Array]], level: Array) -> tuple[Array, Array]:
    """Bound the root of a decreasing function that is known by ``sides``, its lower and upper bound."""
    n = len(level)

    def nearer(x: Array) -> Array:  # the root of the lower bound, and of the upper one, in the same calls
        low, high = sides(x)
        return np.append(low[:n], high[n:])

    above, at_most = bracket_root(nearer, np.tile(level, 2))
    return above[:n], at_most[n:]


def bound_inverse(sides: Callable[[Array], Iterable[Array]], level: Array) -> tuple[Array, Array]:
    """Bound inf{t in [0, 1] : f(t) <= level} of a decreasing function that is known by ``sides``."""
    low, high = bracket_sides(lambda t: sides(np.clip(t, 0.0, 1.0)), level)
    _, start = sides(np.zeros_like(level))
    return np.clip(low, 0.0, 1.0), np.where(start <= level, 0.0, np.clip(high, 0.0, 1.0))


def _gap(value: Array, level: Array) -> Array:
    """Return how far values are above a level, in logarithms if above a positive one: for the search only."""
    with np.errstate(all="ignore"):
        logs, plain = np.log(value / level), (value - level) / np.where(level > 0, level, 1.0)
    return np.where((level > 0) & (value > level), logs, plain)


def largest(condition: Callable[[float], bool], low: float, high: float, halvings: int = 50) -> float:
    """Return an argument near the largest at which a condition, true at ``low``, is true, and where it is."""
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if condition(middle) else (low, middle)
    return low


def find_root(function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-10) -> float:
    """Return about where an increasing function crosses 0 between two points, or the end nearest to it.

    NaN counts as positive.
    """

    def value(x: float) -> float:
        return float(np.nan_to_num(function(x), nan=1e300, posinf=1e300, neginf=-1e300))

    if value(high) <= 0:
        return high
    if value(low) >= 0:
        return low
    from scipy.optimize import brentq  # its import takes a third of a first answer

    return float(brentq(value, low, high, xtol=tolerance, maxiter=300, disp=False))
