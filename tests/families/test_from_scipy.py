"""Pairs of SciPy's laws: histograms and discrete laws and masses in fractions, and heavy tails."""

import json
import math
from fractions import Fraction
from itertools import combinations, pairwise

import mpmath
import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given, settings
from hypothesis import strategies as some

import tradeoff as to
from tests.strategies import exact_curves
from tests.truth.claims import check, overlap
from tradeoff import filters
from tradeoff.errors import CurveError, DomainError, NoClosedForm, SizeError

COUNTS = some.lists(some.integers(0, 9), min_size=1, max_size=5).filter(any)
EVEN = to.from_masses([1], [1])

WIDTHS = some.lists(some.sampled_from([1e-12, 1e-6, 0.1, 0.3, 1.0, 7.0]), min_size=5, max_size=5)


def histogram(counts, edges, *, density=False, exact=False, **placed):
    counts = np.array(counts, dtype=int if exact else float)
    return st.rv_histogram((counts, np.array(edges)), density=density)(**placed)


def bins(counts, widths):
    edges = np.cumsum([0.0, *widths[: len(counts)]])
    return histogram(counts, edges), list(map(Fraction, edges.tolist()))


def gained(p, q, price):
    """The sum over all cells of (q - e^eps p)_+, by the cells' exact masses."""
    cuts = sorted({*p[1], *q[1]})
    total = Fraction(0)
    for low, high in pairwise(cuts):
        below, above = (
            sum(
                Fraction(n, sum(counts)) * (high - low) / (b - a)
                for n, (a, b) in zip(counts, pairwise(edges), strict=True)
                if a <= low and high <= b
            )
            for counts, edges in (p, q)
        )
        total += max(above - price * below, Fraction(0))
    return total


@given(COUNTS, COUNTS, WIDTHS, WIDTHS)
def test_histograms_equal_masses_on_common_bins(first, second, wide, other):
    (p, edges), (q, others) = bins(first, wide), bins(second, other)
    curve = to.from_scipy(p, q)
    assert curve.assumptions == ()
    for epsilon in (0.0, 1.0, 40.0):
        truth = gained((first, edges), (second, others), Fraction(math.exp(epsilon)))
        low, high = map(Fraction, curve.bounds.delta(epsilon))
        assert low - Fraction(1, 10**12) <= truth <= high + Fraction(1, 10**12)
    check(curve.bounds.delta(math.inf), gained((first, edges), (second, others), Fraction(10) ** 400))


def test_uniform_laws_are_exact():
    curve = to.from_scipy(st.uniform(1e6, 0.3), st.uniform(1e6, 0.5))
    check(curve.bounds.delta(50.0), 1 - Fraction(0.3) / Fraction(0.5))
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
        check(to.from_scipy(hole, other).bounds.delta(40.0), lost)


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


def test_delta_of_complementary_tails_contains_truth():
    """Of u = 1 - x the triangle has 2 u^2 of mass above, and 3 u^2 e^-L = 4 u under the power law."""
    curve = to.from_scipy(st.beta(1, 3), st.triang(0.5))
    for epsilon in (5.0, 10.0, 15.0, 20.0, 30.0, 40.0):
        u = 4 / 3 * math.exp(-epsilon)
        check(curve.bounds.delta(epsilon), 2 * u**2 - math.exp(epsilon) * u**3, 1e-5, 1e-13)


def test_large_integer_counts_are_exact():
    first, second = (histogram(w, [0, 1, 2], exact=True) for w in ([2**60 + 1, 2**60 - 1], [2**60, 2**60]))
    assert to.from_scipy(first, second).rational().hockey_stick(1) == Fraction(1, 2**61)


@pytest.mark.parametrize("epsilon", [8.0, 12.0, 30.0, 45.0])
def test_delta_of_fisk_laws_contains_truth(epsilon):
    """Of fisk(c) the density is c x^(c-1)/(1 + x^c)^2 and the tail 1/(1 + x^c)."""
    with mpmath.workdps(120):

        def density(c, log_x):
            return mpmath.log(c) + (c - 1) * log_x - 2 * mpmath.log1p(mpmath.exp(c * log_x))

        def loss(log_x):
            return density(mpmath.mpf(0.3), log_x) - density(mpmath.mpf(0.5), log_x) - epsilon

        def delta(log_x):
            return 1 / (1 + mpmath.exp(0.3 * log_x)) - mpmath.exp(epsilon) / (1 + mpmath.exp(0.5 * log_x))

        right = mpmath.findroot(loss, (5 * epsilon, 20 * epsilon), solver="anderson")
        left = mpmath.findroot(loss, (-20 * epsilon, -epsilon), solver="anderson")
        truth = delta(right) + (1 - mpmath.exp(epsilon)) - delta(left)
        check(to.from_scipy(st.fisk(0.5), st.fisk(0.3)).bounds.delta(epsilon), truth, 1e-9)


