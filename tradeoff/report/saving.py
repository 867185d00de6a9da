"""Figures on disk: refused before anything is computed, written whole or not at all."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tradeoff.errors import DomainError, file_name
from tradeoff.whole_files import draft, replace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")  # of a figure: what papers and pages take
_TIMELESS = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same bytes each time


def check_target(path: str | Path, endings: tuple[str, ...] = FORMATS) -> Path:
    """Return the path of a file if it can be written there, leaving nothing behind; else ``DomainError``.

    Refused are other endings, long names, folders, pipes, devices, and what is missing or read-only.
    """
    target = file_name(path)
    kind = "figure" if endings == FORMATS else "file of this kind"
    if target.suffix.lower() not in endings:
        allowed = ", ".join(endings)
        raise DomainError(f"{target}: no {kind} has the ending {target.suffix!r}; allowed: {allowed}")
    if os.path.isdir(target):  # noqa: PTH112 - Path.is_dir raises where a name is too long
        raise DomainError(f"{target}: is a folder, so no {kind} can be written there")
    with draft(target) as place:
        place.touch()
    return target


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in one piece: into a folder beside the target, then into its place.

    An existing file is replaced, or left as it was where that fails; a link stays and leads to the figure.
    """
    import matplotlib as mpl

    from tradeoff.report.styles import OUTPUT

    ending = file_name(path).suffix.lower()

    def draw(place: Path) -> None:
        with mpl.rc_context(OUTPUT), warnings.catch_warnings():  # type: ignore[arg-type]  # the stubs want every name spelt as a literal
            warnings.filterwarnings("ignore", "Glyph ")  # a letter that the font lacks is drawn as a box
            figure.savefig(place, format=ending[1:], metadata=_TIMELESS.get(ending))

    replace(check_target(path), draw)
