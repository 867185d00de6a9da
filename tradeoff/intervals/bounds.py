"""A number held from both sides, and its arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradeoff.intervals.rounding import Array

if TYPE_CHECKING:
    from typing_extensions import TypeVar as Defaulting

    Side_co = Defaulting("Side_co", bound=ArrayLike, covariant=True, default=Any)
else:  # a default is for type checkers: Python takes it from 3.13 on
    Side_co = TypeVar("Side_co", covariant=True)


@dataclass(frozen=True)
class Bounds(Generic[Side_co]):
    """Interval that holds the truth: ``lower <= truth <= upper``, entry by entry.

    Floats for a scalar question, arrays for an array; unpacks as ``lower, upper``. ``+ - * / **`` take
    bounds, numbers and arrays, and round outward: whatever truths lie inside the operands, the result holds
    what they make. An operation that floats do exactly widens nothing.

    Examples
    --------
    >>> lower, upper = Bounds(0.25, 0.5)
    >>> Bounds(0.25, 0.5).width
    0.25
    >>> 1 - Bounds(0.25, 0.5) * 2
    Bounds(lower=0.0, upper=0.5)
    >>> third = Bounds(1.0, 1.0) / 3
    >>> third.lower < third.upper
    True
    """

    lower: Side_co
    upper: Side_co

    __array_ufunc__ = None  # an array beside bounds leaves the operation to them

    @staticmethod
    def of(value: Bounds | ArrayLike) -> Bounds:
        """Return bounds as they are, and a number or an array as bounds of width 0."""
        return value if isinstance(value, Bounds) else Bounds(value, value)

    def __iter__(self) -> Iterator[Side_co]:
        return iter((self.lower, self.upper))

    @property
    def width(self) -> Any:
        """Return upper - lower; 0 where both are the same infinity."""
        lower, upper = np.asarray(self.lower, dtype=float), np.asarray(self.upper, dtype=float)
        with np.errstate(invalid="ignore"):
            width = np.where(lower == upper, 0.0, upper - lower)
        return width if width.ndim else float(width)

    def __contains__(self, value: Any) -> bool:
        return bool(np.all((np.asarray(self.lower) <= value) & (np.asarray(self.upper) >= value)))

    def __neg__(self) -> Bounds:
        return held(-_array(self.upper), -_array(self.lower))

    def __add__(self, other: Bounds | ArrayLike) -> Bounds:
        other = Bounds.of(other)
        return held(_sum(self.lower, other.lower), -_sum(-_array(self.upper), -_array(other.upper)))

    __radd__ = __add__

    def __sub__(self, other: Bounds | ArrayLike) -> Bounds:
        return self + -Bounds.of(other)

    def __rsub__(self, other: ArrayLike) -> Bounds:
        return -self + other

    def __mul__(self, other: Bounds | ArrayLike) -> Bounds:
        return _extremes(_product, self, Bounds.of(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Bounds | ArrayLike) -> Bounds:
        by = Bounds.of(other)
        low, high = _array(by.lower) + 0.0, _array(by.upper)
        # A divisor that ends at 0 ends at the 0 of its own sign, and one that straddles it leaves nothing
        # known.
        found = _extremes(_quotient, self, Bounds(low, np.where(high == 0, -0.0, high)), turned=True)
        straddling = (low < 0) & (high > 0)
        if not straddling.any():
            return found
        return held(np.where(straddling, -np.inf, found.lower), np.where(straddling, np.inf, found.upper))

    def __rtruediv__(self, other: ArrayLike) -> Bounds:
        return Bounds.of(other) / self

    def __pow__(self, n: int) -> Bounds:
        """Return the n-th power, n >= 0, by squaring: about n units wide."""
        if n == 0:
            return held(np.ones_like(_array(self.lower)), np.ones_like(_array(self.upper)))
        half = self ** (n // 2)
        square = half * half
        even = held(np.maximum(square.lower, 0.0), square.upper)
        return even * self if n % 2 else even


Pair = tuple[Array, Array]
"""Lower and upper arrays of the same shape: what the hooks of a curve return."""


def held(lower: ArrayLike, upper: ArrayLike) -> Bounds:
    """Return bounds that show floats where they hold scalars, and 0 without a sign."""
    low, high = _array(lower) + 0.0, _array(upper) + 0.0
    return Bounds(low, high) if low.ndim or high.ndim else Bounds(float(low), float(high))


def _array(value: ArrayLike) -> Array:
    return np.asarray(value, dtype=float)


def _sum(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the greatest float <= x + y: the error of a rounded sum is a float (Knuth's TwoSum)."""
    x, y = _array(x), _array(y)
    with np.errstate(all="ignore"):
        total = x + y
        share = total - x
        error = (x - (total - share)) + (y - share)
        exact = (error >= 0) | np.isinf(x) | np.isinf(y)
        return np.where(np.isnan(total), -np.inf, np.where(exact, total, np.nextafter(total, -np.inf)))


def _extremes(
    operation: Callable[[Array, Array, float], Array], x: Bounds, y: Bounds, *, turned: bool = False
) -> Bounds:
    """Bound an operation monotone in each operand: extremes lie at ends, at known ones from 0 up."""
    (a, b), (c, d) = map(_array, x), map(_array, y)
    if turned:  # falls with y
        c, d = d, c
    with np.errstate(all="ignore"):
        if (a >= 0).all() and (np.minimum(c, d) > 0).all():
            return held(operation(a, c, -np.inf), operation(b, d, np.inf))
        ends = list(product((a, b), (c, d)))
        lower, upper = ([operation(*end, toward) for end in ends] for toward in (-np.inf, np.inf))
        return held(np.minimum.reduce(lower), np.maximum.reduce(upper))


def _product(x: Array, y: Array, toward: float) -> Array:
    """Round x y to one side; 0 times infinity is 0, as infinity stands for what has no bound."""
    value = x * y
    nothing = (x == 0) | (y == 0)
    exact = nothing | np.isinf(x) | np.isinf(y) | _scaled(value, x) | _scaled(value, y)
    return np.where(exact, np.where(nothing, 0.0, value), _next(value, toward))


def _quotient(x: Array, y: Array, toward: float) -> Array:
    """Round x/y to one side; 0/0 and infinity/infinity may be anything."""
    value = x / y
    exact = (x == 0) | (y == 0) | np.isinf(x) | _scaled(value, y)
    return np.where(np.isnan(value), toward, np.where(exact, value, _next(value, toward)))


def _next(value: Array, toward: float) -> Array:
    """Return the next float, or 0: what was rounded to a 0 has its sign."""
    found = np.nextafter(value, toward)
    return np.where(np.signbit(found) == np.signbit(value), found, 0.0)


def _scaled(value: Array, by: Array) -> NDArray[np.bool_]:
    """Whether one operand is 1, or a power of two that makes nothing subnormal or infinite: that is exact."""
    size = np.abs(value)
    return np.asarray(
        (np.abs(by) == 1) | ((np.abs(np.frexp(by)[0]) == 0.5) & (size > _LEAST) & (size < np.inf))
    )


_LEAST = 2.0**-1022
"""The least float with all its digits; below it, halving rounds, and may round to it."""
