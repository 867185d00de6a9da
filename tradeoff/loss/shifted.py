"""Law of L when a log-concave density e^-V is shifted by theta: L(x) = V(x) - V(x - theta), increasing in x.

With a = L(x_a) at the start of a cell and b at its stop,

    excess  = int q(x) (1 - e^-(L(x) - a)) dx,    deficit = int p(x) (1 - e^-(b - L(x))) dx,

and both increments of L are integrals of L' over part of the cell, so that nothing cancels however narrow it
is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import TINY, UNIT, Array
from tradeoff.loss.law import Cells, LossLaw, Sketch

LEAST = 750.0
"""Densities below e^-LEAST are zero: no float holds them."""

_MOST_PANELS = 100_000
"""Panels of one law: those of normal laws 150 deviations apart, in a tenth of a second."""

_NARROW = 1 / 16
"""Share of a panel up to which fewer nodes integrate as exactly: the remainder falls with the power of the
width."""

_NODES_NARROW, _NODES_WIDE = 9, 20
"""Gauss-Legendre nodes of narrow and of wide panels; the remainder of either is below 2^-53 (see
``_rule``)."""

_STEEP, _PIECES = 4.0, 32
"""Rise of L above which a panel is cut: at either end into as many pieces of about half that rise, 64 nats.
Where slopes turn by e along a panel these are 37, and e^-37 is nothing beside the units charged."""

_SKETCH = 4001
"""Points of a sketch: as many as a plan looks at in a millisecond."""

_TOGETHER = 3
"""Panels of a cell that are merged for all cells at once; cells of more are few, and merged one by one."""


class Shape(ABC):
    """Density and loss of one family at one shift, in a coordinate where both are analytic inside panels."""

    theta: float
    span: tuple[float, float]
    """Ends outside which neither law has mass a float can hold."""
    sup_loss: float = np.inf

    @abstractmethod
    def log_p(self, x: Array) -> Array:
        """Log-density of P."""

    def log_q(self, x: Array) -> Array:
        """Log-density of Q."""
        return self.log_p(x - self.theta)

    @abstractmethod
    def loss(self, x: Array) -> Array:
        """Return L(x), to absolute accuracy."""

    @abstractmethod
    def slope(self, x: Array) -> Array:
        """Return L'(x) >= 0, to relative accuracy."""

    @abstractmethod
    def locate(self, loss: Array) -> tuple[Array, Array]:
        """Return x with L(x) = loss, and its absolute error."""

    @abstractmethod
    def panels(self) -> Array:
        """Return increasing points over ``span``, close enough for the quadrature between neighbours."""

    @abstractmethod
    def beta(self, alpha: Array) -> tuple[Array, Array]:
        """Bound f(alpha)."""

    stiffness: float = 8.0
    """Rounding of a log-density, in units, for each unit of its size."""

    def loss_error(self, x: Array) -> Array:
        """Bound the error of L where it is known to rise only up to that."""
        return np.zeros(len(x))

    def slope_error(self, x: Array) -> Array:
        """Bound the error of ``slope`` up to the next point of ``panels``, where it is not relative."""
        return np.zeros(len(x))

    def steepness(self, x: Array, size: Array) -> Array:
        """Bound the logarithmic derivatives of both densities between neighbouring points.

        ``size`` is |log p| + |log q| at the points.
        """
        return (size[:-1] + size[1:] + 1) * self.stiffness / np.minimum(np.diff(x), 1.0)


class Mirrored(Shape):
    """The other order of a pair: P and Q change places and the line is turned, so that L increases."""

    def __init__(self, base: Shape) -> None:
        self.base, self.theta, self.stiffness = base, base.theta, base.stiffness
        self.span = (-base.span[1], -base.span[0])

    def log_p(self, x: Array) -> Array:
        return self.base.log_q(-x)

    def log_q(self, x: Array) -> Array:
        return self.base.log_p(-x)

    def loss(self, x: Array) -> Array:
        return -self.base.loss(-x)

    def slope(self, x: Array) -> Array:
        return self.base.slope(-x)

    def locate(self, loss: Array) -> tuple[Array, Array]:
        x, error = self.base.locate(-loss)
        return -x, error

    def panels(self) -> Array:
        return -self.base.panels()[::-1]


@cache
def _rule(nodes: int) -> tuple[Array, Array, Array]:
    """Gauss-Legendre nodes and weights on [0, 1], and the matrix that integrates from 0 to each node."""
    x, w = legendre.leggauss(nodes)
    values = legendre.legvander(x, nodes)
    degree = np.arange(1, nodes)
    rising = np.empty((nodes, nodes))
    rising[:, 0] = x + 1
    # int_-1^x P_k = (P_(k+1)(x) - P_(k-1)(x))/(2k + 1)
    rising[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2 * degree + 1)
    modes = (np.arange(nodes) + 0.5)[:, None] * values[:, :nodes].T * w
    return (x + 1) / 2, w / 2, (rising @ modes) / 2


class _Panels(NamedTuple):
    """Integrals over consecutive panels; ``rise`` is that of L, ``carried`` = int q e^-(L(x) - L(start))."""

    rise: Array
    excess: Array
    deficit: Array
    carried: Array
    p: Array
    q: Array


