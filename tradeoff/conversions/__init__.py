"""Curves from zero-concentrated and Renyi differential privacy."""

from tradeoff.conversions.renyi import from_renyi, from_zcdp

__all__ = ["from_renyi", "from_zcdp"]
