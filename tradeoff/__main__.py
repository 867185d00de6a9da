"""Entry point of the command ``tradeoff`` and of ``python -m tradeoff``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from tradeoff.cli import shell


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; without arguments it takes care of its process too."""
    if arguments is not None:
        return _run(arguments)
    shell.at_signals(os._exit)  # nothing is open yet, and an import cannot be unwound in silence
    if not shell.prepare_streams():
        return shell.refuse("stdout is closed, so no answer could be printed", shell.UNPRINTED)
    try:
        return _run(sys.argv[1:], ready=lambda: shell.at_signals(shell.unwind))
    finally:
        shell.at_signals(os._exit)


def _run(arguments: Sequence[str], ready: Callable[[], None] = lambda: None) -> int:
    try:
        from tradeoff.cli.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("cyclopts", "rich"):
            raise
        return shell.refuse(f'the command needs {error.name}: pip install "tradeoff[cli]"')
    ready()
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