def _measure(shape: Shape, start: Array, stop: Array, narrow: Array) -> _Panels:
    """Integrate over panels, in pieces where L rises steeply.

    A panel is made for the densities that floats hold. Where one of them is nothing beside the other,
    e^-rise falls as fast as their quotient, and all that is left of it lies next to an end.
    """
    found = _integrated(shape, start, stop, narrow)
    steep = np.flatnonzero(found.rise > _STEEP)
    if len(steep):
        share = np.minimum(_STEEP / 2 / found.rise[steep], 0.5 / _PIECES)[:, None]
        near = share * np.arange(_PIECES + 1)
        first, last = start[steep][:, None], stop[steep][:, None]
        points = np.concatenate(
            [first + (last - first) * near, last - (last - first) * near[:, ::-1]], axis=1
        )
        ends = points[:, :-1].ravel(), points[:, 1:].ravel()
        pieces = _integrated(shape, *ends, np.zeros(len(ends[0]), dtype=bool))
        rows = _Panels(*(values.reshape(len(steep), -1) for values in pieces))
        far = np.flatnonzero(rows.rise[:, _PIECES] > _STEEP)  # the middle, where it is nothing
        rows.excess[far, _PIECES], rows.deficit[far, _PIECES] = rows.q[far, _PIECES], rows.p[far, _PIECES]
        rows.carried[far, _PIECES] = 0.0
        found.excess[steep], found.deficit[steep], found.carried[steep] = _merge(rows)
    return found


def _integrated(shape: Shape, start: Array, stop: Array, narrow: Array) -> _Panels:
    """Integrate over panels.

    They keep every integrand within a factor e^6 on the ellipse rho = 8, where twenty nodes interpolate to
    8^-20; a panel sixteen times narrower has rho = 128 and needs nine (Trefethen, Approximation Theory,
    Theorem 8.2).
    """
    found = _Panels(*(np.zeros(len(start)) for _ in _Panels._fields))
    for chosen, nodes in ((narrow, _NODES_NARROW), (np.logical_not(narrow), _NODES_WIDE)):
        which = np.flatnonzero(chosen)
        if len(which) == 0:
            continue
        at, weight, integral = _rule(nodes)
        width = (stop - start)[which][:, None]
        point = start[which][:, None] + width * at
        slope = shape.slope(point) * width
        rise, fall = slope @ integral.T, (slope[:, ::-1] @ integral.T)[:, ::-1]
        with np.errstate(under="ignore"):
            p, q = np.exp(shape.log_p(point)) * width, np.exp(shape.log_q(point)) * width
            found.rise[which] = slope @ weight
            found.excess[which] = (q * -np.expm1(-rise)) @ weight
            found.deficit[which] = (p * -np.expm1(-fall)) @ weight
            found.carried[which] = (q * np.exp(-rise)) @ weight
            found.p[which], found.q[which] = p @ weight, q @ weight
    return found


