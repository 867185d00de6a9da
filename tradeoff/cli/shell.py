"""What the command owes its shell: exit codes, signals and streams."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from tradeoff.display import folded

REFUTED = 1  # a certificate that does not prove what it says
BAD_INPUT = 2  # as argparse and most commands: what was given is wrong
INTERNAL = 70  # EX_SOFTWARE of sysexits.h: a mistake of ours
UNPRINTED = 74  # EX_IOERR of sysexits.h: the answer was found and could not be printed
INTERRUPTED = 130  # as every signal: 128 + its number
NO_READER = 141  # 128 + SIGPIPE

_LONGEST = 2_000  # letters of a complaint, as a key may have a million
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_SIGNALS = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]  # those there are
_STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}  # by descriptor: open() takes the lowest that is free


def refuse(message: str, code: int = BAD_INPUT) -> int:
    """Say in one line on stderr why the command ends, and return its exit code."""
    line = folded(message)[:_LONGEST]
    try:
        print("tradeoff:", line, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)
    return code


def discard(stream: TextIO) -> None:
    """Send what is left in the buffer of a stream nowhere, so that the interpreter does not fail on it."""
    with suppress(io.UnsupportedOperation):  # a stream in memory has no descriptor, and nobody flushes it
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def at_signals(end: Callable[[int], object]) -> None:
    """Call ``end`` with 128 + the number of the signal, but leave ignored what ``nohup`` ignores."""
    for each in _SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, lambda number, _: end(128 + number))


def unwind(code: int) -> None:
    """End the command with ``code``, and clear up on the way out."""
    signal.signal(code - 128, signal.SIG_IGN)  # timeout(1) sends it twice, and clearing up must finish
    raise SystemExit(code)


def raise_signal(error: BaseException | None) -> None:
    """End the command if a signal is at the root of an error; Python 3.11 wraps it where a class is made."""
    while error is not None:
        if isinstance(error, SystemExit):
            raise error
        error = error.__cause__ or error.__context__


def prepare_streams() -> bool:
    """Let every letter be printed, put /dev/null for closed streams, and say whether stdout was open."""
    is_open = sys.stdout is not None
    for name, mode in _STREAMS.items():
        stream = getattr(sys, name)
        if stream is None:  # else the next file to be opened would take its descriptor
            nowhere = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115, PTH123 - open to the end
            setattr(sys, name, nowhere)
        elif isinstance(stream, io.TextIOWrapper) and mode == "w":
            stream.reconfigure(errors="backslashreplace")
    return is_open
