"""Single questions about a maximum, closer than whole curves: lines laid only where they matter.

A line below a curve is one question for delta, and the maximum of polygons is a polygon. So polygons on both
sides of the operands bound the answer; they need to be fine only about the type I error at which it is
reached, where a line errs by the square of its distance: a few dozen do what whole curves take thousands for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import PrecisionError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import meet
from tradeoff.intervals.rounding import Array
from tradeoff.operators.line_nodes import STEEPEST, LineNodes
from tradeoff.operators.tabulate import Tabulated, of_lines

_OFFSETS = np.append(0.0, np.outer([-1, 1], np.exp2(np.arange(-1.0, 6.0))))
"""Where to ask first, in nats from the answer expected: about it, and as far as a chord may reach over."""

_ROUNDS = 12
"""Divisions of cells: from 1 to 1e-10 nats, where lines meet the curve to rounding."""

_SHARE = 8
"""How much closer a line is asked for than the answer, which adds two of them and the gap between."""

_PARTS = 8
"""Parts of a cell whose line stands out: 64 times closer to the curve for seven questions more."""

_BLUR = 2.0
"""How far a line stands out, in widths of its own bounds, while closer lines say more."""

_LEAST, _CLOSEST = 1e-300, 1e-12
"""A unit for delta where it is 0; cells in nats that are not divided further."""


def delta_of_maximum(
    curves: Sequence[TradeOff], epsilon: float, known: Bounds[float], tol: float
) -> Bounds[float]:
    """Bound delta(epsilon) of the maximum of curves, to the relative width ``tol`` where it can be had."""
    nodes = _about(curves, epsilon)
    for _ in range(_ROUNDS):
        below, above = _polygons(nodes)
        known = meet(known, Bounds(above.bounds.delta(epsilon).lower, below.bounds.delta(epsilon).upper))
        if known.width <= tol * known.upper or not _closer(nodes, below, epsilon, tol / _SHARE):
            break
    return known


def epsilon_of_maximum(
    curves: Sequence[TradeOff], delta: float, known: Bounds[float], tol: float
) -> Bounds[float]:
    """Bound epsilon(delta) of the maximum of curves, to the width ``tol`` where it can be had."""
    nodes = _about(curves, known.upper)
    for _ in range(_ROUNDS):
        below, above = _polygons(nodes)
        known = meet(known, Bounds(above.bounds.epsilon(delta).lower, below.bounds.epsilon(delta).upper))
        if known.width <= tol or not _closer(nodes, below, known.upper, tol / _SHARE):
            break
    return known


def _about(curves: Sequence[TradeOff], place: float) -> list[_Zoom]:
    return [_Zoom.about(f, np.clip(place + _OFFSETS, -STEEPEST, STEEPEST)) for f in curves]


def _polygons(nodes: Sequence[_Zoom]) -> Tabulated:
    """Return polygons below and above the maximum of the curves."""
    below = [line for lines in nodes for line in lines.supporting()]
    above = [line for lines in nodes for line in (*lines.covering(), lines.flattest())]
    return of_lines(below, above)


def _closer(nodes: Sequence[_Zoom], below: PiecewiseLinear, epsilon: float, tol: float) -> bool:
    """Ask more where delta(eps) = sup 1 - f(alpha) - e^eps alpha is reached, if there is more to be known."""
    alpha, _, _, power = below.points
    place = float(alpha[np.argmax(power - np.exp(epsilon) * alpha)])
    asked = [lines.closer(place, tol) for lines in nodes]
    return any(asked)


class _Zoom(LineNodes):
    """Lines about one type I error."""

    def closer(self, alpha: float, tol: float) -> bool:
        """Ask beside the line that is highest at ``alpha``; return whether more is known than was.

        Where neighbours lie farther from it than its own bounds are apart, cells are divided. Then the bounds
        count, and are asked for again to ``tol``.
        """
        epsilon, sag, own = self._beside(alpha)
        if max(sag, own) <= tol or epsilon[2] - epsilon[0] < _CLOSEST:
            return False
        if sag > _BLUR * own:
            self.ask(np.linspace(epsilon[:-1], epsilon[1:], _PARTS + 1)[1:-1].ravel())
            return True
        try:
            self.ask(epsilon if sag <= tol else np.linspace(epsilon[0], epsilon[2], 5), tol)
        except PrecisionError:
            return False
        return True

    def _beside(self, alpha: float) -> tuple[Array, float, float]:
        """Return the node whose line is highest at ``alpha``, between two others, and what it is unsure of.

        That is how far it lies below their chord, and how far its bounds are apart, both relative to delta.
        """
        with np.errstate(over="ignore"):
            k = int(np.argmin(self.high + np.exp(self.epsilon) * alpha))
        k = min(max(k, 1), len(self.epsilon) - 2)
        epsilon, low, high = (x[k - 1 : k + 2] for x in (self.epsilon, self.low, self.high))
        s, unit = np.exp(epsilon - epsilon[1]), max(high[1], _LEAST)
        chord = high[0] + (high[2] - high[0]) * (s[1] - s[0]) / (s[2] - s[0])
        return epsilon, (chord - high[1]) / unit, np.max(high - low) / unit
