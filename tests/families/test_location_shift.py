import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as some

import tradeoff as to
from tradeoff import LocationShift
from tradeoff.errors import DomainError
from tradeoff.pld.law import masses

DIGITS = 50
ALPHAS = np.array([0.0, 1e-200, 1e-12, 0.003, 0.2, 0.5, 0.500001, 0.9, 1 - 1e-10, 1.0])
LOSSES = np.array([-4.0, -0.9, -0.02, 0.0, 1e-7, 0.3, 0.97, 2.5, 9.0])


def _tails(name, power=None):
    """Return P(X > x) and P(X <= x) with fifty digits."""
    if name == "logistic":
        return lambda x: 1 / (1 + mpmath.exp(x)), lambda x: 1 / (1 + mpmath.exp(-x))
    if name == "gumbel_r":
        return (lambda x: -mpmath.expm1(-mpmath.exp(-x))), (lambda x: mpmath.exp(-mpmath.exp(-x)))
    if name == "gumbel_l":
        return (lambda x: mpmath.exp(-mpmath.exp(x))), (lambda x: -mpmath.expm1(-mpmath.exp(x)))

    def above(x):
        half = (
            mpmath.gammainc(1 / mpmath.mpf(power), abs(x) ** mpmath.mpf(power), mpmath.inf, regularized=True)
            / 2
        )
        return half if x > 0 else 1 - half

    return above, lambda x: above(-x)


def _loss(name, theta, power=None):
    if name == "logistic":
        return lambda x: theta + 2 * mpmath.log((1 + mpmath.exp(-x)) / (1 + mpmath.exp(theta - x)))
    if name == "gumbel_r":
        return lambda x: theta + mpmath.exp(-x) - mpmath.exp(theta - x)
    if name == "gumbel_l":
        return lambda x: -theta + mpmath.exp(x) - mpmath.exp(x - theta)
    return lambda x: abs(x) ** mpmath.mpf(power) - abs(x - theta) ** mpmath.mpf(power)


def _solve(function, level, low=-900, high=900):
    """Return x with function(x) = level for an increasing function, to fifty digits."""
    low, high = mpmath.mpf(low), mpmath.mpf(high)
    if not function(low) < level < function(high):
        return None
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < level else (low, middle)
    return mpmath.findroot(
        lambda x: function(x) - level, (low, high), solver="anderson", tol=1e-90, maxsteps=200, verify=False
    )


def _far(name, power):
    reach = 750 ** (1 / power) if power else 900
    return -reach, 7 if name == "gumbel_l" else reach


CASES = [
    ("logistic", None, 1.0),
    ("logistic", None, 0.01),
    ("logistic", None, 6.0),
    ("gumbel_r", None, 0.001),
    ("gumbel_r", None, 1.0),
    ("gumbel_l", None, 0.3),
]


def _curve(name, power, theta):
    return LocationShift(st.gennorm(power) if power else getattr(st, name)(), theta)


def _reach(name, power):
    return 4 * 750 ** (1 / power) if power else 7 if name.startswith("gumbel") else 900


GENNORM = [("gennorm", 1.05, 0.7), ("gennorm", 2.0, 1.0), ("gennorm", 3.5, 2.0)]


@pytest.mark.parametrize(("name", "power", "theta"), [*CASES, *GENNORM])
def test_delta_contains_fifty_digits(name, power, theta):
    f = _curve(name, power, theta)
    low, high = f.bounds.delta(LOSSES)
    with mpmath.workdps(DIGITS):
        above, _ = _tails(name, power)
        loss = _loss(name, mpmath.mpf(theta), power)
        for epsilon, least, most in zip(LOSSES, low, high, strict=True):
            x = _solve(loss, mpmath.mpf(float(epsilon)), -_reach(name, power), _reach(name, power))
            if x is None:  # beyond every loss, or where the threshold leaves the floats
                continue
            truth = above(x - theta) - mpmath.exp(float(epsilon)) * above(x)
            assert least <= truth <= most
            assert most - least <= (1e-7 if power else 1e-9) * truth + 1e-300


@pytest.mark.parametrize(("name", "power", "theta"), CASES)
def test_beta_contains_fifty_digits(name, power, theta):
    f = _curve(name, power, theta)
    low, high = f.bounds(ALPHAS)
    with mpmath.workdps(DIGITS):
        above, below = _tails(name, power)
        for alpha, least, most in zip(ALPHAS[1:-1], low[1:-1], high[1:-1], strict=True):
            x = _solve(lambda x: -mpmath.log(above(x)), -mpmath.log(float(alpha)), *_far(name, power))
            truth = below(x - theta)
            assert least <= truth <= most
            assert most - least <= 1e-8 * truth
    assert low[0] >= 1 - 1e-15
    assert high[-1] == 0


