"""Law in, bounds out: one planner over all engines.

Each engine answers all three questions on arrays, both sides at once. The planner asks them in turn, the narrowest for
its cost first, and intersects what they prove, until the width wanted is reached.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tradeoff.composition import exact, widths
from tradeoff.composition.contour.engine import ContourEngine
from tradeoff.composition.lattice.engine import LatticeEngine
from tradeoff.composition.lattice.place import on_one_lattice
from tradeoff.composition.options import Method, query_options
from tradeoff.composition.widths import Measure
from tradeoff.errors import DomainError
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.discrete import AtomicLaw
from tradeoff.loss.law import LossLaw, lost_mass

Pair = tuple[Array, Array]

_EDGE = 16 * UNIT
_USUAL = {"delta": 1e-6, "epsilon": 1e-6, "beta": 1e-4}
"""Widths with which a question that states no tolerance is content."""

_LOWEST = -745.0

_MOST_ROUNDS = 2**1000
"""A float holds it, and times a loss of 1e7 nats; no answer of so many rounds but of closed forms is other than trivial."""

_FEW = 4
"""Rounds of continuous laws up to which the lattice is the narrower engine: nearly atomic sums have slow contours."""


class Engine(Protocol):
    """Anything that bounds the three questions on arrays."""

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon)."""

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound the least epsilon with delta(epsilon) <= delta."""

    def beta(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha)."""


class Composition:
    """Bounds on every question about the product of ``laws`` with multiplicities ``counts``."""

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], *, symmetric: bool = False) -> None:
        self.laws, self.counts, self.symmetric = list(laws), list(counts), symmetric
        if max(self.counts, default=0) > _MOST_ROUNDS:
            digits = len(str(max(self.counts))) - 1
            raise DomainError(
                f"a factor counted about 10^{digits} times is beyond 2^1000 rounds, the most that floats sum; ask a smaller power"
            )

    @cached_property
    def q_plus(self) -> float:
        """Return Q(L = inf) of the product."""
        return lost_mass([law.q_plus for law in self.laws], self.counts)

    @cached_property
    def p_minus(self) -> float:
        """Return P(L = -inf) of the product."""
        return lost_mass([law.p_minus for law in self.laws], self.counts)

    @cached_property
    def supremum(self) -> float:
        """Return an upper bound on the finite losses: every round's supremum is rounded up, their sum by 4 units of its terms."""
        ends = [count * law.enclosure[1] for law, count in zip(self.laws, self.counts, strict=True)]
        return math.fsum(ends) + 4 * UNIT * math.fsum(map(abs, ends))

    @cached_property
    def tables(self) -> LatticeEngine:
        """The lattice."""
        return LatticeEngine(self.laws, self.counts, symmetric=self.symmetric)

    @cached_property
    def contour(self) -> ContourEngine:
        """The contour."""
        return ContourEngine(self.laws, self.counts, symmetric=self.symmetric)

    @cached_property
    def sums(self) -> exact.Sums | None:
        """The exact sums, where the atoms of the product are few."""
        law: AtomicLaw | None = exact.product(self.laws, self.counts)
        return None if law is None else exact.Sums(law, self.q_plus)

    @cached_property
    def spent(self) -> bool:
        """Whether some factor leaves no mass that floats hold: nothing is left to compose."""
        return any(not law.continuous and len(law.atoms.loss) == 0 for law in self.laws)

    def engines(self, method: Method | None) -> Iterator[Engine]:
        """Yield the engines to ask, in order; a method forces one."""
        if self.spent:
            return
        if method == "exact" or (method is None and self.sums is not None):
            if self.sums is not None:
                yield self.sums
            return
        if method == "lattice":
            yield self.tables
        elif method == "contour":
            yield self.contour
        else:
            yield from self._usual()

    def _usual(self) -> Iterator[Engine]:
        rounds = sum(n for law, n in zip(self.laws, self.counts, strict=True) if law.continuous)
        if not self.contour.possible:
            yield self.tables
        elif rounds == 0:
            yield from (
                (self.tables, self.contour) if on_one_lattice(self.laws) else (self.contour, self.tables)
            )
        elif rounds <= _FEW:
            yield from (self.tables, self.contour)
        else:
            yield from (self.contour.sharp, self.tables, self.contour)

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon); ``tol`` is relative to the upper bound."""
        over = epsilon >= self.supremum + 1e-12 * abs(self.supremum)
        least = 0.0 - np.expm1(np.minimum(epsilon, 0.0)) * (
            1 - _EDGE
        )  # delta >= 1 - e^eps, and no float tells more below -745 nats
        low, high = (
            np.maximum(self.q_plus * (1 - _EDGE), least),
            np.where(over, self.q_plus * (1 + _EDGE), 1.0),
        )
        return self._ask("delta", epsilon, (low, high), ~over & (epsilon > _LOWEST), widths.delta, tol)

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound epsilon(delta); ``tol`` is absolute."""
        q = self.q_plus
        below, edge = delta < q * (1 - _EDGE), delta <= q * (1 + _EDGE)
        low = np.where(below, np.inf, -np.inf)
        high = np.where((q == 0) & (delta >= q), self.supremum, np.inf)
        return self._ask("epsilon", delta, (low, high), ~edge, widths.epsilon, tol)

    def beta(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha) for alpha in (0, 1); ``tol`` is relative to min(beta, 1 - alpha - beta)."""
        return self._ask(
            "beta",
            alpha,
            (np.zeros(len(alpha)), self._chord(alpha)),
            np.ones(len(alpha), bool),
            widths.beta(alpha),
            tol,
        )

    def _chord(self, alpha: Array) -> Array:
        """Bound the convex f by its chord from f(0) = Q(L < inf) to f(P(L > -inf)) = 0."""
        left, right = (1 - lost * (1 - _EDGE) + UNIT for lost in (self.q_plus, self.p_minus))
        return np.where(alpha < right, np.minimum(left * (1 - alpha / right + 2 * UNIT), 1 - alpha), 0.0)

    def _ask(
        self,
        question: Literal["delta", "epsilon", "beta"],
        at: Array,
        known: Pair,
        waiting: NDArray[np.bool_],
        measure: Measure,
        tol: float | None,
    ) -> Pair:
        low, high = known
        for engine in self.engines(query_options().method):
            if not waiting.any():
                break
            below, above = getattr(engine, question)(at[waiting], tol)
            # What overflowed is NaN and says nothing: fmax and fmin pass over it.
            low[waiting], high[waiting] = np.fmax(low[waiting], below), np.fmin(high[waiting], above)
            with np.errstate(invalid="ignore"):
                waiting = waiting & ~(measure(low, high) <= (_USUAL[question] if tol is None else tol))
        return low, high
