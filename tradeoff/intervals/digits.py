"""Arithmetic of more digits than floats have, for one thread alone."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mpmath


def precise(bits: int) -> mpmath.MPContext:
    """Return an mpmath context of so many bits for this thread; all threads share the default one.

    Examples
    --------
    >>> mp = precise(120)
    >>> float(mp.expm1(mp.mpf(1) / 2**100) * 2**100)
    1.0
    """
    return _context(bits, threading.get_ident())


@cache
def _context(bits: int, _: int) -> mpmath.MPContext:
    import mpmath

    context = mpmath.MPContext()
    context.prec = bits
    return context
