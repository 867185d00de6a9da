"""Files read without waiting, and written whole or not at all: first next to their place, then into it."""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from tradeoff.errors import DomainError, file_name, shown

_WRITABLE = 0o222  # mode bits: the superuser may write any file, also what is meant to stay


_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # Windows has no named pipes that open as files


def read_text(path: Path, most: int, *, keep_line_ends: bool = False) -> str:
    """Read up to ``most + 1`` characters of UTF-8: enough to recognize a longer file, which may be endless.

    ``OSError`` for a pipe without a writer, where opening would wait forever.
    """
    utf8 = codecs.getincrementaldecoder("utf-8")()
    decode = io.IncrementalNewlineDecoder(utf8, translate=not keep_line_ends).decode
    with io.FileIO(path, opener=lambda name, flags: os.open(name, flags | _AT_ONCE)) as raw:
        first = raw.read(1)  # None where a writer has written nothing yet
        if _AT_ONCE and not stat.S_ISREG(mode := os.fstat(raw.fileno()).st_mode):
            if stat.S_ISFIFO(mode) and first == b"":
                raise OSError(errno.EPIPE, "it is a pipe without a writer; start the writer first")
            os.set_blocking(raw.fileno(), True)
        text = decode(first or b"")
        with io.BufferedReader(raw) as file:
            while chunk := file.read(max(most + 1 - len(text), 0)):
                text += decode(chunk)
    return text if len(text) > most else text + decode(b"", final=True)


def write_whole(path: str | PathLike[str], text: str) -> None:
    """Write a text in one piece: an existing file is replaced, or left as it was where that fails."""
    replace(file_name(path), lambda place: place.write_text(text, encoding="utf-8", newline=""))


def replace(target: Path, write: Callable[[Path], Any]) -> None:
    """Write a file in one piece, by a function of the path of its draft; a link stays and leads to it."""
    with draft(target) as written:
        write(written)
        with written.open("r+b") as file:  # Windows flushes only what may be written
            os.fsync(file.fileno())  # on the disk before it takes the place of what was
        if (place := _place(target)).exists():
            _hand_over(written, place.stat())
        written.replace(place)


def _hand_over(written: Path, kept: os.stat_result) -> None:
    """Give a draft the owner, the group and the mode of a file: nobody else may read it."""
    for owner in ((-1, kept.st_gid), (kept.st_uid, -1)):  # members give to their group, the superuser to all
        with suppress(OSError, AttributeError):  # Windows has neither
            os.chown(written, *owner)
    same = written.stat().st_gid == kept.st_gid
    written.chmod(stat.S_IMODE(kept.st_mode) & (0o7777 if same else ~stat.S_IRWXG))


@contextmanager
def draft(target: Path) -> Iterator[Path]:
    """Yield where to write first: the same name, on the same disk, in a folder that is cleared at any end.

    ``DomainError`` says where a file cannot be written, is read-only, or what stands there is no plain file.
    """
    try:
        place = _place(target)
        if place.exists() and not place.is_file():
            raise DomainError(f"{target}: is no plain file, so it is not replaced; give another name")
        if place.exists() and not (os.access(place, os.W_OK) and place.stat().st_mode & _WRITABLE):
            raise DomainError(f"{target}: is read-only, so it is not replaced; give another name")
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".tradeoff-") as folder:
            yield Path(folder) / place.name
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise DomainError(f"{shown(str(target))}: cannot be written: {why}") from error


def _place(target: Path) -> Path:
    """Return the file that a link leads to, or the path itself; ``OSError`` for a link to itself."""
    place = Path(os.path.realpath(target))
    if place.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return place
