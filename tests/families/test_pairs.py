"""Pairs of continuous laws: against mpmath, closed forms and each other."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import scipy.stats as st

import tradeoff as to
from tradeoff.families.densities import RealLinePair
from tradeoff.pld.real_line import TRUST, Density, find_pieces

LOSSES = np.array([-6.0, -1.0, -0.3, 0.0, 0.2, 0.7, 1.0, 2.5, 12.0])
ALPHAS = np.array([0.0, 1e-8, 0.01, 0.3, 0.8, 0.999, 1.0])


def _t(df):
    """Return density and cdf of Student's law with fifty digits."""
    nu = mpmath.mpf(df)
    scale = mpmath.gamma((nu + 1) / 2) / mpmath.sqrt(nu * mpmath.pi) / mpmath.gamma(nu / 2)

    def cdf(x):
        half = mpmath.betainc(nu / 2, 0.5, 0, nu / (nu + x * x), regularized=True) / 2
        return half if x < 0 else 1 - half

    return lambda x: scale * (1 + x * x / nu) ** (-(nu + 1) / 2), cdf


def _normal(mean, sd):
    return lambda x: mpmath.npdf(x, mean, sd), lambda x: mpmath.ncdf(x, mean, sd)


def _beta(a, b, shift):
    def density(x):
        y = x - shift
        return y ** (a - 1) * (1 - y) ** (b - 1) / mpmath.beta(a, b) if 0 < y < 1 else mpmath.mpf(0)

    def cdf(x):
        return mpmath.betainc(a, b, 0, min(max(x - shift, 0), 1), regularized=True)

    return density, cdf


def _moved(law, shift):
    density, cdf = law
    return lambda x: density(x - shift), lambda x: cdf(x - shift)


CASES = {
    "t": (lambda: to.LocationShift(st.t(3), 1.5), _t(3), _moved(_t(3), 1.5), 60),
    "scaled cauchy": (lambda: to.LocationShift(st.cauchy(7, 2), -1), _t(1), _moved(_t(1), 0.5), 60),
    "two scales": (lambda: to.from_scipy(st.norm(), st.norm(0.25, 2)), _normal(0, 1), _normal(0.25, 2), 40),
    "other order": (lambda: ~to.from_scipy(st.norm(0.25, 2), st.norm()), _normal(0, 1), _normal(0.25, 2), 40),
    "both bounded": (
        lambda: to.LocationShift(st.beta(2, 3), 0.125),
        _beta(2, 3, 0),
        _beta(2, 3, 0.125),
        1.125,
    ),
    "two families": (lambda: to.from_scipy(st.norm(), st.t(5)), _normal(0, 1), _t(5), 40),
    "densities": (
        lambda: to.from_densities(st.norm.pdf, lambda x: st.norm.pdf(x, 0.25, 2)),
        _normal(0, 1),
        _normal(0.25, 2),
        38,
    ),
}


def _truth(p, q, epsilon, reach):
    """Return delta from cdfs between the roots of q - e^eps p, by halving."""
    ratio = mpmath.exp(mpmath.mpf(float(epsilon)))

    def gain(x):
        return q[0](x) - ratio * p[0](x)

    grid = [mpmath.mpf(k) * reach / 150 for k in range(-150, 151)]
    ends = [-mpmath.inf]
    for a, b in pairwise(grid):
        if (gain(a) > 0) != (gain(b) > 0):
            low, high = a, b
            for _ in range(110):
                middle = (low + high) / 2
                low, high = (middle, high) if (gain(middle) > 0) == (gain(a) > 0) else (low, middle)
            ends.append(low)
    ends.append(mpmath.inf)

    def mass(law, a, b):
        return (law[1](b) if b < mpmath.inf else 1) - (law[1](a) if a > -mpmath.inf else 0)

    pieces = [mass(q, a, b) - ratio * mass(p, a, b) for a, b in pairwise(ends)]
    return mpmath.fsum(max(piece, 0) for piece in pieces)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_delta_of_pairs_contains_truth(name):
    make, p, q, reach = CASES[name]
    f = make()
    low, high = f.bounds.delta(LOSSES)
    with mpmath.workdps(40):
        for epsilon, least, most in zip(LOSSES, low, high, strict=True):
            truth = _truth(p, q, epsilon, reach)
            assert least <= truth <= most, epsilon
            assert most - least <= 1e-10 * (1 + np.exp(epsilon)) * truth + 1e-30
    assert np.array_equal(low, [f.bounds.delta(e).lower for e in LOSSES])


