import contextlib
import copy
import json
import math
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.stats
import sympy
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.operators.test_divergence import binomial, renyi_of_laplace
from tests.strategies import log_uniform
from tests.truth.atoms import PureDP
from tradeoff.curves.hooks import PAIR, limited
from tradeoff.errors import BudgetExceeded, DomainError, KindError, PlanError, SymbolError
from tradeoff.filters import ExPost
from tradeoff.filters.base import SLACK, Filter, gdp_mu, is_sampled, renyi, zcdp

FILTERS = [
    lambda: to.filters.GDPFilter(1),
    lambda: to.filters.ResidueFilter(1, delta=1e-6, step_delta=1e-8),
    lambda: to.filters.ZCDPFilter(2, 1e-6, step_delta=1e-7),
    lambda: to.filters.RhoFilter(0.5, delta=1e-7),
    lambda: to.filters.PureDPFilter(3),
    lambda: to.filters.ApproximateDPFilter(3, 1e-5, step_delta=1e-6),
    lambda: to.filters.RenyiFilter(4, 2),
    lambda: to.filters.ExPostFilter(3, 1e-6),
    lambda: to.filters.ConcurrentFilter(2, 1e-6, ex_post_epsilon=0.5),
    lambda: to.filters.UnifiedFilter(1),
    lambda: to.filters.UnifiedZCDPFilter(0.5),
]


every_filter = pytest.mark.parametrize("build", FILTERS, ids=[build().kind for build in FILTERS])


class Approximation:
    """Takes the place of a curve of a central limit theorem: it answers questions, and proves nothing."""

    def trusted(self):
        return to.Gaussian(1)


def leak(curve):
    return curve.mass_at_infinity.upper


SUMS = [  # power of the amounts that add up, part of ``spent``, filter of a limit, step, what is guaranteed
    (1, "", to.filters.PureDPFilter, to.PureDP, lambda curve: curve.epsilon_0),
    (2, "", to.filters.GDPFilter, to.Gaussian, lambda curve: curve.mu),
    (1, "epsilon", to.filters.ExPostFilter, ExPost, lambda curve: curve.epsilon_0),
    (1, "delta", lambda x: to.filters.ExPostFilter(1, x), lambda x: ExPost(0.0, x), leak),
    (1, "delta", lambda x: to.filters.RhoFilter(1, delta=x), to.TotalVariation, leak),
]


@pytest.mark.parametrize(("power", "part", "build", "step", "promise"), SUMS)
@given(
    log_uniform(1e-6, 1.0),
    st.lists(st.one_of(st.sampled_from([0.01, 0.1, 0.25, 1 / 3, 1.0]), log_uniform(1e-9, 1.0)), max_size=60),
)
def test_steps_are_granted_while_their_exact_sum_fits_and_is_within_the_guarantee(
    power, part, build, step, promise, limit, shares
):
    def of(amount):
        return getattr(amount, part, amount)

    def cost(amount):
        return Fraction(of(amount)) ** power

    limit *= 0.5 if part == "delta" else 1e3
    budget, exact = build(limit), Fraction(0)
    for x in (limit * share for share in shares):
        if budget.would_exceed(step(x)):
            assert exact + cost(x) > cost(limit)
        else:
            budget.spend(step(x))
            exact += cost(x)
    assert exact <= cost(budget.spent) <= exact * (1 + Fraction(1, 10**14))
    assert not exact or power == 2 or Fraction(math.nextafter(of(budget.spent), 0)) < exact
    most = cost(promise(budget.guarantee()))
    assert max(exact, cost(limit) * (1 + Fraction(SLACK))) <= most <= cost(limit) * (1 + 3 * Fraction(SLACK))
    assert cost(budget.remaining) <= max(cost(limit) - exact, 0)
    budget.spend(step(of(budget.remaining)))
    assert budget.would_exceed(step(limit * 1e-5))


@every_filter
def test_spend_beyond_budget_raises_and_records_nothing(build):
    budget = build()
    budget.spend(to.PureDP(0.3))
    before = budget.state()
    with pytest.raises(BudgetExceeded, match="remains") as refusal:
        budget.spend(to.PureDP(30))
    assert budget.would_exceed(to.PureDP(30))
    assert budget.state() == before
    result = refusal.value
    assert (result.spent, result.remaining, result.budget) == (budget.spent, budget.remaining, budget.budget)
    assert result.requested > result.remaining
    assert pickle.loads(pickle.dumps(result)).requested == result.requested


