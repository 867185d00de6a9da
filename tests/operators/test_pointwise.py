"""Maxima, minima and products of whole curves."""

from __future__ import annotations

import numpy as np
import pytest

import tradeoff as to
from tradeoff.accounting.lattice.engine import LatticeEngine
from tradeoff.errors import PrecisionError


@pytest.mark.slow
def test_delta_of_composed_group_and_maximum_matches_beta() -> None:
    """delta from whole curves, against beta at many alphas: f falls, so each cell is known from its ends."""
    f, alpha = to.Laplace(0.5) ** 3 @ to.Gaussian(0.5), np.linspace(0.0, 0.3, 61)
    for g in (f.group(2), to.maximum(f, to.Gaussian(1.3))):
        result, beta = g.bounds.delta(1.0), g.bounds(alpha)
        assert result.upper >= np.max(1 - beta.upper - np.e * alpha)
        assert result.lower <= np.max(1 - beta.lower[1:] - np.e * alpha[:-1])
        assert result.width < 1e-2 * result.upper


@pytest.mark.parametrize("alpha", [1e-300, 1e-16, 1e-6, 0.01, 0.5, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("rate", [1e-3, 0.3, 0.9])
def test_inverse_of_sampled_minimum_inverts_beta(alpha, rate):
    """Of f^-1(alpha) = t: f is at most alpha at t, and at least alpha before it."""
    order = to.subsample(to.minimum(to.PureDP(0.3), to.Gaussian(0.5)), rate)
    result = (~order).bounds(alpha)
    assert result.width <= 1e-10
    assert order.bounds(result.upper).lower <= alpha
    assert order.bounds(result.lower).upper >= alpha


def test_product_of_whole_curves_refuses_narrow_tolerance_at_once(monkeypatch):
    """Its laws below and above are apart: no engine refines them."""
    f = to.maximum(to.Gaussian(1), to.Laplace(0.8)) ** 2
    usual = f.bounds.epsilon(1e-5)
    monkeypatch.setattr(LatticeEngine, "refine", None)
    with pytest.raises(PrecisionError) as refused:
        f.bounds.epsilon(1e-5, tol=1e-9)
    assert refused.value.reachable == usual.width
