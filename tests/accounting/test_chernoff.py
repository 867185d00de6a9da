import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.accounting.laws import atomic, pairs
from tests.strategies import log_uniform
from tests.truth.balls import digits
from tests.truth.continuous import Gaussian
from tradeoff.accounting.contour.engine import ContourCache
from tradeoff.accounting.contour.line import _POLYNOMIAL_ABOVE, _POLYNOMIAL_BELOW, Chernoff, ContourLine
from tradeoff.accounting.planner import Composition
from tradeoff.accounting.saddles import LEFT, Placement
from tradeoff.pld.discrete import binomial_law
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.shifts import LaplaceLaw
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD


@given(log_uniform(1e-3, 8.0), st.floats(0.5, 30.0), st.integers(1, 10**6))
def test_chernoff_bound_of_gaussian_power_holds_truth(mu, z, n):
    """The bound is above delta, by the factor of a Gaussian tail; its inverse bounds epsilon."""
    laws, counts = [GaussianLaw(mu / math.sqrt(n))], [n]
    lines = ContourCache(laws, counts)
    x = mu * z
    truth = digits(Gaussian(mu).delta(x))
    bound = float(lines.chernoff_bound(np.array([x]))[0])
    assert truth <= bound
    assert bound <= 1e6 * truth or bound < 1e-290
    if float(truth) > 1e-290:
        assert lines.factors.epsilon_ceiling(lines.cumulant, float(truth)) >= x * (1 - 1e-12)


MIXED = MixturePLD([(0.25, binomial_law(0.216, 27)), (0.75, GaussianLaw(0.0061))])
RARE = SubsampledPLD(ReversedPLD(LaplaceLaw(0.0077)), 8.5e-6)
TWICE = SubsampledPLD(SubsampledPLD(GaussianLaw(0.1376), 0.9999997727), 8.28e-6)


@pytest.mark.parametrize(
    ("laws", "counts", "delta"),
    [
        ([GaussianLaw(0.0013), RARE, SubsampledPLD(MIXED, 0.9999999557)], [20, 1, 2], 2.97e-90),
        ([SubsampledPLD(ReversedPLD(GaussianLaw(0.187)), 0.00224)], [13], 8.67e-73),
        ([binomial_law(1.75, 10), TWICE], [1, 5], 1e-60),
    ],
)
def test_epsilon_in_far_tail_is_finite(laws, counts, delta):
    low, high = Composition(laws, counts).answer("epsilon", np.array([delta]), None)
    assert np.all(low <= high)
    assert np.all(high < 100)


@given(pairs, st.floats(-20.0, 20.0))
def test_chord_bounds_beta(pair, t):
    law, truth = pair
    (bound,) = Composition([law], [1])._chord(np.array([float(truth.p_above(arb(t)))]))
    assert bound.item() >= (1 - truth.q_above(arb(t))) * (1 - 1e-15) - 1e-15


def test_beta_beyond_finite_mass_is_zero():
    law, _ = atomic([-1.0, 0.5], [0.5, 0.4], 0.1)
    low, high = Composition([ReversedPLD(law), GaussianLaw(0.1)], [20, 1]).answer(
        "beta", np.array([1e-3, 0.1, 0.5]), None
    )
    assert low[0] > 0
    assert high[1] == high[2] == 0


ATOMS = [
    (to.Laplace(1) ** 10, 10, mp.mpf(2) ** -10),
    (to.Laplace(0.25) ** 40, 10, mp.mpf(2) ** -40),
    (to.Laplace(0.5) ** 4 @ to.PureDP(1) ** 3, 5, mp.mpf(2) ** -4 * (mp.e / (1 + mp.e)) ** 3),
]


@pytest.mark.parametrize("share", [1e-200, 1e-30, 1e-16])
@pytest.mark.parametrize(("f", "top", "mass"), ATOMS, ids=[repr(f) for f, *_ in ATOMS])
def test_epsilon_near_supremum_is_that_of_last_atom(f, top, mass, share, monkeypatch):
    """Above all other losses delta(x) = q (1 - e^(x - top)); no engine is used."""
    monkeypatch.setattr(Composition, "choices", None)
    delta = float(mass) * share
    result = f.bounds.epsilon(delta)
    with mp.workdps(60):
        truth = top + mp.log1p(-mp.mpf(delta) / mass)
        assert result.lower <= truth <= result.upper
    assert result.width <= 1e-13


def test_epsilon_with_atom_below_supremum_is_narrow():
    """The atom of a Laplace law next to a Gaussian bounds nothing wrong."""
    f = to.Laplace(1) ** 3 @ to.Gaussian(0.01)
    result = f.bounds.epsilon(1e-6)
    assert result.width < 1e-6
    assert 3 < result.lower < 3.05


STEP, MEAN, TAU = 0.037, 5.3, 0.02
AT = np.array([0.3, -7.25, 41.0])


def drawn(size, c):
    """Return a line of any values at all: bounds on the rounding of a sum rest on no shape."""
    rng = np.random.default_rng(size)
    log = rng.uniform(-30, 0, size) + 1j * rng.uniform(-9, 9, size)
    log[0], log.real[-7::-97] = 0, -np.inf
    sides = Chernoff(c / 2, 0.0), Chernoff(2 * c, 0.0)
    place = Placement(c, c / 2, 2 * c, STEP, 0.0, 0.0, TAU, 1.0)
    return ContourLine(place, 0.0, 0.0, MEAN, 0.0, log, np.zeros(size), 0.0, *sides)


