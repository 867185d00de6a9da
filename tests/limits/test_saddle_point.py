"""Saddle-point bounds: the theorem at any tilt, certified moments, truth inside, where it is void."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mpmath as mp
import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.golden.oracle import delta_of_atoms, gaussian_beta, gaussian_delta, pure_dp_power
from tests.limits.bands import EPSILON, contains
from tests.strategies import epsilons, exact_curves, gaussians, laplaces, log_uniform, pure_dps, subsampled
from tradeoff.errors import DomainError, NoClosedForm
from tradeoff.intervals.bounds import Bounds
from tradeoff.limits.tilted import moments, tilted
from tradeoff.limits.tilts import TiltedSum, part
from tradeoff.loss.changed import Reversed, Thinned
from tradeoff.loss.cumulant import Cumulant, tilt_for_epsilon
from tradeoff.loss.discrete import binomial_law
from tradeoff.loss.discrete_gaussian import discrete_gaussian_law
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.laplace import LaplaceLaw
from tradeoff.loss.law import LossLaw

QuadratureTransform = Sequence[tuple[mp.mpf, mp.mpf]]


def tilt_of(points: QuadratureTransform, c: float) -> tuple[mp.mpf, QuadratureTransform]:
    total = mp.fsum(p * mp.exp(c * x) for x, p in points)
    return mp.log(total), [(x, p * mp.exp(c * x) / total) for x, p in points]


def integral_moments(law: LossLaw, c: float) -> tuple[mp.mpf, mp.mpf, mp.mpf, mp.mpf]:
    """Return K, mean, variance and a bound on E|L - E L|^3 of a tilted law, by mpmath."""
    inner = law.base if isinstance(law, Reversed) else law
    rate = mp.mpf(inner.p) if isinstance(inner, Thinned) else mp.mpf(1)
    base = inner.base if isinstance(inner, Thinned) else inner

    def thin(x):
        return mp.log1p(rate * mp.expm1(x))

    if isinstance(base, GaussianLaw):
        mu = mp.mpf(base.mu)
        atoms, panels = [], [mp.mpf(x) for x in range(-16, 33, 2)]
        density, loss = mp.npdf, lambda x: thin(mu * x - mu * mu / 2)
    else:
        e = mp.mpf(base.epsilon)
        atoms, panels = [(thin(-e), mp.mpf(1) / 2), (thin(e), mp.exp(-e) / 2)], [-e, mp.mpf(0), e]
        density, loss = lambda x: mp.exp(-(x + e) / 2) / 4, thin
    turned = isinstance(law, Reversed)  # under Q the mass is e^L dP and the loss -L

    def expected(f):
        def value(x):
            return mp.exp((1 - c) * x) * f(-x) if turned else mp.exp(c * x) * f(x)

        smooth = mp.quad(lambda x: density(x) * value(loss(x)), panels)
        return smooth + mp.fsum(p * value(x) for x, p in atoms)

    total = expected(lambda _: mp.mpf(1))
    mean = expected(lambda x: x) / total
    second, fourth = (expected(lambda x, k=k: (x - mean) ** k) / total for k in (2, 4))
    return mp.log(total), mean, second, mp.sqrt(second * fourth)


@pytest.mark.parametrize(
    ("law", "c"),
    [
        pytest.param(GaussianLaw(0.7), 2.5, marks=pytest.mark.slow),
        (LaplaceLaw(0.1), 3.0),
        (LaplaceLaw(4.0), 0.5),
        (LaplaceLaw(1e-5), 1.5),
        (LaplaceLaw(0.3), 30.1),
        pytest.param(Thinned(GaussianLaw(1.25), 0.005), 8.0, marks=pytest.mark.slow),
        pytest.param(Thinned(GaussianLaw(1.0), 0.3), -2.0, marks=pytest.mark.slow),
        (Reversed(Thinned(GaussianLaw(1.25), 0.01)), 4.0),
        (Reversed(Thinned(LaplaceLaw(0.5), 0.25)), -1.5),
    ],
)
def test_moments_against_integrals(law, c):
    found = moments(law, np.array([c]))
    found = found._make(Bounds(*(side.item() for side in moment)) for moment in found)
    with mp.workdps(30):
        log_m, mean, variance, schwarz = integral_moments(law, c)
        assert found.log_m.lower <= log_m <= found.log_m.upper
        assert found.mean.lower <= mean <= found.mean.upper
        assert found.variance.lower <= variance <= found.variance.upper
        assert found.mean.width <= 2e-11 * math.sqrt(variance)
        assert found.variance.width <= 2e-6 * variance
        # E|d|^3 is at most the Schwarz bound, which the engine's is above and near; Gaussian summands divide
        # for ever.
        assert (
            found.third.upper == 0
            if isinstance(law, GaussianLaw)
            else schwarz <= found.third.upper <= schwarz * mp.mpf("1.05")
        )


@given(st.integers(1, 60), log_uniform(0.01, 2.0), st.floats(-3, 4))
@settings(max_examples=25)
def test_distance_to_the_normal_law(n, e0, c):
    near = tilted([binomial_law(e0, 1)], [n], [c])[0]
    assume(math.isfinite(near.gamma))  # else c is exactly 0 or 1
    with mp.workdps(50):
        log_m, points = tilt_of(pure_dp_power(e0, n), near.c)
        assert near.least_log_m <= log_m <= near.most_log_m
        below, worst = mp.mpf(0), mp.mpf(0)
        for x, p in points:
            normal = mp.ncdf((x - near.mean) / mp.mpf(near.sd))
            worst = max(worst, abs(normal - below), abs(normal - below - p))
            below += p
    assert worst <= near.gamma


@pytest.mark.slow
@given(st.integers(1, 40), log_uniform(0.01, 2.0), st.floats(-4, 5), st.floats(-1.1, 1.1))
@settings(max_examples=40)
def test_theorem_holds_at_any_tilt(n, e0, c, where):
    near = tilted([binomial_law(e0, 1)], [n], [c])[0]
    assume(math.isfinite(near.gamma))  # else c is exactly 0 or 1
    x = where * n * e0
    low, high = part(near, np.array(x))
    with mp.workdps(60):
        delta = delta_of_atoms(pure_dp_power(e0, n), x)
        truth = delta if near.c > 1 else 1 - delta if near.c > 0 else delta - 1 + mp.exp(x)
        assert low <= truth <= high


def band_of(laws: Sequence[LossLaw], counts: Sequence[int]) -> to.limits.SaddlePoint:
    """Return the band of a product of laws, whatever closed forms its curve would have."""
    nothing = Bounds(0.0, 0.0)
    found = TiltedSum(laws, counts, nothing, nothing)
    return to.limits.SaddlePoint(to.Identity(), ((found, found),), ())


@pytest.mark.slow
@given(log_uniform(0.01, 3.0), st.integers(1, 1000), epsilons, log_uniform(1e-9, 0.999))
@settings(max_examples=30)
def test_gaussian_powers_are_exact(mu, n, epsilon, alpha):
    band = band_of([GaussianLaw(mu)], [n])
    with mp.workdps(40):
        total = mp.mpf(mu) * mp.sqrt(n)
        delta, beta = gaussian_delta(epsilon, total), gaussian_beta(alpha, total)
    low, high = band.delta(epsilon)
    assert low <= delta <= high
    assert high - low <= 1e-9 * high or high < 1e-290
    low, high = band.bounds(alpha)
    assert low <= beta <= high
    assert high - low <= 1e-7 * high or high < 1e-250
    level = float(delta)
    if 1e-290 < level < 1 - 1e-6:
        low, high = band.epsilon(level)
        assert low - 1e-9 <= epsilon <= high + 1e-9
        assert high - low <= 1e-7 * (1 + abs(epsilon))


def laplace_contour(epsilon: float, e0: float, n: int) -> mp.mpf:
    """Return delta by the inversion integral on Re z = 2.

    The atoms let the integrand fall to 0.95^n and then by 1/y^2.
    """
    e = mp.mpf(e0)

    def integrand(y):
        z = mp.mpc(2, y)
        m = (z * mp.exp((z - 1) * e) + (z - 1) * mp.exp(-z * e)) / (2 * z - 1)
        return (m**n * mp.exp(-(z - 1) * epsilon) / (z * (z - 1))).real

    return mp.quad(integrand, [k * mp.mpf("0.75") for k in range(60)], maxdegree=4) / mp.pi


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [5.0, 6.0, 10.0])
def test_laplace_by_the_book(epsilon):
    law, truth = LaplaceLaw(0.1), laplace_contour(epsilon, 0.1, 400)
    at_the_saddle = tilted([law], [400], [tilt_for_epsilon(Cumulant([(law.sketch(), 400)]), epsilon)])[0]
    assert abs(sum(part(at_the_saddle, np.array(epsilon))) / 2 / truth - 1) <= 1e-3  # the estimate
    low, high = to.limits.saddle_point(to.Laplace(0.1) ** 400).delta(epsilon)
    assert (high - low) / 2 <= 0.32 * truth  # what is certified of it
    assert low <= truth <= high


factors = st.one_of(gaussians, laplaces, pure_dps, subsampled, subsampled.map(lambda f: ~f), exact_curves)
products = st.tuples(factors, log_uniform(1, 1000).map(int), factors, st.integers(0, 30)).map(
    lambda a: a[0] ** a[1] @ a[2] ** a[3]
)


@pytest.mark.slow
@given(products, epsilons, log_uniform(1e-12, 0.999), log_uniform(1e-9, 0.999))
@settings(max_examples=8)
def test_meets_the_other_engines(curve, epsilon, delta, alpha):
    band = to.limits.saddle_point(curve)
    for found, known in (
        (band.delta(epsilon), curve.bounds.delta(epsilon)),
        (band.bounds(alpha), curve.bounds(alpha)),
        (band.epsilon(delta), curve.bounds.epsilon(delta)),
    ):
        assert found.lower <= known.upper
        assert known.lower <= found.upper


@pytest.mark.slow
def test_holds_what_is_known_from_two_sides():
    between = to.mixture({to.Gaussian(0.5): 0.5, to.PureDP(0.3): 0.5}) ** 3
    assert contains(to.limits.saddle_point(between), between)


@pytest.mark.slow
def test_holds_the_envelope_of_both_orders():
    one = to.subsample(to.Gaussian(0.8), 0.2) ** 20
    band = to.limits.saddle_point(one.symmetrise(assume="either-order"))
    for order in (one, ~one):
        assert np.all(band.delta(EPSILON).upper >= order.bounds.delta(EPSILON).lower)
        assert np.all(band.lower([0.01, 0.3]) <= order.bounds([0.01, 0.3]).upper)
    best = np.maximum(one.bounds.delta(EPSILON).upper, (~one).bounds.delta(EPSILON).upper)
    assert np.all(band.delta(EPSILON).lower <= best)


@given(laplaces, log_uniform(1, 1e6).map(int), st.floats(-40, 40))
@settings(max_examples=10)
def test_one_tilt_says_the_same_whatever_shares_its_points(f, n, c):
    law = f.loss_law()
    beside = c + np.array([-0.2, -0.1, 0.05, 0.1, 0.3])
    assert tilted([law], [n], [*beside, c])[-1] == tilted([law], [n], [c])[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [to.limits.berry_esseen, to.limits.edgeworth_bounds, to.limits.saddle_point]
)
def test_one_side_is_that_of_both(method):
    curve = (to.subsample(to.Gaussian(0.5), 0.1) ** 50 @ to.Laplace(0.1) ** 50).symmetrise(
        assume="either-order"
    )
    band, at = method(curve), np.array([1e-7, 0.02, 1.0])
    assert np.array_equal(band.most_epsilon(at), band.epsilon(at).upper)
    assert np.all(band.most_epsilon(at)[:-1] >= curve.bounds.epsilon(at[:-1]).lower)
    assert band.most_epsilon(0.02) == band.epsilon(0.02).upper
    known = band.bounds(at)
    assert np.array_equal(band.lower(at), known.lower)
    assert np.array_equal(band.upper(at), known.upper)


@pytest.mark.slow
def test_the_guarantee_is_below_and_near():
    curve = to.Gaussian(0.1) ** 100 @ to.PureDP(0.05) ** 30
    band = to.limits.saddle_point(curve)
    alpha = np.linspace(0.01, 0.99, 50)
    lower = band.guarantee(alpha)
    assert np.all(lower <= curve.bounds(alpha).upper)
    assert np.all(lower >= band.lower(alpha) - 1e-3)


def test_a_question_says_where_the_method_went():
    with pytest.raises(DomainError, match=r"to\.limits\.saddle_point"):
        to.Gaussian(1.0).delta(1.0, method="saddle-point")


def test_void_for_rarely_sampled_gaussians():
    # sigma = 0.8, p = 0.005, n = 1000: the certificate is void at epsilon = 1.3, and says so by its width.
    curve = to.subsample(to.Gaussian(1 / 0.8), 0.005) ** 1000
    found, known = to.limits.saddle_point(curve).delta(1.3), curve.bounds.delta(1.3, method="contour")
    assert found.lower == 0
    assert 5 * known.upper < found.upper < 1


def test_never_above_chernoff():
    band = band_of([Thinned(GaussianLaw(1.25), 0.005)], [1000])
    for x in (1.3, 3.0, 6.0):
        near = band.sums[0][0].near(np.array([x]))
        c, log_m = near.c[near.c > 1], near.most_log_m[near.c > 1]
        chernoff = np.exp(log_m - (c - 1) * x + (c - 1) * np.log1p(-1 / c) - np.log(c))
        assert band.delta(x).upper <= np.min(chernoff) * (1 + 1e-9)


def test_masses_at_infinity():
    curve = to.approximate_dp(0.05, 1e-4) ** 400
    leak = -math.expm1(400 * math.log1p(-1e-4))
    found = to.limits.saddle_point(curve).delta(np.array([-25.0, -1.0, 0.5, 19.0]))
    known = curve.bounds.delta(np.array([-25.0, -1.0, 0.5, 19.0]))
    assert np.all((found.lower <= known.upper) & (known.lower <= found.upper))
    assert np.all(found.lower >= leak * (1 - 1e-12))
    assert found.upper[-1] <= leak * (1 + 1e-6)
    assert found.lower[0] > 1 - 1e-9


def test_discrete_gaussians():
    low, high = band_of([discrete_gaussian_law(500.0, 1)], [10**6]).delta(np.array([2.0, 6.0]))
    truth = [gaussian_delta(x, mp.mpf(2)) for x in (2.0, 6.0)]  # next to no lattice at sigma = 500
    for k in range(2):
        assert low[k] <= truth[k] * (1 + mp.mpf(10) ** -9)
        assert truth[k] <= high[k] * (1 + mp.mpf(10) ** -9)
    assert np.all(high - low <= 0.02 * high)


@pytest.mark.slow
def test_arrays_answer_as_single_questions_do():
    band, again = (band_of([LaplaceLaw(0.1), GaussianLaw(0.2)], [40, 3]) for _ in range(2))
    for ask, one, at in (
        (band.delta, again.delta, [-3.0, -0.2, 0.0, 0.4, 2.0, 9.0]),
        (band.epsilon, again.epsilon, [1e-9, 1e-3, 0.2]),
        (band.bounds, again.bounds, [1e-9, 1e-3, 0.4, 0.999]),
    ):
        together, alone = ask(at), [one(x) for x in reversed(at)][::-1]
        assert list(zip(*together, strict=True)) == [tuple(each) for each in alone]


@pytest.mark.parametrize(
    "curve",
    [
        to.Identity() ** 5,
        to.TotalVariation(0.3) ** 2,
        to.Gaussian(1e-200) ** 3,
        to.Gaussian(300) ** 4,
        pytest.param(to.Laplace(1e-8) ** 10**12, marks=pytest.mark.slow),
        pytest.param(to.Laplace(1) ** 10**15, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_extremes_are_ordinary(curve):
    band = to.limits.saddle_point(curve)
    delta = band.delta([-math.inf, -700.0, -1.0, 0.0, 1e-300, 2.0, 700.0, math.inf])
    beta = band.bounds([0, 1e-300, 1e-9, 0.3, 1 - 1e-12, 1])
    for found in (delta, beta):
        assert np.all((found.lower >= 0) & (found.lower <= found.upper) & (found.upper <= 1))
    assert delta.lower[0] == 1
    assert delta.lower[2] >= 1 - math.exp(-1) - 1e-15
    assert band.delta([]).lower.shape == (0,)


@pytest.mark.slow
def test_ends():
    band = to.limits.saddle_point(to.Laplace(0.1) ** 10)
    assert [tuple(band.delta(x)) for x in (-np.inf, np.inf)] == [(1.0, 1.0), (0.0, 0.0)]
    low, high = band.epsilon([0.0, 1.0])
    assert low[0] <= 1.0 <= high[0] == np.inf
    assert low[1] == high[1] == -np.inf


def test_laws_without_a_density_are_refused():
    with pytest.raises(NoClosedForm, match=r"densities in closed form, and logistic.* has none$"):
        to.limits.saddle_point(to.LocationShift(scipy.stats.logistic(), 0.3) ** 10)


def test_without_finite_losses_there_is_nothing_to_tilt():
    with pytest.raises(NoClosedForm, match=r"^f_\{0,1\} has no finite losses to tilt: there is no privacy"):
        to.limits.saddle_point(to.TotalVariation(1.0) @ to.Laplace(0.1))


def test_the_other_order_shares_its_tilts():
    one = to.subsample(to.Gaussian(1.0), 0.2) ** 3 @ to.approximate_dp(0.3, 1e-3) ** 4
    first, second = (pair[0] for pair in to.limits.saddle_point(one.symmetrise(assume="either-order")).sums)
    alone = to.limits.saddle_point(~one)
    x = np.array([-2.0, -0.1, 0.4, 3.0])
    for found, known in zip(second.delta(x), alone.delta(x), strict=True):
        assert found == pytest.approx(known, rel=1e-7)
    assert not second._found
    for row in second.under([-1.5, 0.25, 7.0]):
        assert row[0] == 1 - first.under([1 - row[0]])[0][0]
