"""Central limit theorem and Edgeworth expansion: formulas, errors and refusals."""

import math

import numpy as np
import pytest
from flint import arb

import tradeoff as to
from tests.truth.balls import cumulative
from tests.truth.continuous import Gaussian
from tradeoff.limits.estimates import lattice

STEP = to.subsample(to.Gaussian(1.25), 0.005)
ESTIMATE = to.limits.clt(to.Laplace(0.1) ** 400)


def test_clt_subsampled_gaussian_under_reports():
    mu = 0.005 * math.sqrt(1000) * math.sqrt(math.exp(1 / 0.64) - 1)
    estimate = to.limits.dp_sgd_clt(0.005, 0.8, 1000).epsilon(1e-6)
    exact = max((STEP**1000).epsilon(1e-6), (~(STEP**1000)).epsilon(1e-6))
    assert estimate == pytest.approx(float(Gaussian(mu).epsilon(1e-6)), abs=1e-9)
    assert estimate == pytest.approx(1.3245, abs=5e-5)
    assert exact == pytest.approx(2.0040, abs=5e-4)
    assert estimate < to.limits.clt(STEP**1000).epsilon(1e-6) * 1.01 < exact


def test_clt_orders_differ():
    epsilons = [to.limits.clt(f).epsilon(1e-6) for f in (STEP**1000, ~(STEP**1000))]
    assert epsilons == pytest.approx([1.3212, 1.2538], abs=5e-5)
    envelope = (STEP**1000).symmetrise(assume="either-order")
    assert to.limits.clt(envelope).epsilon(1e-6) == max(epsilons)
    assert to.limits.clt(envelope).of is envelope


@pytest.mark.parametrize("n", [100, 10_000])
def test_clt_converges_at_rate_of_theorem(n):
    """For f_{1/sqrt(n),0} the error is O(1/n), and the limit is G_1 (Theorem 3.7)."""
    f = to.PureDP(1 / math.sqrt(n)) ** n
    alpha = np.linspace(0.01, 0.99, 99)
    assert 0.01 / n < np.max(np.abs(to.limits.clt(f)(alpha) - f(alpha))) < 0.2 / n
    assert to.limits.clt(f).mu == pytest.approx(1, abs=1 / n)


@pytest.mark.parametrize(
    ("curve", "trusted"),
    [
        (to.Identity(), to.Identity()),
        (to.TotalVariation(0.3) ** 2, to.TotalVariation(0.51)),
        (to.Gaussian(0.3) ** 100, to.Gaussian(3)),
    ],
    ids=repr,
)
def test_clt_without_loss_or_of_gaussians_is_unchanged(curve, trusted):
    assert to.limits.clt(curve).trusted()(0.2) == pytest.approx(trusted(0.2), rel=1e-14)


def test_clt_attaches_masses_at_infinity():
    curve = to.approximate_dp(0.1, 1e-4) ** 100
    bare = to.limits.clt(to.PureDP(0.1) ** 100)
    lost = 1 - (1 - 1e-4) ** 100
    failure = to.TotalVariation((to.TotalVariation(1e-4) ** 100).delta_0)  # of an estimate, rounded up
    assert to.limits.clt(curve).trusted() == bare.trusted() @ failure
    assert to.limits.clt(curve).delta(1.0) == pytest.approx(lost + (1 - lost) * bare.delta(1.0), rel=1e-12)
    one_sided = to.limits.clt(to.PiecewiseLinear([0, 0.5, 1], [0.9, 0.4, 0]) ** 3)
    assert one_sided(0) == pytest.approx(0.9**3, rel=1e-9)


def test_epsilon_delta_clt_formula():
    several = to.limits.epsilon_delta_clt([0.3, 0.4], [0.0, 1e-3], n=4)
    assert several.mu == pytest.approx(1.0, rel=1e-14)
    assert several.trusted() == to.Gaussian(several.mu) @ to.TotalVariation(-math.expm1(-4e-3))
    assert to.limits.epsilon_delta_clt(0.0).trusted() == to.Identity()
    n = 2500
    exact = to.PureDP(2 / math.sqrt(n)) ** n
    assert to.limits.epsilon_delta_clt(2 / math.sqrt(n), n=n)(0.1) == pytest.approx(exact(0.1), abs=2 / n)


@pytest.mark.parametrize("sigma", [0.5, 1.3, 10.0, 99.0, 101.0, 1e6])
def test_dp_sgd_clt_equals_30_digits(sigma):
    p, steps, clt = 0.01, 5000, to.limits.dp_sgd_clt
    s, c = 1 / arb(sigma), arb(p) * arb(steps).sqrt()
    poisson = c * (s**2).expm1().sqrt()
    fixed = c * (2 * ((s**2).exp() * cumulative(1.5 * s) + 3 * cumulative(-0.5 * s) - 2)).sqrt()
    assert clt(p, sigma, steps).mu == pytest.approx(float(poisson), rel=1e-13)
    scheme = {"scheme": "without-replacement"}
    assert clt(p, sigma, steps, **scheme).mu == pytest.approx(float(fixed), rel=1e-11)
    if sigma == 1.3:  # and it is the limit of compositions
        known = to.limits.clt(to.subsample(to.Gaussian(1.0), 1e-3, **scheme) ** 100_000).mu
        assert clt(1e-3, 1.0, 100_000, **scheme).mu == pytest.approx(known, rel=5e-3)


