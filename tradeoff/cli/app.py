"""The application: commands, flags and errors. Each command has its imports inside."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Literal

from cyclopts import App, CoercionError, CycloptsError, MissingArgumentError, UnusedCliTokensError

import tradeoff
from tradeoff.cli import commands, ledger, shell
from tradeoff.cli.terminal import Screen
from tradeoff.display import plain
from tradeoff.errors import DomainError, TradeOffError, VerificationError, shown

_REPEATED = ("--delta", "--epsilon", "--alpha")  # flags that take several numbers

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
        code = shell.REFUTED if isinstance(error, VerificationError) else shell.BAD_INPUT
        return shell.refuse(_message(error, tokens), code)
    except KeyboardInterrupt:
        return shell.INTERRUPTED
    except BrokenPipeError:
        shell.discard(sys.stdout)
        return shell.NO_READER
    except OSError as error:
        shell.discard(sys.stdout)
        return shell.refuse(f"the answer could not be printed: {error.strerror or error}", shell.UNPRINTED)
    except Exception as error:
        if os.environ.get("TRADEOFF_DEBUG"):
            raise
        text = f"internal error: {type(error).__name__}: {error}"
        remedy = "please report it, with the traceback of TRADEOFF_DEBUG=1"
        return shell.refuse(f"{text}; {remedy}", shell.INTERNAL)
    return 0


def _message(error: TradeOffError | CycloptsError, tokens: Sequence[str]) -> str:
    """Return the message of an error, with the flag that was typed in place of a parameter's name."""
    if isinstance(error, CycloptsError):
        command = " ".join(("tradeoff", *(error.command_chain or ())))
        if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
            return f"unknown argument {shown(error.unused_tokens[0])}; see {command} --help"
        argument = error.argument
        if isinstance(error, MissingArgumentError) and argument is not None:
            flag = argument.name if argument.index is None else argument.name.lstrip("-").upper()
            return f"{flag} must be given; see {command} --help"
        number = re.search(r"unable to convert (.*) into (?:float|int)", str(error))
        if isinstance(error, CoercionError) and number and error.token and error.token.keyword:
            return f"{error.token.keyword} must be a number, got {number[1]}"
        return str(error)
    name, _, rest = str(error).partition(" ")
    flag = f"--{name.replace('_', '-')}"
    typed = any(token == flag or token.startswith(f"{flag}=") for token in tokens)
    return f"{flag} {rest}" if typed else str(error)


def spread(tokens: Sequence[str]) -> list[str]:
    """Repeat a flag before each of its numbers, so that ``--delta 1e-5 1e-6 PLAN`` has two values.

    Examples
    --------
    >>> spread(["--epsilon", "-1", "2", "plan.toml"])
    ['--epsilon=-1', '--epsilon=2', 'plan.toml']
    """
    result: list[str] = []
    flag, needs_value = "", False
    for token in tokens:
        if flag and token not in _REPEATED:
            if "," in token and all(map(_is_number, token.split(","))):
                remedy = f"write {flag} {token.replace(',', ' ')}"
                raise DomainError(f"{flag} must be numbers separated by spaces, got {shown(token)}; {remedy}")
            if _is_number(token) or (needs_value and not token.startswith("--")):
                result.append(f"{flag}={token}")
                needs_value = False
                continue
        if needs_value:
            result.append(flag)
        flag, needs_value = (token, True) if token in _REPEATED else ("", False)
        if not flag:
            result.append({"-": "./-"}.get(token, token))  # stdin looks like a flag
    return [*result, flag] if needs_value else result


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True
