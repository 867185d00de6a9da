"""Elementary functions of bounds, each with the error of NumPy's charged outward."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.intervals.bounds import Bounds, Kernel, Side, make_bounds, outward
from tradeoff.intervals.rounding import UNIT, Array

# Relative error by which a function of NumPy may miss. Its vectorised kernels promise less than 4 ulps, and
# 1.1 units is the worst that ball arithmetic has shown.
_SLACK = 8 * UNIT


def exp(x: Bounds | ArrayLike) -> Bounds:
    """Bound e^x; e^0 is 1 to the last bit."""
    return _increasing(np.exp, x, fixed=(0.0, 1.0), least=0.0)


def expm1(x: Bounds | ArrayLike) -> Bounds:
    """Bound e^x - 1."""
    return _increasing(np.expm1, x, fixed=(0.0, 0.0), least=-1.0)


def log(x: Bounds | ArrayLike) -> Bounds:
    """Bound log x for x >= 0; log 0 is -inf, and bounds below 0 count as 0."""
    return _increasing(np.log, maximum(x, 0.0), fixed=(1.0, 0.0))


def log1p(x: Bounds | ArrayLike) -> Bounds:
    """Bound log(1 + x) for x >= -1; bounds below -1 count as -1."""
    return _increasing(np.log1p, maximum(x, -1.0), fixed=(0.0, 0.0))


def sqrt(x: Bounds | ArrayLike) -> Bounds:
    """Bound the square root, which is correctly rounded; bounds below 0 count as 0."""
    return outward(_roots, maximum(x, 0.0))


def _roots(kernel: Kernel, *ends: Side) -> Bounds:
    """Round correctly rounded roots outward; those of 0, 1 and infinity are exact."""
    result = []
    for x, toward in zip(ends, (-inf, inf), strict=True):
        root = kernel.asarray(np.sqrt(x))
        result.append(kernel.where((x == 0) | (x == 1) | (x == inf), root, kernel.nextafter(root, toward)))
    return make_bounds(*result)


def minimum(*each: Bounds | ArrayLike) -> Bounds:
    """Bound the least of several numbers."""
    return outward(lambda by, *sides: _reduced(by.minimum, by.minimum, sides), *map(Bounds.of, each))


def maximum(*each: Bounds | ArrayLike) -> Bounds:
    """Bound the greatest of several numbers."""
    return outward(lambda by, *sides: _reduced(by.maximum, by.maximum, sides), *map(Bounds.of, each))


def clip(x: Bounds | ArrayLike, low: float, high: float) -> Bounds:
    """Intersect bounds with [low, high]."""
    return outward(
        lambda by, *ends: make_bounds(*(by.minimum(by.maximum(end, low), high) for end in ends)), Bounds.of(x)
    )


def where(condition: ArrayLike, x: Bounds | ArrayLike, y: Bounds | ArrayLike) -> Bounds:
    """Choose entry by entry."""
    x, y = Bounds.of(x), Bounds.of(y)
    return make_bounds(np.where(condition, x.lower, y.lower), np.where(condition, x.upper, y.upper))


def meet(*each: Bounds) -> Bounds:
    """Bound one number that several formulas bound: all are right, and the narrowest side is taken."""
    return outward(lambda by, *sides: _reduced(by.maximum, by.minimum, sides), *each)


def _reduced(lower: Callable[..., Side], upper: Callable[..., Side], sides: Sequence[Side]) -> Bounds:
    return make_bounds(reduce(lower, sides[::2]), reduce(upper, sides[1::2]))


def whole(n: int) -> Bounds:
    """Bound an integer of any size by floats."""
    return rational(Fraction(n))


def rational(x: Fraction) -> Bounds:
    """Bound a fraction by the floats next to it, which are one where it is a float."""
    return quotient(*x.as_integer_ratio())


def quotient(p: int, q: int) -> Bounds:
    """Bound p/q, q > 0, by the floats next to it, which are one where it is a float."""
    try:
        near = p / q
    except OverflowError:
        return Bounds(float(np.finfo(float).max), inf) if p > 0 else Bounds(-inf, float(np.finfo(float).min))
    n, d = near.as_integer_ratio()
    return Bounds(
        near if n * q <= p * d else math.nextafter(near, -inf),
        near if n * q >= p * d else math.nextafter(near, inf),
    )


def log_quotient(q: Fraction, p: Fraction) -> Bounds:
    """Bound log(q/p) of two positive fractions, however near to 1 or far from it their ratio is."""
    if abs(q - p) < p / 2:
        return log1p(rational((q - p) / p))
    ratio = q / p
    power = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return log(rational(ratio / Fraction(2) ** power)) + power * log(2.0)


def total(each: Iterable[Bounds | float]) -> Bounds:
    """Bound the sum of scalars, in any order: one rounding in all (Shewchuk's exact sum)."""
    terms = [Bounds.of(term) for term in each]
    return make_bounds(
        *(_exact_sum([float(getattr(x, side)) for x in terms], side) for side in ("lower", "upper"))
    )


def _exact_sum(terms: list[float], side: str) -> float:
    if not all(map(math.isfinite, terms)):
        result = sum(terms)
        return result if not math.isnan(result) else (-inf if side == "lower" else inf)
    try:
        result = math.fsum(terms)
    except OverflowError:
        return float(getattr(rational(sum(map(Fraction, terms), Fraction(0))), side))
    error = math.fsum([*terms, -result])  # its sign is that of the rounding
    if side == "lower":
        return result if error >= 0 else math.nextafter(result, -inf)
    return result if error <= 0 else math.nextafter(result, inf)


def _increasing(
    function: Callable[[Array], Array],
    x: Bounds | ArrayLike,
    *,
    fixed: tuple[float, float],
    least: float = -inf,
) -> Bounds:
    """Bound an increasing function >= ``least``; at ``fixed`` and at the ends of its domain it is exact."""
    place, value = fixed

    def bound(kernel: Kernel, low: Side, high: Side) -> Bounds:
        with np.errstate(all="ignore"):
            below = kernel.asarray(function(low))
            above = below if high is low else kernel.asarray(function(high))
        lower = kernel.maximum(kernel.nextafter(below - abs(below) * _SLACK, -inf), least)
        lower = kernel.where(abs(below) == inf, kernel.minimum(below, _MOST), lower)
        lower = kernel.where(abs(low) == inf, below, lower)  # infinity is reached at infinity alone
        upper = kernel.nextafter(above + abs(above) * _SLACK, inf)
        upper = kernel.where((abs(above) == inf) | (abs(high) == inf), above, upper)
        return make_bounds(
            kernel.where(low == place, value, lower), kernel.where(high == place, value, upper)
        )

    return outward(bound, Bounds.of(x))


_MOST = float(np.finfo(float).max)  # the greatest float, below every number that overflows
