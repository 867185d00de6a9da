import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tradeoff.errors import DomainError
from tradeoff.filters import discrete_gaussian, discrete_laplace, exact_release
from tradeoff.mechanisms import DiscreteGaussian, DiscreteLaplace

MANY = 2000


def fits(draws, weight):
    """Compare draws with the pmf proportional to ``weight``, small cells merged into the tails."""
    reach = 2000
    mass = np.array([weight(abs(x)) for x in range(-reach, reach + 1)])
    expected = MANY * mass / mass.sum()
    low, high = np.flatnonzero(expected >= 5)[[0, -1]]
    observed = np.bincount(np.clip(np.asarray(draws) + reach, low, high) - low, minlength=high - low + 1)
    expected[low], expected[high] = expected[: low + 1].sum(), expected[high:].sum()
    cells = expected[low : high + 1]
    return stats.chisquare(observed, cells * (MANY / cells.sum())).pvalue > 1e-4


@pytest.mark.parametrize("variance", [Fraction(1, 10), 1, 4, Fraction(50, 3), 0.3])
def test_discrete_gaussian_has_its_law(variance):
    rng = np.random.default_rng(1)
    draws = [discrete_gaussian(variance, rng) for _ in range(MANY)]
    assert fits(draws, lambda x: math.exp(-(x**2) / (2 * float(variance))))


@pytest.mark.parametrize("scale", [Fraction(1, 3), 1, 4, Fraction(7, 2), 0.6])
def test_discrete_laplace_has_its_law(scale):
    rng = np.random.default_rng(2)
    assert fits([discrete_laplace(scale, rng) for _ in range(MANY)], lambda x: math.exp(-x / float(scale)))


def test_exact_release_has_the_law_of_its_mechanism():
    rng = np.random.default_rng(5)
    noisy = [exact_release(1000, DiscreteGaussian(sigma=1.5), rng) - 1000 for _ in range(MANY)]
    assert fits(noisy, lambda x: math.exp(-(x**2) / (2 * 1.5**2)))
    noisy = [exact_release(-3, DiscreteLaplace(scale=2.5), rng) + 3 for _ in range(MANY)]
    assert fits(noisy, lambda x: math.exp(-x / 2.5))
    draws = {exact_release(0, DiscreteGaussian(sigma=1e30)) for _ in range(10)}
    assert len(draws) == 10
    assert abs(exact_release(10**30, DiscreteGaussian(sigma=1), np.random.default_rng(6)) - 10**30) < 100
    for bad in (0, -1, math.nan, math.inf, "x", None, 1j):
        for draw in (discrete_gaussian, discrete_laplace):
            with pytest.raises(DomainError, match=r"must be (in \(0, inf\)|one real number)"):
                draw(bad)
