"""Plans on disk: TOML in, TOML out. Reads and writes, never computes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tradeoff.spec.reading import QUESTIONS, PlanFile, load, loads
    from tradeoff.spec.writing import dump, dumps

__all__ = ["QUESTIONS", "PlanFile", "dump", "dumps", "load", "loads"]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a type checker knows the names above, and no others

    def __getattr__(name: str) -> Any:
        """Load a name on first use: the limits of a plan are asked before anything of it is read."""
        if name not in __all__:
            raise AttributeError(f"module 'tradeoff.spec' has no attribute {name!r}")
        home = "writing" if name.startswith("dump") else "reading"
        return getattr(import_module(f"tradeoff.spec.{home}"), name)
