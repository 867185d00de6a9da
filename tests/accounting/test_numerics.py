import itertools
import math
import sys

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy import fft

from tests.strategies import log_uniform
from tests.truth.balls import cumulative
from tradeoff.accounting.lattice.convolve import discounted
from tradeoff.accounting.saddles import Cumulant, SaddleTable, saddles
from tradeoff.intervals.roots import find_root
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.transformed import SubsampledPLD
from tradeoff.pld.units import UNIT, fft_error


@pytest.mark.parametrize("size", [64, 1024, 2**14])
def test_fft_error_bounds_error(size):
    x = np.random.default_rng(size).random(size) ** 8
    spectrum, most = fft.rfft(x), fft_error(size) * float(np.sum(x))
    turns = [acb(arb(-2 * j) / size).exp_pi_i() for j in range(size)]
    for k in (0, 1, 3, size // 3, size // 2):
        truth = sum(turns[k * j % size] * v for j, v in enumerate(x.tolist()))
        assert abs(acb(spectrum[k].real, spectrum[k].imag) - truth) <= most


@given(
    st.floats(-50.0, 50.0),
    st.sampled_from([1e-3, 1.0, 1e6]),
    st.sampled_from(["line", "cube", "exp", "step"]),
)
def test_find_root_returns_root_or_nearest_end(root, steep, kind):
    shape = {
        "line": lambda d: d,
        "cube": lambda d: d**3,
        "exp": lambda d: math.expm1(min(d, 600.0)),
        "step": lambda d: math.copysign(1.0, d),
    }
    calls = []

    def function(x):
        calls.append(x)
        return steep * shape[kind](x - root)

    assert abs(find_root(function, -40.0, 40.0) - min(max(root, -40.0), 40.0)) <= 1e-9
    assert len(calls) <= (125 if kind == "cube" else 60)  # brentq halves towards a triple root


def test_find_root_with_nan_returns_root():
    assert find_root(lambda x: x - 1 if x < 2 else float("nan"), 0.0, 3.0) == pytest.approx(1.0)
    assert find_root(lambda x: x * float("nan"), 0.0, 3.0) == 0.0


@pytest.mark.parametrize(("start", "last"), [(1.0, math.inf), (0.0, 1 - 1e-9)])
@pytest.mark.parametrize(("mu", "rate", "n"), [(1.0, 0.01, 1000), (6.0, 1e-6, 10), (0.05, 0.5, 10**6)])
def test_tilt_is_near_its_saddle(start, last, mu, rate, n):
    """Before the first rung too, where losses are far below all that are likely."""
    cumulant, poles = Cumulant([(SubsampledPLD(GaussianLaw(mu), rate).sketch(), n)]), (0.0, 1.0)
    table = SaddleTable(cumulant, poles, start, last=last)
    for x in (-1e6, -30.0, -1.0, -0.1, 0.0, 0.3, 2.0):
        result = saddles(table.cumulant, [table.tilt(x)], poles)
        assert abs(result.x - x) <= 0.2 * result.spread(poles)


@pytest.mark.parametrize("mu", [0.5, 30.0, 77.9, 78.1, 200.0, 745.0, 5000.0])
def test_cells_of_gaussian_hold_truth_within_slack(mu):
    """Between P and Q of a large mu there is nothing; cells that reach into it are whole all the same."""
    far, law = mu * mu / 2, GaussianLaw(mu)
    edges = np.unique([-far - 3 * mu, -far, -far + 2 * mu, -far / 3, 0.0, far / 2, far - mu, far, far + mu])
    excess, deficit, slack = law.cells(edges)
    with ctx.workprec(4000):
        x = [arb(a) / mu + arb(mu) / 2 for a in edges.tolist()]
        for k, (a, b) in enumerate(itertools.pairwise(edges.tolist())):
            p, q = _between(x[k], x[k + 1]), _between(x[k] - mu, x[k + 1] - mu)
            for result, truth in ((excess, q - arb(a).exp() * p), (deficit, p - arb(-b).exp() * q)):
                assert abs(result.item(k) - truth) <= slack.item(k) * truth + sys.float_info.min


def _between(a, b):
    """Return the mass of a normal law, from the tail in which it does not cancel."""
    return cumulative(-a) - cumulative(-b) if a > 0 else cumulative(b) - cumulative(a)


masses = st.one_of(st.just(0.0), log_uniform(1e-200, 1.0))


@given(st.lists(masses, max_size=300), st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)))
def test_discounted_holds_truth(x, a):
    y = arb(0)
    for term, got in zip(x, discounted(np.array(x), a).tolist(), strict=True):
        y = term + a * y
        assert abs(got - y) <= 200 * UNIT * y + 1e-300


@pytest.mark.parametrize("size", [1, 63, 64, 65, 4096, 4097, 300_000])
def test_discounted_constant_is_geometric_series(size):
    truth = -np.expm1(np.arange(1.0, size + 1) * np.log1p(-(2.0**-12))) * 2**12
    np.testing.assert_allclose(discounted(np.ones(size), 1 - 2.0**-12), truth, rtol=1e-13)
