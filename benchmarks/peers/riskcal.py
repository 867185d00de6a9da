"""riskcal: trade-off curves read off dp-accounting's privacy loss distributions; its epsilon is theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers import pld
from riskcal.accountants.ctd import CTDAccountant
from riskcal.analysis import get_beta_from_pld
from riskcal.calibration.blackbox import find_noise_multiplier_for_epsilon_delta

PACKAGE = "riskcal"


def beta(
    factors: list[dict[str, Any]], _alpha: float, interval: float = 1e-4
) -> Callable[[float], dict[str, float]]:
    """Compose; pessimistic distributions make it a lower bound."""
    composed = pld.composed(factors, interval)

    def answer(alpha: float) -> dict[str, float]:
        value = float(get_beta_from_pld(composed, alpha=alpha))
        return {"value": value, "lower": value}

    return answer


def sigma(
    factors: list[dict[str, Any]], _epsilon: float, interval: float = 1e-4
) -> Callable[[float], dict[str, float]]:
    """Calibrate the noise of subsampled steps, with its usual accuracy."""
    (factor,) = factors
    levels: list[float] = []

    class Counted(CTDAccountant):
        def get_epsilon(self, *, delta: float, **_: float) -> float:
            levels.append(delta)
            return super().get_epsilon(delta=delta, grid_step=interval)

    def answer(epsilon: float) -> dict[str, float]:
        levels.clear()
        rate, steps, delta = factor["sample_rate"], factor["count"], factor["delta"]
        value = find_noise_multiplier_for_epsilon_delta(Counted, rate, steps, epsilon, delta)
        return {"value": float(value), "evaluations": len(levels)}

    return answer
