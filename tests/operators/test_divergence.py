"""Renyi and F-divergences against 50-digit integrals, sums, fractions, and values of other libraries."""

import math
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
import sympy
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gumbel_r

import tradeoff as to
from tests.strategies import factors, log_uniform
from tests.truth.atoms import PureDP
from tests.truth.balls import refined
from tests.truth.claims import check, overlap
from tradeoff.errors import DomainError, SymbolError
from tradeoff.operators.divergence import _integrate
from tradeoff.operators.tabulate import Nodes


def binomial(mu, p, n):
    """D_n(Q' || P), Q' = (1-p) P + p Q, by the closed sum (Mironov, Talwar, Zhang 2019, Section 3.3)."""
    mu, p = arb(mu), arb(p)
    ways = (
        math.comb(n, j) * (1 - p) ** (n - j) * p**j * (j * (j - 1) * mu**2 / 2).exp() for j in range(n + 1)
    )
    return sum(ways).log() / (n - 1)


def integral(mu, p, a, *, present):
    """D_a(Q' || P) where the record is present in the numerator, else D_a(P || Q')."""
    mu, p, a = arb(mu), arb(p), arb(a)

    def gain(x, analytic):
        ratio = 1 + p * (mu * x - mu**2 / 2).expm1()
        log = ratio.log(analytic=analytic)
        power = ((a if present else 1 - a) * log).expm1() if a != 1 else log * (ratio if present else -1)
        return power * (-x * x / 2).exp() / (2 * arb.pi()).sqrt()

    result = acb.integral(gain, -20, 20 + max(0, a * mu), rel_tol=arb("1e-25"), abs_tol=arb("1e-60")).real
    return result if a == 1 else result.log1p() / (a - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mu", "p", "order"),
    [
        *((1, 0.01, 1.01), (1, 0.01, 64), (0.25, 1e-3, 0.3), (2, 0.3, 1), (1, 1e-6, 1.5), (5, 0.01, 2)),
        (1, 0.1, 0.7),
    ],
)
def test_renyi_of_sampled_gaussian_holds_integral(mu, p, order):
    f = to.subsample(to.Gaussian(mu), p)
    for curve, present in ((~f, True), (f, False)):
        check(curve.bounds.renyi(order), integral(mu, p, order, present=present), 1e-9)


@pytest.mark.parametrize("order", [2, 3, 64, 300])
@pytest.mark.parametrize(("sigma", "p"), [(1.0, 0.01), (4.0, 1e-12), (0.5, 0.5), (30.0, 1 - 1e-6)])
def test_renyi_of_sampled_gaussian_holds_closed_sum(sigma, p, order):
    check((~to.subsample(to.Gaussian(1 / sigma), p)).bounds.renyi(order), binomial(1 / sigma, p, order), 1e-9)


def test_renyi_matches_tensorflow_privacy():
    """rdp_accountant_test.py: test_compute_rdp_sequence, _scalar and _no_sampling."""
    step = ~to.subsample(to.Gaussian(1 / 2.5), 0.01)
    pinned = {1.5: 6.5007e-04, 2.5: 1.0854e-03, 5.0: 2.1808e-03, 50.0: 2.3846e-02, 100.0: 1.6742e02}
    for order, value in pinned.items():
        assert (step**50).renyi(order) == pytest.approx(value, rel=1e-4)
    assert (step**50).renyi(math.inf) == math.inf
    assert (~(to.subsample(to.Gaussian(0.5), 0.1) ** 10)).renyi(5) == pytest.approx(0.07737, abs=1e-5)
    assert to.Gaussian(0.1).renyi(20) == pytest.approx(0.1, rel=1e-14)


@refined
def renyi_of_laplace(epsilon, order):
    a, e = arb(order), arb(epsilon)
    if order == 1:
        return e - 1 + (-e).exp()
    if order == 0.5:
        return e - 2 * (e / 2).log1p()
    return ((a * ((a - 1) * e).exp() + (a - 1) * (-a * e).exp()) / (2 * a - 1)).log() / (a - 1)


@pytest.mark.parametrize("order", [1e-6, 0.3, 0.5, 0.7, 1.0, 1 + 1e-9, 1.01, 1.5, 2.0, 64.0, 1e6, math.inf])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-6, 0.3, 3.0, 100.0, 700.0, 1e4])
def test_renyi_of_bounded_losses_holds_closed_form(epsilon, order):
    laplace = partial(renyi_of_laplace, epsilon)
    for family, renyi in ((to.PureDP, PureDP(epsilon).renyi), (to.Laplace, laplace)):
        truth = renyi(order) if epsilon and order < math.inf else epsilon
        result = family(epsilon).bounds.renyi(order)
        check(result, truth, 1e-8 if order >= 1e-3 and epsilon in {1e-6, 0.3, 3.0, 100.0} else None)
        if order > 1:
            assert result.upper == pytest.approx(float(truth), rel=1e-6, abs=1e-15 / (order - 1) + 1e-15)


