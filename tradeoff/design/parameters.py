"""The numbers that a curve is made from, and the curve with others in their place."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.product import Tensor, tensor
from tradeoff.errors import DomainError, SymbolError

_WITHIN = 1 / 16  # of a step that just fits: log(1 - delta) near 1 then curves by (1/16)^2/3 = 1e-3
SHORTEST = 2.0**-28  # that fits: transforms are known to 1e-14, a difference to 1e-14 * 2^32 = 4e-5


class Parameter(NamedTuple):
    """A number in a curve, and the curve with another one in its place."""

    name: str
    value: float
    moved: Callable[[float], TradeOff]

    def pair(self, share: float) -> tuple[TradeOff, TradeOff, float]:
        """Return the curves a step below and above, and the distance: near an end of a range a short one."""
        step = share
        while step >= SHORTEST:
            with suppress(DomainError):
                ends = self._apart(step)
                return ends if step == share else self._apart(step * _WITHIN)
            step /= 2
        raise self.stuck()

    def _apart(self, share: float) -> tuple[TradeOff, TradeOff, float]:
        below, above = self.value * (1 - share), self.value * (1 + share)
        if not 0 < abs(above - below) < math.inf:
            raise self.stuck()
        return self.moved(below), self.moved(above), above - below

    def stuck(self) -> DomainError:
        """Say that it cannot move."""
        known = f"{self.name} = {self.value!r} cannot move by a share of itself to both sides"
        return DomainError(f"{known}; give another value")

    def within(self, outer: Callable[[TradeOff], TradeOff]) -> Parameter:
        """Return the same number as one of a curve around this one."""
        return self._replace(moved=lambda value: outer(self.moved(value)))


def parameters(curve: TradeOff) -> Iterator[Parameter]:
    """Yield the floats a curve is made from, also inside the operands of operators."""
    if isinstance(curve, Derived):
        yield from _replaceable(curve)
    elif isinstance(curve, Tensor):
        for factor, n in curve.factors.items():
            rest = tensor((each, power) for each, power in curve.factors.items() if each != factor)
            for inner in parameters(factor):
                yield inner.within(partial(_beside, rest, n))
    else:
        kind: Any = type(curve)
        names = inspect.signature(kind).parameters
        given = {name: getattr(curve, f"{name}_0", getattr(curve, name, None)) for name in names}
        for name, value in given.items():
            if isinstance(value, float | Fraction) and None not in given.values():
                others = {other: kept for other, kept in given.items() if other != name}
                yield Parameter(name, float(value), partial(_made, kind, others, name))


def _beside(rest: TradeOff, n: int, fresh: TradeOff) -> TradeOff:
    return rest @ fresh**n


def _made(kind: Any, others: dict[str, Any], name: str, value: float) -> TradeOff:
    made: TradeOff = kind(**others, **{name: value})
    return made


def _replaceable(curve: Derived) -> Iterator[Parameter]:
    """Yield what ``replaced`` may change."""
    parts: list[Any] = []

    def put(at: int, fresh: Any) -> TradeOff:
        parts.clear()

        def change(part: Any) -> Any:
            parts.append(part)
            return fresh if len(parts) == at + 1 else part

        return curve.replaced(change)

    try:
        put(-1, None)
    except SymbolError:  # it cannot be built anew
        return
    for at, part in enumerate(tuple(parts)):
        if isinstance(part, TradeOff):
            for inner in parameters(part):
                yield inner.within(partial(put, at))
        elif isinstance(part, float | Fraction):
            name = next((name for name, value in vars(curve).items() if value is part), "parameter")
            yield Parameter(name, float(part), partial(put, at))
