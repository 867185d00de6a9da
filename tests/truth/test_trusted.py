"""What the engine borrows errs by less than is charged: where it was seen to err most, and at random."""

import random

import numpy as np
import pytest
from scipy.special import factorial

from tests.truth.trusted import TRUSTED, recorded

RECORDED = recorded()


@pytest.mark.parametrize(
    "trusted",
    [pytest.param(t, id=t.name) for t in TRUSTED],
)
def test_no_error_exceeds_its_charge(trusted):
    drawn = trusted.draw(np.random.default_rng(random.getrandbits(64)), 40)
    x = np.hstack([RECORDED[trusted.name], drawn])
    shares = trusted.shares(x)
    assert (shares <= 1).all(), (x[:, ~(shares <= 1)], shares)


def test_the_page_lists_what_is_trusted():
    assert list(RECORDED) == [trusted.name for trusted in TRUSTED]


def test_small_factorials_are_floats():
    assert factorial(np.arange(17)).tolist() == np.cumprod([1, *range(1, 17)]).tolist()
