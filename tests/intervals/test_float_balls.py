"""Balls in floats contain the results of their numbers, also where a midpoint underflows."""

from fractions import Fraction

import numpy as np
import pytest

from tradeoff.intervals.float_balls import FloatBalls, exp


@pytest.mark.parametrize(("a", "b", "share"), [(1e-200, 1e125, 2.0**-30), (-1.5e-323, 1.0, 2.0**-20)])
def test_a_quotient_that_underflows_by_an_unsure_divisor(a, b, share):
    radius = b * (1 - share)
    low, high = (FloatBalls(a) / FloatBalls(b, radius)).ends()
    truth = Fraction(a) / (Fraction(b) - Fraction(radius))
    assert Fraction(float(low)) <= truth <= Fraction(float(high))


def test_an_exponential_that_underflows_at_an_unsure_place():
    low, high = exp(FloatBalls(np.array([-800.0]), np.array([100.0]))).ends()
    assert low[0] <= 0
    assert high[0] >= np.exp(-700.0)
