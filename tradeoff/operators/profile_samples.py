"""A profile bounded at nodes, and by convexity between them.

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
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, expm1, minimum
from tradeoff.intervals.rounding import Array

_WIDEST = 700.0  # nats, the largest step whose exponential is still a float


@dataclass(frozen=True)
class Nodes:
    """Bounds on delta at increasing nodes, in one order of the pair."""

    curve: TradeOff
    epsilon: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, curve: TradeOff, epsilon: Array) -> Nodes:
        """Return bounds at the nodes given."""
        return cls(curve, *[np.empty(0)] * 3).more(epsilon)

    @property
    def widths(self) -> Bounds[Array]:
        """Bound e^step - 1 for each cell of a length in nats, as far as floats go."""
        return expm1(minimum(Bounds.of(self.epsilon[1:]) - self.epsilon[:-1], _WIDEST))

    def refine(self, epsilon: Array, tol: float | None = None) -> Nodes:
        """Return all nodes, with bounds at new or known ones to the relative width ``tol``."""
        low, high = self.curve.bounds.delta(epsilon, tol=tol)
        # No loss is above sup L.
        last = self.curve.mass_at_infinity.upper
        high = np.where(epsilon >= self.curve.sup_loss, np.minimum(high, last), high)
        every, at = np.unique(np.append(self.epsilon, epsilon), return_inverse=True)
        lower, upper = np.zeros(len(every)), np.ones(len(every))
        np.maximum.at(lower, at, np.append(self.lower, low))
        np.minimum.at(upper, at, np.append(self.upper, high))
        # As delta decreases, each bound holds for its neighbours too.
        lower, upper = np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)
        return Nodes(self.curve, every, lower, upper)

    def more(self, epsilon: Array, tol: float | None = None) -> Nodes:
        """Return more nodes, the new ones to the relative width ``tol`` where it can be reached."""
        fresh = np.setdiff1d(epsilon, self.epsilon)
        if not len(fresh):
            return self
        try:
            return self.refine(fresh, tol)
        except PrecisionError:
            return self.refine(fresh)

    def sharper(self, again: NDArray[np.intp], tol: float) -> Nodes:
        """Return some nodes to the relative width ``tol``, unless that cannot be reached."""
        try:
            return self.refine(self.epsilon[again], tol)
        except PrecisionError:
            return self

    def some(self, which: NDArray[np.intp]) -> Nodes:
        """Return some of the nodes."""
        return Nodes(self.curve, self.epsilon[which], self.lower[which], self.upper[which])

    def middle(self, cells: NDArray[np.intp]) -> Array:
        """Return the middles of cells."""
        return np.asarray((self.epsilon[:-1][cells] + self.epsilon[1:][cells]) / 2)


# Points of each cell, and values there whose polygon lies below the profile.
Floor = tuple[Bounds[Array], Array]


def under(nodes: Nodes) -> Floor:
    """Return points t = s/s_a - 1 in each cell, and values there whose polygon lies below the profile.

    Three points a cell: its ends, and about where the chords of its neighbours, prolonged, meet. Both chords
    lie below the profile all over the cell, so that a polygon does whose middle value is below either.
    """
    low, high, wide = nodes.lower, nodes.upper, np.diff(nodes.epsilon) >= _WIDEST
    inner = Bounds.of(nodes.epsilon[1:-1]) - nodes.epsilon[:-2]
    later = Bounds.of(nodes.epsilon[2:]) - nodes.epsilon[1:-1]
    # Slopes in t, steeper than the truth on the left: those of the cell before, and of the first cell at
    # least -1, as delta is convex in s and 1 at s = 0; flatter on the right, those of the cell after.
    falls = ((Bounds.of(low[1:-1]) - high[:-2]) / -expm1(-inner)).lower
    gains = ((Bounds.of(low[1:-1]) - high[2:]) / expm1(minimum(later, _WIDEST)) * exp(-inner)).lower
    left = np.append(-1.0, falls)
    right = np.append(np.where(wide[1:], 0.0, np.maximum(gains, 0.0)), 0.0)
    width = nodes.widths
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (low[1:] + width.lower * right - low[:-1]) / (left + right)
    middle = np.clip(np.nan_to_num(meet), 0.0, width.lower)
    t = Bounds(*(np.stack([np.zeros_like(middle), middle, end]) for end in width))
    corner = minimum(low[:-1] + Bounds.of(middle) * left, low[1:] + (width - middle) * right).lower
    # Where the step has no exponential in floats, delta is only known to fall.
    value = np.stack([low[:-1], np.where(wide, low[1:], np.maximum(corner, 0.0)), low[1:]])
    value[0] = np.where(wide, low[1:], value[0])
    return t, value


def chords(nodes: Nodes, values: Array, t: Bounds[Array]) -> Array:
    """Bound the chords of ``values`` at the points ``t`` of ``under`` from above."""
    return np.asarray((values[:-1] + (Bounds.of(values[1:]) - values[:-1]) * (t / nodes.widths)).upper)


def orders(*curves: TradeOff) -> list[tuple[TradeOff, ...]]:
    """Return the orders to compare for eps >= 0: one if all curves are symmetric, else both.

    As delta_{f^-1}(eps) = 1 - e^eps + e^eps delta_f(-eps), f >= g at -eps is f^-1 >= g^-1 at eps.
    """
    return [curves] if all(f.symmetric for f in curves) else [curves, tuple(f.inverse() for f in curves)]


def end(f: TradeOff, level: float) -> float:
    """Return an eps >= 0 from which on delta_f <= level, or inf if there may be none."""
    top = f.sup_loss if f.mass_at_infinity.upper <= level else np.inf
    try:
        at = max(float(f.bounds.epsilon(level).upper), 0.0)
    except PrecisionError:
        return max(top, 0.0)
    # Epsilon and delta are computed separately, and may differ in the last digits.
    tries = [at + slack * (at + slack) for slack in (0.0, 1e-12, 1e-9, 1e-6, 1e-3) if at < np.inf]
    first = next((each for each in tries if each < top and f.bounds.delta(each).upper <= level), top)
    return max(first, 0.0)
