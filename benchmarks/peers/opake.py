"""opake: privacy loss distributions on a lattice by its compiled accountant, which needs no PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from opake.api.accounting.core import opake_accounting as pld

PACKAGE = "opake-accounting"
MAKE = {
    "gaussian": lambda m, c: pld.gaussian_pld(m["sigma"], c),
    "pure_dp": lambda m, c: pld.eps_delta_pld(m["epsilon"], 0.0, c),
    "poisson_subsampled_gaussian": lambda m, c: pld.poisson_pld(
        pld.gaussian_pld(m["sigma"], c), m["sample_rate"]
    ),
    "random_allocation": lambda m, c: pld.random_allocation_gaussian_pld(m["sigma"], m["steps"], 1, c),
}


def composed(factors: list[dict[str, Any]], setting: dict[str, float]) -> pld.Pld:
    """Return the distribution of a composition, of both orders."""
    if unknown := {factor["mechanism"] for factor in factors} - MAKE.keys():
        raise NotImplementedError(f"no {', '.join(sorted(unknown)).replace('_', ' ')}")
    grid = pld.DiscretizationConfig(**setting)
    parts = (MAKE[factor["mechanism"]](factor, grid).self_compose(factor["count"]) for factor in factors)
    return functools.reduce(lambda first, second: first.compose(second), parts)


def question(method: str, side: str) -> Callable[..., Callable[[float], dict[str, float]]]:
    """Return the function of a question, whose answer is a bound on that side."""

    def compose(
        factors: list[dict[str, Any]], _at: float, **setting: float
    ) -> Callable[[float], dict[str, float]]:
        query = getattr(composed(factors, setting), method)
        return lambda at: dict.fromkeys(("value", side), query(at))

    return compose


epsilon = allocation = question("epsilon_at", "upper")  # it calls this the smallest epsilon that holds
beta = question("beta_at", "lower")  # it calls this the error of the best attack
