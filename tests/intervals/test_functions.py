"""Functions of bounds, on ends that differ, on fractions and on infinities; roots and polygons."""

import itertools
import math
import random
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.balls import ball
from tradeoff import balls
from tradeoff.intervals import functions, polygon, roots
from tradeoff.intervals.bounds import Bounds

MOST = float(np.finfo(float).max)
ENDS = [Bounds(-2.0, 1.0), Bounds(0.5, 3.0), Bounds(-5.0, -4.0), Bounds(0.0, 0.0)]
HUGE = Fraction(10) ** 400


@pytest.mark.parametrize(("x", "y"), list(itertools.product(ENDS, ENDS)))
def test_minimum_maximum_and_meet(x, y):
    assert functions.minimum(x, y) == Bounds(min(x.lower, y.lower), min(x.upper, y.upper))
    assert functions.maximum(x, y) == Bounds(max(x.lower, y.lower), max(x.upper, y.upper))
    assert functions.meet(x, y) == Bounds(max(x.lower, y.lower), min(x.upper, y.upper))
    chosen = functions.where(np.array([True, False]), x, y)
    assert (chosen.lower.tolist(), chosen.upper.tolist()) == ([x.lower, y.lower], [x.upper, y.upper])
    assert functions.clip(x, -1.0, 2.0) == Bounds(*(min(max(side, -1.0), 2.0) for side in x))


THIRD = Fraction(1, 3)


@pytest.mark.parametrize(
    "x",
    [THIRD, -THIRD, Fraction(1, 4), 1 + Fraction(1, 10**30), 1 / HUGE, -1 / HUGE, HUGE, -HUGE, 2**53 + 1, 7],
)
def test_rational_returns_neighbouring_floats(x):
    low, high = functions.rational(x)
    assert low == -inf or Fraction(low) <= x
    assert high == inf or x <= Fraction(high)
    assert high == (low if low == x else math.nextafter(low, inf))


@pytest.mark.parametrize(
    "ratio", [1 + 1 / HUGE, 1 - Fraction(1, 10**9), *(Fraction(k, 2) for k in (1, 3, 5, 16)), HUGE, 1 / HUGE]
)
@pytest.mark.parametrize("p", [Fraction(1, 3), HUGE, Fraction(5)])
def test_log_quotient_contains_truth(ratio, p):
    result = balls.to_bounds(balls.log_quotient(ratio * p, p))
    with ctx.workprec(3000):
        truth = ball(ratio).log()
        assert arb(result.lower) <= truth <= arb(result.upper)
    assert result.width <= 64 * 2.0**-53 * abs(float(truth.mid())) + 1e-323


def test_total_of_overflowing_numbers():
    one = Bounds(1.0, 1.0)
    assert functions.total([Bounds(inf, inf), one]) == Bounds(inf, inf)
    assert functions.total([Bounds(-inf, inf), one]) == Bounds(-inf, inf)
    assert functions.total([Bounds(-inf, -inf), Bounds(inf, inf)]) == Bounds(-inf, inf)
    assert functions.total([MOST, MOST, -MOST]) == Bounds(MOST, MOST)
    assert functions.total([MOST, MOST]) == Bounds(MOST, inf)
    assert functions.total([-MOST, -MOST, 1.0]) == Bounds(-inf, -MOST)
    assert functions.total([1.0, 2.0**-60]) == Bounds(1.0, 1 + 2.0**-52)
    assert functions.total([1.0, -(2.0**-60)]) == Bounds(1 - 2.0**-53, 1.0)
    assert functions.total([0.5, Bounds(0.25, 1.0)]) == Bounds(0.75, 1.5)


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (functions.exp, (-inf, (0.0, 0.0)), (inf, (inf, inf))),
        (functions.expm1, (-inf, (-1.0, -1.0)), (inf, (inf, inf))),
        (functions.log, (-3.0, (-inf, -inf)), (inf, (inf, inf))),
        (functions.log1p, (-3.0, (-inf, -inf)), (inf, (inf, inf))),
        (functions.sqrt, (-3.0, (0.0, 0.0)), (inf, (inf, inf))),
        (functions.exp, (-1e4, (0.0, 5e-324)), (1e4, (MOST, inf))),
        (functions.expm1, (-1e4, (-1.0, math.nextafter(-1.0, 0) + 8 * 2.0**-53)), (1e4, (MOST, inf))),
        *(
            (f, (0.0, (0.0, 0.0)), (0.0, (0.0, 0.0)))
            for f in (functions.expm1, functions.log1p, functions.sqrt)
        ),
        *((f, (1.0, (y, y)), (1.0, (y, y))) for f, y in ((functions.sqrt, 1.0), (functions.log, 0.0))),
        (functions.exp, (0.0, (1.0, 1.0)), (0.0, (1.0, 1.0))),
    ],
)
def test_functions_at_domain_ends_and_fixed_points(function, low, high):
    for at, (least, most) in (low, high):
        for result in (function(Bounds(at, at)), function(Bounds(np.array([at]), np.array([at])))):
            assert least == np.ravel(result.lower)[0]
            assert np.ravel(result.upper)[0] <= most


