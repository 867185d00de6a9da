"""``tradeoff compare`` and ``tradeoff report``: exact bounds and other methods, in a table or a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tradeoff.atomic_write import atomic_write
from tradeoff.cli.questions import (
    NO_QUESTIONS,
    Csv,
    Json,
    Latex,
    Output,
    Questions,
    Source,
    check_forms,
    compose_plan,
    read_plan,
    read_questions,
)
from tradeoff.cli.terminal import print_json, progress, screen, show
from tradeoff.display import plain
from tradeoff.report.saving import check_target, save


def compare(
    plan: Source,
    *,
    method: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    questions: Questions = NO_QUESTIONS,
    plot: Path | None = None,
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
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
        Print the answers and their errors as JSON.
    as_csv
        Print them as CSV, with every digit.
    as_latex
        Print the answers as a LaTeX table for the package booktabs.
    """
    check_forms(as_json, as_csv, as_latex)
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
    elif as_csv or as_latex:
        sys.stdout.write(result.to_csv() if as_csv else result.to_latex() + "\n")
    else:
        grid = result.grid(screen().width)
        notes = [*grid.notes, *([f"Plot written to {target}"] if target is not None else [])]
        show(grid._replace(head=content.title, notes=notes))


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
