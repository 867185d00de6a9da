"""What an operator takes: curves, and nothing that merely looks like one."""

from __future__ import annotations

from typing import Any

from tradeoff.core.curve import TradeOff
from tradeoff.errors import KindError


def operand(value: Any) -> TradeOff:
    """Return ``value`` if it is a curve; an estimate refuses in its own words when asked for ``curve``."""
    if isinstance(value, TradeOff):
        return value
    if hasattr(value, "curve"):
        raise KindError(f"{value!r} is a mechanism, and operators are of curves: write {type(value).__name__}(...).curve()")
    raise KindError(f"{value!r} is not a trade-off function")
