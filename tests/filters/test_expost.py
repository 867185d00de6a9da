"""Ex-post losses, their filter, and zCDP steps and ex-post releases side by side."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import log_uniform
from tradeoff import Gaussian, Laplace, PureDP, approximate_dp
from tradeoff.errors import BudgetExceeded, DomainError, KindError
from tradeoff.filters import (
    ConcurrentFilter,
    ExPost,
    ExPostFilter,
    Filter,
    GDPFilter,
    LaplaceNoiseReduction,
    ZCDPFilter,
)
from tradeoff.mechanisms import Laplace as LaplaceMechanism

parts = st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 1.0])


@given(log_uniform(1e-3, 10.0), log_uniform(1e-15, 0.5), st.lists(st.tuples(parts, parts), max_size=15))
def test_ex_post_sums_stay_within_the_guarantee(epsilon, delta, shares):
    budget, loss, failure = ExPostFilter(epsilon, delta), Fraction(0), Fraction(0)
    for one, other in shares:
        step = ExPost(epsilon * one, delta * other)
        if not budget.would_exceed(step):
            budget.spend(step)
            loss, failure = loss + Fraction(step.epsilon), failure + Fraction(step.delta)
    slack = 1 + Fraction(1e-12)
    assert loss <= Fraction(epsilon) * slack
    assert failure <= Fraction(delta) * slack
    guarantee = budget.guarantee()
    assert guarantee.delta(float(Fraction(epsilon) * slack) * (1 - 1e-15)) >= failure
    assert guarantee.delta(epsilon * (1 + 1e-11)) == pytest.approx(delta, rel=1e-9)


def test_ex_post_filter_equal_parts_fit():
    budget = ExPostFilter(1.0, 1e-6)
    for _ in range(10):
        budget.spend(ExPost(0.1))
    for excessive in (ExPost(1e-11), ExPost(0.0, 1.1e-6)):
        with pytest.raises(BudgetExceeded):
            budget.spend(excessive)
    budget.spend(ExPost(*budget.remaining))


def test_ex_post_filter_takes_bounded_losses_only():
    budget = ExPostFilter(2.0, 0.5)
    for step in (PureDP(0.5), Laplace(0.25), LaplaceMechanism(scale=4)):
        budget.spend(step)
    assert budget.spent.epsilon == pytest.approx(1.0)
    for step in (Gaussian(0.1), approximate_dp(0.1, 1e-9)):
        with pytest.raises(KindError, match="boundary"):
            budget.spend(step)
    with pytest.raises(KindError, match="a step must be"):
        budget.spend(0.1)
    assert budget.spent.epsilon == pytest.approx(1.0)


def test_gdp_filter_refuses_ex_post_loss():
    with pytest.raises(KindError, match="a step must be"):
        GDPFilter(1.0).spend(ExPost(0.1))


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "x"])
def test_ex_post_bad_parameters_raise(bad):
    for make in (
        ExPost,
        ExPostFilter,
        lambda delta: ExPost(1.0, delta),
        lambda delta: ExPostFilter(1.0, delta),
    ):
        with pytest.raises(DomainError):
            make(bad)


def test_concurrent_filter_charges_two_budgets():
    budget = ConcurrentFilter(1.0, 1e-6, ex_post_epsilon=0.5, ex_post_delta=1e-7)
    alone = ZCDPFilter(1.0, 1e-6)
    for _ in range(2):
        budget.spend(to.Gaussian(0.1))
        alone.spend(to.Gaussian(0.1))
        budget.spend(ExPost(0.2, 4e-8))
    assert budget.spent[:2] == alone.spent
    assert budget.spent[2:] == pytest.approx((0.4, 8e-8), rel=1e-15)
    for step in (ExPost(0.2), ExPost(0.1, 4e-8), to.Gaussian(0.2)):
        with pytest.raises(BudgetExceeded):
            budget.spend(step)
    assert Filter.from_state(budget.state()).state() == budget.state()
    whole = budget.guarantee()
    assert whole.epsilon(1.1e-6) == pytest.approx(1.5, rel=1e-9)
    assert whole.delta(1.5) <= 1.1e-6 * (1 + 1e-6)
    session = LaplaceNoiseReduction(1.0, [0.05, 0.1], filter=budget, rng=1)
    session.refine(0.05)
    assert budget.spent.ex_post_epsilon == pytest.approx(0.45, rel=1e-15)