@pytest.mark.parametrize(
    ("law", "width", "truth"),
    [
        (st.triang(0), 1 - 1 / 3000, lambda w: (1 - w) ** 2),
        (st.triang(0), 1 - 1 / 3e7, lambda w: (1 - w) ** 2),
        (st.trapezoid(0.2, 0.8), 1 - 1 / 3e7, lambda w: (1 - w) ** 2 / 0.2 / 1.6),
        # anglit has mass below 0 too: sin(2 y) for y within pi/4
        (st.anglit(scale=4 / np.pi), 0.99999, lambda w: 1 - mpmath.sin(mpmath.pi * w / 2) / 2),
    ],
)
def test_mass_at_infinity_of_inaccurate_tails_contains_truth(law, width, truth):
    with mpmath.workdps(40):
        result = to.from_scipy(st.beta(1, 1, 0, width), law).mass_at_infinity
        check(result, truth(mpmath.mpf(width)), 0.0, 1e-7)


def test_from_scipy_of_finite_discrete_laws_is_exact():
    f = to.from_scipy(st.binom(10, 0.5), st.binom(10, 0.6))
    sides = Fraction(1, 2), Fraction(0.6)
    p, q = ([math.comb(10, k) * x**k * (1 - x) ** (10 - k) for k in range(11)] for x in sides)
    assert np.max(np.abs(np.subtract(f.vertices, to.from_masses(p, q).vertices))) < Fraction(1, 2**900)
    other = to.from_scipy(st.hypergeom(20, 7, 12), st.hypergeom(20, 8, 12))
    assert (f.assumptions, len(other.assumptions)) == ((), 1)
    ends = [(0, Fraction(4, 5)), (Fraction(4, 5), 0)]
    assert to.from_scipy(st.randint(0, 5), st.randint(1, 6)).vertices == ends


def test_from_scipy_of_infinite_discrete_laws_is_accurate():
    f = to.from_scipy(st.poisson(3), st.poisson(4))
    k = np.arange(400)
    for epsilon in (0.0, 0.5, 3.0, 10.0):
        terms = st.poisson(4).pmf(k) - np.exp(epsilon) * st.poisson(3).pmf(k)
        assert f.delta(epsilon) == pytest.approx(np.sum(np.maximum(terms, 0)), rel=1e-12)
    far = to.from_scipy(st.poisson(1000), st.poisson(1010)).bounds.epsilon(1e-6)
    check(far, mpmath.mpf("1.397274335886649044219575"), 1e-14)
    assert to.from_scipy(st.poisson(1, 2), st.poisson(mu=1.4, loc=2)).epsilon(0) == math.inf
    assert f.assumptions == to.from_scipy(st.nbinom(3, 0.3), st.nbinom(3, 0.4)).assumptions == ()
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
    assert overlap(bounds, truth)
    assert np.all(bounds.width < 1e-10)


def test_second_kind_of_laws_compare_by_their_parameters():
    f, g, again = (
        to.from_scipy(st.Mixture([UNIT, MOVED], weights=[w, 1 - w]), UNIT) for w in (0.5, 0.5 + 1e-9, 0.5)
    )
    assert (f, hash(f)) == (again, hash(again))
    assert f != g
    for law in (st.Normal(mu=[0, 1], sigma=1), st.Uniform(a=[0, 0], b=1), 3):
        with pytest.raises(DomainError, match="q must be"):
            to.from_scipy(UNIT, law)
    if hasattr(st, "Binomial"):  # from SciPy 1.16
        curve = to.from_scipy(st.Binomial(n=10, p=0.5), st.Binomial(n=10, p=0.6))
        first = to.from_scipy(st.binom(10, 0.5), st.binom(10, 0.6))
        assert curve.delta(0.5) == pytest.approx(first.delta(0.5))


F = Fraction
LAWS = some.lists(some.integers(0, 9), min_size=4, max_size=4).filter(any)


def _fractions(weights):
    return [F(w, sum(weights)) for w in weights]


def _delta(p, q, ratio):
    """Return max over sets S of Q(S) - ratio P(S)."""
    return sum((max(b - ratio * a, 0) for a, b in zip(p, q, strict=True)), F(0))


