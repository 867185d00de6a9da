"""Every question to a product of laws, answered from tables of certified points that the tilted lattice makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.composition import widths
from tradeoff.composition.cache import Cache, alike, anchors
from tradeoff.composition.lattice import place as planner
from tradeoff.composition.lattice.convolve import profile
from tradeoff.composition.lattice.place import Effort, first_effort
from tradeoff.composition.lattice.table import ProfileTable
from tradeoff.composition.options import query_options
from tradeoff.composition.widths import Measure
from tradeoff.intervals.rounding import TINY, UNIT, Array, Index
from tradeoff.loss.changed import Reversed
from tradeoff.loss.cumulant import Cumulant, epsilon_for_alpha
from tradeoff.loss.law import LossLaw, Sketch, lost_mass
from tradeoff.loss.saddle_table import SaddleTable

_REFINEMENTS, _AIMS = 4, 3
_FARTHEST_LOSS = 1e100
_LARGEST_LOSS = 300.0

_MOST_ROUNDS = 2**47
"""48 units of rounding a round, times as many rounds, are 3/4: ``lattice.compose`` then says nothing of a power."""

_COARSEST = 100.0
"""Spacing in nats from which on the masses that a cell of a continuous law is split into differ by more than floats hold."""

_MOST_NODES = 2**52
"""Number of a node up to which floats tell it from the next."""

_REMEMBERED = 2**22
"""Most table entries kept for later questions: 128 MiB an order."""

UNKNOWN = ProfileTable(np.array([0.0, 1.0]), np.ones(2), np.array([0.0, 1.0]), np.zeros(2), 0.0)
"""What is known when nothing is."""

_APART = 2.0
"""Most spreads of the integrand between places tables are aimed at: rounding is far below their cells' width, even e times as large."""

_POLES = (0.0, 1.0)
_FARTHEST_BACK = 38.0
"""No epsilon is less than minus this: delta < 1 leaves at least UNIT of 1."""

_LEAST_STEP, _MOST_STEP = 2.0, 512.0
"""Refinements divide widths by the next power of two."""

Pair = tuple[Array, Array]


class Found(NamedTuple):
    """Bounds on answers, and where no finer table can be had."""

    low: Array
    high: Array
    capped: NDArray[np.bool_]


class Order:
    """One order of the pair: plans, lattices and the profiles already computed."""

    def __init__(self, laws: list[LossLaw], counts: list[int], *, reverse: bool) -> None:
        self.laws, self.counts, self.reverse = laws, counts, reverse
        self.profiles: Cache[tuple[ProfileTable, bool]] = Cache(_REMEMBERED, lambda made: len(made[0].above))

    @cached_property
    def views(self) -> list[LossLaw]:
        return [Reversed(law) for law in self.laws] if self.reverse else self.laws

    @cached_property
    def sketches(self) -> list[Sketch]:
        return [view.sketch() for view in self.views]

    @cached_property
    def cumulant(self) -> Cumulant:
        return Cumulant(list(zip(self.sketches, self.counts, strict=True)))

    def x_for(self, delta: Array) -> Array:
        """Estimate the losses where delta less the mass at infinity is as given."""
        return self.saddles.x_for(np.log(delta)) if self.representable else np.zeros(len(delta))

    @cached_property
    def reach(self) -> float:
        """Return the largest loss of the sum that the sketches see; beyond it a float holds no mass."""
        return float(
            sum(
                count * float(sketch.loss[-1])
                for sketch, count in zip(self.sketches, self.counts, strict=True)
            )
        )

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
        return float(
            sum(count * float(view.range[1]) for view, count in zip(self.views, self.counts, strict=True))
        )

    @cached_property
    def saddles(self) -> SaddleTable:
        """The saddle points of delta, by loss."""
        return SaddleTable(self.cumulant, _POLES, start=1.0)

    def anchors(self, epsilon: Array) -> Array:
        """Return where tables are aimed that serve questions at losses epsilon >= 0."""
        if not self.representable:
            return np.zeros(len(epsilon))
        within = (lambda x: np.minimum(x, 0.98 * self.reach)) if self.reach > 0 else np.asarray
        inside = within(epsilon)
        return np.asarray(within(anchors(inside, self.saddles.spread(inside), _APART)))

    def near(self, epsilon: float, effort: Effort) -> tuple[ProfileTable, bool]:
        """Return the profile that serves ``epsilon``, and whether it is as fine as memory allows."""
        return self.at(float(self.anchors(np.array([epsilon]))[0]), effort)

    def at(self, epsilon: float, effort: Effort) -> tuple[ProfileTable, bool]:
        """Return the profile aimed at ``epsilon``, and whether it is as fine as memory allows."""
        if not self.representable:
            return UNKNOWN, True
        return self.profiles.of((epsilon, effort), lambda: self._made(epsilon, effort))

    def _made(self, epsilon: float, effort: Effort) -> tuple[ProfileTable, bool]:
        grid = planner.plan(self.views, self.counts, self.sketches, epsilon, effort)
        farthest = max(float(np.max(np.abs(sketch.loss), initial=0.0)) for sketch in self.sketches)
        if (
            grid.h > _COARSEST and any(law.continuous for law in self.views)
        ) or farthest > _MOST_NODES * grid.h:
            return UNKNOWN, True
        factors = planner.factors(grid, self.laws, self.views, self.counts, reverse=self.reverse)
        return profile(factors, grid.h, grid.theta, grid.window, self.q_plus * (1 - 16 * UNIT)), grid.capped


