"""A planted fault is detected, made small and printed as a failing test; what is trusted keeps its charge."""

import random

import numpy as np
import pytest
from scipy.special import factorial

import tradeoff as to
from tests.fuzz.run import Case, Search
from tests.fuzz.shrink import NAMES, shrunk, smaller
from tests.truth.atoms import PureDP
from tests.truth.continuous import Gaussian, Laplace
from tests.truth.operators import Product, ReversedPLD, Subsampled
from tests.truth.polygons import Polygon
from tests.truth.trusted import TRUSTED, recorded

ANSWERS = "answers(spec, built(spec), 'beta', at) is None"


@pytest.fixture
def _halved(monkeypatch):
    right = to.Laplace.beta_bounds
    monkeypatch.setattr(to.Laplace, "beta_bounds", lambda *a: tuple(x / 2 for x in right(*a)))


@pytest.mark.usefixtures("_halved")
def test_a_fault_is_made_small():
    spec = Subsampled(ReversedPLD(Subsampled(Laplace(1.2345), 0.3127)), 0.7)
    assert shrunk(spec, 0.73123, ANSWERS) == (Laplace(1.0), 0.5)


@pytest.mark.usefixtures("_halved")
def test_a_finding_is_told_as_a_test_that_fails(capsys):
    Search(1).question(Laplace(1.2345), "1:0", to.Laplace(1.2345), Case.of("beta", 0.731))
    given = capsys.readouterr().out
    namespace = {**NAMES, "Laplace": Laplace}
    exec(given[given.index("def test") :], namespace)
    with pytest.raises(AssertionError):
        namespace["test_found"]()


def test_factors_counts_vertices_and_digits_go():
    one, two = Gaussian(0.777), Laplace(0.31)
    trials = list(smaller(Product(((one, 12), (two, 3)))))
    assert trials[:3] == [PureDP(1.0), one, two]
    assert {Product(((two, 3),)), Product(((one, 6), (two, 3))), Product(((one, 12), (Laplace(1.0), 3)))} <= {
        *trials
    }
    assert Polygon((0.0, 1.0), (1.0, 0.0)) in smaller(Polygon((0.0, 0.3, 1.0), (1.0, 0.2, 0.0)))


RECORDED = recorded()


@pytest.mark.parametrize("trusted", TRUSTED, ids=lambda each: each.name)
def test_no_error_exceeds_its_charge(trusted):
    x = np.hstack([RECORDED[trusted.name], trusted.draw(np.random.default_rng(random.getrandbits(64)), 40)])
    shares = trusted.shares(x)
    assert (shares <= 1).all(), (x[:, ~(shares <= 1)], shares)


def test_the_page_lists_what_is_trusted():
    assert list(RECORDED) == [trusted.name for trusted in TRUSTED]


def test_small_factorials_are_floats():
    assert factorial(np.arange(17)).tolist() == np.cumprod([1, *range(1, 17)]).tolist()
