"""Edgeworth bounds: the exact curve lies inside, and the band lies inside that of Berry and Esseen."""

import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import tradeoff as to
from tests import strategies
from tests.limits.bands import ALPHA, EPSILON, contains
from tradeoff.errors import DomainError, KindError, PrecisionError, SymbolError

STEP = to.subsample(to.Gaussian(1.25), 0.005)


def pair_of(curve):
    return to.limits.edgeworth_bounds(curve).pairs[0][0]


def inside(band):
    """Up to the chords of the lower bound of Berry and Esseen."""
    alpha = np.linspace(0, 1, 401)
    found, around = band.bounds(alpha), band.berry_esseen.bounds(alpha)
    assert np.all(found.lower >= around.lower - 5e-6)
    assert np.all(found.upper <= around.upper)
    found, around = band.delta(EPSILON), band.berry_esseen.delta(EPSILON)
    assert np.all(found.lower >= around.lower)
    assert np.all(found.upper <= around.upper + 5e-6 * (1 + np.exp(EPSILON)))
    return np.max(band.bounds(alpha).width / np.maximum(band.berry_esseen.bounds(alpha).width, 1e-3))


@pytest.mark.parametrize(
    ("family", "n"), [*((to.PureDP, 10**k) for k in (0, 1, 2, 4, 6)), (to.Laplace, 10), (to.Laplace, 1000)]
)
def test_the_band_holds_the_curve_and_narrows_as_half_a_step_of_the_lattice(family, n):
    curve = family(1 / math.sqrt(n)) ** n
    band = to.limits.edgeworth_bounds(curve)
    assert contains(band, curve)
    assert inside(band) <= 1.01
    if n > 10:
        assert band.gamma * math.sqrt(2 * math.pi * n) < 1.06 + 0.1 * (n == 100)
        assert band.rest * n < 1
        assert all(hypothesis.holds for hypothesis in band.hypotheses)


@pytest.mark.parametrize(
    "curve",
    [
        STEP**1000,
        ~(STEP**1000),
        pytest.param((STEP**1000).symmetrise(assume="either-order"), marks=pytest.mark.slow),
        STEP**20_000,
        to.approximate_dp(0.1, 1e-3) ** 100,
        to.Gaussian(0.1) ** 50 @ to.Laplace(0.2) ** 20 @ to.PureDP(0.1) ** 30,
        to.mixture({to.PureDP(0.1): 0.5, to.PureDP(0.3): 0.5}) ** 60,
        to.minimum(to.PureDP(0.1), to.TotalVariation(0.01)) ** 5,
        to.PureDP(8.0) ** 3,
        to.TotalVariation(0.3),
        to.TotalVariation(1.0),
        to.Identity(),
        to.Gaussian(30.0),
        to.Gaussian(math.inf) @ to.Laplace(0.1) ** 10,
        to.PureDP(1e-10) @ to.Gaussian(1.0),
    ],
    ids=repr,
)
def test_the_band_holds_every_kind_of_curve(curve):
    band = to.limits.edgeworth_bounds(curve)
    assert contains(band, curve)
    assert inside(band) <= 1.01


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.sampled_from([to.PureDP, to.Laplace, to.Gaussian]), st.floats(0.02, 0.6), st.integers(1, 80)
        ),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=6, deadline=None)
def test_the_band_holds_products_of_unlike_factors(parts):
    curve = to.Identity()
    for family, parameter, n in parts:
        curve = curve @ family(parameter) ** n
    band = to.limits.edgeworth_bounds(curve)
    assert contains(band, curve)
    inside(band)


@pytest.mark.slow
@given(strategies.small_exact_curves, st.integers(1, 7))
@settings(max_examples=20, deadline=None)
def test_the_band_holds_exact_products_with_masses_at_infinity(f, n):
    """Against products in fractions: asymmetric, one-sided, few factors."""
    curve = f
    for _ in range(n - 1):
        curve = curve @ f
    band = to.limits.edgeworth_bounds(to.Tensor({f.floats(): n}))
    truth = np.array([float(curve.at(a)) for a in ALPHA])
    assert np.all(band.lower(ALPHA) <= truth + 1e-15)
    assert np.all(band.upper(ALPHA) >= truth - 1e-15)


@pytest.mark.parametrize(("epsilon", "n"), [(0.5, 50), (3.0, 2000), (2.0, 100_000)])
def test_both_errors_at_every_threshold_of_a_skewed_law(epsilon, n):
    """Randomised response: L = epsilon (2 K - n), K binomial under both laws, with skewness of opposite
    signs."""
    pair = pair_of(to.PureDP(epsilon) ** n)
    rare = 1 / (1 + math.exp(epsilon))
    x = pair.thresholds()
    count = n * rare + x * math.sqrt(n * rare * (1 - rare))
    truth = binom.sf(np.floor(count), n, rare), binom.cdf(np.floor(count), n, 1 - rare)
    for (low, high), exact in zip(pair.errors(x), truth, strict=True):
        assert np.all(low <= exact + 1e-12)
        assert np.all(exact <= high + 1e-12)


@pytest.mark.parametrize(
    "curve", [pytest.param(STEP**100_000, marks=pytest.mark.slow), ~(STEP**100_000)], ids=repr
)
def test_a_long_run_of_skewed_steps_is_held_at_every_alpha(curve):
    alpha = np.concatenate([np.geomspace(1e-5, 0.01, 30), np.linspace(0.02, 0.999, 40)])
    band, exact = to.limits.edgeworth_bounds(curve).bounds(alpha), curve.bounds(alpha)
    assert np.all(band.lower <= exact.upper)
    assert np.all(exact.lower <= band.upper)


