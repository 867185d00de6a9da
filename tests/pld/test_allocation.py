"""One of many steps: contour integrals against balls and published numbers; two lattices on both sides."""

import math

import numpy as np
import pytest

from tests.truth.claims import overlap
from tradeoff.families.discrete import AllocatedCurve
from tradeoff.pld.allocated_laws import allocated_laws
from tradeoff.pld.allocation import bound_epsilon, hockey_stick


@pytest.mark.parametrize(
    ("mu", "steps", "epsilon", "truth", "digits"),
    [
        # In balls: E ((R + S)/2 - e^eps)_+ over S in closed form, over R by quadrature.
        (2.0, 2, 0.5, 0.50209809037681945433, 1e-15),
        *((1.0, 2, 1.0, 0.059206501085892653, 1e-15), (1.0, 2, 4.0, 2.5779989668992702e-6, 1e-15)),
        *((0.5, 2, 0.0, 0.14402832476240599, 1e-15), (1.0, 2, 7.0, 3.762690112486746715e-14, 1e-15)),
        # In balls of 200 bits: the contour integral of E (K - Y)_+ on two lines, transforms as plain sums.
        *((1.0, 10**4, -0.1, 0.09516258196404043621, 1e-11), (0.7, 10**7, 0.00176, 4.5009456033e-17, 1e-11)),
        *((1.0, 1000, 0.3, 8.464514863127775e-9, 1e-11), (1.0, 100, 1.0, 3.015774481403911771e-7, 1e-11)),
        (0.5, 100, 0.25, 2.3198896325031296e-8, 1e-11),
        # The put, which is the other order at -eps, over the strike.
        (1.0, 10**4, 0.1, -4.81370819265474326e-18, 1e-11),
        *((1.0, 1000, -0.3, -0.25918178558894897, 1e-11), (1.0, 100, -1.0, -0.6321206697727007702, 1e-11)),
        (0.5, 100, -0.25, -0.22119923499591376, 1e-11),
        # Published.
        *((1.0, 2, 1.0, 0.0592065011, 1e-9), (1.0, 100, 0.62137, 9.9524202e-6, 1e-8)),
        (1.0, 100, 0.0, 0.05141635457461, 1e-12),
    ],
)
def test_hockey_stick_contains_truth(mu, steps, epsilon, truth, digits):
    """The truth has a sign: negative ones are of the other order."""
    low, high = hockey_stick(mu, steps, epsilon, reverse=truth < 0)
    assert low * (1 - digits) <= abs(truth) <= high * (1 + digits)
    assert high - low <= 1e-9 * high


@pytest.mark.parametrize("steps", [2, 3, 100, pytest.param(10**7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mu", [0.01, 1.0, 3.0])
def test_orders_agree_at_zero_and_profiles_are_convex(steps, mu):
    curve = AllocatedCurve(mu, steps)
    total = curve.bounds.delta(0.0)
    assert overlap(total, (~curve).bounds.delta(0.0))
    assert total.width <= 2e-8 * total.upper
    spread = math.sqrt(math.log1p(math.expm1(mu * mu) / steps))
    strikes = np.exp(spread * np.array([0.0, 0.5, 1.0]))
    for order in (curve, ~curve):
        bounds = order.bounds.delta(np.log(strikes))
        share = (strikes[1] - strikes[0]) / (strikes[2] - strikes[0])
        assert bounds.lower[1] <= bounds.upper[0] * (1 - share) + bounds.upper[2] * share


@pytest.mark.parametrize("epsilon", [-1e4, -700.0, 60.0, 700.0, 1e4])
@pytest.mark.parametrize(
    ("mu", "steps"), [(1e-9, 5), (1.0, 2), (11.0, 100), pytest.param(20.0, 1000, marks=pytest.mark.slow)]
)
def test_hockey_stick_at_the_ends_of_the_range(epsilon, mu, steps):
    for reverse in (False, True):
        low, high = hockey_stick(mu, steps, epsilon, reverse=reverse)
        least = max(-math.expm1(epsilon), 0.0) if epsilon < 0 else 0.0
        assert least * (1 - 1e-12) <= low <= high <= 1


def sticks_of(law, ratios):
    return [
        float(np.sum(np.exp(law.log_p) * np.maximum(np.exp(law.loss) - ratio, 0))) + law.mass_at_plus_infinity
        for ratio in ratios
    ]


@pytest.mark.parametrize(
    ("mu", "steps", "width"),
    [(1.0, 2, 1e-3), (0.5, 33, 1e-4), pytest.param(2.0, 100, 1e-2, marks=pytest.mark.slow)],
)
def test_laws_hold_the_hockey_sticks_between_them(mu, steps, width):
    losses = np.array([-0.3, 0.0, 0.1, 0.5, 1.0])
    above, below = (sticks_of(law, np.exp(losses)) for law in allocated_laws(mu, steps))
    for k, loss in enumerate(losses):
        low, high = hockey_stick(mu, steps, float(loss), reverse=False)
        assert below[k] <= high * (1 + 1e-9)
        assert low <= above[k] * (1 + 1e-9)
        assert above[k] - below[k] <= width * above[k] or above[k] < 1e-6


@pytest.mark.parametrize(
    ("mu", "count", "epsilon", "truth", "width"),
    [
        *((1.0, 2, 0.0, 0.4118648260932964435, 1e-4), (1.0, 2, 1.0, 0.1621205712695399295, 1e-4)),
        *((1.0, 2, 3.0, 0.005551378715680085553, 1e-3), (1 / 3, 13, 1.723, 0.01613993239166405267, 1e-4)),
    ],
)
def test_product_of_one_of_two_contains_truth(mu, count, epsilon, truth, width):
    # To 50 digits: for L = mu u/sqrt(2) - mu^2/2 + log cosh(mu v/sqrt(2)), E e^(zL) is an integral over v.
    bounds = (AllocatedCurve(mu, 2) ** count).bounds.delta(epsilon)
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.width <= width * bounds.upper


@pytest.mark.parametrize(("mu", "steps", "delta"), [(1.6, 840, 5e-8), (0.5, 10**6, 1e-8), (1.0, 2, 0.3)])
def test_bound_epsilon_inverts_delta(mu, steps, delta):
    low, high = bound_epsilon(mu, steps, delta)
    assert hockey_stick(mu, steps, high, reverse=False)[1] <= delta
    assert hockey_stick(mu, steps, low, reverse=False)[0] > delta
    assert high - low <= 1e-9
    assert AllocatedCurve(mu, steps).bounds.epsilon(delta).upper == high


def test_beta_agrees_with_its_tangents():
    curve = AllocatedCurve(1.0, 100)
    for order in (curve, ~curve):
        bounds = order.bounds(0.1)
        assert bounds.width < 1e-8
        for epsilon in (0.0, 0.1, 0.2):
            assert bounds.upper >= 1 - order.bounds.delta(epsilon).upper - math.exp(epsilon) * 0.1 - 1e-12
    assert (~~curve) == curve
