"""prv-accountant: a lower bound, an estimate and an upper bound, on a grid its error terms prescribe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import prv_accountant as prv
from scipy.optimize import brentq

PACKAGE = "prv-accountant"
MAKE = {
    "gaussian": lambda m: prv.GaussianMechanism(m["sigma"]),
    "laplace": lambda m: prv.LaplaceMechanism(m["epsilon"]),
    "pure_dp": lambda m: prv.PureDPMechanism(m["epsilon"]),
    "poisson_subsampled_gaussian": lambda m: prv.PoissonSubsampledGaussianMechanism(
        m["sample_rate"], m["sigma"]
    ),
}


def epsilon(
    factors: list[dict[str, Any]], delta: float, eps_error: float = 0.1
) -> Callable[[float], dict[str, float]]:
    """Compose in the order remove, the only one it has, with the advised delta_error = delta / 1000."""
    if unknown := {factor["mechanism"] for factor in factors} - MAKE.keys():
        raise NotImplementedError(f"no {', '.join(sorted(unknown)).replace('_', ' ')}")
    counts = [factor["count"] for factor in factors]
    laws = [MAKE[factor["mechanism"]](factor) for factor in factors]
    accountant = prv.PRVAccountant(
        laws, eps_error=eps_error, delta_error=delta / 1000, max_self_compositions=counts
    )

    def answer(delta: float) -> dict[str, float]:
        lower, estimate, upper = accountant.compute_epsilon(delta, counts)
        return {"value": estimate, "lower": lower, "upper": upper}

    return answer


def sigma(
    factors: list[dict[str, Any]], _epsilon: float, eps_error: float = 0.1
) -> Callable[[float], dict[str, float]]:
    """Solve for the noise by its upper bound: it has no calibration of its own."""
    (factor,) = factors
    tried: list[float] = []

    def excess(noise: float, goal: float) -> float:
        tried.append(noise)
        return (
            epsilon([factor | {"sigma": noise}], factor["delta"], eps_error)(factor["delta"])["upper"] - goal
        )

    def answer(goal: float) -> dict[str, float]:
        tried.clear()
        return {"value": brentq(excess, 0.5, 20, (goal,), xtol=1e-6), "evaluations": len(tried)}

    return answer
