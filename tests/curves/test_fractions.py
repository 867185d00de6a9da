"""Fractions in, fractions out: what is rational is answered exactly, and floats stay floats."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
import sympy

import tradeoff as to
from tradeoff.errors import DomainError

F = Fraction

alpha = sympy.Symbol("alpha", positive=True)
RESPONSE = to.from_masses([F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)])
LEAK = to.TotalVariation(F(1, 3))


@pytest.mark.parametrize(
    ("f", "at", "value"),
    [
        (to.Symbolic((1 - sympy.sqrt(alpha)) ** 2, alpha), F(1, 25), F(16, 25)),
        (RESPONSE, F(1, 7), F(4, 7)),
        (RESPONSE, F(1, 2), F(1, 6)),
        (RESPONSE @ RESPONSE, F(1, 32), F(23, 32)),
        (~RESPONSE, 1 - F(1, 10**30), F(1, 3 * 10**30)),
        (to.Identity(), F(1, 3), F(2, 3)),
        (LEAK, F(1, 7), F(11, 21)),
        (LEAK @ LEAK, F(1, 9), F(1, 3)),
        (RESPONSE @ LEAK, F(1, 7), F(5, 21)),
        (to.TotalVariation(0.25), F(1, 3), F(5, 12)),
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
    [(RESPONSE, F(1, 2)), (to.Identity(), F(0)), (LEAK, F(1, 3)), (RESPONSE @ LEAK, F(2, 3))],
    ids=repr,
)
def test_distances(f, value):
    assert f.delta(F(0)) == value
    assert type(f.delta(F(0))) is F
    assert type(f.delta(0)) is float


def test_what_is_irrational_is_bounded():
    formula = to.Symbolic((1 - sympy.sqrt(alpha)) ** 2, alpha)
    for answer in (
        formula(F(1, 3)),
        RESPONSE.delta(F(1)),
        to.Gaussian(1)(F(1, 3)),
        (RESPONSE**2).floats()(F(1, 3)),
    ):
        assert type(answer) is float
    assert to.PureDP(1)(F(1, 25)) == to.PureDP(1)(0.04)
    with pytest.raises(to.errors.DomainError):
        RESPONSE(F(-1, 3))


def test_arithmetic_on_exact_answers_rounds_outward():
    third = RESPONSE.bounds(F(1, 9))
    assert (third.lower, third.upper) == (F(2, 3), F(2, 3))
    for found, truth in (
        (third + 0.0, F(2, 3)),
        (third * 3, F(2)),
        (1 - third, F(1, 3)),
        (third / third, F(1)),
    ):
        assert F(found.lower) <= truth <= F(found.upper)
        assert np.nextafter(np.nextafter(found.lower, 9), 9) >= found.upper - 1e-15


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1, 1.0, np.int64(1), 1 + 1e-9, 3.5])
def test_a_hockey_stick_in_floats_is_no_less_than_the_truth(ratio):
    """Next to f(0) = 1 floats hold what a height is less than 1, and a height itself would be 1."""
    f = to.subsample(to.Gaussian(1), 1e-20).lower
    truth = max(1 - y - F(float(ratio)) * x for x, y in f.vertices)
    found = f.hockey_stick(ratio)
    assert type(found) is float
    assert truth <= F(found) <= truth * (1 + F(1, 2**52))
    assert to.PiecewiseLinear([0, 0.3, 1], [1, 0.2, 0]).hockey_stick(1) >= 1 - F(0.3) - F(0.2)


def test_a_hockey_stick_keeps_fractions_beside_the_integers_of_numpy():
    assert (RESPONSE**20).hockey_stick(np.int64(1)) == (RESPONSE**20).hockey_stick(1)
    assert type(RESPONSE.hockey_stick(np.int64(1))) is F
    assert type(RESPONSE.hockey_stick(1.0)) is float


NEXT_TO_NOTHING = F(1, 10**400)


@pytest.mark.parametrize(
    "make",
    [
        lambda: to.TotalVariation(1 + F(1, 10**30)),
        lambda: to.TotalVariation(-NEXT_TO_NOTHING),
        lambda: to.PureDP(-NEXT_TO_NOTHING),
        lambda: to.subsample(RESPONSE, 1 + F(1, 10**30)),
        lambda: to.subsample(to.Gaussian(1), -NEXT_TO_NOTHING),
        lambda: to.from_masses([-NEXT_TO_NOTHING, 1], [F(1, 2), F(1, 2)]),
        lambda: to.from_masses([-NEXT_TO_NOTHING, 1 + NEXT_TO_NOTHING], [F(1, 2), F(1, 2)]),
        lambda: RESPONSE.hockey_stick(-NEXT_TO_NOTHING),
    ],
)
def test_fractions_that_round_into_a_range_are_refused(make):
    with pytest.raises(DomainError, match=r"is outside \[0, "):
        make()


def test_fractions_that_round_to_an_open_end_are_refused():
    with pytest.raises(DomainError, match=r"is outside \(0, "):
        to.mechanisms.Gaussian(NEXT_TO_NOTHING)


@pytest.mark.parametrize("given", [F(1, 3), F(2, 3), F(7, 10), NEXT_TO_NOTHING, 5 + NEXT_TO_NOTHING])
def test_no_loss_of_a_fraction_is_understated(given):
    assert to.PureDP(given).epsilon(0) >= given
    assert to.Laplace(given).epsilon(0) >= given
    assert F(to.PureDP(given).epsilon_0) >= given > F(math.nextafter(to.PureDP(given).epsilon_0, 0))
    assert F(to.Gaussian(given).mu) >= given
    if given < 1:
        assert F(to.subsample(to.Gaussian(1), given).p) >= given
    assert to.subsample(to.approximate_dp(1, 1), NEXT_TO_NOTHING).mass_at_infinity.upper > 0


@pytest.mark.parametrize("given", [F(0), F(1, 4), F(3), 3, np.int64(3), np.int64(2**63 - 1)])
def test_a_fraction_that_is_a_float_is_kept(given):
    assert to.PureDP(given) == to.PureDP(float(given))
    assert to.Laplace(given) == to.Laplace(float(given))
    assert to.Gaussian(given) == to.Gaussian(float(given))
    if given <= 1:
        assert to.subsample(to.Gaussian(1), given) == to.subsample(to.Gaussian(1), float(given))


def test_fractions_next_to_the_ends_of_ranges():
    assert to.subsample(to.Gaussian(1), 1 - F(1, 10**30)) == to.Gaussian(1)
    assert to.subsample(to.Gaussian(1), F(0)) == to.Identity()
    with pytest.raises(DomainError, match="a float holds"):
        to.PureDP(F(10**400, 3))
    with pytest.raises(DomainError, match="outside"):
        to.Laplace(F(sys.float_info.max) + 1)
