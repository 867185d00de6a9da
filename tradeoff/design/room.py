"""How much room a curve has above a goal: estimates, 1 where the two meet, that a search goes by."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import PrecisionError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import Array
from tradeoff.operators.corners import lines_of

# Delta to which profiles are compared, losses asked at once, and how often, each an eighth as far apart.
_FAINT, _PLACES, _CLOSER = 1e-15, 17, 6

# Distance of a ratio from 1 within which delta is asked to a width: the usual one may hide the root.
_NEAR, _SHARP = 1e-3, 1e-9


@dataclass(frozen=True)
class Profile:
    """Points (epsilon, delta) of a goal's profile that count alone, and losses between which every one does.

    The corners of a polygon count alone, and so does the end of a profile: beside it delta_goal/delta_f falls
    to 0 where it is passed by the least, and epsilon_goal/epsilon_f alone tells by how little.
    """

    goal: TradeOff
    epsilon: Array
    delta: Array
    between: Array | None

    @classmethod
    def of(cls, goal: TradeOff) -> Profile:
        lines = lines_of(goal)
        if lines is None:
            end = np.array([goal.sup_loss][: math.isfinite(goal.sup_loss)])
            return cls(goal, end, np.full_like(end, goal.mass_at_infinity.upper), _places(goal))
        epsilon, delta = np.array([(line.least, float(line.delta)) for line in lines]).T
        return cls(goal, epsilon, delta, None)

    def rooms(self, f: TradeOff) -> list[float]:
        """Estimate the least of delta_goal/delta_f and of epsilon_goal/epsilon_f at points, and of all."""
        heights = _ratio(self.delta, _middle(f.bounds.delta, self.epsilon))
        losses = _ratio(self.epsilon, _middle(f.bounds.epsilon, self.delta))
        alone = [float(np.min(ratio, initial=math.inf)) for ratio in (heights, losses)]
        return alone if self.between is None else [*alone, _least(f, self.goal, self.between)]


def room(f: TradeOff, profiles: Iterable[Profile], *, holds: bool) -> float:
    """Estimate the room of a symmetric curve above a goal of which ``profiles`` are the orders.

    From 1 on if the order ``holds``, below 1 if not: of the estimates that agree the nearest to 1, as in a
    corner only one comes near; infinite, or 0, where none agrees.
    """
    rooms = [min(each) for each in zip(*(profile.rooms(f) for profile in profiles), strict=True)]
    agreed = [each for each in rooms if (each >= 1) == holds]
    return min(agreed, default=math.inf) if holds else max(agreed, default=0.0)


def _places(goal: TradeOff) -> Array:
    """Return losses from 0 up to where next to nothing of delta is left; 0 alone where none is known."""
    least = max(_FAINT, min(2 * goal.mass_at_infinity.upper, 1.0))
    levels = np.geomspace(max(goal.bounds.delta(0.0).upper, least), least, _PLACES)
    found = np.maximum(_middle(goal.bounds.epsilon, levels), 0.0)
    return np.unique(np.append(0.0, found[np.isfinite(found)]))


def _least(f: TradeOff, goal: TradeOff, at: Array) -> float:
    """Estimate the least of delta_goal/delta_f, closer about the best place each round, sharper near 1."""
    least = math.inf
    for _ in range(_CLOSER):
        tol = _SHARP if abs(least - 1) < _NEAR else None
        ratio = _ratio(_middle(goal.bounds.delta, at, tol), _middle(f.bounds.delta, at, tol))
        k = int(np.argmin(ratio))
        least = float(ratio[k])
        at = np.linspace(at[max(k - 1, 0)], at[min(k + 1, len(at) - 1)], _PLACES)
    return least


class _Question(Protocol):
    def __call__(self, at: Array, /, *, tol: float | None) -> Bounds[Array]: ...


def _middle(ask: _Question, at: Array, tol: float | None = None) -> Array:
    """Return about the answers, as narrow as asked where that is known; infinite where nothing is."""
    for width in (tol, None):
        with suppress(PrecisionError):
            lower, upper = ask(at, tol=width)
            return (lower + upper) / 2
    return np.full_like(at, np.inf)


def _ratio(goal: Array, found: Array) -> Array:
    """Return goal/found; infinite where nothing is lost, which leaves room for anything."""
    ratio = np.full_like(found, np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        np.divide(goal, found, out=ratio, where=found > 0)
    return np.nan_to_num(ratio, nan=np.inf, posinf=np.inf)
