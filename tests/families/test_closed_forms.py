"""Closed forms to their last digits, and products of Gaussians, against balls of many bits."""

import math
from fractions import Fraction as F  # noqa: N817 - vertices are read more easily
from functools import reduce
from operator import matmul

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gumbel_l

import tradeoff as to
from tests.truth.atoms import TotalVariation
from tests.truth.balls import ball
from tests.truth.claims import check
from tests.truth.continuous import Gaussians, Laplace
from tests.truth.operators import Product
from tests.truth.polygons import Polygon
from tradeoff.errors import DomainError
from tradeoff.families.laplace import BoundedRange
from tradeoff.limits.moments import closed_form

DELTAS = st.floats(1e-300, 1 - 2.0**-53) | st.floats(-300, -1e-9).map(lambda e: 10.0**e)
LOSSES = {
    "PureDP": (to.PureDP, 1e4, lambda e, d: max(1 - d, (1 - d) * e.exp() - d).log()),
    "Laplace": (to.Laplace, 1e4, lambda e, d: max((1 - d).log(), e + 2 * (1 - d).log())),
    "BoundedRange": (
        BoundedRange,
        1e4,
        lambda e, d: (
            e + 2 * (1 - (d * (1 - (-e).exp())).sqrt()).log() if d < 1 - (-e).exp() else (1 - d).log()
        ),
    ),
    # delta(x) is (1 - e^-e) e^(-(x + e)/(e^e - 1)) for x >= -e, else 1 - e^x
    "gumbel_l": (
        lambda e: to.LocationShift(gumbel_l(), e),
        5.0,
        lambda e, d: -e - e.expm1() * (d / -(-e).expm1()).log() if d < 1 - (-e).exp() else (1 - d).log(),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
@given(share=st.floats(1e-10, 1), delta=DELTAS)
def test_epsilon_of_families_contains_truth(name, share, delta):
    make, most, formula = LOSSES[name]
    epsilon = max(share * most, 1e-6)
    low, high = make(epsilon).bounds.epsilon(delta)
    with ctx.workprec(30_000):
        assert arb(low) <= formula(arb(epsilon), arb(delta)) <= arb(high)
    assert high <= math.nextafter(low, math.inf)


@given(mu=st.floats(-6, 4).map(lambda e: 10.0**e), delta=DELTAS, power=st.sampled_from([1, 3, 7]))
def test_gaussian_epsilon_brackets_delta(mu, delta, power):
    """delta(x) = Phi(-a) - e^x Phi(-a - mu) falls through the given delta between two floats."""
    low, high = (to.Gaussian(mu) ** power).bounds.epsilon(delta)
    with ctx.workprec(2000):
        m = arb(power).sqrt() * arb(mu)
        profiles = []
        for x in map(arb, (low, high)):
            a = x / m - m / 2
            tails = [(z / arb(2).sqrt()).erfc() / 2 for z in (a, a + m)]
            profiles.append(tails[0] - x.exp() * tails[1])
        assert profiles[0] >= arb(delta) >= profiles[1]
    assert high <= math.nextafter(low, math.inf)


LONG = np.concatenate([np.geomspace(1e-300, 0.5, 200), 1 - np.geomspace(1e-15, 0.5, 200), [0.0, 1.0]])


def cubed(mu):
    return to.Gaussian(mu) ** 3


@pytest.mark.parametrize("size", [1e-9, 0.3, 40.0, 800.0])
@pytest.mark.parametrize("family", [to.Laplace, to.PureDP, BoundedRange, to.Gaussian, cubed])
def test_long_arrays_contain_answers_to_single_points(family, size):
    """Long arrays are answered in floats, single points in balls."""
    f = family(size)
    losses = np.concatenate([size * (2 * LONG - 1), 3 * size * LONG, -700 * LONG])
    most = 1e-13 if family not in (to.Gaussian, cubed) else 3e-10 if size < 100 else 1e-8
    questions = (f.bounds, LONG), (f.bounds.delta, losses), (f.bounds.epsilon, LONG[LONG > 0])
    for question, at in questions:
        many, some = question(at), slice(None, None, 13)
        assert np.all(
            many.width <= most * np.maximum(np.maximum(np.abs(many.lower), np.abs(many.upper)), 1e-290)
        )
        single = [question(x) for x in at[some].tolist()]
        assert np.all(many.lower[some] <= [each.upper for each in single])
        assert np.all(many.upper[some] >= [each.lower for each in single])
        assert np.all(many.lower[some] <= [each.lower for each in single])
        assert np.all(many.upper[some] >= [each.upper for each in single])


def test_laplace_group_of_group_equals_group():
    """9e is not a float, nor is 3e, whose triple would be more than 9e if 3e were rounded up before."""
    e = 0.8293828791580945
    f, g, truth = to.Laplace(e).group(3).group(3), to.Laplace(e).group(9), 9 * F(e)
    assert f == g
    assert hash(f) == hash(g)
    assert f >= g
    assert g >= f
    assert F(f.loss_bounds.lower) < truth < F(f.sup_loss)
    for curve in (f, g):
        check(curve.bounds.epsilon(0.0), ball(truth))
        for alpha in (1e-12, 5e-4, 0.01, 0.7):
            check(curve.bounds(alpha), Laplace(truth).beta(alpha))
        check(curve.bounds.delta(0.5), Laplace(truth).delta(0.5))
    for k in (3, 7, 9):
        group, shift = to.Laplace(e).group(k), k * arb(e)
        check(closed_form(group).kl, shift - 1 + (-shift).exp())
        for order in (1.5, 30.0):  # at other parameters and orders of a float: operators/test_divergence.py
            terms = order * ((order - 1) * shift).exp() + (order - 1) * (-order * shift).exp()
            check(group.renyi_bounds(order), (terms / (2 * order - 1)).log() / (order - 1), 1e-12)


@pytest.mark.parametrize(
    "f", [to.Identity(), to.Gaussian(0.0), to.PureDP(0.0), to.Laplace(0.0), to.TotalVariation(0.0)]
)
def test_beta_of_zero_parameter_is_exact(f):
    for alpha in (5e-324, 1e-20, 0.1, 0.25, 0.3, 1 - 2.0**-53):
        check(f.bounds(alpha), ball(1 - F(alpha)))
    assert f(0.25) == 0.75
    for method in ("closed-form", "exact", "lattice", "contour"):
        assert 0.75 in f.bounds(0.25, method=method)
    assert to.Identity().bounds.delta([0.0, 1.0]).upper.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("delta", "n"),
    [(1e-300, 5), (1e-300, 10**12), (1e-112, 100), (1e-60, 4), (1e-20, 10**6), (0.3, 4000), (1e-12, 10**12)],
)
def test_delta_of_total_variation_power_contains_truth(delta, n):
    f, truth = to.TotalVariation(delta) ** n, Product(((TotalVariation(delta), n),)).delta(0.0)
    check(f.bounds.delta(0.0), truth)
    assert ball(f.delta(0.0)) <= truth * (1 + ball(1e-15))
    check((to.TotalVariation(delta) ** (n - 1) @ to.TotalVariation(delta)).bounds.delta(0.0), truth)


def test_products_of_total_variations_whose_deltas_round_to_1_differ():
    delta = 1 - 1e-10
    f = to.TotalVariation(delta)
    assert f**2 != f**3 != to.TotalVariation(1.0)
    for product in (f**2 @ f**3, f**3 @ f**2):
        check(product.bounds(1e-200), (1 - ball(delta)) ** 5 - ball(1e-200))
    assert (f**5 @ to.TotalVariation(1.0))(0.0) == 0.0
    assert to.TotalVariation(0.5) ** 2 == to.TotalVariation(0.75)  # a float
    assert to.TotalVariation(1e-60) ** 2 != to.TotalVariation(2e-60)  # less by 1e-120


@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e-16, 1e-100, 1e-300, 1e-308, 1e-320])
def test_polygons_at_every_scale_contain_truth(scale):
    rng = np.random.default_rng(7)
    for _ in range(20):
        x = np.append(rng.random(rng.integers(1, 5)) * scale, [0.0, 1.0, 0.5, 1 - rng.random() * 1e-9])
        y = rng.choice([1.0, 0.4, 1e-300]) * (1 - x) ** rng.choice([1.0, 2.0, 3.0])
        f = to.PiecewiseLinear.hull(x, y)
        spec = Polygon(*zip(*f.vertices, strict=True))
        near = [float(np.nextafter(v, side)) for v in (*f.alpha, 0.5) for side in (0.0, v, 1.0)]
        for a in (*near, *rng.random(4), *rng.random(4) * scale):
            check(f.bounds(a), spec.beta(a), 1e-14, 1e-310)


