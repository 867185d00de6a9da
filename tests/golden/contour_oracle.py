"""Compositions in 45 digits by the inverse Laplace transform along bent contours.

Mpmath alone, nothing of the library.

With M(z) = E_P e^(zL), K = sum n_i log M_i and I(c) = (1/2 pi i) int over Re z ~ c of e^(K(z) - z t) k(z) dz:

    delta(t)        = e^t I(c),       c > 1, k = 1/(z(z-1));       the other order at -t is I(c), c < 0
    P(L > t)        = I(c),           c > 0, k = 1/z
    Q(L <= t)       = -e^t I(c),      c < 1, k = 1/(z-1)

M of a thinned Gaussian is entire, and bounded where Re z grows like sqrt(Im z), so the contour may bend to
the right; there e^(K - zt) decays even when M itself does not (few factors, tiny rates). Nodes sit on a
trapezoid in t, Im z = y0 sinh t. Every answer is computed twice, with another abscissa, another step and
another quadrature of M; what they agree on counts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import mpmath as mp
import numpy as np

DIGITS = 45
NATS = 65.0
"""Terms smaller than e^-NATS of the largest are dropped: 28 digits."""


class Moment(Protocol):
    """E_P e^(zL) of one factor."""

    def __call__(self, z: mp.mpc, refine: float) -> mp.mpc: ...

    def atoms(self, c: mp.mpf) -> mp.mpf:
        """Return the part of M(c) that never fades along a straight contour."""

    bend: float
    """Greatest kappa with M bounded along Re z = kappa sqrt(Im z); 0 for a straight contour."""


@dataclass
class Gaussian:
    mu: float
    bend: float = math.inf

    def __call__(self, z: mp.mpc, refine: float) -> mp.mpc:
        return mp.exp(mp.mpf(self.mu) ** 2 * z * (z - 1) / 2)

    def atoms(self, c: mp.mpf) -> mp.mpf:
        return mp.mpf(0)


@dataclass
class Laplace:
    epsilon: float
    bend: float = 0.0

    def __call__(self, z: mp.mpc, refine: float) -> mp.mpc:
        e = mp.mpf(self.epsilon)
        return (z * mp.exp((z - 1) * e) + (z - 1) * mp.exp(-z * e)) / (2 * z - 1)

    def atoms(self, c: mp.mpf) -> mp.mpf:
        return (mp.exp((c - 1) * self.epsilon) + mp.exp(-c * self.epsilon)) / 2


@dataclass
class Pure:
    epsilon: float
    bend: float = 0.0

    def __call__(self, z: mp.mpc, refine: float) -> mp.mpc:
        e = mp.mpf(self.epsilon)
        return (mp.exp(z * e) + mp.exp((1 - z) * e)) / (1 + mp.exp(e))

    def atoms(self, c: mp.mpf) -> mp.mpf:
        return self(c, 1.0)


@dataclass
class DiscreteGaussian:
    """N_Z(0, variance) against its shift by 1, next to lattices without a common period.

    M = e^(z (z - 1)/(2 variance)) theta(z)/theta(0), theta(z) = sum e^(-2 pi^2 variance k^2 + 2 pi i k z) by
    Poisson summation.
    """

    variance: mp.mpf
    bend: float = 0.0

    def atoms(self, c: mp.mpf) -> mp.mpf:
        return mp.mpf(0)

    def theta(self, z: Any) -> Any:
        # the terms are largest at k = -Im z/(2 pi variance)
        centre = -mp.im(z) / (2 * mp.pi * self.variance)
        reach = 12 / (2 * mp.pi * mp.sqrt(self.variance)) + 1
        span = range(int(mp.floor(centre - reach)), int(mp.ceil(centre + reach)) + 1)
        return mp.fsum(mp.exp(-2 * mp.pi**2 * k * k * self.variance + 2j * mp.pi * k * z) for k in span)

    def __call__(self, z: Any, refine: float) -> Any:
        return mp.exp(z * (z - 1) / (2 * self.variance)) * self.theta(z) / self.theta(mp.mpf(0))


@functools.cache
def gauss_legendre(size: int) -> list[tuple[mp.mpf, mp.mpf]]:
    """Nodes and weights on (-1, 1), Newton from the double-precision ones."""
    result = []
    with mp.workdps(DIGITS + 15):
        for start in np.polynomial.legendre.leggauss(size)[0]:
            x = mp.mpf(float(start))
            for _ in range(3):
                low, high = mp.mpf(1), x
                for k in range(2, size + 1):
                    low, high = high, ((2 * k - 1) * x * high - (k - 1) * low) / k
                slope = size * (x * high - low) / (x * x - 1)
                x -= high / slope
            result.append((x, 2 / ((1 - x * x) * slope**2)))
    return result


@dataclass
class ThinnedGaussian:
    """P = N(0,1) against (1-p) P + p N(mu,1), by the trapezoid rule along Im x = eta.

    log(1 - p + p e^(mu x - mu^2/2)) is singular at Im x = pi/mu, so any eta below that gives the same
    integral; the one with the smallest largest term does not cancel. The step obeys the rule error e^(-2 pi
    a/h) in the strip of half-width a.
    """

    mu: float
    rate: float
    nodes: dict[tuple[float, float, int], tuple[mp.mpc, mp.mpc]] = field(default_factory=dict)

    @property
    def bend(self) -> float:
        return 1.8 / self.mu

    def exponent(self, z: complex, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with np.errstate(over="ignore", invalid="ignore"):
            shift = self.mu * x - self.mu**2 / 2
            loss = np.where(
                shift.real < 600,
                np.log1p(self.rate * np.expm1(np.minimum(shift.real, 600) + 1j * shift.imag)),
                shift,
            )
            loss += np.where(shift.real < 600, 0, math.log(self.rate))
        return np.real(z * loss - x * x / 2)

    def node(self, step: float, eta: float, j: int) -> tuple[mp.mpc, mp.mpc]:
        key = (step, eta, j)
        if key not in self.nodes:
            mu, p, h = mp.mpf(self.mu), mp.mpf(self.rate), mp.mpf(step)
            x = mp.mpc(j * h, eta) if eta else j * h
            self.nodes[key] = (
                mp.log(1 + p * mp.expm1(mu * x - mu * mu / 2)),
                h * mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi),
            )
        return self.nodes[key]

    def __call__(self, z: mp.mpc, refine: float) -> mp.mpc:
        where = complex(z)
        height = math.pi / self.mu
        coarse = np.arange(-60.0, 60.0 + self.mu * max(where.real, 0.0), 0.125)
        tops = {
            share: float(np.max(self.exponent(where, coarse + 1j * share * height)))
            for share in (0.0, 0.3, 0.6, 0.75)
        }
        share = min(tops, key=lambda s: tops[s] + (5 if s else 0))
        # y mu/(2 pi) nodes per unit for the oscillation downwards, NATS/(2 pi a) for the strip upwards
        ceiling = min(0.42, 2 * math.pi * (0.95 - share) * height / NATS)
        level = math.ceil(math.log2(1 + ceiling * abs(where.imag) * self.mu / (2 * math.pi)))
        step, eta = ceiling * refine / 2**level, share * height
        sizes = self.exponent(where, coarse + 1j * eta)
        inside = coarse[sizes > tops[share] - NATS]
        low, high = math.floor((inside[0] - 0.125) / step), math.ceil((inside[-1] + 0.125) / step)
        terms = (self.node(step, eta, j) for j in range(low, high + 1))
        return mp.fsum(w * mp.exp(z * loss) for loss, w in terms)

    def atoms(self, c: mp.mpf) -> mp.mpf:
        return mp.mpf(0)


@dataclass
class Mixture:
    parts: Sequence[tuple[float, Moment]]

    @property
    def bend(self) -> float:
        return min(moment.bend for _, moment in self.parts)

    def __call__(self, z: mp.mpc, refine: float) -> mp.mpc:
        return mp.fsum(mp.mpf(w) * moment(z, refine) for w, moment in self.parts)

    def atoms(self, c: mp.mpf) -> mp.mpf:
        return mp.fsum(mp.mpf(w) * moment.atoms(c) for w, moment in self.parts)


Factors = Sequence[tuple[Moment, int]]


def log_moment(factors: Factors, z: Any, refine: float = 1.0) -> Any:
    """Return K(z), up to a multiple of 2 pi i."""
    return mp.fsum(n * mp.log(moment(z, refine)) for moment, n in factors)


def derivatives(factors: Factors, c: float) -> tuple[float, float, float]:
    """Return K, K', K'' at a real point, to plotting accuracy: they only place contours."""
    with mp.workdps(40):
        h = mp.mpf(10) ** -6 * max(1, abs(c))
        low, mid, high = (mp.re(log_moment(factors, mp.mpf(c) + k * h)) for k in (-1, 0, 1))
        return float(mid), float((high - low) / (2 * h)), float((high - 2 * mid + low) / h**2)


