import copy
import math
import pickle
import traceback
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tradeoff.errors import BudgetExceeded, DomainError, KindError
from tradeoff.families.gaussian import Gaussian
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
    geometric,
)
from tradeoff.filters.noise_reduction.sessions import _gaussian_of, _no_less, _walk_back

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


# The laws of the noise.


def test_brownian_releases_have_the_covariance_of_brownian_motion():
    times = [9.0, 4.0, 0.25]
    session = BrownianMechanism(np.zeros(MANY), rng=0)
    noise = np.array([session.refine(time).value for time in times])
    expected = np.minimum.outer(times, times)
    spread = np.sqrt(
        (np.outer(times, times) + expected**2) / MANY
    )  # of a sample covariance of normal variables
    assert np.all(np.abs(np.cov(noise) - expected) < 5 * spread)
    for drawn, time in zip(noise, times, strict=True):
        assert stats.kstest(drawn / math.sqrt(time), "norm").pvalue > 1e-4


@pytest.mark.slow
def test_brownian_times_chosen_in_view_of_releases_leave_independent_increments():
    rng = np.random.default_rng(2)
    increments = []
    for _ in range(3000):
        session = BrownianMechanism(0.0, rng=rng)
        first = session.refine(4.0)
        later = session.refine(1.0 if first.value > 0 else 3.0)
        last = session.refine(later.level / (4 if abs(later.value) > 1 else 2))
        # In inverse time the releases are sums of independent normal steps, whatever rule picks the times.
        seen = [(0.0, 0.0), *((1 / r.level, r.value / r.level) for r in (first, later, last))]
        increments.append([(b[1] - a[1]) / math.sqrt(b[0] - a[0]) for a, b in pairwise(seen)])
    columns = np.array(increments).T
    assert all(stats.kstest(column, "norm").pvalue > 1e-4 for column in columns)
    assert np.all(np.abs(np.corrcoef(columns)[np.triu_indices(3, 1)]) < 5 / math.sqrt(3000))


def test_laplace_levels_have_their_own_law_and_repeat_as_often_as_they_should():
    levels, sensitivity = [0.1, 0.4, 0.5], 2.0
    session = LaplaceNoiseReduction(np.zeros(MANY), levels, sensitivity, rng=3)
    noise = [session.refine(level).value for level in levels]
    for drawn, level in zip(noise, levels, strict=True):
        assert stats.kstest(drawn, stats.laplace(scale=sensitivity / level).cdf).pvalue > 1e-4
    for coarse, fine, ratio in ((0, 1, 0.1 / 0.4), (1, 2, 0.4 / 0.5)):
        repeats = int(np.sum(noise[coarse] == noise[fine]))
        assert stats.binomtest(repeats, MANY, ratio**2).pvalue > 1e-4
        # What a coarser level adds does not depend on the finer one.
        added = noise[coarse] - noise[fine]
        assert abs(np.corrcoef(np.abs(added), np.abs(noise[fine]))[0, 1]) < 5 / math.sqrt(MANY)


def test_doubling_draws_afresh():
    session = Doubling(np.zeros(MANY), rng=4)
    first, second = session.refine(4.0).value, session.refine(1.0).value
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / math.sqrt(MANY)
    assert stats.kstest(first / 2, "norm").pvalue > 1e-4
    assert stats.kstest(second, "norm").pvalue > 1e-4


# What is paid.


@given(weight=st.fractions(min_value=0).filter(bool))
def test_the_root_of_a_price_is_the_least_float_that_pays_it(weight):
    mu = _gaussian_of(weight).mu
    assert Fraction(mu) ** 2 >= weight > Fraction(math.nextafter(mu, 0)) ** 2


def test_prices_far_below_and_above_the_floats():
    assert _gaussian_of(Fraction(1, 10**400)).mu == pytest.approx(1e-200)
    assert _gaussian_of(Fraction(1, 10**900)).mu == 5e-324
    with pytest.raises(DomainError, match="more than a float"):
        _gaussian_of(Fraction(10**700))
    with pytest.raises(DomainError, match="more than a float"):
        _no_less(Fraction(10**400))


