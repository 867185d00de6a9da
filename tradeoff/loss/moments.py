"""Certified expectations of functions of L: cells between edges, each with its exact P-mass and Q-mass.

On a cell [a, b] the law of r = e^L has known mass and known mean, so the chord of a function of r has a known
expectation. With phi(L) = psi(r) the function itself differs from it by at most

    p (b' - a')^2/8 max |psi''| <= p (e^(b-a) - 1)^2/8 max |phi'' - phi'|,   a' = e^a, b' = e^b,

which falls with the square of the cell's width.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from tradeoff.errors import PrecisionError
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.law import FULL, LossLaw, View

_CELLS = 2**15
"""Cells over the whole support: relative widths of about 1e-7."""

_LEFT_OUT = 1e-290
"""Above what a law holds outside its support or leaves out of its atoms, weighed with any loss."""

_SQUARE = 1e150
"""Losses farther apart are cut into cells as if they were not: a square is a float."""

Function = Callable[[Array], Array]


class FiniteLaw:
    """Law of L under P given that L is finite, shifted by a constant so that e^L has mean one.

    Cells are narrow where mass weighed with e^(``tilt`` L) is: a choice, no bound rests on it.
    """

    def __init__(self, law: LossLaw, tilt: float = 0.0, size: int = _CELLS) -> None:
        self.law, self.tilt, self.size = law, tilt, size
        p, q = law.p_minus, law.q_plus
        if max(p, q) >= 1:
            raise PrecisionError(
                "the moments of this law cannot be bounded: its finite losses have no mass in floats", np.inf
            )
        # What conditioning adds to every loss: masses cost 16 units, logarithms 8, |log(1 - p)| <= p/(1 - p).
        self.shift = float(np.log1p(-p) - np.log1p(-q))
        self._shift_error = 32 * UNIT * (p / (1 - p) + q / (1 - q))

    @cached_property
    def _cells(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return ends of cells, the P-mass at each in the chord's expectation, slack, and errors of ends."""
        view = self.law.view()
        if max(np.abs(view.base.support)) > _SQUARE:
            raise PrecisionError(
                f"the moments of this law cannot be bounded: its losses reach beyond {_SQUARE:g}", np.inf
            )
        edges = _edges(view, self.tilt, self.size)
        excess, deficit, slack = view.base.cells(edges)
        a, b = edges[:-1], edges[1:]
        whole = -np.expm1(np.maximum(a - b, -FULL))
        loss = view.forward(edges)
        x, y = loss[:-1], loss[1:]
        off = view.base.edge_error(edges)
        off = np.maximum(view.forward(edges + off) - loss, loss - view.forward(edges - off))
        off = np.maximum(off[:-1], off[1:])
        if not view.turned:
            # An exponential, expm1 of a difference and two products.
            at_y = np.exp(np.clip(-b, -FULL, FULL)) * excess / whole
            return x, y, deficit / whole, at_y, slack + 32 * UNIT, off
        # Under Q every mass at an end is e^L times that under P, and the loss changes sign.
        at_y = np.exp(np.clip(y - b, -FULL, FULL)) * excess / whole
        at_x = np.exp(np.clip(x, -FULL, FULL)) * deficit / whole
        # A thinned loss is known to 24 units of itself and, where large, 11 + 8 more.
        slack = slack + off + 40 * UNIT * (1 + np.abs(x) + np.abs(y) + np.abs(b))
        return -y, -x, at_y, at_x, slack, off

    def expectation(self, phi: Function, bend: Function, steep: Function) -> tuple[float, float]:
        """Enclose E phi(L) for phi >= 0, convex in L.

        ``bend`` bounds |phi'' - phi'| and ``steep`` bounds |phi'| at a loss; both are largest at an end of a
        cell.
        """
        loss, log_p, atom_slack = self.law.atoms
        low = high = 0.0
        if len(loss):
            x = loss + self.shift
            mass, value = np.exp(log_p), phi(x)
            moved = 2 * self.law.loss_error + 4 * UNIT * (np.abs(loss) + abs(self.shift)) + self._shift_error
            # Phi and mass cost 8 and more each. What overflows, or is none of it, says nothing: phi >= 0.
            with np.errstate(over="ignore", invalid="ignore"):
                error = mass * (value * (atom_slack + 32 * UNIT) + steep(x) * moved)
                low, high = float(np.sum(mass * value - error)), float(np.sum(mass * value + error))
            low, high = (low, high) if math.isfinite(high - low) else (0.0, math.inf)
        if self.law.continuous:
            below, above = self._over_cells(phi, bend, steep)
            low, high = low + below, high + above
        rounding = 64 * UNIT + self._shift_error  # pairwise sums of positive terms, and the division
        whole, left_out = 1 - self.law.p_minus, self.law.continuous or self.law.lost > 0
        low, high = low / whole * (1 - rounding), high / whole * (1 + rounding)
        return max(low, 0.0), high + (_LEFT_OUT if left_out else 0.0)

    def _over_cells(self, phi: Function, bend: Function, steep: Function) -> tuple[float, float]:
        a, b, at_a, at_b, slack, off = self._cells
        x, y = a + self.shift, b + self.shift
        mass, chord = at_a + at_b, at_a * phi(x) + at_b * phi(y)
        with np.errstate(over="ignore", invalid="ignore"):
            bow = mass * np.expm1(np.minimum(b - a, 300.0)) ** 2 / 8 * np.maximum(bend(x), bend(y))
            bow = np.nan_to_num(bow, nan=np.inf)
            at_most = bow * (1 + slack)
        most = mass * np.maximum(phi(x), phi(y))  # phi is convex: nothing inside the cell is above its ends
        # Ends are thinned losses, each known to 35 units of itself, and shifted; so are those beside them.
        off = off + 110 * UNIT * (np.maximum(np.abs(a), np.abs(b)) + abs(self.shift)) + self._shift_error
        moved = mass * np.maximum(steep(x), steep(y)) * off
        low = np.maximum(chord * (1 - slack) - at_most, 0.0) - moved
        high = np.minimum(chord + bow, most) * (1 + slack) + moved
        return float(np.sum(low)), float(np.sum(high))

    def estimate(self, phi: Function) -> float:
        """Estimate E phi(L) by the chords, for any smooth phi: no bound."""
        loss, log_p, _ = self.law.atoms
        total = float(np.sum(np.exp(log_p) * phi(loss + self.shift)))
        if self.law.continuous:
            a, b, at_a, at_b, _, _ = self._cells
            total += float(np.sum(at_a * phi(a + self.shift) + at_b * phi(b + self.shift)))
        return total / (1 - self.law.p_minus)

    def check(self) -> None:
        """Raise unless cells hold all mass: no float holds e^L beyond 700, and cells can be too narrow."""
        low, high = self.expectation(np.ones_like, np.zeros_like, np.zeros_like)
        if abs(low - 1) > 1e-6 or abs(high - 1) > 1e-6:
            raise PrecisionError(
                "the moments of this law cannot be bounded: its cells hold a mass between "
                f"{low:.6g} and {high:.6g} instead of 1, "
                "as some losses are too large for e^L in floats, or too near to each other",
                np.inf,
            )


