"""Operators with a formula for beta alone (maxima, groups, Symm) of composed curves: against balls."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from flint import arb

import tradeoff as to
from tests.truth.atoms import PureDP
from tests.truth.built import built
from tests.truth.claims import check
from tests.truth.continuous import Gaussian
from tests.truth.operators import Group, Maximum, Product, Subsampled

ROUNDS = Product(((PureDP(0.4), 3),))
PAIRS = {
    "smooth and polygon": Maximum((Subsampled(Gaussian(2), 0.3), ROUNDS)),
    "two smooth": Maximum((Subsampled(Gaussian(3), 0.1), Subsampled(Gaussian(1), 0.8))),
}


@cache
def delta_truth(name, epsilon):
    return PAIRS[name].delta(epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon", "tol"), [*product(PAIRS, (0.01, 0.25, 0.5, 0.6), (1e-6, 1e-9))])
def test_delta_of_maximum_reaches_tolerance(name, epsilon, tol):
    f, truth = built(PAIRS[name]), delta_truth(name, epsilon)
    assert truth.rel_accuracy_bits() > 50
    result = f.bounds.delta(epsilon, tol=tol)
    check(result, truth)
    assert result.width <= tol * result.upper
    check(f.bounds.delta(epsilon), truth)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon"), [*product(PAIRS, (0.01, 0.25, 0.5))])
def test_epsilon_of_maximum_inverts_delta(name, epsilon):
    f, truth = built(PAIRS[name]), float(delta_truth(name, epsilon))
    # epsilon(delta) falls: at a delta not below delta(eps) it is at most eps, and the other way round.
    assert f.bounds.epsilon(truth * (1 + 2**-50), tol=1e-7).lower <= epsilon
    assert f.bounds.epsilon(truth * (1 - 2**-50), tol=1e-7).upper >= epsilon


@pytest.mark.slow
def test_tabulate_of_maximum_holds_truth():
    for spec in PAIRS.values():
        lower, upper = built(spec).tabulate()
        for alpha in np.concatenate([np.geomspace(1e-12, 0.5, 30), 1 - np.geomspace(1e-9, 0.5, 20)]).tolist():
            result = to.Bounds(lower(alpha), upper.bounds(alpha).upper)
            check(result, spec.beta(alpha))
            assert result.width <= 2e-3 * result.lower


@pytest.mark.slow
def test_maximum_of_products_reaches_tolerance():
    """It took a minute to refuse 1e-6; two of the three were 1e-3 wide at every tolerance."""
    f = to.maximum(to.subsample(to.Gaussian(1), 0.01) ** 1000, to.Laplace(0.05) ** 100)
    g = f.operands[0]
    assert f.bounds.delta(1.0, tol=1e-6).upper <= g.delta(1.0)
    assert f.bounds.epsilon(1e-5, tol=1e-6).width <= 1e-6
    # where it is one of its operands it is that
    few = to.maximum(to.subsample(to.Gaussian(1), 0.01) ** 1000, to.Laplace(0.1) ** 100)
    low, high = few.bounds.epsilon(1e-5, tol=1e-7)
    assert low <= g.bounds.epsilon(1e-5).upper
    assert g.bounds.epsilon(1e-5).lower <= high
    assert high == pytest.approx(g.epsilon(1e-5), rel=1e-7)


@pytest.mark.slow
def test_group_of_product_reaches_tolerance():
    """The group of a Gaussian is one; with randomised response of 1e-13 it is composed, and the same."""
    f, g = (to.Gaussian(0.7) @ to.PureDP(1e-13)).group(2), to.Gaussian(1.4)
    for epsilon in (-2.0, 0.5):
        low, high = f.bounds.delta(epsilon, tol=1e-7)
        assert high - low <= 1e-7 * high
        assert low <= g.bounds.delta(epsilon).upper + 1e-12
        assert g.bounds.delta(epsilon).lower <= high
    low, high = f.bounds.epsilon(1e-6, tol=1e-7)
    assert high - low <= 1e-7
    assert low <= g.epsilon(1e-6) + 1e-10
    assert g.bounds.epsilon(1e-6).lower <= high


@pytest.mark.parametrize("k", [2, 3])
def test_group_of_randomised_response_matches_chain(k):
    f, spec = built(ROUNDS), Group(ROUNDS, k)
    for epsilon in (0.1, 0.8, 2.0):
        result, truth = f.group(k).bounds.delta(epsilon, tol=1e-6), spec.delta(epsilon)
        check(result, truth)
        assert arb(result.lower) <= truth + 1e-15
