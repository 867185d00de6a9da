"""Products with curves whose losses are close to 0 lose no mass, nor do steep ones."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import tradeoff as to
from tests.truth.atoms import PureDP
from tests.truth.claims import check
from tests.truth.operators import Product
from tradeoff.errors import PrecisionError

BESIDE = to.mixture({to.Gaussian(1e-200): 0.5, to.TotalVariation(0.5): 0.5})


def keeps_mass(f, epsilon, off, narrow=slice(None)):
    """Assert that f with two rounds of (1/2, 0)-DP has their delta, but for so small losses."""
    result = (f @ to.PureDP(0.5) ** 2).bounds.delta(epsilon)
    with ctx.workprec(1300):
        check(result, [Product(((PureDP(0.5), 2),)).delta(e) * arb(f"1 +/- {off}") for e in epsilon])
    assert np.all(result.width[narrow] < 1e-3)


@pytest.mark.parametrize(
    "f",
    [
        to.subsample(BESIDE, 1e-130),
        ~to.subsample(BESIDE, 1e-130),
        to.subsample(to.subsample(BESIDE, 1e-65), 1e-65),
        to.mixture({to.subsample(BESIDE, 1e-130): 0.5, to.PureDP(1e-320): 0.5}),
    ],
    ids=repr,
)
def test_product_with_rare_atoms_keeps_mass(f):
    keeps_mass(f, [-1.0, 0.0, 0.9], "1e-100")
    assert f.law.cdf(1e-9).upper == pytest.approx(1.0)


def test_moments_with_negligible_finite_mass_are_refused():
    """Q has all but e^-50 where P has nothing, and KL(P || Q) = 50; or P has 1e-330 where Q has nothing."""
    leak = to.PiecewiseLinear([0, 1], [math.exp(-50), 0])
    for question in (to.limits.kl, to.limits.kappa2, to.limits.kappa3, to.limits.clt):
        with pytest.raises(PrecisionError, match="no mass in floats"):
            question(leak)
    assert to.limits.kl(~leak).lower == math.inf
    result = to.limits.kl(to.PiecewiseLinear([0, 1 - Fraction(1, 10**330)], [Fraction(1, 2), 0]))
    assert result.lower <= math.log(2) + 1e-12
    assert result.upper == math.inf


TINY = [
    *(to.Gaussian(5e-324), to.Laplace(5e-324), to.subsample(to.Gaussian(1e-300), 1e-100)),
    to.subsample(to.Gaussian(1e-300), 1e-100, scheme="without-replacement"),
    to.subsample(to.mixture({to.Gaussian(5e-324): 0.5, to.Gaussian(1e-310): 0.5}), 0.1),
]


@pytest.mark.parametrize("f", TINY, ids=repr)
@pytest.mark.parametrize("n", [1, 3])
def test_product_with_small_losses_keeps_mass(f, n):
    keeps_mass(f**n, [-1.0, -0.2, 0.0, 0.3, 0.9], "1e-250", slice(1, None))