def _hold_cells(cells, edges, name, power, theta):
    with mpmath.workdps(DIGITS):
        above, _ = _tails(name, power)
        loss = _loss(name, mpmath.mpf(theta), power)
        x = [
            _solve(loss, mpmath.mpf(float(edge)), -_reach(name, power), _reach(name, power)) for edge in edges
        ]
        for k in range(len(edges) - 1):
            p = above(x[k]) - above(x[k + 1])
            q = above(x[k] - theta) - above(x[k + 1] - theta)
            for got, truth in (
                (cells.excess[k], q - mpmath.exp(edges[k]) * p),
                (cells.deficit[k], p - mpmath.exp(-edges[k + 1]) * q),
            ):
                assert abs(got - truth) <= cells.slack[k] * truth + 1e-300


@pytest.mark.parametrize(("name", "power", "theta"), CASES)
def test_cells_contain_fifty_digits(name, power, theta):
    law = _curve(name, power, theta).loss_distribution()
    edges = np.array([-2.0, -0.004, -0.0040001, -0.001, 0.0, 1e-5, 0.003, 0.009, 0.5, 0.500001, 0.9])
    edges = np.unique(np.clip(edges, *(0.999 * np.array(law.support))))
    cells = law.cells(edges)
    _hold_cells(cells, edges, name, power, theta)
    assert np.max(cells.slack * np.diff(edges)) < 1e-5


@pytest.mark.parametrize(("name", "power", "theta"), CASES)
def test_cells_of_shift_sum_to_one(name, power, theta):
    law = _curve(name, power, theta).loss_distribution()
    edges = np.linspace(*law.support, 301)
    p, q = masses(law.cells(edges), edges)
    assert abs(np.sum(p) - 1) < 1e-9
    assert abs(np.sum(q) - 1) < 1e-9


def test_location_shift_of_closed_forms_returns_families():
    assert LocationShift(st.norm(0, 2), 1) == to.Gaussian(0.5)
    assert LocationShift(st.laplace(scale=4), -1) == to.Laplace(0.25)
    assert LocationShift(st.uniform(3, 8), 2) == to.TotalVariation(0.25)
    assert LocationShift(st.uniform(), 3) == to.TotalVariation(1)
    assert LocationShift(st.logistic(), 0) == to.Identity()
    assert LocationShift(st.norm(0, 2), 1) @ to.Gaussian(0.5) == to.Gaussian(0.5) ** 2
    rounded = LocationShift(st.laplace(0, 3), 1)
    assert Fraction(rounded.epsilon_0) >= Fraction(1, 3) > Fraction(np.nextafter(rounded.epsilon_0, 0))


def test_gumbel_shift_equals_lehmann_alternative():
    f = LocationShift(st.gumbel_r(scale=2), 2 * np.log(2))
    alpha = np.linspace(0, 1, 11)
    assert np.allclose(f(alpha), (1 - alpha) ** 2, atol=1e-14)
    assert np.allclose((~f)(alpha), 1 - np.sqrt(alpha), atol=1e-14)
    assert ~~f == f
    assert (~f).delta(1.0) == pytest.approx(LocationShift(st.gumbel_l(scale=2), 2 * np.log(2)).delta(1.0))


def _logistic_sum_delta(theta, n, epsilon):
    """Sum of n losses: density e^((n theta - s)/2)/(e^theta - 1)^n theta^n times that of a sum of n uniforms
    on [-theta, theta]."""

    def uniform_sum(s):
        u = (s + n * theta) / (2 * theta)
        terms = [
            (-1) ** k * mpmath.binomial(n, k) * (u - k) ** (n - 1) for k in range(int(mpmath.floor(u)) + 1)
        ]
        return mpmath.fsum(terms) / mpmath.factorial(n - 1) / (2 * theta)

    scale = (theta / mpmath.expm1(theta)) ** n * mpmath.exp(n * theta / 2)
    knots = [epsilon] + [k for k in (-n * theta + 2 * theta * j for j in range(n + 1)) if k > epsilon]
    return mpmath.quad(
        lambda s: (mpmath.exp(s) - mpmath.exp(epsilon)) * scale * mpmath.exp(-s / 2) * uniform_sum(s), knots
    )


@pytest.mark.parametrize("epsilon", [0.0, 2.0, 7.5])
def test_logistic_power_contains_exact_convolution(epsilon):
    ten = LocationShift(st.logistic(scale=2), 2.0) ** 10
    with mpmath.workdps(40):
        truth = _logistic_sum_delta(mpmath.mpf(1), 10, mpmath.mpf(epsilon))
        low, high = ten.bounds.delta(epsilon)
        assert low <= truth <= high
        assert high - low < 1e-3 * truth


