"""The ledger: a filter in an SQLite file that processes share, each grant one transaction.

It uses SQLite's rollback journal and not a write-ahead log: once ``spend`` has returned, the entry is in the
file itself, and not in a second file that a copy could leave behind. ``synchronous=EXTRA`` also flushes the
folder once the journal is deleted, without which a power failure could bring it back and undo a grant.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, astuple, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.errors import KindError, LedgerError, TradeOffError, file_name, shown
from tradeoff.filters.base import Filter
from tradeoff.filters.budgets import ExPost
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan, plain
from tradeoff.sweeps import Table

# Marks of the SQLite file; the user_version is that of its table and entries.
_MARKS = {"application_id": 0x74724F66, "user_version": 4}


@dataclass(frozen=True)
class Entry:
    """One granted step; the first entry, step 0, holds the unspent filter.

    Parameters
    ----------
    step : number of the grant, from 1
    time : time of the grant: UTC, ISO 8601
    mechanism
        The granted step: ``kind`` and parameters of a mechanism, or a curve, a plan or an ex-post loss; in
        step 0 a random number that identifies this ledger, under ``ledger``.
    totals : ``budget``, ``spent`` and ``remaining`` after the grant, in the units of the filter
    state : state of the filter after the grant, from which it is rebuilt
    hash : SHA-256 of the previous entry's hash and of everything above as JSON; the last one is the head

    Examples
    --------
    >>> from tradeoff.filters import GDPFilter
    >>> entry = Entry.following(None, {"curve": "G_{0.5}"}, GDPFilter(1))
    >>> entry.name, entry.totals["budget"], len(entry.hash)
    ('curve G_{0.5}', 1.0, 64)
    """

    step: int
    time: str
    mechanism: dict[str, Any]
    totals: dict[str, Any]
    state: dict[str, Any]
    hash: str

    @classmethod
    def following(cls, previous: Self | None, mechanism: dict[str, Any], filter_: Filter) -> Self:
        """Return the entry of a step that the filter has just granted."""
        totals = {name: plain(getattr(filter_, name)) for name in ("budget", "spent", "remaining")}
        time = datetime.now(UTC).isoformat(timespec="microseconds")
        entry = cls(previous.step + 1 if previous else 0, time, mechanism, totals, filter_.state(), "")
        return replace(entry, hash=entry.digest(previous))

    @property
    def name(self) -> str:
        """The step as text, such as ``gaussian(noise_multiplier=10.0)``."""
        return _name(self.mechanism)

    def __repr__(self) -> str:
        return f"step {self.step}, {self.time}: {self.name}, head {self.hash[:12]}"

    def row(self) -> tuple[int, str, str]:
        """Return the step, all but the hash as a JSON list, and the hash."""
        return self.step, json.dumps(astuple(self)[:-1], separators=(",", ":"), allow_nan=False), self.hash

    def digest(self, previous: Self | None) -> str:
        """Return the hash of this entry after the previous one: of its hash, or 64 zeros, and of the JSON."""
        text = (previous.hash if previous else "0" * 64) + self.row()[1]
        return hashlib.sha256(text.encode()).hexdigest()


class Ledger:
    """A filter on disk: processes that share it can never overspend together, and no crash undoes a grant.

    ``spend`` is one transaction that is on disk before it returns. A process killed before that was granted
    nothing; killed after, its grant stays. In between the entry may be there although ``spend`` did not
    return: paid and not used. Every entry includes the hash of the one before. Anyone with write access to
    the file can also write a new chain, so keep the ``head`` where others cannot write and give it to
    ``verify``, or to ``spend``. Keep a ledger on a local disk. A copy of the file is a second budget.
    ``LedgerError`` is raised if the file is missing, cannot be opened, has a second hard link, or is not a
    ledger.

    Parameters
    ----------
    path : file made by ``Ledger.create``
    wait : seconds to wait for other processes before giving up, in [0, 1e6]

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
        self._path, self._wait = file_name(path).absolute(), number("wait", wait, 0, 1e6)
        self.last  # noqa: B018 - refuse a file that cannot be read

    @classmethod
    def create(cls, path: str | os.PathLike[str], filter: Filter) -> Self:  # noqa: A002 - the name of the thing
        """Create a ledger file for an unspent filter; the file must not exist yet."""
        if not isinstance(filter, Filter) or filter.steps:
            raise KindError(f"filter must be an unspent filter, such as GDPFilter(1), got {shown(filter)}")
        entry = Entry.following(None, {"ledger": secrets.token_hex(16)}, filter)
        with _new_file(file_name(path).absolute()) as db:
            db.executescript(
                "PRAGMA synchronous=EXTRA; BEGIN;"
                f"{''.join(f'PRAGMA {name}={value};' for name, value in _MARKS.items())}"
                "CREATE TABLE entries (step INTEGER PRIMARY KEY, entry TEXT NOT NULL, hash TEXT NOT NULL)"
            )
            db.execute("INSERT INTO entries VALUES (?, ?, ?)", entry.row())
        return cls(path)

    def would_exceed(self, step: Any) -> bool:
        """Return whether ``spend(step)`` would be refused now; another process may spend first."""
        return self.filter.would_exceed(step)

    def spend(self, step: Any, *, head: str | None = None) -> Entry:
        """Grant a step and record it, or refuse it as the filter does and record nothing.

        Parameters
        ----------
        step : any step of the filter: a curve, a mechanism, a plan, an ex-post loss
        head : the head that the ledger must have; otherwise nothing is granted

        Returns
        -------
        Entry
            The entry, on disk; its ``hash`` is the new head.
        """
        self.would_exceed(step)  # computes the cost, which is cached, before other processes have to wait
        with self._open(write=True) as db:
            last = _entries(db, 2)[-1]
            if head is not None and last.hash != head.strip().lower():
                raise LedgerError(f"head must be {head}, got {last.hash}; nothing was granted")
            filter_ = Filter.from_state(last.state)
            filter_.spend(step)
            data = {"ex-post": asdict(step)} if isinstance(step, ExPost) else {"curve": repr(step)}
            data = plain(step) if isinstance(step, Plan | Mechanism) else data
            entry = Entry.following(last, data, filter_)
            db.execute("INSERT INTO entries VALUES (?, ?, ?)", entry.row())
        return entry

    @property
    def filter(self) -> Filter:
        """The filter as it is now, in memory; spending from it does not touch the ledger."""
        return Filter.from_state(self.last.state)

    spent = property(lambda self: self.filter.spent, doc=Filter.spent.__doc__)
    remaining = property(lambda self: self.filter.remaining, doc=Filter.remaining.__doc__)
    budget = property(lambda self: self.filter.budget, doc=Filter.budget.__doc__)

    steps = property(lambda self: self.last.step, doc="Number of granted steps.")

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction, for every pair of neighbours in both orders: a lower bound."""
        return self.filter.guarantee()

    @property
    def last(self) -> Entry:
        """The last entry, checked against its hash."""
        with self._open() as db:
            return _entries(db, 2)[-1]

    @property
    def identity(self) -> str:
        """Hash of the first entry, which holds a random number; a ledger shares it with its copies alone."""
        return self.entries()[0].hash

    @property
    def head(self) -> str:
        """Hash of the last entry, which depends on all entries before."""
        return self.last.hash

    def entries(self) -> list[Entry]:
        """Return all entries, the first one first, with the chain checked."""
        with self._open() as db:
            return _entries(db, -1)

    def verify(self, head: str | None = None) -> str:
        """Check every entry and the file that holds them; return the head now.

        Without a head known from before, a file restored to an earlier state goes unnoticed.
        """
        with self._open() as db:
            (problem,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        if problem != "ok":
            raise LedgerError(f"{self._path}: the file is damaged: {problem}; restore a backup")
        hashes = [entry.hash for entry in self.entries()]
        if head is not None and head.strip().lower() not in hashes:
            reason = "entries were cut off or rewritten after it"
            raise LedgerError(f"{self._path}: no entry has the head {head}: {reason}")
        return hashes[-1]

    def backup(self, path: str | os.PathLike[str]) -> str:
        """Verify the ledger, copy it to a new file and return the copy's head; others may spend meanwhile.

        The copy is a second budget: never spend from both.
        """
        self.verify()
        with self._open() as db, _new_file(file_name(path).absolute()) as copy:
            db.backup(copy)
        return type(self)(path).head

    def to_json(self) -> str:
        """Return all entries as a JSON array of objects."""
        return json.dumps([asdict(entry) for entry in self.entries()], indent=2, allow_nan=False)

    def to_csv(self) -> str:
        """Return all entries as CSV with a header, a column for each number; states are in the JSON alone."""
        rows = []
        for entry in self.entries():
            row = {"step": entry.step, "time": entry.time, "mechanism": entry.name}
            for name, amount in entry.totals.items():  # such as ``spent``, or ``spent_rho``
                parts = amount if isinstance(amount, dict) else {"": amount}
                row |= {f"{name}_{part}".rstrip("_"): value for part, value in parts.items()}
            rows.append(row | {"hash": entry.hash})
        return Table(tuple(rows[0]), tuple(tuple(row.values()) for row in rows)).to_csv()

    def __repr__(self) -> str:
        return f"Ledger({str(self._path)!r}): {self.filter!r}"

    @contextmanager
    def _open(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file, anew each time as threads and forks share nothing, and commit if the block ends."""
        with _translate_errors(self._path):
            status = self._path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise LedgerError("a ledger must be a regular file")
            if status.st_nlink > 1:  # SQLite finds the journal by the name of the file
                raise LedgerError("a ledger must have one hard link, got several; remove all names but one")
            # Readers need to write only where a killed process left a journal to roll back.
            uri = f"{self._path.as_uri()}?mode={'rw' if os.access(self._path, os.W_OK) else 'ro'}"
            with closing(sqlite3.connect(uri, uri=True, timeout=self._wait, isolation_level=None)) as db:
                db.execute("PRAGMA synchronous = EXTRA")
                db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                if any(db.execute(f"PRAGMA {name}").fetchone() != (value,) for name, value in _MARKS.items()):
                    raise LedgerError("the file is not a ledger, or one of another version of tradeoff")
                yield db
                db.execute("COMMIT")  # closing without it rolls back


