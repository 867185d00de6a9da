"""The log-concave densities with shifts in closed form, as shapes that ``pld.panels`` integrates."""

from __future__ import annotations

import math

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array, around
from tradeoff.pld.panels import LEAST, Shape, walk


def _placed(x: Array, theta: float) -> Array:
    """Bound the error of a point that is a difference of two logarithms.

    Their arguments are known to 9 units and those of theta and the loss, |loss| <= theta, and each logarithm,
    at most |x| + 2 theta + |log theta|, to 8 units of itself.
    """
    return UNIT * (32 + 20 * theta + 16 * abs(math.log(theta)) + 16 * np.abs(x))


def _log_quotient(x: Array, t: float) -> Array:
    """Return log(cosh x/cosh(x - t)), t > 0: antisymmetric about t/2, which does not cancel for small t.

    Where x >= t/2 it is t + log((1 + e^-2x)/(1 + e^(2t - 2x))); for small t the quotient is 1 less a small
    share.
    """
    away = np.abs(x - t / 2) + t / 2
    if t > 1:
        result = t + np.logaddexp(0.0, -2 * away) - np.logaddexp(0.0, 2 * (t - away))
    else:
        result = t + np.log1p(np.expm1(-2 * t) / (1 + np.exp(np.minimum(2 * (away - t), 700.0))))
    return np.where(x < t / 2, -1.0, 1.0) * np.maximum(result, 0.0)


def _log_quotient_slope(x: Array, t: float) -> Array:
    """Return sinh(t)/(cosh x cosh(x - t)), its derivative, in exponentials that do not overflow."""
    a, b = np.abs(x), np.abs(x - t)
    fall = (1 + np.exp(-2 * a)) * (1 + np.exp(-2 * b))
    return np.asarray(-2 * np.expm1(-2 * t) * np.exp(t - a - b) / fall)


class _Cosh(Shape):
    """Density in proportion to cosh(x/scale)^-scale: |L| < theta, and L is odd about theta/2."""

    scale: float
    log_scale: float

    def __init__(self, theta: float) -> None:
        self.theta = self.sup_loss = theta
        self.span = (-LEAST, LEAST + theta)

    def log_p(self, x: Array) -> Array:
        size = np.abs(x)
        return np.asarray(-size - self.scale * np.log1p(np.exp(-2 / self.scale * size)) + self.log_scale)

    def loss(self, x: Array) -> Array:
        return self.scale * _log_quotient(x / self.scale, self.theta / self.scale)

    def slope(self, x: Array) -> Array:
        return _log_quotient_slope(x / self.scale, self.theta / self.scale)

    def panels(self) -> Array:
        return walk(*self.span, lambda _: self.scale / 2)  # poles at distance pi/2 of the scale


class Logistic(_Cosh):
    """Standard logistic: f(alpha) = (1 - alpha)/(1 - alpha + e^theta alpha)."""

    scale, log_scale = 2.0, 0.0

    def locate(self, loss: Array) -> tuple[Array, Array]:
        rest, passed = (self.theta - loss) / 2, (self.theta + loss) / 2
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            x = np.log(np.expm1(passed)) - np.log(-np.expm1(-rest))
        x = np.where(passed <= 0, self.span[0], np.where(rest <= 0, self.span[1], x))
        return x, _placed(x, self.theta)

    def beta(self, alpha: Array) -> tuple[Array, Array]:
        return around((1 - alpha) / ((1 - alpha) + np.exp(self.theta) * alpha), 16 + 4 * self.theta)


class HyperbolicSecant(_Cosh):
    """Density sech(x)/pi."""

    scale, log_scale = 1.0, float(np.log(2 / np.pi))

    def locate(self, loss: Array) -> tuple[Array, Array]:
        # e^(2x - theta) = sinh((theta + loss)/2)/sinh((theta - loss)/2)
        rest, passed = self.theta - loss, self.theta + loss
        with np.errstate(divide="ignore", invalid="ignore"):
            x = (self.theta + loss + np.log(-np.expm1(-passed)) - np.log(-np.expm1(-rest))) / 2
        x = np.where(passed <= 0, self.span[0], np.where(rest <= 0, self.span[1], x))
        return x, _placed(x, self.theta)

    def beta(self, alpha: Array) -> tuple[Array, Array]:
        # P(X > x) = 2/pi atan e^-x; tan next to pi/2 is the inverse of tan next to 0, which does not cancel.
        near = np.tan(np.pi / 2 * np.minimum(alpha, 1 - alpha))
        with np.errstate(divide="ignore"):
            quotient = np.where(alpha < 0.5, 1 / near, near)
        return around(2 / np.pi * np.arctan(np.exp(-self.theta) * quotient), 32 + 4 * self.theta)


class Gumbel(Shape):
    """Gumbel, skewed to the right: L = theta - (e^theta - 1) Exp(1), f(alpha) = (1 - alpha)^(e^theta)."""

    def __init__(self, theta: float) -> None:
        self.theta = self.sup_loss = theta
        self.span = (-float(np.log(LEAST)), LEAST + theta)

    def log_p(self, x: Array) -> Array:
        return -x - np.exp(np.minimum(-x, 700.0))

    def loss(self, x: Array) -> Array:
        return np.asarray(self.theta - np.expm1(self.theta) * np.exp(-x))

    def slope(self, x: Array) -> Array:
        return np.asarray(np.expm1(self.theta) * np.exp(-x))

    def locate(self, loss: Array) -> tuple[Array, Array]:
        rest = self.theta - loss
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.where(rest > 0, np.log(np.expm1(self.theta)) - np.log(rest), self.span[1])
        return x, _placed(x, self.theta)

    def panels(self) -> Array:
        def step(x: float) -> float:
            # The exponential inside a density may turn by about one unit, wherever the density is not zero.
            inner = [np.exp(min(end - x, 700.0)) for end in (0.0, self.theta)]
            return 1 / max(1.0, float(sum(rate for rate in inner if rate < 2 * LEAST)))

        return walk(*self.span, step)

    def beta(self, alpha: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore"):
            exponent = np.exp(self.theta) * np.maximum(np.log1p(-alpha), -1e50)
        return around(np.exp(exponent), 8 + np.minimum(-exponent, 800.0) * (8 + 4 * self.theta))


class GumbelLeft(Shape):
    """Gumbel, skewed to the left: the other order of the right one, f(alpha) = 1 - alpha^(e^-theta).

    P and Q change places and the line is turned, so that L increases.
    """

    def __init__(self, theta: float) -> None:
        self.theta, self.base = theta, Gumbel(theta)
        self.span = (-self.base.span[1], -self.base.span[0])

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

    def beta(self, alpha: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore"):
            exponent = np.exp(-self.theta) * np.log(alpha)
        return around(-np.expm1(exponent), 16 + 4 * self.theta)
