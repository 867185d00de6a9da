"""The least mu of a whole profile, by convexity between nodes, and the costs of reporting it.

g = G_mu (x) f_{0,failure} is the curve to report for f. Nodes are losses eps with bounds on delta_f, and s =
e^eps, in which profiles are convex. The corners are the nodes on the lower hull of the upper bounds; a cell
lies between two corners, and a line c - alpha s above the hull there. Nodes are added where the bounds depend
on them, as narrow as they need to be. Where 1 - delta has lost its digits, tests at finitely many type I
errors take the place of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, ndtri_exp

from tradeoff.curves.contract import TradeOff
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Array, Bounds, Index
from tradeoff.intervals.functions import clip, exp, log1p, maximum
from tradeoff.intervals.roots import find_root, largest
from tradeoff.operators.pointwise import HullOfMinimum
from tradeoff.operators.tabulate import BetaOperator, Nodes, chords, polygon_below
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.special import hockey_stick

_QUANTILE_ERROR = 7e-15
"""Error of SciPy's Phi^-1(p) and Phi^-1(e^x), z, in units of 1 + |z|: SciPy errs by a tenth of it."""

FAR = 40.0  # losses up to which nodes are placed: e^-40 is below every answer that a float resolves next to 1

# These decide how near bounds come, never whether they hold.
MAX_NODES = 1000  # after which the bounds so far are reported: a second for closed forms
_MAX_MU = 64.0  # above, delta_{G_mu} is 1 to the last digit up to eps = 1500
_BEST_CLOSE = 1e-4  # width of the best case, which is printed with four digits


def hull_corners(nodes: Nodes) -> tuple[Index, Array]:
    """Return the indices of the corners, and log of minus the slope in s of the chord of each cell.

    Leaving out a node only lengthens chords, so bounds by chords hold whichever nodes stay.
    """
    index = np.arange(len(nodes.epsilon))
    while True:
        a, b = nodes.epsilon[index[:-1]], nodes.epsilon[index[1:]]
        with np.errstate(divide="ignore", over="ignore"):
            fall = np.log(nodes.upper[index[:-1]] - nodes.upper[index[1:]]) - a - np.log(np.expm1(b - a))
        concave = np.flatnonzero(fall[1:] > fall[:-1])
        if len(concave) == 0:
            return index, fall
        # The first corner of each concave run: without it others may stay.
        index = np.delete(index, concave[np.append(True, np.diff(concave) > 1)] + 1)


class CellLines(NamedTuple):
    """Cells: start and end eps, the mu enough, the line c - alpha s, and the eps where delta_g touches it."""

    start: Array
    end: Array
    mu: Array
    log_alpha: Array
    c: Array
    touch: Array

    def inner(self, needed: float) -> Array:
        """Return new eps for cells with a mu above ``needed``: where they touch, and halfway to the ends."""
        open_ = self.mu > needed
        inside = open_ & (self.touch > self.start) & (self.touch < self.end)
        k = int(np.argmax(self.mu))
        worst = [] if inside[k] or not open_[k] else [(self.start[k] + self.end[k]) / 2]
        start, end, touch = self.start[inside], self.end[inside], self.touch[inside]
        return np.concatenate([touch, (start + touch) / 2, (touch + end) / 2, worst])


