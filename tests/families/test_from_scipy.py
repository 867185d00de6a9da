"""Pairs of SciPy's laws: histograms and discrete laws in fractions, and heavy tails."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as some

import tradeoff as to
from tradeoff.errors import DomainError, SizeError

COUNTS = some.lists(some.integers(0, 9), min_size=1, max_size=5).filter(any)
EVEN = to.from_masses([1], [1])

WIDTHS = some.lists(some.sampled_from([1e-12, 1e-6, 0.1, 0.3, 1.0, 7.0]), min_size=5, max_size=5)


def histogram(counts, edges, *, density=False, **placed):
    return st.rv_histogram((np.array(counts, dtype=float), np.array(edges)), density=density)(**placed)


def bins(counts, widths):
    edges = np.cumsum([0.0, *widths[: len(counts)]])
    return histogram(counts, edges), list(map(Fraction, edges.tolist()))


def gained(p, q, price):
    """The sum over all cells of (q - e^eps p)_+, by the cells' exact masses."""
    cuts = sorted({*p[1], *q[1]})
    total = Fraction(0)
    for low, high in pairwise(cuts):
        masses = []
        for counts, edges in (p, q):
            inside = [k for k in range(len(counts)) if edges[k] <= low and high <= edges[k + 1]]
            share = [
                Fraction(counts[k], sum(counts)) * (high - low) / (edges[k + 1] - edges[k]) for k in inside
            ]
            masses.append(sum(share, start=Fraction(0)))
        total += max(masses[1] - price * masses[0], Fraction(0))
    return total


@given(COUNTS, COUNTS, WIDTHS, WIDTHS)
def test_histograms_equal_masses_on_common_bins(first, second, wide, other):
    (p, edges), (q, others) = bins(first, wide), bins(second, other)
    curve = to.from_scipy(p, q)
    assert curve.assumptions == ()
    for epsilon in (0.0, 1.0, 40.0):
        price = Fraction(math.exp(epsilon))
        result, truth = curve.bounds.delta(epsilon), gained((first, edges), (second, others), price)
        assert (
            Fraction(result.lower) - Fraction(1, 10**12)
            <= truth
            <= Fraction(result.upper) + Fraction(1, 10**12)
        )
    lost = curve.bounds.delta(math.inf)
    assert (
        Fraction(lost.lower)
        <= gained((first, edges), (second, others), Fraction(10) ** 400)
        <= Fraction(lost.upper)
    )


def test_uniform_laws_are_exact():
    curve = to.from_scipy(st.uniform(1e6, 0.3), st.uniform(1e6, 0.5))
    lost = 1 - Fraction(0.3) / Fraction(0.5)
    assert Fraction(curve.bounds.delta(50.0).lower) <= lost <= Fraction(curve.bounds.delta(50.0).upper)
    assert curve.epsilon(0.4) == pytest.approx(math.log(0.6))
    assert to.from_scipy(st.uniform(), histogram([1], [0, 1])) == EVEN
    assert to.from_scipy(st.uniform(), histogram([1, 1], [0, 0.5, 1])) == EVEN


def test_bins_follow_the_density_argument():
    edges = [0.0, 1.0, 3.0]
    counted, dense = (
        to.from_scipy(histogram([1, 1], edges, density=d), st.uniform(0, 3)) for d in (False, True)
    )
    assert counted.delta(0.0) == pytest.approx(2 / 3 - 1 / 2)
    assert dense == EVEN
    with pytest.warns(RuntimeWarning, match="not constant"):
        said_nothing = to.from_scipy(histogram([1, 1], edges, density=None), st.uniform(0, 3))
    assert said_nothing == dense
    even = to.from_scipy(histogram([1, 3], [0.0, 1.0, 2.0], density=None), st.uniform(0, 2))
    assert even == to.from_masses([Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2), Fraction(1, 2)])
    moved = to.from_scipy(histogram([1, 3], [0, 1, 2], loc=0.1, scale=1e-3), st.uniform(0.1, 2e-3))
    assert moved.delta(0.0) == pytest.approx(0.25)


def test_invalid_histograms_raise():
    for other in (st.uniform(), st.norm()):
        with pytest.raises(DomainError, match="increasing"):
            to.from_scipy(histogram([1, 1], [0.0, 2.0, 1.0], density=True), other)
        for counts in ([0, 0], [-1, 3], [math.nan, 1], [math.inf, 1]):
            with np.errstate(all="ignore"), pytest.raises(DomainError, match="counts"):
                to.from_scipy(histogram(counts, [0.0, 0.5, 1.0]), other)


