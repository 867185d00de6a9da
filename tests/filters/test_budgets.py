import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from scipy import stats

import tradeoff as to
from tests.strategies import log_uniform
from tradeoff import Gaussian, Laplace, PureDP, approximate_dp
from tradeoff.errors import BudgetExceeded, KindError
from tradeoff.filters import (
    ApproximateDPFilter,
    ConcurrentFilter,
    ExPost,
    ExPostFilter,
    Filter,
    LaplaceNoiseReduction,
    RenyiFilter,
    RhoFilter,
    SampledFilter,
    UnifiedZCDPFilter,
    ZCDPFilter,
)
from tradeoff.mechanisms import Plan, SubsampledGaussian, SubsampledLaplace


@pytest.mark.parametrize("share", [0, 1e-9, 0.5, 0.999])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-6, 0.01, 0.7])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.1, 1.0, 7.3, 200.0])
@pytest.mark.parametrize("build", [ZCDPFilter, ApproximateDPFilter])
def test_largest_sum_that_fits_is_within_the_promise(build, epsilon, delta, share):
    """The largest sums that pass the comparison, with slack and rounding, converted in 50 digits."""
    budget = build(epsilon, delta, step_delta=delta * share)
    assert budget.guarantee() == to.PureDP(epsilon) @ to.TotalVariation(delta)
    first, second = (Fraction(limit) * Fraction(1 + 1e-12) for limit in budget.limits)
    rest = Fraction(delta) - second
    assert rest > 0
    with mpmath.workdps(50):
        rho = mpmath.mpf(first.numerator) / first.denominator / (1 if build is ZCDPFilter else 2)
        log = -mpmath.log(mpmath.mpf(rest.numerator) / rest.denominator)
        assert rho + 2 * mpmath.sqrt(rho * log) <= epsilon
        if epsilon > 0 and share == 0:
            assert rho + 2 * mpmath.sqrt(rho * log) >= epsilon * (1 - 3e-12)


@pytest.mark.parametrize("after", [0, 1])
def test_approximate_filters_hold_against_an_adaptive_analyst(after):
    """Enumerated over hundreds of paths that meet again: 0.14 after one answer and 0.07 after the other."""
    start = to.filters.ApproximateDPFilter(1, 0.05)
    paths, total = {(0.0, 0, 0.0): (1.0, start.state())}, 0.0
    while paths:
        grown = {}
        for (loss, last, _), (mass, state) in paths.items():
            budget, step = to.filters.Filter.from_state(state), 0.14 if last == after else 0.07
            if budget.would_exceed(to.PureDP(step)):
                total += mass * max(0.0, -math.expm1(1 - loss))
                continue
            budget.spend(to.PureDP(step))
            truth = 1 / (1 + math.exp(-step))
            for answer, sign, share in ((1, 1, truth), (0, -1, 1 - truth)):
                key = (round(loss + sign * step, 9), answer, round(budget.spent.epsilon_squared, 9))
                grown[key] = (grown.get(key, (0.0,))[0] + mass * share, budget.state())
        paths = grown
    assert 1e-5 < total <= 0.05


STEP = SubsampledGaussian(noise_multiplier=1.0, sample_rate=0.01)


def test_renyi_and_rho_filters_charge_sampled_steps_and_leaks():
    budget = RenyiFilter(8, 1)
    budget.spend(Plan({STEP: 500}))
    assert not budget.would_exceed(Plan({STEP: 600}))
    assert budget.would_exceed(Plan({STEP: 620}))
    budget = RhoFilter(1)
    for step in (SubsampledGaussian(4, 1.0), SubsampledGaussian(4, 0.0)):
        budget.spend(step)
    assert budget.spent.rho == 1 / 32
    budget = RhoFilter(1.0, delta=0.5)
    budget.spend(to.PiecewiseLinear([0, Fraction(2, 3)], [Fraction(2, 3), 0]))
    assert Fraction(budget.spent.delta) >= Fraction(1, 3)
    # rho-zCDP covers G_sqrt(2 rho), so its curve lies below; one order lies below all orders.
    for epsilon in (0.5, 2.0, 6.0):
        every, one = RhoFilter(0.5).guarantee().delta(epsilon), RenyiFilter(4, 2).guarantee().delta(epsilon)
        a = 1 + np.arange(1, 30_000) / 1000
        exact = np.exp(np.min((a - 1) * (a / 2 - epsilon) - np.log(a - 1) + a * np.log(1 - 1 / a)))
        assert to.Gaussian(1).bounds.delta(epsilon).lower <= every <= one * (1 + 1e-6)
        assert every <= min(exact, 1) * 1.01


