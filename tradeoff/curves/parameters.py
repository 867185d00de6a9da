"""Checked parameters: floats inside their range, or SymPy expressions left alone."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tradeoff.errors import DomainError, SymbolError, domain, shown
from tradeoff.intervals.rounding import Array


class Expression(Protocol):
    """A SymPy expression, which has no types of its own: what has free symbols, and can be rewritten."""

    @property
    def free_symbols(self) -> AbstractSet[Any]: ...

    def xreplace(self, rule: Any) -> Any: ...


# One number, as a question or a parameter takes it.
Number: TypeAlias = float | Fraction | np.floating[Any] | np.integer[Any]

# Many numbers, answered by an array of their shape.
Numbers: TypeAlias = NDArray[Any] | Sequence[Number] | Sequence[Sequence[Number]]

Parameter: TypeAlias = Number | Expression  # a number, or a formula that waits for numbers

# A parameter as it is kept: a float, or an expression of SymPy, to whose operators no type can be given.
Value: TypeAlias = float | Any

MOST = 2**53  # up to here every whole number is a float
_MOST_WORKERS = 1024  # more than any machine has cores for; joblib would start them all

# Powers of ten of a decimal, and of two of mpmath's numbers, up to which they are kept as fractions. Longer
# ones take hours, and less to write.
_LONG = 40_000

_PLAIN = 40  # binary digits of a fraction that is printed as one: most floats have a hundred
_SURE = 50  # digits of pi that tell its float from the next

# What two errors advise.
_TOO_LARGE = f"give a number that a float holds, at most {np.finfo(float).max:.4g} in size"


def is_symbol(value: Any) -> bool:
    """Whether ``value`` is a SymPy expression with free symbols (SymPy is not imported to find out)."""
    return bool(getattr(value, "free_symbols", ()))


def symbols_of(*values: Any) -> frozenset[Any]:
    """Return the free symbols of all symbolic parameters."""
    return frozenset().union(*(value.free_symbols for value in values if is_symbol(value)))


def ratio_of(value: Any) -> Fraction | None:
    """Return a number that is a ratio of integers as the fraction it is; None for any other, or too long."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item() if value.dtype.kind != "f" else value[()]
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    if is_constant(value):
        return None
    if (parts := getattr(value, "_mpf_", None)) is not None:  # of mpmath, and SymPy's
        return _of_parts(*map(int, parts))
    long = isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > _LONG
    if long or not isinstance(value, float | np.floating | Decimal):
        return None
    with suppress(OverflowError, ValueError):  # infinite, or NaN
        return Fraction(*value.as_integer_ratio())
    return None


def _of_parts(sign: int, mantissa: int, exponent: int, _: int) -> Fraction | None:
    if mantissa == 0 != exponent or abs(exponent) > _LONG:  # infinite or NaN, or hours of digits
        return None
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


def written(value: Any) -> str:
    """Return a parameter as it is printed: six digits, or the formula in the notation of papers."""
    if not hasattr(value, "xreplace"):
        return format(float(value), ".6g")
    numbers = (x for x in value.atoms() if x.is_Rational)
    long = [x for x in numbers if int(x.p).bit_length() + int(x.q).bit_length() > _PLAIN]
    return str(value.xreplace({x: x.n(6) for x in long})).replace("**", "^").replace(" ", "")


def real(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
    up: bool = False,
    down: bool = False,
) -> Any:
    """Return ``value`` as a float in the range, or unchanged if symbolic; else raise ``DomainError``.

    A fraction that is no float is rounded to nearest, or up, as where losses grow with a parameter, or down,
    as where they fall with it.
    """
    if is_symbol(value):
        return value
    allowed = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    try:
        least = most = number = value if type(value) is float else _single(value)
        if type(value) is not float and not math.isnan(number):
            least, most = (float(side) for side in beside(value, np.asarray(number)))
    except OverflowError as error:
        raise domain(name, value, allowed, _TOO_LARGE) from error
    except (TypeError, ValueError) as error:
        raise domain(name, value, allowed, "give one real number") from error
    number = most if up else least if down else min(max(number, least), most)
    # Floats around the number: one just outside may round into the range.
    above = min(number, most) > low if open_low else min(number, least) >= low
    below = max(number, least) < high if open_high else max(number, most) <= high
    if not (above and below):  # NaN lands here too
        raise domain(name, value, allowed, _remedy(low, high, open_low=open_low, open_high=open_high))
    return number


