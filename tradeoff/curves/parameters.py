"""The working range of every kind of number, and the checks of parameters and questions.

A parameter is a float, a count an ``int``, a formula a SymPy expression with free symbols; exact polygons
alone take fractions. A float means its binary value, and any other number is rounded to the nearest float.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from importlib import import_module
from numbers import Rational
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tradeoff.errors import DomainError, KindError, SymbolError, domain, shown
from tradeoff.intervals.bounds import Array


class _SymPy:
    """SymPy, imported when a name of it is first used: few sessions need it."""

    def __getattr__(self, name: str) -> Any:
        result = getattr(import_module("sympy"), name)
        setattr(self, name, result)
        return result


sympy: Any = _SymPy()


class Expression(Protocol):
    """A SymPy expression, as far as types go: it has free symbols, and can be rewritten."""

    @property
    def free_symbols(self) -> AbstractSet[Any]: ...

    def xreplace(self, rule: Any) -> Any: ...


# One number, as a question or a parameter takes it.
Number: TypeAlias = float | Fraction | np.floating[Any] | np.integer[Any]

# Many numbers, answered by an array of their shape.
Numbers: TypeAlias = NDArray[Any] | Sequence[Number] | Sequence[Sequence[Number]]

Parameter: TypeAlias = Number | Expression  # a number, or a formula with free symbols

# A parameter of a curve: a float, or an expression of SymPy, whose operators have no types.
Value: TypeAlias = float | Any

# The working range: inside it every answer is certified; constructors refuse numbers outside.
MAX_LOSS = 1e4
"""Largest finite loss, epsilon or mu, in nats or standard deviations; infinity means no privacy."""
MIN_PROBABILITY = 1e-300
"""Smallest positive probability, delta or rate."""
MIN_SCALE, MAX_SCALE = 1e-9, 1e9
"""Noise scales and sensitivities."""
MAX_ORDER = 1e6
"""Largest finite order of a Rényi divergence."""
MAX_COUNT = 10**12
"""Largest number of runs of one mechanism."""

MOST = 2**53  # up to here every integer is a float


def is_symbol(value: Any) -> bool:
    """Whether ``value`` is a SymPy expression with free symbols (SymPy is not imported to find out)."""
    return bool(getattr(value, "free_symbols", ()))


def symbols_of(*values: Any) -> frozenset[Any]:
    """Return the free symbols of all symbolic parameters."""
    return frozenset().union(*(getattr(value, "free_symbols", ()) for value in values))


def written(value: Any) -> str:
    """Format a parameter: six digits, or the formula in the notation of papers."""
    if not hasattr(value, "xreplace"):
        return format(float(value), ".6g")
    rounded = value.xreplace({x: x.n(6) for x in value.atoms() if x.is_Float})
    return str(rounded).replace("**", "^").replace(" ", "")


def real(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> Any:
    """Check a parameter: return a float in the range, or a formula unchanged."""
    if is_symbol(value):
        return value
    allowed = f"in {'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    number: Any = value if isinstance(value, float) else reals(name, value, "one real number", allowed)
    if np.ndim(number):  # float() of an array of one entry is deprecated, not refused
        raise domain(name, value, "one real number")
    number = float(number)
    above = number > low if open_low else number >= low
    below = number < high if open_high else number <= high
    if not (above and below):  # NaN lands here too
        raise domain(name, value, allowed)
    return number


def probability(name: str, value: Any) -> Any:
    """Check a probability that is a parameter: 0, or from 1e-300 to 1, or a formula."""
    checked = real(name, value, 0, 1)
    if not is_symbol(checked) and 0 < checked < MIN_PROBABILITY:
        raise domain(name, value, f"0 or in [{MIN_PROBABILITY:g}, 1]", "round it up")
    return checked


def number(name: str, value: Any, low: float = -math.inf, high: float = math.inf, **ends: bool) -> float:
    """Check a number that may not be a formula: return a float in the range of ``real``."""
    if is_symbol(value):
        raise domain(name, value, "a number", "substitute a number for the symbol first")
    return float(real(name, value, low, high, **ends))


def exact_number(name: str, value: Any, low: float, high: float, **ends: bool) -> Fraction:
    """Check a number of an exact polygon: return a fraction, or the binary value of a float."""
    checked = number(name, value, low, high, **ends)
    if isinstance(value, Rational):  # NumPy's integers are, too
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(checked)


def weights(name: str, given: Any, kind: str, check: Callable[[Any], Any]) -> dict[Any, Fraction]:
    """Check a mapping of keys to weights, which add to 1 within 1e-12: return exact ones above 0."""
    if not isinstance(given, Mapping):
        raise KindError(f"{name} must be a mapping {{{kind}}}, got {shown(given)}")
    result: dict[Any, Fraction] = {}
    for key, weight in given.items():
        if is_symbol(weight):
            raise SymbolError(f"{name} must be numbers, got the symbol {weight!r}; substitute it first")
        at, most = check(key), 1 + 1e-12  # thousands of rounded weights miss 1 by less
        result[at] = result.get(at, Fraction(0)) + exact_number(name, weight, 0, most)
    total = sum(result.values(), Fraction(0))
    if abs(total - 1) > Fraction(1, 10**12):
        raise DomainError(f"{name} must add to 1, got {float(total)!r}")
    return {at: weight / total for at, weight in result.items() if weight > 0}


def reals(
    name: str, value: Any, kind: str = "an array of real numbers", span: str = "in the range of floats"
) -> Array:
    """Check an array of numbers: return floats of its shape, which may be NaN."""
    try:
        return _floats(value)
    except OverflowError as error:
        raise domain(name, value, span) from error
    except (TypeError, ValueError) as error:
        is_ragged = "inhomogeneous" in str(error)  # in a sentence of NumPy on its own function
        raise domain(name, value, kind, "give rows of one length" if is_ragged else str(error)) from error


def reals_between(name: str, value: Any, low: float, high: float, remedy: str = "") -> Array:
    """Check an array of numbers from ``low`` to ``high``: return floats of its shape, or itself."""
    is_plain = type(value) is float or (type(value) is np.ndarray and value.dtype == float)
    array = np.asarray(value) if is_plain else reals(name, value)
    inside = (array >= low) & (array <= high)
    if not inside.all():  # NaN is outside
        k = int(np.argmin(inside))
        entry = f"{name}[{k}]" if array.ndim else name
        raise domain(entry, float(array.flat[k]), f"in [{low:g}, {high:g}]", remedy)
    return array


def _floats(value: Any) -> Array:
    """Return numbers as floats; refuse text, booleans, masks and dates, which NumPy would convert."""
    if is_masked(value):
        raise TypeError("drop or fill its masked entries first")
    raw = np.asarray(value)
    if raw.dtype.kind in "OSU" and any(isinstance(each, str | bytes) for each in raw.flat):
        raise TypeError("convert the text to a number first, with float(...)")
    other = bool | np.bool_ | np.timedelta64 | complex
    # Integers, floats, and objects such as fractions.
    if raw.dtype.kind not in "iuf" and not (
        raw.dtype.kind == "O"
        and all(hasattr(x, "__float__") and not (is_symbol(x) or isinstance(x, other)) for x in raw.flat)
    ):
        raise TypeError("give integers, floats or fractions")
    # An extended float may overflow; NumPy 2.0 warns of objects of SymPy.
    with np.errstate(over="ignore", invalid="ignore"):
        return raw.astype(float)


def is_masked(value: Any) -> bool:
    """Whether ``value`` is a masked array, or a list of such, whose masks NumPy would ignore."""
    kinds = {type(value), *(map(type, value) if isinstance(value, list | tuple) else ())}
    return any(issubclass(kind, np.ma.MaskedArray) for kind in kinds)


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Check a word: return it if it is among those allowed."""
    if isinstance(value, str) and value in allowed:
        return value
    raise domain(name, value, f"one of {', '.join(map(repr, allowed))}")