def _least(p, q, alpha):
    """Return the least type II error of tests that reject sets and mix two of them."""
    subsets = [s for n in range(len(p) + 1) for s in combinations(range(len(p)), n)]
    errors = [(sum(p[k] for k in s), 1 - sum(q[k] for k in s)) for s in subsets]
    best = min(b for a, b in errors if a <= alpha)
    for (a, b), (c, d) in combinations(errors, 2):
        if min(a, c) <= alpha < max(a, c):
            best = min(best, b + (d - b) * (alpha - a) / (c - a))
    return best


@given(
    p=LAWS,
    q=LAWS,
    ratio=some.fractions(0, 5, max_denominator=20),
    alpha=some.fractions(0, 1, max_denominator=30),
)
def test_from_masses_is_the_best_test(p, q, ratio, alpha):
    p, q = _fractions(p), _fractions(q)
    f = to.from_masses(p, q)
    assert f.is_rational
    assert f.hockey_stick(ratio) == _delta(p, q, ratio)
    assert f.at(alpha) == _least(p, q, alpha)
    assert ~f == to.from_masses(q, p)
    assert to.PiecewiseLinear.hull(f.alpha, f.beta) == f  # other hulls are drawn in tests/truth


@given(p=LAWS, q=LAWS)
def test_from_masses_floats_mean_binary_values(p, q):
    p, q = np.array(p) / sum(p), np.array(q) / sum(q)
    f = to.from_masses(p, q)
    exact = [[F(x) / sum(map(F, law.tolist())) for x in law.tolist()] for law in (p, q)]
    assert f == to.from_masses(*exact)
    assert (f.mass_at_plus_infinity == 0) == (not np.any((p == 0) & (q > 0)))


def test_from_masses_accepts_mappings_and_extreme_masses():
    f = to.from_masses({"a": F(1, 2), "b": F(1, 2), "c": 0}, {"b": F(1, 4), "d": F(3, 4)})
    assert f == to.from_masses([F(1, 2), F(1, 2), 0], [0, F(1, 4), F(3, 4)])
    assert f.vertices == [(0, F(1, 4)), (F(1, 2), 0)]
    assert f.mass_at_infinity == to.Bounds(0.75, 0.75)
    equal = to.from_masses([F(1, 4)] * 4, [F(1, 2), F(1, 6), F(1, 6), F(1, 6)])
    assert equal.vertices[1] == (F(1, 4), F(1, 2))
    assert to.from_masses([1], [1]).vertices == [(0, 1), (1, 0)]
    assert to.from_masses([1, 0], [0, 1]).vertices == [(0, 0)]
    assert to.from_masses([0.5, 0.5], [0.5, 0.5]).sup_loss == 0
    tiny = to.from_masses([5e-324, 1.0], [1.0, 5e-324])
    assert tiny.sup_loss == pytest.approx(744.44, rel=1e-4)
    assert 0 < tiny(0.0) == 1


def test_from_masses_without_common_denominator_raises():
    primes = [k for k in range(2, 13_000) if all(k % d for d in range(2, int(k**0.5) + 1))]
    p = [F(1, k * 2000) for k in primes]
    p.append(1 - sum(p[:5]) - sum(map(float, p[5:])))
    with pytest.raises(SizeError, match="common denominator"):
        to.from_masses(p, p)


@pytest.mark.slow
def test_assumptions_are_inherited():
    f = to.from_masses([F(1, 4), F(3, 4)], [F(3, 4), F(1, 4)]).assuming("the moon is round.")
    stated = ("the moon is round.",)
    both, sampled = f @ to.Gaussian(1), to.subsample(f, 0.3).symmetrise(assume="either-order")
    made = (
        *(f, ~f, f**3, both, f.group(2), f.floats(), f.floats().rational(), f.lower, both.upper, sampled),
        *(to.subsample(f, F(1, 3)), to.subsample(f, 0.1), to.mixture({f: 0.5, to.Gaussian(1): 0.5})),
        *(to.minimum(f, to.PureDP(0.1)), to.maximum(f, to.Gaussian(9)), both.tabulate([0.1, 0.5]).lower),
    )
    for curve in made:
        assert curve.assumptions == stated, curve
        assert "(assumes 1 thing: see .assumptions)" in repr(curve)
        with pytest.raises(NoClosedForm, match="moon"):
            to.certify(curve, "delta", 0.5)
    budget = filters.GDPFilter(9.0)
    budget.spend(f)
    budget.spend(to.Gaussian(1))
    again = filters.Filter.from_state(json.loads(json.dumps(budget.state())))
    result = [f.gdp().curve, budget.guarantee(), again.guarantee(), to.limits.clt(f**40).trusted()]
    for curve in (*result, to.limits.berry_esseen(f**40).guarantee(), ~result[0], result[0] @ to.Laplace(1)):
        assert curve.assumptions == stated, curve
    plain = to.Gaussian(f.gdp().mu) @ to.TotalVariation(f.gdp().failure)
    assert (result[0](0.1), result[0].epsilon(1e-3)) == (plain(0.1), plain.epsilon(1e-3))
    three, again = result[0] @ to.Laplace(1), plain @ to.Laplace(1)
    assert three.delta(0.5) == pytest.approx(again.delta(0.5), abs=1e-9)
    assert to.Gaussian(1).assumptions == () == (to.Laplace(1) ** 3).assumptions
    twice = f.assuming("the earth is too.") @ f
    assert twice.assumptions == (*stated, "the earth is too.")
    assert "assumes: the moon" in str(to.compare(f, {}))


