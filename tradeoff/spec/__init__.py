"""Plans on disk: TOML in, TOML out. Reads and writes, never computes."""

from tradeoff.spec.reading import QUESTIONS, PlanFile, load, loads
from tradeoff.spec.writing import dump, dumps

__all__ = ["QUESTIONS", "PlanFile", "dump", "dumps", "load", "loads"]
