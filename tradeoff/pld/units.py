"""Rounding counted in units of 2^-53, relative (UNIT, also ulp), for the engines alone.

A computed value times ``1 + ulps * UNIT`` is above the truth, and times ``1 - ulps * UNIT`` below it, where
``ulps`` counts the roundings behind it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.balls import log_quotient, lower_float
from tradeoff.intervals.bounds import Array, Bounds

UNIT = 2.0**-53  # half a unit in the last place of 1.0: the relative error of one rounded operation
TINY = 5e-324  # the least positive float: absolute slack that covers underflow

# Above the loss of sixteen products and conversions of subnormal numbers, each half of the least float: more
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


def fft_error(size: int) -> float:
    """Return the error of one transform, relative to the 1-norm of its input, for every output.

    Stage by stage as in Higham, Accuracy and Stability of Numerical Algorithms, Theorem 24.2: relative to the
    2-norm of all outputs, and for each output path by path relative to the 1-norm of the input. SciPy
    multiplies two table entries for a twiddle, each known to 2.4 units (1.6 for its angle of at most pi/4,
    0.8 for sine and cosine), so it errs by 2 * 2.4 + 2 sqrt(2) < 8 units and its product with a number by 2
    sqrt(2) more. A stage of radix 4 is one such product and two additions, each sqrt(2) units: 13.7, or 6.9 a
    factor of 2. Lengths other than powers of 4 take one stage of radix 2, 12.3. For N >= 32 that is at most
    7.9 log2 N in all.
    """
    return 8 * max(1.0, math.log2(size)) * UNIT


def two_difference(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a - b and its exact rounding error (Knuth's TwoSum)."""
    result = a - b
    taken = result - a
    return result, (a - (result - taken)) - (b + taken)


def log_ratio(p_ends: tuple[Array, Array], q_ends: tuple[Array, Array]) -> Array:
    """Return L = log(q/p), p = p_ends[0] - p_ends[1] > 0, q likewise, to UNIT (8 |L| + 16 UNIT).

    For p/2 < q < 3p/2 it is log1p((q - p)/p): q - p is taken from the differences and their rounding, each
    exact, so it errs by at most UNIT |q - p| + 4 UNIT^2 (p + q). Elsewhere q/p errs by 3 units, 5 units of
    |L| > 0.69; or for q < 2p by 2.5, as m 2^k is rounded by 1/m units, 7 units of |L| > 0.4. Where q/p over-
    or underflows, |L| > 690 and log q, log p are up to 745. Fractions are subtracted exactly.
    """
    if p_ends[0].dtype == object:
        return _log_quotients(q_ends[0] - q_ends[1], p_ends[0] - p_ends[1])
    (p, p_off), (q, q_off) = two_difference(*p_ends), two_difference(*q_ends)
    excess, off = two_difference(q, p)
    with np.errstate(all="ignore"):
        ratio, change = q / p, (excess + (off + (q_off - p_off))) / p
        near = np.abs(change) < 0.5
        close = np.log1p(np.where(near, change, 0.0))
        far = np.where((ratio > 1e-300) & (ratio < 1e300), np.log(ratio), np.log(q) - np.log(p))
    return np.where(near, close, far)


def logarithm(x: Array) -> Array:
    """Return log x for x > 0, to UNIT (1 + 2 |log x|)."""
    with np.errstate(divide="ignore"):
        return _log_quotients(x, np.ones_like(x)) if x.dtype == object else np.log(x)


def _log_quotients(q: Array, p: Array) -> Array:
    """Return log(q/p) of arrays of fractions of any size, to a unit."""
    return np.array([lower_float(log_quotient(Fraction(b), Fraction(a))) for a, b in zip(p, q, strict=True)])


def position_slack(edges: Array, error: Array) -> Array:
    """Return the relative error of cells [a, b] whose edges err by e: 2 (e_a + e_b)/(b - a), at most 1."""
    width = np.diff(edges)
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = 2 * (error[:-1] + error[1:]) / width
    return np.where(width > 0, np.minimum(slack, 1.0), 0.0)


def bound_product(left: Array, right: Array) -> Bounds[Array]:
    """Bound a product of two matrices: sums of n products err by n units of those of absolute values.

    In any order of the sums (Higham 2002, Section 4.2); two units more cover the rounding of the bound
    itself.
    """
    off = Bounds.of((left.shape[1] + 2) * UNIT * (np.abs(left) @ np.abs(right)))
    value = left @ right
    return Bounds((value - off).lower, (value + off).upper)
