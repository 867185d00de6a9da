"""Caches of the engines.

Values that are pure functions of their keys, so that no answer depends on earlier questions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np

from tradeoff.intervals.rounding import Array, Index

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Cache by key; drops the oldest values while the total weight is above ``most``.

    A key contains everything its value depends on. So the cache changes times, never an answer, and two
    threads that compute a value at the same time get the same one.
    """

    def __init__(self, most: int, weight: Callable[[Value], int] = lambda _: 1) -> None:
        self.most, self.weight = most, weight
        self._kept: dict[Hashable, Value] = {}
        self._lock = Lock()

    def of(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of ``key``, made if it is not there."""
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        value = make()
        with self._lock:
            self._kept[key] = value
            while len(self._kept) > 1 and sum(map(self.weight, self._kept.values())) > self.most:
                del self._kept[next(iter(self._kept))]
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


def cache_for(owner: Hashable, most: int) -> Cache[Any]:
    """Return an empty cache for ``owner``; inside ``shared_cache``, the cache of any equal owner."""
    memory = _SHARED.get()
    return Cache(most) if memory is None else memory.of(owner, lambda: Cache(most))


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
