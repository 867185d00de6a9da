"""Figures of DP-SGD whose slider changes one parameter: every curve is computed when the page is built."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

import tradeoff as to

SLIDERS = {
    "noise multiplier σ": ("noise_multiplier", (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3, 1.5, 2.0, 3.0, 5.0)),
    "sampling rate q": ("sample_rate", (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.03, 0.06)),
    "number of steps": ("steps", (100, 300, 1000, 3000, 10_000, 30_000, 100_000)),
}
RUN = {"noise_multiplier": 1.1, "sample_rate": 0.004, "steps": 10_000}
ALPHA = np.concatenate([[0.0], np.geomspace(1e-4, 0.1, 12), np.linspace(0.15, 1, 14)])


def slider_figure(name: str) -> str:
    """Return the figure of one parameter as HTML."""
    key, values = SLIDERS[name]
    start = values.index(RUN[key])
    traces, titles = [], []
    for value in values:
        f = to.dp_sgd(**{**RUN, key: value}).guarantee()
        traces.append(
            go.Scatter(
                x=ALPHA, y=f(ALPHA), mode="lines", visible=value == RUN[key], line={"color": "#0072b2"}
            )
        )
        epsilon, mu = (np.ceil(1000 * x) / 1000 for x in (f.epsilon(1e-5), f.gdp(failure=1e-10).mu))
        titles.append(f"{name} = {value:g}: ε = {epsilon:.3f}, μ = {mu:.3f}")
    chance = go.Scatter(x=[0, 1], y=[1, 0], mode="lines", line={"color": "#999", "dash": "dot"})
    steps = [
        {
            "method": "update",
            "label": f"{value:g}",
            "args": [{"visible": [k == j for j in range(len(values))] + [True]}, {"title.text": titles[k]}],
        }
        for k, value in enumerate(values)
    ]
    figure = go.Figure([*traces, chance])
    figure.update_layout(
        template="simple_white",
        height=480,
        showlegend=False,
        title={"text": titles[start], "font": {"size": 15}},
        xaxis={"title": "false-positive rate α", "range": [0, 1]},
        yaxis={"title": "false-negative rate β", "range": [0, 1]},
        sliders=[{"active": start, "steps": steps, "currentvalue": {"visible": False}, "pad": {"t": 60}}],
        margin={"l": 60, "r": 20, "t": 50},
    )
    return figure.to_html(full_html=False, include_plotlyjs=False, config={"displayModeBar": False})
