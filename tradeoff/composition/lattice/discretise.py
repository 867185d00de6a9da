"""From one law of L to measures on a set of lattice nodes, one on each side of the truth.

``over`` spreads every cell to its two ends and keeps both masses: a mean-preserving spread of the ratio, so its
hockey-stick is above (Doroshenko et al., Connect the Dots, PoPETs 2022). ``under`` is the polygon of tangents to the
hockey-stick h at one cut a cell, lowered where two tangents disagree at a node: every chord lies under a tangent,
hence under h. A hockey-stick grows with each mass, so masses rounded up (down) keep the side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array, Index
from tradeoff.loss.discrete import AtomicLaw
from tradeoff.loss.law import Cells, LossLaw, masses

_REPAIRS, _ATTEMPTS = 40, 12

_FAR = 40.0
"""e^-40 is below the slack of every mass."""


@dataclass(frozen=True, eq=False)
class DiscretisedLaw:
    """P-masses at ``nodes`` times e^(slope node - log_scale); the end masses are not tilted.

    ``over_top`` is Q-mass of ``over`` at +infinity, ``over_bottom`` its P-mass at -infinity. ``under`` is below the
    hockey-stick of T(P, Q), ``under_reversed`` below that of T(Q, P).
    """

    nodes: Array
    over: Array
    over_top: float
    over_bottom: float
    under: Array
    under_reversed: Array
    shift: float
    """Bound on how far rounding may have moved a loss."""


@np.errstate(over="ignore")  # e^width overflows for cells wider than 709 nats: 1/inf = 0 is what it should be
def discretise(law: LossLaw, nodes: Array, slope: float = 0.0, log_scale: float = 0.0) -> DiscretisedLaw:
    """Put ``law`` on increasing ``nodes``, from both sides; cost is two passes of cell integrals."""
    lean = slope * nodes - log_scale
    over, top, bottom = _spread_atoms(law, nodes, lean)
    under, under_reversed = (
        _move_atoms(law, nodes, lean, down=True),
        _move_atoms(law, nodes, lean, down=False),
    )
    if law.continuous:
        cells = law.cells(np.concatenate([[-np.inf], nodes, [np.inf]]))
        error = 4 * UNIT * (4 + np.abs(slope * nodes) + abs(log_scale))
        weight = np.exp(np.minimum(lean, 700.0))
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # an overflow makes the upper side infinite: nothing is claimed
            over += np.where(lean > 700.0, np.inf, _spread(cells, nodes) * (weight * (1 + error)))
        top += cells.excess[-1] * (1 + cells.slack[-1])
        bottom += cells.deficit[0] * (1 + cells.slack[0])
        gathered = _gather(law, Cells(*(part[1:-1] for part in cells)), nodes)
        if gathered is None:
            merged = _merge(law, nodes)
            under, under_reversed = (
                under + _move_atoms(merged, nodes, lean, down=True),
                under_reversed + _move_atoms(merged, nodes, lean, down=False),
            )
        else:
            gathered *= weight * np.maximum(1 - error, 0.0)
            under, under_reversed = under + gathered, under_reversed + gathered
    grow = 1 + 16 * UNIT
    shift = 8 * UNIT * (1 + float(np.max(np.abs(nodes)))) + _loss_error(law, nodes)
    return DiscretisedLaw(
        nodes, over, (top + law.q_plus) * grow, (bottom + law.p_minus) * grow, under, under_reversed, shift
    )


def _loss_error(law: LossLaw, nodes: Array) -> float:
    """Bound the errors of the atoms' losses; of atoms over 40 nats outside the nodes only masses enter, and e^-40 of their place."""
    loss = law.atoms.loss
    near = (loss >= nodes[0] - _FAR) & (loss <= nodes[-1] + _FAR)
    return float(np.max(law.loss_error[near], initial=0.0))


def _spread(cells: Cells, nodes: Array) -> Array:
    """Split each cell between its ends: p_b = excess/(e^b - e^a), p_a = deficit/(1 - e^(a-b))."""
    grow = 1 + cells.slack + 32 * UNIT
    excess, deficit, width = cells.excess * grow, cells.deficit * grow, np.diff(nodes)
    p = np.zeros(len(nodes))
    p[1:] += _lifted(nodes[1:], excess[1:-1]) / -np.expm1(-width)
    p[:-1] += deficit[1:-1] / -np.expm1(-width)
    p[0] += _lifted(nodes[:1], excess[:1])[
        0
    ]  # below the nodes: Q-mass to the first, the rest of P to -infinity
    p[-1] += deficit[-1]  # above them: P-mass to the last, the rest of Q to +infinity
    return np.nextafter(p, np.inf)


