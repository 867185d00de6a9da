"""Mechanisms: immutable descriptions of one release each; a plan states how often each of them runs."""

from tradeoff.mechanisms.base import Adjacency, Mechanism, Order
from tradeoff.mechanisms.batch_sampling import (
    BallsInBins,
    BandedFactorization,
    MixtureOfGaussians,
    RandomAllocation,
    ShuffledRandomizers,
    TruncatedSubsampledGaussian,
)
from tradeoff.mechanisms.custom import CanonicalNoise, Custom
from tradeoff.mechanisms.linear import (
    LastIterate,
    MatrixMechanism,
    TreeAggregation,
    blt_strategy,
    strategy_sensitivity,
)
from tradeoff.mechanisms.noise import (
    BinomialNoise,
    BoundedGaussian,
    BoundedLaplace,
    DiscreteGaussian,
    DiscreteGaussianVector,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Skellam,
    ThresholdedKeys,
    TruncatedGaussian,
    TruncatedLaplace,
)
from tradeoff.mechanisms.plan import Plan
from tradeoff.mechanisms.selection import (
    AboveThreshold,
    ApproximateDP,
    BestOfRuns,
    ExponentialMechanism,
    PermuteAndFlip,
    PureDP,
    RandomizedResponse,
    Rappor,
    RepeatAndSelect,
    ReportNoisyMax,
    Staircase,
    SubsetSelection,
)
from tradeoff.mechanisms.subsampled import (
    Sampled,
    Scheme,
    Subsampled,
    SubsampledGaussian,
    SubsampledLaplace,
)

__all__ = [
    "KINDS",
    "AboveThreshold",
    "Adjacency",
    "ApproximateDP",
    "BallsInBins",
    "BandedFactorization",
    "BestOfRuns",
    "BinomialNoise",
    "BoundedGaussian",
    "BoundedLaplace",
    "CanonicalNoise",
    "Custom",
    "DiscreteGaussian",
    "DiscreteGaussianVector",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Gaussian",
    "Laplace",
    "LastIterate",
    "MatrixMechanism",
    "Mechanism",
    "MixtureOfGaussians",
    "Order",
    "PermuteAndFlip",
    "Plan",
    "PureDP",
    "RandomAllocation",
    "RandomizedResponse",
    "Rappor",
    "RepeatAndSelect",
    "ReportNoisyMax",
    "Sampled",
    "Scheme",
    "ShuffledRandomizers",
    "Skellam",
    "Staircase",
    "Subsampled",
    "SubsampledGaussian",
    "SubsampledLaplace",
    "SubsetSelection",
    "ThresholdedKeys",
    "TreeAggregation",
    "TruncatedGaussian",
    "TruncatedLaplace",
    "TruncatedSubsampledGaussian",
    "blt_strategy",
    "strategy_sensitivity",
]

KINDS: dict[str, type[Mechanism]] = {
    each.kind: each
    for each in (
        *(Gaussian, Laplace, Subsampled, SubsampledGaussian, SubsampledLaplace),
        *(RandomizedResponse, PureDP, ApproximateDP, DiscreteGaussian, DiscreteLaplace, Custom),
        *(ExponentialMechanism, ReportNoisyMax, PermuteAndFlip, AboveThreshold, RepeatAndSelect, BestOfRuns),
        *(TreeAggregation, MatrixMechanism, LastIterate),
        *(BoundedGaussian, BoundedLaplace, TruncatedGaussian, TruncatedLaplace),
        *(ThresholdedKeys, Rappor, Staircase, SubsetSelection, CanonicalNoise),
        *(DiscreteGaussianVector, Skellam, BinomialNoise, BandedFactorization, RandomAllocation),
        *(ShuffledRandomizers, MixtureOfGaussians, TruncatedSubsampledGaussian, BallsInBins),
    )
}
"""Mechanisms by the name they have in a plan file."""
