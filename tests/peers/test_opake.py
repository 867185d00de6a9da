"""Numbers of opake 0.16 on its default grid, below the privacy loss.

``poisson_pld(gaussian_pld(0.8), 0.001).self_compose(10**6)`` of ``opake-accounting`` 0.16.0. A finer grid is
worse: beta(0.001) is 0.9999 at intervals of 2e-5.
"""

import pytest

import tradeoff as to
from tests.peers.agreement import holds
from tradeoff import mechanisms as m

PLAN = to.Plan({m.SubsampledGaussian(0.8, 0.001): 10**6}).guarantee()


@pytest.mark.parametrize(
    ("bounds", "reported", "truth"),
    [
        (PLAN.bounds(1e-3), 0.9131647872818863, 0.875275581791748),
        (PLAN.bounds(1e-6), 0.9999291484852216, 0.9975081738592517),
        # epsilon, with its sign turned: too small is unsafe.
        (-PLAN.bounds.epsilon(1e-12), -15.001602969682155, -15.308580873465388),
    ],
)
def test_steps_are_unsafe_in_the_peer(bounds, reported, truth):
    # The truth is that of a contour in 40 digits.
    assert holds(bounds, truth, 1e-14)
    assert bounds.width < 1e-9
    assert bounds.upper < reported - 1e-3
