"""Pairs on the line with rough, light, heavy or cut densities, and with kinks, poles and ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as some

import tradeoff as to
from tradeoff.errors import DomainError, PrecisionError
from tradeoff.intervals.rounding import Array

Density = Callable[[Array], Array]


def bell(x: Array) -> Array:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def normal(mean: float) -> Density:
    return lambda x: bell(x - mean)


def holds(bounds: to.Bounds[float], truth: mpmath.mpf) -> bool:
    return bool(bounds.lower <= truth <= bounds.upper)


@pytest.mark.slow
@pytest.mark.parametrize("turns", [3, 5, 7, 10])
def test_from_densities_of_waves_contains_truth(turns: int) -> None:
    f = to.from_densities(bell, lambda x: bell(x) * (1 + np.sin(turns * x) / 2))
    with mpmath.workdps(30):
        half = [k * mpmath.pi / turns for k in range(-16 * turns, 16 * turns + 1, 2)]
        truth = sum(
            mpmath.quad(lambda x: mpmath.sin(turns * x) * mpmath.npdf(x) / 2, [a, a + mpmath.pi / turns])
            for a in half
        )
        assert holds(f.bounds.delta(0.0), truth)


@pytest.mark.slow
def test_from_densities_with_too_many_turns_raises() -> None:
    with pytest.raises(DomainError, match=r"got \d+;"):
        to.from_densities(np.ones_like, lambda x: 1 + np.sin(1024 * np.pi * x) / 2, support=(0.0, 1.0))


def power(a: float) -> Density:
    """Return the density of Pareto's law from 1 on."""
    return lambda x: a * np.maximum(x, 1.0) ** (-1 - a) * (x >= 1)


@pytest.mark.parametrize("epsilon", [1.0, 5.0, 15.0, 30.0])
def test_delta_of_heavy_tails_contains_truth(epsilon: float) -> None:
    f = to.from_densities(power(0.2), power(0.1), support=(1.0, np.inf))
    with mpmath.workdps(30):
        a, b, scale = mpmath.mpf(0.2), mpmath.mpf(0.1), mpmath.exp(epsilon)
        x = (a / b * scale) ** (1 / (a - b))
        assert holds(f.bounds.delta(epsilon), x**-b - scale * x**-a)


def pole(weight: float, a: float) -> Density:
    """Return the density of a uniform law and of a little of a power."""
    return lambda x: (1 - weight) + weight * a * np.maximum(x, 1e-312) ** (a - 1)


@pytest.mark.parametrize(("weight", "a"), [(1e-12, 0.5), (1e-11, 0.9), (1e-10, 0.2)])
@pytest.mark.parametrize("epsilon", [0.5, 5.0, 60.0])
def test_delta_of_weak_poles_contains_truth(weight: float, a: float, epsilon: float) -> None:
    f = to.from_densities(np.ones_like, pole(weight, a), support=(0.0, 1.0))
    with mpmath.workdps(30):
        w, power, scale = mpmath.mpf(weight), mpmath.mpf(a), mpmath.exp(epsilon)
        x = ((scale - 1 + w) / (w * power)) ** (1 / (power - 1))
        assert holds(f.bounds.delta(epsilon), (1 - w) * x + w * x**power - scale * x)


@pytest.mark.parametrize("breaks", [None, [0.4]])
@pytest.mark.parametrize("epsilon", [1.0, 11.0, 28.0, 36.5, 40.0])
def test_delta_of_jumping_densities_contains_truth(breaks: list[float] | None, epsilon: float) -> None:
    def rises(x: Array) -> Array:
        return 2 * np.maximum((x - 0.4) / 0.6, 0) / 0.6

    f = to.from_densities(rises, lambda x: (x > 0.4) / 0.6, breaks=breaks, support=(0.0, 1.0))
    assert holds(f.bounds.delta(epsilon), mpmath.exp(-epsilon) / 4)


def narrow(s: float) -> to.TradeOff:
    """Return the curve of two normal laws near 1000, to whose floats nodes are rounded."""

    def at(place: float) -> Density:
        return lambda x: bell((x - place) / s) / s

    support = 1000 - 64 * s, 1000 + 64 * s
    return to.from_densities(at(1000.0), at(1000.0 + s), breaks=[1000.0], support=support)


@pytest.mark.parametrize("s", [2.0**-5, 2.0**-10, 2.0**-18])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 6.0, 20.0])
def test_delta_of_narrow_laws_contains_truth(s: float, epsilon: float) -> None:
    f = narrow(s)
    truth = mpmath.ncdf(0.5 - epsilon) - mpmath.exp(epsilon) * mpmath.ncdf(-0.5 - epsilon)
    assert holds(f.bounds.delta(epsilon), truth)


