"""Masses at infinity that no normal float holds: products of them lose more than units of themselves."""

import math
from fractions import Fraction

import pytest

from tradeoff import PiecewiseLinear, PureDP, TotalVariation, mixture, subsample

RATES = [1e-16, 3e-24, 1e-30, 0.3]
MASSES = [1e-300, 1e-310, 5e-324]
ROUNDS = [1, 2, 3, 1000]


def _union(mass: Fraction, n: int) -> tuple[Fraction, Fraction]:
    """Enclose 1 - (1 - mass)^n."""
    return n * mass - n * n * mass * mass / 2, n * mass


@pytest.mark.parametrize("n", ROUNDS)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("mass", MASSES)
def test_answers_of_sampled_subnormal_leak_hold_truth(mass: float, rate: float, n: int) -> None:
    f = subsample(TotalVariation(mass), rate) ** n
    low, high = _union(Fraction(mass) * Fraction(rate), n)
    for epsilon in (0.0, 1.0, 5.0, 1e300):
        b = f.bounds.delta(epsilon)
        assert b.lower <= high
        assert b.upper >= low
    for delta in (0.0, 1e-323, 1e-315, 1e-300):
        b = f.bounds.epsilon(delta)
        assert b.upper == math.inf if delta < low else b.lower <= 0 or delta <= high
    b = f.bounds(0.0)
    assert b.lower <= 1 - low
    assert b.upper >= 1 - high


@pytest.mark.parametrize("n", ROUNDS)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("mass", MASSES)
def test_answers_of_mixed_subnormal_leak_hold_truth(mass: float, rate: float, n: int) -> None:
    f = mixture({TotalVariation(mass): rate, PureDP(1e-9): 1 - rate}) ** n
    low, high = _union(Fraction(mass) * Fraction(rate), n)
    for epsilon in (1.0, 5.0, 1e300):
        b = f.bounds.delta(epsilon)
        assert b.lower <= high
        assert b.upper >= low
    assert f.bounds.epsilon(0.0).upper == math.inf


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("digits", [310, 323, 330, 400])
def test_answers_of_polygon_with_subnormal_leak_hold_truth(digits: int, n: int) -> None:
    """The fraction 10^-k is no float, or none but 0."""
    leak = Fraction(1, 10**digits)
    f = PiecewiseLinear([0, Fraction(1, 2), 1], [1 - leak, (1 - leak) / 2, 0])
    low, high = _union(leak, n)
    for curve in (f**n, f**n @ PureDP(1e-9)):
        for epsilon in (1.0, 5.0, 1e300):
            b = curve.bounds.delta(epsilon)
            assert b.lower <= high
            assert b.upper >= low
        assert curve.bounds.epsilon(0.0).upper == math.inf