@contextmanager
def _new_file(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a new file, readable by its owner alone, for one transaction; remove it if the block fails."""
    with _translate_errors(path):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as db:
                yield db
                if db.in_transaction:
                    db.execute("COMMIT")
        except BaseException:
            path.unlink()
            raise


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Raise errors of the system and of SQLite as ``LedgerError``, with the path."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(f"{path}: {error}") from error
    except FileExistsError as error:
        raise LedgerError(f"{path}: the file exists already; a ledger is never overwritten") from error
    except FileNotFoundError as error:
        remedy = "Ledger.create makes a new ledger in a folder that exists"
        raise LedgerError(f"{path}: no such file or folder; {remedy}") from error
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if "not a database" in reason:
            reason = f"a ledger must be a file that Ledger.create made, got another one ({reason})"
        raise LedgerError(f"{path}: {reason}; nothing was granted") from error


def _entries(db: sqlite3.Connection, limit: int) -> list[Entry]:
    """Return the last ``limit`` entries (-1: all), the oldest first, each checked against the one before.

    The hash of the oldest can be checked only if it is step 0.
    """
    entries: list[Entry] = []
    query = "SELECT * FROM (SELECT * FROM entries ORDER BY step DESC LIMIT ?) ORDER BY step"
    for step, text, digest in db.execute(query, (limit,)):
        try:
            entry = Entry(*json.loads(text), digest)  # type: ignore[call-arg]  # JSON has no types
            previous = entries[-1] if entries else None
            chained = digest == entry.digest(previous) or (previous is None and step > 0 and limit > 0)
            valid = chained and step == entry.step == Filter.from_state(entry.state).steps
        except (TradeOffError, TypeError, ValueError) as error:
            raise LedgerError(f"entry {step} cannot be read by this version of tradeoff ({error})") from error
        if not valid:
            raise LedgerError(f"entry {step} was edited or is out of place; restore a backup")
        entries.append(entry)
    if not entries:
        raise LedgerError("the ledger has no entries")
    return entries


def _name(step: dict[str, Any]) -> str:
    """Return the text of a step: of a plan (``mechanism``), a mechanism (``kind``), or else key and value."""
    if "mechanism" in step:
        return " + ".join(f"{each['count']} x {_name(each)}" for each in step["mechanism"])
    if "kind" not in step:
        return ", ".join(f"{key} {value}" for key, value in step.items())
    given = (f"{key}={value!r}" for key, value in step.items() if key not in {"kind", "count"})
    return f"{step['kind']}({', '.join(given)})"
