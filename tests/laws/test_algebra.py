"""The laws of the algebra: a commutative monoid with an order and an involution, and its operators.

Two computations of one number are compared through their bounds: intervals that share no point break a law.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.fuzz import relations
from tests.fuzz.draw import Drawer
from tests.strategies import (
    alphas,
    curves,
    drawers,
    epsilons,
    exact_curves,
    factors,
    float_curves,
    in_time,
    log_uniform,
    small_exact_curves,
    subsampled,
    symmetric_families,
)
from tests.truth.atoms import PureDP, TotalVariation
from tests.truth.balls import ball
from tests.truth.claims import check, overlap
from tests.truth.continuous import Gaussian, Laplace
from tests.truth.operators import ReversedPLD, Subsampled

simple = st.one_of(
    *(log_uniform(0.01, 4.0).map(kind) for kind in (Gaussian, Laplace, PureDP)),
    log_uniform(1e-12, 0.5).map(TotalVariation),
)
sampled = st.builds(Subsampled, simple, log_uniform(1e-4, 0.9))
polygons = drawers.map(Drawer.polygon)

few = settings(max_examples=max(4, settings.default.max_examples // 2))
"""For properties whose every example composes on a lattice."""


def meets(one, two):
    """Whether two intervals share a point, up to one rounding of the test's own arithmetic."""
    return overlap(one, two, 4e-16 * max(abs(one.upper), abs(two.upper)))


def same_curve(f, g, epsilon, alpha, *, width=0.02):
    for one, two in ((f.bounds.delta(epsilon), g.bounds.delta(epsilon)), (f.bounds(alpha), g.bounds(alpha))):
        assert 0 <= one.lower <= one.upper <= 1
        assert meets(one, two)
        assert max(one.width, two.width) <= width  # useless bounds would make this test pass


SLOW = {
    *(relations.factors_commute, relations.order_agrees, relations.certificates_verify),
    *(relations.reductions_hold, relations.whole_curves_hold),
}


@pytest.mark.parametrize(
    "relation",
    [pytest.param(each, marks=[pytest.mark.slow] if each in SLOW else []) for each in relations.RELATIONS],
    ids=lambda each: each.__name__,
)
@few
@given(st.one_of(simple, sampled, st.builds(ReversedPLD, sampled), polygons), drawers)
def test_relation_of_the_fuzzer_holds(relation, spec, draw):
    assert not in_time(lambda: list(relation(spec, draw)))


@given(symmetric_families)
def test_symmetric_curves_are_their_envelopes_and_groups_of_one(f):
    assert {f.symmetrise(assume=name) for name in ("either-order", "both-orders", "profile")} == {f}
    assert (f.group(1), f.group(0)) == (f, to.Identity())
    if isinstance(f, to.Gaussian):
        assert Fraction(f.group(3).mu) >= 3 * Fraction(f.mu)


class TestMonoid:
    @pytest.mark.slow
    @few
    @given(factors, factors, factors, epsilons, alphas)
    def test_the_product_is_associative(self, f, g, h, epsilon, alpha):
        same_curve((f @ g) @ h, f @ (g @ h), epsilon, alpha)

    @given(curves)
    def test_the_identity_is_the_unit(self, f):
        assert f @ to.Identity() == to.Identity() @ f == f**1
        assert f**0 == to.Identity()
        # A loss of nothing, or of everything, is a factor of its own until it is multiplied.
        named = (to.Identity(), to.TotalVariation(1))
        assert f**1 == f or (f**1 in named and meets(f.bounds.delta(0.0), (f**1).bounds.delta(0.0)))

    @given(factors, epsilons)
    def test_no_privacy_absorbs(self, f, epsilon):
        assert (f @ to.TotalVariation(1)).delta(epsilon) == 1

    @given(exact_curves, st.floats(0, 0.9), alphas)
    def test_total_variation_scales_the_axes(self, f, d, alpha):
        d = d if d >= 1e-300 else 0.0
        bounds = (f @ to.TotalVariation(d)).bounds(alpha)
        inner = Fraction(alpha) / (1 - Fraction(d))
        check(bounds, ball((1 - Fraction(d)) * f.at(inner) if inner <= 1 else Fraction(0)))
        assert bounds.width < 1e-9


