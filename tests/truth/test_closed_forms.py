"""Closed forms, exact atoms and sampled Gaussians against balls: the truth is inside tight bounds."""

import numpy as np
import pytest

import tradeoff as to
from tests.truth.atoms import DiscreteGaussian, PureDP, TotalVariation
from tests.truth.built import built
from tests.truth.claims import check
from tests.truth.continuous import Gaussian, Laplace
from tests.truth.operators import Product, ReversedPLD, Subsampled

ALPHAS = (1e-300, 1e-100, 1e-30, 1e-10, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-10)
EPSILONS = (-20.0, -3.0, -0.5, -1e-3, 0.0, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 20.0, 40.0, 60.0)
DELTAS = (1e-100, 1e-50, 1e-20, 1e-10, 1e-5, 1e-2, 0.3, 0.9)
SHARES = np.array([-1.5, -1.0, -0.7, -0.01, 0.0, 0.01, 0.1, 0.3, 0.37, 0.8, 0.999, 1.0, 1.2])
"""Losses as shares of the largest."""

Questions = dict[str, tuple[float, ...]]
CASES = [
    *(
        (Gaussian(mu), {"delta": EPSILONS, "beta": ALPHAS, "epsilon": DELTAS})
        for mu in (1e-3, 0.1, 1.0, 10.0)
    ),
    *(
        (Laplace(e), {"delta": tuple(e * SHARES), "beta": (*ALPHAS, 0.3, 0.7)})
        for e in (1e-3, 0.1, 1.0, 5.0, 30.0)
    ),
    *(
        (Product(((PureDP(e), n),)), {"delta": tuple(n * e * SHARES[2:-2]), "beta": (*ALPHAS[1:-1], 0.2)})
        for e, n in ((1e-3, 1), (1.0, 1), (30.0, 1), (0.1, 2), (1.0, 7), (0.5, 40), (0.1, 1000), (3.0, 50))
    ),
    *(
        (
            Product(((PureDP(e), 1), (TotalVariation(d), 1))),
            {"beta": (1e-12, 1e-3, 0.1, 0.5, 0.7, 0.95), "delta": (-2.0, -0.05, 0.0, 0.05, 0.9, 6.0)},
        )
        for e, d in ((1.0, 1e-5), (0.1, 0.2), (5.0, 1e-12))
    ),
    *(
        (
            Product(((DiscreteGaussian(sigma, shift), n),)),
            {"delta": (-1.0, 0.0, 0.123, 1.0, 3.0, 8.0), "beta": (1e-12, 1e-3, 0.2, 0.8)},
        )
        for sigma, shift, n in ((2.0, 1, 1), (0.7, 1, 1), (5.0, 3, 1), (0.5, 1, 2))
    ),
    *(
        (order(Subsampled(Gaussian(mu), p)), {"delta": tuple(p * mu * SHARES) + far})
        for mu, p, far in (
            *((1.0, 0.01, (0.5, 2.0, 6.0, 20.0)), (2.0, 1e-6, ()), (0.2, 0.5, ())),
            *((1 / 0.3, 1e-3, (20e-3 / 0.3,)), (0.01, 0.1, ())),
        )
        for order in (lambda spec: spec, ReversedPLD)
    ),
]


@pytest.mark.parametrize(("spec", "questions"), CASES, ids=[repr(spec) for spec, _ in CASES])
def test_closed_form_is_tight_in_arrays_and_alone(spec, questions):
    curve, share = built(spec), 1e-6 if isinstance(spec, Subsampled | ReversedPLD) else 1e-9
    for question, points in questions.items():
        ask = curve.bounds if question == "beta" else getattr(curve.bounds, question)
        for at, low, high in zip(points, *ask(np.array(points)), strict=True):
            alone, truth = ask(at), getattr(spec, question)(at)
            check(to.Bounds(low, high), truth)
            check(alone, truth)
            assert alone.width <= share * (abs(alone.upper) + (1e-3 if question == "epsilon" else 0)) + 1e-100
