"""Odometers against their formulas in 50 digits, and simulated at every time at once."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from scipy import stats

import tradeoff as to
from tests.strategies import log_uniform
from tradeoff import filters
from tradeoff.errors import DomainError, KindError

SURE = 1e-5  # probability that a confidence bound of a correct claim fails; seeds are fixed too


def odometers():
    return [
        to.filters.FilterOdometer(0.05, at=1.0),
        to.filters.MixtureOdometer(0.05, r=0.1),
        to.filters.StitchedOdometer(0.05, start=0.05),
    ]


def test_odometers_hold_at_every_time_at_once():
    """Simulated, with steps that grow after crossings of the middle: how often a run passes its bound."""
    rng, runs, each = np.random.default_rng(3), 20_000, odometers()
    times = np.append(0.0, np.geomspace(1e-6, 1e9, 1000))
    for odometer in each:  # so runs below are below their bound, and it need not be asked
        assert np.all(odometer.bound(times) > times / 2 + 2 * np.sqrt(times))
    clock, loss, ever = np.zeros(runs), np.zeros(runs), np.zeros((len(each), runs), dtype=bool)
    for _ in range(600):
        square = np.where(loss > clock / 2, 0.004, 0.02) * (1 + clock)
        loss += square / 2 + np.sqrt(square) * rng.normal(size=runs)
        clock += square
        near = np.flatnonzero(loss > clock / 2 + 2 * np.sqrt(clock))
        ever[:, near] |= [loss[near] > odometer.bound(clock[near]) for odometer in each]
    assert clock.max() < times[-1]
    for passed, odometer, least in zip(ever, each, (0.03, 0.01, 0.002), strict=True):
        interval = stats.binomtest(int(passed.sum()), runs).proportion_ci(1 - SURE)
        assert interval.low <= 0.05, odometer
        assert interval.high < 0.055, odometer  # and so the bound is not only unrefuted
        assert passed.mean() >= least, odometer  # nor is it empty


def test_filter_odometer_equals_filter_at_its_time():
    budget = to.filters.ZCDPFilter(1.0, 1e-6)
    odometer = to.filters.FilterOdometer(1e-6, at=2 * budget.budget.rho)
    assert odometer.bound(2 * budget.budget.rho) == pytest.approx(1.0, rel=1e-12)


def test_odometer_clock_sums_step_costs():
    odometer = to.filters.MixtureOdometer(1e-5, r=1)
    assert odometer.epsilon > 0
    for step in (to.Gaussian(0.3), to.PureDP(0.2), to.mechanisms.Gaussian(noise_multiplier=5)):
        odometer.spend(step)
    assert odometer.clock == pytest.approx(0.09 + 0.04 + 0.04, rel=1e-12)
    assert odometer.clock >= 0.09 + 0.04 + 0.04
    for step in (to.TotalVariation(0.1), to.approximate_dp(0.1, 1e-9)):
        with pytest.raises(KindError):
            odometer.spend(step)
    with pytest.raises(DomainError):
        odometer.bound([1.0, -1.0])


@given(log_uniform(1e-300, 0.999999), log_uniform(1e-9, 1e9), log_uniform(1e-12, 1e12))
def test_odometer_bound_equals_formula_rounded_up(delta, tuned, clock):
    with mpmath.workdps(50):
        log, v, y = -mpmath.log(mpmath.mpf(delta)), mpmath.mpf(clock), mpmath.mpf(tuned)
        w = max(v, y)
        five, most = mpmath.mpf(26) / 5, mpmath.mpf(17) / 10
        truths = (
            (
                filters.FilterOdometer(delta, at=tuned),
                v * mpmath.sqrt(log / (2 * y)) + mpmath.sqrt(y * log / 2),
            ),
            (
                filters.MixtureOdometer(delta, r=tuned),
                mpmath.sqrt(2 * (v + y) * (mpmath.log1p(v / y) / 2 + log)),
            ),
            (
                filters.StitchedOdometer(delta, start=tuned),
                most
                * mpmath.sqrt(w * (mpmath.log(mpmath.log(2 * w / y)) + (mpmath.log(five) + log) * 18 / 25)),
            ),
        )
        for odometer, margin in truths:
            result = float(odometer.bound(clock))
            assert result * (1 + mpmath.mpf(2) ** -50) >= v / 2 + margin  # constants are floats
            assert result <= (v / 2 + margin) * (1 + mpmath.mpf(1e-13))


@pytest.mark.parametrize("mu", [0.1, 0.2, 0.3, 0.4, 0.5])
def test_odometer_repr_rounds_up(mu):
    odometer = to.filters.MixtureOdometer(0.1, r=1)
    odometer.spend(to.Gaussian(mu))
    printed = repr(odometer).split("loss at most ")[1].split()[0]
    assert Fraction(printed) >= Fraction(odometer.epsilon)
    assert float(printed) == pytest.approx(odometer.epsilon, rel=1e-5)


def test_odometer_keeps_assumptions_of_steps():
    step = to.from_scipy(stats.t(5), stats.t(5, loc=0.1))
    odometer = to.filters.MixtureOdometer(0.1, r=1)
    odometer.spend(to.Gaussian(0.1))
    assert (odometer.assumptions, bool(step.assumptions)) == ((), True)
    for _ in range(2):
        odometer.spend(step)
    assert odometer.assumptions == step.assumptions


@pytest.mark.parametrize("bad", ["a", None, math.nan, -1.0, math.inf, 1j, [[1], [1, 2]]])
def test_bound_bad_clock_raises(bad):
    for odometer in odometers():
        with pytest.raises(DomainError, match="clock"):
            odometer.bound(bad)
