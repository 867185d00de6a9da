"""Refining one answer: the noise falls in steps, each paid before it is drawn; no more is handed out."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from inspect import GEN_CLOSED, getgeneratorstate
from itertools import accumulate, pairwise, repeat, takewhile
from operator import truediv
from typing import Any, Protocol

import numpy as np

from tradeoff.curves.parameters import number
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.expost import ExPost
from tradeoff.filters.individual import IndividualGDPFilter
from tradeoff.filters.shared import Turn
from tradeoff.intervals.rounding import Array

Seed = np.random.Generator | int | None
Noisy = Generator[Array, float, None]


class Charged(Protocol):
    """Whatever grants a step or raises: a filter, or a ledger that keeps one on disk."""

    def spend(self, step: Any) -> None:
        """Grant the step, or raise ``BudgetExceeded``."""
        ...


@dataclass(frozen=True)
class Release:
    """One released value, and the number it is to be kept with.

    Parameters
    ----------
    value
        The noisy value: a float, or a read-only array in the shape of the query.
    level
        Level it was drawn at: a variance, or epsilon.
    spent
        What the session has paid for this and all earlier values together: ``Gaussian(mu)``, or
        ``ExPost(epsilon, delta)``.
    """

    value: Any
    level: float
    spent: Any


class NoiseReduction:
    """Session that refines the answer of one query: every further value is paid before it is drawn.

    What a session hands out are releases: its public attributes, its ``repr`` and its errors do not tell the
    true value, and a stopping rule is called with the releases and not with the session. It is no vault. To
    refine, the true value (or the noise, which is as much) must stay in memory, and whoever can run code in
    the process can read it there: keep the session on the side of the data, and hand on the releases.

    Two sessions that go on from the same noise tell the true value for a fraction of what it costs, so a
    session goes on in one place: copies and pickles are refused, and so is refining in a forked child. The
    snapshot of a whole machine, and two sessions made from the same seed, are beyond what it can see. Threads
    may share a session.
    """

    __slots__ = ("__weakref__", "_filter", "_lock", "_noisy", "_process", "_releases", "_scalar")

    def __init__(self, noisy: Noisy, charged: Charged | None, *, scalar: bool) -> None:
        grants = hasattr(charged, "spend") and not isinstance(charged, type | IndividualGDPFilter)
        if not (charged is None or grants):  # of a table, records are left out, and nothing is refused
            raise KindError(
                f"filter = {shown(charged)} grants no steps; "
                "give a filter such as UnifiedFilter(1), a ledger, or None"
            )
        next(noisy)
        self._noisy, self._filter, self._scalar = noisy, charged, scalar
        self._releases: tuple[Release, ...] = ()
        self._lock, self._process = Turn(), os.getpid()

    @property
    def releases(self) -> tuple[Release, ...]:
        """All released values, the latest last."""
        return self._releases

    @property
    def spent(self) -> Any:
        """What the session has paid so far; None before the first release."""
        return self._releases[-1].spent if self._releases else None

    def _price(self, level: float) -> tuple[Gaussian | ExPost, Gaussian | ExPost]:
        """Return what the next level costs, and what all cost with it; raise if it is no next level."""
        raise NotImplementedError

    def refine(self, level: float) -> Release:
        """Pay for the next level, then draw its value and return it with what has been paid.

        Parameters
        ----------
        level
            Variance of the noise, below that of the last release; or epsilon, above that of the last release.

        Raises
        ------
        BudgetExceeded
            If the filter has no room for it; nothing is paid and nothing drawn, and earlier releases stay
            valid.
        DomainError
            If the level is none, or not beyond the last one.
        KindError
            In a forked child, or after a draw was interrupted; nothing is paid and nothing drawn.
        """
        # Before the lock, which a thread of the parent may have held at the fork.
        if os.getpid() != self._process:
            raise KindError(
                f"a {type(self).__name__} goes on in the process that opened it, {self._process}, and this "
                f"is a fork of it, {os.getpid()}, that would draw the same noise; open a session here, with "
                "a budget and a generator of its own"
            )
        with self._lock.once():
            if getgeneratorstate(self._noisy) == GEN_CLOSED:
                raise KindError(
                    f"a draw of this {type(self).__name__} was interrupted, which ends it; its releases stay "
                    "valid"
                )
            step, total = self._price(level)
            if self._filter is not None:
                self._filter.spend(step)
            try:
                drawn = np.array(self._noisy.send(float(level)))
                drawn.flags.writeable = False
                release = Release(float(drawn) if self._scalar else drawn, float(level), total)
                self._releases = (*self._releases, release)
            except BaseException:  # the noise has gone on, and the level it is at is not known
                self._noisy.close()
                raise
            return release

    def run(self, rule: Callable[[tuple[Release, ...]], object], levels: Iterable[float]) -> Release | None:
        """Refine level after level until a rule that sees the releases says stop.

        Parameters
        ----------
        rule
            Called with all releases so far, the latest last; whatever is true stops.
        levels
            Levels to go through.

        Returns
        -------
        Release or None
            The release at which the rule stopped; None if the levels ran out before.

        Raises
        ------
        BudgetExceeded
            If the filter has no room for the next level; what was released is in ``releases``.

        Notes
        -----
        A rule that looks at the data instead of the releases (is the *true* error small enough?) leaks
        through its answer and is not covered by what the session pays.
        """
        if not callable(rule):  # before a level is paid
            raise KindError(f"rule = {shown(rule)} is not callable; give a function of the releases")
        if not isinstance(levels, Iterable):
            raise DomainError(f"levels = {shown(levels)} is no list of levels; give one")
        for level in levels:
            release = self.refine(level)
            if rule(self._releases):
                return release
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {len(self._releases)} releases, spent {self.spent}"

    def __reduce_ex__(self, protocol: object) -> Any:
        raise KindError(
            f"a {type(self).__name__} holds a value that is not released, so it is neither copied nor "
            "pickled; keep .releases"
        )


def geometric(start: float, factor: float) -> Iterator[float]:
    """Levels start, start/factor, start/factor^2, ...: each costs ``factor`` times the last.

    They go on as long as floats fall: no quotient of the least one by less than 2 does.

    Parameters
    ----------
    start
        First variance, in (0, inf).
    factor
        Ratio of neighbouring levels, in (1, inf).

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(geometric(64.0, 4), 4))
    [64.0, 16.0, 4.0, 1.0]
    """
    level = number("start", start, 0.0, open_low=True, open_high=True)
    ratio = number("factor", factor, 1.0, open_low=True, open_high=True)
    levels = accumulate(repeat(ratio), truediv, initial=level)
    return (at for at, _ in takewhile(lambda pair: pair[1] < pair[0], pairwise(levels)))