@given(times=falling, sensitivity=positive)
def test_brownian_prices_telescope_to_the_last_release(times, sensitivity):
    till = Till()
    session = BrownianMechanism(0.0, sensitivity, filter=till, rng=0)
    for time in times:
        session.refine(time)
    worth = Fraction(sensitivity) ** 2 / Fraction(times[-1])
    paid = sum(Fraction(step.mu) ** 2 for step in till.steps)
    assert worth <= paid <= worth * (1 + Fraction(1, 10**14))
    assert worth <= Fraction(session.spent.mu) ** 2 <= worth * (1 + Fraction(1, 10**14))


@given(times=falling)
def test_doubling_pays_for_every_release(times):
    till = Till()
    session = Doubling(0.0, filter=till, rng=0)
    for time in times:
        session.refine(time)
    worth = sum(1 / Fraction(time) for time in times)
    for paid in (sum(Fraction(step.mu) ** 2 for step in till.steps), Fraction(session.spent.mu) ** 2):
        assert worth <= paid <= worth * (1 + Fraction(1, 10**14))


@given(times=falling, boundary=st.sampled_from([LinearBoundary(1e-6, 2.0), MixtureBoundary(1e-6, 2.0)]))
def test_with_a_boundary_psi_is_paid_and_its_delta_once(times, boundary):
    till = Till()
    session = BrownianMechanism(0.0, 3.0, filter=till, boundary=boundary, rng=0)
    for time in times:
        session.refine(time)
    psi = boundary(times[-1], 3.0)
    assert psi <= sum(Fraction(step.epsilon) for step in till.steps) <= psi * (1 + Fraction(1, 10**12))
    assert [step.delta for step in till.steps] == [1e-6] + [0.0] * (len(times) - 1)
    assert session.spent == ExPost(psi, 1e-6)


def test_laplace_pays_the_last_epsilon_and_levels_may_be_skipped():
    budget = ExPostFilter(1.0)
    session = LaplaceNoiseReduction(0.0, [0.1, 0.2, 0.3, 1.0], filter=budget, rng=0)
    for level in (0.1, 0.3, 1.0):
        session.refine(level)
    assert session.spent == ExPost(1.0)
    assert budget.spent.epsilon == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(DomainError, match="none of the levels still to come"):
        session.refine(0.2)


@pytest.mark.parametrize(("factor", "overhead"), [(math.sqrt(2), 3.4143), (2, 2), (4, 4 / 3)])
def test_the_overhead_of_doubling(factor, overhead):
    session = Doubling(0.0, rng=0)
    for time, _ in zip(geometric(1e6, factor), range(60), strict=False):
        session.refine(time)
    assert session.spent.mu**2 * session.releases[-1].level == pytest.approx(overhead, rel=1e-4)


# Boundaries.


@given(delta=st.floats(1e-12, 0.9), tuned=positive, time=positive, sensitivity=positive)
def test_boundaries_are_their_formulas_rounded_up(delta, tuned, time, sensitivity):
    with mpmath.workdps(40):
        d, t, s, r = map(mpmath.mpf, (delta, time, sensitivity, tuned))
        a = mpmath.sqrt(mpmath.log(1 / d) / (2 * r))
        linear = s / t * (s / 2 + mpmath.log(1 / d) / (2 * a)) + s * a
        mixture = s**2 / (2 * t) + s / t * mpmath.sqrt(2 * (t + r) * mpmath.log(mpmath.sqrt((t + r) / r) / d))
        for psi, exact in ((LinearBoundary(delta, tuned), linear), (MixtureBoundary(delta, tuned), mixture)):
            assert exact <= psi(time, sensitivity) <= exact * (1 + mpmath.mpf("1e-13"))


@pytest.mark.parametrize("psi", [LinearBoundary(1e-6, 100.0), MixtureBoundary(1e-6, 100.0)])
@pytest.mark.parametrize("kind", [np.float32, lambda time: Decimal(float(np.float32(time))), Fraction])
def test_boundaries_of_other_numbers_are_those_of_the_floats(psi, kind):
    for time in (298.64938, 0.1, 1.0, 12345.678):
        assert psi(kind(time)) == psi(float(kind(time)))


