"""``tradeoff experiment relative-error``: a simulation from the examples of a source checkout."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Annotated

from cyclopts import App, Parameter

from tradeoff.errors import DomainError

EXAMPLES = Path(__file__).parents[2] / "examples"

app = App(name="experiment", help="Simulations that show what a mechanism is worth.", help_format="markdown")
command = App(name="relative-error", help_flags=())
app.command(command)


@command.default
def relative_error(*words: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> None:
    """Release as many counts as possible within a relative error under one budget."""
    path = EXAMPLES / "relative_error.py"
    if not path.exists():
        raise DomainError(
            "relative-error must be run from a source checkout: examples/relative_error.py not found"
        )
    function, given, _ = run_path(str(path))["app"].parse_args(words, exit_on_error=False, print_error=False)
    function(*given.args, **given.kwargs)
