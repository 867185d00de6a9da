"""The ledger itself: the protocol of a filter, each grant one transaction on disk."""

from __future__ import annotations

import csv
import io
import json
import os
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, Any, Self

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError, KindError, LedgerError, shown
from tradeoff.filters.base import Filter
from tradeoff.filters.ledger.entries import Entry, Flaw, chain, rebuilt
from tradeoff.filters.ledger.store import Opened, Store, old_entries

_QUICK = 0.02  # seconds of arithmetic that may keep others waiting: about that of a few grants on a slow disk

# What is said of a file that is not sealed with its last entry.
_UNSEALED = "its last entry is not the one its first line speaks of: the file was damaged or edited"


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
        If there is no such file, it cannot be opened, is no ledger, is damaged, or was written by another
        version.

    Notes
    -----
    ``spend`` is one transaction that is on disk before it returns. A process killed before that was granted
    nothing; killed after, its grant stays. In between the entry may be there though nobody learned of the
    grant: paid and not used.

    Every entry carries the hash of the one before. Who can write the file can also write a new chain, so keep
    the ``head`` where others cannot write and give it to ``verify``, or to ``spend``. A ledger is one file,
    whatever its names, on a local disk of a POSIX system; reading it needs no permission to write. A copy of
    the file is a second budget.

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
        """Put a filter on disk, and return the ledger that takes its place.

        Parameters
        ----------
        path
            A file that does not exist yet.
        filter
            The filter, unspent.

        Raises
        ------
        LedgerError
            If the file exists or cannot be made; nothing is left behind.
        KindError
            If ``filter`` is no filter, or has granted steps already: the ledger would not know them.
        """
        if not isinstance(filter, Filter) or filter.steps:
            raise KindError(
                f"{shown(filter)} is no unspent filter; a ledger starts with one, such as GDPFilter(1)"
            )
        filter.known()
        Store(path).create([Entry.following(None, None, filter)])
        return cls(path)

    @classmethod
    def convert(cls, old: str | os.PathLike[str], path: str | os.PathLike[str]) -> Self:
        """Write a ledger of the first format, an SQLite file, as a new file: the same entries, the same head.

        Parameters
        ----------
        old
            The SQLite file, with the files ``-wal`` and ``-shm`` beside it that belong to it. Nobody may
            spend from it any more.
        path
            A file that does not exist yet.

        Raises
        ------
        LedgerError
            If the old ledger is not as it was written, or the new file exists or cannot be made.
        """
        with Store(old).told():
            Store(path).create(chain(old_entries(Path(old))))
        return cls(path)

    # The protocol of a filter.

    def would_exceed(self, step: Any) -> bool:
        """Whether ``spend(step)`` would be refused now; another process may be faster."""
        with _finite(step):
            return self.filter.would_exceed(step)

    def spend(self, step: Any, *, head: str | None = None) -> Entry:
        """Grant a step and record it, or refuse it and record nothing.

        Parameters
        ----------
        step
            Whatever the filter takes: a curve, a mechanism, a plan, an ex-post loss.
        head
            The head that the ledger must have: a file that was put back to an earlier state, or spent from by
            others, is refused.

        Returns
        -------
        Entry
            The entry, on disk; its ``hash`` is the new head.

        Raises
        ------
        BudgetExceeded
            If the step does not fit.
        KindError, SymbolError, PlanError
            If the step may not enter a filter of this kind at all, as for the filter.
        LedgerError
            If the file cannot be read or written, or has another head; nothing is granted.

        Notes
        -----
        The cost of a step may take seconds, so it is computed before the file is locked, and anew if others
        were faster. Within the lock it is computed only where that was quick, or where ``wait`` seconds of
        trying have gone by.
        """
        deadline = time.monotonic() + self._store.wait
        while True:
            begun, last = time.monotonic(), self.last
            with self._store.told():
                entry = _granted(last, step, head)
            ready = time.monotonic()
            with self._store.writing() as opened:
                now = _last(opened)
                alone = now != last and (ready - begun < _QUICK or ready > deadline)
                if alone:  # while the others wait
                    entry = _granted(now, step, head)
                if alone or now == last:
                    opened.append(entry)
                    return entry

    @property
    def filter(self) -> Filter:
        """The filter as it is now, in memory; spending from it does not touch the ledger."""
        with self._store.told():
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
        with self._store.reading() as opened:
            return _last(opened)

    @property
    def identity(self) -> str:
        """Hash of the first entry, which holds a random number: that of this ledger and its copies alone."""
        with self._store.reading() as opened:
            return next(chain(opened.entries())).hash

    @property
    def head(self) -> str:
        """Hash of the last entry, which seals all entries before."""
        return self.last.hash

    def entries(self) -> list[Entry]:
        """Return all entries, the first one first, with the chain checked."""
        return list(self._chain())

    def verify(self, head: str | None = None) -> str:
        """Check every entry, and the file that holds them; return the head now.

        Parameters
        ----------
        head
            A head known from before; without it a file put back to an earlier state goes unnoticed.

        Raises
        ------
        LedgerError
            If an entry was edited, moved, cut off or taken out; if the file is damaged; or if no entry
            carries the known head.
        """
        wanted = None if head is None else _cleaned(head)
        known, found = wanted is None, ""
        for entry in self._chain():
            found, known = entry.hash, known or entry.hash == wanted
        if not known:
            raise LedgerError(
                f"{self._store.path}: no entry carries the head {head}: "
                "the ledger was cut off or written anew after it"
            )
        return found

    def backup(self, path: str | os.PathLike[str]) -> str:
        """Write a copy of the ledger as it is now, while others go on spending; return its head.

        All of its entries are checked. The copy is a second budget: never spend from both.

        Parameters
        ----------
        path
            A file that does not exist yet.

        Raises
        ------
        LedgerError
            If an entry is not as it was written, or the new file exists or cannot be made.
        """
        Store(path).create(self._chain())
        return type(self)(path).head

    def to_json(self, file: IO[str] | None = None) -> str:
        """Return all entries as a JSON array of objects, or write them to an open text file, one by one."""
        text = io.StringIO()
        out = text if file is None else file
        before = "[\n"
        for entry in self._chain():
            out.write(before + textwrap.indent(json.dumps(asdict(entry), indent=2, allow_nan=False), "  "))
            before = ",\n"
        out.write("\n]")
        return text.getvalue()

    def to_csv(self, file: IO[str] | None = None) -> str:
        """Return all entries as CSV with a header, or write them to an open file; tables as JSON texts."""
        text = io.StringIO()
        writer = csv.writer(text if file is None else file, lineterminator="\n")
        writer.writerow(each.name for each in fields(Entry))
        writer.writerows(entry.row() for entry in self._chain())
        return text.getvalue()

    def _chain(self) -> Iterator[Entry]:
        """Go through all entries, and see that the last one is the one the file is sealed with."""
        found = ""
        with self._store.reading() as opened:
            for entry in chain(opened.entries()):
                found = entry.hash
                yield entry
            if found != opened.seal.head:
                raise Flaw(_UNSEALED)

    def __repr__(self) -> str:
        return f"Ledger({str(self._store.path)!r}): {self.filter!r}"


