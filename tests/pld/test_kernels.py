"""Kernels that count their roundings by hand, against balls and fractions: the truth inside, little else."""

import functools
import math
import random
from collections import Counter
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from flint import arb, arb_poly, ctx

import tradeoff as to
from tests.truth.atoms import DiscreteGaussian
from tests.truth.balls import cumulative
from tests.truth.claims import check, overlap
from tests.truth.operators import Product
from tradeoff import balls
from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Bounds
from tradeoff.pld import components, law, moments, special, units
from tradeoff.pld.discrete import (
    AtomicLaw,
    discrete_gaussian_law,
    law_of_greatest_profile,
    product_on_lattice,
)

UNIT = 2.0**-53
DRAW = np.random.default_rng(1)


def within(low, high, truths, units=1e12):
    """Assert that the truths lie between both sides, which are this many units apart at most."""
    for least, most, truth in zip(np.ravel(low).tolist(), np.ravel(high).tolist(), truths, strict=True):
        assert not truth < arb(least), (least, most, truth)
        assert not truth > arb(most), (least, most, truth)
        assert most - least <= units * UNIT * abs(float(truth.mid())) + 1e-322


class TestRounding:
    @pytest.mark.parametrize("x", [0.0, 1.0, -1.0, 3.7, -5e-324, 1e300])
    def test_around_rounds_outward(self, x):
        (low, high), size = units.around(x, 8), abs(Fraction(x))
        assert Fraction(float(low)) < Fraction(x) - 8 * size / 2**53
        assert Fraction(float(high)) > Fraction(x) + 8 * size / 2**53
        assert high - low <= 22 * UNIT * abs(x) + 1e-323
        assert (units.down(x), units.up(x)) == units.around(x, 4)


class TestDifferences:
    def test_position_slack_values(self):
        assert units.position_slack(np.array([0.0, 0.5]), np.array([0.1, 0.0])).tolist() == [0.4]
        slack = units.position_slack(np.array([0.0, 1.0, 1.0, 3.0]), np.array([0.1, 0.2, 0.0, 9.0]))
        assert slack.tolist() == pytest.approx([0.6, 0.0, 1.0])


@pytest.mark.parametrize("n", [1, 3, 5, 300, 2**53 + 1, 2**60 + 99, 10**21, 10**30, 10**340, 10**400])
@pytest.mark.parametrize("q", [0.0, 0.1, 0.3942981765619552, 0.5, 0.999, 1e-17, 1e-20, 1e-300])
def test_log_finite_mass_is_accurate(q, n):
    once = arb(n) * (-arb(q)).log1p()
    for result, truth, most in (
        (law.log_finite_mass([q], [n]), once, 4),
        (law.log_finite_mass([q, 0.0, q], [n, 7, n]), 2 * once, 5),
    ):
        assert result == -math.inf if truth < -1e308 else abs(arb(result) - truth) <= most * UNIT * abs(truth)


class TestRemainders:
    X = np.concatenate(
        [DRAW.uniform(-3, 3, 60), DRAW.normal(size=20) * 1e-9, [0.0, 0.5, -0.5, 5e-200, -40.0]]
    )

    def test_raised_contains_truth(self):
        result = moments.raised(Bounds(0.0, 0.0), Bounds(self.X, self.X))
        with ctx.workprec(3000):
            within(*result, [x.expm1() - x for x in map(arb, self.X.tolist())], 400)

    def test_raised_of_interval_around_0(self):
        result = moments.raised(Bounds(-1.0, -0.5), Bounds(-0.3, 0.2))
        assert result.lower == 0
        assert result.upper >= math.exp(-0.5) * (math.expm1(-0.3) + 0.3) * (1 - 1e-15)

    def test_raised_of_large_arguments(self):
        within(*moments.raised(Bounds(-800.0, -800.0), Bounds(900.0, 900.0)), [arb(100).exp()], 1e4)


class TestNormal:
    @pytest.mark.parametrize("off", [0.0, 1e-12, 1e-3])
    def test_tail_above_contains_truth(self, off):
        x = np.concatenate([DRAW.uniform(-45, 45, 80), [0.0, 22.709593196403418, 37.0, 38.5]])
        result = special.tail_above(Bounds(x - off, x + off))
        for ends in (x - off, x + off):
            truths = [cumulative(-arb(at)) for at in ends.tolist()]
            within(*result, truths, 3e4 + off * 1e18)

    def test_mills_contains_truth(self):
        x = np.concatenate(
            [DRAW.uniform(-37, 5, 80), 10.0 ** DRAW.uniform(0, 6, 20), [0.0, -0.3, 92767.00145686779]]
        )
        truths = [cumulative(-t) * (arb.pi() * 2).sqrt() * (t * t / 2).exp() for t in map(arb, x.tolist())]
        within(*special.mills(Bounds(x, x)), truths, 1.2e4)
        assert special.mills(Bounds(-50.0, -40.0)).upper == math.inf

    @pytest.mark.parametrize("mu", [1e-3, 0.3, 1.0, 5.0])
    def test_hockey_stick_contains_truth(self, mu):
        epsilon = np.concatenate([DRAW.uniform(0, 8 * mu + mu * mu, 40), [0.0, 1e-12]])
        m = arb(mu)
        truths = [
            cumulative(m / 2 - e / m) - e.exp() * cumulative(-m / 2 - e / m)
            for e in map(arb, epsilon.tolist())
        ]
        within(*special.hockey_stick(epsilon, mu), truths)
        low, high = special.hockey_stick(np.array([1e200]), mu)
        assert (low[0], bool(high[0] < 1e-300)) == (0.0, True)


