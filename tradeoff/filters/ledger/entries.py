"""One line of a ledger, and the chain of hashes that ties it to all lines before."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np

from tradeoff.errors import DomainError, LedgerError
from tradeoff.filters.base import Filter
from tradeoff.filters.expost import ExPost
from tradeoff.intervals.rounding import Array
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan, plain

GENESIS = "0" * 64  # what stands for the hash before the first entry

_TOTALS = ("budget", "spent", "remaining")  # what an entry shows of its filter

# Difference of stored and found totals, over the budget, put down to the libm: a few units, and room.
_LIBM = 2.0**-40


class Flaw(LedgerError):  # noqa: N818 - it becomes a LedgerError once the file is named
    """What is wrong with a ledger, told by those who do not know its file; who opened it names it."""


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
        What was granted: ``kind`` and parameters of a mechanism, or a curve, a plan or an ex-post loss. In
        step 0 the random number that tells this ledger from all others, under ``ledger``.
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
        mechanism = {"ledger": secrets.token_hex(16)} if previous is None else described(step)
        found = cls(number, time, mechanism, totals(filter_), filter_.state(), "")
        return replace(found, hash=found.digest(previous.hash if previous else GENESIS))

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return the entry of a stored line; there is only one way to write it."""
        try:
            entry = cls(*json.loads(line))
            whole = entry.line() == line
        except (ValueError, TypeError, RecursionError):
            whole = False
        if not whole:
            raise Flaw("a line is no entry as it was written: the ledger was damaged or edited")
        return entry

    def line(self) -> bytes:
        """Return the entry as it is stored: a JSON array on one line."""
        return f"{_text(list(vars(self).values()))}\n".encode()

    def row(self) -> tuple[Any, ...]:
        """Return the entry as it is hashed: its tables as JSON texts."""
        return self.step, self.time, *map(_text, (self.mechanism, self.totals, self.state)), self.hash

    def digest(self, previous: str) -> str:
        """Return the hash that it has after the entry with the hash ``previous``."""
        # A JSON array of texts: no two different entries have the same bytes.
        return hashlib.sha256(_text([previous, *self.row()[:-1]]).encode()).hexdigest()

    def check(self, previous: str) -> None:
        """Refuse an entry that was edited, or does not follow the one with the hash ``previous``."""
        typed = isinstance(self.step, int) and isinstance(self.time, str)
        if not typed or self.hash != self.digest(previous):
            raise Flaw(
                f"entry {self.step!r} does not carry the hash of its content and of the entry before: "
                "the ledger was edited"
            )


def chain(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Go through all entries, each checked against the one before: hash, number, budget, growing sums."""
    previous, before = GENESIS, None
    for number, entry in enumerate(entries):
        entry.check(previous)
        told = rebuilt(entry)
        if not (
            entry.step == number == told.steps
            and _near(entry.totals, totals(told))
            and _follows(told, before)
        ):
            raise Flaw(
                f"entry {entry.step} is out of place: its number, totals or budget are not those of its chain"
            )
        previous, before = entry.hash, told
        yield entry
    if before is None:
        raise Flaw("has no entries, not even the first one")


def _follows(filter_: Filter, before: Filter | None) -> bool:
    """Whether a filter has the kind and the budget of the one before, and has exactly spent no less."""
    if before is None:
        return True
    if (filter_.kind, filter_.parameters) != (before.kind, before.parameters):
        return False
    # fsum rounds the exact sum once, so its sign is right.
    pairs = zip(before.totals, filter_.totals, strict=True)
    return all(math.fsum((*new.partials, *(-x for x in old.partials))) >= 0 for old, new in pairs)


def _near(stored: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether stored totals are those found, up to what the logarithms of another machine may differ by.

    It hides no grant: totals are only shown. What is granted is decided by the state, whose sums and number
    are compared exactly.
    """
    try:
        mine, its = _amounts(stored), _amounts(found)
    except (KeyError, OverflowError, TypeError, ValueError):
        return False
    room = _LIBM * np.abs(its[0])
    return len(stored) == 3 and mine.shape == its.shape and np.allclose(mine, its, rtol=0.0, atol=room)


def _amounts(told: dict[str, Any]) -> Array:
    """Return budget, spent and remaining, a row each, and a column for each of their parts."""
    rows = (told[name] for name in _TOTALS)
    return np.array([list(row.values()) if isinstance(row, dict) else row for row in rows], dtype=float)


def rebuilt(entry: Entry) -> Filter:
    """Return the filter as it was after the entry."""
    try:
        return Filter.from_state(entry.state)
    except (DomainError, OverflowError) as error:
        raise Flaw(f"entry {entry.step} holds no filter this version knows: {error}") from error


def described(step: object) -> dict[str, Any]:
    """Return plain data that says what a step was.

    Examples
    --------
    >>> from tradeoff.mechanisms import Gaussian
    >>> described(Gaussian(noise_multiplier=10))
    {'kind': 'gaussian', 'noise_multiplier': 10.0}
    """
    match step:
        case Plan() | Mechanism():
            return dict(plain(step, repr))
        case ExPost():
            return {"ex-post": asdict(step)}
    return {"curve": repr(step)}


def totals(filter_: Filter) -> dict[str, Any]:
    """Return what a filter had, spent and has left, as plain data."""
    return {name: plain(getattr(filter_, name), repr) for name in _TOTALS}


def _text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)
