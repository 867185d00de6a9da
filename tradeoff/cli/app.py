"""The application: commands, flags and errors. Each command has its imports inside."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import reduce
from typing import Literal, get_args, get_origin

import cyclopts
from cyclopts import App, CycloptsError, MissingArgumentError, UnknownOptionError

import tradeoff
from tradeoff.cli import ExitCode, commands, discard, ledger, refuse
from tradeoff.cli.terminal import Screen, flag_of
from tradeoff.errors import DomainError, TradeOffError, VerificationError, shown

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
app.register_install_completion_command(
    help="Install tab completion of commands and flags; restart the shell afterwards."
)


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
        return _usage_message(error, tokens)
    name, _, rest = str(error).partition(" ")
    flag = flag_of(name)
    typed = any(token == flag or token.startswith(f"{flag}=") for token in tokens)
    return f"{flag} {rest}" if typed else str(error)


def _usage_message(error: CycloptsError, tokens: Sequence[str]) -> str:
    """Return one line on a wrong flag, command, argument or value, in place of the message of cyclopts."""
    remedy = f"see {' '.join(('tradeoff', *(error.command_chain or ())))} --help"
    match error:
        case MissingArgumentError() | UnknownOptionError() if flag := _unknown_flag(error, tokens):
            text, _, meant = flag.partition("; ")
            remedy = meant or remedy
        case cyclopts.UnknownCommandError(unused_tokens=[typed, *_]):
            text = f"unknown command {shown(typed)}"
            for guess in get_close_matches(typed, [name for name in error.app or app if name[0] != "-"], 1):
                remedy = f"did you mean {guess}?"
        case cyclopts.UnusedCliTokensError(unused_tokens=[typed, *_]):
            text = f"unknown argument {shown(typed)}"
        case cyclopts.RepeatArgumentError(token=cyclopts.Token(keyword=flag)):
            text = f"{flag} must be given once"
            if flag == "--vary":
                remedy = "separate places by commas, as in --vary mechanism[1].scale,mechanism[2].scale"
        case MissingArgumentError(argument=argument) if argument is not None:
            name = argument.name if argument.index is None else argument.name.lstrip("-").upper()
            text = f"{name} must be given"
        case cyclopts.CoercionError(token=cyclopts.Token(keyword=str(flag), value=value), target_type=kind):
            allowed = "a number" if kind is float else "an integer"
            if get_origin(kind) is Literal:
                allowed = f"one of {', '.join(get_args(kind))}"
            text = f"{flag} must be {allowed}, got {shown(value)}".replace('"', "")
            is_percent = value.endswith("%") and _is_number(value[:-1])
            remedy = f"write {float(value[:-1]) / 100:.12g}" if is_percent else ""
        case _:
            return str(error)
    return f"{text}; {remedy}".removesuffix("; ")


def _unknown_flag(error: MissingArgumentError | UnknownOptionError, tokens: Sequence[str]) -> str:
    """Describe the first typed flag that the command lacks, with the one meant; "" if it has all of them."""
    from tradeoff.mechanisms.fields import closest

    command = reduce(App.__getitem__, error.command_chain or (), app)
    known = [name for each in command.assemble_argument_collection() for name in each.names]
    if any("[KEYWORD]" in name for name in known):  # the command takes any key
        return ""
    for token in tokens:
        flag = token.partition("=")[0]
        name = flag.lstrip("-")
        if flag == name or _is_number(token) or flag_of(name) in known or flag in known:
            continue
        names = [each[2:].replace("-", "_") for each in known if each.startswith("--")]
        meant = closest(name.replace("-", "_"), names)
        return f"unknown flag {flag}" + (f"; did you mean {flag_of(meant)}?" if meant else "")
    return ""


def spread(tokens: Sequence[str]) -> list[str]:
    """Repeat a flag before each of its numbers or methods: ``--delta 1e-5 1e-6 PLAN`` has two values.

    They become ``--delta=1e-5 --delta=1e-6``, as cyclopts takes one value a flag.
    """
    result: list[str] = []
    flag, needs_value = "", False  # the flag whose values follow, and whether it has none yet
    for token in tokens:
        may_be_value = token not in _REPEATED and flag != ""
        if may_be_value and "," in token and all(map(_is_number, token.split(","))):
            remedy = f"write {flag} {token.replace(',', ' ')}"
            raise DomainError(f"{flag} must be numbers separated by spaces, got {shown(token)}; {remedy}")
        if may_be_value and (_fits(flag, token) or (needs_value and not token.startswith("--"))):
            result.append(f"{flag}={token}")
            needs_value = False
            continue
        result += [flag] * needs_value
        flag, needs_value = (token, True) if token in _REPEATED else ("", False)
        if not flag:
            result.append({"-": "./-"}.get(token, token))  # stdin looks like a flag
    return [*result, *[flag] * needs_value]


def _fits(flag: str, token: str) -> bool:
    """Return whether a token is a value of a repeated flag: a number, or the name of a method."""
    if flag != "--method":
        return _is_number(token)
    from tradeoff.report.methods import METHODS

    return token in METHODS


def _is_number(token: str) -> bool:
    with suppress(ValueError):
        float(token)
        return True
    return False
