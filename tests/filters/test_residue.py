"""The residue filter: its order against mpmath, its counts, the worst adaptive analyst, enumerated."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import exact_curves, log_uniform
from tradeoff.errors import BudgetExceeded, DomainError
from tradeoff.filters.domination import by_envelope, by_variance, charge
from tradeoff.filters.responses import Responses, bounded, log_delta, responses

few = settings(max_examples=max(6, settings.default.max_examples // 3))


def profile(epsilon, mu):
    """delta of G_mu at any real epsilon, in the working precision."""
    return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


def composed(atoms, epsilon, mu):
    """delta of (atoms) (x) G_mu: the sum of q delta_{G_mu}(eps - loss)."""
    return mpmath.fsum(q * profile(epsilon - loss, mu) for loss, q in atoms)


def response(epsilon):
    e = mpmath.mpf(epsilon)
    return [(e, 1 / (1 + mpmath.exp(-e))), (-e, 1 / (1 + mpmath.exp(e)))]


def atoms_of(curve):
    """Losses and Q-masses of a polygon in fractions."""
    p, q = curve.atoms()
    return [
        (
            mpmath.log(mpmath.mpf(b.numerator) / b.denominator * a.denominator / a.numerator),
            mpmath.mpf(b.numerator) / b.denominator,
        )
        for a, b in zip(p, q, strict=True)
    ]


def worst(atoms, left, r):
    """The largest D/delta_{G_r} - 1 over epsilon >= 0, near 0 and far out; both sides are symmetric."""
    grid = [r * e for e in (0, mpmath.mpf("0.01"), mpmath.mpf("0.2"), mpmath.mpf("0.7"), 1, 2, 3, 5, 8)]
    return max(composed(atoms, e, left) / profile(e, r) - 1 for e in grid)


def binds(f, left, r):
    """Whether some epsilon refutes f (x) G_left >= G_r, looked for where it is closest to it."""
    mixture, epsilon = responses(f, r), np.linspace(0, 10 * r, 501)
    for _ in range(3):
        gaps = mixture.log_delta(epsilon, left) - log_delta(epsilon, r).upper
        near, step = epsilon[np.argmax(gaps)], 2 * epsilon[1] - 2 * epsilon[0]
        epsilon = np.linspace(max(near - step, 0.0), near + step, 101)
    return np.max(gaps) > 1e-11


@pytest.mark.parametrize(
    ("epsilon", "naive", "residue"), [pytest.param(0.1, 63, 98, marks=pytest.mark.slow), (0.2, 15, 23)]
)
def test_counts_of_randomised_response_under_1_gdp(epsilon, naive, residue):
    step = to.mechanisms.RandomizedResponse(epsilon=epsilon)
    for budget, count in ((to.filters.GDPFilter(1), naive), (to.filters.ResidueFilter(1), residue)):
        for _ in range(count):
            budget.spend(step)
        with pytest.raises(BudgetExceeded):
            budget.spend(step)
    # With parameters fixed in advance one more fits, and not two.
    at = np.linspace(0, 4, 81)
    assert np.all((to.PureDP(epsilon) ** (residue + 1)).bounds.delta(at).lower <= to.Gaussian(1).delta(at))
    assert np.any((to.PureDP(epsilon) ** (residue + 2)).bounds.delta(at).lower > to.Gaussian(1).delta(at))


MU = [1e-6, 1e-3, 0.05, 0.099, 0.1, 0.17, 0.3, 0.7, 1.0, 3.0, 20.0, 50.0, 73.0]
RATIO = np.array([0.0, 1e-6, 0.3, 5.0, 20.0, 36.4, 39.9, 40.1, 300.0])


@pytest.mark.parametrize("mu", MU)
def test_logarithms_of_profiles_lie_between_their_bounds(mu):
    epsilon = np.concatenate([RATIO, -RATIO]) * mu
    found, units = (
        log_delta(epsilon, mu),
        1e3 * (2 + np.abs(epsilon) / mu + mu) ** 2 + 1e2 * np.abs(epsilon) / mu**2,
    )
    with mpmath.workdps(100):
        for e, low, high in zip(map(mpmath.mpf, epsilon.tolist()), *found, strict=True):
            assert low <= mpmath.log(profile(e, mpmath.mpf(mu))) <= high
    assert np.all(found.width <= 2.0**-53 * units)
    assert log_delta(epsilon[3], mu).lower == found.lower[3]


@pytest.mark.parametrize("mu", MU[1:])
def test_logarithms_of_mixtures_are_rounded_up(mu):
    loss, weight, at = np.array([0.0, 0.1, 0.7]) * mu, np.array([0.0, 0.25, 0.75]), RATIO[:6] * mu
    with mpmath.workdps(100):
        atoms = [
            (x, w * q)
            for k, w in zip(loss, weight, strict=True)
            for x, q in response(float(k))
            for w in [mpmath.mpf(w)]
        ]
        truth = [mpmath.log(composed(atoms, mpmath.mpf(e), mpmath.mpf(mu))) for e in at.tolist()]
    found = Responses(loss, weight).log_delta(at, mu)
    for high, exact in zip(found.tolist(), truth, strict=True):
        assert 0 <= high - exact <= 1e-9 * (1 + abs(exact))


@pytest.mark.parametrize("r", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("share", [1e-4, 0.05, 0.3, 0.7])
def test_what_randomised_response_leaves_is_enough_and_all(share, r):
    epsilon = share * r
    taken = charge(bounded(to.PureDP(epsilon), 0.0), r)
    with mpmath.workdps(60):
        left = mpmath.sqrt(mpmath.mpf(r) ** 2 - mpmath.mpf(taken))
        assert worst(response(epsilon), left, mpmath.mpf(r)) <= 0
        assert composed(response(epsilon), 0, left + mpmath.mpf(1e-10)) > profile(
            0, mpmath.mpf(r)
        )  # the largest r' is within 1e-10


@pytest.mark.slow
@few
@given(exact_curves, log_uniform(0.3, 4.0))
def test_what_a_polygon_leaves_is_enough_and_all(curve, r):
    curve = curve.symmetrise(assume="either-order")
    assume(curve.q_plus == 0 and 0 < curve.sup_loss < 5)
    taken = charge(bounded(curve, 0.0), r)
    assume(taken < 0.95 * r * r)
    with mpmath.workdps(40):
        left = mpmath.sqrt(mpmath.mpf(r) ** 2 - mpmath.mpf(taken))
        assert worst(atoms_of(curve), left, mpmath.mpf(r)) <= 0
    assert binds(bounded(curve, 0.0), float(left) + 1e-6, r)


@pytest.mark.parametrize(
    ("curve", "r"),
    [
        (to.Laplace(0.5), 1.0),
        pytest.param(to.Laplace(1.5), 3.0, marks=pytest.mark.slow),
        (to.PureDP(0.2) ** 5, 1.0),
    ],
)
def test_what_a_curve_leaves_is_enough_and_all(curve, r):
    """Against the composition engine, up to its own width."""
    left = math.sqrt(r * r - charge(bounded(curve, 0.0), r))
    epsilon = np.linspace(-3, 3, 13) * r
    assert np.all((curve @ to.Gaussian(left)).bounds.delta(epsilon).lower <= to.Gaussian(r).delta(epsilon))
    assert binds(bounded(curve, 0.0), left + 1e-6, r)


@given(log_uniform(0.05, 5.0), st.floats(0.0, 0.49))
def test_the_charge_by_variance_is_always_enough(r, share):
    epsilon = share * r
    assume(epsilon > 1e-30)
    taken = by_variance(epsilon**2, r)
    assert taken >= epsilon**2
    with mpmath.workdps(100):
        left = mpmath.sqrt(mpmath.mpf(r) ** 2 - mpmath.mpf(taken))
        assert worst(response(epsilon), left, mpmath.mpf(r)) <= 0


@few
@given(exact_curves)
def test_mixtures_of_responses_lie_below_their_curve(curve):
    curve = curve.symmetrise(assume="either-order")
    assume(curve.q_plus == 0 and curve.sup_loss > 0)
    mixture = responses(bounded(curve, 0.0), 1.0)
    at = np.linspace(0, curve.sup_loss * 1.01, 97)
    assert np.all(mixture.delta(at) >= curve.bounds.delta(at).lower * (1 - 1e-13))
    assert np.all(mixture.delta(at) <= curve.bounds.delta(at).upper + 1e-9)
    assert abs(np.sum(mixture.weight) - 1) < 1e-12


@pytest.mark.slow
def test_it_is_never_worse_than_the_naive_charge():
    for step in (
        to.Laplace(0.4),
        to.PureDP(1),
        to.mechanisms.RandomizedResponse(1, 5),
        to.subsample(to.Laplace(1.0), 0.2),
    ):
        naive, residue = to.filters.GDPFilter(3), to.filters.ResidueFilter(3)
        naive.spend(step)
        residue.spend(step)
        assert residue.spent.mu <= naive.spent * (1 + 1e-12)
    assert by_envelope(2.0, 1.0) == math.inf


def test_gaussian_steps_cost_their_square_and_leaks_their_mass():
    budget = to.filters.ResidueFilter(1, delta=1e-3)
    for _ in range(10):
        budget.spend(to.Gaussian(0.3) @ to.TotalVariation(1e-4))
    assert budget.spent.mu == pytest.approx(math.sqrt(0.9), rel=1e-12)
    assert budget.spent.delta == pytest.approx(1 - (1 - 1e-4) ** 10, rel=1e-12)
    assert budget.would_exceed(to.TotalVariation(2e-6))
    assert not budget.would_exceed(to.Gaussian(budget.remaining.mu))
    assert budget.guarantee().delta(np.inf) >= 1e-3


def test_short_products_are_their_factors_one_by_one():
    whole, apart = to.filters.ResidueFilter(2, delta=1e-6), to.filters.ResidueFilter(2, delta=1e-6)
    whole.spend(to.PureDP(0.3) ** 3 @ to.Gaussian(0.5) @ to.TotalVariation(1e-7))
    for step in (to.PureDP(0.3), to.PureDP(0.3), to.PureDP(0.3), to.Gaussian(0.5), to.TotalVariation(1e-7)):
        apart.spend(step)
    assert whole.spent == pytest.approx(apart.spent, rel=1e-12)
    assert (whole.steps, apart.steps) == (1, 5)


@pytest.mark.parametrize("scale", [1e-90, 1e-5, 1.0, 1e90])
def test_small_losses_and_extreme_budgets_are_ordinary(scale):
    budget = to.filters.ResidueFilter(scale)
    for share in (1e-200, 1e-9, 1e-4, 0.1):
        before = budget.spent.mu
        budget.spend(to.PureDP(scale * share))
        assert budget.spent.mu > before or share < 1e-8
        assert budget.spent.mu >= min(scale * share, 1.0)
    assert budget.would_exceed(to.Gaussian(scale * 1.001))


@pytest.mark.parametrize(
    "step",
    [
        to.subsample(to.Gaussian(1.0), 0.01),
        pytest.param(to.mechanisms.DiscreteGaussian(sigma=3), marks=pytest.mark.slow),
    ],
)
def test_unbounded_losses_cost_less_once_a_sliver_of_mass_is_given_up(step):
    budget = to.filters.ResidueFilter(2, delta=1e-6, step_delta=1e-8)
    budget.spend(step)
    assert 1e-8 <= budget.spent.delta <= 1.01e-8
    left, curve = math.sqrt(4 - budget.spent.mu**2), step if isinstance(step, to.TradeOff) else step.curve()
    claim, epsilon = to.Gaussian(2) @ to.TotalVariation(1.01e-8), np.linspace(-4, 8, 25)
    assert np.all((curve @ to.Gaussian(left)).bounds.delta(epsilon).lower <= claim.delta(epsilon))


@pytest.mark.parametrize(
    "arguments",
    [{"mu": 0}, {"mu": math.nan}, {"mu": 1, "delta": 1.0}, {"mu": 1, "delta": 0.1, "step_delta": 0.2}],
)
def test_budgets_outside_their_range_are_refused(arguments):
    with pytest.raises(DomainError):
        to.filters.ResidueFilter(**arguments)


def leaves(budget, rule, depth):
    """All paths of an adaptive analyst: (log-loss, Q-mass, what is left of the budget)."""
    paths, done = [(0.0, 1.0, budget.state(), ())], []
    for _ in range(depth):
        grown = []
        for loss, mass, state, answers in paths:
            step = rule(answers)
            mine = to.filters.Filter.from_state(state)
            if mine.would_exceed(to.PureDP(step)):
                done.append((loss, mass, mine.remaining))
                continue
            mine.spend(to.PureDP(step))
            truth = 1 / (1 + math.exp(-step))
            grown += [
                (loss + step, mass * truth, mine.state(), (*answers, 1)),
                (loss - step, mass * (1 - truth), mine.state(), (*answers, 0)),
            ]
        paths = grown
    return done + [
        (loss, mass, to.filters.Filter.from_state(state).remaining) for loss, mass, state, _ in paths
    ]


def greedy(answers):
    """Ask strongly after an answer that told much, weakly after one that did not."""
    return 0.4 if not answers or answers[-1] else 0.1


def reversed_(answers):
    return 0.4 if answers and not answers[-1] else 0.1


@pytest.mark.parametrize("rule", [greedy, pytest.param(reversed_, marks=pytest.mark.slow)])
def test_the_worst_adaptive_analyst_stays_within_the_claim(rule):
    """Enumerated, not sampled: seven responses chosen by the answers, then what is left in one Gaussian."""
    found = leaves(to.filters.ResidueFilter(1), rule, 7)
    epsilon = np.linspace(0, 4, 41)
    total = sum(mass * to.Gaussian(left.mu).bounds.delta(epsilon - loss).lower for loss, mass, left in found)
    claim = to.filters.ResidueFilter(1).guarantee().delta(epsilon)
    assert sum(mass for _, mass, _ in found) == pytest.approx(1, abs=1e-12)
    assert np.all(total <= claim)
    assert np.all(total >= claim - 0.01)  # and it comes close, so the test could fail


@pytest.mark.parametrize("after", [0, pytest.param(1, marks=pytest.mark.slow)])
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


@pytest.mark.slow
def test_shares_never_leave_the_budget_in_long_runs():
    budget = to.filters.ResidueFilter(1)
    spent = [budget.spent.mu]
    while not budget.would_exceed(to.PureDP(0.05)) and budget.steps < 120:
        budget.spend(to.PureDP(0.05))
        spent.append(budget.spent.mu)
    assert all(a < b for a, b in pairwise(spent))
    assert spent[-1] ** 2 == pytest.approx(120 * 0.05**2, rel=2e-3)


@pytest.mark.parametrize("delta", [0.04258700462160665, 0.1, 1e-5, 5e-324, 1e-320])
def test_the_whole_delta_once_is_told_in_full(delta):
    budget = to.filters.ResidueFilter(1, delta=delta)
    budget.spend(to.TotalVariation(delta))
    assert budget.spent.delta >= delta
    assert budget.remaining.delta == 0
    assert budget.would_exceed(to.TotalVariation(delta))
