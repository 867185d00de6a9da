"""From one law of L to measures on a set of lattice nodes, one on each side of the truth.

``over`` spreads every cell, the losses between two nodes, to its two ends and keeps both masses: a
mean-preserving spread of the ratio, so its hockey-stick is above (Doroshenko et al., Connect the Dots, PoPETs
2022). ``under`` merges the losses between two cuts, one in each cell, to one, whose hockey-stick is below,
and moves it down to the node there with a little mass of the one before. A hockey-stick grows with each mass,
so masses rounded up (down) keep the side.

A cell [a, b] is known by its excess Q - e^a P and its deficit P - e^-b Q, each to a relative ``slack``.
Masses are those under P unless said otherwise; an "error" is that of a loss in nats, a "tilt" the exponent
whose exponential multiplies a mass, so that neither has to be a float.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from tradeoff.intervals.bounds import Array, Index
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.law import Cells, PrivacyLossDistribution, masses
from tradeoff.pld.units import TINY, UNIT

_ABOVE = 0.002  # share of a cell by which merged losses lie above nodes: rounding leaves none below
_LEAST_MASS = (
    1e-303  # smaller masses may have lost more than their slack to underflow, a million terms of 5e-324
)


class Tilt(NamedTuple):
    """Exponents slope node - log_scale of all nodes, and how far those of a product of factors may be off."""

    value: Array
    error: Array


class DiscretisedLaw(NamedTuple):
    """P-masses at nodes times e^(slope node - log_scale), whose hockey-stick is above or below the law's.

    ``top`` is the Q-mass of ``over`` at +infinity, not tilted; ``shift`` bounds how far rounding may have
    moved a loss.
    """

    over: Array
    under: Array
    top: float
    shift: float


@np.errstate(over="ignore")  # e^width overflows for cells wider than 709 nats, where 1/inf = 0 is right
def discretise(
    law: PrivacyLossDistribution, nodes: Array, slope: float = 0.0, log_scale: float = 0.0
) -> DiscretisedLaw:
    """Put ``law`` on increasing ``nodes``, from both sides, its masses times e^(slope node - log_scale).

    Cost is two passes of cell integrals.
    """
    # Atoms farther outside the nodes have masses that allow for the errors of their losses
    # (``_split_atoms``), and change what ``_move_atoms`` takes from them by e^-40, below a unit.
    far = 40.0
    near, tilted = nodes[[0, -1]] + np.array([-far, far]), slope * nodes
    # A unit for the product, the difference, and the sum of the value and its error, and two for the node.
    tilt = Tilt(tilted - log_scale, 5 * UNIT * (np.abs(tilted) + abs(log_scale)))
    over, top = _split_atoms(law, nodes, tilt)
    under = _move_atoms(law, nodes, tilt)
    errors = law.atoms.error[(law.atoms.loss >= near[0]) & (law.atoms.loss <= near[1])]
    # 6 units of 1 + |L| for an atom taken to be on a node, 2 of |L| for a node's own rounding (that of its
    # offset is charged where offsets are added up).
    shift = 8 * UNIT * (1 + float(np.max(np.abs(nodes)))) + float(np.max(errors, initial=0.0))
    if law.continuous:
        cells = law.cells(np.concatenate([[-np.inf], nodes, [np.inf]]))
        # A cell [a, b] of excess Q - e^a P and deficit P - e^-b Q is split between its ends, P and Q kept:
        # p_b = excess/(e^b - e^a), p_a = deficit/(1 - e^(a-b)). 32 units: 8 for each of two exponentials, 2
        # for the slack, 1 for the width, the division and each of three sums. Underflow before the division
        # is below TINY.
        grow = 1 + cells.slack + 32 * UNIT
        excess, deficit, whole = cells.excess * grow, cells.deficit * grow, -np.expm1(-np.diff(nodes))
        p = np.zeros(len(nodes))
        p[1:] += (_to_p_mass(nodes[1:], excess[1:-1]) + TINY) / whole
        p[:-1] += (deficit[1:-1] + TINY) / whole
        # Below all nodes: Q-mass to the first, the rest of P to -infinity; above: P-mass to the last, the
        # rest of Q to +infinity.
        p[:1] += _to_p_mass(nodes[:1], excess[:1])
        p[-1] += deficit[-1]
        exponent = tilt.value + tilt.error + 16 * UNIT  # for the exponential, products and three sums
        with np.errstate(invalid="ignore"):  # an overflow makes the upper side infinite: nothing is claimed
            tilted = np.nextafter(p, np.inf) * np.exp(np.minimum(exponent, 700.0))
        over += np.where(exponent > 700.0, np.inf, tilted)
        top += cells.excess[-1] * (1 + cells.slack[-1])
        under += _merge_cells_below(law, cells, nodes, tilt)
        shift += float(np.max(law.edge_error(nodes)))
    # Two sums of at most three terms, each times 1 + slack.
    return DiscretisedLaw(over, under, (top + law.mass_at_plus_infinity) * (1 + 16 * UNIT), shift)


def _merge_cells_below(law: PrivacyLossDistribution, cells: Cells, nodes: Array, tilt: Tilt) -> Array:
    """Return ``under`` of the continuous part: losses between two cuts become one, a little above a node.

    That is post-processing. ``cells`` are those of the nodes, -inf and inf. From the node b on, above which
    one mass of each cell may have underflowed, all losses become one: with the excess E over b their
    hockey-stick is Q - e^x P = E + (e^b - e^x) P >= E (1 - e^(x-b)) for x <= b, that of an atom of Q-mass E
    on b. Units: 8 for a logarithm of itself, and one for its sum of each term.
    """
    inner = Cells(*(part[1:-1] for part in cells))  # between nodes
    certain = np.flatnonzero(np.minimum(inner.excess, inner.deficit) >= _LEAST_MASS)
    last = int(certain[-1]) + 1 if len(certain) else 0
    b = nodes[last]
    end = cells if last == len(nodes) - 1 else law.cells(np.array([b, np.inf]))
    log = math.log(end.excess[-1]) if _LEAST_MASS <= end.excess[-1] < math.inf else -math.inf
    some = np.zeros(int(log > -math.inf))
    units = UNIT * (64 + 8 * abs(log) + abs(b))
    tail = _move_atoms(AtomicLaw(some + b, some + log - b, slack=some + end.slack[-1] + units), nodes, tilt)
    return tail + _merge_best(law, Cells(*(part[:last] for part in inner)), nodes, tilt) if last else tail


class MergedCells(NamedTuple):
    """Cells between edges, each with the loss of all its mass, NaN where it is not known, and its P-mass."""

    edges: Array
    loss: Array
    log_p: Array
    slack: Array


def _merge_best(law: PrivacyLossDistribution, inner: Cells, nodes: Array, tilt: Tilt) -> Array:
    """Return masses at nodes for the best of three choices of cuts in the cells, by the Q-mass that is kept.

    Where masses are in geometric progression of ratio r^2, a cut at the share 1/(1 + r) of its cell makes
    losses those of nodes. Where the law begins abruptly nothing is below the first ones, from which they
    could draw: there the first cut is the node itself. Cuts halfway keep a bin that holds most of the mass,
    whose barycentre is a node.
    """
    within = nodes[: len(inner.slack) + 1]
    mass, width = masses(inner, within)[0], np.diff(within)
    padded = np.concatenate([mass[:1], mass, mass[-1:]])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.nan_to_num(1 / (1 + (padded[2:] / padded[:-2]) ** 0.25), nan=0.5)
    # A cell below a narrower one gives its upper node, above the cut at its ``share``, no more than that
    # does.
    share = 1 - (1 - share) * np.minimum(np.append(width[1:], width[-1:]) / width, 1.0)
    cuts, begin = within[:-1] + np.clip(share + _ABOVE, 0.02, 0.98) * width, int(np.argmax(mass > 0))
    late = np.where(np.arange(len(mass)) == begin, within[:-1], cuts)
    middles = within[:-1] + width / 2
    best, most, merged = np.zeros(len(nodes)), -1.0, None
    for chosen, first in ((cuts, -1), (late, begin), (middles, -1)):  # first: where the law begins, or -1
        merged = _merge_above_nodes(law, within, chosen, first, merged)
        known = ~np.isnan(merged.loss)
        atoms = AtomicLaw(merged.loss[known], merged.log_p[known], slack=merged.slack[known])
        result = _move_atoms(atoms, nodes, tilt)
        with np.errstate(over="ignore", invalid="ignore"):
            kept = float(np.nansum(result * np.exp(np.minimum(nodes - tilt.value, 700.0))))  # under Q
        if kept > most + 1e-10:
            best, most = result, kept
        whole = np.exp(np.minimum(atoms.log_p + atoms.loss, 0.0)) * (1 - 3 * atoms.atoms.slack)
        if kept >= (1 - 1e-9) * float(np.sum(whole)):  # all Q-mass but for slack
            break
    return best


def _merge_above_nodes(
    law: PrivacyLossDistribution, nodes: Array, cuts: Array, begin: int, known: MergedCells | None
) -> MergedCells:
    """Merge the losses between cuts to one loss for each node, at the node or above it, by raising cuts.

    A loss below its node would go down to the one before. It rises by half as much as the cut below it does,
    or where the law begins (cell ``begin``) by that of the one above it; and it is above the node where the
    cut is that node. ``known`` are losses merged before, of which those between equal cuts are used again.
    """
    near = np.diff(nodes, append=2 * nodes[-1] - nodes[-2])  # spacing above each node
    for attempt in range(8):  # the second time losses still below their nodes get these as cuts
        edges = np.maximum.accumulate(np.concatenate([nodes[:1], cuts, nodes[-1:]]))
        result = known = _merge_between(law, edges, known)
        below = result.loss < nodes
        if not below.any():
            break
        rise = 2 * np.nan_to_num(np.clip(nodes + _ABOVE * near - result.loss, 0.0, near / 2))
        raised = np.minimum(cuts + rise[1:], nodes[1:]) if attempt == 0 else nodes[1:]
        cuts = np.where(below[1:], np.maximum(cuts, raised), cuts)
        if 0 <= begin < len(cuts) - 2:
            cuts[begin] = edges[begin + 1]
            cuts[begin + 1] = max(cuts[begin + 1], min(edges[begin + 2] + rise[begin + 1], nodes[begin + 3]))
    return result


def _merge_between(law: PrivacyLossDistribution, edges: Array, known: MergedCells | None) -> MergedCells:
    """Merge all mass between two edges to one loss, copied from ``known`` if both edges are the same.

    That loss a + log1p(x), x = e^-a excess/P, is known to x/(1 + x) times the slack of both masses and 32
    units, over 1 less a slack, to 4 units of its terms, and to the errors of the edges; it is rounded down.
    """
    changed = np.ones(len(edges), bool) if known is None else edges != known.edges
    new = changed[:-1] | changed[1:]
    used = np.append(new, False) | np.append(False, new)
    if known is not None and not new.any():
        return known
    cells, a = law.cells(edges[used]), edges[used][:-1]
    p = masses(cells, edges[used])[0]
    with np.errstate(divide="ignore", invalid="ignore"):  # of an empty cell, or a loss that overflows
        x = _to_p_mass(a, cells.excess) / p
        loss = a + np.log1p(x)
        unsure = (2 * cells.slack + 32 * UNIT) / np.maximum(1 - cells.slack, UNIT)
        off = x / (1 + x) * unsure + 4 * UNIT * (np.abs(a) + np.abs(loss))
        moved_by = law.edge_error(edges[used])
        off += np.maximum(moved_by[:-1], moved_by[1:])
        certain = np.isfinite(loss - off) & (np.minimum(cells.excess, cells.deficit) >= _LEAST_MASS)
        parts = np.where(certain, loss - off, np.nan), np.log(p), cells.slack + 64 * UNIT + off
    place, old = (np.cumsum(used) - 1)[:-1][new], known[1:] if known is not None else parts
    result = [each.copy() for each in old]
    for side, part in zip(result, parts, strict=True):
        side[new] = part[place]
    return MergedCells(edges, *result)


def _locate(loss: Array, nodes: Array) -> tuple[Index, Array]:
    """Return the index of the node at or below each loss, up to rounding, and the distance above it."""
    last = len(nodes) - 1
    index = np.clip(np.searchsorted(nodes, loss, side="right") - 1, 0, last)
    tolerance = 6 * UNIT * (1 + np.abs(loss))
    following = np.minimum(index + 1, last)
    index = np.where(np.abs(loss - nodes[following]) <= tolerance, following, index)
    above = loss - nodes[index]
    return index, np.where(np.abs(above) <= tolerance, 0.0, above)


def _weigh(log_p: Array, tilt: Tilt, at: Index, slack: Array, sign: int) -> Array:
    """Bound e^(log_p + tilt) at nodes of indices ``at`` from above (``sign`` 1) or below (-1).

    The masses are known to ``slack``. Either factor alone may be no float. Sums are rounded to two units of
    each term; 48 units: 8 for this exponential and for each of at most three functions in a caller's masses,
    and products.
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


