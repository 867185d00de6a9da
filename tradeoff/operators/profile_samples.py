"""A profile known at nodes, and what convexity says of it between them.

In s = e^eps the profile of a trade-off function is convex. So between two nodes it lies under the chord of
its upper bounds, and above the chords of the neighbouring cells prolonged: statements about every eps, made
from finitely many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import PrecisionError
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import exp, expm1, maximum, minimum
from tradeoff.intervals.rounding import UNIT, Array

_WIDEST = 700.0  # steps in nats from which on e^step is as good as beyond the floats


@dataclass(frozen=True)
class Nodes:
    """Bounds on delta at increasing nodes from eps = 0, in one order of the pair."""

    curve: TradeOff
    epsilon: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, curve: TradeOff, epsilon: Array) -> Nodes:
        """Ask the curve at the nodes."""
        return cls(curve, epsilon, *_monotone(*_asked(curve, epsilon)))

    @property
    def widths(self) -> Bounds[Array]:
        """Bound e^step - 1 for each cell of a length in nats, as far as floats go."""
        return expm1(minimum(Bounds.of(self.epsilon[1:]) - self.epsilon[:-1], _WIDEST))

    def more(self, epsilon: Array, tol: float | None = None) -> Nodes:
        """Ask at more nodes, and only there; to the relative width ``tol`` where it can be reached."""
        fresh = np.setdiff1d(epsilon, self.epsilon)
        every, order = np.unique(np.append(self.epsilon, fresh), return_index=True)
        low, high = _asked(self.curve, fresh, tol) if len(fresh) else (fresh, fresh)
        both = np.append(self.lower, low)[order], np.append(self.upper, high)[order]
        return Nodes(self.curve, every, *_monotone(*both))

    def some(self, which: NDArray[np.intp]) -> Nodes:
        """Return some of the nodes."""
        return Nodes(self.curve, self.epsilon[which], self.lower[which], self.upper[which])

    def sharper(self, again: NDArray[np.intp], tol: float) -> Nodes:
        """Ask again at some nodes, to the relative width ``tol``, unless that cannot be reached."""
        try:
            low, high = self.curve.bounds.delta(self.epsilon[again], tol=tol)
        except PrecisionError:
            return self
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[again], upper[again] = np.maximum(lower[again], low), np.minimum(upper[again], high)
        return Nodes(self.curve, self.epsilon, *_monotone(lower, upper))

    def middle(self, cells: NDArray[np.intp]) -> Array:
        """Return the middles of cells."""
        return np.asarray((self.epsilon[:-1][cells] + self.epsilon[1:][cells]) / 2)


def _asked(curve: TradeOff, epsilon: Array, tol: float | None = None) -> Pair:
    try:
        low, high = curve.bounds.delta(epsilon, tol=tol)
    except PrecisionError:
        low, high = curve.bounds.delta(epsilon)
    # No loss is above sup L.
    return low, np.where(epsilon >= curve.sup_loss, 0.0, high) if curve.mass_at_infinity.upper == 0 else high


def _monotone(low: Array, high: Array) -> Pair:
    """As delta decreases, each bound serves its neighbours too."""
    return np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)


# Points of each cell, and values there whose polygon lies below the profile.
Floor = tuple[Bounds[Array], Array]


def under(nodes: Nodes) -> Floor:
    """Return points t = s/s_a - 1 in each cell, and values there whose polygon lies below the profile.

    Three points a cell: its ends, and where the chords of its neighbours, prolonged, meet.
    """
    low, high, wide = nodes.lower, nodes.upper, np.diff(nodes.epsilon) >= _WIDEST
    inner = Bounds.of(nodes.epsilon[1:-1]) - nodes.epsilon[:-2]
    later = Bounds.of(nodes.epsilon[2:]) - nodes.epsilon[1:-1]
    # Slopes in t, steeper than the truth on the left: delta' >= -1 in s at s = 1, and >= the slope of the
    # cell before; flatter on the right, by the cell after.
    falls = ((Bounds.of(low[1:-1]) - high[:-2]) / -expm1(-inner)).lower
    gains = ((Bounds.of(low[1:-1]) - high[2:]) / expm1(minimum(later, _WIDEST)) * exp(-inner)).lower
    left = np.append(-1.0, falls)
    right = np.append(np.where(wide[1:], 0.0, np.maximum(gains, 0.0)), 0.0)
    width = nodes.widths
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (low[1:] + width.lower * right - low[:-1]) / (left + right)
    middle = np.clip(np.nan_to_num(meet), 0.0, width.lower)
    t = Bounds(*(np.stack([np.zeros_like(middle), middle, end]) for end in width))
    value = maximum(low[:-1] + t * left, low[1:] + (width - t) * right).lower
    # They meet elsewhere by what roundings make of ``meet``, four of sums below delta_a, and three of ratios:
    # so the lines are at most that far apart at t, and the polygon above them where they meet.
    value[1] -= 16 * UNIT * high[:-1]
    # Of a cell that no float measures all that is known is that delta falls.
    return t, np.maximum(np.where(wide, low[1:], value), 0.0)


def chords(nodes: Nodes, values: Array, t: Bounds[Array]) -> Array:
    """Bound the chords of ``values`` at the points ``t`` of ``under`` from above."""
    return np.asarray((values[:-1] + (Bounds.of(values[1:]) - values[:-1]) * (t / nodes.widths)).upper)


def orders(*curves: TradeOff) -> list[tuple[TradeOff, ...]]:
    """Return the orders to look at with eps >= 0: one if all curves are symmetric, else both.

    As delta_{f^-1}(eps) = 1 - e^eps + e^eps delta_f(-eps), f >= g at -eps is f^-1 >= g^-1 at eps.
    """
    return [curves] if all(f.symmetric for f in curves) else [curves, tuple(f.inverse() for f in curves)]


def end(f: TradeOff, level: float) -> float:
    """Return an eps >= 0 from which on delta_f <= level, or inf if none is known."""
    top = f.sup_loss if f.mass_at_infinity.upper <= level else np.inf
    try:
        at = max(float(f.bounds.epsilon(level).upper), 0.0)
    except PrecisionError:
        return max(top, 0.0)
    # The two questions are answered apart, and may differ in the last digits.
    tries = [at + slack * (at + slack) for slack in (0.0, 1e-12, 1e-9, 1e-6, 1e-3) if at < np.inf]
    first = next((each for each in tries if each < top and f.bounds.delta(each).upper <= level), top)
    return max(first, 0.0)
