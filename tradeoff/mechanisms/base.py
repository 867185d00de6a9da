"""What every mechanism is: a frozen description of noise that hands out a curve, and is not one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Literal, NoReturn

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MOST, count, is_symbol, real
from tradeoff.errors import KindError, domain
from tradeoff.intervals.functions import rational

Adjacency = Literal["add-remove", "replace-one"]
Order = Literal["symmetric", "tied", "free"]


class Mechanism(ABC):
    """Description of one release: noise, sensitivity, how it samples, which neighbours it is stated for.

    A mechanism is no curve: it takes no part in the algebra until ``curve()`` is asked, or a ``Plan`` counts
    it.
    """

    kind: ClassVar[str]
    """Name of the mechanism in a plan file."""

    adjacency: ClassVar[Adjacency | None] = None
    """Neighbours the description is tied to; None fits any."""

    order: ClassVar[Order] = "symmetric"
    """How the two orders of a pair of neighbours turn in a plan.

    ``"symmetric"``: both have the same curve. ``"tied"``: they differ, and turn together with those of every
    other tied mechanism. ``"free"``: they differ, and each release may turn on its own.
    """

    @abstractmethod
    def curve(self) -> TradeOff:
        """Trade-off function of one release, in one order of the pair."""

    def _no_algebra(self, *_: object) -> NoReturn:
        raise KindError(
            f"{self!r} is a mechanism, and the algebra is of curves: write {self!r}.curve(), "
            "or count it in a Plan"
        )

    __matmul__ = __rmatmul__ = __pow__ = __invert__ = __ge__ = __le__ = __call__ = _no_algebra


def number(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Return ``value`` as a float in the range; booleans, text and symbols are no numbers here."""
    if isinstance(value, bool | str | bytes) or is_symbol(value):
        raise domain(name, value, "the real numbers", "a mechanism takes one number")
    return float(real(name, value, low, high, open_low=open_low, open_high=open_high))


def whole(name: str, value: Any, low: int) -> int:
    """Return ``value`` as an integer of at least ``low``."""
    return count(name, value, low, MOST)


def ratio(above: float, below: float) -> float:
    """Return above/below, rounded up: the loss of a mechanism is never understated by the division.

    Examples
    --------
    >>> ratio(1, 8), ratio(1, 3) > 1 / 3
    (0.125, True)
    """
    return 0.0 if math.isinf(below) else float(rational(Fraction(above) / Fraction(below)).upper)
