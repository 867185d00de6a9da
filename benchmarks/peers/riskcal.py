"""riskcal: trade-off curves read off dp-accounting's privacy loss distributions; its epsilon is theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers import pld
from riskcal.analysis import get_beta_from_pld

PACKAGE = "riskcal"


def beta(
    factors: list[dict[str, Any]], _alpha: float, interval: float = 1e-4
) -> Callable[[float], dict[str, float]]:
    """Compose; pessimistic distributions make it a lower bound."""
    composed = pld.composed(factors, interval)

    def ask(alpha: float) -> dict[str, float]:
        value = float(get_beta_from_pld(composed, alpha=alpha))
        return {"value": value, "lower": value}

    return ask
