"""Edgeworth: how much nearer than the CLT, on lattices too."""

import math

import numpy as np
import pytest

import tradeoff as to
from tradeoff.limits.estimates import lattice

ALPHA = np.array([1e-4, 1e-3, 0.002, 0.003, 0.005, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9])
STEP = to.subsample(to.Gaussian(1.25), 0.005)


def errors(curve, tol=None):
    bounds = curve.bounds(ALPHA, tol=tol)
    middle = (bounds.lower + bounds.upper) / 2
    return *(
        np.abs(estimate(ALPHA) - middle) for estimate in (to.limits.edgeworth(curve), to.limits.clt(curve))
    ), bounds.width


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
    estimate = to.limits.edgeworth(curve)
    assert estimate.name == "Edgeworth (lattice)"
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
        STEP,
        STEP**3,
        ~(STEP**3),
        to.PureDP(3.0) ** 2,
        to.PureDP(100.0),
        to.Laplace(5.0),
        to.Laplace(300.0) ** 2,
        to.PureDP(370.0),
        to.PureDP(410.0) ** 7,
        to.Gaussian(1e-90),
        to.Gaussian(1e4),
        HEAVY,
        RARE,
        ~RARE,
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
