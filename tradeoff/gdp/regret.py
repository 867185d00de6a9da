"""What is lost by reporting G_mu (x) f_{0,failure}, and the best case, from nodes of the profile."""

from __future__ import annotations

from functools import partial

import numpy as np

from tradeoff.families.gaussian import Gaussian
from tradeoff.gdp.profile import Mask, gaps, goal, stays_above
from tradeoff.gdp.search import FAR
from tradeoff.intervals.functions import exp, maximum
from tradeoff.intervals.roots import largest
from tradeoff.operators.profile_nodes import Floor, Nodes, under

_ROUNDS = 8
"""Rounds of halving open cells: to a 256th, where the regret is known to a thousandth."""

_MOST_NODES = 1000
"""Nodes after which what is known is reported: a second for closed forms."""

_REGRET_CLOSE = 1e-6
"""Regret that nobody tells from none."""

_BEST_CLOSE = 1e-4
"""Relative width of the best case, which is shown with four digits."""

_HALVINGS = 20
"""Halvings for six digits of mu, more than are shown."""

_SHARP = 1e-6
"""Relative width of delta at nodes whose own bounds would hide a regret, half of theirs, of a millionth."""


def reaching(nodes: Nodes, far: float) -> Nodes:
    """Return the nodes with a few more from their end to ``far``."""
    last = float(nodes.epsilon[-1])
    return nodes.more(np.linspace(last, far, 9)[1:]) if far > last else nodes


def regret(nodes: Nodes, mu: float, failure: float) -> tuple[float, float, Nodes]:
    """Bound the regret in one order, to a thousandth of it or a millionth; with the nodes that took."""
    for _ in range(_ROUNDS):
        least, most = gaps(nodes, mu, failure)
        open_ = np.flatnonzero(most > least + max(_REGRET_CLOSE, 1e-3 * least))
        if len(open_) == 0 or len(nodes.epsilon) > _MOST_NODES:
            break
        ends = np.union1d(open_, open_ + 1)
        wide = ends[(nodes.upper - nodes.lower)[ends] > _REGRET_CLOSE / 2]
        nodes = (nodes.sharper(wide, _SHARP) if len(wide) else nodes).more(nodes.middle(open_), _SHARP)
    # From the last node on delta_g only falls, and delta_f stays above Q(L = inf).
    last = nodes.epsilon[-1:]
    gap = goal(mu, failure, last) - nodes.curve.mass_at_infinity.lower
    tail = maximum(gap, 0.0) / (1 + exp(last))
    return least, max(float(np.max(most)), float(tail.upper[0])), nodes


def best_mu(nodes: Nodes, failure: float, most: float) -> float:
    """Return a mu, large, with delta_{G_mu} <= failure + (1 - failure) delta_f on every cell and beyond."""
    low, most = 0.0, most if np.isfinite(most) else FAR
    # Without failure the tail of f must be heavier than any Gaussian's: no node can say that.
    for _ in range(_ROUNDS if max(failure, nodes.curve.mass_at_infinity.lower) > 0 else 0):
        floor = under(nodes)
        low = largest(partial(_holds, nodes, floor, failure), low, most, _HALVINGS)
        high = largest(partial(_may_hold, nodes, failure), low, most, _HALVINGS)
        open_ = ~_below(nodes, floor, failure, (low + 3 * high) / 4)
        if high - low <= _BEST_CLOSE * high or not open_.any() or len(nodes.epsilon) > _MOST_NODES:
            break
        beyond = nodes.epsilon[-1:] * (1.1 if open_[-1] else 1.0)
        nodes = nodes.more(np.append(nodes.middle(np.flatnonzero(open_[:-1])), beyond))
    return low


def _holds(nodes: Nodes, floor: Floor, failure: float, mu: float) -> bool:
    return bool(_below(nodes, floor, failure, mu).all())


def _may_hold(nodes: Nodes, failure: float, mu: float) -> bool:
    """Whether no node refutes it."""
    return bool(
        np.all(Gaussian(mu).bounds.delta(nodes.epsilon).lower <= failure + (1 - failure) * nodes.upper)
    )


def _below(nodes: Nodes, floor: Floor, failure: float, mu: float) -> Mask:
    """Whether G_mu is above f (x) f_{0,failure} on each cell, and beyond the last."""
    tail = Gaussian(mu).bounds.delta(nodes.epsilon[-1]).upper <= max(
        failure, nodes.curve.mass_at_infinity.lower
    )
    return np.append(stays_above(nodes, floor, mu, failure), bool(tail))
