"""Fractions in, fractions out: what is rational is answered exactly, and floats stay floats."""

from fractions import Fraction

import numpy as np
import pytest

import tradeoff as to

F = Fraction

RESPONSE = to.from_masses([F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)])
LEAK = to.TotalVariation(F(1, 3))


@pytest.mark.parametrize(
    ("f", "at", "value"),
    [
        (RESPONSE, F(1, 7), F(4, 7)),
        (RESPONSE, F(1, 2), F(1, 6)),
        (RESPONSE @ RESPONSE, F(1, 32), F(23, 32)),
        (~RESPONSE, 1 - F(1, 10**30), F(1, 3 * 10**30)),
        (to.subsample(RESPONSE, F(1, 2)), F(1, 7), F(5, 7)),
    ],
    ids=repr,
)
def test_values(f, at, value):
    assert f(at) == value
    assert type(f(at)) is F
    assert (f.bounds(at).lower, f.bounds(at).upper) == (value, value)
    assert f.bounds(at).width == 0
    assert type(f(float(at))) is float
    assert f([at]).dtype == float


@pytest.mark.parametrize(
    ("f", "value"),
    [(RESPONSE, F(1, 2)), (RESPONSE @ RESPONSE, F(1, 2))],
    ids=repr,
)
def test_distances(f, value):
    assert f.delta(F(0)) == value
    assert type(f.delta(F(0))) is F
    assert type(f.delta(0)) is float


def test_arithmetic_on_exact_answers_rounds_outward():
    third = RESPONSE.bounds(F(1, 9))
    assert (third.lower, third.upper) == (F(2, 3), F(2, 3))
    for result, truth in (
        (third + 0.0, F(2, 3)),
        (third * 3, F(2)),
        (1 - third, F(1, 3)),
        (third / third, F(1)),
    ):
        assert F(result.lower) <= truth <= F(result.upper)
        assert np.nextafter(np.nextafter(result.lower, 9), 9) >= result.upper - 1e-15


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1, 1.0, np.int64(1), 1 + 1e-9, 3.5])
def test_a_hockey_stick_in_floats_is_no_less_than_the_truth(ratio):
    """Next to f(0) = 1 floats hold what a height is less than 1, and a height itself would be 1."""
    f = to.subsample(to.Gaussian(1), 1e-20).lower
    truth = max(1 - y - F(float(ratio)) * x for x, y in f.vertices)
    result = f.hockey_stick(ratio)
    assert type(result) is float
    assert truth <= F(result) <= truth * (1 + F(1, 2**52))
    assert to.PiecewiseLinear([0, 0.3, 1], [1, 0.2, 0]).hockey_stick(1) >= 1 - F(0.3) - F(0.2)