@pytest.mark.parametrize("y", [math.log(2), 0.7, 3.0, 40.0, 999.0, 1001.0, 1e6, 1e20, 1e40])
def test_normal_isf_of_deep_tails_contains_truth(y):
    low, high = balls.to_bounds(balls.normal_isf(balls.exp(-balls.to_ball(y))))
    with mp.workdps(80):  # where balls underflow
        tails = [mp.log(mp.erfc(mp.mpf(z) / mp.sqrt(2)) / 2) for z in (high, low)]
        assert tails[0] <= -mp.mpf(y) <= tails[1]
    assert high == math.nextafter(low, math.inf)


def positive(scale):
    return lambda x, rise, fall: (np.exp(-x / scale), rise * fall)


@pytest.mark.parametrize("ends", [[0.0, 0.01], [0.0, 0.5], [0.0, 3.0], [-1.0, 7.0, 7.5]])
def test_integrate_contains_truth(ends):
    start, stop = np.array(ends[:-1]), np.array(ends[1:])
    first, second = special.integrate(positive(1.0), start, stop, np.ones(len(start)))
    assert first == pytest.approx(-np.exp(-start) * np.expm1(start - stop), rel=4e-15, abs=0)
    assert second == pytest.approx((stop - start) ** 3 / 6, rel=4e-15, abs=0)
    with pytest.raises(SizeError, match="too many"):
        special.integrate(positive(1.0), start, stop, np.full(len(start), 1e9))


@pytest.mark.parametrize("nodes", range(1, 33))
def test_gauss_legendre_errors(nodes):
    for k, (x, w) in enumerate(zip(*special.gauss_legendre(nodes), strict=True), 1):
        root, weight = arb.legendre_p_root(nodes, nodes - k, weight=True)
        assert abs(arb(x) - root) <= UNIT
        assert abs(arb(w) / weight - 1) <= 64 * UNIT


@pytest.mark.parametrize(
    ("n", "epsilon"),
    [
        *((1, 0.3), (7, 0.0), (40, 2.0), (10**6, 1.0), (1000, 30.0)),
        *((2, 459.0), (2, 461.0), (3, 700.0), (50, 709.5), (2, 745.0), (4, 5000.0), (10**6, 800.0)),
    ],
)
def test_log_pmf_contains_truth(n, epsilon):
    centre = n / (1 + math.exp(min(epsilon, 700.0))) + math.sqrt(n) * np.arange(-6, 7) / 2
    k = np.unique(np.clip(np.concatenate([np.linspace(0, min(n, 2000), 23), centre, [n]]), 0, n).astype(int))
    logs, error = special.log_pmf(k, n, epsilon)
    for x, log, off in zip(k.tolist(), logs.tolist(), error.tolist(), strict=True):
        assert abs(log_binomial(x, n, epsilon) - log) <= off
    assert (error <= UNIT * (100 + 60 * np.abs(logs) + 12 * n)).all() or epsilon > 400


def log_binomial(k, n, epsilon):
    p = 1 / (1 + arb(epsilon).exp())
    ways = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
    return ways + k * p.log() + (n - k) * (-p).log1p()


def test_few_bits_multiples_are_exact():
    draw = random.Random(3)
    steps = [5e-324, 3e-310, 1e-300, 1.0, 0.1, math.pi, 1e290] + [
        10 ** draw.uniform(-300, 290) for _ in range(99)
    ]
    for step in steps:
        short = components.few_bits(step)
        assert 0 < short <= step
        assert Fraction(short) >= Fraction(step) * (1 - Fraction(1, 2**23))
        for k in (1, 3, 2**29 - 1, draw.randrange(2**29)):
            assert Fraction(short * k) == Fraction(short) * k


def described(sigma, shifts):
    """Return the product of integer noise of these shifts: as the oracle describes it, and on a lattice."""
    each = Counter(shifts)
    law = product_on_lattice([discrete_gaussian_law(sigma, s) for s in each], [*each.values()])
    return Product(tuple((DiscreteGaussian(sigma, s), n) for s, n in each.items())), law


def stick(points, eps):
    """Return delta(eps) of losses and their masses."""
    return sum((w * (loss.exp() - eps.exp()) for loss, w in points if loss > eps), arb(0))


