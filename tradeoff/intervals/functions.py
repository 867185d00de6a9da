"""Elementary functions of bounds, each with the error of NumPy's charged outward, and sums of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce
from math import inf
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.intervals.bounds import Array, Bounds, make_bounds, sides_of


def exp(x: Bounds | ArrayLike) -> Bounds:
    """Bound e^x; e^0 is 1 to the last bit."""
    return _increasing(np.exp, x, fixed=(0.0, 1.0), least=0.0)


def expm1(x: Bounds | ArrayLike) -> Bounds:
    """Bound e^x - 1."""
    return _increasing(np.expm1, x, fixed=(0.0, 0.0), least=-1.0)


def log(x: Bounds | ArrayLike) -> Bounds:
    """Bound log x for x >= 0; log 0 is -inf, and bounds below 0 count as 0."""
    return _increasing(np.log, x, fixed=(1.0, 0.0), start=0.0)


def log1p(x: Bounds | ArrayLike) -> Bounds:
    """Bound log(1 + x) for x >= -1; bounds below -1 count as -1."""
    return _increasing(np.log1p, x, fixed=(0.0, 0.0), start=-1.0)


def sqrt(x: Bounds | ArrayLike) -> Bounds:
    """Bound the square root, which is correctly rounded; bounds below 0 count as 0."""
    ends = [
        np.where((end == 0) | (end == 1) | (end == inf), np.sqrt(end), np.nextafter(np.sqrt(end), toward))
        for end, toward in zip(sides_of(maximum(x, 0.0)), (-inf, inf), strict=True)
    ]
    return make_bounds(*ends)


def minimum(*each: Bounds | ArrayLike) -> Bounds:
    """Bound the least of several numbers."""
    return make_bounds(*(reduce(np.minimum, side) for side in zip(*map(sides_of, each), strict=True)))


def maximum(*each: Bounds | ArrayLike) -> Bounds:
    """Bound the greatest of several numbers."""
    return make_bounds(*(reduce(np.maximum, side) for side in zip(*map(sides_of, each), strict=True)))


def clip(x: Bounds | ArrayLike, low: float, high: float) -> Bounds:
    """Intersect bounds with [low, high]."""
    lower, upper = sides_of(x)  # ``np.clip`` is five times as slow for one number
    return make_bounds(np.minimum(np.maximum(lower, low), high), np.minimum(np.maximum(upper, low), high))


def where(condition: ArrayLike, x: Bounds | ArrayLike, y: Bounds | ArrayLike) -> Bounds:
    """Return x where the condition holds, else y."""
    x, y = Bounds.of(x), Bounds.of(y)
    return make_bounds(np.where(condition, x.lower, y.lower), np.where(condition, x.upper, y.upper))


def meet(*each: Bounds) -> Bounds:
    """Intersect several bounds on the same number."""
    lower, upper = zip(*map(sides_of, each), strict=True)
    return make_bounds(reduce(np.maximum, lower), reduce(np.minimum, upper))


def rational(x: Fraction | int) -> Bounds:
    """Bound a fraction or an integer of any size by the floats next to it; they coincide if it is a float."""
    return quotient(*x.as_integer_ratio())


def quotient(p: int, q: int) -> Bounds:
    """Bound p/q, q > 0, by the floats next to it; they coincide if it is a float."""
    try:
        near = p / q
    except OverflowError:
        return Bounds(float_info.max, inf) if p > 0 else Bounds(-inf, -float_info.max)
    n, d = near.as_integer_ratio()
    return Bounds(
        near if n * q <= p * d else math.nextafter(near, -inf),
        near if n * q >= p * d else math.nextafter(near, inf),
    )


def total(each: Bounds | Iterable[Bounds | float]) -> Bounds:
    """Bound the sum of scalars or of an array, in any order: one rounding in all (Shewchuk's exact sum)."""
    if isinstance(each, Bounds):
        lower, upper = (side.tolist() for side in sides_of(each))
    else:
        terms = [Bounds.of(term) for term in each]
        lower, upper = [float(x.lower) for x in terms], [float(x.upper) for x in terms]
    return Bounds(_sum_below(lower), -_sum_below(-x for x in upper))


def _sum_below(each: Iterable[float]) -> float:
    """Return the greatest float that is at most the sum; -inf where infinities cancel."""
    terms = list(each)
    if not all(map(math.isfinite, terms)):
        result = sum(terms)
        return -inf if math.isnan(result) else result
    try:
        result = math.fsum(terms)
    except OverflowError:
        return float(rational(sum(map(Fraction, terms), Fraction(0))).lower)
    # The sign of the error is that of the rounding.
    return result + 0.0 if math.fsum([*terms, -result]) >= 0 else math.nextafter(result, -inf)


def sum_rows(x: Bounds) -> Bounds:
    """Bound the sum of each row by pairwise summation, so that few roundings add up.

    >>> sum_rows(Bounds.of(np.array([[0.5, 0.25, 1.0]])))
    Bounds(lower=array([1.75]), upper=array([1.75]))
    """
    low, high = x
    while low.shape[-1] > 1:
        padding = [(0, 0)] * (low.ndim - 1) + [(0, low.shape[-1] % 2)]
        low, high = np.pad(low, padding), np.pad(high, padding)
        low, high = Bounds(low[..., ::2], high[..., ::2]) + Bounds(low[..., 1::2], high[..., 1::2])
    return make_bounds(low[..., 0], high[..., 0])


def function_error(value: Any) -> Any:
    """Bound the error of NumPy's exp, expm1, log and log1p where they return ``value``.

    Their kernels promise less than 4 ulps, at most 2^-50 of a number; a seventh of that is the worst that
    ball arithmetic has shown. Where results are subnormal, the next float is farther than their error.
    """
    return np.abs(value) * 2.0**-50


def _increasing(
    function: Callable[[Array], Array],
    x: Bounds | ArrayLike,
    *,
    fixed: tuple[float, float],
    start: float = -inf,
    least: float = -inf,
) -> Bounds:
    """Bound an increasing function >= ``least`` from ``start`` on, exact at ``fixed`` and at infinities.

    ``fixed`` is a place and the value there.
    """
    (low, high), (place, value) = sides_of(x), fixed
    with np.errstate(all="ignore"):
        if start > -inf:
            low, high = np.maximum(low, start), np.maximum(high, start)
        below = function(low)
        above = below if high is low else function(high)
        lower = np.maximum(np.nextafter(below - function_error(below), -inf), least)
        upper = np.nextafter(above + function_error(above), inf)
        is_finite = np.isfinite(low + high + below + above).all()
    if not is_finite:  # infinity is reached at infinity alone
        lower = np.where(np.isinf(below), np.minimum(below, float_info.max), lower)
        lower = np.where(np.isinf(low), below, lower)
        upper = np.where(np.isinf(above) | np.isinf(high), above, upper)
    return make_bounds(np.where(low == place, value, lower), np.where(high == place, value, upper))
