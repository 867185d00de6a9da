"""Claims that the tilted lattice proves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tradeoff.certificates.certificate import Claim
from tradeoff.certificates.issue.source import Source
from tradeoff.composition.lattice.engine import Order
from tradeoff.composition.lattice.place import Effort, first_effort
from tradeoff.composition.planner import Composition
from tradeoff.errors import PrecisionError

_FINER = 8.0  # how much finer the next lattice is: a width falls by about as much
_REFINEMENTS = 4  # most lattices drawn for one claim, 8^3 = 512 times finer in the end


class Lattices(Source):
    """Claims about one composition from its lattices."""

    method = "lattice"

    def __init__(self, composition: Composition, tol: float | None, goal: float) -> None:
        self.engine = self.tables = composition.tables
        self.tol, self.goal = tol, goal

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        x = float(at[len(at) // 2])
        reverse = x < 0
        order = self.tables.backward if reverse else self.tables.forward
        if not order.representable:
            raise PrecisionError("the losses are too large for a lattice; leave method out", math.inf)
        sign = -1.0 if reverse else 1.0
        effort = first_effort(len(order.laws), self.tol)
        for _ in range(_REFINEMENTS):
            claims, final = self._drawn(order, [sign * float(each) for each in at], effort, reverse=reverse)
            if final or max((c.upper - c.lower) / c.upper for c in claims if c.upper > 0) <= self.goal:
                break
            effort = effort._replace(width=effort.width / _FINER)
        return claims

    def _drawn(
        self, order: Order, at: Sequence[float], effort: Effort, *, reverse: bool
    ) -> tuple[list[Claim], bool]:
        """Return claims from one lattice, and whether memory allows no finer one."""
        aim = order.anchors(np.array([abs(at[len(at) // 2])]))  # nearby claims are of one table
        table = order.at(float(aim[0]), effort)
        if table is None:
            raise PrecisionError("the losses lie too far apart for a lattice; leave method out", math.inf)
        low, high = table.delta(np.array(at))
        bounds = zip(at, low.tolist(), np.minimum(high, 1.0).tolist(), strict=True)
        return [Claim("delta", reverse, *each) for each in bounds], table.room <= 1
