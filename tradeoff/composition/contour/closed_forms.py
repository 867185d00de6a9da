"""Transforms with closed forms: the Gaussian, the Laplace at high frequencies, and the discrete Gaussian."""

from __future__ import annotations

import math

import numpy as np

from tradeoff.composition.contour.pieces import Piece
from tradeoff.composition.contour.transform import (
    AffineRatio,
    Complex,
    QuadratureTransform,
    Transform,
    logarithm,
)
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.laplace import LaplaceLaw

_FAST = 24.0
_TERMS = np.array([-2, -1, 1, 2])


class GaussianTransform(Transform):
    """The Gaussian: K(z) = mu^2 (z^2 - z)/2."""

    def __init__(self, mu: float, c: float) -> None:
        self.mu = mu
        self.log_m = mu * mu * (c * c - c) / 2
        self.log_m_error = 4 * UNIT * mu * mu * (c * c + abs(c))
        self.mean = mu * mu * (2 * c - 1) / 2

    @property
    def variance(self) -> float:
        return self.mu**2 * (1 + 4 * UNIT)

    def ratio(self, y: Array, *, even: bool = False) -> AffineRatio:
        value = -((self.mu * y) ** 2) / 2
        # The centre is a float too: the true phase is y mu^2 (2c - 1)/2.
        error = 4 * UNIT * (np.abs(value) + np.abs(y * self.mean) + y * self.mu**2)
        return AffineRatio(value.astype(complex), error, np.minimum(value * (1 - 4 * UNIT), 0.0))

    def around(self, y: Array, radius: float) -> Array:
        return -((self.mu * np.maximum(y - radius, 0.0)) ** 2) / 2 * (1 - 4 * UNIT)

    def far(self, y: float) -> float:
        return -((self.mu * y) ** 2) / 2 * (1 - 4 * UNIT)


