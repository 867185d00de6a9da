"""A law from outside: one class, and every question, operator and engine takes it. Truth is mpmath's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import log_uniform
from tradeoff.accounting.contour.engine import ContourEngine
from tradeoff.accounting.planner import Composition
from tradeoff.intervals.bounds import Array
from tradeoff.pld.components import (
    Component,
    SamplingRate,
    inverse_loss_error,
    inverse_subsampled_loss,
    subsampled_loss,
    subsampled_loss_error,
    subsampled_slope,
)
from tradeoff.pld.gaussian import NormalBase
from tradeoff.pld.law import Cells, LogRatio, PlanningPoints, PrivacyLossDistribution, Transform, logarithm
from tradeoff.pld.moments import above_line
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD
from tradeoff.pld.units import UNIT


@dataclass(frozen=True, eq=False)
class UniformLaw(PrivacyLossDistribution):
    """L uniform on [-1, top] under P; what e^L lacks of 1 is mass at infinity."""

    top: float

    @property
    def width(self) -> float:
        return self.top + 1

    @property
    def mass_at_plus_infinity(self) -> float:
        with mp.workdps(30):
            top = mp.mpf(self.top)
            return float(1 - (mp.exp(top) - mp.exp(-1)) / (top + 1))

    @property
    def span(self) -> tuple[float, float]:
        return -1.0, self.top

    def sketch(self) -> PlanningPoints:
        loss = -1 + self.width * (np.arange(500) + 0.5) / 500
        return PlanningPoints(loss, np.full(500, -np.log(500)))

    def _cells(self, edges: Array) -> Cells:
        step = np.diff(edges)
        excess = np.exp(edges[:-1]) * above_line(step) / self.width
        return Cells(excess, above_line(-step) / self.width, np.full(len(step), 64 * UNIT))


class UniformLawWithTransform(UniformLaw):
    """The same, with M(z) = (e^(z top) - e^-z)/(z width)."""

    @property
    def has_transform(self) -> bool:
        return True

    def transform(self, c: float, digits: float) -> Transform:
        return UniformTransform(self.top, c)


class UniformTransform(Transform):
    def __init__(self, top: float, c: float) -> None:
        self.top, self.c, self.mean = top, c, (top - 1) / 2
        self.width = top + 1
        self.log_m = c * top + math.log(-math.expm1(-c * self.width) / (c * self.width))
        self.log_m_error = UNIT * (64 + 8 * abs(c * top) + 8 * abs(self.log_m))

    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        z, ends = self.c + 1j * y, self._ends()
        turn = np.exp(1j * y * (self.top - self.mean)), np.exp(-1j * y * (1 + self.mean))
        rho = (turn[0] * ends[0] - turn[1] * ends[1]) / z
        # Phases err by a few units of y and 1, the ends by those of their exponents.
        slip = UNIT * (64 + 8 * y + 8 * self.c * self.width + 8 * abs(self.log_m)) + self.log_m_error
        return logarithm(rho - 1, slip * sum(ends) / self.c)

    def around(self, y: Array, radius: float) -> Array:
        return np.minimum(np.log(np.exp(self.ratio(y).ceiling) + radius * self.width), 0.0)

    def far(self, y: float) -> float:
        return min(math.log(sum(self._ends()) / y) + 1e-9, 0.0)

    def _ends(self) -> tuple[float, float]:
        """Return e^(c L)/(width M(c)) at the upper and the lower end."""
        top, bottom = math.exp(self.c * self.top - self.log_m), math.exp(-self.c - self.log_m)
        return top / self.width, bottom / self.width


def truth(top: float, epsilon: float, n: int, *, p: float = 1.0) -> mp.mpf:
    """Return delta of n rounds of the uniform law, thinned by p."""
    with mp.workdps(30):
        width, rate = mp.mpf(top) + 1, mp.mpf(p)

        def thin(x: mp.mpf) -> mp.mpf:
            return mp.log1p(rate * mp.expm1(x))

        def lifted(rest: mp.mpf) -> mp.mpf:
            """Return E (e^(L' - rest) - 1)_+, by the primitive of 1 - p + p e^x."""
            inner = 1 + mp.expm1(rest) / rate
            low = max(mp.log(inner), mp.mpf(-1)) if inner > 0 else mp.mpf(-1)
            if low >= top:
                return mp.mpf(0)
            mass = ((1 - rate) * (top - low) + rate * (mp.exp(top) - mp.exp(low))) * mp.exp(-rest)
            return (mass - (top - low)) / width

        def rounds(k: int, rest: mp.mpf) -> mp.mpf:
            """Return E (e^(L_1 + ... + L_k - rest) - 1)_+."""
            if k == 1:
                return lifted(rest)
            ends = (thin(mp.mpf(-1)), thin(mp.mpf(top)))
            kinks = sorted(
                {mp.mpf(-1), mp.mpf(top)}
                | {
                    mp.log(1 + mp.expm1(rest - e) / rate)
                    for e in ends
                    if mp.expm1(rest - e) > -rate and -1 < mp.log(1 + mp.expm1(rest - e) / rate) < top
                }
            )
            grown = lambda x: rounds(k - 1, rest - thin(x))  # noqa: E731 - an integrand
            return mp.quad(grown, kinks) / width

        q = rate * (1 - (mp.exp(top) - mp.exp(-1)) / width)
        return 1 - (1 - q) ** n + mp.exp(epsilon) * rounds(n, mp.mpf(epsilon))


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("p", [1.0, 0.3])
def test_law_with_cells_alone_is_answered(epsilon: float, n: int, p: float) -> None:
    law = UniformLaw(0.7)
    assert not law.has_transform
    lower, upper = Composition([law if p == 1 else SubsampledPLD(law, p)], [n]).answer(
        "delta", np.array([epsilon]), None
    )
    assert lower[0] <= truth(0.7, epsilon, n, p=p) <= upper[0]
    assert upper[0] - lower[0] < 1e-5


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.2])
def test_law_with_transform_opens_contour(epsilon: float) -> None:
    engine = ContourEngine([UniformLawWithTransform(0.7)], [2])
    assert engine.possible
    lower, upper = engine.answer("delta", np.array([epsilon]), 1e-6)
    assert lower[0] <= truth(0.7, epsilon, 2) <= upper[0]
    assert upper[0] - lower[0] < 1e-4


