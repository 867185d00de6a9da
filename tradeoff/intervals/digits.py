"""Arithmetic of more digits than floats have, for one thread alone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mpmath


class _Known(threading.local):
    """Contexts of this thread, by their bits."""

    def __init__(self) -> None:
        self.contexts: dict[int, mpmath.MPContext] = {}


_KNOWN = _Known()


def precise(bits: int) -> mpmath.MPContext:
    """Return mpmath in so many bits.

    All threads share the precision of mpmath itself, which one may lower while another sums; its functions
    change it while they run. This one is the thread's own.

    Examples
    --------
    >>> mp = precise(120)
    >>> float(mp.expm1(mp.mpf(1) / 2**100) * 2**100)
    1.0
    """
    if bits not in _KNOWN.contexts:
        import mpmath

        _KNOWN.contexts[bits] = mpmath.MPContext()
        _KNOWN.contexts[bits].prec = bits
    return _KNOWN.contexts[bits]
