"""What every filter promises: exact sums, refusal without a trace, a state that survives, proved steps."""

import json
import math
import pickle
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import log_uniform
from tradeoff.errors import BudgetExceeded, DomainError, KindError, PlanError, SymbolError
from tradeoff.filters.base import ExactSum
from tradeoff.filters.costs import gdp_mu, renyi, square, zcdp
from tradeoff.filters.zcdp import rho_within
from tradeoff.operators.assumed import assumed

SLACK = Fraction(1, 10**12)

FILTERS = [
    lambda: to.filters.GDPFilter(1),
    lambda: to.filters.ResidueFilter(1, delta=1e-6, step_delta=1e-8),
    lambda: to.filters.ZCDPFilter(2, 1e-6, step_delta=1e-7),
    lambda: to.filters.RhoFilter(0.5, delta=1e-7),
    lambda: to.filters.PureDPFilter(3),
    lambda: to.filters.ApproximateDPFilter(3, 1e-5, step_delta=1e-6),
    lambda: to.filters.RenyiFilter(4, 2),
]
IDS = [build().kind for build in FILTERS]
every_filter = pytest.mark.parametrize("build", FILTERS, ids=IDS)


class Approximation:
    """Stands for a curve of a central limit theorem: it answers questions, and proves nothing."""

    def trusted(self):
        return to.Gaussian(1)


@given(st.lists(st.one_of(st.floats(-1e300, 1e300), log_uniform(1e-300, 1e300)), max_size=60))
def test_sums_are_exact(numbers):
    total = ExactSum()
    for x in numbers:
        total = total.plus(x)
    exact = sum(map(Fraction, numbers), Fraction(0))
    assert sum(map(Fraction, total.partials), Fraction(0)) == exact
    assert total.value() == float(exact)


def test_sums_do_not_drift_and_stay_short():
    total, naive = ExactSum(), 0.0
    for _ in range(300_000):
        total = total.plus(0.1)
        naive += 0.1
    exact = 300_000 * Fraction(0.1)
    assert total.value() == float(exact) != naive
    assert len(total.partials) <= 4


@given(log_uniform(1e-300, 1e150))
def test_squares_are_rounded_up_by_little(x):
    exact = Fraction(x) ** 2
    assert exact <= Fraction(square(x)) <= exact * (1 + Fraction(1, 2**50)) + Fraction(1, 10**322)


def test_a_hundred_steps_of_a_tenth_fit_and_no_more():
    budget = to.filters.GDPFilter(1)
    for _ in range(100):
        budget.spend(to.mechanisms.Gaussian(noise_multiplier=10))
    truth = 100 * Fraction(0.1) ** 2
    assert Fraction(budget.spent) ** 2 >= truth
    assert Fraction(budget.guarantee().mu) ** 2 >= truth
    assert budget.guarantee().mu <= 1 + 1e-12
    assert budget.would_exceed(to.Gaussian(1e-5))


@given(log_uniform(1e-3, 1e3), st.lists(log_uniform(1e-4, 1.0), min_size=1, max_size=80))
def test_the_gdp_filter_grants_what_fits_and_only_that(mu, shares):
    budget, exact = to.filters.GDPFilter(mu), Fraction(0)
    for share in shares:
        step = to.Gaussian(mu * share)
        more = exact + Fraction(step.mu) ** 2
        if budget.would_exceed(step):
            assert more > Fraction(mu) ** 2
        else:
            budget.spend(step)
            exact = more
    assert exact <= Fraction(budget.guarantee().mu) ** 2 <= Fraction(mu) ** 2 * (1 + 2 * SLACK)
    assert exact <= Fraction(budget.spent) ** 2


@pytest.mark.slow
@given(log_uniform(1e-300, 1e150), st.lists(st.floats(0.0, 0.7), max_size=5))
def test_what_remains_can_be_spent(mu, shares):
    budget = to.filters.GDPFilter(mu)
    for share in shares:
        if not budget.would_exceed(to.Gaussian(mu * share)):
            budget.spend(to.Gaussian(mu * share))
    budget.spend(to.Gaussian(budget.remaining))
    assert budget.would_exceed(to.Gaussian(mu * 1e-5))


@every_filter
def test_refusal_says_what_is_left_and_leaves_no_trace(build):
    budget = build()
    budget.spend(to.PureDP(0.3))
    before = budget.state()
    with pytest.raises(BudgetExceeded, match="remains") as refusal:
        budget.spend(to.PureDP(30))
    assert budget.would_exceed(to.PureDP(30))
    assert budget.state() == before
    found = refusal.value
    assert (found.spent, found.remaining, found.budget) == (budget.spent, budget.remaining, budget.budget)
    assert found.requested > found.remaining
    assert pickle.loads(pickle.dumps(found)).requested == found.requested


