"""Base class of the engines: choice of points, refinement, conversion to epsilon and beta.

`conjugate` converts its enclosures into answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from tradeoff.accounting import conjugate
from tradeoff.accounting.cache import group_by_key
from tradeoff.accounting.conjugate import Enclosure, Kind
from tradeoff.accounting.options import WIDTHS, Question, measure, query_options
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import Array, Index
from tradeoff.pld.cumulant import Cumulant, epsilon_for_alpha

Effort = TypeVar("Effort")

# Enclosure of losses that are answered together, for an effort; None where nothing is proved.
Place = Callable[[Effort], Enclosure | None]

APART = 2.0  # spreads of the integrand between aims: at half of it from one, e^(1/2) of its accuracy is lost
_ATTEMPTS = 8  # places looked at for one answer; Newton's method needs three, a bad start a few more
_STEEPEST = 600.0  # slopes above e^600 are not sampled: they overflow

# Samples about the supremum, in paces: close where it is expected, far where it may be.
_OFFSETS = np.array([-64.0, -16, -6, -3, -2, -1, 0, 1, 2, 3, 6, 16, 64])

_PACE = 1e-2  # first pace, where losses are spread by 1 or more

# Samples about a place beyond the steepest slope, which none fences in: those of all attempts at once.
_ASIDE = np.unique(np.multiply.outer(_PACE * 2.0 ** np.arange(_ATTEMPTS), _OFFSETS))


class _Answers(NamedTuple):
    """Bounds on answers, and about how many times narrower those of the finest enclosures are."""

    low: Array
    high: Array
    refinement_factor: Array

    @classmethod
    def none(cls, size: int) -> _Answers:
        """Return trivial bounds."""
        return cls(np.full(size, -np.inf), np.full(size, np.inf), np.ones(size))


class Engine(ABC, Generic[Effort]):
    """Bounds on delta, epsilon and beta from enclosures that a subclass makes."""

    name: str

    single_pass: bool = False
    """Whether the first enclosure is not refined without a tolerance."""

    @abstractmethod
    def initial_effort(self, question: Question, tol: float | None) -> Effort:
        """Return the effort of a first enclosure."""

    def refine(self, effort: Effort, by: float) -> Effort:
        """Return the effort for bounds ``by`` times narrower; called only where there is room."""
        raise NotImplementedError

    def coarse(self, effort: Effort) -> Effort | None:
        """Return a cheaper effort for locating roots, or None."""
        return None

    def tail_fallback(self, question: Question, at: Array, low: Array, high: Array) -> Array:
        """Return the upper bounds, or better ones where enclosures were nearly trivial."""
        return high

    @abstractmethod
    def evaluation_points(
        self, x: Array, delta: Array | None = None
    ) -> Iterable[tuple[Place[Effort], Index]]:
        """Yield evaluation points for losses x, each with the indices of the losses it is used for.

        A point is used for all nearby losses, or only for one if ``delta`` there is given.
        """

    @abstractmethod
    def loss_at_delta(self, delta: Array) -> Array:
        """Estimate epsilon(delta)."""

    def loss_at_alpha(self, alpha: Array) -> Array:
        """Estimate the losses whose tests have size alpha."""
        return epsilon_for_alpha(self.cumulant, alpha)

    @property
    @abstractmethod
    def cumulant(self) -> Cumulant:
        """The cumulant function of the whole product."""

    def answer(self, question: Question, at: Array, tol: float | None, known: Array | None = None) -> Pair:
        """Bound delta at losses, epsilon at deltas above Q(L = inf), or f at alphas in (0, 1).

        Every entry again more finely while it is wider than wanted, each by its own need. ``tol`` is a width
        as ``measure`` gives it; infinite bounds are trivial. ``known`` are widths that another engine has
        reached: enclosures that would stay wider are not refined.
        """
        goal = WIDTHS[self.name][question].goal if tol is None else tol
        low, high = np.full(len(at), -np.inf), np.full(len(at), np.inf)
        waiting, last = {self.initial_effort(question, tol): np.arange(len(at))}, np.full(len(at), np.inf)
        for _ in range(1 if self.single_pass and tol is None else 4):
            finer: dict[Effort, Index] = {}
            for effort, which in waiting.items():
                query_options().report_progress(len(at) - sum(map(len, waiting.values())), len(at))
                if question == "delta":
                    result = self._at(at[which], effort, lambda e, x, _: conjugate.delta(e, x))
                elif question == "epsilon":
                    result = self._epsilon(at[which], effort)
                else:
                    result = self._beta(at[which], effort, goal)
                low[which], high[which] = np.fmax(low[which], result.low), np.fmin(high[which], result.high)
                with np.errstate(invalid="ignore", over="ignore"):  # of infinite bounds, or an extreme goal
                    own = measure(question, at[which], result.low, result.high)
                    reached = measure(question, at[which], low[which], high[which])
                    missing = np.nan_to_num(1.5 * reached / goal, nan=2.0)
                    least = np.nan_to_num(own / result.refinement_factor, posinf=0.0)  # of the finest
                worth = (result.refinement_factor > 1) & ~(
                    least > (np.inf if known is None else known[which])
                )
                # Bounds that become wider are wide of rounding, or of the errors of a law.
                wide = worth & ~(reached <= goal) & ~(own > last[which])
                last[which] = own
                _, steps = np.frexp(np.clip(missing, 2.0, 512.0))  # to the next power of two
                for by, mine in group_by_key(np.ldexp(1.0, steps[wide])):
                    next_ = self.refine(effort, by)
                    finer[next_] = np.append(finer.get(next_, np.empty(0, np.int64)), which[wide][mine])
            if not (waiting := finer):
                break
        return low, self.tail_fallback(question, at, low, high)

    def _at(
        self,
        x: Array,
        effort: Effort,
        answer: Callable[[Enclosure, Array, Index], Iterable[Array]],
        delta: Array | None = None,
    ) -> _Answers:
        """Answer from enclosures at losses x; infinite bounds are trivial."""
        result = _Answers.none(len(x))
        for enclose, which in self.evaluation_points(x, delta) if len(x) else ():
            if (e := enclose(effort)) is not None:
                result.low[which], result.high[which] = answer(e, x[which], which)
                result.refinement_factor[which] = e.refinement_factor
        return result

    def _epsilon(self, delta: Array, effort: Effort) -> _Answers:
        """Locate each answer by cheap enclosures, then bound it there with full effort."""
        coarse, aimed, result = (
            self.coarse(effort),
            self.loss_at_delta(delta).copy(),
            _Answers.none(len(delta)),
        )
        rest, active = np.ones(len(delta), bool), np.arange(len(delta))
        far = 100.0 * (1 + np.abs(aimed))  # an answer farther from the first guess is not followed
        for k in range(_ATTEMPTS) if coarse is not None else ():
            moved = np.zeros(len(delta), bool)
            for enclose, which in self.evaluation_points(aimed[active], delta[active] if k else None):
                mine = active[which]
                if coarse is not None and (e := enclose(coarse)) is not None:
                    below, above = conjugate.epsilon(e, delta[mine], aimed[mine])
                    result.low[mine], result.high[mine] = below, above
                    # Where no upper bound crosses, the lower ones may show that the answer is greater.
                    near = np.where(np.isfinite(above), above, np.fmax(below, e.center))
                    away, wide = np.abs(near - e.center), ~(above - below <= 1e-8)
                    # A nearer place is tried for a wide answer that is a tenth of a spread away.
                    onward = (away > np.where(wide, 0.1, APART) * e.scale) & (away < far[mine])
                    moved[mine] = onward | (wide & (k == 0))  # made for its delta a place may be better
                    rest[mine] = moved[mine] | (not e.final) | (e.noisy & wide)
                    aimed[mine] = np.where(onward, near, aimed[mine])
            if not len(active := np.flatnonzero(moved)):
                break
        again = np.flatnonzero(rest)
        level = delta[again]
        fine = self._at(aimed[again], effort, lambda e, x, k: conjugate.epsilon(e, level[k], x), level)
        for whole, part in zip(result, fine, strict=True):
            whole[again] = part
        return result

    def _beta(self, alpha: Array, effort: Effort, goal: float) -> _Answers:
        """Sample the suprema over s where they lie.

        Closer while the bounds are wide, wider while they are not fenced in: each by its own need, so that no
        answer depends on the others. A cheap enclosure locates the place first, where there is one.
        """
        n, coarse = len(alpha), self.coarse(effort)
        low, high, room = np.zeros(n), (1 - Bounds.of(alpha)).upper, np.ones(n)
        x = np.clip(self.loss_at_alpha(alpha), -_STEEPEST, _STEEPEST)
        aimed, peak, pace = x.copy(), x.copy(), np.full(n, _PACE * min(1.0, self.cumulant.spread))
        width, center, reach = np.full(n, np.inf), np.zeros(n), np.zeros(n)
        is_new, is_clipped, is_sharp = np.ones(n, bool), np.zeros(n, bool), np.full(n, coarse is None)
        waiting = np.arange(n)
        for _ in range(_ATTEMPTS):
            batches: dict[tuple[Kind, bool], list[tuple[Index, Array, Bounds]]] = {}
            for level, rows in (coarse, waiting[~is_sharp[waiting]]), (effort, waiting[is_sharp[waiting]]):
                for enclose, which in self.evaluation_points(aimed[rows]) if len(rows) else ():
                    mine = rows[which]
                    if level is None or (e := enclose(level)) is None:
                        continue
                    center[mine], reach[mine], room[mine] = e.center, APART * e.scale, e.refinement_factor
                    new = mine[is_new[mine]]
                    x[new] = e.peak(alpha[new], x[new])
                    is_clipped[new], is_new[new] = np.abs(x[new]) >= _STEEPEST, False
                    x[new] = peak[new] = np.clip(x[new], -_STEEPEST, _STEEPEST)
                    for aside in (False, True):
                        if len(some := mine[is_clipped[mine] == aside]):
                            at = (
                                x[some, None] + _ASIDE if aside else _samples(x[some], pace[some], peak[some])
                            )
                            value = Bounds(*(side.reshape(at.shape) for side in e.bound(at.ravel())))
                            batches.setdefault((e.kind, aside), []).append((some, at, value))
            left = [np.empty(0, np.int64)]
            for (kind, aside), parts in batches.items():
                rows, at, lower, upper = (
                    np.concatenate(each) for each in zip(*((r, a, *v) for r, a, v in parts), strict=True)
                )
                value, base = conjugate.gains(kind, at, Bounds(lower, upper), alpha[rows, None])
                result = conjugate.supremum(at, value)
                better = conjugate.vertex(at, value.lower)  # far samples may have wide bounds
                x[rows] = np.where(np.isfinite(better), better, x[rows])
                fenced = result.is_fenced
                least = base + Bounds.of(result.low[:, None])
                most = base + Bounds.of(np.where(fenced, result.high, np.inf)[:, None])
                tangent = conjugate.under_a_tangent(at, (value + base).upper, alpha[rows, None])
                low[rows] = np.fmax(low[rows], least.lower[:, 0])
                high[rows] = np.fmin(high[rows], np.where(fenced, most.upper[:, 0], tangent))
                peak[rows] = np.where(fenced, result.place, peak[rows])
                last = width[rows]
                now = measure("beta", alpha[rows], low[rows], high[rows])
                width[rows] = np.where(fenced, now, last)
                # Closer samples that leave more than 0.7 of a width will not make it narrower.
                enough = (now <= (0.0 if coarse is None else goal / 2)) | (now > 0.7 * last)
                finer = pace[rows] * np.clip(np.sqrt(goal / np.maximum(now, 1e-300)) / 2, 1e-2, 0.5)
                pace[rows] = np.where(fenced, finer, 2 * pace[rows])
                # The place is known: the full effort follows.
                is_new[rows] = (fenced & ~is_sharp[rows]) | (np.abs(x[rows] - center[rows]) > reach[rows])
                is_sharp[rows] |= fenced
                aimed[rows] = np.where(is_new[rows], x[rows], aimed[rows])
                left.append(rows[np.where(fenced, ~enough, not aside)])
            waiting = np.concatenate(left)
        return _Answers(low, high, room)


def _samples(x: Array, pace: Array, peak: Array) -> Array:
    """Return where suprema are sampled, a row each.

    About their places, and where prolonged chords met, unless that is another sample.
    """
    at = x[:, None] + pace[:, None] * _OFFSETS
    apart = np.min(np.abs(at - peak[:, None]), axis=1) > 1e-3 * pace
    apart &= (at[:, 0] < peak) & (peak < at[:, -1])
    return np.sort(np.column_stack([at, np.where(apart, peak, x + 2 * _OFFSETS[-2] * pace)]))
