"""Operators with a formula for beta alone: delta and epsilon from polygons about the operands.

A line below a curve takes one evaluation of delta. Whole curves are polygons of a thousand such lines. Where
a tolerance needs more, polygons are refined only about the type I error at which the answer is reached,
where a line errs by the square of its distance: a few dozen lines suffice.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.hooks import delta_from_beta
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import PrecisionError
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import meet
from tradeoff.intervals.rounding import Array
from tradeoff.operators.profile_samples import Nodes
from tradeoff.operators.tabulate import STEEPEST, Tabulated, flattest_above, largest, lines_above, lines_below

# First nodes, in nats from the expected answer: about it, and as far as a chord may reach over.
_OFFSETS = np.append(0.0, np.outer([-1, 1], np.exp2(np.arange(-1.0, 6.0))))

_ROUNDS = 12  # divisions of cells: from 1 to 1e-10 nats, where lines meet the curve to rounding
_SHARE = 8  # width of an answer over that of a line: an answer adds two lines and the gap between
_PARTS = 8  # parts of a divided cell: 64 times closer to the curve for seven nodes more
_BLUR = 2.0  # distance of a line from its neighbours, in widths of its own bounds, above which cells divide
_LEAST, _CLOSEST = 1e-300, 1e-12  # a unit for delta where it is 0; cells in nats that are not divided


Question = Literal["delta", "epsilon"]


class BetaOperator(Derived):
    """Operator with a formula for beta: where operands are composed, polygons give delta and epsilon."""

    @property
    def direct(self) -> bool:
        """Whether beta takes microseconds, so that one delta may evaluate hundreds."""
        return not any(f.composed for f in self.operands)

    @abstractmethod
    def of_polygons(self, curves: Sequence[PiecewiseLinear], *, up: bool) -> PiecewiseLinear:
        """Apply the operator to polygons, rounded to one side."""

    def reached(self, at: tuple[float, float], curves: Sequence[PiecewiseLinear]) -> list[list[float]]:
        """Return type I errors at which the operands, about these curves, determine f at (alpha, beta)."""
        return [[at[0]] for _ in curves]

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        if self.direct:
            return delta_from_beta(self, epsilon, tol)
        if tol is None:
            return self.upper.bounds.delta(epsilon).lower, self.lower.bounds.delta(epsilon).upper
        return self._closely("delta", epsilon, tol)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        return super().epsilon_bounds(delta, None) if tol is None else self._closely("epsilon", delta, tol)

    def _closely(self, question: Question, at: Array, tol: float) -> Pair:
        """Bound each answer by a few lines; where they do not suffice, by some about that of whole curves."""
        result = []
        for x in at.tolist():
            bounds = Bounds(0.0, 1.0) if question == "delta" else Bounds(-np.inf, np.inf)
            bounds = _search(self, question, x, bounds, tol)
            if not _is_reached(question, bounds, tol):
                bounds = meet(bounds, _between(question, x, self.lower, self.upper))
                bounds = _search(self, question, x, bounds, tol)
            result.append(bounds)
        low, high = zip(*result, strict=True)
        return np.array(low), np.array(high)

    def _tabulated(self) -> Tabulated:
        below, above = zip(*((f.lower, f.upper) for f in self.operands), strict=True)
        return Tabulated(self.of_polygons(below, up=False), self.of_polygons(above, up=True))


def _between(question: Question, at: float, lower: TradeOff, upper: TradeOff) -> Bounds[float]:
    """Bound the answer of a curve between two others."""
    least, most = (getattr(f.bounds, question)(at) for f in (upper, lower))
    return Bounds(least.lower, most.upper)


def _is_reached(question: Question, bounds: Bounds[float], tol: float) -> bool:
    """Whether bounds have the width wanted: relative for delta, absolute for epsilon."""
    return bool(bounds.width <= tol * (bounds.upper if question == "delta" else 1.0))


def _loss(question: Question, at: float, bounds: Bounds[float]) -> float:
    """Return the loss at which the answer is reached, as far as it is known."""
    ends = [at] if question == "delta" else [bounds.upper, bounds.lower]
    return next((end for end in ends if np.isfinite(end)), 0.0)


def _search(
    node: BetaOperator, question: Question, at: float, bounds: Bounds[float], tol: float
) -> Bounds[float]:
    """Bound an answer, to the width ``tol`` where it can be reached, by lines about its loss."""
    if abs(place := _loss(question, at, bounds)) >= STEEPEST:
        return bounds
    lines = [CloseLines(f, place) for f in node.operands]
    for _ in range(_ROUNDS):
        below = [each.side(up=False) for each in lines]
        lower = node.of_polygons(below, up=False)
        upper = node.of_polygons([each.side(up=True) for each in lines], up=True)
        try:
            bounds = meet(bounds, _between(question, at, lower, upper))
        except PrecisionError:  # the lines give no bounds there
            break
        if _is_reached(question, bounds, tol):
            break
        # delta(eps) = sup 1 - f(alpha) - e^eps alpha is reached at one vertex.
        alpha, beta, _, power = lower.points
        k = int(np.argmax(power - np.exp(_loss(question, at, bounds)) * alpha))
        places = node.reached((float(alpha[k]), float(beta[k])), below)
        share = tol / _SHARE / max(map(len, places))
        # All are refined, also after one that improved.
        improved = [each.closer(x, share) for each, xs in zip(lines, places, strict=True) for x in xs]
        if not any(improved):
            break
    return bounds


class CloseLines:
    """Nodes of a curve whose lines are close to it about chosen type I errors."""

    def __init__(self, f: TradeOff, place: float) -> None:
        self.nodes = Nodes.of(f, np.unique(np.clip(place + _OFFSETS, -STEEPEST, STEEPEST)))

    def side(self, *, up: bool) -> PiecewiseLinear:
        """Return the polygon that the lines leave below the curve, or above it."""
        lines = [*lines_above(self.nodes), flattest_above(self.nodes)] if up else lines_below(self.nodes)
        return largest(lines, up=up)

    def closer(self, alpha: float, tol: float) -> bool:
        """Add nodes next to the line that is highest at ``alpha``; return whether bounds may have improved.

        Where neighbours lie farther from it than its own bounds are apart, cells are divided. Then the bounds
        count, and are refined to ``tol``, or left as they are if that is 0.
        """
        epsilon, sag, own = self._cells_at(alpha)
        if max(sag, own) <= tol or epsilon[2] - epsilon[0] < _CLOSEST:
            return False
        if sag > _BLUR * own:
            self.nodes = self.nodes.more(np.linspace(epsilon[:-1], epsilon[1:], _PARTS + 1)[1:-1].ravel())
            return True
        if tol == 0:
            return False
        try:
            self.nodes = self.nodes.refine(
                epsilon if sag <= tol else np.linspace(epsilon[0], epsilon[2], 5), tol
            )
        except PrecisionError:
            return False
        return True

    def slope_one_point(self) -> tuple[float, float]:
        """Return a point next to the curve, about where its slope is -1, as closely as bounds resolve it."""
        for _ in range(_ROUNDS):
            alpha, beta, *_ = self.side(up=False).points
            k = int(np.argmin(alpha + beta))
            if not self.closer(float(alpha[k]), 0.0):
                break
        return float(alpha[k]), float(beta[k])

    def _cells_at(self, alpha: float) -> tuple[Array, float, float]:
        """Return the node whose line is highest at ``alpha``, between two others, and its uncertainty.

        That is how far it lies below their chord, and how far its bounds are apart, both relative to delta.
        """
        nodes = self.nodes
        with np.errstate(over="ignore"):
            k = int(np.argmin(nodes.upper + np.exp(nodes.epsilon) * alpha))
        k = min(max(k, 1), len(nodes.epsilon) - 2)
        epsilon, low, high = (x[k - 1 : k + 2] for x in (nodes.epsilon, nodes.lower, nodes.upper))
        s, unit = np.exp(epsilon - epsilon[1]), max(high[1], _LEAST)
        chord = high[0] + (high[2] - high[0]) * (s[1] - s[0]) / (s[2] - s[0])
        return epsilon, (chord - high[1]) / unit, np.max(high - low) / unit
