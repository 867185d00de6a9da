"""Functions of bounds, on ends that differ, on fractions of any size and on infinities."""

import itertools
import math
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.balls import ball
from tradeoff import balls
from tradeoff.intervals import functions
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


@pytest.mark.parametrize(
    "x", [Fraction(1, 3), Fraction(-1, 3), Fraction(1, 4), 1 + Fraction(1, 10**30), 1 / HUGE, -1 / HUGE]
)
def test_rational_returns_neighbouring_floats(x):
    low, high = functions.rational(x)
    assert Fraction(low) <= x <= Fraction(high)
    assert high == (low if Fraction(low) == x else math.nextafter(low, inf))


def test_rational_of_overflowing_numbers():
    assert functions.rational(HUGE) == Bounds(MOST, inf)
    assert functions.rational(-HUGE) == Bounds(-inf, -MOST)
    assert functions.whole(2**53 + 1) == Bounds(2.0**53, 2.0**53 + 2)
    assert functions.whole(7) == Bounds(7.0, 7.0)


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
    ],
)
def test_functions_at_domain_ends(function, low, high):
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


@pytest.mark.parametrize("function", [functions.exp, functions.sqrt, functions.log])
def test_functions_at_fixed_points_are_exact(function):
    at = 0.0 if function is functions.exp else 1.0
    value = float(function(at).lower)
    assert function(Bounds(at, at)) == Bounds(value, value)
    assert value == {functions.exp: 1.0, functions.sqrt: 1.0, functions.log: 0.0}[function]
    assert functions.sqrt(0.0) == Bounds(0.0, 0.0)
    assert functions.sqrt(2.0).lower < functions.sqrt(2.0).upper
    assert functions.expm1(0.0) == functions.log1p(0.0) == Bounds(0.0, 0.0)
