"""Options of a question, the trace of its engines, the width of an answer, and caches of the engines.

Bounds never depend on these numbers for their validity; their width and time do. Caches hold values that are
pure functions of their keys, so that no answer depends on earlier questions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
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
    """Function ``make`` with its last values kept, as by ``functools.lru_cache``, up to the weight ``most``.

    Arguments contain everything their value depends on. So the cache changes times, never an answer, and two
    threads that compute a value at the same time get the same one.
    """

    def __init__(self, make: Callable[..., Value], most: int, weight: Callable[[Value], int]) -> None:
        self.make, self.most, self.weight = make, most, weight
        self._kept: dict[Hashable, tuple[Value, int]] = {}  # values with their weights, the oldest first
        self._total = 0
        self._lock = Lock()

    def __call__(self, *key: Hashable) -> Value:
        with self._lock:
            if key in self._kept:
                return self._kept[key][0]
        value = self.make(*key)
        weight = self.weight(value)
        with self._lock:
            self._total += 0 if key in self._kept else weight
            self._kept[key] = value, weight
            while len(self._kept) > 1 and self._total > self.most:
                self._total -= self._kept.pop(next(iter(self._kept)))[1]
        return value


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


def cached_by_options(make: Callable[[Any], Value]) -> Value:
    """Return a property of curves, made once for each choice of query options; the last four are kept.

    Equal curves of one tightness (``exact`` or not) share what they first need where ``SHARED`` is set.
    """

    def cached(curve: Any) -> Value:
        made, shared = vars(curve).setdefault("_caches", {}), SHARED.get()
        if make not in made:
            key = make, curve.tightness, curve
            made[make] = {} if shared is None else shared(key)
        values, options = made[make], OPTIONS.get()
        # Sums shared among jobs are added in another order than by a single one.
        choices = options.method, options.memory, options.jobs == 1
        if (value := values.get(choices)) is None:
            value = values[choices] = make(curve)
            for oldest in list(values)[:-4]:
                values.pop(oldest, None)  # another thread may have dropped it
        result: Value = value
        return result

    # A property has the type of its value.
    return property(cached)  # type: ignore[return-value]


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

NODE_TERMS = 16  # terms a node costs at least: an answer sums all nodes again, some twenty times


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