@dataclass
class Contour:
    """Nodes of one contour: z, K(z) and dz."""

    z: list[mp.mpc]
    k: list[mp.mpc]
    dz: list[mp.mpc]

    def integral(self, t: Any, kernel: Callable[[mp.mpc], mp.mpc]) -> mp.mpf:
        """(1/2 pi i) int e^(K - zt) kernel(z) dz: by symmetry Im of the upper half over pi."""
        terms = [
            mp.im(mp.exp(k - z * t) * kernel(z) * dz)
            for z, k, dz in zip(self.z, self.k, self.dz, strict=True)
        ]
        return mp.fsum([terms[0] / 2, *terms[1:]]) / mp.pi


def contour(factors: Factors, c: float, ts: Sequence[float], *, step: float, refine: float) -> Contour:
    """Walk up from c until e^(K - zt) has vanished for every t of interest."""
    _, _, curvature = derivatives(factors, c)
    y0 = min(
        2 / math.sqrt(curvature), 3 * min(abs(c), abs(c - 1))
    )  # the poles limit the strip of the trapezoid rule
    kappa = min(moment.bend for moment, _ in factors)
    # M grows like e^(mu^2 z^2/2) at first, so near the axis the bend stays below y^2/(4 |c|).
    y1 = max(y0, (2 * kappa * max(abs(c), 1.0)) ** (2 / 3)) if kappa < math.inf else 1.0
    kappa = min(kappa, 1.5 * math.sqrt(y1)) if kappa < math.inf else 0.0
    result = Contour([], [], [])
    tops = [-math.inf] * len(ts)
    quiet, j = 0, 0
    while quiet < 6:
        s = mp.mpf(step) * j
        if kappa:
            y, dy = y0 * mp.sinh(s), y0 * mp.cosh(s)
            root = mp.sqrt(mp.hypot(y, y1))
            z = mp.mpc(c + kappa * (root - mp.sqrt(y1)), y)
            dz = mp.mpc(kappa * y * dy / (2 * root**3), dy)
        else:
            z, dz = c + 1j * y0 * s, mp.mpc(0, y0)
        k = log_moment(factors, z, refine)
        sizes = [float(mp.re(k - z * t)) + float(mp.log(abs(dz) / abs(z) ** 2)) for t in ts]
        tops = [max(a, b) for a, b in zip(tops, sizes, strict=True)]
        quiet = quiet + 1 if all(size < top - NATS for size, top in zip(sizes, tops, strict=True)) else 0
        result.z.append(z)
        result.k.append(k)
        result.dz.append(step * dz)
        j += 1
    return result


