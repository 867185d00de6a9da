"""``tradeoff experiment``: simulations that show what a mechanism is worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from rich.table import Table

from tradeoff.cli.terminal import Screen, progress
from tradeoff.report.plain import plain
from tradeoff.report.saving import check_target, save

app = App(name="experiment", help="Simulations that show what a mechanism is worth.")

Flag = Annotated[bool, Parameter(negative="")]


@app.command
def relative_error(
    *,
    table: Literal["zipf", "doctor-visits", "both"] = "both",
    epsilon: float = 1.0,
    delta: float = 1e-6,
    error: float = 0.1,
    runs: int = 20,
    seed: int = 0,
    plot: Path | None = None,
    as_json: Annotated[Flag, Parameter(name="--json")] = False,
) -> None:
    """Release as many counts as possible within a relative error under one budget, by noise reduction and by doubling.

    Parameters
    ----------
    table
        Counts 100000/k; or how many of 20,190 person-years had at least k visits to a doctor; or both.
    epsilon
        Loss of each run in nats.
    delta
        Failure probability of each run.
    error
        Relative error aimed at.
    runs
        How often to repeat each method.
    seed
        Whole number; the same seed gives the same table.
    plot
        Draw the table into this file: .png, .svg or .pdf.
    as_json
        Print the table as JSON.
    """
    from tradeoff.filters.noise_reduction import experiment
    from tradeoff.filters.noise_reduction.tables import TABLES
    from tradeoff.report.experiment import experiment_figure, rows
    from tradeoff.report.styles import number

    target = check_target(plot) if plot is not None else None
    settings = {"epsilon": epsilon, "delta": delta, "error": error, "runs": runs, "seed": seed}
    with progress() as step:
        found = {
            name: experiment.relative_error(counts, **settings, step=step)  # type: ignore[arg-type]  # each by its own name
            for name, counts in TABLES.items()
            if table in (name, "both")
        }
        if target is not None:
            title = f"ε = {number(epsilon)}, δ = {number(delta)}, relative error {number(error)}"
            save(experiment_figure(found, title=title), target)
    shown = {name: rows(outcomes) for name, outcomes in found.items()}
    if as_json:
        print(json.dumps({"settings": settings, "tables": shown}, allow_nan=False), flush=True)  # noqa: T201 - the answer
    else:
        _show(shown, settings, target)


def _show(
    shown: Mapping[str, list[dict[str, Any]]], settings: Mapping[str, float], target: Path | None
) -> None:
    console = Screen(highlight=False)
    for name, lines in shown.items():
        table = Table("method", title=name, title_justify="left", title_style="bold")
        for head in ("counts released", "accurate in truth"):
            table.add_column(head, justify="right", no_wrap=True)
        for line in lines:
            pairs = [(line[each], line[f"{each}_half_width"]) for each in ("released", "accurate")]
            table.add_row(
                line["method"],
                *(f"{mean:.1f} ± {half:.1f}" if half != "inf" else f"{mean:.1f}" for mean, half in pairs),
            )
        console.print(table)
    console.print(
        f"Relative error {settings['error']:g} under ε = {settings['epsilon']:g}, δ = {settings['delta']:g}; "
        f"mean of {settings['runs']} runs with 95% intervals.",
        style="dim",
    )
    if target is not None:
        console.print(f"Plot written to {plain(target)}", style="dim", soft_wrap=True, markup=False)