class TestOrder:
    @given(small_exact_curves, small_exact_curves, small_exact_curves, epsilons)
    def test_the_product_is_monotone_on_the_hull(self, f, g, h, epsilon):
        least, most = to.minimum(f, g), to.maximum(f, g)
        assert most >= f >= least
        assert (least @ h).bounds.delta(epsilon).upper >= (f @ h).bounds.delta(epsilon).lower * (1 - 4e-16)
        assert (most @ h).bounds.delta(epsilon).lower <= (f @ h).bounds.delta(epsilon).upper * (1 + 4e-16)

    @few
    @given(curves)
    def test_the_ends_of_the_order(self, f):
        assert f >= f  # noqa: PLR0124 - reflexivity
        assert to.Identity() >= f
        assert f >= to.TotalVariation(1)

    @given(exact_curves, exact_curves)
    def test_the_order_of_fractions_is_decided_exactly(self, f, g):
        corners = [*f.alpha, *g.alpha]
        assert (f >= g) == all(f.at(a) >= g.at(a) for a in corners)
        if f <= g <= f:
            assert f == g

    @few
    @given(factors, log_uniform(1e-9, 0.5))
    def test_failure_is_room(self, f, failure):
        assert f.dominates(f, failure=failure)
        assert f.dominates(f @ to.TotalVariation(failure), failure=0.0)


class TestInverse:
    @pytest.mark.slow
    @few
    @given(factors, factors, epsilons, alphas)
    def test_it_distributes_over_the_product(self, f, g, epsilon, alpha):
        same_curve(~(f @ g), ~f @ ~g, epsilon, alpha)

    @given(exact_curves)
    def test_on_fractions_it_is_exact(self, f):
        assert ~~f == f
        for ratio in (Fraction(1, 3), Fraction(1), Fraction(5)):
            assert (~f).hockey_stick(ratio) == 1 - ratio + ratio * f.hockey_stick(1 / ratio)


class TestDuality:
    @pytest.mark.slow
    @given(curves, epsilons)
    def test_the_dual_leads_back(self, f, epsilon):
        d = f.dual()
        assert d.dual() == f
        assert d(epsilon) == f.delta(epsilon)
        assert d.conjugate(-np.exp(epsilon)) == pytest.approx(f.delta(epsilon) - 1, abs=1e-12)


class TestShape:
    @few
    @given(curves)
    def test_f_is_a_trade_off_function(self, f):
        alpha = np.array([0.0, 1e-9, 1e-4, 0.01, 0.1, 0.25, 0.4, 0.5, 0.75, 0.9, 0.999, 1.0])
        lower, upper = f.bounds(alpha)
        assert np.all((lower >= 0) & (lower <= upper) & (upper <= np.nextafter(1 - alpha, 2)))
        assert np.all(lower[1:] <= upper[:-1] * (1 + 4e-16))  # falls
        chord = lower[2:] * (alpha[1:-1] - alpha[:-2]) + lower[:-2] * (alpha[2:] - alpha[1:-1])
        chord_up = upper[2:] * (alpha[1:-1] - alpha[:-2]) + upper[:-2] * (alpha[2:] - alpha[1:-1])
        assert np.all(lower[1:-1] <= chord_up / (alpha[2:] - alpha[:-2]) + 1e-15)  # convex
        assert np.all(chord >= -1e-15)


