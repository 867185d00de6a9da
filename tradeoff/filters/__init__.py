"""Filters: budgets for steps chosen in view of earlier answers."""

from tradeoff.filters.base import KINDS, Filter
from tradeoff.filters.gdp import GDPFilter
from tradeoff.filters.zcdp import ZCDPFilter

__all__ = ["KINDS", "Filter", "GDPFilter", "ZCDPFilter"]