def test_operators_on_law_without_transform_have_none() -> None:
    law = UniformLaw(0.7)
    for changed in (
        SubsampledPLD(law, 0.1),
        ReversedPLD(law),
        MixturePLD([(0.5, law), (0.5, SubsampledPLD(law, 0.2))]),
    ):
        assert not changed.has_transform
        assert changed.transform(0.5, 40.0) is None


def test_reversed_custom_law_holds_truth() -> None:
    law = UniformLaw(0.7)
    both = Composition([ReversedPLD(ReversedPLD(law))], [2]).answer("delta", np.array([0.3]), None)
    assert both[0][0] <= truth(0.7, 0.3, 2) <= both[1][0]


losses = st.one_of(st.floats(-800, 800), log_uniform(1e-300, 1.0), log_uniform(1e-300, 1.0).map(lambda x: -x))
rates = st.one_of(log_uniform(1e-300, 1.0), log_uniform(1e-16, 0.5).map(lambda x: 1 - x))


@given(rates, losses)
def test_subsampled_loss_errs_within_bounds(p: float, loss: float) -> None:
    share, at = SamplingRate(p, 1 - p), np.array([loss])
    result = subsampled_loss(share, at)
    error = subsampled_loss_error(at, result)
    slope = subsampled_slope(share, at, result)
    with mp.workdps(700):
        true = mp.log1p(mp.mpf(p) * mp.expm1(mp.mpf(loss)))
        assert abs(mp.mpf(result[0]) - true) <= mp.mpf(error[0])
        steep = mp.mpf(p) * mp.exp(mp.mpf(loss) - true)
        assert abs(mp.mpf(slope[0]) - steep) <= steep * (1e-13 + 1e-15 * abs(loss)) + mp.mpf("1e-300")


@given(
    rates, st.one_of(st.floats(-40, 800), log_uniform(1e-20, 1.0), log_uniform(1e-20, 0.5).map(lambda x: -x))
)
def test_inverse_subsampled_loss_errs_within_bounds(p: float, goal: float) -> None:
    share, at = SamplingRate(p, 1 - p), np.array([goal])
    with np.errstate(over="ignore"):
        result = inverse_subsampled_loss(share, at)
    if not np.isfinite(result[0]):
        assert goal <= np.log1p(-p) + 1e-13 * (1 + abs(goal))
        return
    with mp.workdps(700):
        again = mp.log1p(mp.mpf(p) * mp.expm1(mp.mpf(result[0])))
        assert abs(again - mp.mpf(goal)) <= mp.mpf(float(inverse_loss_error(share, at, result)[0]))


@given(rates, rates, st.floats(0.01, 9), st.one_of(st.floats(-20, 20), log_uniform(1e-17, 1.0)))
def test_component_subsampled_in_both_orders_errs_within_bounds(p: float, r: float, mu: float, away: float):
    """Where r is tiny its densities have the same slopes in floats: what l is unsure of still moves L."""
    part, x = Component(NormalBase(mu)).subsampled(p).reversed().subsampled(r), mu / 2 + away
    result = part.logs(part.base.loss(np.array([x])), np.array([4 * UNIT * (abs(mu * x) + mu * mu)]))
    with mp.workdps(700):
        excess = mp.mpf(p) * mp.expm1(mp.mpf(mu) * mp.mpf(x) - mp.mpf(mu) ** 2 / 2)
        true = mp.log1p(-mp.mpf(r) * excess / (1 + excess))
        assert abs(mp.mpf(result.loss[0]) - true) <= mp.mpf(result.error[0])