@pytest.mark.parametrize("step", [STEP, Plan({STEP: 10}), Plan({STEP: 10}).guarantee(), ~STEP.curve()])
def test_zcdp_filters_refuse_sampled_steps(step):
    for budget in (RhoFilter(1), ZCDPFilter(5, 1e-6), UnifiedZCDPFilter(1)):
        with pytest.raises(KindError, match=r"no finite rho.*RenyiFilter"):
            budget.spend(step)


def test_sampled_filter_composes_exactly_and_refuses_less_noise_or_higher_rate():
    budget = SampledFilter(1.0, 0.01, 10)
    for step in (
        *(SubsampledGaussian(0.999, 0.01), SubsampledGaussian(1.0, 0.0101), SubsampledLaplace(10, 0.01)),
        *(to.mechanisms.Gaussian(noise_multiplier=10), ~STEP.curve()),
        Plan({STEP: 2, to.mechanisms.Gaussian(noise_multiplier=100): 1}),
    ):
        with pytest.raises(KindError, match="must have noise_multiplier"):
            budget.spend(step)
        assert budget.spent == 0
    budget = SampledFilter(1.0, 0.01, 1000)
    budget.spend(STEP)
    budget.spend(Plan({STEP: 900, SubsampledGaussian(2.0, 0.005): 3}))
    budget.spend(SubsampledGaussian(math.inf, 0.01))  # depends on no record
    assert (budget.spent, budget.remaining, budget.budget) == (904, 96, 1000)
    with pytest.raises(BudgetExceeded, match="costs 97, but 96 of 1000"):
        budget.spend(Plan({STEP: 97}))
    assert budget.guarantee() == Plan({STEP: 1000}).guarantee()
    assert budget.guarantee().epsilon(1e-5) == pytest.approx(1.8282366665, abs=1e-9)
    assert budget.adjacency == "add-remove"
    assert Filter.from_state(budget.state()).state() == budget.state()
    budget = SampledFilter(2.0, 1.0, 4)
    for step in (to.mechanisms.Gaussian(noise_multiplier=2), SubsampledGaussian(3.0, 0.5)):
        budget.spend(step)
    assert budget.spent == 2
    assert budget.guarantee() == to.Gaussian(1.0)


def test_ex_post_filter_takes_bounded_losses_only():
    budget = ExPostFilter(2.0, 0.5)
    for step in (PureDP(0.5), Laplace(0.25), to.mechanisms.Laplace(scale=4)):
        budget.spend(step)
    wrong = {Gaussian(0.1): "boundary", approximate_dp(0.1, 1e-9): "boundary", 0.1: "a step"}
    for step, message in wrong.items():
        with pytest.raises(KindError, match=message):
            budget.spend(step)
    assert budget.spent.epsilon == pytest.approx(1.0)
    budget = ExPostFilter(1.0, 1e-6)
    for _ in range(10):
        budget.spend(ExPost(0.1))
    for excessive in (ExPost(1e-11), ExPost(0.0, 1.1e-6)):
        with pytest.raises(BudgetExceeded):
            budget.spend(excessive)
    budget.spend(ExPost(*budget.remaining))


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
    whole = budget.guarantee()
    assert whole.epsilon(1.1e-6) == pytest.approx(1.5, rel=1e-9)
    assert whole.delta(1.5) <= 1.1e-6 * (1 + 1e-6)
    session = LaplaceNoiseReduction(1.0, [0.05, 0.1], filter=budget, rng=1)
    session.refine(0.05)
    assert budget.spent.ex_post_epsilon == pytest.approx(0.45, rel=1e-15)


