"""Reduction of a curve to one Gaussian parameter: certified at every alpha, with its cost."""

from tradeoff.gdp.reduction import Reduction, gdp

__all__ = ["Reduction", "gdp"]