def test_from_densities_of_unresolved_laws_raises() -> None:
    with pytest.raises(DomainError, match="place poles and narrow peaks at 0"):
        narrow(2.0**-30)


def test_assumptions_name_normalised_totals() -> None:
    f = to.from_densities(bell, lambda x: (1 - 5e-10) * bell(x - 1))
    assert f.assumptions[1] == "q integrates to 1 -5e-10, taken for the error of a constant."


def test_delta_of_overflowing_densities_contains_truth() -> None:
    f = to.from_scipy(st.chi2(0.06), st.chi2(0.05))
    with mpmath.workdps(30):
        p, q = (mpmath.mpf(k) / 2 for k in (0.06, 0.05))
        # log q/p falls in x: -(p - q) log(x/2) + log gamma(p) - log gamma(q)
        x = 2 * mpmath.exp((mpmath.loggamma(p) - mpmath.loggamma(q) - 1) / (p - q))
        below = [mpmath.gammainc(a, 0, x / 2, regularized=True) for a in (p, q)]
        assert holds(f.bounds.delta(1.0), below[1] - mpmath.e * below[0])
    assert f.bounds.delta(1.0).upper < 1e-3


@pytest.mark.parametrize(
    "c", [0.40208452693776586, 0.3495038076728312, 0.44220111583194066, 0.316581419227307, 0.7]
)
def test_delta_of_jumps_near_panel_ends_contains_truth(c: float) -> None:
    """None of the nodes sees it: the polynomial through them ends elsewhere than the density."""
    f = to.from_densities(np.ones_like, lambda x: np.where(x < c, 0.5 + c / 2, 1 + c / 2), support=(0.0, 1.0))
    at = mpmath.mpf(c)
    assert holds(f.bounds.delta(0.0), at / 2 * (1 - at))


@pytest.mark.parametrize(
    ("k", "c", "epsilons"),
    [
        (0.1, 4.67700984232314e-9, (1.0, 5.0)),
        (3.0, 0.46985515887472173, (1.0, 20.0)),
        (7.0, 0.9983872466691337, (1.0, 11.0, 33.0, 36.5, 60.0)),
    ],
)
@pytest.mark.parametrize("given", [False, True])
def test_delta_of_densities_starting_inside_panels_contains_truth(
    k: float, c: float, epsilons: tuple[float, ...], given: bool
) -> None:
    """Of what is 1e-13 of its panel the tail is known as well as any."""

    def p(x: Array) -> Array:
        return (k + 1) * np.maximum((x - c) / (1 - c), 0) ** k / (1 - c)

    f = to.from_densities(p, lambda x: (x > c) / (1 - c), breaks=[c] if given else None, support=(0.0, 1.0))
    for epsilon in epsilons:
        with mpmath.workdps(30):
            y = (mpmath.exp(-epsilon) / (k + 1)) ** (1 / mpmath.mpf(k))
            assert holds(f.bounds.delta(epsilon), y - mpmath.exp(epsilon) * y ** (k + 1))


@pytest.mark.parametrize("support", [(-50.0, 50.0), (-30.0, 50.0), (-1e3, 1e6)])
def test_delta_with_underflow_inside_support_contains_gaussian(support):
    curve = to.from_densities(normal(0), normal(1), support=support)
    for epsilon in (0.0, 1.0, 3.0):
        known = to.Gaussian(1).bounds.delta(epsilon)
        result = curve.bounds.delta(epsilon)
        assert result.lower <= known.upper
        assert known.lower <= result.upper <= known.upper + 1e-10
    assert curve.epsilon(1e-5) == pytest.approx(to.Gaussian(1).epsilon(1e-5), abs=1e-9)


def test_delta_of_narrow_beta_laws_contains_truth():
    curve = to.from_densities(st.beta(500, 500).pdf, st.beta(510, 490).pdf, support=(0, 1))
    place = mpmath.findroot(
        lambda x: 10 * mpmath.log(x / (1 - x)) - mpmath.log(mpmath.beta(510, 490) / mpmath.beta(500, 500)),
        0.5,
    )
    tails = [mpmath.betainc(a, b, place, 1, regularized=True) for a, b in ((510, 490), (500, 500))]
    result = curve.bounds.delta(0.0)
    assert result.lower <= tails[0] - tails[1] <= result.upper <= result.lower + 1e-10