@pytest.mark.parametrize(
    "curve",
    [
        to.PureDP(200.0) ** 3,
        to.PureDP(410.0),
        to.PureDP(430.0) @ to.Gaussian(1e-90),
        pytest.param(to.PureDP(1.0) ** 10**9, marks=pytest.mark.slow),
        pytest.param(to.PureDP(1e-7) ** 10**15, marks=pytest.mark.slow),
        pytest.param(to.Gaussian(200.0) @ to.PureDP(3.0), marks=pytest.mark.slow),
        to.PureDP(1e-60) ** 100,
        pytest.param(
            to.mixture({to.PureDP(0.1): 0.999999, to.PureDP(100.0): 1e-6}) ** 10, marks=pytest.mark.slow
        ),
    ],
    ids=repr,
)
def test_extremes_give_probabilities_in_order(curve):
    found = to.limits.edgeworth_bounds(curve)
    alpha, epsilon = (
        np.array([0.0, 1e-300, 1e-12, 0.5, 1.0]),
        np.array([-700.0, -30.0, 0.0, 1.0, 30.0, 700.0]),
    )
    for band in (found, found.berry_esseen):
        for answer in (band.bounds(alpha), band.delta(epsilon)):
            assert np.all((answer.lower >= 0) & (answer.lower <= answer.upper) & (answer.upper <= 1))
        asked = band.epsilon([0.0, 1e-9, 0.5])
        assert np.all(asked.lower <= asked.upper)
        assert np.all(np.diff(band.delta(epsilon).upper) <= 1e-12)


def test_how_much_narrower():
    """Near 1/(2 sqrt(2 pi)) K/sqrt(n) at a mean, and of order 1/n away from it."""
    curve = to.PureDP(0.01) ** 10_000
    band = to.limits.edgeworth_bounds(curve)
    assert band.gamma == pytest.approx(2 / math.sqrt(10_000) / (2 * math.sqrt(2 * math.pi)), rel=0.01)
    assert band.gamma < 0.86 * band.berry_esseen.gamma
    alpha = np.linspace(0, 1, 1001)
    assert np.max(band.bounds(alpha).width) < 0.25 * np.max(band.berry_esseen.bounds(alpha).width)
    assert band.epsilon(0.01).upper < 2.4 < band.berry_esseen.epsilon(0.01).upper == math.inf


@pytest.mark.slow
@pytest.mark.parametrize(
    "curve",
    [to.PureDP(0.1) ** 200, STEP**3000, ~(STEP**3000), (STEP**3000).symmetrise(assume="either-order")],
    ids=repr,
)
def test_delta_is_the_dual_of_the_lower_bound_and_falls(curve):
    band = to.limits.edgeworth_bounds(curve)
    epsilon = np.linspace(-6, 12, 1801)
    delta = band.delta(epsilon)
    assert np.all(np.diff(delta.upper) <= 1e-12)
    assert np.all(delta.lower <= delta.upper)
    alpha = np.concatenate([np.geomspace(1e-9, 1e-2, 2000), np.linspace(0, 1, 8001)])
    dual = np.max(1 - band.lower(alpha) - np.exp(epsilon[::50, None]) * alpha, axis=1)
    np.testing.assert_allclose(delta.upper[::50], dual, atol=1e-5)
    wanted = np.array([0.05, 0.2, 0.6])
    found = band.epsilon(wanted)
    known = np.isfinite(found.upper)
    assert np.all(band.delta(found.upper[known]).upper <= wanted[known] * (1 + 1e-9))
    assert np.all(found.lower <= found.upper)


def test_the_guarantee_enters_products_and_the_band_is_convex():
    band = to.limits.edgeworth_bounds(to.PureDP(0.02) ** 2500)
    alpha = np.linspace(0, 1, 2001)
    for values in (band.lower(alpha), band.upper(alpha)):
        assert np.all(np.diff(values) <= 1e-15)
        assert np.all(np.diff(values, 2) >= -1e-12)
    assert isinstance(band.guarantee @ to.Gaussian(0.5), to.TradeOff)


def test_at_few_factors_the_band_is_that_of_berry_and_esseen():
    band = to.limits.edgeworth_bounds(to.PureDP(4.0) ** 12)
    assert not band.hypotheses[2].holds
    assert inside(band) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, "a"])
def test_nonsense_is_refused(wrong):
    with pytest.raises(DomainError):
        to.limits.edgeworth_bounds(to.Laplace(0.1)).lower(wrong)


def test_what_has_no_moments_is_refused():
    with pytest.raises(PrecisionError, match="too small"):
        to.limits.edgeworth_bounds(to.PureDP(1e-150) ** 10)
    with pytest.raises(KindError):
        to.limits.edgeworth_bounds(0.5)
    with pytest.raises(SymbolError):
        to.limits.edgeworth_bounds(to.PureDP(sympy.Symbol("e", positive=True)) ** 10)


def test_shapes_are_kept():
    band = to.limits.edgeworth_bounds(to.Laplace(0.1) ** 100)
    assert band.lower(np.full((2, 3), 0.1)).shape == (2, 3)
    assert isinstance(band.upper(0.1), float)
    assert isinstance(band.delta(0.5).upper, float)
    assert band.bounds([]).lower.shape == (0,)
    assert band.delta([]).lower.shape == (0,)
    extremes = band.bounds([0.0, 1e-300, 1 - 1e-9, 1.0])
    assert np.all(extremes.lower <= [1.0, 1.0, 1e-9, 0.0])
    assert np.all(extremes.upper >= [1.0, 1.0, 0.0, 0.0])
