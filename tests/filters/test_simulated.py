"""What is claimed for every rule, against rules: simulated with confidence bounds, or enumerated exactly."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

import tradeoff as to
from tradeoff.errors import BudgetExceeded, DomainError, KindError

RUNS = 200_000
SURE = 1e-5
"""Probability that a confidence bound of a correct claim fails; seeds are fixed besides."""


class Basis:
    """Source of 'noise' with innovation 1 for run j in round j, else 0: answers become columns of L."""

    def __init__(self):
        self.round = -1

    def normal(self, size):
        self.round += 1
        return np.eye(size[0])[self.round]


class Silence:
    """Source of no noise at all."""

    def normal(self, size):
        return np.zeros(size)


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
    simulator = to.filters.GaussianSimulator(2.5, Silence())
    np.testing.assert_allclose([simulator.answer(x) for x in m][:1], 2.5 * m[:1])


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


@pytest.mark.parametrize("rule", [hunter, gambler])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 2.0])
def test_adaptive_analysts_never_beat_the_gdp_filter(rule, epsilon):
    gains = np.maximum(-np.expm1(epsilon - gaussian_runs(rule, 1.0, 7)), 0.0)
    # Bernstein (Maurer, Pontil 2009): the mean is within this of the truth, but for SURE.
    log = math.log(2 / SURE)
    width = math.sqrt(2 * gains.var(ddof=1) * log / RUNS) + 7 * log / (3 * (RUNS - 1))
    claim = to.filters.GDPFilter(1).guarantee().delta(epsilon)
    assert gains.mean() - width <= claim
    assert (
        gains.mean() + width >= to.Gaussian(1).bounds.delta(epsilon).lower
    )  # all is spent, so the truth is the claim
    assert width < 0.1 * claim


@pytest.mark.parametrize("clock", [hunter, gambler])
def test_a_filter_that_forgot_a_step_would_be_caught(clock):
    """The same estimate for 10 % more than the budget lies above the claim: the test can fail."""
    gains = np.maximum(-np.expm1(1.0 - gaussian_runs(clock, 1.1, 7)), 0.0)
    log = math.log(2 / SURE)
    assert gains.mean() - math.sqrt(2 * gains.var(ddof=1) * log / RUNS) - 7 * log / (3 * RUNS) > to.Gaussian(
        1
    ).delta(1.0)


@pytest.mark.parametrize("rule", [hunter, gambler])
def test_adaptive_analysts_never_beat_the_zcdp_filter(rule):
    budget = to.filters.ZCDPFilter(1.0, 0.02)
    gains = np.maximum(-np.expm1(1.0 - gaussian_runs(rule, math.sqrt(2 * budget.budget.rho), 5)), 0.0)
    log = math.log(2 / SURE)
    width = math.sqrt(2 * gains.var(ddof=1) * log / RUNS) + 7 * log / (3 * (RUNS - 1))
    assert 0 < gains.mean() - width <= budget.guarantee().delta(1.0)


def odometers():
    return [
        to.filters.FilterOdometer(0.05, at=1.0),
        to.filters.MixtureOdometer(0.05, r=0.1),
        to.filters.StitchedOdometer(0.05, start=0.05),
    ]


@pytest.mark.slow
def test_odometers_hold_at_every_time_at_once():
    """Simulated, with steps that grow after crossings of the middle: how often a run passes its bound."""
    rng, runs, each = np.random.default_rng(3), 20_000, odometers()
    times = np.append(0.0, np.geomspace(1e-6, 1e9, 1000))
    for odometer in each:  # so runs below are below their bound, and it need not be asked
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
        interval = stats.binomtest(int(passed.sum()), runs).proportion_ci(1 - SURE)
        assert interval.low <= 0.05, odometer
        assert interval.high < 0.055, odometer  # and so the bound is not only unrefuted
        assert passed.mean() >= least, odometer  # nor is it empty


@pytest.mark.parametrize("odometer", odometers(), ids=lambda x: type(x).__name__)
def test_odometers_against_their_formulas(odometer):
    with mpmath.workdps(40):
        log, r = mpmath.log(mpmath.mpf(1) / mpmath.mpf(0.05)), mpmath.mpf(0.1)
        for v in (0.0, 0.05, 1.0, 30.0):
            w = max(mpmath.mpf(v), mpmath.mpf(0.05))
            margin = {
                "FilterOdometer": v * mpmath.sqrt(log / 2) + mpmath.sqrt(log / 2),
                "MixtureOdometer": mpmath.sqrt(2 * (v + r) * (log + mpmath.log((v + r) / r) / 2)),
                "StitchedOdometer": mpmath.mpf("1.7")
                * mpmath.sqrt(
                    w
                    * (
                        mpmath.log(mpmath.log(2 * w / mpmath.mpf(0.05)))
                        + mpmath.mpf("0.72") * mpmath.log(mpmath.mpf("5.2") / mpmath.mpf(0.05))
                    )
                ),
            }[type(odometer).__name__]
            truth = mpmath.mpf(v) / 2 + margin
            assert truth <= float(odometer.bound(v)) <= truth * (1 + 1e-13)


def test_the_filter_odometer_is_the_filter_at_its_time():
    budget = to.filters.ZCDPFilter(1.0, 1e-6)
    odometer = to.filters.FilterOdometer(1e-6, at=2 * budget.budget.rho)
    assert odometer.bound(2 * budget.budget.rho) == pytest.approx(1.0, rel=1e-12)


def test_odometers_count_what_filters_count():
    odometer = to.filters.MixtureOdometer(1e-5, r=1)
    assert odometer.epsilon > 0
    for step in (to.Gaussian(0.3), to.PureDP(0.2), to.mechanisms.Gaussian(noise_multiplier=5)):
        odometer.spend(step)
    assert odometer.clock == pytest.approx(0.09 + 0.04 + 0.04, rel=1e-12)
    assert odometer.clock >= 0.09 + 0.04 + 0.04
    for step in (to.TotalVariation(0.1), to.approximate_dp(0.1, 1e-9)):
        with pytest.raises(KindError):
            odometer.spend(step)
    with pytest.raises(DomainError):
        odometer.bound([1.0, -1.0])
    for delta in (0, 1, math.nan):
        with pytest.raises(DomainError):
            to.filters.MixtureOdometer(delta, r=1)


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


@pytest.mark.parametrize("target", [to.PureDP(1), to.Gaussian(1), to.Laplace(1) @ to.Gaussian(1), 1])
def test_filters_for_arbitrary_targets_are_refused_with_the_reason(target):
    with pytest.raises(KindError, match=r"0\.01495 together.*GDPFilter"):
        to.filters.FDPFilter(target)


def test_a_simulator_names_what_it_cannot_answer():
    masked = np.ma.array([0.1, 0.2], mask=[False, True])
    with pytest.raises(DomainError, match="masked"):
        to.filters.GaussianSimulator(masked, np.random.default_rng(1))
    with pytest.raises(DomainError, match="rng"):
        to.filters.GaussianSimulator([0.1, 0.2], 3)
    simulator = to.filters.GaussianSimulator([0.1, 0.2], np.random.default_rng(1))
    for m in (masked, [0.1, 0.1j], "a", [0.1, 0.2, 0.3], math.nan):
        with pytest.raises(DomainError, match="m "):
            simulator.answer(m)
    with pytest.raises(BudgetExceeded):
        simulator.answer(1e200)
    assert simulator.remaining.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("share", [0.1, 1 / 3])
def test_next_to_the_end_answers_keep_their_law(share):
    """Roundings of the squares leave some 1e-16 of 1, by which the mean was divided."""
    rng = np.random.default_rng(3)
    simulator = to.filters.GaussianSimulator(rng.normal(size=20_000), rng)
    for _ in range(round(1 / share)):
        simulator.answer(math.sqrt(share))
    assert np.std(simulator.answer(9e-7)) == pytest.approx(1.0, abs=0.03)


def test_a_simulator_keeps_its_own_draw():
    draw = np.array([1.0, 2.0])
    simulator = to.filters.GaussianSimulator(draw, np.random.default_rng(1))
    draw[:] = 1000.0
    assert np.all(np.abs(simulator.answer(0.5)) < 20)
