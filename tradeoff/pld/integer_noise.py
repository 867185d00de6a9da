"""Laws of L between integer noises from sums of coins and of Poisson counts, and their shifts."""

from __future__ import annotations

import math
from functools import lru_cache

import mpmath
import numpy as np

from tradeoff.intervals.binomial import log_pmf
from tradeoff.intervals.rounding import UNIT
from tradeoff.pld.discrete import LOST, AtomicLaw, too_many
from tradeoff.pld.law import PrivacyLossDistribution

_PRECISE = mpmath.mp.clone()  # its precision is nobody else's
_PRECISE.prec = 128  # binary digits of probabilities: a million roundings leave more than a float has

# Atoms are left out where less than e^-_EXPONENT lies beyond, on either side: no float holds it.
_EXPONENT = 760.0

_MOST = 2**17  # most atoms of a Skellam law: some seconds, as every one is computed to 128 digits
_MOST_COINS = 2**20  # most coins of binomial noise, and of coins times shift: a second


class CutLaw(AtomicLaw):
    """Atoms whose far tails were left out."""

    description = PrivacyLossDistribution.description

    @property
    def range(self) -> tuple[float, float]:
        return -np.inf, np.inf


@lru_cache(maxsize=128)  # every question of a plan needs all its laws; each has at most 2 MiB
def skellam_law(variance: float, shift: int) -> CutLaw:
    """Return the law of log p(x - shift)/p(x), p(x) = e^-v I_|x|(v) with v the variance."""
    reach = _reach(variance)
    if 2 * reach + shift > _MOST:
        raise too_many(f"Skellam noise of variance {variance:.6g}, shifted by {shift},", 2.0 * reach + shift)
    log_p = _skellam(variance, reach, shift)
    x = np.arange(-reach, shift + reach + 1)
    loss = np.array([float(log_p[abs(k - shift)] - log_p[abs(k)]) for k in x.tolist()])
    mass = np.array([float(log_p[abs(k)]) for k in x.tolist()])
    return CutLaw(loss, mass, lost=LOST, symmetric=True)


def _reach(variance: float) -> int:
    """Return r with P(x > r) < e^-760, by Chernoff's bound r asinh(r/v) - (sqrt(r^2 + v^2) - v)."""
    low, high = 0, 2**60
    while high - low > 1:
        r = (low + high) // 2
        # sqrt(r^2 + v^2) - v without cancellation; the bound has a margin of 2^-40 of itself.
        bound = r * math.asinh(r / variance) - r * (r / (math.hypot(r, variance) + variance))
        low, high = (low, r) if bound > _EXPONENT * (1 + 2**-40) else (r, high)
    return high


def _skellam(variance: float, reach: int, shift: int) -> list[mpmath.mpf]:
    """Return log p(0), log p(1), ..., log p(reach + shift).

    The ratios rho_k = I_k/I_(k-1) = 1/(2k/v + rho_(k+1)) fall with k (Turan's inequality), so that
    e^-asinh(k/v) <= rho_k <= e^-asinh((k-1)/v). Downwards from twice the reach, where the lower bound starts,
    its error shrinks by rho_k rho_(k+1) a step, to less than e^-1500; each step adds three roundings.
    """
    v, keep = _PRECISE.mpf(variance), reach + shift
    top = keep + reach + 1
    ratio, total = _PRECISE.exp(-_PRECISE.asinh(top / v)), _PRECISE.mpf(0)
    ratios = []
    for k in range(top - 1, 0, -1):
        ratio = 1 / (2 * k / v + ratio)
        total = ratio * (1 + total)
        if k <= keep:
            ratios.append(ratio)
    log_p = [-_PRECISE.log(1 + 2 * total)]
    for each in reversed(ratios):
        log_p.append(log_p[-1] + _PRECISE.log(each))
    return log_p


def binomial_noise_law(coins: int, shift: int) -> AtomicLaw:
    """Return the law of log p(x - shift)/p(x), p(x) = C(n, x)/2^n with n the coins, 0 < shift <= n."""
    if coins * shift > _MOST_COINS:
        raise too_many(f"noise of {coins} coins, shifted by {shift},", float(coins) * shift)
    x = np.arange(shift, coins + 1, dtype=float)
    log_p, slack = log_pmf(x, coins, 0.0)
    # C(n, x - s)/C(n, x) is the product over i < s of (x - i)/(n - x + i + 1).
    above = np.subtract.outer(x, np.arange(shift))
    below = coins + 1 - above
    # A quotient within half of 1 loses 1.5 units of its logarithm, one beyond 2.5; a logarithm 8, and a
    # pairwise sum of up to 2^20 terms 32 of the sum of sizes.
    near = 2 * np.abs(above - below) <= below
    terms = np.where(near, np.log1p((above - below) / below * near), np.log(above / below))
    position = 64 * UNIT * float(np.max(np.sum(np.abs(terms), axis=1)))
    beyond = _tail(coins, shift)
    loss = np.sum(terms, axis=1)
    return AtomicLaw(loss, log_p, beyond, beyond, slack, position=position, symmetric=True)


def _tail(coins: int, shift: int) -> float:
    """Return P(x < shift) for the sum of fair coins."""
    term = total = _PRECISE.ldexp(1, -coins)
    for k in range(shift - 1):
        term = term * (coins - k) / (k + 1)
        total += term
    return float(total)
