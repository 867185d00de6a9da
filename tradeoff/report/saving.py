"""Figure files: checked before anything is computed, written completely or not at all."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tradeoff.atomic_write import atomic_write, check_writable
from tradeoff.errors import DomainError, file_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")  # of a figure
_TIMELESS = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same bytes each time


def check_target(path: str | Path, endings: tuple[str, ...] = FORMATS, name: str = "path") -> Path:
    """Return the path of a file that can be written, leaving nothing behind; else raise ``DomainError``."""
    target = file_name(path)
    if target.suffix.lower() not in endings:
        raise DomainError(f"{name} must end in one of {', '.join(endings)}, got {target}")
    check_writable(target)
    return target


def figure_bytes(figure: Figure, ending: str) -> bytes:
    """Return a figure in a file format."""
    from matplotlib import rc_context

    from tradeoff.report.styles import paper_settings

    buffer = io.BytesIO()
    output = {k: v for k, v in paper_settings().items() if k.startswith(("svg.", "pdf.", "savefig."))}
    with rc_context(output), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph ")  # a character that the font lacks is drawn as a box
        # after one round of layout some titles and legends are cut by a point
        for _ in range(2):
            figure.draw_without_rendering()
        figure.savefig(buffer, format=ending[1:], metadata=_TIMELESS.get(ending))
    return buffer.getvalue()


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; an existing file is replaced, or left as it was if that fails."""
    ending = check_target(path).suffix.lower()
    atomic_write(path, figure_bytes(figure, ending))
