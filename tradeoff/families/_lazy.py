"""SymPy, imported when a name of it is first used: few sessions need it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _SymPy:
    """The module, before it is imported; names are kept once they are used."""

    def __getattr__(self, name: str) -> Any:
        result = getattr(import_module("sympy"), name)
        setattr(self, name, result)
        return result


sympy: Any = _SymPy()