class TestSymmetrise:
    @settings(max_examples=max(3, settings.default.max_examples // 8))
    @given(st.one_of(subsampled, float_curves, exact_curves), alphas, epsilons)
    def test_the_three_hypotheses_are_ordered(self, f, alpha, epsilon):
        least, middle, most = (
            f.symmetrise(assume=name) for name in ("either-order", "profile", "both-orders")
        )
        b = [curve.bounds(alpha) for curve in (least, middle, most)]
        mine, other = f.bounds(alpha), (~f).bounds(alpha)
        tiny = 1e-12
        assert b[0].lower <= min(mine.upper, other.upper) + tiny
        assert b[2].upper >= max(mine.lower, other.lower) - tiny
        assert b[0].lower <= b[1].upper + tiny
        assert b[1].lower <= b[2].upper + tiny
        larger = map(max, zip(f.bounds.delta(epsilon), (~f).bounds.delta(epsilon), strict=True))
        assert meets(least.bounds.delta(epsilon), to.Bounds(*larger))
        assert all(curve.symmetric for curve in (least, middle, most))

    def test_symm_differs_from_max_with_inverse(self):
        """Vertices (0, .8), (.4, .3), (1, 0): knowing the profile only does not give the maximum."""
        f = to.PiecewiseLinear([0, 0.4, 1], [0.8, 0.3, 0])
        profile, most = f.symmetrise(assume="profile"), f.symmetrise(assume="both-orders")
        grid = np.array([0.0, 0.1, 0.25, 0.3, 0.4, 0.8, 1.0])
        assert np.all(profile.bounds(grid).lower <= most.bounds(grid).upper + 1e-12)
        for epsilon in (0.0, 0.3, 1.0):
            # Symm(f) has the profile of f: some test reaches delta_f(eps).
            reached = np.max(1 - profile.bounds(grid).lower - np.exp(epsilon) * grid)
            assert reached >= f.bounds.delta(epsilon).lower - 0.02


class TestGroup:
    @given(st.lists(st.lists(st.integers(1, 9), min_size=4, max_size=4), min_size=4, max_size=4))
    def test_it_is_below_every_chain_of_steps_in_one_order(self, weights):
        """The curve of each step is at least f, so that of three steps is at least f.group(3), exactly."""
        laws = [[Fraction(w, sum(row)) for w in row] for row in weights]
        steps = [to.from_masses(p, q) for p, q in pairwise(laws)]
        f = to.minimum(*steps)
        assert to.from_masses(laws[0], laws[3]) >= f.group(3)
        assert to.from_masses(laws[3], laws[0]) >= (~f).group(3)

    @given(st.one_of(exact_curves, exact_curves.map(lambda f: f.floats())), st.integers(1, 4), alphas)
    def test_the_inverse_is_the_group_of_the_inverse(self, f, k, alpha):
        assert meets((~f.group(k)).bounds(alpha), (~f).group(k).bounds(alpha))

    @given(symmetric_families, st.integers(1, 3), st.integers(1, 3), alphas)
    def test_groups_of_groups(self, f, j, k, alpha):
        assert meets(f.group(j).group(k).bounds(alpha), f.group(j * k).bounds(alpha))

    def test_one_order_of_a_sampled_curve_covers_additions(self):
        f = to.subsample(to.Gaussian(1), 0.1)
        low, high = f.group(2).bounds(0.1)
        assert low <= f(1 - f(0.1)) <= high + 1e-15
        assert not f.group(2).symmetric


class TestSubsample:
    @given(factors)
    def test_rates_zero_and_one_give_identity_and_curve(self, f):
        assert to.subsample(f, 0) == to.Identity()
        assert to.subsample(f, 1) == f @ to.Identity()


def slopes(f):
    return [(b - d) / (c - a) for (a, b), (c, d) in pairwise(f.vertices)]


class TestDistance:
    @given(exact_curves, exact_curves)
    def test_distance_of_polygons_is_exact(self, f, g):
        """The truth in fractions: |f - g| at vertices, and |delta_f - delta_g|/(1 + e^eps) at slopes."""
        uniform = max(abs(f.at(a) - g.at(a)) for a, _ in [*f.vertices, *g.vertices])
        ratios = [s for s in [*slopes(f), *slopes(g)] if s > 0]
        levy = max(abs(f.hockey_stick(s) - g.hockey_stick(s)) / (1 + s) for s in ratios)
        for metric, truth in (("uniform", uniform), ("levy", levy)):
            result = f.distance(g, metric=metric)
            assert Fraction(result.lower) <= truth <= Fraction(result.upper)
            assert result.width <= 2.3e-16

    @pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.3, 0.2), (5.0, 1e-6), (1e-9, 0.5)])
    def test_distance_of_pairs_is_exact_to_rounding(self, epsilon, delta):
        """From the identity: 1 - 2 (1 - delta)/(1 + e^eps) at the kink, and half of it along the diagonal."""
        f = to.PureDP(epsilon) @ to.TotalVariation(delta)
        with ctx.workprec(200):
            truth = 1 - 2 * (1 - arb(delta)) / (1 + arb(epsilon).exp())
        for metric, share in (("uniform", 1), ("levy", 2)):
            result = f.distance(to.Identity(), metric=metric)
            assert arb(result.lower) <= truth / share <= arb(result.upper)
            assert result.width <= 1e-14

    @pytest.mark.slow
    @few
    @given(factors, factors, alphas, epsilons)
    def test_it_is_a_distance_that_no_point_exceeds(self, f, g, alpha, epsilon):
        gaps = {"uniform": (f.bounds(alpha), g.bounds(alpha), 1)}
        gaps["levy"] = f.bounds.delta(epsilon), g.bounds.delta(epsilon), 1 + np.exp(epsilon)
        there = {metric: f.distance(g, metric=metric) for metric in gaps}
        for metric, (b, c, scale) in gaps.items():
            gap, none = max(b.lower - c.upper, c.lower - b.upper) / scale, f.distance(f, metric=metric)
            assert meets(there[metric], g.distance(f, metric=metric))
            assert max(0, gap - 1e-15) <= there[metric].upper <= 1
            assert there[metric].lower >= 0
            assert (none.lower, none.upper < 1e-2) == (0, True)
        assert there["levy"].lower <= there["uniform"].upper + 1e-15
