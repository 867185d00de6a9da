"""The profile of an envelope is the larger of its orders', where one of them is not asked, too."""

import numpy as np
import pytest

import tradeoff as to

LOSSES = np.array([-3.0, 0.0, 0.7, 1.5, 3.0, 4.5, 6.0, 8.5, 12.0, 17.0, 30.0])


@pytest.mark.parametrize(
    "order",
    [
        to.subsample(to.Gaussian(2), 1e-4) ** 10**5,
        to.subsample(to.Gaussian(1), 0.01) ** 1000,
        to.subsample(to.Laplace(2), 0.1) ** 20,
        to.subsample(to.approximate_dp(1, 1e-6), 0.3) ** 5,
        to.subsample(to.Gaussian(1), 0.5) @ to.Laplace(0.3),
    ],
    ids=repr,
)
def test_the_profile_is_the_larger_one(order):
    envelope = order.symmetrise(assume="either-order")
    found, orders = envelope.bounds.delta(LOSSES), [f.bounds.delta(LOSSES) for f in (order, ~order)]
    assert np.all(found.lower <= np.maximum(*(each.upper for each in orders)))
    assert np.all(np.maximum(*(each.lower for each in orders)) <= found.upper)
    for each, low, high in zip(LOSSES, *found, strict=True):
        assert tuple(envelope.bounds.delta(float(each))) == (low, high)
