"""Figures on disk: refused before anything is computed, written whole or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tradeoff.errors import DomainError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
_TIMELESS = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def check_target(path: str | Path) -> Path:
    """Return the path of a figure if it can be written there, leaving nothing behind.

    Parameters
    ----------
    path
        A file name ending in .png, .svg or .pdf, in a folder that exists.

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
    if target.suffix.lower() not in FORMATS:
        raise DomainError(f"{target}: no figure has the ending {target.suffix!r}; allowed: {', '.join(FORMATS)}")
    if target.is_dir():
        raise DomainError(f"{target}: is a folder, so no figure can be written there")
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

    target = check_target(path)
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".tradeoff-") as folder:
            draft = Path(folder) / target.name
            ending = target.suffix.lower()
            with mpl.rc_context({"svg.hashsalt": "tradeoff"}):  # the same figure, the same bytes
                figure.savefig(draft, format=ending[1:], metadata=_TIMELESS.get(ending))
            draft.replace(target.resolve())
    except OSError as error:
        raise DomainError(f"{target}: cannot be written: {error.strerror or error}") from error
