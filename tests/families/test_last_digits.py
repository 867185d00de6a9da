"""The last digits of closed forms and polygons, against balls and fractions.

Kinks, zeros, powers, and what is subnormal.
"""

from __future__ import annotations

import math
from fractions import Fraction as F  # noqa: N817 - vertices are read more easily

import numpy as np
import pytest
from flint import arb, ctx

import tradeoff as to
from tradeoff.errors import CurveError
from tradeoff.intervals.bounds import Bounds
from tradeoff.limits.moments import closed_form


def holds(bounds: Bounds, truth: arb | F) -> bool:
    """Whether both sides are on theirs, whatever the truth's ball leaves open."""
    if isinstance(truth, F):
        return F(bounds.lower) <= truth <= F(bounds.upper)
    return not (truth < arb(bounds.lower) or truth > arb(bounds.upper))


def laplace(epsilon: float, alpha: float) -> arb:
    steps = arb(epsilon).exp() * arb(alpha)
    return 1 - steps if steps < 0.5 else 1 / (4 * steps)


@pytest.mark.parametrize("epsilon", [0.3, 0.5, 1.7, 2.9, 40.0, 690.0])
def test_laplace_near_kink_contains_truth(epsilon):
    kink = float((-arb(epsilon)).exp() / 2)
    for k in range(-8, 9):
        alpha = kink + k * math.ulp(kink)
        assert holds(to.Laplace(epsilon).bounds(alpha), laplace(epsilon, alpha))


def test_laplace_group_of_group_equals_group():
    """9e is no float, nor is 3e, whose triple would be more than 9e if 3e were rounded up before."""
    e = 0.8293828791580945
    f, g, truth = to.Laplace(e).group(3).group(3), to.Laplace(e).group(9), 9 * F(e)
    assert f == g
    assert hash(f) == hash(g)
    assert f >= g
    assert g >= f
    assert F(f.sup_loss_lower) < truth < F(f.sup_loss)
    for curve in (f, g):
        assert holds(curve.bounds.epsilon(0.0), truth)
        for alpha in (1e-12, 5e-4, 0.01, 0.7):
            steps = (arb(9) * arb(e)).exp() * arb(alpha)
            far = (-9 * arb(e)).exp() * (1 - arb(alpha))
            assert holds(
                curve.bounds(alpha), far if alpha > 0.5 else 1 - steps if steps < 0.5 else 1 / (4 * steps)
            )
        assert holds(curve.bounds.delta(0.5), 1 - ((arb(0.5) - 9 * arb(e)) / 2).exp())


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0, 30.0])
@pytest.mark.parametrize(("epsilon", "k"), [(0.1, 3), (0.8293828791580945, 9), (1e-9, 7), (19.3, 11)])
def test_renyi_of_laplace_group_contains_truth(epsilon, k, order):
    with ctx.workprec(400):
        e, a = k * arb(epsilon), arb(order)
        if order == 1:
            truth = e - 1 + (-e).exp()
        else:
            terms = a * ((a - 1) * e).exp() + (a - 1) * (-a * e).exp()
            truth = (terms / (2 * a - 1)).log() / (a - 1)
        result = to.Laplace(epsilon).group(k).renyi_bounds(order)
        assert arb(result.lower) <= truth <= arb(result.upper)
        assert result.upper - result.lower <= 1e-12 * result.upper


@pytest.mark.parametrize(
    "f", [to.Identity(), to.Gaussian(0.0), to.PureDP(0.0), to.Laplace(0.0), to.TotalVariation(0.0)]
)
def test_beta_of_zero_parameter_is_exact(f):
    for alpha in (5e-324, 1e-20, 0.1, 0.25, 0.3, 1 - 2.0**-53):
        assert holds(f.bounds(alpha), 1 - F(alpha))
    assert f(0.25) == 0.75
    for method in ("closed-form", "exact", "lattice", "contour"):
        assert 0.75 in f.bounds(0.25, method=method)
    assert to.Identity().bounds.delta([0.0, 1.0]).upper.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("delta", "n"),
    [(1e-300, 5), (1e-300, 10**12), (1e-112, 100), (1e-20, 10**6), (0.3, 4000), (1e-12, 10**12)],
)
def test_delta_of_total_variation_power_contains_truth(delta, n):
    with ctx.workprec(4000):
        truth = 1 - (n * (1 - arb(delta)).log()).exp()
        f = to.TotalVariation(delta) ** n
        assert holds(f.bounds.delta(0.0), truth)
        assert f.delta(0.0) <= float(truth) * (1 + 1e-15)
        g = to.TotalVariation(delta) ** (n - 1) @ to.TotalVariation(delta)
        assert holds(g.bounds.delta(0.0), truth)


