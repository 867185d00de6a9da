"""Plots in a page: curves that answer under the pointer, with a switch between linear and log axes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import chain, cycle
from typing import Any

import numpy as np

from tradeoff.display import rounded
from tradeoff.errors import needed
from tradeoff.intervals.rounding import Array
from tradeoff.report.methods import Claim
from tradeoff.report.rows import ALPHAS
from tradeoff.report.series import (
    Kind,
    Scale,
    Series,
    Side,
    View,
    drawn,
    highest,
    led_by_exact,
    powered,
    span,
    view_of,
)
from tradeoff.report.styles import COLOURS, DASHES

State = tuple[list[dict[str, Any]], dict[str, Any]]  # traces, and what their axes are
_WIDTH = 1.8  # of a line, in pixels
_DASHES = [",".join(f"{_WIDTH * length:.3g}px" for length in dash) for dash in DASHES]  # as in print

# Type I errors of a curve: those of a comparison, and more at both ends, for either kind of axes.
_ALPHA = np.unique(
    np.concatenate([ALPHAS, [1e-3], np.geomspace(1e-8, 0.5, 40), 1 - np.geomspace(1e-5, 0.005, 6)])
)

_SIGN = {"lower": "≥ ", "upper": "≤ ", "": ""}  # what a bound is led by


def library(name: str) -> Any:
    """Import a module of plotly."""
    remedy = 'reports and interactive plots need plotly: pip install "tradeoff[report]"'
    return needed(f"plotly.{name}", remedy)


def figure_of(
    kind: Kind,
    claims: Sequence[Claim],
    *,
    start: Scale = "linear",
    style: Mapping[str, Any] | None = None,
    series: Callable[[View, Sequence[Claim]], Iterable[Series | None]] = drawn,
) -> dict[str, Any]:
    """Draw claims in one view with a switch between linear and log axes, as plain data for Plotly.

    Profiles reach as far as the first claim. ``style`` goes to every line; ``series`` says what claims draw.
    """
    view = view_of(kind, "linear", claims[:1])
    view = view.pointwise(_ALPHA if view.square else view.grid)
    result = list(series(view, claims))
    log, turned = view, result
    if view.square:
        log = view_of(kind, "loglog", claims[:1]).pointwise(_ALPHA)
        turned = result if view.power else [each and powered(log, each) for each in result]
    states: dict[str, State] = {
        "linear": ([*_traces(view, result, style or {})], _axes("linear", view, result)),
        "log": ([*_traces(log, turned, style or {})], _axes("log", log, turned)),
    }
    first = "log" if start == "loglog" or kind in ("profile", "error") else "linear"
    return _figure(states, first, view)


def to_html(name: str, figure: dict[str, Any]) -> str:
    """Return the HTML of a plot, under an id."""
    io, layout = library("io"), figure["layout"]
    template = io.templates[layout["template"]].to_plotly_json()
    made = {**figure, "layout": {**layout, "template": template}}
    buttons = [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]]
    config = {"displaylogo": False, "responsive": True, "modeBarButtons": buttons}
    options = {"include_plotlyjs": False, "full_html": False, "validate": False}
    return str(io.to_html(made, div_id=name, config=config, **options))


def _traces(view: View, found: Sequence[Series | None], style: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return bands and lines as plotly wants them: the first exact one solid, the others in dashes."""
    if view.chance is not None:
        chance = Series("perfect privacy", "", view.grid, view.chance)
        yield _trace(chance, view.symbol, {"color": "#999999", "dash": "1px,3px", "width": _WIDTH})
    first = [("#000000", "solid")] if led_by_exact(found) else []
    looks = chain(first, cycle(zip(COLOURS, _DASHES, strict=True)))
    for each, (colour, dash) in zip(found, looks, strict=False):
        if each is None:
            continue
        if each.band is not None:
            yield from _band(each.x, *each.band, colour)
        line = {"color": colour, "dash": dash, "width": _WIDTH, **style}
        if each.y is not None:
            yield _trace(each, view.symbol, line)
        if each.unsafe is not None and np.isfinite(each.unsafe).any():
            marked = Series(f"{each.name}: claims too much", "", each.x, each.unsafe)
            yield _trace(marked, view.symbol, {"color": _faint(colour), "width": 8})