@given(delta=st.floats(1e-12, 0.999), tuned=positive, times=falling)
def test_boundaries_fall_in_time(delta, tuned, times):
    for psi in (LinearBoundary(delta, tuned), MixtureBoundary(delta, tuned)):
        values = [psi(time) for time in times]
        assert all(a <= b * (1 + 1e-13) for a, b in pairwise(values))


@pytest.mark.parametrize(
    ("boundary", "least"), [(LinearBoundary(0.1, 1.0), 0.06), (MixtureBoundary(0.1, 1.0), 0.005)]
)
@pytest.mark.parametrize("distance", [0.3, 1.0])
def test_the_loss_passes_a_boundary_no_more_often_than_delta(boundary, least, distance):
    rng = np.random.default_rng(5)
    times = np.geomspace(1e-4, 1e4, 600)
    paths = np.cumsum(
        rng.standard_normal((10_000, times.size)) * np.sqrt(np.diff(times, prepend=0.0)), axis=1
    )
    loss = distance**2 / (2 * times) + distance / times * paths
    crossed = int(np.sum(np.any(loss >= [boundary(time) for time in times], axis=1)))
    low, _ = stats.binomtest(crossed, len(paths)).proportion_ci(0.999)
    assert low <= boundary.delta
    if distance == 1.0:
        assert crossed / len(paths) >= least  # close to delta for the line, on a grid


@pytest.mark.parametrize(
    ("time", "tuned"), [(1e-300, 1e300), (1e300, 1e-300), (1e-300, 1e-300), (1e300, 1e300)]
)
@pytest.mark.parametrize("sensitivity", [5e-324, 1.0, 1e300])
def test_boundaries_at_the_ends_of_the_floats_claim_enough(time, tuned, sensitivity):
    for psi in (LinearBoundary(1e-300, tuned), MixtureBoundary(1e-300, tuned)):
        assert (
            psi(time, sensitivity) >= sensitivity * min(1.0, 1 / math.sqrt(time)) * 1e-150 > 0
            or sensitivity == 5e-324
        )
        assert psi(time, sensitivity) > 0


# What a session hands out.


def test_rules_and_readers_see_releases_and_nothing_else():
    for session, levels in sessions():
        seen = []
        session.run(lambda releases, seen=seen: seen.append(releases), levels)
        assert all(isinstance(each, Release) for releases in seen for each in releases)
        assert [len(releases) for releases in seen] == [1, 2]
        public = {name for name in dir(session) if not name.startswith("_")}
        assert public == {"refine", "releases", "run", "spent"}
        assert not hasattr(session, "__dict__")
        assert "50.0" not in repr(session)
        assert all(release.value != 50.0 for release in session.releases)


def test_sessions_are_neither_copied_nor_pickled():
    for session, _ in sessions():
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="not released"):
                copied(session)


def test_arrays_are_kept_apart_from_the_outside():
    true = np.zeros((2, 3))
    session = BrownianMechanism(true, rng=0)
    first = session.refine(1.0)
    true += 1000.0
    assert first.value.shape == (2, 3)
    assert np.all(np.abs(session.refine(0.5).value) < 100)
    with pytest.raises(ValueError, match="read-only"):
        first.value[0, 0] = 1.0


@pytest.mark.parametrize("kind", [BrownianMechanism, Doubling])
def test_what_is_refused_is_neither_paid_nor_drawn(kind):
    budget, rng = GDPFilter(1.0), np.random.default_rng(6)
    session = kind(7.0, filter=budget, rng=rng)
    release = session.refine(2.0)
    drawn, paid = rng.bit_generator.state, budget.state()
    with pytest.raises(BudgetExceeded):
        session.refine(0.5)
    assert rng.bit_generator.state == drawn
    assert budget.state() == paid
    assert session.releases == (release,)


