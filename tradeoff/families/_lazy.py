"""SymPy, imported when a name of it is first used: most sessions ask for no formula."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _SymPy:
    """The module, before it is imported; the names asked of it are kept."""

    def __getattr__(self, name: str) -> Any:
        result = getattr(import_module("sympy"), name)
        setattr(self, name, result)
        return result


sympy: Any = _SymPy()
