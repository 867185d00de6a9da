"""A part of a design: releases whose noise scale is to be chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import count, number
from tradeoff.errors import DomainError, KindError, called, shown
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan

Release = TradeOff | Mechanism | Plan  # what is released at a scale
_SCALES = ("noise_multiplier", "sigma", "scale")  # names of the one number that is a mechanism's noise


@dataclass(frozen=True)
class Part:
    """Releases whose noise scale is to be chosen.

    Parameters
    ----------
    build
        From a scale to a curve, a mechanism or a plan, more private as the scale grows; or a mechanism whose
        one ``noise_multiplier``, ``sigma`` or ``scale`` is replaced. A curve of one order turns with all
        others, as a tied mechanism does; one that may turn alone enters as its envelope.
    count
        How often it runs, a whole number from 1; all parts alike together at most 2^53 times.
    weight
        What a unit of squared scale costs beside other parts, in (0, inf).

    Examples
    --------
    >>> from tradeoff.mechanisms import Laplace
    >>> Part(Laplace, count=20, weight=10.0).count
    20
    """

    build: Callable[[float], Release] | Mechanism
    count: int = 1
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", count("count", self.count, 1))
        object.__setattr__(self, "weight", number("weight", self.weight, 0, open_low=True, open_high=True))
        if isinstance(self.build, TradeOff) or not callable(self.build):
            raise KindError(
                f"{shown(self.build)} has no scale to choose; give a function that builds it from one"
            )

    def curve(self, scale: float, adjacencies: set[str]) -> TradeOff:
        """Return its curve in one order of the pair; note for which neighbours it is stated."""
        if isinstance(self.build, Mechanism):
            made: Any = _rescaled(self.build, scale)
        else:
            made = called("build", self.build, scale)
        if isinstance(made, TradeOff):
            made.require_numbers()
            return made
        if isinstance(made, Mechanism):
            adjacencies.update({made.adjacency} if made.adjacency else ())
            return Plan({made: 1}, made.adjacency or "add-remove").curve()
        if not isinstance(made, Plan):
            raise KindError(f"a part builds {shown(made)}, which is no curve, mechanism or plan")
        adjacencies.add(made.adjacency)
        return made.curve()


def listed(parts: Iterable[Any]) -> list[Part]:
    """Return parts as such, given as such, by their arguments, or by what builds them."""
    try:
        given = list(parts)
    except TypeError as error:
        raise KindError(f"parts = {shown(parts)} is no list of functions, mechanisms or to.Part") from error
    if not given:
        raise DomainError("there are no parts to allocate; give at least one")
    made = [Part(*p) if isinstance(p, tuple) and 0 < len(p) <= len(fields(Part)) else p for p in given]
    return [p if isinstance(p, Part) else Part(p) for p in made]


def _rescaled(mechanism: Mechanism, scale: float) -> Mechanism:
    given = mechanism.parameters()
    for name in _SCALES:
        if isinstance(given.get(name), float | Fraction):
            return type(mechanism)(**{**given, name: scale})
    raise KindError(f"{mechanism!r} has no one number among {', '.join(_SCALES)}; give a function of a scale")
