"""Bounds on a number from both sides, and their arithmetic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import partial
from numbers import Rational
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradeoff.display import TextTable, rounded
from tradeoff.errors import Undecided, shown

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Complex = NDArray[np.complex128]

if TYPE_CHECKING:
    from typing_extensions import TypeVar as Defaulting

    Side_co = Defaulting("Side_co", bound=ArrayLike, covariant=True, default=Any)
else:  # a default is for type checkers: Python takes it from 3.13 on
    Side_co = TypeVar("Side_co", covariant=True)


@dataclass(frozen=True)
class Bounds(Generic[Side_co]):
    """Interval that contains the truth: ``lower <= truth <= upper``, entry by entry.

    Floats for a scalar question, arrays for an array; unpacks as ``lower, upper``. ``+ - * / **`` take
    bounds, numbers and arrays, and round outward: the result contains the exact result for all numbers inside
    the operands. An operation that is exact in floats adds no width.

    ``< <= > >=`` answer where they are certain, entry by entry, and elsewhere raise ``Undecided``, as the
    order of curves does (mpmath's None and Arb's False would both make ``not bounds < 3`` read as
    ``bounds >= 3``); ``==`` compares both sides. A format such as ``f"{bounds:.4f}"`` rounds each side
    outward in decimal.

    Parameters
    ----------
    lower, upper
        Numbers, or arrays of one shape; infinities are allowed.

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
    >>> third < 0.34, third >= 0.34, f"{third:.4f}", third.mid
    (True, False, '[0.3333, 0.3334]', 0.3333333333333333)
    """

    lower: Side_co
    upper: Side_co

    __array_ufunc__ = None  # NumPy leaves operations of arrays and bounds to this class

    @staticmethod
    def of(value: Bounds | ArrayLike) -> Bounds:
        """Return bounds as they are, and a number or an array as bounds of width 0.

        >>> Bounds.of(0.5)
        Bounds(lower=0.5, upper=0.5)
        """
        return value if isinstance(value, Bounds) else Bounds(value, value)

    def __iter__(self) -> Iterator[Side_co]:
        return iter((self.lower, self.upper))

    @property
    def width(self) -> Any:
        """Return upper - lower; 0 where both are the same infinity.

        >>> Bounds(0.25, 0.5).width
        0.25
        """
        lower, upper = _array(self.lower), _array(self.upper)
        with np.errstate(invalid="ignore"):
            width = np.where(lower == upper, 0.0, upper - lower)
        return width if width.ndim else float(width)

    @property
    def mid(self) -> Any:
        """Return (lower + upper)/2, rounded; an estimate, not a bound; NaN between both infinities.

        >>> Bounds(0.25, 0.5).mid
        0.375
        """
        lower, upper = _array(self.lower), _array(self.upper)
        with np.errstate(invalid="ignore"):
            mid = np.clip(np.where(lower == upper, lower, lower / 2 + upper / 2), lower, upper)
        return mid if mid.ndim else float(mid)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if np.ndim(self.lower):
            pairs = zip(_array(self.lower), _array(self.upper), strict=True)
            return f"[{', '.join(format(Bounds(*pair), spec) for pair in pairs)}]"
        return f"[{decimal(self.lower, spec, up=False)}, {decimal(self.upper, spec, up=True)}]"

    def _repr_html_(self) -> str:
        """Return a table for notebooks, an entry a row, rounded outward to the digits that differ and two."""
        most = 50  # most rows of bounds that a notebook shows
        lower, upper = (side.ravel() for side in sides_of(self))
        rows = []
        for low, high in zip(*(side[:most].tolist() for side in (lower, upper)), strict=True):
            texts = repr(low), repr(high)
            if 0 < high - low < math.inf:
                share = (high - low) / max(abs(low), abs(high))
                digits = min(max(2 - math.floor(math.log10(share)), 3), 17)
                texts = rounded(low, "lower", digits), rounded(high, "upper", digits)
            rows.append(texts)
        notes = [f"and {lower.size - most} more"] if lower.size > most else []
        return TextTable(rows, ("lower", "upper"), notes=notes, sides=">>").html()

    def __lt__(self, other: Bounds | ArrayLike) -> Any:
        return _certain(self, other, "<", operator.lt, operator.ge)

    def __le__(self, other: Bounds | ArrayLike) -> Any:
        return _certain(self, other, "<=", operator.le, operator.gt)

    def __gt__(self, other: Bounds | ArrayLike) -> Any:
        return Bounds.of(other) < self

    def __ge__(self, other: Bounds | ArrayLike) -> Any:
        return Bounds.of(other) <= self

    def __contains__(self, value: Any) -> bool:
        return bool(np.all(self.lower <= value) and np.all(self.upper >= value))

    def __neg__(self) -> Bounds:
        low, high = sides_of(self)
        return make_bounds(-high, -low)

    def __add__(self, other: Bounds | ArrayLike) -> Bounds:
        (a, b), (c, d) = sides_of(self), sides_of(other)
        return make_bounds(_add_down(a, c), -_add_down(-b, -d))

    __radd__ = __add__

    def __sub__(self, other: Bounds | ArrayLike) -> Bounds:
        return self + -Bounds.of(other)

    def __rsub__(self, other: ArrayLike) -> Bounds:
        return -self + other

    @np.errstate(all="ignore")
    def __mul__(self, other: Bounds | ArrayLike) -> Bounds:
        """Return the product; 0 times infinity is 0, as infinity means the absence of a bound."""
        (a, b), (c, d) = sides_of(self), sides_of(other)
        if (a >= 0).all() and (c >= 0).all():
            least, most = _times(a, c), _times(b, d)
            return make_bounds(_round_down(*least), -_round_down(-most[0], most[1]))
        return _extremes(*_times(*_stack_ends(a, b, c, d)))

    __rmul__ = __mul__

    @np.errstate(all="ignore")
    def __truediv__(self, other: Bounds | ArrayLike) -> Bounds:
        """Return the quotient, unbounded where the divisor contains 0, or 0/0 and infinity/infinity meet."""
        (a, b), (c, d) = sides_of(self), sides_of(other)
        # A divisor with an end at 0 gets the 0 of its own sign.
        x, y = _stack_ends(a, b, c + 0.0, np.where(d == 0, -0.0, d))
        value = x / y
        result = _extremes(value, _exact(value, (x == 0) | (y == 0) | np.isinf(x), (y,)))
        inside = (c < 0) & (d > 0)
        return make_bounds(np.where(inside, -np.inf, result.lower), np.where(inside, np.inf, result.upper))

    def __rtruediv__(self, other: ArrayLike) -> Bounds:
        return Bounds.of(other) / self

    def __pow__(self, n: int) -> Bounds:
        """Return the n-th power, n >= 0, by squaring: about n units wide."""
        if n == 0:
            return make_bounds(np.ones_like(_array(self.lower)), np.ones_like(_array(self.upper)))
        if n == 1:
            return self + 0.0
        half = self ** (n // 2)
        square = half * half
        even = make_bounds(np.maximum(square.lower, 0.0), square.upper)
        return even * self if n % 2 else even


Pair = tuple[Array, Array]  # lower and upper arrays of one shape, as the hooks of a curve return them


def decimal(value: Any, spec: str, *, up: bool) -> str:
    """Write a float by a format of floats such as ".4f", rounded up or down in exact decimal arithmetic.

    >>> decimal(0.1, ".1f", up=True), decimal(0.1, ".1f", up=False)
    ('0.2', '0.1')
    """
    if not math.isfinite(value):
        return format(float(value), spec)
    if "." not in spec and spec[-1] in "eEfFgG%":  # of floats that is six digits, of decimals all
        spec = f"{spec[:-1]}.6{spec[-1]}"
    with localcontext(Context(rounding=ROUND_CEILING if up else ROUND_FLOOR)):
        return format(Decimal(float(value)), spec)


def make_bounds(lower: ArrayLike, upper: ArrayLike) -> Bounds:
    """Return bounds with scalars as Python floats, and without negative zeros."""
    low, high = _array(lower) + 0.0, _array(upper) + 0.0
    return Bounds(low, high) if low.ndim or high.ndim else Bounds(float(low), float(high))


def sides_of(x: Bounds | ArrayLike) -> Pair:
    """Return both sides, of a number itself twice, as arrays of floats; a fraction or int rounds outward."""
    lower, upper = (x.lower, x.upper) if isinstance(x, Bounds) else (x, x)
    low, high = _array(lower), _array(upper)
    if isinstance(lower, Rational) and Fraction(float(low)) > lower:
        low = np.nextafter(low, -np.inf)
    if isinstance(upper, Rational) and Fraction(float(high)) < upper:
        high = np.nextafter(high, np.inf)
    return low, high


_array: Callable[[ArrayLike], Array] = partial(np.asarray, dtype=float)


def _certain(
    x: Bounds, y: Bounds | ArrayLike, sign: str, holds: Callable[..., Any], fails: Callable[..., Any]
) -> Any:
    """Compare all numbers inside x and y by ``holds``, < or <=; raise ``Undecided`` where they disagree.

    ``fails`` is its negation, > or >=, and ``sign`` its sign in the message.
    """
    y = Bounds.of(y)
    # Python compares numbers exactly, NumPy rounds them first.
    sides = [side.item() if isinstance(side, np.generic) else side for side in (*x, *y)]
    is_exact = all(isinstance(side, float | Rational) for side in sides)
    least, most, low, high = sides if is_exact else (*sides_of(x), *sides_of(y))
    yes = np.asarray(holds(most, low))
    unknown = ~(yes | fails(least, high))
    if unknown.any():
        at = float(np.broadcast_to(low, unknown.shape)[unknown][0])
        comparison = f"{shown(x)} {sign} {shown(y)}"
        raise Undecided(f"{comparison} is open; use a smaller tol, or compare .lower or .upper", at)
    return yes if yes.ndim else bool(yes)


def _stack_ends(a: Array, b: Array, c: Array, d: Array) -> Pair:
    """Return the ends a, b of one operand with each end c, d of the other: there operations are extreme."""
    a, b, c, d = np.broadcast_arrays(a, b, c, d)
    return np.array([a, a, b, b]), np.array([c, d, c, d])


def _times(x: Array, y: Array) -> tuple[Array, Any]:
    """Return products rounded to nearest, and where they are exact; 0 times infinity is 0."""
    nothing = (x == 0) | (y == 0)
    value = np.where(nothing, 0.0, x * y)
    return value, _exact(value, nothing | np.isinf(x) | np.isinf(y), (x, y))


def _exact(value: Array, exact: Any, by: Sequence[Array]) -> Any:
    """Return where values are exact: as given, or where one of ``by`` is 1 or scales without underflow."""
    size = np.abs(value)
    is_normal = (size > 2.0**-1022) & (size < np.inf)  # below, halving may round to that
    for each in by:
        exact = exact | (np.abs(each) == 1) | (is_normal & (np.abs(np.frexp(each)[0]) == 0.5))
    return exact


def _extremes(value: Array, exact: Any) -> Bounds:
    """Bound by the least and the greatest of rounded values in each column."""
    return make_bounds(np.min(_round_down(value, exact), axis=0), np.max(-_round_down(-value, exact), axis=0))


def _round_down(value: Array, exact: Any) -> Array:
    """Return the float below a value rounded to nearest; a 0 has the sign of the truth, and NaN no bound."""
    exact = exact | ((value == 0) & ~np.signbit(value))
    rounded = np.asarray(np.nextafter(value, -np.inf))
    np.copyto(rounded, value, where=exact)
    rounded[np.isnan(rounded)] = -np.inf
    return rounded


@np.errstate(all="ignore")
def _add_down(x: Array, y: Array) -> Array:
    """Return the greatest float <= x + y: the error of a rounded sum is a float (Knuth's TwoSum)."""
    total = x + y
    share = total - x
    error = (x - (total - share)) + (y - share)
    return _round_down(total, (error >= 0) | np.isinf(x) | np.isinf(y))
