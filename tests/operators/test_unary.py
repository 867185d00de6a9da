"""Groups: limits, exact vertices, compositions."""

from fractions import Fraction
from functools import reduce

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import vertices


@given(vertices(most=3), st.integers(1, 7), st.floats(0.0, 1.0))
def test_group_of_float_polygon_holds_exact_one(points, k, alpha):
    f = to.PiecewiseLinear(*points)
    near = to.maximum(f, f.inverse()).floats()  # of other vertices, where floats do not hold them
    result, exact = near.group(k).bounds(alpha), near.rational()
    power = reduce(lambda power, _: 1 - exact.at(power), range(k), Fraction(alpha))
    assert result.lower <= 1 - power == exact.group(k).at(Fraction(alpha)) <= result.upper


def test_group_of_many_vertices_is_bounded_by_lines(monkeypatch):
    """It called itself until Python gave up."""
    f = to.Gaussian(0.2).tabulate(np.linspace(0.02, 0.98, 30)).lower.symmetrise(assume="both-orders")
    monkeypatch.setattr("tradeoff.operators.unary._MAX_VERTICES", len(f.alpha))
    g = f.group(3)
    lower, upper = g.tabulate()
    for alpha in (1e-6, 0.05, 0.5):
        known = g.bounds(alpha)
        assert lower(alpha) <= known.upper
        assert known.lower <= upper.bounds(alpha).upper <= (1 + 1e-3) * lower(alpha)
        assert lower(alpha) <= to.Gaussian(0.6).bounds(alpha).upper