def test_answers_at_ends_contain_truth():
    for f, mass in (
        (to.TotalVariation(0.25), arb(0.25)),
        (to.TotalVariation(0.1) ** 3, 1 - (1 - arb(0.1)) ** 3),
    ):
        low, high = f.bounds.epsilon(0.5)
        check((low, high), (arb(0.5) / (1 - mass)).log())
        assert high <= math.nextafter(low, 0.0)
    check(to.subsample(to.TotalVariation(1), 0.25).bounds.epsilon(0.25), arb(0.75).log())
    check((to.subsample(to.Gaussian(math.inf), 0.5) ** 2).bounds.delta(0.0), arb(0.75))
    steep = to.PiecewiseLinear([0.0, 1e-300, 1.0], [1.0, 0.25, 0.0])
    check(steep.bounds.epsilon(0.0), (arb(0.75) / arb(1e-300)).log())
    assert steep.epsilon(0.0) < math.inf
    for p in (0.25, 0.5):
        assert (~to.subsample(to.TotalVariation(0.5), p)).bounds(1 - p / 2 + 1e-3).upper <= 5e-324
    weak = (to.PiecewiseLinear([0.0, 1.0], [top, 0.0]) for top in (0.01, 0.03))
    low, high = to.mixture(dict.fromkeys(weak, 0.5)).symmetrise(assume="profile").bounds(0.25)
    assert 0 <= low <= high <= 0.03


