"""Sums of rows against exact fractions."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.sums import sum_rows


@given(st.integers(1, 40), st.integers(0, 10**6))
def test_sum_rows_encloses_exact_sum_closely(columns, seed):
    draws = np.random.default_rng(seed)
    x = draws.normal(size=(3, columns)) * 10.0 ** draws.integers(-20, 20, size=(3, columns))
    result = sum_rows(Bounds.of(x))
    for row, low, high in zip(x, result.lower, result.upper, strict=True):
        exact, size = sum(map(Fraction, row.tolist())), sum(map(Fraction, np.abs(row).tolist()))
        assert Fraction(low) <= exact <= Fraction(high)
        assert Fraction(high) - Fraction(low) <= size * Fraction(1, 2**48)


def test_sum_rows_of_one_row_is_a_float():
    assert sum_rows(Bounds.of(np.array([0.5, 0.25, 1.0]))) == Bounds(1.75, 1.75)