class LatticeEngine:
    """Bounds from the lattice, for any law; a first question costs an FFT a distinct factor, later ones nearby a search."""

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], *, symmetric: bool = False) -> None:
        self.forward = Order(list(laws), list(counts), reverse=False)
        self.backward = self.forward if symmetric else Order(list(laws), list(counts), reverse=True)

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon); ``tol`` is relative to the upper bound."""
        return _refined(
            epsilon, self._delta_once, lambda _: widths.delta, 1e-2 if tol is None else tol, self._first(tol)
        )

    def _first(self, tol: float | None) -> Effort:
        return first_effort(len(self.forward.laws), tol)

    def _delta_once(self, at: Array, effort: Effort) -> Found:
        found = _nothing(at)
        for order, read, mine in (
            (self.forward, ProfileTable.delta, at >= 0),
            (self.backward, _from_other_order, at < 0),
        ):
            _read(found, np.flatnonzero(mine), order, np.abs(at[mine]), effort, read, at)
        return found

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound epsilon(delta); ``tol`` is absolute."""
        return _refined(
            delta,
            self._epsilon_once,
            lambda _: widths.epsilon,
            3e-4 if tol is None else tol,
            self._first(tol),
        )

    def _epsilon_once(self, at: Array, effort: Effort) -> Found:
        found = _nothing(at)
        guess = self.forward.x_for(at - self.forward.q_plus)
        positive, negative = np.flatnonzero(guess >= 0), np.flatnonzero(guess < 0)
        _read(found, positive, self.forward, guess[positive], effort, ProfileTable.epsilon, at)
        _read(found, negative, self.backward, self._negative(at[negative]), effort, _negative_epsilon, at)
        return found

    def _negative(self, delta: Array) -> Array:
        """Estimate x with 1 - e^-x (1 - delta_{f^-1}(x)) = delta, where epsilon(delta) = -x is negative."""
        order = self.backward
        low, high = np.zeros(len(delta)), np.maximum(np.minimum(order.supremum, -np.log1p(-delta)), 1e-9)
        for _ in range(60 if len(delta) and order.representable else 0):
            middle = (low + high) / 2
            value = np.exp(np.minimum(0.0, order.saddles.at(middle).log))
            under = 1 - np.exp(-middle) * (1 - value) < delta
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return high

    def beta(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha) for alpha in (0, 1); ``tol`` is relative to min(beta, 1 - alpha - beta)."""
        return _refined(alpha, self._beta_once, widths.beta, 1e-2 if tol is None else tol, self._first(tol))

    def _beta_once(self, at: Array, effort: Effort) -> Found:
        each = [self._one_beta(alpha, effort) for alpha in at.tolist()]
        return Found(*map(np.array, zip(*each, strict=True)))

    def _one_beta(self, alpha: float, effort: Effort) -> tuple[float, float, bool]:
        target = epsilon_for_alpha(self.forward.cumulant, alpha)
        low, high = 0.0, 1 - alpha
        for _ in range(_AIMS):
            table, capped = (self.backward if target < 0 else self.forward).near(abs(target), effort)
            new_low, new_high, best = _beta_from(table, alpha, reverse=target < 0)
            low, high = max(low, new_low), max(min(high, new_high), TINY)
            if high - low <= 3e-3 * min(high, max(1 - alpha - low, 0.0)):
                break
            target = -best if target < 0 else best  # where the supremum was: aim there next
        return low, high, capped


def _nothing(at: Array) -> Found:
    return Found(np.full(len(at), -np.inf), np.full(len(at), np.inf), np.zeros(len(at), bool))


def _read(
    found: Found,
    which: Index,
    order: Order,
    near: Array,
    effort: Effort,
    read: Callable[[ProfileTable, Array], Pair],
    at: Array,
) -> None:
    """Write what the tables that serve losses ``near`` say of the questions ``which``."""
    for epsilon, mine in alike(order.anchors(near)) if len(near) else ():
        table, capped = order.at(epsilon, effort)
        served = which[mine]
        found.low[served], found.high[served] = read(table, at[served])
        found.capped[served] = capped


def _negative_epsilon(table: ProfileTable, delta: Array) -> Pair:
    """Bound epsilon(delta) < 0 from a table of the other order; e^eps >= 1 - delta always."""
    low, high = _turned(table, _FARTHEST_BACK).epsilon(delta)
    return np.maximum(low, np.log1p(-delta) * (1 + 8 * UNIT) - UNIT), high


def _turned(table: ProfileTable, farthest: float) -> ProfileTable:
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
    return ProfileTable(above, np.minimum(upper, 1.0), below, lower, 0.0)


def _from_other_order(table: ProfileTable, at: Array) -> Pair:
    """Bound delta_f(eps) = 1 - e^eps + e^eps delta_{f^-1}(-eps) for eps < 0; nothing is said for eps >= 0."""
    negative = at < 0
    turned = np.where(negative, at, 0.0)
    low, high = (-np.expm1(turned) + np.exp(turned) * side for side in table.delta(-turned))
    return np.where(negative, low * (1 - 8 * UNIT), 0.0), np.where(
        negative, np.minimum(high * (1 + 8 * UNIT), 1.0), 1.0
    )


def _refined(
    at: Array,
    once: Callable[[Array, Effort], Found],
    measure: Callable[[Array], Measure],
    goal: float,
    first: Effort,
) -> Pair:
    """Answer every entry from its own table, and from finer ones while its bounds are wider than ``goal``, each by its own need.

    ``measure`` makes of entries the width of their answers in the question's own unit.
    """
    low, high = np.full(len(at), -np.inf), np.full(len(at), np.inf)
    waiting = {first: np.arange(len(at))}
    for _ in range(_REFINEMENTS):
        finer: dict[Effort, Index] = {}
        for effort, which in waiting.items():
            query_options().tell(len(at) - sum(map(len, waiting.values())), len(at))
            found = once(at[which], effort)
            low[which], high[which] = np.maximum(low[which], found.low), np.minimum(high[which], found.high)
            with np.errstate(invalid="ignore"):
                reached = measure(at[which])(low[which], high[which])
            wide = ~found.capped & ~(reached <= goal)
            _, steps = np.frexp(
                np.clip(np.nan_to_num(1.5 * reached / goal, nan=_LEAST_STEP), _LEAST_STEP, _MOST_STEP)
            )
            for step, mine in alike(np.ldexp(1.0, steps[wide])):
                next_ = effort._replace(width=effort.width / step)
                finer[next_] = np.append(finer.get(next_, np.empty(0, np.int64)), which[wide][mine])
        waiting = finer
    return low, high


def _beta_from(table: ProfileTable, alpha: float, *, reverse: bool) -> tuple[float, float, float]:
    """Bound f(alpha) from one table of delta_f (or of delta_{f^-1}) by duality; return also where the supremum sits.

    f(alpha) = sup over s = e^eps of 1 - delta(eps) - s alpha, concave in s. A node on either side whose upper value
    is below the best lower value fences the supremum in; no other node can then exceed what lies between.
    From the other order, f(alpha) = sup of (1 - alpha - delta_{f^-1}(eps))/s.
    """
    above, below = np.clip(table.above, -700.0, 700.0), np.clip(table.below, -700.0, 700.0)
    bottoms = (
        table.lower,
        np.full(len(table.lower), table.floor),
        -np.expm1(below),
    )  # each linear in e^eps between nodes
    if reverse:
        # Beyond 745 nats e^-eps underflows: TINY holds what is lost, on either side of 0.
        line = (1 - alpha - table.upper - 8 * UNIT) * np.exp(-np.maximum(table.above, -700.0)) - 2 * TINY
        steep = np.where(table.below < -700.0, np.inf, np.exp(-np.maximum(table.below, -700.0)))
        with np.errstate(over="ignore"):  # a ceiling of infinity says nothing, and is one
            ceilings = [(1 - alpha - bottom + 8 * UNIT) * steep + 2 * TINY for bottom in bottoms]
    else:
        line = 1 - table.upper - np.exp(above) * alpha - 8 * UNIT * (1 + np.exp(above) * alpha)
        line = np.where(
            table.above > 700.0, -np.inf, line
        )  # beyond, the slope is steeper than a float can say
        ceilings = [
            1 - bottom - np.exp(below) * alpha + 8 * UNIT * (1 + np.exp(below) * alpha) for bottom in bottoms
        ]
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
