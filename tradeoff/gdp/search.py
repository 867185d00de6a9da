"""The least mu of a whole profile: nodes where and as sharp as they are needed, or tests instead of lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from tradeoff.curves.contract import TradeOff
from tradeoff.gdp.profile import Lines, Mask, cell_mu, goal, needed, slopes
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip
from tradeoff.intervals.rounding import Array, Index
from tradeoff.operators.beta_operator import BetaOperator
from tradeoff.operators.pointwise import HullOfMinimum
from tradeoff.operators.profile_samples import Nodes
from tradeoff.pld.discrete import AtomicLaw

_ROUNDS = 12  # rounds of asking inside cells; each leaves a quarter of a smooth one's excess, or less
_MOST_NODES = 1000  # nodes after which what is known is reported: a second for closed forms
_CLOSE = 1e-9  # relative width of mu that is good enough
_SHARP = (1e-8, 1e-7)  # relative widths of delta asked where wider ones decide: in turn, if one is too fine
_WITHIN = 0.03  # excess of a cell, in widths of its nodes, that narrower cells would not show

# Nodes asked at once about the worst line, and how near to it, in shares of what is open: the excess of a
# smooth cell grows as its square, and so does what its mu lacks to the worst.
_FEW, _NEAREST = 24, 1e-2

_BEYOND = 1.1  # the same for the farthest: past the ends of what is open, which are not asked again
_AGAIN = 8  # rounds of asking again for each width

_HALVINGS = 10  # rounds of halving open cells of tests, which are a tenth of a deviation wide at first
_MOST_CELLS = 1000  # cells after which what is known is reported: a second for closed forms
_LOST = 1e-3  # relative width of mu where 1 - delta has lost the digits that lines need
_QUANTILE = Bounds(-1e-13, 1e-13)  # charged to Phi^-1: below 38 in size ``ndtri`` errs by 2e-15 of it at most

FAR = 40.0  # e^-40 is below every answer that a float resolves beside 1


@dataclass(frozen=True)
class Side:
    """One order of a curve, the eps up to which it counts, and whether it is the inverse that does."""

    curve: TradeOff
    reach: float
    flipped: bool


@dataclass(frozen=True)
class Found:
    """Least mu that the nodes ask for, mu enough for every cell, the alpha that decides, and the nodes."""

    least: float
    most: float
    alpha: float
    nodes: list[Nodes]


def by_lines(sides: Sequence[Side], failure: float, enough: float = np.inf) -> Found:
    """Bound the least mu for eps in [0, reach] of each side; without ends, by a look at the nodes alone.

    No cell is looked into once nodes ask for a mu that is known to be enough.
    """
    ends = max(side.reach for side in sides) < np.inf
    nodes = [start(side.curve, side.reach if ends else FAR) for side in sides]
    nodes = _refined(nodes, failure, enough) if ends else nodes
    for tol in _SHARP if ends else ():
        for _ in range(_AGAIN):
            least = _least(nodes, failure)
            sharper = [_sharper(side, failure, least, tol) for side in nodes]
            if all(one is other for one, other in zip(nodes, sharper, strict=True)):
                break
            nodes = _refined(sharper, failure, enough, tol)
    lines = [cell_mu(side, failure) for side in nodes]
    worst = int(np.argmax([one.mu.max() for one in lines]))
    least = _least(nodes, failure)
    alpha = _alpha(lines[worst], least, flipped=sides[worst].flipped)
    return Found(least, float(lines[worst].mu.max()), alpha, nodes)


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


def by_polygons(curve: TradeOff) -> bool:
    """Whether answers to a tolerance take polygons of their own, a second each: then none is asked."""
    if isinstance(curve, HullOfMinimum):
        return any(map(by_polygons, curve.operands))
    return isinstance(curve, BetaOperator) and not curve.direct


def _kinks(order: TradeOff) -> Array:
    """Return the losses of a law of few atoms, where its profile bends."""
    law = order.loss_distribution() if order.has_law else None  # whole polygons have very many
    if not isinstance(law, AtomicLaw) or len(law.loss) > _MOST_NODES // 4:
        return np.empty(0)
    return np.asarray(law.loss[law.loss > 0])


def _refined(nodes: list[Nodes], failure: float, enough: float, tol: float | None = None) -> list[Nodes]:
    """Ask inside the cells that need more than any node does, while there are some and asking helps."""
    # Cells need not be closer than nodes are.
    before, close = np.inf, max(_CLOSE, _WITHIN * _width(nodes)) if tol is None else _WITHIN * tol
    for _ in range(_ROUNDS):
        lines = [cell_mu(side, failure) for side in nodes]
        now = max(float(one.mu.max()) for one in lines)
        level = _asks(nodes, failure, now) * (1 + close)
        fresh = [one.inner(side, level) for one, side in zip(lines, nodes, strict=True)]
        many = sum(len(side.epsilon) for side in nodes) > _MOST_NODES
        if many or not any(map(len, fresh)) or before - now < close * now or level >= enough:
            break
        nodes, before = [_inside(side, at, tol) for side, at in zip(nodes, fresh, strict=True)], now
    return nodes


def _least(nodes: list[Nodes], failure: float) -> float:
    """Return the mu that the lower bounds ask for."""
    near = max(float(cell_mu(side, failure).mu.max()) for side in nodes)
    epsilon, lower = np.concatenate([[side.epsilon, side.lower] for side in nodes], axis=1)
    return needed(epsilon, lower, failure, near)


def _width(nodes: list[Nodes]) -> float:
    """Return the relative width to which most nodes are known."""
    low, high = (np.concatenate(sides) for sides in zip(*((n.lower, n.upper) for n in nodes), strict=True))
    return float(np.median((high - low)[high > 0] / high[high > 0])) if np.any(high > 0) else 0.0


def _asks(nodes: list[Nodes], failure: float, near: float) -> float:
    """Return the mu that the corners of the upper bounds ask for: a node known widely sticks out."""
    corners = [side.some(_corners(side)) for side in nodes]
    epsilon, upper = np.concatenate([[side.epsilon, side.upper] for side in corners], axis=1)
    return needed(epsilon, upper, failure, near)


def _corners(nodes: Nodes) -> Index:
    """Return the nodes of the lower hull of the upper bounds."""
    first, last, _ = slopes(nodes)
    return np.append(first, last[-1:])


def _sharper(nodes: Nodes, failure: float, least: float, tol: float) -> Nodes:
    """Ask to the width ``tol`` where corners may ask for more than ``least``, closest at the worst."""
    if by_polygons(nodes.curve):
        return nodes
    corners = _corners(nodes)
    short = nodes.upper[corners] > goal(least, failure, nodes.epsilon[corners]).lower
    wide = nodes.epsilon[corners[short & ~_known(nodes, tol)[corners]]]
    if not len(wide):
        return nodes
    lines = cell_mu(nodes, failure)
    peak = np.fmax(wide[0], np.fmin(lines.touch[np.argmax(lines.mu)], wide[-1]))  # it may be NaN
    paces = np.append(0.0, np.geomspace(_NEAREST, _BEYOND, _FEW // 2))
    asked = np.concatenate([peak + (end - peak) * paces for end in (wide[0], wide[-1])])
    at = np.unique(np.maximum(asked, 0.0))
    result = nodes.more(at, tol)
    again = np.searchsorted(result.epsilon, at[np.isin(at, nodes.epsilon)])  # the first is hidden by no other
    result = result.sharper(again, tol) if len(again) else result
    gained = _known(result, tol)[np.searchsorted(result.epsilon, at)].any()
    return result.some(_corners(result)) if gained else nodes  # what the sharper ones hide is in the way


def _known(nodes: Nodes, tol: float) -> Mask:
    """Whether nodes are known to the width ``tol``, as far as floats go."""
    return np.asarray(nodes.upper - nodes.lower <= 2 * tol * nodes.upper)


def _inside(nodes: Nodes, at: Array, tol: float | None) -> Nodes:
    """Ask inside cells, to the width ``tol`` in those of which an end is known to it."""
    if tol is None or by_polygons(nodes.curve):
        return nodes.more(at)
    corners = _corners(nodes)
    sharp, k = _known(nodes, tol)[corners], np.searchsorted(nodes.epsilon[corners], at)
    either = sharp[k - 1] | sharp[k]
    return nodes.more(at[~either]).more(at[either], tol)


def by_tests(orders: Sequence[TradeOff], failure: float, known: Bounds) -> Bounds:
    """Improve bounds on the least mu with f >= G_mu (x) f_{0,failure} by beta at finitely many alphas.

    Both curves fall: between neighbours a < b, f >= f(b) and g <= g(a). Below the first alpha f >= 1 -
    failure >= g. From the alpha on where f <= alpha, the other order decides.
    """
    least, most = zip(*(_one_order(f, failure, known.lower) for f in orders), strict=True)
    return Bounds(min(max(known.lower, *least), known.upper), min(known.upper, max(most)))


def _one_order(f: TradeOff, failure: float, least: float) -> tuple[float, float]:
    alpha = ndtr(-np.linspace(37.0, 0.0, 297))
    beta = f.bounds(alpha)
    start = np.flatnonzero(beta.lower >= (1 - Bounds.of(failure)).upper)
    stop = np.flatnonzero(beta.upper <= alpha)
    first, last = start[-1] if len(start) else 0, stop[0] if len(stop) else len(alpha) - 1
    kept, alpha, beta = 1 - Bounds.of(failure), *_some(alpha, beta, np.arange(first, last + 1))
    for _ in range(_HALVINGS):
        z = -_quantile(alpha / kept)
        least = max(least, float(np.max((z - _quantile(beta.upper / kept)).lower)))
        mu = (z.upper[:-1] - _quantile(beta.lower[1:] / kept)).upper
        open_ = np.flatnonzero(mu > least * (1 + _LOST))
        if len(open_) == 0 or len(alpha) > _MOST_CELLS or np.isinf(mu).any():
            break
        alpha, beta = _more(f, alpha, beta, np.sqrt(alpha[open_]) * np.sqrt(alpha[open_ + 1]))
    return least, float(np.max(mu, initial=0.0)) if len(start) and len(stop) else np.inf


def _more(f: TradeOff, alpha: Array, beta: Bounds[Array], fresh: Array) -> tuple[Array, Bounds[Array]]:
    """Ask at more alphas, and only there."""
    new = f.bounds(fresh)
    every = Bounds(np.append(beta.lower, new.lower), np.append(beta.upper, new.upper))
    return _some(np.append(alpha, fresh), every, np.unique(np.append(alpha, fresh), return_index=True)[1])


def _some(alpha: Array, beta: Bounds[Array], which: Index) -> tuple[Array, Bounds[Array]]:
    return alpha[which], Bounds(beta.lower[which], beta.upper[which])


def _quantile(p: Bounds[Array]) -> Bounds[Array]:
    """Bound Phi^-1 of probabilities."""
    return Bounds(*map(ndtri, clip(p, 0.0, 1.0))) + _QUANTILE
