"""Functionals of curves known only between two others.

Their values in closed form, and what the order allows.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tradeoff.errors import NoClosedForm, PrecisionError

FUNCTIONALS = (to.limits.kl, to.limits.kappa2, to.limits.kappa3, to.limits.kappa3bar)


def of_losses(mass: np.ndarray, loss: np.ndarray) -> list[float]:
    """Sum the four functionals over finitely many losses."""
    kl = -float(mass @ loss)
    return [kl, float(mass @ loss**2), float(mass @ np.abs(loss) ** 3), float(mass @ np.abs(loss + kl) ** 3)]


def hold(curve: to.TradeOff, truth: list[float], width: float = 4e-3) -> None:
    for functional, exact in zip(FUNCTIONALS, truth, strict=True):
        low, high = functional(curve)
        assert low * (1 - 1e-12) <= exact <= high * (1 + 1e-12), functional.__name__
        assert high - low <= width * exact, functional.__name__


@settings(max_examples=6)
@given(epsilon=st.floats(0.05, 2))
def test_kl_of_groups_of_randomised_response(epsilon: float) -> None:
    # 1 - f is steep up to the kink: three steps of it have losses 3, 1, -1 and -3 epsilon.
    kink = 1 / (1 + np.exp(epsilon))
    above = kink * np.exp(-epsilon * np.arange(3.0))[::-1]
    mass = np.diff(np.concatenate([[0.0], above, [1.0]]))
    low, high = to.limits.kl(to.PureDP(epsilon).group(3))
    exact, *_ = of_losses(mass, epsilon * np.array([3.0, 1.0, -1.0, -3.0]))
    assert low * (1 - 1e-12) <= exact <= high * (1 + 1e-12)
    assert high - low <= 4e-3 * exact


@settings(max_examples=12)
@given(epsilon=st.floats(0.1, 3), p=st.floats(0.01, 0.9))
def test_envelopes_of_sampled_randomised_response(epsilon: float, p: float) -> None:
    step = to.subsample(to.PureDP(epsilon), p)
    with mpmath.workdps(50):  # losses are logarithms of quotients next to 1
        high, low = (mpmath.log1p(p * mpmath.expm1(x)) for x in (epsilon, -epsilon))
        # Removing a record is the worse order for small alpha, adding for large: the hull has a middle piece.
        assert -low < high
        # The supporting lines of both orders: vertices of one at small alpha, of its mirror image at large.
        kink = 1 / (1 + mpmath.exp(epsilon))
        (a, b), (c, d) = (kink, 1 - mpmath.exp(high) * kink), (1 - mpmath.exp(high) * kink, kink)
        mass, other = (a, c - a, 1 - c), (1 - b, b - d, d)
        loss = [mpmath.log(q / p) for p, q in zip(mass, other, strict=True)]
        truth = of_losses(np.array(mass, dtype=float), np.array(loss, dtype=float))
    hold(step.symmetrise(assume="either-order"), truth)


WITHOUT_LAW = [
    to.minimum(to.Gaussian(1.0), to.PureDP(1.0)),
    to.PureDP(0.5).group(3),
    to.subsample(to.Gaussian(1.0), 0.1).symmetrise(assume="profile"),
    ~to.subsample(to.minimum(to.Gaussian(1.0), to.PureDP(1.0)), 0.2),
    to.mixture({to.minimum(to.Gaussian(1.0), to.PureDP(1.0)): 0.5, to.Gaussian(1.0): 0.5}),
]


@pytest.mark.parametrize("curve", WITHOUT_LAW, ids=repr)
def test_curves_without_a_law_have_kl_only(curve: to.TradeOff) -> None:
    low, high = to.limits.kl(curve)
    assert 0 < low <= high
    for functional in FUNCTIONALS[1:]:
        with pytest.raises(NoClosedForm, match="needs the exact law"):
            functional(curve)


def test_kl_of_a_hull_is_at_least_that_of_its_operands() -> None:
    assert to.limits.kl(WITHOUT_LAW[0]).upper >= to.limits.kl(to.Gaussian(1.0)).lower


def test_envelope_of_a_sampled_gaussian_has_finite_functionals() -> None:
    for functional in FUNCTIONALS:
        low, high = functional(to.subsample(to.Gaussian(1.0), 0.1).symmetrise(assume="either-order"))
        assert 0 < low <= high
        assert high - low < 0.02 * high


def test_kl_adds_over_a_product() -> None:
    hull, group = WITHOUT_LAW[:2]
    low, high = to.limits.kl(group**4 @ hull)
    assert low == pytest.approx(4 * to.limits.kl(group).lower + to.limits.kl(hull).lower, rel=1e-12)
    assert high == pytest.approx(4 * to.limits.kl(group).upper + to.limits.kl(hull).upper, rel=1e-12)


def test_mass_at_minus_infinity_is_infinite() -> None:
    curve = to.minimum(to.Gaussian(1.0), to.TotalVariation(0.1))
    assert all(functional(curve).lower == np.inf for functional in FUNCTIONALS)


def test_losses_too_large_for_floats_are_never_no_loss() -> None:
    curve = to.PureDP(1e4)
    assert to.limits.kappa3bar(curve).upper > 0
    for theorem in (to.limits.clt, to.limits.edgeworth):
        with pytest.raises(PrecisionError, match="for floats"):
            theorem(curve)
