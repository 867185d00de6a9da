"""PLD_accounting: bounds on both sides for random allocation, refined until they are near enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PLD_accounting import gaussian_allocation_epsilon_range

PACKAGE = "PLD_accounting"


def allocation(factors: list[dict[str, Any]], _delta: float) -> Callable[[float], dict[str, float]]:
    """Bound epsilon to its default accuracy, one tenth of epsilon."""
    (factor,) = factors

    def answer(delta: float) -> dict[str, float]:
        upper, lower = gaussian_allocation_epsilon_range(
            delta=delta,
            sigma=factor["sigma"],
            num_steps=factor["steps"],
            num_epochs=factor["count"],
        )
        return {"value": upper, "lower": lower, "upper": upper}

    return answer
