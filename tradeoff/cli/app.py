"""The application: ``tradeoff compose``, its flags, and its exit codes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter

import tradeoff
from tradeoff.cli import experiment, ledger
from tradeoff.cli.calibrate import calibrate
from tradeoff.cli.compare import compare
from tradeoff.cli.questions import Numbers, asked, composed
from tradeoff.cli.report import report
from tradeoff.cli.shell import INTERNAL, INTERRUPTED, NO_READER, UNPRINTED, discard, raise_signal, refuse
from tradeoff.cli.terminal import Screen, progress, show
from tradeoff.cli.tokens import spread
from tradeoff.errors import TradeOffError
from tradeoff.report.answers import ask
from tradeoff.report.plot import figure
from tradeoff.report.saving import check_target, save
from tradeoff.report.summary import summary
from tradeoff.spec import load
from tradeoff.spec.limits import within

app = App(
    name="tradeoff",
    help=str(tradeoff.__doc__).partition("\n\n")[0],
    version=lambda: metadata.version("tradeoff"),
    console=Screen(),
)
app.command(experiment.app)
app.command(ledger.app)
app.command(calibrate)
app.command(compare)
app.command(report)


def run(tokens: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, or another with one line on stderr that says why."""
    try:
        within("words", len(tokens), "words on the command line")
        command, given, _ = app.parse_args(spread(tokens), exit_on_error=False, print_error=False)
        command(*given.args, **given.kwargs)
        sys.stdout.flush()
    except (TradeOffError, CycloptsError) as error:
        return refuse(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        discard(sys.stdout)
        return NO_READER
    except OSError as error:
        discard(sys.stdout)
        return refuse(f"the answer could not be printed: {error.strerror or error}", UNPRINTED)
    except Exception as error:
        raise_signal(error)
        if os.environ.get("TRADEOFF_DEBUG"):
            raise
        said = f"internal error: {type(error).__name__}: {error}"
        return refuse(f"{said}; please report it, with the traceback that TRADEOFF_DEBUG=1 shows", INTERNAL)
    return 0


@app.command
def compose(
    plan: Path,
    *,
    delta: Numbers = (),
    epsilon: Numbers = (),
    alpha: Numbers = (),
    tol: float | None = None,
    plot: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Compose the mechanisms of a plan file, and answer with lower and upper bounds.

    The answers hold for every ordered pair of neighbours. An epsilon below 0 is reported as 0. Questions on
    the command line replace those of the file; if there are none, epsilon is asked at delta = 1e-5.

    Parameters
    ----------
    plan
        Plan file, in TOML.
    delta
        Probabilities at which to answer with epsilon; one or more.
    epsilon
        Losses in nats at which to answer with delta; one or more.
    alpha
        Type I errors at which to answer with the least type II error beta; one or more.
    tol
        Width the bounds must reach: absolute for epsilon, relative for delta and beta.
    plot
        Draw the trade-off curve into this file: .png, .svg or .pdf.
    as_json
        Print the answers as JSON.
    """
    target = check_target(plot) if plot is not None else None
    content = load(plan)
    questions = asked(content, delta=delta, epsilon=epsilon, alpha=alpha)
    with progress() as step:
        step("composing")
        curve = composed(content.plan)
        answers = ask(curve, **questions, tol=tol, step=step)
        if target is not None:
            step("drawing")
            save(figure(curve, title=content.title), target)
    if as_json:
        head: dict[str, Any] = {"file": str(plan), **summary(content.title, content.plan)}
        found = {"plan": head, **answers.as_json()}
        print(json.dumps(found, allow_nan=False), flush=True)  # noqa: T201 - the answer
    else:
        show(content, answers, target)
