"""The application: commands, flags and errors. Each command has its imports inside."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Literal

from cyclopts import App, CycloptsError, MissingArgumentError, UnknownOptionError

import tradeoff
from tradeoff.cli import ExitCode, commands, discard, ledger, refuse
from tradeoff.cli.terminal import Screen
from tradeoff.display import plain
from tradeoff.errors import TradeOffError, VerificationError

_REPEATED = ("--delta", "--epsilon", "--alpha", "--method")  # flags that take several values

app = App(
    name="tradeoff",
    help=str(tradeoff.__doc__).partition("\n\n")[0],
    version=lambda: tradeoff.__version__,
    version_format="plaintext",
    help_format="plaintext",
    console=Screen(),
)
app.command(ledger.app)
for name in ("calibrate", "certify", "compare", "compose", "dp_sgd", "init", "kinds", "report", "verify"):
    app.command(getattr(commands, name), help_format="markdown")  # reflows, and takes longer to load


@app.command(name="--install-completion")
def install_completion(shell: Literal["bash", "fish", "zsh"] | None = None) -> None:
    """Install tab completion of commands and flags; restart the shell afterwards.

    Parameters
    ----------
    shell
        Shell whose files are written; default: the shell that runs the command.
    """
    print(f"Completion written to {plain(app.install_completion(shell=shell))}")


def run(tokens: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, or another with one line on stderr."""
    try:
        command, given, _ = app.parse_args(spread(tokens), exit_on_error=False, print_error=False)
        command(*given.args, **given.kwargs)
        sys.stdout.flush()
    except (TradeOffError, CycloptsError) as error:
        code = ExitCode.REFUTED if isinstance(error, VerificationError) else ExitCode.BAD_INPUT
        return refuse(_message(error, tokens), code)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        discard(sys.stdout)
        return ExitCode.NO_READER
    except OSError as error:
        discard(sys.stdout)
        return refuse(f"the answer could not be printed: {error.strerror or error}", ExitCode.UNPRINTED)
    except Exception as error:
        if os.environ.get("TRADEOFF_DEBUG"):
            raise
        text = f"internal error: {type(error).__name__}: {error}"
        remedy = "please report it, with the traceback of TRADEOFF_DEBUG=1"
        return refuse(f"{text}; {remedy}", ExitCode.INTERNAL)
    return 0


def _message(error: TradeOffError | CycloptsError, tokens: Sequence[str]) -> str:
    """Return the message of an error, with the flag that was typed in place of a parameter's name."""
    if isinstance(error, CycloptsError):
        from tradeoff.mechanisms.base import SYNONYMS

        meant = {f"--{name.replace('_', '-')}": word.replace("_", "-") for name, word in SYNONYMS.items()}
        for flag in tokens if isinstance(error, MissingArgumentError | UnknownOptionError) else ():
            if flag in meant:
                return f"unknown flag {flag}; did you mean --{meant[flag]}?"
        return f"{error} See {' '.join(('tradeoff', *(error.command_chain or ())))} --help"
    name, _, rest = str(error).partition(" ")
    flag = f"--{name.replace('_', '-')}"
    typed = any(token == flag or token.startswith(f"{flag}=") for token in tokens)
    return f"{flag} {rest}" if typed else str(error)


def spread(tokens: Sequence[str]) -> list[str]:
    """Repeat a flag before each of its numbers or methods: ``--delta 1e-5 1e-6 PLAN`` has two values.

    >>> spread(["--epsilon", "-1", "2", "plan.toml"])
    ['--epsilon=-1', '--epsilon=2', 'plan.toml']
    """
    result: list[str] = []
    flag, needs_value = "", False
    for token in tokens:
        if token not in _REPEATED and (
            (flag and _fits(flag, token)) or (needs_value and not token.startswith("--"))
        ):
            result.append(f"{flag}={token}")
            needs_value = False
            continue
        result += [flag] * needs_value
        flag, needs_value = (token, True) if token in _REPEATED else ("", False)
        if not flag:
            result.append({"-": "./-"}.get(token, token))  # stdin looks like a flag
    return [*result, *[flag] * needs_value]


def _fits(flag: str, token: str) -> bool:
    if flag == "--method":
        from tradeoff.report.methods import METHODS

        return token in METHODS
    try:
        float(token)
    except ValueError:
        return False
    return True
