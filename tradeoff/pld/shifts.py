"""Laws of L = log dQ/dP between a density and its shift in closed form: Laplace, logistic, Gumbel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tradeoff.intervals.bounds import Array, Bounds, Complex
from tradeoff.intervals.float_balls import FloatBalls, expm1, maximum, minimum
from tradeoff.pld.components import AffineBase, Component, QuadratureNodes, panel_rule
from tradeoff.pld.law import (
    Atoms,
    Cells,
    Ends,
    LogRatio,
    PlanningPoints,
    PrivacyLossDistribution,
    Transform,
    complex_log1p,
)
from tradeoff.pld.units import UNIT, position_slack


@dataclass(frozen=True, eq=False)
class LaplaceLaw(PrivacyLossDistribution):
    """L = |x| - |x - epsilon|, x Laplace under P: atoms at +-epsilon, and L = 2x - epsilon between."""

    epsilon: float

    symmetric = True

    @property
    def ends(self) -> Ends:
        most = self.epsilon * (1 + 8 * UNIT)
        return Ends(-most, -self.epsilon, self.epsilon, most)

    @property
    def atoms(self) -> Atoms:
        ends = np.array(self.ends[1:3])
        slack = np.full(2, (4 + 2 * self.epsilon) * UNIT)  # log 2 and a sum
        return Atoms(ends, np.log(0.5) + np.array([0.0, -self.epsilon]), slack, 8 * UNIT * np.abs(ends))

    factor, units = 1.0, 0
    """Density between the ends over that of ``IntervalBase``, and the units to which it is known."""

    def sketch(self) -> PlanningPoints:
        # A cell [a, a + h] has P-mass k e^-(a + h/2 + epsilon)/2 sinh(h/4); Q has e^(a + h/2) times that. The
        # P-mass is split between its left and right end as e^(h/2) to 1, so that both are kept.
        loss, h = np.linspace(-self.epsilon, self.epsilon, 401), 2 * self.epsilon / 400
        cell = np.log(self.factor) + np.log(np.sinh(h / 4)) - (loss[:-1] + h / 2 + self.epsilon) / 2
        right = cell - np.logaddexp(0.0, h / 2)
        log_p = np.logaddexp(np.append(right + h / 2, -np.inf), np.append(-np.inf, right))
        if len(self.atoms.loss):
            log_p[[0, -1]] = np.logaddexp(log_p[[0, -1]], self.atoms.log_p)
        return PlanningPoints(loss, log_p)

    def components(self) -> list[Component]:
        return [Component(IntervalBase(self.epsilon), k=self.factor, units=self.units)]

    def profile(self, loss: Bounds[Array]) -> Bounds[Array] | None:
        """Bound delta(x), 1 - e^((x - epsilon)/2) for |x| <= epsilon, 0 above, 1 - e^x below: the greatest.

        A unit of epsilon, which may be rounded up, is in the error.
        """
        x, shift = FloatBalls.of(loss), FloatBalls(self.epsilon, 2 * UNIT * self.epsilon)
        low, high = maximum(-expm1(minimum((x - shift) / 2, 0.0)), -expm1(minimum(x, 0.0))).ends()
        return Bounds(np.maximum(low, 0.0), np.minimum(high, 1.0))

    def transform(self, c: float, digits: float) -> Transform | None:
        return LaplaceTransform([self], c)

    def _cells(self, edges: Array) -> Cells:
        # With w half the width of a cell [a, b], the excess Q - e^a P and the deficit P - e^-b Q are (1 -
        # e^-w)^2/2 times e^((b - epsilon)/2) and e^(-(a + epsilon)/2). Differences of edges are known to a
        # unit, expm1 and exp to 8 each; exponents, up to epsilon, to one, and epsilon itself to another; the
        # product with the factor costs two.
        half = np.expm1(-np.diff(edges) / 2) ** 2 / 2
        slack = np.full(len(half), (34 + self.units + 4 * self.epsilon) * UNIT)
        above, below = np.exp((edges[1:] - self.epsilon) / 2), np.exp(-(edges[:-1] + self.epsilon) / 2)
        return Cells(self.factor * above * half, self.factor * below * half, slack)


@dataclass(frozen=True, eq=False)
class BoundedRangeLaw(LaplaceLaw):
    """Density e^(-l/2)/(4 sinh(epsilon/2)) on [-epsilon, epsilon]: k times that of ``IntervalBase``.

    It is also the law between logistic ones, where epsilon may be a rounded quotient: a unit of it is in all
    errors.
    """

    atoms = PrivacyLossDistribution.atoms
    profile = PrivacyLossDistribution.profile

    units = 12  # 8 of expm1, and a quotient

    @property
    def factor(self) -> float:  # type: ignore[override]  # it depends on epsilon
        return float(-2 / np.expm1(-self.epsilon))

    def _rounding(self, edges: Array) -> Array:
        return np.full(len(edges), 2 * UNIT * self.epsilon)


@dataclass(frozen=True)
class IntervalBase(AffineBase):
    """phi(l) = e^(-(l + epsilon)/2)/4, log phi of slope -``fall``, for |l| < epsilon, ``half`` above 0."""

    epsilon: float
    half: bool = False

    scale = 1.0
    bend = 0.0

    def positive_part(self) -> AffineBase:
        return replace(self, half=True)

    def at(self, x: Array) -> tuple[Array, Array, Array]:
        return x, -(x + self.epsilon) / 2 - math.log(4), np.full(len(x), 0.5)

    def grid(self, component: Component, c: float, size: int) -> Array:
        return np.linspace(0.0 if self.half else -self.epsilon, self.epsilon, size)

    def nodes(self, component: Component, c: float, y: float | None, digits: float) -> QuadratureNodes | None:
        if y is None:
            return None
        start, epsilon = 0.0 if self.half else -self.epsilon, self.epsilon
        loss, weights = panel_rule(component, c, y, (start, epsilon), 0.5)
        # Two products and two sums, and epsilon itself.
        logs = component.logs(loss, np.full(len(loss), 6 * UNIT * epsilon))
        log_p = weights + self.at(loss)[1] + logs.p
        # Weights are known to 64 units, their logarithms to 8 of themselves, and three sums to their size.
        slack = 128 + 12 * np.abs(weights) + 8 * epsilon + 4 * np.abs(logs.p) + component.units
        return QuadratureNodes(logs.loss, log_p, logs.p_error + UNIT * slack, logs.error, 1e-27)


@dataclass(frozen=True, eq=False)
class LaplaceBatch:
    """The product of Laplace laws, or of those without atoms (``BoundedRangeLaw``)."""

    laws: Sequence[LaplaceLaw]

    def transform(self, c: float, digits: float) -> Transform:
        return LaplaceTransform(self.laws, c)


class LaplaceTransform(Transform):
    r"""The product of M(c + iy)/M(c), a row for each law, in closed form by z = (c - 1/2 + iy) eps = a + ib.

    M(c + iy) = E_P e^((c + iy) L) is e^-h (cosh z + h sinh(z)/z), h = eps/2, and without atoms sinh(z)/z over
    sinh(h)/h. With C, S and R the numbers cosh a, sinh a and h sinh(a)/a over C + R, or without atoms (where
    A = 0) over R, k = c - 1/2, D = C eps - 2 R and p = 1/(2 (k + iy)),

        rho - 1 = A (C (cos b - 1) + i S sin b) + p (S (cos b - 1) - i C (b - sin b) + i y D).

    In units of UNIT, C, S and R are known to 30 of themselves (8 of expm1, 3 for a, sums and quotients),
    sines and cosines to 8, p to 12, and products and sums take 5: 64 for each term. As |S| is at most C and 2
    |k| R, the first three terms add up to at most 3AC s + 2R s^2, s = min(1, b). The difference b - sin b is
    at least 0.15 b from b = 1 on and below there a series, which costs 64 more; D, from differences of which
    at least a fifth is left, 192 more. The phase b is known to 4 of itself, which moves the terms by (2AC + R
    s + 2 C |p| s^2) b of those at most. So errors scale with |rho - 1|, which matters for many rounds.
    ``around`` and ``far`` bound log |rho| within a radius of y and from y on, from above, by |rho| <= A |cosh
    z| + min(|p sinh z|, R), cosh and sinh over the same, which are at most C.
    """

    mean = 0.0
    """Phases are those of rho itself."""

    def __init__(self, laws: Sequence[LaplaceLaw], c: float) -> None:
        self.epsilon = np.array([law.epsilon for law in laws])[:, None]
        self.atomic = np.array([len(law.atoms.loss) > 0 for law in laws])[:, None]
        self.k, h = c - 0.5, self.epsilon / 2
        a = np.abs(self.k) * self.epsilon
        fall = np.expm1(-2 * a)
        cosh, sinh = 1 + fall / 2, -fall / 2  # over e^a, as is ``rest``, h sinh(a)/a
        rest = sinh / (2 * abs(self.k)) if self.k else h
        whole = self.atomic * cosh + rest
        self.cosh, self.sinh, self.rest = cosh / whole, np.copysign(sinh, self.k) / whole, rest / whole
        # For a up to 1 differences of series, of cosh a - 1 and sinh(a)/a - 1.
        low, of_h = np.minimum(a, 1.0), _sinhc_rise(np.minimum(h, 1.0) ** 2)
        of_a = _sinhc_rise(low**2)
        bend = h * (2 * np.sinh(low / 2) ** 2 - of_a) * np.exp(-low)
        self.bend = 2 * np.where(a <= 1, bend, h * cosh - rest) / whole
        # log M by its terms, a known to 3 units, the sum to 14 of itself, and its logarithm to 8; or, for a
        # and h up to 1, by M - 1, with cosh a - cosh h = 2 sinh(c h) sinh((c - 1) h).
        terms = a, -h, np.log(whole), np.where(self.atomic, 0.0, -np.log(-np.expm1(-self.epsilon) / 2))
        both = 2 * np.sinh(np.clip(c * h, -2.0, 2.0)) * np.sinh(np.clip((c - 1) * h, -2.0, 2.0))
        change = np.where(self.atomic, np.exp(-h) * (both + h * (of_a - of_h)), (of_a - of_h) / (1 + of_h))
        size = np.where(self.atomic, np.abs(both) + h * (of_a + of_h), of_a + of_h)
        small = np.maximum(a, h) <= 1
        near = np.log1p(np.where(small, change, 0.0))
        off = np.where(small, 128 * (size + np.abs(near)), 16 + 9 * sum(map(np.abs, terms)))
        self.log_m = math.fsum(np.ravel(np.where(small, near, sum(terms))))
        self.log_m_error = UNIT * (math.fsum(np.ravel(off)) + 2 * abs(self.log_m))

    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        """Return log rho as a sum of logs of products of 16 rows, each known to 64 units and above e^-500."""
        if len(self.epsilon) == 1:
            return LogRatio(*(each[0] for each in complex_log1p(*self._rise(y, slice(None)))))
        log, slip, ceiling = np.zeros(len(y), complex), np.zeros(len(y)), np.zeros(len(y))
        for start in range(0, len(y), 2048):  # such arrays stay in a cache
            here = slice(start, start + 2048)
            for first in range(0, len(self.epsilon), 16):
                rise, off = self._rise(y[here], slice(first, first + 16))
                value, off = 1 + rise, off + 4 * UNIT
                size = np.abs(value)
                known = size > 2 * off  # others have the logarithm -inf, with an infinite error
                product = np.prod(np.where(known, value, 1.0), axis=0)
                with np.errstate(divide="ignore"):
                    modulus = np.where(known.all(axis=0), np.log(np.abs(product)), -np.inf)
                log[here] += modulus + 1j * np.angle(product)
                slip[here] += np.sum(np.where(known, off / np.where(known, size - off, 1.0), np.inf), axis=0)
                slip[here] += UNIT * (80 + 8 * np.abs(np.log(np.abs(product))))
                top = np.log(np.prod(np.minimum(size + off, 1.0), axis=0))
                ceiling[here] += np.minimum(top * (1 - 8 * UNIT) + 80 * UNIT, 0.0)
        return LogRatio(log, slip * (1 + 1e-9), ceiling)

    def _rise(self, y: Array, rows: slice) -> tuple[Complex, Array]:
        """Return rho - 1 of some rows, and its error: fall is cos b - 1, lag b - sin b, bend D and pole p."""
        each = self.epsilon, self.cosh, self.sinh, self.rest, self.bend, self.atomic
        epsilon, cosh, sinh, rest, bend, atomic = (x[rows] for x in each)
        b, pole = epsilon * y, 0.5 / (self.k + 1j * np.where(y > 0, y, 1.0))
        s, sine, fall = np.minimum(b, 1.0), np.sin(b), -2 * np.sin(b / 2) ** 2
        lag, slow = b - sine, b < 1
        lag[slow] = -b[slow] * _sinhc_rise(-(b[slow] ** 2))
        real, imag, far, whole = sinh * fall, y * bend - cosh * lag, np.abs(pole), atomic * cosh
        value: Complex = real * pole.real - imag * pole.imag + whole * fall + 0j
        value.imag = imag * pole.real + real * pole.imag + atomic * sinh * sine
        off = s * (192 * whole + 128 * rest * s) + 128 * (cosh * far) * lag + 256 * (y * far) * bend
        return value, UNIT * (off + b * (8 * whole + s * (4 * rest + (8 * cosh * far) * s)))

    def around(self, y: Array, radius: float) -> Array:
        # |cosh z|^2 = cosh^2 a cos^2 b + sinh^2 a sin^2 b and |sinh z|^2, largest for b within ``reach``.
        b = self.epsilon * y
        reach = self.epsilon * radius * (1 + 1e-9) + 16 * UNIT * (1 + b)
        off = np.abs(b - np.pi * np.round(b / np.pi))  # from a multiple of pi
        cosine = np.cos(np.maximum(off - reach, 0.0)) ** 2
        sine = np.sin(np.minimum(off + reach, np.pi / 2)) ** 2
        cosh, sinh = self.cosh**2, self.sinh**2
        first, second = cosh * cosine + sinh * (1 - cosine), cosh * sine + sinh * (1 - sine)
        with np.errstate(divide="ignore"):
            second = np.sqrt(second) / (2 * np.hypot(self.k, np.maximum(y - radius, 0.0)))
        return self._bound(self.atomic * np.sqrt(first) + np.minimum(second, self.rest))

    def far(self, y: float) -> float:
        top = self.cosh / (2 * math.hypot(self.k, y)) if self.k or y else self.rest
        return float(self._bound(self.atomic * self.cosh + np.minimum(top, self.rest))[0])

    @staticmethod
    def _bound(size: Array) -> Array:
        """Return the logarithm of the product of bounds on all rows: 1e-12 is above their rounding."""
        return np.asarray(np.sum(np.log(np.minimum(size * (1 + 1e-12), 1.0)), axis=0))

    def cost(self, y: float) -> int:
        return max(16 * len(self.epsilon), 256)  # as of a quadrature: long walks over y are given up early


def _sinhc_rise(square: Array) -> Array:
    """Return sinh(x)/x - 1 of x^2 from -1 to 1, to 16 units, by its series."""
    result = np.zeros_like(square)
    for j in range(8, 0, -1):  # 6/19! is less than half a unit
        result = (1 + result) * square / (2 * j * (2 * j + 1))
    return result


@dataclass(frozen=True, eq=False)
class GumbelLaw(PrivacyLossDistribution):
    """L = theta - m E, m = e^theta - 1, E ~ Exp(1) under P and Exp(e^theta) under Q: skewed to the right.

    The other order is that of the Gumbel law that is skewed to the left. A unit of theta is in all errors.
    """

    theta: float

    least = 750.0
    """E is cut at this: densities below e^-750 are zero in floats."""

    @property
    def ends(self) -> Ends:
        low = self.theta - math.expm1(self.theta) * self.least
        return Ends(-math.inf, low, self.theta, self.theta * (1 + 8 * UNIT))

    def sketch(self) -> PlanningPoints:
        t = np.append(0.0, np.geomspace(1e-5 * math.exp(-self.theta), self.least, 4000))[::-1]
        loss = self.theta - math.expm1(self.theta) * (t[1:] + t[:-1]) / 2
        return PlanningPoints(loss, np.log(-np.expm1(np.diff(t))) - t[1:])

    def _rounding(self, edges: Array) -> Array:
        # For an edge L, m is known to 8 + theta units, and theta - L = m E costs the rest.
        return (12 + 2 * self.theta) * UNIT * (self.theta + np.abs(edges))

    def _cells(self, edges: Array) -> Cells:
        """Return excess e^(-e^theta s) B and deficit e^-s A of cells of E from s to s + w, w = y e^-theta.

        A = int_0^w e^-t (1 - e^(-m t)) dt and B = int_0^w e^theta e^(-e^theta t) (1 - e^(-m (w - t))) dt are

            A = e^-theta sum_(k>1) (-y)^k/k! (1 - e^((1-k) theta))
              = (1 - e^-theta) (1 - e^-w) - e^(-w-theta) (1 - e^(-m w)),
            B = e^-y sum_(k>1) y^k/k! (1 - e^((1-k) theta)) = 1 - e^(-m w) - m e^(-m w) (1 - e^-w):

        series for y < 1, where terms add up to less than 4 times the sum; else the terms add up to less than
        5 times the difference.
        """
        theta, m = self.theta, math.expm1(self.theta)
        start, w, lift = (theta - edges[1:]) / m, np.diff(edges) / m, math.exp(theta)
        y, k = np.minimum(w * lift, 1.0), np.arange(2.0, 26.0)  # terms left out are below 2/25! of the first
        share = -np.expm1((1 - k) * theta) / np.cumprod(k)
        falling, rising = (np.sum(share * (side * y)[:, None] ** k, axis=1) for side in (-1, 1))
        whole = np.exp(-m * w)
        far_p = -math.expm1(-theta) * -np.expm1(-w) + np.exp(-w - theta) * np.expm1(-m * w)
        far_q = -np.expm1(-m * w) + m * whole * np.expm1(-w)
        small = w * lift < 1
        deficit = np.exp(-start) * np.where(small, falling / lift, far_p)
        excess = np.exp(-lift * start) * np.where(small, np.exp(-y) * rising, far_q)
        # The place is known to theta - L's units and m's, w to m's; they move A and B by twice as much at
        # most, and terms of 32 units by 5 times that.
        place = lift / m * (theta + np.abs(edges[1:])) + np.minimum(lift * start, self.least) * (12 + theta)
        slack = UNIT * (512 + 8 * theta + 2 * place)
        return Cells(excess, deficit, slack + position_slack(edges, self._rounding(edges)))
