"""Filters in epsilon, rho and Renyi divergence: conversions in 50 digits, an analyst enumerated."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import log_uniform
from tradeoff.errors import DomainError
from tradeoff.filters import ApproximateDPFilter, RhoFilter, ZCDPFilter
from tradeoff.filters.budgets import rho_within

pairs = pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.1, 1.0, 7.3, 200.0])
deltas = pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-6, 0.01, 0.7])


@given(st.floats(0.001, 50), log_uniform(1e-300, 0.9))
def test_rho_within_solves_its_equation(epsilon, delta):
    with mpmath.workdps(50):
        rho = mpmath.mpf(rho_within(epsilon, delta))
        result = rho + 2 * mpmath.sqrt(rho * mpmath.log(1 / mpmath.mpf(delta)))
        assert epsilon * (1 - 1e-12) <= result <= epsilon * (1 + 1e-14)


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


@pairs
@deltas
@pytest.mark.parametrize("build", [ZCDPFilter, ApproximateDPFilter])
def test_guarantee_equals_approximate_dp(build, epsilon, delta):
    assert build(epsilon, delta, step_delta=delta / 3).guarantee() == to.approximate_dp(epsilon, delta)


@pairs
@deltas
@pytest.mark.parametrize("share", [0, 1e-9, 0.5, 0.999])
@pytest.mark.parametrize("build", [ZCDPFilter, ApproximateDPFilter])
def test_largest_sum_that_fits_is_within_the_promise(build, epsilon, delta, share):
    """The largest sums that pass the comparison, with slack and rounding, converted in 50 digits."""
    budget = build(epsilon, delta, step_delta=delta * share)
    first, second = (Fraction(limit) * Fraction(1 + 1e-12) for limit in budget.limits)
    rest = Fraction(delta) - second
    assert rest > 0
    with mpmath.workdps(50):
        rho = mpmath.mpf(first.numerator) / first.denominator / (1 if build is ZCDPFilter else 2)
        log = -mpmath.log(mpmath.mpf(rest.numerator) / rest.denominator)
        assert rho + 2 * mpmath.sqrt(rho * log) <= epsilon
        if epsilon > 0 and share == 0:
            assert rho + 2 * mpmath.sqrt(rho * log) >= epsilon * (1 - 3e-12)


@pytest.mark.parametrize("build", [ZCDPFilter, ApproximateDPFilter])
def test_step_delta_without_remainder_raises(build):
    with pytest.raises(DomainError, match="step_delta"):
        build(1, 1e-6, step_delta=math.nextafter(1e-6, 0))


def test_remaining_is_computed_from_the_exact_sum():
    """The sum is 1 - 2^-54 + 2^-107, which rounds to 1 - 2^-53 or 1: the rest is that of the sum itself."""
    budget = to.filters.PureDPFilter(1.0)
    for epsilon in (0.5, 0.5 - 2.0**-54, 2.0**-107):
        budget.spend(to.PureDP(epsilon))
    spent = Fraction(1) - Fraction(2) ** -54 + Fraction(2) ** -107
    assert Fraction(budget.remaining) <= 1 - spent
    assert Fraction(budget.remaining) >= (1 - spent) * (1 - Fraction(1, 2**50))
    assert Fraction(budget.spent) >= spent


@given(log_uniform(1e-9, 1e3), st.lists(log_uniform(1e-12, 1.0), max_size=12))
def test_no_sum_of_steps_exceeds_the_guarantee(limit, shares):
    budget, spent = to.filters.PureDPFilter(limit), Fraction(0)
    for part in shares:
        step = to.PureDP(limit * part)
        if not budget.would_exceed(step):
            budget.spend(step)
            spent += Fraction(step.epsilon_0)
    assert spent <= Fraction(budget.guarantee().epsilon_0)
    assert Fraction(budget.remaining) <= max(Fraction(limit) - spent, 0)
    assert not budget.would_exceed(to.PureDP(budget.remaining))


def test_leak_of_an_exact_polygon_is_rounded_up():
    budget = RhoFilter(1.0, delta=0.5)
    budget.spend(to.PiecewiseLinear([0, Fraction(2, 3)], [Fraction(2, 3), 0]))
    assert Fraction(budget.spent.delta) >= Fraction(1, 3)


@pytest.mark.parametrize("after", [0, 1])
def test_approximate_filters_hold_against_an_adaptive_analyst(after):
    """Enumerated over hundreds of paths that meet again: 0.1 after one answer and 0.05 after the other."""
    start = to.filters.ApproximateDPFilter(1, 0.05)
    paths, total = {(0.0, 0, 0.0): (1.0, start.state())}, 0.0
    while paths:
        grown = {}
        for (loss, last, _), (mass, state) in paths.items():
            budget, step = to.filters.Filter.from_state(state), 0.1 if last == after else 0.05
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
