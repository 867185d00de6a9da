"""The laws of L between Laplace laws epsilon apart, and between logistic ones: the same without the atoms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import UNIT, Array, Complex
from tradeoff.pld.components import LEGENDRE, MARGIN, MAX_NODES, RULE, AffineBase, Component, QuadratureNodes
from tradeoff.pld.law import (
    Atoms,
    Cells,
    LogRatio,
    PlanningPoints,
    PrivacyLossDistribution,
    Transform,
    logarithm,
)
from tradeoff.pld.quadrature import QuadratureTransform

_FAST = 24.0  # frequencies, times epsilon, from which the terms of the closed form cancel a digit at most
_GROUP = 64  # equal steps that share an exponential
_CELLS = 800  # cells between points of a sketch
_UNITS = 12  # of the factor 2/(1 - e^-epsilon): 8 of expm1, and a quotient


@dataclass(frozen=True, eq=False)
class LaplaceLaw(PrivacyLossDistribution):
    """L = |x| - |x - epsilon|: atoms at both ends, and L = 2x - epsilon between."""

    epsilon: float

    symmetric = True

    @property
    def support(self) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    @property
    def atoms(self) -> Atoms:
        ends = np.array([-self.epsilon, self.epsilon])
        log_p = np.log(0.5) + np.array([0.0, -self.epsilon])
        return Atoms(ends, log_p, np.full(2, (4 + 2 * self.epsilon) * UNIT))  # log 2 and a sum

    def sketch(self) -> PlanningPoints:
        x = (np.arange(400) + 0.5) * (self.epsilon / 400)
        inside = np.log(self.epsilon / 800) - x
        loss = np.concatenate([[-self.epsilon], 2 * x - self.epsilon, [self.epsilon]])
        return PlanningPoints(loss, np.concatenate([[np.log(0.5)], inside, [np.log(0.5) - self.epsilon]]))

    def components(self) -> list[Component]:
        return [Component(IntervalBase(self.epsilon))]

    def transform(self, c: float, digits: float) -> Transform:
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
class BoundedRangeLaw(PrivacyLossDistribution):
    """Density e^(-l/2)/(4 sinh(epsilon/2)) on [-epsilon, epsilon]: k times that of ``IntervalBase``.

    It is also the law between logistic ones, where epsilon may be a rounded quotient: a unit of it is in all
    errors.
    """

    epsilon: float

    symmetric = True

    @property
    def support(self) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    @property
    def _factor(self) -> float:
        return float(-2 / np.expm1(-self.epsilon))

    def sketch(self) -> PlanningPoints:
        # A cell [a, a + h] has P-mass k e^-(a + h/2 + epsilon)/2 sinh(h/4); Q has e^(a + h/2) times that.
        # It is split between its ends so that both are kept: e^(h/2) to 1.
        loss = np.linspace(-self.epsilon, self.epsilon, _CELLS + 1)
        h = 2 * self.epsilon / _CELLS
        cell = np.log(self._factor) + np.log(np.sinh(h / 4)) - (loss[:-1] + h / 2 + self.epsilon) / 2
        right = cell - np.logaddexp(0.0, h / 2)
        return PlanningPoints(
            loss, np.logaddexp(np.append(right + h / 2, -np.inf), np.append(-np.inf, right))
        )

    def components(self) -> list[Component]:
        return [Component(IntervalBase(self.epsilon), k=self._factor, units=_UNITS)]

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + 2 * UNIT * self.epsilon

    def _cells(self, edges: Array) -> Cells:
        excess, deficit, slack = LaplaceLaw(self.epsilon).cells(edges)
        return Cells(
            self._factor * excess, self._factor * deficit, slack + (_UNITS + 2 + 2 * self.epsilon) * UNIT
        )


@dataclass(frozen=True)
class IntervalBase(AffineBase):
    """The density e^(-(l + epsilon)/2)/4 of the losses between the ends of a Laplace law."""

    epsilon: float
    half: bool = False

    scale = 1.0
    bend = 0.0

    @property
    def start(self) -> float:
        """The least loss."""
        return 0.0 if self.half else -self.epsilon

    def positive_part(self) -> AffineBase:
        return replace(self, half=True)

    def loss(self, x: Array) -> Array:
        return x

    def log_density(self, x: Array) -> Array:
        return -(x + self.epsilon) / 2 - math.log(4)

    def fall(self, x: Array) -> Array:
        return np.full(len(x), 0.5)

    def grid(self, component: Component, c: float, size: int) -> Array:
        return np.linspace(self.start, self.epsilon, size)

    def nodes(self, component: Component, c: float, y: float, digits: float) -> QuadratureNodes:
        """Gauss-Legendre rule on panels of the open interval.

        Panels have half-width r with r (y + k) <= 5, k = 1 + |c| + |1 - c| a bound on the logarithmic
        derivative. On the Bernstein ellipse of parameter 4 an integrand grows by at most e^(4.2 * 5), and 32
        nodes err by (64/15) 4^-64 of its maximum there, which is below e^-65 of the panel's own integral
        (Trefethen 2013, Theorem 19.3).
        """
        epsilon, half = self.epsilon, (self.epsilon - self.start) / 2
        rate = y + 1 + 2 * abs(c) + 2 * abs(1 - c) + 4 * MARGIN
        panels = math.ceil(half * max(rate / 5, 2.0))
        if panels * RULE > MAX_NODES:
            raise SizeError(f"the quadrature of {self!r} needs {panels * RULE:.3g} nodes, above {MAX_NODES}")
        r = half / panels
        centre = self.start + r * (2 * np.arange(panels) + 1)
        at, weight = LEGENDRE
        loss = (centre[:, None] + r * at).ravel()
        logs = component.logs(
            loss, np.full(len(loss), 6 * UNIT * epsilon)
        )  # two products, two sums, and epsilon
        weights = np.log(np.tile(weight, panels) * (r * component.k))
        log_p = weights + self.log_density(loss) + logs.p
        # Weights of 32 nodes are known to 64 units, their logarithms to 8 of themselves, and each of three
        # sums to its size.
        slack = 128 + 12 * np.abs(weights) + 8 * epsilon + 4 * np.abs(logs.p) + component.units
        return QuadratureNodes(logs.loss, log_p, logs.p_error + UNIT * slack, logs.error, 1e-28)


class LaplaceTransform(QuadratureTransform):
    """The Laplace law: atoms at both ends, 2 sinh((k + iy) eps)/(k + iy) between, k = c - 1/2."""

    def __init__(self, law: LaplaceLaw, c: float, digits: float) -> None:
        super().__init__(law, c, digits)
        self.epsilon, self.k = law.epsilon, c - 0.5

    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        slow = int(np.searchsorted(y * self.epsilon, _FAST, side="right"))
        parts = [super().ratio(y[:slow], even=even)] if slow else []
        parts += [self._fast(y[slow:], even=even)] if slow < len(y) else []
        return LogRatio(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def cost(self, y: float) -> int:
        return 4 if y * self.epsilon > _FAST else super().cost(y)

    def _fast(self, y: Array, *, even: bool) -> LogRatio:
        pole, value = 1 / (self.k + 1j * y), np.full(len(y), -1 + 0j)
        atoms = np.exp(self.atoms.log_p + self.c * self.atoms.loss - self.log_m)
        ends = np.array([-1.0, 1.0])
        edges = np.exp(ends * self.k * self.epsilon - self.epsilon / 2 - math.log(4) - self.log_m)
        shifts = ends * self.epsilon - self.mean
        for end, atom, edge, shift in zip(ends, atoms, edges, shifts, strict=True):
            value += _turn(y, shift, even=even) * (atom + end * edge * pole)
        size = float(np.sum(atoms)) + np.sum(edges) * np.abs(pole)
        # Exponents are sums of log_m, log 4 and epsilon times 1, c or k; phases y times a difference, two
        # roundings each, and as many more where y is a sum; then exponentials, a quotient, products and sums.
        slip = 48 + 8 * abs(self.log_m) + 8 * self.epsilon * (1 + abs(self.c))
        slip = slip + 8 * y * np.sum(np.abs(shifts))
        return logarithm(value, size * (UNIT * slip + self.log_m_error))


def _turn(y: Array, shift: float, *, even: bool) -> Complex:
    """Return e^(i y shift); at equal steps those of the first in every _GROUP times those of a group."""
    if not even:
        return np.asarray(np.exp(1j * (shift * y)))
    heads, steps = (np.exp(1j * (shift * at)) for at in (y[::_GROUP], y[:_GROUP] - y[0]))
    return np.outer(heads, steps).ravel()[: len(y)]
