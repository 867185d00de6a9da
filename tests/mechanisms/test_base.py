"""Each kind of mechanism as a value, its parameters and their errors, and losses rounded up."""

import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.mechanisms.base import loss, ratio, root

EACH = (
    m.Gaussian(noise_multiplier=2),
    m.Laplace(scale=10),
    m.SubsampledGaussian(noise_multiplier=1.1, sample_rate=0.01),
    m.SubsampledLaplace(scale=2, sample_rate=0.1),
    m.RandomizedResponse(epsilon=0.3),
    m.PureDP(epsilon=0.3),
    m.ApproximateDP(epsilon=1, delta=1e-6),
    m.DiscreteGaussian(sigma=2),
    m.DiscreteLaplace(scale=2),
    m.Custom(to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.35, 0])),
    m.ExponentialMechanism(epsilon=1),
    m.ReportNoisyMax(epsilon=1, noise="laplace"),
    m.PermuteAndFlip(epsilon=1),
    m.AboveThreshold(epsilon=1),
    m.RepeatAndSelect(epsilon=1, shape=0.5),
    m.BestOfRuns(m.Gaussian(noise_multiplier=10), mean=5),
    m.TreeAggregation(noise_multiplier=2, steps=5),
    m.MatrixMechanism(noise_multiplier=2, sensitivity=3),
    m.LastIterate(noise_multiplier=2, steps=5, contraction=0.9, diameter=3),
    m.TruncatedLaplace(scale=2, bound=7),
    m.TruncatedGaussian(scale=2, bound=7),
    m.BoundedLaplace(scale=2, width=7),
    m.BoundedGaussian(noise_multiplier=2),
    m.ThresholdedKeys(scale=2, threshold=28, noise="gaussian", keys=3),
    m.Rappor(epsilon=1),
    m.SubsetSelection(epsilon=1, categories=5, size=2),
    m.Staircase(epsilon=1, gamma=0.2),
    m.Skellam(variance=5),
    m.BinomialNoise(coins=20),
    m.DiscreteGaussianVector(sigma=2, squared_sensitivity=4, dimension=3),
    m.CanonicalNoise(to.PureDP(1).lower),
    m.Subsampled(m.RandomizedResponse(epsilon=1, categories=4), sample_rate=0.1),
    m.TruncatedSubsampledGaussian(noise_multiplier=1, sample_rate=0.1, batch_size=3, dataset_size=9),
    m.MixtureOfGaussians(1.0, [0, 1, 2], [0.5, 0.25, 0.25]),
    m.BandedFactorization(noise_multiplier=2, sample_rate=0.1, steps=10, bands=3),
    m.RandomAllocation(noise_multiplier=2, steps=3, participations=2),
    m.BallsInBins(noise_multiplier=2, bins=3, epochs=2),
    m.ShuffledRandomizers(epsilon=1, records=10),
    m.ShuffledRandomizers(epsilon=1, records=10, categories=5, size=2),
    m.ShuffledRandomizers(epsilon=1, records=10, randomizer="laplace"),
)


@pytest.mark.parametrize("mechanism", EACH, ids=lambda each: each.kind)
def test_mechanism_of_each_kind_is_a_frozen_value_with_a_curve(mechanism):
    assert m.KINDS[mechanism.kind] is type(mechanism)
    again = type(mechanism)(**mechanism.parameters())
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert isinstance(mechanism.curve(), to.TradeOff)
    assert mechanism.curve().symmetric == (mechanism.order == "symmetric")
    with pytest.raises(FrozenInstanceError):
        mechanism.kind = "other"
    content = to.spec.PlanFile("", to.Plan({mechanism: 2}, mechanism.adjacency or "add-remove"))
    assert to.spec.loads(to.spec.dumps(content)) == content


def test_list_of_mechanisms_has_every_kind():
    assert {each.kind for each in EACH} == set(m.KINDS)


def test_adjacency_and_order_of_sampled_mechanisms_are_those_of_their_proofs():
    assert {each.kind for each in EACH if each.adjacency == "add-remove"} >= {
        "subsampled-gaussian",
        "subsampled-laplace",
        "random-allocation",
    }
    added = {each.kind for each in EACH if each.order == "symmetric" and each.adjacency == "add-remove"}
    assert added == {"thresholded-keys"}
    assert not any(each.order == "tied" and each.adjacency is None for each in EACH)


@given(st.floats(1e-100, 1e100), st.floats(1e-100, 1e100))
def test_ratio_is_rounded_up_by_at_most_one_step(above, below):
    result = ratio(above, below)
    assert Fraction(result) * Fraction(below) >= Fraction(above)
    assert result <= math.nextafter(above / below, math.inf)


def test_loss_and_root_are_rounded_up():
    for moves in ([0.1, 0.2, 0.3], [1e-200, 1e-180], [9e3, 4e3, 1.0], [3.0, 4.0], [1e-320, 1e-320]):
        assert Fraction(loss(moves, 1.0)) ** 2 >= sum(Fraction(v) ** 2 for v in moves)
        assert loss(moves, 1.0) <= math.hypot(*moves) * (1 + 1e-15) + 5e-324
    assert root(Fraction(2)) == math.nextafter(math.sqrt(2), 0) or Fraction(root(Fraction(2))) ** 2 >= 2
