"""Options of a question, the trace of its engines, the width of an answer, and caches of the engines.

Bounds never depend on these numbers for their validity; their width and time do. Caches hold values that are
pure functions of their keys, so that no answer depends on earlier questions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from tradeoff.display import Displayed, TextTable
from tradeoff.intervals.bounds import Array, Bounds, Index
from tradeoff.pld.units import UNIT

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Cache by key; drops the oldest values while the total weight is above ``most``.

    A key contains everything its value depends on. So the cache changes times, never an answer, and two
    threads that compute a value at the same time get the same one.
    """

    def __init__(self, most: int, weight: Callable[[Value], int] = lambda _: 1) -> None:
        self.most, self.weight = most, weight
        self._kept: dict[Hashable, Value] = {}
        self._total = 0
        self._lock = Lock()

    def of(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of ``key``, made if it is not there."""
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        value = make()
        with self._lock:
            self._total += 0 if key in self._kept else self.weight(value)
            self._kept[key] = value
            while len(self._kept) > 1 and self._total > self.most:
                self._total -= self.weight(self._kept.pop(next(iter(self._kept))))
        return value


# Caches by curve while equal curves share them.
_SHARED: ContextVar[Cache[Any] | None] = ContextVar("shared", default=None)


@contextmanager
def set_context(variable: ContextVar[Any], value: Value) -> Iterator[Value]:
    """Set a context variable inside the block."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def shared_cache(memory: Cache[Any]) -> AbstractContextManager[Cache[Any]]:
    """Let equal curves that are first used inside the block share one cache."""
    return set_context(_SHARED, memory)


def cache_by_options(owner: Hashable, name: str, make: Callable[[], Value]) -> Value:
    """Return ``make()``, made once for the options of this question, of which an owner keeps the last four.

    Equal owners share the results that they first need inside one ``shared_cache``.
    """
    caches, memory = vars(owner).setdefault("_caches", {}), _SHARED.get()
    if name not in caches:
        new: Cache[Any] = Cache(4)
        caches[name] = new if memory is None else memory.of((name, owner), lambda: new)
    result: Value = caches[name].of(query_options().choices, make)
    return result


def snap_to_grid(x: Array, spread: Array, apart: float) -> Array:
    """Return where to aim for questions at losses x: multiples of a power of two at most ``apart`` spreads.

    Each is a function of its own loss alone, and nearby losses have the same.
    """
    # Least distance of grid points relative to 1 + the loss: where nothing varies, nearby questions share one
    # all the same.
    _, exponent = np.frexp(np.maximum(apart * spread, 1e-9 * (1 + np.abs(x))))
    unit = np.ldexp(1.0, exponent - 1)
    with np.errstate(over="ignore"):
        result: Array = np.nan_to_num(unit * np.round(x / unit))
    return result


def group_by_key(keys: Array) -> Iterator[tuple[float, Index]]:
    """Yield every distinct key with the entries that have it."""
    distinct, which = np.unique(keys, return_inverse=True)
    for k, key in enumerate(distinct.tolist()):
        yield key, np.flatnonzero(which == k)


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


_CURRENT: ContextVar[QueryOptions] = ContextVar(
    "query_options",
    default=QueryOptions(),  # noqa: B039 - it is frozen
)


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
    "contour": {"delta": Width(1e-4, 1e-3), "epsilon": Width(1e-6, 1e-7), "beta": Width(4e-6, 1e-3)},
    "lattice": {"delta": Width(1e-2, 1e-6), "epsilon": Width(1e-6, 2e-8), "beta": Width(1e-2, 1e-4)},
    "exact": {question: Width(math.inf, math.inf) for question in get_args(Question)},
}

NODE_TERMS = 16  # terms a node costs at least: an answer sums all nodes again, some twenty times


NEGLIGIBLE = 1e-100  # a delta that is known to be below is not computed again, however wide its bounds


def measure(question: Question, at: Array, low: Array, high: Array, *, finest: float = 16 * UNIT) -> Array:
    """Return the widths of answers, infinite where a side of epsilon is unknown.

    Delta's is relative to the upper bound, epsilon's in nats, f's relative to min(beta, 1 - alpha - beta),
    and 0 where the bounds on f are at most ``finest`` apart: by default no engine helps there, as 1 - alpha
    is already rounded.
    """
    if question == "delta":
        return np.where(high < NEGLIGIBLE, 0.0, (high - low) / np.maximum(high, NEGLIGIBLE))
    if question == "epsilon":
        known = np.isfinite(low) & np.isfinite(high)
        return np.where(low == high, 0.0, np.where(known, high - np.where(known, low, 0.0), np.inf))
    scale, gap = np.minimum(high, np.maximum(1 - at - low, 0.0)), high - low
    return np.where(gap <= finest, 0.0, gap / np.where(scale > 0, scale, 1.0))
