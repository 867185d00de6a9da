"""Laws of sums on a lattice and of greatest profiles, against fractions and 40 digits."""

from collections import Counter
from fractions import Fraction
from itertools import product

import mpmath as mp
import numpy as np
import pytest

import tradeoff as to
from tradeoff.pld.discrete import (
    AtomicLaw,
    discrete_gaussian_law,
    law_of_greatest_profile,
    product_on_lattice,
)


def noise(sigma, shifts):
    """Return the mass under P of each sum of s x, x discrete normal, over the shifts s."""
    result = {0: mp.mpf(1)}
    reach = int(14 * sigma)
    each = {x: mp.exp(-(mp.mpf(x) ** 2) / (2 * mp.mpf(sigma) ** 2)) for x in range(-reach, reach + 1)}
    total = mp.fsum(each.values())
    for shift in shifts:
        new = Counter()
        for k, w in result.items():
            for x, v in each.items():
                new[k + shift * x] += w * v / total
        result = dict(new)
    return result


def profile(masses, sigma, square, eps):
    """Return delta(eps) of the law of L = (2 k - square)/(2 sigma^2)."""
    scale = 2 * mp.mpf(sigma) ** 2
    losses = ((w, (2 * k - square) / scale) for k, w in masses.items())
    return mp.fsum(w * (mp.exp(loss) - mp.exp(eps)) for w, loss in losses if loss > eps)


@pytest.mark.parametrize("shifts", [(1, 1), (2, 1), (3, 1)])
def test_product_on_lattice_holds_masses(shifts):
    sigma, square = 1.5, sum(s * s for s in shifts)
    counts = Counter(shifts)
    law = product_on_lattice([discrete_gaussian_law(sigma, s) for s in counts], [*counts.values()])
    with mp.workdps(40):
        truth = noise(sigma, shifts)
        for k in range(-12, 13):
            loss = (2 * k - square) / (2 * mp.mpf(sigma) ** 2)
            at = int(np.argmin(np.abs(law.loss - float(loss))))
            assert abs(law.loss[at] - loss) <= law.atoms.error[at]
            assert abs(mp.exp(mp.mpf(law.log_p[at])) / truth[k] - 1) <= law.atoms.slack[at]


@pytest.mark.parametrize("off", [0.0, 1e-12, 3e-7])
def test_product_of_losses_next_to_a_lattice_holds_masses(off):
    loss, log_p = np.array([-2.0, -1 + off, 1 - 2 * off, 2 + off]), np.array([-1.5, -1.0, -1.25, -3.0])
    law = product_on_lattice([AtomicLaw(loss, log_p, slack=np.zeros(4))], [6])
    truth = {0: mp.mpf(1)}
    with mp.workdps(40):
        for _ in range(6):
            new = Counter()
            for (k, mass), (x, log) in product(truth.items(), zip((-2, -1, 1, 2), log_p, strict=True)):
                new[k + x] += mass * mp.exp(mp.mpf(log))
            truth = dict(new)
        for k, log, slack in zip(np.rint(law.loss), law.log_p, law.atoms.slack, strict=True):
            assert abs(mp.exp(mp.mpf(log)) / truth[int(k)] - 1) <= slack


def test_product_of_incommensurate_losses_is_none():
    assert product_on_lattice([discrete_gaussian_law(1.0, 1), discrete_gaussian_law(1.1, 1)], [1, 1]) is None


@pytest.mark.parametrize(
    ("sigma", "each"),
    [
        (1.5, ((2, 1), (1, 1, 1))),
        (1.5, ((3, 1), (2, 2, 1))),
        pytest.param(4.0, ((2, 1, 1), (1,) * 6), marks=pytest.mark.slow),
    ],
)
def test_law_of_greatest_profile_encloses_greatest_of_products(sigma, each):
    powers = [Counter(shifts) for shifts in each]
    laws = [
        product_on_lattice([discrete_gaussian_law(sigma, s) for s in power], [*power.values()])
        for power in powers
    ]
    law = law_of_greatest_profile([law for law in laws if law is not None])
    with mp.workdps(40):
        sums = [(noise(sigma, shifts), sum(s * s for s in shifts)) for shifts in each]
        for eps in (-1.3, -0.2, 0.0, 0.7, 2.9, 6.0):
            truth = max(profile(masses, sigma, square, mp.mpf(eps)) for masses, square in sums)
            p = [mp.exp(mp.mpf(each)) for each in law.log_p]
            low, high = (
                mp.fsum(
                    w * (1 + side * slack) * (mp.exp(loss + side * off) - mp.exp(eps))
                    for w, slack, loss, off in zip(p, law.atoms.slack, law.loss, law.atoms.error, strict=True)
                    if loss + side * off > eps
                )
                for side in (-1, 1)
            )
            assert low <= truth <= high
            assert high - low <= 1e-9 * high


def test_profiles_that_cross_have_no_law():
    def mixed(epsilon, weight):
        """Return the law of a response at epsilon with this weight, and of nothing else."""
        end = weight / (1 + np.exp(epsilon))
        loss = np.array([-epsilon, 0.0, epsilon])
        return AtomicLaw(loss, np.log(np.array([end * np.exp(epsilon), 1 - weight, end])))

    assert law_of_greatest_profile([mixed(2.0, 1 - 1e-9), mixed(3.0, 0.6)]) is None


def test_year_of_daily_vectors_is_narrow_and_contains_product_of_scalars():
    """For large sigma all shifts of a norm are as private up to e^(-2 pi^2 sigma^2)."""
    sigma = float(Fraction(1000, 3)) ** 0.5
    year = to.mechanisms.DiscreteGaussianVector(sigma, 10, 10).curve() ** 365
    scalars = to.mechanisms.DiscreteGaussian(sigma).curve() ** 3650
    low, high = year.bounds.epsilon(1e-6)
    truth = scalars.bounds.epsilon(1e-6)
    assert low <= truth.upper
    assert truth.lower <= high
    assert high - low < 1e-6
