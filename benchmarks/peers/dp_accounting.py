"""dp-accounting: pessimistic privacy loss distributions on a lattice, an upper bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dp_accounting import (
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
    calibrate_dp_mechanism,
)
from dp_accounting.pld import PLDAccountant
from peers import pld

PACKAGE = "dp-accounting"


def epsilon(
    factors: list[dict[str, Any]], _delta: float, interval: float = 1e-4
) -> Callable[[float], dict[str, float]]:
    """Compose both orders; its answer is the larger one."""
    composed = pld.composed(factors, interval)

    def answer(delta: float) -> dict[str, float]:
        value = float(composed.get_epsilon_for_delta(delta))
        return {"value": value, "upper": value}

    return answer


def sigma(
    factors: list[dict[str, Any]], _epsilon: float, interval: float = 1e-4
) -> Callable[[float], dict[str, float]]:
    """Calibrate the noise of subsampled steps, to its usual 1e-6."""
    (factor,) = factors
    tried: list[float] = []

    def training(noise: float) -> SelfComposedDpEvent:
        tried.append(noise)
        step = PoissonSampledDpEvent(factor["sample_rate"], GaussianDpEvent(noise))
        return SelfComposedDpEvent(step, factor["count"])

    def answer(epsilon: float) -> dict[str, float]:
        tried.clear()
        accountant = lambda: PLDAccountant(value_discretization_interval=interval)  # noqa: E731 - a fresh one each time
        value = calibrate_dp_mechanism(accountant, training, epsilon, factor["delta"])
        return {"value": float(value), "evaluations": len(tried)}

    return answer
