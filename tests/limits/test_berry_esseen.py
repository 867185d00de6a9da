"""Berry-Esseen bands: the exact curve lies inside, whatever is composed."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import tradeoff as to
from tests import strategies
from tests.truth.balls import ball, digits
from tests.truth.claims import overlap
from tests.truth.continuous import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.limits.berry_esseen import NormalPair

STEP = to.subsample(to.Gaussian(1.25), 0.005)
ALPHA = np.array([0.0, 1e-6, 0.001, 0.01, 0.05, 0.3, 0.7, 0.95, 1.0])
EPSILON = np.array([-5.0, -0.5, 0.0, 0.5, 1.0, 3.0])


DELTA = np.array([1e-6, 0.1, 0.3])


def contains(band, curve):
    return (
        overlap(band.bounds(ALPHA), curve.bounds(ALPHA))
        and overlap(band.delta(EPSILON), curve.bounds.delta(EPSILON))
        and overlap(band.epsilon(DELTA), curve.bounds.epsilon(DELTA))
    )


@pytest.mark.parametrize(
    ("family", "n"), [*((to.PureDP, 10**k) for k in range(1, 6)), (to.Laplace, 10), (to.Laplace, 1000)]
)
def test_band_contains_curve_and_narrows(family, n):
    curve = family(1 / math.sqrt(n)) ** n
    band = to.limits.berry_esseen(curve)
    assert contains(band, curve)
    assert 0.46 < band.gamma * math.sqrt(n) < 0.51
    assert all(hypothesis.holds for hypothesis in band.hypotheses)


@pytest.mark.parametrize(
    "curve",
    [
        *(STEP**1000, ~(STEP**1000)),
        pytest.param((STEP**1000).symmetrise(assume="either-order"), marks=pytest.mark.slow),
        to.approximate_dp(0.1, 1e-3) ** 100,
        to.Gaussian(0.1) ** 50 @ to.Laplace(0.2) ** 20 @ to.PureDP(0.1) ** 30,
        to.mixture({to.PureDP(0.1): 0.5, to.PureDP(0.3): 0.5}) ** 60,
        *(to.minimum(to.PureDP(0.1), to.TotalVariation(0.01)) ** 5, to.TotalVariation(0.3)),
        *(to.TotalVariation(1.0), to.Identity(), to.Gaussian(30.0), to.Gaussian(math.inf)),
        to.Gaussian(math.inf) @ to.Laplace(0.1) ** 10,
    ],
    ids=repr,
)
def test_band_contains_every_kind_of_curve(curve):
    assert contains(to.limits.berry_esseen(curve), curve)


@given(strategies.small_exact_curves, st.integers(1, 6), strategies.small_exact_curves, st.integers(0, 3))
@settings(max_examples=20, deadline=None)
def test_band_contains_exact_products(f, m, g, n):
    """Against products in fractions: asymmetric, one-sided, few factors and many."""
    assume(f.floats() != g.floats())
    curve = f**m @ g**n
    band = to.limits.berry_esseen(to.Tensor({f.floats(): m, **({g.floats(): n} if n else {})}))
    truth = np.array([float(curve.at(a)) for a in ALPHA])
    slack = 1e-15  # of the fractions' own conversion
    assert np.all(band.lower(ALPHA) <= truth + slack)
    assert np.all(band.upper(ALPHA) >= truth - slack)


def test_gamma_ignores_gaussian_factors():
    laplace = to.Laplace(0.1) ** 100
    band, alone, both = map(to.limits.berry_esseen, (to.Gaussian(1.0), laplace, laplace @ to.Gaussian(1.0)))
    assert band.gamma == 0
    assert band.bounds(0.3).width < 1e-12
    assert both.gamma < 0.6 * alone.gamma  # the variance doubles


def test_gamma_constants_equal_papers():
    n, result = 400, {}

    def skew(e):  # of a Bernoulli law
        t = math.tanh(e / 2)
        return (1 + t * t) / math.sqrt(1 - t * t)

    for e, constants, factor, rest in (
        (0.1, "theorem", 0.56, 0),
        (0.1, "sharp", 0.4690, 0),
        (4.0, "sharp", 0.3031, 0.646),
    ):
        result[e, constants] = to.limits.berry_esseen(to.PureDP(e) ** n, constants=constants)
        expected = factor * (skew(e) + rest) / math.sqrt(n)
        assert result[e, constants].gamma == pytest.approx(expected, rel=1e-13)
    both = to.PureDP(0.1) ** n @ to.PureDP(0.2) ** n
    sharp, theorem = (to.limits.berry_esseen(both, constants=c).gamma for c in ("sharp", "theorem"))
    assert sharp == theorem
    assert "Theorem 3.4" in result[0.1, "theorem"].source
    assert "Shevtsova" in result[0.1, "sharp"].source


def test_band_equals_theorem():
    band = to.limits.berry_esseen(to.Laplace(0.1) ** 400, constants="theorem")
    g, gamma = to.Gaussian(band.mu), band.gamma
    assert gamma == pytest.approx(0.0284, abs=5e-5)
    for alpha in (gamma, 0.1, 0.5, 1 - gamma):
        assert band.lower(alpha) == pytest.approx(max(g(min(alpha + gamma, 1.0)) - gamma, 0.0), abs=1e-11)
        assert band.upper(alpha) == pytest.approx(min(g(alpha - gamma) + gamma, 1 - alpha), abs=1e-11)
    assert band.delta(1.0).upper == pytest.approx(g.delta(1.0) + gamma * (1 + math.e), rel=1e-11)


@pytest.mark.parametrize("ratio", [0.7, 1.0, 1 + 1e-9, 1.6])
def test_normal_pair_delta_encloses_brute_force(ratio):
    pair = NormalPair(Bounds.of(ratio), Bounds.of(1.2) * ratio, 0.0, 0.0)
    z = np.linspace(-12, 12, 400_001)
    for epsilon, low, high in zip(EPSILON, *(pair.delta(EPSILON, side) for side in (0, 1)), strict=True):
        profile = np.max(ndtr(-(ratio * z - 1.2 * ratio)) - math.exp(epsilon) * ndtr(-z))
        truth = max(0.0, 1 - math.exp(epsilon), profile)
        assert low <= truth + 1e-9
        assert high >= truth - 1e-12
        assert high - low < 1e-10 * (1 + math.exp(epsilon))


def test_unmet_hypotheses_are_reported():
    skew = to.limits.berry_esseen(to.PureDP(8.0) ** 3)
    assert skew == to.limits.berry_esseen(to.PureDP(8.0) ** 3)
    assert not skew.hypotheses[3].holds
    assert contains(skew, to.PureDP(8.0) ** 3)
    assert not to.limits.berry_esseen(STEP**10).hypotheses[1].holds
    both = (to.subsample(to.Gaussian(1.0), 0.1) ** 50).symmetrise(assume="either-order")
    assert "law by law" in to.limits.berry_esseen(both).source
    # Factors with all their inverses make a symmetric product, whose laws differ.
    f = to.from_masses([0.5, 0.3, 0.2], [0.2, 0.2, 0.6])
    result = to.limits.berry_esseen(f**20 @ f.inverse() ** 20)
    assert result.of.symmetric
    (symmetric,) = [each.holds for each in result.hypotheses if "every factor is symmetric" in each.statement]
    assert not symmetric
    assert "law by law" in result.source


@pytest.mark.parametrize(
    "curve", [to.Laplace(0.1) ** 50, pytest.param(STEP**10_000, marks=pytest.mark.slow)], ids=repr
)
def test_delta_is_dual_of_lower_bound(curve):
    band = to.limits.berry_esseen(curve)
    epsilon = np.linspace(-6, 40, 461)
    delta = band.delta(epsilon)
    assert np.all(np.diff(delta.upper) <= 1e-12)
    assert delta.upper[-1] == pytest.approx(1 - band.lower(0.0), abs=1e-9)
    alpha = np.concatenate([np.geomspace(1e-9, 1e-2, 500), np.linspace(0, 1, 16_001)])
    dual = np.max(1 - band.lower(alpha) - np.exp(epsilon[:120:5, None]) * alpha, axis=1)
    np.testing.assert_allclose(delta.upper[:120:5], dual, atol=1e-5)


@pytest.mark.parametrize(
    "curve", [to.Laplace(0.1) ** 400, to.approximate_dp(0.1, 1e-3) ** 50, to.TotalVariation(1.0)], ids=repr
)
def test_delta_at_any_epsilon(curve):
    """Delta falls from 1 to Q(L = inf), which both ends say to the last digit."""
    epsilon = np.array([-math.inf, -1e5, -701.0, -700.0, 0.0, 700.0, 701.0, 1e5, math.inf])
    result, exact = to.limits.berry_esseen(curve).delta(epsilon), curve.bounds.delta(epsilon)
    assert overlap(result, exact)
    assert np.all(np.diff(result.upper) <= 1e-12)
    assert result.lower[0] == 1
    assert result.width[-1] <= 1e-15 * result.upper[-1]


@pytest.mark.parametrize(
    ("share", "mu", "epsilon"),
    [
        (1.02 * 2.0**-53, 0.2, 36.71699794238092),
        (9.999800987259278e-13, 3.330742755634506e-05, 27.631041017400655),
        (9.999999941445736e-09, 3.3306690941175143e-09, 18.420680749807794),
    ],
)
def test_delta_with_mass_at_infinity_encloses_truth(share, mu, epsilon):
    """All of Q, and this share of P, lose -log(share): the delta is that of a Gaussian farther in."""
    band = to.limits.berry_esseen(to.Gaussian(mu) @ to.PiecewiseLinear([0.0, share], [1.0, 0.0]))
    truth = digits(Gaussian(mu).delta(ball(epsilon) + ball(share).log()))
    result, certain = band.delta(epsilon), band.guarantee().bounds.delta(epsilon)
    assert result.lower <= truth <= min(result.upper, certain.upper)
    assert epsilon <= band.epsilon(float(truth) * (1 - 1e-9)).upper


def test_upper_near_perfect_privacy_rounds_up():
    alpha = np.random.default_rng(1).uniform(0, 0.5, 50)
    for a, b in zip(alpha, to.limits.berry_esseen(to.PureDP(1e-18) ** 3).upper(alpha), strict=True):
        assert Fraction(b) >= (1 - Fraction(a)) * (1 - Fraction(1, 10**17))


@pytest.mark.slow
@pytest.mark.parametrize(
    "curve",
    [
        *(to.PureDP(0.02) ** 2500, to.Laplace(0.1) ** 400, to.approximate_dp(0.1, 1e-3) ** 50),
        (STEP**1000).symmetrise(assume="either-order"),
        STEP**1000,
    ],
    ids=repr,
)
def test_guarantee_is_below_the_curve_and_as_symmetric(curve):
    """Groups of it are below groups of the curve."""
    band = to.limits.berry_esseen(curve)
    guarantee = band.guarantee()
    assert guarantee.symmetric == curve.symmetric
    assert isinstance(guarantee @ to.Gaussian(0.5), to.TradeOff)
    assert np.all(guarantee(ALPHA) <= curve.bounds(ALPHA).upper)
    assert np.all(guarantee(ALPHA) >= band.lower(ALPHA) - 1e-4)
    twice = 1 - curve.bounds(ALPHA).lower
    assert np.all(guarantee.group(2)(ALPHA) <= curve.bounds(np.clip(twice, 0.0, 1.0)).upper + 1e-12)