PRODUCTS = (0.1, 100), (0.1, 2), (0.1, 3), (0.3, 2), (0.7, 5), (1.1, 2), (1e-3, 10**6), (1e-170, 3), (30.0, 7)


@pytest.mark.parametrize(("mu", "n"), PRODUCTS)
def test_functionals_and_delta_of_powers_contain_truth(mu, n):
    with ctx.workprec(300):
        square = n * F(mu) ** 2
        truth, curve = ball(square).sqrt(), to.Gaussian(mu) ** n
        assert F(curve.mu) ** 2 >= square
        check(curve.gdp(0).bounds, truth)
        check(to.limits.kl(curve), truth**2 / 2)
        for order in (0.5, 1.0, 2.0, 50.0):
            check(curve.bounds.renyi(order), order * truth**2 / 2)
    for place in (0.0, 0.3, 2.0, 8.0, 30.0):
        check(curve.bounds.delta(place * curve.mu), Gaussians(((mu, n),)).delta(place * curve.mu))


def test_product_in_any_order_is_equal():
    step = to.Gaussian(0.1)
    looped = reduce(matmul, [step] * 1000)
    assert looped == step**1000 == (step**10) ** 100
    assert hash(looped) == hash(step**1000)
    assert to.Gaussian(3) @ to.Gaussian(4) == to.Gaussian(5)
    assert to.Gaussian(0.3).group(3).group(2) == to.Gaussian(0.3).group(6)
    assert to.Gaussian(math.inf).group(0) == to.Identity()
    assert step.group(3) ** 2 == to.Gaussian.from_weight(18 * F(0.1) ** 2)
    with pytest.raises(DomainError, match="square must be"):
        to.Gaussian.from_weight(F(-1))


def test_order_of_irrational_mu_is_strict():
    """100 F(.1)^2 is more than 1, by less than floats distinguish."""
    curve, one = to.Gaussian(0.1) ** 100, to.Gaussian(1.0)
    assert one >= curve
    assert not curve >= one
    assert curve != one
    steps = to.calibrate(lambda n: to.Gaussian(0.1) ** n, {"mu": 1}, integer=True)
    assert steps.value == 99
    assert tuple(steps.bounds) == (99, 101)
    assert steps.evaluations < 20  # undecided questions are not repeated


@pytest.mark.parametrize(("mu", "n"), [(0.1, 100), (0.1, 3)])
def test_delta_by_all_engines_overlaps(mu, n):
    """Where each factor is a law of its own, nothing is rounded before the product."""
    one = to.Gaussian(mu) ** n @ to.Laplace(0.2)
    losses = np.array([0.0, 0.5, 2.0, 6.0])
    result = [one.bounds.delta(losses, method=method) for method in (None, "contour", "lattice")]
    assert all(np.all(a.lower <= b.upper) for a in result for b in result)