def number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
    up: bool = False,
    down: bool = False,
) -> float:
    """Return ``value`` as a float in the range, where a symbol is no answer; else raise ``DomainError``."""
    if is_symbol(value):
        raise domain(name, value, "the real numbers", "substitute a number for the symbol first")
    return float(real(name, value, low, high, open_low=open_low, open_high=open_high, up=up, down=down))


def kept(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
    up: bool = False,
    down: bool = False,
) -> float | Fraction:
    """Return a checked number as a float, or as the fraction that is none.

    What is no ratio of integers is rounded to the side that loses more, and refused where there is none.
    """
    near = number(name, value, low, high, open_low=open_low, open_high=open_high, up=up, down=down)
    known = ratio_of(value)
    if known is None and not (up or down):
        raise domain(name, value, "the floats and fractions", "give one of them")
    return near if known is None or known == near else known


def _remedy(low: float, high: float, *, open_low: bool, open_high: bool) -> str:
    above = [f"{'above' if open_low else 'at least'} {low:g}"] if low > -math.inf else []
    below = [f"{'below' if open_high else 'at most'} {high:g}"] if high < math.inf else []
    below += ["finite"] if above and open_high and not below else []
    rest = "finite" if open_low or open_high else "not NaN"
    return f"give a number that is {' and '.join([*above, *below]) or rest}"


def reals(name: str, value: Any) -> Array:
    """Return ``value`` as an array of floats of its shape, which may hold NaN; else ``DomainError``."""
    try:
        return _floats(value)
    except OverflowError as error:
        raise DomainError(f"{name} = {shown(value)} is outside the range of floats; {_TOO_LARGE}") from error
    except (TypeError, ValueError) as error:
        raise DomainError(f"{name} = {shown(value)} is not an array of real numbers; {error}") from error


def beside(value: Any, found: Array) -> tuple[Array, Array]:
    """Return the floats at or below numbers, and at or above, of which ``found`` are the nearest."""
    raw = np.asarray(value)
    small = raw.dtype.kind in "iu" and bool(np.all(np.abs(found) < MOST))
    if small or raw.dtype == found.dtype or raw.dtype.itemsize < found.dtype.itemsize:  # all are floats
        return found, found
    exact = [x.item() if isinstance(x, np.integer) else x for x in raw.astype(object).flat]
    pairs = zip(exact, found.ravel().tolist(), strict=True)
    sides = np.array([_around(*pair) for pair in pairs]).reshape(*found.shape, 2)
    return sides[..., 0], sides[..., 1]


def _around(exact: Any, near: float) -> tuple[float, float]:
    """Return the floats at or below a number, and at or above; what knows its float alone is that."""
    formula = hasattr(exact, "free_symbols") and not exact.is_Float and exact.is_finite is not False
    if formula and ratio_of(exact) is None:
        return _formula_around(exact)
    if is_constant(exact):
        exact = exact(dps=_SURE)
    try:
        below = math.nextafter(near, -math.inf) if exact < near else near
        return below, math.nextafter(near, math.inf) if exact > near else near
    except (TypeError, ArithmeticError):
        return near, near


def _formula_around(exact: Any) -> tuple[float, float]:
    from tradeoff.families.symbolic_values import floats_beside

    below, above = floats_beside(exact)
    if math.isnan(below):
        raise DomainError(f"{shown(exact)} is no real number of which digits are known; give its float")
    return below, above


