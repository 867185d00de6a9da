"""Nodes that know beta, and make polygons of polygons: delta and epsilon from polygons about the operands.

A line below a curve is one question for delta. Whole curves are polygons of a thousand such lines; where more
is wanted than they know, polygons need to be fine only about the type I error at which the answer is reached,
where a line errs by the square of its distance: a few dozen lines do.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived, delta_from_beta
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.query import BoundsView
from tradeoff.errors import PrecisionError
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import meet
from tradeoff.intervals.rounding import Array
from tradeoff.operators.profile_samples import Nodes
from tradeoff.operators.tabulate import STEEPEST, Tabulated, flattest_above, largest, lines_above, lines_below

# Where to ask first, in nats from the answer expected: about it, and as far as a chord may reach over.
_OFFSETS = np.append(0.0, np.outer([-1, 1], np.exp2(np.arange(-1.0, 6.0))))

_ROUNDS = 12  # divisions of cells: from 1 to 1e-10 nats, where lines meet the curve to rounding
_SHARE = 8  # how much closer a line is asked for than the answer, which adds two of them and the gap between
_PARTS = 8  # parts of a cell whose line stands out: 64 times closer to the curve for seven questions more
_BLUR = 2.0  # how far a line stands out, in widths of its own bounds, while closer lines say more
_LEAST, _CLOSEST = 1e-300, 1e-12  # a unit for delta where it is 0; cells in nats that are not divided further


class BetaOperator(Derived):
    """Node that knows beta: of composed operands one delta takes hundreds, so polygons answer."""

    @property
    def direct(self) -> bool:
        """Whether beta takes microseconds, so that one delta may take hundreds."""
        return not any(f.composed for f in self.operands)

    @abstractmethod
    def of_polygons(self, curves: Sequence[PiecewiseLinear], *, up: bool) -> PiecewiseLinear:
        """Return what the operator makes of polygons, rounded to one side."""

    def reached(self, at: tuple[float, float], curves: Sequence[PiecewiseLinear]) -> list[list[float]]:
        """Return the type I errors at which each operand, about as these, counts for f at (alpha, beta)."""
        return [[at[0]] for _ in curves]

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        if self.direct:
            return delta_from_beta(self, epsilon, tol)
        if tol is None:
            return self.upper.bounds.delta(epsilon).lower, self.lower.bounds.delta(epsilon).upper
        return self._closely(_DELTA, epsilon, tol)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        return super().epsilon_bounds(delta, None) if tol is None else self._closely(_EPSILON, delta, tol)

    def _closely(self, question: _Question, at: Array, tol: float) -> Pair:
        """Answer each from a few lines; where they lead nowhere, from some about what whole curves know."""
        result = []
        for x in at.tolist():
            known = _searched(self, question, x, question.known, tol)
            if not question.reached(known, tol):
                known = meet(known, question.between(x, self.lower.bounds, self.upper.bounds))
                known = _searched(self, question, x, known, tol)
            result.append(known)
        low, high = zip(*result, strict=True)
        return np.array(low), np.array(high)

    def _tabulated(self) -> Tabulated:
        below, above = zip(*((f.lower, f.upper) for f in self.operands), strict=True)
        return Tabulated(self.of_polygons(below, up=False), self.of_polygons(above, up=True))


class _Question(NamedTuple):
    """What to begin with, who answers, when bounds are close enough, and at which loss the answer is."""

    known: Bounds[float]
    answer: Callable[[BoundsView, float], Bounds[float]]
    reached: Callable[[Bounds[float], float], bool]
    place: Callable[[float, Bounds[float]], float]

    def between(self, at: float, lower: BoundsView, upper: BoundsView) -> Bounds[float]:
        """Bound the answer of a curve between two others."""
        return Bounds(self.answer(upper, at).lower, self.answer(lower, at).upper)


# delta(eps), to a relative width.
_DELTA = _Question(
    known=Bounds(0.0, 1.0),
    answer=BoundsView.delta,
    reached=lambda found, tol: bool(found.width <= tol * found.upper),
    place=lambda epsilon, _: epsilon,
)

# epsilon(delta), to an absolute width; its place is as far as it is known.
_EPSILON = _Question(
    known=Bounds(-np.inf, np.inf),
    answer=BoundsView.epsilon,
    reached=lambda found, tol: bool(found.width <= tol),
    place=lambda _, found: next((end for end in (found.upper, found.lower) if np.isfinite(end)), 0.0),
)


def _searched(
    node: BetaOperator, question: _Question, at: float, known: Bounds[float], tol: float
) -> Bounds[float]:
    """Bound an answer, to the width ``tol`` where it can be had, by lines about the place where it is."""
    if abs(place := question.place(at, known)) >= STEEPEST:
        return known
    about = _About(node, place)
    for _ in range(_ROUNDS):
        try:
            known = meet(known, question.between(at, about.lower, about.upper))
        except PrecisionError:  # the lines say nothing there
            break
        place = question.place(at, known)
        if question.reached(known, tol) or not about.closer(place, tol):
            break
    return known


class _About:
    """A node of polygons below and above the operands, fine where an answer is reached."""

    def __init__(self, node: BetaOperator, place: float) -> None:
        self._node, self._lines = node, [CloseLines(f, place) for f in node.operands]
        self._make()

    def _make(self) -> None:
        self._below = [lines.side(up=False) for lines in self._lines]
        self._lower = self._node.of_polygons(self._below, up=False)
        self.lower = self._lower.bounds
        self.upper = self._node.of_polygons([lines.side(up=True) for lines in self._lines], up=True).bounds

    def closer(self, epsilon: float, tol: float) -> bool:
        """Ask more where delta(eps) = sup 1 - f(alpha) - e^eps alpha is reached, if that may help."""
        alpha, beta, _, power = self._lower.points
        k = int(np.argmax(power - np.exp(epsilon) * alpha))
        reached = self._node.reached((float(alpha[k]), float(beta[k])), self._below)
        share = tol / _SHARE / max(map(len, reached))
        sides = zip(self._lines, reached, strict=True)
        asked = [lines.closer(at, share) for lines, places in sides for at in places]
        self._make()
        return any(asked)


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
        count, and are asked for to ``tol``, or left as they are if that is 0.
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
            self.nodes = self.nodes.asked(
                epsilon if sag <= tol else np.linspace(epsilon[0], epsilon[2], 5), tol
            )
        except PrecisionError:
            return False
        return True

    def turn(self) -> tuple[float, float]:
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