def odometers(delta, *tuned):
    kinds = (to.filters.FilterOdometer, to.filters.MixtureOdometer, to.filters.StitchedOdometer)
    names = ("at", "r", "start")
    return [kind(delta, **{name: x}) for kind, name, x in zip(kinds, names, tuned, strict=True)]


def test_odometers_hold_at_every_time_at_once():
    """Simulated, with steps that grow after crossings of the middle: how often a run passes its bound."""
    rng, runs, each = np.random.default_rng(3), 20_000, odometers(0.05, 1.0, 0.1, 0.05)
    times = np.append(0.0, np.geomspace(1e-6, 1e9, 1000))
    for odometer in each:  # so runs below are below their bound, and it is not evaluated
        assert np.all(odometer.bound(times) > times / 2 + 2 * np.sqrt(times))
    clock, loss, ever = np.zeros(runs), np.zeros(runs), np.zeros((len(each), runs), dtype=bool)
    for _ in range(600):
        square = np.where(loss > clock / 2, 0.004, 0.02) * (1 + clock)
        loss += square / 2 + np.sqrt(square) * rng.normal(size=runs)
        clock += square
        near = np.flatnonzero(loss > clock / 2 + 2 * np.sqrt(clock))
        ever[:, near] |= [loss[near] > odometer.bound(clock[near]) for odometer in each]
    assert clock.max() < times[-1]
    for passed, odometer, least in zip(ever, each, (0.03, 0.01, 0.002), strict=True):
        interval = stats.binomtest(int(passed.sum()), runs).proportion_ci(1 - 1e-5)
        assert interval.low <= 0.05, odometer
        assert interval.high < 0.055, odometer  # and so the bound is not only unrefuted
        assert passed.mean() >= least, odometer  # nor is it empty


def test_filter_odometer_equals_filter_and_clocks_sum_step_costs():
    budget = to.filters.ZCDPFilter(1.0, 1e-6)
    odometer = to.filters.FilterOdometer(1e-6, at=2 * budget.budget.rho)
    assert odometer.bound(2 * budget.budget.rho) == pytest.approx(1.0, rel=1e-12)
    odometer = to.filters.MixtureOdometer(1e-5, r=1)
    assert odometer.epsilon > 0
    for step in (to.Gaussian(0.3), to.PureDP(0.2), to.mechanisms.Gaussian(noise_multiplier=5)):
        odometer.spend(step)
    assert 0.09 + 0.04 + 0.04 <= odometer.clock == pytest.approx(0.09 + 0.04 + 0.04, rel=1e-12)
    assert odometer.assumptions == ()
    step = to.from_scipy(stats.t(5), stats.t(5, loc=0.1))
    for _ in range(2):
        odometer.spend(step)
    assert odometer.assumptions == step.assumptions != ()


@given(log_uniform(1e-300, 0.999999), log_uniform(1e-9, 1e9), log_uniform(1e-12, 1e12))
def test_odometer_bound_equals_formula_rounded_up(delta, tuned, clock):
    with mpmath.workdps(50):
        log, v, y = -mpmath.log(mpmath.mpf(delta)), mpmath.mpf(clock), mpmath.mpf(tuned)
        w, tail = max(v, y), (mpmath.log(mpmath.mpf(26) / 5) + log) * 18 / 25
        margins = (
            v * mpmath.sqrt(log / (2 * y)) + mpmath.sqrt(y * log / 2),
            mpmath.sqrt(2 * (v + y) * (mpmath.log1p(v / y) / 2 + log)),
            mpmath.mpf(17) / 10 * mpmath.sqrt(w * (mpmath.log(mpmath.log(2 * w / y)) + tail)),
        )
        for odometer, margin in zip(odometers(delta, tuned, tuned, tuned), margins, strict=True):
            result = float(odometer.bound(clock))
            assert result * (1 + mpmath.mpf(2) ** -50) >= v / 2 + margin  # constants are floats
            assert result <= (v / 2 + margin) * (1 + mpmath.mpf(1e-13))
