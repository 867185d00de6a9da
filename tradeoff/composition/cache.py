"""What engines remember.

Values that are pure functions of their keys, so that no answer depends on what was asked before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from threading import Lock
from typing import Generic, TypeVar

import numpy as np

from tradeoff.intervals.rounding import Array, Index

Value = TypeVar("Value")

_FINEST = 1e-9
"""Least distance of anchors relative to 1 + the loss: where nothing varies, nearby questions share one all
the same."""


class Cache(Generic[Value]):
    """Values by key, the oldest dropped beyond ``most`` in weight.

    A key states all that its value is made of. So what is kept changes times, never an answer; and two
    threads that make one value at once make the same.
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


def anchors(x: Array, spread: Array, apart: float) -> Array:
    """Return where to aim for questions at losses x: multiples of a power of two at most ``apart`` spreads.

    Each is a function of its own loss alone, and nearby losses have the same.
    """
    _, exponent = np.frexp(np.maximum(apart * spread, _FINEST * (1 + np.abs(x))))
    unit = np.ldexp(1.0, exponent - 1)
    found: Array = unit * np.round(x / unit)
    return found


def alike(keys: Array) -> Iterator[tuple[float, Index]]:
    """Yield every distinct key with the entries that have it."""
    distinct, which = np.unique(keys, return_inverse=True)
    for k, key in enumerate(distinct.tolist()):
        yield key, np.flatnonzero(which == k)
