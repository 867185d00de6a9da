"""Laws of L between a density and its shift in closed form: Laplace, logistic, Gumbel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tradeoff.intervals.bounds import Array, Bounds, Complex
from tradeoff.intervals.float_balls import FloatBalls, expm1, maximum, minimum
from tradeoff.pld.components import AffineBase, Component, QuadratureNodes, panel_rule
from tradeoff.pld.law import (
    Atoms,
    Cells,
    LogRatio,
    PlanningPoints,
    PrivacyLossDistribution,
    Transform,
    complex_log1p,
)
from tradeoff.pld.quadrature import QuadratureTransform
from tradeoff.pld.units import UNIT, position_slack


@dataclass(frozen=True, eq=False)
class LaplaceLaw(PrivacyLossDistribution):
    """L = |x| - |x - epsilon|: atoms at both ends, and L = 2x - epsilon between."""

    epsilon: float

    symmetric = True

    @property
    def span(self) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    @property
    def atoms(self) -> Atoms:
        ends = np.array([-self.epsilon, self.epsilon])
        log_p = np.log(0.5) + np.array([0.0, -self.epsilon])
        slack = np.full(2, (4 + 2 * self.epsilon) * UNIT)  # log 2 and a sum
        return Atoms(ends, log_p, slack, 8 * UNIT * np.abs(ends))

    factor = 1.0
    """Density between the ends over that of ``IntervalBase``."""

    def sketch(self) -> PlanningPoints:
        # A cell [a, a + h] has P-mass k e^-(a + h/2 + epsilon)/2 sinh(h/4); Q has e^(a + h/2) times that.
        # It is split between its ends so that both are kept: e^(h/2) to 1.
        size = 400  # cells between points of a sketch
        loss, h = np.linspace(-self.epsilon, self.epsilon, size + 1), 2 * self.epsilon / size
        cell = np.log(self.factor) + np.log(np.sinh(h / 4)) - (loss[:-1] + h / 2 + self.epsilon) / 2
        right = cell - np.logaddexp(0.0, h / 2)
        log_p = np.logaddexp(np.append(right + h / 2, -np.inf), np.append(-np.inf, right))
        if len(self.atoms.loss):
            log_p[[0, -1]] = np.logaddexp(log_p[[0, -1]], self.atoms.log_p)
        return PlanningPoints(loss, log_p)

    def components(self) -> list[Component]:
        return [Component(IntervalBase(self.epsilon))]

    def profile(self, loss: Bounds[Array]) -> Bounds[Array] | None:
        """Bound 1 - e^((x - epsilon)/2) for |x| <= epsilon, 0 above and 1 - e^x below, the greatest of them.

        A unit of epsilon, which may be rounded up, is in the error.
        """
        x, shift = FloatBalls.of(loss), FloatBalls(self.epsilon, 2 * UNIT * self.epsilon)
        low, high = maximum(-expm1(minimum((x - shift) / 2, 0.0)), -expm1(minimum(x, 0.0))).ends()
        return Bounds(np.maximum(low, 0.0), np.minimum(high, 1.0))

    def transform(self, c: float, digits: float) -> Transform | None:
        return LaplaceTransform(self, c, digits)

    def description(self) -> dict[str, Any]:
        return {"kind": "laplace", "epsilon": self.epsilon}

    def _cells(self, edges: Array) -> Cells:
        # With w half the cell's width, both integrals are (1 - e^-w)^2/2 times e^((b - epsilon)/2)
        # and e^(-(a + epsilon)/2).
        half = np.expm1(-np.diff(edges) / 2) ** 2 / 2
        # Differences of edges are known to a unit, expm1 and exp to 8 each; exponents, up to epsilon, to one.
        slack = np.full(len(half), (32 + 2 * self.epsilon) * UNIT)
        low, high = edges[:-1], edges[1:]
        above, below = np.exp((high - self.epsilon) / 2), np.exp(-(low + self.epsilon) / 2)
        return Cells(above * half, below * half, slack)


@dataclass(frozen=True, eq=False)
class BoundedRangeLaw(LaplaceLaw):
    """Density e^(-l/2)/(4 sinh(epsilon/2)) on [-epsilon, epsilon]: k times that of ``IntervalBase``.

    It is also the law between logistic ones, where epsilon may be a rounded quotient: a unit of it is in all
    errors.
    """

    atoms = PrivacyLossDistribution.atoms
    description = PrivacyLossDistribution.description
    profile = PrivacyLossDistribution.profile

    units = 12
    """Units of the factor: 8 of expm1, and a quotient."""

    @property
    def factor(self) -> float:  # type: ignore[override]  # it depends on epsilon
        return float(-2 / np.expm1(-self.epsilon))

    def components(self) -> list[Component]:
        return [Component(IntervalBase(self.epsilon), k=self.factor, units=self.units)]

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + 2 * UNIT * self.epsilon

    def _cells(self, edges: Array) -> Cells:
        excess, deficit, slack = super()._cells(edges)
        more = (self.units + 2 + 2 * self.epsilon) * UNIT
        return Cells(self.factor * excess, self.factor * deficit, slack + more)


@dataclass(frozen=True)
class IntervalBase(AffineBase):
    """The density e^(-(l + epsilon)/2)/4 of the losses between the ends of a Laplace law."""

    epsilon: float
    half: bool = False

    scale = 1.0
    bend = 0.0

    def positive_part(self) -> AffineBase:
        return replace(self, half=True)

    def loss(self, x: Array) -> Array:
        return x

    def log_density(self, x: Array) -> Array:
        return -(x + self.epsilon) / 2 - math.log(4)

    def fall(self, x: Array) -> Array:
        return np.full(len(x), 0.5)

    def grid(self, component: Component, c: float, size: int) -> Array:
        return np.linspace(0.0 if self.half else -self.epsilon, self.epsilon, size)

    def nodes(self, component: Component, c: float, y: float, digits: float) -> QuadratureNodes:
        epsilon = self.epsilon
        loss, weights = panel_rule(component, c, y, (0.0 if self.half else -epsilon, epsilon), 0.5)
        # Two products and two sums, and epsilon itself.
        logs = component.logs(loss, np.full(len(loss), 6 * UNIT * epsilon))
        log_p = weights + self.log_density(loss) + logs.p
        # Weights of 32 nodes are known to 64 units, their logarithms to 8 of themselves, and each of three
        # sums to its size.
        slack = 128 + 12 * np.abs(weights) + 8 * epsilon + 4 * np.abs(logs.p) + component.units
        return QuadratureNodes(logs.loss, log_p, logs.p_error + UNIT * slack, logs.error, 1e-27)


class LaplaceTransform(QuadratureTransform):
    """Atoms at both ends, or none, and ``factor`` sinh((k + iy) eps) e^(-eps/2)/(2 (k + iy)), k = c - 1/2."""

    fast = 24.0
    """Frequencies, times epsilon, from which the terms of the closed form cancel a digit at most."""

    def __init__(self, law: LaplaceLaw, c: float, digits: float) -> None:
        super().__init__(law, c, digits)
        self.epsilon, self.k, log_factor = law.epsilon, c - 0.5, math.log(law.factor)
        ends, atoms = np.array([-1, 1]), self.atoms
        # Masses at the ends: of atoms, and of the integral, which has a pole.
        self.masses = np.exp(atoms.log_p + c * atoms.loss - self.log_m) if len(atoms.loss) else np.zeros(2)
        edges = ends * self.k * self.epsilon - self.epsilon / 2 - math.log(4) + log_factor - self.log_m
        self.edges, self.shifts = np.exp(edges), ends * self.epsilon - self.mean
        # Exponents are sums of log_m, log 4, a factor of 12 units, and epsilon times 1, c or k, two roundings
        # each; then exponentials, a quotient and sums.
        units = 64 + 8 * abs(self.log_m) + 8 * self.epsilon * (1 + abs(c)) + 4 * abs(log_factor)
        self.known = self.log_m_error + UNIT * units

    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        slow = int(np.searchsorted(y * self.epsilon, self.fast, side="right"))
        parts = [super().ratio(y[:slow], even=even)] if slow else []
        if slow < len(y):
            high = y[slow:]
            pole, value = 1 / (self.k + 1j * high), np.full(len(high), -1 + 0j)
            for end, atom, edge, shift in zip((-1, 1), self.masses, self.edges, self.shifts, strict=True):
                value += np.exp(1j * (shift * high)) * (atom + end * edge * pole)
            size = float(np.sum(self.masses)) + np.sum(self.edges) * np.abs(pole)
            # Phases are y times a difference, two roundings each, and as many more where y is a sum.
            slip = self.known + 8 * UNIT * high * np.sum(np.abs(self.shifts))
            parts.append(complex_log1p(value, size * slip))
        return LogRatio(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def around(self, y: Array, radius: float) -> Array:
        """Bound atoms a and b by a^2 + b^2 + 2ab cos(2 y epsilon), and the pole at its nearest."""
        slow = int(np.searchsorted((y - radius) * self.epsilon, self.fast, side="right"))
        near = [super().around(y[:slow], radius)] if slow else []
        phase, nearest = 2 * self.epsilon * y[slow:], np.maximum(y[slow:] - radius, 0.0)
        off = np.abs(phase - 2 * np.pi * np.round(phase / (2 * np.pi)))  # from a multiple of 2 pi
        # The phase is known to four units, the rest of the sum to ``known``.
        off = np.maximum(off - 2 * self.epsilon * radius * (1 + 1e-9) - 16 * UNIT * (1 + phase), 0.0)
        (a, b), edges = self.masses, float(np.sum(self.edges))
        square = (a - b) ** 2 + 4 * a * b * np.cos(off / 2) ** 2
        size = np.sqrt(square) + edges / np.hypot(self.k, nearest)
        far = np.log(size * (1 + 1e-12)) + self.known
        return np.concatenate([*near, np.minimum(far, 0.0)])

    def cost(self, y: float) -> int:
        return 4 if y * self.epsilon > self.fast else super().cost(y)


@dataclass(frozen=True, eq=False)
class LaplaceBatch:
    """Laplace laws as one factor."""

    laws: Sequence[LaplaceLaw]

    def transform(self, c: float, digits: float) -> Transform:
        """Return the transform of the product; it is a closed form, known to all ``digits``."""
        return LaplaceBatchTransform(np.array([law.epsilon for law in self.laws]), c)


class LaplaceBatchTransform(Transform):
    """The product of the rows (cosh z + (eps/2) sinh(z)/z)/(the same at a), z = a + ib = (c - 1/2 + iy) eps.

    Numbers are in units of the denominator, so that ``cosh`` a and ``rest`` = (eps/2) sinh(a)/a add up to 1.
    |sinh z/z| is greatest at b = 0: no term is above 1, at any frequency. In units of UNIT, cosh, sinh and
    rest are known to 29 of themselves (8 of expm1, 2 for a, sums and quotients), sines and cosines to 8, the
    factor 1/(c - 1/2 + iy) to 6, and products and sums take 5: 48 for each term. Terms add up to at most 2 in
    each of both parts, less than 3 in all: 144, and 160 with second orders. The phase b is known to 2 of
    itself, which moves the first term by at most as much, and the second by eps/2.
    """

    mean = 0.0
    """Phases are those of rho itself."""

    def __init__(self, epsilon: Array, c: float) -> None:
        self.epsilon, self.k = epsilon[:, None], c - 0.5
        a = np.abs(self.k) * self.epsilon
        fall = np.expm1(-2 * a)  # in units of e^a
        cosh, sinh = 1 + fall / 2, -fall / 2
        rest = sinh / (2 * abs(self.k)) if self.k else self.epsilon / 2
        whole = cosh + rest
        self.cosh, self.sinh, self.rest = cosh / whole, np.copysign(sinh, self.k) / whole, rest / whole
        # a is known to 3 units, the sum to 14 of itself, and its logarithm to 8.
        sizes = a, -self.epsilon / 2, np.log(whole)
        self.log_m = math.fsum(np.ravel(sum(sizes)))
        self.log_m_error = UNIT * math.fsum(np.ravel(16 + 9 * sum(map(np.abs, sizes))))

    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        """Multiply up to 16 rows, 48 units and e^-500 at least where known, and add up their logarithms."""
        log, slip, ceiling = np.zeros(len(y), complex), np.zeros(len(y)), np.zeros(len(y))
        for start in range(0, len(y), 2048):  # such arrays stay in a cache
            here = slice(start, start + 2048)
            for first in range(0, len(self.epsilon), 16):
                value, off = self._value(y[here], slice(first, first + 16))
                size = np.abs(value)
                known = size > 2 * off
                product = np.prod(np.where(known, value, 1.0), axis=0)
                with np.errstate(divide="ignore"):
                    modulus = np.where(known.all(axis=0), np.log(np.abs(product)), -np.inf)
                log[here] += modulus + 1j * np.angle(product)
                slip[here] += np.sum(np.where(known, off / np.where(known, size - off, 1.0), np.inf), axis=0)
                slip[here] += UNIT * (80 + 8 * np.abs(np.log(np.abs(product))))
                top = np.log(np.prod(np.minimum(size + off, 1.0), axis=0))
                ceiling[here] += np.minimum(top * (1 - 8 * UNIT) + 80 * UNIT, 0.0)
        return LogRatio(log, slip * (1 + 1e-9), ceiling)

    def _value(self, y: Array, rows: slice) -> tuple[Complex, Array]:
        """Return rho of some rows, and its error."""
        b, twice = self.epsilon[rows] * y, 2 * (self.k**2 + y * y)
        with np.errstate(invalid="ignore"):  # at the pole, where rho is 1
            p, q = self.k / twice, y / twice
        cosh, sinh, cosine, sine = self.cosh[rows], self.sinh[rows], np.cos(b), np.sin(b)
        value: Complex = (cosh + sinh * p) * cosine + 1j * ((sinh + cosh * p) * sine)
        value += q * (cosh * sine - 1j * (sinh * cosine))
        value[:, y == 0] = 1.0
        return value, UNIT * (160 + 2 * b + self.epsilon[rows])

    def around(self, y: Array, radius: float) -> Array:
        """Bound |cosh z|^2 = cosh^2 a cos^2 b + sinh^2 a sin^2 b, and |sinh z|^2, over the phases."""
        b = self.epsilon * y
        reach = self.epsilon * radius * (1 + 1e-9) + 16 * UNIT * (1 + b)
        off = np.abs(b - np.pi * np.round(b / np.pi))  # from a multiple of pi
        cosine = np.cos(np.maximum(off - reach, 0.0)) ** 2
        sine = np.sin(np.minimum(off + reach, np.pi / 2)) ** 2
        squares = self.cosh**2, self.sinh**2
        first, second = (x * part + z * (1 - part) for part, (x, z) in ((cosine, squares), (sine, squares)))
        with np.errstate(divide="ignore"):
            second = np.sqrt(second) / (2 * np.hypot(self.k, np.maximum(y - radius, 0.0)))
        return self._bound(np.sqrt(first) + np.minimum(second, self.rest))

    def far(self, y: float) -> float:
        top = self.cosh / (2 * math.hypot(self.k, y)) if self.k or y else self.rest
        return float(self._bound(self.cosh + np.minimum(top, self.rest))[0])

    @staticmethod
    def _bound(size: Array) -> Array:
        """Return the logarithm of the product of bounds on all rows: 1e-12 is above their rounding."""
        return np.asarray(np.sum(np.log(np.minimum(size * (1 + 1e-12), 1.0)), axis=0))

    def cost(self, y: float) -> int:
        return 16 * len(self.epsilon)


@dataclass(frozen=True, eq=False)
class GumbelLaw(PrivacyLossDistribution):
    """L = theta - m E, m = e^theta - 1, E ~ Exp(1) under P and Exp(e^theta) under Q: skewed to the right.

    The other order is that of the Gumbel law that is skewed to the left. A unit of theta is in all errors.
    """

    theta: float

    least = 750.0
    """Densities below e^-750 are zero: no float holds them."""

    @property
    def span(self) -> tuple[float, float]:
        return self.theta - math.expm1(self.theta) * self.least, self.theta

    @property
    def enclosure(self) -> tuple[float, float]:
        return -math.inf, self.theta * (1 + 8 * UNIT)

    def sketch(self) -> PlanningPoints:
        t = np.append(0.0, np.geomspace(1e-5 * math.exp(-self.theta), self.least, 4000))
        log_p = np.log(-np.expm1(-np.diff(t))) - t[:-1]
        loss = self.theta - math.expm1(self.theta) * (t[1:] + t[:-1]) / 2
        return PlanningPoints(loss[::-1], log_p[::-1])

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + self._cut_error(edges)

    def _cut_error(self, edges: Array) -> Array:
        """Bound the error of an edge: m is known to 8 units and theta, and theta - L is m times a place."""
        return (12 + 2 * self.theta) * UNIT * (self.theta + np.abs(edges))

    def _cells(self, edges: Array) -> Cells:
        """Return e^(-e^theta s) B and e^-s A of cells of E from s on, of width w = y e^-theta.

        A = int_0^w e^-t (1 - e^(-m t)) dt and B = int_0^w e^theta e^(-e^theta t) (1 - e^(-m (w - t))) dt are

            A = e^-theta sum_(k>1) (-y)^k/k! (1 - e^((1-k) theta))
              = (1 - e^-theta) (1 - e^-w) - e^(-w-theta) (1 - e^(-m w)),
            B = e^-y sum_(k>1) y^k/k! (1 - e^((1-k) theta)) = 1 - e^(-m w) - m e^(-m w) (1 - e^-w):

        series for y < 1, where terms add up to less than 4 times the sum; else the terms add up to less than
        5 times the difference.
        """
        theta, m = self.theta, math.expm1(self.theta)
        start, w = (theta - edges[1:]) / m, np.diff(edges) / m
        lift = math.exp(theta)
        y = np.minimum(w * lift, 1.0)
        k = np.arange(2.0, 26.0)  # terms left out are below 2/25! of the first
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
        return Cells(excess, deficit, slack + position_slack(edges, self._cut_error(edges)))
