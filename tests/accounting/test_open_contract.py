"""A law from outside: one class, and every question, operator and engine takes it. Truth is mpmath's."""

import math
from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest

from tradeoff.accounting.contour.engine import ContourEngine
from tradeoff.accounting.planner import Composition
from tradeoff.pld.law import Cells, PlanningPoints, PrivacyLossDistribution, Transform, logarithm
from tradeoff.pld.moments import above_line
from tradeoff.pld.transformed import SubsampledPLD
from tradeoff.pld.units import UNIT


@dataclass(frozen=True, eq=False)
class UniformLaw(PrivacyLossDistribution):
    """L uniform on [-1, top] under P; what e^L lacks of 1 is mass at infinity."""

    top: float

    @property
    def width(self):
        return self.top + 1

    @property
    def mass_at_plus_infinity(self):
        with mp.workdps(30):
            top = mp.mpf(self.top)
            return float(1 - (mp.exp(top) - mp.exp(-1)) / (top + 1))

    @property
    def span(self):
        return -1.0, self.top

    def sketch(self):
        loss = -1 + self.width * (np.arange(500) + 0.5) / 500
        return PlanningPoints(loss, np.full(500, -np.log(500)))

    def _cells(self, edges):
        step = np.diff(edges)
        excess = np.exp(edges[:-1]) * above_line(step) / self.width
        return Cells(excess, above_line(-step) / self.width, np.full(len(step), 64 * UNIT))


class UniformLawWithTransform(UniformLaw):
    """The same, with M(z) = (e^(z top) - e^-z)/(z width)."""

    @property
    def has_transform(self):
        return True

    def transform(self, c, digits):
        return UniformTransform(self.top, c)


class UniformTransform(Transform):
    def __init__(self, top, c):
        self.top, self.c, self.mean = top, c, (top - 1) / 2
        self.width = top + 1
        self.log_m = c * top + math.log(-math.expm1(-c * self.width) / (c * self.width))
        self.log_m_error = UNIT * (64 + 8 * abs(c * top) + 8 * abs(self.log_m))

    def ratio(self, y, *, even=False):
        z, ends = self.c + 1j * y, self._ends()
        turn = np.exp(1j * y * (self.top - self.mean)), np.exp(-1j * y * (1 + self.mean))
        rho = (turn[0] * ends[0] - turn[1] * ends[1]) / z
        # Phases err by a few units of y and 1, the ends by those of their exponents.
        slip = UNIT * (64 + 8 * y + 8 * self.c * self.width + 8 * abs(self.log_m)) + self.log_m_error
        return logarithm(rho - 1, slip * sum(ends) / self.c)

    def around(self, y, radius):
        return np.minimum(np.log(np.exp(self.ratio(y).ceiling) + radius * self.width), 0.0)

    def far(self, y):
        return min(math.log(sum(self._ends()) / y) + 1e-9, 0.0)

    def _ends(self):
        """Return e^(c L)/(width M(c)) at the upper and the lower end."""
        top, bottom = math.exp(self.c * self.top - self.log_m), math.exp(-self.c - self.log_m)
        return top / self.width, bottom / self.width


def truth(top, epsilon, n, *, p=1.0):
    """Return delta of n rounds of the uniform law, thinned by p."""
    with mp.workdps(30):
        width, rate = mp.mpf(top) + 1, mp.mpf(p)

        def thin(x):
            return mp.log1p(rate * mp.expm1(x))

        def lifted(rest):
            """Return E (e^(L' - rest) - 1)_+, by the primitive of 1 - p + p e^x."""
            inner = 1 + mp.expm1(rest) / rate
            low = max(mp.log(inner), mp.mpf(-1)) if inner > 0 else mp.mpf(-1)
            if low >= top:
                return mp.mpf(0)
            mass = ((1 - rate) * (top - low) + rate * (mp.exp(top) - mp.exp(low))) * mp.exp(-rest)
            return (mass - (top - low)) / width

        def rounds(k, rest):
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
def test_law_with_cells_alone_is_answered(epsilon, n, p):
    law = UniformLaw(0.7)
    assert not law.has_transform
    lower, upper = Composition([law if p == 1 else SubsampledPLD(law, p)], [n]).answer(
        "delta", np.array([epsilon]), None
    )
    assert lower[0] <= truth(0.7, epsilon, n, p=p) <= upper[0]
    assert upper[0] - lower[0] < 1e-5


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.2])
def test_law_with_transform_opens_contour(epsilon):
    engine = ContourEngine([UniformLawWithTransform(0.7)], [2])
    assert engine.possible
    lower, upper = engine.answer("delta", np.array([epsilon]), 1e-6)
    assert lower[0] <= truth(0.7, epsilon, 2) <= upper[0]
    assert upper[0] - lower[0] < 1e-4
