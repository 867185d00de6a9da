"""Mixtures: weights, and epsilon as a root of the mean profile."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
import sympy

import tradeoff as to
from tradeoff.errors import KindError, SymbolError


def test_mixture_requires_mapping_of_numbers() -> None:
    with pytest.raises(KindError, match="mapping"):
        to.mixture([(to.Gaussian(1.0), 1.0)])
    with pytest.raises(SymbolError):
        to.mixture({to.Gaussian(1.0): sympy.Symbol("w")})


def test_mixture_normalises_weights() -> None:
    f = to.mixture({to.PureDP(1.0): 0.5 - 4e-13, to.PureDP(2.0): 0.5 - 4e-13})
    assert f.delta(-800.0) == 1


def test_epsilon_of_products_reaches_tolerance():
    f, g = to.subsample(to.Gaussian(1), 0.01) ** 1000, to.subsample(to.Gaussian(0.8), 0.02) ** 500
    both = to.mixture({f: 0.25, g: 0.75})
    low, high = both.bounds.epsilon(1e-5, tol=1e-8)
    assert high - low <= 1e-8
    assert 0.25 * f.bounds.delta(high).lower + 0.75 * g.bounds.delta(high).lower <= 1e-5
    assert 0.25 * f.bounds.delta(low).upper + 0.75 * g.bounds.delta(low).upper >= 1e-5 * (1 - 1e-15)


@pytest.mark.parametrize("rest", [2.0**-10, 2.0**-30, 2.0**-50])
def test_beta_near_one_keeps_digits(rest):
    """The mean of randomised responses ends in the line through (1, 0) of its flattest slope, e^-1."""
    f = to.mixture({to.PureDP(1.0): 0.5, to.PureDP(0.5): 0.5})
    low, high = f.bounds(1 - rest)
    truth = mpmath.exp(-1) * rest
    assert low <= truth <= high
    assert high - low <= 1e-6 * truth


def test_shares_that_round_alike_are_ordered() -> None:
    """Of weights that add to 1 within 1e-12 floats of the shares are the same, the shares are not."""
    one = {to.Gaussian(1): 0.3144644841707095, to.Identity(): 0.6855355158292907}
    two = {to.Gaussian(1): 0.31446448417070944, to.Identity(): 0.6855355158292906}
    first, second = (Fraction(w[to.Gaussian(1)]) / sum(map(Fraction, w.values())) for w in (one, two))
    f, g = to.mixture(one), to.mixture(two)
    assert first > second
    assert float(first) == float(second)
    assert f != g
    assert f.shares == (first, 1 - first)
    assert g >= f
    with pytest.raises(to.errors.Undecided):  # the shares differ by less than a unit of a float
        assert f >= g


def test_epsilon_is_root_of_profile():
    f = to.mixture({to.subsample(to.Gaussian(1), 0.01) ** 1000: 0.3, to.Laplace(0.1) ** 100: 0.7})
    low, high = f.bounds.epsilon(1e-5)
    assert high - low <= 1e-5
    assert f.bounds.delta(low).upper >= 1e-5 >= f.bounds.delta(high).lower
