"""The curve of two laws on the line."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import beta_from_delta
from tradeoff.curves.hooks import assuming
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import exp, expm1, where
from tradeoff.intervals.rounding import Array
from tradeoff.loss.line import LOSS_ERROR, LineLaw


class LinePair(TradeOff):
    """T(P, Q) of two laws on the line, from the law of L in pieces on which it is monotone.

    Pairs of one ``key`` are equal; ``symmetric`` says that both orders have one curve.
    """

    def __init__(
        self, law: LineLaw, name: str, key: Hashable, assumptions: tuple[str, ...], *, symmetric: bool = False
    ) -> None:
        self._law, self.name, self.key = law, name, key
        self._assumptions, self._symmetric = assumptions, symmetric
        self._origin: LinePair | None = None

    @property
    def assumptions(self) -> tuple[str, ...]:
        return self._assumptions

    @property
    def symmetric(self) -> bool:
        return self._symmetric

    @cached_property
    def _other(self) -> LineLaw:
        return self._law.reversed()

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        high = epsilon >= 0
        found = Bounds(*np.zeros((2, len(epsilon))))
        for law, chosen in ((self._law, high), (self._other, ~high)):
            if chosen.any():
                for side, value in zip(found, law.tail(np.abs(epsilon[chosen])), strict=True):
                    side[chosen] = value
        # delta(-eps) = 1 - e^-eps + e^-eps delta(eps) of the other order.
        below = np.minimum(epsilon, 0.0)
        low, most = where(high, found, exp(below) * found - expm1(below))
        return low, np.where(epsilon >= self.sup_loss, self.mass_at_infinity.upper, most)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return beta_from_delta(self, alpha, tol)

    @property
    def q_plus(self) -> float:
        return min(self._law.q_plus + self._law.apart[1] + self._law.doubt[1], 1.0)

    @property
    def p_minus(self) -> float:
        return min(self._law.p_minus + self._law.apart[0] + self._law.doubt[0], 1.0)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return self._law.mass_at_infinity

    @cached_property
    def sup_loss(self) -> float:
        """L on a piece is at most what it is at its end, if that is known."""
        ends = zip(self._law.pieces, self._law.extremes, strict=True)
        tops = [(loss, piece.known[1] or self._law.bounded) for piece, (_, loss) in ends]
        found = max((loss for loss, _ in tops), default=0.0)  # no loss is finite
        seen = all(at_end for _, at_end in tops) and self._law.doubt[1] == 0
        return found + LOSS_ERROR * (1 + abs(found)) if seen else np.inf

    @property
    def least_sup_loss(self) -> float:
        found = max((most for _, most in self._law.extremes), default=-np.inf)
        return found - LOSS_ERROR * (1 + abs(found)) if np.isfinite(found) else -np.inf

    def inverse(self) -> TradeOff:
        if self.symmetric:
            return self
        turned = LinePair(self._other, f"inverse({self.name})", ("inverse", self.key), self.assumptions)
        turned._origin = self
        return self._origin or turned

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinePair) and (self.key, self.assumptions) == (other.key, other.assumptions)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{self.name}{'' if self.symmetric else ' (one order)'}{assuming(self.assumptions)}"