def test_epsilon_of_subsampled_zero_privacy_contains_truth():
    f = to.subsample(to.TotalVariation(1), 0.25)
    assert holds(f.bounds.epsilon(0.25), arb(0.75).log())


def polygons():
    """Draw convex polygons at every scale, most of whose segments are short."""
    rng = np.random.default_rng(7)
    for _ in range(150):
        scale = 10.0 ** -rng.choice([0, 0, 1, 5, 16, 100, 300, 308, 310, 320])
        x = np.unique(
            np.append(rng.random(rng.integers(1, 5)) * scale, [0.0, rng.choice([1.0, 0.5, rng.random()])])
        )
        top = rng.choice([1.0, rng.random(), 1e-300, 1e-310])
        y = top * np.linspace(1.0, 0.0, len(x)) ** rng.choice([1.0, 2.0, 3.0])
        try:
            yield to.PiecewiseLinear(x, y), scale, rng
        except CurveError:  # not convex as drawn
            continue


def test_polygon_beta_at_every_scale_contains_truth():
    for f, scale, rng in polygons():
        near = [float(np.nextafter(v, side)) for v in f.alpha for side in (0.0, v, 1.0)]
        alpha = np.concatenate([near, rng.random(4), rng.random(4) * scale])
        lower, upper = f.bounds(alpha)
        exact = f.rational()
        for a, low, high in zip(alpha.tolist(), lower, upper, strict=True):
            truth = exact.at(F(a))
            assert F(low) <= truth <= F(high)
            assert high - low <= 1e-14 * max(high, 1e-300)


def test_polygon_delta_at_every_scale_contains_truth():
    for f, _, _ in polygons():
        for epsilon in (0.0, 1e-17, -1e-17, 0.1, -1.0, 5.0, 40.0, 680.0, -40.0, -740.0):
            s = arb(epsilon).exp()
            gains = [1 - _ball(b) - s * _ball(a) for a, b in f.vertices]
            lower, upper = f.bounds.delta(epsilon)
            assert not all(gain < arb(lower) for gain in gains)
            assert not any(gain > arb(upper) for gain in gains)


def _ball(x: F) -> arb:
    return arb(x.numerator) / x.denominator


def test_symmetrise_profile_of_weak_curve_is_bounded():
    f = to.mixture(
        {to.PiecewiseLinear([0.0, 1.0], [0.01, 0.0]): 0.5, to.PiecewiseLinear([0.0, 1.0], [0.03, 0.0]): 0.5}
    )
    lower, upper = f.symmetrise(assume="profile").bounds(0.25)
    assert 0 <= lower <= upper <= 0.03


@pytest.mark.parametrize("p", [0.25, 0.5])
def test_inverse_beyond_its_zero_is_zero(p):
    f = ~to.subsample(to.TotalVariation(0.5), p)
    assert f.bounds(1 - p / 2 + 1e-3).upper <= 5e-324


def test_kl_of_laplace_group_contains_truth():
    with ctx.workprec(400):
        for k in (3, 7, 9):
            e = k * arb(0.8293828791580945)
            assert holds(closed_form(to.Laplace(0.8293828791580945).group(k)).kl, e - 1 + (-e).exp())


def test_polygon_sup_loss_of_steep_segments_contains_truth():
    f = to.PiecewiseLinear([0.0, 1e-300, 1.0], [1.0, 0.25, 0.0])
    truth = (arb(0.75) / arb(1e-300)).log()
    assert holds(f.bounds.epsilon(0.0), truth)
    assert f.epsilon(0.0) < math.inf
