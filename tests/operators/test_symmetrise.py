"""The profile of an envelope is the larger of its orders, also where one of them is not evaluated."""

from functools import reduce
from operator import matmul

import numpy as np
import pytest
from flint import arb

import tradeoff as to
from tests.truth.balls import cumulative
from tests.truth.built import built
from tests.truth.claims import check
from tests.truth.continuous import Gaussian
from tests.truth.operators import ReversedPLD, Subsampled
from tradeoff.accounting.contour import engine as contour


def test_symm_keeps_mass_at_infinity():
    f = to.subsample(to.approximate_dp(1.0, 0.1), 0.5)  # Q(L = inf) = 0.05, P(L = -inf) = 0
    g = f.symmetrise(assume="profile")
    assert g.delta(np.inf) >= 0.05
    assert g.epsilon(0.01) == np.inf
    assert g(0.0) <= 0.95


def test_symm_bounds_largest_loss():
    g = to.subsample(to.PureDP(1.0), 0.5).symmetrise(assume="profile")
    low, high = g.bounds.epsilon(0.0)
    assert low - 1e-12 <= np.log1p(0.5 * np.expm1(1.0)) <= high


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(to.subsample(to.Gaussian(2), 0.3), marks=pytest.mark.slow),
        pytest.param(to.subsample(to.Gaussian(1), 0.01) ** 100, marks=pytest.mark.slow),
        to.subsample(to.Laplace(1), 0.2),
    ],
)
def test_symm_keeps_profile(f):
    g = f.symmetrise(assume="profile")
    for epsilon in (0.0, 0.1, 0.4):
        low, high = g.bounds.delta(epsilon, tol=1e-7)
        truth = f.bounds.delta(epsilon)
        assert low <= truth.upper
        assert truth.lower <= high
    low, high = g.bounds.epsilon(1e-3, tol=1e-8)
    assert low <= f.bounds.epsilon(1e-3).upper
    assert f.bounds.epsilon(1e-3).lower <= high
    assert high - low <= 1e-8


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
    far = (to.subsample(to.Gaussian(1), 0.01) ** 1000 @ to.Gaussian(40) @ to.Laplace(30)).symmetrise(
        assume="profile"
    )
    assert far(0.1) <= far.bounds(0.1).upper <= 1e-290


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
def test_envelope_delta_is_larger_of_both_orders(order):
    envelope = order.symmetrise(assume="either-order")
    result, orders = envelope.bounds.delta(LOSSES), [f.bounds.delta(LOSSES) for f in (order, ~order)]
    assert np.all(result.lower <= np.maximum(*(each.upper for each in orders)))
    assert np.all(np.maximum(*(each.lower for each in orders)) <= result.upper)
    for each, low, high in zip(LOSSES, *result, strict=True):
        assert tuple(envelope.bounds.delta(float(each))) == (low, high)


def test_envelope_skips_the_smaller_order():
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
    drawn = []

    def counted(*args, draw=contour.evaluate_line):
        drawn.append(args)
        return draw(*args)

    monkeypatch.setattr(contour, "evaluate_line", counted)
    order = to.subsample(to.Gaussian(1), 0.01) ** 1000
    low, high = order.symmetrise(assume="either-order").bounds(alpha)
    assert high - low <= 1e-9 * high
    assert len(drawn) <= 4
    # f^-1 is f mirrored: beta is at most that of either order.
    assert low <= min(order.bounds(alpha).upper, (~order).bounds(alpha).upper)


def test_envelope_refines_only_the_larger_order():
    order = to.subsample(to.Gaussian(1), 1e-5) ** 10**6
    envelope = order.symmetrise(assume="either-order").bounds.epsilon(1e-5, tol=1e-8)
    assert envelope.width <= 1e-8
    assert envelope == order.bounds.epsilon(1e-5)


def test_envelope_with_bounded_smaller_order_takes_no_quadrature(monkeypatch):
    """Its losses sum to less than the epsilon of the other order, so delta is 0 there."""
    order = reduce(matmul, (to.subsample(to.Gaussian(1 / s), 0.02) for s in np.linspace(0.6, 0.9, 30)))
    expected = order.bounds.epsilon(1e-9)
    assert (~order).sup_loss < expected.lower
    monkeypatch.setattr(contour, "try_chernoff", None)
    assert order.symmetrise(assume="either-order").bounds.epsilon(1e-9) == expected
