"""The file under a ledger: lines of JSON that are only ever added, and a first line that counts them.

The first line, the *seal*, has a fixed width and holds the place and the hash of the last entry. A grant is
two writes: the entry behind the last one, flushed; then the seal over the old one, flushed. The second is the
commit. What lies behind the last sealed entry was granted to nobody, and the next writer cuts it off.

So there is no journal that could be lost, cut, or found under another name; and what the seal counts never
changes, so readers lock the file only while they read the seal. The lock is ``flock``: it belongs to the
file, whatever it is called.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import local
from typing import Any, NamedTuple

from tradeoff.curves.parameters import number
from tradeoff.errors import LedgerError, file_name
from tradeoff.filters.ledger.entries import GENESIS, Entry, Flaw

if sys.platform != "win32":
    import fcntl

# Version of the lines below; a file with a later one is refused. The first one was an SQLite database.
FORMAT = 2

# Bytes of the seal: within one sector, which disks write whole or not at all; places up to 10^40 fit.
WIDTH = 256

# How a ledger of the first format begins, and the mark that it holds from byte 68.
_SQLITE, _APPLICATION = b"SQLite format 3\0", bytes.fromhex("74724f66")

# What is said of it.
_OLD = (
    "is a ledger of the first format, in SQLite; "
    "Ledger.convert(old, new) writes all its entries, with the same head, to a new file"
)

_TAIL = len(f'"{GENESIS}"]\n')  # bytes at the end of an entry that hold its hash
_PAUSE = 0.002  # seconds between two tries for the lock: about the time of one grant, which is two flushes

_REASONS = {
    **dict.fromkeys(
        (errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
        "the disk is full; nothing was granted: free some space and try again",
    ),
    **dict.fromkeys(
        (errno.EACCES, errno.EROFS),
        "Permission denied: to spend, the file must be writable; to read, readable",
    ),
    errno.EIO: (
        "the disk failed to read or write; nothing was granted, and nothing says that the ledger is damaged: "
        "try again"
    ),
    errno.ENOLCK: "the file system has no locks; nothing was granted: keep a ledger on a local disk",
    errno.ENOENT: "cannot be read: No such file or directory; Ledger.create makes a new ledger",
}


class Seal(NamedTuple):
    """Where the last entry starts and ends, in bytes, and its hash."""

    start: int
    end: int
    head: str

    def line(self) -> bytes:
        """Return the first line of the file."""
        told = {"tradeoff ledger": FORMAT, **self._asdict()}
        return json.dumps(told).ljust(WIDTH - 1).encode() + b"\n"

    @classmethod
    def read(cls, file: int) -> Seal:
        """Return the seal of an open file; every bit of it counts."""
        line = _read(file, 0, WIDTH)
        if line.startswith(_SQLITE):
            raise Flaw(_OLD if line[68:72] == _APPLICATION else "is an SQLite file, and no ledger")
        try:
            told = json.loads(line)
            version = told.pop("tradeoff ledger")
            later = version > FORMAT
            whole = (
                not later
                and (seal := cls(**told)).line() == line
                and list(map(type, seal)) == [int, int, str]
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            later = whole = False
        if later:
            raise Flaw(
                f"has format {version}, and this version reads format {FORMAT}; "
                "use a newer version of tradeoff"
            )
        if not whole or not WIDTH <= seal.start < seal.end:
            raise Flaw("is no ledger, or its first line is damaged")
        if seal.end > os.fstat(file).st_size:
            raise Flaw("was cut off at its end; restore a copy, and check it with the last head you know")
        return seal


class Opened(NamedTuple):
    """An open file, and its seal."""

    file: int
    seal: Seal

    def last(self) -> tuple[Entry, str]:
        """Return the last entry, and the hash of the one before."""
        start, end, _ = self.seal
        before = _read(self.file, start - _TAIL, start)[1:-3].decode("ascii", "replace")
        return Entry.read(_read(self.file, start, end)), before if start > WIDTH else GENESIS

    def entries(self) -> Iterator[Entry]:
        """Go through all entries, the first one first, in flat memory."""
        with open(os.dup(self.file), "rb") as lines:  # noqa: PTH123 - a descriptor, not a path
            place = lines.seek(WIDTH)
            while place < self.seal.end:
                line = lines.readline(self.seal.end - place)
                place += len(line)
                yield Entry.read(line)

    def append(self, entry: Entry) -> None:
        """Add an entry: it counts once its seal is on the disk, and is taken back if anything fails first."""
        line, end = entry.line(), self.seal.end
        try:
            os.ftruncate(self.file, end)  # what a killed process left of a step it was not granted
            _write(self.file, line, end)
            same = _read(self.file, end, end + len(line)) == line
            if same:
                _write(self.file, Seal(end, end + len(line), entry.hash).line(), 0)
        except BaseException:
            with suppress(OSError):
                _write(self.file, self.seal.line(), 0)  # before the line is cut that the new one speaks of
                os.ftruncate(self.file, end)
                _sync(self.file)
            raise
        if not same:
            raise Flaw("the entry just written reads otherwise; nothing was granted")


class Store:
    """File of a ledger. Every use opens it anew, so that a fork or a thread shares nothing.

    It waits ``wait`` seconds for other processes.
    """

    def __init__(self, path: str | os.PathLike[str], wait: float = 60.0) -> None:
        # Wherever the process goes, the handle stays with its file.
        self.path, self.wait = file_name(path).absolute(), number("wait", wait, 0, open_high=True)
        if sys.platform == "win32":
            raise LedgerError(
                f"{path}: a ledger needs the file locks of POSIX systems, such as Linux and macOS"
            )

    def create(self, entries: Iterable[Entry]) -> None:
        """Make a new file that holds these entries: whole, or not at all."""
        with self._made() as file:
            seal = Seal(WIDTH, WIDTH, GENESIS)
            for entry in entries:
                line = entry.line()
                _put(file, line, seal.end)
                seal = Seal(seal.end, seal.end + len(line), entry.hash)
            _write(file, seal.line(), 0)

    @contextmanager
    def _made(self) -> Iterator[int]:
        """Hand out a new file that nobody sees, and name it when the block is done, never over another."""
        folder, name = self.path.parent, None
        try:
            file, name = tempfile.mkstemp(prefix=".tradeoff-", dir=folder)  # readable by its owner alone
            with _closing(file):
                yield file
            os.link(name, self.path)
        except FileExistsError as error:
            raise LedgerError(f"{self.path}: exists already; a ledger is never overwritten") from error
        except FileNotFoundError as error:
            why = "cannot be created: its folder does not exist; make it first"
            raise LedgerError(f"{self.path}: {why}") from error
        except OSError as error:
            raise LedgerError(f"{self.path}: cannot be created: {_reason(error)}") from error
        finally:
            if name is not None:
                Path(name).unlink(missing_ok=True)
        # Put the name on the disk, where the system can.
        with suppress(OSError), _closing(os.open(folder, os.O_RDONLY)) as handle:
            os.fsync(handle)

    @contextmanager
    def reading(self) -> Iterator[Opened]:
        """Open the ledger as it is now; what others add meanwhile is not seen."""
        with self.told(), self._opened(os.O_RDONLY) as file:
            with self._locked(file, exclusive=False):
                seal = Seal.read(file)
            yield Opened(file, seal)

    @contextmanager
    def writing(self) -> Iterator[Opened]:
        """Open the ledger alone."""
        with self.told(), self._opened(os.O_RDWR) as file, self._locked(file, exclusive=True):
            if not os.path.samestat(os.fstat(file), self.path.stat()):
                raise Flaw("was replaced while this process waited for it; nothing was granted: try again")
            yield Opened(file, Seal.read(file))

    @contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        with _closing(os.open(self.path, flags | os.O_NONBLOCK)) as file:  # a pipe must not keep us waiting
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise Flaw(
                    f"is {'a folder' if stat.S_ISDIR(status.st_mode) else 'no regular file'}, and no ledger"
                )
            if status.st_size == 0:
                raise Flaw("is empty, and no ledger: Ledger.create never leaves an empty file")
            yield file

    @contextmanager
    def _locked(self, file: int, *, exclusive: bool) -> Iterator[None]:
        """Hold the lock, and tell who interrupts this thread that it asks already."""
        try:
            _asked_by_this_thread()[file] = _named(file)
            self._lock(file, exclusive=exclusive)
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # a child forked meanwhile holds the file open too
            _asked_by_this_thread().pop(file, None)

    def _lock(self, file: int, *, exclusive: bool) -> None:
        deadline = time.monotonic() + self.wait
        while True:
            try:
                return fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError as error:
                # An interrupt may leave the entry of a closed descriptor, whose number the next one has.
                if _named(file) in [name for other, name in _asked_by_this_thread().items() if other != file]:
                    told = "is being asked by this very thread, which was interrupted to ask again"
                    raise Flaw(f"{told}; nothing was granted: ask later") from error
                if time.monotonic() >= deadline:
                    told = f"other processes kept it locked for {self.wait:g} seconds"
                    raise Flaw(f"{told}; nothing was granted: try again") from error
            time.sleep(_PAUSE)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Name the file in errors, and say in plain words what the system refused."""
        try:
            yield
        except Flaw as flaw:
            raise LedgerError(f"{self.path}: {flaw}") from flaw
        except OSError as error:
            raise LedgerError(f"{self.path}: {_reason(error)}") from error


