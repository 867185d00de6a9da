"""What every engine has in common: where it is asked, and how finely.

`conjugate` makes answers of what it encloses.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tradeoff.composition import conjugate, widths
from tradeoff.composition.budget import Question
from tradeoff.composition.cache import alike
from tradeoff.composition.conjugate import Enclosure
from tradeoff.composition.options import query_options
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import Array, Index
from tradeoff.loss.cumulant import Cumulant

Place = TypeVar("Place")
Effort = TypeVar("Effort")
Crossing = Callable[[Enclosure, Array, Array], Pair]

APART = 2.0
"""Spreads of the integrand between aims: at half of it from one, e^(1/2) of its accuracy is lost."""

_ROUNDS = 4
"""Finer enclosures asked for one question."""

_LEAST_STEP, _MOST_STEP = 2.0, 512.0
"""A finer enclosure divides widths by the next power of two of what is missing, within these."""

_ATTEMPTS = 8
"""Places looked at for one answer; Newton's method needs three, a bad start a few more."""

_STALLED = 0.7
"""Closer samples that leave more than this of a width will not make it narrower: the enclosure is not."""

_FAR = 100.0
"""An answer farther from the first guess than so many times 1 + the guess is not followed."""

_STEEPEST = 600.0
"""Slopes beyond e^600 are not sampled: floats hold no more."""

_OFFSETS = np.array([-64.0, -16, -6, -3, -2, -1, 0, 1, 2, 3, 6, 16, 64])
"""Samples about the supremum, in paces: close where it is expected, far where it may be."""


class _Answers(NamedTuple):
    """Bounds on answers, and where no finer enclosure can be had."""

    low: Array
    high: Array
    capped: NDArray[np.bool_]


