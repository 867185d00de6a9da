"""Expectations under a tilted law, by the normal law that stands for it: intervals that hold the truth."""

from __future__ import annotations

import math

from scipy.special import erfcx, ndtr

from tradeoff.engines.tilted import Tilted
from tradeoff.numerics.rounding import TINY, UNIT

Range = tuple[float, float]

_LARGEST = 600.0


def part(near: Tilted, x: float) -> Range:
    """Bound e^(K - (c - 1) x) E_c h(L - x)."""
    c, g = near.c, (near.mean - x) / near.sd
    up, down = (c, g), (1 - c, -g)
    if c > 1:
        first, second, sign, peak = (c - 1, g), up, -1, math.exp((c - 1) * math.log1p(-1 / c) - math.log(c))
    elif c > 0:
        first, second, sign, peak = up, down, 1, 1.0
    else:
        first, second, sign, peak = (-c, -g), down, -1, math.exp(-c * math.log1p(-1 / (1 - c)) - math.log1p(-c))
    (a, a_error), (b, b_error) = (_normal_half(k, near.sd, side) for k, side in (first, second))
    value, peak = a + sign * b, peak * (1 + 8 * UNIT * (1 + abs(c)))
    error = 2 * peak * near.gamma + a_error + b_error
    return scaled(near.log_m, (c - 1) * x, near.log_m_error, (value - error, min(value + error, peak)))


def half(near: Tilted, k: float, g: float) -> Range:
    """Bound E_c e^(-kX) 1(X > 0), k > 0, whose integrand jumps to 1 and falls: at most 2 gamma from the normal law's."""
    value, error = _normal_half(k, near.sd, g)
    error += 2 * near.gamma
    return value - error, min(value + error, 1.0)


def _normal_half(k: float, sd: float, g: float) -> Range:
    """Return E e^(-kX) 1(X > 0) for X normal with mean g sd, k > 0, and its rounding error."""
    value, size = _mills(k * sd, g), 1 + k * sd + abs(g)
    return value, value * UNIT * (32 + 16 * size * size) + TINY


def _mills(a: float, g: float) -> float:
    """Return phi(g) times Mills' ratio at a - g: by Phi where the ratio is too large for floats, else by erfcx."""
    if a < g:
        return math.exp(a * (a / 2 - g)) * float(ndtr(g - a))
    return math.exp(-g * g / 2) / 2 * float(erfcx((a - g) * math.sqrt(0.5)))


def scaled(log_m: float, shift: float, log_m_error: float, part: Range) -> Range:
    """Return e^(log_m - shift) times an interval, rounded outwards; no more than 0 and infinity where that is not a number."""
    exponent = log_m - shift
    slack = log_m_error + UNIT * (32 + 8 * abs(log_m) + 16 * abs(shift))
    if not (exponent < _LARGEST and slack < 0.5 and math.isfinite(part[0]) and math.isfinite(part[1])):
        return 0.0, math.inf
    scale = math.exp(exponent)
    return max(part[0] * scale * (1 - 2 * slack) - TINY, 0.0), part[1] * scale * (1 + 2 * slack) + TINY
