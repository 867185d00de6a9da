"""Base class of the engines: choice of points, refinement, conversion of enclosures to epsilon and beta.

An engine bounds, about a loss, one of three numbers none of which is a difference from 1 there: delta(x)
where it is small, 1 - delta(x) where that is, or the other order's delta(-x), as 1 - delta(x) = e^x (1 -
delta_{f^-1}(-x)). The rest is

    epsilon(delta) = inf {x : delta(x) <= delta},    f(alpha) = sup over s = e^x of 1 - delta(x) - s alpha,

a monotone crossing and the supremum of a concave function of s (Dong, Roth, Su 2022, Proposition 2.12).

An enclosure has these bounds, sharp about its center; a place makes it, for an effort, and answers the losses
near the center. Losses are in nats; a pace is a distance of the samples of a supremum, which are fenced in
once the function provably rises before them and falls after them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tradeoff.accounting.conjugation import vertex
from tradeoff.accounting.options import WIDTHS, Question, measure, query_options
from tradeoff.accounting.saddles import Cumulant, epsilon_for_alpha
from tradeoff.intervals.bounds import Array, Bounds, Index, Pair
from tradeoff.intervals.functions import clip, exp, expm1
from tradeoff.pld.units import UNIT

Mask = NDArray[np.bool_]
Kind = Literal["delta", "rest", "other"]


NODE_TERMS = 16  # terms a node costs at least: an answer sums all nodes again, some twenty times

Value = TypeVar("Value")


class Cache(dict[Hashable, tuple[Value, int]]):
    """The last values of a function by their arguments, each with its weight, up to the weight ``most``.

    Arguments contain everything their value depends on. So the cache changes times, never an answer, and two
    threads that compute a value at the same time get the same one.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self._total, self._lock = most, 0, Lock()

    def keep(self, key: Hashable, value: Value, weight: int) -> Value:
        """Keep a value, drop the oldest above ``most``, and return the value."""
        with self._lock:
            self._total += 0 if key in self else weight
            self[key] = value, weight
            while len(self) > 1 and self._total > self.most:
                self._total -= self.pop(next(iter(self)))[1]
        return value


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Enclosure(ABC):
    """Bounds at every loss from one table or one line, sharp about one loss."""

    kind: Kind = "delta"
    """Which number ``bound`` bounds: delta(x), 1 - delta(x), or the other order's delta(-x)."""

    center: float = 0.0
    """The loss it was made for."""

    scale: float = math.inf
    """How far from the center, in nats, it serves as well."""

    leak: float = 0.0
    """About how much of the bound on delta stays at every loss: Q(L = inf)."""

    refinement_factor: float = 1.0
    """About how many times narrower the finest enclosure at its center is, 1 where none is finer."""

    final: bool = False
    """Whether a greater effort gives the same enclosure."""

    noisy: bool = False
    """Whether rounding makes it wide, so that the full effort is worth its time."""

    @abstractmethod
    def bound(self, x: Array) -> Bounds:
        """Bound the number of its kind at losses x."""

    def crossing(self, delta: Array, guess: Array) -> Array:
        """Return a better guess of epsilon(delta), if it has one."""
        return guess

    def peak(self, alpha: Array, guess: Array) -> Array:
        """Return a better guess of the x at which f(alpha) is reached, if it has one."""
        return guess


class Supremum(NamedTuple):
    """Bounds on suprema, about their x, and whether samples fence them in; else ``high`` is void."""

    low: Array
    high: Array
    place: Array
    is_fenced: Mask


def bound_delta(e: Enclosure, x: Array) -> Bounds:
    """Bound delta(x)."""
    if e.kind == "delta":
        return clip(e.bound(x), 0.0, 1.0)
    if e.kind == "rest":
        return clip(1 - e.bound(x), 0.0, 1.0)
    # 1 - e^x + e^x delta(-x), whose terms are positive for the x < 0 that this kind is for
    return clip(exp(x) * e.bound(x) - expm1(x), 0.0, 1.0)