@pytest.mark.parametrize("half", [0.5, F(1, 2)])
def test_polygon_with_vertical_fall_raises(half):
    with pytest.raises(CurveError, match="not convex at vertex 1"):
        to.PiecewiseLinear([0, half, half, 1], [1, half, half / 2, 0])
    # at 0 it is the certain probability, and a vertex given twice is no fall
    assert to.PiecewiseLinear([0, 0, 1], [1, half, 0]) == to.PiecewiseLinear([0, 1], [half, 0])
    assert to.PiecewiseLinear([0, half, half, 1], [1, half / 2, half / 2, 0]).beta[1] == half / 2


@pytest.mark.parametrize("exact", [True, False])
@settings(max_examples=40, deadline=None)
@given(curve=exact_curves, deltas=some.lists(some.floats(1e-9, 1 - 1e-9), min_size=1))
def test_arrays_of_answers_contain_exact_ones(exact, curve, deltas):
    """Also next to the losses of segments, where the vertex that decides changes."""
    f = curve if exact else curve.floats()
    corners = f.vertices
    slopes = [(b - d) / (c - a) for (a, b), (c, d) in pairwise(corners)]
    near = [math.log(s) for s in slopes if s > 0]
    losses = np.array([*near, *np.nextafter(near, 9.0), *np.nextafter(near, -9.0), -3.0, 0.0, 0.7])
    deltas += [d for d in (float(1 - b - s * a) for s, (a, b) in zip(slopes, corners, strict=False)) if d < 1]
    levels = np.array([d for d in deltas if d > f.mass_at_infinity.upper])
    with mpmath.workdps(60):
        of = lambda x: mpmath.mpf(x.numerator) / x.denominator  # noqa: E731 - as short as a formula
        for x, low, high in zip(losses, *f.bounds.delta(losses), strict=True):
            assert low <= max(1 - of(b) - mpmath.exp(x) * of(a) for a, b in corners) <= high
        for level, low, high in zip(levels, *f.bounds.epsilon(levels), strict=True):
            rest = [(1 - of(b) - mpmath.mpf(level), of(a)) for a, b in corners if a > 0]
            assert low <= max(mpmath.log(d / a) if d > 0 else -mpmath.inf for d, a in rest) <= high
            assert high - low <= 1e-9 or 1 - level < 1e-6


def test_from_epsilon_delta_accepts_all_forms():
    table = {0.5: 0.01, 1.0: 1e-5}
    f = to.Profile.from_epsilon_delta(table)
    for form in (list(table.items()), iter(table.items())):
        assert to.Profile.from_epsilon_delta(form) == f
    assert f == to.Profile.from_epsilon_delta(table.get, epsilons=[1.0, 0.5])


def test_from_epsilon_delta_of_function_is_safe():
    g = to.Gaussian(0.8)
    f = to.Profile.from_epsilon_delta(g.delta, epsilons=np.linspace(0, 3, 121))
    losses, alphas = np.array([0.0, 0.1, 1.0, 2.0, 2.9]), np.array([1e-9, 1e-3, 0.1, 0.5, 0.9])
    assert np.all(f.delta(losses) >= g.bounds.delta(losses).lower)
    assert np.all(f.delta(losses) <= 1.002 * g.delta(losses))
    assert np.all(f(alphas) <= g.bounds(alphas).upper)
    assert to.Profile.from_epsilon_delta(lambda _: 0.0) == to.Identity()
