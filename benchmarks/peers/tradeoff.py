"""The library itself: bounds on both sides, of both orders of the pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tradeoff as to
from tradeoff.families.discrete import DiscreteGaussianCurve

PACKAGE = "tradeoff"
MAKE = {
    "gaussian": lambda m: to.Gaussian(1 / m["sigma"]),
    "laplace": lambda m: to.Laplace(m["epsilon"]),
    "pure_dp": lambda m: to.PureDP(m["epsilon"]),
    "discrete_gaussian": lambda m: DiscreteGaussianCurve(m["sigma"], m["sensitivity"]),
    "poisson_subsampled_gaussian": lambda m: to.subsample(to.Gaussian(1 / m["sigma"]), m["sample_rate"]),
    "random_allocation": lambda m: to.mechanisms.RandomAllocation(m["sigma"], m["steps"]).curve(),
}


def loaded() -> None:
    """Load what is otherwise loaded when first used: engines, and no plots.

    The import is measured apart from the answer, as for the others.
    """
    (to.Gaussian(0.1) @ to.PureDP(0.1)).epsilon(0.5)
    (to.subsample(to.Gaussian(0.1), 0.1) ** 9).epsilon(0.1)
    (DiscreteGaussianCurve(1.0, 1) @ to.Laplace(0.1)).symmetrise(assume="either-order").epsilon(0.5)


loaded()


def composed(factors: list[dict[str, Any]]) -> to.TradeOff:
    """Return the curve for unordered neighbours."""
    product = to.Identity()
    for factor in factors:
        product = product @ MAKE[factor["mechanism"]](factor) ** factor["count"]
    return product if product.symmetric else product.symmetrise(assume="either-order")


def epsilon(
    factors: list[dict[str, Any]], _delta: float, tol: float | None = None
) -> Callable[[float], dict[str, float]]:
    """Compose; the safe side is the upper one."""
    curve = composed(factors)

    def answer(delta: float) -> dict[str, float]:
        bounds = curve.bounds.epsilon(delta, tol=tol)
        return {"value": float(bounds.upper), "lower": float(bounds.lower), "upper": float(bounds.upper)}

    return answer


allocation = epsilon


def beta(
    factors: list[dict[str, Any]], _alpha: float, tol: float | None = None
) -> Callable[[float], dict[str, float]]:
    """Compose; the safe side is the lower one."""
    curve = composed(factors)

    def answer(alpha: float) -> dict[str, float]:
        bounds = curve.bounds(alpha, tol=tol)
        return {"value": float(bounds.lower), "lower": float(bounds.lower), "upper": float(bounds.upper)}

    return answer


def sigma(factors: list[dict[str, Any]], _epsilon: float) -> Callable[[float], dict[str, float]]:
    """Calibrate the noise of subsampled steps."""
    (factor,) = factors

    def training(noise: float) -> to.Plan:
        step = to.mechanisms.SubsampledGaussian(noise_multiplier=noise, sample_rate=factor["sample_rate"])
        return to.Plan({step: factor["count"]})

    def answer(epsilon: float) -> dict[str, float]:
        result = to.calibrate(training, {"epsilon": epsilon, "delta": factor["delta"]})
        return {"value": result.value, "evaluations": result.evaluations}

    return answer
