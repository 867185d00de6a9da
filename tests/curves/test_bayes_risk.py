"""The Bayes risk of a curve: fractions for polygons, closed forms, and the ends of the priors."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import curves, exact_curves, log_uniform
from tradeoff.errors import DomainError

priors = st.one_of(
    st.floats(0, 1),
    log_uniform(1e-300, 1),
    log_uniform(1e-16, 0.5).map(lambda p: 1 - p),
    st.sampled_from([0.0, 5e-324, 0.5, 1 - 2.0**-53, 1.0]),
)


@given(exact_curves, priors)
def test_it_is_the_least_over_the_vertices(curve: to.PiecewiseLinear, prior: float) -> None:
    p = Fraction(prior)
    corners = [*curve.vertices, (Fraction(1), Fraction(0))]
    truth = min(p * alpha + (1 - p) * beta for alpha, beta in corners)
    low, high = curve.bounds.bayes_risk(prior)
    assert Fraction(low) <= truth <= Fraction(high)
    assert high - low <= 1e-14 * min(prior, 1 - prior) + 5e-324


@pytest.mark.parametrize("mu", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("prior", [1e-9, 0.1, 0.5, 0.9])
def test_gaussian(mu: float, prior: float) -> None:
    """Reject where x > t: t = mu/2 + log(prior/(1 - prior))/mu."""
    with mpmath.workdps(50):
        p = mpmath.mpf(prior)
        t = mpmath.mpf(mu) / 2 + mpmath.log(p / (1 - p)) / mu
        truth = p * mpmath.ncdf(-t) + (1 - p) * mpmath.ncdf(t - mu)
        low, high = to.Gaussian(mu).bounds.bayes_risk(prior)
        assert low <= truth <= high <= truth * (1 + 1e-9)


@given(curves, priors)
def test_exchanging_the_hypotheses_exchanges_the_priors(curve: to.TradeOff, prior: float) -> None:
    other = 1 - prior
    if Fraction(prior) + Fraction(other) == 1:
        here, there = curve.bounds.bayes_risk(prior), (~curve).bounds.bayes_risk(other)
        assert here.lower <= there.upper
        assert there.lower <= here.upper


@given(curves, st.lists(priors, min_size=1, max_size=4))
def test_arrays_are_their_entries(curve: to.TradeOff, each: list[float]) -> None:
    assert curve.bayes_risk(np.array(each)).tolist() == [curve.bayes_risk(prior) for prior in each]


def test_ends() -> None:
    assert to.Identity().bayes_risk([0.0, 0.3, 0.5, 1.0]).tolist() == pytest.approx([0.0, 0.3, 0.5, 0.0])
    assert to.TotalVariation(1.0).bayes_risk(0.5) == 0.0
    assert to.Gaussian(math.inf).bayes_risk(0.5) == 0.0


@pytest.mark.parametrize("prior", [-0.1, 1.1, math.nan, "1", None, True])
def test_what_is_no_prior_is_refused(prior: object) -> None:
    with pytest.raises(DomainError, match="prior"):
        to.Gaussian(1).bayes_risk(prior)