def test_renyi_with_infinite_mass_is_infinite_in_one_direction():
    leaking = to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.2, 0])  # Q alone has mass, P has none alone
    assert leaking.renyi(2) < leaking.renyi(math.inf) < math.inf
    assert (~leaking).bounds.renyi(1) == to.Bounds(math.inf, math.inf)
    assert (~leaking).renyi(0.5) < 1
    with mpmath.workdps(30):
        truth = -mpmath.log1p(-mpmath.mpf(0.1)) / (1 - mpmath.mpf(0.25))
    assert to.TotalVariation(0.1).bounds.renyi(0.25).lower <= truth <= to.TotalVariation(0.1).renyi(0.25)
    assert to.TotalVariation(0.1).renyi(1) == math.inf
    assert to.Identity().renyi(3) == 0


@given(factors, log_uniform(0.05, 50.0), st.floats(1.0, 4.0))
def test_renyi_grows_with_order_and_adds(f, order, times):
    low, high = f.bounds.renyi(order), f.bounds.renyi(order * times)
    assert low.lower <= high.upper
    assert overlap((f**3).bounds.renyi(order), 3 * low * to.Bounds(1 - 1e-12, 1 + 1e-12))
    f.renyi(1.7)  # answers do not depend on earlier ones
    assert f.bounds.renyi(order) == low


@given(factors, st.floats(0.05, 0.95))
def test_renyi_below_one_matches_inverse(f, order):
    """D_a(P || Q) = a/(1 - a) D_{1-a}(Q || P) (van Erven, Harremoes 2014, Proposition 2)."""
    scale = order / (1 - order) * to.Bounds(1 - 1e-12, 1 + 1e-12)
    assert overlap(f.bounds.renyi(order), scale * (~f).bounds.renyi(1 - order))


@pytest.mark.parametrize("order", [1.0, 1.3, 2.0, 8.0, pytest.param(64.0, marks=pytest.mark.slow)])
def test_renyi_of_operators_follows_operands(order):
    f, g = to.subsample(to.Gaussian(1.0), 0.1), to.Laplace(1.0)
    envelope, mixed = f.symmetrise(assume="either-order"), to.mixture({f @ g: 0.25, g: 0.75})
    both = to.maximum(to.Gaussian(1.0), to.PureDP(1.0))
    assert max(f.bounds.renyi(order).lower, (~f).bounds.renyi(order).lower) <= envelope.renyi(order)
    assert order > 2 or envelope.bounds.renyi(order).width <= 1e-9 * envelope.renyi(order)  # it has a law
    if order == 1:
        assert envelope.renyi(order) <= (f.renyi(order) + (~f).renyi(order)) * (1 + 1e-9)
    assert both.renyi(order) <= min(to.Gaussian(1.0).renyi(order), to.PureDP(1.0).renyi(order))
    if order > 1:
        parts = [(order - 1) * (f @ g).renyi(order), (order - 1) * g.renyi(order)]
        truth = math.log(0.25 * math.exp(parts[0]) + 0.75 * math.exp(parts[1])) / (order - 1)
        assert mixed.renyi(order) == pytest.approx(truth, rel=1e-9)


def gaussian(x):
    """Return delta of G_1."""
    below, above = ((side / arb(2).sqrt()).erfc() / 2 for side in (x - 0.5, x + 0.5))
    return below - x.exp() * above


@pytest.mark.parametrize("order", [0.3, 0.5, 1.0, 2.0, 3.5])
def test_renyi_of_minimum_holds_integral_of_profile(order):
    """E r^a - 1 is a (a - 1) int_0^inf (e^((a-1) x) + e^(-a x)) delta(x) dx by symmetry; so is KL, a = 1."""
    a, crossing = arb(order), 0.33164
    parts = (lambda x: -((x - 1) / 2).expm1(), 0, crossing), (gaussian, crossing, 20)
    integral = sum(
        acb.integral(lambda x, _, f=f: (((a - 1) * x).exp() + (-a * x).exp()) * f(x), low, high).real
        for f, low, high in parts
    )
    truth = integral if order == 1 else (a * (a - 1) * integral).log1p() / (a - 1)
    result = to.minimum(to.Gaussian(1.0), to.Laplace(1.0)).bounds.renyi(order)
    assert result.lower <= truth * (1 + 1e-6)  # the crossing of both is known to five digits
    assert truth * (1 - 1e-6) <= result.upper
    assert result.width < 2e-3 * result.upper


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("c", [-1.0, 0.0, 1.5])
def test_integral_of_profile_between_loose_bounds_holds_truth(c, seed):
    """int_0^3 e^(c x) delta(x) dx of G_1, delta known to 1e-9, 1e-3 or 0.3 of itself at each node."""
    rng, grid = np.random.default_rng(seed), np.linspace(0.0, 3.0, 25)
    delta = to.Gaussian(1.0).bounds.delta(grid)
    off = rng.choice([1e-9, 1e-3, 0.3], size=(2, 25))
    lower = np.maximum.accumulate((delta.lower * (1 - off[0]))[::-1])[::-1]
    upper = np.minimum.accumulate(delta.upper * (1 + off[1]))
    result = _integrate(Nodes(to.Gaussian(1.0), grid, lower, upper), to.Bounds(c, c))
    check(result, acb.integral(lambda x, _: (c * x).exp() * gaussian(x), 0, 3).real)


