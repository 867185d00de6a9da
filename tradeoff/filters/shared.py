"""Objects that threads may share: changes happen one after the other; a copy is an object of its own."""

from __future__ import annotations

import copy
import os
from contextlib import AbstractContextManager
from threading import Condition, RLock
from typing import Any, Self, SupportsIndex
from weakref import WeakSet

import numpy as np

from tradeoff.curves.parameters import reals
from tradeoff.errors import KindError
from tradeoff.intervals.rounding import Array


class Turn:
    """Lock that a thread holds once: what interrupts its holder in the same thread is refused.

    A signal handler, or what is called back when an object is collected, runs in the middle of a change.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._held = Condition(self._lock)

    def once(self) -> AbstractContextManager[bool]:
        """Return the lock for a ``with``; raise ``KindError`` where this thread is inside of one."""
        try:
            self._held.notify(0)  # which only the holder may
        except RuntimeError:
            return self._lock
        raise KindError(
            "this thread is changing the same object, and was interrupted by a signal handler or a "
            "callback that asks it again; ask it when the change is done"
        )


class Shared:
    """Object with a lock of its own, under which it checks and records in one step.

    A copy, deep copy or pickle knows what was recorded up to then, shares nothing with the original and has
    its own lock: of a filter it is a *second budget*, as it is after a fork. Processes share one budget
    through a ``Ledger``.
    """

    _lock: Turn

    def __new__(cls, *_args: Any, **_options: Any) -> Self:
        """Give the object its lock, so that no subclass can forget it."""
        made = super().__new__(cls)
        made.relock()
        _ALIVE.add(made)
        return made

    def relock(self) -> None:
        """Give the object a fresh lock, at birth and in a forked child."""
        self._lock = Turn()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Make copies by ``__new__``, which the oldest protocols of pickles do not."""
        return super().__reduce_ex__(max(int(protocol), 2))

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the lock, as it was at one moment, for copies and pickles."""
        with self._lock.once():
            return copy.deepcopy({name: value for name, value in vars(self).items() if name != "_lock"})


# All of them: in a forked child a lock held by another thread is never released; each gets a fresh one.
_ALIVE: WeakSet[Shared] = WeakSet()


def _unlock() -> None:
    for each in list(_ALIVE):
        each.relock()


if hasattr(os, "register_at_fork"):  # not where there is no fork
    os.register_at_fork(after_in_child=_unlock)


def numbers(name: str, value: Any) -> Array:
    """Return real numbers as an array of floats, itself where it is one; refuse masks, dates, text."""
    return value if type(value) is np.ndarray and value.dtype == np.float64 else reals(name, value)
