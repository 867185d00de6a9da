"""The polygon of tangents below a law's hockey-stick.

One tangent a cell, lowered where two disagree at a node.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from tradeoff.intervals.rounding import TINY, UNIT, Array, Index
from tradeoff.pld.law import Cells, PrivacyLossDistribution, masses

_REPAIRS = 40  # rounds of moving cuts before a node counts as beyond repair; a dozen do where most do

# Rounds after which at most this share of the mass that lacked may lack still: where cuts can be moved, a
# round leaves a half of it or less, elsewhere as much to the third digit.
_LOOK, _GAINED = 8, 0.9

_ATTEMPTS = 12  # polygons tried before the rest is left without: most laws need one, a crowd in a tail three
_RUNS = 8  # about the most runs of cells that are cut out of a polygon at once
_KNOWN = (
    1 / 32
)  # slack of a cell worth a tangent: one whose ends are nearly one float would spoil its neighbours'
_ROUNDING = (
    32 * UNIT
)  # of a term of ``masses``: three exponentials of 8 units, products, the width, a sum of four


def lifted(loss: Array, q: Array) -> Array:
    """Return e^-loss q, Q-mass as P-mass; nothing stays nothing where e^-loss is beyond the floats."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(q > 0, np.exp(-loss) * q, 0.0)


class Run(NamedTuple):
    """Consecutive cells: those between the nodes ``first`` and ``last``."""

    first: int
    last: int


def gathered(law: PrivacyLossDistribution, inner: Cells, nodes: Array) -> tuple[Array, list[Run]]:
    """Return the masses of tangent polygons, rounded down, and the runs of cells that have none.

    Where mass crowds in a cell or two, or a tail falls too steeply for its cells, no polygon can be bent:
    such a run is cut out, the longer the later where it is about one node, and the cells left and right of it
    have polygons of their own. Cells of unknown masses at the ends are in neither, unless a run reaches them.
    """
    result, without, size = np.zeros(len(nodes)), list[Run](), len(nodes) - 1
    filled = np.flatnonzero((inner.excess + inner.deficit > 0) & (inner.slack < _KNOWN))
    first, last = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (0, 0)
    cells = Cells(*(each[first:last] for each in inner))
    waiting = [(Run(first, last), partial(_Polygon.measured, law, cells, nodes[first : last + 1]))]
    for attempt in range(_ATTEMPTS):
        if not waiting:
            break
        run, made = waiting.pop()
        if run.last - run.first < 2:
            without.append(run)
            continue
        polygon = made()
        mass, lacking = _convex(polygon)
        if len(lacking) == 0:
            result[run.first : run.last + 1] = np.maximum(mass, 0.0)
        else:
            cut = _around(lacking, run, 1 << attempt if len(lacking) == 1 else 1)
            without += cut
            ends = [run.first, *chain.from_iterable(cut), run.last]
            between = zip(ends[::2], ends[1::2], strict=True)
            runs = [Run(a, b) for a, b in between if a < b]
            waiting += [(each, partial(polygon.part, each, run.first)) for each in runs]
    rest = without + [run for run, _ in waiting]
    return result, _joined([Run(0 if a == first else a, size if b == last else b) for a, b in rest])


