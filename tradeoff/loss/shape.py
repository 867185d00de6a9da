"""A log-concave density and its shift by theta, as the quadrature of ``loss.panels`` wants them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import Array

LEAST = 750.0
"""Densities below e^-LEAST are zero: no float holds them."""

_MOST_PANELS = 100_000
"""Panels of one law: those of normal laws 150 deviations apart, in a tenth of a second."""


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
