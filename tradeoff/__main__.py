"""Entry point of the command ``tradeoff`` and of ``python -m tradeoff``."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence

from tradeoff.cli import ExitCode, prepare_streams, refuse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    if arguments is None:  # the process ends with the command
        if not prepare_streams():
            return refuse("stdout is closed, so no answer could be printed", ExitCode.UNPRINTED)
        # Python searches all objects for cycles often, and at exit: a fifth of the time of a short command.
        gc.set_threshold(500_000)
        atexit.register(gc.freeze)
    try:
        from tradeoff.cli.app import run
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("cyclopts", "rich"):
            raise
        return refuse(f'the command needs {error.name}: pip install "tradeoff[cli]"')
    return run(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
