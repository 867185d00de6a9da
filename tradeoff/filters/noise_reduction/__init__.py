"""Noise reduction: one answer refined until it is good enough, for the price of the last release."""

from tradeoff.filters.noise_reduction.base import NoiseReduction, Release, geometric
from tradeoff.filters.noise_reduction.boundaries import Boundary, LinearBoundary, MixtureBoundary
from tradeoff.filters.noise_reduction.sessions import BrownianMechanism, Doubling, LaplaceNoiseReduction

__all__ = [
    "Boundary",
    "BrownianMechanism",
    "Doubling",
    "LaplaceNoiseReduction",
    "LinearBoundary",
    "MixtureBoundary",
    "NoiseReduction",
    "Release",
    "geometric",
]
