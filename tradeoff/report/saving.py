"""Figures on disk: refused before anything is computed, written completely or not at all."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tradeoff.atomic_write import atomic_write, check_writable
from tradeoff.errors import DomainError, file_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")  # of a figure: those of papers and pages
_TIMELESS = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same bytes each time


def check_target(path: str | Path, endings: tuple[str, ...] = FORMATS) -> Path:
    """Return the path of a file if it can be written there, leaving nothing behind; else ``DomainError``.

    Refused are other endings, long names, folders, pipes, devices, missing folders and read-only files.
    """
    target = file_name(path)
    kind = "figure" if endings == FORMATS else "file of this kind"
    if target.suffix.lower() not in endings:
        allowed = ", ".join(endings)
        raise DomainError(f"{target}: no {kind} has the ending {target.suffix!r}; allowed: {allowed}")
    if os.path.isdir(target):  # noqa: PTH112 - Path.is_dir raises where a name is too long
        raise DomainError(f"{target}: is a folder, so no {kind} can be written there")
    check_writable(target)
    return target


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; an existing file is replaced, or left as it was where that fails."""
    import matplotlib as mpl

    from tradeoff.report.styles import OUTPUT

    ending = check_target(path).suffix.lower()
    buffer = io.BytesIO()
    with mpl.rc_context(OUTPUT), warnings.catch_warnings():  # type: ignore[arg-type]  # the stubs want every name spelt as a literal
        warnings.filterwarnings("ignore", "Glyph ")  # a character that the font lacks is drawn as a box
        figure.savefig(buffer, format=ending[1:], metadata=_TIMELESS.get(ending))
    atomic_write(path, buffer.getvalue())
