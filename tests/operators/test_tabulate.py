"""Whole curves against truth in 50 digits, interpolated exactly: no tolerance on the side that must hold."""

from bisect import bisect_right
from fractions import Fraction
from functools import cache
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.golden.oracle import exact, laplace_power_delta
from tests.strategies import (
    alphas,
    curves,
    exact_curves,
    factors,
    float_curves,
    gaussians,
    laplaces,
    log_uniform,
    pure_dps,
    subsampled,
)
from tests.truth.atoms import PureDP, TotalVariation
from tests.truth.balls import ball
from tests.truth.built import built
from tests.truth.claims import check, overlap
from tests.truth.continuous import Gaussian, Laplace
from tests.truth.operators import Product, Subsampled
from tradeoff.curves.piecewise_linear import segments
from tradeoff.operators.tabulate import Nodes, chords, polygon_below

TAILS = [Fraction(1, 10**k) for k in range(20, 0, -1)] + [Fraction(3, 10), Fraction(1, 2)]


closed = st.one_of(gaussians, laplaces, pure_dps, subsampled)
few = settings(max_examples=max(4, settings.default.max_examples // 3))


@cache
def vertices(curve):
    """The vertices as fractions: of each coordinate and its complement the smaller is the number meant."""
    pairs = (
        zip(curve.alpha, curve.complements[0], strict=True),
        zip(curve.beta, curve.complements[1], strict=True),
    )
    return tuple([Fraction(x) if x <= rest else 1 - Fraction(rest) for x, rest in column] for column in pairs)


def value(curve, alpha):
    """The curve at a fraction, by exact interpolation."""
    x, y = vertices(curve)
    if alpha >= x[-1]:
        return Fraction(0)
    k = bisect_right(x, alpha) - 1
    return y[k] + (y[k + 1] - y[k]) * (alpha - x[k]) / (x[k + 1] - x[k])


def profile(curve, epsilon):
    with mp.workdps(350):
        s = mp.exp(mp.mpf(epsilon))
        return max(exact(1 - b) - s * exact(a) for a, b in zip(*vertices(curve), strict=True))


SMOOTH = [
    *map(Gaussian, (0.01, 1.0, 4.0)),
    Product(((Gaussian(1e-3), 10**6),)),
    *map(Laplace, (0.25, 3.0)),
    PureDP(1.0),
    Subsampled(Gaussian(1.0), 0.01),
    Subsampled(Gaussian(2.0), 0.25),
]
CLOSED = [*SMOOTH, Gaussian(10.0), PureDP(40.0), *map(TotalVariation, (1e-20, 0.3, 0.0))]


@pytest.mark.parametrize("spec", CLOSED)
def test_tabulate_holds_truth_in_both_tails(spec):
    curve = built(spec)
    for alpha in [*TAILS, *(1 - t for t in TAILS)]:
        low, high = value(curve.lower, alpha), value(curve.upper, alpha)
        truth = spec.beta(alpha)
        assert not ball(low) > truth
        assert not ball(high) < truth
        assert truth.rel_accuracy_bits() > 70
        assert spec not in SMOOTH or high - low <= Fraction(1, 1000) * min(high, 1 - alpha - low)


@pytest.mark.parametrize(("e0", "n"), [(0.1, 10), pytest.param(0.5, 30, marks=pytest.mark.slow)])
def test_tabulate_of_product_holds_residues(e0, n):
    f = to.Laplace(e0) ** n
    for epsilon in np.linspace(0, 0.6 * n * e0, 7).tolist():
        truth = laplace_power_delta(epsilon, e0, n)
        assert profile(f.upper, epsilon) <= truth <= profile(f.lower, epsilon)
        assert profile(f.lower, epsilon) - profile(f.upper, epsilon) <= 0.02 * truth


class TestAnyCurve:
    @few
    @given(curves, st.floats(-6, 12))
    def test_the_profile_lies_between_in_both_orders(self, f, epsilon):
        lower, upper = f.tabulate()
        for one, below, above in ((f, lower, upper), (~f, ~lower, ~upper)):
            truth = one.bounds.delta(epsilon)
            assert below.bounds.delta(epsilon).upper >= truth.lower
            assert above.bounds.delta(epsilon).lower <= truth.upper

    @pytest.mark.slow
    @few
    @given(curves)
    def test_lower_is_below_upper_and_both_are_convex(self, f):
        lower, upper = f.tabulate()
        x, y = vertices(upper)
        assert all(value(lower, a) <= b for a, b in list(zip(x, y, strict=True))[:: 1 + len(x) // 20])
        for curve in (lower, upper):
            whole = [(int(a * 2**1074), int(b * 2**1074)) for a, b in zip(*vertices(curve), strict=True)]
            steps = [(a1 - a0, b0 - b1) for (a0, b0), (a1, b1) in pairwise(whole)]
            assert all(fall * after > drop * run for (run, fall), (after, drop) in pairwise(steps))
            assert whole[0][0] == whole[-1][1] == 0
            assert all(a + b <= 2**1074 for a, b in whole)


class TestQuestionsToASide:
    """A side is a curve of its own: its bounds hold its vertices, in the digits that floats lose too."""

    @given(float_curves, alphas, st.floats(-30, 30))
    def test_vertices_given_in_floats(self, f, alpha, epsilon):
        assert f.lower is f.upper is f
        for at in (alpha, *f.alpha.tolist()):
            check(f.bounds(at), value(f, Fraction(at)))
        check(f.bounds.delta(epsilon), profile(f, epsilon))

    @pytest.mark.slow
    @given(closed, alphas, st.floats(-30, 30), st.booleans(), st.booleans())
    def test_answers_and_masses(self, f, alpha, epsilon, below, inverted):
        side = f.lower if below else f.upper
        check(side.bounds(alpha), value(side, Fraction(alpha)), 1e-12, 1e-14 * (alpha < 0.5))
        assert side.symmetric == f.symmetric
        side = ~side if inverted else side
        check(side.bounds.delta(epsilon), profile(side, epsilon))
        for masses, vertex in zip(side.atoms(), vertices(side), strict=True):
            steps = [abs(b - a) for a, b in pairwise(vertex)]
            assert all(abs(Fraction(m) / step - 1) < 1e-15 for m, step in zip(masses, steps, strict=False))


class TestExtremes:
    @pytest.mark.parametrize(
        "curve",
        [
            *(pytest.param(to.Gaussian(40), marks=pytest.mark.slow), to.Gaussian(1e4), to.PureDP(1000)),
            *(to.Gaussian(1e-13), to.TotalVariation(1e-300)),
        ],
        ids=repr,
    )
    def test_extreme_parameters_stay_on_their_sides(self, curve):
        for alpha in (0.0, 1e-300, 1e-20, 0.5, 1 - 1e-16, 1.0):
            bounds = curve.bounds(alpha)
            assert curve.lower(alpha) <= bounds.upper
            assert curve.upper.bounds(alpha).upper >= bounds.lower


class TestNodes:
    def test_given_nodes_are_vertices_of_the_upper_side(self):
        nodes = [1e-9, 0.01, 0.2, 0.7]
        lower, upper = to.Gaussian(1).tabulate(nodes)
        assert set(nodes) <= set(upper.alpha.tolist())
        assert len(upper.alpha) == len(nodes) + 2
        for alpha in np.geomspace(1e-12, 1, 40).tolist():
            check(to.Bounds(lower(alpha), upper.bounds(alpha).upper), Gaussian(1.0).beta(alpha))

    @few
    @given(
        factors, st.lists(st.one_of(st.sampled_from([0.0, 1.0]), log_uniform(1e-20, 1.0)), max_size=6), alphas
    )
    def test_any_nodes_are_valid(self, f, nodes, alpha):
        lower, upper = f.tabulate(nodes) if nodes else f.tabulate()
        assert lower.bounds(alpha).lower <= f.bounds(alpha).upper
        assert upper.bounds(alpha).upper >= f.bounds(alpha).lower


@given(st.one_of(exact_curves, float_curves))
def test_segments_are_lines_through_both_vertices(f):
    """Coordinates of floats are multiples of 2^-1074, of which the smaller of x and 1 - x is exact."""
    for (a, b, c), ends in zip(segments(f), pairwise(f.vertices), strict=True):
        assert all(a >= 0 < b and a * x + b * y == c for x, y in ends)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "width"), [(2, 5e-4), (3, 1.1e-3), (4, 3e-3)])
def test_nested_maxima_stay_narrow(k, width):
    """Each is a polygon times Laplace noise, and the maximum of that and a Gaussian."""
    f = to.Gaussian(0.5)
    for _ in range(k):
        product = f @ to.Laplace(0.3)
        f = to.maximum(product, to.Gaussian(1.0))
    low, high = f.bounds.epsilon(1e-5)
    assert low <= high <= low + width
    assert overlap(product.bounds.delta(low), product.bounds.delta(low, method="contour"))


class TestInTheAlgebra:
    def test_a_side_is_subsampled_and_a_factor(self):
        f, g = to.Gaussian(1), to.Laplace(0.5)
        below, above, truth = (to.subsample(each, 0.01) for each in (f.lower, f.upper, f))
        for epsilon in (0.0, 0.01, 0.5, 2.0):
            low, high = above.bounds.delta(epsilon).lower, below.delta(epsilon)
            assert overlap(to.Bounds(low, high), truth.bounds.delta(epsilon))
            assert high <= 1.01 * low
        low, high = (f.upper @ g).bounds.epsilon(1e-6).lower, (f.lower @ g).epsilon(1e-6)
        assert overlap(to.Bounds(low, high), (f @ g).bounds.epsilon(1e-6))
        assert high - low < 0.01

    def test_masses_at_infinity_survive(self):
        f = to.TotalVariation(1e-20) @ to.PureDP(1)
        assert f.lower.mass_at_plus_infinity == pytest.approx(1e-20, rel=1e-13)
        assert f.lower.mass_at_minus_infinity == pytest.approx(1e-20, rel=1e-13)
        assert f.lower.loss_distribution().mass_at_plus_infinity == f.lower.mass_at_plus_infinity
        assert f.lower.delta(2.0) == pytest.approx(1e-20, rel=1e-13)
        assert (f.lower**1000).delta(2000.0) == pytest.approx(1e-17, rel=1e-9)

    def test_vertices_closer_to_one_than_floats(self):
        f = to.Gaussian(1).lower
        assert np.sum(f.alpha == 1) > 10
        assert np.all(np.diff(f.complements[0][f.alpha > 0.5]) < 0)
        assert ~~f == f
        assert (~f).delta(12.0) == pytest.approx(f.delta(12.0), rel=1e-12)
        p, q = f.atoms()
        assert np.all(p > 0)
        assert np.all(q > 0)
        assert np.all(np.diff(q / p) < 0)


# Chords lie above a profile and polygons below it, everywhere in every cell.
@pytest.mark.parametrize("spec", [Gaussian(1.0), Gaussian(0.01), Laplace(3.0)])
@pytest.mark.parametrize("step", [1e-12, 1e-6, 0.1, 2.0])
def test_polygon_below_and_chords_enclose_profile(spec, step):
    grid = np.unique(np.concatenate([[0.0], step * np.random.default_rng(1).random(12)]))
    nodes = Nodes.of(built(spec), grid)
    t, low = polygon_below(nodes)
    high = chords(nodes, nodes.upper, t)
    for k, (start, stop) in enumerate(pairwise(map(arb, grid.tolist()))):
        ends = [arb(0), arb(float(t.lower[1, k])), (stop - start).expm1()]
        for (a, b), j in zip(pairwise(ends), (0, 1), strict=True):
            for share in (arb(0), arb(1) / 3, arb(1)):
                truth = spec.stick(start.exp() * (1 + a + share * (b - a)))
                below, above = (arb(y[j, k]) + share * (arb(y[j + 1, k]) - arb(y[j, k])) for y in (low, high))
                assert not below > truth
                assert not above < truth
