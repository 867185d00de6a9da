"""``tradeoff experiment``: a door to the simulations among the examples."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Annotated, Any

from cyclopts import App, Parameter

from tradeoff.errors import DomainError

# Beside the package in a checkout; an installed package has none.
EXAMPLES = Path(__file__).parents[2] / "examples"

app = App(name="experiment", help="Simulations that show what a mechanism is worth.", help_format="markdown")
door = App(name="relative-error", help_flags=())
app.command(door)


@door.default
def relative_error(*words: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> None:
    """Release as many counts as possible within a relative error under one budget.

    Parameters
    ----------
    *words
        Options of ``examples/relative_error.py``, which runs.
    """
    command, given, _ = _example("relative_error").parse_args(words, exit_on_error=False, print_error=False)
    command(*given.args, **given.kwargs)


def _example(name: str) -> Any:
    """Return the application of an example."""
    path = EXAMPLES / f"{name}.py"
    if not path.exists():
        raise DomainError(
            f"this experiment is examples/{name}.py of the source repository, not found beside the package"
        )
    return run_path(str(path))["app"]
