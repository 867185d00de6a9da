"""Styles of figures for papers, whose lines differ without colour, and the files of figures."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tradeoff.atomic_write import atomic_write, check_writable
from tradeoff.errors import DomainError, file_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.3, 7.0  # width of one column and of the text block of a two-column paper, in inches


@cache
def paper_settings() -> dict[Any, Any]:
    """Return the settings of the style ``tradeoff.report.paper``."""
    from matplotlib import rc_params_from_file

    path = Path(__file__).with_name("paper.mplstyle")
    return dict(rc_params_from_file(path, use_default_template=False))


# Next to others the exact line is 2.2 wide, and dashes over it are 1.1, with white edges: both are seen.
EXACT: dict[str, Any] = {"color": "black", "linestyle": "-", "zorder": 3}
BAND: dict[str, Any] = {"alpha": 0.25, "linewidth": 0, "zorder": 1.5}  # light, behind every line
CHANCE: dict[str, Any] = {"color": "0.55", "linestyle": (0, (1, 2)), "linewidth": 0.8, "zorder": 1}  # dots

# Neighbours differ in rhythm and in lightness; dashes are in units of the line width.
COLOURS, DASHES = zip(
    ("#1b4f8a", (5, 2)),
    ("#d1663b", (1.4, 1.4)),
    ("#356f47", (5, 1.5, 1.4, 1.5)),
    ("#e08214", (2.6, 1.6)),
    ("#5a2a6e", (8, 2.5)),
    ("#2f8f9d", (5, 1.2, 1.2, 1.2, 1.2, 1.2)),
    ("#a83253", (1, 3)),
    ("#8f9a52", (10, 2, 2, 2)),
    ("#3d3d8f", (4, 4)),
    ("#b07d62", (7, 1.2, 2.4, 1.2)),
    strict=True,
)


def dashed(i: int) -> dict[str, Any]:
    """Return the style of the i-th approximation: thin dashes over the exact line, unlike its neighbours'."""
    # A repeated dash pattern gets another colour.
    colour, dashes = COLOURS[(i + i // len(DASHES)) % len(COLOURS)], (0, DASHES[i % len(DASHES)])
    return {"color": colour, "linestyle": dashes, "linewidth": 1.1, "zorder": 3.2 + 0.01 * i}


_MARKUP = re.compile(r"[$\\{}_^]|mathrm")  # characters of a formula that take no space


def readable(label: str) -> str:
    """Escape the dollar signs of a label unless matplotlib can parse them as formulas."""
    if "$" not in label:
        return label
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(label)
    except ValueError:
        return label.replace("$", r"\$")
    return label


def add_title(figure: Figure, title: str) -> None:
    """Put a title above all axes in lines that fit the width, and extend the figure by its height."""
    from matplotlib import rcParams

    text = figure.suptitle("", fontsize=rcParams["axes.titlesize"])
    title = re.sub(r"(?<=\d) ", "\N{NO-BREAK SPACE}", title)  # a number stays with what it counts
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph ")  # a character that the font lacks is drawn as a box
        # 120 characters fill a line of the widest figures
        for columns in range(min(len(title), 120), 0, -1):
            lines = "\n".join(textwrap.wrap(title, columns)).replace("\N{NO-BREAK SPACE}", " ")
            text.set_text(lines.replace("$", r"\$"))
            if text.get_window_extent().width <= 0.97 * figure.bbox.width:
                break
        figure.set_figheight(figure.get_figheight() + text.get_window_extent().height / figure.dpi)


def fold(label: str, columns: int) -> str:
    """Break a label into lines of at most ``columns`` visible characters, at spaces outside formulas."""
    lines = [""]
    # A formula with spaces is one word.
    for word in re.findall(r"(?:(?<!\\)\$.*?(?<!\\)\$|\S)+", label):
        longer = f"{lines[-1]} {word}".lstrip()
        if len(_MARKUP.sub("", longer)) <= columns:
            lines[-1] = longer
        else:
            lines += [word] if "$" in word else textwrap.wrap(word, columns)
    return "\n".join(filter(None, lines))


def place_legend(axes: Axes, inside: Literal["upper right", "lower right"] | None = None) -> None:
    """Put the legend where the plot is empty, if anywhere; else right of a square, or below."""
    handles, labels = axes.get_legend_handles_labels()
    short, long = 26, 44  # characters of a name inside the axes, and of a line of a legend below them
    longest = max((len(_MARKUP.sub("", label)) for label in labels), default=0)
    if inside is not None and len(labels) <= 5 and longest <= short:
        axes.legend(loc=inside)
        return
    folded = [fold(label, long) for label in labels]
    if axes.figure.get_layout_engine() is None:  # nothing makes space below the axes
        axes.legend(handles, folded, loc=inside or "best", fontsize="small")
        return
    spec = axes.get_subplotspec()
    width = 0.9 * axes.figure.bbox.width / (spec.get_gridspec().ncols if spec else 1)
    is_square = axes.get_aspect() == 1 or axes.get_box_aspect() == 1
    # a figure this wide has space to the right of a square
    if is_square and width > 1.5 * axes.figure.bbox.height:
        axes.legend(handles, folded, fontsize="small", loc="upper left", bbox_to_anchor=(1.02, 1.0))
        return
    from matplotlib.transforms import ScaledTranslation

    layouts = [(2, short)] * (longest <= short) + [(1, line) for line in range(long, 0, -4)]
    for columns, line in layouts:
        folded = [fold(label, line) for label in labels]
        legend = axes.legend(handles, folded, fontsize="small", loc="upper center", ncols=columns)
        if legend.get_window_extent().width <= width:
            break
    size = axes.xaxis.label.get_fontproperties().get_size_in_points()
    below = axes.transAxes + ScaledTranslation(0, -4 * size / 72, axes.figure.dpi_scale_trans)
    legend.set_bbox_to_anchor((0.5, 0), transform=below)


def check_target(
    path: str | Path, endings: tuple[str, ...] = (".png", ".svg", ".pdf"), name: str = "path"
) -> Path:
    """Return the path of a file that can be written, leaving nothing behind; else raise ``DomainError``."""
    target = file_name(path)
    if target.suffix.lower() not in endings:
        allowed = f"one of {', '.join(endings)}" if len(endings) > 1 else endings[0]
        raise DomainError(f"{name} must end in {allowed}, got {target}")
    check_writable(target)
    return target


def figure_bytes(figure: Figure, ending: str) -> bytes:
    """Return a figure in a file format."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    output = {k: v for k, v in paper_settings().items() if k.startswith(("svg.", "pdf.", "savefig."))}
    with rc_context(output), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph ")  # a character that the font lacks is drawn as a box
        timeless = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same bytes each time
        figure.savefig(buffer, format=ending[1:], metadata=timeless.get(ending))
    return buffer.getvalue()


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; an existing file is replaced, or left as it was if that fails."""
    ending = check_target(path).suffix.lower()
    atomic_write(path, figure_bytes(figure, ending))
