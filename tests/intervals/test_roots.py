"""Roots of monotone functions: neighbouring floats on both sides."""

import math

import numpy as np
import pytest

from tradeoff.intervals import roots


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

    def test_bracket_root_beyond_farthest(self):
        above, at_most = roots.bracket_root(lambda x: -np.sign(x - 5e3), np.array([0.5, -2.0]), farthest=1e3)
        assert 1e3 < above[0] < 5e3
        assert (at_most[0], above[1]) == (np.inf, above[0])

    def test_bracket_sides_of_band(self):
        sides = lambda t: (1 - t - 0.1, 1 - t + 0.1)  # noqa: E731 - a band
        low, high = roots.bracket_sides(sides, np.array([0.5]))
        assert (low[0], high[0]) == pytest.approx((0.4, 0.6))
        low, high = roots.bound_inverse(sides, np.array([0.5, 1.2]))
        assert (low.tolist(), high.tolist()) == (pytest.approx([0.4, 0.0]), pytest.approx([0.6, 0.0]))

    def test_largest_and_find_root(self):
        assert roots.largest(lambda x: x <= 0.7, 0.0, 1.0) == pytest.approx(0.7)
        assert roots.find_root(lambda x: x**3 - 2, 0.0, 5.0) == pytest.approx(2 ** (1 / 3), abs=1e-9)
        assert (roots.find_root(lambda x: x - 9, 0.0, 5.0), roots.find_root(lambda x: x + 9, 0.0, 5.0)) == (
            5.0,
            0.0,
        )
        assert roots.find_root(lambda x: math.nan if x > 1 else x - 0.5, 0.0, 5.0) == pytest.approx(
            0.5, abs=1e-9
        )