def _around(lacking: Index, run: Run, spare: int) -> list[Run]:
    """Return the runs of cells around nodes that cannot be bent, with ``spare`` on both sides."""
    near = max((run.last - run.first) // _RUNS, 2 * spare + 2)
    groups = np.split(lacking + run.first, np.flatnonzero(np.diff(lacking) > near) + 1)
    return [Run(max(int(g[0]) - spare, run.first), min(int(g[-1]) + spare, run.last)) for g in groups]


def _joined(runs: list[Run]) -> list[Run]:
    """Return the runs in order, neighbours as one."""
    result = list[Run]()
    for run in sorted(runs):
        if result and result[-1].last >= run.first:
            result[-1] = Run(result[-1].first, run.last)
        else:
            result.append(run)
    return result


def _convex(polygon: _Polygon) -> tuple[Array, Index]:
    """Bend the polygon until it is convex; return its masses, and the nodes where that failed.

    At both ends its mass is zero exactly, because the end cell is gathered whole into its inner node;
    elsewhere a computed mass above its rounding proves convexity. Underflow is below a few TINY a
    node. Where rounds help no more, the nodes that lack mass are beyond repair.
    """
    before = np.inf
    for repair in range(_REPAIRS):
        p, noise = polygon.masses()
        unbounded = np.flatnonzero(~np.isfinite(noise))  # a gap over the width of its cell is no float
        if len(unbounded):
            return p, unbounded
        starts, ends = polygon.ends_hold()
        p[0], p[-1] = (noise[0] if starts else p[0]), (noise[-1] if ends else p[-1])
        lacking = np.flatnonzero(p < noise)
        bounds = polygon.extra[0] == polygon.extra[-1] == 0
        if len(lacking) == 0 and bounds:
            return p - noise - 16 * TINY * polygon.own, lacking
        if not bounds:
            return p, np.array([0] if polygon.extra[0] else [len(p) - 1])
        if repair % _LOOK == 0:
            now = float(np.sum(noise[lacking] - p[lacking]))
            if now > _GAINED * before:
                break
            before = now
        polygon.bend(lacking, 2 * noise[lacking] - p[lacking])
    return p, lacking


class _Polygon:
    """Tangents at cuts; ``rise`` and ``fall`` are (h - tangent)/ratio at the left and right end of the cells.

    The first cut sits on the first node and the last on the last, so the polygon starts and ends on h itself
    and keeps both masses between the nodes.
    """

    def __init__(self, law: PrivacyLossDistribution, inner: Cells, nodes: Array) -> None:
        self.law, self.inner, self.nodes = law, inner, nodes
        size, width = len(nodes), np.diff(nodes)
        self.cuts = _cuts(masses(inner, nodes)[0], nodes)
        self.rise, self.fall, self.extra, self.slack = (np.zeros(size) for _ in range(4))
        # With ratios r = e^loss: to_left = r_b/(r_b - r_a) and to_right = r_a/(r_b - r_a) of every cell [a,
        # b].
        self.to_left, self.to_right = 1 / -np.expm1(-width), 1 / np.expm1(width)
        self.chord, self.own = np.zeros(size), np.zeros(size)
        self.chord[1:] += lifted(nodes[1:], inner.excess) * self.to_left
        self.chord[:-1] += inner.deficit * self.to_left
        self.own[:-1] += self.to_right
        self.own[1:] += self.to_left

    @classmethod
    def measured(cls, law: PrivacyLossDistribution, inner: Cells, nodes: Array) -> _Polygon:
        """Return tangents at their first cuts."""
        result = cls(law, inner, nodes)
        result.measure(np.arange(len(nodes) - 1))
        return result

    def part(self, run: Run, start: int) -> _Polygon:
        """Return the tangents of some cells at their first cuts; ``start`` is the first one here."""
        cells = slice(run.first - start, run.last - start)
        result = _Polygon(
            self.law, Cells(*(each[cells] for each in self.inner)), self.nodes[cells.start : cells.stop + 1]
        )
        result.rise[:-1], result.slack[:-1] = self.rise[cells], self.slack[cells]
        result.fall[1:] = self.fall[1:][cells]
        result.measure(np.flatnonzero(result.cuts != self.cuts[cells]))
        return result

    def measure(self, which: Index) -> None:
        """Integrate both halves of the chosen cells."""
        edges = np.stack([self.nodes[which], self.cuts[which], self.nodes[which + 1]], axis=1).ravel()
        filled = np.diff(edges) != 0  # neighbours share a node: do not pay for the empty cell
        if not filled.any():
            return
        cells = self.law.cells(edges[np.append(True, filled)])
        place = np.where(filled, np.cumsum(filled) - 1, 0)
        excess, deficit, slack = (np.where(filled, part[place], 0.0) for part in cells)
        self.rise[which] = lifted(self.nodes[which], excess[::3])
        self.fall[which + 1] = deficit[1::3]
        self.slack[which] = np.maximum.reduce([self.inner.slack[which], slack[::3], slack[1::3]])

    def masses(self) -> tuple[Array, Array]:
        """Return the second differences of the polygon and a bound on their rounding.

        A drop d_k of h at node k, relative to its ratio, adds own_k d_k there and draws to_left d_k from the
        node on its left, to_right d_k from the one on its right.
        """
        drop = np.maximum(self.rise, self.fall) + self.extra
        p = self.chord + self.own * drop
        drawn = np.zeros(len(p))
        drawn[:-1] += self.to_left * drop[1:]
        drawn[1:] += self.to_right * drop[:-1]
        # A node feels the cells from two before it to one after.
        near = np.concatenate([[0.0, 0.0], self.slack, [0.0]])
        slack = np.maximum.reduce([near[:-3], near[1:-2], near[2:-1], near[3:]])
        with np.errstate(invalid="ignore"):
            return p - drawn, (p + drawn) * (slack + _ROUNDING)

    def ends_hold(self) -> tuple[bool, bool]:
        """Whether the end cells' own gaps are the drops of the nodes next to the ends.

        End masses then are 0 exactly.

        A gap is the greater for certain if it is by the slack of both, with two units of each exponential to
        spare.
        """
        left, right = (
            1 - 8 * float(np.max(near)) - 2 * _ROUNDING for near in (self.slack[:2], self.slack[-3:-1])
        )
        first = self.rise[1] <= self.fall[1] * left and self.extra[1] == 0
        last = self.fall[-2] <= self.rise[-2] * right and self.extra[-2] == 0
        return bool(first), bool(last)

    def bend(self, lacking: Index, goal: Array) -> None:
        """Raise the masses at ``lacking`` by ``goal``.

        Move the cut that reaches too far first, else lower the node.
        """
        last = len(self.nodes) - 1
        right, left = np.minimum(lacking + 1, last), np.maximum(lacking - 1, 0)
        margin = 1 - 1e-9 - 16 * self.slack
        rise, fall = self.rise * margin, self.fall * margin
        # The cuts of the end cells stay where they are: they keep both masses between the nodes.
        far_right = (self.rise[right] > fall[right]) & (right < last - 1)
        far_left = ~far_right & (self.fall[left] > rise[left]) & (left > 1)
        move, back = right[far_right], left[far_left]
        aim = self.rise[move] - goal[far_right] / self.to_left[move - 1]
        self.cuts[move] -= (self.cuts[move] - self.nodes[move]) * _retreat(aim, self.rise[move], fall[move])
        aim = self.fall[back] - goal[far_left] / self.to_right[back]
        way = self.nodes[back] - self.cuts[back - 1]
        self.cuts[back - 1] += way * _retreat(aim, self.fall[back], rise[back])
        self.measure(np.unique(np.concatenate([move, back - 1])))
        stuck = ~(far_right | far_left)
        self.extra[lacking[stuck]] += goal[stuck] / self.own[lacking[stuck]]


def _cuts(mass: Array, nodes: Array) -> Array:
    """Choose where the tangents touch, so that neighbours agree at the node between them.

    In a cell of uniform mass m a cut at fraction u makes the left gap m u^2 h/2 and the right m (1-u)^2 h/2;
    for masses in geometric progression of ratio r^2 both sides of every node agree when u = 1/(1 + r).
    """
    padded = np.concatenate([mass[:1], mass, mass[-1:]])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (padded[2:] / padded[:-2]) ** 0.25
    cuts = nodes[:-1] + np.nan_to_num(1 / (1 + ratio), nan=0.5) * np.diff(nodes)
    cuts[0], cuts[-1] = nodes[0], nodes[-1]
    return np.asarray(cuts)


def _retreat(aim: Array, value: Array, floor: Array) -> Array:
    """Fraction of its way a cut goes back for its gap to fall from ``value`` to ``aim``.

    Linear, never too little.
    """
    wanted = np.maximum(aim, floor * (1 - 1e-9)) / np.where(value > 0, value, 1.0)
    return np.where(wanted < 1e-9, 1.0, 1 - np.maximum(wanted, 0.0))
