"""Expectations under tilted laws, by the normal laws that stand for them: intervals that hold the truth, column by column."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, ndtr

from tradeoff.composition.saddle_point.tilted import Columns
from tradeoff.intervals.rounding import TINY, UNIT, Array

Pair = tuple[Array, Array]

_LARGEST = 600.0


def part(near: Columns, x: Array) -> Pair:
    """Bound e^(K - (c - 1) x) E_c h(L - x)."""
    c, g = near.c, (near.mean - x) / near.sd
    inside, over = (c > 0) & (c < 1), np.where(c > 1, c - 1, -c)
    # Outside (0, 1) h is the difference of two halves on one side of x, inside the sum of one on each.
    a, a_error = _normal_half(np.where(inside, c, over), near.sd, np.where(c > 0, g, -g))
    b, b_error = _normal_half(np.where(c > 1, c, 1 - c), near.sd, np.where(c > 1, g, -g))
    with np.errstate(invalid="ignore"):
        peak = np.where(inside, 1.0, np.exp(over * np.log1p(-1 / (over + 1)) - np.log1p(over)))
    value, peak = a + np.where(inside, 1, -1) * b, peak * (1 + 8 * UNIT * (1 + np.abs(c)))
    error = 2 * peak * near.gamma + a_error + b_error
    return scaled(near.log_m, (c - 1) * x, near.log_m_error, (value - error, np.minimum(value + error, peak)))


def half(near: Columns, k: Array, g: Array) -> Pair:
    """Bound E_c e^(-kX) 1(X > 0), k > 0, whose integrand jumps to 1 and falls: at most 2 gamma from the normal law's."""
    value, error = _normal_half(k, near.sd, g)
    error = error + 2 * near.gamma
    return value - error, np.minimum(value + error, 1.0)


def _normal_half(k: Array, sd: Array, g: Array) -> Pair:
    """Return E e^(-kX) 1(X > 0) for X normal with mean g sd, k > 0, and its rounding error."""
    value, size = _mills(k * sd, g), 1 + k * sd + np.abs(g)
    return value, value * UNIT * (32 + 16 * size * size) + TINY


def _mills(a: Array, g: Array) -> Array:
    """Return phi(g) times Mills' ratio at a - g: by Phi where the ratio is too large for floats, else by erfcx."""
    by_phi = np.exp(np.minimum(a * (a / 2 - g), 0.0)) * ndtr(g - a)
    return np.where(a < g, by_phi, np.exp(-g * g / 2) / 2 * erfcx(np.maximum(a - g, 0.0) * np.sqrt(0.5)))


def scaled(log_m: Array, shift: Array, log_m_error: Array, part: Pair) -> Pair:
    """Return e^(log_m - shift) times an interval, rounded outwards; no more than 0 and infinity where that is not a number."""
    exponent = log_m - shift
    slack = log_m_error + UNIT * (32 + 8 * np.abs(log_m) + 16 * np.abs(shift))
    known = (exponent < _LARGEST) & (slack < 0.5) & np.isfinite(part[0]) & np.isfinite(part[1])
    scale = np.exp(np.minimum(exponent, _LARGEST))
    low = np.maximum(part[0] * scale * (1 - 2 * slack) - TINY, 0.0)
    return np.where(known, low, 0.0), np.where(known, part[1] * scale * (1 + 2 * slack) + TINY, np.inf)