def test_approximate_curve_answers_and_source():
    assert ESTIMATE(np.array([0.1, 0.5])).shape == (2,)
    assert ESTIMATE.epsilon(ESTIMATE.delta(1.0)) == pytest.approx(1.0, abs=1e-9)
    assert "Theorem 3.5" in ESTIMATE.source
    assert ESTIMATE.hypotheses
    assert ESTIMATE.name == "CLT"
    assert ESTIMATE.symmetric
    assert (ESTIMATE.trusted() @ to.Gaussian(1)).mu == pytest.approx(math.hypot(ESTIMATE.mu, 1), rel=1e-14)
    with pytest.raises(AttributeError, match="colour"):
        _ = ESTIMATE.colour


ALPHA = np.array([1e-4, 1e-3, 0.002, 0.003, 0.005, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9])


def errors(curve, tol=None):
    bounds = curve.bounds(ALPHA, tol=tol)
    estimates = to.limits.edgeworth(curve), to.limits.clt(curve)
    return *(np.abs(each(ALPHA) - bounds.mid) for each in estimates), bounds.width


def worst(curve):
    return tuple(map(np.max, errors(curve)))


def test_edgeworth_laplace_error():
    curve = to.Laplace(0.1) ** 400
    edgeworth, clt, doubt = errors(curve, tol=1e-6)
    assert np.max(doubt) < 1e-6
    assert np.max(clt) == pytest.approx(6.0e-4, abs=1e-5)
    assert np.max(edgeworth[ALPHA > 1e-3]) < 4.8e-6
    assert np.max(edgeworth) < 1.1e-5  # at alpha = 1e-4, where the slope of f is 160


@pytest.mark.slow
def test_edgeworth_subsampled_gaussian_error():
    for curve in (STEP**1000, ~(STEP**1000)):
        edgeworth, clt, _ = worst(curve)
        assert clt == pytest.approx(5e-3, abs=1.2e-3)
        assert 3 < clt / edgeworth < 7


@pytest.mark.parametrize(("n", "gain"), [(10, 15), (100, 150), (1000, 1500), (10_000, 15_000)])
def test_edgeworth_lattice_error_is_order_n_squared(n, gain):
    curve = to.PureDP(1 / math.sqrt(n)) ** n
    assert to.limits.edgeworth(curve).name == "Edgeworth (lattice)"
    edgeworth, clt, _ = worst(curve)
    assert edgeworth < 0.1 / n**2 + 1e-9
    assert clt > gain * edgeworth


@pytest.mark.parametrize(
    ("curve", "name"),
    [
        (to.PureDP(0.1) ** 100 @ to.PureDP(0.2) ** 30, "Edgeworth (lattice)"),
        (to.PureDP(0.1) ** 100 @ to.PureDP(math.sqrt(0.02)) ** 30, "Edgeworth"),
        (to.approximate_dp(0.1, 1e-3) ** 100, "Edgeworth (lattice)"),
        pytest.param(to.Laplace(0.1) ** 100, "Edgeworth", marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_edgeworth_detects_lattice_and_improves_on_clt(curve, name):
    assert to.limits.edgeworth(curve).name == name
    edgeworth, clt, doubt = worst(curve)
    assert clt > 5 * edgeworth - doubt


HEAVY = to.PureDP(0.1) ** 300 @ to.PureDP(30.0)
RARE = to.mixture({to.PureDP(0.1): 0.999, to.PureDP(20.0): 0.001}) ** 10


@pytest.mark.parametrize(
    "curve",
    [
        *(STEP, STEP**3, ~(STEP**3), HEAVY, RARE, ~RARE),
        *(to.PureDP(3.0) ** 2, to.PureDP(100.0), to.PureDP(370.0), to.PureDP(410.0) ** 7),
        *(to.Laplace(5.0), to.Laplace(300.0) ** 2, to.Gaussian(1e-90), to.Gaussian(1e4)),
    ],
    ids=repr,
)
def test_edgeworth_is_always_a_trade_off_function(curve):
    estimate = to.limits.edgeworth(curve)
    alpha = np.linspace(0, 1, 1001)
    beta = estimate(alpha)
    assert np.all(np.diff(beta) <= 1e-15)
    assert np.all(beta <= 1 - alpha + 1e-15)
    assert np.all(np.diff(beta, 2) >= -1e-12)
    assert np.all(np.isfinite(estimate(np.array([0.0, 1e-300, 1e-12, 1.0]))))
    delta = estimate.delta(np.array([-30.0, 0.0, 5.0, 600.0]))
    assert np.all((delta >= 0) & (delta <= 1) & (np.diff(delta, prepend=1.0) <= 1e-12))


@pytest.mark.slow
def test_edgeworth_envelope_and_constant_losses():
    envelope = (STEP**100).symmetrise(assume="either-order")
    estimate = to.limits.edgeworth(envelope)
    assert estimate.of is envelope
    assert estimate(0.3) <= min(to.limits.edgeworth(f)(0.3) for f in (STEP**100, ~(STEP**100))) + 1e-3
    assert to.limits.edgeworth(to.TotalVariation(0.25))(0.25) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("epsilons", "span"), [([], 0), ([0.1], 0.2), ([0.1, 0.15], 0.1), ([0.5, math.sqrt(0.5)], 0)]
)
def test_lattice_has_common_span_of_gaps(epsilons, span):
    assert lattice({to.PureDP(epsilon): 1 for epsilon in epsilons})[0] == pytest.approx(span, rel=1e-6)
