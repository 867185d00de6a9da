"""One method beside the exact bounds: its answers, how far they are off, and whether on the safe side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tradeoff.display import exactly, rounded
from tradeoff.errors import TradeOffError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import Array
from tradeoff.report.answers import ASKED, Answer, Answers, finite
from tradeoff.report.methods import Claim

# Verdicts: certainly unsafe, certainly not, not told by the exact bounds; unsafe where nothing was asked.
UNDER, SAFE, WITHIN = "under-reports", "safe", "within the bounds"
ELSEWHERE = "under-reports elsewhere"
DECLINED = "declined"  # verdict of a method that does not apply


def under(cell: str) -> bool:
    """Whether a verdict says that less loss is reported than there is."""
    return cell.startswith(UNDER)


# The 129 type I errors where each method is looked at: by hundredths, and down to where tests are sharp.
ALPHAS = np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), np.geomspace(1e-6, 0.49, 28)]))

Looked = Mapping[str, Sequence[tuple[float, Answer]]]  # what a method says, and what is exact


@dataclass(frozen=True)
class Entry:
    """One answer of one method, with its error to the middle of the exact bounds, or to a lone lower one.

    It ``under_reports`` where it claims more privacy than both exact bounds: epsilon or delta too small, beta
    too large; it is ``undecided`` where it lies between them and no theorem tells.
    """

    asked: float
    value: float
    error: float
    under_reports: bool
    undecided: bool = False

    def as_json(self, answered: str) -> dict[str, Any]:
        """Return plain data; no answer is null."""
        return {
            ASKED[answered]: finite(self.asked),
            "value": _plain(self.value),
            "error": _plain(self.error),
            "under_reports": self.under_reports,
            "undecided": self.undecided,
        }


@dataclass(frozen=True)
class Unsafe:
    """Where a method claims more privacy than there is, and by how much at least.

    The ``error`` is the answer less the exact bound it passes: positive for beta, negative for the others.
    """

    answered: str
    error: float
    asked: float

    def __str__(self) -> str:
        least = f"{'-' if self.error < 0 else '+'}{rounded(abs(self.error), 'lower', 2)}"
        return f"{self.answered} {least} at {ASKED[self.answered]} = {exactly(self.asked)}"

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        where = {ASKED[self.answered]: finite(self.asked)}
        return {"answered": self.answered, **where, "error": finite(self.error)}


@dataclass(frozen=True)
class Row:
    """What one method answers, or why it does not.

    ``sup_error`` is the signed difference beta - f of largest size among 129 type I errors, at
    ``sup_error_at``: positive on the unsafe side. It is taken to the middle of the exact bounds, and says
    nothing between those type I errors. ``unsafe`` has for epsilon, delta and beta the largest error on the
    unsafe side, among the questions and for beta those type I errors too; empty where none is certain.
    """

    method: str  # its name in the registry or in the mapping given
    claim: Claim | None  # what it answers with; None where it declined
    declined: str = ""  # why, if it did
    entries: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)  # by what is answered
    sup_error: float = float("nan")
    sup_error_at: float = float("nan")
    unsafe: tuple[Unsafe, ...] = ()
    proved: bool = False  # no answer between the exact bounds, or a theorem says that such answers are safe

    @property
    def under_reports(self) -> bool:
        """Whether any answer, or the curve at any type I error looked at, is certainly on the unsafe side."""
        return bool(self.unsafe)

    @property
    def verdict(self) -> str:
        """One of "under-reports" (elsewhere), "safe", "within the bounds" (they do not tell), "declined"."""
        if self.claim is None:
            return DECLINED
        if self.unsafe:
            asked = (entry for entries in self.entries.values() for entry in entries)
            return UNDER if any(entry.under_reports for entry in asked) else ELSEWHERE
        return f"{SAFE if self.proved else WITHIN} ({self.claim.kind})"

    @property
    def worst(self) -> tuple[float, float] | None:
        """Where beta is off most, and by how much; None where nothing was said."""
        return (self.sup_error_at, self.sup_error) if np.isfinite(self.sup_error) else None

    def as_json(self) -> dict[str, Any]:
        """Return plain data; infinity is the string ``"inf"``, no answer is null."""
        if self.claim is None:
            return {"method": self.method, "declined": self.declined}
        return {
            "method": self.method,
            "name": self.claim.name,
            "kind": self.claim.kind,
            "source": self.claim.source,
            **{name: [entry.as_json(name) for entry in self.entries[name]] for name in ASKED},
            "sup_error": _plain(self.sup_error),
            "sup_error_at": _plain(self.sup_error_at),
            "under_reports": self.under_reports,
            "verdict": self.verdict,
            "unsafe": [each.as_json() for each in self.unsafe],
        }


def row_of(name: str, claim: Claim | str, exact: Answers, on_grid: Bounds) -> Row:
    """Hold what a method claims, or the reason why it claims nothing, against the exact answers."""
    if isinstance(claim, str):
        return Row(name, None, claim)
    entries = {answered: _entries(claim, answered, getattr(exact, answered)) for answered in ASKED}
    if not exact.exact:  # a method may be closer to the mechanism than the bound is
        entries = {name: tuple(map(_open, each)) for name, each in entries.items()}
    looked = {
        answered: [(e.value, a) for e, a in zip(entries[answered], getattr(exact, answered), strict=True)]
        for answered in ASKED
    }
    beta = _value(claim.beta, ALPHAS)
    if beta is not None:
        looked["beta"] += [(v, Answer(*each)) for v, *each in zip(beta, ALPHAS, *on_grid, strict=True)]
    proved = claim.kind == "bound" or _beyond(looked)
    unsafe = _unsafe(looked) if exact.exact else ()
    return Row(name, claim, "", entries, *_largest(beta, on_grid), unsafe, proved)


def _is_safe(answered: str, value: float, exact: Answer) -> bool:
    return value <= exact.lower if answered == "beta" else value >= exact.upper


def _is_unsafe(answered: str, value: float, exact: Answer) -> bool:
    return value > exact.upper if answered == "beta" else value < exact.lower


def _unsafe(looked: Looked) -> tuple[Unsafe, ...]:
    """Return the largest error past the exact bound on the unsafe side, for each kind of answer."""
    result = {
        answered: [
            Unsafe(answered, float(value - (a.upper if answered == "beta" else a.lower)), float(a.asked))
            for value, a in pairs
            if _is_unsafe(answered, value, a)
        ]
        for answered, pairs in looked.items()
    }
    return tuple(max(each, key=lambda one: abs(one.error)) for each in result.values() if each)


def _beyond(looked: Looked) -> bool:
    """Whether every answer is past the exact bound on the safe side."""
    pairs = ((answered, *pair) for answered, result in looked.items() for pair in result)
    return all(np.isnan(value) or _is_safe(answered, value, a) for answered, value, a in pairs)


def _entries(claim: Claim, answered: str, exact: Sequence[Answer]) -> tuple[Entry, ...]:
    """Ask all questions of a kind at once, which costs least, or one by one where some have no answer."""
    if not exact:
        return ()
    values = _value(getattr(claim, answered), np.array([each.asked for each in exact]))
    if values is None and len(exact) > 1:
        return tuple(entry for each in exact for entry in _entries(claim, answered, [each]))
    known = [np.nan] if values is None else values
    return tuple(_entry(claim, answered, float(v), a) for v, a in zip(known, exact, strict=True))


def _entry(claim: Claim, answered: str, value: float, exact: Answer) -> Entry:
    if np.isnan(value):
        return Entry(exact.asked, float("nan"), float("nan"), under_reports=False)
    result = max(value, 0.0)  # a loss below 0 is reported as 0, as the exact one is
    unsafe = _is_unsafe(answered, result, exact)
    open_ = not unsafe and not _is_safe(answered, result, exact) and claim.kind != "bound"
    return Entry(exact.asked, result, _error(result, exact), unsafe, open_)


def _open(entry: Entry) -> Entry:
    """Return an entry that a bound on the mechanism cannot refute."""
    return replace(entry, under_reports=False, undecided=entry.undecided or entry.under_reports)


def _error(found: float, exact: Answer) -> float:
    if found == exact.lower == exact.upper:  # infinite ones too
        return 0.0
    return found - (exact.lower if np.isinf(exact.upper) else (exact.lower + exact.upper) / 2)


def _value(answer: Any, at: Array) -> Array | None:
    """Ask a method; None where it has no answer."""
    if answer is None:
        return None
    try:
        return np.atleast_1d(np.asarray(answer(at), dtype=float))
    except TradeOffError:
        return None


def _largest(value: Array | None, on_grid: Bounds) -> tuple[float, float]:
    """Return the signed error of beta of largest size, and where."""
    error = np.full(1, np.nan) if value is None else value - (on_grid.lower + on_grid.upper) / 2
    if np.isnan(error).all():
        return float("nan"), float("nan")
    k = int(np.nanargmax(np.abs(error)))
    return float(error[k]), float(ALPHAS[k])


def _plain(value: float) -> float | str | None:
    return None if np.isnan(value) else finite(value)
