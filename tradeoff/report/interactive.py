"""Plots in a page: curves that answer under the pointer, with a switch between linear and log axes."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tradeoff.errors import MissingExtraError, TradeOffError
from tradeoff.gdp import Reduction
from tradeoff.intervals.rounding import Array
from tradeoff.report.compare import Comparison
from tradeoff.report.digits import rounded
from tradeoff.report.methods import Claim
from tradeoff.report.styles import COLOURS

Side = Literal["lower", "upper", ""]
# As in print: neighbours are unlike in length and rhythm.
_DASHES = (
    "dash",
    "dot",
    "dashdot",
    "longdash",
    "longdashdot",
    "9px,2px,2px,2px,2px,2px",
    "2px,6px",
    "14px,3px",
    "6px,6px",
    "10px,2px,4px,2px",
)
_ALPHA = np.unique(
    np.concatenate([np.geomspace(1e-8, 0.5, 120), 1 - np.geomspace(1e-6, 0.5, 80), np.linspace(0, 1, 101)])
)
"""Type I errors of a curve: even on either kind of axes, close together at both ends."""

_SIGN = {"lower": "≥ ", "upper": "≤ ", "": ""}  # what a bound is led by
_OTHER: dict[Side, Side] = {"lower": "upper", "upper": "lower", "": ""}  # of 1 - x


def library(name: str) -> Any:
    """Return a module of plotly, or say how to install it."""
    try:
        return importlib.import_module(f"plotly.{name}")
    except ImportError as error:
        raise MissingExtraError('reports need plotly: pip install "tradeoff[report]"') from error


@dataclass(frozen=True)
class Line:
    """Values of one method, and the side of the truth on which they are proved to be; "" for an estimate."""

    name: str
    values: Array
    side: Side
    colour: str
    dash: str

    def power(self) -> Line:
        """Return 1 - beta on the other side: next to alpha = 0, where beta itself is flat."""
        power = 1 - self.values
        return Line(
            self.name,
            np.nextafter(power, 2.0) if self.side == "lower" else power,
            _OTHER[self.side],
            self.colour,
            self.dash,
        )

    def y(self) -> list[float | None]:
        """Return the values; None where there is none."""
        return [value if np.isfinite(value) else None for value in self.values.tolist()]

    def texts(self, symbol: str) -> list[str]:
        """Say each value under the pointer, rounded towards the side it is on."""
        return [f"{symbol} {_SIGN[self.side]}{_digits(value, self.side)}" for value in self.values.tolist()]

    def trace(self, x: Array, symbol: str) -> dict[str, Any]:
        """Return the line as plotly wants it."""
        shown = {"x": x.tolist(), "y": self.y(), "text": self.texts(symbol), "hovertemplate": "%{text}"}
        return {
            "type": "scatter",
            "mode": "lines",
            "name": self.name,
            **shown,
            "line": {"color": self.colour, "dash": self.dash, "width": 1.8},
        }


def tradeoff_plot(found: Reduction, comparison: Comparison) -> dict[str, Any]:
    """Draw beta against alpha, on log axes 1 - beta: exact, the Gaussian curve below, other methods."""
    lower, upper = found.of.bounds(_ALPHA)
    lines = [
        Line("perfect privacy", 1 - _ALPHA, "", "#999999", "1px,3px"),
        Line("exact", lower, "lower", "#000000", "solid"),
        _reported(found, found.curve(_ALPHA), "lower"),
        *_claims(comparison, "beta", _ALPHA, "lower"),
    ]
    power = [each.power() for each in lines]
    states = {
        "linear": (
            _data(lines, _ALPHA, (lower, upper), "β"),
            _axes("linear", "type II error β", [0, 1], across=[0, 1]),
        ),
        "log": (
            _data(power, _ALPHA, (1 - lower, 1 - upper), "1 − β"),
            _axes("log", "power 1 − β", [-6, 0.1], across=[-6, 0]),
        ),
    }
    return _figure(states, "linear", {"title": {"text": "type I error α"}, "type": "linear", "range": [0, 1]})


def profile_plot(found: Reduction, comparison: Comparison) -> dict[str, Any]:
    """Draw delta against epsilon likewise."""
    ends = [a.upper for a in comparison.exact.epsilon if np.isfinite(a.upper)]
    epsilon = np.linspace(0.0, max(1.0, *(1.5 * end for end in ends)) if ends else 10.0, 161)
    lower, upper = found.of.bounds.delta(epsilon)
    lines = [
        Line("exact", upper, "upper", "#000000", "solid"),
        _reported(found, found.curve.delta(epsilon), "upper"),
        *_claims(comparison, "delta", epsilon, "upper"),
    ]
    data = _data(lines, epsilon, (lower, upper), "δ")
    top = 1.05 * max(float(found.curve.delta(0.0)), float(upper[0]))
    states = {
        "linear": (data, _axes("linear", "δ(ε)", [0, top])),
        "log": (data, _axes("log", "δ(ε)", [-12, 0.2])),
    }
    return _figure(
        states,
        "log",
        {"title": {"text": "privacy loss ε (nats)"}, "type": "linear", "range": [0, float(epsilon[-1])]},
    )


def drawn(name: str, figure: dict[str, Any]) -> str:
    """Return the HTML of a plot, under an id."""
    made = library("graph_objects").Figure(figure)
    buttons = [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]]
    config = {"displaylogo": False, "responsive": True, "modeBarButtons": buttons}
    found: str = library("io").to_html(
        made, include_plotlyjs=False, full_html=False, div_id=name, config=config
    )
    return found


def _digits(value: float, side: Side) -> str:
    if not np.isfinite(value):
        return "unknown"
    return rounded(value, side, 6) if side else f"{value:.6g}"


def _reported(found: Reduction, values: Any, side: Side) -> Line:
    return Line(
        f"μ = {found.mu:.4g}, failure {found.failure:g}",
        np.asarray(values, dtype=float),
        side,
        "#555555",
        "8px,2px,2px,2px",
    )


def _claims(comparison: Comparison, question: str, at: Array, side: Side) -> Iterator[Line]:
    for i, claim in enumerate(row.claim for row in comparison if row.claim is not None):
        values = _asked(claim, question, at)
        if values is not None:
            yield Line(
                claim.name,
                values,
                side if claim.kind == "bound" else "",
                COLOURS[i % len(COLOURS)],
                _DASHES[i % len(_DASHES)],
            )


def _asked(claim: Claim, question: str, at: Array) -> Array | None:
    answer = getattr(claim, question)
    try:
        return None if answer is None else np.asarray(answer(at), dtype=float)
    except TradeOffError:
        return None


def _data(lines: list[Line], x: Array, band: tuple[Any, Any], symbol: str) -> list[dict[str, Any]]:
    edge = {
        "type": "scatter",
        "mode": "lines",
        "x": x.tolist(),
        "showlegend": False,
        "hoverinfo": "skip",
        "line": {"width": 0},
    }
    edges = [{**edge, "y": np.asarray(side).tolist()} for side in band]
    edges[1].update(fill="tonexty", fillcolor="rgba(120,120,120,0.35)")
    return [*edges, *(line.trace(x, symbol) for line in lines)]


def _axes(scale: str, title: str, y: list[float], across: list[float] | None = None) -> dict[str, Any]:
    upright = {"yaxis.type": scale, "yaxis.range": y, "yaxis.title.text": title}
    if across is None:
        return upright
    return {
        **upright,
        "xaxis.type": scale,
        "xaxis.range": across,
        "xaxis.dtick": 1 if scale == "log" else None,
    }


def _figure(
    states: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]], start: str, xaxis: dict[str, Any]
) -> dict[str, Any]:
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
    yaxis = {
        "title": {"text": axes["yaxis.title.text"]},
        "type": start,
        "range": axes["yaxis.range"],
        "exponentformat": "power",
    }
    layout = {
        "xaxis": {**xaxis, "exponentformat": "power"},
        "yaxis": yaxis,
        "hovermode": "x unified",
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 0,
            "yref": "container",
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        "updatemenus": [{**menu, "active": list(states).index(start)}],
        "template": "simple_white",
        "height": 600,
        "margin": {"t": 60, "r": 20, "l": 70},
    }
    return {"data": data, "layout": layout}