def test_run_stops_at_the_rule_or_at_the_last_level_or_at_the_budget():
    for session, levels in sessions():
        assert session.run(lambda seen: len(seen) == 1, levels).level == levels[0]
        assert session.run(lambda _: False, levels[1:]) is None
        assert [release.level for release in session.releases] == levels
    session = BrownianMechanism(0.0, filter=GDPFilter(1.0), rng=0)
    with pytest.raises(BudgetExceeded):
        session.run(lambda _: False, geometric(16.0, 2))
    assert session.releases[-1].level == 1.0  # all of the budget, to the last bit


def test_the_same_seed_repeats_and_a_generator_goes_on():
    first, again = (
        [s.run(lambda _: False, levels) or s.releases for s, levels in sessions(seed=8)] for _ in range(2)
    )
    assert first == again
    rng = np.random.default_rng(8)
    assert (
        BrownianMechanism(0.0, rng=rng).refine(1.0).value != BrownianMechanism(0.0, rng=rng).refine(1.0).value
    )


# Extremes.


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", None, True, 5e-324])
def test_times_outside_the_range_are_named(bad):
    for session in (BrownianMechanism(0.0, rng=0), Doubling(0.0, rng=0)):
        with pytest.raises(DomainError, match="time"):
            session.refine(bad)
        assert session.releases == ()


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        "4711",
        np.array(["4711", 1.0], dtype=object),
        np.array([4711.0, True], dtype=object),
        [1.0, math.nan],
        1e301,
        1j,
        np.ma.array([1.0, 4711.0], mask=[0, 1]),
        np.datetime64("4711-01-01"),
    ],
)
def test_a_value_that_is_no_number_is_refused_without_being_told(value):
    for make in (BrownianMechanism, Doubling, lambda true: LaplaceNoiseReduction(true, [1.0])):
        with pytest.raises(DomainError, match="value of the query") as caught:
            make(value)
        assert "4711" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.nan, math.inf, "x"])
def test_sensitivities_outside_the_range_are_named(sensitivity):
    for make in (BrownianMechanism, Doubling, lambda true, s: LaplaceNoiseReduction(true, [1.0], s)):
        with pytest.raises(DomainError, match="sensitivity"):
            make(1.0, sensitivity)


@pytest.mark.parametrize(
    "epsilons", [0.5, None, [], [0.0], [1.0, 1.0], [2.0, 1.0], [math.nan], [math.inf], [-1.0], [1e-301]]
)
def test_laplace_levels_must_rise(epsilons):
    with pytest.raises(DomainError, match="epsilon"):
        LaplaceNoiseReduction(0.0, epsilons)


@pytest.mark.parametrize(
    ("start", "factor"), [(0.0, 2), (math.inf, 2), (1.0, 1.0), (1.0, math.nan), (math.nan, 2)]
)
def test_geometric_levels_need_a_start_and_a_factor(start, factor):
    with pytest.raises(DomainError):
        geometric(start, factor)


def test_geometric_levels_end_where_floats_end():
    assert list(geometric(5e-324, 4)) == [5e-324]
    assert list(geometric(1e-323, 1.5)) == [1e-323]  # a quotient of the least float is that float again


def test_an_interrupted_draw_ends_the_session_before_it_is_paid_again():
    class Interrupted:
        def __init__(self):
            self.rng = np.random.default_rng(1)

        def standard_normal(self, shape):
            if self.rng is None:
                raise KeyboardInterrupt
            return self.rng.standard_normal(shape)

    budget, source = GDPFilter(5.0), Interrupted()
    session = BrownianMechanism(0.0, filter=budget, rng=1)
    session._noisy = _walk_back(np.zeros(()), source)
    next(session._noisy)
    release = session.refine(4.0)
    source.rng = None
    with pytest.raises(KeyboardInterrupt):
        session.refine(1.0)
    paid = budget.state()
    with pytest.raises(KindError, match="interrupted"):
        session.refine(0.5)
    assert (budget.state(), session.releases) == (paid, (release,))


