"""One of many steps: contour integrals against brute force and against balls; two lattices on both sides."""

import math

import numpy as np
import pytest
from flint import acb, arb, ctx

from tests.truth.claims import overlap
from tradeoff.families.discrete import AllocatedCurve
from tradeoff.pld.allocated_laws import allocated_laws
from tradeoff.pld.allocation import bound_epsilon, hockey_stick


def delta_of_two(mu, epsilon):
    """Return E ((R + S)/2 - e^eps)_+: over S in closed form, over R by quadrature.

    Below 2 e^eps the strike left to S is positive; the last 1e-25 below, where a logarithm diverges, is less.
    """
    strike, mu, root = 2 * arb(epsilon).exp(), arb(mu), arb(2).sqrt()

    def gain(z, _):
        r = (mu * z - mu**2 / 2).exp()
        d = ((strike - r).log() + mu**2 / 2) / mu
        call = [(at / root).erfc() / 2 for at in (d - mu, d)]
        return (-z * z / 2).exp() * (call[0] - (strike - r) * call[1])

    def rest(z, _):
        return (-z * z / 2).exp() * ((mu * z - mu**2 / 2).exp() + 1 - strike)

    edge = (strike.log() + mu**2 / 2) / mu
    total = acb.integral(gain, edge - 60, edge - arb("1e-25"), rel_tol=arb("1e-20"))
    return (total + acb.integral(rest, edge, edge + 20)).real / 2 / (2 * arb.pi()).sqrt()


def put_in_balls(mu, steps, epsilon, c, h, nodes):
    """Return E (K - Y)_+ in 200-bit balls on the line Re z = c, transforms as plain sums along the real line.

    Only roundings are in the radius: ``c``, ``h`` and ``nodes`` are checked by other ones.
    """
    ctx.prec = 200
    mu, strike = arb(mu), arb(epsilon).exp()
    x = [arb(j) / 32 for j in range(-14 * 32, 14 * 32 + 1)]
    weight = [(-v * v / 2).exp() / 32 / (2 * arb.pi()).sqrt() for v in x]
    less = [(mu * v - mu * mu / 2).expm1() for v in x]
    total = arb(0)
    for j in range(nodes):
        z = acb(c, arb(h) * j)
        mean = sum(((w * (-z * s / steps).exp()) for w, s in zip(weight, less, strict=True)), acb(0))
        term = ((z * (strike - 1)).exp() * mean**steps / z**2).real
        total += term / 2 if j == 0 else term
    return total * h / arb.pi(), strike


SLOW_PAIRS = [pytest.param(mu, epsilon, marks=pytest.mark.slow) for mu, epsilon in ((0.5, 0.0), (1.0, 7.0))]


@pytest.mark.parametrize(("mu", "epsilon"), [(2.0, 0.5), (1.0, 1.0), (1.0, 4.0), *SLOW_PAIRS])
def test_hockey_stick_of_two_steps_agrees_with_quadrature(mu, epsilon):
    low, high = hockey_stick(mu, 2, epsilon, reverse=False)
    truth = delta_of_two(mu, epsilon)
    assert low <= truth * (1 + 1e-15)
    assert truth <= high * (1 + 1e-15)
    assert high - low <= 1e-9 * high


@pytest.mark.parametrize(
    ("mu", "steps", "epsilon", "lines"),
    [
        (1.0, 10**4, -0.1, [(1000, 50.0, 60), (800, 40.0, 80)]),  # the put of a K far above the period
        pytest.param(1.0, 1000, 0.3, [(40, 4.0, 90), (50, 4.5, 90)], marks=pytest.mark.slow),
        pytest.param(1.0, 100, 1.0, [(6, 0.6, 400), (8, 0.7, 400)], marks=pytest.mark.slow),
        pytest.param(0.5, 100, 0.25, [(40, 4.0, 100), (50, 4.5, 100)], marks=pytest.mark.slow),
    ],
)
def test_hockey_sticks_agree_with_balls(mu, steps, epsilon, lines):
    (put, strike), (other, _) = (put_in_balls(mu, steps, epsilon, *line) for line in lines)
    call, again = put + 1 - strike, other + 1 - strike
    assert abs(float((call - again) / call)) < 1e-12
    for truth, loss, reverse in ((call, epsilon, False), (put / strike, -epsilon, True)):
        low, high = hockey_stick(mu, steps, loss, reverse=reverse)
        assert low <= truth * (1 + arb(10) ** -11)
        assert truth <= high * (1 + arb(10) ** -11)
        assert high - low <= 1e-9 * high


@pytest.mark.parametrize(
    ("steps", "epsilon", "truth", "digits"),
    [(2, 1.0, 0.0592065011, 1e-9), (100, 0.62137, 9.9524202e-6, 1e-8), (100, 0.0, 0.05141635457461, 1e-12)],
)
def test_hockey_stick_agrees_with_published_digits(steps, epsilon, truth, digits):
    low, high = hockey_stick(1.0, steps, epsilon, reverse=False)
    assert low * (1 - digits) <= truth <= high * (1 + digits)
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


@pytest.mark.parametrize("epsilon", [-1e4, -700.0, 700.0, 1e4])
@pytest.mark.parametrize(
    ("mu", "steps"), [(1e-9, 5), (1.0, 2), pytest.param(20.0, 1000, marks=pytest.mark.slow)]
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
    [(1.0, 2, 1e-3), (0.5, 33, 1e-2), pytest.param(2.0, 100, 1e-2, marks=pytest.mark.slow)],
)
def test_laws_hold_the_hockey_sticks_between_them(mu, steps, width):
    losses = np.array([-0.3, 0.0, 0.1, 0.5, 1.0])
    above, below = (sticks_of(law, np.exp(losses)) for law in allocated_laws(mu, steps))
    for k, loss in enumerate(losses):
        low, high = hockey_stick(mu, steps, float(loss), reverse=False)
        assert below[k] <= high * (1 + 1e-9)
        assert low <= above[k] * (1 + 1e-9)
        assert above[k] - below[k] <= width * above[k] or above[k] < 1e-6


def test_product_of_two_agrees_with_simulation():
    # Losses of two allocations to two steps, the record present, within five standard deviations.
    draws, rng = 400_000, np.random.default_rng(3)
    z = rng.standard_normal((draws, 2, 2))
    z[:, :, 0] += 1
    loss = np.log(np.mean(np.exp(z - 0.5), axis=2)).sum(axis=1)
    product = AllocatedCurve(1.0, 2) ** 2
    for epsilon in (0.0, 1.0, 3.0):
        gain = np.maximum(-np.expm1(epsilon - loss), 0)
        off = 5 * float(np.std(gain)) / math.sqrt(draws)
        bounds = product.bounds.delta(epsilon)
        assert bounds.lower - off <= float(np.mean(gain)) <= bounds.upper + off
        assert bounds.width <= 2e-3 * bounds.upper


@pytest.mark.parametrize(("mu", "steps", "delta"), [(1.0, 100, 1e-5), (0.5, 10**6, 1e-8), (1.0, 2, 0.3)])
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
