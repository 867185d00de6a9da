"""Figures on disk: refused before anything is computed, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradeoff.errors import DomainError, file_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")  # of a figure: what papers and pages take
_WRITABLE = 0o222  # mode bits: the superuser may write any file, also what is meant to stay
_TIMELESS = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same bytes each time


def check_target(path: str | Path, endings: tuple[str, ...] = FORMATS) -> Path:
    """Return the path of a file if it can be written there, leaving nothing behind; else ``DomainError``.

    Refused are other endings, long names, folders, pipes, devices, and what is missing or read-only.
    """
    target = file_name(path)
    if target.suffix.lower() not in endings:
        raise DomainError(
            f"{target}: no {_kind(endings)} has the ending {target.suffix!r}; allowed: {', '.join(endings)}"
        )
    if os.path.isdir(target):  # noqa: PTH112 - Path.is_dir raises where a name is too long
        raise DomainError(f"{target}: is a folder, so no {_kind(endings)} can be written there")
    with _draft(target) as draft:
        draft.touch()
    return target


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in one piece: into a folder beside the target, then into its place.

    An existing file is replaced, or left as it was where that fails; a link stays and leads to the figure.
    """
    import matplotlib as mpl

    from tradeoff.report.styles import OUTPUT

    ending = file_name(path).suffix.lower()

    def draw(draft: Path) -> None:
        with mpl.rc_context(OUTPUT), warnings.catch_warnings():  # type: ignore[arg-type]  # the stubs want every name spelt as a literal
            warnings.filterwarnings("ignore", "Glyph ")  # a letter that the font lacks is drawn as a box
            figure.savefig(draft, format=ending[1:], metadata=_TIMELESS.get(ending))

    _replace(check_target(path), draw)


def write_text(text: str, path: str | Path) -> None:
    """Write a text in one piece, as ``save`` writes a figure."""
    _replace(file_name(path), lambda draft: draft.write_text(text, encoding="utf-8", newline=""))


def _replace(target: Path, write: Callable[[Path], Any]) -> None:
    with _draft(target) as draft:
        write(draft)
        if (place := _place(target)).exists():  # who may read it stays as it was
            shutil.copymode(place, draft)
        draft.replace(place)


@contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """Yield where to write first: the same name, on the same disk, in a folder that is cleared at any end."""
    place = _place(target)
    try:
        if place.exists() and not place.is_file():
            raise DomainError(f"{target}: is no plain file, so it is not replaced; give another name")
        if place.exists() and not (os.access(place, os.W_OK) and place.stat().st_mode & _WRITABLE):
            raise DomainError(f"{target}: is read-only, so it is not replaced; give another name")
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".tradeoff-") as folder:
            yield Path(folder) / place.name
    except OSError as error:
        raise DomainError(f"{target}: cannot be written: {error.strerror or error}") from error


def _place(target: Path) -> Path:
    """Return the file that a link leads to, or the path itself."""
    return Path(os.path.realpath(target))


def _kind(endings: tuple[str, ...]) -> str:
    return "figure" if endings == FORMATS else "file of this kind"
