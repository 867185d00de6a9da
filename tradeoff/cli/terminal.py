"""Input and output of the commands: plan files, questions, tables on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, Token
from rich.console import Console

from tradeoff.atomic_write import read_text
from tradeoff.display import TextTable, folded, plain
from tradeoff.errors import DomainError
from tradeoff.report.styles import check_target

if TYPE_CHECKING:
    from tradeoff.curves.contract import TradeOff
    from tradeoff.mechanisms import Plan
    from tradeoff.spec import PlanFile


_MAX_FACTORS = 1_000  # different mechanisms that no closed form adds up: 6 to 60 seconds


def read_integer(_: Any, tokens: Sequence[Token]) -> int:
    """Return the integer of a flag; 1e3 is one, and 1.5 is refused, not rounded."""
    text = tokens[0].value
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if (value := float(text)).is_integer() and abs(value) < 2**53:  # larger floats are rounded
            return int(value)
    raise ValueError(text)


def flag_of(parameter: str) -> str:
    """Return the flag of a parameter's name."""
    return f"--{parameter.replace('_', '-')}"


Integer = Annotated[int, Parameter(converter=read_integer)]
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Json = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]
Source = Annotated[Path, Parameter(help="Plan file, in TOML; - reads it from stdin.")]
Output = Annotated[Path, Parameter(name=["--output", "-o"])]
Numbers = Annotated[tuple[float, ...], Parameter(negative="", show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True)
class Questions:
    """Questions on the command line, which replace those of a plan file.

    Args:
        delta: Probabilities at which to bound epsilon; one or more.
        epsilon: Losses in nats at which to bound delta; one or more.
        alpha: Type I errors at which to bound the smallest type II error beta; one or more.
    """

    delta: Numbers = ()
    epsilon: Numbers = ()
    alpha: Numbers = ()


@Parameter(name="*")
@dataclass(frozen=True)
class Precision:
    """Answers to print, and how narrow.

    Args:
        mu: Also print the least mu of a Gaussian bound on the whole curve. It is exact, and always printed,
            where all mechanisms are Gaussian; elsewhere it takes longer than other questions.
        failure: Probability that mu may leave out, with --mu; default: 1e-10, or 0 if all mechanisms are
            Gaussian.
        tol: Width the bounds must reach: absolute for epsilon, relative for delta and beta.
    """

    mu: Flag = False
    failure: float | None = None
    tol: float | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class Form:
    """Form of the output.

    Args:
        plot: Draw the trade-off curve, or the profiles of all methods, into this file: .png, .svg or .pdf.
        as_json: Print the answers as JSON.
        as_csv: Print the answers as CSV, with every digit.
        as_latex: Print the answers as a LaTeX table for the package booktabs, bounds rounded outward.
    """

    plot: Path | None = None
    as_json: Json = False
    as_csv: Annotated[bool, Parameter(name="--csv", negative="", show_default=False)] = False
    as_latex: Annotated[bool, Parameter(name="--latex", negative="", show_default=False)] = False

    def check(self) -> None:
        """Raise unless at most one form is given, and the figure can be written."""
        if self.as_json + self.as_csv + self.as_latex > 1:
            raise DomainError("at most one of --json, --csv and --latex must be given")
        if self.plot is not None:
            check_target(self.plot, name="--plot")


NO_QUESTIONS, USUAL, TEXT = Questions(), Precision(), Form()


def read_source(plan: Path) -> str:
    """Return the text of a plan file, or of stdin if it is named -."""
    from tradeoff.spec.plan_file import MAX_CHARACTERS

    return read_stdin(MAX_CHARACTERS) if str(plan) == "-" else read_text(plan, MAX_CHARACTERS)


def read_stdin(limit: int = -1) -> str:
    """Return the text of stdin, up to one character more than the limit."""
    if sys.stdin is None:
        raise DomainError("stdin must be open")
    try:
        return sys.stdin.read(limit + 1 if limit >= 0 else -1)
    except (OSError, UnicodeDecodeError) as error:
        raise DomainError(f"stdin cannot be read: {error}") from error


def read_plan(plan: Path, questions: Questions = NO_QUESTIONS, content: str | None = None) -> PlanFile:
    """Read a plan file, or the text of one, with the questions to answer."""
    from tradeoff.spec import loads

    content = read_source(plan) if content is None else content
    name = "stdin" if str(plan) == "-" else str(plan)
    return replace_questions(loads(content, name=name, folder=plan.parent), questions)


def replace_questions(content: PlanFile, questions: Questions) -> PlanFile:
    """Return a plan file with the questions of the command line if it has any, else the default if none."""
    flags = asdict(questions)
    if not any((*flags.values(), *content.questions.values())):
        flags["delta"] = (1e-5,)  # most papers report at this delta
    return replace(content, **flags) if any(flags.values()) else content


def compose_plan(plan: Plan) -> TradeOff:
    """Return the guarantee of a plan, if it has few enough factors."""
    from tradeoff.report.answers import factors

    curve = plan.guarantee()
    if (n := len(factors(curve))) > _MAX_FACTORS:
        raise DomainError(f"a plan must have at most {_MAX_FACTORS:,} different mechanisms, got {n:,}")
    return curve


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
        justify: Literal["left", "right"] = "right" if side == ">" else "left"
        table.add_column(Text(name), justify=justify, no_wrap=side == ">", overflow="fold")
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
    from tradeoff.mechanisms.plan import plain as plain_data

    head = {"file": str(plan), "title": content.title, **plain_data(content.plan)}
    print(json.dumps({"tradeoff": __version__, "plan": head, **answers}, allow_nan=False), flush=True)
