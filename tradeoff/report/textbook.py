"""Textbook composition as methods of a comparison: each says (epsilon, delta) for every delta it is asked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from tradeoff import baselines
from tradeoff.baselines.concentrated import ORDERS
from tradeoff.baselines.result import raised
from tradeoff.core.curve import TradeOff
from tradeoff.core.tensor import Tensor
from tradeoff.errors import DomainError, NoClosedForm, TradeOffError
from tradeoff.families.gaussian import Gaussian
from tradeoff.numerics.rounding import UNIT, Array
from tradeoff.operators.symmetrise import Envelope
from tradeoff.report.methods import Claim, method

_CHEAP, _DEAR = 81, 12
"""How many pairs make a curve and a profile of a method that only knows pairs: more where they are formulas."""


def by_pairs(name: str, source: str, least: Callable[[float], float], size: int = _CHEAP) -> Claim:
    """Return what a rule epsilon(delta) says of delta(epsilon) and beta: the best of the curves f_{epsilon,delta} it proves."""

    @cache
    def epsilon(delta: float) -> float:
        return least(delta) if 0 < delta < 1 else math.inf

    @cache
    def pairs() -> tuple[Array, Array]:
        found = [(epsilon(delta), delta) for delta in np.geomspace(1e-12, 0.3, size).tolist() if _holds(epsilon, delta)]
        if not found:
            raise DomainError(f"{name} has no finite epsilon at any delta")
        first, second = zip(*found, strict=True)
        return np.array(first)[:, None], np.array(second)[:, None]

    def profile(at: Array) -> Array:
        e, d = pairs()
        # delta of f_{e,d} is d + (1 - d) times (e^e - e^eps)/(1 + e^e) from -e to e, 1 - e^eps before, 0 after.
        inner = -np.expm1(np.minimum(at - e, 0.0)) / (1 + np.exp(-e))
        ratio = np.maximum(inner, -np.expm1(np.minimum(at, 0.0)))
        found: Array = np.min(d + (1 - d) * ratio, axis=0) * (1 + 16 * UNIT)
        return np.minimum(found, 1.0)

    def beta(alpha: Array) -> Array:
        e, d = pairs()
        with np.errstate(over="ignore", invalid="ignore"):
            steep, flat = 1 - d - np.where(alpha > 0, np.exp(e) * alpha, 0.0), np.exp(-e) * (1 - d - alpha)
        best: Array = np.max(np.maximum(np.maximum(steep, flat), 0.0), axis=0)
        return np.maximum(best - 16 * UNIT, 0.0)

    epsilon(1e-5)  # declines here, not later
    return Claim(name, "bound", beta, profile, lambda delta: np.array([epsilon(float(d)) for d in np.atleast_1d(delta)]), source)


def _holds(epsilon: Callable[[float], float], delta: float) -> bool:
    try:
        return math.isfinite(epsilon(delta))
    except TradeOffError:
        return False


def factors(curve: TradeOff) -> dict[TradeOff, int]:
    """Return the factors of a product, of one order where the curve is an envelope; a curve is its own factor."""
    inner = curve.operands[0] if isinstance(curve, Envelope) else curve
    return dict(inner.factors) if isinstance(inner, Tensor) else {inner: 1}


def _pure(factor: TradeOff) -> tuple[float, float]:
    """Return (epsilon, delta) of a factor at the end of its losses, in the worse order."""
    other = factor.inverse()
    return max(factor.sup_loss, other.sup_loss, 0.0), max(factor.q_plus, other.q_plus)


class Release(NamedTuple):
    """So many releases, each (epsilon, delta)-DP."""

    epsilon: float
    delta: float
    n: int


def split(curve: TradeOff) -> Callable[[float], list[Release]]:
    """Return the releases of a product as a function of the delta that those of unbounded loss share in equal parts."""
    parts = [(*_pure(factor), factor, n) for factor, n in factors(curve).items()]
    unbounded = sum(n for e, _, _, n in parts if math.isinf(e))

    def found(budget: float) -> list[Release]:
        return [
            Release(e, d, n) if math.isfinite(e) else Release(_worse(f, budget / unbounded), budget / unbounded, n) for e, d, f, n in parts
        ]

    return found


def _worse(factor: TradeOff, delta: float) -> float:
    return max(float(factor.epsilon(delta)), float(factor.inverse().epsilon(delta)), 0.0)


def _failures(releases: list[Release]) -> list[float]:
    return [min(raised(each.n * each.delta), 1.0) for each in releases]


@method("zcdp")
def _zcdp(curve: TradeOff) -> Claim:
    def rho(factor: TradeOff) -> float:
        epsilon, mass = _pure(factor)
        if isinstance(factor, Gaussian):
            return float(factor.mu) ** 2 / 2
        if math.isinf(epsilon) or mass > 0:
            raise NoClosedForm(f"no rho is known for {factor!r}")
        return epsilon**2 / 2

    total = math.fsum(n * rho(factor) for factor, n in factors(curve).items())
    return by_pairs("zCDP", "Canonne, Kamath, Steinke 2020", lambda delta: baselines.zcdp_route(total, delta).epsilon)


@method("renyi")
def _renyi(curve: TradeOff) -> Claim:
    # Each order's divergence is read off one conversion, at a delta so small that nothing is clipped at 0.
    tiny = 1e-200
    both = {curve, curve.inverse()}  # a pair (epsilon, delta) is drawn as f_{epsilon,delta}, which speaks for both orders
    bounds = [(a, max(baselines.renyi_route(f, tiny, orders=[a]).epsilon for f in both) - _paid(a, tiny)) for a in ORDERS]
    return by_pairs("Renyi", "Canonne, Kamath, Steinke 2020", lambda delta: max(min(d + _paid(a, delta) for a, d in bounds), 0.0))


def _paid(order: float, delta: float) -> float:
    """Return what turning a Renyi divergence into (epsilon, delta) costs (Canonne, Kamath, Steinke 2020, Proposition 12)."""
    return math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)


@method("advanced")
def _advanced(curve: TradeOff) -> Claim:
    releases = split(curve)

    def least(delta: float) -> float:
        found = releases(delta / 2)
        failures = _failures(found)
        slack = delta - math.fsum(failures)
        if slack <= 0:
            return math.inf
        # The formula knows sum eps^2 alone: n equal losses count as one that is sqrt(n) as large.
        epsilon = [raised(each.epsilon * math.sqrt(each.n)) for each in found]
        return baselines.advanced_composition(epsilon, failures, slack=slack * (1 - 1e-12)).epsilon

    return by_pairs("advanced composition", "Bun, Steinke 2016", least, _size(curve))


@method("basic")
def _basic(curve: TradeOff) -> Claim:
    releases = split(curve)

    def least(delta: float) -> float:
        found = releases(delta * (1 - 1e-12))
        total = baselines.basic_composition([raised(each.n * each.epsilon) for each in found], _failures(found))
        return total.epsilon if total.delta <= delta else math.inf

    return by_pairs("basic composition", "Dwork, Roth 2014, Theorem 3.16", least, _size(curve))


def _size(curve: TradeOff) -> int:
    return _CHEAP if all(math.isfinite(_pure(factor)[0]) for factor in factors(curve)) else _DEAR