@pytest.mark.parametrize("c", [-1.0, 0.0, 1.5])
def test_integral_of_profile_of_one_line_is_exact(c):
    result = _integrate(Nodes.of(to.PureDP(3), np.linspace(0.0, 3.0, 4)), to.Bounds(c, c))
    whole = acb.integral(lambda x, _: (c * x).exp() * (arb(3).exp() - x.exp()) / (1 + arb(3).exp()), 0, 3)
    check(result, whole.real, 1e-9)


def test_renyi_of_symbols_is_formula():
    mu = sympy.Symbol("mu", positive=True)
    assert sympy.simplify(to.Gaussian(mu).renyi(2) - mu**2) == 0
    assert (to.Gaussian(mu) ** 3 @ to.PureDP(mu)).kl() == 3 * mu**2 / 2 + mu * sympy.tanh(mu / 2)
    with pytest.raises(DomainError, match="order"):
        to.Gaussian(mu).renyi(math.inf)
    assert to.Laplace(mu).renyi(2).free_symbols == {mu}
    assert to.Laplace(mu).renyi(sympy.Float(1.0)) == mu - 1 + sympy.exp(-mu)
    with pytest.raises(SymbolError):
        to.Laplace(mu).divergence("kl")


FUNCTIONS = {
    "kl": lambda t: t * math.log(t) if t else 0.0,
    "chi2": lambda t: (t - 1) ** 2,
    "hellinger": lambda t: (math.sqrt(t) - 1) ** 2 / 2,
    "total-variation": lambda t: abs(t - 1) / 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_divergence_of_function_matches_name(name):
    third = Fraction(1, 3)
    for f in (to.PureDP(1.0), to.PiecewiseLinear([0, third, 1], [1, third / 2, 0]), to.Gaussian(1.0)):
        by_name, by_function = f.bounds.divergence(name), f.bounds.divergence(FUNCTIONS[name])
        assert overlap(by_name, by_function)
        assert f.divergence(name) == by_name.upper
        smooth = isinstance(f, to.Gaussian)
        assert by_function.width <= 1e-12 if not smooth else by_function.lower >= by_name.lower * (1 - 2e-3)
    infinite = to.PureDP(1.0).bounds.divergence(lambda t: -math.log(t) if t else math.inf)
    assert to.PureDP(1.0).renyi(1) in infinite
    assert to.PiecewiseLinear([0, 1], [0.5, 0]).divergence(lambda t: 1 / t) == math.inf


def test_divergence_of_gaussian_holds_closed_form():
    f = to.Gaussian(1.0)
    with mpmath.workdps(30):
        truths = {
            "kl": mpmath.mpf(1) / 2,
            "chi2": mpmath.expm1(1),
            "hellinger": -mpmath.expm1(-mpmath.mpf(1) / 8),
            "total-variation": 2 * mpmath.ncdf(mpmath.mpf(1) / 2) - 1,
        }
        for name, truth in truths.items():
            check(f.bounds.divergence(name), truth, 0.0, 1e-12)


@pytest.mark.parametrize("order", [1, 2, math.inf])
def test_renyi_without_mass_in_floats_is_unbounded(order):
    assert (to.LocationShift(gumbel_r(), 300.0) ** 4).bounds.renyi(order).upper == math.inf


def of_gumbels(order, *, reverse):
    """Return E (p/q)^(a-1) of two standard Gumbel laws that are 1 apart: exponentials of e^-x."""
    s = -1 if reverse else 1
    rate = order + (1 - order) * mpmath.exp(s)
    return mpmath.exp((1 - order) * s) / rate if rate > 0 else mpmath.inf


@pytest.mark.parametrize("order", [0.5, 0.9, 1.01, 1.1, 1.5])
@pytest.mark.parametrize(
    ("other", "loss", "variance"),
    [
        (to.Gaussian(36), 648, 1296),
        pytest.param(to.Gaussian(60), 1800, 3600, marks=pytest.mark.slow),
        (to.PureDP(720), 720, 0),
    ],
)
@pytest.mark.parametrize("share", [1e-9, pytest.param(5e-7, marks=pytest.mark.slow), 0.5])
def test_renyi_counts_losses_with_overflowing_exponentials(other, loss, variance, order, share):
    """Masses of such losses are not floats either: upper bounds fell below lower ones."""
    result = to.mixture({to.LocationShift(gumbel_r(), 1.0): 1 - share, other: share}).bounds.renyi(order)
    with mpmath.workdps(60):
        a, w = mpmath.mpf(order), mpmath.mpf(share)
        far = mpmath.exp((a - 1) * (loss + (a - 1) * mpmath.mpf(variance) / 2))
        far += 0 if variance else mpmath.exp(-a * loss)
        each = [
            mpmath.log((1 - w) * of_gumbels(a, reverse=side) + w * far) / (a - 1) for side in (False, True)
        ]
    assert result.lower <= result.upper
    assert any(result.lower <= truth <= result.upper for truth in each)