_THREAD = local()  # what each thread has of its own


def _asked_by_this_thread() -> dict[int, tuple[int, int, int]]:
    """Return the files it is asking, by descriptor: a signal handler of it would wait for itself."""
    files: dict[int, tuple[int, int, int]] = _THREAD.__dict__.setdefault("files", {})
    return files


def _named(file: int) -> tuple[int, int, int]:
    status = os.fstat(file)
    return os.getpid(), status.st_dev, status.st_ino


def _reason(error: OSError) -> str:
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


def old_entries(path: Path) -> Iterator[Entry]:
    """Go through the entries of a ledger of the first format, in SQLite, their tables in JSON."""
    import sqlite3

    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True)) as db:
            found: list[Any] = [problem for (problem,) in db.execute("PRAGMA integrity_check(1)")]
            if found != ["ok"]:
                raise Flaw(f"is corrupt: {found[0]}")
            rows = db.execute("SELECT step, time, mechanism, totals, state, hash FROM entries ORDER BY step")
            for step, at, *texts, digest in rows:
                mechanism, told, state = map(json.loads, texts)
                yield Entry(step, at, mechanism, told, state, digest)
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise Flaw(f"cannot be read as a ledger of the first format: {error}") from error


@contextmanager
def _closing(file: int) -> Iterator[int]:
    """Close a descriptor in the end."""
    try:
        yield file
    finally:
        os.close(file)


def _read(file: int, start: int, end: int) -> bytes:
    """Return the bytes from start to end, or as many as there are."""
    return os.pread(file, end - start, start) if 0 <= start < end else b""


def _write(file: int, data: bytes, place: int) -> None:
    """Write all bytes at a place, and wait until the disk has them."""
    _put(file, data, place)
    _sync(file)


def _sync(file: int) -> None:
    if sys.platform == "darwin":
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)  # fsync there leaves them in the cache of the disk
    else:
        os.fsync(file)


def _put(file: int, data: bytes, place: int) -> None:
    while data:
        done = os.pwrite(file, data, place)
        data, place = data[done:], place + done
