"""Figures for papers: sizes, insets, shared legends, and the figure of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.report.methods import Claim, claim_of
from tradeoff.report.plot import canvas, module, paint
from tradeoff.report.series import Kind, make_known_series, outline, view_of
from tradeoff.report.styles import COLUMN, PAGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@contextmanager
def paper(
    width: float = COLUMN, height: float = 2.7, columns: int = 1, rows: int = 1
) -> Iterator[tuple[Figure, Any]]:
    """Yield a figure of the stated size in inches, with its axes, in the style of papers."""
    figure = canvas()(figsize=(width, height))
    with module("matplotlib").rc_context(figure.style):
        yield figure, figure.subplots(rows, columns)


def inset(
    axes: Axes, exact: TradeOff, others: Mapping[str, Any], *, centre: float, width: float = 0.04
) -> Axes:
    """Add a view zoomed about one type I error in the empty upper right of a plot, with its factors."""
    window = axes.inset_axes((0.58, 0.58, 0.4, 0.4))
    low, high = max(centre - width / 2, 0.0), min(centre + width / 2, 1.0)
    claims = [claim_of("", exact), *(outline(claim_of("", each)) for each in others.values())]
    view = view_of("tradeoff", "linear", claims[:1]).pointwise(np.linspace(low, high, 25))
    result = list(make_known_series(view, claims))
    ends = exact.bounds(np.array([high, low]))
    bottom, top = float(ends.lower[0]), float(ends.upper[1])
    paint(window, replace(view, xlim=(low, high), ylim=(bottom, top)), result)
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
    curve: TradeOff, claims: Sequence[Claim], worst: tuple[float, float] | None = None
) -> Figure:
    """Draw errors and profiles side by side with one legend, zoomed at the worst (alpha, error of beta)."""
    exact = claim_of("exact", curve)
    others = list(map(outline, claims))
    with paper(PAGE, 3.8, columns=2) as (figure, (left, right)):
        kinds: tuple[tuple[Axes, Kind], ...] = ((left, "tradeoff"), (right, "profile"))
        for axes, kind in kinds:
            view = view_of(kind, "linear", [exact])
            paint(axes, view, list(make_known_series(view, [exact, *others])))
        if worst is not None:
            # Over this width the curve falls about ten times the error.
            alpha, error = worst
            fall = float(curve(max(alpha - 1e-3, 0.0))) - float(curve(min(alpha + 1e-3, 1.0)))
            width = float(np.clip(0.02 * abs(error) / max(fall, 1e-6), 1e-4, 0.1))
            inset(left, curve, {each.name: each for each in claims}, centre=alpha, width=width)
        shared_legend(figure, left, right)
    return figure
