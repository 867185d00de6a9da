"""Methods of a curve that other rooms implement; the stub ``attached.pyi`` has their types.

``tradeoff._methods`` attaches them when ``tradeoff`` is imported, so this room imports no room above it.
"""

from __future__ import annotations


class CurveMethods:
    """Operators, formulas and displays of a curve."""


class BoundsMethods:
    """Divergences, bounded from both sides."""

    __slots__ = ()
