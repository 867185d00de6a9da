"""The GDP filter against adaptive analysts, its simulator, and the natural filter that is not private."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import tradeoff as to
from tests.strategies import log_uniform
from tradeoff.errors import BudgetExceeded, DomainError, KindError

SLACK = Fraction(1, 10**12)
RUNS = 200_000
SURE = 1e-5  # probability that a confidence bound of a correct claim fails; seeds are fixed too


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


@pytest.mark.parametrize("mu", [-1, math.nan, math.inf, "1", True])
def test_budgets_are_numbers_in_range(mu):
    with pytest.raises(DomainError):
        to.filters.GDPFilter(mu)


@given(log_uniform(1e-6, 1e3), st.lists(st.floats(0.0, 0.7), max_size=5))
def test_remaining_budget_can_be_spent(mu, shares):
    budget = to.filters.GDPFilter(mu)
    for share in shares:
        if not budget.would_exceed(to.Gaussian(mu * share)):
            budget.spend(to.Gaussian(mu * share))
    budget.spend(to.Gaussian(budget.remaining))
    assert budget.would_exceed(to.Gaussian(mu * 1e-5))


class Basis:
    """Source of 'noise' with innovation 1 for run j in round j, else 0: answers become columns of L."""

    def __init__(self):
        self.round = -1

    def normal(self, size):
        self.round += 1
        return np.eye(size[0])[self.round]


def columns(m):
    simulator = to.filters.GaussianSimulator(np.zeros(len(m)), Basis())
    return np.array([simulator.answer(x) for x in m])


@pytest.mark.parametrize(
    "m", [[0.6, 0.8], [0.3, -0.5, 0.2, 0.7], [1.0], [0.1] * 20, [0.9, 0.0, 0.4, 1e-8, 0.1]]
)
def test_the_recursion_is_the_cholesky_factor(m):
    """Given the m, W is linear in (W_0, innovations): m W_0 + L z with L L^T = I - m m^T, so Cov(W) = I."""
    m, factor = np.array(m), columns(m)
    assert np.allclose(factor, np.tril(factor))
    np.testing.assert_allclose(factor @ factor.T, np.eye(len(m)) - np.outer(m, m), atol=1e-13)
    s = np.concatenate([[0.0], np.cumsum(m**2)])
    np.testing.assert_allclose(np.diag(factor) ** 2, np.maximum(1 - s[1:], 0) / (1 - s[:-1]), atol=1e-12)


@pytest.mark.parametrize("b", [0.0, 1.0])
def test_the_joint_law_holds_for_adaptive_rules(b):
    rng = np.random.default_rng(20)
    simulator = to.filters.GaussianSimulator(rng.normal(b, 1, size=RUNS), rng)
    answers, residues, m = [], [], np.full(RUNS, 0.5)
    for _ in range(6):
        answers.append(simulator.answer(m))
        residues.append(answers[-1] - b * m)
        m = (
            np.sqrt(simulator.remaining)
            * np.where(answers[-1] > 0.3, 0.8, -0.3)
            * np.tanh(1 + np.abs(answers[0]))
        )
    for k, z in enumerate(residues):
        assert stats.kstest(z, "norm").pvalue > SURE
        for past in (residues[j] for j in range(k)):
            for one, other in ((z, past), (z**2, past**2), (z, past**2), (np.sign(z), np.abs(past) > 1)):
                assert abs(np.corrcoef(one, other)[0, 1]) < 4.5 / math.sqrt(RUNS)


def test_the_simulator_spends_its_draw_and_no_more():
    rng = np.random.default_rng(1)
    simulator = to.filters.GaussianSimulator(0.3, rng)
    first = [simulator.answer(0.1) for _ in range(100)]
    assert simulator.remaining == pytest.approx(0, abs=1e-12)
    with pytest.raises(BudgetExceeded):
        simulator.answer(1e-3)
    assert math.isfinite(simulator.answer(0.0))
    # All of the draw is in the answers: sum m_i W_i = W_0 when the budget is exhausted.
    assert 0.1 * sum(first) == pytest.approx(0.3, abs=1e-6)
    for bad in (math.nan, math.inf):
        with pytest.raises(DomainError):
            simulator.answer(bad)
        with pytest.raises(DomainError):
            to.filters.GaussianSimulator(bad, rng)


@pytest.mark.parametrize("share", [0.1, 1 / 3])
def test_next_to_the_end_answers_keep_their_law(share):
    """Roundings of the squares leave some 1e-16 of 1, by which the mean was divided."""
    rng = np.random.default_rng(3)
    simulator = to.filters.GaussianSimulator(rng.normal(size=20_000), rng)
    for _ in range(round(1 / share)):
        simulator.answer(math.sqrt(share))
    assert np.std(simulator.answer(9e-7)) == pytest.approx(1.0, abs=0.03)


def gaussian_runs(rule, mu, seed):
    """Losses of many runs at once, under Q, of an analyst who ends by spending all that is left."""
    rng = np.random.default_rng(seed)
    budget, loss, last = to.filters.IndividualGDPFilter(mu, RUNS), np.zeros(RUNS), np.zeros(RUNS)
    for k in range(12):
        step = budget.remaining if k == 11 else rule(budget.remaining, loss, last)
        step = np.where(budget.spend(step), step, 0.0)
        last = step**2 / 2 + step * rng.normal(size=RUNS)
        loss += last
    return loss


def hunter(remaining, loss, last):
    """Look closely where little was lost so far, and stay away after a large loss."""
    return np.where(np.minimum(loss, last) < 0, 0.5 * remaining, 0.1)


def gambler(remaining, loss, last):
    """Raise the stakes after every gain of evidence, unless too much is known already."""
    return np.where((last > 0) & (loss < 2), 0.7, 0.05 * np.sqrt(remaining))


def mean_and_width(gains):
    """Return the mean, and its distance from the truth but for SURE (Maurer, Pontil 2009, Bernstein)."""
    log = math.log(2 / SURE)
    return gains.mean(), math.sqrt(2 * gains.var(ddof=1) * log / RUNS) + 7 * log / (3 * (RUNS - 1))


@pytest.mark.parametrize("rule", [hunter, gambler])
def test_adaptive_analysts_never_beat_the_gdp_filter(rule):
    loss = gaussian_runs(rule, 1.0, 7)
    for epsilon in (0.0, 1.0, 2.0):
        mean, width = mean_and_width(np.maximum(-np.expm1(epsilon - loss), 0.0))
        claim = to.filters.GDPFilter(1).guarantee().delta(epsilon)
        assert mean - width <= claim
        assert mean + width >= to.Gaussian(1).bounds.delta(epsilon).lower  # all is spent
        assert width < 0.1 * claim


@pytest.mark.parametrize("rule", [hunter, gambler])
def test_filter_that_forgets_a_step_is_detected(rule):
    """The same estimate for 10 % more than the budget lies above the claim: the test can fail."""
    mean, width = mean_and_width(np.maximum(-np.expm1(1.0 - gaussian_runs(rule, 1.1, 7)), 0.0))
    assert mean - width > to.Gaussian(1).delta(1.0)


@pytest.mark.parametrize("rule", [hunter, gambler])
def test_adaptive_analysts_never_beat_the_zcdp_filter(rule):
    budget = to.filters.ZCDPFilter(1.0, 0.02)
    loss = gaussian_runs(rule, math.sqrt(2 * budget.budget.rho), 5)
    mean, width = mean_and_width(np.maximum(-np.expm1(1.0 - loss), 0.0))
    assert 0 < mean - width <= budget.guarantee().delta(1.0)


def response(odds):
    """Randomised response with e^eps = odds, exactly."""
    return to.PiecewiseLinear(
        [Fraction(0), 1 / (1 + odds), Fraction(1)], [Fraction(1), 1 / (1 + odds), Fraction(0)]
    )


def test_the_natural_filter_is_not_private():
    """delta(1) = 0.01 along both paths, and 0.01495 for the whole, in fractions; e is 2.71828."""
    first, strong, e = Fraction("1.0202"), Fraction("2.7489"), Fraction("2.71828")  # e^0.02, e^1.0112
    leak = to.PiecewiseLinear([Fraction(0), Fraction(99, 100)], [Fraction(99, 100), Fraction(0)])

    def diluted(weight):
        """With the stated probability a randomised response, else nothing."""
        low = weight / (1 + strong)
        return to.PiecewiseLinear(
            [Fraction(0), low, low + 1 - weight, low + 1 - weight + weight * strong / (1 + strong)],
            [Fraction(1), 1 - weight * strong / (1 + strong), low, Fraction(0)],
        )

    # Along the second path delta(1) = w Q(+) (1 - e/(e^0.02 e^1.0112)) e^1.0112/(1 + e^1.0112), linear in w.
    whole = (response(first) @ diluted(Fraction(1))).hockey_stick(e)
    weight = Fraction(1, 100) / whole
    assert float(weight) == pytest.approx(0.8797, abs=2e-3)
    assert (response(first) @ leak).hockey_stick(e) == Fraction(1, 100)
    assert (response(first) @ diluted(weight)).hockey_stick(e) == Fraction(1, 100)
    # The whole: after + the response, after - the leak. Each answer shifts the loss of what follows.
    up, down = first / (1 + first), 1 / (1 + first)
    adaptive = up * diluted(weight).hockey_stick(e / first) + down * leak.hockey_stick(e * first)
    assert float(adaptive) == pytest.approx(0.01495, abs=1e-6)
    assert adaptive == Fraction(1, 100) * (1 + down)


@pytest.mark.parametrize("target", [to.PureDP(1), to.Laplace(1) @ to.Gaussian(1), 1])
def test_filters_for_arbitrary_targets_are_refused_with_the_reason(target):
    with pytest.raises(KindError, match=r"0\.01495 together.*GDPFilter"):
        to.filters.FDPFilter(target)
    with pytest.raises(KindError, match=r"GDPFilter\(m\)"):
        to.filters.FDPFilter(to.Gaussian(sympy.Symbol("m")))


def test_simulator_refuses_what_it_cannot_answer():
    simulator = to.filters.GaussianSimulator([0.1, 0.2], np.random.default_rng(1))
    for m in ([0.1, 0.1j], "a", [0.1, 0.2, 0.3], math.nan):
        with pytest.raises(DomainError, match="m "):
            simulator.answer(m)
    with pytest.raises(BudgetExceeded):
        simulator.answer(1e200)
    assert simulator.remaining.tolist() == [1.0, 1.0]
