"""Log-probabilities of the binomial law for millions of trials, without the cancellation of log-gamma."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, factorial

from tradeoff.intervals.rounding import UNIT, Array

_LOG_2PI = math.log(2 * math.pi)  # to nearest
# Means below this do not change a sum with 1, and differences of their logarithms do not cancel.
_RARE = math.log(1e-200)

_FACTORIAL = factorial(np.arange(17))  # all are floats


def _stirling_error(n: Array) -> Array:
    """Return log n! - log(sqrt(2 pi n) (n/e)^n) for n >= 1; series from 16 on, the ratio itself below."""
    small = np.minimum(n, 16.0)
    exact = np.log(_FACTORIAL[small.astype(int)] / (np.sqrt(2 * np.pi * small) * (small / np.e) ** small))
    m = np.maximum(n, 16.0)
    s = (1 / m) ** 2
    series = (
        1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * 691 / 360360))))
    ) / m
    return np.where(n < 16.0, exact, series)


def _deviance(x: Array, m: float) -> Array:
    """Return x log(x/m) + m - x for x >= 1, by a series where x is close to m."""
    d = (x - m) / (x + m)
    direct = x * np.log(x / m) + m - x
    near = np.abs(d) < 0.1
    d = np.where(near, d, 0.0)
    square = d * d
    # (x - m)^2/(x + m) + 2 x (d^3/3 + d^5/5 + ...): Loader, Fast and Accurate Computation of Binomial
    # Probabilities.
    tail = sum(square**j / (2 * j + 1) for j in range(1, 10))
    return np.where(near, (x - m) * d + 2 * x * d * tail, direct)


def _deviance_of_rare(x: Array, log_m: float) -> Array:
    """Return x log(x/m) - x for x >= 1 and a mean m below 1e-200, negligible next to x."""
    return x * (np.log(x) - log_m) - x


def log_pmf(k: Array, n: int, epsilon: float) -> tuple[Array, Array]:
    """Return log P(K = k) for K ~ Bin(n, 1/(1 + e^epsilon)) and a bound on the relative error of the pmf.

    Notes
    -----
    Loader's saddle-point expansion. Error: a few units times the two deviances, plus the rounding of the
    means n p and n q, which the deviance feels through its derivative |k - n p|/(n p).
    """
    k = np.asarray(k, dtype=float)
    p, q = float(expit(-epsilon)), float(expit(epsilon))
    inner = np.clip(k, 1, max(n - 1, 1))
    rest = np.maximum(n - inner, 1.0)
    # Floats lose digits of p from epsilon = 708 on, and p itself; those of its logarithm they hold.
    log_mean = math.log(n) - epsilon - math.log1p(math.exp(-epsilon))
    first = _deviance(inner, n * p) if log_mean > _RARE else _deviance_of_rare(inner, log_mean)
    second = _deviance(rest, n * q)
    log_inner = (
        _stirling_error(np.array(float(max(n, 1))))
        - _stirling_error(inner)
        - _stirling_error(rest)
        - first
        - second
        + 0.5 * (math.log(n) - _LOG_2PI - np.log(inner) - np.log(rest))
    )
    log_p = np.where(
        k == 0, -n * np.log1p(np.exp(-epsilon)), np.where(k == n, -n * np.logaddexp(0.0, epsilon), log_inner)
    )
    ulps = (
        48
        + 8 * (first + second)
        + 6 * (np.abs(inner - n * p) + np.abs(rest - n * q))
        + 4 * np.abs(log_p) * ((k == 0) | (k == n))
    )
    return log_p, ulps * UNIT
