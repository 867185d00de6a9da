"""What one question may use, engine, memory and a callback that hears how far it is; and who answered it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from tradeoff.composition.budget import Question
from tradeoff.composition.cache import during
from tradeoff.display import Displayed, Grid
from tradeoff.intervals.bounds import Bounds

# Called with the number of entries settled so far, and of all entries asked.
Progress = Callable[[int, int], None]

Method = Literal["closed-form", "exact", "lattice", "contour"]
METHODS: tuple[Method, ...] = get_args(Method)

MEMORY = 2**30  # bytes of working memory a question may use unless it says otherwise


@dataclass(frozen=True)
class QueryOptions:
    """Limits of one question; they change how narrow its bounds are, never that they hold."""

    method: Method | None = None
    memory: int = MEMORY
    progress: Progress | None = None
    jobs: int | None = 1

    def most(self, each: int) -> int:
        """Return the largest power of two of items of ``each`` bytes that fit, at least 2^10."""
        return 1 << max(10, (self.memory // each).bit_length() - 1)

    @property
    def choices(self) -> tuple[Method | None, int, bool]:
        """Return all that an answer may depend on.

        Sums shared among jobs are added in another order than by one alone.
        """
        return self.method, self.memory, self.jobs == 1

    def tell(self, settled: int, asked: int) -> None:
        """Report progress, if anyone listens."""
        if self.progress is not None:
            self.progress(settled, asked)


_USUAL = QueryOptions()
_CURRENT: ContextVar[QueryOptions] = ContextVar("allowance", default=_USUAL)


def query_options() -> QueryOptions:
    """Return what the question being answered may use."""
    return _CURRENT.get()


def answering(limits: QueryOptions) -> AbstractContextManager[QueryOptions]:
    """Answer the questions inside under these limits."""
    return during(_CURRENT, limits)


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
        The engines in the order asked; of several parts of a curve, one after the other.
    """

    question: str
    bounds: Bounds
    steps: tuple[Step, ...]

    def grid(self) -> Grid:
        head = f"{self.question} in [{self.bounds.lower!r}, {self.bounds.upper!r}]"
        if not self.steps:
            return Grid([], head=head, notes=["closed form: no engine was asked"])
        rows = [
            (s.engine, s.question, f"{s.width:.1e}", f"{1e3 * s.seconds:.1f} ms", s.why) for s in self.steps
        ]
        return Grid(rows, ("engine", "asked", "width", "time", "why"), head)


_LISTENING: ContextVar[list[Step] | None] = ContextVar("listening", default=None)


def heard(step: Step) -> None:
    """Tell whoever listens."""
    steps = _LISTENING.get()
    if steps is not None:
        steps.append(step)


def listening() -> AbstractContextManager[list[Step]]:
    """Collect the steps of all questions asked inside."""
    return during(_LISTENING, [])
