"""Figures for papers: sizes, insets, shared legends, and the figure of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError
from tradeoff.report.methods import Claim, claim_of
from tradeoff.report.plot import canvas, module, paint
from tradeoff.report.series import Kind, make_known_series, make_series, outline, view_of
from tradeoff.report.styles import COLUMN, EXACT, PAGE, WIDE, dashed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@contextmanager
def paper(
    width: float = COLUMN, height: float = 2.7, columns: int = 1, rows: int = 1, **share: bool
) -> Iterator[tuple[Figure, Any]]:
    """Yield a figure of the stated size in inches, with its axes, in the style of papers."""
    figure = canvas()(figsize=(width, height))
    with module("matplotlib").rc_context(figure.style):
        yield figure, figure.subplots(rows, columns, **share)


def add_inset(axes: Axes, claims: Sequence[Claim], low: float, high: float) -> Axes:
    """Add a view of the type I errors between two in the empty upper right of a plot, with its factors."""
    if not 0 <= low < high <= 1:
        raise DomainError(f"inset must be two type I errors in increasing order, got ({low}, {high})")
    window = axes.inset_axes((0.58, 0.58, 0.4, 0.4))
    view = view_of("tradeoff", "linear", claims[:1]).pointwise(np.linspace(low, high, 25))
    series = list(make_known_series(view, [claims[0], *map(outline, claims[1:])]))
    heights = np.asarray(next(make_series(view, claims[:1])).y)
    bottom, top = float(np.min(heights)), float(np.max(heights))
    paint(window, replace(view, xlim=(low, high), ylim=(bottom, top)), series, legend=False)
    window.set(xticks=[], yticks=[], xlabel="", ylabel="", aspect="auto")
    spans = {"α": high - low, "β": top - bottom}
    factors = "\n".join(
        f"{name} ×{float(f'{0.4 / span:.2g}'):,.0f}" for name, span in spans.items() if span > 0
    )
    window.text(
        0.95, 0.94, factors, transform=window.transAxes, ha="right", va="top", fontsize="small", color="0.3"
    )
    for spine in window.spines.values():
        spine.set(visible=True, color="0.5", linewidth=0.6, position=("outward", 0))
    axes.indicate_inset_zoom(window, edgecolor="0.5", linewidth=0.6)
    return window


def shared_legend(figure: Figure, *panels: Axes) -> None:
    """Put one legend for all panels below them."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
        legend = axes.get_legend()
        if legend is not None:
            legend.remove()
    inches = 0.6 + 0.065 * max(map(len, handles), default=0)  # of a line and its label
    columns = max(min(len(handles), int(figure.get_figwidth() / inches), 5), 1)
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)


def comparison_figure(
    curve: TradeOff, rows: Sequence[Any], kind: Kind = "profile", *, across: int = 4
) -> Figure:
    """Draw each method in a panel of its own over the exact curve; its verdict is in the title."""
    width = PAGE * across / 4
    down = max(-(-len(rows) // across), 1)
    exact = claim_of("exact", curve)
    view = view_of(kind, "linear", [exact])
    view = replace(view, grid=view.grid[::4])  # enough for a panel of 1.6 inches
    line = next(make_series(view, [exact]))
    with paper(width, 0.5 + 1.55 * down, columns=across, rows=down, sharex=True, sharey=True) as (
        figure,
        grid,
    ):
        panels = np.ravel(grid)
        for i, (axes, row) in enumerate(zip(panels, rows, strict=False)):
            # red if the method claims too much privacy
            look = dashed(0) | ({"color": "#b3261e"} if row.unsafe else {})
            method = next(make_known_series(view, [outline(row.claim)]))
            paint(axes, view, [line, method], looks=[EXACT | {"linewidth": WIDE}, look], legend=False)
            axes.set_title(f"{row.name}: {row.word}", fontsize="small")
            is_lowest = i + across >= len(rows)
            axes.tick_params(labelbottom=is_lowest, labelleft=i % across == 0)
            axes.set(xlabel=view.xlabel if is_lowest else "", ylabel="" if i % across else view.ylabel)
        for axes in panels[len(rows) :]:
            axes.remove()
    return figure
