"""What a limit theorem with a proved error gives: a band that holds the curve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import reals
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.roots import bracket_sides
from tradeoff.intervals.rounding import UNIT, Array

_FARTHEST = 700.0
"""Nats up to which e^epsilon is a float; beyond, delta is between its value there and its limit."""


class Hypothesis(NamedTuple):
    """A condition of a theorem, and whether it holds here."""

    statement: str
    holds: bool


class Band(ABC):
    """Enclosure of a composition ``of`` at every alpha in [0, 1], for every number of factors."""

    name: str
    of: TradeOff
    hypotheses: tuple[Hypothesis, ...]

    @abstractmethod
    def _bounds(self, alpha: Array) -> tuple[Array, Array]:
        """Return bounds on f(alpha)."""

    @abstractmethod
    def _delta(self, epsilon: Array) -> tuple[Array, Array]:
        """Return bounds on delta(epsilon): those that the bounds on f have."""

    @abstractmethod
    def lines(self) -> tuple[Array, Array]:
        """Return slopes s > 0 and intercepts c of lines c - s alpha below the curve."""

    @cached_property
    def guarantee(self) -> PiecewiseLinear:
        """Return a certified curve below the composition, that of the band's lines; it may enter products."""
        return PiecewiseLinear.from_lines(*self.lines()).assuming(*self.of.assumptions)

    def lower(self, alpha: ArrayLike) -> Any:
        """Return a lower bound on f(alpha), for any alpha in [0, 1]."""
        return self.bounds(alpha).lower

    def upper(self, alpha: ArrayLike) -> Any:
        """Return an upper bound on f(alpha), for any alpha in [0, 1]."""
        return self.bounds(alpha).upper

    def bounds(self, alpha: ArrayLike) -> Bounds:
        """Bound f(alpha) for alpha in [0, 1]."""
        flat, shape = _array("alpha", alpha, 0.0, 1.0)
        return _shaped(*self._bounds(flat), shape)

    def delta(self, epsilon: ArrayLike) -> Bounds:
        """Bound delta(epsilon), epsilon in nats.

        From above by sup_alpha 1 - lower(alpha) - e^epsilon alpha.
        """
        flat, shape = _array("epsilon", epsilon, -np.inf, np.inf)
        low, high = self._delta(np.clip(flat, -_FARTHEST, _FARTHEST))
        # Beyond what e^epsilon holds: delta falls from 1 at -inf to Q(L = inf) at +inf, which the curve
        # knows.
        least, most = self.of.mass_at_infinity
        low = np.where(flat > _FARTHEST, least, np.where(flat == -np.inf, 1.0, low))
        high = np.where(flat == np.inf, min(most, 1.0), np.where(flat < -_FARTHEST, 1.0, high))
        return _shaped(low, high, shape)

    def epsilon(self, delta: ArrayLike) -> Bounds:
        """Bound the least epsilon with delta(epsilon) <= delta, in nats; +inf where the band leaves more."""
        flat, shape = _array("delta", delta, 0.0, 1.0)
        low, high = bracket_sides(
            lambda e: self._delta(np.clip(e, -_FARTHEST, _FARTHEST)), flat, farthest=_FARTHEST
        )
        high = np.where(flat < 1, high, -np.inf)
        return _shaped(np.minimum(low, high), high, shape)


class Profiled(Protocol):
    """Bounds on delta(epsilon) of a curve below another, or above it."""

    def delta(self, epsilon: Array, /) -> Iterable[Array]:
        """Return bounds on delta(epsilon)."""


def profile(pairs: Sequence[tuple[Profiled, Profiled]], epsilon: Array) -> tuple[Array, Array]:
    """Bound delta, the larger of all orders, by the curves around each; one is asked once."""
    found = []
    for below, above in pairs:
        low, high = below.delta(epsilon)
        found.append((low if above is below else next(iter(above.delta(epsilon))), high))
    low, high = np.max(found, axis=0)
    return low, high


def supporting(epsilon: Array, delta: Callable[[Array], tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the lines 1 - delta(eps) - e^eps alpha, delta from above.

    Where a line is positive e^eps alpha <= 1: 16 (2 + |eps|) units hold the rounding of its slope, and of
    where lines meet.
    """
    return np.exp(epsilon), 1 - delta(epsilon)[1] - 16 * UNIT * (2 + np.abs(epsilon))


def _array(name: str, value: ArrayLike, low: float, high: float) -> tuple[Array, tuple[int, ...]]:
    array = reals(name, value)
    if not np.all((array >= low) & (array <= high)):
        raise DomainError(f"{name} = {shown(value)} is outside [{low:g}, {high:g}]")
    return array.ravel(), array.shape


def _shaped(low: Array, high: Array, shape: tuple[int, ...]) -> Bounds:
    return Bounds(low.reshape(shape), high.reshape(shape)) if shape else Bounds(float(low[0]), float(high[0]))