def abscissa(factors: Factors, t: float, *, reverse: bool) -> float:
    """Return c where the integrand e^(K - zt)/(z(z-1)) is smallest on the real axis, right of 1 or left of
    0."""
    sign = 1 if reverse else -1

    def slope(u: float) -> float:
        c = -u if reverse else 1 + u
        return sign * (derivatives(factors, c)[1] - t - 1 / c - 1 / (c - 1))

    u = bisected(slope, 0.0)
    return -u if reverse else 1 + u


def bisected(decreasing: Callable[[float], float], level: float) -> float:
    """Return u > 0 with decreasing(u) about ``level``, to three digits."""
    low, high = math.log(1e-4), math.log(1e7)
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if decreasing(math.exp(middle)) > level else (low, middle)
    return math.exp((low + high) / 2)


def both_ways(
    factors: Factors, c: float, ts: Sequence[float], *, step: float = 0.05
) -> tuple[Contour, Contour]:
    """Return two contours on the same side of the poles, with other abscissae, steps and quadratures of M."""
    width = 1 / math.sqrt(derivatives(factors, c)[2])
    poles = [c - pole for pole in (0, 1)]
    gap = min(map(abs, poles))
    near = c + math.copysign(0.3 * min(width, gap), min(poles, key=abs))
    return contour(factors, c, ts, step=step, refine=1.0), contour(
        factors, near, ts, step=step * 0.77, refine=0.81
    )


