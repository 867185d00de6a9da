"""Questions where the answer is known before any engine is asked."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import curves

OPERATED: dict[str, Callable[[to.TradeOff], to.TradeOff]] = {
    "envelope": lambda f: f.symmetrise(assume="either-order"),
    "subsampled": lambda f: to.subsample(f, 0.1),
    "mixture": lambda f: to.mixture({f: 0.5, to.Gaussian(5.5): 0.5}),
    "inverse": lambda f: ~f,
    "product": lambda f: f @ to.Laplace(0.1) ** 40,
}


@settings(max_examples=30, deadline=None)
@given(curves, st.sampled_from(sorted(OPERATED)))
def test_the_ends_are_known_to_any_width(f: to.TradeOff, name: str) -> None:
    """f(0) = 1 - Q(L = inf) and f(1) = 0, so that an array which holds 0 or 1 can have any tol."""
    for curve in (f, OPERATED[name](f)):
        result = curve.bounds([0.0, 1.0], tol=1e-300)
        assert result.lower[1] == result.upper[1] == 0
        least, most = (1 - Fraction(side) for side in reversed(tuple(curve.mass_at_infinity)))
        assert result.lower[0] <= most
        assert least <= result.upper[0]
        assert result.upper[0] - result.lower[0] <= (1e-15 if curve.mass_at_plus_infinity else 0)


@pytest.mark.parametrize("f", [to.Laplace(0.1) ** 40, to.approximate_dp(0.1, 1e-9) ** 40], ids=repr)
def test_ends_do_not_spoil_what_can_be_reached_between_them(f: to.TradeOff) -> None:
    alpha = np.array([0.0, 0.1, 1.0])
    result = f.bounds(alpha, tol=1e-4)
    assert np.all(result.lower <= f.bounds(alpha).upper)
    assert result.upper[1] - result.lower[1] <= 1e-4 * result.upper[1]


@pytest.mark.parametrize(
    ("f", "truth"),
    [
        (to.PureDP(0.1) ** 3, 3 * mp.mpf(0.1)),
        (to.Laplace(0.7) @ to.PureDP(1e-9), mp.mpf(0.7) + mp.mpf(1e-9)),
        (to.subsample(to.PureDP(1.0), 0.1), mp.log(1 + mp.mpf(0.1) * mp.expm1(1))),
        (~to.subsample(to.PureDP(1.0), 0.1), -mp.log(1 + mp.mpf(0.1) * mp.expm1(-1))),
        (to.subsample(to.PureDP(650.0), 1e-3), 650 + mp.log(mp.mpf(1e-3))),
        (to.PureDP(0.3).group(2) @ to.PureDP(0.1), 2 * mp.mpf(0.3) + mp.mpf(0.1)),
        (to.PureDP(0.25), mp.mpf(0.25)),
    ],
    ids=repr,
)
def test_epsilon_at_delta_zero_holds_the_largest_loss(f: to.TradeOff, truth: mp.mpf) -> None:
    result = f.bounds.epsilon(0.0)
    assert result.lower <= truth <= result.upper
    assert result.width <= (1e-14 if truth < 600 else 0.02) * (1 + truth)


def test_a_curve_lists_its_questions_and_not_its_hooks() -> None:
    listed = set(dir(to.Gaussian(1) @ to.Laplace(1)))
    assert {"epsilon", "delta", "bounds", "gdp", "symmetrise", "factors"} < listed
    assert not {"delta_bounds", "loss_distribution", "mass_at_plus_infinity", "require_numbers"} & listed
