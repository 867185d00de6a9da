"""The ways to account for a composition that a comparison sets side by side; each may decline."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from tradeoff import limits
from tradeoff.audits.empirical import Empirical
from tradeoff.audits.refutation import claimed
from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError, KindError, NoClosedForm, TradeOffError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import Array
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.tabulate import Tabulated
from tradeoff.report.summary import factors

Kind = Literal["estimate", "bound", "curve"]
Answer = Callable[[Array], Any]

_ORDERED = 33  # type I errors at which a pair of curves is looked at before the first is called the lower


@dataclass(frozen=True)
class Claim:
    """What one method says of a curve.

    An ``"estimate"`` is on neither side of the truth, a ``"bound"`` never under-reports if its hypotheses
    hold, of a ``"curve"`` that the caller gave nothing is known. ``band`` bounds beta at alpha, ``profile``
    delta at epsilon; ``whole`` gives curves below and above at every alpha.
    """

    name: str
    kind: Kind
    beta: Answer | None = None
    delta: Answer | None = None
    epsilon: Answer | None = None
    source: str = ""
    band: Callable[[Array], Bounds] | None = None
    profile: Callable[[Array], Bounds] | None = None
    whole: Callable[[], Tabulated] | None = None

    @cached_property
    def reach(self) -> float:
        """The loss where delta has fallen to 1e-12, or where the losses end; 1 if it is not known."""
        with suppress(TradeOffError):
            least = float(self.ask("delta", np.array([np.inf]))[0])
            for delta in (1e-12, min(max(1.001 * least, 1e-12), 1.0)):
                end = float(self.ask("epsilon", np.array([delta]))[0])
                if 0 < end < np.inf:
                    return 1.05 * end
        return 1.0

    def ask(self, question: Literal["beta", "delta", "epsilon"], at: Array) -> Array:
        """Return the answers, or raise a ``TradeOffError``."""
        answer = getattr(self, question)
        if answer is None:
            raise NoClosedForm(f"{self.name} has no answer for {question}")
        return np.asarray(answer(at), dtype=float)


@lru_cache(maxsize=1)  # the curve of one report
def remembered(curve: TradeOff) -> Remembered:
    """Return bounds on the beta of a curve that are asked once at each alpha."""
    return Remembered(curve.bounds)


class Remembered:
    """Bounds on beta that tables, figures and sentences share."""

    def __init__(self, bounds: Callable[[Array], Bounds]) -> None:
        self._bounds = bounds
        self._known: dict[float, tuple[float, float]] = {}

    def __call__(self, alpha: Array) -> Bounds[Array]:
        """Bound f(alpha)."""
        asked = alpha.tolist()
        fresh = sorted(set(asked) - self._known.keys())
        if fresh:
            self._known.update(zip(fresh, zip(*self._bounds(np.array(fresh)), strict=True), strict=True))
        return Bounds(*np.array([self._known[each] for each in asked]).reshape(-1, 2).T)


Method = Callable[[TradeOff], Claim]


def claim_of(name: str, thing: Any) -> Claim:
    """Return what a thing says: a curve or what leads to one, an estimate, a band, scores, a pair of curves.

    Of plans and mechanisms it is the guarantee for both orders of the pair of data sets.
    """
    match thing:
        case Claim():
            return replace(thing, name=name)
        case limits.BerryEsseen(most_epsilon=most, source=source):
            delta = thing.delta
            name = _labelled(name, symmetric=thing.of.symmetric)
            return Claim(
                name, "bound", thing.lower, lambda e: delta(e).upper, most, source, thing.bounds, delta
            )
        case limits.ApproximateCurve():
            name = _labelled(name, symmetric=thing.of is None or thing.of.symmetric)
            return Claim(name, "estimate", thing, thing.delta, thing.epsilon, thing.source)
        case Empirical(estimate=line, band=sides):
            said = claim_of(name, line)
            band = _between(name, *sides)
            return replace(said, band=band.band, profile=band.profile, whole=band.whole)
        case (TradeOff() as lower, TradeOff() as upper) | Bounds(TradeOff() as lower, TradeOff() as upper):
            return _between(name, lower, upper)
    curve = _curve(thing)
    asked = curve.bounds
    source = getattr(thing, "source", "")
    name = _labelled(name, symmetric=curve.symmetric)
    return Claim(name, "curve", curve, curve.delta, curve.epsilon, source, asked, asked.delta, curve.tabulate)


def _labelled(name: str, *, symmetric: bool) -> str:
    """Return the name of a line, which states that a curve is of one order of the neighbouring pair."""
    if symmetric or "one order" in name:
        return name
    return f"{name} (one order)" if name else "one order"


def _curve(thing: Any) -> TradeOff:
    given = thing if isinstance(thing, TradeOff) else getattr(thing, "guarantee", thing)
    if not isinstance(given, TradeOff) and not (hasattr(thing, "guarantee") or hasattr(thing, "curve")):
        remedy = "give a curve, a plan, a mechanism, or what tradeoff.limits returns"
        raise KindError(f"{shown(thing)} is not a trade-off function; {remedy}")
    curve = given if isinstance(given, TradeOff) else claimed(thing)
    curve.require_numbers()
    return curve


def _between(name: str, lower: TradeOff, upper: TradeOff) -> Claim:
    """Return the claim of two curves with something between them: the lower one is what holds."""
    at = np.linspace(0.0, 1.0, _ORDERED)
    if np.any(lower.bounds(at).lower > upper.bounds(at).upper):
        raise DomainError("the first curve of a pair passes above the second; give (lower, upper)")
    return Claim(
        _labelled(name, symmetric=lower.symmetric and upper.symmetric),
        "curve",
        lower,
        lower.delta,
        lower.epsilon,
        band=lambda alpha: Bounds(lower.bounds(alpha).lower, upper.bounds(alpha).upper),
        profile=lambda e: Bounds(upper.bounds.delta(e).lower, lower.bounds.delta(e).upper),
        whole=lambda: Tabulated(lower.tabulate().lower, upper.tabulate().upper),
    )


def _by(name: str, theorem: Callable[[TradeOff], Any]) -> Method:
    return lambda curve: claim_of(name, theorem(curve))


def _dp_sgd_clt(curve: TradeOff) -> Claim:
    """Apply the closed formula for Poisson-sampled Gaussian steps of one kind."""
    match list(factors(curve).items()):
        case [(Subsampled(operands=(Gaussian(mu=mu),), rate=rate), n)] if mu > 0:
            return claim_of("DP-SGD CLT", limits.dp_sgd_clt(rate.upper, 1 / mu, n))
    raise NoClosedForm("the formula is for one kind of Poisson-sampled Gaussian step")


# Methods by name, those of textbooks behind. What does not apply raises a ``TradeOffError`` that says why.
METHODS: dict[str, Method] = {
    "clt": _by("CLT", limits.clt),
    "dp-sgd-clt": _dp_sgd_clt,
    "edgeworth": _by("Edgeworth", limits.edgeworth),
    "berry-esseen": _by("Berry-Esseen", limits.berry_esseen),
}
