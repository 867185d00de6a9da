"""Exact polygons: hulls, corners and envelopes against fractions."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from tradeoff.intervals import polygon


class TestPolygons:
    def test_lower_hull_keeps_vertices(self):
        x, y = (
            np.array([*map(Fraction, side)], dtype=object)
            for side in ((0, 1, 1, 2, 3, 4), (4, 3, 2, 1, 1, 0))
        )
        assert [list(side) for side in polygon.lower_hull(x, y)] == [[0, 1, 2, 4], [4, 2, 1, 0]]

    @pytest.mark.parametrize("up", [False, True])
    def test_corners_round_to_one_side(self, up):
        lines = [(3, 1, 1), (1, 3, 1), (4, 4, 1), (3, 1, 0)]
        exact = [(0, 1), (Fraction(1, 4), Fraction(1, 4)), (1, 0)]
        result = polygon.corners(lines, up=up)
        assert [(Fraction(a, polygon.ONE), Fraction(b, polygon.ONE)) for a, b in result] == exact
        third = polygon.round_points([(polygon.ONE // 3, polygon.ONE // 3)], up=up)[0][0]
        assert (third > polygon.ONE // 3) == up
        assert abs(third - polygon.ONE // 3) <= polygon.ONE >> 53

    @pytest.mark.parametrize(
        ("n", "d"), [(1, 3), (1, 10**20), (10**20 - 1, 10**20), (2, 3), (1, 2), (1, 10**330)]
    )
    def test_coordinates_contain_truth(self, n, d):
        low, high = (
            Fraction(polygon.round_points([(n * polygon.ONE // d, 0)], up=up)[0][0], polygon.ONE)
            for up in (False, True)
        )
        assert low <= Fraction(n * polygon.ONE // d, polygon.ONE) <= high
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