def bound_epsilon(e: Enclosure, level: Array, guess: Array) -> Pair:
    """Bound the least x with delta(x) <= level.

    Newton's method for the place, then outwards until it is certified, by steps that double and, after six,
    grow sixteenfold; a factor that is too large is halved at most four times. A crossing farther than 100
    times 1 + the loss expected bounds nothing.
    """
    x, reach = _crossing(e, level, e.crossing(level, guess))
    farthest, n = np.tile(100.0 * (1 + np.abs(guess)), 2), len(x)
    step = np.clip(reach, 4 * UNIT * (1 + np.abs(x)), farthest[:n])
    x, step = np.tile(x, 2), np.append(-step, step)
    # Where rounding hides a level, the first step is far wider than the bounds: it is halved, too.
    missed = np.where(np.abs(step) > 0.05, np.copysign(4 * UNIT * (1 + np.abs(x)), step), 0.0)
    bounds = np.copysign(np.inf, step)

    def holds(at: Array, k: Index) -> Mask:  # the first n are to be below the answer, the others above it
        delta = bound_delta(e, at)
        return np.asarray(np.where(k < n, delta.lower > level[k % n], delta.upper <= level[k % n]))

    for k in range(20):
        active = np.flatnonzero(np.isinf(bounds) & (np.abs(missed) < farthest))
        if not len(active):
            break
        result = holds((x + step)[active], active)
        bounds[active] = np.where(result, step[active], bounds[active])
        missed[active] = np.where(result, missed[active], step[active])
        step = np.clip(step * (2 if k < 6 else 16), -farthest, farthest)
    for _ in range(4):
        active = np.flatnonzero(np.isfinite(bounds) & (np.abs(bounds) > 3 * np.abs(missed)) & (missed != 0))
        if not len(active):
            break
        middle = np.copysign(np.sqrt(missed[active] * bounds[active]), bounds[active])
        result = holds(x[active] + middle, active)
        bounds[active] = np.where(result, middle, bounds[active])
        missed[active] = np.where(result, missed[active], middle)
    x += bounds
    return x[:n], x[n:]


def _crossing(e: Enclosure, level: Array, x: Array) -> tuple[Array, Array]:
    """Estimate x with delta(x) = level, and how far from it both sides are first looked for.

    Newton's method takes three or four steps; next to a supremum, where log delta falls to -inf, halves take
    over. It is solved to a twentieth of the bounds' own width; slopes are taken over 1e-4 spreads of the
    integrand, where the differences keep half of the digits.
    """
    smallest = 1e-320  # in place of a number that rounding left at 0, where a logarithm is taken to aim by
    goal = np.log(np.maximum(level - e.leak, smallest)) if e.kind == "delta" else np.log1p(-level)
    start, x, reach, usual = x, x.copy(), np.ones(len(x)), -1.0 if e.kind == "delta" else 1.0
    active = np.arange(len(x))
    left, right = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    for k in range(60):
        at, n = x[active], len(active)
        gap = np.maximum((right - left)[active] / 8, 1e-14 * (1 + np.abs(at)))
        gap = np.minimum(gap, 1e-4 * min(1.0, e.scale))
        both = np.concatenate([at, at + gap])
        value = e.bound(both)
        middle, width = (value.lower + value.upper) / 2, (value.upper - value.lower)[:n]
        log = np.log(np.maximum(middle - e.leak if e.kind == "delta" else middle, smallest))
        if e.kind == "other":
            log = both + np.log1p(-np.minimum(middle, 1 - UNIT))
        scale = np.maximum(1 - middle if e.kind == "other" else middle - e.leak, smallest)[:n]
        # delta falls, and 1 - delta rises
        before = (np.split(log, 2) > goal[active]) == (e.kind == "delta")
        # A difference across a supremum, or that much of a kink, is no slope: the next place is halfway.
        is_steep = np.abs(log[n:] - log[:n]) > 1
        left[active] = np.where(before[0], at, left[active])
        past = np.where(is_steep & ~before[1], both[n:], right[active])
        right[active] = np.where(before[0], past, at)
        # Floats may hold no gap, and a scale may be subnormal.
        with np.errstate(invalid="ignore", over="ignore"):
            slope = (log[n:] - log[:n]) / gap
            # Far from the aim all is rounding, and a slope of the wrong sign leads away from the level.
            slope = np.where((slope * usual > 1e-12) & ~is_steep, slope, usual)
            within = np.minimum(width / scale, 1.0) / np.abs(slope)
            move = (log[:n] - goal[active]) / slope
        reach[active] = 0.55 * within  # a tenth more than half of it
        far = is_steep | (np.abs(move) > np.maximum(0.05 * within, 1e-15 * (1 + np.abs(at))))
        next_ = at - np.minimum(np.maximum(move, -5.0), 5.0)
        lost = is_steep | ~((next_ > left[active]) & (next_ < right[active]))
        lost &= np.isfinite(left[active] + right[active])
        next_ = np.where(lost, (left[active] + right[active]) / 2, next_)
        x[active] = np.where(far, next_, at)
        active = active[far & (right[active] - left[active] > 4 * UNIT * (1 + np.abs(at)))]
        if k == 12:  # entries that have not crossed their level by now never do: restart them
            lost = active[~np.isfinite(left[active] + right[active])]
            x[lost], reach[lost] = start[lost], 0.0
            active = np.setdiff1d(active, lost)
        if not len(active):
            break
    return x, reach


