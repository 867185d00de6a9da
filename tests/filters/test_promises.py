"""What a filter promises is what its guarantee says, to the last bit: slack is paid from the budget."""

import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import tradeoff as to
from tests.strategies import log_uniform
from tradeoff.errors import BudgetExceeded, DomainError, KindError
from tradeoff.filters import ApproximateDPFilter, ExPost, ExPostFilter, ResidueFilter, RhoFilter, ZCDPFilter

ONE_BIT = 1 + Fraction(1, 2**52)
"""A sum rounded to nearest was at most this much larger than what is compared."""

pairs = pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.1, 1.0, 7.3, 200.0])
deltas = pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-6, 0.01, 0.7])


@pairs
@deltas
@pytest.mark.parametrize("build", [ZCDPFilter, ApproximateDPFilter, ExPostFilter])
def test_the_guarantee_is_the_promise(build, epsilon, delta):
    assert build(epsilon, delta).guarantee() == to.approximate_dp(epsilon, delta)
    if build is not ExPostFilter:
        assert build(epsilon, delta, step_delta=delta / 3).guarantee() == to.approximate_dp(epsilon, delta)


@pairs
@deltas
@pytest.mark.parametrize("share", [0, 1e-9, 0.5, 0.999])
@pytest.mark.parametrize("build", [ZCDPFilter, ApproximateDPFilter])
def test_all_that_can_be_granted_is_within_the_promise(build, epsilon, delta, share):
    """The most that passes the comparison, with its slack and rounding, converted in 50 digits."""
    budget = build(epsilon, delta, step_delta=delta * share)
    first, second = (Fraction(limit * (1 + 1e-12)) * ONE_BIT for limit in budget.limits)
    rest = Fraction(delta) - second
    assert rest > 0
    with mpmath.workdps(50):
        rho = mpmath.mpf(first.numerator) / first.denominator / (1 if build is ZCDPFilter else 2)
        log = -mpmath.log(mpmath.mpf(rest.numerator) / rest.denominator)
        assert rho + 2 * mpmath.sqrt(rho * log) <= epsilon
        if epsilon > 0 and share == 0:
            assert rho + 2 * mpmath.sqrt(rho * log) >= epsilon * (1 - 3e-12)


def test_what_is_granted_is_within_the_promise_of_an_ex_post_filter():
    budget = ExPostFilter(1.0, 1e-6)
    for _ in range(10):
        budget.spend(ExPost(0.1))  # ten times the float 0.1 pass 1 by 6e-17, which delta pays for
    assert 10 * Fraction(0.1) > 1
    for too_much in (ExPost(0.0, 1e-6), ExPost(1e-11), ExPost(1e-5)):
        with pytest.raises(BudgetExceeded):
            budget.spend(too_much)
    budget.spend(ExPost(0.0, 1e-6 - 1e-16))
    whole = ExPostFilter(1.0, 1e-6)
    whole.spend(ExPost(1.0, 1e-6))
    with pytest.raises(BudgetExceeded):
        whole.spend(ExPost(0.0, 5e-324))


@given(
    log_uniform(1e-3, 10.0),
    log_uniform(1e-15, 0.5),
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 1.0]), st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 1.0])
        ),
        max_size=15,
    ),
)
def test_ex_post_sums_stay_within_the_promise(epsilon, delta, shares):
    budget, loss, failure = ExPostFilter(epsilon, delta), Fraction(0), Fraction(0)
    for one, other in shares:
        step = ExPost(epsilon * one, delta * other)
        if not budget.would_exceed(step):
            budget.spend(step)
            loss, failure = loss + Fraction(step.epsilon), failure + Fraction(step.delta)
    over = max(loss - Fraction(epsilon), Fraction(0))
    assert failure + over <= Fraction(delta)


@given(log_uniform(1e-12, 0.9), st.lists(st.sampled_from([0.01, 0.1, 0.25, 1 / 3, 0.5, 1.0]), max_size=30))
def test_leaks_of_a_residue_filter_stay_within_its_delta(delta, shares):
    budget, kept = ResidueFilter(1, delta=delta), Fraction(1)
    for share in shares:
        step = to.TotalVariation(delta * share)
        if not budget.would_exceed(step):
            budget.spend(step)
            kept *= 1 - Fraction(step.delta_0)
    assert 1 - kept <= Fraction(delta)
    assert to.TotalVariation(delta) in budget.guarantee().factors


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3])
@pytest.mark.parametrize("parts", [1, 3, 7, 10, 100])
def test_equal_parts_of_a_residue_filters_delta_fit(delta, parts):
    budget = ResidueFilter(1, delta=delta)
    for _ in range(parts):
        budget.spend(to.TotalVariation(delta / parts))
    assert budget.would_exceed(to.TotalVariation(delta / parts))


@pytest.mark.slow
def test_a_step_may_give_up_all_of_delta_at_once():
    budget = ResidueFilter(2, delta=1e-6, step_delta=1e-6)
    budget.spend(to.mechanisms.SubsampledGaussian(noise_multiplier=1, sample_rate=0.01))
    with pytest.raises(BudgetExceeded):
        budget.spend(to.mechanisms.SubsampledGaussian(noise_multiplier=1, sample_rate=0.01))


