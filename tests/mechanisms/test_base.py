"""Each kind of mechanism as a value, its parameters and their errors, and losses rounded up."""

import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.errors import DomainError, KindError
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


@pytest.mark.parametrize(
    ("mechanism", "curve"),
    [
        (m.Gaussian(noise_multiplier=8), to.Gaussian(0.125)),
        (m.Laplace(scale=10), to.Laplace(0.1)),
        (m.Laplace(scale=4, sensitivity=2), to.Laplace(0.5)),
        (m.RandomizedResponse(epsilon=0.3), to.PureDP(0.3)),
        (m.PureDP(epsilon=0.3), to.PureDP(0.3)),
        (m.ApproximateDP(epsilon=1, delta=0.1), to.approximate_dp(1, 0.1)),
        (m.DiscreteLaplace(scale=2), to.PureDP(0.5)),
        (m.SubsampledGaussian(noise_multiplier=2, sample_rate=0.25), to.subsample(to.Gaussian(0.5), 0.25)),
        (m.SubsampledLaplace(scale=4, sensitivity=2, sample_rate=0.25), to.subsample(to.Laplace(0.5), 0.25)),
    ],
)
def test_curve_of_simple_mechanisms_is_a_closed_form(mechanism, curve):
    assert mechanism.curve() == curve


def test_adjacency_and_order_of_sampled_mechanisms_are_those_of_their_proofs():
    assert {each.kind for each in EACH if each.adjacency == "add-remove"} >= {
        "subsampled-gaussian",
        "subsampled-laplace",
        "random-allocation",
    }
    added = {each.kind for each in EACH if each.order == "symmetric" and each.adjacency == "add-remove"}
    assert added == {"thresholded-keys"}
    assert not any(each.order == "tied" and each.adjacency is None for each in EACH)


@pytest.mark.parametrize(
    "use",
    [
        lambda a: a @ a,
        lambda a: to.Gaussian(1) @ a,
        lambda a: a @ to.Gaussian(1),
        lambda a: a**2,
        lambda a: ~a,
        lambda a: a >= to.Gaussian(1),
        lambda a: a(0.5),
        lambda a: to.Gaussian(1).distance(a),
    ],
)
def test_operators_of_curves_refuse_a_mechanism(use):
    with pytest.raises(KindError, match=r"\.guarantee\(\)"):
        use(m.Laplace(scale=10))


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


def test_parameters_leave_out_none():
    assert m.Custom(to.Gaussian(1)).parameters() == {"curve": to.Gaussian(1)}
    assert m.Gaussian(noise_multiplier=2).parameters() == {"noise_multiplier": 2.0}
    assert repr(m.Gaussian(noise_multiplier=2)) == "Gaussian(noise_multiplier=2.0)"


