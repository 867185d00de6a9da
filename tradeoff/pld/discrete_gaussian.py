"""The law of L between discrete normal laws, and its transform by Poisson summation."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.errors import DomainError
from tradeoff.intervals.rounding import UNIT, Array, Complex
from tradeoff.pld.discrete import LOST, MAX_ATOMS, AtomicLaw, too_many
from tradeoff.pld.law import LogRatio, Transform, logarithm

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
