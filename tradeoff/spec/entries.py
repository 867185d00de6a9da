"""Checked entries of a plan file: every complaint names the place, the value and what is allowed."""

from __future__ import annotations

import datetime as dt
import difflib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from tradeoff.errors import PlanError

_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a boolean"),
    (str, "a string"),
    (int, "an integer"),
    (float, "a float"),
    (list, "an array"),
    (Mapping, "a table"),
    ((dt.date, dt.time), "a date or time"),
)


def described(value: Any) -> str:
    """Write a TOML value and name its type, in one line."""
    kind = next((name for types, name in _TYPES if isinstance(value, types)), f"a {type(value).__name__}")
    try:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        text = str(value) if is_number else json.dumps(value, default=str)
    except ValueError:  # thousands of digits, which a hexadecimal integer may have
        text = hex(value) if isinstance(value, int) else "..."
    return f"{shortened(text)} ({kind})"


def shortened(text: str) -> str:
    """Return the text, or its beginning if it is long."""
    return text if len(text) <= 60 else text[:57] + "..."


def wrong(where: str, value: Any, allowed: str) -> PlanError:
    """Build the error for a value that is not allowed."""
    return PlanError(f"{where} = {described(value)} is not allowed here; allowed: {allowed}")


def table(where: str, value: Any, remedy: str) -> Mapping[str, Any]:
    """Return ``value`` if it is a table."""
    if not isinstance(value, Mapping):
        raise wrong(where, value, remedy)
    return value


def known(where: str, keys: Iterable[str], allowed: Iterable[str]) -> None:
    """Refuse the first key that is not among ``allowed``, and say which one may have been meant."""
    options = list(allowed)
    for key in keys:
        if key not in options:
            close = difflib.get_close_matches(key, options, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise PlanError(f"{where}{shortened(key)} is no known key; allowed: {', '.join(options)}{hint}")


def text(where: str, value: Any, options: Iterable[str] | None = None) -> str:
    """Return ``value`` if it is a string, and one of the options where there are any."""
    choices = list(options) if options is not None else None
    allowed = "a string" if choices is None else ", ".join(map(json.dumps, choices))
    if isinstance(value, str) and (choices is None or value in choices):
        return value
    close = difflib.get_close_matches(value, choices, 1) if choices and isinstance(value, str) else []
    raise wrong(where, value, allowed + (f"; did you mean {json.dumps(close[0])}?" if close else ""))


def number(where: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """Return ``value`` as a float in [low, high]; a boolean is no number."""
    allowed = "a real number or infinity" if low == -math.inf else f"a number in [{low:g}, {high:g}]"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(where, value, allowed)
    try:
        found = float(value)
    except OverflowError as error:
        raise wrong(where, value, allowed) from error
    if not low <= found <= high:  # NaN lands here too
        raise wrong(where, value, allowed)
    return found


def numbers(where: str, value: Any, low: float = -math.inf, high: float = math.inf) -> tuple[float, ...]:
    """Return one number, or an array of them, as a tuple; errors count from 1."""
    if isinstance(value, list | tuple):
        return tuple(number(f"{where}[{i}]", entry, low, high) for i, entry in enumerate(value, 1))
    return (number(where, value, low, high),)
