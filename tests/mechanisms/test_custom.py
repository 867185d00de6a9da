"""Custom curves in plans and files, and noise made for a curve."""

import json
import math

import numpy as np
import pytest
from hypothesis import given

import tradeoff as to
from tests.strategies import exact_curves, float_curves
from tradeoff import mechanisms as m
from tradeoff.errors import KindError, PlanError

LOPSIDED = to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.35, 0])


STEP = to.subsample(to.Gaussian(1), 0.1)


PLAN = '[[mechanism]]\nkind = "custom"\ncurve = {}\n'


def plan(mechanism, n=1, adjacency="add-remove"):
    return to.Plan({mechanism: n}, adjacency=adjacency)


def test_custom_symmetric_curve_is_its_own_guarantee():
    mechanism = m.Custom(to.Gaussian(0.5))
    assert mechanism.order == "symmetric"
    assert mechanism.adjacency is None
    assert plan(mechanism, 4, "replace-one").guarantee() == to.Gaussian(1)


def test_custom_under_add_remove_is_tied():
    mechanism = m.Custom(STEP, adjacency="add-remove")
    assert mechanism.order == "tied"
    both = to.Plan({mechanism: 3, m.SubsampledGaussian(noise_multiplier=1, sample_rate=0.1): 2})
    assert both.curve() == STEP**5


def test_custom_without_adjacency_is_free():
    mechanism = m.Custom(LOPSIDED)
    assert mechanism.order == "free"
    assert plan(mechanism, 2).guarantee() == LOPSIDED.symmetrise(assume="either-order") ** 2


def test_custom_uses_a_bound_on_the_other_order():
    known = m.Custom(to.PureDP(2), other_order=STEP, adjacency="add-remove")
    assert known.curve() == to.maximum(to.PureDP(2), ~STEP)
    assert m.Custom(STEP, other_order=~STEP).curve() == STEP
    # The tighter side of both orders: removing loses at most 2, adding what the step loses.
    assert known.curve().epsilon(0) <= 2
    assert (~known.curve()).epsilon(1e-6) <= STEP.epsilon(1e-6) + 1e-9


def test_plan_refuses_a_custom_of_other_neighbours():
    with pytest.raises(PlanError, match="stated for replace-one neighbours"):
        plan(m.Custom(to.Gaussian(1), adjacency="replace-one"))


@given(exact_curves)
def test_plan_file_keeps_exact_curves(curve):
    content = to.spec.PlanFile("t", plan(m.Custom(curve, adjacency="add-remove")))
    assert to.spec.loads(to.spec.dumps(content)) == content


@given(float_curves)
def test_plan_file_keeps_float_curves_to_the_last_bit(curve):
    content = to.spec.PlanFile("t", plan(m.Custom(curve, other_order=~curve)))
    assert to.spec.loads(to.spec.dumps(content)) == content


LINE = {"kind": "piecewise-linear", "alpha": [0.0, 1.0], "beta": [1.0, 0.0]}


GOOD = {"schema": 1, "tradeoff": LINE}


BAD = [
    ("none.json", "mechanism[1].curve: none.json: cannot be read"),
    ("{", "mechanism[1].curve: "),
    ('{"schema": 1, "tradeoff": ' + "[" * 100000, "mechanism[1].curve: "),
    (GOOD | {"schema": 2}, "mechanism[1].curve: schema must be 1, got 2"),
    (GOOD | {"tradeoff": 0.5}, "0.5 is not a trade-off function"),
    (GOOD | {"tradeoff": LINE | {"kind": "triangle"}}, "kind = 'triangle'"),
    (GOOD | {"tradeoff": LINE | {"alfa": []}}, "alfa is not known"),
    (GOOD | {"tradeoff": LINE | {"alpha": ["zero", 1]}}, "must be a list of numbers"),
    (GOOD | {"tradeoff": LINE | {"alpha": ["1e999999999", 1]}}, "must be a list of numbers"),
    (GOOD | {"tradeoff": LINE | {"alpha": ["1/0", 1]}}, "must be a list of numbers"),
    (GOOD | {"tradeoff": LINE | {"beta": [0.5, 0.6]}}, "mechanism[1].curve: "),
    (GOOD | {"tradeoff": LINE | {"beta": [1]}}, "must have the same length"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=lambda value: str(value)[:40])
def test_plan_file_names_the_error_of_a_curve(given, message):
    content = given if isinstance(given, str) else json.dumps(given)
    with pytest.raises(PlanError) as error:
        to.spec.loads(PLAN.format(json.dumps(content)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_plan_file_reads_a_curve_in_place():
    (mechanism,) = to.spec.loads(PLAN.format(json.dumps(json.dumps(GOOD)))).plan.mechanisms
    assert mechanism.curve().vertices == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    "curve",
    [to.PureDP(1), to.Gaussian(0.5), to.Laplace(2), to.approximate_dp(1, 0.1), to.TotalVariation(0.3)],
)
def test_canonical_noise_shifts_by_its_curve(curve):
    # F(x - 1) = f(1 - F(x)), evaluated at the quantile of 1 - alpha.
    noise, alpha = m.CanonicalNoise(curve, sensitivity=3), np.array([1e-6, 1e-3, 0.05, 0.3, 0.45])
    assert np.allclose(noise.quantile(curve(alpha)), noise.quantile(1 - alpha) - 3, rtol=0, atol=1e-7)
    assert np.allclose(noise.quantile(alpha), -noise.quantile(1 - alpha), rtol=0, atol=1e-7)
    assert noise.curve() == curve


def test_canonical_noise_of_pure_dp_is_the_tulap_law():
    # Its cdf, Awan and Slavkovic 2018: b^-[x]/(1 + b) (b + (x - [x] + 1/2)(1 - b)) for x <= 0, b = e^-eps.
    b, x = math.exp(-1), np.array([-7.3, -2.5001, -1.2, -0.4, 0.0])
    near = np.round(x)
    cdf = b**-near / (1 + b) * (b + (x - near + 0.5) * (1 - b))
    assert np.allclose(m.CanonicalNoise(to.PureDP(1)).quantile(cdf), x, rtol=0, atol=1e-9)


@pytest.mark.parametrize("curve", [to.Gaussian(1), to.Gaussian(0.6) @ to.Laplace(0.5)])
def test_sample_of_canonical_noise_has_its_curve(curve):
    # The empirical cdf of 2000 draws is within 0.07 of the true one but for a chance of 7e-9 (Massart 1990).
    drawn, band = np.sort(m.CanonicalNoise(curve).sample(2000, np.random.default_rng(7))), 0.07
    cdf = np.searchsorted(drawn, np.linspace(-1, 2, 13)) / 2000
    shifted = np.searchsorted(drawn, np.linspace(-1, 2, 13) - 1) / 2000
    alpha = np.clip(1 - cdf, 0, 1)
    low, high = curve(np.minimum(alpha + band, 1)), curve(np.maximum(alpha - band, 0))
    assert np.all((low - band <= shifted) & (shifted <= high + band))


def test_sample_refuses_anything_but_a_generator():
    with pytest.raises(KindError, match=r"rng must be a numpy\.random\.Generator, got None"):
        m.CanonicalNoise(to.PureDP(1)).sample(3, None)
