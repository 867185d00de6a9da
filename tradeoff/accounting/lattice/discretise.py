"""From one law of L to measures on a set of lattice nodes, one on each side of the truth.

``over`` spreads every cell to its two ends and keeps both masses: a mean-preserving spread of the ratio, so
its hockey-stick is above (Doroshenko et al., Connect the Dots, PoPETs 2022). ``under`` is the polygon of
tangents to the hockey-stick h at one cut a cell, lowered where two tangents disagree at a node: every chord
lies under a tangent, hence under h. A hockey-stick grows with each mass, so masses rounded up (down) keep the
side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np

from tradeoff.intervals.bounds import Array, Index
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.law import Cells, PrivacyLossDistribution, masses
from tradeoff.pld.units import TINY, UNIT

_FAINT = 1e-303  # masses below may have lost more to underflow, a million terms of 5e-324, than their slack


class Tilt(NamedTuple):
    """Exponents slope L - log_scale at the nodes, and how far they may be off."""

    value: Array
    error: Array

    @classmethod
    def of(cls, slope: float, nodes: Array, log_scale: float) -> Tilt:
        """Tilt by ``slope``: a unit of slope L for the product, one for the difference, two for the node.

        One more is for the sum of the value and its error.
        """
        tilted = slope * nodes
        return cls(tilted - log_scale, 5 * UNIT * (np.abs(tilted) + abs(log_scale)))


@dataclass(frozen=True, eq=False)
class DiscretisedLaw:
    """P-masses at ``nodes`` times e^(slope node - log_scale).

    ``top`` is the Q-mass of ``over`` at +infinity, not tilted; ``shift`` bounds how far rounding may have
    moved a loss.
    """

    nodes: Array
    over: Array
    top: float
    under: Array
    shift: float


@np.errstate(over="ignore")  # e^width overflows for cells wider than 709 nats, where 1/inf = 0 is right
def discretise(
    law: PrivacyLossDistribution, nodes: Array, slope: float = 0.0, log_scale: float = 0.0
) -> DiscretisedLaw:
    """Put ``law`` on increasing ``nodes``, from both sides; cost is two passes of cell integrals."""
    # Atoms this far outside the nodes are moved by amounts of e^-40, below a unit, wherever they lie.
    far = 40.0
    tilt, near = Tilt.of(slope, nodes, log_scale), nodes[[0, -1]] + np.array([-far, far])
    over, top = spread(law, nodes, tilt)
    under = moved(law, nodes, tilt)
    errors = law.atoms.error[(law.atoms.loss >= near[0]) & (law.atoms.loss <= near[1])]
    # 6 units of 1 + |L| for an atom taken to be on a node, 2 of |L| for a node's own rounding (that of its
    # offset is charged where offsets are added up).
    shift = 8 * UNIT * (1 + float(np.max(np.abs(nodes)))) + float(np.max(errors, initial=0.0))
    if law.continuous:
        cells = law.cells(np.concatenate([[-np.inf], nodes, [np.inf]]))
        # Cells are split between their ends: p_b = excess/(e^b - e^a), p_a = deficit/(1 - e^(a-b)). 32 units:
        # 8 for each of two exponentials, 2 for the slack, 1 for the width, the division and each of three
        # sums. Underflow before the division is below TINY.
        grow = 1 + cells.slack + 32 * UNIT
        excess, deficit, whole = cells.excess * grow, cells.deficit * grow, -np.expm1(-np.diff(nodes))
        p = np.zeros(len(nodes))
        p[1:] += (lifted(nodes[1:], excess[1:-1]) + TINY) / whole
        p[:-1] += (deficit[1:-1] + TINY) / whole
        p[:1] += lifted(nodes[:1], excess[:1])  # below them: Q-mass to the first, the rest of P to -infinity
        p[-1] += deficit[-1]  # above them: P-mass to the last, the rest of Q to +infinity
        over += _weighed(np.nextafter(p, np.inf), tilt)
        top += cells.excess[-1] * (1 + cells.slack[-1])
        under += _kept(law, cells, nodes, tilt)
        shift += float(np.max(law.edge_error(nodes)))
    # Two sums of at most three terms, each times 1 + slack.
    return DiscretisedLaw(nodes, over, (top + law.mass_at_plus_infinity) * (1 + 16 * UNIT), under, shift)


def _weighed(mass: Array, tilt: Tilt, *, down: bool = False) -> Array:
    """Return mass times e^tilt, rounded to one side.

    16 units for the exponential, the products and three sums after it.
    """
    error = tilt.error + 16 * UNIT
    if down:
        return np.asarray(mass * np.exp(np.minimum(tilt.value, 700.0)) * np.maximum(1 - error, 0.0))
    exponent = tilt.value + error
    with np.errstate(invalid="ignore"):  # an overflow makes the upper side infinite: nothing is claimed
        return np.where(exponent > 700.0, np.inf, mass * np.exp(np.minimum(exponent, 700.0)))


def _kept(law: PrivacyLossDistribution, cells: Cells, nodes: Array, tilt: Tilt) -> Array:
    """Return the lower side of the cells.

    A polygon of tangents, an atom for each run of cells that has none, and one for all larger losses. Cells
    of which one mass may have underflowed count as larger, but for those between others.

    The last one is an atom of Q-mass E on the node b: of all larger losses, with the excess E, the
    hockey-stick is Q - e^x P = E + (e^b - e^x) P >= E (1 - e^(x-b)) for x <= b. Units: 8 for a logarithm of
    itself, and one for its sum of each term.
    """
    excess, deficit, slack = (part[1:-1] for part in cells)
    at_ends = lifted(nodes[1:], excess), lifted(-nodes[:-1], deficit)  # of wide cells the least there is
    negligible = (np.minimum.reduce([excess, deficit, *at_ends]) < _FAINT) & (np.maximum(excess, deficit) > 0)
    certain = np.flatnonzero(~negligible)
    first, last = (int(certain[0]), int(certain[-1]) + 1) if len(certain) else (len(negligible), 0)
    polygon, crowds, inside = np.zeros(len(nodes)), list[Run](), slice(first, last)
    if first < last:
        inner = Cells(excess[inside], deficit[inside], np.where(negligible, 1.0, slack)[inside])
        polygon[first : last + 1], result = gathered(law, inner, nodes[first : last + 1])
        crowds = [Run(first + run.first, first + run.last) for run in result]
    b = nodes[last]
    end = cells if last == len(nodes) - 1 else law.cells(np.array([b, np.inf]))
    log = math.log(end.excess[-1]) if _FAINT <= end.excess[-1] < math.inf else -math.inf
    some = np.zeros(int(log > -math.inf))
    units = UNIT * (64 + 8 * abs(log) + abs(b))
    tail = AtomicLaw(some + b, some + log - b, slack=some + end.slack[-1] + units)
    parts = (moved(each, nodes, tilt) for each in (_merged(law, nodes, crowds), tail))
    return sum(parts, _weighed(polygon, tilt, down=True))


def _merged(law: PrivacyLossDistribution, nodes: Array, runs: list[Run]) -> AtomicLaw:
    """Return one atom for each run of cells, with all their mass: post-processing of close losses.

    Its loss a + log1p(x), x = e^-a excess/P, is known to x/(1 + x) times the slack of both masses and 32
    units, over 1 less a slack, and to 4 units of its terms; it is rounded down.
    """
    if not runs:
        return AtomicLaw(np.zeros(0), np.zeros(0))
    edges = nodes[np.array(runs).ravel()]
    cells = law.cells(edges)
    p = masses(cells, edges)[0]
    with np.errstate(divide="ignore", invalid="ignore"):  # of an empty run, or a loss that overflows
        x = lifted(edges[:-1], cells.excess) / p
        loss = edges[:-1] + np.log1p(x)
        unsure = (2 * cells.slack + 32 * UNIT) / np.maximum(1 - cells.slack, UNIT)
        off = x / (1 + x) * unsure + 4 * UNIT * (np.abs(edges[:-1]) + np.abs(loss))
    loss -= off
    # Every other cell is a run; those two are left out.
    certain = np.minimum(cells.excess, cells.deficit) >= _FAINT
    bounds = np.isfinite(loss) & certain & (np.arange(len(p)) % 2 == 0)
    return AtomicLaw(loss[bounds], np.log(p[bounds]), slack=(cells.slack + 64 * UNIT + off)[bounds])


def _locate(loss: Array, nodes: Array) -> tuple[Index, Array]:
    """Return the node at or below each loss, or within rounding of it, and the distance above."""
    last = len(nodes) - 1
    index = np.clip(np.searchsorted(nodes, loss, side="right") - 1, 0, last)
    tolerance = 6 * UNIT * (1 + np.abs(loss))
    following = np.minimum(index + 1, last)
    index = np.where(np.abs(loss - nodes[following]) <= tolerance, following, index)
    above = loss - nodes[index]
    return index, np.where(np.abs(above) <= tolerance, 0.0, above)


def _weigh(log_p: Array, tilt: Tilt, at: Index, slack: Array, sign: int) -> Array:
    """Return e^(log_p + tilt) at the nodes, rounded up or down; taken together so that neither underflows.

    Sums are rounded to two units of each term; 48 units: 8 for each of four exponentials, and products.
    """
    exponent = log_p + tilt.value[at]
    error = slack + tilt.error[at] + UNIT * (48 + 2 * np.abs(log_p) + 2 * np.abs(tilt.value[at]))
    if sign < 0:
        return np.asarray(np.exp(np.minimum(exponent, 700.0)) * np.maximum(1 - error, 0.0))
    exponent = exponent + error
    return np.where(exponent > 700.0, np.inf, np.exp(np.minimum(exponent, 700.0)))


def _sum_at_nodes(at: Index, mass: Array, size: int, sign: int) -> Array:
    """Sum the masses at each node, rounded up for a sign of +1 and down for -1: by a unit a term."""
    units = np.bincount(at, minlength=size) * UNIT
    total = np.bincount(at, weights=mass, minlength=size) * np.maximum(1 + sign * units, 0.0)
    return np.asarray(np.nextafter(total, sign * np.inf))


def spread(law: PrivacyLossDistribution, nodes: Array, tilt: Tilt) -> tuple[Array, float]:
    """Split atoms between the nodes around them; return also Q-mass at +infinity.

    Of an atom at L in [a, b] the share (1 - e^(L-b))/(1 - e^(a-b)) goes to a, and to b
    e^(L-b) (1 - e^(a-L))/(1 - e^(a-b)). Below the nodes Q-mass goes to the first, the rest of P to -infinity;
    above them P-mass to the last and all of Q to +infinity, both as if the loss lay at its worst.
    """
    loss, log_p, slack, error = law.atoms
    size, lost = len(nodes), law.lost
    if len(loss) == 0:
        return np.zeros(size), lost
    index, above = _locate(loss, nodes)
    following = np.minimum(index + 1, size - 1)
    below, above_last = above < 0, (above > 0) & (index == size - 1)
    inside, rest = np.maximum(above, 0.0), np.maximum(nodes[following] - loss, 0.0)
    width = nodes[following] - nodes[index]
    whole = -np.expm1(-np.where(width > 0, width, 1.0))  # of two nodes that are one float the second has all
    # Shares are e^-fall times a part: the weight of a node may outgrow floats as fast as e^-fall leaves them.
    fall = np.concatenate([np.where(below, np.maximum(-above - error, 0.0), 0.0), rest])
    part = np.concatenate(
        [
            np.where(below | above_last | (inside == 0), 1.0, -np.expm1(-rest) / whole),
            np.where(below | above_last, 0.0, -np.expm1(-inside) / whole),
        ]
    )
    kept = np.flatnonzero(part > 0)
    atom, at = kept % len(loss), np.concatenate([index, following])[kept]
    masses = _weigh(log_p[atom] - fall[kept], tilt, at, slack[atom] + 2 * UNIT * fall[kept], +1) * part[kept]
    # 64 units: 8 for each exponential, the sum of the exponent by its terms, and that of the masses by pairs.
    grow = 1 + slack + UNIT * (64 + np.abs(log_p) + 2 * np.abs(loss))
    top = np.sum((np.exp(np.minimum(log_p + loss + error, 0.0)) * grow)[above_last])
    return _sum_at_nodes(at, masses, size, +1), float(top) + lost


def moved(law: PrivacyLossDistribution, nodes: Array, tilt: Tilt) -> Array:
    """Move every atom to the node below it, with mass that keeps its ratio.

    Moved down with its P-mass alone an atom loses Q-mass, first order in the distance; taking a little P-mass
    from the atom below instead brings the barycentre onto the node, a merger, which is second order.
    """
    loss, log_p, slack, error = law.atoms
    if len(loss) == 0:
        return np.zeros(len(nodes))
    index, above = _locate(loss, nodes)
    keep = above >= 0
    goal = np.where(keep, nodes[index], loss)
    log_moved = _draw_from_below(loss, log_p, goal, error)
    padded = np.concatenate([slack[:1], slack, slack[-1:]])
    near = np.maximum.reduce([padded[:-2], padded[1:-1], padded[2:]])  # of an atom and its neighbours
    rounding = 16 * UNIT * (1 + np.abs(loss) + np.abs(goal))  # of log Q, of the mass drawn, and of the node
    mass = _weigh(log_moved, tilt, index, near + rounding, -1)
    return np.maximum(_sum_at_nodes(index[keep], mass[keep], len(nodes), -1), 0.0)


def _draw_from_below(loss: Array, log_p: Array, goal: Array, error: Array) -> Array:
    """Return the log-masses of atoms moved from ``loss`` down to ``goal``, each with P-mass of the one below.

    Atom j gives the share x_j of its mass p_j to atom j + 1. The barycentre of the ratios at the goal g_j is
    not below e^g_j, so that the hockey-stick does not rise, where

        x_(j-1) p_(j-1) (e^g_j - e^l_(j-1)) <= (1 - x_j) p_j (e^l_j - e^g_j).

    Less may be drawn: Q-mass is lost. Gaps l_j - g_j are taken 16 units and the loss's error smaller, and
    shares 1e-6 less, which is more than the roundings of masses and of a room g_j - l_(j-1) above two gaps.
    """
    gap = np.maximum(loss - goal - error - 16 * UNIT * (1 + np.abs(loss)), 0.0)
    if not gap.any():
        return log_p
    room = goal[1:] - loss[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_need = log_p[1:] - log_p[:-1] + gap[1:] + np.log(-np.expm1(-gap[1:]))
        log_need -= np.log(-np.expm1(-np.maximum(room, 1e-300)))
    # Finite, so that an atom that gives all can draw nothing: 0 times infinity bounds nothing.
    allowed = (room > 2 * gap[1:]) & ~np.isnan(log_need)
    need = (np.where(allowed, np.exp(np.minimum(log_need, 600.0)), 0.0) * (1 - 1e-6)).tolist()
    # x_(j-1) = min(1, (1 - x_j) need_j), down from the last atom, which gives nothing.
    shares = accumulate(need[::-1], lambda above, each: min(1.0, (1.0 - above) * each), initial=0.0)
    share = np.array(list(shares))[::-1]
    received = np.append(0.0, share[:-1] * np.exp(np.minimum(log_p[:-1] - log_p[1:], 600.0)))
    with np.errstate(divide="ignore"):
        return np.asarray(log_p + np.log(1 - share + received))


def lifted(loss: Array, q: Array) -> Array:
    """Return e^-loss q, the P-mass of Q-mass q; a mass of 0 stays 0 where e^-loss overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(q > 0, np.exp(-loss) * q, 0.0)


