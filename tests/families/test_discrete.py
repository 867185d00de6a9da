"""Curves of integer laws and of shuffled answers; their truth is in ``tests/mechanisms``."""

import pytest

import tradeoff as to
from tradeoff.errors import NoClosedForm
from tradeoff.families.discrete import ShuffledPairCurve


def test_answers_of_a_shuffled_pair_count_the_outcomes_left_out():
    """All records may give one answer: then the loss is that of a single one, though seldom."""
    f = ShuffledPairCurve(1.0, 100_000)
    loss = 1.01 * float(f.loss_distribution().loss[-1])
    assert f.loss_bounds.lower < loss < 1.0 <= f.sup_loss
    assert f.epsilon(0.0) >= 1.0
    assert (f.delta(loss), (f**2).delta(2 * loss)) == pytest.approx((1e-25, 2e-25), rel=1e-9)
    with pytest.raises(NoClosedForm):
        to.certify(f, "delta", 0.01)
