import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import log_uniform, subsampled, symmetric_families
from tradeoff.conversions import ZeroConcentrated, from_renyi, from_zcdp

ALPHAS = np.concatenate([[0.0], np.geomspace(1e-30, 0.5, 40), 1 - np.geomspace(0.45, 1e-12, 30), [1.0]])


def bernoulli(x, y, t):
    if t == 1:
        return x * mpmath.log(x / y) + (1 - x) * mpmath.log((1 - x) / (1 - y))
    return mpmath.log(x**t * y ** (1 - t) + (1 - x) ** t * (1 - y) ** (1 - t)) / (t - 1)


def allowed(alpha, bounds, *, both=True):
    """Least beta that no order excludes, by bisection in 60 digits."""
    with mpmath.workdps(45):
        y, low, high = mpmath.mpf(alpha), mpmath.mpf(10) ** -40, 1 - mpmath.mpf(alpha)

        def excluded(beta):
            x = 1 - beta
            return any(
                bernoulli(y, x, mpmath.mpf(t)) > d or (both and bernoulli(x, y, mpmath.mpf(t)) > d)
                for t, d in bounds.items()
            )

        if not excluded(low):
            return mpmath.mpf(0)
        for _ in range(44):
            middle = mpmath.sqrt(low * high) if low * 4 < high else (low + high) / 2
            low, high = (middle, high) if excluded(middle) else (low, middle)
        return high


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "xi"), [(0.5, 0.0), (0.01, 0.0), (5.0, 0.0), (0.1, 0.3)])
def test_from_zcdp_is_optimal(rho, xi):
    orders = [1.0, *(1 + np.geomspace(0.01, 100, 30))]
    bounds = {t: xi + rho * t for t in orders}
    f = from_zcdp(rho, xi)
    for alpha in (1e-6, 0.3):
        result, truth = f(alpha), allowed(alpha, bounds)
        # Thirty orders leave out some 1e-3 of what all of them exclude.
        assert truth * (1 - 2e-3) <= result <= truth * (1 + 1e-2)


def test_losses_of_both_orders_of_a_constant_are_its_ends():
    """(1 - alpha) e^-xi has one finite loss."""
    f = ZeroConcentrated(0.0, 0.5)
    assert (f.loss_bounds, f.inverse().loss_bounds) == (to.Bounds(0.5, 0.5), to.Bounds(-0.5, -0.5))


def test_from_zcdp_half_equals_paper_and_order_infinity_is_pure_dp():
    """Riess et al. 2026: 0.516 at alpha = 0.1, where the conversion of each order alone gives 0.481."""
    f = from_zcdp(0.5)
    # Supremum over orders of the least beta, by direct search: .5162717 and .875411.
    assert 0.51626 < f(0.1) < 0.516272
    assert 0.87540 < f(0.01) < 0.875411
    assert f.symmetric
    assert np.all(f(ALPHAS) <= to.Gaussian(1).bounds(ALPHAS).upper)
    for rho in (0.5, 900.0):  # of which delta(0) is nearly 1
        route, epsilon = to.baselines.zcdp_route(rho, 1e-5).epsilon, from_zcdp(rho).epsilon(1e-5)
        assert route * (1 - 1e-3) < epsilon <= route * (1 + 1e-12)
    f = from_renyi({math.inf: 1.0})
    assert f <= to.PureDP(1.0) == f
    assert (f.sup_loss, f.delta(1.0), f.exact) == (1.0, 0.0, False)
    assert from_renyi({math.inf: 10_001.0}) == to.TotalVariation(1.0)


TINY = {a: 2e-4 * a for a in (2.0, 8.0, 64.0)}
FAR = {1.0: 0.3, 1.5: 0.4, 4.0: 1.0, 32.0: 6.0}


@pytest.mark.parametrize(
    ("bounds", "assume", "alphas"),
    [
        pytest.param(FAR, "both-orders", (1e-4, 0.05, 0.3, 0.9), marks=pytest.mark.slow),
        (FAR, "one-order", (1e-4, 0.05, 0.3, 0.9)),
        (TINY, "one-order", (1e-9, 1e-6, 1e-4)),
    ],
)
def test_from_renyi_is_optimal(bounds, assume, alphas):
    f = from_renyi(bounds, assume=assume)
    for alpha in alphas:
        truth = allowed(alpha, bounds, both=assume == "both-orders")
        assert f(alpha) <= truth * (1 + (1e-12 if bounds is FAR else 0))
        assert truth - (3e-3 * truth + 1e-12 if bounds is FAR else 2e-5) <= f(alpha)


@pytest.mark.slow
@settings(max_examples=12)
@given(
    st.one_of(symmetric_families, subsampled, subsampled.map(lambda f: ~f)),
    st.lists(log_uniform(1.0, 200.0), min_size=1, max_size=4),
    st.booleans(),
)
def test_from_renyi_is_below_curve(f, orders, both):
    each = [f, ~f] if both else [f]
    g = from_renyi(
        {a: max(h.renyi(a) for h in each) for a in orders}, assume="both-orders" if both else "one-order"
    )
    for h in each:
        assert np.all(g(ALPHAS) <= h.bounds(ALPHAS).upper)


@pytest.mark.slow
@settings(max_examples=8)
@given(log_uniform(1e-12, 100.0))
def test_from_zcdp_is_below_gaussian(rho):
    mu = math.sqrt(2 * rho) * (1 - 1e-15)
    assert np.all(from_zcdp(rho)(ALPHAS) <= to.Gaussian(mu).bounds(ALPHAS).upper)


@pytest.mark.slow
def test_conversions_at_ends_and_of_a_function_of_the_order():
    assert from_zcdp(0) == to.Identity() == from_renyi({2: 0.0}) == from_renyi({3: 0.0}, assume="one-order")
    assert from_renyi({2: math.inf}) == to.TotalVariation(1.0)
    assert from_renyi({math.inf: 800.0}).delta(700.0) > 0.99
    assert from_zcdp(1e6)(0.5) == 0
    assert 1 - 1e-9 < 2 * from_zcdp(1e-20)(0.5) < 1
    assert 0 < from_renyi({1.0: 0.5})(0.0) < 1
    step = to.subsample(to.Gaussian(1.0), 0.1) ** 20
    f = from_renyi(lambda a: max(step.renyi(a), (~step).renyi(a)) if a < 200 else math.inf)
    assert np.all(f(ALPHAS[10:-10:6]) <= step.bounds(ALPHAS[10:-10:6]).upper)
    assert f.delta(1.0) < 3 * step.delta(1.0)
