"""C_p(f) and its products against balls, fractions and 60 digits of mpmath, and engine against engine."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import tradeoff as to
from tests.strategies import edge_rates, exact_curves, log_uniform
from tradeoff.accounting.planner import Composition
from tradeoff.intervals.functions import exp
from tradeoff.pld.components import MARGIN
from tradeoff.pld.gaussian import GaussianLaw, HalfNormalBase
from tradeoff.pld.laplace import LaplaceLaw
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.symmetrised import PositivePart
from tradeoff.pld.transformed import ReversedPLD

BITS = 220
PANELS, RULE = 44, 26
"""Gauss-Legendre panels of width 1/2 in balls: two sets of them, moved against each other, must agree."""


def fixed_size(f: to.TradeOff, p: float) -> to.TradeOff:
    return to.subsample(f, p, scheme="without-replacement")


def panels(ends: list[arb]) -> list[tuple[arb, arb]]:
    """Nodes and weights of Gauss-Legendre rules between consecutive ends."""
    rule = [arb.legendre_p_root(RULE, j, weight=True) for j in range(RULE)]
    return [
        ((a + b + (b - a) * at) / 2, weight * (b - a) / 2) for a, b in pairwise(ends) for at, weight in rule
    ]


def gaussian(mu: float, offset: float) -> tuple[arb, list[tuple[arb, arb]]]:
    """delta(0) of G_mu, and its losses above 0 with their P-masses."""
    m, start = arb(mu), arb(mu) / 2
    nodes = panels([start, *(start + (k + arb(offset)) / 2 for k in range(1, PANELS))])
    density = [weight * (-x * x / 2).exp() / (2 * arb.pi()).sqrt() for x, weight in nodes]
    return (m / arb(8).sqrt()).erf(), [
        (m * x - m * m / 2, p) for (x, _), p in zip(nodes, density, strict=True)
    ]


def laplace(epsilon: float, offset: float) -> tuple[arb, list[tuple[arb, arb]]]:
    e = arb(epsilon)
    nodes = panels([arb(0), *(e * (k + arb(offset)) / 4 for k in range(1, 4)), e])
    inside = [(loss, weight * (-(loss + e) / 2).exp() / 4) for loss, weight in nodes]
    return 1 - (-e / 2).exp(), [*inside, (e, (-e).exp() / 2)]


def delta_by_contour(
    base: tuple[arb, list[tuple[arb, arb]]], p: float, n: int, x: float, c: float, step: float
) -> arb:
    """delta(x) of C_p(f)^n by the inverse Laplace transform on Re z = c > 1, until it is spent."""
    (advantage, upper), rate = base, arb(p)
    nodes = [(acb((1 - rate + rate * loss.exp()).log()), acb(mass)) for loss, mass in upper]
    total, k = arb(0), 0
    while True:
        z = acb(arb(c), arb(step) * k)
        pairs = (mass * ((z * loss).exp() + ((1 - z) * loss).exp()) for loss, mass in nodes)
        moment = sum(pairs, acb((1 - rate) * advantage))
        term = moment**n * (-(z - 1) * arb(x)).exp() / (z * (z - 1))
        total += term.real / (1 if k else 2)
        if abs(term) < arb(10) ** -45:
            return total * arb(step) / arb.pi()
        k += 1


CONTOURS = [
    (to.Gaussian(1.0), gaussian, 0.01, 1000, 2.1989099489, 6.0, 0.15),
    (to.Gaussian(1.0), gaussian, 0.01, 100_000, 35.875795873, 1.42, 0.02),
    (to.Laplace(1.0), laplace, 0.05, 1000, 5.0, 4.0, 0.1),
]


@pytest.mark.slow
@pytest.mark.parametrize(("f", "law", "p", "n", "x", "c", "step"), CONTOURS)
def test_products_hold_the_contour_in_balls(
    f: Any, law: Any, p: float, n: int, x: float, c: float, step: float
) -> None:
    parameter = f.mu if law is gaussian else f.epsilon_0
    with ctx.workprec(BITS):
        first = delta_by_contour(law(parameter, 0.0), p, n, x, c, step)
        second = delta_by_contour(law(parameter, 0.2), p, n, x, 1 + (c - 1) * 1.1, step * 0.8)
        assert abs(first - second) < arb(10) ** -25 * first
        bounds = (fixed_size(f, p) ** n).bounds.delta(x)
        assert arb(bounds.lower) < first < arb(bounds.upper)
    assert bounds.width < 1e-9 * bounds.upper


def test_dp_sgd_with_samples_of_fixed_size() -> None:
    F = fixed_size(to.Gaussian(1), 0.01) ** 1000
    bounds = F.bounds.epsilon(1e-5)
    assert bounds.width < 1e-9
    assert bounds.lower == pytest.approx(2.19890994887, abs=1e-10)
    assert [step.engine for step in F.explain(delta=1e-5).steps] == ["contour"]


def overlap(one: to.Bounds, other: to.Bounds) -> bool:
    return bool(np.all((one.lower <= other.upper) & (other.lower <= one.upper)))


G, L = to.Gaussian(1.0), to.Laplace(1.0)
COMPOSED = {
    "gaussian": fixed_size(G, 0.05) ** 60,
    "gaussian, half taken": fixed_size(to.Gaussian(0.3), 0.5) ** 8,
    "gaussian, large mu": fixed_size(to.Gaussian(5.0), 0.02) ** 200,
    "laplace": fixed_size(L, 0.2) ** 40,
    "responses with an atom at 0": fixed_size(to.PureDP(0.7) ** 2, 0.1) ** 30,
    "leaking": fixed_size(to.approximate_dp(1.0, 1e-3), 0.1) ** 20,
    "mixture": fixed_size(to.mixture({G: 0.25, L: 0.75}), 0.1) ** 50,
    "twice": fixed_size(fixed_size(G, 0.5), 0.1) ** 60,
    "and by Poisson": to.subsample(fixed_size(G, 0.5), 0.1) ** 60,
    "and by Poisson, reversed": ~(to.subsample(fixed_size(L, 0.5), 0.1) ** 60),
    "with others": fixed_size(G, 0.05) ** 40 @ to.Gaussian(0.5) @ fixed_size(L, 0.1) ** 10,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPOSED)
def test_contour_and_lattice_agree(name: str) -> None:
    F, x = COMPOSED[name], np.array([-0.5, 0.0, 0.4, 1.5])
    contour, lattice = (F.bounds.delta(x, method=method) for method in ("contour", "lattice"))
    assert overlap(contour, lattice)
    assert np.all(contour.lower <= contour.upper)
    assert overlap(F.bounds.delta(x), contour)


def test_sampling_twice_is_sampling_once() -> None:
    twice, once = COMPOSED["twice"].bounds.delta(0.3), (fixed_size(G, 0.05) ** 60).bounds.delta(0.3)
    assert overlap(twice, once)
    assert max(twice.width, once.width) < 1e-9 * once.upper


@settings(max_examples=12, deadline=None)
@given(
    f=exact_curves.map(lambda f: f.symmetrise(assume="either-order")),
    rate=st.integers(1, 7).map(lambda k: Fraction(k, 8)),
)
def test_atoms_against_polygons_in_fractions(f: to.PiecewiseLinear, rate: Fraction) -> None:
    # A float rate takes the way of laws, a fraction that of vertices.
    by_law, by_vertices = fixed_size(f, float(rate)) ** 2, fixed_size(f, rate) ** 2
    x, alpha = np.array([-1.0, -0.2, 0.0, 0.3, 1.0]), np.array([0.01, 0.3, 0.9])
    assert overlap(by_law.bounds.delta(x), by_vertices.bounds.delta(x))
    assert overlap(by_law.bounds(alpha), by_vertices.bounds(alpha))


@settings(max_examples=6, deadline=None)
@given(
    f=st.one_of(*(log_uniform(1e-2, 8.0).map(kind) for kind in (to.Gaussian, to.Laplace, to.PureDP))),
    p=edge_rates,
)
def test_a_single_round_is_the_closed_form(f: to.TradeOff, p: float) -> None:
    curve, x = fixed_size(f, p), np.array([-0.8, -0.1, 0.0, 0.1, 0.8]) * min(f.sup_loss, 2.0)
    if p == 1:
        return
    low, high = curve.laws()
    assert (low is high) == (p >= 1e-300)  # rarer ones lie between that of 1e-300 and no loss
    assert low.symmetric
    if p < 1e-300:
        return
    result = to.Bounds(*Composition([low], [1], symmetric=True).answer("delta", x, None))
    assert overlap(result, curve.bounds.delta(x))


def test_shifts_without_densities_in_closed_form_have_the_law_too() -> None:
    F = fixed_size(to.LocationShift(stats.logistic(), 1.0), 0.1) ** 3
    low, high = next(iter(F.factors)).laws()
    assert low is high
    assert low.components() is None
    assert overlap(F.bounds.delta(0.2), F.bounds.delta(0.2, method="lattice"))


@pytest.mark.slow
def test_products_inside_go_by_whole_curves() -> None:
    curve = fixed_size(G @ to.PureDP(0.5), 0.1)
    low, high = curve.laws()
    assert low is not high
    assert (curve**2).bounds.delta(0.1).upper >= curve.bounds.delta(0.1).lower


@pytest.mark.parametrize("mu", [1e-3, 1.0, 6.0])
@pytest.mark.parametrize("p", [1e-300, 1e-3, 0.5, 1 - 2.0**-53])
def test_the_atom_at_0_in_60_digits(mu: float, p: float) -> None:
    low, _ = fixed_size(to.Gaussian(mu), p).laws()
    loss, log_p, slack = low.atoms
    with mp.workdps(60):
        fixed_point = mp.ncdf(-mp.mpf(mu) / 2)  # f(x) = x, and f_p(x) - x is what the chord of slope -1 spans
        mass = mp.mpf(p) * fixed_point + (1 - mp.mpf(p)) * (1 - fixed_point) - fixed_point
        assert abs(mp.exp(mp.mpf(float(log_p[0]))) / mass - 1) <= slack[0]
    assert loss.tolist() == [0.0]
    assert slack[0] < 1e-12
    sketch = low.sketch()
    assert np.sum(np.exp(sketch.log_p)) == pytest.approx(1.0, abs=1e-11)


CORNERS = [
    (mu, p, c, y)
    for mu in (0.1, 1.0, 4.0)
    for p in (1e-4, 0.3)
    for c in (-3.0, 0.5, 20.0)
    for y in (0.0, 50.0)
]


@pytest.mark.parametrize(("mu", "p", "c", "y"), CORNERS)
def test_integrands_stay_below_their_bounds_on_ellipses(mu: float, p: float, c: float, y: float) -> None:
    for part in fixed_size(to.Gaussian(mu), p).laws()[0].components():
        base = part.base
        assert isinstance(base, HalfNormalBase)
        for a, width in product((0.0, 0.7, 3.0, 9.0), (0.05, 0.4, 1.4)):
            r = width / max(mu, 1.0) / 2
            (bound,) = base._growth(part, c, y, np.array([a, a + 2 * r]))
            w = 4 * np.exp(1j * np.linspace(0, np.pi, 9))
            at = a + r + r * (w + 1 / w) / 2
            for power in (complex(c - MARGIN, y), complex(c + MARGIN, y), complex(0.0, 0.0)):
                inside = log_integrand(mu, p, at, power if part.g > 0 else 1 - power)
                middle = log_integrand(mu, p, a + r, (power if part.g > 0 else 1 - power).real)
                assert np.max(inside.real) - float(middle.real) <= bound + 1e-9


def log_integrand(mu: float, p: float, t: Any, z: complex) -> Any:
    """log of phi r^z."""
    return -((t + mu / 2) ** 2) / 2 + z * np.log1p(p * np.expm1(mu * t))


def test_dualities_and_order() -> None:
    F = fixed_size(G, 0.01) ** 1000
    assert F.symmetric
    assert ~F is F
    assert F.bounds(0.1).upper >= (1 - F.bounds.delta(0.7) - 0.1 * exp(0.7)).lower
    x = F.bounds.epsilon(1e-5)
    assert F.bounds.delta(x.upper).lower <= 1e-5 <= F.bounds.delta(x.lower).upper
    y = F.bounds(0.05)
    assert F.bounds(y.upper).lower <= 0.05 <= F.bounds(y.lower).upper
    assert [to.approximate_dp(epsilon, 1e-5) <= F for epsilon in (2.2, 2.19)] == [True, False]
    mu = F.gdp(failure=1e-10).mu
    assert (to.Gaussian(mu) @ to.TotalVariation(1e-10)).delta(1.0) >= F.bounds.delta(1.0).lower
    assert to.subsample(G, 0.01).symmetrise(assume="either-order") ** 1000 == F


@pytest.mark.slow
def test_whole_curves_of_products_are_narrow() -> None:
    lower, upper = (fixed_size(G, 0.01) ** 1000).tabulate()
    assert lower.distance(upper).upper < 1e-3


@pytest.mark.parametrize("p", [0, 1e-300, 1 - 2.0**-53, 1])
@pytest.mark.parametrize("f", [to.Gaussian(0), to.Gaussian(1e-300), G, L, to.TotalVariation(0.5)], ids=repr)
def test_extremes_are_ordinary(f: to.TradeOff, p: float) -> None:
    F, base = fixed_size(f, p) ** 7, f**7
    delta, least = F.bounds.delta(0.5), base.bounds.delta(0.5)
    assert 0 <= delta.lower <= delta.upper <= 1
    assert delta.lower <= least.upper  # sampling adds privacy
    beta = F.bounds(0.25)
    assert 0 <= beta.lower <= beta.upper <= 0.75
    assert F.mass_at_infinity.lower <= base.mass_at_infinity.upper


def test_what_leaks_leaks_at_both_ends() -> None:
    curve = fixed_size(to.TotalVariation(0.5), 0.25)
    law, _ = curve.laws()
    assert law.mass_at_plus_infinity == law.mass_at_minus_infinity == 0.125
    assert (curve**5).bounds.delta(100.0).lower == pytest.approx(1 - 0.875**5, rel=1e-12)


@pytest.mark.parametrize("mu", [1e3, np.inf])
def test_a_huge_mu_leaks_the_sample(mu: float) -> None:
    curve = fixed_size(to.Gaussian(mu), 0.25)
    assert curve.bounds.delta(1.0).upper == pytest.approx(0.25, rel=1e-12)
    assert (curve**3).bounds.delta(1.0).upper == pytest.approx(1 - 0.75**3, rel=1e-3)


def test_a_certificate_is_refused_in_a_sentence() -> None:
    with pytest.raises(to.errors.NoClosedForm, match=r"certify curve\.lower or curve\.upper instead"):
        to.certify(fixed_size(G, 0.01) ** 1000, "epsilon", 1e-5)


@pytest.mark.parametrize("law", [GaussianLaw(1.3), LaplaceLaw(0.8)], ids=repr)
def test_the_upper_half_of_a_reversed_pair_is_that_of_the_pair(law: PrivacyLossDistribution) -> None:
    second = []
    for upper in (PositivePart(law), PositivePart(ReversedPLD(law))):
        (part,) = upper.components() or []
        nodes = part.base.nodes(part, 2.0, 3.0, 42.0)
        second.append(np.sum(np.exp(nodes.log_p + 2 * nodes.loss)))
    assert second[1] == pytest.approx(second[0], rel=1e-13)
    parts = PositivePart(law).components() or []
    assert not [half for part in parts for half in part.reversed().positive_part() or []]