def _edges(view: View, tilt: float, size: int) -> Array:
    """Cut the base's support so that cells add about the same error p (b - a)^2 (1 + |z|^3): choices only."""
    source, log_p = view.base.sketch()
    loss = view.forward(source)
    if view.turned:
        loss, log_p = -loss, log_p + loss
    low, high = view.base.support
    exponent = log_p + tilt * loss
    weight = np.exp(exponent - np.max(exponent))
    total = float(np.sum(weight))
    mean = float(np.sum(weight * loss)) / total
    away = np.minimum(np.abs(loss - mean), _SQUARE)
    deviation = np.sqrt(float(np.sum(weight * away**2)) / total) + 1e-300
    order = np.argsort(source, kind="stable")
    knots = np.unique(np.clip(np.concatenate([[low], source[order], [high]]), low, high))
    if len(knots) < 2:
        return np.array([low, max(high, np.nextafter(low, np.inf))])
    z = np.minimum(away / deviation, 1e3)
    heavy = np.interp(knots, source[order], (weight * (1 + z**3))[order])
    width = np.minimum(np.diff(view.forward(knots)), _SQUARE)
    share = np.cbrt(np.maximum(heavy[:-1], heavy[1:]) * width**2)
    pieces = 1 + np.floor(size * share / max(float(np.sum(share)), 1e-300)).astype(np.int64)
    start = np.repeat(np.cumsum(pieces) - pieces, pieces)
    inside = (np.arange(int(np.sum(pieces))) - start) / np.repeat(pieces, pieces)
    cuts = np.repeat(knots[:-1], pieces) + inside * np.repeat(np.diff(knots), pieces)
    return np.unique(np.append(cuts, knots[-1]))
