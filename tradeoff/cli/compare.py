"""``tradeoff compare``: exact bounds beside limit theorems and textbook composition."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from tradeoff.cli.questions import Numbers, asked
from tradeoff.cli.terminal import progress
from tradeoff.report.compare import UNDER, Comparison
from tradeoff.report.compare import compare as compared
from tradeoff.report.saving import check_target, save
from tradeoff.report.summary import summary
from tradeoff.spec import load


def compare(
    plan: Path,
    *,
    method: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    delta: Numbers = (),
    epsilon: Numbers = (),
    alpha: Numbers = (),
    plot: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Compare the exact answers of a plan with those of other methods, each error with its sign.

    Parameters
    ----------
    plan
        Plan file, in TOML.
    method
        Methods to compare, one after each flag; default: all that apply.
    delta
        Probabilities at which to answer with epsilon; one or more.
    epsilon
        Losses in nats at which to answer with delta; one or more.
    alpha
        Type I errors at which to answer with the least type II error beta; one or more.
    plot
        Draw all methods into this file: .png, .svg or .pdf.
    as_json
        Print the table as JSON.
    """
    target = check_target(plot) if plot is not None else None
    content = load(plan)
    questions = asked(content, delta=delta, epsilon=epsilon, alpha=alpha)
    with progress() as step:
        step("comparing")
        found = compared(content.plan.guarantee(), method or None, **questions)
        if target is not None:
            step("drawing")
            save(found.figure(), target)
    if as_json:
        head: dict[str, Any] = {"file": str(plan), **summary(content.title, content.plan)}
        print(json.dumps({"plan": head, **found.as_json()}, allow_nan=False), flush=True)  # noqa: T201 - the answer
    else:
        _show(content.title, found, target)


def _show(title: str, found: Comparison, figure: Path | None) -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    table = Table(title=title.replace("[", r"\[") or None, title_justify="left", title_style="bold")
    for name in found.header():
        table.add_column(name)
    for row in found.table():
        table.add_row(*(cell.replace("[", r"\[") for cell in row), style="bold" if row[-1] == UNDER else None)
    console.print(table)
    console.print("Each answer with its signed error; ! marks the unsafe side. Estimates have no proof, bounds do.", style="dim")
    if figure is not None:
        console.print(f"Plot written to {figure}", style="dim", soft_wrap=True, markup=False)
