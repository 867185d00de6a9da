import math
import os
import traceback
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from tradeoff import Gaussian
from tradeoff.errors import BudgetExceeded, DomainError, KindError
from tradeoff.filters import (
    BrownianMechanism,
    Doubling,
    ExPost,
    ExPostFilter,
    GDPFilter,
    LaplaceNoiseReduction,
    LinearBoundary,
    MixtureBoundary,
    Release,
    UnifiedFilter,
    UnifiedZCDPFilter,
    geometric,
)

MANY = 40_000
positive = st.floats(1e-6, 1e6)
falling = st.lists(positive, min_size=1, max_size=8, unique=True).map(
    lambda times: sorted(times, reverse=True)
)


class Till:
    """Charge anything, and keep it."""

    def __init__(self):
        self.steps = []

    def spend(self, step):
        self.steps.append(step)


def sessions(filter_=None, seed=1):
    yield BrownianMechanism(50.0, filter=filter_, rng=seed), [4.0, 1.0]
    yield LaplaceNoiseReduction(50.0, [0.5, 1.0], filter=filter_, rng=seed), [0.5, 1.0]
    yield Doubling(50.0, filter=filter_, rng=seed), [4.0, 1.0]


class Basis(np.random.Generator):
    """Draws 1 for run j in round j, else 0: releases become the rows of a factor of their covariance."""

    rounds = 0

    def standard_normal(self, size):
        self.rounds += 1
        return np.eye(*size)[self.rounds - 1]


@given(times=falling)
def test_brownian_releases_have_the_covariance_of_brownian_motion(times):
    """Each is drawn in view of the last alone, so that this is their law whatever rule picks the times."""
    session = BrownianMechanism(np.zeros(len(times)), rng=Basis(np.random.PCG64(0)))
    factor = np.array([session.refine(time).value for time in times])
    np.testing.assert_allclose(factor @ factor.T, np.minimum.outer(times, times), rtol=1e-12)
    assert np.array_equal(factor, np.tril(factor))


def test_laplace_levels_have_laplace_law_and_repeat_rate():
    levels, sensitivity = [0.1, 0.4, 0.5], 2.0
    session = LaplaceNoiseReduction(np.zeros(MANY), levels, sensitivity, rng=3)
    noise = [session.refine(level).value for level in levels]
    for drawn, level in zip(noise, levels, strict=True):
        assert stats.kstest(drawn, stats.laplace(scale=sensitivity / level).cdf).pvalue > 1e-4
    for coarse, fine, ratio in ((0, 1, 0.1 / 0.4), (1, 2, 0.4 / 0.5)):
        assert stats.binomtest(int(np.sum(noise[coarse] == noise[fine])), MANY, ratio**2).pvalue > 1e-4
        # What a coarser level adds does not depend on the finer one.
        added = noise[coarse] - noise[fine]
        assert abs(np.corrcoef(np.abs(added), np.abs(noise[fine]))[0, 1]) < 5 / math.sqrt(MANY)


@pytest.mark.parametrize("kind", [BrownianMechanism, Doubling])
@given(times=falling, sensitivity=positive)
def test_prices_telescope_to_the_last_release_and_of_doubling_add(kind, times, sensitivity):
    most = 9e3 / 3 if kind is Doubling else 9e3  # mu is in the working range
    assume(sensitivity <= most * math.sqrt(times[-1]))
    till = Till()
    session = kind(0.0, sensitivity, filter=till, rng=0)
    for time in times:
        session.refine(time)
    paid_for = times if kind is Doubling else times[-1:]
    worth = Fraction(sensitivity) ** 2 * sum(1 / Fraction(time) for time in paid_for)
    for paid in (sum(Fraction(step.mu) ** 2 for step in till.steps), Fraction(session.spent.mu) ** 2):
        assert worth <= paid <= worth * (1 + Fraction(1, 10**14))


