"""Laws whose losses round to one float keep their mass; distribution functions beside atoms and ends."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import scipy.stats as st

import tradeoff as to
from tradeoff.errors import PrecisionError

LOGISTIC = to.LocationShift(st.logistic(scale=0.25), 4e-4)
MIXTURES = to.GaussianMixtures({0: 1}, {0: 0.5, 1e-200: 0.5}, 1e200)
TINY = [
    to.Gaussian(5e-324),
    to.Laplace(5e-324),
    MIXTURES,
    to.subsample(LOGISTIC, 5e-324),
    ~to.subsample(LOGISTIC, 5e-324),
    to.subsample(LOGISTIC, 5e-324, scheme="without-replacement"),
    to.subsample(to.Gaussian(30), 5e-324),
    to.subsample(to.Gaussian(1e-300), 1e-100),
    to.subsample(to.Gaussian(1e-300), 1e-100, scheme="without-replacement"),
    to.subsample(MIXTURES, 0.5),
    to.mixture({to.Gaussian(5e-324): 0.5, to.subsample(LOGISTIC, 1e-322): 0.5}),
    to.subsample(to.mixture({to.Gaussian(5e-324): 0.5, to.Gaussian(1e-310): 0.5}), 0.1),
]

BESIDE = to.mixture({to.Gaussian(1e-200): 0.5, to.TotalVariation(0.5): 0.5})


def two_responses(epsilon):
    """delta of two rounds of (1/2, 0)-DP."""
    p = 1 / (1 + mp.exp(mp.mpf(1) / 2))
    masses = [(1 - p) ** 2, 2 * p * (1 - p), p**2]
    pairs = zip(masses, masses[::-1], strict=True)
    return mp.fsum(max(q - mp.exp(epsilon) * other, mp.mpf(0)) for q, other in pairs)


@pytest.mark.parametrize("f", TINY, ids=repr)
@pytest.mark.parametrize("n", [1, 3])
def test_no_mass_is_lost_where_all_losses_are_next_to_zero(f, n):
    epsilon = [-1.0, -0.2, 0.0, 0.3, 0.9]
    lower, upper = (f**n @ to.PureDP(0.5) ** 2).bounds.delta(epsilon)
    with mp.workdps(40):
        for e, low, high in zip(epsilon, lower, upper, strict=True):
            truth = two_responses(mp.mpf(e))
            assert low * (1 - mp.mpf("1e-250")) <= truth * (1 + mp.mpf("1e-250"))
            assert truth * (1 - mp.mpf("1e-250")) <= high
    assert np.all(upper[1:] - lower[1:] < 1e-3)


@pytest.mark.parametrize(
    "f",
    [
        to.subsample(BESIDE, 1e-130),
        ~to.subsample(BESIDE, 1e-130),
        to.subsample(to.subsample(BESIDE, 1e-65), 1e-65),
        to.mixture({to.subsample(BESIDE, 1e-130): 0.5, to.PureDP(1e-320): 0.5}),
    ],
    ids=repr,
)
def test_no_mass_is_lost_beside_atoms_that_are_not_next_to_zero(f):
    epsilon = [-1.0, 0.0, 0.9]
    lower, upper = (f @ to.PureDP(0.5) ** 2).bounds.delta(epsilon)
    with mp.workdps(40):
        truth = [two_responses(mp.mpf(e)) for e in epsilon]  # but for losses of 1e-130
        for low, exact, high in zip(lower, truth, upper, strict=True):
            assert low * (1 - mp.mpf("1e-100")) <= exact <= high * (1 + mp.mpf("1e-100"))
    assert np.all(upper - lower < 1e-3)
    assert f.law.cdf(1e-9).upper == pytest.approx(1.0)


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0])
def test_divergences_of_a_mixture_with_what_is_next_to_zero(order):
    tiny, small = (
        to.mixture({to.Gaussian(mu): 0.5, to.Gaussian(1): 0.5}).bounds.renyi(order) for mu in (1e-300, 1e-280)
    )
    assert tiny.upper == pytest.approx(small.upper, rel=1e-9)
    assert tiny.lower == pytest.approx(small.lower, rel=1e-9)


@pytest.mark.parametrize("t", [-37.9, -38.2, -38.6, -42.0])
def test_far_tails_are_not_below_what_floats_hold(t):
    with mp.workdps(40):
        low, high = to.Gaussian(1).law.cdf(t)
        assert low <= mp.ncdf(mp.mpf(t) + mp.mpf(1) / 2) <= high <= 1e-299


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.7])
def test_distribution_functions_beside_atoms(p):
    law = to.subsample(to.PureDP(1), p).law
    with mp.workdps(40):
        atoms = [mp.log(1 - mp.mpf(p) + mp.mpf(p) * mp.exp(sign)) for sign in (-1, 1)]
        least = mp.exp(1) / (1 + mp.exp(1))
        for atom in atoms:
            at = float(atom)
            for t in (math.nextafter(at, -9), at, math.nextafter(at, 9), at - 1e-9, at + 1e-9):
                low, high = law.cdf(t)
                assert low <= (t >= atoms[0]) * least + (t >= atoms[1]) * (1 - least) <= high
        assert law.cdf(0.0).width < 1e-10


@pytest.mark.parametrize("mu", [1, 8, 12])
@pytest.mark.parametrize("steps", [-1, 0, 1, 7, 10**6])
def test_distribution_functions_at_the_least_loss(mu, steps):
    """P(L <= t) = Phi((l + mu^2/2)/mu) with l = log(2 e^t - 1), and no mass below log(1/2)."""
    t = math.log(0.5) + steps * 2.0**-53
    f = to.subsample(to.Gaussian(mu), 0.5)
    with mp.workdps(60):
        rest = 2 * mp.exp(mp.mpf(t)) - 1
        truth = mp.ncdf((mp.log(rest) + mp.mpf(mu) ** 2 / 2) / mu) if rest > 0 else mp.mpf(0)
        low, high = f.law.cdf(t)
        assert low <= truth <= high
        low, high = (~f).law.cdf(-t, under="Q")  # Q(-L <= ...) of the pair exchanged is P(L >= t)
        assert low <= 1 - truth + mp.mpf("1e-300")
        assert 1 - truth <= high


@pytest.mark.parametrize("steps", [0, 1, 64, 10**4])
def test_distribution_functions_at_the_valley_of_a_mixture(steps):
    """L = log cosh(x - 1) - 1/2, so that P(L <= t) = P(|x - 1| <= arcosh e^(t + 1/2))."""
    t = -0.5 + steps * 2.0**-54
    law = to.GaussianMixtures({1: 1}, {0: 0.5, 2: 0.5}, 1.0).law
    with mp.workdps(60):
        truth = mp.erf(mp.acosh(mp.exp(mp.mpf(t) + mp.mpf(1) / 2)) / mp.sqrt(2))
        low, high = law.cdf(t)
        assert low <= truth <= high


def test_moments_of_finite_losses_that_hold_next_to_nothing():
    """Q has all but e^-50 where P has nothing, and KL(P || Q) = 50; or P has 1e-330 where Q has nothing."""
    leak = to.PiecewiseLinear([0, 1], [math.exp(-50), 0])
    for question in (to.limits.kl, to.limits.kappa2, to.limits.kappa3, to.limits.clt):
        with pytest.raises(PrecisionError, match="no mass in floats"):
            question(leak)
    assert to.limits.kl(~leak).lower == math.inf
    apart = to.PiecewiseLinear([0, 1 - Fraction(1, 10**330)], [Fraction(1, 2), 0])
    result = to.limits.kl(apart)
    assert result.lower <= math.log(2) + 1e-12
    assert result.upper == math.inf
