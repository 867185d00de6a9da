"""Operators take curves only, and name the way from other objects to a curve."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import tradeoff as to
from tradeoff.errors import DomainError, KindError

NO_CURVES = [to.mechanisms.Laplace(scale=1.0), to.limits.clt(to.Gaussian(1.0)), None, 0.5]


@pytest.mark.parametrize("thing", NO_CURVES, ids=repr)
def test_operators_refuse_other_objects(thing: object) -> None:
    g = to.Gaussian(1.0)
    for operator in (
        lambda: to.maximum(g, thing),
        lambda: to.minimum(g, thing),
        lambda: to.distance(g, thing),
        lambda: to.distance(thing, g),
        lambda: to.subsample(thing, 0.1),
        lambda: to.mixture({thing: 0.5, g: 0.5}),
        lambda: to.mixture({thing: 1.0}),
    ):
        with pytest.raises(KindError):
            operator()


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (
            lambda: to.mechanisms.Laplace(scale=1.0),
            r"is a mechanism,.*write Laplace\(\.\.\.\)\.guarantee\(\)",
        ),
        (lambda: to.Laplace(1.0).gdp(), r"is a Reduction,.*write Reduction\(\.\.\.\)\.curve$"),
        (
            lambda: to.mechanisms.Plan({to.mechanisms.Laplace(scale=1.0): 2}),
            r"is a Plan,.*write Plan\(\.\.\.\)\.guarantee\(\)",
        ),
        (
            lambda: to.limits.berry_esseen(to.Laplace(0.1) ** 400),
            r"is a BerryEsseen,.*write BerryEsseen\(\.\.\.\)\.guarantee\(\)",
        ),
        (lambda: to.limits.clt(to.Laplace(0.1) ** 400), "estimate"),
        (lambda: 0.5, r"0\.5 is not a trade-off function"),
    ],
    ids=["mechanism", "reduction", "plan", "limit", "estimate", "number"],
)
def test_operators_suggest_the_curve_of_an_object(make: Callable[[], object], remedy: str) -> None:
    thing = make()
    for operator in (
        lambda: to.Gaussian(1.0) @ thing,
        lambda: to.Gaussian(1.0) >= thing,
        lambda: to.subsample(thing, 0.1),
    ):
        with pytest.raises(KindError, match=remedy):
            operator()


def test_distance_of_equal_curves_is_zero() -> None:
    assert to.Gaussian(1.0).distance(to.Gaussian(1.0)).upper == 0


def test_conjugate_at_ends_is_exact() -> None:
    dual = to.approximate_dp(1.0, 0.1).dual()
    assert list(dual.conjugate([-np.inf, 0.0, 2.0, np.inf])) == pytest.approx([-0.9, 0.0, 2.0, np.inf])
    assert dual.conjugate(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(DomainError, match="NaN"):
        dual.conjugate([0.0, np.nan])


@pytest.mark.slow
@pytest.mark.parametrize("n", [312, 10**6, 10**9])
def test_large_power_of_exact_curve_stays_symbolic(n: int) -> None:
    f = to.PiecewiseLinear([0, Fraction(1, 4), 1], [1, Fraction(1, 4), 0]) ** n
    assert 0 <= f(0.1) <= 1e-60
    assert f.delta(0.5) == pytest.approx(1)
