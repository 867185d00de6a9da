import copy
import functools
import math
import operator
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import exact_curves, float_curves
from tradeoff import mechanisms as m
from tradeoff.report.answers import answer_query
from tradeoff.report.methods import claim_of
from tradeoff.report.plot import claims_of

STEP = m.SubsampledGaussian(noise_multiplier=1, sample_rate=0.01)


def test_plans_are_values_join_and_order_custom_curves():
    one = to.Plan({m.Laplace(scale=1): 2, m.PureDP(epsilon=1): 3})
    other = to.Plan({m.PureDP(epsilon=1.0): 3, m.Laplace(scale=1.0): 2})
    assert one == other
    assert hash(one) == hash(other)
    assert one != to.Plan({m.Laplace(scale=1): 2, m.PureDP(epsilon=1): 3}, adjacency="replace-one")
    with pytest.raises(FrozenInstanceError):
        one.adjacency = "replace-one"
    with pytest.raises(TypeError):
        one.mechanisms[m.Laplace(scale=1)] = 5
    step, noise = m.SubsampledGaussian(noise_multiplier=1, sample_rate=0.1), m.Laplace(scale=3)
    assert to.Plan({step: 3}) @ to.Plan({noise: 1, step: 2}) == to.Plan({step: 5, noise: 1})
    known = m.Custom(to.PureDP(2), other_order=SAMPLED_CURVE, adjacency="add-remove")
    assert known.curve() == to.maximum(to.PureDP(2), ~SAMPLED_CURVE)
    assert m.Custom(SAMPLED_CURVE, other_order=~SAMPLED_CURVE).curve() == SAMPLED_CURVE
    # The tighter side of both orders: removing loses at most 2, adding what the step loses.
    assert known.curve().epsilon(0) <= 2
    assert (~known.curve()).epsilon(1e-6) <= SAMPLED_CURVE.epsilon(1e-6) + 1e-9
    mechanism = m.Custom(to.Gaussian(0.5))
    assert (mechanism.order, mechanism.adjacency, FREE.order) == ("symmetric", None, "free")
    assert plan(mechanism, 4, "replace-one").guarantee() == to.Gaussian(1)
    tied = m.Custom(SAMPLED_CURVE, adjacency="add-remove")
    assert tied.order == "tied"
    both = to.Plan({tied: 3, m.SubsampledGaussian(noise_multiplier=1, sample_rate=0.1): 2})
    assert both.curve() == SAMPLED_CURVE**5


def test_guarantee_takes_one_envelope_of_tied_mechanisms_and_each_of_free_ones():
    plan = to.Plan({STEP: 1000})
    curve, guarantee = plan.curve(), plan.guarantee()
    assert (curve.symmetric, guarantee.symmetric) == (False, True)
    for delta, remove, add in (
        (1e-3, 1.16251231986216, 0.9731422674706792),
        (1e-5, 1.828236666516575, 1.4166619480361757),
    ):
        for f, truth in ((curve, remove), (~curve, add), (guarantee, remove)):
            assert truth in f.bounds.epsilon(delta)
    # f (x) f^-1 occurs, and the envelope of f (x) f does not cover it.
    plan = to.Plan({FREE: 2})
    assert plan.curve().symmetric
    assert plan.guarantee() == LOPSIDED.symmetrise(assume="either-order") ** 2
    mixed = LOPSIDED @ ~LOPSIDED
    for alpha in (0.05, 0.2, 0.5):
        assert plan.guarantee()(alpha) <= mixed.bounds(alpha).upper


@pytest.mark.parametrize("described", [m.Laplace(scale=1), STEP, to.Plan({}), to.Plan({STEP: 1})])
@pytest.mark.parametrize("name", ["epsilon", "delta", "gdp", "bounds", "group", "law"])
def test_attribute_of_a_curve_names_the_guarantee(described, name):
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; use \.guarantee\(\)\.{name}$"):
        getattr(described, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'foo'$"):
        described.foo  # noqa: B018 - the access is what is tested
    assert copy.deepcopy(described) == pickle.loads(pickle.dumps(described)) == described


HALF = m.SubsampledGaussian(noise_multiplier=0.5, sample_rate=0.5)
LOPSIDED = to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.35, 0])
FREE = m.Custom(LOPSIDED)


