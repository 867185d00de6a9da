"""mpmath's interval arithmetic, with functions that enclose what they are asked for."""

from __future__ import annotations

from typing import Any

# Digits of mpmath's interval functions that are not counted on: they are seen to miss a unit of the last.
_LOST = 4


def enclosing() -> Any:
    """Return mpmath's interval arithmetic, with functions that enclose.

    Its exp, log and powers are rounded to nearest inside, so that ends may fall short, and exp(1e-99) is 1.

    Examples
    --------
    >>> own = enclosing()
    >>> own.dps = 60
    >>> own.exp(own.mpf("1e-99")).delta < 1e-55, own.exp(0).delta == 0
    (True, True)
    """
    from mpmath.ctx_iv import MPIntervalContext

    own = MPIntervalContext()
    exp, log, power = own.exp, own.log, own.mpf.__pow__

    def off() -> Any:
        return own.mpf([-1, 1]) / own.mpf(10) ** (own.dps - _LOST)

    def enclosed_exp(x: Any) -> Any:
        return exp(x) if x == 0 else exp(x) * (1 + off())

    def enclosed_log(x: Any) -> Any:
        found = log(x)
        low, high = (
            end if abs(end) == own.inf else end + off() * (1 + abs(end)) for end in (found.a, found.b)
        )
        return found if x == 1 else own.mpf([low.a, high.b])

    def enclosed_power(x: Any, y: Any) -> Any:
        base = own.convert(x)
        found, exact = power(base, y), isinstance(y, int) or base * (base - 1) == 0
        return found if exact else found * (1 + off())

    own.exp, own.log = enclosed_exp, enclosed_log
    for kind in (own.mpf, type(own.pi)):  # constants are of a class of their own
        kind.__pow__, kind.__rpow__ = enclosed_power, lambda y, x: enclosed_power(x, own.convert(y))
    return own
