import math
from dataclasses import dataclass

import joblib
import mpmath as mp
import numpy as np
import pytest

import tradeoff as to
from tradeoff.accounting.contour.engine import ContourEngine
from tradeoff.accounting.planner import Composition
from tradeoff.pld.law import Cells, PlanningPoints, PrivacyLossDistribution, Transform, complex_log1p
from tradeoff.pld.moments import above_line
from tradeoff.pld.transformed import SubsampledPLD
from tradeoff.pld.units import UNIT

MIXED = to.Laplace(0.3) ** 20 @ to.subsample(to.Gaussian(1.0), 0.05) ** 100 @ to.PureDP(0.1) ** 5


@pytest.mark.parametrize(
    "curve", [to.Gaussian(1.0), to.PureDP(0.2) ** 12, MIXED, ~MIXED, MIXED.symmetrise(assume="either-order")]
)
def test_bounds_of_engines_agree(curve):
    def answers(**how):
        return curve.bounds.delta(1.5, **how), curve.bounds.epsilon(1e-6, **how), curve.bounds(0.05, **how)

    for method in ("lattice", "contour"):
        for known, result in zip(answers(), answers(method=method), strict=True):
            assert result.lower <= known.upper
            assert known.lower <= result.upper


def test_less_memory_gives_wider_bounds_and_precision_error_names_reachable_width():
    curve = to.PureDP(0.3) ** 400 @ to.PureDP(0.1234567) ** 300
    narrow, wide = (curve.bounds.epsilon(1e-5, memory=memory) for memory in (2**28, 2**20))
    assert wide.lower <= narrow.upper
    assert narrow.lower <= wide.upper
    with pytest.raises(to.errors.PrecisionError) as caught:
        curve.bounds.epsilon(1e-5, tol=1e-13, memory=2**22)
    tol = 2 * caught.value.reachable
    assert curve.bounds.epsilon(1e-5, tol=tol, memory=2**22).width <= tol


def test_progress_reports_settled_entries():
    reports = []
    MIXED.bounds.delta([0.1, 1.0, 3.0], progress=lambda settled, total: reports.append((settled, total)))
    assert reports[0] == (0, 3)
    assert all(settled < total for settled, total in reports)


def test_jobs_do_not_change_bounds():
    def product():
        curve = to.Identity()
        for k in range(70):
            curve = curve @ to.subsample(to.Gaussian(1.0 + k / 100), 0.01) ** 20
        return curve

    alone = product().bounds.epsilon(1e-5)
    with joblib.parallel_config(backend="threading"):
        together = product().bounds.epsilon(1e-5, n_jobs=2)
    assert together.lower == pytest.approx(alone.lower, rel=1e-9)
    assert together.upper == pytest.approx(alone.upper, rel=1e-9)


@pytest.mark.parametrize(
    ("curve", "engines"),
    [
        (to.subsample(to.Laplace(1.0), 0.1) ** 9, ["contour", "lattice"]),
        (to.subsample(to.Gaussian(1.0), 0.1) ** 20, ["contour"]),
        (to.subsample(to.Laplace(1.0), 0.01) ** 1000, ["contour"]),
    ],
)
def test_lattice_precedes_long_contour_where_atoms_last(curve, engines):
    steps = curve.explain(delta=0.02, tol=1e-7).steps
    assert [step.engine for step in steps] == engines
    assert steps[-1].width <= 1e-7


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
        return complex_log1p(rho - 1, slip * sum(ends) / self.c)

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
        low, high, rate = mp.mpf(-1), mp.mpf(top), mp.mpf(p)
        width = high + 1

        def thin(x):
            return mp.log1p(rate * mp.expm1(x))

        def back(rest):
            """Return the loss that is thinned to this one, between the ends."""
            inner = 1 + mp.expm1(rest) / rate
            return min(max(mp.log(inner), low), high) if inner > 0 else low

        def rounds(k, rest):
            """Return E (e^(L_1 + ... + L_k - rest) - 1)_+, of one round by the primitive of the ratio."""
            if k == 1:
                start = back(rest)
                mass = (1 - rate) * (high - start) + rate * (mp.exp(high) - mp.exp(start))
                return (mass * mp.exp(-rest) - (high - start)) / width
            kinks = sorted({low, high, *(back(rest - thin(end)) for end in (low, high))})
            grown = lambda x: rounds(k - 1, rest - thin(x))  # noqa: E731 - an integrand
            return mp.quad(grown, kinks) / width

        q = rate * (1 - (mp.exp(high) - mp.exp(-1)) / width)
        return 1 - (1 - q) ** n + mp.exp(epsilon) * rounds(n, mp.mpf(epsilon))


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("p", [1.0, 0.3])
def test_law_with_cells_alone_is_answered(epsilon, n, p):
    law = UniformLaw(0.7)
    assert not law.has_transform
    composition = Composition([law if p == 1 else SubsampledPLD(law, p)], [n])
    (lower,), (upper,) = composition.answer("delta", np.array([epsilon]), None)
    assert lower <= truth(0.7, epsilon, n, p=p) <= upper
    assert upper - lower < 1e-5


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.2])
def test_law_with_transform_opens_contour(epsilon):
    engine = ContourEngine([UniformLawWithTransform(0.7)], [2])
    assert engine.possible
    lower, upper = engine.answer("delta", np.array([epsilon]), 1e-6)
    assert lower[0] <= truth(0.7, epsilon, 2) <= upper[0]
    assert upper[0] - lower[0] < 1e-4
