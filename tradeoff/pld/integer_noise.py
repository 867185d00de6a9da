"""Laws of L between integer noises from sums of coins and of Poisson counts, and their shifts."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tradeoff import balls
from tradeoff.intervals.rounding import TINY, UNIT
from tradeoff.intervals.special import log_pmf
from tradeoff.pld.discrete import LOST, AtomicLaw, too_many
from tradeoff.pld.law import PrivacyLossDistribution

_EXPONENT = 760.0  # atoms are left out where less than e^-760 lies beyond, on either side: no float holds it
_MOST = 2**17  # most atoms of a Skellam law: some seconds, as every one is computed in balls
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
    log_p, x = _skellam(variance, reach, shift), range(-reach, shift + reach + 1)
    loss = [float((log_p[abs(k - shift)] - log_p[abs(k)]).mid()) for k in x]
    mass = [float(log_p[abs(k)].mid()) for k in x]
    return CutLaw(np.array(loss), np.array(mass), lost=LOST, symmetric=True)


def _reach(variance: float) -> int:
    """Return r with P(x > r) < e^-760, by Chernoff's bound r asinh(r/v) - (sqrt(r^2 + v^2) - v)."""
    low, high = 0, 2**60
    while high - low > 1:
        r = (low + high) // 2
        # sqrt(r^2 + v^2) - v without cancellation; the bound has a margin of 2^-40 of itself.
        bound = r * math.asinh(r / variance) - r * (r / (math.hypot(r, variance) + variance))
        low, high = (low, r) if bound > _EXPONENT * (1 + 2**-40) else (r, high)
    return high


def _skellam(variance: float, reach: int, shift: int) -> list[balls.Balls]:
    """Return log p(0), log p(1), ..., log p(reach + shift), known to far more digits than floats have.

    The ratios rho_k = I_k/I_(k-1) = 1/(2k/v + rho_(k+1)) fall with k (Turan's inequality), so that
    e^-asinh(k/v) <= rho_k <= e^-asinh((k-1)/v). Downwards from twice the reach, where the lower bound starts,
    its error shrinks by rho_k rho_(k+1) a step, to less than e^-1500; the balls hold the rounding.
    """
    v, keep = balls.to_ball(variance), reach + shift
    top = keep + reach + 1
    ratio, total, ratios = (-(top / v).asinh()).exp(), balls.to_ball(0), []
    for k in range(top - 1, 0, -1):
        ratio = 1 / (2 * k / v + ratio)
        total = ratio * (1 + total)
        if k <= keep:
            ratios.append(ratio)
    log_p = [-(1 + 2 * total).log()]
    for each in reversed(ratios):
        log_p.append(log_p[-1] + each.log())
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
    term = total = balls.to_ball(2) ** -coins  # P(x < shift) for the sum of fair coins
    for k in range(shift - 1):
        term = term * (coins - k) / (k + 1)
        total += term
    tail = max(float(total.mid()), TINY)  # below all floats for many coins
    loss = np.sum(terms, axis=1)
    return AtomicLaw(loss, log_p, tail, tail, slack, position=position, symmetric=True)
