"""The profile of an envelope is the larger of its orders', where one of them is not asked, too."""

from functools import reduce
from operator import matmul

import mpmath
import numpy as np
import pytest

import tradeoff as to
from tradeoff.accounting.contour import engine as contour
from tradeoff.accounting.lattice.engine import LatticeEngine
from tradeoff.errors import PrecisionError

LOSSES = np.array([-3.0, 0.0, 0.7, 1.5, 3.0, 4.5, 6.0, 8.5, 12.0, 17.0, 30.0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [
        to.subsample(to.Gaussian(2), 1e-4) ** 10**5,
        to.subsample(to.Gaussian(1), 0.01) ** 1000,
        to.subsample(to.Laplace(2), 0.1) ** 20,
        to.subsample(to.approximate_dp(1, 1e-6), 0.3) ** 5,
        to.subsample(to.Gaussian(1), 0.5) @ to.Laplace(0.3),
    ],
    ids=repr,
)
def test_the_profile_is_the_larger_one(order):
    envelope = order.symmetrise(assume="either-order")
    result, orders = envelope.bounds.delta(LOSSES), [f.bounds.delta(LOSSES) for f in (order, ~order)]
    assert np.all(result.lower <= np.maximum(*(each.upper for each in orders)))
    assert np.all(np.maximum(*(each.lower for each in orders)) <= result.upper)
    for each, low, high in zip(LOSSES, *result, strict=True):
        assert tuple(envelope.bounds.delta(float(each))) == (low, high)


def test_an_order_below_the_other_is_not_asked():
    order = to.subsample(to.Gaussian(1), 0.01) ** 1000
    given = order.symmetrise(assume="either-order").explain(delta=1e-5)
    assert len(given.steps) == 1
    assert given.bounds == order.bounds.epsilon(1e-5)


@pytest.mark.parametrize(
    "order",
    [
        to.subsample(to.Gaussian(0.5), 0.01) ** 1000,
        pytest.param(to.subsample(to.Laplace(2), 0.1) ** 20, marks=pytest.mark.slow),
        to.subsample(to.approximate_dp(1, 1e-6), 0.3) ** 5,
    ],
    ids=repr,
)
def test_epsilon_is_the_larger_one_in_whatever_order(order):
    deltas = np.array([0.0, 1e-7, 1e-5, 1e-3, 0.1, 0.9])
    larger = np.maximum(*(list(f.bounds.epsilon(deltas)) for f in (order, ~order)))
    for envelope in (order.symmetrise(assume="either-order"), (~order).symmetrise(assume="either-order")):
        low, high = envelope.bounds.epsilon(deltas)
        assert np.array_equal(low, larger[0])
        assert np.all(high <= larger[1])


@pytest.mark.parametrize("alpha", [1e-6, 0.1, 0.9, 1 - 1e-15])
def test_one_beta_of_an_envelope_takes_few_lines(alpha, monkeypatch):
    """Its supremum is sampled where those of the orders are expected, and each sample may take a line."""
    drawn = []

    def counted(*args, draw=contour.evaluate_line):
        drawn.append(args)
        return draw(*args)

    monkeypatch.setattr(contour, "evaluate_line", counted)
    order = to.subsample(to.Gaussian(1), 0.01) ** 1000
    low, high = order.symmetrise(assume="either-order").bounds(alpha)
    assert high - low <= 1e-9 * high
    assert len(drawn) <= 4
    # f^-1 is f mirrored: beta is at most what either order says.
    assert low <= min(order.bounds(alpha).upper, (~order).bounds(alpha).upper)


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(to.subsample(to.Gaussian(1), 0.01) ** 1000, marks=pytest.mark.slow),
        to.Laplace(0.1) ** 100,
    ],
    ids=repr,
)
def test_a_ceiling_is_above_the_profile(order):
    for f in (order, ~order):
        assert np.all(f.ceiling(LOSSES, np.zeros(len(LOSSES))) >= f.bounds.delta(LOSSES).lower)
        assert np.all(f.ceiling(LOSSES, np.zeros(len(LOSSES)))[3:6] < 1)


@pytest.mark.parametrize("rest", [2.0**-10, 2.0**-30, 2.0**-50])
def test_beta_next_to_one_keeps_its_digits(rest):
    """The mean of randomised responses ends in the line through (1, 0) of its flattest slope, e^-1."""
    f = to.mixture({to.PureDP(1.0): 0.5, to.PureDP(0.5): 0.5})
    low, high = f.bounds(1 - rest)
    truth = mpmath.exp(-1) * rest
    assert low <= truth <= high
    assert high - low <= 1e-6 * truth


def test_a_product_of_whole_curves_refuses_at_once_what_they_cannot_tell(monkeypatch):
    """Its laws below and above are apart: no engine is asked to come closer."""
    f = to.maximum(to.Gaussian(1), to.Laplace(0.8)) ** 2
    usual = f.bounds.epsilon(1e-5)
    monkeypatch.setattr(LatticeEngine, "finer", None)
    with pytest.raises(PrecisionError) as refused:
        f.bounds.epsilon(1e-5, tol=1e-9)
    assert refused.value.reachable == usual.width


def test_epsilon_of_a_mixture_is_a_root_of_its_profile():
    f = to.mixture({to.subsample(to.Gaussian(1), 0.01) ** 1000: 0.3, to.Laplace(0.1) ** 100: 0.7})
    low, high = f.bounds.epsilon(1e-5)
    assert high - low <= 1e-5
    assert f.bounds.delta(low).upper >= 1e-5 >= f.bounds.delta(high).lower


@pytest.mark.parametrize("alpha", [1e-300, 1e-16, 1e-6, 0.01, 0.5, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("rate", [1e-3, 0.3, 0.9])
def test_the_other_order_of_a_sampled_minimum_is_its_inverse(alpha, rate):
    """Of f^-1(alpha) = t: f is no more than alpha at t, and no less before it."""
    order = to.subsample(to.minimum(to.PureDP(0.3), to.Gaussian(0.5)), rate)
    result = (~order).bounds(alpha)
    assert result.width <= 1e-10
    assert order.bounds(result.upper).lower <= alpha
    assert order.bounds(result.lower).upper >= alpha


def test_order_that_does_not_decide_is_not_refined_to_the_tolerance():
    order = to.subsample(to.Gaussian(1), 1e-5) ** 10**6
    envelope = order.symmetrise(assume="either-order").bounds.epsilon(1e-5, tol=1e-8)
    assert envelope.width <= 1e-8
    assert envelope == order.bounds.epsilon(1e-5)


def test_order_bounded_below_the_answer_takes_no_quadrature(monkeypatch):
    """Its losses sum to less than the epsilon of the other order, so delta is 0 there."""
    order = reduce(matmul, (to.subsample(to.Gaussian(1 / s), 0.02) for s in np.linspace(0.6, 0.9, 30)))
    expected = order.bounds.epsilon(1e-9)
    assert (~order).sup_loss < expected.lower
    monkeypatch.setattr(contour, "try_chernoff", None)
    assert order.symmetrise(assume="either-order").bounds.epsilon(1e-9) == expected