def written(text, pattern):
    """The numbers a pattern finds in a text, as the fractions that are printed."""
    return [Fraction(each) for each in re.search(pattern.replace("#", r"([0-9.e-]+)"), text).groups()]


def test_messages_round_amounts_to_the_safe_side():
    budget = to.filters.GDPFilter(0.7)
    budget.spend(to.Gaussian(1 / 7))
    with pytest.raises(BudgetExceeded) as refusal:
        budget.spend(to.Gaussian(2 / 3 + 0.1))
    result = refusal.value
    requested, remaining, limit, spent = written(str(result), r"costs #, but # of # remains \(# spent")
    assert requested >= Fraction(result.requested)
    assert spent >= Fraction(result.spent)
    assert remaining <= Fraction(result.remaining)
    assert limit == Fraction("0.7")
    assert written(repr(budget), ": # of # spent") == [spent, limit]
    with pytest.raises(BudgetExceeded, match="sampling is not counted here: a SampledFilter"):
        budget.spend(to.mechanisms.SubsampledGaussian(1.0, 0.01))
    assert repr(to.filters.GDPFilter(1)).endswith(": 0 of 1 spent in 0 steps")
    (budget := to.filters.GDPFilter(1)).spend(to.mechanisms.SubsampledGaussian(1 / 0.3, 0.01))
    assert ": 0.3 (to 1e-13) of 1 spent in 1 steps; the gain of sampling is not counted" in repr(budget)


@every_filter
def test_from_state_after_json_restores_the_filter(build):
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


def test_from_state_malformed_raises_domain_error():
    sums = ["1", "2"], ["nan"], ["-1"], ["1/0"], ["1e999999999"], "7", None
    wrong = {"kind": ["unknown"], "sums": sums, "steps": [-3], "adjacency": [3]}
    wrong["parameters"] = [{"nu": 1}, {"mu": -1}]
    for key, value in ((key, value) for key, values in wrong.items() for value in values):
        with pytest.raises(DomainError):
            to.filters.Filter.from_state({**to.filters.GDPFilter(1).state(), key: value})


@every_filter
def test_spend_uncertified_step_raises(build):
    budget = build()
    for step in (Approximation(), 0.1, None, "gaussian"):
        with pytest.raises(KindError):
            budget.spend(step)
        with pytest.raises(KindError):
            budget.would_exceed(step)
    with pytest.raises(SymbolError):
        budget.spend(to.Gaussian(sympy.Symbol("mu")))
    assert budget.steps == 0


def test_guarantee_includes_the_slack_of_empty_and_of_the_largest_budgets():
    for build in (to.filters.PureDPFilter, to.filters.ExPostFilter):
        assert build(1).guarantee().epsilon_0 >= 1 + 1e-12
    assert to.filters.RhoFilter(0.5).guarantee().delta(1.0) >= to.Gaussian(1).bounds.delta(1.0).lower
    for budget in (to.filters.GDPFilter(0), to.filters.PureDPFilter(0), to.filters.RhoFilter(0)):
        budget.spend(to.Identity())
        with pytest.raises(BudgetExceeded) as refusal:
            budget.spend(to.PureDP(1e-20))
        assert not np.any(np.isnan(refusal.value.requested))
        assert budget.guarantee().delta(0) <= 5e-324
    kinds = {f"{kind}Filter": {} for kind in ("GDP", "PureDP", "ExPost", "Residue")}
    kinds |= {"IndividualGDPFilter": {"records": 1}}
    for kind, keys in (kinds | {"ConcurrentFilter": {"delta": 1e-6, "ex_post_epsilon": 1e4}}).items():
        budget = getattr(to.filters, kind)(1e4, **keys)
        assert budget.guarantee()(0.5) == 0
        parts = budget.budget if isinstance(budget.budget, tuple) else (budget.budget,)
        assert all(part < 1 or 9e3 < part <= 1e4 for part in parts)


def test_guarantee_keeps_assumptions_of_steps():
    resting = to.from_scipy(scipy.stats.betabinom(10, 2, 2), scipy.stats.betabinom(10, 2, 2.1))
    for budget in (to.filters.PureDPFilter(5), to.filters.ExPostFilter(5), to.filters.GDPFilter(5)):
        budget.spend(resting)
        assert budget.guarantee().assumptions == resting.assumptions != ()
        assert Filter.from_state(budget.state()).assumptions == resting.assumptions
    second = to.filters.GDPFilter(10)
    second.spend(budget.guarantee())
    assert second.spent >= 5
    assert second.assumptions == resting.assumptions
    table = to.filters.IndividualGDPFilter(5, 2)
    table.would_exceed(resting)
    assert table.guarantee().assumptions == ()
    table.spend(resting)
    assert table.assumptions == table.guarantee().assumptions == resting.assumptions
    sampled = to.filters.SampledFilter(1.0, 0.01, 10)
    sampled.spend(limited(limited(to.subsample(to.Gaussian(1.0), 0.01) ** 3, PAIR, ["a."]), PAIR, ["b."]))
    assert (sampled.spent, set(sampled.assumptions)) == (3, {"a.", "b."})


