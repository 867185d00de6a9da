"""The command ``tradeoff``: its exit codes and messages, which need no other package."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from enum import IntEnum
from typing import TextIO

from tradeoff.display import folded


class ExitCode(IntEnum):
    """Exit codes of the command besides 0."""

    REFUTED = 1  # a certificate does not prove its bounds
    BAD_INPUT = 2  # as argparse and most commands
    INTERNAL = 70  # EX_SOFTWARE of sysexits.h: a bug
    UNPRINTED = 74  # EX_IOERR of sysexits.h: the answer could not be printed
    INTERRUPTED = 130  # 128 + SIGINT
    NO_READER = 141  # 128 + SIGPIPE


def refuse(message: str, code: int = ExitCode.BAD_INPUT) -> int:
    """Print one line on stderr, and return the exit code."""
    try:
        # a key may have a million characters
        print("tradeoff:", folded(message)[:2_000], file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)
    return code


def discard(stream: TextIO) -> None:
    """Drop the buffer of a stream, which the interpreter would fail to flush at its end."""
    with suppress(io.UnsupportedOperation):  # a stream in memory
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def prepare_streams() -> bool:
    """Escape characters that an encoding lacks, replace a closed stderr; return whether stdout is open."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - open to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return sys.stdout is not None
