"""opendp: concentrated or pure differential privacy, summed and converted, an upper bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import opendp.prelude as dp

PACKAGE = "opendp"
dp.enable_features("contrib", "idealized-numerics")


def measurement(factor: dict[str, Any]) -> tuple[Any, bool]:
    """Return a mechanism, and whether it is a pure one."""
    kind = factor["mechanism"]
    if kind == "gaussian":
        return dp.m.make_gaussian(
            dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=factor["sigma"]
        ), False
    if kind == "discrete_gaussian":
        return dp.m.make_gaussian(
            dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=factor["sigma"]
        ), False
    if kind == "laplace":
        return dp.m.make_laplace(
            dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1 / factor["epsilon"]
        ), True
    if kind == "pure_dp":
        return dp.m.make_randomized_response_bool(1 / (1 + math.exp(-factor["epsilon"]))), True
    raise NotImplementedError("no Poisson-subsampled Gaussian")


def epsilon(factors: list[dict[str, Any]], _delta: float) -> Callable[[float], dict[str, float]]:
    """Compose by zCDP, and by pure privacy where every factor is pure; the smaller answer counts."""
    parts = [(*measurement(factor), factor["count"]) for factor in factors]
    distance = 1.0 if parts[0][0].input_distance_type == "f64" else 1
    concentrated = [
        dp.c.make_pureDP_to_zCDP(made) if pure else made for made, pure, n in parts for _ in range(n)
    ]
    profile = dp.c.make_zCDP_to_approxDP(dp.c.make_composition(concentrated)).map(distance)
    plain = math.inf
    if all(pure for _, pure, _ in parts):
        plain = dp.c.make_composition([made for made, _, n in parts for _ in range(n)]).map(distance)

    def answer(delta: float) -> dict[str, float]:
        value = min(float(profile.epsilon(delta)), float(plain))
        return {"value": value, "upper": value}

    return answer
