"""How smooth a tilted component is: mass and variation beyond points, which bound rho far out."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from tradeoff.intervals.rounding import Array
from tradeoff.loss.components import Base, Component, Tail
from tradeoff.loss.thinning import thinned_slope

_GRID = 1000
"""Points of the table: cells in which a density grows by a few percent."""

_TALLEST = 600.0
"""Heights above e^600 say nothing, and are not used: any mass is below 1."""

_SURE = 1e-9
"""Above the rounding of every logarithm here, a few hundred units, and of the sums over the grid."""


class AffineBase(Base):
    """A base whose loss l is affine, and log phi a parabola: an h of that form has at most six zeros."""

    scale: float
    """dl/dx > 0."""

    bend: float
    """Minus the second derivative of log phi, >= 0."""

    @abstractmethod
    def fall(self, x: Array) -> Array:
        """Return minus the derivative of log phi."""

    @abstractmethod
    def grid(self, component: Component, c: float, size: int) -> Array:
        """Return equidistant points from where the tilted mass begins to where its density falls for good."""

    def tail(self, component: Component, c: float, log_m: float, log_m_error: float) -> Tail:
        return _tail(self, component, c, log_m, log_m_error)


def _tail(base: AffineBase, part: Component, c: float, log_m: float, log_m_error: float) -> Tail:
    """Tabulate masses beyond points, and variations there, on a grid fine enough to bound both.

    The density in L has, in the base variable, a logarithmic derivative h that is affine plus two multiples
    of logistic functions. In t = e^l, h'' is a polynomial of degree four over a positive function: four
    zeros, so h' has at most five and h six. For a normal base h falls from +inf to -inf and has an odd
    number, hence five stationary points; where log phi is affine h' itself has one zero, hence two. A cell
    without one contributes the difference of its ends, one with at most twice its maximum times e^(rate
    width) - 1 more.
    """
    scale = base.scale
    x = base.grid(part, c, _GRID)
    loss = base.loss(x)
    logs = part.logs(loss, np.zeros(_GRID))
    log_w = base.log_density(x) + (1 - c) * logs.p + c * logs.q + math.log(part.k) - log_m
    # dx/dL = (1 + b v)(1 + d v)/(g e^l scale)
    log_height = log_w + log_m_error + logs.p + logs.q - loss - math.log(abs(part.g)) - math.log(scale)
    width = float(x[1] - x[0])
    share_q, share_p = thinned_slope(part.b, loss, logs.q), thinned_slope(part.d, loss, logs.p)
    rate = np.abs(scale * ((c + 1) * share_q + (2 - c) * share_p - 1) - base.fall(x))
    bend = (
        base.bend + scale**2 * (abs(c + 1) + abs(2 - c)) / 4
    )  # a logistic function is nowhere steeper than 1/4
    growth = (np.maximum(rate[1:], rate[:-1]) + bend * width) * width
    # A cell holds at least its width times its larger end over e^growth; log w is less steep than the height
    # by scale.
    least = np.maximum(log_w[1:], log_w[:-1]) - log_m_error - growth - scale * width
    log_height = np.minimum(log_height, _TALLEST)
    height = np.exp(log_height)
    with np.errstate(divide="ignore"):  # no growth adds nothing
        log_more = np.where(growth > 30, growth, np.log(np.expm1(np.minimum(growth, 30))))
    wiggle = np.exp(np.minimum(np.maximum(log_height[1:], log_height[:-1]) + log_more, _TALLEST))
    worst = np.append(np.maximum.accumulate(wiggle[::-1])[::-1], 0.0)
    variation = _beyond(np.abs(np.diff(height))) + height + height[-1] + 10 * worst
    return Tail(_beyond(np.exp(least) * width) * (1 - _SURE), variation * (1 + _SURE))


def _beyond(cells: Array) -> Array:
    """Return the sum from each point of the grid on."""
    return np.append(np.cumsum(cells[::-1])[::-1], 0.0)
