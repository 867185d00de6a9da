"""Plotly figures, which show the values under the pointer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import chain, cycle
from typing import Any

import numpy as np

from tradeoff.display import rounded
from tradeoff.errors import DomainError, needed, shown
from tradeoff.intervals.rounding import Array
from tradeoff.report.methods import Claim
from tradeoff.report.series import Series, View, error_limits, make_series
from tradeoff.report.styles import COLOURS, DASHES


def plotly_figure(view: View, claims: Sequence[Claim], style: Mapping[str, Any]) -> Any:
    """Draw claims in a view at its grid; ``style`` applies to every line."""
    remedy = 'interactive plots need plotly: pip install "tradeoff[report]"'
    objects = needed("plotly.graph_objects", remedy)
    try:
        objects.scatter.Line(style)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise DomainError(f"style must be keywords of Plotly's line, got {shown(style)}: {reason}") from None
    view = view.pointwise(view.grid)
    series = list(make_series(view, claims))
    ylim = error_limits(series) if view.kind == "error" else view.ylim

    def axis(scale: str, ends: tuple[float, float], title: str) -> dict[str, Any]:
        limits = np.log10(ends).tolist() if scale == "log" else list(ends)
        return {"type": scale, "range": limits, "title": {"text": title}, "exponentformat": "power"}

    layout = {
        "xaxis": axis(view.xscale, view.xlim, view.xlabel),
        "yaxis": axis(view.yscale, ylim, view.ylabel),
        "hovermode": "x unified",
        "legend": {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        "template": "simple_white",
        "height": 600,
        "margin": {"t": 60, "r": 20, "l": 70},
    }
    return objects.Figure({"data": [*_traces(view, series, style)], "layout": layout})


def _traces(view: View, series: Sequence[Series], style: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield bands and lines: the first solid unless it is an estimate, the others dashed."""
    width = 1.8  # of a line, in pixels
    dashes = [",".join(f"{width * length:.3g}px" for length in dash) for dash in DASHES]  # as in print
    if view.chance is not None:
        chance = Series("perfect privacy", "", view.grid, view.chance)
        yield _trace(chance, view.symbol, {"color": "#999999", "dash": "1px,3px", "width": width})
    first = [] if series[0].is_estimate else [("#000000", "solid")]
    looks = chain(first, cycle(zip(COLOURS, dashes, strict=True)))
    for each, (colour, dash) in zip(series, looks, strict=False):
        pale = f"rgba({','.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))},0.3)"
        if each.band is not None:
            edge = {"type": "scatter", "mode": "lines", "showlegend": False, "hoverinfo": "skip"}
            edge |= {"x": each.x.tolist(), "line": {"width": 0}}
            low, high = map(_finite, each.band)
            yield {**edge, "y": low}
            yield {**edge, "y": high, "fill": "tonexty", "fillcolor": pale}
        if each.y is not None:
            yield _trace(each, view.symbol, {"color": colour, "dash": dash, "width": width, **style})
        if each.unsafe is not None and np.isfinite(each.unsafe).any():
            unsafe = Series(f"{each.name}: claims too much", "", each.x, each.unsafe)
            yield _trace(unsafe, view.symbol, {"color": pale, "width": 8})


def _trace(each: Series, symbol: str, line: dict[str, Any]) -> dict[str, Any]:
    """Return a line whose values under the pointer are rounded towards its side."""
    values = np.asarray(each.y)
    texts = [
        rounded(y, each.side, 6) if each.side else f"{y:.6g}" for y in values[np.isfinite(values)].tolist()
    ]
    sign = {"lower": "≥ ", "upper": "≤ ", "": ""}[each.side]
    under_pointer = np.full(len(values), "unknown", dtype=object)
    under_pointer[np.isfinite(values)] = texts
    return {
        "type": "scatter",
        "mode": "lines",
        "name": _html(each.name),
        "x": each.x.tolist(),
        "y": _finite(values),
        "text": [f"{symbol} {sign}{text}" for text in under_pointer],
        "hovertemplate": "%{text}",
        "line": line,
    }


def _html(name: str) -> str:
    """Write a name and its formulas as HTML."""
    parts = re.split(r"\$([^$]*[\\_^][^$]*)\$", escape(name, quote=False))
    for i in range(1, len(parts), 2):
        text = re.sub(r"\\mathrm\{(.*?)\}", r"\1", parts[i].replace(r"\times", "×"))
        text = re.sub(r"_\{(.*?)\}", r"<sub>\1</sub>", text)
        parts[i] = re.sub(r"\^\{(.*?)\}", r"<sup>\1</sup>", text)
    return "".join(parts)


def _finite(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]