def solve_cells(nodes: Nodes, failure: float) -> CellLines:
    """Return for each cell a mu with delta_f <= failure + (1 - failure) delta_{G_mu} = delta_g on all of it.

    The chord is a line c - alpha s, and a line lies under the profile of a curve g for every s if g(alpha) <=
    1 - c (Dong, Roth, Su 2022, Proposition 2.12). For g = G_mu (x) f_{0,failure}, with alpha = (1 - failure)
    a and c = failure + (1 - failure) b, that is mu >= Phi^-1(1 - a) + Phi^-1(b).
    """
    corners, log_alpha = hull_corners(nodes)
    first, last = corners[:-1], corners[1:]

    def height(log_alpha: Array) -> Array:
        """Return the least c with c - alpha s above both ends of the cell."""
        ends = (nodes.upper[k] + exp(Bounds.of(nodes.epsilon[k]) + log_alpha) for k in (first, last))
        return np.asarray(maximum(*ends).upper)

    # alpha is chosen freely: the line is above both ends all the same. No profile falls as steeply as bounds
    # that are wide relative to a cell: any alpha will do there where g > 0.
    steep = ((log_alpha - log1p(-failure)).upper >= 0) & (height(log_alpha) > 1)
    log_alpha = np.where(steep, math.log((1 - failure) / 2), log_alpha)
    c, log_a = height(log_alpha), (log_alpha - log1p(-failure)).lower
    b = ((Bounds.of(c) - failure) / (1 - Bounds.of(failure))).upper
    # Else g is below 1 - c already: g <= 1 - failure, and g = 0 from 1 - failure on.
    needed = (b > 0) & (log_a < 0)
    z, y = -ndtri_exp(np.where(needed, log_a, -1.0)), ndtri(np.clip(b, 0.0, 1.0))
    with np.errstate(invalid="ignore"):
        mu = z + y + _QUANTILE_ERROR * (1 + np.abs(z) + np.abs(y))
    mu = np.where(needed, np.where(np.isnan(mu) | (b >= 1), np.inf, mu), 0.0)
    start, end = nodes.epsilon[first], nodes.epsilon[last]
    with np.errstate(invalid="ignore", over="ignore"):  # it touches where a = Phi(-(eps/mu + mu/2))
        return CellLines(start, end, np.maximum(mu, 0.0), log_alpha, c, mu * z - mu * mu / 2)


def reported_profile(mu: float, failure: float, epsilon: Array) -> Bounds[Array]:
    """Bound failure + (1 - failure) delta_{G_mu}(eps), the profile of G_mu (x) f_{0,failure}."""
    in_floats = 0 < mu < np.inf and len(epsilon) > 8 and np.all(epsilon >= 0)  # balls are ten times slower
    result = Bounds(*(hockey_stick(epsilon, mu) if in_floats else Gaussian(mu).delta_bounds(epsilon, None)))
    return failure + (1 - Bounds.of(failure)) * result if failure else result


