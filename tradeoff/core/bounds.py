"""What the hooks of a curve return."""

from __future__ import annotations

from tradeoff.intervals.bounds import Bounds, Pair

__all__ = ["Bounds", "Pair"]
