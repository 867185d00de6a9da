"""Curves of (epsilon, delta) guarantees: never above the truth, in every form of the guarantees."""

import numpy as np
import pytest

import tradeoff as to
from tradeoff.errors import DomainError


def test_from_epsilon_delta_accepts_all_forms():
    table = {0.5: 0.01, 1.0: 1e-5}
    f = to.Profile.from_epsilon_delta(table)
    assert (
        f
        == to.Profile.from_epsilon_delta(list(table.items()))
        == to.Profile.from_epsilon_delta(iter(table.items()))
    )
    assert f == to.Profile.from_epsilon_delta(table.get, epsilons=[1.0, 0.5])


def test_from_epsilon_delta_of_function_is_safe():
    g = to.Gaussian(0.8)
    f = to.Profile.from_epsilon_delta(g.delta, epsilons=np.linspace(0, 3, 121))
    losses, alphas = np.array([0.0, 0.1, 1.0, 2.0, 2.9]), np.array([1e-9, 1e-3, 0.1, 0.5, 0.9])
    assert np.all(f.delta(losses) >= g.bounds.delta(losses).lower)
    assert np.all(f.delta(losses) <= 1.002 * g.delta(losses))
    assert np.all(f(alphas) <= g.bounds(alphas).upper)
    assert to.Profile.from_epsilon_delta(lambda _: 0.0) == to.Identity()


@pytest.mark.parametrize("epsilons", [None, [1.0]])
def test_from_epsilon_delta_of_raising_function_raises(epsilons):
    with pytest.raises(DomainError, match=r"delta\(.*\) raised ZeroDivisionError"):
        to.Profile.from_epsilon_delta(lambda _: 1 / 0, epsilons)


@pytest.mark.parametrize(
    "bad", [[], {}, [1], 3, "x", lambda _: 2.0, lambda _: np.nan, [(1, 2)], [(-1, 0.1)], [(1, 2, 3)]]
)
def test_from_epsilon_delta_of_invalid_guarantees_raises(bad):
    with pytest.raises(DomainError):
        to.Profile.from_epsilon_delta(bad)


def test_from_epsilon_delta_epsilons_with_pairs_raises():
    with pytest.raises(DomainError, match="epsilons are for a function"):
        to.Profile.from_epsilon_delta({1.0: 0.1}, epsilons=[1.0])


@pytest.mark.parametrize(
    "make", [to.approximate_dp, lambda e, d: to.mechanisms.ApproximateDP(epsilon=e, delta=d)]
)
def test_swapped_epsilon_and_delta_are_refused(make):
    with pytest.raises(DomainError, match=r"^delta must be at most 0.1 .*, got 1.*; are .* swapped\?"):
        make(1e-5, 1)
    for pair in ((0, 0.5), (1e-5, 0.1), (0.01, 1), (1, 1e-5)):
        make(*pair)
