"""What a limit theorem with a proved error gives: a band that holds the curve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import reals
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.roots import bracket_root
from tradeoff.intervals.rounding import UNIT, Array

_FARTHEST = 700.0  # nats up to which e^epsilon is a float; beyond, delta is between that there and its limit
STEEPEST = 600.0  # no line is steeper than e^600: floats hold its product with any probability


class Hypothesis(NamedTuple):
    """A condition of a theorem, and whether it holds here."""

    statement: str
    holds: bool


class Band(ABC):
    """Enclosure of a composition ``of`` at every alpha in [0, 1], for every number of factors."""

    name: str
    of: TradeOff
    hypotheses: tuple[Hypothesis, ...]

    @property
    @abstractmethod
    def source(self) -> str:
        """Where the theorem stands."""

    @abstractmethod
    def _lower(self, alpha: Array) -> Array:
        """Return a lower bound on f(alpha)."""

    @abstractmethod
    def _upper(self, alpha: Array) -> Array:
        """Return an upper bound on f(alpha)."""

    @abstractmethod
    def _delta(self, epsilon: Array) -> tuple[Array, Array]:
        """Return bounds on delta(epsilon): those that the bounds on f have."""

    def _near(self, delta: Array) -> tuple[Array, Array]:
        """Estimate the upper bound on epsilon(delta), and how far off that is: where it is looked for."""
        return np.zeros_like(delta), np.ones_like(delta)

    @abstractmethod
    def lines(self) -> tuple[Array, Array]:
        """Return slopes s > 0 and intercepts c of lines c - s alpha below the curve."""

    @cached_property
    def guarantee(self) -> PiecewiseLinear:
        """Return a certified curve below the composition, that of the band's lines; it may enter products."""
        return PiecewiseLinear.from_lines(*self.lines()).assuming(*self.of.assumptions)

    def lower(self, alpha: ArrayLike) -> Any:
        """Return a lower bound on f(alpha), for any alpha in [0, 1]."""
        flat, shape = flattened("alpha", alpha, 0.0, 1.0)
        return shaped(self._lower(flat), shape)

    def upper(self, alpha: ArrayLike) -> Any:
        """Return an upper bound on f(alpha), for any alpha in [0, 1]."""
        flat, shape = flattened("alpha", alpha, 0.0, 1.0)
        return shaped(self._upper(flat), shape)

    def bounds(self, alpha: ArrayLike) -> Bounds:
        """Bound f(alpha) for alpha in [0, 1]."""
        return Bounds(self.lower(alpha), self.upper(alpha))

    def delta(self, epsilon: ArrayLike) -> Bounds:
        """Bound delta(epsilon), epsilon in nats: above by sup_alpha 1 - lower(alpha) - e^epsilon alpha."""
        late, shape = flattened("epsilon", epsilon, -np.inf, np.inf)
        early, _ = flattened("epsilon", epsilon, -np.inf, np.inf)
        low, high = self._delta(np.clip(late, -_FARTHEST, _FARTHEST))
        if np.any(early < late):
            high = self._delta(np.clip(early, -_FARTHEST, _FARTHEST))[1]
        # Beyond what e^epsilon holds delta falls from 1 to Q(L = inf), which the curve knows.
        least, most = self.of.mass_at_infinity
        low = np.where(late > _FARTHEST, least, np.where(late == -np.inf, 1.0, low))
        high = np.where(early == np.inf, min(most, 1.0), np.where(early < -_FARTHEST, 1.0, high))
        return Bounds(shaped(low, shape), shaped(high, shape))

    def epsilon(self, delta: ArrayLike) -> Bounds:
        """Bound the least epsilon with delta(epsilon) <= delta, in nats; +inf where the band leaves more."""
        return Bounds(self._epsilon(delta, 0), self.most_epsilon(delta))

    def most_epsilon(self, delta: ArrayLike) -> Any:
        """Return the upper side of ``epsilon`` alone, at half its cost."""
        return self._epsilon(delta, 1)

    def _epsilon(self, delta: ArrayLike, side: int) -> Any:
        flat, shape = flattened("delta", delta, 0.0, 1.0)
        return shaped(np.where(flat < 1, self._crossing(flat, side), -np.inf), shape)

    def _crossing(self, level: Array, side: int) -> Array:
        """Return where one side of delta is still above a level (the lower one), or no longer above it."""
        # From below a void band crosses several times, and the outermost is wanted.
        start, unit = self._near(level) if side else (np.zeros_like(level), np.ones_like(level))

        def place(t: Array) -> Array:
            return np.clip(start + unit * t, -_FARTHEST, _FARTHEST)

        reach = 2 * _FARTHEST / float(np.min(unit, initial=1.0))
        found = bracket_root(lambda t: self._delta(place(t))[side], level, farthest=reach)[side]
        return np.where(np.isfinite(found), place(found), found)


def profile(pairs: Sequence[tuple[Any, Any]], epsilon: Array) -> tuple[Array, Array]:
    """Bound delta, the larger of all orders, by that of the curves around each; one is asked once."""
    found = []
    for below, above in pairs:
        low, high = below.delta(epsilon)
        found.append((low if above is below else next(iter(above.delta(epsilon))), high))
    low, high = np.max(found, axis=0)
    return low, high


def supporting(epsilon: Array, delta: Callable[[Array], tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the lines 1 - delta(eps) - e^eps alpha, delta from above."""
    # Where a line is positive e^eps alpha <= 1: so many units hold the rounding of slopes and of corners.
    return np.exp(epsilon), 1 - delta(epsilon)[1] - 16 * UNIT * (2 + np.abs(epsilon))


def flattened(name: str, value: Any, low: float, high: float) -> tuple[Array, tuple[int, ...]]:
    """Return numbers of a range in one row, and their shape."""
    array = reals(name, value)
    if not np.all((array >= low) & (array <= high)):
        raise DomainError(f"{name} = {shown(value)} is outside [{low:g}, {high:g}]")
    return array.ravel(), array.shape


def shaped(side: Array, shape: tuple[int, ...]) -> Any:
    """Return a row in a shape, a float of none."""
    return side.reshape(shape) if shape else float(side[0])
