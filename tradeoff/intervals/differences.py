"""Ratios of differences of floats to full accuracy, also near 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tradeoff.balls import log, log1p, middle, to_ball
from tradeoff.intervals.rounding import Array

# Floats below it, or differences of them, may be subnormal. Above it the error of a difference, 2^-1074, is
# relatively below 16 squares of a unit.
_SMALL = 1e-280


def two_difference(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a - b and its exact rounding error (Knuth's TwoSum); zero for arrays of fractions."""
    result = a - b
    taken = result - a
    return result, (a - (result - taken)) - (b + taken)


def log_ratio(p_ends: tuple[Array, Array], q_ends: tuple[Array, Array]) -> Array:
    """Return log(q/p), p = p_ends[0] - p_ends[1] > 0, q likewise, to 8 units of itself and 16 of a unit.

    Where q is near p it is log1p((q - p)/p): q - p is taken from the differences and their rounding, each
    exact, so it errs by at most one unit of itself and 4 UNIT^2 (p + q). Elsewhere |log(q/p)| is above 0.69,
    and an error of 3 units of the quotient is 5 units of it; so are those of log q and log p, each up to 745,
    where the quotient over- or underflows and |log(q/p)| is above 700.
    """
    (p, p_off), (q, q_off) = two_difference(*p_ends), two_difference(*q_ends)
    excess, off = two_difference(q, p)
    fractions = p, q
    p, q, excess = (np.asarray(each, dtype=float) for each in (p, q, excess + (off + (q_off - p_off))))
    with np.errstate(all="ignore"):  # subnormal fractions are computed below
        ratio, change = q / p, excess / p
        near = np.abs(change) < 0.5
        close = np.log1p(np.where(near, change, 0.0))
        far = np.where((ratio > 1e-300) & (ratio < 1e300), np.log(ratio), np.log(q) - np.log(p))
    result = np.where(near, close, far)
    for i in np.flatnonzero((p < _SMALL) | (q < _SMALL)) if fractions[0].dtype == object else ():
        result[i] = _log(fractions[1][i] / fractions[0][i])
    return result


def logarithm(x: Array) -> Array:
    """Return log x for x > 0, to UNIT (1 + 2 |log x|); of fractions too small for a normal float, too."""
    floats = np.asarray(x, dtype=float)
    with np.errstate(divide="ignore"):
        result: Array = np.log(floats)
    for i in np.flatnonzero(floats < _SMALL) if x.dtype == object else ():
        result[i] = _log(x[i])
    return result


def _log(x: Fraction) -> float:
    """Return log x of a fraction of any size, to a unit of itself."""
    near = Fraction(1, 2) < x < 2
    return float(middle(log1p(to_ball(x - 1)) if near else log(to_ball(x))))


def position_slack(edges: Array, error: Array) -> Array:
    """Return the relative slack of cells [a, b] whose edges err by e: 2 (e_a + e_b)/(b - a), at most 1."""
    width = np.diff(edges)
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = 2 * (error[:-1] + error[1:]) / width
    return np.where(width > 0, np.minimum(slack, 1.0), 0.0)
