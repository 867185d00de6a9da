"""Entry point of the command ``tradeoff`` and of ``python -m tradeoff``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; exit code 2 and one line on stderr where its libraries are not installed."""
    try:
        from tradeoff.cli.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("cyclopts", "rich"):
            raise
        print(f'tradeoff: the command needs {error.name}: pip install "tradeoff[cli]"', file=sys.stderr)  # noqa: T201 - it is a command
        return 2
    return run(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