STEPS = HALF.curve() ** 3
ONE_ORDER = (
    HALF.curve(),
    ~HALF.curve(),
    STEPS,
    STEPS @ to.Laplace(0.5),
    m.MixtureOfGaussians(1.0, [0, 1], [0.5, 0.5]).curve(),
    to.mixture({HALF.curve(): 0.5, to.Gaussian(1): 0.5}),
    m.BallsInBins(1, bins=2, epochs=2).curve(),
    FREE.curve(),
)
BOTH_ORDERS = (to.Gaussian(1), HALF.guarantee(), STEPS @ ~STEPS, FREE.guarantee(2))


@pytest.mark.parametrize("curve", [*ONE_ORDER, *BOTH_ORDERS], ids=repr)
def test_one_order_is_stated_with_every_answer(curve):
    one = curve in ONE_ORDER
    assert curve.symmetric != one
    shown = [
        repr(curve),
        repr(curve.explain(epsilon=0.5)),
        repr(answer_query(curve, epsilon=[0.5])),
        claim_of("f", curve).name,
        claim_of("", curve).name,
        curve._repr_latex_(),
    ]
    assert [("one order" in text) for text in shown] == [one] * len(shown)
    assert answer_query(curve, epsilon=[0.5]).as_json().get("one_order", False) == one
    assert repr(curve).count("one order") == one


def test_comparison_and_legend_state_one_order_and_dp_sgd_gives_rate_and_steps():
    for curve in (HALF.curve(), HALF.guarantee()):
        result = to.compare(curve, {"G": HALF.curve()}, delta=[], epsilon=[0.5], alpha=[])
        assert ("one order of the pair" in repr(result)) == (not curve.symmetric)
        assert ("order" in result.numbers().columns) == (not curve.symmetric)
        assert result["G"].claim.name == "G (one order)"
    parts = [to.Laplace(k / 8) ** k for k in range(1, 9)]
    long = to.subsample(functools.reduce(operator.matmul, parts), 0.01) ** 1000
    items = long, HALF, HALF.curve(), to.limits.edgeworth(STEPS)
    names = [claim.name for claim in claims_of(items)]
    assert ["one order" in name for name in names] == [True, False, True, True]
    assert "…" in names[0]
    assert [claim.name for claim in claims_of([STEPS], ["training"])] == ["training (one order)"]
    assert [claim.name for claim in claims_of([STEPS])] == ["one order"]
    [(step, steps)] = to.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60).mechanisms.items()
    assert (step.noise_multiplier, steps) == (1.1, 14_063)  # 14062.5 rounded up
    exact = Fraction(256, 60_000)
    assert exact <= Fraction(step.sample_rate) < exact * (1 + Fraction(1, 2**52))
    direct = to.dp_sgd(2, sample_rate=0.01, steps=1000)
    assert direct == to.Plan({m.SubsampledGaussian(noise_multiplier=2, sample_rate=0.01): 1000})
    assert to.dp_sgd(2, sample_rate=0.25, epochs=3) == to.dp_sgd(2, sample_rate=0.25, steps=12)


SAMPLED_CURVE = to.subsample(to.Gaussian(1), 0.1)


def plan(mechanism, n=1, adjacency="add-remove"):
    return to.Plan({mechanism: n}, adjacency=adjacency)


@given(st.one_of(exact_curves, float_curves))
def test_plan_file_keeps_curves_to_the_last_bit(curve):
    for mechanism in (m.Custom(curve, adjacency="add-remove"), m.Custom(curve, other_order=~curve)):
        content = to.spec.PlanFile("t", plan(mechanism))
        assert to.spec.loads(to.spec.dumps(content)) == content


def test_canonical_noise_shifts_by_its_curve_and_has_the_tulap_law():
    # F(x - 1) = f(1 - F(x)), evaluated at the quantile of 1 - alpha.
    near, alpha = {"rtol": 0, "atol": 1e-7}, np.array([1e-6, 1e-3, 0.05, 0.3, 0.45])
    leaking = to.approximate_dp(1, 0.1), to.TotalVariation(0.3)
    for curve in (to.PureDP(1), to.Gaussian(0.5), to.Laplace(2), *leaking):
        noise = m.CanonicalNoise(curve, sensitivity=3)
        assert np.allclose(noise.quantile(curve(alpha)), noise.quantile(1 - alpha) - 3, **near)
        assert np.allclose(noise.quantile(alpha), -noise.quantile(1 - alpha), **near)
        assert noise.curve() == curve
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
