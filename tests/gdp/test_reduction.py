"""The least mu against suprema in balls, exact vertices and brute force; what is reported lies below."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given, settings

import tradeoff as to
from tests.strategies import curves, log_uniform, vertices
from tests.truth.atoms import PureDP
from tests.truth.balls import ball, quantile
from tests.truth.claims import check, overlap
from tests.truth.continuous import Gaussian
from tests.truth.operators import Product
from tradeoff.gdp.cells import least_mu


def need(alpha, beta, d):
    """Return the mu that the point (alpha, beta) needs."""
    return -quantile(alpha / (1 - d)) - quantile(beta / (1 - d))


def holds(result, truth, width):
    check(result.bounds, truth)
    assert result.mu - float(truth) <= width


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0])
def test_gdp_pure_dp_equals_closed_form(epsilon):
    kink = 1 / (1 + arb(epsilon).exp())
    result = to.PureDP(epsilon).gdp(failure=0)
    holds(result, -2 * quantile(kink), 1e-9)
    assert result.tight_at == pytest.approx(float(kink), rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "truths"),
    [  # suprema over alpha in balls, for three failures
        (0.2, ("0.23910558373651383942", "0.23910558350807805170", "0.23681909498039770732")),
        (1.0, ("1.0300639976244338757", "1.0300639974508366711", "1.0283266763372653675")),
        (4.0, ("2.9867788213145184141", "2.9867788212110553495", "2.9857435552039031978")),
    ],
)
def test_gdp_laplace_encloses_supremum(epsilon, truths):
    for d, truth in zip((0.0, 1e-10, 1e-3), truths, strict=True):
        holds(to.Laplace(epsilon).gdp(d), arb(truth), 1e-9)


@pytest.mark.parametrize(
    ("f", "truth"),
    [
        pytest.param(to.subsample(to.Gaussian(1.5), 0.01) ** 4, 3.0, marks=pytest.mark.slow),
        (~to.subsample(to.Gaussian(1.5), 0.3), 1.5),
        (to.subsample(to.Gaussian(0.8), 0.01).symmetrise(assume="either-order"), 0.8),
        (to.mixture({to.Gaussian(0.5): 0.75, to.subsample(to.Gaussian(2.0), 0.1): 0.25}), 2.0),
        (to.subsample(to.Gaussian(3.0), 1e-3) @ to.Gaussian(4.0), 5.0),
    ],
    ids=repr,
)
def test_gdp_without_failure_equals_tail(f, truth):
    """However rarely all Gaussians are seen at once, small alphas need their whole mu."""
    result = f.gdp(failure=0)
    assert result.bounds.lower <= truth <= result.mu
    assert result.bounds.width <= 1e-14 * truth
    assert result.tight_at != result.tight_at


def test_mu_minus_gaussian_factors_without_failure():
    product = to.Gaussian(3.0) @ to.Gaussian(4.0) @ to.PureDP(0.1)
    for f, mu in ((to.Gaussian(2.0), 2), (product, 5), (to.PureDP(0.1) ** 10, 0)):
        assert f.gdp(failure=0).mu_minus == pytest.approx(mu, rel=1e-14)


@pytest.mark.parametrize("f", [to.Laplace(1.0), to.subsample(to.Gaussian(1.0), 0.05)], ids=repr)
def test_mu_minus_is_near_infimum(f):
    """mu_minus is certified; at some alpha f (x) f_{0,d} comes within 1e-3 of G_{mu_minus}."""
    d, epsilon = 1e-3, np.linspace(-8, 8, 4001)
    mu, most = f.gdp(failure=d).mu_minus, d + (1 - d) * f.bounds.delta(epsilon).upper
    assert np.all(to.Gaussian(mu).bounds.delta(epsilon).lower <= most)
    assert np.any(to.Gaussian(mu * 1.001).bounds.delta(epsilon).upper > most)


def test_gdp_charges_mass_at_infinity_to_failure():
    pure, leaking = to.PureDP(1.0), to.approximate_dp(1.0, 1e-6)
    for whole, inner in ((1e-5, 0.9e-5 / (1 - 1e-6)), (1e-6, 0)):
        assert leaking.gdp(failure=whole).mu == pytest.approx(pure.gdp(failure=inner).mu, rel=1e-9)
    f = to.subsample(to.Gaussian(10.0), 1e-20) @ to.TotalVariation(0.1)
    result = f.gdp(failure=Fraction(0.1) + Fraction(1, 10**30))  # bounds hold for the float above
    assert result.bounds.lower <= f.gdp(failure=result.failure).mu <= result.mu


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(vertices())
def test_gdp_polygon_encloses_vertices(points):
    curve = to.PiecewiseLinear(*points)
    result = curve.gdp(failure=0)
    if curve.beta[0] < 1 or curve.mass_at_minus_infinity > 0:
        assert result.mu == np.inf
        assert "for every finite mu" in result.reason
        return
    inner = [(ball(a), ball(b)) for a, b in zip(*points, strict=True) if 0 < b < 1 and a]
    truth = max([need(a, b, 0) for a, b in inner], default=arb(0))
    assert result.bounds.lower - 1e-13 <= truth <= result.mu
    assert result.mu <= float(truth) + 1e-7


@pytest.mark.slow
@settings(max_examples=5, deadline=None)  # three reductions an example
@given(curves, log_uniform(1e-10, 0.1))
@example(to.subsample(to.PureDP(7) @ to.Gaussian(0.005), 0.03, scheme="without-replacement"), 1e-10)
def test_gdp_inverse_and_envelope_agree(f, failure):
    one, two, both = (g.gdp(failure).bounds for g in (f, ~f, f.symmetrise(assume="either-order")))
    assert all(max(one.lower, other.lower) <= min(one.upper, other.upper) for other in (two, both))


@pytest.mark.parametrize("mu", [1e-6, 0.5, 3.0, 20.0, 60.0])
def test_gdp_gaussian_is_itself(mu):
    result = to.Gaussian(mu).gdp(failure=0)
    assert repr(result) == repr(to.Gaussian(mu).gdp())  # from Python 3.13 on a field that is NaN is not equal
    assert (result.bounds, result.curve) == (to.Bounds(mu, mu), to.Gaussian(mu))
    assert (result.failure, result.regret, result.mu_minus) == (0, 0, mu)


@pytest.mark.parametrize("near", [1e-6, 0.5, 0.7, 0.7001, 5.0, 1e9])
def test_least_mu_any_start_returns_the_same(near):
    epsilon = np.linspace(0.0, 3.0, 20)
    delta = to.Gaussian(0.7).bounds.delta(epsilon).lower
    assert least_mu(epsilon, delta, 0.0, near) == pytest.approx(0.7, rel=1e-11)
    assert least_mu(epsilon, delta, 0.0, near) <= 0.7


def test_gdp_no_privacy_and_perfect_privacy():
    for f, failure in ((to.Identity(), 0), (to.TotalVariation(0.25), 0.25), (to.TotalVariation(1), 1)):
        assert f.gdp(failure=failure).mu == 0
    none, result = to.TotalVariation(1).gdp(), to.approximate_dp(1.0, 1e-5).gdp()
    assert (none.mu, none.curve) == (np.inf, to.TotalVariation(1))
    assert result.mu == result.bounds.lower == np.inf
    assert "f(0) = 1 - 1e-05" in result.reason


STEPS, LAPLACES = to.subsample(to.Gaussian(1), 0.01) ** 100, to.Laplace(0.1) ** 20
FEW = to.Gaussian(0.3), to.Laplace(0.4) ** 2  # as many kinds, in a tenth of the time
MANY_POOLED, FEW_POOLED = to.maximum(STEPS, LAPLACES), to.maximum(*FEW)


@pytest.mark.slow
@pytest.mark.parametrize("failure", [1e-10, 1e-2])
@pytest.mark.parametrize(
    ("first", "others"),
    [
        *((STEPS, (LAPLACES,)), (STEPS, (LAPLACES, to.Laplace(0.4))), (STEPS, (to.Identity(), LAPLACES))),
        *((FEW[0], FEW[1:]), (FEW[0], (to.Identity(), FEW[1]))),
    ],
)
def test_gdp_minimum_needs_most_of_operands(failure, first, others):
    least = [f.gdp(failure).bounds for f in (first, *others)]
    result = to.minimum(to.minimum(*others), first).gdp(failure)
    truth = to.Bounds(max(mu.lower for mu in least), max(mu.upper for mu in least))
    assert overlap(result.bounds, truth)
    assert result.bounds.upper <= truth.upper * (1 + 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pooled", "failure"),
    [(MANY_POOLED, 1e-10), (MANY_POOLED, 1e-2), (FEW_POOLED, 1e-10)],
    ids=["many 1e-10", "many 1e-2", "few"],
)
def test_gdp_maximum_is_bounded_by_operands(pooled, failure):
    result, single = pooled.gdp(failure), [f.gdp(failure) for f in pooled.operands]
    assert result.bounds.lower <= min(one.bounds.upper for one in single)
    assert result.mu <= min(one.mu for one in single) * (1 + 1e-3)
    assert result.mu_minus == pytest.approx(min(one.mu_minus for one in single), rel=1e-3)
    alpha = np.geomspace(1e-12, 0.999, 99)
    assert np.all(result.curve.bounds(alpha).lower <= result.of.bounds(alpha).upper)


SUM, POOL = to.Laplace(1.0) @ to.Gaussian(1.0), to.maximum(to.Laplace(1.0), to.Gaussian(1.0))


@pytest.mark.parametrize(
    ("f", "known"),
    [
        (to.Gaussian(1.0), True),
        (~to.subsample(to.Laplace(1.0), 0.1), True),
        (to.mixture({to.Gaussian(1.0): 0.5, to.PureDP(1.0): 0.5}), True),
        (to.subsample(to.Gaussian(1.0), 0.1).symmetrise(assume="either-order"), True),
        (to.PureDP(1.0) @ to.TotalVariation(0.01), True),
        *((f, False) for f in (SUM, to.subsample(SUM, 0.1), POOL, POOL @ to.TotalVariation(0.01))),
    ],
)
def test_has_law_without_polygon(f, known):
    assert f.has_law == known


@pytest.mark.parametrize(
    ("make", "rate", "least", "enough"),
    [
        # delta at most .577 of that of G_1.2, by quadrature of 30 digits, and .604 of that of G_.4
        pytest.param(lambda s: s @ ~s, 0.5, 1, 1.2, marks=pytest.mark.slow),
        (lambda s: to.subsample(~s, 0.5), 0.5, 0, 0.4),
        pytest.param(lambda s: s @ ~s, 0.25, 1, 2**0.5, marks=pytest.mark.slow),  # each order alone needs 1
    ],
)
def test_gdp_sampled_both_orders_is_not_too_large(make, rate, least, enough):
    result = make(to.subsample(to.Gaussian(1.0), rate)).gdp(failure=0)
    assert result.bounds.lower <= enough
    assert least - 1e-12 <= result.bounds.lower
    assert result.mu <= (2**0.5 if least else np.inf) * (1 + 1e-12)


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(log_uniform(0.05, 4.0), log_uniform(0.05, 4.0))
def test_gdp_gaussian_and_pure_dp_without_failure(nu, b):
    result = (to.Gaussian(nu) @ to.PureDP(b)).gdp(failure=0)
    spec = Product(((Gaussian(nu), 1), (PureDP(b), 1)))
    assert nu < result.bounds.lower <= result.mu <= np.hypot(nu, to.PureDP(b).gdp(failure=0).mu) * (1 + 1e-9)
    for epsilon in [0.0, *np.geomspace(1e-3, 300.0, 60).tolist()]:
        assert not spec.delta(epsilon) > Gaussian(result.mu).delta(epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nu", "p", "q", "needed_there"), [(10.0, 1e-12, 1e-4, 10.4832), (6.0, 1e-12, 1e-4, 6.776)]
)
def test_gdp_far_losses_are_covered(nu, p, q, needed_there):
    """Densities decide above losses of 700; some alpha needs so much, by its two atoms, in 60 digits."""
    f = to.Gaussian(nu) @ to.PiecewiseLinear([0, p, 1], [1, 1 - q, 0])
    assert f.gdp(failure=0).mu >= needed_there


@pytest.mark.parametrize("failure", [0.0, 1e-18, 1e-14, 1e-3])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-17, 1e-13, 1e-8])
def test_gdp_tiny_pure_dp_is_at_least_corner(epsilon, failure):
    """(1 - d) G_mu(a/(1 - d)) = a = 1/(1 + e^eps); mu < 1e-5 is sqrt(2 pi) (1 - 2 a/(1 - d)) to 1e-11."""
    low, high = to.PureDP(epsilon).gdp(failure=failure).bounds
    with ctx.workprec(1400):
        level = 1 / (1 + arb(epsilon).exp()) / (1 - arb(failure))
        true = ((2 * arb.pi()).sqrt() * (1 - 2 * level)).max(arb(0))
        assert low <= true * (1 + arb("1e-11"))
        assert high >= true
    assert high <= float(true) + 1e-14


@pytest.mark.parametrize(("epsilon", "rounds"), [(1e-16, 5), (1e-17, 1000), (1e-15, 2), (1e-13, 3)])
def test_gdp_tiny_powers_are_at_least_total_variation(epsilon, rounds):
    """delta_{G_mu}(0) = 2 Phi(mu/2) - 1 <= mu/sqrt(2 pi) must reach that of two binomial laws."""
    least = (2 * arb.pi()).sqrt() * Product(((PureDP(epsilon), rounds),)).delta(0.0)
    assert (to.PureDP(epsilon) ** rounds).gdp(failure=0.0).bounds.upper >= least


@pytest.mark.parametrize("failure", [0.0, 1e-300, 1e-10, 0.5])
def test_gdp_least_rate(failure):
    result = to.subsample(to.PureDP(1.0), 1e-300).gdp(failure=failure)
    assert result.bounds.lower == 0
    assert result.bounds.upper < 1e-14
    assert (result.bounds.upper > 0) == (failure == 0)


@pytest.mark.parametrize("mu", [0.0840128, 1.0, 6.0])
@pytest.mark.parametrize("failure", [1e-6, 0.01])
def test_regret_of_a_gaussian_is_at_least_every_gap(mu, failure):
    """The curve reported has a lesser mu: where delta of both is small, the gap is that of the failure."""
    f = to.Gaussian(mu)
    result, x = f.gdp(failure), np.linspace(0.0, 40.0, 81)
    gaps = (result.curve.bounds.delta(x).lower - f.bounds.delta(x).upper) / (1 + np.exp(x))
    assert np.max(gaps) * (1 - 1e-12) <= result.regret <= failure / 2 * (1 + 1e-12)
    assert result.regret_bounds.lower <= result.regret_bounds.upper
