"""Normal tails and the curve and profile of a shifted normal law in NumPy, accurate in both tails."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx, ndtr, ndtri

from tradeoff.intervals.bounds import Bounds, make_bounds
from tradeoff.intervals.quadrature import gauss_legendre
from tradeoff.intervals.rounding import TINY, UNIT, Array, around, down, up

_SQRT_HALF_PI, _SQRT_HALF = 1.2533141373155003, math.sqrt(0.5)  # sqrt(pi/2) and sqrt(1/2), to nearest
_LOG_SQRT_2PI = math.log(2 * math.pi) / 2  # to a unit
# Below, Phi leaves the normal floats, where SciPy's answers 0; above, exponents are small enough for it.
_FLUSHED = -37.0

_LEGENDRE = gauss_legendre(14)  # nodes over [-1, 1] for integrals of Mills' ratio over at most 1, and weights


def _mills(x: Array) -> Array:
    """Return Phi(-x)/phi(x) for x above about -37."""
    return _SQRT_HALF_PI * np.asarray(erfcx(x * _SQRT_HALF))


def mills(x: Bounds) -> Bounds:
    """Bound R(x) = Phi(-x)/phi(x), which falls; below 0 e^(x^2/2) errs by 2 x^2 units, and soon overflows."""
    near, far = np.maximum(x.upper, _FLUSHED), x.lower
    low, high = (40 + 4 * np.minimum(side, 0.0) ** 2 for side in (near, far))
    with np.errstate(over="ignore"):
        return make_bounds(down(_mills(near), low), up(_mills(far), high))


def shifted_tail(alpha: Array, mu: float) -> tuple[Array, Array]:
    """Bound Phi(Phi^-1(1 - alpha) - mu)."""
    z = -np.asarray(ndtri(alpha))
    x = np.where(np.isfinite(z), z - mu, z)
    # d log Phi(x) <= (|x| + 1) dx for x < 0, and less above.
    with np.errstate(invalid="ignore"):
        ulps = 16 + (np.maximum(-x, 0) + 2) * (16 + 16 * np.abs(z) + 6 * mu + 2 * np.abs(x))
    low, high = around(_below(x), np.where(np.isfinite(x), ulps, 16))
    return np.where(alpha == 0, 1 - 1e-15, np.maximum(low, 0.0)), np.maximum(high, TINY)


def _below(x: Array) -> Array:
    """Return Phi(x), by phi(x) R(-x) where ``ndtr`` would flush it to 0."""
    far = np.clip(x, -1e150, _FLUSHED)
    return np.asarray(np.where(x < _FLUSHED, np.exp(-far * far / 2 - _LOG_SQRT_2PI) * _mills(-far), ndtr(x)))


def tail_above(x: Bounds) -> Bounds:
    """Bound Phi(-x), which falls; ``ndtr`` errs by some 2 x^2 units where exponents are that large."""
    low, high = (16 + 3 * np.abs(side) * (np.abs(side) + 2) for side in x)
    most = np.minimum(up(_below(-x.lower), low) + TINY, 1.0)
    return make_bounds(np.maximum(down(_below(-x.upper), high), 0.0), most)


def hockey_stick(epsilon: Array, mu: float) -> tuple[Array, Array]:
    """Bound Phi(-a) - e^eps Phi(-b) with a = eps/mu - mu/2, b = a + mu, for eps >= 0.

    As e^eps phi(b) = phi(a), it is phi(a) (R(a) - R(b)) with R Mills' ratio; for small mu the difference is
    the integral of 1 - t R(t) from a to b, whose integrand loses t^2 units where it is about 1/t^2.
    """
    with np.errstate(over="ignore"):
        ratio = np.minimum(epsilon / mu, 1e100)  # farther out delta is below all floats anyway
    a = ratio - mu / 2
    b = a + mu
    log_density = -a * a / 2 - _LOG_SQRT_2PI
    position = (np.abs(a) + 2) * 8 * (ratio + mu + 1)
    if mu < 1:
        nodes, weights = _LEGENDRE
        t = a[:, None] + mu * (nodes + 1) / 2
        value = (
            np.exp(log_density) * np.sum((1 - t * _mills(t)) * weights, axis=1) * (mu / 2)
        )  # row by row, unlike a product
        ulps = 64 + position + 8 * (b + 2) ** 2
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            first = np.where(a > 0, np.exp(log_density) * _mills(np.maximum(a, 0)), ndtr(-a))
        second = np.exp(log_density) * _mills(b)
        value = first - second
        error = (
            UNIT * (64 + position) * (first + second) + TINY
        )  # of the terms: the difference may be nothing but rounding
        return np.maximum(down(value - error), 0.0), np.maximum(up(value + error), TINY)
    low, high = around(value, ulps)
    return np.maximum(low, 0.0), np.maximum(high, TINY)
