"""Objects of the neighbours that ``tests/interop`` does not build, and a number of each known elsewhere."""

import math

import pytest
from scipy.stats import gumbel_r

import tradeoff as to
from tests.peers.agreement import holds
from tradeoff import mechanisms as m


def pure(epsilon):
    """Return the total variation of f_{epsilon,0}."""
    return math.tanh(epsilon / 2)


CUT = m.TruncatedSubsampledGaussian(1.0, 0.01, 16, 1000)

OBJECTS = {
    # dp_accounting: objects without an event.
    "from_two_probability_mass_functions": (to.from_masses([0.75, 0.25], [0.25, 0.75]), 0.5),
    "from_discrete_gaussian_mechanism, cut": (to.from_masses([0.3, 0.4, 0.3, 0], [0, 0.3, 0.4, 0.3]), 0.4),
    "PoissonSampled(ZCDpEvent)": (to.subsample(to.conversions.from_zcdp(0.1), 0.1), None),
    # prv_accountant: a subclass with a cdf of its own.
    "PrivacyRandomVariable": (to.from_scipy(gumbel_r(loc=0), gumbel_r(loc=1)), None),
    # jax_privacy.
    "amplified_bandmf_event": (m.BandedFactorization(1.0, 0.1, 16, 16), 0.1 * math.erf(1 / math.sqrt(8))),
    "truncated_amplified_bandmf_event": (CUT.curve() ** 2, None),
    "balls in bins": (m.RandomAllocation(1.0, 16), None),
    # OpenDP.
    "make_canonical_noise": (m.CanonicalNoise(to.approximate_dp(1.0, 0.01)), 0.01 + 0.99 * pure(1)),
    # autodp.
    "LaplaceSVT_Mechanism": (m.AboveThreshold(0.5).curve() ** 3, None),
    "AmplificationBySampling": (m.SubsampledLaplace(1.0, 0.1), -0.1 * math.expm1(-0.5)),
    # diffprivlib.
    "Binary": (m.RandomizedResponse(1.0), pure(1)),
    "Geometric, GeometricTruncated, GeometricFolded": (m.DiscreteLaplace(1.0), pure(1)),
    "LaplaceTruncated, LaplaceFolded": (m.Laplace(scale=1.0), -math.expm1(-0.5)),
    "LaplaceBoundedDomain": (m.BoundedLaplace(1.0, 10.0), None),
    "LaplaceBoundedNoise": (m.TruncatedLaplace(1.0, 10.0), math.expm1(-0.5) / math.expm1(-10)),
    "Staircase": (m.Staircase(1.0), None),
    "GaussianDiscrete": (m.DiscreteGaussian(1.0), 0.3989422782668617),
    "Uniform": (to.TotalVariation(0.25), 0.25),
    # R fdp.
    "fdp(data.frame)": (to.PiecewiseLinear.hull([0, 0.25, 1], [1, 0.25, 0]), 0.5),
}
"""What it is called there: the object here, and its total variation where a formula has it."""


@pytest.mark.parametrize("name", OBJECTS)
def test_object_of_a_peer_agrees(name):
    result, expected = OBJECTS[name]
    curve = result if isinstance(result, to.TradeOff) else result.curve()
    bounds = curve.bounds.delta(0.0)
    assert 0 < bounds.lower <= bounds.upper < 1
    assert expected is None or holds(bounds, expected, 1e-9)


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
