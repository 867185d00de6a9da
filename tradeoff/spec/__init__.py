"""Plans on disk: TOML in, TOML out. Reads and writes, never computes."""

from tradeoff.spec.plan_file import QUESTIONS, PlanFile, dump, dumps, load, loads

__all__ = ["QUESTIONS", "PlanFile", "dump", "dumps", "load", "loads"]
