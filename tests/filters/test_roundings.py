"""What filters, odometers and baselines combine lies on the safe side of 60 digits and fractions."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import log_uniform
from tradeoff import baselines, filters
from tradeoff.errors import BudgetExceeded, DomainError
from tradeoff.filters.base import SLACK, widened
from tradeoff.filters.costs import gdp_mu, renyi, square, zcdp
from tradeoff.filters.domination import by_search, charge, pure_residual, reach
from tradeoff.filters.gdp import share, widened_mu
from tradeoff.filters.responses import Bounded, Responses, responses
from tradeoff.filters.zcdp import rho_for

LEAST = 5e-324
TIGHT = Fraction(1, 2**46)
"""What a few roundings may lose."""

anything = st.one_of(log_uniform(1e-300, 1e150), st.sampled_from([LEAST, 3 * LEAST, 1e-310, 1.0, 0.3]))


edges = [
    LEAST,
    2 * LEAST,
    3 * LEAST,
    7 * LEAST,
    1e-310,
    1e-200,
    math.nextafter(1.0, 0.0),
    999.0,
    1001.0,
    1e300,
]


@pytest.mark.parametrize("epsilon", [*edges, 1e-9, 0.3, 1.0, 3.7, 80.0, 1e4, 1e5])
def test_the_mu_of_pure_loss_is_rounded_up(epsilon):
    found = gdp_mu(to.PureDP(epsilon))
    with mpmath.workdps(400):
        e = mpmath.mpf(epsilon)
        slope = mpmath.sqrt(mpmath.pi / 2)
        if epsilon < 1e-100:  # mu is sqrt(pi/2) eps up to eps^3
            assert slope * e <= found <= slope * e * (1 + mpmath.mpf(1e-13)) + 8 * LEAST
        elif epsilon < 1e6:
            half, tail = mpmath.mpf(found) / 2, lambda z: mpmath.erfc(z / mpmath.sqrt(2)) / 2
            assert tail(half) <= 1 / (1 + mpmath.exp(e)) <= tail(half * (1 - mpmath.mpf(1e-6)))
        else:
            assert (
                2 * mpmath.sqrt(2 * e) * (1 - mpmath.mpf(1e-9))
                <= found
                <= 2 * mpmath.sqrt(2 * e) * (1 + 1e-9)
            )


def test_no_step_with_a_loss_is_free():
    for step in (to.PureDP(LEAST), to.Gaussian(LEAST)):
        assert gdp_mu(step) > 0
        assert zcdp(step)[0] > 0
        assert renyi(step, 2.0) > 0
        for budget in (
            filters.GDPFilter(1),
            filters.RhoFilter(1),
            filters.PureDPFilter(1e9),
            filters.ResidueFilter(1),
        ):
            if not (isinstance(budget, filters.PureDPFilter) and isinstance(step, to.Gaussian)):
                budget.spend(step)
                assert budget.totals[0].value() > 0


@given(st.one_of(log_uniform(1e-15, 1e6), st.just(2.0**-52)), log_uniform(1e-20, 1e3))
def test_renyi_divergences_are_rounded_up(above_one, epsilon):
    order = min(1 + above_one, 1e6)
    with mpmath.workdps(120):
        a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
        q, share_ = 1 / (1 + mpmath.exp(e)), (a - 1) / (2 * a - 1)
        pure = e + mpmath.log1p(q * mpmath.expm1(-2 * (a - 1) * e)) / (a - 1)
        laplace = e + mpmath.log1p(share_ * mpmath.expm1(-(2 * a - 1) * e)) / (a - 1)
        assert renyi(to.PureDP(epsilon), order) >= pure
        assert renyi(to.Laplace(epsilon), order) >= laplace
        assert renyi(to.Gaussian(epsilon), order) >= a * e * e / 2


@given(st.lists(st.tuples(anything, st.integers(1, 2**60)), min_size=1, max_size=4))
def test_costs_of_products_are_rounded_up(parts):
    curve, truth = to.Identity(), Fraction(0)
    for mu, n in parts:
        curve, truth = curve @ to.PureDP(mu) ** n, truth + n * Fraction(zcdp(to.PureDP(mu))[0])
    found = zcdp(curve)[0]
    if math.isfinite(found):
        assert truth <= Fraction(found) <= truth * (1 + TIGHT) + 8 * Fraction(LEAST)


@given(anything, anything)
def test_squares_and_shares_are_rounded_up(mu, budget):
    truth = (Fraction(mu) / Fraction(budget)) ** 2
    found = share(mu, budget)
    if math.isfinite(found):
        assert truth <= Fraction(found) <= truth * (1 + TIGHT) + Fraction(1, 10**320)
    assert Fraction(square(mu, 0.5)) >= Fraction(mu) ** 2 / 2


@given(anything)
def test_widened_budgets_hold_the_slack_and_little_more(limit):
    exact = Fraction(limit) * Fraction(1 + SLACK)
    assert exact <= Fraction(widened(limit)) <= exact * (1 + TIGHT) + Fraction(LEAST)
    exact, found = Fraction(limit) ** 2 * Fraction(1 + SLACK), Fraction(widened_mu(limit))
    assert max(found - 2 * Fraction(LEAST), 0) ** 2 <= exact * (1 + TIGHT)
    assert exact <= found**2


@given(anything, st.lists(log_uniform(1e-18, 1.0), max_size=12))
def test_no_sum_of_steps_passes_what_the_guarantee_holds(limit, shares):
    limit = min(limit, 1e140)
    budget, spent = filters.PureDPFilter(limit), Fraction(0)
    for part in shares:
        step = to.PureDP(limit * part)
        if not budget.would_exceed(step):
            budget.spend(step)
            spent += Fraction(step.epsilon_0)
    assert spent <= Fraction(budget.guarantee().epsilon_0)
    assert Fraction(budget.remaining) <= max(Fraction(limit) - spent, 0)
    assert not budget.would_exceed(to.PureDP(budget.remaining))


@given(log_uniform(1e-9, 1e9), log_uniform(1e-300, 0.999), st.sampled_from([0.0, 1e-9, 0.3, 0.9]))
def test_the_converted_rho_holds_with_its_slack(epsilon, delta, part):
    step_delta = delta * part
    with mpmath.workdps(60):
        rho = mpmath.mpf(rho_for(epsilon, delta, step_delta)) * (1 + mpmath.mpf(SLACK))
        rest = mpmath.mpf(delta) - mpmath.mpf(step_delta) * (1 + mpmath.mpf(SLACK))
        assert rho + 2 * mpmath.sqrt(-rho * mpmath.log(rest)) <= epsilon * (1 + mpmath.mpf(2) ** -100)


@pytest.mark.slow
@given(log_uniform(1e-6, 50.0), log_uniform(1e-3, 16.0))
def test_what_a_response_leaves_of_any_budget_is_proved(r, ratio):
    epsilon = min(ratio * r, 20.0)
    left = pure_residual(epsilon, r)
    with mpmath.workdps(60):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(left)
        if left:
            tail = mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
            goal = mpmath.erf(mpmath.mpf(r) / mpmath.sqrt(8))
            assert mpmath.tanh(e / 2) + 2 * tail / (1 + mpmath.exp(e)) <= goal
            searched = by_search(Bounded(to.PureDP(epsilon), epsilon), r)
            assert searched >= mpmath.mpf(r) ** 2 - m**2


@given(log_uniform(1e-6, 50.0), log_uniform(1e-9, 0.9), log_uniform(1e-3, 20.0))
def test_the_densities_decide_beyond_the_reach(r, gap, loss):
    mu = r * (1 - gap)
    found = reach(loss, mu, r)
    with mpmath.workdps(60):
        m, top = mpmath.mpf(mu), mpmath.mpf(r)
        a = 1 / m**2 - 1 / top**2
        b, c = loss / m**2, (top**2 - m**2) / 8 + mpmath.log(top / m)
        root = (b + mpmath.sqrt(b * b + 2 * a * c)) / a
        assert root <= found <= root * (1 + mpmath.mpf(1e-12))


@pytest.mark.slow
def test_mixtures_of_many_responses_are_rounded_down():
    rng = np.random.default_rng(5)
    loss = np.append(0.0, np.sort(rng.uniform(1e-3, 8.0, 1999)))
    weight = rng.exponential(size=2000)
    mixture = Responses(loss, weight / weight.sum())
    at = np.array([0.0, 1e-9, 0.5, 3.0, 7.9])
    with mpmath.workdps(40):
        for epsilon, found in zip(at.tolist(), mixture.delta(at).tolist(), strict=True):
            e = mpmath.exp(mpmath.mpf(epsilon))
            each = ((mpmath.exp(mpmath.mpf(one)), w) for one, w in zip(loss, mixture.weight, strict=True))
            truth = mpmath.fsum(mpmath.mpf(w) * max(one - e, 0) / (1 + one) for one, w in each)
            assert truth * (1 - mpmath.mpf(1e-12)) <= found <= truth
    assert responses(Bounded(to.Laplace(8.0), 8.0), 1.0) is not None


@given(log_uniform(1e-300, 0.999999), log_uniform(1e-9, 1e9), log_uniform(1e-12, 1e12))
def test_odometers_are_rounded_up_by_little(delta, tuned, clock):
    with mpmath.workdps(50):
        log, v, y = -mpmath.log(mpmath.mpf(delta)), mpmath.mpf(clock), mpmath.mpf(tuned)
        w = max(v, y)
        five, most = mpmath.mpf(26) / 5, mpmath.mpf(17) / 10
        truths = (
            (
                filters.FilterOdometer(delta, at=tuned),
                v * mpmath.sqrt(log / (2 * y)) + mpmath.sqrt(y * log / 2),
            ),
            (
                filters.MixtureOdometer(delta, r=tuned),
                mpmath.sqrt(2 * (v + y) * (mpmath.log1p(v / y) / 2 + log)),
            ),
            (
                filters.StitchedOdometer(delta, start=tuned),
                most
                * mpmath.sqrt(w * (mpmath.log(mpmath.log(2 * w / y)) + (mpmath.log(five) + log) * 18 / 25)),
            ),
        )
        for odometer, margin in truths:
            found = float(odometer.bound(clock))
            assert found * (1 + mpmath.mpf(2) ** -50) >= v / 2 + margin  # constants are floats
            assert found <= (v / 2 + margin) * (1 + mpmath.mpf(1e-13))


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-6, 0.3, 0.9])
@pytest.mark.parametrize("part", [0.0, 1e-3, 0.3, 0.99])
def test_what_remains_of_a_residue_filter_fits(delta, part):
    budget = filters.ResidueFilter(1, delta=delta)
    budget.spend(to.TotalVariation(delta * part) @ to.Gaussian(0.3))
    left = budget.remaining
    assert left.delta >= budget.budget.delta * (1 - part) * (1 - 1e-12)
    assert budget.budget == (1.0, delta)
    budget.spend(to.TotalVariation(left.delta) @ to.Gaussian(left.mu))


def test_unspent_budgets_show_nothing_spent_and_all_remaining():
    for budget in (
        filters.GDPFilter(0.3),
        filters.ResidueFilter(0.3, delta=0.1),
        filters.ZCDPFilter(1, 1e-6),
    ):
        assert np.all(np.equal(budget.spent, 0.0))
        assert budget.remaining == budget.budget


def test_a_charge_stays_within_the_budget():
    for r in (1e-6, 1e-3, 1.0, 50.0):
        for ratio in (1e-9, 0.1, 0.5, 1.0, 3.0):
            found = charge(Bounded(to.PureDP(r * ratio), r * ratio), r)
            assert math.isinf(found) or 0 < found <= r * r


edited = [("steps", math.inf), ("steps", -3), ("steps", 1.5), ("adjacency", 3), ("sums", [[10**400]])]


@pytest.mark.parametrize(
    ("name", "value"), [*edited, ("sums", [[math.inf]]), ("parameters", {"mu": 10**400})]
)
def test_states_that_no_filter_left_are_refused(name, value):
    with pytest.raises(DomainError, match="is no state of a filter"):
        filters.Filter.from_state({**filters.GDPFilter(1).state(), name: value})


@pytest.mark.parametrize("wait", [math.nan, -1, math.inf, "a", None, 10**400])
def test_ledgers_wait_a_number_of_seconds(tmp_path, wait):
    path = tmp_path / "budget.ledger"
    ledger = filters.Ledger.create(path, filters.GDPFilter(1))
    with pytest.raises(DomainError, match="wait"):
        filters.Ledger(path, wait=wait)
    with pytest.raises(to.errors.LedgerError, match="no entry carries the head 5"):
        ledger.verify(5)


def test_a_simulator_cannot_be_overspent_by_roundings():
    simulator = filters.GaussianSimulator(0.0, np.random.default_rng(1))
    simulator.answer(1.0)
    simulator.answer(9e-7)
    with pytest.raises(BudgetExceeded):
        simulator.answer(9e-7)
    assert simulator.remaining == 0.0


@given(log_uniform(1e-9, 0.9), log_uniform(1e-100, 0.9), log_uniform(1e-3, 1e3), st.integers(1, 10**12))
def test_textbook_formulas_are_rounded_up_by_little(epsilon, delta, size, n):
    with mpmath.workdps(50):
        e, s = mpmath.mpf(epsilon), mpmath.mpf(size)
        log = -mpmath.log(mpmath.mpf(delta))
        basic = baselines.basic_composition([epsilon, epsilon / 3], n=n)
        classical = baselines.classical_gaussian(epsilon, delta, sensitivity=size)
        laplace = baselines.laplace_basic(epsilon, n=n, sensitivity=size)
        advanced = baselines.laplace_advanced(epsilon, delta, n=n, sensitivity=size)
        composed = baselines.advanced_composition([epsilon, epsilon / 3], n=n, slack=delta)
        k_fold = baselines.advanced_composition(epsilon, n=n, slack=delta, form="k-fold")
        squares = n * (e**2 + mpmath.mpf(epsilon / 3) ** 2)
        truths = (
            (basic.epsilon, n * (e + mpmath.mpf(epsilon / 3))),
            (classical.scale, mpmath.sqrt(2 * (mpmath.log(mpmath.mpf(5) / 4) + log)) * s / e),
            (laplace.scale, n * s / e),
            (advanced.scale, s * mpmath.sqrt(n * 2 * (log + e)) / e),
            (composed.epsilon, squares / 2 + mpmath.sqrt(2 * log * squares)),
            (k_fold.epsilon, mpmath.sqrt(2 * n * log) * e + n * e * mpmath.expm1(e)),
            (
                baselines.zcdp_route(size, delta, conversion="bun-steinke").epsilon,
                s + 2 * mpmath.sqrt(s * log),
            ),
        )
        for found, truth in truths:
            assert truth <= found <= truth * (1 + mpmath.mpf(1e-13))


@given(log_uniform(1e-9, 699.0), st.integers(3, 10**9))
def test_vertices_of_a_response_lie_below_its_curve(epsilon, categories):
    curve = to.mechanisms.RandomizedResponse(epsilon, categories).curve()
    with mpmath.workdps(50):
        total = mpmath.exp(mpmath.mpf(epsilon)) + categories - 1
        for found, truth in ((curve.alpha[1], 1 / total), (curve.beta[1], (categories - 1) / total)):
            assert truth * (1 - mpmath.mpf(1e-14)) <= found <= truth
