"""Polygons below and above curves: profiles at nodes, whole curves, and operators that map polygons.

A node is a loss eps with bounds on the profile delta(eps), a cell the interval between two nodes. In s =
e^eps the profile is convex. So in a cell it lies under the chord of its upper bounds, and above the chords of
the neighbouring cells prolonged: statements about every eps, made from finitely many.

A ``Line`` (a, b, c) of integers is a alpha + b beta = c, a ``Point`` (alpha, beta) in units of 2^-1074:
``ONE`` units are 1, ``whole(x)`` the float x. A line below a curve takes one delta, s alpha + beta = 1 -
delta(log s), and whole curves are polygons of a thousand such lines. A polygon is rounded ``up`` if it is to
be above the curve, else down. Operators with a formula for beta alone get delta and epsilon from polygons
about their operands. Where a tolerance needs more, these are refined only about the type I error at which the
answer is reached, where a line errs by the square of its distance: a few dozen lines suffice.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.curves.contract import Derived, TradeOff
from tradeoff.curves.hooks import BOUND, delta_from_beta, limited
from tradeoff.curves.parameters import Numbers, reals
from tradeoff.curves.piecewise_linear import ENDS, PiecewiseLinear, float_vertices, hull_of, segments
from tradeoff.errors import PrecisionError, domain
from tradeoff.intervals.bounds import Array, Bounds, Pair, sides_of
from tradeoff.intervals.functions import clip, exp, expm1, meet, minimum
from tradeoff.intervals.polygon import ONE, Line, envelope, round_corners, whole

STEEPEST = 700.0  # largest epsilon of a node: e^eps is still a float

# Where nodes are chosen; no bound depends on these.
_REACH = 1e-21  # type I errors below which lines are laid no closer: below the 1e-20 that is promised
_NOISE = 1e-16  # relative differences of delta that rounding may make
_CLOSEST = 1e-14  # least distance of nodes in nats: e^eps differs there
_DIVISIONS = 12  # rounds that divide a cell: from 1 to 1e-10 nats, where lines meet the curve to rounding

Question = Literal["delta", "epsilon"]


@dataclass(frozen=True)
class Nodes:
    """Bounds ``lower`` and ``upper`` on delta of ``curve`` at increasing losses ``epsilon``, in nats."""

    curve: TradeOff
    epsilon: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, curve: TradeOff, epsilon: Array) -> Nodes:
        """Evaluate bounds at these losses."""
        return cls(curve, *[np.empty(0)] * 3).with_nodes(epsilon)

    @property
    def widths(self) -> Bounds[Array]:
        """Bound s_b/s_a - 1 of each cell [a, b], capped at e^700."""
        return expm1(minimum(Bounds.of(self.epsilon[1:]) - self.epsilon[:-1], STEEPEST))

    def refine(self, epsilon: Array, tol: float | None = None) -> Nodes:
        """Return the nodes with these, new or known, bounded to the relative width ``tol``."""
        # From sup L on delta is Q(L = inf); an engine takes longer to resolve that than all other nodes.
        low, high = (np.full(len(epsilon), side) for side in clip(self.curve.mass_at_infinity, 0.0, 1.0))
        if (inner := epsilon < self.curve.sup_loss).any():
            low[inner], high[inner] = self.curve.bounds.delta(epsilon[inner], tol=tol)
        every, at = np.unique(np.append(self.epsilon, epsilon), return_inverse=True)
        lower, upper = np.zeros(len(every)), np.ones(len(every))
        np.maximum.at(lower, at, np.append(self.lower, low))
        np.minimum.at(upper, at, np.append(self.upper, high))
        # As delta decreases, each bound holds for its neighbours too.
        lower, upper = np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)
        return Nodes(self.curve, every, lower, upper)

    def with_nodes(self, epsilon: Array, tol: float | None = None) -> Nodes:
        """Return the nodes with these; with a ``tol`` also known ones to that width, if it can be reached."""
        fresh = np.setdiff1d(epsilon, self.epsilon)
        try:
            return self.refine(epsilon if tol else fresh, tol) if tol or len(fresh) else self
        except PrecisionError:
            return self.refine(fresh) if len(fresh) else self

    def midpoints(self, cells: NDArray[np.intp]) -> Array:
        """Return the losses in the middle of cells, given by the numbers of their left nodes."""
        return np.asarray((self.epsilon[:-1][cells] + self.epsilon[1:][cells]) / 2)


def polygon_below(nodes: Nodes) -> tuple[Bounds[Array], Array]:
    """Return points t = s/s_a - 1 in each cell [a, b], and values there whose polygon lies below the profile.

    Both have shape (3, cells): its ends, and about where the chords of its neighbours, prolonged, meet. Both
    chords lie below the profile all over the cell, so that a polygon does whose middle value is below either.
    """
    low, high, wide = nodes.lower, nodes.upper, np.diff(nodes.epsilon) >= STEEPEST
    before = Bounds.of(nodes.epsilon[1:-1]) - nodes.epsilon[:-2]  # lengths of cells before an inner node
    after = Bounds.of(nodes.epsilon[2:]) - nodes.epsilon[1:-1]
    # Slopes in t, steeper than the truth on the left: those of the cell before, and of the first cell at
    # least -1, as delta is convex in s and 1 at s = 0; flatter on the right, those of the cell after.
    falls = ((Bounds.of(low[1:-1]) - high[:-2]) / -expm1(-before)).lower
    gains = ((Bounds.of(low[1:-1]) - high[2:]) / expm1(minimum(after, STEEPEST)) * exp(-before)).lower
    left = np.append(-1.0, falls)
    right = np.append(np.where(wide[1:], 0.0, np.maximum(gains, 0.0)), 0.0)
    width = nodes.widths
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = (low[1:] + width.lower * right - low[:-1]) / (left + right)
    middle = np.clip(np.nan_to_num(crossing), 0.0, width.lower)
    t = Bounds(*(np.stack([np.zeros_like(middle), middle, end]) for end in width))
    corner = minimum(low[:-1] + Bounds.of(middle) * left, low[1:] + (width - middle) * right).lower
    # Where the step has no exponential in floats, delta is only known to fall.
    value = np.stack([low[:-1], np.where(wide, low[1:], np.maximum(corner, 0.0)), low[1:]])
    value[0] = np.where(wide, low[1:], value[0])
    return t, value


def chords(nodes: Nodes, values: Array, t: Bounds[Array]) -> Array:
    """Bound the chords of ``values`` at the nodes from above, at the points ``t`` of ``polygon_below``."""
    return np.asarray((values[:-1] + (Bounds.of(values[1:]) - values[:-1]) * (t / nodes.widths)).upper)


def orders(*curves: TradeOff) -> list[tuple[TradeOff, ...]]:
    """Return the curves, and their inverses unless all are symmetric: the orders to compare for eps >= 0.

    As delta_{f^-1}(eps) = 1 - e^eps + e^eps delta_f(-eps), f >= g at -eps is f^-1 >= g^-1 at eps.
    """
    return [curves] if all(f.symmetric for f in curves) else [curves, tuple(f.inverse() for f in curves)]


def both_orders(f: TradeOff) -> tuple[TradeOff, ...]:
    """Return the curve, and its inverse if that is another one."""
    return tuple(one for (one,) in orders(f))


def tail_end(f: TradeOff, level: float) -> float:
    """Return an eps >= 0 from which on delta_f <= level, or inf if there may be none."""
    top = f.sup_loss if f.mass_at_infinity.upper <= level else np.inf
    try:
        at = max(float(f.bounds.epsilon(min(level, 1.0)).upper), 0.0)
    except PrecisionError:
        return max(top, 0.0)
    # Epsilon and delta are computed separately, and may differ in the last digits.
    tries = [at + slack * (at + slack) for slack in (0.0, 1e-12, 1e-9, 1e-6, 1e-3) if at < np.inf]
    first = next((each for each in tries if each < top and f.bounds.delta(each).upper <= level), top)
    return max(first, 0.0)


class Tabulated(NamedTuple):
    """Two curves with lower <= f <= upper at every alpha; unpacks as ``lower, upper``."""

    lower: PiecewiseLinear
    upper: PiecewiseLinear

    def described(self, f: TradeOff) -> Tabulated:
        """Return the sides with the assumptions of ``f``; none is exact but ``f`` itself."""
        return Tabulated(*(side if side is f else limited(side, BOUND, f.assumptions) for side in self))


def tabulate(f: TradeOff, alphas: Numbers | None = None) -> Tabulated:
    """Return polygons below and above f, rounding included (Dong, Roth, Su 2022, Proposition 2.12).

    With ``alphas``, the chords of f's upper bounds there, and the lines below f parallel to them. By default
    they differ by about 1e-3 of min(beta, 1 - alpha - beta) for alpha from 1e-20 to 1 - 1e-20, wherever f's
    own bounds on delta are that narrow (not where 1 - delta(0) is 1e-16: hardly any privacy).
    """
    if alphas is not None:
        places = reals("alphas", alphas)
        if places.ndim != 1 or len(places) == 0 or not np.all((places >= 0) & (places <= 1)):
            allowed = "a non-empty one-dimensional list of type I errors in [0, 1]"
            raise domain("alphas", alphas, allowed)
        places = np.unique(np.concatenate([[0.0], places, [1.0]]))
        points = zip(map(whole, places.tolist()), map(whole, f.bounds(places).upper.tolist()), strict=True)
        chords_above = hull_of([*points, *ENDS])
        runs, rises = chords_above.atoms()
        with np.errstate(divide="ignore"):  # a line of any slope serves: extreme ones are capped
            epsilon = np.append(np.clip(np.log(rises) - np.log(runs), -STEEPEST, STEEPEST), 0.0)
        steep, flat = np.unique(epsilon[epsilon >= 0]), np.unique(-epsilon[epsilon <= 0])
        below = lines_below(Nodes.of(f, steep))
        below += [(a, b, c) for b, a, c in lines_below(Nodes.of(f.inverse(), flat))]
        return Tabulated(largest(below, up=False), chords_above)
    if isinstance(f, PiecewiseLinear):
        return Tabulated(f, f)
    # Lines of slope <= -1 of f and, mirrored, of f^-1.
    nodes = [refined_nodes(g) for g in both_orders(f)]
    below, above = (
        # Lines of f^-1 are those of f with the errors exchanged.
        lines(nodes[0]) + [(a, b, c) for b, a, c in lines(nodes[-1])]
        for lines in (lines_below, lines_above)
    )
    return Tabulated(largest(below, up=False), largest(above, up=True))


def largest(lines: Iterable[Line], *, up: bool) -> PiecewiseLinear:
    """Return the largest of the lines: below a curve if all are, above it if at each alpha one is."""
    result = round_corners(envelope(lines), up=up)
    # A flat line may reach 0 only after alpha = 1: the chord to (1, 0) is above the curve too.
    return hull_of([*(point for point in result if point[0] < ONE), *ENDS] if up else result)


def thinned(f: PiecewiseLinear, every: int, *, up: bool) -> PiecewiseLinear:
    """Return a polygon through one of ``every`` vertices of f, above it, or of one of its lines, below it."""
    if every == 1:
        return f
    if not up:
        lines = segments(f)
        return largest([*lines[::every], lines[-1]], up=False)
    points = f.vertices if f.is_rational else float_vertices(f)
    kept = [*points[:-1:every], points[-1]]
    return PiecewiseLinear(*zip(*kept, strict=True)) if f.is_rational else hull_of(kept)


def lines_below(nodes: Nodes) -> list[Line]:
    """Return the line 1 - delta(eps) - e^eps alpha below f of each node; rounded to a steeper one, lower."""
    return to_lines(exp(nodes.epsilon).upper, nodes.upper)


def lines_above(nodes: Nodes) -> list[Line]:
    """Return lines whose maximum is above f where it is steeper than at the second node.

    They are those of the vertices of a polygon below delta(log s), as sup_s 1 - delta - s alpha is reached at
    one of them; the first cell has no chord on its left. After the last node delta is at least Q(L = inf).
    """
    t, low = polygon_below(nodes)
    s = (exp(nodes.epsilon[1:-1]) * (1 + Bounds(t.lower[:2, 1:], t.upper[:2, 1:]))).lower
    last = exp(nodes.epsilon[-1:]).lower
    deltas = [nodes.lower[-1], nodes.curve.mass_at_infinity.lower]
    return to_lines(np.append(s.ravel(), [last, last]), np.append(low[:2, 1:].ravel(), deltas))


def to_lines(slopes: Array, deltas: Array) -> list[Line]:
    """Return the lines slope alpha + beta = 1 - delta."""
    return [(whole(s), ONE, ONE - whole(d)) for s, d in zip(slopes.tolist(), deltas.tolist(), strict=True)]


def refined_nodes(f: TradeOff) -> Nodes:
    """Choose nodes from about 0 to where the tail ends, halving cells whose polygons are too far apart."""
    top, lost = min(max(f.sup_loss, 0.0) * (1 + 8 * _NOISE), STEEPEST), f.mass_at_infinity.upper
    if top > 4.0:  # P(L > eps) and delta - Q(L = inf) may be negligible long before
        top = min(top, tail_end(f, lost * (1 + 64 * _NOISE) + 1e-3 * _REACH))
    scale = np.concatenate([np.geomspace(2.0**-20, 1.0, 41), np.linspace(0.0, 1.0, 33)[1:]]) * top
    positive = np.unique(scale[scale >= _CLOSEST])
    positive = positive if len(positive) else np.array([_CLOSEST])
    first = np.concatenate([[-positive[0], 0.0], positive])
    nodes = Nodes.of(f, first[np.append(True, np.diff(first) >= _CLOSEST / 2)])
    for _ in range(16):  # halvings of a cell
        t, low = polygon_below(nodes)
        gap = np.max(chords(nodes, nodes.upper, t) - low, axis=0)
        e, high = nodes.epsilon, nodes.upper
        # alpha, and excess = 1 - alpha - beta, where the lines of both ends meet
        alpha = (high[:-1] - high[1:]) / (np.exp(e[:-1]) * np.expm1(np.diff(e)))
        excess = high[:-1] + np.expm1(e[:-1]) * alpha
        # min(beta, 1 - alpha - beta) for f; for f^-1 this gap is in alpha, s times as wide as that in beta
        unit = np.minimum(np.minimum(np.maximum(1 - alpha - excess, _NOISE), excess), np.exp(e[:-1]) * alpha)
        ratio, width = gap / np.maximum(unit, 1e-290), high - nodes.lower  # the quotient is still a float
        # Nodes do not help where bounds on delta are as wide; with a factor above 3 nested operators widen.
        is_blurred = gap < 3 * np.maximum(width[:-1], width[1:]) + 24 * _NOISE * excess
        is_tail = alpha + excess < f.mass_at_infinity.lower + _REACH
        # Sides about 1e-3 apart, relative to min(beta, 1 - alpha - beta), are aimed at.
        open_cells = np.flatnonzero((ratio > 1e-3) & ~is_blurred & ~is_tail & (np.diff(e) > 2 * _CLOSEST))
        open_cells = open_cells[open_cells > 0]  # the first lies below 0, and only serves its neighbour
        # 2500 nodes of a closed form take a second; the worst cells come first.
        fresh = nodes.midpoints(open_cells[np.argsort(-ratio[open_cells])])[: 2500 - len(e)]
        if len(fresh) == 0:
            break
        nodes = nodes.with_nodes(fresh)
    return nodes


class BetaOperator(Derived):
    """Operator with a formula for beta: where operands are composed, polygons give delta and epsilon.

    A subclass has ``beta_bounds`` and ``of_polygons``, and ``reached`` where it asks operands elsewhere than
    at its own alpha.
    """

    @property
    def direct(self) -> bool:
        """Whether beta takes microseconds, so that one delta may evaluate hundreds."""
        return not any(f.composed for f in self.operands)

    @abstractmethod
    def of_polygons(self, curves: Sequence[PiecewiseLinear], *, up: bool) -> PiecewiseLinear:
        """Apply the operator to polygons below, or above, the operands; round down, or ``up``."""

    def reached(self, at: tuple[float, float], curves: Sequence[PiecewiseLinear]) -> list[list[float]]:
        """Return the alphas at which each operand, close to its polygon, determines f(alpha) = beta."""
        return [[at[0]] for _ in curves]

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return delta_from_beta(self, epsilon, tol) if self.direct else self._answer_to("delta", epsilon, tol)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        return self._answer_to("epsilon", delta, tol)

    def _answer_to(self, question: Question, at: Array, tol: float | None) -> Pair:
        """Bound answers by whole curves, or to ``tol`` by a few lines, if needed again from those bounds."""
        if tol is None:
            return sides_of(_between(question, at, self.lower, self.upper))
        result = []
        for x in at.tolist():
            bounds = Bounds(0.0, 1.0) if question == "delta" else Bounds(-np.inf, np.inf)
            bounds = self._search(question, x, bounds, tol)
            if not _is_reached(question, bounds, tol):
                bounds = meet(bounds, _between(question, x, self.lower, self.upper))
                bounds = self._search(question, x, bounds, tol)
            result.append([*bounds])
        low, high = np.array(result).T
        return low, high

    def _search(self, question: Question, at: float, bounds: Bounds[float], tol: float) -> Bounds[float]:
        """Narrow ``bounds`` on one answer by lines about its loss, to the width ``tol`` if possible."""

        def loss() -> float:  # delta's argument, or the best bound on epsilon, or 0
            ends = [at] if question == "delta" else [bounds.upper, bounds.lower]
            return next((end for end in ends if np.isfinite(end)), 0.0)

        if abs(loss()) >= STEEPEST:
            return bounds
        operand_lines = [CloseLines(f, loss()) for f in self.operands]
        for _ in range(_DIVISIONS):
            below, above = ([each.side(up=up) for each in operand_lines] for up in (False, True))
            lower, upper = self.of_polygons(below, up=False), self.of_polygons(above, up=True)
            try:
                bounds = meet(bounds, _between(question, at, lower, upper))
            except PrecisionError:  # the lines give no bounds there
                break
            if _is_reached(question, bounds, tol):
                break
            # delta(eps) = sup 1 - f(alpha) - e^eps alpha is reached at one vertex.
            alpha, beta, _, power = lower.points
            k = int(np.argmax(power - np.exp(loss()) * alpha))
            places = self.reached((float(alpha[k]), float(beta[k])), below)
            share = tol / 8 / max(map(len, places))  # an answer adds two lines and the gap between
            # The list is complete before ``any``, so that all are refined, also after one that improved.
            improved = [
                each.refine_near(x, share) for each, xs in zip(operand_lines, places, strict=True) for x in xs
            ]
            if not any(improved):
                break
        return bounds

    def _tabulated(self) -> Tabulated:
        below, above = zip(*((f.lower, f.upper) for f in self.operands), strict=True)
        return Tabulated(self.of_polygons(below, up=False), self.of_polygons(above, up=True))


def _between(question: Question, at: Any, lower: TradeOff, upper: TradeOff) -> Bounds:
    """Bound the answers of a curve between two others."""
    least, most = (getattr(f.bounds, question)(at) for f in (upper, lower))
    return Bounds(least.lower, most.upper)


def _is_reached(question: Question, bounds: Bounds[float], tol: float) -> bool:
    """Return whether bounds have the width wanted: relative for delta, absolute for epsilon."""
    return bool(bounds.width <= tol * (bounds.upper if question == "delta" else 1.0))


class CloseLines:
    """Nodes of a curve about a loss, to which more are added where its lines are to be close to it."""

    def __init__(self, f: TradeOff, loss: float) -> None:
        offsets = np.append(0.0, np.outer([-1, 1], np.exp2(np.arange(-1.0, 6.0))))  # 0 and +- 1/2 to 32 nats
        self.nodes = Nodes.of(f, np.unique(np.clip(loss + offsets, -STEEPEST, STEEPEST)))

    def side(self, *, up: bool) -> PiecewiseLinear:
        """Return the polygon that the lines leave below the curve, or above it."""
        if not up:
            return largest(lines_below(self.nodes), up=False)
        # Where f is flatter than at the second node, f(alpha) <= s (1 - alpha), as f(1) = 0.
        s = whole(float(exp(self.nodes.epsilon[1:2]).lower[0]))
        return largest([*lines_above(self.nodes), (s, ONE, s)], up=True)

    def refine_near(self, alpha: float, tol: float) -> bool:
        """Improve the node whose line is highest at ``alpha``; return whether bounds may have improved.

        While it lies farther from its neighbours' chord than its bounds on delta are apart, its two cells are
        divided; then the bounds are refined to the relative width ``tol``, or left as they are if that is 0.
        """
        nodes = self.nodes
        with np.errstate(over="ignore"):
            k = int(np.argmin(nodes.upper + np.exp(nodes.epsilon) * alpha))
        k = min(max(k, 1), len(nodes.epsilon) - 2)
        epsilon, low, high = (x[k - 1 : k + 2] for x in (nodes.epsilon, nodes.lower, nodes.upper))
        # How far it lies below its neighbours' chord, and how far its bounds are apart, relative to delta.
        s, unit = np.exp(epsilon - epsilon[1]), max(high[1], 1e-300)
        chord = high[0] + (high[2] - high[0]) * (s[1] - s[0]) / (s[2] - s[0])
        sag, width = (chord - high[1]) / unit, np.max(high - low) / unit
        if max(sag, width) <= tol or epsilon[2] - epsilon[0] < 1e-12:
            return False
        if sag > 2.0 * width:
            # Eight parts are 64 times closer to the curve for seven nodes more a cell.
            self.nodes = nodes.with_nodes(np.linspace(epsilon[:-1], epsilon[1:], 8 + 1)[1:-1].ravel())
            return True
        try:
            at = epsilon if sag <= tol else np.linspace(epsilon[0], epsilon[2], 5)
            self.nodes = nodes.refine(at, tol) if tol else nodes
        except PrecisionError:
            return False
        return tol > 0

    def slope_one_point(self) -> tuple[float, float]:
        """Return a point next to the curve, about where its slope is -1, as closely as bounds resolve it."""
        for _ in range(_DIVISIONS):
            alpha, beta, *_ = self.side(up=False).points
            k = int(np.argmin(alpha + beta))
            if not self.refine_near(float(alpha[k]), 0.0):
                break
        return float(alpha[k]), float(beta[k])