def _split_atoms(law: PrivacyLossDistribution, nodes: Array, tilt: Tilt) -> tuple[Array, float]:
    """Return ``over`` of the atoms, each split between the nodes around it, and its Q-mass at +infinity.

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
    alone = below | above_last  # outside the nodes
    inside, rest = np.maximum(above, 0.0), np.maximum(nodes[following] - loss, 0.0)
    width = nodes[following] - nodes[index]
    whole = -np.expm1(-np.where(width > 0, width, 1.0))  # of two nodes that are one float the second has all
    # Shares are e^-fall times a part: the weight of a node may outgrow floats as fast as e^-fall leaves them.
    fall = np.concatenate([np.where(below, np.maximum(-above - error, 0.0), 0.0), rest])
    to_node = np.where(alone | (inside == 0), 1.0, -np.expm1(-rest) / whole)
    part = np.append(to_node, np.where(alone, 0.0, -np.expm1(-inside) / whole))
    kept = np.flatnonzero(part > 0)
    atom, at = kept % len(loss), np.concatenate([index, following])[kept]
    masses = _weigh(log_p[atom] - fall[kept], tilt, at, slack[atom] + 2 * UNIT * fall[kept], +1) * part[kept]
    # 64 units: 8 for each exponential, the sum of the exponent by its terms, and that of the masses by pairs.
    grow = 1 + slack + UNIT * (64 + np.abs(log_p) + 2 * np.abs(loss))
    top = np.sum((np.exp(np.minimum(log_p + loss + error, 0.0)) * grow)[above_last])
    return _sum_at_nodes(at, masses, size, +1), float(top) + lost


def _move_atoms(law: PrivacyLossDistribution, nodes: Array, tilt: Tilt) -> Array:
    """Return ``under`` of the atoms, each moved to the node below it; those below all nodes go to -infinity.

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

    ``error`` is that of the losses. Atom j gives the share x_j of its mass p_j to atom j + 1. The barycentre
    of the ratios at the goal g_j is not below e^g_j, so that the hockey-stick does not rise, where

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


def _to_p_mass(loss: Array, q: Array) -> Array:
    """Return e^-loss q, the P-mass of Q-mass q; a mass of 0 stays 0 where e^-loss overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(q > 0, np.exp(-loss) * q, 0.0)
