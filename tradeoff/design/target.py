"""What a guarantee is to meet: a question to its curve, the answer wanted, and how much room it leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

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
from tradeoff.operators.profile_samples import orders


@dataclass(frozen=True)
class Target:
    """A question and the most its answer may be, or the least: ``wanted``.

    ``ask`` bounds the answer of a curve, to a width relative to it, or the usual one; ``size`` is loss as a
    positive number that increases with it: only where to look next depends on it.
    """

    question: str
    wanted: float
    ask: Callable[[TradeOff, float | None], Bounds[float]]
    size: Callable[[float], float]
    least: bool = False
    verdict: bool = False
    """Whether answers are proved to be from 1 on, or below, and nothing else of them."""
    heeds: bool = True
    """Whether a width is heeded: else to ask for less is to ask the same again."""

    def met(self, answer: Bounds[float]) -> bool | None:
        """Whether every truth within the bounds meets the target; None where some do and some do not."""
        if self.least:
            return True if answer.lower >= self.wanted else False if answer.upper < self.wanted else None
        return True if answer.upper <= self.wanted else False if answer.lower > self.wanted else None

    def told(self, answer: Bounds[float]) -> Bounds[float]:
        """Return what is proved of an answer: of a verdict 1 where it holds, 0 where it does not."""
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
    raise DomainError(f"target = {shown(given)} is none of those known; give a mapping with keys {allowed}")


def _epsilon(epsilon: Any, delta: Any) -> Target:
    e = number("epsilon", epsilon, 0, math.inf, open_high=True)
    d = number("delta", delta, 0, 1, open_high=True)
    if e == 0:  # epsilon(delta) <= 0 iff delta(0) <= delta, and that has a logarithm
        return Target("delta at epsilon = 0", d, lambda f, tol: f.bounds.delta(0.0, tol=tol), _mu_of_distance)
    asked = f"epsilon at delta = {exactly(d)}"
    return Target(asked, e, lambda f, tol: f.bounds.epsilon(d, tol=tol and tol * e), float)


def _mu(mu: Any, failure: Any = 0.0) -> Target:
    m = number("mu", mu, 0, math.inf, open_high=True)
    q = number("failure", failure, 0, 1, open_high=True)
    if m == 0:  # f >= f_{0,q}, which is to say that its total variation is at most q
        return Target("delta at epsilon = 0", q, lambda f, tol: f.bounds.delta(0.0, tol=tol), _mu_of_distance)

    def ask(f: TradeOff, _: float | None) -> Bounds[float]:
        """Return 0 at once where f >= f_{0,q}."""
        f.require_numbers()
        return Bounds(0.0, 0.0) if q > 0 and f.bounds.delta(0.0).upper <= q else least(f, q).mu

    return Target(f"mu at failure = {exactly(q)}", m, ask, float, heeds=False)


def _beta(beta: Any, alpha: Any) -> Target:
    a = number("alpha", alpha, 0, 1, open_low=True, open_high=True)
    b = number("beta", beta, 0, 1)
    if b > math.nextafter(1 - a, 1.0):  # both are rounded
        raise domain("beta", b, f"[0, {1 - a:g}]", f"no curve is above 1 - alpha at alpha = {exactly(a)}")
    start, asked = float(ndtri(a)), f"beta at alpha = {exactly(a)}"
    return Target(asked, b, lambda f, tol: f.bounds(a, tol=tol), lambda x: -start - float(ndtri(x)), True)


def _advantage(advantage: Any) -> Target:
    v = number("advantage", advantage, 0, 1)
    return Target("advantage", v, lambda f, tol: f.bounds.delta(0.0, tol=tol), _mu_of_distance)


def _curve(curve: Any) -> Target:
    """Ask for the certified order: from 1 on where it holds, below where not, about 1 if undecided."""
    goal = operand(curve)

    @cache
    def profiles() -> list[Profile]:
        return [Profile.of(two) for (two,) in orders(goal)]

    def order(f: TradeOff, _: float | None) -> Bounds[float]:
        if isinstance(goal, Gaussian) and goal.mu > 0:
            f.require_numbers()
            low, high = least(f, 0.0).mu
            return Bounds(
                (goal.mu / Bounds.of(high)).lower, (goal.mu / Bounds.of(low)).upper if low else math.inf
            )
        try:
            holds = f >= goal
        except Undecided:
            return Bounds(0.0, 1.0)
        known = room(f, profiles(), holds=holds)
        return Bounds(known, known)

    def lack(room: float) -> float:
        return 1 / room if room > 0 else math.inf

    return Target(f"[curve >= {shown(goal)}]", 1.0, order, lack, least=True, verdict=True, heeds=False)


def _bayes_risk(bayes_risk: Any, prior: Any) -> Target:
    p = number("prior", prior, 0, 1, open_low=True, open_high=True)
    blind = min(p, 1 - p)
    r = number("bayes_risk", bayes_risk, 0, math.nextafter(blind, 1.0))  # both are rounded

    def size(risk: float) -> float:
        return _mu_of_distance(1 - risk / blind)

    asked = f"Bayes risk at prior = {exactly(p)}"
    return Target(asked, r, lambda f, tol: f.bounds.bayes_risk(prior, tol=tol), size, least=True)


def _mu_of_distance(v: float) -> float:
    """Return mu/sqrt(8), where v is the total variation distance of G_mu: 2 Phi(mu/2) - 1."""
    return float(erfinv(v))


# Delta to which profiles are compared, losses asked at once, and how often, each an eighth as far apart.
_FAINT, _PLACES, _CLOSER = 1e-15, 17, 6

# Distance of a ratio from 1 within which delta is asked to a width: the usual one may hide the root.
_NEAR, _SHARP = 1e-3, 1e-9


@dataclass(frozen=True)
class Profile:
    """Points (epsilon, delta) of a goal's profile that count alone, and losses between which every one does.

    The corners of a polygon count alone, and so does the end of a profile: beside it delta_goal/delta_f falls
    to 0 where it is passed by the least, and epsilon_goal/epsilon_f alone tells by how little.
    """

    goal: TradeOff
    epsilon: Array
    delta: Array
    between: Array | None

    @classmethod
    def of(cls, goal: TradeOff) -> Profile:
        lines = lines_of(goal)
        if lines is None:
            end = np.array([goal.sup_loss][: math.isfinite(goal.sup_loss)])
            return cls(goal, end, np.full_like(end, goal.mass_at_infinity.upper), _places(goal))
        epsilon, delta = np.array([(line.least, float(line.delta)) for line in lines]).T
        return cls(goal, epsilon, delta, None)

    def rooms(self, f: TradeOff) -> list[float]:
        """Estimate the least of delta_goal/delta_f and of epsilon_goal/epsilon_f at points, and of all."""
        heights = _ratio(self.delta, _middle(f.bounds.delta, self.epsilon))
        losses = _ratio(self.epsilon, _middle(f.bounds.epsilon, self.delta))
        alone = [float(np.min(ratio, initial=math.inf)) for ratio in (heights, losses)]
        return alone if self.between is None else [*alone, _least(f, self.goal, self.between)]


def room(f: TradeOff, profiles: Iterable[Profile], *, holds: bool) -> float:
    """Estimate the room of a symmetric curve above a goal of which ``profiles`` are the orders.

    From 1 on if the order ``holds``, below 1 if not: of the estimates that agree the nearest to 1, as in a
    corner only one comes near; infinite, or 0, where none agrees.
    """
    rooms = [min(each) for each in zip(*(profile.rooms(f) for profile in profiles), strict=True)]
    agreed = [each for each in rooms if (each >= 1) == holds]
    return min(agreed, default=math.inf) if holds else max(agreed, default=0.0)


def _places(goal: TradeOff) -> Array:
    """Return losses from 0 up to where next to nothing of delta is left; 0 alone where none is known."""
    least = max(_FAINT, min(2 * goal.mass_at_infinity.upper, 1.0))
    levels = np.geomspace(max(goal.bounds.delta(0.0).upper, least), least, _PLACES)
    result = np.maximum(_middle(goal.bounds.epsilon, levels), 0.0)
    return np.unique(np.append(0.0, result[np.isfinite(result)]))


def _least(f: TradeOff, goal: TradeOff, at: Array) -> float:
    """Estimate the least of delta_goal/delta_f, closer about the best place each round, sharper near 1."""
    least = math.inf
    for _ in range(_CLOSER):
        tol = _SHARP if abs(least - 1) < _NEAR else None
        ratio = _ratio(_middle(goal.bounds.delta, at, tol), _middle(f.bounds.delta, at, tol))
        k = int(np.argmin(ratio))
        least = float(ratio[k])
        at = np.linspace(at[max(k - 1, 0)], at[min(k + 1, len(at) - 1)], _PLACES)
    return least


def _middle(ask: Callable[..., Bounds[Array]], at: Array, tol: float | None = None) -> Array:
    """Return about the answers, as narrow as asked where that is known; infinite where nothing is."""
    for width in (tol, None):
        with suppress(PrecisionError):
            lower, upper = ask(at, tol=width)
            return (lower + upper) / 2
    return np.full_like(at, np.inf)


def _ratio(goal: Array, found: Array) -> Array:
    """Return goal/found; infinite where nothing is lost, which leaves room for anything."""
    ratio = np.full_like(found, np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        np.divide(goal, found, out=ratio, where=found > 0)
    return np.nan_to_num(ratio, nan=np.inf, posinf=np.inf)


_KINDS: dict[tuple[str, ...], Callable[..., Target]] = {
    ("epsilon", "delta"): _epsilon,
    ("mu",): _mu,
    ("mu", "failure"): _mu,
    ("beta", "alpha"): _beta,
    ("advantage",): _advantage,
    ("curve",): _curve,
    ("bayes_risk", "prior"): _bayes_risk,
}
