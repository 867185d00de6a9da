"""Textbook composition as methods of a comparison: each says (epsilon, delta) for every delta it is asked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from tradeoff import baselines
from tradeoff.baselines.concentrated import ORDERS
from tradeoff.core.curve import TradeOff
from tradeoff.core.tensor import Tensor
from tradeoff.errors import DomainError, NoClosedForm, TradeOffError
from tradeoff.families.gaussian import Gaussian
from tradeoff.numerics.rounding import Array
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
        # Below its own epsilon, delta of f_{e,d} is d + (1 - d)(e^e - e^eps)/(1 + e^e).
        ratio = np.maximum(-np.expm1(np.minimum(at - e, 0.0)), 0.0) / (1 + np.exp(-e))
        found: Array = np.min(d + (1 - d) * ratio, axis=0)
        return found

    def beta(alpha: Array) -> Array:
        e, d = pairs()
        with np.errstate(over="ignore", invalid="ignore"):
            steep, flat = 1 - d - np.where(alpha > 0, np.exp(e) * alpha, 0.0), np.exp(-e) * (1 - d - alpha)
        best: Array = np.max(np.maximum(np.maximum(steep, flat), 0.0), axis=0)
        return best

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


def split(curve: TradeOff, budget: float) -> tuple[list[float], list[float], list[int]]:
    """Return epsilon, delta and count of every factor; those of unbounded loss share ``budget`` in equal parts."""
    parts = [(*_pure(factor), factor, n) for factor, n in factors(curve).items()]
    unbounded = sum(n for e, _, _, n in parts if math.isinf(e))
    found = [(e, d, n) if math.isfinite(e) else (_worse(f, budget / unbounded), budget / unbounded, n) for e, d, f, n in parts]
    return [e for e, _, _ in found], [d for _, d, _ in found], [n for _, _, n in found]


def _worse(factor: TradeOff, delta: float) -> float:
    return max(float(factor.epsilon(delta)), float(factor.inverse().epsilon(delta)), 0.0)


def _spread(curve: TradeOff, budget: float) -> tuple[list[float], list[float]]:
    """Return epsilon and delta of every single release."""
    epsilon, delta, count = split(curve, budget)
    if sum(count) > 10_000_000:
        raise DomainError(f"{sum(count)} releases are more than a list should hold; ask for fewer than 10,000,000")
    return np.repeat(epsilon, count).tolist(), np.repeat(delta, count).tolist()


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
    bounds = [(a, baselines.renyi_route(curve, tiny, orders=[a]).epsilon - _paid(a, tiny)) for a in ORDERS]
    return by_pairs("Renyi", "Canonne, Kamath, Steinke 2020", lambda delta: max(min(d + _paid(a, delta) for a, d in bounds), 0.0))


def _paid(order: float, delta: float) -> float:
    """Return what turning a Renyi divergence into (epsilon, delta) costs (Canonne, Kamath, Steinke 2020, Proposition 12)."""
    return math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)


@method("advanced")
def _advanced(curve: TradeOff) -> Claim:
    def least(delta: float) -> float:
        epsilon, failures = _spread(curve, delta / 2)
        slack = delta - math.fsum(failures)
        if slack <= 0:
            return math.inf
        return baselines.advanced_composition(epsilon, failures, slack=slack * (1 - 1e-12)).epsilon

    return by_pairs("advanced composition", "Bun, Steinke 2016", least, _size(curve))


@method("basic")
def _basic(curve: TradeOff) -> Claim:
    def least(delta: float) -> float:
        epsilon, failures = _spread(curve, delta * (1 - 1e-12))
        found = baselines.basic_composition(epsilon, failures)
        return found.epsilon if found.delta <= delta else math.inf

    return by_pairs("basic composition", "Dwork, Roth 2014, Theorem 3.16", least, _size(curve))


def _size(curve: TradeOff) -> int:
    return _CHEAP if all(math.isfinite(_pure(factor)[0]) for factor in factors(curve)) else _DEAR
