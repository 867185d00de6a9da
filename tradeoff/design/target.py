"""Targets of a guarantee: a question to its curve, the answer wanted, and a measure of how far it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scipy.special import erfinv, ndtri

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import number
from tradeoff.display import exactly
from tradeoff.errors import DomainError, Undecided, domain, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.gdp.reduction import least
from tradeoff.intervals.bounds import Bounds


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
    """Answer with the certified order: from 1 on where it holds, below where not, about 1 if undecided.

    The numbers of a Gaussian goal say by how much; those of others are 1 and 0, which bisects.
    """
    goal = operand(curve)

    def order(f: TradeOff, _: float | None) -> Bounds[float]:
        if isinstance(goal, Gaussian) and goal.mu > 0:
            f.require_numbers()
            low, high = least(f, 0.0).mu
            most = (goal.mu / Bounds.of(low)).upper if low else math.inf
            return Bounds((goal.mu / Bounds.of(high)).lower, most)
        try:
            verdict = float(f >= goal)
        except Undecided:
            return Bounds(0.0, 1.0)
        return Bounds(verdict, verdict)

    def size(margin: float) -> float:
        return 1 / margin if margin > 0 else math.inf

    return Target(f"[curve >= {shown(goal)}]", 1.0, order, size, least=True, verdict=True, takes_width=False)


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


_KINDS: dict[tuple[str, ...], Callable[..., Target]] = {
    ("epsilon", "delta"): _epsilon,
    ("mu",): _mu,
    ("mu", "failure"): _mu,
    ("beta", "alpha"): _beta,
    ("advantage",): _advantage,
    ("curve",): _curve,
    ("bayes_risk", "prior"): _bayes_risk,
}
