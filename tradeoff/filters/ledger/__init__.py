"""The ledger: a filter on disk that concurrent processes share and no crash can cheat."""

from tradeoff.filters.ledger.entries import Entry
from tradeoff.filters.ledger.ledger import Ledger

__all__ = ["Entry", "Ledger"]