def _locate(loss: Array, nodes: Array) -> tuple[Index, Array]:
    """Return the node at or below each loss and the distance above it; a loss within rounding of a node is on it."""
    last = len(nodes) - 1
    index = np.clip(np.searchsorted(nodes, loss, side="right") - 1, 0, last)
    tolerance = 8 * UNIT * (1 + np.abs(loss))
    following = np.minimum(index + 1, last)
    index = np.where(np.abs(loss - nodes[following]) <= tolerance, following, index)
    above = loss - nodes[index]
    return index, np.where(np.abs(above) <= tolerance, 0.0, above)


def _weigh(log_p: Array, lean: Array, slack: Array, sign: int) -> Array:
    """Return e^(log_p + lean), rounded up or down; taken together so that neither factor underflows."""
    error = slack + UNIT * (32 + 4 * np.abs(lean) + 4 * np.abs(log_p))
    exponent = log_p + lean
    weighed = np.exp(np.minimum(exponent, 700.0)) * np.maximum(1 + sign * error, 0.0)
    return np.where(exponent > 700.0, np.inf, weighed) if sign > 0 else weighed


def _spread_atoms(law: LossLaw, nodes: Array, lean: Array) -> tuple[Array, float, float]:
    p = np.zeros(len(nodes))
    (loss, log_p, slack), error = law.atoms, np.minimum(law.loss_error, 1.0)
    if len(loss) == 0:
        return p, 0.0, 0.0
    index, above = _locate(loss, nodes)
    below, beyond = above < 0, (above > 0) & (index == len(nodes) - 1)
    width = np.append(np.diff(nodes), 1.0)[index]
    width = np.where(
        width > 0, width, 1.0
    )  # of two nodes that are one float the atoms there lie on the second
    # (e^a - 1)/(e^w - 1), without the e^w that floats do not hold.
    upper = np.where(
        beyond | below,
        0.0,
        np.exp(np.minimum(above - width, 0.0)) * -np.expm1(-np.maximum(above, 0.0)) / -np.expm1(-width),
    )
    lower = np.where(beyond | (above == 0), 1.0, -np.expm1(above - width) / -np.expm1(-width))
    lower = np.where(below, np.exp(np.minimum(above, 0.0)), lower)  # Q-mass to the first node
    following = np.minimum(index + 1, len(nodes) - 1)
    for target, share in ((index, lower), (following, upper)):
        taken = share > 0
        np.add.at(p, target[taken], (_weigh(log_p, lean[target], slack, +1)[taken]) * share[taken])
    lost = getattr(law, "lost", 0.0)
    top = np.sum(
        np.exp(log_p[beyond] + loss[beyond])
        * (1 + slack[beyond] + (32 + 2 * np.abs(loss[beyond])) * UNIT + 2 * error[beyond])
    )
    bottom = np.sum((np.exp(log_p) * (1 + slack + 32 * UNIT) * -np.expm1(np.minimum(above, 0.0)))[below])
    return np.nextafter(p, np.inf), float(top) + lost, float(bottom) + lost


def _move_atoms(law: LossLaw, nodes: Array, lean: Array, *, down: bool) -> Array:
    """Move every atom to the node below it, or for the reversed law to the node above, with what keeps its ratio.

    Moved down with its P-mass alone an atom loses Q-mass, first order in the distance; taking a little P-mass from the
    atom below instead brings the barycentre onto the node, a merger, which is second order.
    """
    p = np.zeros(len(nodes))
    loss, log_p, slack = law.atoms
    if len(loss) == 0:
        return p
    index, above = _locate(loss, nodes)
    if down:
        keep, target = above >= 0, index
        inside = np.where(keep, above, 0.0)
        log_moved = _draw_from_below(loss, log_p, loss - inside)
    else:
        target = np.where(above > 0, index + 1, index)
        keep = (target < len(nodes)) & (above >= 0)
        target = np.minimum(target, len(nodes) - 1)
        goal = np.where(keep & (above > 0), nodes[target], loss)
        # The same for (Q, P): losses change sign and order, masses are taken under Q.
        log_moved = _draw_from_below(-loss[::-1], (log_p + loss)[::-1], -goal[::-1])[::-1] - goal
    np.add.at(
        p,
        target[keep],
        _weigh(log_moved, lean[target], _near(slack) + 16 * UNIT * (1 + np.abs(loss)), -1)[keep],
    )
    return np.maximum(np.nextafter(p, -np.inf), 0.0)


def _near(slack: Array) -> Array:
    """Return the largest slack of an atom and its neighbours."""
    padded = np.concatenate([slack[:1], slack, slack[-1:]])
    return np.asarray(np.maximum.reduce([padded[:-2], padded[1:-1], padded[2:]]))


