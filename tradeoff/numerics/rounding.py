"""Directed rounding: widen a float by a stated number of units in the last place.

The trusted base of the library is a few-ulp model of each special function; a computed value times
``1 + ulps * UNIT`` is then above the truth, and times ``1 - ulps * UNIT`` below it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]

UNIT = 2.0**-53
"""Half a unit in the last place of 1.0: the relative error of one rounded operation."""

TINY = 5e-324
"""The least positive float: absolute slack that covers underflow."""


def up(x: ArrayLike, ulps: ArrayLike = 4) -> Array:
    """Return a float at or above every number within ``ulps`` units of ``x``."""
    x = np.asarray(x, dtype=float)
    return np.asarray(np.nextafter(x + np.abs(x) * (np.asarray(ulps) * UNIT), np.inf))


def down(x: ArrayLike, ulps: ArrayLike = 4) -> Array:
    """Return a float at or below every number within ``ulps`` units of ``x``."""
    return -up(-np.asarray(x, dtype=float), ulps)


def around(x: ArrayLike, ulps: ArrayLike = 8) -> tuple[Array, Array]:
    """Return (down, up): an interval that holds every number within ``ulps`` units of ``x``."""
    return down(x, ulps), up(x, ulps)


def two_difference(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a - b as a float and what rounding took off it, exactly (Knuth's TwoSum); zero for arrays of fractions."""
    found = a - b
    taken = found - a
    return found, (a - (found - taken)) - (b + taken)


def log_ratio(p_ends: tuple[Array, Array], q_ends: tuple[Array, Array]) -> Array:
    """Return log(q/p) of positive p = p_ends[0] - p_ends[1] and q likewise, to 8 units of itself and 16 units of a unit.

    Where q is near p it is log1p((q - p)/p): q - p is taken from the differences and their rounding, each known exactly, so it
    errs by at most 4 UNIT^2 (p + q) beside one unit of itself. Elsewhere |log(q/p)| is above 0.69 and a quotient known to
    3 units is 5 units of it; so are log q and log p, each up to 745, where the quotient is no float and |log(q/p)| above 700.
    """
    (p, p_off), (q, q_off) = two_difference(*p_ends), two_difference(*q_ends)
    excess, off = two_difference(q, p)
    p, q, excess = (np.asarray(each, dtype=float) for each in (p, q, excess + (off + (q_off - p_off))))
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        ratio, change = q / p, excess / p
        near = np.abs(change) < 0.5
        close = np.log1p(np.where(near, change, 0.0))
        far = np.where((ratio > 1e-300) & (ratio < 1e300), np.log(ratio), np.log(q) - np.log(p))
    return np.where(near, close, far)
