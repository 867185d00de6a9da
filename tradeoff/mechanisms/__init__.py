"""Mechanisms: frozen descriptions of noise, sensitivity, sampling, neighbours; the plan that counts them."""

from tradeoff.mechanisms.base import Adjacency, Mechanism, Order
from tradeoff.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from tradeoff.mechanisms.noise import Gaussian, Laplace
from tradeoff.mechanisms.plan import Plan
from tradeoff.mechanisms.response import ApproximateDP, PureDP, RandomizedResponse
from tradeoff.mechanisms.subsampled import SubsampledGaussian, SubsampledLaplace

__all__ = [
    "KINDS",
    "Adjacency",
    "ApproximateDP",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "Order",
    "Plan",
    "PureDP",
    "RandomizedResponse",
    "SubsampledGaussian",
    "SubsampledLaplace",
]

KINDS: dict[str, type[Mechanism]] = {
    mechanism.kind: mechanism
    for mechanism in (
        Gaussian,
        Laplace,
        SubsampledGaussian,
        SubsampledLaplace,
        RandomizedResponse,
        PureDP,
        ApproximateDP,
        DiscreteGaussian,
        DiscreteLaplace,
    )
}
"""Mechanisms by the name they have in a plan file."""
