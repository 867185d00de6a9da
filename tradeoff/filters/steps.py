"""What may enter a filter: a curve, or a mechanism that hands one out."""

from __future__ import annotations

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import KindError, PlanError, SymbolError, shown
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan

# One adaptive step. Its guarantee is taken over both orders of a pair of neighbours.
Step = TradeOff | Mechanism | Plan


def curve_of(step: object) -> TradeOff:
    """Return the curve of a step; approximations and everything else are refused.

    Raises
    ------
    KindError
        If the step is no curve and no mechanism, or only approximates a curve.
    SymbolError
        If the curve has free symbols.
    """
    if isinstance(step, Mechanism | Plan):
        step = step.curve()
    if hasattr(step, "trusted"):
        raise KindError(
            f"{shown(step)} is an approximation: it can under-report the loss, and a filter built on it "
            "would prove nothing; spend the curve it approximates, or .trusted() to insist"
        )
    if not isinstance(step, TradeOff):
        raise KindError(
            f"{shown(step)} is no step: a filter takes a curve, such as Gaussian(0.1), "
            "or a mechanism, such as mechanisms.Gaussian(10)"
        )
    if step.free_symbols:
        names = ", ".join(sorted(map(str, step.free_symbols)))
        remedy = "a step takes numbers: substitute them first, with .subs({...})"
        raise SymbolError(f"{shown(step)} has free symbols {names}; {remedy}")
    return step


def adjacency_of(step: object, seen: str | None) -> str | None:
    """Return the neighbours that the steps so far and this one are stated for; None while they fit any."""
    mine = getattr(step, "adjacency", None)
    if mine is not None and seen is not None and mine != seen:
        found = f"{shown(step)} is stated for {mine} neighbours, and earlier steps for {seen}"
        raise PlanError(f"{found}: one filter serves one kind")
    return mine or seen


def assumptions_of(curve: object, seen: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the steps so far and this one rest on without proof, each sentence once."""
    return tuple(dict.fromkeys((*seen, *getattr(curve, "assumptions", ()))))
