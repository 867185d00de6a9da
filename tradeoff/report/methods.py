"""Claims about a composition: curves, estimates, and the answers of limit theorems and textbook rules.

A *rule* bounds epsilon at a delta for a product of curves, its *factors*, each of which occurs n times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from tradeoff import baselines, limits
from tradeoff.audits.empirical import Empirical
from tradeoff.audits.refutation import claimed
from tradeoff.baselines import ORDERS, converted, renyi_divergence
from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError, KindError, NoClosedForm, TradeOffError, shown
from tradeoff.families.discrete import DiscreteGaussianCurve
from tradeoff.families.from_masses import Profile
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import BoundedRange
from tradeoff.filters.base import pure_loss
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.intervals.functions import exp, log, log1p, sqrt, total
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.tabulate import Tabulated
from tradeoff.report.answers import factors

Kind = Literal["estimate", "bound", "curve"]
Function = Callable[[Any], Any]

_CKS = "Canonne, Kamath, Steinke 2020, Proposition 12"


@dataclass(frozen=True)
class Between:
    """Bounds of a truth between two curves, which may be one curve twice."""

    lower: TradeOff
    upper: TradeOff

    def bounds(self, alpha: Array) -> Bounds:
        below = self.lower.bounds(alpha)
        return below if self.upper is self.lower else Bounds(below.lower, self.upper.bounds(alpha).upper)

    def delta(self, epsilon: Array) -> Bounds:
        above = self.lower.bounds.delta(epsilon)
        return (
            above if self.upper is self.lower else Bounds(self.upper.bounds.delta(epsilon).lower, above.upper)
        )

    def tabulate(self) -> Tabulated:
        return Tabulated(self.lower.tabulate().lower, self.upper.tabulate().upper)


@dataclass(frozen=True)
class Claim:
    """Answers of one method or curve: functions of arrays, None where it has none.

    An ``"estimate"`` is on neither side of the truth, a ``"bound"`` never under-reports if its hypotheses
    hold, and a ``"curve"`` is given by the caller. Beta is at an alpha, delta at an epsilon, epsilon at a
    delta; of two bounds the safe one counts. The ``truth``, if known, bounds beta and delta on both sides.
    """

    name: str
    kind: Kind
    beta: Function | None = None
    delta: Function | None = None
    epsilon: Function | None = None
    source: str = ""
    truth: Between | limits.BerryEsseen | None = None

    @cached_property
    def reach(self) -> float:
        """The epsilon, and 5 % more, where delta is 1e-12 or next to its limit; 1 if that is not known."""
        with suppress(TradeOffError):
            limit = float(self.evaluate("delta", np.array([np.inf]))[0])
            for delta in dict.fromkeys((1e-12, min(max(1.001 * limit, 1e-12), 1.0))):
                end = float(self.evaluate("epsilon", np.array([delta]))[0])
                if 0 < end < np.inf:
                    return 1.05 * end
        return 1.0

    def outline(self) -> Claim:
        """Return the claim without its band: the safe line, or the estimate."""
        return replace(self, truth=None)

    def evaluate(self, quantity: str, at: Array) -> Array:
        """Return the answers for beta, delta or epsilon, or raise a ``TradeOffError``."""
        function = getattr(self, quantity)
        if function is None:
            raise NoClosedForm(f"{self.name} has no answer for {quantity}")
        answer = function(at)
        if isinstance(answer, Bounds):
            answer = answer.lower if quantity == "beta" else answer.upper
        return np.asarray(answer, dtype=float)


def claim_of(name: str, thing: Any) -> Claim:
    """Return the claim of a curve, estimate, band, scores, pair (lower, upper), or of a plan's guarantee."""
    match thing:
        case Claim():
            return replace(thing, name=name)
        case limits.BerryEsseen():
            name = _label(name, thing.of)
            return Claim(name, "bound", thing.bounds, thing.delta, thing.epsilon, thing.source, thing)
        case limits.ApproximateCurve():
            name = _label(name, *filter(None, [thing.of]))
            return Claim(name, "estimate", thing, thing.delta, thing.epsilon, thing.source)
        case Empirical(estimate=line, band=sides):
            return replace(claim_of(name, line), truth=Between(*sides))
        case tuple((TradeOff() as lower, TradeOff() as upper)) | Bounds(
            TradeOff() as lower, TradeOff() as upper
        ):
            at = np.linspace(0.0, 1.0, 33)  # where the order of the pair is checked
            if np.any(lower.bounds(at).lower > upper.bounds(at).upper):
                raise DomainError("the first curve of a pair passes above the second; give (lower, upper)")
        case _ if not isinstance(thing, type) and (
            isinstance(thing, TradeOff) or hasattr(thing, "guarantee") or hasattr(thing, "curve")
        ):
            lower = upper = claimed(thing)
        case _:
            remedy = "give a curve, a plan, a mechanism, or a result of tradeoff.limits"
            remedy = "write plot(f, g), or (lower, upper) of one curve" if isinstance(thing, list) else remedy
            raise KindError(f"{shown(thing)} is not a trade-off function; {remedy}")
    name, source = _label(name, lower, upper), getattr(thing, "source", "")
    return Claim(name, "curve", lower, lower.delta, lower.epsilon, source, Between(lower, upper))


