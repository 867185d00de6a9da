"""Maxima, minima, mixtures and products of whole curves."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import tradeoff as to
from tradeoff.accounting.lattice.engine import LatticeEngine
from tradeoff.errors import DomainError, PrecisionError


@pytest.mark.parametrize("alpha", [1e-300, 1e-16, 1e-6, 0.01, 0.5, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("rate", [1e-3, 0.3, 0.9])
def test_inverse_of_sampled_minimum_inverts_beta(alpha, rate):
    """Of f^-1(alpha) = t: f is at most alpha at t, and at least alpha before it."""
    order = to.subsample(to.minimum(to.PureDP(0.3), to.Gaussian(0.5)), rate)
    result = (~order).bounds(alpha)
    assert result.width <= 1e-10
    assert order.bounds(result.upper).lower <= alpha
    assert order.bounds(result.lower).upper >= alpha


def test_product_of_whole_curves_refuses_narrow_tolerance_at_once(monkeypatch):
    """Its laws below and above are apart: no engine refines them."""
    f = to.maximum(to.Gaussian(1), to.Laplace(0.8)) ** 2
    usual = f.bounds.epsilon(1e-5)
    monkeypatch.setattr(LatticeEngine, "refine", None)
    with pytest.raises(PrecisionError) as refused:
        f.bounds.epsilon(1e-5, tol=1e-9)
    assert refused.value.reachable == usual.width


def test_mixture_normalises_weights():
    f = to.mixture({to.PureDP(1.0): 0.5 - 4e-13, to.PureDP(2.0): 0.5 - 4e-13})
    assert f.delta(-800.0) == 1


def test_epsilon_of_products_reaches_tolerance():
    f, g = to.subsample(to.Gaussian(1), 0.01) ** 1000, to.subsample(to.Gaussian(0.8), 0.02) ** 500
    both = to.mixture({f: 0.25, g: 0.75})
    low, high = both.bounds.epsilon(1e-5, tol=1e-8)
    assert high - low <= 1e-8
    assert 0.25 * f.bounds.delta(high).lower + 0.75 * g.bounds.delta(high).lower <= 1e-5
    assert 0.25 * f.bounds.delta(low).upper + 0.75 * g.bounds.delta(low).upper >= 1e-5 * (1 - 1e-15)


@pytest.mark.parametrize("rest", [2.0**-10, 2.0**-30, 2.0**-50])
def test_beta_near_one_keeps_digits(rest):
    """The mean of randomised responses ends in the line through (1, 0) of its flattest slope, e^-1."""
    f = to.mixture({to.PureDP(1.0): 0.5, to.PureDP(0.5): 0.5})
    low, high = f.bounds(1 - rest)
    truth = mpmath.exp(-1) * rest
    assert low <= truth <= high
    assert high - low <= 1e-6 * truth


def test_shares_that_round_alike_are_ordered():
    """Of weights that add to 1 within 1e-12 floats of the shares are the same, the shares are not."""
    one = {to.Gaussian(1): 0.3144644841707095, to.Identity(): 0.6855355158292907}
    two = {to.Gaussian(1): 0.31446448417070944, to.Identity(): 0.6855355158292906}
    first, second = (Fraction(w[to.Gaussian(1)]) / sum(map(Fraction, w.values())) for w in (one, two))
    f, g = to.mixture(one), to.mixture(two)
    assert first > second
    assert float(first) == float(second)
    assert f != g
    assert f.shares == (first, 1 - first)
    assert g >= f
    with pytest.raises(to.errors.Undecided):  # the shares differ by less than a unit of a float
        assert f >= g


@pytest.mark.parametrize("pool", [to.maximum, to.minimum])
def test_nested_operators_are_one(pool):
    f, g, h = to.Gaussian(1.0), to.PureDP(1.0), to.Laplace(2.0) ** 2
    assert pool(pool(f, g), pool(h, f)) == pool(f, g, h)
    assert pool(pool(f, g), f, g) == pool(f, g)


def test_distance_of_equal_curves_is_zero():
    assert to.Gaussian(1.0).distance(to.Gaussian(1.0)).upper == 0


def test_conjugate_at_ends_is_exact():
    dual = to.approximate_dp(1.0, 0.1).dual()
    assert list(dual.conjugate([-np.inf, 0.0, 2.0, np.inf])) == pytest.approx([-0.9, 0.0, 2.0, np.inf])
    assert dual.conjugate(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(DomainError, match="NaN"):
        dual.conjugate([0.0, np.nan])


@pytest.mark.slow
@pytest.mark.parametrize("n", [312, 10**6, 10**9])
def test_large_power_of_exact_curve_stays_symbolic(n):
    f = to.PiecewiseLinear([0, Fraction(1, 4), 1], [1, Fraction(1, 4), 0]) ** n
    assert 0 <= f(0.1) <= 1e-60
    assert f.delta(0.5) == pytest.approx(1)
