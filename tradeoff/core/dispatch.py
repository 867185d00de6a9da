"""Where operators announce themselves, so that the methods of a curve reach them without importing upwards."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_OPERATORS: dict[str, Callable[..., Any]] = {}
_ANNOUNCERS = ("tradeoff.core.tensor", "tradeoff.families.closed_forms", "tradeoff.families.substitution", "tradeoff.operators")


def announces(name: str) -> Callable[[Function], Function]:
    """Register the decorated function as the operator ``name``."""

    def register(function: Function) -> Function:
        _OPERATORS[name] = function
        return function

    return register


def operator(name: str) -> Any:
    """Return the operator announced as ``name``; the first call loads the rooms above, so that all have spoken."""
    for module in _ANNOUNCERS:
        import_module(module)
    return _OPERATORS[name]
