"""Law of L when a log-concave density e^-V is shifted by theta: L(x) = V(x) - V(x - theta), increasing in x.

With a = L(x_a) at the start of a cell and b at its stop,

    excess  = int q(x) (1 - e^-(L(x) - a)) dx,    deficit = int p(x) (1 - e^-(b - L(x))) dx,

and both increments of L are integrals of L' over part of the cell, so that nothing cancels however narrow it
is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tradeoff.intervals.rounding import TINY, UNIT, Array
from tradeoff.pld.law import Cells, PlanningPoints, PrivacyLossDistribution
from tradeoff.pld.panels import LEAST, NODES_WIDE, STEEP, Panels, Shape, measure, merge

_NARROW = 1 / 16  # share of a panel up to which fewer nodes are enough: remainders fall with its power
_SKETCH = 4001  # points of a sketch: as many as a plan reads in a millisecond


@dataclass(frozen=True, eq=False)
class ShiftLaw(PrivacyLossDistribution):
    """Law of L of a shifted log-concave density."""

    shape: Shape

    @cached_property
    def _skeleton(self) -> Array:
        return self.shape.panels()

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.shape.loss(np.array(self.shape.span))
        return float(low), float(min(high, self.shape.sup_loss))

    def sketch(self) -> PlanningPoints:
        count = len(self._skeleton)
        ends = np.interp(np.linspace(0, count - 1, _SKETCH), np.arange(count), self._skeleton)
        middle, width = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
        keep = (width > 0) & (np.maximum(self.shape.log_p(middle), self.shape.log_q(middle)) > -LEAST)
        return PlanningPoints(
            self.shape.loss(middle[keep]), np.log(width[keep]) + self.shape.log_p(middle[keep])
        )

    def place(self, loss: Array) -> tuple[Array, Array]:
        """Return where L has the losses, the nearest end where it has not, and the error of the place."""
        x, error = self.shape.locate(loss)
        (first, last), (low, high) = self.shape.span, self.support
        # Where L is flat to the last digit many x have its least or largest value: all lie inside.
        return np.where(loss <= low, first, np.where(loss >= high, last, np.clip(x, first, last))), error

    def _fine(self, x: Array) -> tuple[Array, Panels]:
        """Cut at every point of ``x`` and of the skeleton between its ends; measure each panel."""
        inside = self._skeleton[(self._skeleton > x[0]) & (self._skeleton < x[-1])]
        points = np.unique(np.concatenate([x, inside]))
        middle = (points[1:] + points[:-1]) / 2
        at = np.clip(np.searchsorted(self._skeleton, middle) - 1, 0, len(self._skeleton) - 2)
        narrow = np.diff(points) <= _NARROW * np.diff(self._skeleton)[at]
        return points, measure(self.shape, points[:-1], points[1:], narrow)

    @property
    def next_to_ends(self) -> tuple[float, float]:
        # At a turn L is flat: 64 errors away its width is known to 1/128.
        low, high = super().next_to_ends
        off = 64 * self.shape.loss_error(np.array(self.shape.span))
        return low + float(off[0]), high + float(off[1])

    def edge_error(self, edges: Array) -> Array:
        x, error = self.place(edges)
        # The slope changes by 1/128 in between; where L is flat next to sup L, it is off as theta is.
        return super().edge_error(edges) + 2 * self.shape.slope(x) * error + 2 * UNIT * self.shape.theta

    def _cells(self, edges: Array) -> Cells:
        x, error = self.place(edges)
        x = np.maximum.accumulate(x)
        zero = np.zeros(len(x) - 1)
        if x[-1] <= x[0]:
            return Cells(zero, zero, zero)
        points, panels = self._fine(x)
        owner = np.searchsorted(x, points[:-1], side="right") - 1
        first = np.searchsorted(owner, np.arange(len(x) - 1))
        starts, stops = np.minimum(first, len(owner)), np.append(first[1:], len(owner))
        excess, deficit = zero.copy(), zero.copy()
        for pieces in np.unique(stops - starts):  # most cells are one panel or two: merge all alike at once
            cells = np.flatnonzero(stops - starts == pieces)
            rows = starts[cells][:, None] + np.arange(pieces)
            excess[cells], deficit[cells], _ = merge(Panels(*(values[rows] for values in panels)))
        slope_error = self.shape.slope_error(points[:-1]) * np.diff(points)
        each = panels.q, panels.p, slope_error
        q, p, drift = (np.bincount(owner, part, len(zero)).astype(float) for part in each)
        return _drifted(Cells(excess, deficit, self._slack(x, error)), (q, p), drift)

    def _slack(self, x: Array, error: Array) -> Array:
        shape, width = self.shape, np.diff(x)
        size = np.minimum(np.abs(shape.log_p(x)), LEAST) + np.minimum(np.abs(shape.log_q(x)), LEAST)
        # Rules of 20 nodes, expm1 and weights cost less than 256 units, densities as much as their
        # logarithms.
        density = UNIT * (256 + shape.stiffness * (size[:-1] + size[1:]))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            turn = 1 / width + np.minimum(shape.steepness(x, size), 1e300) * (width > 0)
            # An integral of a gap: twice, and twice the end's.
            slack = density + 4 * (error[:-1] + error[1:]) * turn
        return np.where(width > 0, np.minimum(slack, 1.0), 0.0)

    @cached_property
    def _tails(self) -> tuple[Array, Array, Array]:
        """Delta at every skeleton point, and R = e^loss P(L > loss) there, by positive sums.

        The third bounds the effect of errors n of the slope on delta: int n(t) e^-(L(t) - loss) R(t) dt.
        """
        x = self._skeleton
        panels = measure(self.shape, x[:-1], x[1:], np.zeros(len(x) - 1, dtype=bool))
        delta, rest, drift = np.zeros((3, len(x)))
        keep, lift = np.exp(-panels.rise), -np.expm1(-panels.rise)
        wrong = self.shape.slope_error(x[:-1]) * np.diff(x)
        for k in range(len(x) - 2, -1, -1):
            rest[k] = panels.carried[k] + keep[k] * rest[k + 1]
            delta[k] = panels.excess[k] + delta[k + 1] + lift[k] * rest[k + 1]
            drift[k] = wrong[k] * rest[k] + keep[k] * drift[k + 1]
        return delta, rest, drift

    def tail(self, epsilon: Array) -> tuple[Array, Array]:
        """Bound delta(eps), of a law that is the whole of P and Q: 1 - e^eps below all losses."""
        outside, folded = epsilon < self.support[0], -np.expm1(np.minimum(epsilon, 0.0))
        low, high = self.share(epsilon, np.zeros(len(epsilon)))
        # expm1 costs 8 units.
        low = np.where(outside, folded * (1 - 16 * UNIT), low)
        return low, np.where(outside, folded * (1 + 16 * UNIT) + self._underflow, high)

    def share(self, epsilon: Array, off: Array) -> tuple[Array, Array]:
        """Bound Q(L > eps) - e^eps P(L > eps) of a law that may be a part.

        Its slope is -R, R = e^eps P(L > eps), which prices the error of x, and ``off``, that of losses.
        """
        x, error = self.place(epsilon)
        following = np.clip(np.searchsorted(self._skeleton, x, side="right"), 1, len(self._skeleton) - 1)
        ends = self._skeleton[following]
        panel = measure(self.shape, x, ends, np.zeros(len(x), dtype=bool))
        delta, rest, drift = (values[following] for values in self._tails)
        value = panel.excess + delta - np.expm1(-panel.rise) * rest
        carried = panel.carried + np.exp(-panel.rise) * rest
        size = np.minimum(np.abs(self.shape.log_q(x)) + np.abs(self.shape.log_p(x)), 2 * LEAST)
        # The recursion sums positive terms, one a point, on integrals known as those of cells are.
        relative = UNIT * (512 + 2 * len(self._skeleton) + 2 * self.shape.stiffness * size)
        density, steep = np.exp(self.shape.log_q(x)), panel.rise > STEEP
        moved = self.shape.slope(x) * error * carried + 4 * UNIT * self.shape.theta * density
        moved += np.where(steep, error * density, 0.0)  # no float lies where all of the rest is carried
        bottom, top = self.support
        # Below all losses of a piece the reference moves, e^bottom P - e^eps P; ends are losses like others.
        value -= np.expm1(np.minimum(epsilon - bottom, 0.0)) * carried
        begun = self.shape.slope_error(self._skeleton[following - 1]) * np.diff(self._skeleton)[following - 1]
        moved += off * carried + begun * carried + np.exp(-panel.rise) * drift
        over, past = epsilon >= self.shape.sup_loss, epsilon > top + np.where(off > 0, off, np.inf)
        low = np.where(over | (epsilon >= top), 0.0, np.maximum(value * (1 - relative) - 2 * moved, 0.0))
        high = np.where(past, 0.0, value * (1 + relative) + 2 * moved) + self._underflow
        return low, np.where(over, 0.0, high)

    @property
    def _underflow(self) -> float:
        """Every term of every panel may lose half of the least float."""
        return TINY * NODES_WIDE * len(self._skeleton)


def _drifted(cells: Cells, masses: tuple[Array, Array], drift: Array) -> Cells:
    """Charge the effect of errors of the slope on the rise in cells: at most ``drift``.

    As 1 - e^-t grows no faster than t, that is ``drift`` Q of the excess, and ``drift`` P of the deficit.
    Masses that underflow are below TINY.
    """
    if not drift.any():
        return cells
    with np.errstate(over="ignore"):  # of parts far below their errors: the slack is 1
        off = [drift * mass / np.maximum(part, TINY) for mass, part in zip(masses, cells[:2], strict=True)]
    # Masses and parts are themselves known to the slack only, as long as that is below 1/4: twice.
    return cells._replace(slack=np.minimum(cells.slack + 2 * np.maximum(*off), 1.0))
