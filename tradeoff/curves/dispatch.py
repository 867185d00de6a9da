"""Where operators announce themselves, so that the methods of a curve reach them without importing upwards."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_OPERATORS: dict[str, Callable[..., Any]] = {}
_ANNOUNCERS = (
    "tradeoff.curves.tensor",
    "tradeoff.families.closed_forms",
    "tradeoff.families.substitution",
    "tradeoff.operators",
    "tradeoff.gdp",
)
_LATE = {"symbolic": "tradeoff.families.symbolic"}
"""Operators whose rooms load SymPy, and so only when they are asked for."""


def announces(name: str) -> Callable[[Function], Function]:
    """Register the decorated function as the operator ``name``."""

    def register(function: Function) -> Function:
        _OPERATORS[name] = function
        return function

    return register


@cache
def summon() -> None:
    """Load the rooms above once, so that every operator and every identity has been announced."""
    for module in _ANNOUNCERS:
        import_module(module)


def operator(name: str) -> Any:
    """Return the operator announced as ``name``."""
    summon()
    if name in _LATE:
        import_module(_LATE[name])
    return _OPERATORS[name]
