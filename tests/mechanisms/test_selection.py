import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import tradeoff as to
from tests.mechanisms.reference import dominated
from tradeoff import mechanisms as m


def test_exponential_mechanism_is_better_than_pure_dp_and_other_noise_is_pure():
    curve, pure = m.ExponentialMechanism(1).curve(), to.PureDP(1)
    assert curve.epsilon(0) == 1.0
    assert curve.delta(0) < 0.6 * pure.delta(0)
    assert (curve**50).epsilon(1e-6) < 0.6 * (pure**50).epsilon(1e-6)
    assert (m.ExponentialMechanism(0.1).curve() ** (10**12)).epsilon(1e-6) <= 1.0000001e11
    assert m.ReportNoisyMax(1).curve() == curve
    for noise in ("laplace", "exponential"):
        assert m.ReportNoisyMax(1, noise=noise).curve() == pure
    assert m.PermuteAndFlip(1).curve() == m.AboveThreshold(1).curve() == pure
    for ranges in ((0.0, 1.0), (0.2, 0.9), (0.5, 0.5), (1.0, 1.0)):
        with mp.workdps(50):
            r, laws = mp.exp(-1), []
            for t in ranges:
                p = (mp.exp(-t) - r) / (1 - r)
                laws.append(((p, 1 - p), (mp.exp(t) * p, 1 - mp.exp(t) * p)))
            p, q = ([a * b for a, b in itertools.product(laws[0][k], laws[1][k])] for k in (0, 1))
        assert dominated(m.ExponentialMechanism(1).curve() ** 2, p, q)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_permute_and_flip_and_noisy_max_dominate_two_candidates_that_trade_places(epsilon):
    # Utilities (1, 0) and (0, 1): permute and flip takes the worse with e^(-eps/2)/2, which no bounded range
    # allows; P(d + X > Y) = 1 - e^-d (2 + d)/4 for Laplace noise of scale 1, d from -eps/2 to eps/2.
    with mp.workdps(50):
        d = mp.mpf(epsilon) / 2
        flip, noisy = ((1 - worse, worse) for worse in (mp.exp(-d) / 2, mp.exp(-d) * (2 + d) / 4))
    assert not dominated(m.ExponentialMechanism(epsilon).curve(), flip, flip[::-1])
    assert dominated(m.PermuteAndFlip(epsilon).curve(), flip, flip[::-1])
    assert dominated(m.ReportNoisyMax(epsilon, noise="laplace").curve(), noisy, noisy[::-1])


def runs(shape, gamma):
    """Return mean and generating function of a truncated negative binomial, or Poisson, number of runs."""
    eta, g = mp.mpf(shape), mp.mpf(gamma)
    if eta == mp.inf:
        return 20 * g, lambda x: mp.exp(20 * g * (x - 1))
    if eta == 0:
        return (1 / g - 1) / -mp.log(g), lambda x: mp.log(1 - (1 - g) * x) / mp.log(g)
    mean = eta * (1 - g) / (g * (1 - g**eta))
    return mean, lambda x: ((1 - (1 - g) * x) ** -eta - 1) / (g**-eta - 1)


def best(weights, generating):
    """Return the law of the best outcome, from weights in rising order; no run at all comes first."""
    below = itertools.accumulate(weights, initial=0)
    values = [generating(mp.mpf(x) / sum(weights)) for x in below]
    return [values[0], *(b - a for a, b in itertools.pairwise(values))]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(-1, 1)), min_size=2, max_size=4),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    st.sampled_from(["0.05", "0.5", "0.9"]),
)
def test_repeat_and_select_dominates_random_runs(outcomes, shape, gamma):
    # One run: outcome k with weight w e^(change eps); the best of K, P(K = k) truncated negative binomial.
    epsilon = 0.6
    with mp.workdps(50):
        moved = [w * mp.exp(change * mp.mpf(epsilon) / 2) for w, change in outcomes]
        _, generating = runs(shape, gamma)
        p, q = (best(law, generating) for law in ([w for w, _ in outcomes], moved))
        assert max(abs(mp.log(b / a)) for a, b in zip(p[1:], q[1:], strict=True)) <= (2 + shape) * epsilon
    assert dominated(m.RepeatAndSelect(epsilon, shape=shape).curve(), p, q)


