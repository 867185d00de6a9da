"""``tradeoff compare`` and ``tradeoff report``: exact bounds beside other methods, in a table or a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tradeoff.atomic_write import atomic_write
from tradeoff.cli.questions import UNASKED, Json, Output, Questions, Source, asked, composed, read
from tradeoff.cli.terminal import print_json, progress, screen
from tradeoff.display import folded, plain
from tradeoff.report.saving import check_target, save

if TYPE_CHECKING:
    from rich.table import Table

    from tradeoff.report.compare import Comparison

_BREAK = re.compile(r" (?=at alpha|at delta|at epsilon|composition)")  # where a cell breaks its line

# What stands under the table.
_NOTE = (
    'In brackets the signed error; "!" marks one on the unsafe side, where more privacy is claimed than '
    'there is. "under-reports": some answer here does; "under-reports elsewhere": only beta at one of 129 '
    'other type I errors does. The last column says by how much and where. "safe": none does. '
    '"within the bounds", and "?": the exact bounds do not tell. A bound is proved, an estimate is not.'
)


def compare(
    plan: Source,
    *,
    method: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    questions: Questions = UNASKED,
    plot: Path | None = None,
    as_json: Json = False,
) -> None:
    """Compare the exact answers of a plan with those of other methods, each error with its sign.

    Parameters
    ----------
    method
        Methods to compare, one after each flag; default: all that apply.
    questions
        What is asked.
    plot
        Draw all methods into this file: .png, .svg or .pdf.
    as_json
        Print the table as JSON.
    """
    target = check_target(plot) if plot is not None else None
    content = read(plan)
    given = asked(content, questions)

    from tradeoff.report.compare import compare as compared

    with progress() as step:
        step("composing")
        result = compared(composed(content.plan), method or None, **given, step=step)
        if target is not None:
            step("drawing")
            save(result.figure(), target)
    if as_json:
        print_json(plan, content, result.as_json())
    else:
        _show(content.title, result, target)


def report(plan: Source, *, output: Output, failure: float = 1e-10, questions: Questions = UNASKED) -> None:
    """Write a report of a plan: answers, one mu with its regret, interactive curves, assumptions in words.

    Parameters
    ----------
    output
        HTML file to write; it opens without a network.
    failure
        Probability that the reported mu may leave out.
    questions
        What is asked.
    """
    from tradeoff.report.compare import compare as compared
    from tradeoff.report.html import report as written
    from tradeoff.report.interactive import library

    library("offline")  # said before anything is computed, if it is missing
    target = check_target(output, (".html", ".htm"))
    content = read(plan)
    given = asked(content, questions)
    with progress() as step:
        step("composing")
        curve = composed(content.plan)
        step("reducing to one mu")
        result = curve.gdp(failure)
        comparison = compared(curve, None, **given, step=step)
        step("drawing")
        atomic_write(target, written(content.title, content.plan, comparison.exact, result, comparison))
    print(f"Report written to {plain(target)}")


def _show(title: str, found: Comparison, figure: Path | None) -> None:
    from tradeoff.curves.hooks import NOT_EXACT
    from tradeoff.report.rows import DECLINED

    console = screen()
    rows = [row for row in found.table() if row[1] != DECLINED]
    columns = [
        [_BREAK.sub("\n", cell) for cell in column] for column in zip(found.header(), *rows, strict=True)
    ]
    if title:
        console.print(folded(title), style="bold", markup=False)
    for block in blocks(columns, console.width):
        console.print(_table(block))
    for method, why in found.declined.items():
        console.print(f"{method} declined: {why}.", style="dim", markup=False)
    console.print(_NOTE, style="dim")
    if not found.curve.exact:
        console.print(NOT_EXACT, style="dim")
    if figure is not None:
        console.print(f"Plot written to {plain(figure)}", style="dim", soft_wrap=True, markup=False)


def blocks(columns: Sequence[list[str]], width: int) -> Iterator[list[list[str]]]:
    """Split whole columns into blocks no wider than the screen, each led by the first two."""
    lead, taken = list(columns[:2]), 0
    room = width - 1 - sum(map(_width, lead))
    block: list[list[str]] = []
    for column in columns[2:]:
        if block and taken + _width(column) > room:
            yield lead + block
            block, taken = [], 0
        block.append(column)
        taken += _width(column)
    yield lead + block


def _width(column: Sequence[str]) -> int:
    return 3 + max(len(part) for cell in column for part in cell.split("\n"))


def _table(block: Sequence[Sequence[str]]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from tradeoff.report.rows import under

    table = Table(box=SIMPLE_HEAD)
    for name, *_ in block:
        table.add_column(name, no_wrap=True)
    for row in zip(*(column[1:] for column in block), strict=True):
        table.add_row(
            *(f"[bold red]{escape(c)}[/]" if under(c) or c.endswith("!") else escape(c) for c in row)
        )
    return table
