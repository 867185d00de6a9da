"""Every question to a product of laws, answered from tables of certified points that the tilted lattice makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from tradeoff.engines import planner, widths
from tradeoff.engines.allowance import allowance
from tradeoff.engines.lattice import profile
from tradeoff.engines.law import LossLaw, Reversed, Sketch, lost_mass
from tradeoff.engines.planner import Effort, first_effort
from tradeoff.engines.profile import Profile
from tradeoff.engines.saddle import Cumulant, epsilon_for_alpha, epsilon_for_delta, log_delta_for_epsilon
from tradeoff.engines.widths import Measure
from tradeoff.numerics.rounding import TINY, UNIT, Array

_REFINEMENTS, _AIMS = 4, 3
_FARTHEST_LOSS = 1e100
_LARGEST_LOSS = 300.0

_MOST_ROUNDS = 2**47
"""48 units of rounding a round, times as many rounds, are 3/4: ``lattice.compose`` then says nothing of a power."""

_REMEMBERED = 2**22
"""Most table entries kept for later questions: 128 MiB an order."""

UNKNOWN = Profile(np.array([0.0, 1.0]), np.ones(2), np.array([0.0, 1.0]), np.zeros(2), 0.0)
"""What is known when nothing is."""

Pair = tuple[Array, Array]


class Order:
    """One order of the pair: plans, lattices and the profiles already computed."""

    def __init__(self, laws: list[LossLaw], counts: list[int], *, reverse: bool) -> None:
        self.laws, self.counts, self.reverse = laws, counts, reverse
        self.profiles: list[tuple[float, Effort, Profile, bool]] = []

    @cached_property
    def views(self) -> list[LossLaw]:
        return [Reversed(law) for law in self.laws] if self.reverse else self.laws

    @cached_property
    def sketches(self) -> list[Sketch]:
        return [view.sketch() for view in self.views]

    @cached_property
    def cumulant(self) -> Cumulant:
        return Cumulant(list(zip(self.sketches, self.counts, strict=True)))

    @cached_property
    def reach(self) -> float:
        """Return the largest loss of the sum that the sketches see; beyond it a float holds no mass."""
        return float(sum(count * float(sketch.loss[-1]) for sketch, count in zip(self.sketches, self.counts, strict=True)))

    @cached_property
    def representable(self) -> bool:
        """Whether densities under P and Q fit floats together: beyond losses of 650 nats e^L does not; nor do any beyond 1e100.

        Nor is anything left of a power whose rounding, at least 48 units a round, is more than itself.
        """
        if sum(self.counts) > _MOST_ROUNDS:
            return False
        if max(float(np.max(np.abs(sketch.loss), initial=0.0)) for sketch in self.sketches) > _FARTHEST_LOSS:
            return False
        typical = [law.sketch().loss[np.argmax(law.sketch().log_p)] for law in self.views if law.continuous]
        return all(abs(loss) < _LARGEST_LOSS for loss in typical)

    @cached_property
    def q_plus(self) -> float:
        return lost_mass([view.q_plus for view in self.views], self.counts)

    @cached_property
    def supremum(self) -> float:
        return float(sum(count * float(view.range[1]) for view, count in zip(self.views, self.counts, strict=True)))

    def near(self, epsilon: float, effort: Effort) -> tuple[Profile, bool]:
        """Return a profile aimed at ``epsilon`` (and whether it is as fine as memory allows), from the cache if one is."""
        epsilon = min(epsilon, 0.98 * self.reach) if self.reach > 0 else epsilon
        for target, made, known, capped in self.profiles:
            if abs(target - epsilon) < 1e-9 * (1 + abs(epsilon)) and (made.most >= effort.most and (made.width <= effort.width or capped)):
                return known, capped
        if not self.representable:
            return UNKNOWN, True
        grid = planner.plan(self.views, self.counts, self.sketches, epsilon, effort)
        factors = planner.factors(grid, self.laws, self.views, self.counts, reverse=self.reverse)
        table = profile(factors, grid.h, grid.theta, grid.window, self.q_plus * (1 - 16 * UNIT))
        self.profiles.append((epsilon, effort, table, grid.capped))
        while len(self.profiles) > 1 and sum(len(known.above) for _, _, known, _ in self.profiles) > _REMEMBERED:
            del self.profiles[0]
        return table, grid.capped


class Tables:
    """Bounds from the lattice, for any law; a first question costs an FFT a distinct factor, later ones nearby a search."""

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], *, symmetric: bool = False) -> None:
        self.forward = Order(list(laws), list(counts), reverse=False)
        self.backward = self.forward if symmetric else Order(list(laws), list(counts), reverse=True)

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon); ``tol`` is relative to the upper bound."""
        return _cover(epsilon, self._delta_once, widths.delta, tol, usual=1e-2, first=self._first(tol), start=self._known_delta(epsilon))

    def _first(self, tol: float | None) -> Effort:
        return first_effort(len(self.forward.laws), tol)

    def _known_delta(self, at: Array) -> Pair:
        """Return what the tables made so far say."""
        low, high = np.zeros(len(at)), np.ones(len(at))
        for order, reverse in ((self.forward, False), (self.backward, True)):
            for _, _, table, _ in order.profiles:
                new_low, new_high = _from_other_order(table, at) if reverse else table.delta(at)
                low, high = np.maximum(low, new_low), np.minimum(high, new_high)
        return low, high

    def _delta_once(self, at: Array, which: int, effort: Effort) -> tuple[Array, Array, bool]:
        target = float(at[which])
        table, capped = (self.forward if target >= 0 else self.backward).near(abs(target), effort)
        return (*(table.delta(at) if target >= 0 else _from_other_order(table, at)), capped)

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound epsilon(delta); ``tol`` is absolute."""
        return _cover(delta, self._epsilon_once, widths.epsilon, tol, usual=3e-4, first=self._first(tol))

    def _epsilon_once(self, at: Array, which: int, effort: Effort) -> tuple[Array, Array, bool]:
        target = float(at[which])
        guess = epsilon_for_delta(self.forward.cumulant, target - self.forward.q_plus)
        if guess >= 0:
            table, capped = self.forward.near(guess, effort)
            return (*table.epsilon(at), capped)
        low, high, capped = self._negative_epsilon(at, target, effort)
        return low, high, capped

    def _negative_epsilon(self, at: Array, target: float, effort: Effort) -> tuple[Array, Array, bool]:
        """Solve 1 - e^eps (1 - delta_{f^-1}(-eps)) = delta on the other order's table."""
        order = self.backward
        low, high = 0.0, max(min(order.supremum, float(-np.log1p(-target))), 1e-9)
        for _ in range(60):
            middle = (low + high) / 2
            value = np.exp(np.minimum(0.0, log_delta_for_epsilon(order.cumulant, middle)))
            low, high = (middle, high) if 1 - np.exp(-middle) * (1 - value) < target else (low, middle)
        table, capped = order.near(high, effort)
        # e^eps >= 1 - delta always: no answer lies beyond that, so the table is continued that far.
        farthest = float(np.max(-np.log1p(-np.minimum(at, 1 - 1e-16)))) + 1.0
        turned = _turned(table, farthest)
        found_low, found_high = turned.epsilon(at)
        return np.maximum(found_low, np.log1p(-at) * (1 + 8 * UNIT) - UNIT), found_high, capped

    def beta(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha) for alpha in (0, 1); ``tol`` is relative to min(beta, 1 - alpha - beta)."""
        return _cover(alpha, self._beta_once, widths.beta(alpha), tol, usual=1e-2, first=self._first(tol))

    def _beta_once(self, at: Array, which: int, effort: Effort) -> tuple[Array, Array, bool]:
        alpha = float(at[which])
        target = epsilon_for_alpha(self.forward.cumulant, alpha)
        low, high = np.zeros(len(at)), 1 - at
        for _ in range(_AIMS):
            order = self.backward if target < 0 else self.forward
            table, capped = order.near(abs(target), effort)
            for k in range(len(at)):
                new_low, new_high, _ = _beta_from(table, float(at[k]), reverse=target < 0)
                low[k], high[k] = max(low[k], new_low), max(min(high[k], new_high), TINY)
            if high[which] - low[which] <= 3e-3 * min(high[which], max(1 - alpha - low[which], 0.0)):
                break
            best = _beta_from(table, alpha, reverse=target < 0)[2]  # where the supremum was: aim there next
            target = -best if target < 0 else best
        return low, high, capped


def _turned(table: Profile, farthest: float) -> Profile:
    """Return the table of delta_f(eps) = 1 - e^eps + e^eps delta_{f^-1}(-eps) for eps <= 0.

    A function linear in e^-eps stays linear in e^eps, so chords and polygons keep their corners and their sides.
    """
    middle_low, middle_high = table.delta(np.zeros(1))

    def side(at: Array, value: Array, middle: Array, beyond: float, sign: int) -> tuple[Array, Array]:
        kept = at > 0
        end = max(float(at[-1]), 0.0)
        more = end + np.geomspace(1e-6, max(farthest - end, 1e-5), 200)
        loss = np.concatenate([[0.0], at[kept], more])
        delta = np.concatenate([middle, value[kept], np.full(len(more), beyond)])
        shrink = np.exp(-loss)
        return -loss[::-1], ((-np.expm1(-loss) + shrink * delta) * (1 + sign * 8 * UNIT))[::-1]

    above, upper = side(table.above, table.upper, middle_high, float(table.upper[-1]), +1)
    below, lower = side(table.below, table.lower, middle_low, table.floor, -1)
    return Profile(above, np.minimum(upper, 1.0), below, lower, 0.0)


def _from_other_order(table: Profile, at: Array) -> Pair:
    """Bound delta_f(eps) = 1 - e^eps + e^eps delta_{f^-1}(-eps) for eps < 0; nothing is said for eps >= 0."""
    negative = at < 0
    turned = np.where(negative, at, 0.0)
    low, high = (-np.expm1(turned) + np.exp(turned) * side for side in table.delta(-turned))
    return np.where(negative, low * (1 - 8 * UNIT), 0.0), np.where(negative, np.minimum(high * (1 + 8 * UNIT), 1.0), 1.0)


Once = Callable[[Array, int, Effort], tuple[Array, Array, bool]]


def _cover(
    at: Array,
    once: Once,
    measure: Measure,
    tol: float | None,
    usual: float,
    first: Effort,
    start: Pair | None = None,
) -> Pair:
    """Answer all entries: aim at one, keep what its table also answers well enough, refine, go on with the rest.

    ``measure`` is the width in the question's own unit; without ``tol`` an entry is done when it is at most three times
    as wide as an entry aimed at, and an entry aimed at is refined only while it is wider than ``usual``. ``start`` is
    what is known already; it is enough where it is a fifth of ``usual`` wide.
    """
    low, high = start or (np.full(len(at), -np.inf), np.full(len(at), np.inf))
    goal = usual if tol is None else tol
    with np.errstate(invalid="ignore"):
        waiting = ~(measure(low, high) <= (usual / 5 if tol is None else tol))
    while waiting.any():
        allowance().tell(int(len(at) - waiting.sum()), len(at))
        which = int(np.flatnonzero(waiting)[waiting.sum() // 2])
        effort = first
        for _ in range(_REFINEMENTS):
            new_low, new_high, capped = once(at, which, effort)
            low, high = np.maximum(low, new_low), np.minimum(high, new_high)
            with np.errstate(invalid="ignore"):
                reached = measure(low, high)
            if capped or reached[which] <= goal:
                break
            finer = min(1000.0, max(4.0, 1.5 * float(reached[which]) / goal))
            effort = effort._replace(width=effort.width / finer)
        waiting &= ~(reached <= (max(3 * reached[which], 1e-12) if tol is None and np.isfinite(reached[which]) else goal))
        waiting[which] = False
    return low, high


def _beta_from(table: Profile, alpha: float, *, reverse: bool) -> tuple[float, float, float]:
    """Bound f(alpha) from one table of delta_f (or of delta_{f^-1}) by duality; return also where the supremum sits.

    f(alpha) = sup over s = e^eps of 1 - delta(eps) - s alpha, concave in s. A node on either side whose upper value
    is below the best lower value fences the supremum in; no other node can then exceed what lies between.
    From the other order, f(alpha) = sup of (1 - alpha - delta_{f^-1}(eps))/s.
    """
    above, below = np.clip(table.above, -700.0, 700.0), np.clip(table.below, -700.0, 700.0)
    bottoms = (table.lower, np.full(len(table.lower), table.floor), -np.expm1(below))  # each linear in e^eps between nodes
    if reverse:
        # Beyond 745 nats e^-eps underflows: TINY holds what is lost, on either side of 0.
        line = (1 - alpha - table.upper - 8 * UNIT) * np.exp(-np.maximum(table.above, -700.0)) - 2 * TINY
        steep = np.where(table.below < -700.0, np.inf, np.exp(-np.maximum(table.below, -700.0)))
        with np.errstate(over="ignore"):  # a ceiling of infinity says nothing, and is one
            ceilings = [(1 - alpha - bottom + 8 * UNIT) * steep + 2 * TINY for bottom in bottoms]
    else:
        line = 1 - table.upper - np.exp(above) * alpha - 8 * UNIT * (1 + np.exp(above) * alpha)
        line = np.where(table.above > 700.0, -np.inf, line)  # beyond, the slope is steeper than a float can say
        ceilings = [1 - bottom - np.exp(below) * alpha + 8 * UNIT * (1 + np.exp(below) * alpha) for bottom in bottoms]
    best = int(np.argmax(line))
    reached, least = float(table.above[best]), float(line[best])
    return max(least, 0.0), _fenced(np.array(ceilings), table.below, least, reached), reached


def _fenced(ceilings: Array, at: Array, least: float, reached: float) -> float:
    """Bound the supremum of a concave function: ``least`` from below where it is ``reached``, from above in several ways ``at`` nodes.

    Beyond a node that is at most ``least`` the function only falls; so the supremum lies between the nearest such nodes on
    both sides, or nothing is known. Each row of ``ceilings`` is linear between nodes; their minimum may peak between two
    nodes, but not above the least of the larger ends.
    """
    under = np.min(ceilings, axis=0) <= least
    left, right = np.flatnonzero(under & (at < reached)), np.flatnonzero(under & (at > reached))
    if len(left) == 0 or len(right) == 0:
        return 1.0
    between = ceilings[:, left[-1] : right[0] + 1]
    return float(np.max(np.min(np.maximum(between[:, 1:], between[:, :-1]), axis=0)))
