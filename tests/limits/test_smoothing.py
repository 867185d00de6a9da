"""The smoothing inequality's parts against integrals in 30 digits, and its whole against exact distribution
functions."""

import math
from math import comb

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaincc, ndtr
from scipy.stats import binom

from tradeoff.intervals.bounds import Bounds
from tradeoff.limits.moments import CONSTANT
from tradeoff.limits.smoothing import _CORNER, _CUBIC, _kernel, _Rest, expansion


def summand(variance, absolute, third, fourth):
    return CONSTANT._replace(
        **{
            k: Bounds(v, v)
            for k, v in zip(
                ("variance", "third", "cumulant3", "fourth"), (variance, absolute, third, fourth), strict=True
            )
        }
    )


def bernoulli(p, size=1.0):
    q, s = 1 - p, size
    return summand(
        s**2 * p * q, s**3 * p * q * (p * p + q * q), s**3 * p * q * (q - p), s**4 * p * q * (1 - 3 * p * q)
    )


def holds(law, x, *values):
    """The expansion holds the distribution function's values before and after each jump.

    Return the least room.
    """
    found = expansion(law)
    room = [found.width(x) - np.abs(value - found.cdf(x)) for value in values]
    assert np.min(room) >= -1e-13
    return np.max(found.width(x)), found


def test_the_kernel_majorises_a_step():
    """A point mass at 0: 1/2 + 2 int_0^1 (Re K cos(uy) + Im K sin(uy)) >= 1{y >= 0}.

    Every law is a mixture of such.
    """
    node, weight = np.polynomial.legendre.leggauss(400)
    u, weight = (node + 1) / 2, weight / 2
    y = np.concatenate([np.linspace(-60, 60, 2401), 2 * np.pi * np.arange(-9, 10)])[:, None]
    real, imaginary = (1 - u) / 2, ((1 - u) / np.tan(np.pi * u) + 1 / np.pi) / 2
    even, odd = 2 * np.cos(u * y) @ (weight * real), 2 * np.sin(u * y) @ (weight * imaginary)
    step = (y[:, 0] >= 0).astype(float)
    assert np.all(1 / 2 + even + odd >= step - 1e-12)
    assert np.all(1 / 2 - even + odd <= (y[:, 0] > 0) + 1e-12)
    np.testing.assert_allclose(_kernel(u), np.hypot(real, imaginary), rtol=1e-12, atol=1e-15)


def test_the_kernel_falls_and_its_imaginary_part_is_near_that_of_the_inversion_formula():
    w = np.linspace(0, 1, 20_001)[1:-1]
    assert np.all(np.diff(_kernel(w)) < 0)
    gap = 1 / (2 * np.pi * w) - np.sqrt(np.maximum(_kernel(w) ** 2 - (1 - w) ** 2 / 4, 0))
    assert np.all(gap <= np.pi * w / (6 * (1 + w)) + 1e-11 / w)
    assert np.all(gap >= -1e-11 / w)


def test_cubics_below_one_minus_cosine():
    corner = mp.findroot(lambda x: mp.diff(lambda t: (mp.cos(t) - 1 + t**2 / 2) / t**3, x), 4)
    cubic = (mp.cos(corner) - 1 + corner**2 / 2) / corner**3
    assert corner < _CORNER < corner + 1e-5
    assert cubic < _CUBIC < cubic + 1e-8
    x = np.linspace(0, 40, 40_001)
    for touch in np.linspace(_CORNER, 2 * np.pi, 101):
        # A x^2 - C x^3 with the value and the slope of 1 - cos x at the touching point.
        value, slope = 1 - math.cos(touch), math.sin(touch)
        a, c = 3 * value / touch**2 - slope / touch, 2 * value / touch**3 - slope / touch**2
        assert min(a, c) >= -1e-15
        assert np.all(1 - np.cos(x) >= a * x**2 - c * x**3 - 1e-9)


@pytest.mark.parametrize(
    "rest",
    [
        _Rest(0.0, 0.01, 0.01, 0.01, 0.2),
        _Rest(0.3, 0.02, 0.01, 0.01, 0.3),
        _Rest(0.01, 1e-4, 1e-4, 1e-4, 0.02),
    ],
)
def test_the_rest_is_just_above_its_integrals(rest):
    t, s = rest.reach, rest.skewness

    def kernel(w):
        return mp.hypot(1 - w, (1 - w) * mp.cot(mp.pi * w) + 1 / mp.pi) / 2

    def apart(u):
        normal = mp.exp(-u * u / 2)
        x = u * rest.rugged
        far = mp.exp(-u * u / 2 + _CUBIC * x * u * u if x < _CORNER else -(1 - mp.cos(x)) / rest.rugged**2)
        far += normal * mp.hypot(1, s * u**3 / 6)
        room = 1 - rest.largest * u * u / 2
        if room <= 0:
            return far
        return min(
            far,
            normal * (mp.expm1(u**4 * (rest.fourth / 24 + rest.squares / 8 / room)) + (s * u**3) ** 2 / 72),
        )

    with mp.workdps(15):
        cuts = [0, *(v for v in (1, 2, 3, 4, 5, 6, 8, 10, t - 10, t - 6, t - 3, t - 1) if 0 < v < t), t]
        cuts = sorted(set(cuts))
        smooth = 2 * mp.quad(lambda u: kernel(u / t) * apart(u) / t, cuts)
        bent = 2 * mp.quad(
            lambda u: (
                (1 / (2 * mp.pi * u / t) - ((1 - u / t) * mp.cot(mp.pi * u / t) + 1 / mp.pi) / 2)
                * mp.exp(-u * u / 2)
                * mp.hypot(1, s * u**3 / 6)
                / t
            ),
            cuts,
        )
    truth = float(smooth + bent)
    assert truth < rest() < 1.06 * truth + 1.3 * s / t**2