class LaplaceTransform(QuadratureTransform):
    """The Laplace law: atoms at both ends, (e^((k + iy) eps) - e^-((k + iy) eps))/(k + iy) between, k = c - 1/2."""

    def __init__(self, law: LaplaceLaw, c: float, digits: float) -> None:
        super().__init__(law, [Piece(law)], c, digits)
        self.epsilon, self.k = law.epsilon, c - 0.5

    def ratio(self, y: Array, *, even: bool = False) -> AffineRatio:
        slow = int(np.searchsorted(y * self.epsilon, _FAST, side="right"))
        parts = [super().ratio(y[:slow], even=even)] if slow else []
        parts += [self._fast(y[slow:])] if slow < len(y) else []
        return AffineRatio(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def cost(self, y: float) -> int:
        return 4 if y * self.epsilon > _FAST else super().cost(y)

    def _fast(self, y: Array) -> AffineRatio:
        up, down = self.epsilon - self.mean, -self.epsilon - self.mean
        atoms = np.exp(self.atoms.log_p + self.c * self.atoms.loss - self.log_m)
        edge = np.exp(
            np.array([-1.0, 1.0]) * self.k * self.epsilon - self.epsilon / 2 - math.log(4) - self.log_m
        )
        inner = edge / (self.k + 1j * y[:, None]) * np.array([-1.0, 1.0])
        value = np.exp(1j * y * down) * (atoms[0] + inner[:, 0]) + np.exp(1j * y * up) * (
            atoms[1] + inner[:, 1]
        )
        size = float(np.sum(atoms)) + np.sum(np.abs(inner), axis=1)
        slip = 32 + 8 * abs(self.log_m) + 8 * self.epsilon * (1 + abs(self.c)) + 4 * y * (abs(up) + abs(down))
        return logarithm(value - 1, size * (UNIT * slip + self.log_m_error))


class DiscreteGaussianTransform(Transform):
    """The discrete Gaussian with sigma >= 1, by Poisson summation.

    Tilted by c its mass at x is proportional to e^(-(x - x0)^2/2 sigma^2), x0 = c s, and at the frequency t = y s/sigma^2 of x
    the sum over all integers is sum_j e^(-2 pi i j x0 - sigma^2 (2 pi j - t)^2/2) up to a constant.
    """

    def __init__(self, sigma: float, shift: int, c: float) -> None:
        self.sigma, self.shift, self.pace, self.centre = sigma, shift, shift / sigma**2, c * shift
        decay = np.exp(-2 * (np.pi * sigma * _TERMS) ** 2)
        turn = 2 * np.pi * (self.centre - round(self.centre)) * _TERMS
        self.base = float(np.sum(np.cos(turn) * decay))
        self.log_m = (
            shift * self.pace * (c * c - c) / 2 + math.log1p(self.base) - math.log1p(float(np.sum(decay)))
        )
        self.log_m_error = UNIT * (
            8 * shift * self.pace * (c * c + abs(c)) + 64 * (1 + abs(self.centre)) * float(np.sum(decay)) * 16
        )
        self.mean = (self.centre - shift / 2) * self.pace

    @property
    def variance(self) -> float:
        # sigma^2 of the continuous law, and what the lattice adds: at most 8 pi^2 sigma^4 e^(-2 pi^2 sigma^2) of x.
        lattice = 1 + 16 * (np.pi * self.sigma) ** 2 * math.exp(-2 * (np.pi * self.sigma) ** 2)
        return (self.sigma * self.pace) ** 2 * lattice * (1 + 1e-6)

    def _reduced(self, y: Array) -> tuple[Array, Array, Array]:
        """Return t = 2 pi turns + rest with |rest| <= pi."""
        t = y * self.pace
        turns = np.round(t / (2 * np.pi))
        return t, turns, t - 2 * np.pi * turns

    def ratio(self, y: Array, *, even: bool = False) -> AffineRatio:
        t, turns, rest = self._reduced(y)
        fraction = self.centre - round(self.centre)
        exponent = self.sigma**2 * (2 * np.pi * np.multiply.outer(rest, _TERMS) - 2 * (np.pi * _TERMS) ** 2)
        others = np.exp(exponent) @ np.exp(-2j * np.pi * fraction * _TERMS)
        slip = 4 * UNIT * (np.abs(t) + 1)  # of the reduced frequency, with the rounding of pi
        steep = np.exp(np.max(exponent, axis=1))
        off = steep * (4 * np.pi * self.sigma**2 * slip + UNIT * 256 * (1 + abs(self.centre)))
        bell = -((self.sigma * rest) ** 2) / 2
        tilt = self.sigma**2 * np.abs(rest) * slip + 8 * UNIT * (
            np.abs(bell) + abs(self.base) * (1 + abs(self.centre))
        )
        tail = logarithm(others, off)
        log: Complex = tail.log + (bell - math.log1p(self.base)) - 2j * np.pi * fraction * turns
        # The centre is a float too, of rounded terms: its error turns every phase.
        moved = 8 * UNIT * y * self.pace * (1 + abs(self.centre) + self.shift)
        error = tail.error + tilt + moved + 8 * UNIT * np.abs(turns) * (1 + abs(self.centre))
        ceiling = bell + tilt + np.log(np.abs(1 + others) + off + 4 * UNIT) - math.log1p(self.base)
        return AffineRatio(log, error, np.minimum(ceiling, 0.0))

    def around(self, y: Array, radius: float) -> Array:
        # The theta function of the moduli falls from multiples of 2 pi to the points between them.
        t, _, rest = self._reduced(y)
        distance = np.maximum(np.abs(rest) - radius * self.pace - 8 * UNIT * (np.abs(t) + 1), 0.0)
        exponent = self.sigma**2 * (
            2 * np.pi * np.multiply.outer(distance, _TERMS) - 2 * (np.pi * _TERMS) ** 2
        )
        bound: Array = (
            -((self.sigma * distance) ** 2) / 2
            + np.log1p(np.sum(np.exp(exponent), axis=1))
            - math.log1p(self.base)
        )
        return np.minimum(bound * (1 - 8 * UNIT) + 16 * UNIT, 0.0)

    def far(self, y: float) -> float:
        return 0.0  # the law is periodic in y
