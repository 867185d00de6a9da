"""The lattice engine: tables of certified points of delta, of any product of laws, tilted for a loss.

A table's center is the loss it is tilted for; the same table answers within its spread. An edge cuts off the
losses of rounds with rare large ones, so that the lattice covers no more than a few times the loss x in
question. With A the event that some round loses more than the edge a > x,

    delta(x) = E_Q (1 - e^(x - L))_+ 1[not A] + Q(A) - e^x P(A) + E_Q (e^(x - L) - 1)_+ 1[A],

the first term is the product of the truncated laws, and the last one is next to nothing: it takes that the
other rounds add up to less than x - a. So nodes are as close as x needs, however far single losses go.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from tradeoff.accounting.engine import APART, Cache, Engine, Place, group_by_key, snap_to_grid
from tradeoff.accounting.lattice.convolve import ProfileTable, TiltedFactor, tabulate
from tradeoff.accounting.lattice.discretise import discretise
from tradeoff.accounting.lattice.place import Effort, LatticePlan, plan
from tradeoff.accounting.options import Question, query_options
from tradeoff.accounting.saddles import Cumulant, SaddleTable
from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Array, Bounds, Index
from tradeoff.intervals.functions import exp, expm1, log1p
from tradeoff.intervals.roots import bracket_root
from tradeoff.pld.law import Ends, PlanningPoints, PrivacyLossDistribution, combine_masses_at_infinity
from tradeoff.pld.transformed import ReversedPLD, TransformedPLD
from tradeoff.pld.units import UNIT


class TruncatedPLD(TransformedPLD):
    """Law of a continuous one, restricted to the finite losses up to ``high``; the rest is missing."""

    def __init__(self, base: PrivacyLossDistribution, high: float) -> None:
        super().__init__(base)
        self.high = high

    @property
    def ends(self) -> Ends:
        return Ends(*(min(end, self.high) for end in self.base.ends))

    @property
    def next_to_ends(self) -> tuple[float, float]:
        """Distances of the law; 0 at the end that was cut off, which is exact."""
        low, high = self.base.next_to_ends
        return low, (high if self.base.ends.high <= self.high else 0.0)

    def sketch(self) -> PlanningPoints:
        """Return the points inside, and the next one, at the end itself: nodes reach it then."""
        loss, log_p = self.base.sketch()
        last = int(np.searchsorted(loss, self.high, side="right")) + 1
        return PlanningPoints(np.minimum(loss[:last], self.high), log_p[:last])

    def edge_error(self, edges: Array) -> Array:
        return self.base.edge_error(edges)


def choose_edge(
    laws: Sequence[PrivacyLossDistribution], counts: Sequence[int], cumulant: Cumulant, far: float
) -> float | None:
    """Return the least edge for which the last term is negligible up to the loss ``far``, or None."""
    reach = max(float(law.sketch().loss[-1]) for law in laws)  # largest loss of a round
    lowest = sum(n * law.ends.least for law, n in zip(laws, counts, strict=True))  # and least of the sum
    if far <= 0:  # no digits are left of a spread next to 0
        return None
    tilts = np.geomspace(0.1, 1e4, 21) / far
    cumulants = np.array([cumulant(-each)[0] for each in tilts.tolist()])
    for multiple in (1.1, 1.33, 1.8, 2.7, 3.6, 5.3, 7.1, 10.7, 14.2):
        edge = multiple * far
        if 2 * edge > reach or edge > 690:  # up to where e^edge and masses times it are floats
            break
        rare = float(np.min(cumulants + tilts * (far - edge)))
        # By Chernoff's bound ``rare`` >= log P(sum < far - edge): the last term is 1e-12 of the second.
        if far - edge < lowest or rare < math.log(1e-12 * -math.expm1(far - edge)):
            return edge
    return None


def add_far_losses(
    table: ProfileTable,
    laws: Sequence[PrivacyLossDistribution],
    factors: Sequence[TiltedFactor],
    grid: LatticePlan,
    edge: float,
    x: float,
) -> ProfileTable:
    """Return the table of the whole laws, at nodes about ``x``, from that of the laws truncated at ``edge``.

    It adds the event A of a loss above the edge. At a node s it adds Q(A) - e^s P(A): linear in e^s, so that
    lower bounds stay a polygon below delta. Upper ones gain e^s P(A, L < s) as well, and with p_i = P(L_i >
    edge) (``far_p``) and all t > 0

        P(A, L < s) <= sum_i n_i p_i P(others < s - edge),    P(others < y) <= e^(ty) prod (E e^(-tL_i))^n_i:

    as E L <= 0 the round taken out has E e^(-tL) >= 1 (Jensen's inequality), so no factor counts as less than
    1. Spread masses have the greater moments, as r^-t is convex, and losses above the edge have less than 1
    each. A moment is a sum of terms known to 16 units of their exponents, of three terms each, and 32 more.

    Of losses below the first node a, the deficit D = E (1 - e^(L - a))_+ is not on the lattice, the rest of
    their mass is at a. As (e^(tu) - 1)/(1 - e^-u) grows with u, those down to a - w add at most D e^(-ta)
    (1 + (e^(tw) - 1)/(1 - e^-w)) to the moment; the probability of those below a - h is at most D/(1 - e^-h).
    """
    kept = slice(0, max(int(np.searchsorted(table.above, edge)), 2))
    above, below = table.above[kept], table.below[kept]
    far_p, far_q, zero, counts = [], [], Bounds.of(0.0), [factor.count for factor in factors]
    for law in laws:
        cells = law.cells(np.array([edge, np.inf]))
        known = Bounds(1 - cells.slack[0], 1 + cells.slack[0])
        far_p.append(float(cells.deficit[0]) * known)
        far_q.append(float(cells.excess[0]) * known + exp(Bounds.of(edge)) * far_p[-1])
    logs = (sum((n * log1p(-m) for n, m in zip(counts, far, strict=True)), zero) for far in (far_p, far_q))
    event_p, event_q = (-expm1(log) for log in logs)  # P(A) and Q(A), 1 - prod (1 - p_i)^n_i
    event = event_q - exp(Bounds(below, above)) * event_p  # at nodes known to be between these
    nodes = [factor.offset + grid.h * factor.index for factor in factors]
    lowest = sum(n * law.ends.least for law, n in zip(laws, counts, strict=True))
    # Deficit, first node and w of each law; P(some loss more than h below its first node); the best t so far.
    deficits, uncovered, best, log_moment, tilt = [], 0.0, math.inf, 0.0, 0.0
    for law, n, at in zip(laws, counts, nodes, strict=True):
        a, width = float(at[0]), float(at[0]) - law.ends.least
        cells = law.cells(np.array([-np.inf, a]))
        deficit = float(cells.deficit[0] * (1 + cells.slack[0])) if width > 0 else 0.0
        deficits.append((deficit, a, min(max(width, 1e-300), grid.h)))
        uncovered += n * deficit / -math.expm1(-grid.h) * (1 + 1e-9) if width > grid.h else 0.0
    for t in (2.0 ** np.arange(-2, 14) / edge).tolist():
        log = 0.0
        for factor, at, rare, (deficit, a, w) in zip(factors, nodes, far_p, deficits, strict=True):
            size = abs(factor.log_scale) + (grid.theta + t) * float(np.max(np.abs(at)))
            with np.errstate(over="ignore", invalid="ignore"):  # such a t bounds nothing
                moment = factor.over * np.exp(factor.log_scale - (grid.theta + t) * at)
                below_a = deficit * np.exp(-t * a) * (1 + np.expm1(t * w) / -np.expm1(-w)) if deficit else 0.0
                log += factor.count * math.log(max(float(np.sum(moment) + below_a) + float(rare.upper), 1.0))
            log += factor.count * UNIT * (64 + len(at) + 32 * size)
        if log - t * (edge - x) < best:
            best, log_moment, tilt = log - t * (edge - x), log, t
    log_below = np.minimum(log_moment + tilt * (above - edge), 0.0)
    others_below = np.minimum(np.exp(log_below) * (1 + 1e-9) + uncovered, 1.0)
    others_below[above - edge < lowest - 1e-9 * abs(lowest)] = 0.0
    expected_far = sum((n * each for n, each in zip(counts, far_p, strict=True)), zero)
    return replace(
        table,
        above=above,
        upper=np.minimum((event + exp(above) * expected_far * others_below + table.upper[kept]).upper, 1.0),
        below=below,
        # As low as can still be interpolated.
        lower=np.maximum((event + np.maximum(table.lower[kept], 0.0)).lower, -1e300),
    )


class Direction:
    """One order of the pair, the given or the ``reverse`` one, by its laws; with its tables so far."""

    def __init__(self, laws: list[PrivacyLossDistribution], counts: list[int], *, reverse: bool) -> None:
        self.laws: list[PrivacyLossDistribution] = [ReversedPLD(law) for law in laws] if reverse else laws
        self.counts, self.reverse = counts, reverse
        # Most table entries kept for later questions, 160 MiB an order: the largest table does not replace
        # the small ones that a question starts with, nor they it.
        self._tables = Cache[ProfileTable | None](2**22 + 2**20)
        masses = [law.mass_at_plus_infinity for law in self.laws]
        self.mass_at_plus_infinity = combine_masses_at_infinity(masses, counts)
        # Whether all losses are finite and there are no atoms.
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
        """Whether densities under P and Q fit floats together: e^L of typical losses must."""
        pairs = zip(self.sketches, self.laws, strict=True)
        typical = [points.loss[np.argmax(points.log_p)] for points, law in pairs if law.continuous]
        # Up to these e^L and e^-L are floats, and tilts of them too.
        return all(abs(loss) < 300.0 for loss in typical)

    @cached_property
    def saddles(self) -> SaddleTable:
        """The saddle points of delta, by loss."""
        return SaddleTable(self.cumulant, (0.0, 1.0), start=1.0)

    def spread(self, x: Array) -> Array:
        """Return how far from each loss a table serves as well."""
        spread = self.saddles.at(x).spread((0.0, 1.0))
        return np.minimum(spread, np.maximum(x, self.cumulant.middle[1]) / 8) if self.is_cut else spread

    @cached_property
    def is_cut(self) -> bool:
        """Whether large losses may be cut off at an edge: they reach so far that the lattice would be coarse.

        Of either sign: as K(1 - t) is that of the other order, contours are slow in both, and the bounds are
        those of lattices. Their spacing follows the tilt, which doubles within its spread, but changes by a
        tenth within an eighth of the deviation.
        """
        reach = max((max(-sketch.loss[0], sketch.loss[-1]) for sketch in self.sketches), default=0.0)
        return self.is_plain and reach > 50 * self.cumulant.middle[1]

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
        """Return the table about epsilon, kept for later questions."""
        if (kept := self._tables.get((epsilon, effort))) is not None:
            return kept[0]
        table = self._table(epsilon, effort)
        return self._tables.keep((epsilon, effort), table, 0 if table is None else len(table.above))

    def _table(self, epsilon: float, effort: Effort) -> ProfileTable | None:
        """Tabulate delta about epsilon, of truncated laws if there is an edge.

        None where it exceeds floats or a quadrature's cap, or losses go too far.
        """
        if not self.representable:
            return None
        with suppress(SizeError):  # cells are integrated over losses as large as a Gaussian's of mu = 1e4
            laws, sketches, cumulant = self.laws, self.sketches, self.cumulant
            scale = float(self.spread(np.array([epsilon]))[0])
            edge = choose_edge(laws, self.counts, cumulant, epsilon + scale) if self.is_cut else None
            if edge is not None:
                laws = [TruncatedPLD(law, edge) for law in laws]
                sketches = [law.sketch() for law in laws]
                cumulant = Cumulant(list(zip(sketches, self.counts, strict=True)))
            grid = plan(laws, self.counts, sketches, cumulant, epsilon, effort)
            if grid is None:
                return None
            factors = []
            for law, n, (index, offset, log_scale) in zip(laws, self.counts, grid.factors, strict=True):
                nodes = np.asarray(offset + grid.h * index, dtype=float)
                measures = discretise(law, nodes, grid.theta, log_scale)
                factors.append(TiltedFactor(index, offset, n, log_scale, *measures))
            leak = self.mass_at_plus_infinity * (1 - 16 * UNIT)  # rounded down
            table = tabulate(factors, grid.h, grid.theta, grid.window, leak)
            if edge is not None:
                table = add_far_losses(table, self.laws, factors, grid, edge, epsilon)
            return replace(
                table,
                kind="other" if self.reverse else "delta",
                center=-epsilon if self.reverse else epsilon,
                scale=scale,
                refinement_factor=grid.refinement_factor,
            )
        return None


class LatticeEngine(Engine[Effort]):
    """Bounds from the lattice, for any law: an FFT a distinct factor for each table."""

    name = "lattice"
    forward: Direction

    def __init__(
        self, laws: Sequence[PrivacyLossDistribution], counts: Sequence[int], *, symmetric: bool = False
    ) -> None:
        self.forward = Direction(list(laws), list(counts), reverse=False)
        self.backward = self.forward if symmetric else Direction(list(laws), list(counts), reverse=True)

    def initial_effort(self, question: Question, tol: float | None) -> Effort:
        """Return the usual work, well below a second, or all that the memory allows if there is a ``tol``."""
        # Lattice points times distinct factors, and the least for very many factors.
        usual = max(1 << int(np.log2(2**20 / max(len(self.forward.laws), 1))), 2**16)
        most = query_options().most(256)  # bytes of a lattice point: 2^22 points fit into the usual gibibyte
        return Effort(2e-5, most if tol is not None else min(usual, most))

    def refine(self, effort: Effort, by: float) -> Effort:
        return effort._replace(width=effort.width / by)

    def coarse(self, effort: Effort) -> Effort | None:
        return Effort(1e-2, 2**13) if self.forward.is_plain else None

    def evaluation_points(
        self, x: Array, delta: Array | None = None
    ) -> Iterator[tuple[Place[Effort], Index]]:
        """Yield tables of this order for losses from 0 on, else of the other one, with indices of losses."""
        apart = APART if delta is None else APART / 2
        for order, mine in ((self.forward, np.flatnonzero(x >= 0)), (self.backward, np.flatnonzero(x < 0))):
            if len(mine):
                for center, which in group_by_key(order.snap_to_grid(np.abs(x[mine]), apart)):
                    yield partial(order.at, center), mine[which]

    def loss_at_delta(self, delta: Array) -> Array:
        """Estimate epsilon(delta) by saddles, or where it is below 0 by those of the other order."""
        if not self.forward.representable:
            return np.zeros(len(delta))
        x = self.forward.saddles.x_for(np.log(delta - self.forward.mass_at_plus_infinity))
        if self.forward.is_plain:
            x = np.where(x > 0, np.minimum(x, self.forward.cumulant.rare_loss(np.log(delta))), x)
        below = x < 0
        if below.any() and self.backward.representable:

            def estimate(x: Array) -> Array:  # delta(x) = 1 - e^x (1 - delta_{f^-1}(-x)) for x <= 0
                other = np.exp(np.minimum(0.0, self.backward.saddles.at(np.maximum(-x, 0.0)).log))
                return np.where(x < 0, 1 - np.exp(np.minimum(x, 0.0)) * (1 - other), 0.0)

            x[below] = bracket_root(estimate, delta[below])[1]
        return x
