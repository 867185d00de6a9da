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


@pytest.mark.parametrize("failure", [0.0, 1e-300, 1e-10, 0.5])
def test_a_rate_that_is_the_least_float(failure: float) -> None:
    found = subsample(PureDP(1.0), 5e-324).gdp(failure=failure)
    assert found.bounds.lower == 0
    assert found.bounds.upper < 1e-14
    assert (found.bounds.upper > 0) == (failure == 0)
