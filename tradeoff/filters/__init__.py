"""Filters: budgets for steps chosen in view of earlier answers."""

from tradeoff.filters.base import KINDS, Filter
from tradeoff.filters.expost import ExPost, ExPostFilter
from tradeoff.filters.gdp import GDPFilter
from tradeoff.filters.ledger import Entry, Ledger
from tradeoff.filters.noise_reduction import (
    BrownianMechanism,
    Doubling,
    LaplaceNoiseReduction,
    LinearBoundary,
    MixtureBoundary,
    Release,
    geometric,
)
from tradeoff.filters.zcdp import ZCDPFilter

__all__ = [
    "KINDS",
    "BrownianMechanism",
    "Doubling",
    "Entry",
    "ExPost",
    "ExPostFilter",
    "Filter",
    "GDPFilter",
    "LaplaceNoiseReduction",
    "Ledger",
    "LinearBoundary",
    "MixtureBoundary",
    "Release",
    "ZCDPFilter",
    "geometric",
]
