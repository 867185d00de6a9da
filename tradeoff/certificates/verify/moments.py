"""M(c + iy) of a law and of a product, recomputed in extended precision."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tradeoff.certificates.description import Description
from tradeoff.certificates.verify.arithmetic import EPS, REAL, ComplexLong, Long
from tradeoff.certificates.verify.laws import Law, Need, law

_FAINT = 62.0
"""Points with less than e^-62 = 1e-27 of the mass, tilted or not, are left out: no sum in 64 bits sees
them."""

_CHUNK = 2**20
"""Most pairs of a frequency and a point at a time: 16 mebibytes an array."""

_LARGEST = 1000.0
"""Logarithms of M from which on M - 1 is M in any precision."""


class Moments:
    """One law under the tilt e^(cL): log M(c), mean and M(c + iy)/M(c) about that mean."""

    def __init__(self, what: Law, c: float) -> None:
        self.nodes, self.c = what.nodes, c
        log_p = np.concatenate([what.atoms.log_p, *(node.log_p for node in what.nodes)])
        loss = np.concatenate([what.atoms.loss, *(node.loss for node in what.nodes)])
        log_w = log_p + REAL(c) * loss
        peak = np.max(log_w)
        kept = (log_w >= peak - _FAINT) | (log_p > -_FAINT)
        log_p, loss, log_w = log_p[kept], loss[kept], log_w[kept]
        self.log_m = peak + np.log(np.sum(np.exp(log_w - peak)))
        if peak < _LARGEST:  # all the P-mass is 1 - p_minus, so M - 1 is a sum of small terms
            change = np.sum(_grown(log_p, REAL(c) * loss)) - what.p_minus
            self.log_m = np.log1p(change) if change > -0.5 else self.log_m
        weight = np.exp(log_w - self.log_m)
        heavy = log_w >= peak - _FAINT
        self.w, loss = weight[heavy], loss[heavy]
        self.mean = np.sum(self.w * loss)
        self.d = loss - self.mean
        self.size = len(loss)
        self.spread = float(np.sum(self.w * np.abs(self.d)))

    def log_ratio(self, y: Long) -> ComplexLong:
        """Return log(M(c + iy)/M(c)) - iy mean, from sums of e^(iyd) - 1."""
        u = np.empty(len(y), np.clongdouble)
        step = max(1, _CHUNK // self.size)
        for start in range(0, len(y), step):
            half = np.multiply.outer(y[start : start + step], self.d / 2)
            sine = np.sin(half)
            u[start : start + step] = (sine * sine) @ (-2 * self.w) + 1j * (
                (sine * np.cos(half)) @ (2 * self.w)
            )
        close = np.log1p(np.maximum(2 * u.real + u.real**2 + u.imag**2, -0.9)) / 2
        away = np.log(np.maximum(np.abs(1 + u), 4 * self._error(y)))  # what is below its error says nothing
        modulus = np.where(np.abs(u) < 0.25, close, away)
        return np.asarray(modulus + 1j * np.arctan2(u.imag, 1 + u.real), np.clongdouble)

    def _error(self, y: Long) -> Long:
        """Bound the rounding of M(c + iy)/M(c): every term by 4 units, and their sum by one a term."""
        bound: Long = 4 * (self.size + 64) * EPS * np.minimum(2, y * self.spread)
        return bound

    def slip(self, y: Long, log: ComplexLong) -> Long:
        """Bound the rounding of ``log``, which ``log_ratio`` returned."""
        bound: Long = self._error(y) * np.exp(-log.real)
        return bound

    @cached_property
    def rough(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and centred losses in double."""
        return self.w.astype(float), self.d.astype(float)

    def reaches(self, y: NDArray[np.float64], radius: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound log |rho| within ``radius`` of each y by Taylor's formula of second order."""
        w, d = self.rough
        turned = np.exp(1j * np.multiply.outer(y, d))
        rho, slope = turned @ w, 1j * (turned @ (w * d)) * radius
        more = radius**2 / 2 * float(w @ (d * d)) * (1 + 1e-9) + 1e-13
        return np.asarray(
            np.log(np.minimum(np.maximum(np.abs(rho + slope), np.abs(rho - slope)) + more, 1.0))
        )


def _grown(log_p: Long, exponent: Long) -> Long:
    """Return p (e^exponent - 1), whose factors may overflow where the product does not."""
    near = np.exp(log_p) * np.expm1(np.minimum(exponent, 1))
    return np.where(exponent < 1, near, np.exp(log_p + exponent) - np.exp(log_p))


class GaussianTransform(Moments):
    """The Gaussian, K(z) = mu^2 (z^2 - z)/2."""

    def __init__(self, mu: float, c: float) -> None:
        self.mu, self.c, long = mu, c, REAL(c)
        self.log_m = REAL(mu) ** 2 * (long * long - long) / 2
        self.mean = REAL(mu) ** 2 * (long - REAL(1) / 2)
        self.size = 1

    def log_ratio(self, y: Long) -> ComplexLong:
        return (-((REAL(self.mu) * y) ** 2) / 2).astype(np.clongdouble)

    def slip(self, y: Long, log: ComplexLong) -> Long:
        return 8 * EPS * np.abs(log.real)

    def reaches(self, y: NDArray[np.float64], radius: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(-((self.mu * np.maximum(y - radius, 0.0)) ** 2) / 2)


class LaplaceTransform(Moments):
    """The Laplace law, M(z) = e^(-z eps)/2 (1 + e^w + eps (e^w - 1)/w) with w = (2z - 1) eps."""

    def __init__(self, what: Description, c: float, finer: float) -> None:
        self.epsilon = REAL(what["epsilon"])
        super().__init__(law(what, Need(max(abs(c), abs(1 - c)), 0.0, finer)), c)

    def _ratio(self, y: Long) -> ComplexLong:
        z = REAL(self.c) + 1j * y
        w = (2 * z - 1) * self.epsilon
        small = np.abs(w) < REAL(1e-3)
        series = 1 + w / 2 * (1 + w / 3 * (1 + w / 4 * (1 + w / 5 * (1 + w / 6 * (1 + w / 7)))))
        mean = np.where(small, series, (np.exp(w) - 1) / np.where(small, 1, w))
        shift = np.exp(-z * self.epsilon - 1j * y * self.mean - self.log_m)
        found: ComplexLong = shift * (1 + np.exp(w) + self.epsilon * mean) / 2
        return found

    def log_ratio(self, y: Long) -> ComplexLong:
        ratio = self._ratio(y)
        found: ComplexLong = np.log(np.abs(ratio)) + 1j * np.angle(ratio)
        return found

    def slip(self, y: Long, log: ComplexLong) -> Long:
        size = 256 + 32 * np.abs(y) * (self.epsilon + abs(self.mean)) + 8 * abs(self.log_m)
        bound: Long = EPS * size / np.maximum(np.exp(log.real), EPS)
        return bound

    def reaches(self, y: NDArray[np.float64], radius: NDArray[np.float64]) -> NDArray[np.float64]:
        there = np.abs(self._ratio(y.astype(REAL))).astype(float) + radius * self.spread * (1 + 1e-9) + 1e-13
        return np.asarray(np.log(np.minimum(there, 1.0)))


def moments(what: Description, c: float, y: float, finer: float = 1.0) -> Moments:
    """Return the moments of a described law for frequencies up to y."""
    same = what["base"] if what["kind"] == "reversed" else what  # both closed forms are of symmetric pairs
    if same["kind"] == "gaussian":
        return GaussianTransform(same["mu"], c)
    if same["kind"] == "laplace":
        return LaplaceTransform(same, c, finer)
    return Moments(law(what, Need(max(abs(c), abs(1 - c)), y, finer)), c)


def log_moment(factors: Sequence[Description], c: float, finer: float = 1.0) -> np.longdouble:
    """Return K(c) of a product."""
    found = REAL(0)
    for factor in factors:
        found = found + REAL(factor["count"]) * moments(factor["law"], c, 0.0, finer).log_m
    return found


def lost(factors: Sequence[Description], end: str) -> np.longdouble:
    """Return the mass of the product at one infinity, 1 - prod (1 - q)^n."""
    stays = REAL(0)
    for factor in factors:
        q = getattr(law(factor["law"]), end)
        if q >= 1:
            return REAL(1)
        stays = stays + REAL(factor["count"]) * np.log1p(-q)
    return REAL(-np.expm1(stays))
