"""Output of the command: tables on stdout, progress on stderr if it is a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tradeoff.display import TextTable, folded, plain

if TYPE_CHECKING:
    from tradeoff.spec import PlanFile


class Screen(Console):
    """Console on stdout."""

    def on_broken_pipe(self) -> None:
        """Leave the exit code to the command."""
        raise BrokenPipeError


def screen() -> Screen:
    """Return a console on stdout, wide enough that no number is cut in a file."""
    return Screen(highlight=False, width=None if sys.stdout.isatty() else 100)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Show the current step and the elapsed time while it runs, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda step: bar.update(task, description=step)


def show(grid: TextTable) -> None:
    """Print a table, its notes below it; numbers are never cut, and answers with a ! are red."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    console = screen()
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name, side in zip(grid.columns, grid.sides, strict=True):
        is_number = side == ">"
        table.add_column(
            Text(name), justify="right" if is_number else "left", no_wrap=is_number, overflow="fold"
        )
    for row in grid.rows:
        table.add_row(*(Text(cell, style="bold red" if cell.endswith("!") else "") for cell in row))
    console.width = max(console.width, console.measure(table).minimum)
    if grid.head:
        console.print(folded(grid.head), style="bold", soft_wrap=True, markup=False)
    console.print(table)
    for note in grid.notes:
        console.print(plain(note), style="dim", soft_wrap=True, markup=False)


def print_json(plan: Path, content: PlanFile, answers: Mapping[str, Any]) -> None:
    """Print answers for a plan as JSON, with the version of the library."""
    from tradeoff._version import __version__
    from tradeoff.report.answers import summary

    head = {"file": str(plan), **summary(content.title, content.plan)}
    print(json.dumps({"tradeoff": __version__, "plan": head, **answers}, allow_nan=False), flush=True)