@given(theta=some.floats(0.01, 5), more=some.floats(1.01, 2))
def test_privacy_falls_with_the_shift(theta, more):
    f, g = LocationShift(st.logistic(), theta), LocationShift(st.logistic(), theta * more)
    alpha = np.linspace(0.01, 0.99, 9)
    assert np.all(f(alpha) >= g(alpha))
    assert f.delta(0.1) <= g.delta(0.1)


@pytest.mark.parametrize("law", [st.logistic(), st.gumbel_r()])
@pytest.mark.parametrize("shift", [0.5, -0.5])
def test_group_of_shift_equals_iterate(law, shift):
    f = LocationShift(law, shift)
    alpha = np.linspace(0.05, 0.95, 7)
    for one in (f, ~f):
        assert np.allclose(one.group(3)(alpha), 1 - f2(f2(f2(alpha, one), one), one), rtol=1e-12)
    assert ~f.group(3) == (~f).group(3)


def f2(alpha, f):
    return 1 - f(alpha)


def test_equality_depends_on_name_and_arguments():
    f = LocationShift(st.logistic(scale=2), 1)
    assert f == LocationShift(st.logistic(0, 2.0), 1.0) == LocationShift(st.logistic(loc=5, scale=2), -1)
    assert hash(f) == hash(LocationShift(st.logistic(0, 2.0), 1.0))
    assert pickle.loads(pickle.dumps(f)) == f
    assert f != LocationShift(st.logistic(scale=2), 1.5)
    assert LocationShift(st.gumbel_r(), 1) != LocationShift(st.gumbel_r(), -1)
    assert f**2 == f @ LocationShift(st.logistic(scale=2), 1)


def test_sup_loss_of_bounded_losses_is_shift():
    f = LocationShift(st.logistic(), 1.0)
    assert f.epsilon(0) == 1.0
    assert f.delta(1.0) == 0.0
    assert LocationShift(st.gumbel_l(), 1.0).sup_loss == np.inf
    assert LocationShift(st.logistic(), 0)(0.25) == 0.75


def test_laws_of_users_raise():
    class Double(st.rv_continuous):
        def _logpdf(self, x):
            return -np.abs(x) - np.log(2)

    for law in (Double()(), Double(name="laplace")(), st.levy_stable(1.5, 0.9)):
        with pytest.raises(DomainError, match=r"must be a law of scipy\.stats .* to from_densities"):
            LocationShift(law, 1, assume_log_concave=True)
        with pytest.raises(DomainError, match="must be a law of scipy"):
            to.from_scipy(st.laplace(), law)


def test_equality_of_histograms_follows_the_bins():
    bins = np.array([0.0, 1.0, 2.0])
    first, second = (st.rv_histogram((np.array(w), bins), density=False)() for w in ([9, 1], [1, 9]))
    assert to.from_scipy(first, second).delta(0.0) == pytest.approx(0.8, rel=1e-7)
    assert to.from_scipy(first, first) == to.Identity()


@pytest.mark.parametrize("shift", [1e-6, 0.3, 3.0, 5.880542111178187, 8.0, 14.0, 100.0, 400.0])
@pytest.mark.parametrize("z", [1e-9, 0.1, 2.5, 5.2, 20.0, 300.0])
def test_gumbel_delta_of_steep_losses_contains_truth(shift, z):
    """P(Z > z) = e^-z, and L = (e^shift - 1) Z - shift: delta = e^-z (1 - e^-shift)."""
    with mpmath.workdps(DIGITS):
        theta = mpmath.mpf(shift)
        epsilon = float(z * mpmath.expm1(theta) - theta)
        place = (mpmath.mpf(epsilon) + theta) / mpmath.expm1(theta)
        true = -mpmath.exp(-place) * mpmath.expm1(-theta)
        result = LocationShift(st.gumbel_r(), -shift).bounds.delta(epsilon)
        assert result.lower <= true <= result.upper
        assert result.upper - result.lower <= 1e-8 * true


def test_cells_near_sup_loss_contain_truth():
    law = LocationShift(st.logistic(scale=3), 1).loss_distribution()
    with mpmath.workdps(DIGITS):
        theta = mpmath.mpf(1) / 3
        for gap in (1e-11, 1e-10, 1e-8):
            edges = np.array([float(theta * (1 - gap)), np.inf])
            cells, off = law.cells(edges), mpmath.mpf(law.edge_error(edges)[0])
            # Under P, L is theta - 2 log(1 + (e^theta - 1) U), U uniform.
            least, most = (
                2 * (mpmath.expm1(x / 2) - x / 2) * mpmath.exp(theta - x / 2) / mpmath.expm1(theta)
                for x in (theta - edges[0] - off, theta - edges[0] + off)
            )
            assert least * (1 - cells.slack[0]) <= cells.excess[0] <= most * (1 + cells.slack[0])


def _semicircular(x):
    return mpmath.mpf(1) / 2 + (x * mpmath.sqrt(1 - x * x) + mpmath.asin(x)) / mpmath.pi


