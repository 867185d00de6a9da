"""How smooth the tilted density of a piece is: masses and variations beyond every point, which bound rho at high frequencies."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tradeoff.composition.contour.pieces import Piece, exponents, slope
from tradeoff.composition.contour.quadrature import LOG_SQRT_2PI
from tradeoff.intervals.rounding import Array
from tradeoff.loss.gaussian import GaussianLaw

_GRID = 4000


class Tail(NamedTuple):
    """Tilted mass of the losses beyond each point of a grid (from below), and the variation of its density (from above).

    Integration by parts: |E e^(iyL) 1(beyond)| <= variation/y, so |rho(y)| <= 1 - mass + variation/y for any point.
    """

    mass: Array
    variation: Array


def tail(piece: Piece, c: float, log_m: float, log_m_error: float) -> Tail:
    """Tabulate masses and variations on a grid fine enough to bound both.

    The density in L has, in the base variable, a logarithmic derivative h that is affine plus two multiples of logistic
    functions. In t = e^l, h'' is a polynomial of degree four over a positive function: four zeros, so h' has at most five and
    h six. For a Gaussian base h falls from +inf to -inf and has an odd number, hence five stationary points; for a Laplace
    base h' itself has one zero, hence two. A cell without one contributes the difference of its ends, one with at most twice
    its maximum times e^(rate width) - 1 more.
    """
    normal = isinstance(piece.base, GaussianLaw)
    scale = piece.base.mu if isinstance(piece.base, GaussianLaw) else 1.0
    x = _grid(piece, c)
    if normal:
        loss, log_phi, pull = scale * x - scale**2 / 2, -x * x / 2 - LOG_SQRT_2PI, x
    else:
        loss, log_phi, pull = x, -(x - x[0]) / 2 - math.log(4), np.full(len(x), 0.5)
    logs = piece.logs(loss, np.zeros(len(loss)))
    log_w = log_phi + (1 - c) * logs.p + c * logs.q + math.log(piece.k) - log_m
    log_height = (
        log_w + log_m_error + logs.p + logs.q - loss - math.log(abs(piece.g) * scale)
    )  # dx/dL = (1 + b v)(1 + d v)/(g e^l scale)
    width = float(x[1] - x[0])
    share_q, share_p = slope(piece.b, loss, logs.q), slope(piece.d, loss, logs.p)
    rate = np.abs(scale * ((c + 1) * share_q + (2 - c) * share_p - 1) - pull)
    bend = normal + scale**2 * (abs(c + 1) + abs(2 - c)) / 4
    growth = (np.maximum(rate[1:], rate[:-1]) + bend * width) * width
    # A cell holds at least its width times its larger end over e^growth; log w is less steep than the height by scale.
    cells = np.exp(np.maximum(log_w[1:], log_w[:-1]) - log_m_error - growth - scale * width) * width
    log_height = np.minimum(log_height, 600.0)  # where it is larger the bound says nothing, and is not used
    height = np.exp(log_height)
    change = np.append(np.cumsum(np.abs(np.diff(height))[::-1])[::-1], 0.0)
    with np.errstate(divide="ignore"):  # no growth adds nothing
        log_more = np.where(growth > 30, growth, np.log(np.expm1(np.minimum(growth, 30))))
    wiggle = np.exp(np.minimum(np.maximum(log_height[1:], log_height[:-1]) + log_more, 600.0))
    worst = np.append(np.maximum.accumulate(wiggle[::-1])[::-1], 0.0)
    variation = change + height + height[-1] + 10 * worst
    return Tail(np.append(np.cumsum(cells[::-1])[::-1], 0.0) * (1 - 1e-9), variation * (1 + 1e-9))


def _grid(piece: Piece, c: float) -> Array:
    """Return points from where the tilted mass begins to where the height falls outwards for ever."""
    if not isinstance(piece.base, GaussianLaw):
        return np.linspace(-piece.base.epsilon, piece.base.epsilon, _GRID)
    mu = piece.base.mu
    under_q, under_p = exponents(piece.b, c + 1), exponents(piece.d, 2 - c)
    low, high = mu * (under_q[0] + under_p[0] - 1) - 9, mu * max(under_q[1] + under_p[1], 1.0) + 9
    coarse = np.linspace(low, high, _GRID)
    logs = piece.logs(mu * coarse - mu**2 / 2, np.zeros(_GRID))
    top = float(coarse[np.argmax((1 - c) * logs.p + c * logs.q - coarse**2 / 2)])
    return np.linspace(max(low, top - 9), high, _GRID)