@given(times=falling, boundary=st.sampled_from([LinearBoundary(1e-6, 2.0), MixtureBoundary(1e-6, 2.0)]))
def test_boundary_session_pays_psi_and_delta_once(times, boundary):
    till = Till()
    session = BrownianMechanism(0.0, 3.0, filter=till, boundary=boundary, rng=0)
    for time in times:
        session.refine(time)
    psi = boundary(times[-1], 3.0)
    assert psi <= sum(Fraction(step.epsilon) for step in till.steps) <= psi * (1 + Fraction(1, 10**12))
    assert [step.delta for step in till.steps] == [1e-6] + [0.0] * (len(times) - 1)
    assert session.spent == ExPost(psi, 1e-6)


@given(delta=st.floats(1e-12, 0.9), tuned=positive, time=positive, sensitivity=positive)
def test_boundary_equals_formula_rounded_up(delta, tuned, time, sensitivity):
    with mpmath.workdps(40):
        d, t, s, r = map(mpmath.mpf, (delta, time, sensitivity, tuned))
        a = mpmath.sqrt(mpmath.log(1 / d) / (2 * r))
        linear = s / t * (s / 2 + mpmath.log(1 / d) / (2 * a)) + s * a
        mixture = s**2 / (2 * t) + s / t * mpmath.sqrt(2 * (t + r) * mpmath.log(mpmath.sqrt((t + r) / r) / d))
        for psi, exact in ((LinearBoundary(delta, tuned), linear), (MixtureBoundary(delta, tuned), mixture)):
            assert exact <= psi(time, sensitivity) <= exact * (1 + mpmath.mpf("1e-13"))


@pytest.fixture(scope="module")
def motions():
    """Return times, and 10,000 Brownian motions at them."""
    times = np.geomspace(1e-4, 1e4, 600)
    steps = np.random.default_rng(5).standard_normal((10_000, times.size))
    return times, np.cumsum(steps * np.sqrt(np.diff(times, prepend=0.0)), axis=1)


@pytest.mark.parametrize(
    ("boundary", "least"), [(LinearBoundary(0.1, 1.0), 0.06), (MixtureBoundary(0.1, 1.0), 0.005)]
)
@pytest.mark.parametrize("distance", [0.3, 1.0])
def test_boundary_crossing_rate_is_at_most_delta(motions, boundary, least, distance):
    times, motion = motions
    loss = distance**2 / (2 * times) + distance / times * motion
    crossed = int(np.sum(np.any(loss >= [boundary(time) for time in times], axis=1)))
    low, _ = stats.binomtest(crossed, len(loss)).proportion_ci(0.999)
    assert low <= boundary.delta
    assert distance < 1 or crossed / len(loss) >= least  # close to delta for the line, on a grid


def test_session_shows_releases_only():
    for session, levels in sessions():
        seen = []
        session.run(lambda releases, seen=seen: seen.append(releases), levels)
        assert all(isinstance(each, Release) for releases in seen for each in releases)
        assert [len(releases) for releases in seen] == [1, 2]
        public = {name for name in dir(session) if not name.startswith("_")}
        assert public == {"refine", "releases", "run", "spent"}
        assert "50.0" not in repr(session)
        assert all(release.value != 50.0 for release in session.releases)
    true = np.zeros((2, 3))
    session = BrownianMechanism(true, rng=0)
    first = session.refine(1.0)
    true += 1000.0
    assert first.value.shape == (2, 3)
    assert np.all(np.abs(session.refine(0.5).value) < 100)
    with pytest.raises(ValueError, match="read-only"):
        first.value[0, 0] = 1.0
    for session, levels in sessions():
        assert session.run(lambda seen: len(seen) == 1, levels).level == levels[0]
        assert session.run(lambda _: False, levels[1:]) is None
        assert [release.level for release in session.releases] == levels
    session = BrownianMechanism(0.0, filter=GDPFilter(1.0), rng=0)
    with pytest.raises(BudgetExceeded):
        session.run(lambda _: False, geometric(16.0, 2))
    assert session.releases[-1].level == 1.0  # all of the budget, to the last bit
    first, again = ([s.run(lambda _: False, at) or s.releases for s, at in sessions(seed=8)] for _ in "ab")
    assert first == again
    rng = np.random.default_rng(8)
    one, two = (BrownianMechanism(0.0, rng=rng).refine(1.0).value for _ in range(2))
    assert one != two
    for value in (math.nan, math.inf, "4711", [1.0, math.nan], 1e301, 1j):
        for make in (BrownianMechanism, Doubling, lambda true: LaplaceNoiseReduction(true, [1.0])):
            with pytest.raises(DomainError, match="value must be") as caught:
                make(value)
            assert "4711" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("kind", [BrownianMechanism, Doubling])