ENDS = [
    (st.triang(0.5), 1, lambda x: 1 - 2 * (1 - x) ** 2),
    (st.semicircular(), 1, _semicircular),
    (st.truncexpon(3.0), 3, lambda x: mpmath.expm1(-x) / mpmath.expm1(-3)),
    (st.truncexpon(2.0**-20), mpmath.mpf(2) ** -20, lambda x: mpmath.expm1(-x) / mpmath.expm1(-(2.0**-20))),
    (st.beta(2, 1), 1, lambda x: x**2),
    (st.truncnorm(-1, 1), 1, lambda x: mpmath.mpf(1) / 2 + mpmath.erf(x / mpmath.sqrt(2)) / 2 / _middle()),
]


def _middle():
    return mpmath.erf(1 / mpmath.sqrt(2))


@pytest.mark.parametrize(("law", "end", "cdf"), ENDS)
@pytest.mark.parametrize(
    "share", [*(pytest.param(share, marks=pytest.mark.slow) for share in (1e-18, 1e-8)), 1e-3]
)
def test_mass_at_infinity_of_small_shifts_contains_truth(law, end, cdf, share):
    # SciPy takes some tails as differences, and next to an end floats are coarse.
    shift = float(end * share)
    f = LocationShift(law, shift)
    with mpmath.workdps(DIGITS):
        truth = 1 - cdf(end - mpmath.mpf(shift))
        for result in (f.mass_at_infinity, f.bounds.delta(650.0)):
            assert result.lower <= truth <= result.upper
    assert result.upper - result.lower < 5e-9
    assert law is not ENDS[0][0] or f.gdp(failure=0).mu == np.inf


@pytest.mark.parametrize(("shift", "seen"), [(1e-3, 1e-3), (-1e-3, 0.0)])
def test_exponential_mass_of_small_shift_is_accurate(shift, seen):
    f = LocationShift(st.expon(), shift)
    assert f.mass_at_minus_infinity == pytest.approx(seen, rel=1e-3)
    assert f.bounds.delta(650.0).upper == pytest.approx(1e-3 - seen, rel=1e-3)


def _gumbel_cell(theta, flipped, start, stop):
    """Return both masses of losses between two: L = theta - (e^theta - 1) E, E ~ Exp(1) under P, or -L."""
    sign, rise = (1, -1)[flipped], mpmath.expm1(theta)
    least, most = sorted((theta - sign * mpmath.mpf(float(loss))) / rise for loss in (start, stop))
    under_p, under_q = (
        mpmath.exp(-rate * least) * -mpmath.expm1(-rate * (most - least)) for rate in (1, rise + 1)
    )
    return (under_q, under_p) if flipped else (under_p, under_q)


@pytest.mark.parametrize("flipped", [False, True])
def test_cells_of_gumbel_contain_closed_form(flipped):
    """Where an exponential inside a density turns fast, down to all the mass a float holds."""
    law = _curve("gumbel_l" if flipped else "gumbel_r", None, 5.0).loss_distribution()
    edges = 5 - np.expm1(5) * np.exp(-np.linspace(-6.4, 12, 30))
    edges = -edges[::-1] if flipped else edges
    with mpmath.workdps(DIGITS):
        for a, b, *result, slack in zip(edges, edges[1:], *law.cells(edges), strict=False):
            p, q = _gumbel_cell(mpmath.mpf(5), flipped, a, b)
            for got, truth in zip(result, (q - mpmath.exp(a) * p, p - mpmath.exp(-b) * q), strict=True):
                assert truth < 1e-290 or abs(got - truth) <= slack * truth


@pytest.mark.parametrize("alpha", [1e-300, 1e-9, 0.3, 0.5, 0.75, 1 - 2.0**-53])
def test_hypsecant_beta_contains_truth(alpha):
    low, high = LocationShift(st.hypsecant(), 0.7).bounds(alpha)
    with mpmath.workdps(DIGITS):
        truth = (
            2
            / mpmath.pi
            * mpmath.atan(mpmath.exp(-mpmath.mpf(0.7)) / mpmath.tan(mpmath.pi * mpmath.mpf(alpha) / 2))
        )
        assert low <= truth <= high <= truth + mpmath.mpf(1e-9)


def test_gumbel_power_orders_differ():
    five = LocationShift(st.gumbel_r(), 1.0) ** 5
    assert not five.symmetric
    first, second = five.bounds.delta(1.0), (~five).bounds.delta(1.0)
    assert first.upper < second.lower
    assert max(first.width, second.width) < 1e-3


def test_disjoint_supports_reveal_everything():
    f = LocationShift(st.beta(2, 2), 50.0)
    assert f.delta(3.0) == pytest.approx(1)
    assert f.bounds(0.3).upper <= 1e-11