def test_a_value_lost_after_its_draw_ends_the_session_too(monkeypatch):
    budget = GDPFilter(5.0)
    session = BrownianMechanism(0.0, filter=budget, rng=1)
    release = session.refine(4.0)

    def full(*_):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("tradeoff.filters.noise_reduction.base.Release", full)
        with pytest.raises(MemoryError):
            session.refine(1.0)
    paid = budget.state()
    with pytest.raises(KindError, match="interrupted"):
        session.refine(2.0)  # above the level that was drawn
    assert (budget.state(), session.releases) == (paid, (release,))


def test_what_pays_and_bounds_is_checked_before_anything_is_drawn():
    for make in (
        BrownianMechanism,
        Doubling,
        lambda true, **paid: LaplaceNoiseReduction(true, [1.0], **paid),
    ):
        with pytest.raises(KindError, match="grants no steps"):
            make(1.0, filter=3)
    with pytest.raises(KindError, match="boundary"):
        BrownianMechanism(1.0, boundary=3)


@pytest.mark.parametrize("rng", [-1, "seed", 1.5])
def test_what_is_no_generator_is_named(rng):
    with pytest.raises(DomainError, match="rng"):
        BrownianMechanism(0.0, rng=rng)


def test_the_widest_range_of_times_is_priced():
    session = BrownianMechanism(1e300, 1e-3, rng=0)
    assert session.refine(1e300).spent == Gaussian(_no_less(Fraction(1e-3) / 10**150)) or session.spent.mu > 0
    assert session.refine(1e-300).spent.mu == pytest.approx(1e147)


def test_losses_of_a_boundary_beyond_floats_are_one_sentence():
    session = BrownianMechanism(0.0, 1e200, boundary=LinearBoundary(1e-6, 1.0))
    session.refine(1e290)
    with pytest.raises(DomainError):
        session.refine(1e-300)
    assert len(session.releases) == 1


def test_a_boundary_is_finite_where_ratios_are_no_floats():
    with mpmath.workdps(40):
        time, r, mu = mpmath.mpf(10) ** 300, mpmath.mpf(10) ** -300, mpmath.mpf(1)
        root = mpmath.sqrt(
            2 * (1 + r / time) * (mpmath.log1p(time / r) / 2 - mpmath.log(mpmath.mpf(10) ** -6))
        )
        truth = mu**2 / 2 + mu * root
        assert truth <= MixtureBoundary(1e-6, 1e-300)(1e300, 1e150) <= truth * (1 + mpmath.mpf("1e-10"))


def test_rules_and_levels_are_checked_before_a_level_is_paid():
    budget = GDPFilter(5)
    session = BrownianMechanism(0.0, 1.0, filter=budget, rng=1)
    with pytest.raises(KindError, match="rule = 5"):
        session.run(5, [4.0])
    with pytest.raises(DomainError, match=r"levels = 4\.0"):
        session.run(lambda _: True, 4.0)
    assert not session.releases
    assert budget.spent == 0
    with pytest.raises(DomainError):
        LaplaceNoiseReduction(0.0, [sympy.Symbol("x")])


def test_a_rule_that_raises_is_told_as_it_raised():
    def rule(_):
        raise StopIteration

    session = BrownianMechanism(0.0, rng=1)
    with pytest.raises(StopIteration):
        session.run(rule, [4.0, 1.0])
    assert len(session.releases) == 1


def test_a_boundary_without_length_is_a_boundary():
    class Empty(LinearBoundary):
        def __len__(self):
            return 0

    session = BrownianMechanism(0.0, boundary=Empty(1e-6, 1.0), rng=1)
    assert session.refine(1.0).spent.delta == 1e-6


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_scales_of_laplace_noise_are_no_less_than_the_quotient(sensitivity, epsilon):
    seen = []

    def chain(scales, shape, _):
        seen.extend(scales)
        return [np.zeros(shape)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tradeoff.filters.noise_reduction.sessions._chain", chain)
        LaplaceNoiseReduction(np.zeros(3), [epsilon], sensitivity)
    assert Fraction(seen[0]) >= Fraction(sensitivity) / Fraction(epsilon)
