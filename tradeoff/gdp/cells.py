"""The least mu of a whole profile, by convexity between nodes, and the costs of reporting it.

Nodes are added where the bounds depend on them, as narrow as they need to be. Where 1 - delta has lost its
digits, tests at finitely many type I errors take the place of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, ndtri_exp

from tradeoff.curves.contract import TradeOff
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, exp, log1p, maximum
from tradeoff.intervals.roots import find_root, largest
from tradeoff.intervals.rounding import Array, Index
from tradeoff.operators.pointwise import HullOfMinimum
from tradeoff.operators.tabulate import BetaOperator, Floor, Nodes, chords, under
from tradeoff.pld.discrete import AtomicLaw

Mask = NDArray[np.bool_]

_QUANTILE_ERROR = 7e-15
"""Error of SciPy's Phi^-1(p) and Phi^-1(e^x), z, in units of 1 + |z|: SciPy errs by a tenth of it."""

FAR = 40.0  # e^-40 is below every answer that a float resolves next to 1


# They decide how near bounds come, never whether they hold.
MAX_NODES = 1000  # after which the bounds so far are reported: a second for closed forms
_MAX_MU = 64.0  # beyond, delta_{G_mu} is 1 to the last digit up to eps = 1500
_HALVINGS = 8  # rounds of halving cells of the regret and the best case
_BEST_CLOSE = 1e-4  # width of the best case, which is printed with four digits


