import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradeoff import Gaussian, Laplace, PureDP, approximate_dp
from tradeoff.errors import BudgetExceeded, DomainError, KindError
from tradeoff.filters import (
    BrownianMechanism,
    ExPost,
    ExPostFilter,
    Filter,
    GDPFilter,
    LinearBoundary,
    MixtureBoundary,
    UnifiedFilter,
    UnifiedZCDPFilter,
)
from tradeoff.mechanisms import DiscreteGaussian
from tradeoff.mechanisms import Laplace as LaplaceMechanism

losses = st.floats(1e-6, 0.5)


@pytest.mark.parametrize("budget", [UnifiedFilter(1.0), UnifiedZCDPFilter(0.5)])
def test_steps_and_sessions_share_one_budget_to_the_last_bit(budget):
    first, second = budget.brownian(10.0, rng=1), budget.brownian(20.0, 2.0, rng=2)
    for session, times in ((first, [64.0, 16.0]), (second, [64.0]), (first, [8.0]), (second, [16.0])):
        for time in times:
            session.refine(time)
    budget.spend(Gaussian(math.sqrt(0.5)))  # 1/8 + 4/16 + 1/2
    budget.doubling(0.0, rng=3).refine(8.0)  # and 1/8
    for more in (
        lambda: first.refine(7.99),
        lambda: budget.spend(Gaussian(1e-3)),
        lambda: budget.brownian(0.0, rng=4).refine(1e4),
    ):
        with pytest.raises(BudgetExceeded):
            more()


def test_both_forms_grant_the_same_gaussian_steps_and_the_gdp_form_guarantees_more():
    gdp, zcdp = UnifiedFilter(1.0), UnifiedZCDPFilter(0.5)
    assert [budget.would_exceed(Gaussian(mu)) for budget in (gdp, zcdp) for mu in (0.999, 1.0, 1.001)] == [
        False,
        False,
        True,
    ] * 2
    assert gdp.guarantee().epsilon(1e-6) < zcdp.guarantee().epsilon(1e-6)


def test_the_zcdp_form_takes_what_is_zcdp_only():
    zcdp = UnifiedZCDPFilter(0.5)
    zcdp.spend(DiscreteGaussian(sigma=2))
    assert zcdp.spent.rho == pytest.approx(1 / 8)


@pytest.mark.parametrize("budget", [UnifiedFilter(1.0), UnifiedZCDPFilter(0.5), ExPostFilter(1.0, 1e-6)])
def test_states_return_whole(budget):
    budget.spend(PureDP(0.25))
    found = Filter.from_state(json.loads(json.dumps(budget.state())))
    assert type(found) is type(budget)
    assert found.state() == budget.state()
    assert found.spent == budget.spent


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_an_adversary_who_adapts_times_and_stops_stays_below_the_claim(epsilon):
    rng, budget = np.random.default_rng(7), UnifiedFilter(1.2)
    losses = []
    for _ in range(3000):
        filter_ = UnifiedFilter(1.2)
        left, right = (
            filter_.brownian(1.0, rng=rng) for _ in range(2)
        )  # under Q both queries are off by the sensitivity
        left.refine(2.0)
        if left.releases[-1].value > 0.8:  # already telling: put the rest where it is
            left.refine(0.7)
        else:
            right.refine(1.2)
        last = [session.releases[-1] for session in (left, right) if session.releases]
        losses.append(sum((release.value - 0.5) / release.level for release in last))
    gain = np.maximum(0.0, -np.expm1(epsilon - np.array(losses)))  # (1 - e^(eps - L))_+ under Q
    estimate, error = gain.mean(), gain.std() / math.sqrt(gain.size)
    claim = budget.guarantee().delta(epsilon)
    assert estimate - 4 * error <= claim
    assert estimate + 4 * error >= 0.5 * claim  # the adversary does come near


def test_sessions_pay_ex_post_where_they_have_a_boundary():
    budget = ExPostFilter(1.0, 2e-6)
    psi = LinearBoundary(1e-6, 60.0)
    session = BrownianMechanism(5.0, filter=budget, boundary=psi, rng=1)
    for time in (1000.0, 200.0, 100.0):
        session.refine(time)
    assert budget.spent.epsilon == pytest.approx(psi(100.0))
    other = BrownianMechanism(5.0, filter=budget, boundary=MixtureBoundary(1e-6, 60.0), rng=2)
    other.refine(1000.0)
    assert budget.spent.delta == pytest.approx(2e-6)
    with pytest.raises(BudgetExceeded) as caught:
        session.refine(10.0)
    assert caught.value.requested.epsilon == pytest.approx(psi(10.0) - psi(100.0))
    with pytest.raises(BudgetExceeded):  # no delta left for a third session
        BrownianMechanism(5.0, filter=budget, boundary=psi, rng=3).refine(1e6)
    guarantee = budget.guarantee()
    assert guarantee.delta(1.0 * (1 + 1e-11)) == pytest.approx(2e-6)


@given(steps=st.lists(losses, max_size=12))
def test_ex_post_losses_add_until_the_budget(steps):
    budget, total = ExPostFilter(1.0), Fraction(0)
    for step in steps:
        fits = float(total + Fraction(step)) <= 1.0 * (1 + 1e-12)
        assert budget.would_exceed(ExPost(step)) is not fits
        if fits:
            budget.spend(ExPost(step))
            total += Fraction(step)
    assert budget.spent.epsilon >= total


def test_bounded_losses_enter_and_others_do_not():
    budget = ExPostFilter(2.0, 0.5)
    for step in (PureDP(0.5), Laplace(0.25), LaplaceMechanism(scale=4)):
        budget.spend(step)
    assert budget.spent.epsilon == pytest.approx(1.0)
    for step in (Gaussian(0.1), approximate_dp(0.1, 1e-9)):
        with pytest.raises(KindError, match="boundary"):
            budget.spend(step)
    with pytest.raises(KindError, match="no step"):
        budget.spend(0.1)
    assert budget.spent.epsilon == pytest.approx(1.0)


def test_other_filters_take_no_ex_post_loss():
    with pytest.raises(KindError, match="no step"):
        GDPFilter(1.0).spend(ExPost(0.1))


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "x"])
def test_ex_post_parameters_are_checked(bad):
    for make in (
        ExPost,
        ExPostFilter,
        lambda delta: ExPost(1.0, delta),
        lambda delta: ExPostFilter(1.0, delta),
    ):
        with pytest.raises(DomainError):
            make(bad)
