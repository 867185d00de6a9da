"""Filters: budgets for steps chosen in view of earlier answers."""

from tradeoff.filters.base import KINDS, Filter
from tradeoff.filters.budgets import (
    ApproximateDPFilter,
    ConcurrentFilter,
    ExPost,
    ExPostFilter,
    PureDPFilter,
    RenyiFilter,
    RhoFilter,
    SampledFilter,
    ZCDPFilter,
)
from tradeoff.filters.gdp import FDPFilter, GaussianSimulator, GDPFilter, IndividualGDPFilter
from tradeoff.filters.ledger import Entry, Ledger
from tradeoff.filters.noise_reduction import (
    BrownianMechanism,
    Doubling,
    LaplaceNoiseReduction,
    LinearBoundary,
    MixtureBoundary,
    Release,
    UnifiedFilter,
    UnifiedZCDPFilter,
    geometric,
)
from tradeoff.filters.odometers import FilterOdometer, MixtureOdometer, Odometer, StitchedOdometer
from tradeoff.filters.residue import ResidueFilter
from tradeoff.filters.sampling import discrete_gaussian, discrete_laplace, exact_release

__all__ = [
    "KINDS",
    "ApproximateDPFilter",
    "BrownianMechanism",
    "ConcurrentFilter",
    "Doubling",
    "Entry",
    "ExPost",
    "ExPostFilter",
    "FDPFilter",
    "Filter",
    "FilterOdometer",
    "GDPFilter",
    "GaussianSimulator",
    "IndividualGDPFilter",
    "LaplaceNoiseReduction",
    "Ledger",
    "LinearBoundary",
    "MixtureBoundary",
    "MixtureOdometer",
    "Odometer",
    "PureDPFilter",
    "Release",
    "RenyiFilter",
    "ResidueFilter",
    "RhoFilter",
    "SampledFilter",
    "StitchedOdometer",
    "UnifiedFilter",
    "UnifiedZCDPFilter",
    "ZCDPFilter",
    "discrete_gaussian",
    "discrete_laplace",
    "exact_release",
    "geometric",
]
