"""The seam of every engine: the law of the privacy loss L = log dQ/dP, closed under the algebra.

A cell [a, b] of losses enters through two numbers without cancellation,

    excess  = Q(cell) - e^a  P(cell)   (0 when all its mass sits at a),
    deficit = P(cell) - e^-b Q(cell)   (0 when all its mass sits at b).

They turn every operator (`loss.changed`) into one line: thinning (subsampling) multiplies ``excess`` by p, reversal swaps the
two, a mixture averages them. All masses are computed to a stated relative ``slack``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tradeoff.errors import NoClosedForm
from tradeoff.intervals.leaks import log_kept
from tradeoff.intervals.rounding import UNIT, Array


class Cells(NamedTuple):
    """Excess and deficit of consecutive cells; the truth is within a factor 1 +- slack, cell by cell."""

    excess: Array
    deficit: Array
    slack: Array


class Atoms(NamedTuple):
    """Point masses, losses increasing; ``log_p`` is the log of the P-mass, each mass within a factor 1 +- ``slack``."""

    loss: Array
    log_p: Array
    slack: Array


class Sketch(NamedTuple):
    """Representative points of the law under P, good to plan with, never used in a bound."""

    loss: Array
    log_p: Array


NO_ATOMS = Atoms(np.zeros(0), np.zeros(0), np.zeros(0))


def masses(cells: Cells, edges: Array) -> tuple[Array, Array]:
    """Return P- and Q-mass of cells from excess and deficit; every term is positive."""
    a, b = edges[:-1], edges[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = (cells.deficit + np.exp(np.minimum(-b, 700.0)) * cells.excess) / -np.expm1(
            np.maximum(a - b, -800.0)
        )
    p = np.where(b > a, p, 0.0)
    return p, cells.excess + np.exp(np.minimum(a, 700.0)) * p


def lost_mass(each: Sequence[float], counts: Sequence[int]) -> float:
    """Return 1 - prod (1 - q_i)^n_i without cancellation."""
    if any(q >= 1 for q in each):
        return 1.0
    leaking = [(q, n) for q, n in zip(each, counts, strict=True) if q > 0]
    if len(leaking) == 1 and leaking[0][1] == 1:
        return float(leaking[0][0])
    return abs(math.expm1(log_kept([q for q, _ in leaking], [n for _, n in leaking])))


class LossLaw(ABC):
    """Law of L under P; its Q-law is e^L dP plus the mass ``q_plus`` at +infinity."""

    p_minus: float = 0.0
    q_plus: float = 0.0

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Least and greatest finite loss."""

    @property
    def range(self) -> tuple[float, float]:
        """Infimum and supremum of the finite losses; wider than ``support`` where a tail is below all floats."""
        return self.support

    @property
    def span(self) -> tuple[float, float]:
        """Return losses that hold the continuous part, whose ends every operator maps to each other."""
        return self.support

    @property
    def atoms(self) -> Atoms:
        """Point masses of the finite part."""
        return NO_ATOMS

    @property
    def loss_error(self) -> Array:
        """Bound on the error of every atom's loss."""
        return 8 * UNIT * np.abs(self.atoms.loss)

    @property
    def enclosure(self) -> tuple[float, float]:
        """Return a lower bound on all finite losses and an upper one: ``range`` with its rounding outwards."""
        low, high = self.range
        return low - 8 * UNIT * abs(low), high + 8 * UNIT * abs(high)

    @property
    def continuous(self) -> bool:
        """Whether there is any mass outside the atoms."""
        return True

    @property
    def cut(self) -> bool:
        """Whether atoms were left out at the ends, of a mass no float can hold."""
        return False

    @abstractmethod
    def sketch(self) -> Sketch:
        """Return points that represent the law, for planning only."""

    def cells(self, edges: Array) -> Cells:
        """Return excess and deficit of the continuous part between consecutive ``edges`` (which may be infinite)."""
        low, high = self.span
        clipped = np.clip(edges, low, high)
        inner = self._cells(clipped)
        if np.array_equal(clipped, edges):
            return inner
        # Outside the support nothing is added but the reference moves: Q - e^a P = (Q - e^a' P) + (e^a' - e^a) P.
        p, q = masses(inner, clipped)
        a, b = edges[:-1], edges[1:]
        inside_a, inside_b = clipped[:-1], clipped[1:]
        with np.errstate(invalid="ignore", divide="ignore"):
            below = np.where(
                inside_a > a,
                np.exp(np.minimum(inside_a + np.log(p), 700.0))
                * -np.expm1(np.clip(a - inside_a, -800.0, 0.0)),
                0.0,
            )
            above = np.where(
                b > inside_b,
                np.exp(np.minimum(np.log(q) - inside_b, 700.0))
                * -np.expm1(np.clip(inside_b - b, -800.0, 0.0)),
                0.0,
            )
        return Cells(
            inner.excess + below,
            inner.deficit + above,
            inner.slack + 16 * UNIT * (1 + np.abs(inside_a) + np.abs(inside_b)),
        )

    @abstractmethod
    def _cells(self, edges: Array) -> Cells:
        """Do the same for edges inside the support."""

    def description(self) -> dict[str, Any]:
        """Return the law by its parameters, from which a verifier makes it again."""
        raise NoClosedForm(
            f"a law of type {type(self).__name__} has no description by parameters; "
            "certify curve.lower or curve.upper instead"
        )

    def described(self, count: int) -> dict[str, Any]:
        """Return ``count`` rounds of the law as a factor of a certificate."""
        return {"law": self.description(), "count": count}
