"""The ledger itself: the protocol of a filter, each grant one transaction on disk."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Self

from tradeoff.core.curve import TradeOff
from tradeoff.errors import KindError, LedgerError
from tradeoff.filters.base import Filter
from tradeoff.filters.ledger.entries import GENESIS, Entry, chain, rebuilt
from tradeoff.filters.ledger.store import Store, all_rows, append, check, last_rows


class Ledger:
    """A filter on disk: processes that share it can never overspend together, and no crash undoes a grant.

    Parameters
    ----------
    path
        File made by ``Ledger.create``.
    wait
        Seconds to wait for other processes before giving up, in [0, inf).

    Raises
    ------
    LedgerError
        If there is no such file, it cannot be opened, is no ledger, is corrupt, or was written by a later version.

    Notes
    -----
    ``spend`` is one transaction that is on disk before it returns. A process killed before that was granted nothing; killed
    after, its grant stays. In between the entry may be there though nobody learned of the grant: paid and not used.

    Every entry carries the hash of the one before. Who can write the file can also write a new chain, so keep the ``head`` where
    others cannot write and give it to ``verify``. A ledger lives on a local disk: SQLite's write-ahead log needs shared memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tradeoff.filters import GDPFilter, Ledger
    >>> from tradeoff.mechanisms import Gaussian
    >>> path = Path(tempfile.mkdtemp()) / "budget.ledger"
    >>> ledger = Ledger.create(path, GDPFilter(1))
    >>> entry = ledger.spend(Gaussian(noise_multiplier=2))
    >>> Ledger(path).steps, ledger.would_exceed(Gaussian(noise_multiplier=1)), ledger.verify() == entry.hash
    (1, True, True)
    """

    def __init__(self, path: str | os.PathLike[str], *, wait: float = 60.0) -> None:
        self._store = Store(path, wait)
        self.last  # noqa: B018 - a file that cannot be read is refused now

    @classmethod
    def create(cls, path: str | os.PathLike[str], filter: Filter) -> Self:  # noqa: A002 - the name of the thing
        """Put a filter on disk.

        Parameters
        ----------
        path
            A file that does not exist yet.
        filter
            The filter, unspent.

        Returns
        -------
        Ledger
            The ledger that takes its place.

        Raises
        ------
        LedgerError
            If the file exists or cannot be made; nothing is left behind.
        KindError
            If ``filter`` is no filter, or has granted steps already: the ledger would not know them.
        """
        if not isinstance(filter, Filter) or filter.steps:
            raise KindError(f"{filter!r} is no unspent filter; a ledger starts with one, such as GDPFilter(1)")
        Store(path).create(Entry.following(None, None, filter).row())
        return cls(path)

    # The protocol of a filter.

    def would_exceed(self, step: Any) -> bool:
        """Whether ``spend(step)`` would be refused now; another process may be faster."""
        return self.filter.would_exceed(step)

    def spend(self, step: Any) -> Entry:
        """Grant a step and record it, or refuse it and record nothing.

        Parameters
        ----------
        step
            Whatever the filter takes: a curve, a mechanism, a plan, an ex-post loss.

        Returns
        -------
        Entry
            The entry, on disk; its ``hash`` is the new head.

        Raises
        ------
        BudgetExceeded
            If the step does not fit.
        KindError
            If the step may not enter a filter of this kind at all.
        LedgerError
            If the file cannot be read or written; nothing is granted.
        """
        with self._named(), self._store.writing() as db:
            last = _last(db)
            filter_ = rebuilt(last)
            filter_.spend(step)
            entry = Entry.following(last, step, filter_)
            append(db, entry.row())
        return entry

    @property
    def filter(self) -> Filter:
        """The filter as it is now, in memory; spending from it does not touch the ledger."""
        return rebuilt(self.last)

    @property
    def spent(self) -> Any:
        """What the granted steps used, rounded up."""
        return self.filter.spent

    @property
    def remaining(self) -> Any:
        """What one more step may use, rounded down."""
        return self.filter.remaining

    @property
    def budget(self) -> Any:
        """What there was to spend."""
        return self.filter.budget

    @property
    def steps(self) -> int:
        """How many steps were granted."""
        return self.last.step

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction, for every pair of neighbours in both orders: a lower bound."""
        return self.filter.guarantee()

    # What only a ledger has.

    @property
    def last(self) -> Entry:
        """The last entry, checked against its hash."""
        with self._named(), self._store.reading() as db:
            return _last(db)

    @property
    def head(self) -> str:
        """Hash of the last entry, which seals all entries before."""
        return self.last.hash

    def entries(self) -> list[Entry]:
        """Return all entries, the first one first, with the chain checked."""
        with self._named(), self._store.reading() as db:
            return list(chain(all_rows(db)))

    def verify(self, head: str | None = None) -> str:
        """Check every entry, and the file that holds them.

        Parameters
        ----------
        head
            A head known from before; without it entries cut off at the end go unnoticed.

        Returns
        -------
        str
            The head now.

        Raises
        ------
        LedgerError
            If an entry was edited, moved or taken out; if the file is corrupt; or if no entry carries the known head.
        """
        wanted, found = head.strip().lower() if head is not None else None, GENESIS
        with self._named(), self._store.reading() as db:
            check(db)
            known = wanted is None
            for entry in chain(all_rows(db)):
                found, known = entry.hash, known or entry.hash == wanted
        if found == GENESIS:
            raise LedgerError(f"{self._store.path}: has no entries, not even the first one")
        if not known:
            raise LedgerError(f"{self._store.path}: no entry carries the head {head}: the ledger was cut off or written anew after it")
        return found

    def to_json(self) -> str:
        """Return all entries as a JSON array of objects."""
        return json.dumps([asdict(entry) for entry in self.entries()], indent=2, allow_nan=False)

    def to_csv(self) -> str:
        """Return all entries as CSV with a header; tables inside an entry are JSON texts."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        rows = [entry.row() for entry in self.entries()]
        writer.writerows([rows[0]._fields, *rows])
        return text.getvalue()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the file in errors that do not."""
        try:
            yield
        except LedgerError as error:
            name = str(self._store.path)
            if str(error).startswith(name):
                raise
            raise LedgerError(f"{name}: {error}") from error

    def __repr__(self) -> str:
        return f"Ledger({str(self._store.path)!r}): {self.filter!r}"


def _last(db: sqlite3.Connection) -> Entry:
    """Return the last entry, checked against its own hash: what was edited is not built upon."""
    rows = last_rows(db)
    if not rows:
        raise LedgerError("has no entries, not even the first one")
    return Entry.read(rows[0], rows[1].hash if len(rows) > 1 else GENESIS)
