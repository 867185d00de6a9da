"""Directed rounding: widen a float by a stated number of units in the last place.

The trusted base of the library is a few-ulp model of each special function; a computed value times
``1 + ulps * UNIT`` is then above the truth, and times ``1 - ulps * UNIT`` below it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Complex = NDArray[np.complex128]

UNIT = 2.0**-53  # half a unit in the last place of 1.0: the relative error of one rounded operation
TINY = 5e-324  # the least positive float: absolute slack that covers underflow

# Above what sixteen products and conversions of subnormal numbers lose, each half of the least float: more
# than an answer is away from the masses it is made of.
SUBNORMAL = 8 * TINY


def up(x: ArrayLike, ulps: ArrayLike = 4) -> Array:
    """Return a float at or above every number within ``ulps`` units of ``x``."""
    x = np.asarray(x, dtype=float)
    return np.asarray(np.nextafter(x + np.abs(x) * (np.asarray(ulps) * UNIT), np.inf))


def down(x: ArrayLike, ulps: ArrayLike = 4) -> Array:
    """Return a float at or below every number within ``ulps`` units of ``x``."""
    return -up(-np.asarray(x, dtype=float), ulps)


def around(x: ArrayLike, ulps: ArrayLike = 8) -> tuple[Array, Array]:
    """Return (down, up), between which every number within ``ulps`` units of ``x`` lies."""
    return down(x, ulps), up(x, ulps)


def distance(low: Array, low_rest: Array, high: Array, high_rest: Array) -> Array:
    """Return high - low >= 0 from the smaller number, which is exact, of each pair that adds to 1."""
    across = (0.5 - low) + (0.5 - high_rest)
    result = np.where(high_rest >= 0.5, high - low, np.where(low_rest < 0.5, low_rest - high_rest, across))
    return np.maximum(result, 0.0)


def few_bits(step: float) -> float:
    """Return a step rounded down to 24 bits, of which 2^29 multiples are exact floats."""
    part, exponent = math.frexp(step)
    return math.ldexp(math.floor(math.ldexp(part, 24)), exponent - 24)
