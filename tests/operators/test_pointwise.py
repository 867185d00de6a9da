"""Maxima, minima, mixtures, groups and envelopes of whole curves, against balls."""

from fractions import Fraction
from functools import reduce
from itertools import product
from operator import matmul

import mpmath
import numpy as np
import pytest
from flint import arb

import tradeoff as to
from tests.truth.atoms import PureDP
from tests.truth.balls import cumulative
from tests.truth.built import built
from tests.truth.claims import check
from tests.truth.continuous import Gaussian
from tests.truth.operators import Group, Maximum, Product, ReversedPLD, Subsampled
from tradeoff.accounting.contour.line import Factors
from tradeoff.accounting.lattice.engine import LatticeEngine
from tradeoff.errors import DomainError, PrecisionError


@pytest.mark.parametrize("rate", [1e-3, 0.3, 0.9])
def test_inverse_of_sampled_minimum_inverts_beta(rate):
    """Of f^-1(alpha) = t: f is at most alpha at t, and at least alpha before it."""
    order = to.subsample(to.minimum(to.PureDP(0.3), to.Gaussian(0.5)), rate)
    for alpha in (1e-300, 1e-16, 1e-6, 0.01, 0.5, 0.99, 1 - 1e-9):
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


def test_epsilon_of_products_reaches_tolerance():
    f, g = to.subsample(to.Gaussian(1), 0.01) ** 1000, to.subsample(to.Gaussian(0.8), 0.02) ** 500
    low, high = to.mixture({f: 0.25, g: 0.75}).bounds.epsilon(1e-5, tol=1e-8)
    assert high - low <= 1e-8
    assert 0.25 * f.bounds.delta(high).lower + 0.75 * g.bounds.delta(high).lower <= 1e-5
    assert 0.25 * f.bounds.delta(low).upper + 0.75 * g.bounds.delta(low).upper >= 1e-5 * (1 - 1e-15)


@pytest.mark.parametrize("rest", [2.0**-10, 2.0**-30, 2.0**-50])
def test_beta_near_one_keeps_digits(rest):
    """The mean of randomised responses ends in the line through (1, 0) of its flattest slope, e^-1."""
    f = to.mixture({to.PureDP(1.0): 0.5, to.PureDP(0.5): 0.5})
    check(f.bounds(1 - rest), mpmath.exp(-1) * rest, 1e-6)


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
    assert f.distance(to.Gaussian(1.0)).upper == 0
    assert to.mixture({g: 0.5 - 4e-13, to.PureDP(2.0): 0.5 - 4e-13}).delta(-800.0) == 1


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


ROUNDS = Product(((PureDP(0.4), 3),))
PAIRS = {
    "smooth and polygon": Maximum((Subsampled(Gaussian(2), 0.3), ROUNDS)),
    "two smooth": Maximum((Subsampled(Gaussian(3), 0.1), Subsampled(Gaussian(1), 0.8))),
}


