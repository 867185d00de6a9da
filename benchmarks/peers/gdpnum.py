"""gdpnum: symmetrised trade-off curves of dp-accounting's privacy loss distributions.

Its epsilon is theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gdpnum import PLDConverter
from peers import pld

PACKAGE = "gdpnum"


def beta(
    factors: list[dict[str, Any]], _alpha: float, interval: float = 1e-4
) -> Callable[[float], dict[str, float]]:
    """Compose; pessimistic distributions make it a lower bound."""
    converter = PLDConverter(pld.composed(factors, interval))

    def answer(alpha: float) -> dict[str, float]:
        value = float(converter.get_beta(alpha))
        return {"value": value, "lower": value}

    return answer