def written(text, pattern):
    """The numbers a pattern finds in a text, as the fractions that are printed."""
    return [Fraction(each) for each in re.search(pattern, text).groups()]


def test_printed_amounts_are_on_the_safe_side():
    budget = to.filters.GDPFilter(0.7)
    budget.spend(to.Gaussian(0.1))
    with pytest.raises(BudgetExceeded) as refusal:
        budget.spend(to.Gaussian(2 / 3 + 0.1))
    found, number = refusal.value, r"([0-9.e-]+)"
    asked, remaining, limit, spent = written(
        str(found), rf"asks for {number}, and {number} of {number} remains \({number} spent"
    )
    assert asked >= Fraction(found.requested)
    assert spent >= Fraction(found.spent)
    assert remaining <= Fraction(found.remaining)
    assert limit == Fraction("0.7")  # as it was given: it reads back as that float
    assert written(repr(budget), rf": {number} of {number} spent") == [spent, limit]
    assert repr(to.filters.GDPFilter(1)).endswith(": 0 of 1 spent in 0 steps")


def test_printed_parts_of_an_amount_are_on_the_safe_side():
    budget = to.filters.RhoFilter(0.7, delta=1e-6)
    budget.spend(to.Gaussian(0.1) @ to.approximate_dp(0.0, 3e-7))
    number = "([0-9.e-]+)"
    numbers = rf": rho = {number}, delta = {number} of rho = {number}, delta = {number} spent"
    rho, delta, most_rho, most_delta = written(repr(budget), numbers)
    assert rho >= Fraction(budget.spent.rho)
    assert delta >= Fraction(budget.spent.delta)
    assert most_rho <= Fraction("0.7")
    assert most_delta <= Fraction("1e-06")


@every_filter
def test_states_survive_json(build):
    budget = build()
    steps = [to.PureDP(0.1), to.Laplace(0.05), to.mechanisms.RandomizedResponse(0.2), to.Identity()]
    for step in steps:
        budget.spend(step)
    again = to.filters.Filter.from_state(json.loads(json.dumps(budget.state(), allow_nan=False)))
    assert type(again) is type(budget)
    assert (again.spent, again.remaining, again.steps) == (budget.spent, budget.remaining, 4)
    budget.spend(to.PureDP(0.07))
    again.spend(to.PureDP(0.07))
    assert again.state() == budget.state()
    assert repr(again) == repr(budget)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "unknown"},
        {"sums": [[1.0], [2.0]]},
        {"sums": [[math.nan]]},
        {"sums": [[-1.0]]},
        {"sums": None},
        {"parameters": {"nu": 1}},
        {"parameters": {"mu": -1}},
    ],
)
def test_malformed_states_are_refused(change):
    with pytest.raises(DomainError):
        to.filters.Filter.from_state({**to.filters.GDPFilter(1).state(), **change})
    with pytest.raises(DomainError, match="PureDPFilter"):
        to.filters.PureDPFilter.from_state(to.filters.GDPFilter(1).state())


@every_filter
def test_no_step_without_a_proof(build):
    budget = build()
    for step in (Approximation(), 0.1, None, "gaussian"):
        with pytest.raises(KindError):
            budget.spend(step)
        with pytest.raises(KindError):
            budget.would_exceed(step)
    with pytest.raises(SymbolError):
        budget.spend(to.Gaussian(sympy.Symbol("mu")))
    assert budget.steps == 0


@pytest.mark.parametrize(
    ("budget", "step"),
    [
        (to.filters.GDPFilter(1), to.TotalVariation(0.1)),
        (to.filters.GDPFilter(1), to.mechanisms.DiscreteGaussian(sigma=3)),
        (to.filters.PureDPFilter(1), to.Gaussian(0.1)),
        (to.filters.ApproximateDPFilter(1, 1e-5), to.Gaussian(0.1)),
        (to.filters.RenyiFilter(2, 1), to.TotalVariation(0.1)),
        (to.filters.ResidueFilter(1), to.mechanisms.DiscreteGaussian(sigma=3)),
    ],
)
def test_curves_without_a_finite_cost_are_refused_with_a_way_out(budget, step):
    with pytest.raises(KindError, match=r"spend|give"):
        budget.spend(step)


def test_one_filter_serves_one_kind_of_neighbours():
    budget = to.filters.GDPFilter(5)
    budget.spend(to.mechanisms.Gaussian(noise_multiplier=2))
    budget.spend(to.mechanisms.SubsampledGaussian(noise_multiplier=2, sample_rate=0.5))
    with pytest.raises(PlanError, match="replace-one"):
        budget.spend(to.Plan({to.mechanisms.Gaussian(noise_multiplier=2): 1}, adjacency="replace-one"))