@given(st.integers(1, 40), st.integers(0, 10**6))
def test_sum_rows_encloses_exact_sum_closely(columns, seed):
    draws = np.random.default_rng(seed)
    x = draws.normal(size=(3, columns)) * 10.0 ** draws.integers(-20, 20, size=(3, columns))
    result = functions.sum_rows(Bounds.of(x))
    for row, low, high in zip(x, result.lower, result.upper, strict=True):
        exact, size = sum(map(Fraction, row.tolist())), sum(map(Fraction, np.abs(row).tolist()))
        assert Fraction(low) <= exact <= Fraction(high)
        assert Fraction(high) - Fraction(low) <= size * Fraction(1, 2**48)


class TestRoots:
    def test_bracket_root_returns_neighbours(self):
        level = np.array([0.3, 1e-9, -2.0, 1e5, 1e30])
        above, at_most = roots.bracket_root(lambda x: -(x**3), level)
        assert (-(above[:4] ** 3) > level[:4]).all()
        assert (-(at_most**3) <= level).all()
        assert (np.nextafter(above[:4], np.inf) == at_most[:4]).all()

    def test_bracket_root_without_crossing_returns_infinities(self):
        above, at_most = roots.bracket_root(np.zeros_like, np.array([1.0, -1.0]), farthest=1e3)
        assert (above[0], at_most[1]) == (-np.inf, np.inf)
        above, at_most = roots.bracket_root(lambda x: -np.sign(x - 5e3), np.array([0.5, -2.0]), farthest=1e3)
        assert 1e3 < above[0] < 5e3
        assert (at_most[0], above[1]) == (np.inf, above[0])

    def test_bracket_sides_of_band(self):
        sides = lambda t: (1 - t - 0.1, 1 - t + 0.1)  # noqa: E731 - a band
        low, high = roots.bracket_sides(sides, np.array([0.5]))
        assert (low[0], high[0]) == pytest.approx((0.4, 0.6))
        low, high = roots.bound_inverse(sides, np.array([0.5, 1.2]))
        assert (low.tolist(), high.tolist()) == (pytest.approx([0.4, 0.0]), pytest.approx([0.6, 0.0]))

    def test_largest_is_next_to_the_end(self):
        assert roots.largest(lambda x: x <= 0.7, 0.0, 1.0) == pytest.approx(0.7)


class TestPolygons:
    @pytest.mark.parametrize("up", [False, True])
    def test_corners_round_to_one_side(self, up):
        lines = [(3, 1, 1), (1, 3, 1), (4, 4, 1), (3, 1, 0)]
        exact = [(0, 1), (Fraction(1, 4), Fraction(1, 4)), (1, 0)]
        result = polygon.round_corners(polygon.envelope(lines), up=up)
        assert [(Fraction(a, polygon.ONE), Fraction(b, polygon.ONE)) for a, b in result] == exact
        third = polygon.round_corners([(1, 1, 3)], up=up)[0][0]
        assert (third > polygon.ONE // 3) == up
        assert abs(third - polygon.ONE // 3) <= polygon.ONE >> 53

    @pytest.mark.parametrize(
        ("n", "d"), [(1, 3), (1, 10**20), (10**20 - 1, 10**20), (2, 3), (1, 2), (1, 10**330)]
    )
    def test_coordinates_contain_truth(self, n, d):
        low, high = (
            Fraction(polygon.round_corners([(n, 0, d)], up=up)[0][0], polygon.ONE) for up in (False, True)
        )
        assert low <= Fraction(n, d) <= high
        near = min(Fraction(n, d), 1 - Fraction(n, d))
        assert high - low <= (
            Fraction(1, 2**53) if near > Fraction(1, 1024) else near / 2**52 + Fraction(1, polygon.ONE)
        )
        assert all(Fraction(float(x)) == x or Fraction(float(1 - x)) == 1 - x for x in (low, high))

    def test_envelope_is_greatest_line(self):
        draw = random.Random(5)
        for _ in range(200):
            # Few numbers, so that many lines are parallel or meet in one point.
            lines = [(draw.randint(0, 3), draw.randint(1, 3), draw.randint(0, 6)) for _ in range(6)]
            walls = [(draw.randint(1, 3), 0, draw.randint(0, 4)) for _ in range(2)]
            at = [(Fraction(x, d), Fraction(y, d)) for x, y, d in polygon.envelope([*lines, *walls])]

            def height(x, lines=lines):
                return max(Fraction(0), *((c - a * x) / b for a, b, c in lines))

            assert at[0][0] == max(Fraction(0), *(Fraction(c, a) for a, _, c in walls))
            assert at == sorted(at)
            for (x, y), (u, v) in itertools.pairwise([*at, at[-1]]):
                assert (height(x), height((x + u) / 2)) == (y, (y + v) / 2)
            assert height(at[-1][0] + 1) == height(at[-1][0])
