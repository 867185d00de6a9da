"""Mechanisms and plans as plain data: what JSON and the ledger hold of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from fractions import Fraction
from typing import Any

from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan


def plain(value: Any, fraction: Callable[[Fraction], str] = str) -> Any:
    """Return JSON data: named tuples as tables, and as text what JSON has no number for.

    Examples
    --------
    >>> from tradeoff.mechanisms import TruncatedLaplace
    >>> plain(TruncatedLaplace(Fraction(1, 3), bound=2))
    {'kind': 'truncated-laplace', 'scale': '1/3', 'bound': 2.0, 'sensitivity': 1.0}
    """
    if isinstance(value, Plan):
        counted = [{**plain(each, fraction), "count": n} for each, n in value.mechanisms.items()]
        return {"adjacency": value.adjacency, "mechanism": counted}
    if isinstance(value, Mechanism):
        return _mechanism(value, fraction)
    table = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(table, Mapping):
        return {str(name): plain(each, fraction) for name, each in table.items()}
    if isinstance(value, tuple | list):
        return [plain(each, fraction) for each in value]
    return _entry(value, fraction)


def _mechanism(value: Mechanism, fraction: Callable[[Fraction], str]) -> dict[str, Any]:
    if is_dataclass(value):
        return {"kind": value.kind, **plain(value.parameters(), fraction)}
    return {"curve": repr(value)}  # nobody knows its parameters


def _entry(value: Any, fraction: Callable[[Fraction], str]) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Fraction):
        return fraction(value)
    return value if isinstance(value, int | str | None) else repr(value)
