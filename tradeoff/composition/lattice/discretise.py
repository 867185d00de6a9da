"""From one law of L to measures on a set of lattice nodes, one on each side of the truth.

``over`` spreads every cell to its two ends and keeps both masses: a mean-preserving spread of the ratio, so
its hockey-stick is above (Doroshenko et al., Connect the Dots, PoPETs 2022). ``under`` is the polygon of
tangents to the hockey-stick h at one cut a cell, lowered where two tangents disagree at a node: every chord
lies under a tangent, hence under h. A hockey-stick grows with each mass, so masses rounded up (down) keep the
side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradeoff.composition.lattice.atoms import Lean, moved, spread
from tradeoff.composition.lattice.tangents import Run, gathered, lifted
from tradeoff.intervals.rounding import TINY, UNIT, Array
from tradeoff.loss.discrete import AtomicLaw
from tradeoff.loss.law import Cells, LossLaw, masses

_FAR = 40.0
"""Atoms this far outside the nodes are moved by amounts of e^-40, below a unit, wherever exactly they lie."""


@dataclass(frozen=True, eq=False)
class DiscretisedLaw:
    """P-masses at ``nodes`` times e^(slope node - log_scale); the end masses are not tilted.

    ``over_top`` is Q-mass of ``over`` at +infinity, ``over_bottom`` its P-mass at -infinity. ``under`` is
    below the hockey-stick of T(P, Q), ``under_reversed`` below that of T(Q, P).
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
    lean = Lean.of(slope, nodes, log_scale)
    over, top, bottom = spread(law, nodes, lean)
    under, under_reversed = (moved(law, nodes, lean, down=down) for down in (True, False))
    if law.continuous:
        cells = law.cells(np.concatenate([[-np.inf], nodes, [np.inf]]))
        over += _weighed(_spread_cells(cells, nodes), lean)
        top += cells.excess[-1] * (1 + cells.slack[-1])
        bottom += cells.deficit[0] * (1 + cells.slack[0])
        polygon, crowds = gathered(law, Cells(*(part[1:-1] for part in cells)), nodes)
        polygon = _weighed(polygon, lean, down=True)
        under += polygon + moved(_merged(law, nodes, crowds, down=True), nodes, lean, down=True)
        under_reversed += polygon + moved(_merged(law, nodes, crowds, down=False), nodes, lean, down=False)
    grow = 1 + 16 * UNIT  # two sums of at most three terms, each times 1 + slack
    # 6 units of 1 + |L| for an atom taken to be on a node, 2 of |L| for a node's own rounding (what its
    # offset adds to that is charged where offsets are added up).
    shift = 8 * UNIT * (1 + float(np.max(np.abs(nodes)))) + _loss_error(law, nodes)
    if law.continuous:
        shift += float(np.max(law.edge_error(nodes)))
    return DiscretisedLaw(
        nodes, over, (top + law.q_plus) * grow, (bottom + law.p_minus) * grow, under, under_reversed, shift
    )


def _loss_error(law: LossLaw, nodes: Array) -> float:
    """Bound the errors of the losses of atoms that are among the nodes or near them."""
    loss = law.atoms.loss
    near = (loss >= nodes[0] - _FAR) & (loss <= nodes[-1] + _FAR)
    return float(np.max(law.loss_error[near], initial=0.0))


def _weighed(mass: Array, lean: Lean, *, down: bool = False) -> Array:
    """Return mass times e^lean, rounded to one side.

    16 units for the exponential, the products and two sums after it.
    """
    error = lean.error + 16 * UNIT
    if down:
        return np.asarray(mass * np.exp(np.minimum(lean.value, 700.0)) * np.maximum(1 - error, 0.0))
    exponent = lean.value + error
    with np.errstate(invalid="ignore"):  # an overflow makes the upper side infinite: nothing is claimed
        return np.where(exponent > 700.0, np.inf, mass * np.exp(np.minimum(exponent, 700.0)))


def _spread_cells(cells: Cells, nodes: Array) -> Array:
    """Split each cell between its ends: p_b = excess/(e^b - e^a), p_a = deficit/(1 - e^(a-b)).

    32 units: 8 for each of two exponentials, 2 for the slack, 1 for the width, the division and each of three
    sums. What underflows before the division is below TINY.
    """
    grow = 1 + cells.slack + 32 * UNIT
    excess, deficit, whole = cells.excess * grow, cells.deficit * grow, -np.expm1(-np.diff(nodes))
    p = np.zeros(len(nodes))
    p[1:] += (lifted(nodes[1:], excess[1:-1]) + TINY) / whole
    p[:-1] += (deficit[1:-1] + TINY) / whole
    p[:1] += lifted(nodes[:1], excess[:1])  # below the nodes: Q-mass to the first, the rest of P to -infinity
    p[-1] += deficit[-1]  # above them: P-mass to the last, the rest of Q to +infinity
    return np.nextafter(p, np.inf)


def _merged(law: LossLaw, nodes: Array, runs: list[Run], *, down: bool) -> AtomicLaw:
    """Return an atom for each run of cells, with all their mass: a garbling, for crowds within a spacing.

    Its loss a + log1p(x), x = e^-a excess/P, is known to x/(1 + x) times the slack of both masses and 32
    units, over 1 less a slack, and to 4 units of its terms; it is rounded against its later move.
    """
    if not runs:
        return AtomicLaw(np.zeros(0), np.zeros(0))
    edges = nodes[np.array(runs).ravel()]
    cells = law.cells(edges)
    p = masses(cells, edges)[0]
    with np.errstate(divide="ignore", invalid="ignore"):  # of an empty run, or a loss beyond the floats
        x = lifted(edges[:-1], cells.excess) / p
        loss = edges[:-1] + np.log1p(x)
        unsure = (2 * cells.slack + 32 * UNIT) / np.maximum(1 - cells.slack, UNIT)
        off = x / (1 + x) * unsure + 4 * UNIT * (np.abs(edges[:-1]) + np.abs(loss))
    loss = loss - off if down else loss + off
    # Every other cell is a run; those two are left out.
    held = np.isfinite(loss) & (p > 0) & (np.arange(len(p)) % 2 == 0)
    return AtomicLaw(loss[held], np.log(p[held]), slack=(cells.slack + 64 * UNIT + off)[held])
