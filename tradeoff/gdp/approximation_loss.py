"""What is lost by reporting G_mu (x) f_{0,failure}, and the best case, from nodes of the profile."""

from __future__ import annotations

from functools import partial

import numpy as np

from tradeoff.gdp.profile import Mask, above, gaps, goal, stays_above
from tradeoff.gdp.search import FAR, by_polygons
from tradeoff.intervals.functions import exp, maximum
from tradeoff.intervals.roots import find_root, largest
from tradeoff.operators.profile_samples import Floor, Nodes, under

_ROUNDS = 8  # rounds of halving open cells: to a 256th, where the regret is known to a thousandth
_MOST_NODES = 1000  # further nodes after which what is known is reported: a second for closed forms

_REGRET_CLOSE = 1e-6  # regret that nobody tells from none
_SHARE = 1e-3  # share of a larger one to which it is known
_BEST_CLOSE = 1e-4  # relative width of the best case, which is shown with four digits
_HALVINGS, _FINER = 20, 6  # halvings for six digits of mu, more than are shown; and from four digits on


def reaching(nodes: Nodes, far: float) -> Nodes:
    """Return the nodes with a few more from their end to ``far``."""
    last = float(nodes.epsilon[-1])
    return nodes.more(np.linspace(last, far, 9)[1:]) if far > last else nodes


def regret(nodes: Nodes, mu: float, failure: float) -> tuple[float, float, Nodes]:
    """Bound the regret in one order, to a thousandth of it or a millionth; with the nodes that took."""
    limit, direct = len(nodes.epsilon) + _MOST_NODES, not by_polygons(nodes.curve)
    for _ in range(_ROUNDS):
        least, most = gaps(nodes, mu, failure)
        close = max(_REGRET_CLOSE, _SHARE * least)
        open_ = np.flatnonzero(most > least + close)
        if len(open_) == 0 or len(nodes.epsilon) > limit:
            break
        ends = np.union1d(open_, open_ + 1)
        wide = ends[(nodes.upper - nodes.lower)[ends] > close / 2]
        middle, tol = nodes.middle(open_), None
        if direct and len(wide):  # one question: its tables serve all
            middle, tol = np.append(middle, nodes.epsilon[wide]), close / 4
            nodes = nodes.some(np.delete(np.arange(len(nodes.epsilon)), wide))
        nodes = nodes.more(middle, tol)
    # From the last node on delta_g only falls, and delta_f stays above Q(L = inf).
    last = nodes.epsilon[-1:]
    gap = goal(mu, failure, last) - nodes.curve.mass_at_infinity.lower
    tail = maximum(gap, 0.0) / (1 + exp(last))
    return least, max(float(np.max(most)), float(tail.upper[0])), nodes


def best_mu(nodes: Nodes, failure: float, most: float) -> float:
    """Return a mu, large, with delta_{G_mu} <= failure + (1 - failure) delta_f on every cell and beyond."""
    # Without failure the tail of f must be heavier than any Gaussian's: no node can say that.
    if max(failure, nodes.curve.mass_at_infinity.lower) <= 0:
        return 0.0
    high, limit = most if np.isfinite(most) else FAR, len(nodes.epsilon) + _MOST_NODES
    for _ in range(_ROUNDS):
        high = find_root(partial(_excess, nodes, failure), 0.0, high, _BEST_CLOSE * high / 16)
        floor, close = under(nodes), (1 - _BEST_CLOSE / 4) * high
        open_ = ~_below(nodes, floor, failure, close)
        if not open_.any() or len(nodes.epsilon) > limit:
            break
        beyond = nodes.epsilon[-1:] * (1.1 if open_[-1] else 1.0)
        nodes = nodes.more(np.append(nodes.middle(np.flatnonzero(open_[:-1])), beyond))
    known, floor = 0.0 if open_.any() else close, under(nodes)
    halvings = _FINER if known else _HALVINGS
    return largest(lambda mu: bool(_below(nodes, floor, failure, mu).all()), known, high, halvings)


def _excess(nodes: Nodes, failure: float, mu: float) -> float:
    """Return the log of what mu gives over what is there, at the worst node: above 0 where one refutes it."""
    with np.errstate(divide="ignore"):
        result = np.log(above(mu, nodes.epsilon).lower)
    return float(np.max(result - np.log(failure + (1 - failure) * nodes.upper)))


def _below(nodes: Nodes, floor: Floor, failure: float, mu: float) -> Mask:
    """Whether G_mu is above f (x) f_{0,failure} on each cell, and beyond the last."""
    tail = above(mu, nodes.epsilon[-1:]).upper[0] <= max(failure, nodes.curve.mass_at_infinity.lower)
    return np.append(stays_above(nodes, floor, mu, failure), bool(tail))