NUMBERS = {
    "geometric": (10.0, {}, lambda x: x / (10 - 9 * x)),
    "logarithmic": (9 / math.log(10), {"shape": 0.0}, lambda x: -mp.log(1 - mp.mpf("0.9") * x) / mp.log(10)),
    "poisson": (3.0, {"shape": math.inf}, lambda x: mp.exp(3 * (x - 1))),
    "binomial": (6.0, {"trials": 8}, lambda x: (1 + 3 * (x - 1) / 4) ** 8),
    "once or never": (0.25, {"trials": 1}, lambda x: (3 + mp.mpf(x)) / 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_best_of_runs_dominates_random_bases_in_every_order(number):
    """Outcomes of a base may be ranked in any way, also the least likely first."""
    mean, given, generating = NUMBERS[number]
    rng = np.random.default_rng(5)
    for _ in range(12):
        size = int(rng.integers(2, 5))
        one, two = (np.ceil(10 ** rng.uniform(0, rng.choice([1, 4]), size)).astype(int) for _ in range(2))
        if rng.random() < 0.3:
            one[0] = 0  # an infinite loss
        p, q = ([Fraction(int(x), int(np.sum(law))) for x in law] for law in (one, two))
        run = m.Custom(to.from_masses(p, q))
        curve = m.BestOfRuns(run, mean=mean, **given).curve()
        for order in itertools.permutations(range(size)):
            with mp.workdps(40):
                laws = ([mp.mpf(int(law[k])) for k in order] for law in (one, two))
                assert dominated(curve, *(best(law, generating) for law in laws))


@pytest.mark.parametrize(("sigma", "published"), [(1.0, 7.974), (4.0, 1.983)])
@pytest.mark.parametrize("best", [1, -1])
def test_best_of_normal_runs_is_below_the_published_bound_and_above_a_pair(sigma, published, best):
    # A geometric number of mean 10 has m phi'(1 - u) = m/(1 + 9 u)^2; the largest, or the least, is best.
    curve = m.BestOfRuns(m.Gaussian(noise_multiplier=sigma), mean=10, shape=1).curve()
    epsilon = curve.bounds.epsilon(1e-6).upper
    assert epsilon <= published  # Koskela, Redberg, Wang 2024, with the best of their parameters
    y, mu = np.linspace(-9, 10, 40_001), 1 / sigma
    for a, b in ((0, mu), (mu, 0)):
        p, q = (10 * norm.pdf(y - c) / (1 + 9 * norm.sf(best * (y - c))) ** 2 for c in (a, b))
        for e in (0.1, 0.5, 1.0, epsilon):
            assert np.trapezoid(np.maximum(q - math.exp(e) * p, 0), y) <= curve.bounds.delta(e).upper + 1e-8


def test_best_of_one_run_is_one_run_and_of_pure_runs_pure():
    one, run = m.BestOfRuns(m.Gaussian(noise_multiplier=2), mean=1).curve(), to.Gaussian(0.5)
    assert run.epsilon(1e-6) <= one.epsilon(1e-6) <= 1.001 * run.epsilon(1e-6)
    assert one(0.1) <= run(0.1)
    assert 0.29 < m.BestOfRuns(m.PureDP(0.1), mean=1000, shape=1).curve().epsilon(0.0) <= 0.3 * (1 + 1e-9)
    assert m.BestOfRuns(m.PureDP(0), mean=3).curve() == to.Identity()
    seldom = m.BestOfRuns(m.Gaussian(noise_multiplier=2), mean=0.25, trials=1).curve()
    for epsilon in (0.1, 0.5, 1.0):
        assert 1 <= seldom.delta(epsilon) / (run.delta(epsilon) / 4) <= 1.01
    lost = m.BestOfRuns(m.ApproximateDP(0.1, 1e-9), mean=10).curve()
    assert 1e-8 <= lost.delta(1.0) <= 1.001e-8
    assert lost.bounds.epsilon(2e-8).upper <= 0.3
    sampled = m.BestOfRuns(m.SubsampledGaussian(2, 0.01), mean=3)
    assert sampled.curve().symmetric
    assert sampled.curve().epsilon(1e-6) > m.SubsampledGaussian(2, 0.01).curve().epsilon(1e-6)


KINDS = m.ExponentialMechanism, m.ReportNoisyMax, m.PermuteAndFlip, m.AboveThreshold, m.RepeatAndSelect


@pytest.mark.parametrize("make", KINDS, ids=lambda each: each.kind)
def test_selection_at_extreme_losses(make):
    assert make(0).curve().epsilon(0) == 0.0
    assert make(1e-300).curve().epsilon(0) == pytest.approx(1e-300 * (3 if make is m.RepeatAndSelect else 1))
    assert make(1000).curve().epsilon(0) >= 1000


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-12, 1e-6, 50.0, 700.0])
@pytest.mark.parametrize(
    "make", [m.Staircase, lambda e: m.Staircase(e, 0.9), lambda e: m.SubsetSelection(e, 9, 3), m.Rappor]
)
def test_randomised_answers_at_extreme_losses(make, epsilon):
    curve = make(epsilon).curve()
    assert curve.symmetric
    assert epsilon <= curve.epsilon(0) <= epsilon * (1 + 1e-13) + 1e-13
    assert curve.delta(0) <= to.PureDP(epsilon).delta(0) + 1e-14
    # Subset selection of a large loss is tight.
    curve = m.SubsetSelection(700, 1000, 100).curve()
    with mp.workdps(60):
        k, d, e = 1000, 100, mp.exp(700)
        true = mp.mpf(d) * (k - d) / (k - 1) * (e - 1) / (d * e + k - d)
        assert true <= curve.bounds.delta(0.0).upper <= true * (1 + mp.mpf("1e-12"))
