"""Plan files and questions of the commands."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tradeoff.atomic_write import read_text
from tradeoff.errors import DomainError

if TYPE_CHECKING:
    from tradeoff.curves.contract import TradeOff
    from tradeoff.mechanisms import Plan
    from tradeoff.spec import PlanFile

DEFAULT_DELTA = 1e-5  # the delta that most papers report at
_MAX_FACTORS = 1_000  # different mechanisms that no closed form adds up: 6 to 60 seconds

Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Json = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]
Csv = Annotated[bool, Parameter(name="--csv", negative="", show_default=False)]
Latex = Annotated[bool, Parameter(name="--latex", negative="", show_default=False)]
Source = Annotated[Path, Parameter(help="Plan file, in TOML; - reads it from stdin.")]
Output = Annotated[Path, Parameter(name=["--output", "-o"])]
Numbers = Annotated[tuple[float, ...], Parameter(negative="", show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True)
class Questions:
    """Questions on the command line, which replace those of a plan file.

    Parameters
    ----------
    delta
        Probabilities at which to bound epsilon; one or more.
    epsilon
        Losses in nats at which to bound delta; one or more.
    alpha
        Type I errors at which to bound the smallest type II error beta; one or more.
    """

    delta: Numbers = ()
    epsilon: Numbers = ()
    alpha: Numbers = ()


NO_QUESTIONS = Questions()


def check_forms(*given: bool) -> None:
    """Raise if several forms of output were given."""
    if sum(given) > 1:
        raise DomainError("at most one of --json, --csv and --latex must be given")


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


def read_plan(plan: Path, content: str | None = None) -> PlanFile:
    """Read a plan file, or the text of one."""
    from tradeoff.spec import loads

    content = read_source(plan) if content is None else content
    return loads(content, name="stdin" if str(plan) == "-" else str(plan), folder=plan.parent)


def read_questions(content: PlanFile, questions: Questions) -> dict[str, tuple[float, ...]]:
    """Return the questions of the command line if it has any, else those of the file, else the default."""
    from tradeoff.spec.plan_file import check_questions

    flags = asdict(questions)
    for name, values in flags.items():
        check_questions(name, values, f"--{name}")
    if any(flags.values()):
        return flags
    in_file = {name: getattr(content, name) for name in flags}
    return in_file if any(in_file.values()) else {"delta": (DEFAULT_DELTA,), "epsilon": (), "alpha": ()}


def compose_plan(plan: Plan) -> TradeOff:
    """Return the guarantee of a plan, if it has few enough factors."""
    from tradeoff.report.answers import factors

    curve = plan.guarantee()
    if (n := len(factors(curve))) > _MAX_FACTORS:
        raise DomainError(f"a plan must have at most {_MAX_FACTORS:,} different mechanisms, got {n:,}")
    return curve