@pytest.mark.parametrize("mu", [-1, math.nan, math.inf, "1", True])
def test_budgets_are_numbers_in_range(mu):
    with pytest.raises(DomainError):
        to.filters.GDPFilter(mu)


def test_without_budget_only_perfect_privacy_is_granted():
    for budget in (to.filters.GDPFilter(0), to.filters.PureDPFilter(0), to.filters.RhoFilter(0)):
        budget.spend(to.Identity())
        with pytest.raises(BudgetExceeded) as refusal:
            budget.spend(to.PureDP(1e-200))
        assert not math.isnan(
            refusal.value.requested[0]
            if isinstance(refusal.value.requested, tuple)
            else refusal.value.requested
        )
        assert budget.guarantee().delta(0) <= 5e-324


@given(st.floats(0.001, 50), log_uniform(1e-300, 0.9))
def test_the_rho_of_an_epsilon_solves_its_equation(epsilon, delta):
    with mpmath.workdps(50):
        rho = mpmath.mpf(rho_within(epsilon, delta))
        found = rho + 2 * mpmath.sqrt(rho * mpmath.log(1 / mpmath.mpf(delta)))
        assert epsilon * (1 - 1e-12) <= found <= epsilon * (1 + 1e-14)


@pytest.mark.parametrize("order", [1.5, 4.0, 300.0])
@pytest.mark.parametrize("epsilon", [1e-7, 0.1, 2.0])
@pytest.mark.parametrize("family", [to.PureDP, to.Laplace])
def test_costs_bound_the_renyi_divergence(family, epsilon, order):
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
        if family is to.PureDP:
            moment = (mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))
        else:
            moment = a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)
        truth = mpmath.log(moment) / (a - 1)
        bound = renyi(family(epsilon), order)
        assert truth <= bound <= truth * (1 + 1e-6) + 1e-15
        assert truth <= order * zcdp(family(epsilon))[0]


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 0.1, 0.999, 1.0, 5.0, 300.0])
def test_the_mu_of_randomised_response(epsilon):
    with mpmath.workdps(400):
        truth = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(epsilon) / 2))
        assert truth <= gdp_mu(to.PureDP(epsilon)) <= truth * (1 + 1e-13)


def test_guarantees_carry_the_slack():
    slack = 1 + 1e-12
    assert to.filters.PureDPFilter(1).guarantee().epsilon_0 >= slack
    assert to.filters.ExPostFilter(1).guarantee().epsilon_0 >= slack
    assert to.filters.RhoFilter(0.5).guarantee().delta(1.0) >= to.Gaussian(1).bounds.delta(1.0).lower


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_converted_renyi_bounds_lie_below_what_they_bound(epsilon):
    """rho-zCDP covers G_sqrt(2 rho), so its curve lies below; one order lies below all orders."""
    every, one = to.filters.RhoFilter(0.5).guarantee(), to.filters.RenyiFilter(4, 2).guarantee()
    orders = (1 + k / 1000 for k in range(1, 30_000))
    exact = math.exp(
        min((a - 1) * (a / 2 - epsilon) - math.log(a - 1) + a * math.log(1 - 1 / a) for a in orders)
    )
    assert (
        to.Gaussian(1).bounds.delta(epsilon).lower <= every.delta(epsilon) <= one.delta(epsilon) * (1 + 1e-6)
    )
    assert every.delta(epsilon) <= min(exact, 1) * 1.01


def test_what_remains_of_an_ex_post_budget_may_be_spent():
    """Ten times .1 pass 1 by rounding, which is paid from delta."""
    budget = to.filters.ExPostFilter(1.0, 1e-6)
    for _ in range(10):
        budget.spend(to.filters.ExPost(0.1))
    left = budget.remaining
    assert left.delta < 1e-6
    assert not budget.would_exceed(to.filters.ExPost(*left))
    budget.spend(to.filters.ExPost(*left))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_all_protocols_have_a_lock(protocol):
    for budget in (to.filters.GDPFilter(1), to.filters.IndividualGDPFilter(1, records=3)):
        back = pickle.loads(pickle.dumps(budget, protocol=protocol))
        back.spend(to.Gaussian(0.5))
        assert (budget.steps, back.steps) == (0, 1)


def test_assumptions_in_layers_are_looked_through():
    step = assumed(assumed(to.subsample(to.Gaussian(1), 0.01), ["a."]), ["b."])
    budget = to.filters.SampledFilter(1.0, 0.01, 5)
    budget.spend(step)
    assert set(budget.assumptions) >= {"a.", "b."}


def test_messages_about_steps_are_one_sentence():
    for step in (list(range(3000)), 10**5000, np.eye(30)):
        with pytest.raises(KindError) as told:
            to.filters.GDPFilter(1).spend(step)
        assert len(str(told.value)) < 400
        assert "\n" not in str(told.value)
