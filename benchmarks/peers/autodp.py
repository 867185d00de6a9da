"""autodp: Rényi accounting (an upper bound), or the analytical Fourier accountant (an estimate)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from autodp import mechanism_zoo as zoo
from autodp import transformer_zoo as transform

PACKAGE = "autodp"


def renyi(factor: dict[str, Any]) -> zoo.Mechanism:
    """Return a factor by its Rényi curve; the discrete Gaussian comes by way of zCDP."""
    kind = factor["mechanism"]
    if kind == "gaussian":
        return zoo.GaussianMechanism(sigma=factor["sigma"])
    if kind == "laplace":
        return zoo.LaplaceMechanism(b=1 / factor["epsilon"])
    if kind == "pure_dp":
        return zoo.PureDP_Mechanism(factor["epsilon"])
    if kind == "discrete_gaussian":
        return zoo.DiscreteGaussianMechanism(factor["sigma"] / factor["sensitivity"])
    base = zoo.GaussianMechanism(sigma=factor["sigma"])
    return transform.AmplificationBySampling(PoissonSampling=True)(
        base, factor["sample_rate"], improved_bound_flag=True
    )


def fourier(factor: dict[str, Any], order: str) -> zoo.Mechanism:
    """Return a factor by its characteristic function."""
    kind = factor["mechanism"]
    if kind == "gaussian":
        return zoo.GaussianMechanism(sigma=factor["sigma"], phi_off=False)
    if kind == "laplace":
        return zoo.LaplaceMechanism(b=1 / factor["epsilon"], phi_off=False)
    if kind == "pure_dp":
        return zoo.RandresponseMechanism(p=1 / (1 + math.exp(-factor["epsilon"])), phi_off=False)
    if kind == "discrete_gaussian":
        raise NotImplementedError("no characteristic function of the discrete Gaussian")
    base = zoo.GaussianMechanism(sigma=factor["sigma"], phi_off=False)
    return transform.AmplificationBySampling_pld(PoissonSampling=True, neighboring=order)(
        base, factor["sample_rate"]
    )


def bisected(delta_of: Callable[[float], float], delta: float) -> float:
    """Return where delta(eps) falls to ``delta``.

    The library's own search answers a negative epsilon here.
    """
    low, high = 0.0, 1.0
    while delta_of(high) > delta and high < 1000:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) > delta else (low, middle)
    return high


def epsilon(
    factors: list[dict[str, Any]], _delta: float, method: str = "renyi"
) -> Callable[[float], dict[str, float]]:
    """Compose by either accountant."""
    counts = [factor["count"] for factor in factors]
    if method == "renyi":
        composed = transform.Composition()([renyi(factor) for factor in factors], counts)

        def bound(delta: float) -> dict[str, float]:
            value = float(composed.get_approxDP(delta))
            return {"value": value, "upper": value}

        return bound

    orders = ("remove_only", "add_only")
    both = [
        transform.ComposeAFA()([fourier(factor, order) for factor in factors], counts) for order in orders
    ]
    if all(factor["mechanism"] != "poisson_subsampled_gaussian" for factor in factors):
        both = both[:1]

    def estimate(delta: float) -> dict[str, float]:
        return {"value": max(bisected(lambda e, f=f: float(f.get_approx_delta(e)), delta) for f in both)}

    return estimate