def test_refine_refused_neither_pays_nor_draws(kind):
    budget, rng = GDPFilter(1.0), np.random.default_rng(6)
    session = kind(7.0, filter=budget, rng=rng)
    release = session.refine(2.0)
    drawn, paid = rng.bit_generator.state, budget.state()
    with pytest.raises(BudgetExceeded):
        session.refine(0.5)
    assert rng.bit_generator.state == drawn
    assert budget.state() == paid
    assert session.releases == (release,)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_session_neither_pays_nor_draws():
    session = BrownianMechanism(5.0, filter=GDPFilter(5.0), rng=1)
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            session.refine(1.0)
        except KindError as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert b"not in a fork" in os.read(reader, 1000)
    os.close(reader)
    os.close(writer)
    assert session.refine(1.0).level == 1.0


@pytest.mark.parametrize("budget", [UnifiedFilter(1.0), UnifiedZCDPFilter(0.5)])
def test_steps_and_sessions_fill_one_budget_exactly(budget):
    first, second = budget.brownian(10.0, rng=1), budget.brownian(20.0, 2.0, rng=2)
    for session, times in ((first, [64.0, 16.0]), (second, [64.0]), (first, [8.0]), (second, [16.0])):
        for time in times:
            session.refine(time)
    budget.spend(Gaussian(math.sqrt(0.5)))  # 1/8 + 4/16 + 1/2
    budget.doubling(0.0, rng=3).refine(8.0)  # and 1/8
    for more in (
        lambda: first.refine(7.99),
        lambda: budget.spend(Gaussian(1e-3)),
        lambda: budget.brownian(0.0, rng=4).refine(1e4),
    ):
        with pytest.raises(BudgetExceeded):
            more()


def test_boundary_and_laplace_sessions_pay_ex_post_and_doubling_draws_afresh():
    budget = ExPostFilter(1.0, 2e-6)
    psi = LinearBoundary(1e-6, 60.0)
    session = BrownianMechanism(5.0, filter=budget, boundary=psi, rng=1)
    for time in (1000.0, 200.0, 100.0):
        session.refine(time)
    assert budget.spent.epsilon == pytest.approx(psi(100.0))
    BrownianMechanism(5.0, filter=budget, boundary=MixtureBoundary(1e-6, 60.0), rng=2).refine(1000.0)
    assert budget.spent.delta == pytest.approx(2e-6)
    with pytest.raises(BudgetExceeded) as caught:
        session.refine(10.0)
    assert caught.value.requested.epsilon == pytest.approx(psi(10.0) - psi(100.0))
    with pytest.raises(BudgetExceeded):  # no delta left for a third session
        BrownianMechanism(5.0, filter=budget, boundary=psi, rng=3).refine(1e6)
    assert budget.guarantee().delta(1.0 * (1 + 1e-11)) == pytest.approx(2e-6)
    budget = ExPostFilter(1.0)
    session = LaplaceNoiseReduction(0.0, [0.1, 0.2, 0.3, 1.0], filter=budget, rng=0)
    for level in (0.1, 0.3, 1.0):
        session.refine(level)
    assert session.spent == ExPost(1.0)
    assert budget.spent.epsilon == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(DomainError, match="one of the later levels"):
        session.refine(0.2)
    for kind, correlation in ((Doubling, 0.0), (BrownianMechanism, 0.5)):
        session = kind(np.zeros(MANY), rng=4)
        first, second = session.refine(4.0).value, session.refine(1.0).value
        assert abs(np.corrcoef(first, second)[0, 1] - correlation) < 5 / math.sqrt(MANY)
        assert stats.kstest(first / 2, "norm").pvalue > 1e-4
        assert stats.kstest(second, "norm").pvalue > 1e-4