def _last(opened: Opened) -> Entry:
    """Return the last entry, checked against its own hash and the seal: what was edited is not built upon."""
    entry, before = opened.last()
    entry.check(before)
    if entry.hash != opened.seal.head:
        raise Flaw(_UNSEALED)
    return entry


def _granted(last: Entry, step: Any, head: str | None) -> Entry:
    """Return the entry that follows, if the step fits and the head is the one that was asked for."""
    if head is not None and last.hash != _cleaned(head):
        raise Flaw(
            f"its head is {last.hash}, and not {head}: it was spent from or put back; nothing was granted"
        )
    filter_ = rebuilt(last)
    with _finite(step):
        filter_.spend(step)
    return Entry.following(last, step, filter_)


@contextmanager
def _finite(step: Any) -> Iterator[None]:
    """Say in plain words that a step holds numbers beyond the floats, or could not read its own files."""
    try:
        yield
    except OverflowError as error:
        raise DomainError(
            f"a {type(step).__name__} holds a number beyond the floats, 1.8e308; nothing was granted: "
            "give smaller ones"
        ) from error
    except TimeoutError:
        raise  # of a caller's own clock
    except OSError as error:
        found = f"{type(error).__name__}: {error}"
        raise DomainError(f"a {type(step).__name__} raised {found}; nothing was granted") from error


def _cleaned(head: str) -> str:
    return str(head).strip().lower()
