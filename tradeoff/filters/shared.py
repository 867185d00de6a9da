"""Objects that threads may share: their changes happen one after the other, and a copy is an object of its own."""

from __future__ import annotations

import copy
import os
from contextlib import AbstractContextManager
from reprlib import repr as short
from threading import RLock
from typing import Any, Self
from weakref import WeakSet

import numpy as np

from tradeoff.curves.parameters import reals
from tradeoff.errors import DomainError
from tradeoff.intervals.rounding import Array


class Shared:
    """Object with a lock of its own, under which it checks and records in one step.

    A copy, deep copy or pickle knows what was recorded up to then, shares nothing with the original and has its own lock: of a
    filter it is a *second budget*, as it is after a fork. Processes share one budget through a ``Ledger``.
    """

    _lock: AbstractContextManager[bool]

    def __new__(cls, *_args: Any, **_options: Any) -> Self:
        """Give the object its lock, so that no subclass can forget it."""
        made = super().__new__(cls)
        made._lock = RLock()
        _ALIVE.add(made)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the lock, as it was at one moment, for copies and pickles."""
        with self._lock:
            return copy.deepcopy({name: value for name, value in vars(self).items() if name != "_lock"})


_ALIVE: WeakSet[Shared] = WeakSet()
"""All of them: a lock that another thread held at a fork is never released in the child, so that there each gets a fresh one."""


def _unlock() -> None:
    for each in list(_ALIVE):
        each._lock = RLock()  # noqa: SLF001 - of this module


if hasattr(os, "register_at_fork"):  # not where there is no fork
    os.register_at_fork(after_in_child=_unlock)


def numbers(name: str, value: Any) -> Array:
    """Return real numbers as an array of floats, itself where it is one; refuse masks, complex numbers, dates, text, truth values."""
    if np.ma.isMaskedArray(value):
        raise DomainError(
            f"{name} = {short(value)} is masked, and what a mask hides would be read as numbers; drop or fill it first"
        )
    try:
        raw = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise DomainError(
            f"{name} = {short(value)} is no array of one shape; give one real number for each entry"
        ) from error
    if raw.dtype.kind not in "iufO":
        raise DomainError(
            f"{name} = {short(value)} is made of {raw.dtype}, and not of real numbers; give floats or integers"
        )
    try:
        return raw if raw.dtype == np.float64 else reals(name, raw)
    except OverflowError as error:
        raise DomainError(
            f"{name} = {short(value)} is beyond the floats; give numbers within 1.7e308 of 0"
        ) from error
