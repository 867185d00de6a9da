"""``tradeoff compare`` and ``tradeoff report``: exact bounds and other methods, in a table or a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tradeoff.atomic_write import atomic_write
from tradeoff.cli.questions import (
    NO_QUESTIONS,
    Json,
    Output,
    Questions,
    Source,
    compose_plan,
    read_plan,
    read_questions,
)
from tradeoff.cli.terminal import print_json, progress, screen
from tradeoff.display import folded, plain
from tradeoff.report.saving import check_target, save

if TYPE_CHECKING:
    from tradeoff.report.compare import Comparison

_BREAK = re.compile(r" (?=at alpha|at delta|at epsilon)|(?<=;) ")  # where a cell is broken into lines


def compare(
    plan: Source,
    *,
    method: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    questions: Questions = NO_QUESTIONS,
    plot: Path | None = None,
    as_json: Json = False,
) -> None:
    """Compare the exact answers for a plan with those of other methods, each error with its sign.

    Parameters
    ----------
    method
        Methods to compare, one after each flag; default: all that apply.
    questions
        The questions.
    plot
        Draw all methods into this file: .png, .svg or .pdf.
    as_json
        Print the table as JSON.
    """
    target = check_target(plot, name="--plot") if plot is not None else None
    content = read_plan(plan)
    queries = read_questions(content, questions)

    from tradeoff.report.compare import compare as compare_methods

    with progress() as step:
        step("composing")
        result = compare_methods(compose_plan(content.plan), method or None, **queries, step=step)
        if target is not None:
            step("drawing")
            save(result.figure(), target)
    if as_json:
        print_json(plan, content, result.as_json())
    else:
        _show(content.title, result, target)


def report(
    plan: Source, *, output: Output, failure: float = 1e-10, questions: Questions = NO_QUESTIONS
) -> None:
    """Write a report of a plan: answers with certificates, one mu with its regret, curves, assumptions.

    Parameters
    ----------
    output
        HTML file to write; it opens without a network.
    failure
        Probability that the reported mu may leave out.
    questions
        The questions.
    """
    target = check_target(output, (".html", ".htm"), "--output")
    content = read_plan(plan)
    queries = read_questions(content, questions)

    from tradeoff.report.compare import compare as compare_methods
    from tradeoff.report.html import report as write_report

    with progress() as step:
        step("composing")
        curve = compose_plan(content.plan)
        step("reducing to one mu")
        reduction = curve.gdp(failure)
        comparison = compare_methods(curve, None, **queries, step=step)
        step("certifying and drawing")
        atomic_write(target, write_report(content.title, content.plan, reduction, comparison))
    print(f"Report written to {plain(target)}")


def _show(title: str, result: Comparison, figure: Path | None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from tradeoff.report.compare import DECLINED, NOTE, UNDER

    console = screen()
    if title:
        console.print(folded(title), style="bold", markup=False)
    lines = [result.header(), *(row for row in result.table() if row[1] != DECLINED)]
    cells = [[_BREAK.sub("\n", cell) for cell in line] for line in lines]
    for block in blocks([*zip(*cells, strict=True)], console.width):
        header, *rows = zip(*block, strict=True)
        table = Table(box=SIMPLE_HEAD)
        for name in header:
            table.add_column(name, no_wrap=True)
        for row in rows:
            unsafe = [each.startswith(UNDER) or each.endswith("!") for each in row]
            texts = zip(unsafe, map(escape, row), strict=True)
            table.add_row(*(f"[bold red]{text}[/]" if marked else text for marked, text in texts))
        console.print(table)
    notes = [f"{method} declined: {reason}." for method, reason in result.declined.items()]
    for note in [*notes, NOTE, *result.curve.caveats]:
        console.print(note, style="dim", markup=False)
    if figure is not None:
        console.print(f"Plot written to {plain(figure)}", style="dim", soft_wrap=True, markup=False)


def blocks(columns: Sequence[Sequence[str]], width: int) -> Iterator[list[Sequence[str]]]:
    """Split columns into blocks no wider than the screen, each with the first two columns."""

    def measure(column: Sequence[str]) -> int:
        return 3 + max(len(part) for cell in column for part in cell.split("\n"))

    lead, block, used = list(columns[:2]), list[Sequence[str]](), 0
    space = width - 1 - sum(map(measure, lead))
    for column in columns[2:]:
        if block and used + measure(column) > space:
            yield lead + block
            block, used = [], 0
        block.append(column)
        used += measure(column)
    yield lead + block
