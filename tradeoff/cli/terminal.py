"""What the command shows: tables on stdout, progress on stderr, and that only to a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tradeoff.report.answers import Answers
from tradeoff.report.digits import rounded
from tradeoff.report.plain import folded, plain
from tradeoff.report.summary import parameters
from tradeoff.spec import PlanFile


class Screen(Console):
    """Stdout, as rich writes to it."""

    def on_broken_pipe(self) -> None:
        """Leave the exit code to the command."""
        raise BrokenPipeError


def screen() -> Screen:
    """Return stdout, wide enough that no number is cut where it goes to a file."""
    return Screen(highlight=False, width=None if sys.stdout.isatty() else 120)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Show a bar with the current step and the time elapsed, while it runs, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda step: bar.update(task, description=step)


def show(content: PlanFile, answers: Answers, figure: Path | None) -> None:
    """Print the table of what was composed, and each answer with its bounds."""
    console = screen()
    console.print(_composed(content))
    console.print(_answered(answers))
    note = f"Valid for every pair of {content.plan.adjacency} neighbours, in either order."
    console.print(note, style="dim")
    for each in answers.assumptions:
        console.print(f"Assumes: {plain(each)}", style="dim", soft_wrap=True, markup=False)
    if figure is not None:
        console.print(f"Plot written to {plain(figure)}", style="dim", soft_wrap=True, markup=False)


def _composed(content: PlanFile) -> Table:
    table = Table(title=escape(folded(content.title)) or None, title_justify="left", title_style="bold")
    table.add_column("count", justify="right")
    table.add_column("mechanism")
    table.add_column("parameters")
    for mechanism, n in content.plan.mechanisms.items():
        table.add_row(
            f"{n:,}",
            mechanism.kind,
            ", ".join(f"{name} = {value}" for name, value in parameters(mechanism).items()),
        )
    return table


def _answered(answers: Answers) -> Table:
    table = Table("question")
    for side in ("at least", "at most"):
        table.add_column(side, justify="right", no_wrap=True)
    for name, question, answer in answers:
        asked = f"{name} at {question} = {answer.asked:.12g}"
        table.add_row(asked, rounded(answer.lower, "lower"), rounded(answer.upper, "upper"))
    return table
