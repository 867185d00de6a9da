"""The tilted characteristic function rho(y) = M(c + iy)/M(c) of one law, M(z) = E_P e^(zL), with every error bounded.

With m near the tilted mean and w_j the tilted masses of the law's points,

    rho(y) e^(-iym) - 1 = sum_j w_j (e^(iy(L_j - m)) - 1) / M(c):

errors scale with |rho - 1|, which matters when rho is raised to the power of a million rounds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.composition.contour import quadrature as rules
from tradeoff.composition.contour.pieces import Piece
from tradeoff.composition.contour.quadrature import MARGIN, QuadratureNodes
from tradeoff.composition.contour.smoothness import Tail, tail
from tradeoff.intervals.rounding import UNIT, Array, Index
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.law import LossLaw

Complex = NDArray[np.complex128]

_CHUNK = 2**18
_GROUP = 64
_LARGE = 600.0


class AffineRatio(NamedTuple):
    """log(rho(y) e^(-iym)) with its absolute ``error``, and ``ceiling`` >= log |rho(y)|."""

    log: Complex
    error: Array
    ceiling: Array

    def at(self, index: Index) -> AffineRatio:
        """Return the entries with these indices."""
        return AffineRatio(self.log[index], self.error[index], self.ceiling[index])


class Transform(ABC):
    """M(c + iy)/M(c) for one law and one c: ``log_m`` is log M(c) to ``log_m_error``, ``mean`` a centre m near E_c L."""

    log_m: float
    log_m_error: float
    mean: float

    @property
    @abstractmethod
    def variance(self) -> float:
        """Upper bound on E_c (L - m)^2: that of |rho''|, once the centre is taken out."""

    @abstractmethod
    def ratio(self, y: Array, *, even: bool = False) -> AffineRatio:
        """Return log(rho e^(-iym)) at increasing y >= 0; ``even`` says that they are equally spaced."""

    @abstractmethod
    def around(self, y: Array, radius: float) -> Array:
        """Upper bound on log |rho| within ``radius`` of each y: |rho(y + s)| <= |rho(y) + s rho'(y)| + s^2 variance/2."""

    @abstractmethod
    def far(self, y: float) -> float:
        """Upper bound on log |rho(y')| for all y' >= y."""

    def cost(self, y: float) -> int:
        """Return how many terms one frequency near y takes."""
        return 1