@pytest.mark.parametrize("name", [pytest.param("t", marks=pytest.mark.slow), "other order", "both bounded"])
def test_pair_bounds_are_dual(name):
    f = CASES[name][0]()
    beta, delta = f.bounds(ALPHAS), f.bounds.delta(LOSSES)
    lines = 1 - delta.lower[:, None] - np.exp(LOSSES)[:, None] * ALPHAS
    assert np.all(
        beta.upper >= np.max(1 - delta.upper[:, None] - np.exp(LOSSES)[:, None] * ALPHAS, axis=0) - 1e-12
    )
    assert np.all(beta.lower >= -1e-12 + np.max(lines - delta.width[:, None], axis=0))
    assert np.all(beta.width <= 1e-7)
    flipped = (~f).bounds.delta(-LOSSES)
    assert np.all(delta.upper >= -np.expm1(LOSSES) + np.exp(LOSSES) * flipped.lower - 1e-12)
    assert ~~f == f


# Generic pairs against closed forms: breaks keep them from being recognised.

KNOWN = {
    "gaussian": (lambda: to.from_scipy(st.norm(), st.norm(1), breaks=[]), to.Gaussian(1)),
    "laplace": (lambda: to.from_scipy(st.laplace(), st.laplace(0.75), breaks=[0, 0.75]), to.Laplace(0.75)),
    "uniform": (lambda: to.from_scipy(st.uniform(), st.uniform(0.25), breaks=[]), to.TotalVariation(0.25)),
    "logistic": (
        lambda: to.from_scipy(st.logistic(), st.logistic(0.5), breaks=[]),
        to.LocationShift(st.logistic(), 0.5),
    ),
    "exponential": (
        lambda: to.LocationShift(st.expon(), 0.5),
        to.PiecewiseLinear([0, np.exp(-0.5)], [1.0, 0.0]),
    ),
    "densities": (
        lambda: to.from_densities(lambda x: np.exp(-np.abs(x)) / 2, lambda x: np.exp(-np.abs(x - 0.75)) / 2),
        to.Laplace(0.75),
    ),
    "bounded densities": (
        lambda: to.from_densities(
            lambda x: 1.0 * ((x >= 0) & (x <= 1)),
            lambda x: 1.0 * ((x >= 0.25) & (x <= 1.25)),
            support=(-1, 2),
        ),
        to.TotalVariation(0.25),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_generic_pair_contains_closed_form(name):
    make, g = KNOWN[name]
    f = make()
    assert isinstance(f, RealLinePair)
    for result, truth in (
        (f.bounds.delta(LOSSES), g.bounds.delta(LOSSES)),
        (f.bounds(ALPHAS), g.bounds(ALPHAS)),
    ):
        assert np.all(result.lower <= truth.upper + 1e-15)
        assert np.all(result.upper >= truth.lower - 1e-15)
        assert np.all(result.width <= 2e-6)
    assert f.sup_loss >= g.loss_bounds.lower
    assert f.loss_bounds.lower <= g.sup_loss
    assert f.mass_at_infinity.lower <= g.mass_at_infinity.upper
    assert f.mass_at_infinity.upper >= g.mass_at_infinity.lower


@pytest.mark.parametrize("name", ["laplace", "uniform", "exponential"])
def test_power_of_generic_pair_contains_closed_form(name):
    make, g = KNOWN[name]
    result, truth = (make() ** 4).bounds.delta([0.0, 1.0]), (g**4).bounds.delta([0.0, 1.0])
    assert np.all(result.lower <= truth.upper)
    assert np.all(result.upper >= truth.lower)
    assert np.all(result.width <= 5e-3 * truth.upper)


def test_cauchy_shift_contains_poisson_kernel():
    """A disc maps the pair to U, uniform, and the Poisson kernel (1 - r^2)/(1 - 2 r cos U + r^2)."""
    s = 1.0
    f, r = to.LocationShift(st.cauchy(), s), mpmath.mpf(s) / mpmath.sqrt(4 + s * s)
    with mpmath.workdps(40):
        top = mpmath.log((1 + r) / (1 - r))
        assert f.loss_bounds.lower <= top <= f.sup_loss
        for epsilon in (0.0, 0.25, 0.9):
            ratio = mpmath.exp(mpmath.mpf(epsilon))
            angle = mpmath.acos((1 + r**2 - (1 - r**2) / ratio) / (2 * r))
            q = 2 / mpmath.pi * mpmath.atan((1 + r) / (1 - r) * mpmath.tan(angle / 2))
            truth = q - ratio * angle / mpmath.pi
            bounds = f.bounds.delta(epsilon)
            assert bounds.lower <= truth <= bounds.upper
    assert f.delta(float(top) + 1e-9) < 1e-100
    assert f.symmetric


@pytest.mark.slow
@pytest.mark.parametrize("law", [st.t(2), st.cauchy(scale=3), st.beta(2, 4), st.gamma(3)])
@pytest.mark.parametrize("sign", [1, -1])
def test_smaller_shift_has_smaller_delta(law, sign):
    shifts = (
        np.array([0.05, 0.2, 0.5, 0.9]) * law.std()
        if np.isfinite(law.std())
        else np.array([0.1, 1.0, 4.0, 20.0])
    )
    losses = np.array([0.0, 0.1, 0.5, 2.0])
    for f, g in zip(
        *(iter([to.LocationShift(law, sign * s) for s in part]) for part in (shifts[:-1], shifts[1:])),
        strict=True,
    ):
        for one, two in ((f, g), (~f, ~g)):
            assert np.all(one.bounds.delta(losses).lower <= two.bounds.delta(losses).upper)


@pytest.mark.parametrize(("p_sign", "q_sign"), [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_tail_of_perturbed_densities_contains_truth(p_sign, q_sign):
    """Exponential laws of rates 2 and 1, as wrong as is assumed: L = x - log 2, delta = e^-epsilon/4."""

    def law(rate, sign):
        return lambda x: np.log(rate) - rate * x + 0.99 * TRUST * sign * np.sin(3 * x)

    sides = [Density(law(r, s), "p", (0.0, np.inf)) for r, s in ((2, p_sign), (1, q_sign))]
    result = find_pieces(*sides, ())
    epsilon = np.array([0.0, 0.3, 5.0, 100.0, 300.0])
    with mpmath.workdps(50):
        for at, least, most in zip(epsilon, *result.tail(epsilon), strict=True):
            assert least <= mpmath.exp(-mpmath.mpf(at)) / 4 <= most


@pytest.mark.parametrize(("x", "y"), [(0.0, 1e-300), (1e-9, 2.0), (3.0, 3.0 + 2**-40), (40.0, np.inf)])
def test_bound_mass_contains_truth(x, y):
    law = Density(lambda x: -x, "p", (0.0, np.inf))
    assert law.log_density(np.array([-1.0]))[0] == -np.inf
    low, high = law.bound_mass(np.array([x]), np.array([y]))
    with mpmath.workdps(50):
        truth = mpmath.exp(-mpmath.mpf(x)) * -mpmath.expm1(mpmath.mpf(x) - mpmath.mpf(y))
        assert low[0] <= truth <= high[0] <= truth * (1 + mpmath.mpf(1e-11)) + 1e-300


@pytest.mark.parametrize("mean", [0.5, 2.7217437736763572, 18.0])
def test_delta_of_underflowing_densities_contains_truth(mean):
    f = to.from_scipy(st.norm(), st.norm(mean), breaks=[])
    with mpmath.workdps(400):
        for epsilon in (1, 95, 100, 200, 700, 1000):
            x = epsilon / mpmath.mpf(mean) + mpmath.mpf(mean) / 2
            p, q = (mpmath.erfc(y / mpmath.sqrt(2)) / 2 for y in (x, x - mean))
            result = f.bounds.delta(epsilon)
            assert result.lower <= q - mpmath.exp(epsilon) * p <= result.upper


def test_from_scipy_of_known_pairs_returns_families():
    assert to.from_scipy(st.norm(1, 2), st.norm(2, 2)) == to.Gaussian(0.5)
    assert to.from_scipy(st.laplace(), st.laplace()) == to.Identity()
    assert to.from_scipy(st.t(3), st.t(3, 1)) == to.LocationShift(st.t(3), 1)
    assert to.from_scipy(st.uniform(), st.uniform(5)) == to.TotalVariation(1)
    assert to.from_scipy(st.norm(), st.norm(0, 2)) == to.from_scipy(st.norm(), st.norm(0, 2))
    assert to.from_scipy(st.norm(), st.norm(0, 2)) != to.from_scipy(st.norm(), st.norm(0, 3))


def test_assumptions_list_unproved_facts():
    f = to.from_scipy(st.norm(), st.norm(0, 2))
    assert [sentence[:5] for sentence in f.assumptions] == ["SciPy", "SciPy", "log(q"]
    assert len(to.LocationShift(st.t(3), 1).assumptions) == 1
    assert len(to.LocationShift(st.norm(), 1).assumptions) == 0
    word = to.LocationShift(st.genlogistic(2.0), 1, assume_log_concave=True)
    assert "log-concave" in word.assumptions[0]
    assert word.assumptions == (word**2 @ to.Gaussian(1)).assumptions == (~word).assumptions


@pytest.mark.slow
def test_from_densities_of_disjoint_equal_and_distant_laws():
    box = lambda a: lambda x: 1.0 * ((x >= a) & (x <= a + 1))  # noqa: E731 - three boxes
    assert to.from_densities(box(0), box(2)).delta(3.0) == 1
    assert to.from_densities(box(0), box(0)).delta(0.0) < 1e-10
    far = to.from_scipy(st.norm(), st.norm(0, 100))
    assert far.bounds.epsilon(0.5).width < 0.05 * far.epsilon(0.5)
    # log-concave, and beyond every float: losses of cauchy against a narrow law are bounded by tails alone
    narrow = to.from_scipy(st.norm(0, 1e-3), st.cauchy())
    near, far = narrow.bounds.delta(650.0), narrow.bounds.delta(750.0)
    assert 0.9 * near.upper < far.lower < far.upper < near.lower


def bell(x, mean, width):
    return np.exp(-(((x - mean) / width) ** 2) / 2) / (width * math.sqrt(2 * math.pi))


class Bells:
    """Densities of which the width may be changed afterwards."""

    def __init__(self, width):
        self.width = width

    def null(self, x):
        return bell(x, 0.0, self.width)

    def shifted(self, x):
        return bell(x, 1.0, self.width)


def test_pairs_with_different_assumptions_differ():
    result, given = (to.from_densities(st.norm.pdf, Bells(1.0).shifted, breaks=b) for b in (None, []))
    assert result.assumptions != given.assumptions
    assert result != given
    assert set((result @ given).assumptions) == {*result.assumptions, *given.assumptions}


def test_changing_a_frozen_law_keeps_the_curve():
    law = st.t(5, scale=2)
    curve, other = (to.from_scipy(st.t(5), each) for each in (law, st.t(5, scale=2)))
    law.kwds["scale"] = 1.01
    assert curve.bounds.delta(0.1) == other.bounds.delta(0.1)
