"""dp-accounting: pessimistic privacy loss distributions on a lattice, an upper bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers import pld

PACKAGE = "dp-accounting"


def epsilon(
    factors: list[dict[str, Any]], _delta: float, interval: float = 1e-4
) -> Callable[[float], dict[str, float]]:
    """Compose both orders; its answer is the larger one."""
    composed = pld.composed(factors, interval)

    def ask(delta: float) -> dict[str, float]:
        value = float(composed.get_epsilon_for_delta(delta))
        return {"value": value, "upper": value}

    return ask