class QuadratureTransform(Transform):
    """A law as weighted points; finer quadratures are made as higher frequencies are asked."""

    def __init__(self, law: LossLaw, smooth: list[Piece], c: float, digits: float) -> None:
        self.c, self.digits, self.smooth = c, digits, smooth
        self.atoms, self.loss_error = law.atoms, law.loss_error
        self.p_minus, self.cut = law.p_minus, law.cut
        self._levels: dict[int, _Level] = {}
        self._first = max(
            (piece.base.mu for piece in smooth if isinstance(piece.base, GaussianLaw)), default=1.0
        )
        level = self._level(0)
        self.log_m, self.log_m_error, self.mean = level.log_m, level.log_m_error, level.mean

    def _level(self, j: int) -> _Level:
        if j not in self._levels:
            top = 16.0 * 2**j / min(self._first, 1.0)
            parts = [rules.of_piece(piece, self.c, top, self.digits) for piece in self.smooth]
            parts += (
                [rules.of_atoms(self.atoms, self.loss_error, self.c, cut=self.cut)]
                if len(self.atoms.loss)
                else []
            )
            self._levels[j] = _Level(
                rules.joined(parts), self.c, self.p_minus, self._levels[0].mean if j else None
            )
        return self._levels[j]

    @cached_property
    def variance(self) -> float:
        return self._level(0).variance

    def ratio(self, y: Array, *, even: bool = False) -> AffineRatio:
        parts = [level.ratio(y[here], even=even) for level, here in self._by_level(y)]
        return AffineRatio(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def around(self, y: Array, radius: float) -> Array:
        return np.concatenate(
            [level.around(y[here], radius, self.variance) for level, here in self._by_level(y)]
        )

    def _by_level(self, y: Array) -> list[tuple[_Level, NDArray[np.bool_]]]:
        """Return the quadratures for increasing frequencies, each with the frequencies it serves."""
        if not self.smooth:
            return [(self._level(0), np.ones(len(y), bool))]
        which = self._which(y)
        return [
            (self._level(j), which == j)
            for j in range(int(which.min()), int(which.max()) + 1)
            if np.any(which == j)
        ]

    @cached_property
    def _tails(self) -> list[Tail]:
        return [tail(piece, self.c, self.log_m, self.log_m_error) for piece in self.smooth]

    def far(self, y: float) -> float:
        turning = sum(
            max(0.0, float(np.max(known.mass * (1 - 4 * self.log_m_error) - known.variation / y)))
            for known in self._tails
        )
        return float(np.log1p(-min(turning, 1 - UNIT)))

    def cost(self, y: float) -> int:
        return self._level(int(self._which(np.array([y]))[0])).size if self.smooth else len(self.atoms.loss)

    def _which(self, y: Array) -> NDArray[np.int64]:
        """Return the quadrature that serves each frequency: the j-th reaches up to 16 2^j."""
        return np.ceil(np.log2(np.maximum(y * min(self._first, 1.0) / 16.0, 1.0))).astype(np.int64)


class _Level:
    """One quadrature: masses under the tilt, and sums that bound their errors."""

    def __init__(self, nodes: QuadratureNodes, c: float, p_minus: float, mean: float | None) -> None:
        loss, log_p, slack, error, self.quadrature = nodes
        log_w = log_p + c * loss
        slack_w = slack + abs(c) * error + UNIT * (8 + 4 * np.abs(c * loss) + 4 * np.abs(log_p))
        self.log_m, self.log_m_error = self._moment(nodes, c, p_minus, log_w, slack_w)
        self.w = np.exp(log_w - self.log_m)
        self.slack = float(self.log_m_error) + 4 * UNIT * (1 + abs(self.log_m))
        self.mean = float(np.sum(self.w * loss)) if mean is None else mean
        self.d = loss - self.mean
        self.size = len(loss)
        at = error + 4 * UNIT * np.abs(self.d)
        self.drift = float(np.sum(self.w * at)) * (1 + 1e-9)
        self.scatter = math.sqrt(float(np.sum(self.w * at * at)))
        distance = self.w * np.abs(self.d)
        self.distance = float(np.sum(distance)) * (1 + 1e-9)
        self.uneven = float(np.sum(self.w * slack_w)) * (1 + 1e-9)
        self.uneven_distance = float(np.sum(distance * slack_w)) * (1 + 1e-9)
        # The slope's terms are w d e^(iyd): masses, losses, summation, M(c), and the quadrature of L e^(zL) by Cauchy's estimate.
        self.slope_error = (
            float(np.sum(self.w * at)) + self.uneven_distance + (self.size + 32) * UNIT * self.distance
        )
        self.slope_error += self.slack * self.distance + 4 * self.quadrature / MARGIN * self._grown()
        self.slope_drift = float(np.sum(distance * at)) * (1 + 1e-9)

    def _moment(
        self, nodes: QuadratureNodes, c: float, p_minus: float, log_w: Array, slack_w: Array
    ) -> tuple[float, float]:
        """Return log M(c): as the sum, or as log1p(sum of w - w_P) since the masses under P are known to add up to 1 - p_minus."""
        size, peak = len(log_w), float(np.max(log_w))
        share = np.exp(log_w - peak)
        total = float(np.sum(share))
        plain = peak + math.log(total)
        error = float(np.sum(share * slack_w)) / total + UNIT * (size + 8 + 2 * abs(plain)) + self.quadrature
        if peak > _LARGE:
            return plain, error * 1.01
        tilt = c * nodes.loss
        small = np.abs(tilt) < 0.5
        w, w_p = np.exp(log_w), np.exp(nodes.log_p)
        gain = np.where(small, w_p * np.expm1(np.where(small, tilt, 0.0)), w - w_p)
        # The error of one term: the mass's own slack on e^x - 1, and the shift of the exponent on e^x.
        moved = np.where(
            small, w_p * (abs(c) * nodes.error + 4 * UNIT * np.abs(tilt)) * 2, slack_w * (w + w_p)
        )
        change = float(np.sum(gain)) - p_minus
        off = float(np.sum(np.abs(gain) * (nodes.slack + (size + 8) * UNIT) + moved)) + 2 * UNIT * p_minus
        off += self.quadrature * (1 + math.exp(plain))
        if change <= -0.9 or off / (1 + change) >= error:
            return plain, error * 1.01
        value = math.log1p(change)
        return value, off / (1 + change) * 1.01 + 4 * UNIT * abs(value)

    def _grown(self) -> float:
        """Bound M(c +- MARGIN) e^(-+MARGIN m)/M(c), the most a quadrature error can grow by within the margin."""
        return 2 * float(
            np.sum(self.w * (1 + 2 * np.sinh(np.minimum(np.abs(MARGIN * self.d) / 2, 300.0)) ** 2))
        )

    @cached_property
    def variance(self) -> float:
        # d^2 <= 2 (cosh(sd) - 1)/s^2, whose integrand is analytic; the losses' own errors add to its root.
        s = MARGIN
        grown = np.sinh(np.minimum(np.abs(s * self.d) / 2, 300.0))
        square = (float(np.sum(self.w * 4 * grown * grown)) + 2 * self.quadrature * self._grown()) / s**2
        return (math.sqrt(square) + self.scatter) ** 2 * (1 + 1e-6)

    def _chunks(self, y: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield sin and cos of y d/2 in pieces of bounded size."""
        step = max(1, _CHUNK // self.size)
        for start in range(0, len(y), step):
            here = slice(start, start + step)
            half = np.multiply.outer(y[here], self.d / 2)
            yield here, np.sin(half), np.cos(half)

    def _error(self, y: Array, u: Complex) -> Array:
        """Bound the errors of u: of summation, of the masses, of the losses, of M(c) and of the quadrature."""
        # |e^(i theta) - 1| <= min(2, |theta|).
        turned = np.minimum(2 * (1 + self.slack), y * self.distance)
        error = (
            (self.size + 16) * UNIT * turned
            + np.minimum(2 * self.uneven, y * self.uneven_distance)
            + y * self.drift
        )
        return error + np.abs(u) * self.slack + 2.01 * self.quadrature

    def ratio(self, y: Array, *, even: bool) -> AffineRatio:
        """Sum w_j (e^(iy d_j) - 1)."""
        if even and len(y) > 2 * _GROUP:
            u = self._equispaced(y)
            return logarithm(u, 5 * self._error(y, u))  # each term is a product of three, of size up to 2
        u = np.empty(len(y), complex)
        for here, s, co in self._chunks(y):
            u[here] = (s * s) @ (-2 * self.w) + 1j * ((s * co) @ (2 * self.w))
        return logarithm(u, self._error(y, u))

    def _equispaced(self, y: Array) -> Complex:
        """Do it for equal steps, by e^(i(a + b)d) - 1 = e^(ibd) (e^(iad) - 1) + (e^(ibd) - 1): a multiplication each, no sine."""
        steps = np.multiply.outer(y[:_GROUP] - y[0], self.d / 2)
        sine = np.sin(steps)
        turn = -2 * sine * sine + 2j * sine * np.cos(steps)  # e^(ibd) - 1
        first = turn @ self.w
        u = np.empty(len(y), complex)
        together = max(1, _CHUNK // self.size)
        for start in range(0, len(y), together * _GROUP):
            heads = y[start : start + together * _GROUP : _GROUP]
            half = np.multiply.outer(self.d / 2, heads)
            sine = np.sin(half)
            moved = (-2 * sine * sine + 2j * sine * np.cos(half)) * self.w[:, None]
            block = turn @ moved + np.sum(moved, axis=0) + first[:, None]
            flat = block.T.ravel()
            u[start : start + len(flat)] = flat[: len(y) - start]
        return u

    def around(self, y: Array, radius: float, variance: float) -> Array:
        """Add the slope, sum i d_j w_j e^(iy d_j), whose own error is at most that of u over the smallest scale."""
        u, slope = np.empty(len(y), complex), np.empty(len(y), complex)
        weighted = self.w * self.d
        for here, s, co in self._chunks(y):
            sine = s * co
            u[here] = (s * s) @ (-2 * self.w) + 1j * (sine @ (2 * self.w))
            slope[here] = 1j * (np.sum(weighted) + (s * s) @ (-2 * weighted)) - sine @ (2 * weighted)
        error = (
            self._error(y, u) + radius * (self.slope_error + y * self.slope_drift) + radius**2 / 2 * variance
        )
        slope *= radius
        return np.maximum(logarithm(u + slope, error).ceiling, logarithm(u - slope, error).ceiling)


def logarithm(u: Complex, error: Array) -> AffineRatio:
    """Return log(1 + u), u known to ``error``, with no loss for small u."""
    rho = 1 + u
    near = np.abs(u) < 0.5
    modulus = np.abs(rho)
    real, imag = u.real, u.imag
    with np.errstate(divide="ignore"):
        log_modulus = np.where(
            near, np.log1p(np.where(near, real * (2 + real) + imag * imag, 0.0)) / 2, np.log(modulus)
        )
        off = error + 8 * UNIT * np.minimum(np.abs(u), 1.0)
        ceiling = np.minimum(np.where(near, log_modulus + 2 * off, np.log(modulus + off)), 0.0)
        known = modulus > 2 * off
        slip = np.where(known, off / np.where(known, modulus - off, 1.0), np.inf)
    log = np.where(known, log_modulus, -np.inf) + 1j * np.arctan2(imag, rho.real)
    return AffineRatio(log, slip, ceiling)