def _trace(each: Series, symbol: str, line: dict[str, Any]) -> dict[str, Any]:
    """Return a line that says each value under the pointer, rounded towards the side it is on."""
    values = np.asarray(each.y)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": _html(each.name),
        "x": each.x.tolist(),
        "y": _plain(values),
        "text": [f"{symbol} {_SIGN[each.side]}{_digits(value, each.side)}" for value in values.tolist()],
        "hovertemplate": "%{text}",
        "line": line,
    }


def _band(x: Array, low: Array, high: Array, colour: str) -> Iterator[dict[str, Any]]:
    edge = {"type": "scatter", "mode": "lines", "x": x.tolist(), "showlegend": False, "hoverinfo": "skip"}
    yield {**edge, "y": _plain(low), "line": {"width": 0}}
    yield {**edge, "y": _plain(high), "line": {"width": 0}, "fill": "tonexty", "fillcolor": _faint(colour)}


def _html(name: str) -> str:
    """Write a name and its formulas as HTML."""

    def tags(found: re.Match[str]) -> str:
        text = found[1].replace(r"\times", "×")
        for pattern, tag in ((r"\\mathrm\{(.*?)\}", r"\1"), (r"_\{(.*?)\}", r"<sub>\1</sub>")):
            text = re.sub(pattern, tag, text)
        return re.sub(r"\^\{(.*?)\}", r"<sup>\1</sup>", text)

    return re.sub(r"\$([^$]*[\\_^][^$]*)\$", tags, escape(name, quote=False))


def _plain(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.3)"


def _digits(value: float, side: Side) -> str:
    if not np.isfinite(value):
        return "unknown"
    return rounded(value, side, 6) if side else f"{value:.6g}"


def _axes(name: str, view: View, found: Sequence[Series | None]) -> dict[str, Any]:
    """Return what the axes are in one state; those of probabilities turn together."""
    low, high = span(found) if view.kind == "error" else view.ylim
    if name == "linear" and not view.square:
        low, high = 0.0, 1.05 * max(map(highest, found))

    def ends(*both: float) -> list[float]:
        return list(both) if name == "linear" else np.log10(both).tolist()

    upright = {"yaxis.type": name, "yaxis.range": ends(low, high), "yaxis.title.text": view.ylabel}
    if not view.square:
        return upright
    step = 1 if name == "log" else None
    return {**upright, "xaxis.type": name, "xaxis.range": ends(*view.xlim), "xaxis.dtick": step}


def _figure(states: dict[str, State], start: str, view: View) -> dict[str, Any]:
    """Put the states behind two buttons, and show one."""
    data, axes = states[start]
    buttons = [
        {
            "label": name,
            "method": "update",
            "args": [{key: [each.get(key) for each in there] for key in ("y", "text")}, layout],
        }
        for name, (there, layout) in states.items()
    ]
    menu = {"type": "buttons", "direction": "right", "x": 0, "y": 1.12, "xanchor": "left", "buttons": buttons}
    legend = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    across = {"type": axes.get("xaxis.type", "linear"), "range": axes.get("xaxis.range", list(view.xlim))}
    upright = {"type": start, "range": axes["yaxis.range"]}
    layout = {
        "xaxis": {"title": {"text": view.xlabel}, **across, "exponentformat": "power"},
        "yaxis": {"title": {"text": axes["yaxis.title.text"]}, **upright, "exponentformat": "power"},
        "hovermode": "x unified",
        "legend": {**legend, "traceorder": "normal"},
        "updatemenus": [{**menu, "active": list(states).index(start)}],
        "template": "simple_white",
        "height": 600,
        "margin": {"t": 60, "r": 20, "l": 70},
    }
    return {"data": data, "layout": layout}
