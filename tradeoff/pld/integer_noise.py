"""Laws of L between integer noises and their shifts: discrete normal laws, sums of coins, Poisson counts."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tradeoff import balls
from tradeoff.errors import DomainError
from tradeoff.intervals.binomial import log_pmf
from tradeoff.intervals.rounding import TINY, UNIT, Array, Complex
from tradeoff.pld.discrete import LOST, MAX_ATOMS, AtomicLaw, too_many
from tradeoff.pld.law import LogRatio, PrivacyLossDistribution, Transform, logarithm

_LEAST_SIGMA = 1.0  # narrower laws are few atoms, and their sums over frequencies long
_REACH = 40.0  # deviations beyond which atoms are left out: less than e^-799 of mass

# Frequencies 2 pi j next to the nearest: those beyond add less than e^(-4 pi^2 sigma^2) of a unit's e^-36.
_TERMS = np.array([-2, -1, 1, 2])


@dataclass(frozen=True, eq=False)
class DiscreteGaussianLaw(AtomicLaw):
    """x on the integers against x + shift, pmf proportional to e^(-x^2/2 sigma^2)."""

    sigma: float = 1.0
    shift: int = 1

    def description(self) -> dict[str, Any]:
        return {"kind": "discrete gaussian", "sigma": self.sigma, "shift": self.shift}

    @property
    def range(self) -> tuple[float, float]:
        return -np.inf, np.inf  # the far tails were left out

    def transform(self, c: float, digits: float) -> Transform | None:
        if self.sigma < _LEAST_SIGMA:
            return super().transform(c, digits)
        return DiscreteGaussianTransform(self.sigma, self.shift, c)


def discrete_gaussian_law(sigma: float, shift: int) -> DiscreteGaussianLaw:
    """Return the law of L = (2 s x - s^2)/(2 sigma^2), x on the integers with pmf e^(-x^2/2 sigma^2)."""
    reach = np.ceil(_REACH * sigma) + 2
    if 2 * reach + shift >= MAX_ATOMS:
        raise too_many(f"the discrete Gaussian with sigma = {sigma:.6g}", 2 * reach + shift)
    if not sigma * sigma * sys.float_info.max > (reach + shift) ** 2:
        raise DomainError(
            f"sigma = {sigma:.6g} is so small that one step of the discrete Gaussian shifted by {shift} "
            "loses more nats than floats hold; TotalVariation(1), which tells all, bounds it from below"
        )
    x = np.arange(-reach, shift + reach + 1)
    half = np.exp(-((np.arange(reach, 0, -1) / sigma) ** 2) / 2)
    log_p = -((x / sigma) ** 2) / 2 - np.log1p(2 * np.sum(half))
    # A square of a quotient and a difference cost 4 units of the logarithms; the sum of masses, each known to
    # 8 units and 3 of an exponent that is below 0.4 with its mass, adds up pairwise, and has a logarithm of
    # at most 12, to 8 units.
    slack = (160 + 8 * np.abs(log_p)) * UNIT
    loss = (x - shift / 2) * (shift / sigma**2)
    return DiscreteGaussianLaw(loss, log_p, slack=slack, lost=LOST, symmetric=True, sigma=sigma, shift=shift)


class DiscreteGaussianTransform(Transform):
    """The discrete Gaussian with sigma >= 1, by Poisson summation.

    Tilted by c its mass at x is proportional to e^(-(x - x0)^2/2 sigma^2), x0 = c s, and at the frequency t =
    y s/sigma^2 of x the sum over all integers is sum_j e^(-2 pi i j x0 - sigma^2 (2 pi j - t)^2/2) up to a
    constant.
    """

    def __init__(self, sigma: float, shift: int, c: float) -> None:
        self.sigma, self.shift, self.pace, self.centre = sigma, shift, shift / sigma**2, c * shift
        decay = np.exp(-2 * (np.pi * sigma * _TERMS) ** 2)
        turn = 2 * np.pi * (self.centre - round(self.centre)) * _TERMS
        self.base, self.rest = float(np.sum(np.cos(turn) * decay)), float(np.sum(decay))
        drift = shift * self.pace * (c * c - c) / 2
        self.log_m = drift + math.log1p(self.base) - math.log1p(self.rest)
        # The drift is six operations on terms that may cancel; the sums, below 1e-8, have phases known to 13
        # units of the centre.
        size = shift * self.pace * (c * c + abs(c))
        self.log_m_error = UNIT * (8 * size + 1024 * (1 + abs(self.centre)) * self.rest)
        self.mean = (self.centre - shift / 2) * self.pace

    def _reduced(self, y: Array) -> tuple[Array, Array, Array]:
        """Return turns, rest and its error of t = 2 pi turns + rest, |rest| <= pi."""
        t = y * self.pace
        turns = np.round(t / (2 * np.pi))
        return turns, t - 2 * np.pi * turns, 8 * UNIT * (np.abs(t) + 2)  # three operations and two, and pi

    def _exponent(self, rest: Array) -> Array:
        """Return the logarithms of the other frequencies' terms over that of the nearest one."""
        result: Array = 2 * np.pi * np.multiply.outer(rest, _TERMS) - 2 * (np.pi * _TERMS) ** 2
        return self.sigma**2 * result

    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        turns, rest, slip = self._reduced(y)
        fraction = self.centre - round(self.centre)
        exponent = self._exponent(rest)
        others = np.exp(exponent) @ np.exp(-2j * np.pi * fraction * _TERMS)
        # Exponents move by 2 pi j sigma^2 slip, which is more than their own rounding where they count;
        # phases by 13 units of the centre, and a sum of four exponentials by less than 256.
        off = np.exp(np.max(exponent, axis=1))
        off *= 4 * np.pi * self.sigma**2 * slip + UNIT * 256 * (1 + abs(self.centre))
        bell = -((self.sigma * rest) ** 2) / 2
        tilt = self.sigma**2 * np.abs(rest) * slip
        tilt += 8 * UNIT * (np.abs(bell) + self.rest * 16 * (1 + abs(self.centre)))
        tail = logarithm(others, off)
        log: Complex = tail.log + (bell - math.log1p(self.base)) - 2j * np.pi * fraction * turns
        # The centre is a float too, of rounded terms: its error turns every phase.
        moved = 8 * UNIT * y * self.pace * (1 + abs(self.centre) + self.shift)
        error = tail.error + tilt + moved + 8 * UNIT * np.abs(turns) * (1 + abs(self.centre))
        height = np.log(np.abs(1 + others) + off + 8 * UNIT)
        ceiling = bell + tilt + height + 8 * UNIT * np.abs(height) - math.log1p(self.base)
        return LogRatio(log, error, np.minimum(ceiling, 0.0))

    def around(self, y: Array, radius: float) -> Array:
        # The theta function of the moduli falls from multiples of 2 pi to the points between them.
        _, rest, slip = self._reduced(y)
        distance = np.maximum(np.abs(rest) - radius * self.pace * (1 + 4 * UNIT) - slip, 0.0)
        bell = -((self.sigma * distance) ** 2) / 2
        others = np.log1p(np.sum(np.exp(self._exponent(distance)), axis=1))
        bound: Array = bell + others - math.log1p(self.base)
        # Exponents count near pi, where they lose 350 units of sigma^2, the bell being 4.9 of it.
        return np.minimum(bound * (1 - 128 * UNIT) + 32 * UNIT, 0.0)

    def far(self, y: float) -> float:
        return 0.0  # the law is periodic in y


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