def test_epsilon_of_maximum_of_atoms_is_that_of_one():
    f = to.maximum(*(to.mechanisms.DiscreteGaussian(sigma=s).curve() for s in (1, 2)))
    check(f.bounds.epsilon(1e-12), mpmath.mpf("3.3912617430908868755"), 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon"), [*product(PAIRS, (0.01, 0.25, 0.5, 0.6))])
def test_delta_and_epsilon_of_maximum_reach_tolerance(name, epsilon):
    f, truth = built(PAIRS[name]), PAIRS[name].delta(epsilon)
    assert truth.rel_accuracy_bits() > 50
    check(f.bounds.delta(epsilon), truth)
    for tol in (1e-6, 1e-9):
        result = f.bounds.delta(epsilon, tol=tol)
        check(result, truth)
        assert result.width <= tol * result.upper
    # epsilon(delta) falls: at a delta not below delta(eps) it is at most eps, and the other way round.
    if epsilon < 0.6:
        assert f.bounds.epsilon(float(truth) * (1 + 2**-50), tol=1e-7).lower <= epsilon
        assert f.bounds.epsilon(float(truth) * (1 - 2**-50), tol=1e-7).upper >= epsilon


@pytest.mark.parametrize("k", [2, 3])
def test_group_of_randomised_response_matches_chain(k):
    f, spec = built(ROUNDS), Group(ROUNDS, k)
    for epsilon in (0.1, 0.8, 2.0):
        check(f.group(k).bounds.delta(epsilon, tol=1e-6), spec.delta(epsilon))


def test_symm_keeps_mass_at_infinity_and_bounds_largest_loss():
    f = to.subsample(to.approximate_dp(1.0, 0.1), 0.5)  # Q(L = inf) = 0.05, P(L = -inf) = 0
    g = f.symmetrise(assume="profile")
    assert g.delta(np.inf) >= 0.05
    assert g.epsilon(0.01) == np.inf
    assert g(0.0) <= 0.95
    low, high = to.subsample(to.PureDP(1.0), 0.5).symmetrise(assume="profile").bounds.epsilon(0.0)
    assert low - 1e-12 <= np.log1p(0.5 * np.expm1(1.0)) <= high


@pytest.mark.slow
def test_symm_beta_is_f_then_line_then_inverse():
    """Its beta was a root of suprema, and took minutes where losses are in the hundreds."""
    spec = Subsampled(Gaussian(2), 0.3)
    g = built(spec).symmetrise(assume="profile")
    turn = cumulative(arb(-1))  # f' = -1 at a likelihood ratio of 1: z = mu/2
    level = turn + spec.curve(turn)
    mirrored = level - turn
    for alpha in (1e-9, 0.05, float(turn), 0.3, float(mirrored), 0.7, 0.99, 1 - 1e-9):
        below = spec if alpha <= turn else ReversedPLD(spec) if alpha > mirrored else None
        result = g.bounds(alpha)
        check(result, below.beta(alpha) if below else level - alpha)
        assert result.width <= 1e-8 * min(result.upper, 1 - alpha - result.lower) + 1e-18
    far = to.subsample(to.Gaussian(1), 0.01) ** 1000 @ to.Gaussian(40) @ to.Laplace(30)
    far = far.symmetrise(assume="profile")
    assert far(0.1) <= far.bounds(0.1).upper <= 1e-290


@pytest.mark.parametrize(
    "order",
    [
        to.subsample(to.Gaussian(0.5), 0.01) ** 1000,
        pytest.param(to.subsample(to.Laplace(2), 0.1) ** 20, marks=pytest.mark.slow),
        to.subsample(to.approximate_dp(1, 1e-6), 0.3) ** 5,
    ],
    ids=repr,
)
def test_envelope_epsilon_is_larger_of_both_orders(order):
    deltas = np.array([0.0, 1e-7, 1e-5, 1e-3, 0.1, 0.9])
    larger = np.maximum(*(list(f.bounds.epsilon(deltas)) for f in (order, ~order)))
    for envelope in (order.symmetrise(assume="either-order"), (~order).symmetrise(assume="either-order")):
        low, high = envelope.bounds.epsilon(deltas)
        assert np.array_equal(low, larger[0])
        assert np.all(high <= larger[1])


@pytest.mark.parametrize("alpha", [1e-6, 0.1, 0.9, 1 - 1e-15])
def test_envelope_beta_takes_few_contours(alpha, monkeypatch):
    """Its supremum is sampled where those of the orders are expected, and each sample may take a line."""
    drawn = set()  # a line is drawn once

    def counted(*args, draw=Factors.line):
        drawn.add(args)
        return draw(*args)

    monkeypatch.setattr(Factors, "line", counted)
    order = to.subsample(to.Gaussian(1), 0.01) ** 1000
    low, high = order.symmetrise(assume="either-order").bounds(alpha)
    assert high - low <= 1e-9 * high
    assert len(drawn) <= 4
    # f^-1 is f mirrored: beta is at most that of either order.
    assert low <= min(order.bounds(alpha).upper, (~order).bounds(alpha).upper)


def test_envelope_takes_the_larger_order_alone(monkeypatch):
    order = to.subsample(to.Gaussian(1), 1e-5) ** 10**6
    envelope = order.symmetrise(assume="either-order").bounds.epsilon(1e-5, tol=1e-8)
    assert envelope.width <= 1e-8
    assert envelope == order.bounds.epsilon(1e-5)
    # losses of the other order sum to less than this epsilon, so delta is 0 there
    order = reduce(matmul, (to.subsample(to.Gaussian(1 / s), 0.02) for s in np.linspace(0.6, 0.9, 30)))
    expected = order.bounds.epsilon(1e-9)
    assert (~order).sup_loss < expected.lower
    monkeypatch.setattr(Factors, "_chernoff", None)
    assert order.symmetrise(assume="either-order").bounds.epsilon(1e-9) == expected


def test_products_of_envelopes_keep_rare_losses_next_to_losses_near_0():
    # Losses of -8e-10 and 8e-10 are not one, though all losses lie nearly on one lattice.
    f = to.subsample(to.from_masses([4e-12, 1 - 4e-12], [2.07168e-05, 1 - 2.07168e-05]), 4e-5)
    low, high = (f.symmetrise(assume="either-order") ** 2).bounds.delta(1.0)
    assert low <= high <= low * (1 + 1e-9)
    assert (f**2).bounds.delta(1.0).lower <= high
