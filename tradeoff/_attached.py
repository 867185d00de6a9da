"""Methods of a curve that other rooms implement; the stub ``attached.pyi`` has their types.

``tradeoff._methods`` attaches them when ``tradeoff`` is imported, so this room imports no room above it.
"""

from __future__ import annotations

from importlib import import_module


class LazyModule:
    """A module that is imported when a name of it is first used."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> object:
        result = getattr(import_module(self._path), name)
        setattr(self, name, result)
        return result


class CurveMethods:
    """Operators, formulas and displays of a curve."""


class BoundsMethods:
    """Divergences, bounded from both sides."""

    __slots__ = ()