def gains(kind: Kind, x: Array, value: Bounds, alpha: Array) -> tuple[Bounds, Bounds]:
    """Bound 1 - delta(x) - e^x alpha less a base, and return the base, in a form in which nothing cancels.

    ``value`` bounds the number of the kind at losses x, of which each alpha has a row.
    """
    rest, none = 1 - Bounds.of(alpha), Bounds.of(np.zeros_like(alpha))
    if kind == "delta":
        return -(value + expm1(x) * alpha), rest
    if kind == "rest":
        return value - exp(x) * alpha, none
    return exp(x) * (rest - value), none


def supremum(x: Array, value: Bounds) -> Supremum:
    """Bound the maximum over s = e^x of concave functions, a row each, from samples at increasing x.

    Left of a cell where a function provably rises, and right of one where it falls, it is below their outer
    ends; the nearest such cells are taken. In a cell it is below the extended chords of both next cells.
    Made to rise (left) and to fall (right), they bound it by the greater of the two at any point, best at
    their crossing.
    """
    low, high = value
    cells, step = np.arange(x.shape[1] - 1), np.diff(x)
    top = np.argmax(low, axis=1)[:, None]
    rises = (high[:, :-1] <= low[:, 1:]) & (cells >= 1) & (cells < top)
    falls = (high[:, 1:] <= low[:, :-1]) & (cells >= top) & (cells < len(cells) - 1)
    first = len(cells) - 1 - np.argmax(rises[:, ::-1], axis=1)[:, None]
    last = np.argmax(falls, axis=1)[:, None]
    inside = (cells >= first) & (cells <= last)
    used = (cells >= first - 1) & (cells <= last + 1)
    is_fenced = rises.any(axis=1) & falls.any(axis=1) & np.all((step > 1e-12) | ~used, axis=1)
    widths = expm1(Bounds.of(x[:, 1:]) - x[:, :-1])  # over the s at their left ends
    before, inner, after = (Bounds(*(side[:, k : k + len(cells) - 2] for side in widths)) for k in range(3))
    up, down = (  # upper bounds on the growth towards a cell, or 0
        Bounds.of(np.maximum((Bounds.of(near) - far).upper, 0.0))
        for near, far in ((high[:, 1:-2], low[:, :-3]), (high[:, 2:-1], low[:, 3:]))
    )
    rise = up * exp(Bounds.of(x[:, 1:-2]) - x[:, :-3]) * (inner / before)
    fall = down * exp(Bounds.of(x[:, 1:-2]) - x[:, 2:-1]) * (inner / after)
    both = rise.upper + fall.upper
    with np.errstate(invalid="ignore"):  # of samples that bound nothing
        share = (high[:, 2:-1] - high[:, 1:-2] + fall.upper) / np.where(both > 0, both, 1.0)
    share = np.nan_to_num(np.clip(share, 0.0, 1.0))
    from_left = Bounds.of(high[:, 1:-2]) + rise * share
    from_right = Bounds.of(high[:, 2:-1]) + fall * (1 - Bounds.of(share))
    peaks = np.where(inside[:, 1:-1], np.maximum(from_left.upper, from_right.upper), -np.inf)
    rows, best = np.arange(len(x)), np.argmax(peaks, axis=1)
    place = x[rows, 1 + best] + share[rows, best] * step[rows, 1 + best]
    return Supremum(low[rows, top[:, 0]], peaks[rows, best], place, is_fenced)