def summed(line, kernel, x):
    """Return the sum, term by term, of the floats that the line holds."""
    total = arb(0)
    for k, log in enumerate(line.log.tolist()):
        if log.real > -math.inf:
            y = arb(line.place.step) * k
            turn = acb(0, (arb(line.mean) - x) * y)
            total += (kernel(acb(line.place.c, y)) * (acb(log) + turn).exp()).real / (1 if k else 2)
    return total * line.place.step / arb.pi()


def added(powers, factor, z):
    """Return what a Gaussian adds to the transform, by its polynomial."""
    s = (TAU * (z - 0.5)) ** 2
    whole = sum(a * b for a, b in zip(powers, (1, 1 + s, 3 + 6 * s + s**2), strict=True))
    return factor * arb(TAU) ** 2 * whole


@pytest.mark.parametrize("c", [1.5, 0.4])
@pytest.mark.parametrize(
    ("size", "silent"),
    [(192, 0), (193, 0), (2112, 0), (9000, 0), (9000, 8000)],
    ids=["plain", "rows", "full rows", "grid", "rows left out"],
)
def test_sum_of_line_errs_within_bounds(size, silent, c, monkeypatch):
    monkeypatch.setattr("tradeoff.accounting.contour.line._LONG", (2**12, 2**19))
    line = drawn(size, c)
    line.log[500 : 500 + silent] -= 90.0
    sign = 1 if c > 1 else -1
    sides = [(_POLYNOMIAL_ABOVE, (arb(TAU) ** 2 / 8).exp()), (_POLYNOMIAL_BELOW, arb(1))]
    sums, charged = line._sum_nodes(AT, many=size == 9000)
    assert (line._grid is not None) == (size == 9000 and not silent)
    assert (len(line._sums.values) == 2) == (size == 192)
    assert (len(line._sums.blocks) < size / 64 / 4) == (silent > 0)
    for (powers, factor), result, most in zip(sides[::sign], sums, charged, strict=True):
        for x, value, error in zip(AT.tolist(), result.tolist(), most.tolist(), strict=True):

            def kernel(z, powers=powers, factor=factor):
                return sign * (1 / (z * (z - 1)) - added(powers, factor, z))

            assert abs(summed(line, kernel, x) - value) <= error
            assert error <= 1e-9 * float(np.sum(np.abs(line._sums.values)))


def test_line_that_is_nothing_everywhere_has_bounds():
    line = drawn(9000, 1.5)
    line.log[:] = -np.inf
    low, high = line.psi(AT)
    assert np.all((low == 0) & (high > 0))


def test_polynomials_bound_time_value_of_gaussian():
    """1 - u M(u), between neighbours: M falls, u M(u) rises, and so does every single power."""
    most, least = ([arb(a) for a in powers] for powers in (_POLYNOMIAL_ABOVE, _POLYNOMIAL_BELOW))
    grid, root = [arb(k) / 1024 for k in range(4097)], arb(2).sqrt()
    mills = [(u * u / 2).exp() * (u / root).erfc() * (arb.pi() / 2).sqrt() for u in grid]
    for u, v, here, after in zip(grid, grid[1:], mills, mills[1:], strict=False):
        # u M(u) >= u^2/2 - b u^4 and u M(u) <= 1/2 + p u^2, over u on the left.
        assert after >= -most[1] * v - most[2] * u**3
        assert v * here <= 1 - least[0] - least[1] * u**2
    assert most[1] + most[2] * grid[-1] ** 2 >= 0
    assert least[0] + least[1] * grid[-1] ** 2 <= 0
    area = [float(a - b) for a, b in zip(most, least, strict=True)]
    assert 0.8 * LEFT <= area[0] + area[1] + 3 * area[2] <= LEFT


@pytest.mark.parametrize("last", [1.0, 4.0, 6.0])
@pytest.mark.parametrize("share", [1.0, 0.5, 1e-3])
def test_beyond_last_node_bounds_integral(share, last):
    """The product is as large as the bound on it allows: its integrals are known."""
    cut = share * math.exp(-(last**2) / 2)
    line = drawn(64, 1.5)
    line = replace(line, tail_bound=cut, place=line.place._replace(step=last / TAU / 63))
    for result, (powers, factor) in zip(line._truncation.tolist(), line._polynomials, strict=True):
        with mp.workdps(20):

            def kernel(v, powers=powers, factor=factor):
                s = v * v + TAU**2
                a, b, c = map(abs, powers)
                return 1 / v**2 + factor * (a + b * (1 + s) + c * (3 + 6 * s + s * s))

            true = share * TAU / mp.pi * mp.quad(lambda v: kernel(v) * mp.exp(-v * v / 2), [last, 8, 20])
        assert true <= result <= 1.5 * true if last > 1 else true <= result


@pytest.mark.parametrize("x", [1.0, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("seed", range(5))
def test_alias_of_large_exponents_is_not_rounded_down(x, seed):
    draw = np.random.default_rng(seed)
    side = Chernoff(1.5 + draw.uniform(0.01, 0.5), 0.0)
    side = side._replace(log_m=(side.c - 1.5) * x + draw.uniform(-9, 9))
    line = drawn(64, 1.5)
    line = replace(line, right=side, place=line.place._replace(step=draw.uniform(0.01, 0.5)))
    c = arb(side.c)
    fall = (-(c - line.place.c) * 2 * arb.pi() / line.place.step).exp()
    kappa = ((c - 1) / c) ** (c - 1) / c
    alias = kappa * (side.log_m - (c - line.place.c) * x).exp() * fall / (1 - fall)
    assert alias <= line._alias(side, np.array([x]))[0]
