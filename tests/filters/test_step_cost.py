"""Costs of a step against 60 digits and fractions."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.operators.test_divergence import binomial
from tests.strategies import log_uniform
from tradeoff.errors import BudgetExceeded, KindError
from tradeoff.filters import GDPFilter
from tradeoff.filters.step_cost import gdp_mu, is_sampled, renyi, zcdp
from tradeoff.mechanisms import SubsampledLaplace


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1, 0.999, 1.0, 5.0, 300.0])
def test_mu_of_randomised_response(epsilon):
    with mpmath.workdps(400):
        truth = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(epsilon) / 2))
        assert truth <= gdp_mu(to.PureDP(epsilon)) <= truth * (1 + 1e-13) + 1e-14


@pytest.mark.parametrize("order", [1.5, 4.0, 300.0])
@pytest.mark.parametrize("epsilon", [1e-7, 0.1, 2.0])
@pytest.mark.parametrize("family", [to.PureDP, to.Laplace])
def test_costs_bound_the_renyi_divergence(family, epsilon, order):
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
        if family is to.PureDP:
            moment = (mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))
        else:
            moment = a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)
        truth = mpmath.log(moment) / (a - 1)
        bound = renyi(family(epsilon), order)
        assert truth <= bound <= truth * (1 + 1e-6) + 1e-15
        assert truth <= order * zcdp(family(epsilon))[0]


@given(st.lists(st.tuples(log_uniform(1e-9, 1e3), st.integers(1, 2**37)), min_size=1, max_size=4))
def test_costs_of_products_are_rounded_up(parts):
    curve, truth = to.Identity(), Fraction(0)
    for mu, n in parts:
        curve, truth = curve @ to.PureDP(mu) ** n, truth + n * Fraction(zcdp(to.PureDP(mu))[0])
    assert truth <= Fraction(zcdp(curve)[0]) <= truth * (1 + Fraction(1, 2**46))


def test_renyi_divergence_of_a_sampled_gaussian():
    with mpmath.workdps(40):
        truth = binomial(1.0, 0.01, 8)  # some 4,500 times less than unsampled
        assert truth <= renyi(to.subsample(to.Gaussian(1.0), 0.01), 8.0) <= truth * (1 + 1e-9)
    assert not is_sampled(SubsampledLaplace(1, 0.1).curve())


def test_product_with_too_many_atoms_is_charged_by_its_parts():
    budget = GDPFilter(1)
    budget.spend(to.PureDP(1e-8) ** 10**7)  # mu^2 = 10^7 (sqrt(pi/2) 1e-8)^2
    assert math.sqrt(math.pi / 2) * 1e-8 * math.sqrt(1e7) <= budget.spent < 1e-3
    with pytest.raises(BudgetExceeded):
        GDPFilter(100).spend(to.PureDP(3.0) ** 10**7)
    with pytest.raises(KindError, match="no finite mu"):
        GDPFilter(1).spend(to.TotalVariation(0.1))
