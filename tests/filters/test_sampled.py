"""Rounds of DP-SGD composed exactly, and sampled steps in other filters."""

import math

import pytest

import tradeoff as to
from tradeoff.errors import BudgetExceeded, DomainError, KindError
from tradeoff.filters import Filter, RenyiFilter, RhoFilter, SampledFilter, UnifiedZCDPFilter, ZCDPFilter
from tradeoff.mechanisms import Gaussian, Plan, SubsampledGaussian, SubsampledLaplace

STEP = SubsampledGaussian(noise_multiplier=1.0, sample_rate=0.01)


def test_renyi_filter_charges_a_sampled_step_its_own_divergence():
    budget = RenyiFilter(8, 1)
    budget.spend(Plan({STEP: 500}))
    assert not budget.would_exceed(Plan({STEP: 600}))
    assert budget.would_exceed(Plan({STEP: 620}))


@pytest.mark.parametrize("step", [STEP, Plan({STEP: 10}), Plan({STEP: 10}).guarantee(), ~STEP.curve()])
@pytest.mark.parametrize(
    "budget", [lambda: RhoFilter(1), lambda: ZCDPFilter(5, 1e-6), lambda: UnifiedZCDPFilter(1)]
)
def test_zcdp_filters_refuse_sampled_steps(budget, step):
    with pytest.raises(KindError, match=r"is sampled.*RenyiFilter"):
        budget().spend(step)


def test_rho_filter_charges_rates_0_and_1():
    budget = RhoFilter(1)
    for step in (SubsampledGaussian(4, 1.0), SubsampledGaussian(4, 0.0)):
        budget.spend(step)
    assert budget.spent.rho == 1 / 32


def test_rounds_are_composed_exactly():
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


@pytest.mark.parametrize(
    "step",
    [
        SubsampledGaussian(0.999, 0.01),
        SubsampledGaussian(1.0, 0.0101),
        Gaussian(10),
        SubsampledLaplace(10, 0.01),
        ~STEP.curve(),
        Plan({STEP: 2, Gaussian(100): 1}),
    ],
)
def test_sampled_filter_refuses_less_noise_or_higher_rate(step):
    budget = SampledFilter(1.0, 0.01, 10)
    with pytest.raises(KindError, match="must have noise_multiplier"):
        budget.spend(step)
    assert budget.spent == 0


def test_sampled_filter_counts_full_batches():
    budget = SampledFilter(2.0, 1.0, 4)
    budget.spend(Gaussian(2))
    budget.spend(STEP if STEP.noise_multiplier >= 2 else SubsampledGaussian(3.0, 0.5))
    assert budget.spent == 2
    assert budget.guarantee() == to.Gaussian(1.0)


@pytest.mark.parametrize(
    "arguments", [(0, 0.1, 1), (math.inf, 0.1, 1), (1, 2, 1), (1, 0.1, -1), (1, 0.1, 1.5), (1, 0.1, 2e9)]
)
def test_sampled_filter_bad_parameters_raise(arguments):
    with pytest.raises(DomainError):
        SampledFilter(*arguments)
