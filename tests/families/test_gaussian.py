"""Products and groups of Gaussians, whose mu is a root: exact squares, and bounds about the root."""

import math
from fractions import Fraction as F  # noqa: N817 - squares are read more easily
from functools import reduce
from operator import matmul

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import tradeoff as to
from tests.truth.claims import check
from tests.truth.continuous import Gaussians
from tradeoff.errors import DomainError

PRODUCTS = [
    (0.1, 100),
    (0.1, 2),
    (0.1, 3),
    (0.3, 2),
    (0.7, 5),
    (1.1, 2),
    (1e-3, 10**6),
    (1e-170, 3),
    (30.0, 7),
]


def root(square):
    return arb(fmpq(square.numerator, square.denominator)).sqrt()


def holds(bounds, truth):
    return not (truth < arb(bounds.lower) or truth > arb(bounds.upper))


@pytest.mark.parametrize(("mu", "n"), PRODUCTS)
def test_functionals_of_powers_contain_root(mu, n):
    with ctx.workprec(300):
        square = n * F(mu) ** 2
        truth, curve = root(square), to.Gaussian(mu) ** n
        assert F(curve.mu) ** 2 >= square
        assert holds(curve.gdp(0).bounds, truth)
        assert holds(to.limits.kl(curve), truth**2 / 2)
        for order in (0.5, 1.0, 2.0, 50.0):
            assert holds(curve.bounds.renyi(order), order * truth**2 / 2)


@pytest.mark.parametrize(("mu", "n"), PRODUCTS)
@pytest.mark.parametrize("place", [0.0, 0.3, 2.0, 8.0, 30.0])
def test_delta_of_powers_contains_truth(mu, n, place):
    epsilon = place * (to.Gaussian(mu) ** n).mu
    check((to.Gaussian(mu) ** n).bounds.delta(epsilon), Gaussians(((mu, n),)).delta(epsilon))


def test_product_in_any_order_is_equal():
    step = to.Gaussian(0.1)
    looped = reduce(matmul, [step] * 1000)
    assert looped == step**1000 == (step**10) ** 100
    assert hash(looped) == hash(step**1000)
    assert to.Gaussian(3) @ to.Gaussian(4) == to.Gaussian(5)
    assert to.Gaussian(0.3).group(3).group(2) == to.Gaussian(0.3).group(6)
    assert to.Gaussian(math.inf).group(0) == to.Identity()
    assert step.group(3) ** 2 == to.Gaussian.from_weight(18 * F(0.1) ** 2)
    with pytest.raises(DomainError, match="square must be"):
        to.Gaussian.from_weight(F(-1))


def test_order_of_irrational_mu_is_strict():
    """100 F(.1)^2 is more than 1, by less than floats distinguish."""
    curve, one = to.Gaussian(0.1) ** 100, to.Gaussian(1.0)
    assert one >= curve
    assert not curve >= one
    assert curve != one
    steps = to.calibrate(lambda n: to.Gaussian(0.1) ** n, {"mu": 1}, integer=True)
    assert steps.value == 99
    assert tuple(steps.bounds) == (99, 101)
    assert steps.evaluations < 20  # undecided questions are not repeated


@pytest.mark.parametrize(("mu", "n"), [(0.1, 100), (0.7, 5)])
def test_certify_irrational_mu_stores_square(mu, n):
    for curve in (to.Gaussian(mu) ** n, to.Gaussian(mu) ** n @ to.Laplace(0.1)):
        certificate = to.certify(curve, "epsilon", 1e-5)
        assert to.verify(certificate)
        assert str(n * F(mu) ** 2) in certificate.to_json()


@pytest.mark.parametrize(("mu", "n"), [(0.1, 100), (0.1, 3)])
def test_delta_by_all_engines_overlaps(mu, n):
    """Where each factor is a law of its own, nothing is rounded before the product."""
    one = to.Gaussian(mu) ** n @ to.Laplace(0.2)
    losses = np.array([0.0, 0.5, 2.0, 6.0])
    result = [one.bounds.delta(losses, method=method) for method in (None, "contour", "lattice")]
    assert all(np.all(a.lower <= b.upper) for a in result for b in result)
