import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.errors import DomainError, KindError
from tradeoff.mechanisms.base import ratio

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
    m.BestOfRuns(m.Gaussian(10), mean=5),
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
)


@pytest.mark.parametrize("mechanism", EACH, ids=lambda each: each.kind)
def test_each_kind_is_a_frozen_value_and_has_a_curve(mechanism):
    assert m.KINDS[mechanism.kind] is type(mechanism)
    again = type(mechanism)(**mechanism.parameters())
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert isinstance(mechanism.curve(), to.TradeOff)
    assert mechanism.curve().symmetric == (mechanism.order == "symmetric")
    with pytest.raises(FrozenInstanceError):
        mechanism.kind = "other"


def test_every_kind_is_tried_here():
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
def test_closed_forms(mechanism, curve):
    assert mechanism.curve() == curve


def test_sampling_nothing_and_everything():
    assert m.SubsampledGaussian(noise_multiplier=2, sample_rate=0).curve() == to.Identity()
    assert m.SubsampledGaussian(noise_multiplier=2, sample_rate=1).curve() == to.Gaussian(0.5)


def test_sampling_is_stated_for_the_neighbours_it_is_proved_for():
    assert {each.kind for each in EACH if each.adjacency == "add-remove"} >= {
        "subsampled-gaussian",
        "subsampled-laplace",
        "random-allocation",
    }
    added = {each.kind for each in EACH if each.order == "symmetric" and each.adjacency == "add-remove"}
    assert added == {"thresholded-keys"}
    assert not any(each.order == "tied" and each.adjacency is None for each in EACH)


def test_the_sampled_order_is_the_one_with_the_larger_loss():
    # The order with the record absent under P; the other is bounded by -log(1 - p) from above.
    curve = m.SubsampledGaussian(noise_multiplier=1, sample_rate=0.1).curve()
    assert curve.epsilon(1e-6) > (~curve).epsilon(1e-6)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-15, 5e-324])
def test_losses_below_the_digits_of_a_vertex_are_not_lost(epsilon):
    curve = m.RandomizedResponse(epsilon=epsilon, categories=3).curve()
    assert curve.bounds.epsilon(0).lower <= epsilon <= curve.bounds.epsilon(0).upper <= epsilon * 1.01


@pytest.mark.parametrize("categories", [3, 10, 1000])
def test_many_categories_hide_more_than_two(categories):
    curve, pure = m.RandomizedResponse(epsilon=1, categories=categories).curve(), to.PureDP(1)
    assert curve.symmetric
    for alpha in (0.01, 0.1, 0.3, 0.5):
        assert curve.bounds(alpha).lower >= pure.bounds(alpha).lower * (1 - 1e-14)
    total = math.exp(1) + categories - 1
    assert curve.delta(0) == pytest.approx(math.expm1(1) / total, rel=1e-13)
    assert curve.delta(1 + 1e-12) <= 1e-12
    assert curve.bounds.delta(0).upper >= math.expm1(1) / total * (1 - 1e-15)


def test_discrete_laplace_with_a_wider_shift():
    curve = m.DiscreteLaplace(scale=2, sensitivity=3).curve()
    assert curve.epsilon(0) == pytest.approx(1.5, rel=1e-12)
    assert curve.delta(0) < to.PureDP(1.5).delta(0)


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: m.Gaussian(noise_multiplier=0), "noise_multiplier must be in (0, inf], got 0"),
        (lambda: m.Gaussian(noise_multiplier=-1), "noise_multiplier must be in (0, inf], got -1"),
        (lambda: m.Gaussian(noise_multiplier=math.nan), "noise_multiplier must be in (0, inf], got nan"),
        (lambda: m.Gaussian(noise_multiplier="2"), "noise_multiplier must be one real number, got '2'"),
        (lambda: m.Gaussian(noise_multiplier=True), "noise_multiplier must be one real number, got True"),
        (lambda: m.Gaussian(noise_multiplier=None), "noise_multiplier must be one real number, got None"),
        (
            lambda: m.Gaussian(noise_multiplier=10**400),
            "noise_multiplier must be in (0, inf], got 10000000000000000000000000000000000000000000000000000",
        ),
        (lambda: m.Laplace(scale=0), "scale must be in (0, inf], got 0"),
        (lambda: m.Laplace(scale=1, sensitivity=0), "sensitivity must be in (0, inf), got 0"),
        (lambda: m.Laplace(scale=1, sensitivity=math.inf), "sensitivity must be in (0, inf), got inf"),
        (
            lambda: m.Laplace(scale=1e-320),
            "scale must be at least 0.0001, got 1e-320",
        ),
        (
            lambda: m.SubsampledGaussian(noise_multiplier=1, sample_rate=1.5),
            "sample_rate must be in [0, 1], got 1.5",
        ),
        (
            lambda: m.SubsampledGaussian(noise_multiplier=1, sample_rate=-0.1),
            "sample_rate must be in [0, 1], got -0.1",
        ),
        (
            lambda: m.SubsampledLaplace(scale=1, sample_rate=math.nan),
            "sample_rate must be in [0, 1], got nan",
        ),
        (lambda: m.RandomizedResponse(epsilon=-1), "epsilon must be in [0, 700], got -1"),
        (
            lambda: m.RandomizedResponse(epsilon=1, categories=1),
            "categories must be an integer from 2 to 9007199254740992, got 1",
        ),
        (
            lambda: m.RandomizedResponse(epsilon=1, categories=2.5),
            "categories must be an integer from 2 to 9007199254740992, got 2.5",
        ),
        (lambda: m.PureDP(epsilon=math.inf), "epsilon must be in [0, 10000], got inf"),
        (lambda: m.ApproximateDP(epsilon=1, delta=2), "delta must be in [0, 1], got 2"),
        (lambda: m.ApproximateDP(epsilon=1, delta=1e-310), "delta must be 0 or in [1e-300, 1], got 1e-310"),
        (lambda: m.SubsampledGaussian(1, 5e-324), "sample_rate must be 0 or in [1e-300, 1], got 5e-324"),
        (lambda: m.DiscreteGaussian(sigma=0), "sigma must be in (0, inf), got 0"),
        (
            lambda: m.DiscreteGaussian(sigma=1, sensitivity=0),
            "sensitivity must be an integer from 1 to 9007199254740992, got 0",
        ),
        (lambda: m.DiscreteLaplace(scale=-1), "scale must be in [1e-300, inf), got -1"),
        (
            lambda: m.DiscreteLaplace(scale=1, sensitivity=1.5),
            "sensitivity must be an integer from 1 to 9007199254740992, got 1.5",
        ),
    ],
)
def test_bad_parameters_are_named_with_their_value(build, named):
    with pytest.raises(DomainError) as error:
        build()
    assert str(error.value).startswith(named)
    assert "\n" not in str(error.value)


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
    ],
)
def test_a_mechanism_is_no_curve(use):
    with pytest.raises(KindError, match=r"\.guarantee\(\)"):
        use(m.Laplace(scale=10))


@given(st.floats(1e-100, 1e100), st.floats(1e-100, 1e100))
def test_ratios_are_rounded_up_by_at_most_one_step(above, below):
    from fractions import Fraction

    result = ratio(above, below)
    assert Fraction(result) * Fraction(below) >= Fraction(above)
    assert result <= math.nextafter(above / below, math.inf)


LITTLE = Fraction(1, 10**30)