@dataclass(frozen=True, eq=False)
class ShiftLaw(LossLaw):
    """Law of L of a shifted log-concave density."""

    shape: Shape

    @cached_property
    def _skeleton(self) -> Array:
        return self.shape.panels()

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.shape.loss(np.array(self.shape.span))
        return float(low), float(min(high, self.shape.sup_loss))

    def sketch(self) -> Sketch:
        ends = np.interp(
            np.linspace(0, len(self._skeleton) - 1, _SKETCH), np.arange(len(self._skeleton)), self._skeleton
        )
        middle, width = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
        keep = (width > 0) & (np.maximum(self.shape.log_p(middle), self.shape.log_q(middle)) > -LEAST)
        return Sketch(self.shape.loss(middle[keep]), np.log(width[keep]) + self.shape.log_p(middle[keep]))

    def place(self, loss: Array) -> tuple[Array, Array]:
        """Return where L has the losses, the nearest end where it has not, and the error of the place."""
        x, error = self.shape.locate(loss)
        (first, last), (low, high) = self.shape.span, self.support
        # Where L is flat to the last digit many x have its least or largest value: all lie inside.
        return np.where(loss <= low, first, np.where(loss >= high, last, np.clip(x, first, last))), error

    def _fine(self, x: Array) -> tuple[Array, _Panels]:
        """Cut at every point of ``x`` and of the skeleton between its ends; measure each panel."""
        inside = self._skeleton[(self._skeleton > x[0]) & (self._skeleton < x[-1])]
        points = np.unique(np.concatenate([x, inside]))
        middle = (points[1:] + points[:-1]) / 2
        at = np.clip(np.searchsorted(self._skeleton, middle) - 1, 0, len(self._skeleton) - 2)
        narrow = np.diff(points) <= _NARROW * np.diff(self._skeleton)[at]
        return points, _measure(self.shape, points[:-1], points[1:], narrow)

    @property
    def next_to_ends(self) -> tuple[float, float]:
        # At a turn L is flat: 64 errors away its width is known to 1/128.
        low, high = super().next_to_ends
        off = 64 * self.shape.loss_error(np.array(self.shape.span))
        return low + float(off[0]), high + float(off[1])

    def edge_error(self, edges: Array) -> Array:
        x, error = self.place(edges)
        return super().edge_error(edges) + 2 * self.shape.slope(x) * error  # which turns by 1/128 in between

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
        for pieces in range(1, _TOGETHER + 1):  # most cells are one panel or two: merge them all at once
            cells = np.flatnonzero(stops - starts == pieces)
            rows = starts[cells][:, None] + np.arange(pieces)
            excess[cells], deficit[cells], _ = _merge(_Panels(*(values[rows] for values in panels)))
        for cell in np.flatnonzero(stops - starts > _TOGETHER):
            row = np.arange(starts[cell], stops[cell])[None, :]
            excess[[cell]], deficit[[cell]], _ = _merge(_Panels(*(values[row] for values in panels)))
        slope_error = self.shape.slope_error(points[:-1]) * np.diff(points)
        q, p, drift = (
            np.bincount(owner, each, len(zero)).astype(float) for each in (panels.q, panels.p, slope_error)
        )
        return _drifted(Cells(excess, deficit, self._slack(x, error)), (q, p), drift)

    def _slack(self, x: Array, error: Array) -> Array:
        shape, width = self.shape, np.diff(x)
        size = np.minimum(np.abs(shape.log_p(x)), LEAST) + np.minimum(np.abs(shape.log_q(x)), LEAST)
        # Rules of 20 nodes, expm1 and weights cost less than 256 units, densities what their logarithms do.
        density = UNIT * (256 + shape.stiffness * (size[:-1] + size[1:]))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            turn = 1 / width + np.minimum(shape.steepness(x, size), 1e300) * (width > 0)
            slack = (
                density + 4 * (error[:-1] + error[1:]) * turn
            )  # an integral of a gap: twice, and twice the end's
        return np.where(width > 0, np.minimum(slack, 1.0), 0.0)

    @cached_property
    def _tails(self) -> tuple[Array, Array, Array]:
        """Return delta at every skeleton point, and R = e^loss P(L > loss) there, by positive sums.

        The third bounds what errors n of the slope make of delta: int n(t) e^-(L(t) - loss) R(t) dt.
        """
        x = self._skeleton
        panels = _measure(self.shape, x[:-1], x[1:], np.zeros(len(x) - 1, dtype=bool))
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
        panel = _measure(self.shape, x, ends, np.zeros(len(x), dtype=bool))
        delta, rest, drift = (values[following] for values in self._tails)
        value = panel.excess + delta - np.expm1(-panel.rise) * rest
        carried = panel.carried + np.exp(-panel.rise) * rest
        size = np.minimum(np.abs(self.shape.log_q(x)) + np.abs(self.shape.log_p(x)), 2 * LEAST)
        # The recursion sums positive terms, one a point, on integrals known as those of cells are.
        relative = UNIT * (512 + 2 * len(self._skeleton) + 2 * self.shape.stiffness * size)
        density, steep = np.exp(self.shape.log_q(x)), panel.rise > _STEEP
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
        return TINY * _NODES_WIDE * len(self._skeleton)


def _merge(panels: _Panels) -> tuple[Array, Array, Array]:
    """Return excess and deficit of cells made of the panels in each row, and what they carry."""
    zero = np.zeros((len(panels.rise), 1))
    before = np.concatenate([zero, np.cumsum(panels.rise, axis=1)[:, :-1]], axis=1)
    after = np.concatenate([np.cumsum(panels.rise[:, ::-1], axis=1)[:, ::-1][:, 1:], zero], axis=1)
    excess = np.sum(panels.excess - np.expm1(-before) * panels.carried, axis=1)
    deficit = np.sum(panels.deficit * np.exp(-after) - np.expm1(-after) * panels.p, axis=1)
    return excess, deficit, np.sum(np.exp(-before) * panels.carried, axis=1)


def _drifted(cells: Cells, masses: tuple[Array, Array], drift: Array) -> Cells:
    """Charge what errors of the slope make of the rise in cells: at most ``drift``.

    As 1 - e^-t grows no faster than t, that is ``drift`` Q of the excess, and ``drift`` P of the deficit.
    What underflows is below TINY, and of no cell worth more.
    """
    if not drift.any():
        return cells
    with np.errstate(over="ignore"):  # of parts far below what they may lack: the slack is 1
        off = [drift * mass / np.maximum(part, TINY) for mass, part in zip(masses, cells[:2], strict=True)]
    # Masses and parts are themselves known to the slack only, as long as that is below 1/4: twice.
    return cells._replace(slack=np.minimum(cells.slack + 2 * np.maximum(*off), 1.0))


def walk(start: float, stop: float, step: Callable[[float], float]) -> Array:
    """Return points from ``start`` to ``stop``, a ``step`` apart; one no float sees ends at ``stop``."""
    points = [start]
    while points[-1] < stop:
        if len(points) > _MOST_PANELS:
            raise SizeError(f"a law is cut into more than {_MOST_PANELS} panels; its losses rise too steeply")
        further = points[-1] + step(points[-1])
        points.append(further if further > points[-1] else stop)
    points[-1] = stop
    return np.array(points)
