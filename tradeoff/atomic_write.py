"""Files read up to a limit, and written completely or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from tradeoff.errors import DomainError, file_name, shown


def read_text(path: str | PathLike[str], limit: int) -> str:
    """Return a file of UTF-8 text up to a limit; of named pipes only those in /dev, as others may block."""
    place = file_name(path)
    try:
        if stat.S_ISFIFO(place.stat().st_mode) and not str(place).startswith("/dev/"):
            raise DomainError(f"{place}: cannot be read: it is a named pipe; use a file or /dev/stdin")
        with place.open(encoding="utf-8", newline="") as file:
            text = file.read(limit + 1)
    except UnicodeError as error:
        raise DomainError(f"{place}: cannot be read: it is not UTF-8 text") from error
    except OSError as error:
        raise DomainError(f"{place}: cannot be read: {error.strerror or error}") from error
    if len(text) > limit:
        raise DomainError(f"{place}: must have at most {limit:,} characters")
    return text


def atomic_write(path: str | PathLike[str], data: str | bytes) -> None:
    """Replace a file, keeping its mode, or leave it as it was; text is written as UTF-8."""
    with _draft(path) as (draft, place):
        with draft.open("xb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, draft)
        draft.replace(place)


def check_writable(path: str | PathLike[str]) -> None:
    """Raise ``DomainError`` if a file cannot be written there; leave nothing behind."""
    with _draft(path) as (draft, _):
        draft.touch()


@contextmanager
def _draft(path: str | PathLike[str]) -> Iterator[tuple[Path, Path]]:
    """Yield a file in a temporary folder on the same disk, and the file that it will replace."""
    target = file_name(path)
    try:
        place = Path(os.path.realpath(target))
        if place.is_symlink() or (place.exists() and not place.is_file()):
            raise DomainError(f"{target}: must be a regular file")
        if place.exists() and not (os.access(place, os.W_OK) and place.stat().st_mode & 0o222):
            raise DomainError(f"{target}: must not be read-only")
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".tradeoff-") as folder:
            yield Path(folder, place.name), place
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        why = f"{why}; create its folder first" if isinstance(error, FileNotFoundError) else why
        raise DomainError(f"{shown(str(target))}: cannot be written: {why}") from error
