"""The oracle against what it does not use: integrals with error bounds, and other forms of a law."""

import numpy as np
import pytest
from flint import acb, arb, ctx

from tests.truth.atoms import DiscreteGaussian, DiscreteLaplace, Masses, PureDP, TotalVariation
from tests.truth.balls import ball
from tests.truth.built import built
from tests.truth.claims import check
from tests.truth.continuous import Gaussian, Gaussians, Gumbel, Laplace, Logistic
from tests.truth.mixtures import NormalMixtures
from tests.truth.operators import (
    FixedSize,
    Group,
    Maximum,
    Minimum,
    Mixture,
    Product,
    ReversedPLD,
    Subsampled,
)
from tests.truth.polygons import Hull, Polygon
from tests.truth.spec import Spec


def density(mu, x):
    """Return the density of N(mu, 1), without its constant."""
    return (-((x - ball(mu)) ** 2) / 2).exp()


@pytest.mark.parametrize(
    ("mu", "rate", "epsilon"), [(1.0, 1.0, 0.5), (0.3, 0.01, 1e-3), (3.0, 0.9, 2.0), (2.0, 0.5, -0.3)]
)
def test_thinned_gaussians_by_integration(mu, rate, epsilon):
    """delta(eps) = integral of (q - e^eps p)_+ from where the ratio passes e^eps."""
    with ctx.workprec(200):
        p, s = ball(rate), ball(epsilon).exp()
        start = ((s - 1 + p) / p).log() / ball(mu) + ball(mu) / 2
        gain = acb.integral(
            lambda x, _: (1 - p) * density(0.0, x) + p * density(mu, x) - s * density(0.0, x),
            start,
            start + 40,
        )
        result = gain.real / (2 * arb.pi()).sqrt()
        rest = arb("1e-300").union(arb(0))  # of the tail past 40
    assert (result + rest).overlaps(Subsampled(Gaussian(mu), rate).delta(epsilon))


def either(spec, rate):
    """Return the hull of both orders of sampling."""
    one = Subsampled(spec, rate)
    return Minimum((one, ReversedPLD(one)))


SHORT = Polygon((0.0, 0.25, 0.75), (1.0, 0.25, 0.0))
approximate = Product(((PureDP(1.0), 1), (TotalVariation(0.1), 1)))
SAME = [
    (DiscreteLaplace(2.0), PureDP(0.5)),
    (Product(((Gaussian(3.0), 1), (Gaussian(4.0), 1))), Gaussian(5.0)),
    (Gaussians(((0.5, 4),)), Gaussian(1.0)),
    (Product(((TotalVariation(0.5), 2),)), TotalVariation(0.75)),
    (Product(((PureDP(0.3), 3),)), Product(((PureDP(0.3), 1), (PureDP(0.3), 2)))),
    (ReversedPLD(ReversedPLD(Subsampled(Gaussian(1.0), 0.1))), Subsampled(Gaussian(1.0), 0.1)),
    (ReversedPLD(Laplace(0.7)), Laplace(0.7)),
    (Subsampled(Subsampled(Laplace(0.7), 0.5), 0.25), Subsampled(Laplace(0.7), 0.125)),
    (Mixture(((0.5, Gaussian(1.0)), (0.5, Gaussian(1.0)))), Gaussian(1.0)),
    (Minimum((Gaussian(1.0), Gaussian(2.0))), Gaussian(2.0)),
    (Maximum((Gaussian(1.0), Gaussian(2.0))), Gaussian(1.0)),
    (Group(Gaussian(0.5), 3), Gaussian(1.5)),
    (SHORT.inverse(), ReversedPLD(SHORT)),
    (Group(Laplace(0.5), 3), Laplace(1.5)),
    (SHORT.minimum(Polygon((0.0, 0.5), (0.75, 0.0))), Polygon((0.0, 0.25, 0.5), (0.75, 0.25, 0.0))),
    (Masses((3, 0, 1, 4), (0, 2, 4, 2)), Polygon((0.0, 0.125, 0.625), (0.75, 0.25, 0.0))),
    (Hull((0.5, 0.25, 0.4, 0.0), (0.25, 0.5, 0.55, 1.0)), Polygon((0, 0.25, 0.5, 1), (1, 0.5, 0.25, 0))),
    (ReversedPLD(Logistic(1.0, 2.0)), Logistic(0.5)),
    (FixedSize(PureDP(1.0), 0.3), either(PureDP(1.0), 0.3)),
    (FixedSize(DiscreteLaplace(1.0, 2), 0.5), either(DiscreteLaplace(1.0, 2), 0.5)),
    (FixedSize(approximate, 0.5), either(approximate, 0.5)),
    (FixedSize(Gaussian(2.0), 0.25), either(Gaussian(2.0), 0.25)),
    (NormalMixtures(((0, 1),), ((3, 1),), 2), Gaussian(1.5)),
    (NormalMixtures(((0, 1),), ((0, 3), (1, 1)), 0.5), Subsampled(Gaussian(2.0), 0.25)),
    (NormalMixtures(((0, 3), (-1, 1)), ((0, 1),), 0.5), ReversedPLD(Subsampled(Gaussian(2.0), 0.25))),
]
"""Two ways to one curve."""


