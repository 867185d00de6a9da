"""What every band with a proof must do: hold the exact curve."""

import numpy as np

ALPHA = np.array([0.0, 1e-6, 0.001, 0.01, 0.05, 0.3, 0.7, 0.95, 1.0])
EPSILON = np.array([-5.0, -0.5, 0.0, 0.5, 1.0, 3.0])


def contains(band, curve):
    exact, result = curve.bounds(ALPHA), band.bounds(ALPHA)
    assert np.all(result.lower <= exact.upper)
    assert np.all(result.upper >= exact.lower)
    exact, result = curve.bounds.delta(EPSILON), band.delta(EPSILON)
    assert np.all(result.lower <= exact.upper)
    assert np.all(result.upper >= exact.lower)
    return True
