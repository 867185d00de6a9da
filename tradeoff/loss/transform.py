"""The tilted characteristic function rho(y) = M(c + iy)/M(c) of one law, M(z) = E_P e^(zL)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tradeoff.intervals.rounding import UNIT, Array, Index

Complex = NDArray[np.complex128]


class AffineRatio(NamedTuple):
    """log(rho(y) e^(-iym)) with its absolute ``error``, and ``ceiling`` >= log |rho(y)|."""

    log: Complex
    error: Array
    ceiling: Array

    def at(self, index: Index) -> AffineRatio:
        """Return the entries with these indices."""
        return AffineRatio(self.log[index], self.error[index], self.ceiling[index])


class Transform(ABC):
    """M(c + iy)/M(c) of a law at c: ``log_m`` is log M(c) to ``log_m_error``, ``mean`` a centre m near E_c L.

    M is taken over the finite losses; they are in nats, and so is 1/y. Errors are absolute, and the truth is
    inside.
    """

    log_m: float
    log_m_error: float
    mean: float

    @abstractmethod
    def ratio(self, y: Array, *, even: bool = False) -> AffineRatio:
        """Return log(rho e^(-iym)) at increasing y >= 0; ``even`` says that they are equally spaced."""

    @abstractmethod
    def around(self, y: Array, radius: float) -> Array:
        """Upper bound on log |rho| within ``radius`` of each y."""

    @abstractmethod
    def far(self, y: float) -> float:
        """Upper bound on log |rho(y')| for all y' >= y."""

    def beyond(self, y: float) -> float:
        """Return such a bound that may be farther off, and is had for less."""
        return self.far(y)

    def cost(self, y: float) -> int:
        """Return how many terms one frequency near y takes."""
        return 1


class Transformed(Protocol):
    """What has a transform: a law, or the product of some."""

    def transform(self, c: float, digits: float) -> Transform | None:
        """Return M(c + iy)/M(c), known to about e^-digits, or None."""


def logarithm(u: Complex, error: Array) -> AffineRatio:
    """Return log(1 + u), u known to ``error``, with no loss for small u.

    Within |u| < 1/2 the modulus comes from |1 + u|^2 - 1 = Re u (2 + Re u) + (Im u)^2, known to 8 units of
    |u|: at most 16 after the root and the logarithm, which adds 12 of its own. Elsewhere 1 + u, its modulus,
    logarithm and angle are of size 1 and lose less. What is known to ``off`` has a logarithm and an angle
    known to off/(modulus - off).
    """
    rho = 1 + u
    near = np.abs(u) < 0.5
    modulus = np.abs(rho)
    real, imag = u.real, u.imag
    off = error + 32 * UNIT * np.minimum(np.abs(u), 1.0)
    known = modulus > 2 * off
    with np.errstate(divide="ignore"):
        inner = np.log1p(np.where(near, real * (2 + real) + imag * imag, 0.0)) / 2
        log_modulus = np.where(near, inner, np.log(modulus))
        ceiling = np.where(near, log_modulus + 2 * off, np.log(modulus + off) * (1 - 8 * UNIT))
    slip = np.where(known, off / np.where(known, modulus - off, 1.0), np.inf)
    log = np.where(known, log_modulus, -np.inf) + 1j * np.arctan2(imag, rho.real)
    return AffineRatio(log, slip, np.minimum(ceiling, 0.0))