@pytest.mark.parametrize(
    ("budget", "step", "fitting"),
    [
        (to.filters.GDPFilter(1), to.Gaussian(0.02), 2500),
        (to.filters.RhoFilter(0.5), to.Gaussian(0.02), 2500),
        (to.filters.PureDPFilter(1), to.PureDP(0.001), 1000),
        (to.filters.MixtureOdometer(1e-6, r=0.1), to.Gaussian(0.1), 8000),
    ],
)
def test_threads_that_share_a_budget_are_granted_exactly_what_fits(budget, step, fitting):
    granted, start = [], threading.Barrier(8)

    def spend(_):
        start.wait()
        with contextlib.suppress(BudgetExceeded):
            granted.extend(budget.spend(step) for _ in range(1000))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(spend, range(8)))
    assert len(granted) == budget.steps == fitting


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_shared_objects_are_neither_copied_nor_pickled(copied):
    for each in (
        to.filters.GDPFilter(1),
        to.filters.MixtureOdometer(0.1, r=1),
        to.filters.IndividualGDPFilter(1, 2),
        to.filters.GaussianSimulator(0.0, np.random.default_rng(1)),
        to.filters.BrownianMechanism(5.0, rng=1),
    ):
        with pytest.raises(KindError, match="neither copied nor pickled"):
            copied(each)


@pytest.mark.parametrize("order", [1.5, 4.0, 300.0])
@pytest.mark.parametrize("epsilon", [1e-7, 0.1, 2.0])
@pytest.mark.parametrize("family", [to.PureDP, to.Laplace])
def test_costs_bound_the_renyi_divergence(family, epsilon, order):
    truth = PureDP(epsilon).renyi(order) if family is to.PureDP else renyi_of_laplace(epsilon, order)
    assert truth <= renyi(family(epsilon), order) <= truth * (1 + 1e-6) + 1e-15
    assert truth <= order * zcdp(family(epsilon))[0]


@given(st.lists(st.tuples(log_uniform(1e-9, 1e3), st.integers(1, 2**37)), min_size=1, max_size=4))
def test_costs_of_products_are_rounded_up(parts):
    curve, truth = to.Identity(), Fraction(0)
    for mu, n in parts:
        curve, truth = curve @ to.PureDP(mu) ** n, truth + n * Fraction(zcdp(to.PureDP(mu))[0])
    assert truth <= Fraction(zcdp(curve)[0]) <= truth * (1 + Fraction(1, 2**46))


def test_spend_charges_samples_their_divergence_many_atoms_by_parts_and_one_adjacency():
    with mpmath.workdps(40):
        truth = binomial(1.0, 0.01, 8)  # some 4,500 times less than unsampled
        assert truth <= renyi(to.subsample(to.Gaussian(1.0), 0.01), 8.0) <= truth * (1 + 1e-9)
    assert not is_sampled(to.mechanisms.SubsampledLaplace(1, 0.1).curve())
    budget = to.filters.GDPFilter(5)
    budget.spend(to.mechanisms.Gaussian(noise_multiplier=2))
    budget.spend(to.mechanisms.SubsampledGaussian(noise_multiplier=2, sample_rate=0.5))
    with pytest.raises(PlanError, match="replace-one"):
        budget.spend(to.Plan({to.mechanisms.Gaussian(noise_multiplier=2): 1}, adjacency="replace-one"))
    budget = to.filters.GDPFilter(1)
    budget.spend(to.PureDP(1e-8) ** 10**7)  # mu^2 = 10^7 (sqrt(pi/2) 1e-8)^2
    assert math.sqrt(math.pi / 2) * 1e-8 * math.sqrt(1e7) <= budget.spent < 1e-3
    with pytest.raises(BudgetExceeded):
        to.filters.GDPFilter(100).spend(to.PureDP(3.0) ** 10**7)
    for epsilon in (1e-9, 1e-3, 0.1, 0.999, 1.0, 5.0, 300.0):
        with mpmath.workdps(400):
            truth = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(epsilon) / 2))
            assert truth <= gdp_mu(to.PureDP(epsilon)) <= truth * (1 + 1e-13) + 1e-14