def epsilon_delta_pairs(epsilon: Any, delta: Any) -> tuple[Array, Array]:
    """Check 0 <= epsilon < inf and 0 <= delta <= 1: return both, broadcast to one shape and flattened."""
    e, d = reals_between("epsilon", epsilon, 0, math.inf), reals_between("delta", delta, 0, 1)
    if np.isinf(e).any():
        raise domain("epsilon", epsilon, "in [0, inf)")
    try:
        e, d = np.broadcast_arrays(e, d)
    except ValueError as error:
        raise DomainError(
            f"epsilon and delta must broadcast to one shape, got {shown(epsilon)} and {shown(delta)}"
        ) from error
    return e.ravel(), d.ravel()


def workers(name: str, value: Any) -> int | None:
    """Check a number of workers as joblib counts them; None leaves it to joblib."""
    jobs = None if value is None else count(name, value, -1024, 1024)  # joblib starts as many
    if jobs == 0:
        raise domain(name, value, "an integer other than 0", "-1 uses every core")
    return jobs


def count(name: str, value: Any, low: int = 0, high: float = math.inf) -> int:
    """Check a count: return an integer from ``low`` to ``high``; a float must be an integer."""
    if is_symbol(value):
        raise SymbolError(
            f"{name} must be an integer, got the symbol {shown(value)}; substitute it with .subs({{...}})"
        )
    allowed = f"an integer from {low}" + (f" to {high}" if high < math.inf else "")
    if isinstance(value, bool | np.bool_):  # which are integers, those of NumPy 2.0 with a warning
        raise domain(name, value, allowed)
    try:
        integer = operator.index(value)
    except TypeError:
        if not (isinstance(value, float) and value.is_integer()):
            remedy = "convert the text to a number first, with int(...)" if isinstance(value, str) else ""
            raise domain(name, value, allowed, remedy) from None
        integer = int(value)
    if not low <= integer <= high:
        raise domain(name, value, allowed)
    return integer


def flattened(name: str, value: Any, low: float, high: float) -> tuple[Array, tuple[int, ...]]:
    """Check an array of numbers from ``low`` to ``high``: return it flat, with its shape."""
    array = reals_between(name, value, low, high)
    return array.ravel(), array.shape


def shaped(side: Array, shape: tuple[int, ...]) -> Any:
    """Return a flat array in a shape, or a float for the shape of a number."""
    return side.reshape(shape) if shape else float(side[0])