def power_pld(a, epsilon, *, flipped):
    """delta of a x^(a-1) on (0, 1) against the uniform law, or of the uniform law against it."""
    e, a = mpmath.exp(epsilon), mpmath.mpf(a)
    x = min(((e / a) if flipped else 1 / (e * a)) ** (1 / (a - 1)), mpmath.mpf(1))
    if flipped:
        return (1 - x**a) - e * (1 - x) if a > 1 else x**a - e * x
    return x - e * x**a if a > 1 else (1 - x) - e * (1 - x**a)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("loc", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("a", [0.5, 1.5, 2.0, 5.0])
def test_delta_of_power_laws_contains_truth(a, loc, flipped):
    pair = [st.beta(a, 1, loc=loc), st.uniform(loc=loc)]
    curve = to.from_scipy(*(pair[::-1] if flipped else pair))
    with mpmath.workdps(40):
        for epsilon in (0.0, 1.0, 5.0, 12.0, 25.0, 40.0):
            assert holds(curve.bounds.delta(epsilon), power_pld(a, epsilon, flipped=flipped))


@pytest.mark.slow
def test_sup_loss_of_unbounded_losses_is_infinite():
    curve = to.from_scipy(st.beta(1, 2), st.uniform())  # L = -log 2(1 - x): delta = e^-eps/4
    assert curve.sup_loss == math.inf
    assert curve.bounds.delta(37.0).upper >= math.exp(-37) / 4
    with pytest.raises(PrecisionError, match="use a larger delta"):
        curve.epsilon(1e-18)
    far = to.from_scipy(st.beta(2, 1, loc=1e6), st.uniform(loc=1e6))
    assert not far >= to.PureDP(22.2)
    bins = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    first, second = (
        st.rv_histogram((np.array(w), bins), density=False)() for w in ([0, 5, 5, 0], [0, 2, 8, 0])
    )
    assert to.from_scipy(first, second).epsilon(0.0) == pytest.approx(math.log(1.6), abs=1e-10)


def test_epsilon_of_kinked_densities_contains_truth():
    kinked = to.from_scipy(
        st.uniform(0, 2), st.triang(0.3, scale=2)
    )  # of slopes 1/.6 and 1/1.4 to a height of 1
    result = kinked.bounds.epsilon(0.0)
    assert result.lower <= math.log(2) <= result.upper <= result.lower + 1e-10
    far = to.from_scipy(st.uniform(1e6, 2), st.triang(0.3123, loc=1e6, scale=2)).bounds.delta(0.693)
    truth = (1 - math.exp(0.693) / 2) ** 2
    assert far.lower <= truth <= far.upper


def test_delta_of_zeros_of_a_density_contains_truth():
    law, pole = normal(0.7), (lambda x: (x - 0.7) ** 2 * normal(0.7)(x))
    curve = to.from_densities(pole, law)
    with mpmath.workdps(60):
        for epsilon in (1.0, 10.0, 20.0, 40.0):
            r = mpmath.exp(-mpmath.mpf(epsilon) / 2)
            inside, e = mpmath.erf(r / mpmath.sqrt(2)), mpmath.exp(epsilon)
            squares = inside - 2 * r * mpmath.npdf(r)
            assert holds(curve.bounds.delta(epsilon), inside - e * squares)


B33 = 2.0**-33
ROUNDED = [
    # What has no float inside; ends that are no floats.
    (st.beta(1, 1, loc=1e6), st.uniform(1e6 + B33, 1), None, 45.0, B33),
    (st.beta(1, 1), st.uniform(2.0**-52, 1), None, 45.0, 2.0**-52),
    (st.beta(1, 2, 1e6, 0.1), st.uniform(1e6, 0.1), None, 25.0, math.exp(-25) / 4),
    (st.beta(1, 2, 1e3, 0.3), st.uniform(1e3, 0.3), None, 30.0, math.exp(-30) / 4),
    (st.beta(1, 1, 1e6, 0.3), st.uniform(1e6, 0.5), None, 50.0, 0.4),
    (st.beta(1, 1, 1e6, 0.1), st.uniform(1e6, 0.2), None, 50.0, 0.5),
    (st.beta(2, 2, 1e6, 0.3), st.uniform(1e6, 0.5), None, 50.0, 0.4),
]


@pytest.mark.parametrize(("p", "q", "breaks", "epsilon", "truth"), ROUNDED)
def test_delta_of_rounded_supports_contains_truth(p, q, breaks, epsilon, truth):
    curve = to.from_scipy(p, q, breaks=breaks)
    assert holds(curve.bounds.delta(epsilon), truth)
    flipped = (~curve).bounds.delta([-45.0, 45.0])
    assert flipped.lower[1] <= flipped.upper[1]
    assert (~curve).inverse() == curve


@pytest.mark.parametrize(("scale", "other"), [(2.0, 1.5), (3.0, 2.5), (1e30, 8e29), (2e-200, 1.5e-200)])
def test_delta_of_small_losses_contains_truth(scale, other):
    """Of Rayleigh's law L = 2 log(s/t) - x^2 (1/t^2 - 1/s^2)/2, and 1 - e^(-x^2/2 s^2) lies below x."""
    curve = to.from_scipy(st.rayleigh(scale=scale), st.rayleigh(scale=other))
    with mpmath.workdps(40):
        s, t = mpmath.mpf(1), mpmath.mpf(other) / mpmath.mpf(scale)
        for epsilon in (0.0, 0.1, 0.3):
            square = max((2 * mpmath.log(s / t) - epsilon) * 2 / (1 / t**2 - 1 / s**2), 0)
            truth = -mpmath.expm1(-square / 2 / t**2) + mpmath.exp(epsilon) * mpmath.expm1(-square / 2)
            result = curve.bounds.delta(epsilon)
            assert result.lower <= truth <= result.upper <= truth + 1e-10
    assert curve.sup_loss >= 2 * math.log(scale / other)


@pytest.mark.parametrize(
    ("p", "q", "most"),
    [
        (st.expon(scale=3), st.expon(scale=2), math.log(1.5)),
        (st.lomax(2, scale=3), st.lomax(3, scale=3), math.log(1.5)),
        (st.halfcauchy(scale=2), st.expon(scale=2), math.log(math.pi / 2)),
        (st.gamma(2, scale=3), st.gamma(2, scale=2.5), 2 * math.log(1.2)),
        (st.invgauss(1), st.invgauss(0.9), None),
    ],
)
def test_delta_of_half_line_laws_contains_sums(p, q, most):
    curve = to.from_scipy(p, q)
    x = np.linspace(0, 60, 4001)
    gained = np.maximum(np.diff(q.cdf(x)) - np.diff(p.cdf(x)), 0)
    assert curve.bounds.delta(0.0).upper >= np.sum(gained) * (1 - 1e-6)
    assert curve.delta(0.0) == pytest.approx(float(np.sum(gained)), rel=1e-2)
    assert most is None or curve.sup_loss >= most
    if most is not None and q.dist.name in {"expon", "lomax"}:
        assert curve.epsilon(0.0) == pytest.approx(most, abs=1e-10)


@pytest.mark.parametrize("end", [1.0, -1.0, 1e3])
def test_delta_with_nodes_at_an_end_contains_truth(end):
    """Of u = distance/width 2 u of density against 3 u^2: u < 2/3 e^-epsilon is rejected."""
    way = 1 if end > 0 else -1
    support = (end - 1, end) if end > 0 else (end, end + 1)
    curve = to.from_densities(
        lambda x: 3 * np.maximum(way * (end - x), 0) ** 2,
        lambda x: 2 * np.maximum(way * (end - x), 0),
        support=support,
    )
    for epsilon in (2.0, 10.0, 20.0, 30.0, 40.0, 60.0):
        with mpmath.workdps(60):
            u = mpmath.mpf(2) / 3 * mpmath.exp(-epsilon)
            truth = u**2 - mpmath.exp(epsilon) * u**3
            assert holds(curve.bounds.delta(epsilon), truth)


def root(x):
    """Density x^-1/2/2, its pole left out."""
    return np.where(x > 0, 0.5 / np.sqrt(np.where(x > 0, x, 1.0)), 0.0)


@pytest.mark.parametrize("pole", [lambda x: 0.5 / np.sqrt(np.maximum(x, 1e-280)), root])
@pytest.mark.parametrize("epsilon", [5.0, 20.0, 25.0, 40.0])
def test_delta_of_poles_at_0_contains_truth(pole, epsilon):
    curve = to.from_densities(np.ones_like, pole, support=(0.0, 1.0))
    result, truth = curve.bounds.delta(epsilon), math.exp(-epsilon) / 4
    assert result.lower <= truth <= result.upper <= truth * (1 + 1e-9)


@pytest.mark.parametrize("law", [st.gamma(3), st.lognorm(1), st.beta(2, 2), st.rayleigh(), st.weibull_min(2)])
def test_mass_at_infinity_of_half_line_laws_is_close(law):
    result = to.from_scipy(law, st.norm()).mass_at_infinity
    low, high = law.support()
    truth = st.norm.cdf(low) + st.norm.sf(high)
    assert result.lower == pytest.approx(truth, rel=1e-10)
    assert result.upper == pytest.approx(truth, rel=1e-10)


@given(
    some.lists(some.tuples(some.integers(0, 5), some.integers(0, 5)), min_size=2, max_size=6),
    some.sampled_from([(0.0, 1.0), (5.0, 10.0), (-3.0, 1e-3)]),
)
def test_delta_of_histograms_contains_sums(counts, placed):
    p, q = (np.array(side, dtype=float) for side in zip(*counts, strict=True))
    if not p.any() or not q.any():
        return
    at, width = placed
    edges = at + width * np.arange(len(p) + 1) / len(p)
    first, second = (st.rv_histogram((side, edges), density=False)() for side in (p, q))
    curve = to.from_scipy(first, second)
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        truth = sum(
            max(b - math.exp(epsilon) * a, 0.0) for a, b in zip(p / p.sum(), q / q.sum(), strict=True)
        )
        result = curve.bounds.delta(epsilon)
        assert result.lower - 1e-15 <= truth <= result.upper + 1e-15


@pytest.mark.parametrize(
    "support", [(-0.1, 0.7), (-0.4, 2.8), (0.2, 2.6), (-1.3, 3.5), (0.7, 2.3), (-0.2, 1.2)]
)
def test_delta_of_triangles_contains_truth(support):
    """Triangles up and down on an interval: u > 1/(1 + e^-eps) is rejected, u the share from above."""
    low, high = support
    width = high - low
    curve = to.from_densities(
        lambda x: 2 * (x - low) / width**2 * ((x >= low) & (x <= high)),
        lambda x: 2 * (high - x) / width**2 * ((x >= low) & (x <= high)),
        support=support,
    )
    for epsilon in (0.0, 0.2, 0.25, 1.0, 3.0):
        with mpmath.workdps(30):
            u = 1 / (1 + mpmath.exp(epsilon))  # where 1 - u = e^eps u
            truth = 1 - (1 - u) ** 2 - mpmath.exp(epsilon) * u**2
            result = curve.bounds.delta(epsilon)
            assert result.lower <= truth <= result.upper <= truth + 1e-9


def test_delta_of_steep_poles_contains_truth():
    curve = to.from_scipy(st.beta(1, 1, 1.0), st.beta(0.054712659020224326, 1, 1.0))
    assert holds(curve.bounds.delta(1.0), power_pld(0.054712659020224326, 1.0, flipped=True))


@pytest.mark.slow
@pytest.mark.parametrize("periods", [32, 128])
def test_from_densities_of_many_periods_contains_truth(periods: int) -> None:
    f = to.from_densities(np.ones_like, lambda x: 1 + np.sin(2 * np.pi * periods * x) / 2, support=(0.0, 1.0))
    assert holds(f.bounds.delta(0.0), 1 / (2 * mpmath.pi))
    assert f.sup_loss >= math.log(1.5)


@pytest.mark.parametrize(
    "law",
    [
        pytest.param(st.t(3), marks=pytest.mark.slow),
        st.lognorm(1),
        st.invgamma(2),
        st.pareto(3),
    ],
)
def test_delta_of_subnormal_densities_is_small(law: Any) -> None:
    low, high = map(float, law.support())
    f = to.from_densities(law.pdf, law.pdf, support=(low, high))
    assert f.bounds.delta(0.0).upper <= 1e-10


@pytest.mark.parametrize("scale", [1e9, 1e25])
def test_delta_of_large_scales_contains_truth(scale: float) -> None:
    def at(place: float) -> Density:
        return lambda x: np.exp(-np.abs(x - place) / scale) / 2 / scale

    f = to.from_densities(at(0.0), at(scale))
    assert holds(f.bounds.delta(0.0), 1 - mpmath.exp(-0.5))
    assert "none" in f.assumptions[-1]


def test_delta_of_underflowing_densities_contains_gaussian():
    curve = to.from_densities(normal(0), normal(18))
    known = to.Gaussian(18)
    for epsilon in (100.0, 600.0, 831.0, 1e4):
        result, truth = curve.bounds.delta(epsilon), known.bounds.delta(epsilon)
        assert result.lower <= truth.upper
        assert truth.lower <= result.upper
    assert curve.bounds.epsilon(1e-299).lower <= known.epsilon(1e-299)
    box = to.from_scipy(st.beta(1, 1, 0, 0.5), st.uniform())  # ends of supports are exact
    assert box.mass_at_infinity.lower == pytest.approx(0.5, abs=1e-11)


def test_sup_loss_with_pole_between_floats_is_infinite():
    curve = to.from_densities(lambda x: ((x - 0.7) - 3e-17) ** 2 * normal(0.7)(x), normal(0.7))
    assert curve.sup_loss == math.inf
