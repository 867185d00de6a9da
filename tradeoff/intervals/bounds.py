"""Bounds on a number from both sides, and their arithmetic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import product
from math import inf
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.display import TextTable
from tradeoff.errors import Undecided, shown
from tradeoff.intervals.rounding import Array

if TYPE_CHECKING:
    from typing_extensions import TypeVar as Defaulting

    Side_co = Defaulting("Side_co", bound=ArrayLike, covariant=True, default=Any)
else:  # a default is for type checkers: Python takes it from 3.13 on
    Side_co = TypeVar("Side_co", covariant=True)


_ROWS = 50  # most rows of bounds that a notebook shows


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

    @property
    def mid(self) -> Any:
        """Return (lower + upper)/2, rounded: an estimate that bounds nothing; NaN between both infinities."""
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
        """Return a table for notebooks, an entry a row, to the last digit; of many the first."""
        lower, upper = (_array(side).ravel() for side in self)
        rows = [
            tuple(map(repr, row)) for row in zip(*(s[:_ROWS].tolist() for s in (lower, upper)), strict=True)
        ]
        notes = [f"and {lower.size - _ROWS} more"] if lower.size > _ROWS else []
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
        return bool(np.all((np.asarray(self.lower) <= value) & (np.asarray(self.upper) >= value)))

    def __neg__(self) -> Bounds:
        return outward(lambda _, low, high: make_bounds(-high, -low), self)

    def __add__(self, other: Bounds | ArrayLike) -> Bounds:
        return outward(_sum, self, Bounds.of(other))

    __radd__ = __add__

    def __sub__(self, other: Bounds | ArrayLike) -> Bounds:
        return self + -Bounds.of(other)

    def __rsub__(self, other: ArrayLike) -> Bounds:
        return -self + other

    def __mul__(self, other: Bounds | ArrayLike) -> Bounds:
        return outward(partial(_extremes, _times), self, Bounds.of(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Bounds | ArrayLike) -> Bounds:
        return outward(_quotient, self, Bounds.of(other))

    def __rtruediv__(self, other: ArrayLike) -> Bounds:
        return Bounds.of(other) / self

    def __pow__(self, n: int) -> Bounds:
        """Return the n-th power, n >= 0, by squaring: about n units wide."""
        if n == 0:
            return make_bounds(np.ones_like(_array(self.lower)), np.ones_like(_array(self.upper)))
        if n == 1:
            return self * 1.0
        half = self ** (n // 2)
        square = half * half
        even = make_bounds(np.maximum(square.lower, 0.0), square.upper)
        return even * self if n % 2 else even


Side = Any  # a float, or an array of floats
Kernel = ModuleType | SimpleNamespace  # NumPy, or the like of it for floats
Operation = Callable[[Kernel, Side, Side], tuple[Side, Any]]  # rounded to nearest, and where that is exact
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


def _certain(
    x: Bounds, y: Bounds | ArrayLike, sign: str, holds: Callable[..., Any], fails: Callable[..., Any]
) -> Any:
    """Compare all numbers inside x and y; raise ``Undecided`` where they disagree."""
    y = Bounds.of(y)
    yes = np.asarray(holds(_array(x.upper), _array(y.lower)))
    unknown = ~(yes | fails(_array(x.lower), _array(y.upper)))
    if unknown.any():
        at = float(np.broadcast_to(_array(y.lower), unknown.shape)[unknown][0])
        comparison = f"{shown(x)} {sign} {shown(y)}"
        raise Undecided(f"{comparison} is open; use a smaller tol, or compare .lower or .upper", at)
    return yes if yes.ndim else bool(yes)


def make_bounds(lower: ArrayLike, upper: ArrayLike) -> Bounds:
    """Return bounds that show floats where they hold scalars, and 0 without a sign."""
    if type(lower) is type(upper) is float:
        return Bounds(lower + 0.0, upper + 0.0)
    low, high = _array(lower) + 0.0, _array(upper) + 0.0
    return Bounds(low, high) if low.ndim or high.ndim else Bounds(float(low), float(high))


_array: Callable[[ArrayLike], Array] = partial(np.asarray, dtype=float)

# NumPy's functions for finite floats, at a tenth of the cost; arrays handle divisions by 0.
_FLOATS = SimpleNamespace(
    **vars(math), where=lambda so, x, y: x if so else y, minimum=min, maximum=max, all=bool, asarray=float
)

_SCALARS = frozenset({float, int, np.float64})  # types of scalars that become floats


def outward(formula: Callable[..., Bounds], *each: Bounds) -> Bounds:
    """Apply formula(kernel, sides...) to floats where each side is one finite number, elsewhere to arrays."""
    scalars = sides = [side for x in each for side in (x.lower, x.upper)]
    if not _SCALARS.issuperset(map(type, sides)):
        scalars = [x.item() if type(x) is np.ndarray and x.size == 1 else x for x in sides]
    if scalars is sides or _SCALARS.issuperset(map(type, scalars)):
        floats = [*map(float, scalars)]
        if math.isfinite(sum(floats)):
            with suppress(ZeroDivisionError):
                result = formula(_FLOATS, *floats)
                ndim = 0 if scalars is sides else max(map(np.ndim, sides))
                return Bounds(*(np.array(x, ndmin=ndim) for x in result)) if ndim else result
    if Fraction in set(map(type, sides)):  # the answers to questions in fractions
        return outward(formula, *(Bounds(*_round_fractions(*x)) for x in each))
    with np.errstate(all="ignore"):
        return formula(np, *map(_array, sides))


def _round_fractions(lower: Side, upper: Side) -> tuple[Side, Side]:
    """Return floats at or below, and at or above, where sides are fractions."""
    low = float(lower) if isinstance(lower, Fraction) else lower
    high = float(upper) if isinstance(upper, Fraction) else upper
    low = math.nextafter(low, -inf) if isinstance(lower, Fraction) and low > lower else low
    return low, math.nextafter(high, inf) if isinstance(upper, Fraction) and high < upper else high


def _rounded(kernel: Kernel, value: Side, exact: Any, toward: float) -> Side:
    """Round to one side; the sign of a 0 is that of the exact value, and NaN is unbounded."""
    opposite = (value == 0) & (kernel.copysign(1.0, value) * toward < 0)
    rounded = kernel.where(exact | opposite, value, kernel.nextafter(value, toward))
    return kernel.where(kernel.isnan(value), toward, rounded)


def _sum(kernel: Kernel, a: Side, b: Side, c: Side, d: Side) -> Bounds:
    return make_bounds(_sum_below(kernel, a, c), -_sum_below(kernel, -b, -d))


def _sum_below(kernel: Kernel, x: Side, y: Side) -> Side:
    """Return the greatest float <= x + y: the error of a rounded sum is a float (Knuth's TwoSum)."""
    total = x + y
    share = total - x
    error = (x - (total - share)) + (y - share)
    return _rounded(kernel, total, (error >= 0) | (abs(x) == inf) | (abs(y) == inf), -inf)


def _quotient(kernel: Kernel, a: Side, b: Side, c: Side, d: Side) -> Bounds:
    # A divisor with an end at 0 gets the 0 of its own sign; the quotient by one that contains 0 is unbounded.
    straddling = (c < 0) & (d > 0)
    result = _extremes(_over, kernel, a, b, kernel.where(d == 0, -0.0, d), c + 0.0)  # falls with the divisor
    return make_bounds(
        kernel.where(straddling, -inf, result.lower), kernel.where(straddling, inf, result.upper)
    )


def _extremes(operation: Operation, kernel: Kernel, a: Side, b: Side, c: Side, d: Side) -> Bounds:
    """Bound an operation monotone in each operand: extremes lie at ends."""
    if kernel.all((a >= 0) & (kernel.minimum(c, d) > 0)):
        least, most = operation(kernel, a, c), operation(kernel, b, d)
        return make_bounds(_rounded(kernel, *least, -inf), _rounded(kernel, *most, inf))
    if kernel is np:  # one array costs less than four
        ends = np.stack(np.broadcast_arrays(a, c, a, d, b, c, b, d))
        result = operation(np, ends[::2], ends[1::2])
        return make_bounds(
            np.min(_rounded(np, *result, -inf), axis=0), np.max(_rounded(np, *result, inf), axis=0)
        )
    each = [operation(kernel, *ends) for ends in product((a, b), (c, d))]
    return make_bounds(
        min(_rounded(kernel, *x, -inf) for x in each), max(_rounded(kernel, *x, inf) for x in each)
    )


def _times(kernel: Kernel, x: Side, y: Side) -> tuple[Side, Any]:
    """Return x y and where it is exact; 0 times infinity is 0, as infinity means the absence of a bound."""
    value, nothing = x * y, (x == 0) | (y == 0)
    exact = (abs(x) == inf) | (abs(y) == inf) | _scaled(kernel, value, x) | _scaled(kernel, value, y)
    return kernel.where(nothing, 0.0, value), nothing | exact


def _over(kernel: Kernel, x: Side, y: Side) -> tuple[Side, Any]:
    """Return x/y and where it is exact; 0/0 and infinity/infinity are NaN."""
    value = x / y
    return value, (x == 0) | (y == 0) | (abs(x) == inf) | _scaled(kernel, value, y)


def _scaled(kernel: Kernel, value: Side, by: Side) -> Any:
    """Whether one operand is 1, or a power of two that makes nothing subnormal or infinite: that is exact."""
    size, mantissa = abs(value), abs(kernel.frexp(by)[0])
    return (abs(by) == 1) | ((mantissa == 0.5) & (size > _LEAST) & (size < inf))


_LEAST = 2.0**-1022  # the least float with all its digits; below it, halving rounds, and may round to it
