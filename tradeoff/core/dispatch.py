"""Where operators announce themselves, so that the methods of a curve reach them without importing upwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_OPERATORS: dict[str, Callable[..., Any]] = {}


def announces(name: str) -> Callable[[Function], Function]:
    """Register the decorated function as the operator ``name``."""

    def register(function: Function) -> Function:
        _OPERATORS[name] = function
        return function

    return register


def operator(name: str) -> Callable[..., Any]:
    """Return the operator announced as ``name``."""
    return _OPERATORS[name]
