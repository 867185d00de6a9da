"""Options of a question, the trace of its engines, and the widths of answers, to which these are refined.

Bounds never depend on these numbers for their validity; their width and time do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from tradeoff.display import Displayed, TextTable
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.pld.units import UNIT

Value = TypeVar("Value")


# Caches by curve while equal curves share what they first need inside a block.
SHARED: ContextVar[Callable[[Hashable], dict[Any, Any]] | None] = ContextVar("shared", default=None)


@contextmanager
def set_context(variable: ContextVar[Any], value: Value) -> Iterator[Value]:
    """Set a context variable inside the block."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


Question = Literal["delta", "epsilon", "beta"]

# Called with the number of entries settled so far, and of all entries.
Progress = Callable[[int, int], None]

Method = Literal["closed-form", "exact", "lattice", "contour"]
METHODS: tuple[Method, ...] = get_args(Method)

MEMORY = 2**30  # bytes of working memory that a question may use by default


@dataclass(frozen=True)
class QueryOptions:
    """Options of one question; they change the width of its bounds, never their validity."""

    method: Method | None = None
    memory: int = MEMORY
    progress: Progress | None = None
    jobs: int | None = 1

    def most(self, each: int) -> int:
        """Return the largest power of two of items of ``each`` bytes that fit, at least 2^10."""
        return 1 << max(10, (self.memory // each).bit_length() - 1)


OPTIONS: ContextVar[QueryOptions] = ContextVar(
    "query_options",
    default=QueryOptions(),  # noqa: B039 - it is frozen
)


query_options = OPTIONS.get  # returns the options of the question being answered


class Step(NamedTuple):
    """One engine's part in an answer: the width it left, in the question's own unit, and its seconds."""

    engine: str
    why: str
    question: Question
    width: float
    seconds: float


@dataclass(frozen=True, repr=False)
class Explanation(Displayed):
    """How a question is answered: prints as a short table.

    Attributes
    ----------
    question
        The question in words.
    bounds
        Its answer.
    steps
        The engines in the order used; of several parts of a curve, one after the other.
    caveats
        Statements that belong next to the answer: the order of the curve, and its assumptions.
    """

    question: str
    bounds: Bounds
    steps: tuple[Step, ...]
    caveats: tuple[str, ...] = ()

    def grid(self) -> TextTable:
        head = f"{self.question} in [{self.bounds.lower!r}, {self.bounds.upper!r}]"
        if not self.steps:
            return TextTable([], head=head, notes=["closed form: no engine was used", *self.caveats])
        rows = [
            (s.engine, s.question, f"{s.width:.1e}", f"{1e3 * s.seconds:.1f} ms", s.why) for s in self.steps
        ]
        return TextTable(rows, ("engine", "question", "width", "time", "why"), head, self.caveats)


# Steps of the questions inside a block that explains them.
TRACE: ContextVar[list[Step] | None] = ContextVar("trace", default=None)


class Width(NamedTuple):
    """Widths of one engine's answers without a tolerance, as in ``measure``."""

    goal: float
    """Width to which they are refined."""

    enough: float
    """Width at which no further engine is used."""


# The lattice gains little after a contour and takes longer; a contour gains ten digits after a lattice, if it
# closes. Sums are as fine as they get.
WIDTHS: dict[str, dict[Question, Width]] = {
    "contour": {"delta": Width(1e-4, 1e-3), "epsilon": Width(1e-6, 1e-7), "beta": Width(4e-6, 1e-3)},
    "lattice": {"delta": Width(1e-2, 1e-6), "epsilon": Width(1e-6, 2e-8), "beta": Width(1e-2, 1e-4)},
    "exact": {question: Width(math.inf, math.inf) for question in get_args(Question)},
}


def measure(
    question: Question,
    at: Array,
    low: Array,
    high: Array,
    tol: float | None = None,
    *,
    finest: float = 16 * UNIT,
) -> Array:
    """Return the widths of answers, infinite where a side of epsilon is unknown.

    Delta's is relative to the upper bound, epsilon's in nats, f's relative to min(beta, 1 - alpha - beta),
    and 0 where the bounds on f are at most ``finest`` apart: by default no engine helps there, as 1 - alpha
    is already rounded. Without a ``tol`` a delta below 1e-100 is narrow enough; with one, a subnormal float.
    """
    if question == "delta":
        negligible = 1e-100 if tol is None else 2.0**-1022
        return np.where(high < negligible, 0.0, (high - low) / np.maximum(high, negligible))
    if question == "epsilon":
        known = np.isfinite(low) & np.isfinite(high)
        return np.where(low == high, 0.0, np.where(known, high - np.where(known, low, 0.0), np.inf))
    scale, gap = np.minimum(high, np.maximum(1 - at - low, 0.0)), high - low
    return np.where(gap <= finest, 0.0, gap / np.where(scale > 0, scale, 1.0))
