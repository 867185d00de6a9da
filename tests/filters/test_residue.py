import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import exact_curves, log_uniform
from tradeoff.errors import BudgetExceeded
from tradeoff.filters.residue import (
    Bounded,
    Responses,
    bounded,
    by_variance,
    charge,
    log_delta,
    pure_residual,
    reach,
    responses,
)

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
    return [(mpmath.log(mp(b / a)), mp(b)) for a, b in zip(*curve.atoms(), strict=True)]


def mp(x):
    return mpmath.mpf(x.numerator) / x.denominator


def worst(atoms, left, r):
    """The largest D/delta_{G_r} - 1 over epsilon >= 0, near 0 and far out; both sides are symmetric."""
    grid = [r * e for e in (0, mpmath.mpf("0.01"), mpmath.mpf("0.2"), mpmath.mpf("0.7"), 1, 2, 3, 5, 8)]
    return max(composed(atoms, e, left) / profile(e, r) - 1 for e in grid)


def binds(f, left, r):
    """Whether some epsilon refutes f (x) G_left >= G_r, looked for where it is closest to it."""
    mixture = responses(f, r)
    epsilon = np.linspace(0, max(10 * r, reach(float(mixture.loss[-1]), left, r)), 501)
    for _ in range(3):
        gaps = mixture.log_delta(epsilon, left) - log_delta(epsilon, r).upper
        near, step = epsilon[np.argmax(gaps)], 2 * epsilon[1] - 2 * epsilon[0]
        epsilon = np.linspace(max(near - step, 0.0), near + step, 101)
    return np.max(gaps) > 1e-11


@pytest.mark.parametrize(("epsilon", "naive", "residue"), [(0.1, 63, 98), (0.2, 15, 23)])
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


@given(log_uniform(1e-6, 50.0), log_uniform(1e-9, 16.0))
@example(1.0, 0.05)
@example(4.0, 0.7)
def test_charges_of_a_response_are_valid_and_that_of_the_filter_is_tight(r, ratio):
    epsilon = min(r * ratio, 20.0)
    taken = charge(bounded(to.PureDP(epsilon), 0.0), r)
    with mpmath.workdps(100):
        atoms, top = response(epsilon), mpmath.mpf(r)
        lefts = [
            mpmath.sqrt(max(top**2 - mpmath.mpf(each), 0)) for each in (taken, by_variance(epsilon**2, r))
        ]
        for left in (*lefts, mpmath.mpf(pure_residual(epsilon, r))):
            assert left == 0 or worst(atoms, left, top) <= 0
        if ratio < 0.9 and 0.01 <= r <= 8:  # the largest r' is this close
            assert composed(atoms, 0, lefts[0] + mpmath.mpf(1e-10)) > profile(0, top)
        if taken > r * r:  # none is left; then it is at least the square of mu
            assert taken >= 8 * mpmath.erfinv(mpmath.tanh(mpmath.mpf(epsilon) / 2)) ** 2
    assert taken > 0
    assert by_variance(epsilon**2, r) >= epsilon**2


@few
@given(exact_curves, log_uniform(0.3, 4.0))
def test_charge_of_polygon_is_valid_and_tight(curve, r):
    curve = curve.symmetrise(assume="either-order")
    assume(curve.mass_at_plus_infinity == 0 and 0 < curve.sup_loss < 5)
    taken = charge(bounded(curve, 0.0), r)
    assume(taken < 0.95 * r * r)
    with mpmath.workdps(40):
        left = mpmath.sqrt(mpmath.mpf(r) ** 2 - mpmath.mpf(taken))
        assert worst(atoms_of(curve), left, mpmath.mpf(r)) <= 0
    assert binds(bounded(curve, 0.0), float(left) + 1e-6, r)


@pytest.mark.parametrize(
    ("curve", "r"), [(to.Laplace(0.5), 1.0), (to.Laplace(1.5), 3.0), (to.PureDP(0.2) ** 5, 1.0)]
)
def test_charge_of_curve_is_valid_and_tight(curve, r):
    """Against the composition engine, up to its own width."""
    left = math.sqrt(r * r - charge(bounded(curve, 0.0), r))
    epsilon = np.linspace(-3, 3, 13) * r
    assert np.all((curve @ to.Gaussian(left)).bounds.delta(epsilon).lower <= to.Gaussian(r).delta(epsilon))
    assert binds(bounded(curve, 0.0), left + 1e-6, r)


def test_gaussian_steps_cost_their_square_products_their_factors_and_parts_fit():
    budget = to.filters.ResidueFilter(1, delta=1e-3)
    for _ in range(10):
        budget.spend(to.Gaussian(0.3) @ to.TotalVariation(1e-4))
    assert budget.spent.mu == pytest.approx(math.sqrt(0.9), rel=1e-12)
    assert budget.spent.delta == pytest.approx(1 - (1 - 1e-4) ** 10, rel=1e-12)
    assert budget.would_exceed(to.TotalVariation(2e-6))
    assert not budget.would_exceed(to.Gaussian(budget.remaining.mu))
    assert budget.guarantee().delta(np.inf) >= 1e-3
    whole, apart = to.filters.ResidueFilter(2, delta=1e-6), to.filters.ResidueFilter(2, delta=1e-6)
    whole.spend(to.PureDP(0.3) ** 3 @ to.Gaussian(0.5) @ to.TotalVariation(1e-7))
    for step in (to.PureDP(0.3), to.PureDP(0.3), to.PureDP(0.3), to.Gaussian(0.5), to.TotalVariation(1e-7)):
        apart.spend(step)
    assert whole.spent == pytest.approx(apart.spent, rel=1e-12)
    assert (whole.steps, apart.steps) == (1, 5)
    for part in (0.0, 0.3, 0.99):
        budget = to.filters.ResidueFilter(1, delta=1e-6)
        budget.spend(to.TotalVariation(1e-6 * part) @ to.Gaussian(0.3))
        left = budget.remaining
        assert left.delta >= 1e-6 * (1 - part) * (1 - 1e-9)
        budget.spend(to.TotalVariation(left.delta) @ to.Gaussian(left.mu))


