"""Losses that rise by thousands of nats within a panel of the quadrature."""

import mpmath
import pytest
import scipy.stats as st

from tradeoff import LocationShift

PLACES = [(10, 1.0), (30, 0.5), (60, 1.0), (60, 1.5)]
"""Powers and shifts: slopes of L turn by e^3 along a panel, and one float further L may rise by 10^5."""


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 50.0, 300.0, 740.0, 1500.0, 4000.0])
@pytest.mark.parametrize(("power", "theta"), PLACES)
def test_delta_of_generalised_normal_shift_holds_truth(power, theta, epsilon):
    b = LocationShift(st.gennorm(power), theta).bounds.delta(epsilon)
    with mpmath.workdps(60):
        at = _where(power, mpmath.mpf(theta), mpmath.mpf(epsilon))
        truth = _above(power, at - theta) - mpmath.exp(epsilon) * _above(power, at)
    assert b.lower <= truth <= b.upper
    assert b.upper - b.lower <= (1e-6 if epsilon < 690 else 0.25) * truth + 1e-300


def _where(power, theta, epsilon):
    """Return x with |x|^power - |x - theta|^power = epsilon."""
    low, high = theta / 2, mpmath.mpf(4)
    for _ in range(220):
        middle = (low + high) / 2
        rises = abs(middle) ** power - abs(middle - theta) ** power < epsilon
        low, high = (middle, high) if rises else (low, middle)
    return high


def _above(power, x):
    """Return the mass above x of the law of density proportional to exp -|x|^power."""
    tail = mpmath.gammainc(mpmath.mpf(1) / power, abs(x) ** power, regularized=True) / 2
    return tail if x > 0 else 1 - tail
