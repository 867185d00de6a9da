"""Remainders of e^x after its first terms, and sums of exponentials, for small divergences."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.intervals.bounds import Bounds, make_bounds
from tradeoff.intervals.functions import exp, expm1, log, log1p, where
from tradeoff.intervals.rounding import TINY, Array, down, up

# Units by which ``above_line`` may miss. Up to 1/2 a series of terms of a few units each, whose alternating
# sum is at least 0.8 of the largest; elsewhere expm1 errs by 8 units, and is less than 5 times the difference
# that is left of it.
_UNITS = 64

_LARGEST = 700.0  # e^700 is a float


def above_line(x: Array) -> Array:
    """Return e^x - 1 - x, near zero by its series."""
    small = np.clip(x, -0.5, 0.5)
    term, series = small**2 / 2, np.zeros_like(x)
    for k in range(3, 18):
        series = series + term
        term = term * small / k
    return np.where(np.abs(x) <= 0.5, series, np.expm1(np.minimum(x, _LARGEST)) - x)


@np.errstate(over="ignore")
def raised(log_mass: Bounds, x: Bounds) -> Bounds:
    """Bound e^log_mass (e^x - 1 - x): far above 0, where e^x may be no float, by the sum of exponents.

    The remainder falls up to 0 and rises from there, so that its extremes lie at the ends, or at 0.
    """
    ends = [above_line(np.minimum(side, 1.0)) for side in x]
    least = np.where((x.lower <= 0) & (x.upper >= 0), 0.0, np.minimum(*ends))
    near = make_bounds(
        np.maximum(down(least, _UNITS) - 4 * TINY, 0.0), up(np.maximum(*ends), _UNITS) + 4 * TINY
    )  # squares below the normal floats
    mass = exp(log_mass)
    result = where(np.asarray(x.upper) > 1, exp(log_mass + x) - mass * (1 + x), mass * near)
    return make_bounds(np.maximum(result.lower, 0.0), result.upper)


def summed(each: Bounds) -> Bounds:
    """Bound the sum of the entries of an array: exact sums, rounded once (Shewchuk's)."""
    low, high = -_sum(-np.asarray(each.lower)), _sum(np.asarray(each.upper))
    return Bounds(math.nextafter(low, -math.inf), math.nextafter(high, math.inf))


def _sum(x: Array) -> float:
    try:
        return math.fsum(x.tolist())
    except (OverflowError, ValueError):  # sums or terms that overflow
        return math.inf


def log_expm1(x: Bounds | ArrayLike) -> Bounds:
    """Bound log(e^x - 1) for x >= 0."""
    x = Bounds.of(x)
    return where(np.asarray(x.upper) > 1, x + log(-expm1(-x)), log(expm1(x)))


def log_one_plus(logs: Bounds) -> Bounds:
    """Bound log(1 + sum e^t) of an array, where neither a small sum nor a large one loses digits."""
    low, high = (_one_plus(_log_sum(np.asarray(side))) for side in logs)  # it grows with every t
    return Bounds(low.lower, high.upper)


def _log_sum(t: Array) -> Bounds:
    top = float(np.max(t))
    return top + log(summed(exp(t - top))) if math.isfinite(top) else Bounds(top, top)


def _one_plus(t: Bounds) -> Bounds:
    return t + log1p(exp(-t)) if t.lower > 1 else log1p(exp(t))
