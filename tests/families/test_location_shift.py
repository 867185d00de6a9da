"""Location pairs against balls, fifty digits and closed forms."""

import pickle
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import scipy.stats as st
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as some

import tradeoff as to
from tests.truth.claims import check
from tests.truth.continuous import Gumbel, Logistic
from tests.truth.operators import ReversedPLD
from tradeoff import LocationShift
from tradeoff.errors import DomainError
from tradeoff.pld.law import masses

DIGITS = 50
ALPHAS = np.array([0.0, 1e-200, 1e-12, 0.003, 0.2, 0.5, 0.500001, 0.9, 1 - 1e-10, 1.0])
LOSSES = np.array([-4.0, -0.9, -0.02, 0.0, 1e-7, 0.3, 0.97, 2.5, 9.0])
CASES = {
    **{f"logistic {s}": (LocationShift(st.logistic(), s), Logistic(s)) for s in (1.0, 0.01, 6.0)},
    **{f"gumbel_r {s}": (LocationShift(st.gumbel_r(), s), Gumbel(s)) for s in (0.001, 1.0)},
    "gumbel_l 0.3": (LocationShift(st.gumbel_l(), 0.3), ReversedPLD(Gumbel(0.3))),
}
of_cases = pytest.mark.parametrize(("f", "spec"), CASES.values(), ids=CASES)


@of_cases
def test_answers_contain_balls(f, spec):
    delta, beta = f.bounds.delta(LOSSES), f.bounds(ALPHAS)
    least, most = (float(x.mid()) for x in spec.losses())
    inside = (least < LOSSES) & (most > LOSSES)
    check(delta, [*map(spec.delta, LOSSES.tolist())])
    check([side[inside] for side in delta], [*map(spec.delta, LOSSES[inside].tolist())], 1e-9, 1e-300)
    check([side[1:-1] for side in beta], [*map(spec.beta, ALPHAS[1:-1].tolist())], 1e-8)
    assert beta.lower[0] >= 1 - 1e-15
    assert beta.upper[-1] == 0


def _solve(function, level, low, high):
    """Return x with function(x) = level for an increasing function, or an end."""
    low, high = mpmath.mpf(low), mpmath.mpf(high)
    for _ in range(180):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < level else (low, middle)
    return high


def _normal_tail(power, x):
    """Return the mass above x of the law of density proportional to exp -|x|^power."""
    tail = mpmath.gammainc(mpmath.mpf(1) / power, abs(x) ** power, regularized=True) / 2
    return tail if x > 0 else 1 - tail


FAR = [0.5, 50.0, 300.0, 740.0, 1500.0, 4000.0]
POWERS = [(1.05, 0.7, LOSSES), (2.0, 1.0, LOSSES), (3.5, 2.0, LOSSES)]
# Slopes of L turn by e^3 along a panel, and one float further L may rise by 10^5.
STEEPER = [(10, 1.0), (30, 0.5), (60, 1.0), (60, 1.5)]


@pytest.mark.parametrize(
    ("power", "theta", "losses"), [*POWERS, *(pytest.param(*p, FAR, marks=pytest.mark.slow) for p in STEEPER)]
)
def test_delta_of_generalised_normal_laws_contains_fifty_digits(power, theta, losses):
    result = LocationShift(st.gennorm(power), theta).bounds.delta(losses)
    with mpmath.workdps(DIGITS):
        theta, reach = mpmath.mpf(theta), 4 * 750 ** (1 / power)
        for epsilon, *claim in zip(map(float, losses), *result, strict=True):
            x = _solve(lambda x: abs(x) ** power - abs(x - theta) ** power, epsilon, -reach, reach)
            if -reach < x < reach:
                truth = _normal_tail(power, x - theta) - mpmath.exp(epsilon) * _normal_tail(power, x)
                check(claim, truth, 1e-7 if power < 5 else 1e-6 if epsilon < 690 else 0.25, 1e-300)


EDGES = np.array([-2.0, -0.004, -0.0040001, -0.001, 0.0, 1e-5, 0.003, 0.009, 0.5, 0.500001, 0.9])


@of_cases
def test_cells_contain_balls(f, spec):
    law = f.loss_distribution()
    edges = np.unique(np.clip(EDGES, *(0.999 * np.array(law.support))))
    cells = law.cells(edges)
    with ctx.workprec(1000):
        losses = [arb(x).exp() for x in edges.tolist()]
        tails = [spec.tails(s) for s in losses]
        for k, ((q, p), (r, s)) in enumerate(pairwise(tails)):
            excess, deficit = (q - r) - losses[k] * (p - s), (p - s) - (q - r) / losses[k + 1]
            for result, truth in ((cells.excess[k], excess), (cells.deficit[k], deficit)):
                assert abs(result - truth) <= cells.slack[k] * truth + 1e-300
    assert np.max(cells.slack * np.diff(edges)) < 1e-5
    edges = np.linspace(*law.support, 301)
    assert list(map(np.sum, masses(law.cells(edges), edges))) == pytest.approx([1, 1], abs=1e-9)


@pytest.mark.parametrize("flipped", [False, True])
def test_cells_of_gumbel_contain_closed_form(flipped):
    """Where an exponential inside a density turns fast, down to all the mass a float holds.

    L = 5 - (e^5 - 1) E, E ~ Exp(1) under P and Exp(e^5) under Q; or -L, the laws exchanged.
    """
    sign = -1 if flipped else 1
    law = LocationShift((st.gumbel_l if flipped else st.gumbel_r)(), 5.0).loss_distribution()
    edges = np.sort(sign * (5 - np.expm1(5) * np.exp(-np.linspace(-6.4, 12, 30))))
    with mpmath.workdps(DIGITS):
        rise = mpmath.expm1(5)
        for a, b, *result, slack in zip(edges, edges[1:], *law.cells(edges), strict=False):
            least, most = sorted((5 - sign * mpmath.mpf(float(loss))) / rise for loss in (a, b))
            p, q = (
                mpmath.exp(-r * least) * -mpmath.expm1(-r * (most - least)) for r in (1, rise + 1)[::sign]
            )
            for got, truth in zip(result, (q - mpmath.exp(a) * p, p - mpmath.exp(-b) * q), strict=True):
                assert truth < 1e-290 or abs(got - truth) <= slack * truth