def _draw_from_below(loss: Array, log_p: Array, goal: Array) -> Array:
    """Return log-masses at ``goal`` (at or below ``loss``) after each atom drew from the one below what its move needs.

    With x_j the share that atom j hands up, (1 - x_j) p_j (e^l_j - s_j) >= x_(j-1) p_(j-1) (s_j - e^l_(j-1)) keeps every
    barycentre at or above its goal s_j; what is left over is Q-mass lost. The factor 1 - 1e-6 covers rounding.
    """
    gap = np.maximum(loss - goal - 16 * UNIT * (1 + np.abs(loss)), 0.0)
    if not gap.any():
        return log_p
    room = goal[1:] - loss[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_need = (
            log_p[1:]
            - log_p[:-1]
            + gap[1:]
            + np.log(-np.expm1(-gap[1:]))
            - np.log(-np.expm1(-np.maximum(room, 1e-300)))
        )
    # Finite, so that an atom that hands up all can draw nothing (0 times infinity is no bound); drawing less is always allowed.
    need = np.where((room > 2 * gap[1:]) & ~np.isnan(log_need), np.exp(np.minimum(log_need, 600.0)), 0.0) * (
        1 - 1e-6
    )
    share = np.zeros(len(loss))
    wanted, given = need.tolist(), 0.0
    for j in range(len(loss) - 2, -1, -1):
        given = min(1.0, (1.0 - given) * wanted[j])
        share[j] = given
    received = np.append(0.0, share[:-1] * np.exp(np.minimum(log_p[:-1] - log_p[1:], 600.0)))
    with np.errstate(divide="ignore"):
        return np.asarray(log_p + np.log(1 - share + received))


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


def _lifted(loss: Array, q: Array) -> Array:
    """Return e^-loss q, Q-mass as P-mass; nothing stays nothing where e^-loss is beyond the floats."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(q > 0, np.exp(-loss) * q, 0.0)


class _Polygon:
    """Tangents at cuts; ``rise`` and ``fall`` are (h - tangent)/ratio at the left and right end of the cells.

    The first cut sits on the first node and the last on the last, so the polygon starts and ends on h itself and
    keeps both masses of what the nodes enclose.
    """

    def __init__(self, law: LossLaw, inner: Cells, nodes: Array) -> None:
        self.law, self.nodes = law, nodes
        size, width = len(nodes), np.diff(nodes)
        self.cuts = _cuts(masses(inner, nodes)[0], nodes)
        self.rise, self.fall, self.extra, self.slack = (np.zeros(size) for _ in range(4))
        self.to_left, self.to_right = 1 / -np.expm1(-width), 1 / np.expm1(width)
        self.chord, self.own = np.zeros(size), np.zeros(size)
        self.chord[1:] += (
            _lifted(nodes[1:], inner.excess) * self.to_left
        )  # e^-a/(e^(b-a) - 1) = e^-b/(1 - e^(a-b))
        self.chord[:-1] += inner.deficit * self.to_left
        self.own[:-1] += self.to_right
        self.own[1:] += self.to_left
        self.measure(np.arange(size - 1))
        np.maximum.at(self.slack, np.arange(size - 1), inner.slack)

    def measure(self, which: Index) -> None:
        """Integrate both halves of the chosen cells."""
        edges = np.stack([self.nodes[which], self.cuts[which], self.nodes[which + 1]], axis=1).ravel()
        repeated = np.append(
            True, np.diff(edges) != 0
        )  # neighbours share a node: do not pay for the empty cell
        cells = self.law.cells(edges[repeated]) if repeated.sum() > 1 else None
        if cells is None:
            return
        whole = (np.cumsum(repeated) - 1)[:-1]
        distinct = repeated[1:]
        excess, deficit, slack = (np.where(distinct, np.append(part, 0.0)[whole], 0.0) for part in cells)
        self.rise[which] = _lifted(self.nodes[which], excess[::3])
        self.fall[which + 1] = deficit[1::3]
        self.slack[which] = np.maximum(slack[::3], slack[1::3])

    def masses(self) -> tuple[Array, Array]:
        """Return the second differences of the polygon and a bound on their rounding."""
        drop = np.maximum(self.rise, self.fall) + self.extra
        p = self.chord + self.own * drop
        drawn = np.zeros(len(p))
        drawn[:-1] += self.to_left * drop[1:]
        drawn[1:] += self.to_right * drop[:-1]
        near = np.concatenate(
            [[0.0, 0.0], self.slack, [0.0]]
        )  # a node feels the cells from two before it to one after
        slack = np.maximum.reduce([near[:-3], near[1:-2], near[2:-1], near[3:]])
        noise = (p + drawn) * (slack + 32 * UNIT)
        return p - drawn, noise

    def ends_hold(self) -> tuple[bool, bool]:
        """Whether the end cells' own gaps are the drops of the nodes next to the ends: then the end masses are 0 exactly."""
        near = self.slack[[0, 1, -3, -2]] if len(self.slack) > 3 else self.slack
        margin = 1 - 8 * float(np.max(near)) - 64 * UNIT
        first = self.rise[1] <= self.fall[1] * margin and self.extra[1] == 0
        last = self.fall[-2] <= self.rise[-2] * margin and self.extra[-2] == 0
        return bool(first), bool(last)

    def bend(self, lacking: Index, goal: Array) -> None:
        """Raise the masses at ``lacking`` by ``goal``: move the cut that reaches too far first, else lower the node."""
        last = len(self.nodes) - 1
        right, left = np.minimum(lacking + 1, last), np.maximum(lacking - 1, 0)
        # The cuts of the end cells stay where they are: they keep both masses of what the nodes enclose.
        margin = 1 - 1e-9 - 16 * self.slack
        far_right = (self.rise[right] > (self.fall * margin)[right]) & (right < last - 1)
        far_left = ~far_right & (self.fall[left] > (self.rise * margin)[left]) & (left > 1)
        move, back = right[far_right], left[far_left]
        aim = self.rise[move] - goal[far_right] / self.to_left[move - 1]
        self.cuts[move] -= (self.cuts[move] - self.nodes[move]) * _retreat(
            aim, self.rise[move], (self.fall * margin)[move]
        )
        aim = self.fall[back] - goal[far_left] / self.to_right[back]
        self.cuts[back - 1] += (self.nodes[back] - self.cuts[back - 1]) * _retreat(
            aim, self.fall[back], (self.rise * margin)[back]
        )
        self.measure(np.unique(np.concatenate([move, back - 1])))
        stuck = ~(far_right | far_left)
        self.extra[lacking[stuck]] += goal[stuck] / self.own[lacking[stuck]]


def _retreat(aim: Array, value: Array, floor: Array) -> Array:
    """Fraction of its way a cut goes back for its gap to fall from ``value`` to ``aim``: linear, so never too little."""
    wanted = np.maximum(aim, floor * (1 - 1e-9)) / np.where(value > 0, value, 1.0)
    return np.where(wanted < 1e-9, 1.0, 1 - np.maximum(wanted, 0.0))


def _merge(law: LossLaw, nodes: Array) -> AtomicLaw:
    """Return one atom with all the mass between the nodes: a garbling, for laws narrower than the spacing."""
    a, b = nodes[0], nodes[-1]
    cell = law.cells(np.array([a, b]))
    p = float(masses(cell, np.array([a, b]))[0][0])
    if not p > 0:
        return AtomicLaw(np.zeros(0), np.zeros(0))
    loss = a + np.log1p(cell.excess * np.exp(-a) / p)
    return AtomicLaw(loss, np.log([p]), slack=cell.slack + 64 * UNIT)


def _gather(law: LossLaw, inner: Cells, nodes: Array) -> Array | None:
    """Return the masses of the tangent polygon, rounded down, or None if there is none; what lies outside is dropped.

    Where a tail falls too steeply for its cells the polygon cannot be bent there: the tail is dropped as well.
    """
    filled = np.flatnonzero(inner.excess + inner.deficit > 0)
    gathered = np.zeros(len(nodes))
    first, last = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (0, 0)
    for _ in range(_ATTEMPTS):
        if last - first < 2:
            break
        polygon = _Polygon(law, Cells(*(values[first:last] for values in inner)), nodes[first : last + 1])
        masses_, lacking = _convex(polygon)
        if len(lacking) == 0:
            gathered[first : last + 1] = masses_
            return gathered
        if 2 * lacking[0] > last - first:
            last = first + int(lacking[0])
        elif 2 * lacking[-1] < last - first:
            first += int(lacking[-1])
        else:
            break
    return None


def _convex(polygon: _Polygon) -> tuple[Array, Index]:
    """Bend the polygon until it is convex; return its masses, and the nodes where that failed.

    At both ends its mass is zero exactly, because the end cell is gathered whole into its inner node; elsewhere a
    computed mass above its rounding proves convexity.
    """
    lacking = np.zeros(0, dtype=np.int64)
    for _ in range(_REPAIRS):
        p, noise = polygon.masses()
        starts, ends = polygon.ends_hold()
        p[0], p[-1] = (noise[0] if starts else p[0]), (noise[-1] if ends else p[-1])
        lacking = np.flatnonzero(p < noise)
        held = polygon.extra[0] == polygon.extra[-1] == 0
        if len(lacking) == 0 and held:
            return p - noise, lacking
        if not held:
            return p, np.array([0] if polygon.extra[0] else [len(p) - 1])
        polygon.bend(lacking, 2 * noise[lacking] - p[lacking])
    return p, lacking