def hull_cells(nodes: Nodes) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Return the cells of the lower hull of the upper bounds: start, end, and log of minus the slope in s.

    Leaving out a node only lengthens chords, so bounds by chords hold whichever nodes stay.
    """
    index = np.arange(len(nodes.epsilon))
    while True:
        a, b = nodes.epsilon[index[:-1]], nodes.epsilon[index[1:]]
        with np.errstate(divide="ignore", over="ignore"):
            fall = np.log(nodes.upper[index[:-1]] - nodes.upper[index[1:]]) - a - np.log(np.expm1(b - a))
        concave = np.flatnonzero(fall[1:] > fall[:-1])
        if len(concave) == 0:
            return index[:-1], index[1:], fall
        index = np.delete(index, concave[np.append(True, np.diff(concave) > 1)] + 1)


@dataclass(frozen=True)
class CellLines:
    """The mu of each cell, its line c - alpha s, and the eps where the profile of mu touches the line."""

    mu: Array
    log_alpha: Array
    c: Array
    touch: Array

    def inner(self, nodes: Nodes, needed: float) -> Array:
        """Return new nodes: where lines above ``needed`` are touched, and halfway to the ends."""
        first, last, _ = hull_cells(nodes)
        start, end = nodes.epsilon[first], nodes.epsilon[last]
        open_ = self.mu > needed
        inside = open_ & (self.touch > start) & (self.touch < end)
        k = int(np.argmax(self.mu))
        worst = [] if inside[k] or not open_[k] else [(start[k] + end[k]) / 2]
        touch = self.touch[inside]
        return np.concatenate([touch, (start[inside] + touch) / 2, (touch + end[inside]) / 2, worst])


def solve_cells(nodes: Nodes, failure: float) -> CellLines:
    """Return for each cell a mu with delta_f <= failure + (1 - failure) delta_{G_mu} on all of it.

    The chord is a line c - alpha s, and a line lies under the profile of a curve g for every s if g(alpha) <=
    1 - c (Dong, Roth, Su 2022, Proposition 2.12). For g = G_mu (x) f_{0,failure}, with alpha = (1 - failure)
    a and c = failure + (1 - failure) b, that is mu >= Phi^-1(1 - a) + Phi^-1(b).
    """
    first, last, log_alpha = hull_cells(nodes)

    def lifted(log_alpha: Array) -> Array:
        ends = (nodes.upper[k] + exp(Bounds.of(nodes.epsilon[k]) + log_alpha) for k in (first, last))
        return np.asarray(maximum(*ends).upper)

    # alpha is chosen freely; the line through it is then lifted over both ends. No profile falls as steeply
    # as bounds that are wide relative to a cell: any alpha will do there where g > 0.
    steep = ((log_alpha - log1p(-failure)).upper >= 0) & (lifted(log_alpha) > 1)
    log_alpha = np.where(steep, math.log((1 - failure) / 2), log_alpha)
    c, log_a = lifted(log_alpha), (log_alpha - log1p(-failure)).lower
    b = ((Bounds.of(c) - failure) / (1 - Bounds.of(failure))).upper
    # Else g is below 1 - c already: g <= 1 - failure, and g = 0 from 1 - failure on.
    needed = (b > 0) & (log_a < 0)
    z, y = -ndtri_exp(np.where(needed, log_a, -1.0)), ndtri(np.clip(b, 0.0, 1.0))
    with np.errstate(invalid="ignore"):
        mu = z + y + _QUANTILE_ERROR * (1 + np.abs(z) + np.abs(y))
    mu = np.where(needed, np.where(np.isnan(mu) | (b >= 1), np.inf, mu), 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        return CellLines(np.maximum(mu, 0.0), log_alpha, c, mu * z - mu * mu / 2)


def reported_profile(mu: float, failure: float, epsilon: Array) -> Bounds[Array]:
    """Bound failure + (1 - failure) delta_{G_mu}(eps), the profile of G_mu (x) f_{0,failure}."""
    return failure + (1 - Bounds.of(failure)) * gaussian_profile(mu, epsilon)


def gaussian_profile(mu: float, epsilon: Array) -> Bounds[Array]:
    """Bound delta_{G_mu}(eps) by the closed form alone, as it is evaluated some hundred times."""
    return Bounds(*Gaussian(mu).delta_bounds(epsilon, None))


def least_mu(epsilon: Array, delta: Array, failure: float, near: float = math.inf) -> float:
    """Return the least mu, from below, whose profile with ``failure`` reaches delta at every node.

    The search starts just below ``near``.
    """
    positive = delta > 0

    @cache
    def margin(mu: float) -> float:
        """Return the least log of the profile of mu over delta: below 0 only where it falls short."""
        with np.errstate(divide="ignore", over="ignore"):
            ratio = reported_profile(mu, failure, epsilon[positive]).upper / delta[positive]
            return float(np.min(np.log(ratio), initial=np.inf))

    high = near if near < _MAX_MU else 1.0
    while margin(high) < 0 and high < _MAX_MU:
        high = 2 * high
    just = high * (1 - 1e-3)  # nodes mostly need no less
    low, width = just if margin(just) < 0 else 0.0, 1e-14 * high
    below = find_root(margin, low, high, width) - 4 * width
    return below if below > 0 > margin(below) else largest(lambda mu: margin(mu) < 0, 0.0, high)


def profile_gaps(nodes: Nodes, mu: float, failure: float) -> tuple[float, Array]:
    """Bound the largest (delta_g - delta_f)/(1 + e^eps), g = G_mu (x) f_{0,failure}, and that of each cell.

    Within a cell delta_g is under its chord, so the difference is at most a piecewise linear function of s,
    and such a function over 1 + s is largest at a corner.
    """
    result = reported_profile(mu, failure, nodes.epsilon)
    least = ((result - nodes.upper) / (1 + exp(nodes.epsilon))).lower
    t, value = under(nodes)
    gap = maximum(Bounds.of(chords(nodes, result.upper, t)) - value, 0.0)
    weight = exp(-nodes.epsilon[:-1])
    most = gap * weight / (1 + t + weight)
    return float(np.max(least, initial=0.0)), np.max(most.upper, axis=0)


def is_above(nodes: Nodes, floor: Floor, mu: float, failure: float) -> Mask:
    """Whether delta_{G_mu} <= failure + (1 - failure) delta_f on all of each cell."""
    most, (t, value) = gaussian_profile(mu, nodes.epsilon).upper, floor
    least = (failure + (1 - Bounds.of(failure)) * value).lower
    return np.asarray(np.all(chords(nodes, most, t) <= least, axis=0))


class Side(NamedTuple):
    """One order of a curve, the eps up to which it counts, and whether it is the inverse."""

    curve: TradeOff
    reach: float
    flipped: bool


def search_by_lines(sides: Sequence[Side], failure: float, enough: float) -> tuple[float, float, list[Nodes]]:
    """Return a mu enough for eps in [0, reach] of each side, the alpha that decides, and the nodes.

    If a reach is infinite, from few nodes alone; and no nodes are added once they need a mu that is known to
    be ``enough``.
    """
    ends = max(side.reach for side in sides) < np.inf
    nodes = [start_nodes(side.curve, side.reach if ends else FAR) for side in sides]
    nodes = _refined(nodes, failure, enough) if ends else nodes
    for tol in (1e-8, 1e-7) if ends else ():  # widths of delta where wider bounds decide, in turn
        for _ in range(8):
            least = needed_by_nodes(nodes, failure)
            sharper = [_narrowed(side, failure, least, tol) for side in nodes]
            if all(one is other for one, other in zip(nodes, sharper, strict=True)):
                break
            nodes = _refined(sharper, failure, enough, tol)
    lines = [solve_cells(side, failure) for side in nodes]
    worst = int(np.argmax([one.mu.max() for one in lines]))
    line, most = lines[worst], float(lines[worst].mu.max())
    # The alpha in the middle of the lines that may be the worst; f of it for the inverse.
    may = np.flatnonzero(line.mu >= min(needed_by_nodes(nodes, failure), most))
    k = int(may[np.argsort(line.log_alpha[may])[len(may) // 2]])
    return most, float(1 - line.c[k] if sides[worst].flipped else np.exp(line.log_alpha[k])), nodes


def start_nodes(order: TradeOff, reach: float) -> Nodes:
    """Return nodes from 0 to ``reach``, closer together towards 0, and at the kinks of the profile."""
    spread = [reach * np.geomspace(1e-4, 1.0, 16), np.linspace(0.0, reach, 33), _loss_atoms(order)]
    nodes = np.unique(np.concatenate(spread))
    top = order.sup_loss  # no node a rounding below it: there delta is not yet known to be 0
    nodes = np.where(np.abs(nodes - top) < 1e-12 * top, top, nodes) if top < np.inf else nodes
    return Nodes.of(order, np.unique(nodes[nodes <= max(reach, min(top, reach * (1 + 1e-12)))]))


def needs_polygons(curve: TradeOff) -> bool:
    """Whether answers to a tolerance take polygons of their own, a second each."""
    if isinstance(curve, HullOfMinimum):
        return any(map(needs_polygons, curve.operands))
    return isinstance(curve, BetaOperator) and not curve.direct


def _loss_atoms(order: TradeOff) -> Array:
    """Return the losses of a law of few atoms, where its profile bends."""
    law = order.loss_distribution() if order.has_law else None  # whole polygons have very many
    if not isinstance(law, AtomicLaw) or len(law.loss) > MAX_NODES // 4:
        return np.empty(0)
    return np.asarray(law.loss[law.loss > 0])


def _refined(nodes: list[Nodes], failure: float, enough: float, tol: float | None = None) -> list[Nodes]:
    """Add nodes inside the cells that need more than any node does, while that helps."""
    # Cells need not be closer than nodes are; each round leaves a quarter of the excess of a smooth cell.
    before, close = np.inf, max(1e-9, 0.03 * _width(nodes)) if tol is None else 0.03 * tol
    for _ in range(12):
        lines = [solve_cells(side, failure) for side in nodes]
        now = max(float(one.mu.max()) for one in lines)
        level = _mu_of_corners(nodes, failure, now) * (1 + close)
        fresh = [one.inner(side, level) for one, side in zip(lines, nodes, strict=True)]
        many = sum(len(side.epsilon) for side in nodes) > MAX_NODES
        if many or not any(map(len, fresh)) or before - now < close * now or level >= enough:
            break
        nodes, before = [_add_inside(side, at, tol) for side, at in zip(nodes, fresh, strict=True)], now
    return nodes


def needed_by_nodes(nodes: Sequence[Nodes], failure: float) -> float:
    """Return the least mu that the lower bounds need."""
    near = max(float(solve_cells(side, failure).mu.max()) for side in nodes)
    epsilon, lower = np.concatenate([[side.epsilon, side.lower] for side in nodes], axis=1)
    return least_mu(epsilon, lower, failure, near)


def _width(nodes: list[Nodes]) -> float:
    """Return the median relative width of the bounds at nodes."""
    low, high = (np.concatenate(sides) for sides in zip(*((n.lower, n.upper) for n in nodes), strict=True))
    return float(np.median((high - low)[high > 0] / high[high > 0])) if np.any(high > 0) else 0.0


def _mu_of_corners(nodes: list[Nodes], failure: float, near: float) -> float:
    """Return the mu that the corners of the upper bounds need: nodes with wide bounds stick out."""
    corners = [side.some(_corners(side)) for side in nodes]
    epsilon, upper = np.concatenate([[side.epsilon, side.upper] for side in corners], axis=1)
    return least_mu(epsilon, upper, failure, near)


def _corners(nodes: Nodes) -> Index:
    """Return the nodes of the lower hull of the upper bounds."""
    first, last, _ = hull_cells(nodes)
    return np.append(first, last[-1:])


def _narrowed(nodes: Nodes, failure: float, least: float, tol: float) -> Nodes:
    """Narrow bounds to the width ``tol`` where corners may need more than ``least``, closest at the worst."""
    if needs_polygons(nodes.curve):
        return nodes
    corners = _corners(nodes)
    short = nodes.upper[corners] > reported_profile(least, failure, nodes.epsilon[corners]).lower
    wide = nodes.epsilon[corners[short & ~_is_narrow(nodes, tol)[corners]]]
    if not len(wide):
        return nodes
    lines = solve_cells(nodes, failure)
    peak = np.fmax(wide[0], np.fmin(lines.touch[np.argmax(lines.mu)], wide[-1]))  # it may be NaN
    # As near as a hundredth of the open part, as the excess grows as the square, and just past its ends.
    paces = np.append(0.0, np.geomspace(1e-2, 1.1, 12))
    places = np.concatenate([peak + (end - peak) * paces for end in (wide[0], wide[-1])])
    at = np.unique(np.maximum(places, 0.0))
    result = nodes.more(at, tol)
    again = np.searchsorted(result.epsilon, at[np.isin(at, nodes.epsilon)])  # the first is hidden by no other
    result = result.sharper(again, tol) if len(again) else result
    gained = _is_narrow(result, tol)[np.searchsorted(result.epsilon, at)].any()
    return result.some(_corners(result)) if gained else nodes  # nodes above the lower hull are in the way


def _is_narrow(nodes: Nodes, tol: float) -> Mask:
    """Whether bounds at nodes have the width ``tol``, as far as floats allow."""
    return np.asarray(nodes.upper - nodes.lower <= 2 * tol * nodes.upper)


def _add_inside(nodes: Nodes, at: Array, tol: float | None) -> Nodes:
    """Add nodes inside cells, with the width ``tol`` in those of which an end has it."""
    if tol is None or needs_polygons(nodes.curve):
        return nodes.more(at)
    corners = _corners(nodes)
    sharp, k = _is_narrow(nodes, tol)[corners], np.searchsorted(nodes.epsilon[corners], at)
    either = sharp[k - 1] | sharp[k]
    return nodes.more(at[~either]).more(at[either], tol)


def search_by_tests(orders: Sequence[TradeOff], failure: float, mu: Bounds) -> Bounds:
    """Improve bounds on the least mu with f >= G_mu (x) f_{0,failure} by beta at finitely many alphas.

    Both curves fall: between neighbours a < b, f >= f(b) and g <= g(a). Below the first alpha f >= 1 -
    failure >= g. From the alpha on where f <= alpha, the other order decides.
    """
    least, most = zip(*(_one_order(f, failure, mu.lower) for f in orders), strict=True)
    return Bounds(min(max(mu.lower, *least), mu.upper), min(mu.upper, max(most)))


def _one_order(f: TradeOff, failure: float, least: float) -> tuple[float, float]:
    alpha = ndtr(-np.linspace(37.0, 0.0, 297))
    beta = f.bounds(alpha)
    start = np.flatnonzero(beta.lower >= (1 - Bounds.of(failure)).upper)
    stop = np.flatnonzero(beta.upper <= alpha)
    first, last = start[-1] if len(start) else 0, stop[0] if len(stop) else len(alpha) - 1
    kept, alpha, beta = 1 - Bounds.of(failure), *_select(alpha, beta, np.arange(first, last + 1))
    for _ in range(10):
        z = -_quantile(alpha / kept)
        least = max(least, float(np.max((z - _quantile(beta.upper / kept)).lower)))
        mu = (z.upper[:-1] - _quantile(beta.lower[1:] / kept)).upper
        open_ = np.flatnonzero(mu > least * (1 + 1e-3))
        if len(open_) == 0 or len(alpha) > MAX_NODES or np.isinf(mu).any():
            break
        alpha, beta = _add_tests(f, alpha, beta, np.sqrt(alpha[open_]) * np.sqrt(alpha[open_ + 1]))
    return least, float(np.max(mu, initial=0.0)) if len(start) and len(stop) else np.inf


def _add_tests(f: TradeOff, alpha: Array, beta: Bounds[Array], fresh: Array) -> tuple[Array, Bounds[Array]]:
    """Add tests at more alphas."""
    new = f.bounds(fresh)
    every = Bounds(np.append(beta.lower, new.lower), np.append(beta.upper, new.upper))
    return _select(np.append(alpha, fresh), every, np.unique(np.append(alpha, fresh), return_index=True)[1])


def _select(alpha: Array, beta: Bounds[Array], which: Index) -> tuple[Array, Bounds[Array]]:
    return alpha[which], Bounds(beta.lower[which], beta.upper[which])


def _quantile(p: Bounds[Array]) -> Bounds[Array]:
    """Bound Phi^-1 of probabilities."""
    z = Bounds(*map(ndtri, clip(p, 0.0, 1.0)))
    return z + Bounds(-_QUANTILE_ERROR, _QUANTILE_ERROR) * (1 + maximum(z, -z))


def extend_nodes(nodes: Nodes, far: float) -> Nodes:
    """Return the nodes with a few more from their end to ``far``."""
    last = float(nodes.epsilon[-1])
    return nodes.more(np.linspace(last, far, 9)[1:]) if far > last else nodes


def bound_regret(nodes: Nodes, mu: float, failure: float) -> tuple[float, float, Nodes]:
    """Bound the regret in one order, to a thousandth of it or a millionth; with the nodes that took."""
    limit, direct = len(nodes.epsilon) + MAX_NODES, not needs_polygons(nodes.curve)
    for _ in range(_HALVINGS):
        least, most = profile_gaps(nodes, mu, failure)
        close = max(1e-6, 1e-3 * least)
        open_ = np.flatnonzero(most > least + close)
        if len(open_) == 0 or len(nodes.epsilon) > limit:
            break
        ends = np.union1d(open_, open_ + 1)
        wide = ends[(nodes.upper - nodes.lower)[ends] > close / 2]
        middle, tol = nodes.middle(open_), None
        if direct and len(wide):  # one question shares its tables
            middle, tol = np.append(middle, nodes.epsilon[wide]), close / 4
            nodes = nodes.some(np.delete(np.arange(len(nodes.epsilon)), wide))
        nodes = nodes.more(middle, tol)
    # From the last node on delta_g only falls, and delta_f stays above Q(L = inf).
    last = nodes.epsilon[-1:]
    gap = reported_profile(mu, failure, last) - nodes.curve.mass_at_infinity.lower
    tail = maximum(gap, 0.0) / (1 + exp(last))
    return least, max(float(np.max(most)), float(tail.upper[0])), nodes


def bound_best_mu(nodes: Nodes, failure: float, most: float) -> float:
    """Return a large mu with delta_{G_mu} <= failure + (1 - failure) delta_f for every eps >= 0."""
    # Without failure the tail of f must be heavier than any Gaussian's, which no node can prove.
    if max(failure, nodes.curve.mass_at_infinity.lower) <= 0:
        return 0.0
    high, limit = most if np.isfinite(most) else FAR, len(nodes.epsilon) + MAX_NODES
    for _ in range(_HALVINGS):
        high = find_root(partial(_log_excess, nodes, failure), 0.0, high, _BEST_CLOSE * high / 16)
        floor, close = under(nodes), (1 - _BEST_CLOSE / 4) * high
        open_ = ~_is_below(nodes, floor, failure, close)
        if not open_.any() or len(nodes.epsilon) > limit:
            break
        last = nodes.epsilon[-1:] * (1.1 if open_[-1] else 1.0)
        nodes = nodes.more(np.append(nodes.middle(np.flatnonzero(open_[:-1])), last))
    low, floor = 0.0 if open_.any() else close, under(nodes)
    return largest(lambda mu: bool(_is_below(nodes, floor, failure, mu).all()), low, high, 6 if low else 20)


def _log_excess(nodes: Nodes, failure: float, mu: float) -> float:
    """Return the log of the profile of mu over that of f at the worst node: above 0 if it refutes mu."""
    with np.errstate(divide="ignore"):
        result = np.log(gaussian_profile(mu, nodes.epsilon).lower)
    return float(np.max(result - np.log(failure + (1 - failure) * nodes.upper)))


def _is_below(nodes: Nodes, floor: Floor, failure: float, mu: float) -> Mask:
    """Whether G_mu is above f (x) f_{0,failure} on each cell, and after the last."""
    tail = gaussian_profile(mu, nodes.epsilon[-1:]).upper[0]
    enough = max(failure, nodes.curve.mass_at_infinity.lower)
    return np.append(is_above(nodes, floor, mu, failure), bool(tail <= enough))
