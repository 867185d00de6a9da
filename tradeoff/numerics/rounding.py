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
