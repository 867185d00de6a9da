"""The lattice engine: tables of certified points of delta, of any product of laws, tilted for a loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from tradeoff.accounting.engine import APART, Engine, Place
from tradeoff.accounting.lattice.convolve import ProfileTable, profile
from tradeoff.accounting.lattice.place import Effort, first_effort, plan, tilted_factors
from tradeoff.accounting.options import Cache, Question, group_by_key, snap_to_grid
from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Array, Index
from tradeoff.intervals.roots import bracket_root
from tradeoff.pld.cumulant import Cumulant, SaddleTable
from tradeoff.pld.law import PlanningPoints, PrivacyLossDistribution, combine_masses_at_infinity
from tradeoff.pld.transformed import ReversedPLD
from tradeoff.pld.units import UNIT


class Direction:
    """One order of the pair, by its laws: plans, lattices and the profiles already computed."""

    def __init__(self, laws: list[PrivacyLossDistribution], counts: list[int], *, reverse: bool) -> None:
        self.laws: list[PrivacyLossDistribution] = [ReversedPLD(law) for law in laws] if reverse else laws
        self.counts, self.reverse = counts, reverse
        # Most table entries kept for later questions, 160 MiB an order: the largest table does not replace
        # the small ones that a question starts with, nor they it.
        self.tables: Cache[ProfileTable | None] = Cache(
            2**22 + 2**20, lambda table: 0 if table is None else len(table.above)
        )
        self.mass_at_plus_infinity = combine_masses_at_infinity(
            [law.mass_at_plus_infinity for law in self.laws], counts
        )
        # Whether all losses are finite and spread.
        self.is_plain = all(
            law.mass_at_plus_infinity == law.mass_at_minus_infinity == law.lost == len(law.atoms.loss) == 0
            for law in laws
        )

    @cached_property
    def sketches(self) -> list[PlanningPoints]:
        return [law.sketch() for law in self.laws]

    @cached_property
    def cumulant(self) -> Cumulant:
        return Cumulant(list(zip(self.sketches, self.counts, strict=True)))

    @cached_property
    def representable(self) -> bool:
        """Whether densities under P and Q fit floats together: above losses of 650 nats e^L does not."""
        pairs = zip(self.sketches, self.laws, strict=True)
        typical = [points.loss[np.argmax(points.log_p)] for points, law in pairs if law.continuous]
        # Typical losses of a continuous law up to which e^L and e^-L are floats, and a tilt of them too.
        return all(abs(loss) < 300.0 for loss in typical)

    @cached_property
    def saddles(self) -> SaddleTable:
        """The saddle points of delta, by loss."""
        return SaddleTable(self.cumulant, (0.0, 1.0), start=1.0)

    def spread(self, x: Array) -> Array:
        """Return how far from each loss a table serves as well."""
        return self.saddles.spread(x)

    def snap_to_grid(self, epsilon: Array, apart: float) -> Array:
        """Return the centers of tables for losses epsilon >= 0, up to the reach of the planning points."""
        if not self.representable:
            return np.zeros(len(epsilon))
        pairs = zip(self.sketches, self.counts, strict=True)
        reach = sum(count * float(sketch.loss[-1]) for sketch, count in pairs)
        most = 0.98 * reach if reach > 0 else np.inf
        inside = np.minimum(epsilon, most)
        return np.minimum(snap_to_grid(inside, self.spread(inside), apart), most)

    def at(self, epsilon: float, effort: Effort) -> ProfileTable | None:
        """Return the table of center ``epsilon``, or None if it exceeds floats or the memory."""
        if not self.representable:
            return None
        try:
            return self.tables.of((epsilon, effort), lambda: self._table(epsilon, effort))
        except SizeError:  # cells are integrated over losses as large as a Gaussian's of mu = 1e4
            return None

    def _table(self, epsilon: float, effort: Effort) -> ProfileTable | None:
        laws, sketches = self.laws, self.sketches
        grid = plan(laws, self.counts, sketches, self.cumulant, epsilon, effort)
        # From that many spacings on the errors of both edges, 8 units of a loss each, exceed a cell's width.
        if max(float(np.max(np.abs(sketch.loss), initial=0.0)) for sketch in sketches) > 2**45 * grid.h:
            return None
        factors = tilted_factors(grid, laws, self.counts)
        leak = self.mass_at_plus_infinity * (1 - 16 * UNIT)
        table = profile(factors, grid.h, grid.theta, grid.window, leak)
        return replace(
            table,
            kind="other" if self.reverse else "delta",
            center=-epsilon if self.reverse else epsilon,
            scale=float(self.spread(np.array([epsilon]))[0]),
            refinement_factor=grid.refinement_factor,
        )


class LatticeEngine(Engine[Effort]):
    """Bounds from the lattice, for any law: an FFT a distinct factor at first, then a search."""

    name = "lattice"

    def __init__(
        self, laws: Sequence[PrivacyLossDistribution], counts: Sequence[int], *, symmetric: bool = False
    ) -> None:
        self.forward = Direction(list(laws), list(counts), reverse=False)
        self.backward = self.forward if symmetric else Direction(list(laws), list(counts), reverse=True)

    def initial_effort(self, question: Question, tol: float | None) -> Effort:
        return first_effort(len(self.forward.laws), tol)

    def refine(self, effort: Effort, by: float) -> Effort:
        return effort._replace(width=effort.width / by)

    def coarse(self, effort: Effort) -> Effort | None:
        return Effort(1e-2, 2**13) if self.forward.is_plain else None

    def evaluation_points(
        self, x: Array, delta: Array | None = None
    ) -> Iterator[tuple[Place[Effort], Index]]:
        apart = APART if delta is None else APART / 2
        for order, mine in ((self.forward, np.flatnonzero(x >= 0)), (self.backward, np.flatnonzero(x < 0))):
            if len(mine):
                for center, which in group_by_key(order.snap_to_grid(np.abs(x[mine]), apart)):
                    yield partial(order.at, center), mine[which]

    def loss_at_delta(self, delta: Array) -> Array:
        if not self.forward.representable:
            return np.zeros(len(delta))
        x = self.forward.saddles.x_for(np.log(delta - self.forward.mass_at_plus_infinity))
        if self.forward.is_plain:
            x = np.where(x > 0, np.minimum(x, self.forward.cumulant.rare.loss(np.log(delta))), x)
        below = x < 0
        if below.any() and self.backward.representable:

            def estimate(x: Array) -> Array:  # delta(x) = 1 - e^x (1 - delta_{f^-1}(-x)) for x <= 0
                other = np.exp(np.minimum(0.0, self.backward.saddles.at(np.maximum(-x, 0.0)).log))
                return np.where(x < 0, 1 - np.exp(np.minimum(x, 0.0)) * (1 - other), 0.0)

            x[below] = bracket_root(estimate, delta[below])[1]
        return x

    @property
    def cumulant(self) -> Cumulant:
        return self.forward.cumulant
