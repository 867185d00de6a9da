"""The application: its commands, and how it ends. Each command imports what it needs when it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Literal

from cyclopts import App, CycloptsError, MissingArgumentError

import tradeoff
from tradeoff.cli import experiment, ledger, shell
from tradeoff.cli.calibrate import calibrate
from tradeoff.cli.certify import certify, verify
from tradeoff.cli.compare import compare, report
from tradeoff.cli.compose import compose
from tradeoff.cli.terminal import Screen, version
from tradeoff.cli.tokens import spread
from tradeoff.display import plain
from tradeoff.errors import TradeOffError, VerificationError

app = App(
    name="tradeoff",
    help=str(tradeoff.__doc__).partition("\n\n")[0],
    version=version,
    version_format="plaintext",
    help_format="plaintext",
    console=Screen(),
)
app.command(experiment.app)
app.command(ledger.app)
for command in (calibrate, certify, compare, compose, report, verify):
    app.command(command, help_format="markdown")  # reflows, and takes longer to load


@app.command(name="--install-completion")
def install_completion(shell: Literal["bash", "fish", "zsh"] | None = None) -> None:
    """Let the shell complete commands and flags, from its next start on.

    Parameters
    ----------
    shell
        Whose files to write; default: the shell that runs the command.
    """
    print(f"Completion written to {plain(app.install_completion(shell=shell))}")


def run(tokens: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, or another with one line on stderr that says why."""
    try:
        command, given, _ = app.parse_args(spread(tokens), exit_on_error=False, print_error=False)
        command(*given.args, **given.kwargs)
        sys.stdout.flush()
    except (TradeOffError, CycloptsError) as error:
        code = shell.REFUTED if isinstance(error, VerificationError) else shell.BAD_INPUT
        return shell.refuse(_said(error), code)
    except KeyboardInterrupt:
        return shell.INTERRUPTED
    except BrokenPipeError:
        shell.discard(sys.stdout)
        return shell.NO_READER
    except OSError as error:
        shell.discard(sys.stdout)
        return shell.refuse(f"the answer could not be printed: {error.strerror or error}", shell.UNPRINTED)
    except Exception as error:
        shell.raise_signal(error)
        if os.environ.get("TRADEOFF_DEBUG"):
            raise
        said = f"internal error: {type(error).__name__}: {error}"
        return shell.refuse(
            f"{said}; please report it, with the traceback that TRADEOFF_DEBUG=1 shows", shell.INTERNAL
        )
    return 0


def _said(error: TradeOffError | CycloptsError) -> str:
    """Return what is wrong; a missing file has the name of the help, not that of a flag nobody types."""
    if not isinstance(error, MissingArgumentError) or error.argument is None or error.argument.index is None:
        return str(error)
    command = " ".join(error.command_chain or ())
    return f"{command} needs {error.argument.name.lstrip('-').upper()}: see tradeoff {command} --help"
