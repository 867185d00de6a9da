"""Who answered, why, how narrowly and in what time: what the planner tells anyone who listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from tradeoff.composition.budget import Question
from tradeoff.display import Displayed, Grid
from tradeoff.intervals.bounds import Bounds


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


@contextmanager
def listening() -> Iterator[list[Step]]:
    """Collect the steps of all questions asked inside."""
    steps: list[Step] = []
    token = _LISTENING.set(steps)
    try:
        yield steps
    finally:
        _LISTENING.reset(token)
