"""Textbook composition as methods of a comparison: (epsilon, delta) for every delta asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import numpy as np

from tradeoff import baselines
from tradeoff.baselines.concentrated import ORDERS, converted, renyi_divergence
from tradeoff.baselines.result import raised
from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError, NoClosedForm, TradeOffError
from tradeoff.families.bounded_range import BoundedRange
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.step_cost import pure_loss
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import whole
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.report.methods import METHODS, Claim
from tradeoff.report.summary import factors

Profile = Callable[[Array], Array]
Rule = Callable[[list[float]], list[float]]  # least epsilons at deltas in (0, 1)

_CKS = "Canonne, Kamath, Steinke 2020"  # whose conversion two methods use
_FAR = 1e300  # an epsilon that stands for infinity and can be computed with
# How many pairs make a curve of a method that only knows pairs: more where they are formulas.
_CHEAP, _DEAR = 81, 12


def by_pairs(
    name: str,
    source: str,
    least: Rule,
    size: int = _CHEAP,
    smooth: Profile | None = None,
    least_at_0: float = math.inf,
) -> Claim:
    """Return what a rule epsilon(delta) says of delta(epsilon) and beta: the best f_{epsilon,delta} proved.

    ``smooth`` is a bound on delta(epsilon) by the rule's own formula, for any epsilon, where there is one;
    ``least_at_0`` the epsilon at delta = 0, where there is one.
    """
    known = {0.0: least_at_0, 1.0: 0.0}
    deltas = np.geomspace(1e-12, 0.3, size).tolist()

    def epsilon(deltas: list[float]) -> list[float]:
        fresh = [delta for delta in deltas if 0 < delta < 1 and delta not in known]
        known.update(zip(fresh, least(fresh) if fresh else (), strict=True))
        return [known.get(delta, math.inf) for delta in deltas]

    @cache
    def pairs() -> tuple[Array, Array]:
        result = np.array([[least_at_0, *_where_known(epsilon, deltas)], [0.0, *deltas]])
        result = result[:, np.isfinite(result[0])]
        if not result.size:
            raise DomainError(f"{name} has no finite epsilon at any delta")
        return result[0][:, None], result[1][:, None]

    def profile(at: Array) -> Array:
        e, d = pairs()
        # delta of f_{e,d} is d + (1 - d) (e^e - e^eps)/(1 + e^e) from -e to e, 1 - e^eps before, 0 after.
        inner = -np.expm1(np.minimum(at - e, 0.0)) / (1 + np.exp(-e))
        ratio = np.maximum(inner, -np.expm1(np.minimum(at, 0.0)))
        result: Array = np.min(d + (1 - d) * ratio, axis=0) * (1 + 16 * UNIT)
        return np.minimum(result, 1.0 if smooth is None else smooth(at))

    def beta(alpha: Array) -> Array:
        e, d = pairs()
        with np.errstate(over="ignore", invalid="ignore"):
            steep, flat = 1 - d - np.where(alpha > 0, np.exp(e) * alpha, 0.0), np.exp(-e) * (1 - d - alpha)
        best: Array = np.max(np.maximum(np.maximum(steep, flat), 0.0), axis=0)
        return np.maximum(best - 16 * UNIT, 0.0)

    with suppress(TradeOffError):
        epsilon([1e-5, *deltas])  # together, which costs least
    epsilon([1e-5])  # declines here, not later
    return Claim(
        name, "bound", beta, profile, lambda delta: np.array(epsilon(np.atleast_1d(delta).tolist())), source
    )


def by_orders(orders: Array, divergences: Array) -> Profile:
    """Return delta(epsilon) by the best order a: log delta = (a - 1)(D_a - epsilon + log(1 - 1/a)) - log a.

    Rounded up; Canonne, Kamath, Steinke 2020, Proposition 12, for epsilon of either sign.
    """
    k = orders - 1
    known = np.isfinite(divergences)
    k, orders, d = k[known], orders[known], divergences[known]

    def profile(epsilon: Array) -> Array:
        finite = np.clip(epsilon, -_FAR, _FAR)  # delta falls: what holds at the last float holds at infinity
        terms = [k * d, -np.multiply.outer(finite, k), k * np.log1p(-1 / orders), -np.log(orders)]
        slack = 64 * UNIT * sum(np.abs(term) for term in terms)
        log_delta: Array = np.min(sum(terms) + slack, axis=-1, initial=0.0)
        result: Array = np.nextafter(np.exp(log_delta) * (1 + 8 * UNIT), np.inf)
        return np.minimum(result, 1.0)

    return profile


def _where_known(epsilon: Rule, deltas: list[float]) -> list[float]:
    """Ask all at once, which costs least, or one by one where some cannot be answered."""
    try:
        return epsilon(deltas)
    except TradeOffError:
        if len(deltas) == 1:
            return [math.inf]
        return [e for delta in deltas for e in _where_known(epsilon, [delta])]


class Release(NamedTuple):
    """So many releases, each (epsilon, delta)-DP."""

    epsilon: float
    delta: float
    n: int


Least = Callable[[float, Sequence[Release]], float]  # least epsilon of releases at a delta


def _failures(releases: Sequence[Release]) -> list[float]:
    return [min(raised(each.n * each.delta), 1.0) for each in releases]


def _zcdp(curve: TradeOff) -> Claim:
    def rho(factor: TradeOff) -> Bounds:
        if isinstance(factor, BoundedRange) and not curve.exact:  # of an exponential mechanism
            return Bounds.of(factor.epsilon_0) ** 2 / 8
        epsilon, mass = pure_loss(factor)
        if isinstance(factor, Gaussian):
            return Bounds.of(float(factor.mu)) ** 2 / 2
        if math.isinf(epsilon) or mass > 0:
            raise NoClosedForm(f"no rho is known for {factor!r}")
        return Bounds.of(epsilon) ** 2 / 2

    total = sum((rho(factor) * whole(n) for factor, n in factors(curve).items()), Bounds.of(0.0)).upper
    if math.isinf(total):
        raise NoClosedForm("rho is beyond the floats")
    orders = 1 + np.geomspace(1e-3, 1e6, 4096)
    smooth = by_orders(orders, raised(total) * orders * (1 + 4 * UNIT)) if total > 0 else None

    def least(deltas: list[float]) -> list[float]:
        return [baselines.zcdp_route(total, delta).epsilon for delta in deltas]

    return by_pairs("zCDP", _CKS, least, smooth=smooth)


def _renyi(curve: TradeOff) -> Claim:
    both = {curve, curve.inverse()}  # a pair is drawn as f_{epsilon,delta}, which speaks for both orders
    orders = np.array(ORDERS)
    bounds = np.array([max(renyi_divergence(f, a) for f in both) for a in ORDERS])

    def least(deltas: list[float]) -> list[float]:
        return [max(float(np.min(converted(bounds, orders - 1, delta))), 0.0) for delta in deltas]

    return by_pairs("Renyi", _CKS, least, smooth=by_orders(orders, bounds))


def _by_releases(
    name: str, source: str, curve: TradeOff, share: float, least: Least, least_at_0: float = math.inf
) -> Claim:
    """Return what a rule of releases says, where those of unbounded loss split a share of delta equally."""
    parts = [(*pure_loss(factor), factor, n) for factor, n in factors(curve).items()]
    unbounded = sum(n for e, _, _, n in parts if math.isinf(e))

    def releases(e: float, d: float, factor: TradeOff, n: int, budgets: list[float]) -> list[Release]:
        if math.isfinite(e):
            return [Release(e, d, n)] * len(budgets)
        each = np.array(budgets) / unbounded
        losses = np.max([order.epsilon(each) for order in {factor, factor.inverse()}], axis=0)
        pairs = zip(np.maximum(losses, 0.0).tolist(), each.tolist(), strict=True)
        return [Release(*pair, n) for pair in pairs]

    def rule(deltas: list[float]) -> list[float]:
        budgets = [delta * share for delta in deltas]
        result = zip(*(releases(*part, budgets) for part in parts), strict=True)
        return [least(delta, each) for delta, each in zip(deltas, result, strict=True)]

    return by_pairs(name, source, rule, _DEAR if unbounded else _CHEAP, least_at_0=least_at_0)


def _advanced(curve: TradeOff) -> Claim:
    def least(delta: float, found: Sequence[Release]) -> float:
        failures = _failures(found)
        slack = delta - math.fsum(failures)
        if slack <= 0:
            return math.inf
        # The formula knows sum eps^2 alone: n equal losses count as one that is sqrt(n) as large.
        epsilon = [raised(each.epsilon * math.sqrt(each.n)) for each in found]
        return baselines.advanced_composition(epsilon, failures, slack=slack * (1 - 1e-12)).epsilon

    return _by_releases("advanced composition", "Bun, Steinke 2016", curve, 0.5, least)


def _basic(curve: TradeOff) -> Claim:
    def least(delta: float, found: Sequence[Release]) -> float:
        losses = [raised(each.n * each.epsilon) for each in found]
        total = baselines.basic_composition(losses, _failures(found))
        return total.epsilon if total.delta <= delta else math.inf

    source = "Dwork, Roth 2014, Theorem 3.16"
    alike = [(*pure_loss(factor), n) for factor, n in factors(curve).items()]
    pure = all(math.isfinite(epsilon) and delta == 0 for epsilon, delta, _ in alike)
    least_at_0 = least(0.0, [Release(*each) for each in alike]) if pure else math.inf
    return _by_releases("basic composition", source, curve, 1 - 1e-12, least, least_at_0)


METHODS.update({"zcdp": _zcdp, "renyi": _renyi, "advanced": _advanced, "basic": _basic})
