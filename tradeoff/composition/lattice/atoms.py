"""Atoms of a law on lattice nodes: spread to both sides of them, or moved to one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array, Index
from tradeoff.loss.law import LossLaw


class Lean(NamedTuple):
    """Exponents slope L - log_scale at the nodes, and how far they may be off."""

    value: Array
    error: Array

    @classmethod
    def of(cls, slope: float, nodes: Array, log_scale: float) -> Lean:
        """Lean by ``slope``: a unit of slope L for the product, one for the difference, two for the node.

        One more is for the sum of the value and its error.
        """
        tilted = slope * nodes
        return cls(tilted - log_scale, 5 * UNIT * (np.abs(tilted) + abs(log_scale)))


def _locate(loss: Array, nodes: Array) -> tuple[Index, Array]:
    """Return the node at or below each loss, or within rounding of it, and the distance above."""
    last = len(nodes) - 1
    index = np.clip(np.searchsorted(nodes, loss, side="right") - 1, 0, last)
    tolerance = 6 * UNIT * (1 + np.abs(loss))
    following = np.minimum(index + 1, last)
    index = np.where(np.abs(loss - nodes[following]) <= tolerance, following, index)
    above = loss - nodes[index]
    return index, np.where(np.abs(above) <= tolerance, 0.0, above)


def _weigh(log_p: Array, lean: Lean, at: Index, slack: Array, sign: int) -> Array:
    """Return e^(log_p + lean) at the nodes, rounded up or down; taken together so that neither underflows.

    Sums are rounded to two units of each term; 48 units: 8 for each of four exponentials, and products.
    """
    exponent = log_p + lean.value[at]
    error = slack + lean.error[at] + UNIT * (48 + 2 * np.abs(log_p) + 2 * np.abs(lean.value[at]))
    if sign < 0:
        return np.asarray(np.exp(np.minimum(exponent, 700.0)) * np.maximum(1 - error, 0.0))
    exponent = exponent + error
    return np.where(exponent > 700.0, np.inf, np.exp(np.minimum(exponent, 700.0)))


def _added(at: Index, mass: Array, size: int, sign: int) -> Array:
    """Add masses up node by node, rounded to one side: a unit for each of them."""
    units = np.bincount(at, minlength=size) * UNIT
    total = np.bincount(at, weights=mass, minlength=size) * np.maximum(1 + sign * units, 0.0)
    return np.asarray(np.nextafter(total, sign * np.inf))


def spread(law: LossLaw, nodes: Array, lean: Lean) -> tuple[Array, float, float]:
    """Split atoms between the nodes around them; return also Q-mass at +infinity and P-mass at -infinity.

    Of an atom at L in [a, b] the share (1 - e^(L-b))/(1 - e^(a-b)) goes to a, and to b
    e^(L-b) (1 - e^(a-L))/(1 - e^(a-b)). Below the nodes Q-mass goes to the first, the rest of P to -infinity;
    above them P-mass to the last and all of Q to +infinity, both as if the loss lay at its worst.
    """
    (loss, log_p, slack), error = law.atoms, law.loss_error
    size, lost = len(nodes), law.lost
    if len(loss) == 0:
        return np.zeros(size), lost, lost
    index, above = _locate(loss, nodes)
    following = np.minimum(index + 1, size - 1)
    below, beyond = above < 0, (above > 0) & (index == size - 1)
    inside, rest = np.maximum(above, 0.0), np.maximum(nodes[following] - loss, 0.0)
    width = nodes[following] - nodes[index]
    whole = -np.expm1(-np.where(width > 0, width, 1.0))  # of two nodes that are one float the second has all
    # Shares are e^-fall times a part: the weight of a node may outgrow floats as fast as e^-fall leaves them.
    fall = np.concatenate([np.where(below, np.maximum(-above - error, 0.0), 0.0), rest])
    part = np.concatenate(
        [
            np.where(below | beyond | (inside == 0), 1.0, -np.expm1(-rest) / whole),
            np.where(below | beyond, 0.0, -np.expm1(-inside) / whole),
        ]
    )
    kept = np.flatnonzero(part > 0)
    atom, at = kept % len(loss), np.concatenate([index, following])[kept]
    masses = _weigh(log_p[atom] - fall[kept], lean, at, slack[atom] + 2 * UNIT * fall[kept], +1) * part[kept]
    # 64 units: 8 for each exponential, the sum of the exponent by its terms, and that of the masses by pairs.
    grow = 1 + slack + UNIT * (64 + np.abs(log_p) + 2 * np.abs(loss))
    top = np.sum((np.exp(np.minimum(log_p + loss + error, 0.0)) * grow)[beyond])
    bottom = np.sum((np.exp(log_p) * grow * -np.expm1(np.minimum(above - error, 0.0)))[below])
    return _added(at, masses, size, +1), float(top) + lost, float(bottom) + lost


def moved(law: LossLaw, nodes: Array, lean: Lean, *, down: bool) -> Array:
    """Move every atom to the node below it, for the reversed law above, with what keeps its ratio.

    Moved down with its P-mass alone an atom loses Q-mass, first order in the distance; taking a little P-mass
    from the atom below instead brings the barycentre onto the node, a merger, which is second order.
    """
    loss, log_p, slack = law.atoms
    if len(loss) == 0:
        return np.zeros(len(nodes))
    index, above = _locate(loss, nodes)
    if down:
        keep, target = above >= 0, index
        goal = np.where(keep, nodes[target], loss)
        log_moved = _draw_from_below(loss, log_p, goal, law.loss_error)
    else:
        target = np.where(above > 0, index + 1, index)
        keep = (target < len(nodes)) & (above >= 0)
        target = np.minimum(target, len(nodes) - 1)
        goal = np.where(keep, nodes[target], loss)
        # The same for (Q, P): losses change sign and order, masses are taken under Q.
        back = _draw_from_below(-loss[::-1], (log_p + loss)[::-1], -goal[::-1], law.loss_error[::-1])
        log_moved = back[::-1] - goal
    rounding = 16 * UNIT * (1 + np.abs(loss) + np.abs(goal))  # of log Q, of what was drawn, and of the place
    mass = _weigh(log_moved, lean, target, _near(slack) + rounding, -1)
    return np.maximum(_added(target[keep], mass[keep], len(nodes), -1), 0.0)


def _near(slack: Array) -> Array:
    """Return the largest slack of an atom and its neighbours."""
    padded = np.concatenate([slack[:1], slack, slack[-1:]])
    return np.asarray(np.maximum.reduce([padded[:-2], padded[1:-1], padded[2:]]))


def _draw_from_below(loss: Array, log_p: Array, goal: Array, error: Array) -> Array:
    """Return log-masses at ``goal <= loss`` after each atom drew from the one below what its move needs.

    With x_j the share that atom j hands up, (1 - x_j) p_j (e^l_j - s_j) >= x_(j-1) p_(j-1) (s_j - e^l_(j-1))
    keeps every barycentre at or above its goal s_j; what is left over is Q-mass lost. Drawing less is always
    allowed: gaps are taken 16 units and the loss's error smaller, and of what they allow 1e-6 less, which is
    more than the roundings of masses and of a room above two gaps.
    """
    gap = np.maximum(loss - goal - error - 16 * UNIT * (1 + np.abs(loss)), 0.0)
    if not gap.any():
        return log_p
    room = goal[1:] - loss[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_need = log_p[1:] - log_p[:-1] + gap[1:] + np.log(-np.expm1(-gap[1:]))
        log_need -= np.log(-np.expm1(-np.maximum(room, 1e-300)))
    # Finite, so that an atom that hands up all can draw nothing: 0 times infinity is no bound.
    allowed = (room > 2 * gap[1:]) & ~np.isnan(log_need)
    need = np.where(allowed, np.exp(np.minimum(log_need, 600.0)), 0.0) * (1 - 1e-6)
    share = np.zeros(len(loss))
    wanted, given = need.tolist(), 0.0
    for j in range(len(loss) - 2, -1, -1):
        given = min(1.0, (1.0 - given) * wanted[j])
        share[j] = given
    received = np.append(0.0, share[:-1] * np.exp(np.minimum(log_p[:-1] - log_p[1:], 600.0)))
    with np.errstate(divide="ignore"):
        return np.asarray(log_p + np.log(1 - share + received))
