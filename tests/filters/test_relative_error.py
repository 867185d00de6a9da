import itertools
from dataclasses import replace

import pytest
from scipy import stats

from examples import relative_error as example
from examples.accuracy_first import ERROR, GUMBEL, rounds
from examples.relative_error import METHODS, Outcome, relative_error
from tradeoff import Gaussian

BROWNIAN = "Brownian, GDP filter"


@pytest.mark.slow
def test_noise_reduction_beats_doubling_by_what_doubling_pays_twice():
    outcomes = relative_error(example.zipf(10_000, 200), runs=3)
    result = {name: outcome.interval()[0] for name, outcome in outcomes.items()}
    doubling = max(mean for name, mean in result.items() if name.startswith("doubling"))
    assert result[BROWNIAN] > result["Brownian, zCDP filter"] > doubling
    assert result[BROWNIAN] > 1.2 * doubling
    methods = {name: METHODS[name] for name in (BROWNIAN, "Laplace")}
    for outcome in relative_error(example.DOCTOR_VISITS, runs=8, methods=methods).values():
        accurate, released = sum(outcome.accurate), sum(outcome.released)
        assert stats.binomtest(accurate, released, 0.9, alternative="less").pvalue > 1e-3


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        *((1.0, 1e-6), (0.01, 1e-12), (10.0, 0.5), (100.0, 1e-100)),
        pytest.param(1e-6, 0.999, marks=pytest.mark.slow),
    ],
)
def test_the_gdp_budget_is_the_largest_within_epsilon_and_delta(epsilon, delta):
    mu = example.mu_within(epsilon, delta)
    assert Gaussian(mu).delta(epsilon) <= delta < Gaussian(mu * (1 + 1e-6)).delta(epsilon)


def test_filters_guarantee_the_budget_and_half_widths_hold_the_noise():
    for method in METHODS.values():
        assert method.filter(1.0, 1e-6).guarantee().delta(1.0 + 1e-9) <= 1e-6 * (1 + 1e-9)
    assert 2 * stats.norm.cdf(METHODS[BROWNIAN].half_width(4.0) / 2) - 1 == pytest.approx(0.95, abs=1e-6)
    assert stats.laplace.cdf(METHODS["Laplace"].half_width(0.5) * 0.5) * 2 - 1 == pytest.approx(0.95)
    assert example.rows({"a": Outcome((1,), (1,))})[0]["released_half_width"] == "inf"


class Recorded(list):
    """A filter that grants everything and keeps the requests."""

    spend = list.append


def test_choices_by_gumbel_noise_are_paid_from_the_same_filter():
    ledger = Recorded()
    method = replace(GUMBEL["Brownian"], filter=lambda *_: ledger, choice=lambda epsilon: ("choice", epsilon))
    outcome = relative_error([5000, 9000, 7000], runs=1, methods={"": method}, order="gumbel")[""]
    choices = [step[1] for step in ledger if isinstance(step, tuple)]
    assert (outcome.released, len(choices), choices[0]) == ((3,), 3, 1 / 500)
    assert isinstance(ledger[0], tuple)  # paid before anything is drawn
    assert all(2 / (ERROR * 12_000) < epsilon < 2 / (ERROR * 4_000) for epsilon in choices[1:])
    assert GUMBEL["Laplace"].choice(0.5).epsilon == 0.5
    filter_ = GUMBEL["Brownian"].filter(1.0, 1e-6)
    filter_.spend(GUMBEL["Brownian"].choice(0.125))
    assert filter_.spent.rho == 0.125**2 / 8  # powers of two


def test_the_sketch_stays_within_its_budget():
    result = rounds(rho=1.6e-3)
    spent = [rho for _, rho in result]
    assert spent == sorted(spent)
    assert spent[-1] <= 1.6e-3
    assert (result[0][0], result[-1][0]) == ("choice", "refused")
    after = [b for (a, _), (b, _) in itertools.pairwise(result) if a == "accurate"]
    assert after
    assert set(after) <= {"choice", "refused"}
