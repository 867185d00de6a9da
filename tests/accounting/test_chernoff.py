"""Chernoff's bound against closed forms, and products whose lines find nothing."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.accounting.laws import atomic, pairs
from tests.golden import oracle
from tests.strategies import log_uniform
from tradeoff.accounting.contour.engine import ContourCache
from tradeoff.accounting.contour.line import chernoff_epsilon
from tradeoff.accounting.planner import Composition
from tradeoff.pld.discrete import binomial_law
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.shifts import LaplaceLaw
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD


@given(log_uniform(1e-3, 8.0), st.floats(0.5, 30.0), st.integers(1, 10**6))
def test_chernoff_bound_of_gaussian_power_holds_truth(mu, z, n):
    """The bound is above delta, by the factor of a Gaussian tail; its inverse bounds epsilon."""
    laws, counts = [GaussianLaw(mu / math.sqrt(n))], [n]
    lines = ContourCache(laws, counts)
    x = mu * z
    truth = oracle.gaussian_delta(x, mu)
    bound = float(lines.chernoff_bound(np.array([x]), np.zeros(1))[0])
    assert truth <= bound
    assert bound <= 1e6 * truth or bound < 1e-290
    if float(truth) > 1e-290:
        assert chernoff_epsilon(laws, counts, lines.cumulant, float(truth)) >= x * (1 - 1e-12)


FOUND = [
    (
        [
            GaussianLaw(0.0013),
            SubsampledPLD(ReversedPLD(LaplaceLaw(0.0077)), 8.5e-6),
            SubsampledPLD(
                MixturePLD([(0.25, binomial_law(0.216, 27)), (0.75, GaussianLaw(0.0061))]), 0.9999999557
            ),
        ],
        [20, 1, 2],
        2.97e-90,
    ),
    ([SubsampledPLD(ReversedPLD(GaussianLaw(0.187)), 0.00224)], [13], 8.67e-73),
    (
        [binomial_law(1.75, 10), SubsampledPLD(SubsampledPLD(GaussianLaw(0.1376), 0.9999997727), 8.28e-6)],
        [1, 5],
        1e-60,
    ),
]


@pytest.mark.parametrize(("laws", "counts", "delta"), FOUND)
def test_epsilon_in_far_tail_is_finite(laws, counts, delta):
    low, high = Composition(laws, counts).answer("epsilon", np.array([delta]), None)
    assert np.all(low <= high)
    assert np.all(high < 100)


@given(pairs, st.floats(-20.0, 20.0))
def test_chord_bounds_beta(pair, t):
    law, truth = pair
    product = Composition([law], [1])
    (bound,) = product._chord(np.array([float(truth.p_above(mp.mpf(t)))]))
    assert bound >= (1 - truth.q_above(mp.mpf(t))) * (1 - mp.mpf("1e-15")) - mp.mpf("1e-15")


def test_beta_beyond_finite_mass_is_zero():
    law, _ = atomic([-1.0, 0.5], [0.5, 0.4], 0.1)
    low, high = Composition([ReversedPLD(law), GaussianLaw(0.1)], [20, 1]).answer(
        "beta", np.array([1e-3, 0.1, 0.5]), None
    )
    assert low[0] > 0
    assert high[1] == high[2] == 0


@pytest.mark.parametrize("epsilon", [2.0, 5.0, 38.9])
def test_underflowing_tail_needs_no_lattice(epsilon):
    """At the best point, c = 834 for a loss of 2, rounding hides M(c): a nearer one bounds as well."""
    f = to.subsample(to.Gaussian(1 / 8), 0.01) ** 1000
    assert tuple(f.bounds.delta(epsilon)) == (0.0, 5e-324)
    assert {step.engine for step in f.explain(epsilon=epsilon).steps} == {"contour"}
    with mp.workdps(40):
        c = 500

        def weighed(x):
            return (1 - mp.mpf(0.01) * (1 - mp.exp(x / 8 - mp.mpf(1) / 128))) ** c * mp.npdf(x)

        moment = mp.quad(weighed, [-20, 0, 10, 20, 40, 60, 80, 120])
        assert 1000 * mp.log(moment) - (c - 1) * epsilon < -745


ATOMS = [
    (to.Laplace(1) ** 10, 10, mp.mpf(2) ** -10),
    (to.Laplace(0.25) ** 40, 10, mp.mpf(2) ** -40),
    (to.Laplace(0.5) ** 4 @ to.PureDP(1) ** 3, 5, mp.mpf(2) ** -4 * (mp.e / (1 + mp.e)) ** 3),
]


@pytest.mark.parametrize("share", [1e-200, 1e-30, 1e-16])
@pytest.mark.parametrize(("f", "top", "mass"), ATOMS, ids=[repr(f) for f, *_ in ATOMS])
def test_epsilon_near_supremum_is_that_of_last_atom(f, top, mass, share, monkeypatch):
    """Above all other losses delta(x) = q (1 - e^(x - top)); no engine is used."""
    monkeypatch.setattr(Composition, "choices", None)
    delta = float(mass) * share
    result = f.bounds.epsilon(delta)
    with mp.workdps(60):
        truth = top + mp.log1p(-mp.mpf(delta) / mass)
        assert result.lower <= truth <= result.upper
    assert result.width <= 1e-13


def test_epsilon_with_atom_below_supremum_is_narrow():
    """The atom of a Laplace law next to a Gaussian bounds nothing wrong."""
    f = to.Laplace(1) ** 3 @ to.Gaussian(0.01)
    result = f.bounds.epsilon(1e-6)
    assert result.width < 1e-6
    assert 3 < result.lower < 3.05
