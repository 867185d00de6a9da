"""The data frame for R's fdp: rows that it draws as a line, none above the curve."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import tradeoff as to
from tests.strategies import exact_curves
from tradeoff.interop import fdp

TOLERANCE = 2.0**-26
"""Of its checks: sqrt(.Machine$double.eps)."""


def drawn(curve):
    """Return the rows, after the checks of fdp 1.0.0 (fdp.R): range, beta <= 1 - alpha, monotone, convex."""
    frame = fdp.to_frame(curve)
    alpha, beta = frame["alpha"], frame["beta"]
    assert list(frame) == ["alpha", "beta"]
    assert len(alpha) >= 100
    assert (np.diff(alpha) > 0).all()
    assert (np.diff(beta) <= 0).all()
    assert alpha[0] == 0
    assert alpha[-1] == 1
    assert beta[-1] == 0
    assert (beta >= 0).all()
    assert (beta <= 1 - alpha + TOLERANCE).all()
    chord = beta[:-2] + (beta[2:] - beta[:-2]) * (alpha[1:-1] - alpha[:-2]) / (alpha[2:] - alpha[:-2])
    assert (beta[1:-1] <= chord + TOLERANCE).all()
    return alpha, beta


@pytest.mark.parametrize(
    "curve",
    [to.Identity(), to.TotalVariation(1), to.Gaussian(1), to.Laplace(0.3), ~to.subsample(to.PureDP(2), 0.1)],
)
def test_to_frame_is_at_or_below_the_curve_and_near(curve):
    alpha, beta = drawn(curve)
    assert (beta <= curve.bounds(alpha).upper).all()
    assert (beta >= curve(alpha) - 2e-3).all()


@settings(max_examples=30, deadline=None)
@given(exact_curves)
def test_chords_of_to_frame_are_at_or_below_the_curve(curve):
    alpha, beta = ([Fraction(v) for v in side.tolist()] for side in drawn(curve))
    for a, b, c, d in zip(alpha, beta, alpha[1:], beta[1:], strict=False):
        assert b <= curve.at(a)
        for corner, height in curve.vertices:
            if a < corner < c:
                assert b + (d - b) * (corner - a) / (c - a) <= height
