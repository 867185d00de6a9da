"""A report in one HTML file: tables, interactive curves, and what was assumed in plain words; it asks no network."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib import metadata
from string import Template
from typing import Any

import numpy as np

from tradeoff.core.curve import TradeOff
from tradeoff.errors import MissingExtraError, TradeOffError
from tradeoff.gdp import Reduction
from tradeoff.mechanisms import Plan, SubsampledGaussian, SubsampledLaplace
from tradeoff.report.answers import Answers
from tradeoff.report.compare import Comparison
from tradeoff.report.digits import rounded
from tradeoff.report.methods import Claim
from tradeoff.report.page import PAGE
from tradeoff.report.summary import parameters

_NEIGHBOURS = {
    "add-remove": "Two data sets are neighbours if one of them has a single record more than the other.",
    "replace-one": "Two data sets are neighbours if they have the same size and differ in a single record.",
}
_DASHES = ("dash", "dot", "dashdot", "longdash", "longdashdot", "5px,2px,1px,2px", "2px,4px", "10px,3px")
_COLOURS = ("#1b4f8a", "#d1663b", "#356f47", "#e08214", "#5a2a6e", "#2f8f9d", "#a83253", "#8f9a52")
_ALPHA = np.unique(np.concatenate([np.geomspace(1e-8, 0.5, 120), 1 - np.geomspace(1e-6, 0.5, 80), np.linspace(0, 1, 101)]))


def report(title: str, plan: Plan, answers: Answers, found: Reduction, comparison: Comparison) -> str:
    """Write a report of a plan as one HTML page.

    Parameters
    ----------
    title
        Heading; default: a plain one.
    plan
        The plan.
    answers
        Questions with their bounds.
    found
        The reduction of the plan's guarantee to one mu.
    comparison
        The exact answers beside other methods.

    Returns
    -------
    str
        HTML with its script and style inside: it opens without a network.

    Raises
    ------
    MissingExtraError
        If plotly is not installed.
    """
    curve = found.of
    return Template(PAGE).substitute(
        title=escape(title or "A privacy guarantee"),
        words="".join(f"<li>{escape(each)}</li>" for each in assumptions(plan)),
        reading="".join(f"<li>{escape(each)}</li>" for each in readings(curve)),
        mechanisms=_table(("count", "mechanism", "parameters"), _mechanisms(plan)),
        answers=_table(("question", "at least", "at most"), _answers(answers)),
        gdp=_gdp(found),
        comparison=_table(comparison.header(), comparison.table()),
        script=library("offline").get_plotlyjs(),
        tradeoff=_drawn("tradeoff", tradeoff_plot(found, comparison)),
        profile=_drawn("profile", profile_plot(found, comparison)),
        version=escape(metadata.version("tradeoff")),
    )


def assumptions(plan: Plan) -> list[str]:
    """Say in plain words what the numbers rest on."""
    said = [
        _NEIGHBOURS[plan.adjacency],
        "The numbers hold for every such pair, whichever of the two is the real data set.",
        "The noise and the number of releases were fixed in advance. What was released may have been looked at in between.",
    ]
    if any(isinstance(each, SubsampledGaussian | SubsampledLaplace) for each in plan.mechanisms):
        said.append("Each batch is a Poisson sample: every record enters it by a coin of its own, and the batches stay secret.")
    return [*said, "Everything released is in the list below, and nothing else about the data is."]


def readings(curve: TradeOff) -> list[str]:
    """Say what an attacker who knows all records but one can still do."""
    lower, _ = curve.bounds(np.array([0.001, 0.01, 0.1]))
    power = [rounded(1 - beta, "upper", 4) for beta in lower]
    said = [
        f"A test for one record that raises a false alarm in {alpha:.1%} of all cases finds it with probability at most {most}."
        for alpha, most in zip((0.001, 0.01, 0.1), power, strict=True)
    ]
    right = rounded((1 + float(curve.delta(0.0))) / 2, "upper", 4)
    return [*said, f"Whoever must guess between two equally likely neighbours is right with probability at most {right}."]


def _mechanisms(plan: Plan) -> Iterable[Sequence[str]]:
    for mechanism, n in plan.mechanisms.items():
        yield f"{n:,}", mechanism.kind, ", ".join(f"{name} = {value}" for name, value in parameters(mechanism).items())


def _answers(answers: Answers) -> Iterable[Sequence[str]]:
    for name, question, answer in answers:
        yield f"{name} at {question} = {answer.asked:.12g}", rounded(answer.lower, "lower"), rounded(answer.upper, "upper")


def _gdp(found: Reduction) -> str:
    if found.reason is not None:
        return f"<p>No finite μ holds with failure {found.failure:g}: {escape(found.reason)}.</p>"
    mu, regret = rounded(found.mu, "upper", 6), rounded(found.regret, "upper", 3)
    return (
        f"<p>The guarantee is at least as private as one Gaussian release with <strong>μ = {mu}</strong>, but for an event of probability "
        f"{found.failure:g}; this is proved for every type I error. Reporting only that μ gives up at most {regret} (regret: the largest "
        f"gap in error, over all prior beliefs, between the guarantee and the one reported).</p>"
    )


def _table(header: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def library(name: str) -> Any:
    """Return a module of plotly, or say how to install it."""
    try:
        return importlib.import_module(f"plotly.{name}")
    except ImportError as error:
        raise MissingExtraError('reports need plotly: pip install "tradeoff[report]"') from error


def tradeoff_plot(found: Reduction, comparison: Comparison) -> Any:
    """Draw beta against alpha: the band of the exact curve, the Gaussian curve below it, and the other methods."""
    lower, upper = found.of.bounds(_ALPHA)
    lines = [_line("perfect privacy", _ALPHA, 1 - _ALPHA, "#999999", "1px,3px", "β")]
    lines += _band(_ALPHA, lower, upper, lower, "β ≥")
    lines.append(_line(f"μ = {found.mu:.4g}, failure {found.failure:g}", _ALPHA, found.curve(_ALPHA), "#555555", "8px,2px,2px,2px", "β"))
    lines += _claims(comparison, "beta", _ALPHA, "β")
    return _figure(lines, "type I error α", "type II error β", {"linear": [0, 1], "log": [-6, 0]})


def profile_plot(found: Reduction, comparison: Comparison) -> Any:
    """Draw delta against epsilon likewise."""
    ends = [a.upper for a in comparison.exact.epsilon if np.isfinite(a.upper)]
    epsilon = np.linspace(0.0, max(1.0, *(1.5 * end for end in ends)) if ends else 10.0, 161)
    lower, upper = found.of.bounds.delta(epsilon)
    lines = _band(epsilon, lower, upper, upper, "δ ≤")
    lines.append(
        _line(f"μ = {found.mu:.4g}, failure {found.failure:g}", epsilon, found.curve.delta(epsilon), "#555555", "8px,2px,2px,2px", "δ")
    )
    lines += _claims(comparison, "delta", epsilon, "δ")
    return _figure(lines, "privacy loss ε (nats)", "δ(ε)", {"linear": [0, None], "log": [-12, 0.2]}, start="log", across="linear")


def _claims(comparison: Comparison, question: str, at: Any, symbol: str) -> list[dict[str, Any]]:
    rows = [row.claim for row in comparison if row.claim is not None]
    found = ((i, claim, _asked(claim, question, at)) for i, claim in enumerate(rows))
    return [_line(claim.name, at, value, _COLOURS[i % 8], _DASHES[i % 8], symbol) for i, claim, value in found if value is not None]


def _asked(claim: Claim, question: str, at: Any) -> Any:
    answer = getattr(claim, question)
    try:
        return None if answer is None else np.asarray(answer(at), dtype=float)
    except TradeOffError:
        return None


def _line(name: str, x: Any, y: Any, colour: str, dash: str, symbol: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": np.asarray(x).tolist(),
        "y": [value if np.isfinite(value) else None for value in np.asarray(y, dtype=float).tolist()],
        "line": {"color": colour, "dash": dash, "width": 1.8},
        "hovertemplate": f"%{{x:.4g}}: {symbol} %{{y:.6g}}",
    }


def _band(x: Any, lower: Any, upper: Any, safe: Any, symbol: str) -> list[dict[str, Any]]:
    edges = [_line(name, x, side, "#bbbbbb", "solid", "") for name, side in (("at least", lower), ("at most", upper))]
    for edge in edges:
        edge.update(showlegend=False, hoverinfo="skip", line={"width": 0})
        del edge["hovertemplate"]
    edges[1].update(fill="tonexty", fillcolor="rgba(120,120,120,0.35)")
    exact = _line("exact", x, safe, "#000000", "solid", symbol)
    return [*edges, exact]


def _figure(
    lines: list[dict[str, Any]], x: str, y: str, ranges: dict[str, list[Any]], *, start: str = "linear", across: str = ""
) -> dict[str, Any]:
    def axes(scale: str) -> dict[str, Any]:
        both = {"yaxis.type": scale, "yaxis.range": ranges[scale]}
        return both if across else {**both, "xaxis.type": scale, "xaxis.range": ranges[scale]}

    buttons = [{"label": scale, "method": "relayout", "args": [axes(scale)]} for scale in ("linear", "log")]
    menu = {
        "type": "buttons",
        "direction": "right",
        "x": 0,
        "y": 1.12,
        "xanchor": "left",
        "buttons": buttons,
        "active": int(start == "log"),
    }
    layout = {
        "xaxis": {"title": {"text": x}, "type": across or start, **({} if across else {"range": ranges[start]})},
        "yaxis": {"title": {"text": y}, "type": start, "range": ranges[start], "exponentformat": "power"},
        "hovermode": "x unified",
        "updatemenus": [menu],
        "template": "simple_white",
        "height": 520,
        "margin": {"t": 60, "r": 20},
    }
    return {"data": lines, "layout": layout}


def _drawn(name: str, figure: dict[str, Any]) -> str:
    made = library("graph_objects").Figure(figure)
    config = {
        "displaylogo": False,
        "responsive": True,
        "modeBarButtons": [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    }
    drawn: str = library("io").to_html(made, include_plotlyjs=False, full_html=False, div_id=name, config=config)
    return drawn
