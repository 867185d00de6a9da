"""What a command asks, and of which curve."""

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

DEFAULT = {"delta": (1e-5,)}  # where neither command nor plan asks: the delta that most papers report at
FAILURE = 1e-10  # what mu leaves out unless said: with nothing left out, unbounded losses have no mu
_MAX_FACTORS = 1_000  # different mechanisms that no closed form adds up: 6 to 60 seconds

Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Json = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]
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
        Probabilities at which to answer with epsilon; one or more.
    epsilon
        Losses in nats at which to answer with delta; one or more.
    alpha
        Type I errors at which to answer with the least type II error beta; one or more.
    """

    delta: Numbers = ()
    epsilon: Numbers = ()
    alpha: Numbers = ()


UNASKED = Questions()  # where no flag asks anything: the file does, or epsilon is asked at ``DEFAULT``


def read(plan: Path) -> PlanFile:
    """Read a plan file, or stdin where it is named -."""
    from tradeoff.spec import loads

    return loads(read_source(plan), name="stdin" if str(plan) == "-" else str(plan), folder=plan.parent)


def read_source(plan: Path) -> str:
    """Return the text of a plan file, or of stdin where it is named -."""
    from tradeoff.spec.plan_file import MAX_CHARACTERS

    return read_stdin(MAX_CHARACTERS) if str(plan) == "-" else read_text(plan, MAX_CHARACTERS)


def read_stdin(limit: int) -> str:
    """Return the text of stdin, up to one character more than the limit."""
    try:
        return sys.stdin.read(limit + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise DomainError(f"stdin cannot be read: {error}") from error


def asked(content: PlanFile, questions: Questions) -> dict[str, tuple[float, ...]]:
    """Return the questions of the command line if it has any, else those of the file, else the default."""
    from tradeoff.spec.plan_file import QUESTIONS, check_questions

    flags = asdict(questions)
    if any(flags.values()):
        for name, values in flags.items():
            check_questions(name, values, f"--{name}")
        return flags
    written = {name: getattr(content, name) for name in QUESTIONS}
    return written if any(written.values()) else {name: DEFAULT.get(name, ()) for name in QUESTIONS}


def left_out(mu: bool, failure: float | None) -> tuple[float, ...]:  # noqa: FBT001 - the flag itself
    """Return the failure probability of ``--mu``, if that is asked."""
    if failure is not None and not mu:
        raise DomainError("--failure is that of --mu: give both, or neither")
    return (FAILURE if failure is None else failure,) if mu else ()


def composed(plan: Plan) -> TradeOff:
    """Return the guarantee of a plan, if it has few enough factors to be asked."""
    from tradeoff.report.summary import factors

    curve = plan.guarantee()
    if (n := len(factors(curve))) > _MAX_FACTORS:
        raise DomainError(f"a plan must have at most {_MAX_FACTORS:,} different mechanisms, got {n:,}")
    return curve