class Run(NamedTuple):
    """Consecutive cells: those between the nodes ``first`` and ``last``."""

    first: int
    last: int


def gathered(law: PrivacyLossDistribution, inner: Cells, nodes: Array) -> tuple[Array, list[Run]]:
    """Return the masses of tangent polygons, rounded down, and the runs of cells that have none.

    Where mass is concentrated in one or two cells, or a tail falls too steeply for its cells, no polygon can
    be bent: such a run is cut out, longer at each attempt if it is about one node, and the cells left and
    right of it have polygons of their own. Cells of unknown masses at the ends are in neither, unless a run
    reaches them.
    """
    result, without, size = np.zeros(len(nodes)), list[Run](), len(nodes) - 1
    # Slack of a cell worth a tangent: one whose ends are nearly one float would spoil its neighbours'.
    filled = np.flatnonzero((inner.excess + inner.deficit > 0) & (inner.slack < 1 / 32))
    first, last = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (0, 0)
    cells = Cells(*(each[first:last] for each in inner))
    waiting = [(Run(first, last), partial(_Polygon, law, cells, nodes[first : last + 1]))]
    # Polygons tried before the rest is left without: most laws need one, some three.
    for attempt in range(12):
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
            spare = 1 << attempt if len(lacking) == 1 else 1  # cells cut out on both sides of a node
            # About the most runs of cells that are cut out of a polygon at once.
            near = max((run.last - run.first) // 8, 2 * spare + 2)
            groups = np.split(lacking + run.first, np.flatnonzero(np.diff(lacking) > near) + 1)
            pairs = [(int(g[0]) - spare, int(g[-1]) + spare) for g in groups]
            cut = [Run(max(a, run.first), min(b, run.last)) for a, b in pairs]
            without += cut
            ends = [run.first, *chain.from_iterable(cut), run.last]
            between = zip(ends[::2], ends[1::2], strict=True)
            runs = [Run(a, b) for a, b in between if a < b]
            waiting += [(each, partial(polygon.part, each, run.first)) for each in runs]
    joined = list[Run]()
    for a, b in sorted([*without, *(run for run, _ in waiting)]):
        run = Run(0 if a == first else a, size if b == last else b)
        if joined and joined[-1].last >= run.first:
            run = Run(joined.pop().first, run.last)
        joined.append(run)
    return result, joined


def _convex(polygon: _Polygon) -> tuple[Array, Index]:
    """Bend the polygon until it is convex; return its masses, and the nodes where that failed.

    At both ends its mass is zero exactly, because the end cell is gathered whole into its inner node;
    elsewhere a computed mass above its rounding proves convexity. Underflow is below a few TINY a
    node. Where rounds help no more, the nodes that lack mass cannot be mended.
    """
    before = np.inf
    # Rounds of moving cuts before a node counts as one that cannot be mended; a dozen do where most do.
    for repair in range(40):
        p, noise = polygon.masses()
        unbounded = np.flatnonzero(~np.isfinite(noise))  # a gap over the width of its cell overflowed
        if len(unbounded):
            return p, unbounded
        # Where the end cells' own gaps are the drops of the nodes next to the ends, end masses are 0 exactly.
        # A gap is the greater for certain if it is by the slack of both, and two units of each exponential.
        rise, fall, extra, slack = polygon.rise, polygon.fall, polygon.extra, polygon.slack
        left, right = (
            1 - 8 * float(np.max(near)) - 2 * polygon.rounding for near in (slack[:2], slack[-3:-1])
        )
        if rise[1] <= fall[1] * left and extra[1] == 0:
            p[0] = noise[0]
        if fall[-2] <= rise[-2] * right and extra[-2] == 0:
            p[-1] = noise[-1]
        lacking = np.flatnonzero(p < noise)
        bounds = polygon.extra[0] == polygon.extra[-1] == 0
        if len(lacking) == 0 and bounds:
            return p - noise - 16 * TINY * polygon.own, lacking
        if not bounds:
            return p, np.array([0] if polygon.extra[0] else [len(p) - 1])
        # Where cuts can be moved, a round leaves a half of the mass that lacked or less, elsewhere as much to
        # the third digit.
        if repair % 8 == 0:
            now = float(np.sum(noise[lacking] - p[lacking]))
            if now > 0.9 * before:
                break
            before = now
        polygon.bend(lacking, 2 * noise[lacking] - p[lacking])
    return p, lacking


class _Polygon:
    """Tangents at cuts; ``rise`` and ``fall`` are (h - tangent)/ratio at the left and right end of the cells.

    The first cut sits on the first node and the last on the last, so the polygon starts and ends on h itself
    and keeps both masses between the nodes.
    """

    rounding = 32 * UNIT
    """Of a term of ``masses``: three exponentials of 8 units, products, the width, a sum of four."""

    def __init__(
        self, law: PrivacyLossDistribution, inner: Cells, nodes: Array, *, measured: bool = True
    ) -> None:
        self.law, self.inner, self.nodes = law, inner, nodes
        size, width = len(nodes), np.diff(nodes)
        # Tangents touch where neighbours agree at the node between them. In a cell of uniform mass m a cut at
        # fraction u makes the left gap m u^2 h/2 and the right m (1-u)^2 h/2; for masses in geometric
        # progression of ratio r^2 both sides of every node agree when u = 1/(1 + r).
        mass = masses(inner, nodes)[0]
        padded = np.concatenate([mass[:1], mass, mass[-1:]])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (padded[2:] / padded[:-2]) ** 0.25
        self.cuts: Array = nodes[:-1] + np.nan_to_num(1 / (1 + ratio), nan=0.5) * width
        self.cuts[0], self.cuts[-1] = nodes[0], nodes[-1]
        self.rise, self.fall, self.extra, self.slack = (np.zeros(size) for _ in range(4))
        # With ratios r = e^loss: to_left = r_b/(r_b - r_a) and to_right = r_a/(r_b - r_a) of every cell [a,
        # b].
        self.to_left, self.to_right = 1 / -np.expm1(-width), 1 / np.expm1(width)
        self.chord, self.own = np.zeros(size), np.zeros(size)
        self.chord[1:] += lifted(nodes[1:], inner.excess) * self.to_left
        self.chord[:-1] += inner.deficit * self.to_left
        self.own[:-1] += self.to_right
        self.own[1:] += self.to_left
        if measured:
            self.measure(np.arange(size - 1))

    def part(self, run: Run, start: int) -> _Polygon:
        """Return the tangents of some cells at their first cuts; ``start`` is the first one here."""
        cells = slice(run.first - start, run.last - start)
        inner, nodes = Cells(*(each[cells] for each in self.inner)), self.nodes[cells.start : cells.stop + 1]
        result = _Polygon(self.law, inner, nodes, measured=False)
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
            return p - drawn, (p + drawn) * (slack + self.rounding)

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


def _retreat(aim: Array, value: Array, floor: Array) -> Array:
    """Fraction of its way a cut goes back for its gap to fall from ``value`` to ``aim``.

    Linear, never too little.
    """
    wanted = np.maximum(aim, floor * (1 - 1e-9)) / np.where(value > 0, value, 1.0)
    return np.where(wanted < 1e-9, 1.0, 1 - np.maximum(wanted, 0.0))