class Engine(ABC, Generic[Place, Effort]):
    """Bounds on delta, epsilon and beta from enclosures that a subclass draws.

    A method says nothing with infinite bounds.
    """

    name: str

    @abstractmethod
    def first(self, question: Question, tol: float | None) -> Effort:
        """Return the effort of a first enclosure."""

    def finer(self, effort: Effort, by: float) -> Effort:
        """Return the effort for bounds ``by`` times narrower; asked only of what is not capped."""
        raise NotImplementedError

    def rough(self, effort: Effort) -> Effort | None:
        """Return a cheaper effort to look for places with, if there is one."""
        return None

    @abstractmethod
    def goal(self, question: Question) -> float:
        """Return the width that answers are refined to while no tolerance is asked."""

    @abstractmethod
    def enough(self, question: Question) -> float:
        """Return the width with which no further engine is asked while no tolerance is."""

    @abstractmethod
    def places(self, x: Array, *, steep: bool = False) -> Iterable[tuple[Place, Index]]:
        """Yield the places that serve losses x, each with the entries that it serves.

        ``steep`` asks for what bounds 1 - delta - s alpha best, of small s = e^x too.
        """

    @abstractmethod
    def enclose(self, place: Place, effort: Effort) -> Enclosure | None:
        """Return what is proved about a place, or None where nothing is."""

    @abstractmethod
    def loss_at_delta(self, delta: Array) -> Array:
        """Estimate epsilon(delta)."""

    @abstractmethod
    def loss_at_alpha(self, alpha: float) -> float:
        """Estimate the loss whose test has size alpha."""

    @property
    @abstractmethod
    def cumulant(self) -> Cumulant:
        """The cumulant function of the whole product."""

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon); ``tol`` is relative to the upper bound."""
        return self._refined("delta", epsilon, tol, self._delta)

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound the least epsilon with delta(epsilon) <= delta, for delta > Q(L = inf).

        ``tol`` is absolute.
        """
        return self._refined("epsilon", delta, tol, self._epsilon)

    def beta(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha) for alpha in (0, 1); ``tol`` is relative to min(beta, 1 - alpha - beta)."""
        goal = self.goal("beta") if tol is None else tol

        def each(at: Array, effort: Effort) -> _Answers:
            found = [self._one_beta(alpha, effort, goal) for alpha in at.tolist()]
            return _Answers(*map(np.array, zip(*found, strict=True)))

        return self._refined("beta", alpha, tol, each)

    def _refined(
        self, question: Question, at: Array, tol: float | None, once: Callable[[Array, Effort], _Answers]
    ) -> Pair:
        """Answer every entry, and again more finely while it is wider than wanted, each by its own need."""
        goal = self.goal(question) if tol is None else tol
        low, high = np.full(len(at), -np.inf), np.full(len(at), np.inf)
        waiting = {self.first(question, tol): np.arange(len(at))}
        for _ in range(_ROUNDS):
            finer: dict[Effort, Index] = {}
            for effort, which in waiting.items():
                query_options().tell(len(at) - sum(map(len, waiting.values())), len(at))
                found = once(at[which], effort)
                low[which], high[which] = np.fmax(low[which], found.low), np.fmin(high[which], found.high)
                with np.errstate(invalid="ignore"):  # of infinite bounds, or an infinite goal
                    reached = widths.of(question, at[which])(low[which], high[which])
                    missing = np.nan_to_num(1.5 * reached / goal, nan=_LEAST_STEP)
                wide = ~found.capped & ~(reached <= goal)
                _, steps = np.frexp(np.clip(missing, _LEAST_STEP, _MOST_STEP))
                for by, mine in alike(np.ldexp(1.0, steps[wide])):
                    next_ = self.finer(effort, by)
                    finer[next_] = np.append(finer.get(next_, np.empty(0, np.int64)), which[wide][mine])
            if not (waiting := finer):
                break
        return low, high

    def _delta(self, x: Array, effort: Effort) -> _Answers:
        found = _nothing(len(x))
        for place, which in self.places(x):
            if (e := self.enclose(place, effort)) is not None:
                found.low[which], found.high[which] = conjugate.delta(e, x[which])
                found.capped[which] = e.capped
        return found

    def _epsilon(self, delta: Array, effort: Effort) -> _Answers:
        crossing = _told_once()
        aimed = self._followed(delta, self.loss_at_delta(delta), self.rough(effort), crossing)
        found = _nothing(len(delta))
        for place, which in self.places(aimed):
            if (e := self.enclose(place, effort)) is not None:
                found.low[which], found.high[which] = crossing(e, delta[which], aimed[which])
                found.capped[which] = e.capped
        return found

    def _followed(self, delta: Array, aimed: Array, effort: Effort | None, crossing: Crossing) -> Array:
        """Follow each answer from place to place by cheap enclosures."""
        if effort is None:
            return aimed
        aimed, far, going = aimed.copy(), _FAR * (1 + np.abs(aimed)), np.arange(len(delta))
        for _ in range(_ATTEMPTS):
            moved = np.zeros(len(delta), bool)
            for place, which in self.places(aimed[going]):
                mine = going[which]
                if (e := self.enclose(place, effort)) is not None:
                    above = crossing(e, delta[mine], aimed[mine])[1]
                    away = np.abs(above - e.aim)
                    moved[mine] = (away > e.scale * APART) & (away < far[mine])
                    aimed[mine] = np.where(moved[mine], above, aimed[mine])
            if not len(going := np.flatnonzero(moved)):
                break
        return aimed

    def _one_beta(self, alpha: float, effort: Effort, goal: float) -> tuple[float, float, bool]:
        """Sample the supremum over s where it lies.

        Closer while the bounds are wide, wider while it is not fenced in.
        """
        x, low, high = self.loss_at_alpha(alpha), 0.0, float((1 - Bounds.of(alpha)).upper)
        pace = 1e-2 * min(1.0, math.sqrt(self.cumulant(0.5)[2]))
        measure, looking, width = widths.of("beta", np.array([alpha])), self.rough(effort), math.inf
        samples_cost = looking is not None
        e: Enclosure | None = None
        peak, capped = x, True
        for _ in range(_ATTEMPTS):
            if e is None or abs(x - e.aim) > APART * e.scale:
                e = self._near(x, effort if looking is None else looking)
                if e is None:
                    return low, high, True
                peak = x = e.peak(alpha, x)
                capped = e.capped
            at = _samples(x, pace, peak)
            value, base = conjugate.gains(e, at, alpha)
            found = conjugate.supremum(at, value)
            better = conjugate.vertex(at, (value.lower + value.upper) / 2)
            x = better if math.isfinite(better) else x
            if found is None:
                low = max(low, (base + Bounds.of(float(np.max(value.lower)))).lower)
                high = min(high, conjugate.under_a_tangent(at, (value + base).upper, alpha))
                pace = 2 * pace
                continue
            if looking is not None:  # the place is known: what follows is asked of the full effort
                looking, e = None, None
            peak = found.place
            low = max(low, (base + Bounds.of(found.low)).lower)
            high = min(high, (base + Bounds.of(found.high)).upper)
            width, last = float(measure(np.array([low]), np.array([high]))[0]), width
            if width <= (goal / 2 if samples_cost else 0.0) or width > _STALLED * last:
                break
            pace = pace * max(min(0.5, math.sqrt(goal / width) / 2), 1e-2)
        return low, high, capped

    def _near(self, x: float, effort: Effort) -> Enclosure | None:
        """Return the enclosure that serves the loss x."""
        ((place, _),) = self.places(np.array([x]), steep=True)
        return self.enclose(place, effort)


def _told_once() -> Crossing:
    """Return ``conjugate.epsilon``, not done again where the full effort is that which found the place."""
    told: dict[Hashable, Pair] = {}

    def crossing(e: Enclosure, delta: Array, guess: Array) -> Pair:
        key = e, delta.tobytes(), guess.tobytes()
        if key not in told:
            told[key] = conjugate.epsilon(e, delta, guess)
        return told[key]

    return crossing


def _nothing(size: int) -> _Answers:
    return _Answers(np.full(size, -np.inf), np.full(size, np.inf), np.ones(size, bool))


def _samples(x: float, pace: float, peak: float) -> Array:
    """Return where the supremum is sampled.

    About its place, and where prolonged chords met, if that is no other sample.
    """
    at = np.clip(x, -_STEEPEST, _STEEPEST) + pace * _OFFSETS
    apart = np.min(np.abs(at - peak)) > 1e-3 * pace and at[0] < peak < at[-1]
    return np.sort(np.append(at, peak)) if apart else at
