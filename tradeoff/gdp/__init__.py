"""Reduction of a curve to one Gaussian parameter: certified on every alpha, with what the reduction costs."""

from tradeoff.gdp.reduction import Reduction, gdp

__all__ = ["Reduction", "gdp"]
