"""``tradeoff experiment relative-error``: a door to a simulation among the examples."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Annotated

from cyclopts import App, Parameter

from tradeoff.errors import DomainError

# Beside the package in a checkout; an installed package has none.
EXAMPLES = Path(__file__).parents[2] / "examples"

app = App(name="experiment", help="Simulations that show what a mechanism is worth.", help_format="markdown")
door = App(name="relative-error", help_flags=())
app.command(door)


@door.default
def relative_error(*words: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> None:
    """Release as many counts as possible within a relative error under one budget."""
    path = EXAMPLES / "relative_error.py"
    if not path.exists():
        where = "examples/relative_error.py of the source repository"
        raise DomainError(f"this experiment is {where}, not found beside the package")
    command, given, _ = run_path(str(path))["app"].parse_args(words, exit_on_error=False, print_error=False)
    command(*given.args, **given.kwargs)
