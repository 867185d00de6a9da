"""Integrals of a cell of losses, by Gauss-Legendre panels in a coordinate where its density is smooth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from tradeoff.errors import SizeError
from tradeoff.intervals.quadrature import applied, gauss_legendre
from tradeoff.intervals.rounding import Array

_NODES_NARROW, NODES_WIDE = 9, 20  # nodes of narrow and wide panels: remainders below 2^-53, see _integrated
STEEP = 4.0  # rise of L above which a panel is cut: nine nodes integrate e^-4x to 2^-50
_PIECES = 32  # pieces at either end of a steep panel
_RISE, _RISE_MOST = (
    3.0,
    8.0,
)  # rise of a piece where L' is even, and at most: 20 nodes integrate e^-8x to 2^-90
_ROW = 2 * _PIECES + 1  # pieces of a panel: those at its ends, and its middle
_FLOATS = 8  # floats in a piece, so that roundings of its ends change its rise by a quarter at most

# Nats between a middle and the ends: the mass carried past it is at most e^-48 of its mass of Q, and that
# mass is whole in the excess that it is added to; so for the deficit.
_NOTHING = 48.0

LEAST = 750.0  # densities below e^-LEAST are zero: no float holds them
_MOST_PANELS = 100_000  # panels of one law: those of normal laws 150 deviations apart, in a tenth of a second


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

    def beta(self, alpha: Array) -> tuple[Array, Array]:
        """Bound f(alpha), of a shape that is a whole pair."""
        raise NotImplementedError

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


def walk(start: float, stop: float, step: Callable[[float], float]) -> Array:
    """Return points from ``start`` to ``stop``, a ``step`` apart; one that rounds to 0 ends the walk."""
    points = [start]
    while points[-1] < stop:
        if len(points) > _MOST_PANELS:
            raise SizeError(f"a law is cut into more than {_MOST_PANELS} panels; its losses rise too steeply")
        further = points[-1] + step(points[-1])
        points.append(further if further > points[-1] else stop)
    points[-1] = stop
    return np.array(points)


@cache
def _rule(nodes: int) -> tuple[Array, Array, Array]:
    """Gauss-Legendre nodes and weights on [0, 1], and the matrix that integrates from 0 to each node."""
    x, w = gauss_legendre(nodes)
    values = legendre.legvander(x, nodes)
    degree = np.arange(1, nodes)
    rising = np.empty((nodes, nodes))
    rising[:, 0] = x + 1
    # int_-1^x P_k = (P_(k+1)(x) - P_(k-1)(x))/(2k + 1)
    rising[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2 * degree + 1)
    modes = (np.arange(nodes) + 0.5)[:, None] * values[:, :nodes].T * w
    return (x + 1) / 2, w / 2, (rising @ modes) / 2


class Panels(NamedTuple):
    """Integrals over consecutive panels; ``rise`` is that of L, ``carried`` = int q e^-(L(x) - L(start))."""

    rise: Array
    excess: Array
    deficit: Array
    carried: Array
    p: Array
    q: Array


def measure(shape: Shape, start: Array, stop: Array, narrow: Array) -> Panels:
    """Integrate over panels, in pieces where L rises steeply.

    A panel is made for the densities that floats hold. Where one of them is negligible against the other,
    e^-rise falls as fast as their quotient, and the rest of it lies next to an end.
    """
    result = _integrated(shape, start, stop, narrow)
    steep = np.flatnonzero(result.rise > STEEP)
    if len(steep):
        pieces = _pieces(shape, start[steep], stop[steep], result.rise[steep])
        result.excess[steep], result.deficit[steep], result.carried[steep] = pieces
    return result


def _pieces(shape: Shape, start: Array, stop: Array, rise: Array) -> tuple[Array, Array, Array]:
    """Return excess, deficit and carried mass of steep panels; halve those of too uneven a slope."""
    near = np.minimum(_RISE / rise, 0.5 / _PIECES)[:, None] * np.arange(_PIECES + 1)
    first, width = start[:, None], (stop - start)[:, None]
    points = np.concatenate([first + width * near, stop[:, None] - width * near[:, ::-1]], axis=1)
    first, last = points[:, :-1].ravel(), points[:, 1:].ravel()
    pieces = _integrated(shape, first, last, np.zeros(rise.size * _ROW, bool))
    rows = Panels(*(values.reshape(len(rise), _ROW) for values in pieces))
    graded = rows.rise[:, :_PIECES], rows.rise[:, _PIECES + 1 :]
    far = rows.rise[:, _PIECES] > STEEP  # the middle, where it is nothing
    rows.excess[far, _PIECES], rows.deficit[far, _PIECES] = rows.q[far, _PIECES], rows.p[far, _PIECES]
    rows.carried[far, _PIECES] = 0.0
    result = merge(rows)
    least = np.minimum(*(np.sum(each, axis=1) for each in graded))
    most = np.maximum(*(np.max(each, axis=1) for each in graded))
    # Where hardly a float lies in a piece, errors of its place are charged.
    resolved = near[:, 1] * (stop - start) > _FLOATS * np.spacing(np.maximum(np.abs(start), np.abs(stop)))
    uneven = ((most > _RISE_MOST) | far & (least < _NOTHING)) & resolved
    if uneven.any():
        ends = np.stack([start, (start + stop) / 2, stop])[:, uneven]
        halves = measure(shape, ends[:-1].ravel(), ends[1:].ravel(), np.zeros(2 * ends.shape[1], bool))
        for whole, part in zip(result, merge(Panels(*(v.reshape(2, -1).T for v in halves))), strict=True):
            whole[uneven] = part
    return result


def _integrated(shape: Shape, start: Array, stop: Array, narrow: Array) -> Panels:
    """Integrate over panels.

    They keep every integrand within a factor e^6 on the ellipse rho = 8, where twenty nodes interpolate to
    8^-20; a panel sixteen times narrower has rho = 128 and needs nine (Trefethen, Approximation Theory,
    Theorem 8.2).
    """
    result = Panels(*(np.zeros(len(start)) for _ in Panels._fields))
    for chosen, nodes in ((narrow, _NODES_NARROW), (np.logical_not(narrow), NODES_WIDE)):
        which = np.flatnonzero(chosen)
        if len(which) == 0:
            continue
        at, weight, integral = _rule(nodes)
        width = (stop - start)[which][:, None]
        point = start[which][:, None] + width * at
        slope = shape.slope(point) * width
        rise, fall = applied(slope, integral), applied(slope[:, ::-1], integral)[:, ::-1]
        with np.errstate(under="ignore"):
            p, q = np.exp(shape.log_p(point)) * width, np.exp(shape.log_q(point)) * width
            result.rise[which] = applied(slope, weight)
            result.excess[which] = applied(q * -np.expm1(-rise), weight)
            result.deficit[which] = applied(p * -np.expm1(-fall), weight)
            result.carried[which] = applied(q * np.exp(-rise), weight)
            result.p[which], result.q[which] = applied(p, weight), applied(q, weight)
    return result


def merge(panels: Panels) -> tuple[Array, Array, Array]:
    """Return excess, deficit and carried mass of cells made of the panels in each row."""
    zero = np.zeros((len(panels.rise), 1))
    before = np.concatenate([zero, np.cumsum(panels.rise, axis=1)[:, :-1]], axis=1)
    after = np.concatenate([np.cumsum(panels.rise[:, ::-1], axis=1)[:, ::-1][:, 1:], zero], axis=1)
    excess = np.sum(panels.excess - np.expm1(-before) * panels.carried, axis=1)
    deficit = np.sum(panels.deficit * np.exp(-after) - np.expm1(-after) * panels.p, axis=1)
    return excess, deficit, np.sum(np.exp(-before) * panels.carried, axis=1)
