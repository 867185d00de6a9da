"""SymPy and mpmath, each imported when a name of it is first used: most sessions ask for no formula."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Later:
    """A module that is not imported yet; the names asked of it are kept."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._module), name)
        setattr(self, name, found)
        return found


mpmath: Any = _Later("mpmath")
sympy: Any = _Later("sympy")