def _label(name: str, *curves: TradeOff) -> str:
    if all(each.symmetric for each in curves) or "one order" in name:
        return name
    return f"{name} (one order)" if name else "one order"


def _dp_sgd_clt(curve: TradeOff) -> Any:
    """Apply the closed formula for Poisson-sampled Gaussian steps of one kind."""
    match list(factors(curve).items()):
        case [(Subsampled(operands=(Gaussian(mu=mu),), rate=rate), n)] if mu > 0:
            return limits.dp_sgd_clt(rate.upper, 1 / mu, n)
    raise NoClosedForm("the formula is for one kind of Poisson-sampled Gaussian step")


Rule = Callable[[Array], Any]  # smallest epsilons at deltas in (0, 1), rounded up


def claim_of_pairs(
    source: str, rule: Rule, size: int = 81, formula: Function | None = None, epsilon_at_0: float = math.inf
) -> Claim:
    """Return the claim of a rule: the maximum of the f_{epsilon,delta} that it proves, of ``size`` deltas.

    ``formula`` bounds delta(epsilon) by the rule's own formula, for any epsilon, where there is one;
    ``epsilon_at_0`` is the epsilon at delta = 0, where there is one.
    """
    deltas = np.geomspace(1e-12, 0.3, size)
    epsilon = partial(_epsilon, rule, epsilon_at_0)
    usual, *losses = evaluate_each(epsilon, np.array([1e-5, *deltas]), math.inf).tolist()
    if math.isinf(usual):
        epsilon(np.array([1e-5]))  # raises here where the rule does not apply
    pairs = zip([epsilon_at_0, *losses, 0.0], [0.0, *deltas.tolist(), 1.0], strict=True)
    curve = Profile.from_epsilon_delta((e, d) for e, d in pairs if e <= 700)  # larger ones say nothing
    return Claim("", "bound", curve, partial(_delta, curve, formula), epsilon, source)


def _epsilon(rule: Rule, epsilon_at_0: float, delta: Array) -> Array:
    result = np.select([delta == 0, delta == 1], [epsilon_at_0, 0.0], math.inf)
    inside = (delta > 0) & (delta < 1)
    if inside.any():
        result[inside] = rule(delta[inside])
    return result


def _delta(curve: TradeOff, formula: Function | None, epsilon: Array) -> Any:
    delta = curve.delta(epsilon)
    return delta if formula is None else np.minimum(delta, formula(epsilon))


def evaluate_each(function: Function, at: Array, missing: float) -> Array:
    """Evaluate a batch, which costs least, or one by one, with ``missing`` for answers that it lacks."""
    if at.size == 0:
        return at
    try:
        return np.atleast_1d(np.asarray(function(at), dtype=float))
    except TradeOffError:
        if at.size == 1:
            return np.full(1, missing)
        return np.hstack([evaluate_each(function, x, missing) for x in at[:, None]])


def delta_by_orders(orders: Array, divergences: Array, epsilon: Array) -> Array:
    """Return delta(epsilon) by the best order a: log delta = (a - 1)(D_a - epsilon + log(1 - 1/a)) - log a.

    D_a are the Renyi divergences of the orders. Rounded up; Canonne, Kamath, Steinke 2020, Proposition 12,
    for epsilon of either sign.
    """
    finite = np.isfinite(divergences)
    a, divergence = Bounds.of(orders[finite]), Bounds.of(divergences[finite])
    x = np.clip(epsilon, -1e300, 1e300)[..., None]  # delta falls: a bound at 1e300 holds at infinity
    log_delta = (a - 1) * (divergence - x + log1p(-1 / a)) - log(a)
    result: Array = exp(np.min(log_delta.upper, axis=-1, initial=0.0)).upper
    return result


def _zcdp(curve: TradeOff) -> Claim:
    """Return the claim of rho-zCDP with the sum of the factors' rho, converted by the best order."""

    def rho(factor: TradeOff) -> Bounds:
        if isinstance(factor, BoundedRange) and not curve.exact:  # of an exponential mechanism
            return Bounds.of(factor.epsilon_0) ** 2 / 8
        if isinstance(factor, Gaussian):
            return Bounds.of(float(factor.mu)) ** 2 / 2
        if isinstance(factor, DiscreteGaussianCurve):  # as normal noise (Canonne, Kamath, Steinke 2020)
            return (Bounds.of(factor.shift) / Bounds.of(factor.sigma)) ** 2 / 2
        epsilon, mass = pure_loss(factor)
        if math.isinf(epsilon) or mass > 0:
            raise NoClosedForm(f"no rho is known for {factor!r}")
        return Bounds.of(epsilon) ** 2 / 2

    rho_total = float(total(rho(factor) * n for factor, n in factors(curve).items()).upper)
    orders = 1 + np.geomspace(1e-3, 1e6, 4096)
    formula = partial(delta_by_orders, orders, (Bounds.of(rho_total) * orders).upper)
    rule = partial(_zcdp_rule, rho_total)
    return claim_of_pairs(_CKS, rule, formula=formula if rho_total > 0 else None)