def under_a_tangent(x: Array, value: Array, alpha: Array) -> Array:
    """Bound f(alpha) given 1 - delta(x) - e^x alpha <= ``value``, row by row.

    A tangent touches f at a + s b <= t, so f <= t from t/s on.
    """
    s = exp(x)
    t = (value + s * alpha).upper
    return np.asarray(np.min(t, axis=1, where=(s * alpha).lower >= t, initial=1.0))


Effort = TypeVar("Effort")

# Enclosure of losses that are answered together, for an effort; None where nothing is proved.
Place = Callable[[Effort], Enclosure | None]

APART = 2.0  # spreads of the integrand between aims: at half of it from one, e^(1/2) of its accuracy is lost


class _Answers(NamedTuple):
    """Bounds on answers, and the refinement factors of their enclosures."""

    low: Array
    high: Array
    refinement_factor: Array


class Engine(ABC, Generic[Effort]):
    """Bounds on delta, epsilon and beta from enclosures that a subclass makes."""

    name: str

    forward: Any
    """What makes the enclosures of one order; engines have ``backward`` for the other."""

    single_pass: bool = False
    """Whether the first enclosure is not refined without a tolerance."""

    attempts = 8
    """Most places for one answer: Newton's method needs three, a bad start a few more."""

    offsets = np.array([-64.0, -16, -6, -3, -2, -1, 0, 1, 2, 3, 6, 16, 64])
    """Samples about a supremum, in paces: close where it is expected, far where it may be."""

    near = np.array([-6.0, -3, -1, 1, 3, 6])
    """Samples about one that others have fenced in."""

    @abstractmethod
    def initial_effort(self, question: Question, tol: float | None) -> Effort:
        """Return the effort of a first enclosure."""

    def refine(self, effort: Effort, by: float) -> Effort:
        """Return the effort for bounds ``by`` times narrower; called if a refinement factor is above 1."""
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

    @cached_property
    def cumulant(self) -> Cumulant:
        """The cumulant function of the whole product."""
        result: Cumulant = self.forward.cumulant
        return result

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
                if (progress := query_options().progress) is not None:
                    progress(len(at) - sum(map(len, waiting.values())), len(at))
                if question == "delta":
                    result = self._at(at[which], effort)
                elif question == "epsilon":
                    result = self._epsilon(at[which], effort)
                else:
                    enough = WIDTHS[self.name][question].enough  # closer samples spare a further engine
                    result = self._beta(at[which], effort, min(goal, enough))
                low[which], high[which] = np.fmax(low[which], result.low), np.fmin(high[which], result.high)
                with np.errstate(invalid="ignore", over="ignore"):  # of infinite bounds, or an extreme goal
                    own = measure(question, at[which], result.low, result.high, tol)
                    reached = measure(question, at[which], low[which], high[which], tol)
                    wanted = np.full(len(which), goal)
                    if tol is None and question == "epsilon":  # relative to epsilon, if that is not tiny
                        wanted *= np.where(np.isfinite(high[which]), np.fmax(high[which], 0.01), 1.0)
                    missing = np.nan_to_num(1.5 * reached / wanted, nan=2.0)
                    least = np.nan_to_num(own / result.refinement_factor, posinf=0.0)  # of the finest
                worth = (result.refinement_factor > 1) & ~(
                    least > (np.inf if known is None else known[which])
                )
                # Bounds that become wider are wide of rounding, or of the errors of a law.
                wide = worth & ~(reached <= wanted) & ~(own > last[which])
                last[which] = own
                _, steps = np.frexp(np.clip(missing, 2.0, 512.0))  # to the next power of two
                for by, mine in group_by_key(np.ldexp(1.0, steps[wide])):
                    next_ = self.refine(effort, by)
                    finer[next_] = np.append(finer.get(next_, np.empty(0, np.int64)), which[wide][mine])
            if not (waiting := finer):
                break
        return low, self.tail_fallback(question, at, low, high)

    def _at(self, x: Array, effort: Effort, level: Array | None = None) -> _Answers:
        """Bound delta at losses x; or, near x, the least losses at which delta is at most ``level``."""
        result = _Answers(np.full(len(x), -np.inf), np.full(len(x), np.inf), np.ones(len(x)))
        for enclose, which in self.evaluation_points(x, level):
            if (e := enclose(effort)) is not None:
                at = x[which]
                bounds = bound_delta(e, at) if level is None else bound_epsilon(e, level[which], at)
                result.low[which], result.high[which] = bounds
                result.refinement_factor[which] = e.refinement_factor
        return result

    def _epsilon(self, delta: Array, effort: Effort) -> _Answers:
        """Locate each answer by cheap enclosures, then bound it there with full effort."""
        coarse, aimed, n = self.coarse(effort), self.loss_at_delta(delta).copy(), len(delta)
        result = _Answers(np.full(n, -np.inf), np.full(n, np.inf), np.ones(n))
        rest, active = np.ones(n, bool), np.arange(n)
        far = 100.0 * (1 + np.abs(aimed))  # an answer farther from the first guess is not followed
        for k in range(self.attempts) if coarse is not None else ():
            moved = np.zeros(n, bool)
            for enclose, which in self.evaluation_points(aimed[active], delta[active] if k else None):
                mine = active[which]
                if coarse is not None and (e := enclose(coarse)) is not None:
                    below, above = bound_epsilon(e, delta[mine], aimed[mine])
                    result.low[mine], result.high[mine] = below, above
                    result.refinement_factor[mine] = e.refinement_factor
                    # Where no upper bound crosses, the lower ones may show that the answer is greater.
                    near = np.where(np.isfinite(above), above, np.fmax(below, e.center))
                    away = np.abs(near - e.center)
                    wide = ~(above - below <= 1e-8 * np.maximum(1.0, np.abs(near)))
                    # A nearer place is tried for a wide answer that is a tenth of a spread away.
                    onward = (away > np.where(wide, 0.1, APART) * e.scale) & (away < far[mine])
                    moved[mine] = onward | (wide & (k == 0))  # made for its delta a place may be better
                    if not e.final:  # next to the answer a finer one follows in any case
                        moved[mine] &= away > APART * e.scale
                    rest[mine] = moved[mine] | (not e.final) | (e.noisy & wide)
                    aimed[mine] = np.where(onward, near, aimed[mine])
            if not len(active := np.flatnonzero(moved)):
                break
        if len(again := np.flatnonzero(rest)):
            for whole, part in zip(result, self._at(aimed[again], effort, delta[again]), strict=True):
                whole[again] = part
        return result

    def _beta(self, alpha: Array, effort: Effort, goal: float) -> _Answers:
        """Sample the suprema over s where they lie.

        Closer while the bounds are wide, wider while they are not fenced in: each by its own need, so that no
        answer depends on the others. A cheap enclosure locates the place first, where there is one.
        """
        n, coarse = len(alpha), self.coarse(effort)
        low, high, room = np.zeros(n), (1 - Bounds.of(alpha)).upper, np.ones(n)
        steepest = 600.0  # slopes above e^600 are not sampled: they overflow
        first = 1e-2  # pace where losses are spread by 1 or more
        x = np.clip(epsilon_for_alpha(self.cumulant, alpha), -steepest, steepest)
        aimed, peak, pace = x.copy(), x.copy(), np.full(n, first * min(1.0, self.cumulant.spread))
        width, center, reach = np.full(n, np.inf), np.zeros(n), np.zeros(n)
        is_new, is_clipped, is_sharp = np.ones(n, bool), np.zeros(n, bool), np.full(n, coarse is None)
        waiting, is_near = np.arange(n), np.zeros(n, bool)
        # About a place past the steepest slope, which no samples fence in, those of all attempts at once.
        everywhere = np.unique(np.multiply.outer(first * 2.0 ** np.arange(self.attempts), self.offsets))
        for _ in range(self.attempts):
            batches: dict[tuple[Kind, float], list[tuple[Index, Array, Bounds]]] = {}
            for level, rows in (coarse, waiting[~is_sharp[waiting]]), (effort, waiting[is_sharp[waiting]]):
                for enclose, which in self.evaluation_points(aimed[rows]) if len(rows) else ():
                    mine = rows[which]
                    if level is None or (e := enclose(level)) is None:
                        continue
                    center[mine], reach[mine], room[mine] = e.center, APART * e.scale, e.refinement_factor
                    new = mine[is_new[mine]]
                    x[new] = e.peak(alpha[new], x[new])
                    is_clipped[new], is_new[new] = np.abs(x[new]) >= steepest, False
                    x[new] = peak[new] = np.clip(x[new], -steepest, steepest)
                    for key, group in group_by_key(np.where(is_clipped[mine], 2, is_near[mine])):
                        some = mine[group]
                        offsets = self.near if key else self.offsets
                        at = self._samples(x[some], pace[some], peak[some], offsets)
                        at = x[some, None] + everywhere if key == 2 else at
                        value = Bounds(*(side.reshape(at.shape) for side in e.bound(at.ravel())))
                        batches.setdefault((e.kind, key), []).append((some, at, value))
            left = [np.empty(0, np.int64)]
            for (kind, key), parts in batches.items():
                rows, at, lower, upper = (
                    np.concatenate(each) for each in zip(*((r, a, *v) for r, a, v in parts), strict=True)
                )
                value, base = gains(kind, at, Bounds(lower, upper), alpha[rows, None])
                result = supremum(at, value)
                better = vertex(at, value.lower)  # far samples may have wide bounds
                x[rows] = np.where(np.isfinite(better), better, x[rows])
                fenced = result.is_fenced
                least = base + Bounds.of(result.low[:, None])
                most = base + Bounds.of(np.where(fenced, result.high, np.inf)[:, None])
                tangent = under_a_tangent(at, (value + base).upper, alpha[rows, None])
                low[rows] = np.fmax(low[rows], least.lower[:, 0])
                high[rows] = np.fmin(high[rows], np.where(fenced, most.upper[:, 0], tangent))
                peak[rows], is_near[rows] = np.where(fenced, result.place, peak[rows]), fenced
                last = width[rows]
                now = measure("beta", alpha[rows], low[rows], high[rows])
                width[rows] = np.where(fenced, now, last)
                # Closer samples that leave more than 0.7 of a width will not make it narrower.
                enough = (now <= (0.0 if coarse is None else goal / 2)) | (now > 0.7 * last)
                finer = pace[rows] * np.clip(np.sqrt(goal / np.maximum(now, 1e-300)) / 2, 0.08, 0.15)
                pace[rows] = np.where(fenced, finer, 2 * pace[rows])
                # The place is known: the full effort follows.
                is_new[rows] = (fenced & ~is_sharp[rows]) | (np.abs(x[rows] - center[rows]) > reach[rows])
                is_sharp[rows] |= fenced
                aimed[rows] = np.where(is_new[rows], x[rows], aimed[rows])
                left.append(rows[np.where(fenced, ~enough, key < 2)])
            waiting = np.concatenate(left)
        return _Answers(low, high, room)

    @staticmethod
    def _samples(x: Array, pace: Array, peak: Array, offsets: Array) -> Array:
        """Return where suprema are sampled, a row each.

        About their places, and where prolonged chords met, unless that is another sample.
        """
        at = x[:, None] + pace[:, None] * offsets
        apart = np.min(np.abs(at - peak[:, None]), axis=1) > 1e-3 * pace
        apart &= (at[:, 0] < peak) & (peak < at[:, -1])
        return np.sort(np.column_stack([at, np.where(apart, peak, x + np.mean(offsets[-2:]) * pace)]))
