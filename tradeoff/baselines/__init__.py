"""Textbook composition and calibration, to compare with: theorems, upper bounds where they apply."""

from tradeoff.baselines.calibration import (
    Calibration,
    classical_gaussian,
    exact_gaussian,
    laplace_advanced,
    laplace_basic,
)
from tradeoff.baselines.theorems import (
    Baseline,
    advanced_composition,
    basic_composition,
    optimal_composition,
    renyi_route,
    zcdp_route,
)

__all__ = [
    "Baseline",
    "Calibration",
    "advanced_composition",
    "basic_composition",
    "classical_gaussian",
    "exact_gaussian",
    "laplace_advanced",
    "laplace_basic",
    "optimal_composition",
    "renyi_route",
    "zcdp_route",
]
