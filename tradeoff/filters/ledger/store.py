"""The file under a ledger: an SQLite database in WAL mode, with one table that only grows."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from tradeoff.errors import LedgerError
from tradeoff.filters.ledger.entries import Row

APPLICATION = 0x74724F66
"""Mark in the header of the file that says it is a ledger."""

SCHEMA = 1
"""Version of the table below; a file with a later one is refused."""

_COLUMNS = ", ".join(Row._fields)
_TABLE = {
    "entries": """CREATE TABLE entries (
    step INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    mechanism TEXT NOT NULL,
    totals TEXT NOT NULL,
    state TEXT NOT NULL,
    hash TEXT NOT NULL
)""",
    "entries_follow": """CREATE TRIGGER entries_follow BEFORE INSERT ON entries
WHEN new.step <> (SELECT coalesce(max(step), -1) + 1 FROM entries) BEGIN SELECT raise(ABORT, 'entries are numbered in a row'); END""",
    "entries_stay": """CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
BEGIN SELECT raise(ABORT, 'a ledger only grows'); END""",
    "entries_remain": """CREATE TRIGGER entries_remain BEFORE DELETE ON entries
BEGIN SELECT raise(ABORT, 'a ledger only grows'); END""",
}

_REASONS = (
    ("SQLITE_FULL", "the disk is full; nothing was granted: free some space and try again"),
    ("SQLITE_BUSY", "other processes kept it locked for {wait:g} seconds; nothing was granted: try again"),
    ("SQLITE_LOCKED", "another connection keeps it locked; nothing was granted: try again"),
    ("SQLITE_NOTADB", "is no ledger: it is not an SQLite file, or its header is corrupt"),
    ("SQLITE_CORRUPT", "is corrupt; restore a copy, and check it with the last head you know"),
    ("SQLITE_READONLY", "cannot be written; a ledger and its folder must be writable, even for reading"),
    ("SQLITE_CANTOPEN", "cannot be opened; a ledger and its folder must be writable, even for reading"),
    ("SQLITE_PERM", "cannot be opened; a ledger and its folder must be writable, even for reading"),
    ("SQLITE_IOERR", "the disk failed to read or write; nothing was granted"),
    ("SQLITE_CONSTRAINT", "the entry does not fit; nothing was granted"),
)


class Store:
    """File of a ledger. Every use opens a connection of its own, so that a fork or a thread shares none.

    Parameters
    ----------
    path
        The file.
    wait
        Seconds to wait for other processes.
    """

    def __init__(self, path: str | os.PathLike[str], wait: float = 60.0) -> None:
        self.path, self.wait = Path(path), wait

    def create(self, first: Row) -> None:
        """Make a new file that holds the first entry: whole, or not at all.

        Raises
        ------
        LedgerError
            If there is such a file already, or it cannot be made.
        """
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        except FileExistsError as error:
            raise LedgerError(f"{self.path}: exists already; a ledger is never overwritten") from error
        except OSError as error:
            raise LedgerError(f"{self.path}: cannot be created: {error.strerror or error}") from error
        try:
            with self._connection() as db:
                db.execute("PRAGMA journal_mode = WAL")
                with _transaction(db):
                    for statement in (*_TABLE.values(), f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {SCHEMA}"):
                        db.execute(statement)
                    append(db, first)
        except BaseException:
            self._remove()
            raise
        _sync_folder(self.path.absolute().parent)

    def _remove(self) -> None:
        for tail in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                os.unlink(f"{self.path}{tail}")  # noqa: PTH108 - names beside the file, not paths below it

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open the ledger for reading one consistent state of it."""
        with self._ledger() as db:
            db.execute("BEGIN")
            yield db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open the ledger for one transaction, alone: it is on disk when the block ends, and undone if the block raises."""
        with self._ledger() as db, _transaction(db):
            yield db

    @contextmanager
    def _ledger(self) -> Iterator[sqlite3.Connection]:
        self._check_file()
        with self._connection() as db:
            (application,), (schema,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version"))
            if application != APPLICATION:
                raise LedgerError(f"{self.path}: is an SQLite file, but no ledger")
            if schema != SCHEMA:
                remedy = "use a newer version of tradeoff" if schema > SCHEMA else "its header is corrupt"
                raise LedgerError(f"{self.path}: has schema {schema}, and this version reads schema {SCHEMA}; {remedy}")
            yield db

    def _check_file(self) -> None:
        try:
            size = self.path.stat().st_size
        except OSError as error:
            raise LedgerError(f"{self.path}: cannot be read: {error.strerror or error}; Ledger.create makes a new ledger") from error
        if self.path.is_dir() or size == 0:
            what = "a folder" if self.path.is_dir() else "empty: its creation was cut short, so remove it and create it again"
            raise LedgerError(f"{self.path}: is {what}")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open a connection that never makes a file, and say in plain words what goes wrong."""
        try:
            uri = f"{self.path.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(uri, timeout=self.wait, isolation_level=None, uri=True)) as db:
                db.execute("PRAGMA synchronous = FULL")  # a commit returns when it is on the disk
                yield db
        except sqlite3.Error as error:
            raise LedgerError(f"{self.path}: {self._reason(error)}") from error

    def _reason(self, error: sqlite3.Error) -> str:
        name = getattr(error, "sqlite_errorname", "SQLITE_CORRUPT")  # no name: text that is not UTF-8
        told = next((text for start, text in _REASONS if name.startswith(start)), "SQLite refuses it")
        return f"{told.format(wait=self.wait)} ({error})"


def last_rows(db: sqlite3.Connection) -> list[Row]:
    """Return the last two rows, the last one first."""
    return [Row(*row) for row in db.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY step DESC LIMIT 2")]  # noqa: S608 - our own names


def all_rows(db: sqlite3.Connection) -> Iterator[Row]:
    """Go through all rows, the first one first."""
    return (Row(*row) for row in db.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY step"))  # noqa: S608 - our own names


def check(db: sqlite3.Connection) -> None:
    """Check the pages of the file, and that the table and its guards are those of a ledger.

    Raises
    ------
    LedgerError
        If they are not.
    """
    found = [problem for (problem,) in db.execute("PRAGMA integrity_check(1)")]
    if found != ["ok"]:
        raise LedgerError(f"the file is corrupt: {found[0]}")
    if dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")) != _TABLE:
        raise LedgerError("the table of the ledger, or the guards that let it only grow, were changed")


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def append(db: sqlite3.Connection, row: Row) -> None:
    """Add a row."""
    db.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", row)  # noqa: S608 - our own names


def _sync_folder(folder: Path) -> None:
    """Put the name of a new file on the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
