"""The oracle against what it does not use: integrals with error bounds, and other forms of the same law."""

from __future__ import annotations

import pytest
from flint import acb, arb, ctx

from tests.truth.atoms import DiscreteLaplace, PureDP, TotalVariation
from tests.truth.balls import ball
from tests.truth.continuous import Gaussian, Gaussians, Laplace
from tests.truth.operators import Group, Maximum, Minimum, Mixture, Product, Reversed, Subsampled
from tests.truth.polygons import Polygon
from tests.truth.spec import Spec


def density(mu: float, x: acb) -> acb:
    """Return the density of N(mu, 1), without its constant."""
    return (-((x - ball(mu)) ** 2) / 2).exp()


@pytest.mark.parametrize(
    ("mu", "rate", "epsilon"), [(1.0, 1.0, 0.5), (0.3, 0.01, 1e-3), (3.0, 0.9, 2.0), (2.0, 0.5, -0.3)]
)
def test_thinned_gaussians_by_integration(mu: float, rate: float, epsilon: float) -> None:
    """delta(eps) = integral of (q - e^eps p)_+ from where the ratio passes e^eps."""
    with ctx.workprec(200):
        p, s = ball(rate), ball(epsilon).exp()
        start = ((s - 1 + p) / p).log() / ball(mu) + ball(mu) / 2
        gain = acb.integral(
            lambda x, _: (1 - p) * density(0.0, x) + p * density(mu, x) - s * density(0.0, x),
            start,
            start + 40,
        )
        found = gain.real / (2 * arb.pi()).sqrt()
        beyond = arb("1e-300").union(arb(0))  # of the tail past 40
    assert (found + beyond).overlaps(Subsampled(Gaussian(mu), rate).delta(epsilon))


SAME: list[tuple[Spec, Spec]] = [
    (DiscreteLaplace(2.0), PureDP(0.5)),
    (Product(((Gaussian(3.0), 1), (Gaussian(4.0), 1))), Gaussian(5.0)),
    (Gaussians(((0.5, 4),)), Gaussian(1.0)),
    (Product(((TotalVariation(0.5), 2),)), TotalVariation(0.75)),
    (Product(((PureDP(0.3), 3),)), Product(((PureDP(0.3), 1), (PureDP(0.3), 2)))),
    (Reversed(Reversed(Subsampled(Gaussian(1.0), 0.1))), Subsampled(Gaussian(1.0), 0.1)),
    (Reversed(Laplace(0.7)), Laplace(0.7)),
    (Subsampled(Subsampled(Laplace(0.7), 0.5), 0.25), Subsampled(Laplace(0.7), 0.125)),
    (Mixture(((0.5, Gaussian(1.0)), (0.5, Gaussian(1.0)))), Gaussian(1.0)),
    (Minimum((Gaussian(1.0), Gaussian(2.0))), Gaussian(2.0)),
    (Maximum((Gaussian(1.0), Gaussian(2.0))), Gaussian(1.0)),
    (Group(Gaussian(0.5), 3), Gaussian(1.5)),
    (
        Polygon((0.0, 0.25, 0.75), (1.0, 0.25, 0.0)).inverse(),
        Reversed(Polygon((0.0, 0.25, 0.75), (1.0, 0.25, 0.0))),
    ),
    (
        Polygon((0.0, 0.25, 1.0), (1.0, 0.25, 0.0)).group(2),
        Group(Polygon((0.0, 0.25, 1.0), (1.0, 0.25, 0.0)), 2),
    ),
    (
        Polygon((0.0, 0.25, 0.75), (1.0, 0.25, 0.0)).minimum(Polygon((0.0, 0.5), (0.75, 0.0))),
        Polygon((0.0, 0.25, 0.5), (0.75, 0.25, 0.0)),
    ),
]
"""Two ways to one curve."""


@pytest.mark.parametrize(("one", "two"), SAME)
@pytest.mark.parametrize("at", [0.1, 0.01, 0.6])
def test_two_ways_to_one_curve(one: Spec, two: Spec, at: float) -> None:
    assert one.beta(at).overlaps(two.beta(at))
    if not isinstance(one, Maximum | Group):  # their profiles are suprema of suprema, right but slow
        assert one.delta(at).overlaps(two.delta(at))
        assert one.epsilon(at / 10).overlaps(two.epsilon(at / 10))


@pytest.mark.parametrize(
    "spec",
    [Gaussian(1.0), Laplace(1.0), Subsampled(Gaussian(2.0), 0.3), PureDP(1.0), DiscreteLaplace(1.0, 3)],
)
@pytest.mark.parametrize("bits", [53, 320, 400, 800])
def test_closed_forms_are_dual(spec: Spec, bits: int) -> None:
    """f(alpha) from the hockey stick alone, at whatever precision."""
    for alpha in (1e-3, 0.2, 0.7):
        with ctx.workprec(bits):
            assert Spec.curve(spec, ball(alpha)).overlaps(spec.beta(alpha))


def test_the_dual_is_sharp() -> None:
    """Nor is it right by being wide."""
    for spec in (Gaussian(1.0), PureDP(1.0)):
        for alpha in (1e-3, 0.2, 0.7):
            with ctx.workprec(4600):
                assert Spec.curve(spec, ball(alpha)).rel_accuracy_bits() >= 53


@pytest.mark.parametrize("alpha", [1e-9, 0.2, 0.999])
def test_balls_are_small(alpha: float) -> None:
    for spec in (one for one, _ in SAME if alpha < float(1 - one.p_minus().mid())):
        assert spec.beta(alpha).rel_accuracy_bits() >= 53
