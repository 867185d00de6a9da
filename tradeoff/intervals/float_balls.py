"""Balls in floats: midpoints and radii in NumPy arrays, for formulas at thousands of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import function_error

_LOST = 1e-322  # above the underflow in the products of one operation
_UNIT = 2.0**-53  # the relative error of a rounding
_INFLATION = 1 + 2.0**-40  # covers some thousand roundings of the radius itself


class FloatBalls:
    """Numbers within ``radius`` of ``middle``: arithmetic charges each rounding to the radius.

    A result that overflows is NaN or has an infinite radius.

    >>> third = FloatBalls.of(1.0) / 3
    >>> low, high = (third * 3 - 1).ends()
    >>> bool(low <= 0 <= high)
    True
    """

    __slots__ = ("middle", "radius")
    __array_ufunc__ = None  # so that NumPy leaves arithmetic to this class

    def __init__(self, middle: Any, radius: Any = 0.0) -> None:
        self.middle, self.radius = middle, radius

    @classmethod
    def of(cls, x: Any) -> FloatBalls:
        """Return balls of floats, integers below 2^53, bounds or a ball of python-flint."""
        if isinstance(x, FloatBalls):
            return x
        if isinstance(x, Bounds):
            middle = (x.lower + x.upper) / 2
            return cls(middle, np.maximum(x.upper - middle, middle - x.lower))
        if hasattr(x, "mid"):
            near = float(x.mid())
            return cls(near, np.nextafter(float(abs(x - near).upper()), np.inf))
        return cls(np.asarray(x, dtype=float))

    def ends(self) -> Pair:
        """Return floats below and above all numbers of each ball: a sum rounds by a unit of itself."""
        reach = np.where(self.radius == 0, 0.0, (self.radius + abs(self.middle) * _UNIT) * _INFLATION)
        return self.middle - reach, self.middle + reach

    def take(self, k: Any) -> FloatBalls:
        """Return the balls with these indices."""
        return FloatBalls(self.middle[k], self.radius[k] if np.ndim(self.radius) else self.radius)

    def __neg__(self) -> FloatBalls:
        return FloatBalls(-self.middle, self.radius)

    def __add__(self, other: Any) -> FloatBalls:
        """Return the sum; its rounding is known exactly (Knuth's TwoSum)."""
        y = FloatBalls.of(other)
        a, b = self.middle, y.middle
        middle = a + b
        part = middle - a
        return FloatBalls(middle, self.radius + y.radius + abs((a - (middle - part)) + (b - part)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> FloatBalls:
        return self + -FloatBalls.of(other)

    def __rsub__(self, other: Any) -> FloatBalls:
        return FloatBalls.of(other) + -self

    def __mul__(self, other: Any) -> FloatBalls:
        y = FloatBalls.of(other)
        size = abs(y.middle)
        radius = abs(self.middle) * (size * _UNIT + _LOST + y.radius)  # with that of the rounding
        return FloatBalls(self.middle * y.middle, radius + ((size + y.radius) * self.radius + _LOST))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> FloatBalls:
        """Return the quotient: |a'/b' - a/b| <= (r_a + |a/b| r_b)/(|b| - r_b)."""
        y = FloatBalls.of(other)
        middle, least = self.middle / y.middle, np.maximum(abs(y.middle) - y.radius * _INFLATION, 0.0)
        size = abs(middle) + _LOST  # a quotient that underflows, times r_b/(|b| - r_b), may be a float
        return FloatBalls(middle, size * (y.radius / least + _UNIT) + (self.radius / least + _LOST))

    def __rtruediv__(self, other: Any) -> FloatBalls:
        return FloatBalls.of(other).__truediv__(self)

    def __pow__(self, n: int) -> FloatBalls:
        """Return the square."""
        assert n == 2  # noqa: S101 - no formula has another power
        return self * self


def exp(x: FloatBalls) -> FloatBalls:
    """Return e^x; if |x' - x| <= r, then |e^x' - e^x| <= e^x (e^r - 1)."""
    middle = np.exp(x.middle)
    spread = (middle + _LOST) * np.expm1(x.radius)  # e^x that underflows, times e^r, may be a float
    return FloatBalls(middle, spread + function_error(middle) * (x.middle != 0) + _LOST)


def expm1(x: FloatBalls) -> FloatBalls:
    """Return e^x - 1 with the error bound of ``exp``."""
    middle = np.expm1(x.middle)
    return FloatBalls(middle, np.exp(x.middle) * np.expm1(x.radius) + function_error(middle) + _LOST)


def log(x: FloatBalls) -> FloatBalls:
    """Return log x; if |x' - x| <= r, then |log x' - log x| <= -log(1 - r/x)."""
    middle = np.log(x.middle)
    return FloatBalls(middle, -np.log1p(-x.radius * _INFLATION / x.middle) + function_error(middle) + _LOST)


def log1p(x: FloatBalls) -> FloatBalls:
    """Return log(1 + x); if |x' - x| <= r, then |log(1 + x') - log(1 + x)| <= -log(1 - r/(1 + x))."""
    middle, inflated = np.log1p(x.middle), x.radius * _INFLATION  # by more than 1 + x is rounded
    return FloatBalls(middle, -np.log1p(-inflated / (1 + x.middle)) + function_error(middle) + _LOST)


def sqrt(x: FloatBalls) -> FloatBalls:
    """Return the square root; if |x' - x| <= r, then |sqrt x' - sqrt x| <= r/sqrt x."""
    middle = np.sqrt(x.middle)
    return FloatBalls(middle, x.radius / middle + np.spacing(middle) / 2)


def where(condition: Any, x: Any, y: Any) -> FloatBalls:
    """Return x where the condition holds, else y."""
    x, y = FloatBalls.of(x), FloatBalls.of(y)
    return FloatBalls(np.where(condition, x.middle, y.middle), np.where(condition, x.radius, y.radius))


def maximum(x: Any, y: Any) -> FloatBalls:
    """Return the larger number, which changes by no more than the arguments."""
    x, y = FloatBalls.of(x), FloatBalls.of(y)
    gap = x.middle - y.middle
    radius = np.where(gap >= 0, x.radius, y.radius)
    if not (is_sure := abs(gap) >= (x.radius + y.radius) * _INFLATION).all():
        radius = np.where(is_sure, radius, np.maximum(x.radius, y.radius))
    return FloatBalls(np.maximum(x.middle, y.middle), radius)


def minimum(x: Any, y: Any) -> FloatBalls:
    """Return the smaller number."""
    return -maximum(-FloatBalls.of(x), -FloatBalls.of(y))


def choose(gap: FloatBalls, first: Any, second: Any) -> FloatBalls:
    """Return ``first`` where ``gap`` < 0, ``second`` where ``gap`` >= 0, else the union of both."""
    one, two = FloatBalls.of(first), FloatBalls.of(second)
    below = gap.middle < 0
    middle, radius = np.where(below, one.middle, two.middle), np.where(below, one.radius, two.radius)
    reach = gap.radius * _INFLATION
    if not (is_sure := (gap.middle >= reach) | (gap.middle < -reach)).all():  # of NaN, too
        both = abs(one.middle - two.middle) + np.maximum(one.radius, two.radius)
        radius = np.where(is_sure, radius, both)
    return FloatBalls(middle, radius)
