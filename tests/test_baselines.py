import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import log_uniform
from tests.truth.balls import ball
from tests.truth.continuous import Gaussian
from tradeoff.baselines import renyi_divergence

B = to.baselines
K_FOLD = B.advanced_composition(0.1, 1e-8, n=100, slack=1e-6, form="k-fold")
ROOT = math.sqrt(2 * 100 * math.log(1e6)) * 0.1
TEXTBOOK = [
    (B.basic_composition([0.1, 0.2], [1e-6, 2e-6], n=10).epsilon, 3.0),
    (B.basic_composition([0.1, 0.2], [1e-6, 2e-6], n=10).delta, 3e-5),
    (B.advanced_composition(0.1, n=100, slack=1e-6).epsilon, 0.5 + ROOT),
    (K_FOLD.epsilon, ROOT + 100 * 0.1 * math.expm1(0.1)),
    (K_FOLD.delta, 2e-6),
    (B.zcdp_route(0.5, 1e-5, conversion="bun-steinke").epsilon, 0.5 + 2 * math.sqrt(0.5 * math.log(1e5))),
    (B.classical_gaussian(0.5, 1e-5, sensitivity=2).scale, math.sqrt(2 * math.log(1.25e5)) * 4),
    (B.laplace_basic(1.0, n=10, sensitivity=3).scale, 30),
    (B.laplace_advanced(1.0, 1e-6, n=1000).scale, math.sqrt(500 * (4 * math.log(1e6) + 4))),
    (B.basic_composition([], n=3).epsilon, 0),
]


@pytest.mark.parametrize(("result", "number"), TEXTBOOK)
def test_compositions_equal_textbook_numbers(result, number):
    assert result == pytest.approx(number, rel=1e-12)


def test_optimal_composition_equals_theorem():
    """KOV: for i = 0..n/2, ((n - 2i) eps, 1 - (1 - delta)^n (1 - delta_i)) with binomial sums delta_i."""
    n, e, d = 20, 0.3, 1e-4
    with mpmath.workdps(30):
        x = mpmath.exp(mpmath.mpf(e))
        for i in (1, 3, 6):
            terms = [mpmath.binomial(n, j) * (x ** (n - j) - x ** (n - 2 * i + j)) for j in range(i)]
            listed = 1 - (1 - mpmath.mpf(d)) ** n * (1 - mpmath.fsum(terms) / (1 + x) ** n)
            result = B.optimal_composition(e, d, n=n, at_delta=float(listed) * (1 + 1e-12)).epsilon
            assert result == pytest.approx((n - 2 * i) * e, abs=1e-8)


def test_exact_gaussian_equals_balls():
    for epsilon, delta, sensitivity in ((0.5, 1e-5, 1.0), (4.0, 1e-9, 3.0), (0.0, 1e-3, 1.0)):
        scale = B.exact_gaussian(epsilon, delta, sensitivity=sensitivity).scale
        assert delta * (1 - 1e-10) < Gaussian(ball(sensitivity) / ball(scale)).delta(epsilon) <= ball(delta)


@pytest.mark.parametrize("delta", [1e-300, 0.99])
def test_classical_gaussian_is_looser_than_exact_and_takes_any_delta(delta):
    classical, exact = B.classical_gaussian(0.99, 1e-5), B.exact_gaussian(0.99, 1e-5)
    assert classical.scale > exact.scale
    assert classical.guarantee().delta(0.99) <= 1e-5
    with mpmath.workdps(30):
        sigma = mpmath.sqrt(2 * mpmath.log(mpmath.mpf(1.25) / mpmath.mpf(delta))) / 0.5
        assert sigma <= B.classical_gaussian(0.5, delta).scale <= sigma * (1 + 1e-14)


@given(log_uniform(0.01, 1.0), st.integers(1, 300), log_uniform(1e-9, 1e-2), st.sampled_from([0.0, 1e-7]))
@settings(max_examples=25, deadline=None)
def test_compositions_are_above_exact_epsilon(e, n, slack, d):
    curve = to.approximate_dp(e, d) ** n
    advanced = (B.advanced_composition(e, d, n=n, slack=slack, **form) for form in ({}, {"form": "k-fold"}))
    result = [B.basic_composition(e, d, n=n), *advanced]
    for baseline in result:
        assert curve.bounds.delta(baseline.epsilon).lower <= baseline.delta
    best = B.optimal_composition(e, d, n=n, at_delta=result[1].delta).epsilon
    assert best <= min(result[0].epsilon if d == 0 else math.inf, result[1].epsilon, result[2].epsilon)


