"""The test of a claimed guarantee by data: a p-value, and where the claim fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tradeoff.audits.rates import check_confidence, error_probability
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import number
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.intervals.bounds import decimal


@dataclass(frozen=True, repr=False)
class Refutation(Displayed):
    """Outcome of testing the claim f >= ``claim``; true where the data refute it.

    Parameters
    ----------
    claim : the curve that was tested
    p_value : while the claim holds, it is at most p with probability at most p, for any law of the data
    confidence : the claim is refuted where the p-value is at most 1 - confidence
    at : type I error at which the data contradict the claim most; None for counts
    threshold : score at or above which the deciding test rejects; None for counts
    assumptions : statements under which the p-value is valid

    Examples
    --------
    >>> import tradeoff as to
    >>> refutation = to.audits.one_run(correct=90, guesses=100, canaries=1000).refutes(to.PureDP(1.0))
    >>> bool(refutation), refutation.p_value < 1e-3
    (True, True)
    """

    claim: TradeOff
    p_value: float
    confidence: float
    at: float | None = None
    threshold: float | None = None
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        operand(self.claim)
        number("p_value", self.p_value, 0, 1)
        object.__setattr__(self, "confidence", check_confidence(self.confidence))

    def __bool__(self) -> bool:
        return bool(self.p_value <= error_probability(self.confidence))

    def grid(self) -> TextTable:
        given = {"type I error tested": self.at, "scores rejected above": self.threshold}
        where = [(name, f"{value:.4g}") for name, value in given.items() if value is not None]
        rows = [("p-value", decimal(self.p_value, ".4g", up=True)), *where]
        verdict = "refuted" if self else "not refuted"
        head = f"f >= {self.claim!r} is {verdict} at confidence {exactly(self.confidence)}"
        return TextTable(rows, head=head, notes=[f"assuming that {each}" for each in self.assumptions])


def tabulate_limits(
    head: str, limits: dict[str, float], notes: Iterable[str], exchanged: Callable[[], float], remedy: str
) -> TextTable:
    """Return the table of an audit; if it shows no loss, add the mu that exchanged data would show."""
    rows = [
        (f"  {name} ≥ {decimal(least, '.4g', up=False)}" if least > 0 else f"  {name}: nothing shown",)
        for name, least in limits.items()
    ]
    notes = list(notes)
    if not any(least > 0 for least in limits.values()):
        notes.append("no privacy loss is shown: each bound is what any mechanism has")
        if (mu := exchanged()) > 0:
            notes.append(f"exchanged they show μ ≥ {decimal(mu, '.4g', up=False)}: {remedy}")
    return TextTable(rows, head=head, notes=notes)


def claimed(claim: Any) -> TradeOff:
    """Return the curve of a claim; of a plan or a mechanism its guarantee for both orders."""
    for name in ("guarantee", "curve"):
        result = None if isinstance(claim, TradeOff | type) else getattr(claim, name, None)
        if result is not None:
            guarantee = operand(result if isinstance(result, TradeOff) else result())
            guarantee.require_numbers()
            return guarantee.symmetrise(assume="either-order")
    curve = operand(claim)
    curve.require_numbers()
    return curve