def test_location_shift_of_closed_forms_returns_families():
    assert LocationShift(st.norm(0, 2), 1) == to.Gaussian(0.5)
    assert LocationShift(st.laplace(scale=4), -1) == to.Laplace(0.25)
    assert LocationShift(st.uniform(3, 8), 2) == to.TotalVariation(0.25)
    assert LocationShift(st.uniform(), 3) == to.TotalVariation(1)
    assert LocationShift(st.logistic(), 0) == to.Identity()
    assert LocationShift(st.norm(0, 2), 1) @ to.Gaussian(0.5) == to.Gaussian(0.5) ** 2
    rounded = LocationShift(st.laplace(0, 3), 1)
    assert Fraction(rounded.epsilon_0) >= Fraction(1, 3) > Fraction(np.nextafter(rounded.epsilon_0, 0))


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
        check(ten.bounds.delta(epsilon), _logistic_sum_delta(mpmath.mpf(1), 10, mpmath.mpf(epsilon)), 1e-3)


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
        assert np.allclose(
            one.group(3)(alpha), 1 - reduce(lambda a, _: 1 - one(a), range(3), alpha), rtol=1e-12
        )
    assert ~f.group(3) == (~f).group(3)


def test_equality_depends_on_name_and_arguments():
    f = LocationShift(st.logistic(scale=2), 1)
    assert f == LocationShift(st.logistic(0, 2.0), 1.0) == LocationShift(st.logistic(loc=5, scale=2), -1)
    assert hash(f) == hash(LocationShift(st.logistic(0, 2.0), 1.0))
    for each in (f, to.from_densities(np.sin, np.cos, support=(0, np.pi / 2))):
        assert pickle.loads(pickle.dumps(each)) == each
    assert f != LocationShift(st.logistic(scale=2), 1.5)
    assert LocationShift(st.gumbel_r(), 1) != LocationShift(st.gumbel_r(), -1)
    assert ~~LocationShift(st.gumbel_r(), 1) == LocationShift(st.gumbel_r(), 1)
    assert f**2 == f @ LocationShift(st.logistic(scale=2), 1)


def test_sup_loss_of_bounded_losses_is_shift():
    f = LocationShift(st.logistic(), 1.0)
    assert (f.epsilon(0), f.delta(1.0), LocationShift(st.logistic(), 0)(0.25)) == (1.0, 0.0, 0.75)
    assert LocationShift(st.gumbel_l(), 1.0).sup_loss == np.inf


def test_laws_of_users_raise():
    class Double(st.rv_continuous):
        def _logpdf(self, x):
            return -np.abs(x) - np.log(2)

    for law in (Double()(), Double(name="laplace")(), st.levy_stable(1.5, 0.9)):
        with pytest.raises(DomainError, match=r"must be a law of scipy\.stats .* to from_densities"):
            LocationShift(law, 1, assume_log_concave=True)
        with pytest.raises(DomainError, match="must be a law of scipy"):
            to.from_scipy(st.laplace(), law)


@pytest.mark.parametrize("shift", [1e-6, 0.3, 3.0, 5.880542111178187, 8.0, 14.0, 100.0, 400.0])
def test_gumbel_delta_of_steep_losses_contains_truth(shift):
    """P(Z > z) = e^-z, and L = (e^shift - 1) Z - shift: delta = e^-z (1 - e^-shift)."""
    theta = arb(shift)
    for z in (1e-9, 0.1, 2.5, 5.2, 20.0, 300.0):
        epsilon = float(z * theta.expm1() - theta)
        truth = (-(epsilon + theta) / theta.expm1()).exp() * -(-theta).expm1()
        check(LocationShift(st.gumbel_r(), -shift).bounds.delta(epsilon), truth, 1e-8)


ENDS = [
    (st.triang(0.5), 1, lambda x: 1 - 2 * (1 - x) ** 2),
    (
        st.semicircular(),
        1,
        lambda x: mpmath.mpf(1) / 2 + (x * mpmath.sqrt(1 - x * x) + mpmath.asin(x)) / mpmath.pi,
    ),
    (st.truncexpon(3.0), 3, lambda x: mpmath.expm1(-x) / mpmath.expm1(-3)),
    (st.truncexpon(2.0**-20), mpmath.mpf(2) ** -20, lambda x: mpmath.expm1(-x) / mpmath.expm1(-(2.0**-20))),
    (st.beta(2, 1), 1, lambda x: x**2),
    (st.truncnorm(-1, 1), 1, lambda x: (1 + (1 - 2 * mpmath.ncdf(-x)) / (1 - 2 * mpmath.ncdf(-1))) / 2),
]


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
            check(result, truth, 0.0, 5e-9)
    assert law is not ENDS[0][0] or f.gdp(failure=0).mu == np.inf


@pytest.mark.parametrize("alpha", [1e-300, 1e-9, 0.3, 0.5, 0.75, 1 - 2.0**-53])
def test_hypsecant_beta_contains_truth(alpha):
    truth = 2 / arb.pi() * (arb(-0.7).exp() / (arb.pi() * arb(alpha) / 2).tan()).atan()
    check(LocationShift(st.hypsecant(), 0.7).bounds(alpha), truth, 0.0, 1e-9)
