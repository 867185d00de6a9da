from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import tradeoff as to
from tests.strategies import exact_curves
from tradeoff.errors import DomainError
from tradeoff.interop import fdp
from tradeoff.interop import opendp as interop

DELTAS = np.array([1e-12, 1e-6, 1e-3, 0.1])


@pytest.fixture(scope="module")
def dp():
    module = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed: pip install opendp")
    module.enable_features("contrib", "honest-but-curious")
    return module


@pytest.fixture
def numbers(dp):
    return dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def test_from_measure_and_privacy_map_depend_on_the_distance():
    assert interop.from_measure("MaxDivergence", 0.5) == to.PureDP(0.5)
    assert interop.from_measure("Approximate(MaxDivergence)", (0.5, 1e-6)) == to.approximate_dp(0.5, 1e-6)
    assert interop.from_measure("Approximate<MaxDivergence>", [0.5, 0.0]) == to.PureDP(0.5)
    assert interop.from_measure("MaxDivergence", 0.0).delta(0.0) == 0.0
    pure, mixed = (-1.0, None, (1.0, 1e-6)), (1.0, (1.0, 2.0))
    wrong = {"Divergence": (1.0,), None: (1.0,), "SmoothedMaxDivergence": (1.0,), "MaxDivergence": pure}
    for measure, distances in (wrong | {"Approximate(MaxDivergence)": mixed}).items():
        for distance in distances:
            with pytest.raises(DomainError, match=r"^.*$"):
                interop.from_measure(measure, distance)
    pure = interop.privacy_map(to.Laplace(0.5), delta=0.0)
    assert [pure(d) for d in (0, 1, 3)] == [(0.0, 0.0), (0.5, 0.0), (1.5, 0.0)]
    scaled = interop.privacy_map(lambda d_in: to.Gaussian(d_in / 4), delta=1e-6)
    assert scaled(2.0) == (to.Gaussian(0.5).epsilon(1e-6), 1e-6)
    one_order = to.subsample(to.Gaussian(1), 0.1)
    epsilon, _ = interop.privacy_map(one_order, delta=1e-6)(1)
    assert epsilon >= max(one_order.bounds.epsilon(1e-6).lower, (~one_order).bounds.epsilon(1e-6).lower)


@pytest.mark.slow
def test_from_profile_is_safe_at_every_point():
    truth = to.Gaussian(1)
    result = interop.from_measure("SmoothedMaxDivergence", truth.delta)
    assert result.symmetric
    assert (result.epsilon(DELTAS) >= truth.bounds.epsilon(DELTAS).lower).all()
    assert (result.epsilon(DELTAS[:3]) <= truth.epsilon(DELTAS[:3]) * 1.03).all()
    assert (result**10).epsilon(1e-5) == pytest.approx((truth**10).epsilon(1e-5), rel=1e-3)


def test_from_measurement_privacy_map_and_profile_in_opendp(dp, numbers):
    laplace = dp.m.make_laplace(*numbers, scale=2.0)
    assert interop.from_measurement(laplace, 1.0) == to.PureDP(laplace.map(1.0))
    gaussian, truth = dp.m.make_gaussian(*numbers, scale=4.0), to.Gaussian(0.25)
    fixed = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian), 1e-6)
    assert interop.from_measurement(fixed, 1.0) == to.approximate_dp(*fixed.map(1.0))
    loose = interop.from_measurement(dp.c.make_approximate(gaussian), 1.0)
    assert truth.epsilon(1e-6) <= interop.from_measurement(gaussian, 1.0).epsilon(1e-6) <= 2.0
    assert loose.epsilon(1e-6) >= truth.epsilon(1e-6)
    # Its zCDP profile of N(0, 16) is above the truth: epsilon(1e-3) 0.68800 for 0.59201.
    smoothed = dp.c.make_zCDP_to_approxDP(gaussian)
    result, theirs = interop.from_measurement(smoothed, 1.0).epsilon(1e-3), smoothed.map(1.0).epsilon(1e-3)
    assert result == pytest.approx(theirs, rel=0.02)
    assert result >= theirs - 1e-6
    assert truth.epsilon(1e-3) < 0.59202 < result
    noise = dp.m.make_user_measurement(
        *numbers,
        dp.approximate(dp.max_divergence()),
        lambda x: x,
        interop.privacy_map(to.Gaussian, delta=1e-6),
    )
    assert noise.map(1.0) == (to.Gaussian(1).epsilon(1e-6), 1e-6)
    assert dp.c.make_composition([noise, noise]).map(1.0)[0] >= (to.Gaussian(1) ** 2).epsilon(2e-6)
    assert interop.from_measurement(noise, 1.0).epsilon(1e-6) >= to.Gaussian(1).epsilon(1e-6)
    curve = to.Gaussian(0.25)
    profile = dp.new_privacy_profile(interop.privacy_profile(curve))
    for epsilon in (0.0, 0.1, 0.59202):
        assert profile.delta(epsilon) == curve.delta(epsilon)
    assert curve.bounds.epsilon(1e-3).lower <= profile.epsilon(1e-3) <= 0.5921
    read = to.Profile.from_epsilon_delta(profile.delta, [0.0, 0.3, 0.6])
    assert read.delta(0.3) >= curve.bounds.delta(0.3).lower


TOLERANCE = 2.0**-26
"""Of its checks: sqrt(.Machine$double.eps)."""


def drawn(curve):
    """Return the rows, after the checks of fdp 1.0.0 (fdp.R): range, beta <= 1 - alpha, monotone, convex."""
    frame = fdp.to_frame(curve)
    alpha, beta = frame["alpha"], frame["beta"]
    assert list(frame) == ["alpha", "beta"]
    assert len(alpha) >= 100
    assert np.all((np.diff(alpha) > 0) & (np.diff(beta) <= 0))
    assert (alpha[0], alpha[-1], beta[-1]) == (0, 1, 0)
    assert np.all((beta >= 0) & (beta <= 1 - alpha + TOLERANCE))
    chord = beta[:-2] + (beta[2:] - beta[:-2]) * (alpha[1:-1] - alpha[:-2]) / (alpha[2:] - alpha[:-2])
    assert np.all(beta[1:-1] <= chord + TOLERANCE)
    return alpha, beta


@pytest.mark.parametrize(
    "curve",
    [to.Identity(), to.TotalVariation(1), to.Gaussian(1), to.Laplace(0.3), ~to.subsample(to.PureDP(2), 0.1)],
)
def test_to_frame_is_at_or_below_the_curve_and_near(curve):
    alpha, beta = drawn(curve)
    assert np.all((curve(alpha) - 2e-3 <= beta) & (beta <= curve.bounds(alpha).upper))


@settings(max_examples=30, deadline=None)
@given(exact_curves)
def test_chords_of_to_frame_are_at_or_below_the_curve(curve):
    alpha, beta = ([Fraction(v) for v in side.tolist()] for side in drawn(curve))
    for a, b, c, d in zip(alpha, beta, alpha[1:], beta[1:], strict=False):
        assert b <= curve.at(a)
        for corner, height in curve.vertices:
            if a < corner < c:
                assert b + (d - b) * (corner - a) / (c - a) <= height
