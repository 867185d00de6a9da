"""One constructor for every object of a neighbour that has one here, with a number known from elsewhere.

Events of dp_accounting, histories of Opacus and measures of OpenDP are read by name in ``tests/interop``; what
has no object is listed in ``docs/interop.md``.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import gumbel_r, norm

import tradeoff as to
from tradeoff import mechanisms as m


def gaussian(mu: float) -> float:
    """Return the total variation of N(0, 1) and N(mu, 1)."""
    return math.erf(mu / math.sqrt(8))


def pure(epsilon: float) -> float:
    """Return the total variation of f_{epsilon,0}."""
    return math.tanh(epsilon / 2)


def truncated(sigma: float, most: int) -> tuple[list[float], list[float]]:
    """Return integer normal noise cut to [-most, most], about 0 and about 1."""
    weights = np.exp(-(np.arange(-most, most + 1) ** 2) / (2 * sigma**2))
    masses = weights / weights.sum()
    return [*masses, 0.0], [0.0, *masses]


MEET = math.log(math.e - 1)
"""Where the densities of a Gumbel law and its shift by 1 meet."""

OBJECTS: dict[str, tuple[Callable[[], to.TradeOff], float | None]] = {
    # dp_accounting: constructors of distributions that no event has.
    "from_two_probability_mass_functions": (lambda: to.from_masses([0.75, 0.25], [0.25, 0.75]), 0.5),
    "from_discrete_gaussian_mechanism(truncation_bound)": (
        lambda: to.from_masses(*truncated(1.0, 3)),
        max(truncated(1.0, 3)[0]),
    ),
    "compute_mixture": (
        lambda: to.mixture({to.Gaussian(1): 0.25, to.PureDP(1.0): 0.75}),
        0.25 * gaussian(1) + 0.75 * pure(1),
    ),
    "ZCDpEvent(rho, xi)": (lambda: to.conversions.from_zcdp(0.1, 0.01), None),
    "PoissonSampled(ZCDpEvent)": (lambda: to.subsample(to.conversions.from_zcdp(0.1), 0.1), None),
    # prv_accountant: a law of its own, by its distribution.
    "PrivacyRandomVariable": (
        lambda: to.from_scipy(gumbel_r(loc=0), gumbel_r(loc=1)),
        float(gumbel_r.cdf(MEET) - gumbel_r.cdf(MEET - 1)),
    ),
    # jax_privacy.
    "dpsgd_event": (lambda: m.SubsampledGaussian(1.0, 0.1).curve(), 0.1 * gaussian(1)),
    "fixed_dpsgd_event": (
        lambda: m.SubsampledGaussian(1.0, 0.1, scheme="without-replacement").curve(),
        0.1 * gaussian(2),
    ),
    "fixed_dpsgd_event(replace=True)": (
        lambda: m.SubsampledGaussian(1.0, 0.1, scheme="with-replacement", batch_size=10).curve(),
        None,
    ),
    "truncated_dpsgd_event": (lambda: m.TruncatedSubsampledGaussian(1.0, 0.01, 16, 1000).curve(), None),
    "amplified_bandmf_event": (lambda: m.BandedFactorization(1.0, 0.1, 16, 16).curve(), 0.1 * gaussian(1)),
    "truncated_amplified_bandmf_event": (
        lambda: m.TruncatedSubsampledGaussian(1.0, 0.01, 16, 1000).curve() ** math.ceil(20 / 16),
        None,
    ),
    "balls in bins": (lambda: m.RandomAllocation(1.0, 16).curve(), None),
    # OpenDP.
    "make_canonical_noise": (
        lambda: m.CanonicalNoise(to.approximate_dp(1.0, 0.01)).curve(),
        0.01 + 0.99 * pure(1),
    ),
    "make_noisy_max(zCDP), make_private_quantile": (
        lambda: m.ReportNoisyMax(2.0).curve(),
        math.tanh(0.5),  # of the two losses +-1
    ),
    "make_noisy_top_k": (lambda: m.ReportNoisyMax(2.0, noise="exponential").curve() ** 2, None),
    "make_gaussian_threshold": (
        lambda: m.ThresholdedKeys(1.0, 3.0, noise="gaussian").curve(),
        1 - (1 - gaussian(1)) * norm.cdf(2.0),
    ),
    "make_population_amplification": (
        lambda: to.subsample(to.PureDP(2.0), 0.1, scheme="without-replacement"),
        0.1 * pure(2),
    ),
    "renyi_divergence": (lambda: to.conversions.from_renyi({2.0: 0.1, 8.0: 0.5}), None),
    # autodp.
    "LaplaceSVT_Mechanism": (lambda: m.AboveThreshold(0.5).curve() ** 3, None),
    "NoisyGD_Mechanism": (lambda: to.Gaussian(0.1) ** 100, gaussian(1)),
    "NoisySGD_Mechanism": (lambda: to.subsample(to.Gaussian(0.5), 0.1) ** 10, None),
    "AmplificationBySampling(PoissonSampling=False)": (
        lambda: to.subsample(to.Laplace(1.0), 0.1, scheme="without-replacement"),
        -0.1 * math.expm1(-0.5),
    ),
    # diffprivlib.
    "Binary": (lambda: m.RandomizedResponse(1.0).curve(), pure(1)),
    "Exponential, ExponentialCategorical, ExponentialHierarchical": (
        lambda: m.ExponentialMechanism(1.0).curve(),
        math.tanh(0.25),
    ),
    "Geometric, GeometricTruncated, GeometricFolded": (lambda: m.DiscreteLaplace(1.0).curve(), pure(1)),
    "LaplaceTruncated, LaplaceFolded": (lambda: m.Laplace(1.0).curve(), -math.expm1(-0.5)),
    "LaplaceBoundedDomain": (lambda: m.BoundedLaplace(1.0, 10.0).curve(), None),
    "LaplaceBoundedNoise": (
        lambda: m.TruncatedLaplace(1.0, 10.0).curve(),
        math.expm1(-0.5) / math.expm1(-10),
    ),
    "Staircase": (lambda: m.Staircase(1.0).curve(), None),
    "GaussianDiscrete": (lambda: m.DiscreteGaussian(1.0).curve(), truncated(1.0, 12)[0][12]),
    "Uniform": (lambda: to.TotalVariation(0.25), 0.25),
    # riskcal, R fdp.
    "get_beta_from_adp": (lambda: to.approximate_dp(1.0, 0.01), 0.01 + 0.99 * pure(1)),
    "fdp(data.frame)": (lambda: to.PiecewiseLinear.hull([0, 0.25, 1], [1, 0.25, 0]), 0.5),
}
"""What it is called there: the object here, and its total variation where a formula has it."""


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_of_a_neighbour_has_one_here(name):
    make, expected = OBJECTS[name]
    bounds = make().bounds.delta(0.0)
    assert 0 < bounds.lower <= bounds.upper < 1
    if expected is not None:
        assert bounds.lower - 1e-9 <= expected <= bounds.upper + 1e-9
