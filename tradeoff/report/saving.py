"""Figures on disk: refused before anything is computed, written whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradeoff.errors import DomainError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
_TIMELESS = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def check_target(path: str | Path, endings: tuple[str, ...] = FORMATS) -> Path:
    """Return the path of a file if it can be written there, leaving nothing behind.

    Parameters
    ----------
    path
        A file name in a folder that exists.
    endings
        What it may end in; default: .png, .svg or .pdf.

    Returns
    -------
    Path
        The same path.

    Raises
    ------
    DomainError
        If the ending is another, the path is a folder, or its folder is missing or read-only.
    """
    target = Path(path)
    if target.suffix.lower() not in endings:
        raise DomainError(f"{target}: no {_kind(endings)} has the ending {target.suffix!r}; allowed: {', '.join(endings)}")
    if target.is_dir():
        raise DomainError(f"{target}: is a folder, so no {_kind(endings)} can be written there")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".tradeoff-"):
            return target
    except OSError as error:
        raise DomainError(f"{target}: cannot be written: {error.strerror or error}") from error


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in one piece: into a folder beside the target, then into its place.

    Parameters
    ----------
    figure
        A matplotlib figure.
    path
        Where to write; an existing file is replaced.

    Raises
    ------
    DomainError
        If it cannot be written; an existing file is then left as it was.
    """
    import matplotlib as mpl

    from tradeoff.report.styles import OUTPUT

    ending = Path(path).suffix.lower()

    def draw(draft: Path) -> None:
        with mpl.rc_context(OUTPUT):  # type: ignore[arg-type]  # the stubs want every name spelt as a literal
            figure.savefig(draft, format=ending[1:], metadata=_TIMELESS.get(ending))

    _replace(check_target(path), draw)


def write_text(text: str, path: str | Path) -> None:
    """Write a text in one piece, as ``save`` writes a figure."""
    _replace(Path(path), lambda draft: draft.write_text(text, encoding="utf-8"))


def _replace(target: Path, write: Callable[[Path], Any]) -> None:
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".tradeoff-") as folder:
            draft = Path(folder) / target.name
            write(draft)
            draft.replace(target.resolve())
    except OSError as error:
        raise DomainError(f"{target}: cannot be written: {error.strerror or error}") from error


def _kind(endings: tuple[str, ...]) -> str:
    return "figure" if endings == FORMATS else "report"
