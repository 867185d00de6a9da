"""Continuous noise against closed forms and integrals of its law."""

import math

import mpmath as mp
import numpy as np
import pytest

import tradeoff as to
from tradeoff import mechanisms as m


def test_gaussian_of_vectors_has_the_norm_of_its_quotients():
    assert m.Gaussian(noise_multiplier=10, sensitivity=5).curve() == to.Gaussian(0.5)
    assert m.Gaussian(noise_multiplier=2, sensitivity=[6, 8]).curve() == to.Gaussian(5)
    assert m.Gaussian(noise_multiplier=[2, 1], sensitivity=[6, 4]).curve() == to.Gaussian(5)
    assert m.Gaussian(noise_multiplier=[0.5, math.inf]).curve() == to.Gaussian(2)
    assert m.Gaussian(noise_multiplier=3, sensitivity=0).curve() == to.Gaussian(0)
    assert m.Gaussian(noise_multiplier=np.array([2.0, 1.0]), sensitivity=(6, 4)) == m.Gaussian(
        noise_multiplier=[2, 1], sensitivity=[6, 4]
    )


def distribution(normal, scale):
    return (
        (lambda x: mp.ncdf(x / scale))
        if normal
        else (lambda x: mp.exp(x / scale) / 2 if x < 0 else 1 - mp.exp(-x / scale) / 2)
    )


def truncated_delta(normal, scale, shift, cut, epsilon):
    """Return delta of noise on [-cut, cut], in 220 digits."""
    with mp.workdps(220):
        scale, shift, cut, epsilon = map(mp.mpf, (scale, shift, cut, epsilon))
        cdf = distribution(normal, scale)
        kept = cdf(cut) - cdf(-cut)

        # Where the loss is epsilon; Laplace losses are constant outside [0, shift].
        if normal:
            place = scale**2 * epsilon / shift + shift / 2
        else:
            place = (shift + scale * epsilon) / 2 if abs(epsilon) < shift / scale else cut * mp.sign(epsilon)
        threshold = min(max(place, shift - cut), cut)
        q = (cdf(cut) - cdf(threshold - shift)) / kept
        return q - mp.exp(epsilon) * (cdf(cut) - cdf(threshold)) / kept


@pytest.mark.parametrize("kind", [m.TruncatedLaplace, m.TruncatedGaussian], ids=lambda each: each.kind)
@pytest.mark.parametrize(("scale", "shift", "cut"), [(1, 1, 5), (0.3, 1, 0.6), (2, 1e-3, 40), (1, 0.25, 30)])
def test_truncated_noise_bounds_contain_the_exact_profile(kind, scale, shift, cut):
    curve = kind(scale, bound=cut, sensitivity=shift).curve()
    assert curve.symmetric
    for epsilon in (-1.0, 0.0, 1e-3, 0.9, 3.3333):
        truth = truncated_delta(kind.normal, scale, shift, cut, epsilon)
        bounds = curve.bounds.delta(epsilon)
        assert truth in bounds
        assert bounds.width <= 1e-9 * truth
    for alpha in (0.0, 1e-7, 0.1, 0.6, 1.0):
        # f is the greatest of all lines 1 - delta(x) - e^x alpha; any of them bounds it from below.
        lines = [1 - curve.bounds.delta(x).upper - math.exp(x) * alpha for x in np.linspace(-4, 4, 33)]
        assert curve.bounds(alpha).upper >= max(lines) - 1e-15
        assert curve.bounds(alpha).lower <= 1 - alpha


@pytest.mark.slow
def test_truncated_noise_at_extreme_bounds():
    far = m.TruncatedGaussian(1, bound=30).curve()
    assert far.bounds(0.1).width < 1e-12
    assert abs(far(0.1) - to.Gaussian(1)(0.1)) < 1e-12
    assert m.TruncatedLaplace(1, bound=0.5).curve() == to.TotalVariation(1.0)
    assert 0.999 < m.TruncatedLaplace(1e-3, bound=0.5001).curve().delta(0) <= 1
    for kind in (m.TruncatedLaplace, m.TruncatedGaussian):
        assert kind(1, bound=1e9).curve().mass_at_infinity.upper <= 1e-300
        assert kind(1e-6, bound=1).curve().delta(1.0) == 1
        assert 0.5 <= kind(100, bound=1).curve().delta(0.5) <= 0.51
    assert m.ThresholdedKeys(1, 1e9, noise="gaussian").curve().mass_at_infinity.upper <= 1e-300
    twice = m.TruncatedGaussian(2, bound=30).curve() ** 2
    assert twice.epsilon(1e-3) >= to.Gaussian(math.sqrt(0.5)).bounds.epsilon(1e-3).lower


@pytest.mark.parametrize(("scale", "width", "shift"), [(1, 10, 1), (2, 3, 3), (0.5, 1, 0.25)])
def test_bounded_laplace_loss_is_the_largest_log_ratio(scale, width, shift):
    def within(q):
        return 1 - (math.exp(-q / scale) + math.exp(-(width - q) / scale)) / 2

    starts = np.linspace(0, width - shift, 101)
    turned = [math.log(within(a) / within(b)) for q in starts for a, b in ((q, q + shift), (q + shift, q))]
    epsilon = m.BoundedLaplace(scale, width=width, sensitivity=shift).curve().epsilon(0)
    assert epsilon == pytest.approx(shift / scale + max(turned), rel=1e-12)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.5, 3), (-40, 40), (2, 2.5)])
def test_bounded_gaussian_is_below_every_conditioned_pair(low, high):
    sigma, shift = 2.0, 1.0
    curve = m.BoundedGaussian(sigma / shift).curve()
    with mp.workdps(30):

        def tails(mean, x):
            cdf = [mp.ncdf((mp.mpf(each) - mean) / sigma) for each in (low, x, high)]
            return (cdf[2] - cdf[1]) / (cdf[2] - cdf[0]), (cdf[1] - cdf[0]) / (cdf[2] - cdf[0])

        for mean in (-1.0, 0.0, 0.3, 2.0):
            for x in np.linspace(low, high, 9):
                alpha, beta = tails(mean, x)[0], tails(mean + shift, x)[1]
                assert beta >= curve.bounds(float(alpha)).lower - 1e-14


@pytest.mark.parametrize("third", [1 / 3, 0.3])
def test_bounded_laplace_accepts_a_width_equal_to_the_sensitivity(third):
    assert m.BoundedLaplace(scale=1, width=third, sensitivity=third).width >= third
