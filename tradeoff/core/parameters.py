"""Checked parameters: floats inside their range, or SymPy expressions left alone."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tradeoff.errors import DomainError, domain
from tradeoff.numerics.rounding import Array


def is_symbol(value: Any) -> bool:
    """Whether ``value`` is a SymPy expression with free symbols (SymPy is not imported to find out)."""
    return bool(getattr(value, "free_symbols", ()))


def real(name: str, value: Any, low: float = -math.inf, high: float = math.inf, *, open_low: bool = False, open_high: bool = False) -> Any:
    """Return ``value`` as a float in the range, or unchanged if it is symbolic; raise ``DomainError`` otherwise."""
    if is_symbol(value):
        return value
    allowed = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    if isinstance(value, bool | str | bytes):  # float() would take them
        raise domain(name, value, allowed, "give one real number")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise domain(name, value, allowed, "give one real number") from error
    inside = (number > low if open_low else number >= low) and (number < high if open_high else number <= high)
    if not inside:  # NaN lands here too
        raise domain(name, value, allowed, _remedy(low, high, open_low=open_low, open_high=open_high))
    return number


def _remedy(low: float, high: float, *, open_low: bool, open_high: bool) -> str:
    above = [f"{'above' if open_low else 'at least'} {low:g}"] if low > -math.inf else []
    below = [f"{'below' if open_high else 'at most'} {high:g}"] if high < math.inf else []
    return f"give a number that is {' and '.join([*above, *below]) or 'not NaN'}"


def reals(name: str, value: Any) -> Array:
    """Return ``value`` as an array of floats of its own shape, which may hold NaN; raise ``DomainError`` if it is none."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise DomainError(f"{name} = {value!r} is not an array of real numbers") from error


def losses(epsilon: Any, delta: Any) -> tuple[Array, Array]:
    """Return checked, broadcast losses and probabilities, flat."""
    try:
        e, d = np.broadcast_arrays(np.asarray(epsilon, dtype=float), np.asarray(delta, dtype=float))
    except (TypeError, ValueError) as error:
        raise DomainError(f"epsilon = {epsilon!r} and delta = {delta!r} are not numbers or arrays of one shape") from error
    if not (np.all((e >= 0) & (e < np.inf)) and np.all((d >= 0) & (d <= 1))):
        raise DomainError(f"epsilon = {epsilon!r}, delta = {delta!r} are outside [0, inf) and [0, 1]")
    return e.ravel(), d.ravel()


def count(name: str, value: Any, low: int = 0) -> int:
    """Return ``value`` as an integer of at least ``low``; floats are taken only if they are whole."""
    try:
        whole = operator.index(value)
    except TypeError:
        if not (isinstance(value, float) and value.is_integer()):
            raise domain(name, value, f"the integers from {low}", "give a whole number") from None
        whole = int(value)
    if isinstance(value, bool) or whole < low:
        raise domain(name, value, f"the integers from {low}", f"give a whole number of at least {low}")
    return whole
