"""The oracle in digits against the oracle in balls."""

import mpmath as mp
import pytest
from flint import arb

from tests.golden import oracle
from tests.truth.atoms import PureDP
from tests.truth.continuous import Gaussian, Laplace
from tests.truth.operators import Product, ReversedPLD, Subsampled

ROUNDS = oracle.pure_dp_power(0.5, 2)
THINNED = Subsampled(Gaussian(1.0), 0.01)


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        (oracle.laplace_power_delta(0.3, 0.7, 1), Laplace(0.7).delta(0.3)),
        (oracle.laplace_beta(0.2, 0.7), Laplace(0.7).beta(0.2)),
        (oracle.gaussian_delta(0.3, 0.7), Gaussian(0.7).delta(0.3)),
        (oracle.gaussian_beta(0.2, 0.7), Gaussian(0.7).beta(0.2)),
        (oracle.delta_of_atoms(ROUNDS, 0.2), Product(((PureDP(0.5), 2),)).delta(0.2)),
        (
            oracle.beta_of_atoms(oracle.product_of_atoms([ROUNDS, oracle.pure_dp_power(0.3, 1)]), 0.2),
            Product(((PureDP(0.5), 2), (PureDP(0.3), 1))).beta(0.2),
        ),
        *(
            (oracle.subsampled_gaussian_delta(epsilon, 1.0, 0.01, order=order), spec.delta(epsilon))
            for epsilon in (-0.004, 0.004)
            for order, spec in (("remove", THINNED), ("add", ReversedPLD(THINNED)))
        ),
    ],
)
def test_digits_agree_with_balls(value, truth):
    assert abs(arb(mp.nstr(value, 45)) / truth - 1) < 1e-40
