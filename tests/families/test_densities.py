"""Densities that are rough, light, heavy or cut: what a quadrature does not see is charged or refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats

import tradeoff as to
from tradeoff.errors import DomainError
from tradeoff.intervals.rounding import Array

Density = Callable[[Array], Array]


def bell(x: Array) -> Array:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def holds(found: to.Bounds[float], truth: mpmath.mpf) -> bool:
    return bool(found.lower <= truth <= found.upper)


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
@pytest.mark.parametrize("periods", [32, 64, 100, 128])
def test_from_densities_of_many_periods_contains_truth(periods: int) -> None:
    f = to.from_densities(np.ones_like, lambda x: 1 + np.sin(2 * np.pi * periods * x) / 2, support=(0.0, 1.0))
    assert holds(f.bounds.delta(0.0), 1 / (2 * mpmath.pi))
    assert f.sup_loss >= math.log(1.5)


@pytest.mark.slow
def test_from_densities_with_too_many_turns_raises() -> None:
    with pytest.raises(DomainError, match=r"turns \d+ times"):
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
    """Return the curve of two normal laws beside 1000, to whose floats nodes are rounded."""

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
    f = to.from_scipy(scipy.stats.chi2(0.06), scipy.stats.chi2(0.05))
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


@pytest.mark.parametrize(
    "law",
    [
        pytest.param(scipy.stats.t(3), marks=pytest.mark.slow),
        scipy.stats.lognorm(1),
        scipy.stats.invgamma(2),
        scipy.stats.pareto(3),
    ],
)
def test_delta_of_subnormal_densities_is_small(law: Any) -> None:
    low, high = map(float, law.support())
    f = to.from_densities(law.pdf, law.pdf, support=(low, high))
    assert f.bounds.delta(0.0).upper <= 1e-10


@pytest.mark.parametrize("scale", [1e25, 1e100, 1e147])
def test_delta_of_large_scales_contains_truth(scale: float) -> None:
    """Of subnormal densities no float tells the logarithm: its steps are no turns."""

    def at(place: float) -> Density:
        return lambda x: np.exp(-np.abs(x - place) / scale) / 2 / scale

    f = to.from_densities(at(0.0), at(scale))
    assert holds(f.bounds.delta(0.0), 1 - mpmath.exp(-0.5))
    assert "none" in f.assumptions[-1]
