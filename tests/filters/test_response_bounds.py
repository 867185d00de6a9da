"""Profiles of responses after Gaussian noise, in logarithms, against 100 digits."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings

import tradeoff as to
from tests.filters.test_residue import composed, profile, response
from tests.strategies import exact_curves, log_uniform
from tradeoff.filters.residue import (
    Bounded,
    Responses,
    bounded,
    by_search,
    charge,
    log_delta,
    pure_residual,
    reach,
    responses,
)

few = settings(max_examples=max(6, settings.default.max_examples // 3))


MU = [1e-6, 1e-3, 0.05, 0.099, 0.1, 0.17, 0.3, 0.7, 1.0, 3.0, 20.0, 50.0, 73.0]


RATIO = np.array([0.0, 1e-6, 0.3, 5.0, 20.0, 36.4, 39.9, 40.1, 300.0])


@pytest.mark.parametrize("mu", MU)
def test_logarithms_of_profiles_lie_between_their_bounds(mu):
    epsilon = np.concatenate([RATIO, -RATIO]) * mu
    result, units = (
        log_delta(epsilon, mu),
        1e3 * (2 + np.abs(epsilon) / mu + mu) ** 2 + 1e2 * np.abs(epsilon) / mu**2,
    )
    with mpmath.workdps(100):
        for e, low, high in zip(map(mpmath.mpf, epsilon.tolist()), *result, strict=True):
            assert low <= mpmath.log(profile(e, mpmath.mpf(mu))) <= high
    assert np.all(result.width <= 2.0**-53 * units)
    assert log_delta(epsilon[3], mu).lower == result.lower[3]


@pytest.mark.parametrize("mu", MU[1:])
def test_logarithms_of_mixtures_are_rounded_up(mu):
    loss, weight, at = np.array([0.0, 0.1, 0.7]) * mu, np.array([0.0, 0.25, 0.75]), RATIO[:6] * mu
    with mpmath.workdps(100):
        atoms = [
            (x, w * q)
            for k, w in zip(loss, weight, strict=True)
            for x, q in response(float(k))
            for w in [mpmath.mpf(w)]
        ]
        truth = [mpmath.log(composed(atoms, mpmath.mpf(e), mpmath.mpf(mu))) for e in at.tolist()]
    result = Responses(loss, weight).log_delta(at, mu)
    for high, exact in zip(result.tolist(), truth, strict=True):
        assert 0 <= high - exact <= 1e-9 * (1 + abs(exact))


@few
@given(exact_curves)
def test_mixtures_of_responses_lie_below_their_curve(curve):
    curve = curve.symmetrise(assume="either-order")
    assume(curve.mass_at_plus_infinity == 0 and curve.sup_loss > 0)
    mixture = responses(bounded(curve, 0.0), 1.0)
    at = np.linspace(0, curve.sup_loss * 1.01, 97)
    assert np.all(mixture.delta(at) >= curve.bounds.delta(at).lower * (1 - 1e-13))
    assert np.all(mixture.delta(at) <= curve.bounds.delta(at).upper + 1e-9)
    assert abs(np.sum(mixture.weight) - 1) < 1e-12


@given(log_uniform(1e-6, 50.0), log_uniform(1e-3, 16.0))
def test_what_a_response_leaves_of_any_budget_is_proved(r, ratio):
    epsilon = min(ratio * r, 20.0)
    left = pure_residual(epsilon, r)
    with mpmath.workdps(60):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(left)
        if left:
            tail = mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
            goal = mpmath.erf(mpmath.mpf(r) / mpmath.sqrt(8))
            assert mpmath.tanh(e / 2) + 2 * tail / (1 + mpmath.exp(e)) <= goal
            searched = by_search(Bounded(to.PureDP(epsilon), epsilon), r)
            assert searched >= mpmath.mpf(r) ** 2 - m**2


@given(log_uniform(1e-6, 50.0), log_uniform(1e-9, 0.9), log_uniform(1e-3, 20.0))
def test_the_densities_decide_beyond_the_reach(r, gap, loss):
    mu = r * (1 - gap)
    result = reach(loss, mu, r)
    with mpmath.workdps(60):
        m, top = mpmath.mpf(mu), mpmath.mpf(r)
        a = 1 / m**2 - 1 / top**2
        b, c = loss / m**2, (top**2 - m**2) / 8 + mpmath.log(top / m)
        root = (b + mpmath.sqrt(b * b + 2 * a * c)) / a
        assert root <= result <= root * (1 + mpmath.mpf(1e-12))


def test_mixtures_of_many_responses_are_rounded_down():
    rng = np.random.default_rng(5)
    loss = np.append(0.0, np.sort(rng.uniform(1e-3, 8.0, 1999)))
    weight = rng.exponential(size=2000)
    mixture = Responses(loss, weight / weight.sum())
    at = np.array([0.0, 1e-9, 0.5, 3.0, 7.9])
    with mpmath.workdps(40):
        for epsilon, result in zip(at.tolist(), mixture.delta(at).tolist(), strict=True):
            e = mpmath.exp(mpmath.mpf(epsilon))
            each = ((mpmath.exp(mpmath.mpf(one)), w) for one, w in zip(loss, mixture.weight, strict=True))
            truth = mpmath.fsum(mpmath.mpf(w) * max(one - e, 0) / (1 + one) for one, w in each)
            assert truth * (1 - mpmath.mpf(1e-12)) <= result <= truth
    assert responses(Bounded(to.Laplace(8.0), 8.0), 1.0) is not None


def test_a_charge_stays_within_the_budget():
    for r in (1e-6, 1e-3, 1.0, 50.0):
        for ratio in (1e-9, 0.1, 0.5, 1.0, 3.0):
            result = charge(Bounded(to.PureDP(r * ratio), r * ratio), r)
            assert math.isinf(result) or 0 < result <= r * r