# Expressions and the start of their errors; MOST is 2^53.
ERRORS = """
Gaussian(noise_multiplier=0) => noise_multiplier must be in (0, inf], got 0
Gaussian(noise_multiplier=-1) => noise_multiplier must be in (0, inf], got -1
Gaussian(noise_multiplier=math.nan) => noise_multiplier must be in (0, inf], got nan
Gaussian(noise_multiplier='2') => noise_multiplier must be one real number, got '2'
Gaussian(noise_multiplier=True) => noise_multiplier must be one real number, got True
Gaussian(noise_multiplier=None) => noise_multiplier must be one real number, got None
Gaussian(noise_multiplier=10**400) =>
    noise_multiplier must be in (0, inf], got 10000000000000000000000000000000000000000000000000000
Laplace(scale=0) => scale must be in (0, inf], got 0
Laplace(scale=1, sensitivity=0) => sensitivity must be in (0, inf), got 0
Laplace(scale=1, sensitivity=math.inf) => sensitivity must be in (0, inf), got inf
Laplace(scale=1e-320) => scale must be at least 0.0001, got 1e-320
SubsampledGaussian(noise_multiplier=1, sample_rate=1.5) => sample_rate must be in [0, 1], got 1.5
SubsampledGaussian(noise_multiplier=1, sample_rate=-0.1) => sample_rate must be in [0, 1], got -0.1
SubsampledLaplace(scale=1, sample_rate=math.nan) => sample_rate must be in [0, 1], got nan
RandomizedResponse(epsilon=-1) => epsilon must be in [0, 700], got -1
RandomizedResponse(epsilon=1, categories=1) => categories must be an integer from 2 to MOST, got 1
RandomizedResponse(epsilon=1, categories=2.5) => categories must be an integer from 2 to MOST, got 2.5
PureDP(epsilon=math.inf) => epsilon must be in [0, 10000], got inf
ApproximateDP(epsilon=1e-5, delta=1) => delta must be at most 0.1 for 0 < epsilon <= 1e-3, got 1.0
ApproximateDP(epsilon=1, delta=2) => delta must be in [0, 1], got 2
ApproximateDP(epsilon=1, delta=1e-310) => delta must be 0 or in [1e-300, 1], got 1e-310
SubsampledGaussian(1, 5e-324) => sample_rate must be 0 or in [1e-300, 1], got 5e-324
DiscreteGaussian(sigma=0) => sigma must be in (0, inf), got 0
DiscreteGaussian(sigma=1, sensitivity=0) => sensitivity must be an integer from 1 to MOST, got 0
DiscreteLaplace(scale=-1) => scale must be in [1e-300, inf), got -1
DiscreteLaplace(scale=1, sensitivity=1.5) => sensitivity must be an integer from 1 to MOST, got 1.5
Gaussian(noise_multiplier=[1, 2], sensitivity=3) => sensitivity must be a list of 2 numbers
Gaussian(noise_multiplier=[]) => noise_multiplier must be a list of at least one real number, got []
Gaussian(noise_multiplier=1, sensitivity=[1, -1]) => sensitivity[1] must be in [0, inf), got -1
Gaussian(noise_multiplier=1, sensitivity='1') => sensitivity must be one real number, got '1'
TreeAggregation(1, 0) => steps must be an integer from 1, got 0
Gaussian(noise_multiplier=1e-5) => noise_multiplier must be at least 0.0001, got 1e-05
Gaussian(noise_multiplier=1, sensitivity=1e5) => noise_multiplier must be at least 10, got 1.0
Gaussian(noise_multiplier=[1e-5, 1]) => noise_multiplier must be larger, got (1e-05, 1.0)
SubsampledGaussian(1e-5, 0.1).curve() => noise_multiplier must be at least 0.0001, got 1e-05
SubsampledGaussian(1e-5, 0.1, 'without-replacement').curve() => noise_multiplier must be at least 0.0002, got
SubsampledLaplace(1e-5, 0.1, adjacency='replace-one') => scale must be at least 0.0002, got 1e-05
ThresholdedKeys(1e-5, 2, noise='gaussian') => scale must be at least 0.0001, got 1e-05
BoundedLaplace(1e-5, 10) => scale must be at least 0.0001, got 1e-05
DiscreteLaplace(1e-5).curve() => scale must be at least 0.0001, got 1e-05
TreeAggregation(1e-5, 5).curve() => noise_multiplier must be at least 0.000173205, got 1e-05
BallsInBins(1e-5, 3, 4).curve() => noise_multiplier must be at least 0.0002, got 1e-05
TreeAggregation(1, 10, participations=0) => participations must be an integer from 1 to 128, got 0
TreeAggregation(1, 10, participations=129) => participations must be an integer from 1 to 128, got 129
TreeAggregation(1, 10, separation=0) => separation must be an integer from 1, got 0
TreeAggregation(1, 10, restarts=[2, 2]) => restarts must be increasing, got [2, 2]
TreeAggregation(1, 10, restarts=[3, 2]) => restarts must be increasing, got [3, 2]
TreeAggregation(1, 10, restarts=[10]) => restarts must be below steps = 10, got 10
TreeAggregation(1, 10, restarts=[0]) => restarts[0] must be an integer from 1 to MOST, got 0
TreeAggregation(1, 10, restarts=3) => restarts must be a list of integers, got 3
TreeAggregation(1, 10, restarts='35') => restarts must be a list of integers, got '35'
TreeAggregation(1, 10, completion=1) => completion must be True or False, got 1
TreeAggregation(1, 10**20, participations=2) => steps must be an integer from 1 to MOST, got 10000000000
TreeAggregation(0, 1) => noise_multiplier must be in (0, inf], got 0
MatrixMechanism(1, math.inf) => sensitivity must be in [0, inf), got inf
LastIterate(1, 2.5) => steps must be an integer from 1, got 2.5
LastIterate(1, 2, contraction=1.1) => contraction must be in [0, 1], got 1.1
LastIterate(1, 2, diameter=-1) => diameter must be in [0, inf], got -1
TruncatedLaplace(1, bound=0) => bound must be in (0, inf), got 0
TruncatedLaplace(math.inf, bound=1) => scale must be in (0, inf), got inf
TruncatedGaussian(0, bound=1) => scale must be in (0, inf), got 0
BoundedLaplace(1, width=0.5) =>
    width must be in [1, inf), got 0.5; answers of neighbours differ by the sensitivity
BoundedGaussian(math.nan) => noise_multiplier must be in (0, inf], got nan
ThresholdedKeys(1, 1) => threshold must be in (1, inf], got 1
ThresholdedKeys(1, 5, noise='cauchy') => noise must be one of 'laplace', 'gaussian', 'geometric', got 'cauchy'
ThresholdedKeys(1, 5, keys=0) => keys must be an integer from 1 to MOST, got 0
ThresholdedKeys(1, 5, noise='geometric', contribution=1.5) =>
    contribution must be an integer from 1 to MOST, got 1.5
Rappor(701) => epsilon must be in [0, 700], got 701
Rappor(1, hashes=0) => hashes must be an integer from 1 to MOST, got 0
SubsetSelection(1, 5, 5) => size must be an integer from 1 to 4, got 5
SubsetSelection(1, 1, 1) => categories must be an integer from 2 to MOST, got 1
Staircase(1, gamma=2) => gamma must be in [0, 1], got 2
Staircase(math.inf) => epsilon must be in [0, 700], got inf
Skellam(0) => variance must be in (0, inf), got 0
BinomialNoise(0) => coins must be an integer from 1 to MOST, got 0
DiscreteGaussianVector(1, 0, 2) => squared_sensitivity must be an integer from 1 to MOST, got 0
DiscreteGaussianVector(1, 3, 0) => dimension must be an integer from 1 to MOST, got 0
CanonicalNoise(to.Identity()) => curve must be below the identity, got Id
CanonicalNoise(to.subsample(to.Gaussian(1), 0.1)) =>
    curve must be symmetric, got subsample(G_{1}, 0.1) (one order)
CanonicalNoise(to.PureDP(1e-05)).sample(1, np.random.default_rng(1)) => CanonicalNoise(curve=f_{1e-05,0}
CanonicalNoise(to.PureDP(1)).quantile([0.5, 1]) => probability must be in (0, 1), got [0.5, 1]
CanonicalNoise(to.PureDP(1)).sample(-3, np.random.default_rng(1)) =>
    size must be the shape of an array, got -3; negative dimensions are not allowed
BestOfRuns(Gaussian(noise_multiplier=10), mean=1e12, shape=-0.99).curve() =>
    mean = 1000000000000.0 with shape = -0.99 is out of range; give a smaller mean, or a larger sha
to.Plan({Laplace(scale=2): 10**5000}) => the count of Laplace(scale=2.0
SubsampledGaussian(1, 0.1, 'without-replacement', 'add-remove') =>
    adjacency must be 'replace-one' for scheme = 'without-replacement'
SubsampledGaussian(1, 0.1, 'with-replacement') =>
    batch_size must be the number of draws for scheme = 'with-replacement', got None
SubsampledGaussian(1, 0.1, batch_size=3) => batch_size must be left out for scheme = 'poisson', got 3
SubsampledGaussian(1, 0.1, 'shuffle') => scheme must be one of 'poisson'
SubsampledGaussian(1, 0.1, adjacency='zero-out') =>
    adjacency must be one of 'add-remove', 'replace-one', got 'zero-out'
SubsampledGaussian(1, 0.1, group_size=0) => group_size must be an integer from 1 to MOST, got 0
SubsampledLaplace(1, 0.1, 1, 'without-replacement', group_size=2) =>
    group_size must be 1 for scheme = 'without-replacement', got 2
SubsampledGaussian(1, 0.5, group_size=5000).curve() =>
    5000 draws of chance 0.5 have more than 512 likely numbers of hits
SubsampledGaussian(1, 0.1, 'with-replacement', batch_size=1.5) =>
    batch_size must be an integer from 1 to MOST, got 1.5
Subsampled(SubsampledGaussian(1, 0.1), 0.1, 'without-replacement') =>
    mechanism must be for replace-one neighbours, as its sample, got SubsampledGaussian(noise_
TruncatedSubsampledGaussian(1, 0.1, 0, 5) => batch_size must be an integer from 1 to 10000000000, got 0
TruncatedSubsampledGaussian(1, 0.1, 3, 10**11) =>
    dataset_size must be an integer from 1 to 10000000000, got 100000000000
MixtureOfGaussians(1, [0, 1], [1]) => sensitivities and probabilities must have one length, got 2 and 1
MixtureOfGaussians(1, [0, 1], [0.5, 0.4]) => probabilities must add to 1, got (0.5, 0.4), sum 0.9
MixtureOfGaussians(1, [0, -1], [0.5, 0.5]) => sensitivities[1] must be in [0, inf), got -1
MixtureOfGaussians(1, 3, [0.5, 0.5]) => sensitivities must be a list of numbers, got 3
BandedFactorization(1, 0.1, 10, 0) => bands must be an integer from 1 to MOST, got 0
RandomAllocation(1, 10, 11) => participations must be at most steps = 10, got 11
RandomAllocation(1, 0) => steps must be an integer from 1 to 10000000, got 0
ShuffledRandomizers(-1, 10) => epsilon must be in [0, 700], got -1
ShuffledRandomizers(1, 0) => records must be an integer from 1 to 1000000000, got 0
ShuffledRandomizers(1, 9, 4, 4) => size must be an integer from 1 to 3, got 4
ShuffledRandomizers(1, 9, size=2) => size must be left out without categories, got 2
ShuffledRandomizers(1, 9, 4, randomizer='rappor') =>
    categories must be left out for randomizer = 'rappor', got 4
ShuffledRandomizers(0, 9, randomizer='gauss') => randomizer must be one of 'rappor', 'laplace', got 'gauss'
ShuffledRandomizers(1, 9).pair(-1) => n must be an integer from 0 to 1000000000000, got -1
ReportNoisyMax(1, noise='normal') => noise must be one of 'gumbel', 'laplace', 'exponential', got 'normal'
ReportNoisyMax(1, noise=3) => noise must be one of 'gumbel', 'laplace', 'exponential', got 3
RepeatAndSelect(1, shape=-1) => shape must be in (-1, inf), got -1
RepeatAndSelect(10000.0, shape=3) => (2 + shape) epsilon must be in [0, 10000], got 50000
BestOfRuns(Gaussian(noise_multiplier=1), mean=0.5) => mean must be in [1, 1e+12], got 0.5
BestOfRuns(Gaussian(noise_multiplier=1), mean=2, shape=-1) => shape must be in (-1, inf], got -1
"""


def error_rows():
    rows = ERRORS.replace(" =>\n    ", " => ").replace("MOST", str(2**53)).strip().splitlines()
    return [row.split(" => ") for row in rows]


@pytest.mark.parametrize(("expression", "message"), error_rows())
def test_parameters_out_of_range_are_named_with_their_value(expression, message):
    with pytest.raises(DomainError) as error:
        eval(expression, {**vars(m), "to": to, "math": math, "np": np})
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("build", "call"),
    [
        (lambda: to.Gaussian(sigma=1), "Gaussian(noise_multiplier=...)"),
        (lambda: to.Laplace(scale=2), "Laplace(scale=...)"),
    ],
)
def test_curve_with_a_parameter_of_noise_names_the_mechanism(build, call):
    with pytest.raises(TypeError) as error:
        build()
    assert str(error.value).endswith(f"use tradeoff.mechanisms.{call}")
