"""Arrays of floats, and directed rounding by the standards of IEEE 754 and NumPy: no rounding is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Complex = NDArray[np.complex128]


def round_down(value: Array, exact: Any) -> Array:
    """Return the float below a value rounded to nearest; a 0 has the sign of the truth, and NaN no bound."""
    exact = exact | ((value == 0) & ~np.signbit(value))
    rounded = np.where(exact, value, np.nextafter(value, -np.inf))
    return np.where(np.isnan(value), -np.inf, rounded)


@np.errstate(all="ignore")
def add_down(x: Array, y: Array) -> Array:
    """Return the greatest float <= x + y: the error of a rounded sum is a float (Knuth's TwoSum)."""
    total = x + y
    share = total - x
    error = (x - (total - share)) + (y - share)
    return round_down(total, (error >= 0) | np.isinf(x) | np.isinf(y))


def function_error(value: Any) -> Any:
    """Bound the error of NumPy's exp, expm1, log and log1p where they return ``value``.

    Their kernels promise less than 4 ulps, at most 2^-50 of a number; a seventh of that is the worst that
    ball arithmetic has shown. Where results are subnormal, the next float is farther than their error.
    """
    return np.abs(value) * 2.0**-50