def is_constant(value: Any) -> bool:
    """Whether a number is pi or another of mpmath's, which have as many digits as are asked."""
    return type(value).__name__ == "constant" and hasattr(value, "_mpf_")


def _floats(value: Any) -> Array:
    """Return numbers as floats; text, truth values, masks and dates, which NumPy would read, are refused."""
    if is_masked(value):
        raise TypeError("drop or fill its masked entries first")
    raw = np.asarray(value)
    if raw.dtype.kind not in "iufO":  # integers, floats, and objects such as fractions
        raise TypeError("give integers, floats or fractions")
    if raw.dtype.kind == "O" and not all(_is_number(each) for each in raw.flat):
        raise TypeError("give integers, floats or fractions")
    with np.errstate(
        over="raise", invalid="ignore"
    ):  # of an extended float; NumPy 2.0 warns of objects of SymPy
        try:
            return raw.astype(float)
        except FloatingPointError as error:
            raise OverflowError(str(error)) from error


def is_masked(value: Any) -> bool:
    """Whether ``value`` is a masked array, or a list of such: NumPy would read through the mask."""
    return np.ma.isMaskedArray(value) or (
        isinstance(value, list | tuple) and any(map(np.ma.isMaskedArray, value))
    )


def _is_number(value: Any) -> bool:
    return hasattr(value, "__float__") and not (
        is_symbol(value) or isinstance(value, bool | np.bool_ | np.timedelta64 | complex)
    )


def _single(value: Any) -> float:
    """Return one number as a float."""
    array = _floats(value)
    if array.ndim:
        raise TypeError("more than one number")
    return float(array)


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return a word that is one of those allowed; else raise ``DomainError``."""
    if isinstance(value, str) and value in allowed:
        return value
    raise DomainError(f"{name} = {shown(value)} is not one of {', '.join(map(repr, allowed))}")


def losses(epsilon: Any, delta: Any) -> tuple[Array, Array]:
    """Return checked, broadcast losses and probabilities, flat; fractions are rounded up."""
    asked = ("epsilon", epsilon), ("delta", delta)
    given = [beside(value, reals(name, value))[1] for name, value in asked]
    try:
        e, d = np.broadcast_arrays(*given)
    except ValueError as error:
        raise DomainError(
            f"epsilon = {shown(epsilon)} and delta = {shown(delta)} are not numbers or arrays of one shape"
        ) from error
    if not (np.all((e >= 0) & (e < np.inf)) and np.all((d >= 0) & (d <= 1))):
        raise DomainError(
            f"epsilon = {shown(epsilon)}, delta = {shown(delta)} are outside [0, inf) and [0, 1]"
        )
    return e.ravel(), d.ravel()


def workers(name: str, value: Any) -> int | None:
    """Return a number of workers as joblib counts them, or None, which leaves it to joblib."""
    found = None if value is None else count(name, value, -_MOST_WORKERS, _MOST_WORKERS)
    if found == 0:
        raise domain(name, value, "the integers but 0", "give how many workers, or -1 for one a core")
    return found


def count(name: str, value: Any, low: int = 0, high: float = math.inf) -> int:
    """Return ``value`` as an integer from ``low`` to ``high``; floats are taken only if they are whole."""
    if is_symbol(value):
        raise SymbolError(
            f"{name} = {shown(value)} is a symbol where a number is needed; put one in, with .subs({{...}})"
        )
    allowed = f"the integers from {low}" + (f" to {high}" if high < math.inf else "")
    try:
        whole = operator.index(value)
    except TypeError:
        if not (isinstance(value, float) and value.is_integer()):
            raise domain(name, value, allowed, "give a whole number") from None
        whole = int(value)
    if isinstance(value, bool | np.bool_) or whole < low:
        raise domain(name, value, allowed, f"give a whole number of at least {low}")
    if whole > high:
        why = ", the most that floats count exactly" if high == MOST else ""
        raise DomainError(f"{name} = {shown(value)} is above {high}{why}; give a smaller number")
    return whole