def enclose(law, eps):
    """Return bounds on delta(eps) of atoms, known to the slack of masses and to the error of losses."""
    sides = law.log_p, law.atoms.slack, law.loss, law.atoms.error
    rows = [*zip(*(side.tolist() for side in sides), strict=True)]
    return [
        float(
            stick(
                ((loss + side * arb(off), arb(v).exp() * (1 + side * slack)) for v, slack, loss, off in rows),
                eps,
            )
        )
        for side in (-1, 1)
    ]


@pytest.mark.parametrize("shifts", [(1, 1), (2, 1), (3, 1)])
def test_product_on_lattice_holds_masses(shifts):
    sigma, square, reach, truth = 1.5, sum(s * s for s in shifts), 21, arb_poly([1])
    each = [(-arb(x * x) / (2 * arb(sigma) ** 2)).exp() for x in range(-reach, reach + 1)]
    for s in shifts:
        spread = [arb(0)] * (2 * reach * s + 1)
        spread[::s] = [v / sum(each) for v in each]
        truth *= arb_poly(spread)
    _, law = described(sigma, shifts)
    for k in range(-12, 13):
        loss = arb(2 * k - square) / (2 * arb(sigma) ** 2)
        at = int(np.argmin(np.abs(law.loss - float(loss))))
        assert abs(law.loss.item(at) - loss) <= law.atoms.error[at]
        assert abs(arb(law.log_p.item(at)).exp() / truth[k + reach * sum(shifts)] - 1) <= law.atoms.slack[at]


@pytest.mark.parametrize("off", [0.0, 1e-12, 3e-7])
def test_product_of_losses_next_to_a_lattice_holds_masses(off):
    loss, log_p = np.array([-2.0, -1 + off, 1 - 2 * off, 2 + off]), np.array([-1.5, -1.0, -1.25, -3.0])
    law = product_on_lattice([AtomicLaw(loss, log_p, slack=np.zeros(4))], [6])
    truth = arb_poly([arb(-1.5).exp(), arb(-1.0).exp(), 0, arb(-1.25).exp(), arb(-3.0).exp()]) ** 6
    for k, log, slack in zip(np.rint(law.loss), law.log_p.tolist(), law.atoms.slack, strict=True):
        assert abs(arb(log).exp() / truth[int(k) + 12] - 1) <= slack


@pytest.mark.parametrize(
    ("sigma", "each"),
    [
        *((1.5, ((2, 1), (1, 1, 1))), (1.5, ((3, 1), (2, 2, 1))), (3.0, ((2,), (1, 1, 1, 1)))),
        (4.0, ((2, 1, 1), (1,) * 6)),
    ],
)
def test_law_of_greatest_profile_encloses_greatest_of_products(sigma, each):
    specs, laws = zip(*(described(sigma, shifts) for shifts in each), strict=True)
    law = law_of_greatest_profile(laws)
    for eps in map(arb, (-1.3, -0.2, 0.0, 0.7, 2.9, 6.0)):
        with ctx.workprec(128):  # few enough atoms
            truth = functools.reduce(arb.max, (spec.stick(eps.exp()) for spec in specs))
        check(enclose(law, eps), truth, 1e-9)


def test_profiles_that_cross_have_a_law_with_corners():
    def mixed(epsilon, weight):
        """Return the law of a response at epsilon with this weight, and of nothing else."""
        end = weight / (1 + np.exp(epsilon))
        loss = np.array([-epsilon, 0.0, epsilon])
        return AtomicLaw(loss, np.log(np.array([end * np.exp(epsilon), 1 - weight, end])))

    # The third is above the corner of the others.
    laws = [mixed(2.0879886198154822, 0.1563439016629758), mixed(1.623337456573216, 0.25216109398009484)]
    assert law_of_greatest_profile([laws[0], discrete_gaussian_law(1.1, 1), laws[1]]) is None
    laws = [mixed(2.0, 1 - 1e-9), mixed(3.0, 0.6)]
    law = law_of_greatest_profile(laws)
    points = [
        [(arb(x), arb(v).exp()) for x, v in zip(one.loss.tolist(), one.log_p.tolist(), strict=True)]
        for one in laws
    ]
    for eps in map(arb, np.linspace(-3.1, 3.1, 400).tolist()):
        check(enclose(law, eps), max(stick(each, eps) for each in points), 0.0, 1e-9)
    assert product_on_lattice([discrete_gaussian_law(s, 1) for s in (1.0, 1.1)], [1, 1]) is None


def test_year_of_daily_vectors_is_narrow_and_contains_product_of_scalars():
    """For large sigma all shifts of a norm are as private up to e^(-2 pi^2 sigma^2)."""
    sigma = float(Fraction(1000, 3)) ** 0.5
    year = to.mechanisms.DiscreteGaussianVector(sigma, 10, 10).curve() ** 365
    scalars = to.mechanisms.DiscreteGaussian(sigma).curve() ** 3650
    result = year.bounds.epsilon(1e-6)
    assert overlap(result, scalars.bounds.epsilon(1e-6))
    assert result.width < 1e-6