@pytest.mark.parametrize("width", [1e-12, 3e-9, 1e-6, 1e-3])
def test_narrow_empty_bin_contains_truth(width):
    edges = [0.0, 0.4, 0.4 + width, 1.0]
    hole = histogram([1, 0, 1], edges, density=True)
    lost = Fraction(edges[2]) - Fraction(edges[1])
    for other in (st.uniform(), st.beta(1, 1)):  # exact, and by SciPy's tails
        result = to.from_scipy(hole, other).bounds.delta(40.0)
        assert Fraction(result.lower) <= lost <= Fraction(result.upper)


def test_changing_a_histogram_keeps_the_curve():
    counts, edges = np.array([1.0, 3.0]), np.array([0.0, 0.5, 1.0])
    made = st.rv_histogram((counts, edges), density=False)
    exact, other = to.from_scipy(made(), st.uniform()), to.from_scipy(made(), st.beta(2, 2))
    before = other.delta(0.3)
    counts *= [5.0, 1.0]
    edges *= 7.0
    assert exact.delta(0.0) == pytest.approx(0.25, rel=1e-14)
    assert other.delta(0.3) == before
    assert to.from_scipy(made(), st.beta(2, 2)) != other


@pytest.mark.parametrize("epsilon", [5.0, 10.0, 15.0, 20.0, 30.0, 40.0])
def test_delta_of_complementary_tails_contains_truth(epsilon):
    """Of u = 1 - x the triangle has 2 u^2 of mass above, and 3 u^2 e^-L = 4 u under the power law."""
    curve = to.from_scipy(st.beta(1, 3), st.triang(0.5))
    u = 4 / 3 * math.exp(-epsilon)
    truth = 2 * u**2 - math.exp(epsilon) * u**3
    result = curve.bounds.delta(epsilon)
    assert result.lower <= truth <= result.upper <= truth * (1 + 1e-5) + 1e-13


def test_large_integer_counts_are_exact():
    bins = np.array([0, 1, 2])
    first, second = (
        st.rv_histogram((np.array(counts), bins), density=False)()
        for counts in ([2**60 + 1, 2**60 - 1], [2**60, 2**60])
    )
    result = to.from_scipy(first, second).rational().hockey_stick(1)
    assert result == Fraction(1, 2**61)


@pytest.mark.parametrize("epsilon", [8.0, 12.0, 30.0, 45.0])
def test_delta_of_fisk_laws_contains_truth(epsilon):
    """Of fisk(c) the density is c x^(c-1)/(1 + x^c)^2 and the tail 1/(1 + x^c)."""
    with mpmath.workdps(120):

        def loss(log_x):
            return _fisk_density(0.3, log_x) - _fisk_density(0.5, log_x) - epsilon

        def delta(log_x):
            return 1 / (1 + mpmath.exp(0.3 * log_x)) - mpmath.exp(epsilon) / (1 + mpmath.exp(0.5 * log_x))

        right = mpmath.findroot(loss, (5 * epsilon, 20 * epsilon), solver="anderson")
        left = mpmath.findroot(loss, (-20 * epsilon, -epsilon), solver="anderson")
        truth = delta(right) + (1 - mpmath.exp(epsilon)) - delta(left)
        result = to.from_scipy(st.fisk(0.5), st.fisk(0.3)).bounds.delta(epsilon)
        assert result.lower <= truth <= result.upper <= truth * (1 + mpmath.mpf(1e-9))


def _fisk_density(c, log_x):
    c = mpmath.mpf(c)
    return mpmath.log(c) + (c - 1) * log_x - 2 * mpmath.log1p(mpmath.exp(c * log_x))


@pytest.mark.parametrize(
    ("law", "width", "truth"),
    [
        (st.triang(0), 1 - 1 / 3000, lambda w: (1 - w) ** 2),
        (st.triang(0), 1 - 1 / 3e7, lambda w: (1 - w) ** 2),
        (st.trapezoid(0.2, 0.8), 1 - 1 / 3e7, lambda w: (1 - w) ** 2 / 0.2 / 1.6),
        (st.anglit(scale=4 / np.pi), 0.99999, None),
    ],
)
def test_mass_at_infinity_of_inaccurate_tails_contains_truth(law, width, truth):
    result = to.from_scipy(st.beta(1, 1, 0, width), law).mass_at_infinity
    if truth is None:  # anglit has mass below 0 too: sin(2 y) for y within pi/4
        y = mpmath.pi * mpmath.mpf(width) / 4
        expected = (1 - mpmath.sin(2 * y)) / 2 + mpmath.mpf(1) / 2
    else:
        with mpmath.workdps(40):
            expected = truth(mpmath.mpf(width))
    assert result.lower <= expected <= result.upper <= expected + 1e-7