@pytest.mark.parametrize("p", [0.5, 0.3, 0.05])
def test_binomial_laws_are_held_and_half_a_jump_is_about_the_width(p):
    for n in (10, 100, 1000, 100_000):
        k = np.arange(n + 1)
        x = (k - n * p) / math.sqrt(n * p * (1 - p))
        law = binom.cdf(k, n, p)
        width, found = holds([(bernoulli(p), n)], x, law, np.append(0.0, law[:-1]))
        assert found.skewness == pytest.approx((1 - 2 * p) / math.sqrt(n * p * (1 - p)))
        # Half a jump of the lattice is where no bound can be below; K counts E|X| as sd.
        half = 0.5 / math.sqrt(2 * math.pi * n * p * (1 - p))
        assert width < half * (p * p + (1 - p) ** 2 + math.sqrt(p * (1 - p))) * (1 + 6 / math.sqrt(n))


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_sums_of_uniform_variables_are_held(n):
    """Irwin and Hall in whole numbers."""
    grid = [i * n / 200 for i in range(201)]
    with mp.workdps(40):
        law = [
            float(
                sum((-1) ** k * comb(n, k) * mp.mpf(max(v - k, 0)) ** n for k in range(n + 1))
                / mp.factorial(n)
            )
            for v in grid
        ]
    x = (np.array(grid) - n / 2) / math.sqrt(n / 12)
    holds([(summand(1 / 12, 1 / 32, 0.0, 1 / 80), n)], x, np.array(law))


@pytest.mark.parametrize("n", [1, 3, 10, 100, 3000])
def test_sums_of_exponential_variables_are_held(n):
    x = np.linspace(-min(math.sqrt(n), 8.0), 12, 2001)
    absolute = 12 / math.e - 2
    _, found = holds(
        [(summand(1.0, absolute, 2.0, 9.0), n)], x, 1 - gammaincc(n, np.maximum(n + x * math.sqrt(n), 0.0))
    )
    assert found.skewness == pytest.approx(2 / math.sqrt(n))


@given(
    st.lists(st.tuples(st.floats(0.01, 0.99), st.integers(1, 4), st.integers(1, 60)), min_size=1, max_size=4)
)
@settings(max_examples=40, deadline=None)
def test_sums_of_unlike_variables_on_a_lattice_are_held(parts):
    """Bernoulli variables of several sizes and chances, convolved."""
    mass, mean, variance = np.ones(1), 0.0, 0.0
    for p, size, n in parts:
        step = np.zeros(size * n + 1)
        step[::size] = binom.pmf(np.arange(n + 1), n, p)
        mass, mean, variance = (
            np.convolve(mass, step),
            mean + size * n * p,
            variance + size**2 * n * p * (1 - p),
        )
    law = np.cumsum(mass)
    x = (np.arange(len(law)) - mean) / math.sqrt(variance)
    holds([(bernoulli(p, size), n) for p, size, n in parts], x, law, np.append(0.0, law[:-1]))


def test_a_normal_sum_has_no_error_and_a_normal_summand_only_helps():
    normal = summand(1.0, 0.0, 0.0, 0.0)
    found = expansion([(normal, 5)])
    x = np.linspace(-40, 40, 801)
    assert np.all(found.width(x) == 0)
    np.testing.assert_array_equal(found.cdf(x), ndtr(x))
    alone, helped = (
        expansion(law).rest for law in ([(bernoulli(0.3), 100)], [(bernoulli(0.3), 100), (normal, 21)])
    )
    assert helped < alone / 2


def test_steepness_and_bend_bound_the_derivatives():
    for law in ([(bernoulli(0.5), 4)], [(bernoulli(0.05), 40)], [(bernoulli(0.01), 500)]):
        found = expansion(law)
        x = np.linspace(-10, 10, 200_001)
        step = x[1] - x[0]
        for sign in (-1, 1):
            slope = np.diff(found.cdf(x) + sign * found.width(x)) / step
            assert np.max(np.abs(slope)) <= found.steepness
            assert np.max(np.abs(np.diff(slope))) / step <= found.bend
