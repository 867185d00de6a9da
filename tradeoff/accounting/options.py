"""Options of a question, the trace of its engines, and the width of an answer.

Bounds never depend on these numbers for their validity; their width and time do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from tradeoff.accounting.cache import set_context
from tradeoff.display import Displayed, TextTable
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import UNIT, Array

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

    @property
    def choices(self) -> tuple[Method | None, int, bool]:
        """The options on which an answer may depend.

        Sums shared among jobs are added in another order than by a single one.
        """
        return self.method, self.memory, self.jobs == 1

    def report_progress(self, settled: int, total: int) -> None:
        """Call the progress callback, if there is one."""
        if self.progress is not None:
            self.progress(settled, total)


_USUAL = QueryOptions()
_CURRENT: ContextVar[QueryOptions] = ContextVar("query_options", default=_USUAL)


def query_options() -> QueryOptions:
    """Return the options of the question being answered."""
    return _CURRENT.get()


def query_context(options: QueryOptions) -> AbstractContextManager[QueryOptions]:
    """Answer the questions inside with these options."""
    return set_context(_CURRENT, options)


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


_TRACE: ContextVar[list[Step] | None] = ContextVar("trace", default=None)


def record_step(step: Step) -> None:
    """Append a step to the active trace."""
    steps = _TRACE.get()
    if steps is not None:
        steps.append(step)


def collect_steps() -> AbstractContextManager[list[Step]]:
    """Collect the steps of all questions inside."""
    return set_context(_TRACE, [])


class Width(NamedTuple):
    """Widths of one engine's answers without a tolerance, as in ``measure``."""

    goal: float
    """Width to which they are refined."""

    enough: float
    """Width at which no further engine is used."""


# The lattice gains little after a contour and takes longer; a contour gains ten digits after a lattice, if it
# closes. Sums are as fine as they get.
WIDTHS: dict[str, dict[Question, Width]] = {
    "contour": {"delta": Width(1e-4, 1e-3), "epsilon": Width(1e-7, 1e-7), "beta": Width(1e-4, 1e-3)},
    "lattice": {"delta": Width(1e-2, 1e-6), "epsilon": Width(1e-8, 1e-7), "beta": Width(1e-2, 1e-4)},
    "exact": {question: Width(math.inf, math.inf) for question in get_args(Question)},
}

# Rounds of continuous laws up to which the lattice is the faster engine if there are atoms, and none damps
# the transform: sums that are nearly atomic have slow contours.
FEW_ROUNDS = 4

# Rounds up to which the same holds where the excess of the kurtosis of the sum, halfway between both laws, is
# greater.
RARE_KURTOSIS = {24: 2.0, 1024: 40.0}

# Rounds of atoms on one lattice up to which the rounding of an FFT, multiplied by their number, is small.
MOST_ATOMIC_ROUNDS = 2**20

# Terms summed for one line, in all or for each distinct factor if that is more: at most about 0.3 s, or 10 ms
# a factor, a third of the time that a lattice takes.
LINE_TERMS, LINE_TERMS_EACH = 8e7, 3e6

PATIENT_TERMS = 1e9  # the same with a tolerance

# Relative width left by a Gaussian added where the product does not decay; ten times less takes three times
# the terms.
SMOOTHING = 2e-7

NODE_TERMS = 16  # terms a node costs at least: an answer sums all nodes again, some twenty times
LOOKING = 64  # ratio of terms between final lines with an added Gaussian, and those that locate an answer
LATTICE_WORK = 2**20  # lattice points times distinct factors: well below a second
LATTICE_LEAST = 2**16  # lattice points that even very many distinct factors get
LATTICE_FINEST = 2e-7  # width that a second of it reaches: below, contours are tried first
LATTICE_WIDTH = 1e-4  # goal of a first lattice: width in epsilon
_NORMAL = 2.0**-1022  # the least float with all its digits: a delta below is as narrow as bounds get
_FINEST = 16 * UNIT  # gap in beta below which no engine helps: 1 - alpha is already rounded


def measure(question: Question, at: Array, low: Array, high: Array, *, finest: float = _FINEST) -> Array:
    """Return the widths of answers, infinite where a side of epsilon is unknown.

    Delta's is relative to the upper bound, epsilon's in nats, f's relative to min(beta, 1 - alpha - beta),
    and 0 where the bounds on f are at most ``finest`` apart.
    """
    if question == "delta":
        return np.where(high < _NORMAL, 0.0, (high - low) / np.maximum(high, _NORMAL))
    if question == "epsilon":
        known = np.isfinite(low) & np.isfinite(high)
        return np.where(low == high, 0.0, np.where(known, high - np.where(known, low, 0.0), np.inf))
    scale, gap = np.minimum(high, np.maximum(1 - at - low, 0.0)), high - low
    return np.where(gap <= finest, 0.0, gap / np.where(scale > 0, scale, 1.0))
