"""One order, C_p(f) and its products against balls and fractions."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import exact_curves
from tests.truth.balls import cumulative
from tests.truth.built import built
from tests.truth.claims import check, overlap
from tests.truth.continuous import Laplace
from tests.truth.operators import ReversedPLD, Subsampled


@pytest.mark.parametrize("p", [1e-200, 1e-3, 0.5, 1 - 1e-12])
def test_epsilon_of_both_orders_holds_truth(p):
    spec = Subsampled(Laplace(1.5), p)
    for order in (spec, ReversedPLD(spec)):
        for delta in (0.0, 0.1 * p, 0.7 * p, 0.9):
            check(built(order).bounds.epsilon(delta), order.epsilon(delta))


def test_subsample_accepts_numpy_and_symbolic_rates():
    exact = to.PiecewiseLinear([0, 1], [1, 0])
    assert to.subsample(to.Gaussian(1.0), np.float32(0.25)) == to.subsample(to.Gaussian(1.0), 0.25)
    assert to.subsample(exact, np.float32(0.25))(0.5) == pytest.approx(0.5)
    assert to.subsample(to.Gaussian(1.0), sympy.Symbol("p", positive=True)).free_symbols


def test_subsampled_product_composes():
    """By whole curves, which hold a product that has a closed form; exactly where the product only leaks."""
    parts = to.Gaussian(0.6) @ (to.Gaussian(0.4) @ to.Gaussian(0.48**0.5) @ to.Laplace(1e-9))
    known, by_curves = (to.subsample(base, 0.1) ** 20 for base in (to.Gaussian(1.0), parts))
    for question, at in (("delta", 0.5), ("epsilon", 1e-3), ("__call__", 0.1)):
        narrow, wide = getattr(known.bounds, question)(at), getattr(by_curves.bounds, question)(at)
        assert wide.lower <= narrow.upper
        assert narrow.lower <= wide.upper + 1e-8  # the Laplace factor loses that much
        assert wide.width < 1e-2
    leaking, lost = to.subsample(to.approximate_dp(0.1, 1e-3), 0.1) ** 5, 1 - (1 - 1e-4) ** 5
    assert (leaking.mass_at_plus_infinity, leaking.delta(1.0)) == (pytest.approx(lost), pytest.approx(lost))
    assert leaking.bounds.delta(0.06).width < 1e-12


RATES = st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=30)


@given(RATES)
def test_nested_subsample_keeps_exact_rate(rates):
    curve, rate = to.TotalVariation(0.5), Fraction(1)
    for p in rates:
        curve, rate = to.subsample(curve, p), rate * Fraction(p)
    for result, truth in ((curve.bounds.delta(1.0), rate / 2), (curve.mass_at_infinity, rate / 2)):
        check(result, truth)
    check(curve.bounds(0.0), 1 - rate / 2)


def test_alternating_inverses_stay_narrow():
    curve = to.PureDP(1.0)
    for _ in range(14):
        curve = ~to.subsample(curve, 0.9)
    result = curve.bounds.delta(0.1)
    assert 0 < result.lower <= result.upper <= result.lower * (1 + 1e-9)


@pytest.mark.parametrize("turn", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_beta_of_sampled_product_reaches_tolerance(turn):
    """It was refused at 4e-5, where the product itself answers to 1e-9."""
    f = to.subsample(to.subsample(to.Gaussian(1), 0.01) ** 100 @ to.Laplace(0.1) ** 10, 0.1)
    g = ~f if turn else f
    close = g.bounds(0.05, tol=1e-9)
    result = g.bounds([0.05, 0.5], tol=1e-6)
    assert result.lower[0] <= close.lower <= close.upper <= result.upper[0]
    assert tuple(g.bounds(0.05, tol=1e-6)) == (result.lower[0], result.upper[0])
    assert (~g).bounds(close.upper, tol=1e-6).lower <= 0.05


def fixed_size(f, p):
    return to.subsample(f, p, scheme="without-replacement")


def test_epsilon_of_fixed_size_dp_sgd_is_narrow():
    F = fixed_size(to.Gaussian(1), 0.01) ** 1000
    assert to.subsample(to.Gaussian(1), 0.01).symmetrise(assume="either-order") ** 1000 == F
    assert ~F is F
    bounds = F.bounds.epsilon(1e-5)
    assert bounds.width < 1e-9
    assert bounds.lower == pytest.approx(2.19890994887, abs=1e-10)
    assert [step.engine for step in F.explain(delta=1e-5).steps] == ["contour"]


G = to.Gaussian(1.0)


def test_sampling_twice_equals_sampling_once():
    nested = fixed_size(fixed_size(G, 0.5), 0.1)
    twice, once = ((f**60).bounds.delta(0.3) for f in (nested, fixed_size(G, 0.05)))
    assert overlap(twice, once)
    assert max(twice.width, once.width) < 1e-9 * once.upper


@settings(max_examples=12, deadline=None)
@given(
    f=exact_curves.map(lambda f: f.symmetrise(assume="either-order")),
    rate=st.integers(1, 7).map(lambda k: Fraction(k, 8)),
)
def test_laws_match_polygons_in_fractions(f, rate):
    # A float rate takes the way of laws, a fraction that of vertices.
    by_law, by_vertices = fixed_size(f, float(rate)) ** 2, fixed_size(f, rate) ** 2
    x, alpha = np.array([-1.0, -0.2, 0.0, 0.3, 1.0]), np.array([0.01, 0.3, 0.9])
    assert overlap(by_law.bounds.delta(x), by_vertices.bounds.delta(x))
    assert overlap(by_law.bounds(alpha), by_vertices.bounds(alpha))


def test_fixed_size_leaks_at_both_ends():
    curve = fixed_size(to.TotalVariation(0.5), 0.25)
    law, _ = curve.laws()
    assert law.mass_at_plus_infinity == law.mass_at_minus_infinity == 0.125
    assert (curve**5).bounds.delta(100.0).lower == pytest.approx(1 - 0.875**5, rel=1e-12)
    for mu in (1e3, np.inf):
        curve = fixed_size(to.Gaussian(mu), 0.25)
        assert curve.bounds.delta(1.0).upper == pytest.approx(0.25, rel=1e-12)
        assert (curve**3).bounds.delta(1.0).upper == pytest.approx(1 - 0.75**3, rel=1e-3)


def test_beta_of_inverse_is_a_root_where_that_of_the_base_is_direct():
    assert (~to.subsample(to.maximum(to.Gaussian(1), to.Laplace(1.5)), 0.2)).bounds(0.01).width < 1e-14


@pytest.mark.parametrize("mu", [1e-3, 1.0, 6.0])
@pytest.mark.parametrize("p", [1e-300, 1e-3, 0.5, 1 - 2.0**-53])
def test_atom_at_zero_matches_60_digits(mu, p):
    low, _ = fixed_size(to.Gaussian(mu), p).laws()
    loss, log_p, slack, _ = low.atoms
    fixed_point = cumulative(-arb(mu) / 2)  # f(x) = x, and f_p(x) - x is what the chord of slope -1 spans
    mass = arb(p) * fixed_point + (1 - arb(p)) * (1 - fixed_point) - fixed_point
    assert abs(arb(log_p.item(0)).exp() / mass - 1) <= slack[0]
    assert loss.tolist() == [0.0]
    assert slack[0] < 1e-12
    assert np.sum(np.exp(low.sketch().log_p)) == pytest.approx(1.0, abs=1e-11)