@given(log_uniform(0.05, 3.0), log_uniform(1e-12, 1e-2))
@settings(max_examples=25, deadline=None)
def test_conversions_are_above_gaussian(mu, delta):
    exact = to.Gaussian(mu).epsilon(delta)
    optimal, simple = B.zcdp_route(mu**2 / 2, delta), B.zcdp_route(mu**2 / 2, delta, conversion="bun-steinke")
    renyi = B.renyi_route(to.Gaussian(mu), delta)
    assert exact <= optimal.epsilon <= simple.epsilon
    assert optimal.epsilon <= renyi.epsilon * (1 + 1e-9)  # fewer orders are tried


@given(log_uniform(0.1, 5.0), log_uniform(1e-9, 1e-2), st.integers(1, 50))
@settings(max_examples=15, deadline=None)
def test_laplace_calibrations_meet_epsilon(epsilon, delta, n):
    assert B.laplace_basic(epsilon, n=n).guarantee().epsilon(0) <= epsilon * (1 + 1e-14)
    noise = B.laplace_advanced(epsilon, delta, n=n)
    each = to.PureDP(1 / noise.scale)  # below Laplace noise's own curve
    assert (each**n).bounds.delta(epsilon).lower <= delta


def test_renyi_route_is_above_exact_in_both_orders():
    step = to.subsample(to.Gaussian(1.25), 0.005)
    envelope = (step**1000).symmetrise(assume="either-order")
    result = [B.renyi_route(curve, 1e-6).epsilon for curve in (step**1000, ~(step**1000), envelope)]
    assert result[2] == max(result)
    assert 2.004 < result[0] < 2.7  # the exact value is 2.0040


def test_renyi_divergence_encloses_integrals_and_its_route_is_of_one_order():
    curve, alpha = ~to.subsample(to.Gaussian(1.0), 0.1), np.linspace(0, 1, 101)
    result = B.renyi_route(curve, 0.03)
    guarantee = result.guarantee()
    assert not guarantee.symmetric
    assert np.all(guarantee(alpha) <= curve.bounds(alpha).upper)
    assert guarantee.delta(result.epsilon) == pytest.approx(0.03)
    both = to.approximate_dp(result.epsilon, 0.03)
    assert np.any(both(alpha) > curve.bounds(alpha).upper)  # both orders would be too much
    results = B.basic_composition(0.1), B.zcdp_route(0.1, 1e-5), B.classical_gaussian(0.5, 1e-5)
    for result in (*results, B.laplace_basic(1.0)):
        assert result.name
        assert result.source
    guarantee = B.advanced_composition(0.1, n=100, slack=1e-6).guarantee()
    assert 0 < guarantee(0.01) <= (to.PureDP(0.1) ** 100).bounds(0.01).upper
    for order in (1.5, 4.0, 32.0):
        for curve in (to.PureDP(0.7), to.Laplace(0.7), to.Gaussian(0.7)):
            result = renyi_divergence(curve, order)
            assert curve.renyi(order) * (1 - 1e-13) <= result <= curve.renyi(order) * (1 + 1e-5)
    p, mu, order = 0.01, 1.25, 4
    with mpmath.workdps(30):
        ratio = lambda x: 1 - p + p * mpmath.exp(mu * x - mpmath.mpf(mu) ** 2 / 2)  # noqa: E731 - a formula
        moment = mpmath.quad(
            lambda x: ratio(x) ** order * mpmath.npdf(x), [-mpmath.inf, -3, 0, 2, 4, 6, 9, mpmath.inf]
        )
        truth = mpmath.log(moment) / (order - 1)
        result = renyi_divergence(to.subsample(to.Gaussian(mu), p), order)
        assert truth <= result <= truth * (1 + 1e-3)
    bounded = to.PiecewiseLinear([0, 0.9], [1, 0])  # L = log(1/0.9) wherever Q is
    assert renyi_divergence(bounded, 2.0) == pytest.approx(-math.log(0.9), rel=1e-12)
    assert renyi_divergence(bounded, 2.0) >= -math.log(0.9) * (1 - 1e-16)
    assert renyi_divergence(~bounded, 2.0) == math.inf
    assert B.renyi_route(to.TotalVariation(0.1), 1e-5).epsilon == math.inf
