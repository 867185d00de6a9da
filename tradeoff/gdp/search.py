"""The least mu of a whole profile: nodes where they are needed, as sharp as they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import NoClosedForm
from tradeoff.gdp.profile import Lines, cell_mu, needed, slopes
from tradeoff.intervals.rounding import Array
from tradeoff.loss.discrete import AtomicLaw
from tradeoff.operators.profile_nodes import Nodes

_ROUNDS = 12
"""Rounds of asking inside cells; each leaves a quarter of a smooth one's excess, or less."""

_MOST_NODES = 1000
"""Nodes after which what is known is reported: a second for closed forms."""

_CLOSE = 1e-9
"""Relative width of mu that is good enough."""

_SHARP = (1e-7, 1e-8)
"""Relative widths of delta that are asked in turn, where wider ones decide: the last costs ten times more."""

_FEW = 24
"""Nodes asked again at once: what is between them is then asked where it is needed."""

_AGAIN = 8
"""Rounds of asking again for each width."""

FAR = 40.0  # e^-40 is below every answer that a float resolves beside 1


@dataclass(frozen=True)
class Found:
    """Least mu that the nodes ask for, mu enough for every cell, the alpha that decides, and the nodes."""

    least: float
    most: float
    alpha: float
    nodes: list[Nodes]


def by_lines(orders: Sequence[TradeOff], failure: float, reach: Sequence[float]) -> Found:
    """Bound the least mu for eps in [0, reach] of each order; without an end, by a look at the nodes alone."""
    ends = max(reach) < np.inf
    nodes = [start(order, at if ends else FAR) for order, at in zip(orders, reach, strict=True)]
    nodes = _refined(nodes, failure) if ends else nodes
    for tol in _SHARP if ends else ():
        for _ in range(_AGAIN):
            least = max(needed(side.epsilon, side.lower, failure) for side in nodes)
            sharper = [_sharper(side, failure, least, tol) for side in nodes]
            if all(one is other for one, other in zip(nodes, sharper, strict=True)):
                break
            nodes = _refined(sharper, failure, tol)
    lines = [cell_mu(side, failure) for side in nodes]
    order = int(np.argmax([one.mu.max() for one in lines]))
    least = max(needed(side.epsilon, side.lower, failure) for side in nodes)
    return Found(least, float(lines[order].mu.max()), _alpha(lines[order], least, flipped=order == 1), nodes)


def _alpha(lines: Lines, least: float, *, flipped: bool) -> float:
    """Return the alpha in the middle of the lines that may be the worst; f of it for the inverse."""
    worst = np.flatnonzero(lines.mu >= min(least, lines.mu.max()))
    k = int(worst[np.argsort(lines.log_alpha[worst])[len(worst) // 2]])
    return float(1 - lines.c[k] if flipped else np.exp(lines.log_alpha[k]))


def start(order: TradeOff, reach: float) -> Nodes:
    """Return nodes from 0 to ``reach``, closer together towards 0, and at the kinks of the profile."""
    spread = [reach * np.geomspace(1e-4, 1.0, 16), np.linspace(0.0, reach, 33), _kinks(order)]
    nodes = np.unique(np.concatenate(spread))
    top = order.sup_loss  # no node a rounding below it: there delta is not yet known to be 0
    nodes = np.where(np.abs(nodes - top) < 1e-12 * top, top, nodes) if top < np.inf else nodes
    return Nodes.of(order, np.unique(nodes[nodes <= max(reach, min(top, reach * (1 + 1e-12)))]))


def _kinks(order: TradeOff) -> Array:
    """Return the losses of a law of few atoms, where its profile bends."""
    try:
        law = order.loss_law()
    except NoClosedForm:
        return np.empty(0)
    if not isinstance(law, AtomicLaw) or len(law.loss) > _MOST_NODES // 4:
        return np.empty(0)
    return np.asarray(law.loss[law.loss > 0])


def _refined(nodes: list[Nodes], failure: float, tol: float | None = None) -> list[Nodes]:
    """Ask inside the cells that need more than any node does, while there are some and asking helps."""
    before, close = np.inf, max(_CLOSE, 0.1 * (tol or 0.0))  # cells need not be closer than nodes are known
    for _ in range(_ROUNDS):
        lines = [cell_mu(side, failure) for side in nodes]
        level = max(_asks(side, failure) for side in nodes) * (1 + close)
        fresh = [one.inner(side, level) for one, side in zip(lines, nodes, strict=True)]
        now = max(float(one.mu.max()) for one in lines)
        if (
            not any(map(len, fresh))
            or sum(len(side.epsilon) for side in nodes) > _MOST_NODES
            or before - now < close * now
        ):
            break
        nodes, before = [side.more(at, tol) for side, at in zip(nodes, fresh, strict=True)], now
    return nodes


def _asks(nodes: Nodes, failure: float) -> float:
    """Return the mu that the corners of the upper bounds ask for: a node known widely sticks out."""
    first, last, _ = slopes(nodes)
    corners = np.append(first, last[-1:])
    return needed(nodes.epsilon[corners], nodes.upper[corners], failure)


def _sharper(nodes: Nodes, failure: float, least: float, tol: float) -> Nodes:
    """Ask again, to the width ``tol``, at a few ends of the cells that need more than ``least``."""
    lines, (first, last, _) = cell_mu(nodes, failure), slopes(nodes)
    worst = lines.mu > least * (1 + _CLOSE)
    ends = np.union1d(first[worst], last[worst])
    wide = ends[(nodes.upper - nodes.lower > 2 * tol * nodes.upper)[ends]]
    again = wide[np.unique(np.linspace(0, len(wide) - 1, _FEW).astype(int))] if len(wide) else wide
    return nodes.sharper(again, tol) if len(again) else nodes
