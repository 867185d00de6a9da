"""Targets of a guarantee: a question to its curve, the answer wanted, and a measure of how far it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erfinv, ndtri

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import number
from tradeoff.display import exactly
from tradeoff.errors import DomainError, PrecisionError, Undecided, domain, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.gdp.reduction import least
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import Array
from tradeoff.operators.order import lines_of
from tradeoff.operators.tabulate import orders


@dataclass(frozen=True)
class Target:
    """A question and the most its answer may be, or the least: ``wanted``.

    ``answer`` bounds the answer of a curve, to a width relative to it if ``takes_width``, or the usual one;
    ``size`` is a positive number that increases with the loss: only which number to try next depends on it.
    Of a ``verdict`` answers are proved to be from 1 on, or below, and nothing else of them.
    """

    question: str
    wanted: float
    answer: Callable[[TradeOff, float | None], Bounds[float]]
    size: Callable[[float], float]
    least: bool = False
    verdict: bool = False
    takes_width: bool = True

    def is_met(self, answer: Bounds[float]) -> bool | None:
        """Whether every truth within the bounds meets the target; None where some do and some do not."""
        if self.least:
            return True if answer.lower >= self.wanted else False if answer.upper < self.wanted else None
        return True if answer.upper <= self.wanted else False if answer.lower > self.wanted else None

    def verdict_or(self, answer: Bounds[float]) -> Bounds[float]:
        """Return the answer; of a verdict 1 where it holds, 0 where it does not."""
        return Bounds(*(float(end >= 1) for end in answer)) if self.verdict else answer

    def gap(self, answer: float) -> float:
        """Return log size(answer)/size(wanted): 0 at the root, positive where too much is lost; maybe NaN."""
        size, wanted = self.size(answer), self.size(self.wanted)
        return math.log(size / wanted) if 0 < size < math.inf and 0 < wanted < math.inf else math.nan

    def __str__(self) -> str:
        return f"{self.question} {'>=' if self.least else '<='} {exactly(self.wanted)}"


def read_target(given: Mapping[str, Any]) -> Target:
    """Read a target from its keys; ``DomainError`` if no kind of target has them, or a value is outside."""
    keys = frozenset(given) if isinstance(given, Mapping) else frozenset()
    for names, read in _KINDS.items():
        if keys == set(names):
            return read(**given)
    allowed = ", ".join(f"{{{', '.join(names)}}}" for names in _KINDS)
    raise DomainError(f"target must be a mapping with keys {allowed}, got {shown(given)}")


def _epsilon(epsilon: Any, delta: Any) -> Target:
    e = number("epsilon", epsilon, 0, math.inf, open_high=True)
    d = number("delta", delta, 0, 1, open_high=True)
    if e == 0:  # epsilon(delta) <= 0 iff delta(0) <= delta, and that has a logarithm
        return Target("delta at epsilon = 0", d, lambda f, tol: f.bounds.delta(0.0, tol=tol), _mu_of_distance)
    question = f"epsilon at delta = {exactly(d)}"
    return Target(question, e, lambda f, tol: f.bounds.epsilon(d, tol=tol and tol * e), float)


def _mu(mu: Any, failure: Any = 0.0) -> Target:
    m = number("mu", mu, 0, math.inf, open_high=True)
    q = number("failure", failure, 0, 1, open_high=True)
    if m == 0:  # f >= f_{0,q}: the total variation is at most q
        return Target("delta at epsilon = 0", q, lambda f, tol: f.bounds.delta(0.0, tol=tol), _mu_of_distance)

    def answer(f: TradeOff, _: float | None) -> Bounds[float]:
        """Return 0 at once where f >= f_{0,q}."""
        f.require_numbers()
        return Bounds(0.0, 0.0) if q > 0 and f.bounds.delta(0.0).upper <= q else least(f, q).mu

    return Target(f"mu at failure = {exactly(q)}", m, answer, float, takes_width=False)


def _beta(beta: Any, alpha: Any) -> Target:
    a = number("alpha", alpha, 0, 1, open_low=True, open_high=True)
    b = number("beta", beta, 0, 1)
    if b > (1 - Bounds.of(a)).upper:
        raise domain("beta", b, f"[0, {1 - a:g}]", f"no curve is above 1 - alpha at alpha = {exactly(a)}")
    start, question = float(ndtri(a)), f"beta at alpha = {exactly(a)}"
    return Target(question, b, lambda f, tol: f.bounds(a, tol=tol), lambda x: -start - float(ndtri(x)), True)


def _advantage(advantage: Any) -> Target:
    v = number("advantage", advantage, 0, 1)
    return Target("advantage", v, lambda f, tol: f.bounds.delta(0.0, tol=tol), _mu_of_distance)


def _curve(curve: Any) -> Target:
    """Answer with the certified order: from 1 on where it holds, below where not, about 1 if undecided."""
    goal = operand(curve)

    @cache
    def profiles() -> list[_Profile]:
        return [_profile(order) for (order,) in orders(goal)]

    def order(f: TradeOff, _: float | None) -> Bounds[float]:
        if isinstance(goal, Gaussian) and goal.mu > 0:
            f.require_numbers()
            low, high = least(f, 0.0).mu
            most = (goal.mu / Bounds.of(low)).upper if low else math.inf
            return Bounds((goal.mu / Bounds.of(high)).lower, most)
        try:
            holds = f >= goal
        except Undecided:
            return Bounds(0.0, 1.0)
        margin = _margin(f, profiles(), holds=holds)
        return Bounds(margin, margin)

    def lack(margin: float) -> float:
        return 1 / margin if margin > 0 else math.inf

    return Target(f"[curve >= {shown(goal)}]", 1.0, order, lack, least=True, verdict=True, takes_width=False)


def _bayes_risk(bayes_risk: Any, prior: Any) -> Target:
    p = number("prior", prior, 0, 1, open_low=True, open_high=True)
    blind = min(p, (1 - Bounds.of(p)).upper)
    r = number("bayes_risk", bayes_risk, 0, blind)

    def size(risk: float) -> float:
        return _mu_of_distance(1 - risk / blind)

    question = f"Bayes risk at prior = {exactly(p)}"
    return Target(question, r, lambda f, tol: f.bounds.bayes_risk(prior, tol=tol), size, least=True)


def _mu_of_distance(v: float) -> float:
    """Return mu/sqrt(8), where v is the total variation distance of G_mu: 2 Phi(mu/2) - 1."""
    return float(erfinv(v))


# Smallest delta at which profiles are compared; losses compared at once; rounds, each an eighth as far apart.
_LEAST_DELTA, _PLACES, _ROUNDS = 1e-15, 17, 6
# Distance of a ratio from 1 within which delta is bounded to a width: the usual one may hide the root.
_NEAR, _SHARP = 1e-3, 1e-9


class _Profile(NamedTuple):
    """Points (epsilon, delta) of a goal's profile that count alone, and losses between which every one does.

    The corners of a polygon count alone, and so does the end of a profile: near it delta_goal/delta_f falls
    to 0 for any excess, and only epsilon_goal/epsilon_f measures the excess.
    """

    goal: TradeOff
    epsilon: Array
    delta: Array
    between: Array | None


def _profile(goal: TradeOff) -> _Profile:
    lines = lines_of(goal)
    if lines is not None:
        epsilon, delta = np.array([(line.least, float(line.delta)) for line in lines]).T
        return _Profile(goal, epsilon, delta, None)
    end = np.array([goal.sup_loss][: math.isfinite(goal.sup_loss)])
    # Losses from 0 up to where next to nothing of delta is left.
    least = max(_LEAST_DELTA, min(2 * goal.mass_at_infinity.upper, 1.0))
    levels = np.geomspace(max(goal.bounds.delta(0.0).upper, least), least, _PLACES)
    places = np.maximum(_middle(goal.bounds.epsilon, levels), 0.0)
    between = np.unique(np.append(0.0, places[np.isfinite(places)]))
    return _Profile(goal, end, np.full_like(end, goal.mass_at_infinity.upper), between)


def _margin(f: TradeOff, profiles: Iterable[_Profile], *, holds: bool) -> float:
    """Estimate how far a symmetric curve is above a goal of which ``profiles`` are the orders.

    From 1 on if the order ``holds``, below 1 if not: of the estimates that agree the nearest to 1, as in a
    corner only one comes near; infinite, or 0, where none agrees.
    """
    margins = [min(each) for each in zip(*(_least_ratios(f, profile) for profile in profiles), strict=True)]
    agreed = [each for each in margins if (each >= 1) == holds]
    return min(agreed, default=math.inf) if holds else max(agreed, default=0.0)


def _least_ratios(f: TradeOff, profile: _Profile) -> list[float]:
    """Estimate the least of delta_goal/delta_f and of epsilon_goal/epsilon_f at points, and of all."""
    goal, epsilon, delta, at = profile
    heights = _ratio(delta, _middle(f.bounds.delta, epsilon))
    losses = _ratio(epsilon, _middle(f.bounds.epsilon, delta))
    result = [float(np.min(ratio, initial=math.inf)) for ratio in (heights, losses)]
    if at is None:
        return result
    least = math.inf
    for _ in range(_ROUNDS):  # closer about the best place each round, sharper near 1
        tol = _SHARP if abs(least - 1) < _NEAR else None
        ratio = _ratio(_middle(goal.bounds.delta, at, tol), _middle(f.bounds.delta, at, tol))
        k = int(np.argmin(ratio))
        least = float(ratio[k])
        at = np.linspace(at[max(k - 1, 0)], at[min(k + 1, len(at) - 1)], _PLACES)
    return [*result, least]


def _middle(query: Callable[..., Bounds[Array]], at: Array, tol: float | None = None) -> Array:
    """Return the midpoints of answers, to a width where it can be reached; infinite where there is none."""
    for width in (tol, None):
        with suppress(PrecisionError):
            lower, upper = query(at, tol=width)
            return (lower + upper) / 2
    return np.full_like(at, np.inf)


def _ratio(goal: Array, value: Array) -> Array:
    """Return goal/value; infinite where nothing is lost."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.where(value > 0, goal / value, np.inf), nan=np.inf, posinf=np.inf)


_KINDS: dict[tuple[str, ...], Callable[..., Target]] = {
    ("epsilon", "delta"): _epsilon,
    ("mu",): _mu,
    ("mu", "failure"): _mu,
    ("beta", "alpha"): _beta,
    ("advantage",): _advantage,
    ("curve",): _curve,
    ("bayes_risk", "prior"): _bayes_risk,
}
