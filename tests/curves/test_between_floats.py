"""Questions at numbers that are no floats are answered for them, and not for the floats beside."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy

import tradeoff as to
from tradeoff.curves.parameters import beside, reals
from tradeoff.errors import PrecisionError, SymbolError

F = Fraction


@pytest.mark.parametrize(
    "asked",
    [
        F(1) - F(1, 10**17),
        F(1) - F(9, 10**17),
        Decimal("0.99999999999999999"),
        np.longdouble(1) - np.longdouble(2) ** -60,
    ],
)
def test_delta_next_to_the_largest_loss(asked: Any) -> None:
    found = to.PureDP(1).bounds.delta(asked)
    with mpmath.workdps(50):
        at = mpmath.mpf(F(str(asked)).numerator) / F(str(asked)).denominator
        truth = (1 - mpmath.exp(at - 1)) / (1 + mpmath.exp(-1))
        assert found.lower <= truth <= found.upper


def test_a_steep_beta_and_an_epsilon() -> None:
    a = F(935762295948, 10**25)
    found = to.PureDP(30.0).bounds(a)
    with mpmath.workdps(50):
        at = mpmath.mpf(a.numerator) / a.denominator
        truth = max(1 - mpmath.exp(30) * at, mpmath.exp(-30) * (1 - at))
        assert found.lower <= truth <= found.upper
    third = to.TotalVariation(F(1, 3)).bounds.epsilon(F(1, 3))
    assert third.lower <= 0.0 <= third.upper


def test_an_entry_of_an_array_of_fractions_holds_the_scalar() -> None:
    f = to.PiecewiseLinear([0, F(1, 3000), 1], [1, F(1, 10**6), 0])
    every = [F(k, 200 * 3001) for k in range(1, 200)]
    low, high = f.bounds(every)
    for a, least, most in zip(every, low.tolist(), high.tolist(), strict=True):
        assert F(least) <= f(a) <= F(most)


def test_failures_in_fractions() -> None:
    assert to.TotalVariation(F(2, 3)).dominates(to.Identity(), failure=F(2, 3))
    assert not to.TotalVariation(F(1, 10) + F(1, 10**19)).dominates(to.Identity(), failure=F(1, 10))
    assert to.TotalVariation(0.1).gdp(failure=F(1, 10)).mu == math.inf


@pytest.mark.slow
def test_a_failure_within_an_ulp_of_a_leak() -> None:
    """The leak is 0.28 - 1.2e-17, so that 1.7e-17 of the failure are left: mu is 2.10665."""
    leak = to.TotalVariation(0.1) @ to.TotalVariation(0.2)
    h = to.subsample(to.Gaussian(3), 1e-3)
    found = (h @ leak).gdp(failure=0.28).bounds
    assert found.lower == pytest.approx(2.106646, abs=1e-6)
    assert found.lower <= found.upper <= found.lower + 1e-8
    assert h.gdp(failure=1.696174065399545e-17).mu == pytest.approx(2.106646, abs=1e-6)


def test_a_failure_that_is_a_leak_in_fractions() -> None:
    part = F(1, 10**5)
    assert (to.Gaussian(1) @ to.TotalVariation(part)).gdp(failure=part).mu == 1
    assert to.TotalVariation(part).gdp(failure=part).mu == 0


def test_what_is_reported_of_a_failure_holds() -> None:
    third, tenth = F(1, 3), np.longdouble(1) / 10
    f = to.Gaussian(1) @ to.TotalVariation(third)
    found = f.gdp(failure=third)
    assert found.mu == 1
    assert F(found.failure) >= third
    assert found.curve <= f
    q = F(1, 10) + F(2, 10**18)
    assert (to.Gaussian(1) @ to.TotalVariation(q)).gdp(failure=tenth).mu == math.inf
    assert to.TotalVariation(0.25).gdp(failure=Decimal("1e-99999999")).mu == math.inf


def test_tolerances_beside_ends_and_of_the_faint() -> None:
    h = to.Gaussian(1) @ to.TotalVariation(1e-12)
    assert h.bounds([0.0, F(3, 10)], tol=1e-6).width.max() < 1e-3
    assert to.Gaussian(1).bounds.delta(F(386, 10), tol=1e-5).upper < 1e-300


def test_guarantees_in_fractions_are_rounded_up() -> None:
    f = to.Profile.from_epsilon_delta({0: F(1, 3)})
    assert F(f(0.0)) <= F(2, 3)
    assert to.conversions.from_zcdp(F(1, 3)) == to.conversions.from_zcdp(math.nextafter(1 / 3, 1))


def test_orders_and_priors_in_fractions() -> None:
    for order in (F(1, 3), F(2, 3), F(1, 10), F(10, 3)):
        low, high = to.Gaussian(1).bounds.renyi(order)
        assert F(low) <= order / 2 <= F(high)
    for prior in (F(1, 3), F(2, 3), F(1, 10), F(9, 10), F(1, 10**400)):
        low, high = to.Identity().bounds.bayes_risk(prior)
        assert F(low) <= min(prior, 1 - prior) <= F(high)
        low, high = to.TotalVariation(F(1, 4)).bounds.bayes_risk(prior)
        assert F(low) <= min(prior, 1 - prior, F(3, 4) * min(prior, 1 - prior)) <= F(high)


def test_a_tolerance_that_is_not_reached_between_floats_is_said() -> None:
    with pytest.raises(PrecisionError):
        to.approximate_dp(1, 0.1).bounds.epsilon(F(1, 10), tol=1e-3)


@pytest.mark.parametrize("whole", [2**53 + 1, np.int64(2**53 + 1), [2**60 + 1, 3]])
def test_integers_beyond_those_of_floats(whole: Any) -> None:
    found = np.asarray(reals("n", whole))
    low, high = beside(whole, found)
    exact = [int(n) for n in np.atleast_1d(np.array(whole, dtype=object))]
    for n, a, b in zip(exact, np.atleast_1d(low).tolist(), np.atleast_1d(high).tolist(), strict=True):
        assert F(a) <= n <= F(b)
        assert F(b) > F(a) or F(a) == n


def test_no_finite_loss_has_no_least_end() -> None:
    s = to.subsample(to.Gaussian(math.inf), 0.5)
    low, high = s.bounds.epsilon(0.5)
    assert low <= -math.log(2) <= high
    assert s >= to.TotalVariation(0.5)
    assert to.subsample(to.Gaussian(math.inf), 0.5, scheme="without-replacement") >= to.TotalVariation(0.5)
    assert s.symmetrise(assume="profile").bounds.epsilon(0.5).lower <= 0


def test_orders_of_symbols_and_of_very_many_rounds() -> None:
    k, m = sympy.symbols("k m", positive=True)
    half, some = (to.subsample(to.Gaussian(1), p, scheme="without-replacement") for p in (0.5, m))
    for f, g in ((to.PureDP(1).group(k), to.PureDP(1).group(5)), (some, half)):
        with pytest.raises(SymbolError):
            f.__ge__(g)
    assert not to.subsample(to.Gaussian(1), 0.1) ** 10**309 >= to.PureDP(3)
