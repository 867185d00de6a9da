import math

import mpmath as mp
import numpy as np
import pytest

from tradeoff.accounting.conjugation import conjugate

POINTS = np.append(0.0, np.exp(np.arange(-4.0, 45.0, 4.0)))


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-12, 1e-24])
@pytest.mark.parametrize("k", [1e-3, 0.1, 1.0, 5.0, 20.0])
def test_conjugate_with_supremum_near_0_contains_truth(scale, k):
    """g = e^(-x/c): with s = e^-k/c it is 1 - e^-k (1 + k), at x = c k."""

    def fall(x):
        g = np.exp(-x / scale)
        return g * (1 - 1e-15), g * (1 + 1e-15)

    (low,), (high,) = conjugate(fall, np.array([math.exp(-k) / scale]), POINTS)
    truth = -math.expm1(-k) - k * math.exp(-k)
    assert low <= truth + 1e-15
    assert truth - 1e-15 <= high
    assert high - low <= 1e-8 * truth + 1e-14


@pytest.mark.parametrize("s", [5e-324, 1e-300, 1e-150, 1e-20, 0.3, 1 - 1e-9, 1 - 2**-50])
@pytest.mark.parametrize("seed", range(8))
def test_conjugate_with_rounded_points_contains_truth(s, seed):
    """delta = 1/(1 + x) is that of f = (1 - sqrt(alpha))^2, answered at any x as near as logarithms are."""
    draw = np.random.default_rng(seed)

    def above_the_corner(x):
        off = 9 * 2.0**-53 * (1 + np.abs(np.log(np.where(x > 0, x, 1.0))))
        x = x * (1 + off * draw.choice([-1.0, 0.0, 1.0], x.shape))
        g = np.where(x < 1, x * np.minimum(x, 1.0), 1.0) / (1 + x)
        return g * (1 - 1e-15), g * (1 + 1e-15)

    around = (
        (1 / math.sqrt(s) - 1) * np.exp(np.linspace(-0.1, 0.1, 5))
        if s < 0.9
        else (1 - s) / 2 * np.arange(0.8, 1.3, 0.1)
    )
    (low,), (high,) = conjugate(above_the_corner, np.array([s]), [np.append(0.0, around)], limit=0.0)
    with mp.workdps(400):
        truth = (1 - mp.sqrt(mp.mpf(s))) ** 2
    assert low <= truth <= high
    assert high - low <= 1e-9 * high + 1e-14


def test_conjugate_beyond_last_point_contains_truth():
    def above_the_corner(x):
        g = np.maximum(1 - x / 4e305, 0.0) - np.maximum(1 - x, 0.0)
        return g, g

    points = [np.array([0.0, 1e304, 1e305])]
    (low,), (high,) = conjugate(above_the_corner, np.array([1e-306]), points, limit=0.0)
    assert low <= 0.6 <= high  # the value at 4e305


def test_conjugate_keeps_the_last_of_close_points():
    points = np.array([0.0, 0.5, 1 - 1e-12, 1 - 1e-13, 1.0])
    (low,), (high,) = conjugate(lambda x: (1 - x, 1 - x), np.array([0.25]), points)
    assert low <= 0.75 <= high
