"""Group privacy: from one record to k."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tradeoff.core.bounds import Pair
from tradeoff.core.curve import TradeOff
from tradeoff.core.derived import OfBeta
from tradeoff.core.dispatch import announces
from tradeoff.core.parameters import count
from tradeoff.errors import DomainError
from tradeoff.families.identity import Identity
from tradeoff.numerics.rounding import UNIT, Array

_MOST = 10_000


class Group(OfBeta):
    """1 - (1 - f)^(o k): type I error travels through k neighbours; cost grows linearly in k."""

    name = "group"

    def __init__(self, f: TradeOff, k: int) -> None:
        self.operands, self.parameters, self.k = (f,), (k,), k

    def _beta(self, alpha: Array, tol: float | None) -> Pair:
        f = self.operands[0]
        # power = (1 - f)^(o j)(alpha) grows with alpha and falls with f: each side feeds itself.
        least, most = alpha, alpha
        for _ in range(self.k):
            least, most = 1 - f.bounds(least).upper, 1 - f.bounds(most).lower
            least, most = np.maximum(least - UNIT, 0.0), np.minimum(most + UNIT, 1.0)
        return 1 - most, 1 - least

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        base: TradeOff = change(self.operands[0])
        return base.group(self.k)

    @property
    def q_plus(self) -> float:
        low = self._beta(np.zeros(1), None)[0]
        return float(1 - low[0]) if self.operands[0].q_plus > 0 else 0.0

    @property
    def sup_loss(self) -> float:
        return self.k * self.operands[0].sup_loss


@announces("group")
def group(f: TradeOff, k: int) -> TradeOff:
    """Guarantee for groups of ``k`` records, for a symmetric curve (Dong, Roth, Su 2022, Theorem 2.14).

    For a curve of one order the formula covers k changes in the same direction only, so it is refused: take the
    envelope first, then the group.

    Raises
    ------
    DomainError
        If f is not symmetric, or k is not a whole number from 0 to 10 000.
    """
    k = count("k", k)
    if k == 0:
        return Identity()
    if not f.symmetric:
        raise DomainError("group needs a symmetric curve; take f.symmetrise(assume='either-order').group(k)")
    base, steps = (f.operands[0], f.k * k) if isinstance(f, Group) else (f, k)
    if steps > _MOST:
        raise DomainError(f"k = {steps} is above {_MOST}, the most compositions of a curve without a closed form")
    return f if k == 1 else Group(base, steps)