def returning(factors: Factors, c: float) -> float:
    """Return a hundred times how large |e^K| may become again, relative to e^K(c), after a straight contour
    has stopped.

    Two truncated contours agree on what both left out, so this belongs to the error of every answer.
    """
    share = mp.fprod((moment.atoms(mp.mpf(c)) / moment(mp.mpf(c), 1.0)) ** n for moment, n in factors)
    return float(100 * mp.re(share))


def agreed(first: mp.mpf, second: mp.mpf) -> tuple[mp.mpf, float]:
    """Return the finer of two values, and ten times their relative distance."""
    return second, float(10 * abs(first - second) / abs(second)) + 1e-40


def delta(path: Contour, t: float, *, reverse: bool) -> mp.mpf:
    """delta(t) of the product; for ``reverse`` delta of the other order at -t."""
    value = path.integral(mp.mpf(t), lambda z: 1 / (z * (z - 1)))
    return value if reverse else mp.exp(mp.mpf(t)) * value


def delta_and_error(factors: Factors, t: float, *, reverse: bool) -> tuple[mp.mpf, float]:
    """``delta`` with its relative error: ten times the distance of two contours, and what both left out."""
    c = abscissa(factors, t, reverse=reverse)
    for step in (0.05, 0.025, 0.0125):
        paths = both_ways(factors, c, [t], step=step)
        value, error = agreed(*(delta(path, t, reverse=reverse) for path in paths))
        if error < 1e-11:
            break
    return value, error + returning(factors, c)


def type_one(path: Contour, t: mp.mpf) -> mp.mpf:
    """P(L > t), for a contour between 0 and 1."""
    return path.integral(t, lambda z: 1 / z)


def type_two(path: Contour, t: mp.mpf) -> mp.mpf:
    """Q(L <= t), for a contour between 0 and 1."""
    return -mp.exp(t) * path.integral(t, lambda z: 1 / (z - 1))


def solve(decreasing: Callable[[mp.mpf], mp.mpf], level: mp.mpf, low: float, high: float) -> mp.mpf:
    """Root of decreasing(t) = level by bisection, then secant steps to full precision."""
    low, high = mp.mpf(low), mp.mpf(high)
    for _ in range(44):
        middle = (low + high) / 2
        low, high = (middle, high) if decreasing(middle) > level else (low, middle)
    a, b = low, high
    fa, fb = decreasing(a) - level, decreasing(b) - level
    for _ in range(12):
        if fa == fb or abs(a - b) < mp.mpf(10) ** (-DIGITS + 8) * (1 + abs(b)):
            break
        a, b, fa = b, b - fb * (b - a) / (fb - fa), fb
        fb = decreasing(b) - level
    return b
