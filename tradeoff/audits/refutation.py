"""What data say of a claimed guarantee: a p-value, and where the claim fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tradeoff.audits.rates import sure
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import number
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.intervals.bounds import Bounds, decimal


@dataclass(frozen=True, repr=False)
class Refutation(Displayed):
    """Outcome of testing the claim f >= ``claim``; true where the data refute it.

    Parameters
    ----------
    claim
        The curve that was tested.
    p_value
        Valid without assumptions on the law of the data: while the claim holds, it is at most p with
        probability at most p, for every p in [0, 1].
    confidence
        The claim is refuted where the p-value is at most 1 - confidence.
    at
        Type I error at which the data contradict the claim most; None where counts do not tell.
    threshold
        Score above which the test that decides rejects, or from which on where thresholds were given; None
        where there is none.

    Examples
    --------
    >>> import tradeoff as to
    >>> found = to.audits.one_run(correct=90, guesses=100, canaries=1000).refutes(to.PureDP(1.0))
    >>> bool(found), found.p_value < 1e-3
    (True, True)
    """

    claim: TradeOff
    p_value: float
    confidence: float
    at: float | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        operand(self.claim)
        number("p_value", self.p_value, 0, 1)
        object.__setattr__(self, "confidence", sure(self.confidence))

    def __bool__(self) -> bool:
        return bool(self.p_value <= allowance(self.confidence))

    def grid(self) -> TextTable:
        given = {"at alpha": self.at, "rejecting above": self.threshold}
        where = [(name, f"{value:.4g}") for name, value in given.items() if value is not None]
        rows = [("p-value", decimal(self.p_value, ".4g", up=True)), *where]
        verdict = "refuted" if self else "not refuted"
        return TextTable(
            rows, head=f"f >= {self.claim!r} is {verdict} at confidence {exactly(self.confidence)}"
        )


def allowance(confidence: float) -> float:
    """Return the probability of error 1 - confidence, rounded down."""
    return float((1 - Bounds.of(confidence)).lower)


def claimed(claim: Any) -> TradeOff:
    """Return the curve claimed: a curve itself, a plan's guarantee, a mechanism's for both orders at once."""
    for name in ("guarantee", "curve"):
        result = None if isinstance(claim, TradeOff | type) else getattr(claim, name, None)
        if result is not None:
            return both_orders(operand(result if isinstance(result, TradeOff) else result()))
    curve = operand(claim)
    curve.require_numbers()
    return curve


def both_orders(curve: TradeOff) -> TradeOff:
    """Return what the curve guarantees for either order of the pair."""
    curve.require_numbers()
    return curve.symmetrise(assume="either-order")
