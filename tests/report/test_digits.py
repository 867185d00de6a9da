from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradeoff.display import exactly, rounded


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 17))
def test_printed_bounds_enclose(value, digits):
    low, high = (Fraction(rounded(value, side, digits)) for side in ("lower", "upper"))
    assert low <= Fraction(value) <= high
    assert high - low <= abs(Fraction(value)) * Fraction(10) ** (1 - digits) * 10


@given(st.floats(allow_nan=False))
def test_what_was_asked_reads_back(value):
    assert float(exactly(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (0.0, "0"),
        (0.5, "0.5"),
        (2**-20, "9.5367431640625e-07"),
    ],
)
def test_forms(value, text):
    assert rounded(value, "upper", 17) == text