@pytest.mark.parametrize(
    "step", [to.subsample(to.Gaussian(1.0), 0.01), to.mechanisms.DiscreteGaussian(sigma=3)]
)
def test_step_delta_bounds_unbounded_losses(step):
    budget = to.filters.ResidueFilter(2, delta=1e-6, step_delta=1e-8)
    budget.spend(step)
    assert 1e-8 <= budget.spent.delta <= 1.01e-8
    left, curve = math.sqrt(4 - budget.spent.mu**2), step if isinstance(step, to.TradeOff) else step.curve()
    claim, epsilon = to.Gaussian(2) @ to.TotalVariation(1.01e-8), np.linspace(-4, 8, 25)
    assert np.all((curve @ to.Gaussian(left)).bounds.delta(epsilon).lower <= claim.delta(epsilon))


@given(log_uniform(1e-12, 0.9), st.lists(st.sampled_from([0.01, 0.1, 0.25, 1 / 3, 0.5, 1.0]), max_size=30))
def test_leaks_stay_within_the_guarantee(delta, shares):
    budget, finite = to.filters.ResidueFilter(1, delta=delta), Fraction(1)
    for share in shares:
        step = to.TotalVariation(delta * share)
        if not budget.would_exceed(step):
            budget.spend(step)
            finite *= 1 - Fraction(step.delta_0)
    assert 1 - finite <= Fraction(delta) * (1 + Fraction(1e-12))
    assert delta <= float(budget.guarantee().mass_at_infinity.upper) <= delta * (1 + 3e-12)


MU = [0.01, 0.05, 0.099, 0.1, 0.17, 0.3, 0.7, 1.0, 3.0, 20.0, 50.0, 73.0]
RATIO = np.array([0.0, 1e-6, 0.3, 5.0, 20.0, 36.4, 39.9, 40.1, 300.0])


@pytest.mark.parametrize("mu", MU)
def test_logarithms_of_profiles_lie_between_their_bounds(mu):
    epsilon = np.concatenate([RATIO, -RATIO]) * mu
    result, ratio = log_delta(epsilon, mu), np.abs(epsilon) / mu
    units = 1e3 * (2 + ratio + mu) ** 2 * max(1.0, 1 / mu) + 1e2 * ratio / mu
    with mpmath.workdps(100):
        for e, low, high in zip(map(mpmath.mpf, epsilon.tolist()), *result, strict=True):
            assert low <= mpmath.log(profile(e, mpmath.mpf(mu))) <= high
    assert np.all(result.width <= 2.0**-53 * units)
    assert log_delta(epsilon[3], mu).lower == result.lower[3]
    # Of mixtures they are rounded up.
    loss, weight, at = np.array([0.0, 0.1, 0.7]) * mu, np.array([0.0, 0.25, 0.75]), RATIO[:6] * mu
    result = Responses(loss, weight).log_delta(at, mu).tolist()
    with mpmath.workdps(100):
        pairs = zip(loss.tolist(), weight.tolist(), strict=True)
        atoms = [(x, w * q) for k, w in pairs for x, q in response(k)]
        for e, high in zip(at.tolist(), result, strict=True):
            exact = mpmath.log(composed(atoms, mpmath.mpf(e), mpmath.mpf(mu)))
            assert 0 <= high - exact <= 1e-9 * (1 + abs(exact))


@given(log_uniform(1e-6, 50.0), log_uniform(1e-9, 0.9), log_uniform(1e-3, 20.0))
def test_reach_is_the_greater_root_rounded_up(r, gap, loss):
    mu = r * (1 - gap)
    result = reach(loss, mu, r)
    with mpmath.workdps(60):
        m, top = mpmath.mpf(mu), mpmath.mpf(r)
        a = 1 / m**2 - 1 / top**2
        b, c = loss / m**2, (top**2 - m**2) / 8 + mpmath.log(top / m)
        root = (b + mpmath.sqrt(b * b + 2 * a * c)) / a
        assert root <= result <= root * (1 + mpmath.mpf(1e-12))


@pytest.mark.slow
def test_mixtures_of_many_responses_are_rounded_down():
    rng = np.random.default_rng(5)
    loss = np.append(0.0, np.sort(rng.uniform(1e-3, 8.0, 199)))
    weight = rng.exponential(size=200)
    mixture = Responses(loss, weight / weight.sum())
    at = np.array([0.0, 1e-9, 0.5, 3.0, 7.9])
    with mpmath.workdps(40):
        for epsilon, result in zip(at.tolist(), mixture.delta(at).tolist(), strict=True):
            e = mpmath.exp(mpmath.mpf(epsilon))
            each = ((mpmath.exp(mpmath.mpf(one)), w) for one, w in zip(loss, mixture.weight, strict=True))
            truth = mpmath.fsum(mpmath.mpf(w) * max(one - e, 0) / (1 + one) for one, w in each)
            assert truth * (1 - mpmath.mpf(1e-12)) <= result <= truth
    assert responses(Bounded(to.Laplace(8.0), 8.0), 1.0) is not None
