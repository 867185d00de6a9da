"""mu of curves that give next to nothing away: bounds on delta are wider than the cells between nodes."""

import mpmath
import pytest

from tradeoff import PureDP, subsample

LEAST = [5e-324, 1e-323, 2e-323, 1e-320, 1e-300, 1e-17, 1e-13, 1e-8]


@pytest.mark.parametrize("failure", [0.0, 1e-320, 1e-18, 1e-14, 1e-3])
@pytest.mark.parametrize("epsilon", LEAST)
def test_mu_is_never_below_that_of_the_corner(epsilon: float, failure: float) -> None:
    """(1 - d) G_mu(a/(1 - d)) = a = 1/(1 + e^eps); mu < 1e-5 is sqrt(2 pi) (1 - 2 a/(1 - d)) to 1e-11."""
    with mpmath.workdps(400):
        level = 1 / (1 + mpmath.exp(epsilon)) / (1 - mpmath.mpf(failure))
        true = max(mpmath.sqrt(2 * mpmath.pi) * (1 - 2 * level), mpmath.mpf(0))
        b = PureDP(epsilon).gdp(failure=failure).bounds
        assert b.lower <= true * (1 + mpmath.mpf("1e-11"))
        assert b.upper >= true
    assert b.upper <= float(true) + 1e-14


@pytest.mark.parametrize(
    ("epsilon", "rounds"), [(1e-16, 5), (1e-17, 1000), (1e-15, 2), (1e-320, 7), (1e-13, 3)]
)
def test_mu_of_powers_is_never_below_that_of_their_total_variation(epsilon: float, rounds: int) -> None:
    """delta_{G_mu}(0) = 2 Phi(mu/2) - 1 <= mu/sqrt(2 pi) must reach that of two binomial laws."""
    with mpmath.workdps(400):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        masses = [
            mpmath.binomial(rounds, k) * (p**k * (1 - p) ** (rounds - k) - (1 - p) ** k * p ** (rounds - k))
            for k in range(rounds + 1)
        ]
        least = mpmath.sqrt(2 * mpmath.pi) * sum(mass for mass in masses if mass > 0)
        assert (PureDP(epsilon) ** rounds).gdp(failure=0.0).bounds.upper >= least


@pytest.mark.parametrize("failure", [0.0, pytest.param(1e-300, marks=pytest.mark.slow), 1e-10, 0.5])
def test_a_rate_that_is_the_least_float(failure: float) -> None:
    result = subsample(PureDP(1.0), 5e-324).gdp(failure=failure)
    assert result.bounds.lower == 0
    assert result.bounds.upper < 1e-14
    assert (result.bounds.upper > 0) == (failure == 0)
