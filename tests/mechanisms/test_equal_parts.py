"""Weights and counts of parts that turn out to be equal are added, whichever way they came."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
import sympy

import tradeoff as to
import tradeoff.mechanisms as m
from tradeoff.errors import DomainError


def hits(delta: float, rate: float, k: int) -> Fraction:
    """delta of one of f_{0,delta}'s groups under a sample of k: of j hits min(1, j delta) is lost."""
    r, d = Fraction(rate), Fraction(delta)
    return sum(
        (math.comb(k, j) * r**j * (1 - r) ** (k - j) * min(1, j * d) for j in range(k + 1)), Fraction(0)
    )


@pytest.mark.parametrize(
    ("delta", "rate", "k"), [(0.6, 0.5, 3), (0.4, 0.5, 4), (0.6, 5e-13, 3), (1.0, 0.5, 2)]
)
def test_groups_that_are_equal_count_each(delta: float, rate: float, k: int) -> None:
    curve = m.Subsampled(m.ApproximateDP(0.0, delta), rate, group_size=k).curve()
    truth = hits(delta, rate, k)
    assert truth <= curve.bounds.delta(0.0).upper <= float(truth) * (1 + 1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        m.Subsampled(m.Gaussian(math.inf), 0.5, group_size=3),
        m.Subsampled(m.ApproximateDP(0.0, 1.0), 0.5, group_size=3),
        m.Subsampled(m.Custom(to.Identity()), 0.5, group_size=3),
        m.SubsampledLaplace(math.inf, 0.5, group_size=3),
        m.TruncatedSubsampledGaussian(math.inf, 0.5, 2, 4),
    ],
    ids=repr,
)
def test_noise_that_hides_all_or_nothing_in_groups(mechanism: m.Mechanism) -> None:
    open_ = "ApproximateDP" in repr(mechanism)
    assert mechanism.curve().delta(0.0) == pytest.approx(0.875 if open_ else 0.0, abs=1e-12)


def test_a_file_that_names_a_mechanism_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    to.save(to.Plan({m.Gaussian(1): 5, m.Laplace(1): 1}), path)
    joined = json.loads(path.read_text())
    result = joined["tradeoff"]
    result["runs"][1][0] = result["runs"][0][0]
    path.write_text(json.dumps(joined))
    with pytest.raises(DomainError, match="must not repeat a mechanism; add the counts"):
        to.load(path)


@pytest.mark.slow
def test_operands_with_one_inverse_keep_their_weights() -> None:
    """Formulas of one function may differ; of (1 - a)^2 the other order has delta(eps) = e^-eps/4."""
    alpha = sympy.Symbol("alpha")
    one, two = (to.Symbolic(expr, alpha) for expr in ((1 - alpha) ** 2, 1 - 2 * alpha + alpha**2))
    mixed, truth = to.mixture({one: 0.5, two: 0.5}), math.exp(-0.5) / 4
    result = (~mixed).bounds.delta(0.5)
    assert result.lower <= truth * (1 + 1e-12)
    assert result.upper >= truth * (1 - 1e-12)
    assert mixed.symmetrise(assume="either-order").bounds.delta(0.5).upper >= truth * (1 - 1e-12)


def test_nobody_writes_into_vertices() -> None:
    curve = to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.3, 0])
    for each in (curve, curve.inverse(), to.PiecewiseLinear.hull([0.2], [0.3])):
        with pytest.raises(ValueError, match="read-only"):
            each.alpha[0] = 0.5