def test_from_scipy_of_finite_discrete_laws_is_exact():
    f = to.from_scipy(st.binom(10, 0.5), st.binom(10, 0.6))
    p, q = ([float(law.pmf(k)) for k in range(11)] for law in (st.binom(10, 0.5), st.binom(10, 0.6)))
    assert f.vertices == to.from_masses(p, q).vertices
    assert len(f.assumptions) == 1
    assert to.from_scipy(st.randint(0, 5), st.randint(1, 6)).vertices == [
        (0, Fraction(4, 5)),
        (Fraction(4, 5), 0),
    ]


def test_from_scipy_of_infinite_discrete_laws_is_accurate():
    f = to.from_scipy(st.poisson(3), st.poisson(4))
    k = np.arange(400)
    for epsilon in (0.0, 0.5, 3.0, 10.0):
        terms = st.poisson(4).pmf(k) - np.exp(epsilon) * st.poisson(3).pmf(k)
        assert f.delta(epsilon) == pytest.approx(np.sum(np.maximum(terms, 0)), rel=1e-12)
    assert f.mass_at_infinity.upper < 1e-290
    with pytest.raises(SizeError, match="at most 100000 outcomes"):
        to.from_scipy(st.zipf(2), st.zipf(3))
    with pytest.raises(DomainError, match="must both be discrete"):
        to.from_scipy(st.poisson(3), st.norm())


UNIT, MOVED = st.Normal(mu=0, sigma=1), st.Normal(mu=1, sigma=1)
LAPLACE = st.make_distribution(st.laplace)()


@pytest.mark.parametrize(
    ("p", "q", "equal"),
    [
        (UNIT, st.Mixture([UNIT, MOVED], weights=[0.75, 0.25]), to.subsample(to.Gaussian(1), 0.25)),
        (
            st.truncate(UNIT, -1, 1),
            st.truncate(MOVED, -1, 1),
            to.from_scipy(st.truncnorm(-1, 1), st.truncnorm(-2, 0, 1)),
        ),
        (st.Uniform(a=0, b=1), st.Uniform(a=0.25, b=1.25), to.TotalVariation(0.25)),
        (st.exp(UNIT), st.exp(UNIT) * 4, to.Gaussian(math.log(4))),
        (LAPLACE, LAPLACE + 1, to.Laplace(1)),
        (UNIT, st.norm(1), to.Gaussian(1)),
        (LAPLACE, UNIT, to.from_scipy(st.laplace(), st.norm())),
    ],
    ids=["mixture", "truncated", "uniform", "lognormal", "laplace", "normal", "two kinds"],
)
def test_second_kind_of_laws_equals_curves_of_the_first(p, q, equal):
    curve = to.from_scipy(p, q)
    epsilons = [-1.0, 0.0, 0.3, 2.0]
    bounds, truth = curve.bounds.delta(epsilons), equal.bounds.delta(epsilons)
    assert np.all(bounds.lower <= truth.upper)
    assert np.all(truth.lower <= bounds.upper)
    assert np.all(bounds.width < 1e-10)


@pytest.mark.skipif(not hasattr(st, "Binomial"), reason="SciPy has no Binomial: it has from 1.16")
def test_second_kind_of_discrete_laws_equals_the_first():
    curve = to.from_scipy(st.Binomial(n=10, p=0.5), st.Binomial(n=10, p=0.6))
    assert curve.delta(0.5) == pytest.approx(to.from_scipy(st.binom(10, 0.5), st.binom(10, 0.6)).delta(0.5))


def test_second_kind_of_laws_compare_by_their_parameters():
    f, g = (to.from_scipy(st.Mixture([UNIT, MOVED], weights=[w, 1 - w]), UNIT) for w in (0.5, 0.5 + 1e-9))
    again = to.from_scipy(st.Mixture([UNIT, MOVED], weights=[0.5, 0.5]), UNIT)
    assert f == again
    assert hash(f) == hash(again)
    assert f != g


@pytest.mark.parametrize("law", [st.Normal(mu=[0, 1], sigma=1), st.Uniform(a=[0, 0], b=1), 3])
def test_second_kind_of_laws_out_of_range_raise(law):
    with pytest.raises(DomainError, match="q must be"):
        to.from_scipy(UNIT, law)