def least_mu(epsilon: Array, delta: Array, failure: float, near: float = math.inf) -> float:
    """Return the least mu, from below, whose delta_g is at least ``delta`` at every ``epsilon``.

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
    just = high * (1 - 1e-3)  # mostly below the answer
    low, width = just if margin(just) < 0 else 0.0, 1e-14 * high
    below = find_root(margin, low, high, width) - 4 * width
    return below if below > 0 > margin(below) else largest(lambda mu: margin(mu) < 0, 0.0, high)


class Side(NamedTuple):
    """One order of a curve, the ``reach``: the eps up to which it counts, and whether it is the inverse."""

    curve: TradeOff
    reach: float
    flipped: bool


def search_by_lines(sides: Sequence[Side], failure: float, enough: float) -> tuple[float, float, list[Nodes]]:
    """Return a mu enough for eps in [0, reach] of each side, the alpha that decides, and the nodes of each.

    If a reach is infinite, from few nodes alone; and no nodes are added once they need a mu that is known to
    be ``enough``.
    """
    ends = max(side.reach for side in sides) < np.inf
    nodes = [Nodes.of(side.curve, start_places(side.curve, side.reach if ends else FAR)) for side in sides]
    # Widths of delta: the usual one, and that to which the corners that decide are narrowed then.
    for tol in (None, 1e-8) if ends else ():
        before, widths = np.inf, np.concatenate([1 - side.lower / side.upper.clip(1e-300) for side in nodes])
        fresh = [np.empty(0) for _ in nodes]
        # Cells need not be closer than nodes are; each round leaves a quarter of a smooth cell's excess.
        close = 0.03 * tol if tol else max(1e-9, 0.03 * float(np.median(widths)))
        for _ in range(12):
            if tol is not None:
                nodes = _narrowed(nodes, fresh, failure, tol)
            lines = [solve_cells(side, failure) for side in nodes]
            now = max(float(one.mu.max()) for one in lines)
            corners = [np.array([side.epsilon, side.upper])[:, hull_corners(side)[0]] for side in nodes]
            epsilon, upper = np.concatenate(corners, axis=1)
            level = least_mu(epsilon, upper, failure, now) * (1 + close)  # corners need it, with any nodes
            fresh = [one.inner(level) for one in lines]
            many = sum(len(side.epsilon) for side in nodes) > MAX_NODES
            if many or not any(map(len, fresh)) or before - now < close * now or level >= enough:
                break
            nodes, before = [side.with_nodes(at) for side, at in zip(nodes, fresh, strict=True)], now
    lines = [solve_cells(side, failure) for side in nodes]
    worst = int(np.argmax([one.mu.max() for one in lines]))
    line, most = lines[worst], float(lines[worst].mu.max())
    # The alpha in the middle of the lines that may be the worst; f of it for the inverse.
    may = np.flatnonzero(line.mu >= min(needed_by_nodes(nodes, failure), most))
    k = int(may[np.argsort(line.log_alpha[may])[len(may) // 2]])
    return most, float(1 - line.c[k] if sides[worst].flipped else np.exp(line.log_alpha[k])), nodes


def start_places(order: TradeOff, reach: float) -> Array:
    """Return eps for nodes from 0 to ``reach``, closer together towards 0, and the kinks of the profile."""
    law = order.loss_distribution() if order.has_law else None  # whole polygons have very many kinks
    kinks = law.loss[law.loss > 0] if isinstance(law, AtomicLaw) else np.empty(0)
    kinks = kinks if len(kinks) <= MAX_NODES // 4 else np.empty(0)
    near_0 = reach * np.geomspace(1e-4, 1.0, 16)
    nodes = np.unique(np.concatenate([near_0, np.linspace(0.0, reach, 33), kinks]))
    top = order.sup_loss  # no node a rounding below it: there delta is not yet known to be 0
    nodes = np.where(np.abs(nodes - top) < 1e-12 * top, top, nodes) if top < np.inf else nodes
    return np.unique(nodes[nodes <= max(reach, min(top, reach * (1 + 1e-12)))])


def needs_polygons(curve: TradeOff) -> bool:
    """Whether answers to a tolerance take polygons of their own, a second each."""
    if isinstance(curve, HullOfMinimum):
        return any(map(needs_polygons, curve.operands))
    return isinstance(curve, BetaOperator) and not curve.direct


def needed_by_nodes(nodes: Sequence[Nodes], failure: float) -> float:
    """Return the least mu that the lower bounds on delta_f need: a lower bound."""
    near = max(float(solve_cells(side, failure).mu.max()) for side in nodes)
    epsilon, lower = np.concatenate([[side.epsilon, side.lower] for side in nodes], axis=1)
    return least_mu(epsilon, lower, failure, near)


def _narrowed(nodes: list[Nodes], fresh: list[Array], failure: float, tol: float) -> list[Nodes]:
    """Narrow bounds to the relative width ``tol`` where they may need more mu than lower bounds do.

    That is at corners, and at ``fresh`` eps of each side, which are none only because they are wider.
    """
    least, result = needed_by_nodes(nodes, failure), []
    for side, at in zip(nodes, fresh, strict=True):
        corners = np.union1d(hull_corners(side)[0], np.flatnonzero(np.isin(side.epsilon, at)))
        short = side.upper[corners] > reported_profile(least, failure, side.epsilon[corners]).lower
        width, unit = side.upper[corners] - side.lower[corners], tol * side.upper[corners]
        # Engines are slow to reach less than a hundredth of their usual width, or cannot.
        again = side.epsilon[corners[short & (width > 2 * unit) & (width < 100 * unit)]]
        result.append(side.with_nodes(again, tol) if len(again) and not needs_polygons(side.curve) else side)
    return result


def search_by_tests(orders: Sequence[TradeOff], failure: float, mu: Bounds) -> Bounds:
    """Improve bounds on the least mu with f >= g = G_mu (x) f_{0,failure} by beta at finitely many alphas.

    With q(p) = Phi^-1(p/(1 - failure)), g(a) <= c is mu >= -q(a) - q(c). So mu is at least that for c = f(a),
    and enough between neighbours a < b if it is for c = f(b), as both curves fall. Below the first alpha
    f >= 1 - failure >= g. From the alpha on where f <= alpha, the other order decides.
    """
    least, most, rest = mu.lower, 0.0, 1 - Bounds.of(failure)
    for f in orders:
        alpha = ndtr(-np.linspace(37.0, 0.0, 297))
        for _ in range(10):
            beta = f.bounds(alpha)
            start = np.flatnonzero(beta.lower >= rest.upper)
            stop = np.flatnonzero(beta.upper <= alpha)
            inside = slice(start[-1] if len(start) else 0, stop[0] + 1 if len(stop) else None)
            a, b = alpha[inside], Bounds(beta.lower[inside], beta.upper[inside])
            z = -_quantile(a / rest)
            least = max(least, float(np.max((z - _quantile(b.upper / rest)).lower)))
            enough = (z.upper[:-1] - _quantile(b.lower[1:] / rest)).upper
            cells = np.flatnonzero(enough > least * (1 + 1e-3))
            if len(cells) == 0 or len(alpha) > MAX_NODES or np.isinf(enough).any():
                break
            alpha = np.union1d(alpha, np.sqrt(a[cells]) * np.sqrt(a[cells + 1]))
        most = max(most, float(np.max(enough, initial=0.0)) if len(start) and len(stop) else np.inf)
    return Bounds(min(least, mu.upper), min(mu.upper, most))


def _quantile(p: Bounds[Array]) -> Bounds[Array]:
    """Bound Phi^-1 of probabilities; bounds outside [0, 1] are clipped."""
    z = Bounds(*map(ndtri, clip(p, 0.0, 1.0)))
    return z + Bounds(-_QUANTILE_ERROR, _QUANTILE_ERROR) * (1 + maximum(z, -z))


def bound_regret(nodes: Nodes, mu: float, failure: float) -> tuple[float, float, Nodes]:
    """Bound the largest (delta_g - delta_f)/(1 + e^eps) of one order, to a thousandth of it or a millionth.

    Return both bounds, and all nodes. Between two nodes delta_g is under its chord, so the difference is at
    most a piecewise linear function of s, which over 1 + s is largest at a kink.
    """
    limit = len(nodes.epsilon) + MAX_NODES
    for _ in range(8):
        profile, weight = reported_profile(mu, failure, nodes.epsilon), exp(-nodes.epsilon[:-1])
        (t, value), at_nodes = polygon_below(nodes), (profile - nodes.upper) / (1 + exp(nodes.epsilon))
        least = float(np.max(at_nodes.lower, initial=0.0))
        gap = maximum(Bounds.of(chords(nodes, profile.upper, t)) - value, 0.0)
        most = np.max((gap * weight / (1 + t + weight)).upper, axis=0)
        close = max(1e-6, 1e-3 * least)
        open_ = np.flatnonzero(most > least + close)
        if len(open_) == 0 or len(nodes.epsilon) > limit:
            break
        nodes = nodes.with_nodes(nodes.midpoints(open_))
    # From the last node on delta_g only falls, and delta_f stays above Q(L = inf).
    last = nodes.epsilon[-1:]
    gap = reported_profile(mu, failure, last) - nodes.curve.mass_at_infinity.lower
    tail = maximum(gap, 0.0) / (1 + exp(last))
    return least, max(float(np.max(most)), float(tail.upper[0])), nodes


def bound_best_mu(nodes: Nodes, failure: float, most: float) -> float:
    """Return a large mu <= most with delta_{G_mu} <= failure + (1 - failure) delta_f for every eps >= 0."""
    # Without failure the tail of f must be heavier than any Gaussian's, which no node can prove.
    if (enough := max(failure, nodes.curve.mass_at_infinity.lower)) <= 0:
        return 0.0
    high, limit = most if np.isfinite(most) else FAR, len(nodes.epsilon) + MAX_NODES

    def is_below(mu: float) -> NDArray[np.bool_]:
        """Whether G_mu is above f (x) f_{0,failure} between neighbouring nodes, and after the last."""
        profile = reported_profile(mu, 0.0, nodes.epsilon).upper
        return np.append(np.all(chords(nodes, profile, t) <= floor, axis=0), profile[-1] <= enough)

    def excess(mu: float) -> float:
        """Return the log of the profile of mu over that of f at the worst node: above 0 if it refutes mu."""
        with np.errstate(divide="ignore"):
            result = np.log(reported_profile(mu, 0.0, nodes.epsilon).lower)
        return float(np.max(result - np.log(failure + (1 - failure) * nodes.upper)))

    finer = nodes
    for _ in range(8):
        nodes = finer
        high = find_root(excess, 0.0, high, _BEST_CLOSE * high / 16)
        close, (t, value) = (1 - _BEST_CLOSE / 4) * high, polygon_below(nodes)
        floor = (failure + (1 - Bounds.of(failure)) * value).lower
        open_ = ~is_below(close)
        if not open_.any() or len(nodes.epsilon) > limit:
            break
        last = nodes.epsilon[-1:] * (1.1 if open_[-1] else 1.0)
        finer = nodes.with_nodes(np.append(nodes.midpoints(np.flatnonzero(open_[:-1])), last))
    low = 0.0 if open_.any() else close
    return largest(lambda mu: bool(is_below(mu).all()), low, high, 6 if low else 20)