@pytest.mark.parametrize(("one", "two"), SAME)
@pytest.mark.parametrize("at", [0.1, 0.01, 0.6])
def test_two_ways_to_one_curve(one, two, at):
    assert one.beta(at).overlaps(two.beta(at))
    assert one.delta(at).overlaps(two.delta(at))
    assert one.delta(at).is_finite()
    if not isinstance(one, Maximum | Group):  # suprema of suprema, right but slow
        assert one.epsilon(at / 10).overlaps(two.epsilon(at / 10))


@pytest.mark.parametrize(
    "spec",
    [
        *(Gaussian(1.0), Laplace(1.0), Subsampled(Gaussian(2.0), 0.3), PureDP(1.0), DiscreteLaplace(1.0, 3)),
        *(Logistic(1.0), Gumbel(1.0)),
        Product(((Gaussian(1.0), 1), (Masses((1, 5, 0), (2, 0, 1)), 2))),
    ],
)
@pytest.mark.parametrize("bits", [53, 320, 400, 800])
def test_closed_forms_are_dual(spec, bits):
    """f(alpha) from the hockey stick alone, at whatever precision."""
    for alpha in (1e-3, 0.2, 0.7):
        with ctx.workprec(bits):
            assert Spec.curve(spec, ball(alpha)).overlaps(spec.beta(alpha))


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1e-9, 1e-3, 0.2, 0.7, 0.999])
def test_balls_are_small(alpha):
    """Nor are they right by being wide, nor are duals."""
    for spec in (one for one, _ in SAME if alpha < float(1 - one.mass_at_minus_infinity().mid())):
        assert spec.beta(alpha).rel_accuracy_bits() >= 53
    for spec in (Gaussian(1.0), PureDP(1.0)) if alpha < 0.9 else ():
        with ctx.workprec(4600):
            assert Spec.curve(spec, ball(alpha)).rel_accuracy_bits() >= 53


@pytest.mark.parametrize("epsilon", [-0.7, 0.0, 0.3, 1.5])
def test_tests_of_several_intervals_by_integration(epsilon):
    """|q - e^eps p| is twice the positive part less the whole."""
    null, alternative = ((0, 2), (3, 1)), ((-2, 1), (1, 1), (4, 2))
    result = NormalMixtures(null, alternative, 1).delta(epsilon)
    with ctx.workprec(100):
        p, q = [(ball(epsilon).exp() / -3 * w, m) for m, w in null], [(arb(w) / 4, m) for m, w in alternative]

        def loss(x, analytic):
            return sum(c * density(m, x) for c, m in p + q).real_abs(analytic=analytic)

        parts = [acb.integral(loss, k, k + 1).real for k in range(-20, 24)]
        whole = sum(parts, start=arb(0)) / (2 * arb.pi()).sqrt()
    assert ((whole + 1 - ball(epsilon).exp()) / 2 + arb("0 +/- 1e-15")).overlaps(result)


@pytest.mark.parametrize("order", [0.5, 1, 2.5])
def test_divergences_of_products_add(order):
    one, two = Masses((1, 2, 3), (2, 3, 1)), FixedSize(DiscreteLaplace(1.0, 2), 0.3)
    assert Product(((one, 2), (two, 1))).renyi(order).overlaps(2 * one.renyi(order) + two.renyi(order))
    assert one.renyi(1 + 1e-12).overlaps(one.renyi(1) + arb("0 +/- 1e-11"))
    assert one.renyi(float("inf")).overlaps(ball(3).log())


def test_a_branch_that_few_digits_do_not_decide():
    """At s = 1 few digits do not separate 1 - 1e-100 from 1: the stick is p tanh(theta/4), not 1 - s."""
    result = Subsampled(Logistic(0.048), 1e-100).delta(-0.0)
    with ctx.workprec(400):
        assert result.overlaps(ball(1e-100) * (ball(0.048) / 4).tanh())
        assert result > 0


def test_a_crossing_too_far_out_is_not_known():
    """mu^2/2 of 2^60 rounds lies rest all places that are looked at: it is not one of them."""
    assert Gaussian(2.9).epsilon(5e-7).is_finite()
    assert Product(((Gaussian(2.9), 2**60),)).epsilon(5e-7).is_nan()


ALPHAS = (1e-300, 1e-100, 1e-30, 1e-10, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-10)
EPSILONS = (-20.0, -3.0, -0.5, -1e-3, 0.0, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 20.0, 40.0, 60.0)
DELTAS = (1e-100, 1e-50, 1e-20, 1e-10, 1e-5, 1e-2, 0.3, 0.9)
SHARES = np.array([-1.5, -1.0, -0.7, -0.01, 0.0, 0.01, 0.1, 0.3, 0.37, 0.8, 0.999, 1.0, 1.2])
"""Losses as shares of the largest."""

Questions = dict[str, tuple[float, ...]]
CASES = [
    *((Gaussian(m), {"delta": EPSILONS, "beta": ALPHAS, "epsilon": DELTAS}) for m in (1e-3, 0.1, 1.0, 10.0)),
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
            check((low, high), truth)
            check(alone, truth)
            assert alone.width <= share * (abs(alone.upper) + (1e-3 if question == "epsilon" else 0)) + 1e-100
