"""Curves without a public constructor: answers to six digits, and repr."""

from __future__ import annotations

import math

import pytest

import tradeoff as to
from tradeoff.errors import NoClosedForm
from tradeoff.families.discrete import (
    AllocatedCurve,
    BinomialCurve,
    CorrelatedCurve,
    DiscreteGaussianCurve,
    DiscreteLaplaceCurve,
    ShuffledCurve,
    ShuffledPairCurve,
    SkellamCurve,
)
from tradeoff.families.laplace import BoundedRange, Truncated


@pytest.mark.parametrize(
    ("answer", "digits", "value"),
    [
        (lambda: (DiscreteGaussianCurve(2.0, 1) ** 20).epsilon(1e-5), 6, 11.474643),
        (lambda: DiscreteLaplaceCurve(2.0, 2).epsilon(0), 1, 1.0),
        (lambda: SkellamCurve(100.0, 1).delta(0.1), 9, 0.008762069),
        (lambda: BinomialCurve(10, 1).mass_at_plus_infinity, 12, 2.0**-10),
        (lambda: BinomialCurve(10, 1).sup_loss, 12, math.log(10)),  # C(10, 9)/C(10, 10)
        (lambda: BinomialCurve(10, 1).delta(1.0), 9, 0.025487207),
        (lambda: ShuffledCurve(1.0, 1000).epsilon(1e-6), 4, 0.1824),
        (lambda: ShuffledPairCurve(1.0, 1000, reverse=True).bounds.epsilon(1e-6).lower, 4, 0.1266),
        (lambda: AllocatedCurve(1.0, 100).delta(0.62137), 13, 9.9524202e-06),
        (lambda: BoundedRange(1.0)(0.25), 6, 0.524633),
        (lambda: BoundedRange(1.0).delta(0.5), 6, 0.077405),
        (lambda: Truncated(1.0, 1.0, 5.0, normal=False).delta(1.0), 6, 0.005828),
        (lambda: Truncated(1.0, 1.0, 5.0, normal=False)(0.1), 6, 0.722344),
        (lambda: to.conversions.ZeroConcentrated(0.5).epsilon(1e-5), 5, 4.72839),
    ],
)
def test_curve_without_public_name_answers(answer, digits, value):
    assert round(answer(), digits) == round(value, digits)


def test_correlated_curve_is_enclosed():
    low, high = CorrelatedCurve((10, 1, 0.3, 0.0, 0.7), (10, 2, 0.0, 0.3, 0.7)).bounds.epsilon(1e-5)
    assert low < high


def test_answers_of_a_shuffled_pair_count_the_outcomes_left_out():
    """All records may give one answer: then the loss is that of a single one, though seldom."""
    f = ShuffledPairCurve(1.0, 100_000)
    law = f.loss_distribution()
    loss = 1.01 * float(law.loss[-1])
    assert f.loss_bounds.lower < loss < 1.0 <= f.sup_loss
    assert f.epsilon(0.0) >= 1.0
    assert (f.delta(loss), (f**2).delta(2 * loss)) == pytest.approx((1e-25, 2e-25), rel=1e-9)
    with pytest.raises(NoClosedForm):
        to.certify(f, "delta", 0.01)