@pytest.mark.parametrize("build", [ZCDPFilter, ApproximateDPFilter])
def test_a_step_delta_that_leaves_nothing_is_named(build):
    with pytest.raises(DomainError, match="step_delta"):
        build(1, 1e-6, step_delta=math.nextafter(1e-6, 0))


def test_what_remains_is_taken_from_the_exact_sum():
    """The sum is 1 - 2^-54 + 2^-107, which rounds to 1 - 2^-53 or 1: the rest is that of the sum itself."""
    budget = to.filters.PureDPFilter(1.0)
    for epsilon in (0.5, 0.5 - 2.0**-54, 2.0**-107):
        budget.spend(to.PureDP(epsilon))
    spent = Fraction(1) - Fraction(2) ** -54 + Fraction(2) ** -107
    assert Fraction(budget.remaining) <= 1 - spent
    assert Fraction(budget.remaining) >= (1 - spent) * (1 - Fraction(1, 2**50))
    assert Fraction(budget.spent) >= spent


def test_a_leak_of_a_polygon_in_fractions_is_rounded_up():
    third = Fraction(1, 3)
    budget = RhoFilter(1.0, delta=0.5)
    budget.spend(to.PiecewiseLinear([0, 1 - third], [1 - third, 0]))
    assert Fraction(budget.totals[1].value()) >= third


@pytest.mark.parametrize(
    "build",
    [
        lambda: to.filters.FilterOdometer(0.9999999999999999, at=1),
        lambda: to.filters.MixtureOdometer(0.9999999999999999, r=1),
    ],
)
def test_odometers_near_delta_1_and_at_the_ends_round_up(build):
    odometer = build()
    with mpmath.workdps(40):
        log, v = -mpmath.log(mpmath.mpf(odometer.delta)), mpmath.mpf("0.25")
        filter_ = v / 2 + v * mpmath.sqrt(log / 2) + mpmath.sqrt(log / 2)
        mixture = v / 2 + mpmath.sqrt(2 * (v + 1) * (mpmath.log1p(v) / 2 + log))
        assert float(odometer.bound(0.25)) >= (
            filter_ if isinstance(odometer, to.filters.FilterOdometer) else mixture
        )
        assert float(odometer.bound(0.0)) >= mpmath.sqrt(
            (1 if isinstance(odometer, to.filters.FilterOdometer) else 4) * log / 2
        )


@pytest.mark.parametrize("clock", [0.0, 5e-324, 1e-150, 1.0, 1e150, 1.7e308])
@pytest.mark.parametrize("tuned", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("delta", [5e-324, 0.5])
def test_odometers_at_the_ends_of_the_floats_claim_enough(clock, tuned, delta):
    odometers = (
        to.filters.FilterOdometer(delta, at=tuned),
        to.filters.MixtureOdometer(delta, r=tuned),
        to.filters.StitchedOdometer(delta, start=tuned),
    )
    for odometer in odometers:
        assert float(odometer.bound(clock)) >= clock / 2
        assert not np.isnan(odometer.bound(clock))


@pytest.mark.parametrize(
    "bad",
    [
        "a",
        None,
        [1, "a"],
        math.nan,
        -1.0,
        math.inf,
        1j,
        10**400,
        np.ma.array([1.0, 2.0], mask=[False, True]),
        [[1], [1, 2]],
    ],
)
def test_clocks_that_are_no_times_are_named(bad):
    for odometer in (
        to.filters.FilterOdometer(0.1, at=1),
        to.filters.MixtureOdometer(0.1, r=1),
        to.filters.StitchedOdometer(0.1, start=1),
    ):
        with pytest.raises(DomainError, match="clock"):
            odometer.bound(bad)


@pytest.mark.parametrize("mu", [0.1, 0.2, 0.3, 0.4, 0.5])
def test_the_printed_loss_of_an_odometer_is_rounded_up(mu):
    odometer = to.filters.MixtureOdometer(0.1, r=1)
    odometer.spend(to.Gaussian(mu))
    printed = repr(odometer).split("loss at most ")[1].split()[0]
    assert Fraction(printed) >= Fraction(odometer.epsilon)
    assert float(printed) == pytest.approx(odometer.epsilon, rel=1e-5)


def test_an_odometer_keeps_what_its_steps_rest_on():
    step = to.from_scipy(stats.t(5), stats.t(5, loc=0.1))
    odometer = to.filters.MixtureOdometer(0.1, r=1)
    odometer.spend(to.Gaussian(0.1))
    assert (odometer.assumptions, bool(step.assumptions)) == ((), True)
    for _ in range(2):
        odometer.spend(step)
    assert odometer.assumptions == pickle.loads(pickle.dumps(odometer)).assumptions == step.assumptions


def test_an_odometer_refuses_what_its_clock_cannot_show():
    odometer = to.filters.FilterOdometer(0.1, at=1)
    odometer.spend(to.Gaussian(1e154))
    before = odometer.clock
    with pytest.raises(KindError):
        odometer.spend(to.Gaussian(1e154))  # 1e308 twice
    assert odometer.clock == before < math.inf
    assert "nan" not in repr(odometer)
