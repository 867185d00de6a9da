"""One line of a ledger, and the chain of hashes that ties it to all lines before."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from tradeoff.errors import DomainError, LedgerError
from tradeoff.filters.base import Filter
from tradeoff.filters.expost import ExPost
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan

GENESIS = "0" * 64
"""What stands for the hash before the first entry."""


class Row(NamedTuple):
    """An entry as it is stored: JSON texts, and the hash in hexadecimal digits."""

    step: int
    time: str
    mechanism: str
    totals: str
    state: str
    hash: str


@dataclass(frozen=True)
class Entry:
    """One granted step; the first entry, step 0, holds the unspent filter.

    Parameters
    ----------
    step
        Number of the grant, from 1.
    time
        When it was granted: UTC, ISO 8601.
    mechanism
        What was granted: ``kind`` and parameters of a mechanism, or a curve, a plan or an ex-post loss. None in step 0.
    totals
        ``budget``, ``spent`` and ``remaining`` after the grant, in the units of the filter.
    state
        State of the filter after the grant, from which it is rebuilt.
    hash
        SHA-256 of the previous entry's hash and of everything above; the last one is the head of the ledger.
    """

    step: int
    time: str
    mechanism: dict[str, Any] | None
    totals: dict[str, Any]
    state: dict[str, Any]
    hash: str

    @classmethod
    def following(cls, previous: Self | None, step: object, filter_: Filter) -> Self:
        """Return the entry for a step that the filter has just granted, or the first one for no step."""
        number = 0 if previous is None else previous.step + 1
        time = datetime.now(UTC).isoformat(timespec="microseconds")
        mechanism = None if previous is None else described(step)
        found = cls(number, time, mechanism, totals(filter_), filter_.state(), "")
        return replace(found, hash=_hash(previous.hash if previous else GENESIS, found.row()))

    def row(self) -> Row:
        """Return the entry as it is stored."""
        return Row(self.step, self.time, _text(self.mechanism), _text(self.totals), _text(self.state), self.hash)

    @classmethod
    def read(cls, row: Row, previous: str) -> Self:
        """Return the entry of a stored row that carries the right hash.

        Raises
        ------
        LedgerError
            If the row was edited, or does not follow the entry with the hash ``previous``.
        """
        if not all(map(isinstance, row, (int, str, str, str, str, str))) or row.hash != _hash(previous, row):
            raise LedgerError(f"entry {row.step!r} does not carry the hash of its content and of the entry before: the ledger was edited")
        try:
            return cls(row.step, row.time, json.loads(row.mechanism), json.loads(row.totals), json.loads(row.state), row.hash)
        except ValueError as error:
            raise LedgerError(f"entry {row.step} is no JSON: {error}") from error


def chain(rows: Iterable[Row]) -> Iterator[Entry]:
    """Go through all entries, each checked against the one before: hash, number, and the budget it speaks of.

    Raises
    ------
    LedgerError
        At the first entry that is not as it was written.
    """
    previous, budget = GENESIS, None
    for number, row in enumerate(rows):
        entry = Entry.read(row, previous)
        told = rebuilt(entry)
        if entry.step != number or told.steps != number or totals(told) != entry.totals or budget not in (None, told.parameters):
            raise LedgerError(f"entry {entry.step} is out of place: its number, totals or budget are not those of its chain")
        previous, budget = entry.hash, told.parameters
        yield entry


def rebuilt(entry: Entry) -> Filter:
    """Return the filter as it was after the entry."""
    try:
        return Filter.from_state(entry.state)
    except DomainError as error:
        raise LedgerError(f"entry {entry.step} holds no filter this version knows: {error}") from error


def described(step: object) -> dict[str, Any]:
    """Return plain data that says what a step was.

    Examples
    --------
    >>> from tradeoff.mechanisms import Gaussian
    >>> described(Gaussian(noise_multiplier=10))
    {'kind': 'gaussian', 'noise_multiplier': 10.0}
    """
    match step:
        case Plan():
            counted = [{**described(mechanism), "count": n} for mechanism, n in step.mechanisms.items()]
            return {"adjacency": step.adjacency, "mechanism": counted}
        case Mechanism() if is_dataclass(step):
            return {"kind": step.kind, **{name: _plain(value) for name, value in asdict(step).items()}}
        case ExPost():
            return {"ex-post": asdict(step)}
    return {"curve": repr(step)}


def totals(filter_: Filter) -> dict[str, Any]:
    """Return what a filter had, spent and has left, as plain data."""
    return {name: _plain(getattr(filter_, name)) for name in ("budget", "spent", "remaining")}


def _plain(value: Any) -> Any:
    """Return JSON data: named tuples as tables, and what JSON has no number for as text."""
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, int | str | None) else repr(value)


def _text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _hash(previous: str, row: Row) -> str:
    # A JSON array of texts: no two different rows have the same bytes.
    return hashlib.sha256(_text([previous, *row[:-1]]).encode()).hexdigest()