def _zcdp_rule(rho: float, deltas: Array) -> list[float]:
    return [baselines.zcdp_route(rho, delta).epsilon for delta in deltas.tolist()]


def _renyi(curve: TradeOff) -> Claim:
    both = {curve, curve.inverse()}  # f_{epsilon,delta} claims both orders
    orders = np.array(ORDERS)
    bounds = np.array([max(renyi_divergence(f, a) for f in both) for a in ORDERS])
    formula = partial(delta_by_orders, orders, bounds)
    return claim_of_pairs(_CKS, partial(_renyi_rule, bounds, orders), formula=formula)


def _renyi_rule(divergences: Array, orders: Array, deltas: Array) -> list[float]:
    return [max(float(np.min(converted(divergences, orders - 1, delta))), 0.0) for delta in deltas.tolist()]


Releases = list[tuple[float, float, int]]  # for each factor: epsilon, n times its delta, and n


def _claim_of_releases(
    source: str,
    share: float,
    compose: Callable[[float, Releases], float],
    curve: TradeOff,
    *,
    pure: bool = False,
) -> Claim:
    """Return the claim of a rule that composes (epsilon, delta) of all factors: ``compose(delta, releases)``.

    A factor of bounded losses has their maximum and its mass at infinity; all others share ``share`` of delta
    equally. ``pure`` if delta may be 0.
    """
    parts = [(*pure_loss(factor), factor, n) for factor, n in factors(curve).items()]
    unbounded = sum(n for epsilon, _, _, n in parts if math.isinf(epsilon))
    rule = partial(_rule_of_releases, share, unbounded, compose, parts)
    epsilon_at_0 = rule(np.zeros(1))[0] if pure and not unbounded else math.inf
    # Fewer pairs make a curve where each evaluates a composed one.
    return claim_of_pairs(source, rule, 12 if unbounded else 81, epsilon_at_0=epsilon_at_0)


def _rule_of_releases(
    share: float,
    unbounded: int,
    compose: Callable[[float, Releases], float],
    parts: list[tuple[float, float, TradeOff, int]],
    deltas: Array,
) -> list[float]:
    """Compose at each delta, of which the factors of unbounded losses have a share."""
    releases: list[Releases] = [[] for _ in deltas]
    budgets = deltas * share / max(unbounded, 1)
    for epsilon, mass, factor, n in parts:  # largest loss, and mass at infinity
        losses, failures = np.full_like(budgets, epsilon), np.full_like(budgets, mass)
        if math.isinf(epsilon):
            orders = {factor, factor.inverse()}
            losses, failures = np.max([f.epsilon(budgets) for f in orders], axis=0, initial=0.0), budgets
        for row, loss, failure in zip(releases, losses.tolist(), failures.tolist(), strict=True):
            row.append((loss, min(float((Bounds.of(failure) * n).upper), 1.0), n))
    return list(map(compose, deltas.tolist(), releases))


def _advanced(delta: float, releases: Releases) -> float:
    """Return epsilon of advanced composition, with all that the failures leave of delta; inf if nothing."""
    failures = [failure for _, failure, _ in releases]
    slack = delta - math.fsum(failures)
    if slack <= 0:
        return math.inf
    # The formula uses sum epsilon^2 alone: n equal losses count as one that is sqrt(n) times as large.
    losses = [float((sqrt(n) * epsilon).upper) for epsilon, _, n in releases]
    return baselines.advanced_composition(losses, failures, slack=slack * (1 - 1e-12)).epsilon


def _basic(delta: float, releases: Releases) -> float:
    losses = [float((Bounds.of(epsilon) * n).upper) for epsilon, _, n in releases]
    result = baselines.basic_composition(losses, [failure for _, failure, _ in releases])
    return result.epsilon if result.delta <= delta else math.inf


# Arguments of ``claim_of`` by method; a method that does not apply raises a ``TradeOffError``.
METHODS: dict[str, Callable[[TradeOff], Any]] = {
    "clt": limits.clt,
    "dp-sgd-clt": _dp_sgd_clt,
    "edgeworth": limits.edgeworth,
    "berry-esseen": limits.berry_esseen,
    "zcdp": _zcdp,
    "renyi": _renyi,
    "advanced": partial(_claim_of_releases, "Bun, Steinke 2016", 0.5, _advanced),
    "basic": partial(_claim_of_releases, "Dwork, Roth 2014, Theorem 3.16", 1 - 1e-12, _basic, pure=True),
}
