"""The oracle in digits against the oracle in balls."""

import mpmath as mp
import pytest
from flint import arb

from tests.golden import oracle
from tests.truth.atoms import PureDP
from tests.truth.continuous import Laplace
from tests.truth.operators import Product

ROUNDS = oracle.pure_dp_power(0.5, 2)


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        (oracle.laplace_power_delta(0.3, 0.7, 1), Laplace(0.7).delta(0.3)),
        (oracle.delta_of_atoms(ROUNDS, 0.2), Product(((PureDP(0.5), 2),)).delta(0.2)),
        (oracle.beta_of_atoms(ROUNDS, 0.2), Product(((PureDP(0.5), 2),)).beta(0.2)),
    ],
)
def test_digits_agree_with_balls(value, truth):
    assert abs(arb(mp.nstr(value, 45)) / truth - 1) < 1e-40
