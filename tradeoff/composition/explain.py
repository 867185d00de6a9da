"""Who answered, why, how narrowly and in what time: what the planner tells anyone who listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from tradeoff.composition.budget import Question
from tradeoff.intervals.bounds import Bounds


class Step(NamedTuple):
    """One engine's part in an answer: the width it left, in the question's own unit, and its seconds."""

    engine: str
    why: str
    question: Question
    width: float
    seconds: float


@dataclass(frozen=True)
class Explanation:
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

    def __repr__(self) -> str:
        head = f"{self.question} in [{self.bounds.lower!r}, {self.bounds.upper!r}]"
        if not self.steps:
            return f"{head}\nclosed form: no engine was asked"
        rows = [
            (s.engine, s.question, f"{s.width:.1e}", f"{1e3 * s.seconds:.1f} ms", s.why) for s in self.steps
        ]
        table = [("engine", "asked", "width", "time", "why"), *rows]
        wide = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)).rstrip() for row in table
        ]
        return "\n".join([head, *lines])


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
