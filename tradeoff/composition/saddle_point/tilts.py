"""Which tilt serves which loss: saddle points, rounded so that nearby losses share one. Choices only: any tilt gives bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tradeoff.composition.saddle_point.tilted import Columns, Tilted, tilted
from tradeoff.intervals.rounding import Array
from tradeoff.loss.changed import Reversed
from tradeoff.loss.cumulant import Cumulant
from tradeoff.loss.law import LossLaw
from tradeoff.loss.saddle_table import SaddleTable, spread

_HALF = math.log(0.5)
_POLES = (0.0, 1.0)

_AIMS = np.array([0.0, 0.5, 1.0])
"""Where tilts are aimed, in standard deviations from the loss towards 0: the third moment is less there, and so is the error."""

_INSIDE, _OUTSIDE = 0.1, 0.3
"""Unit of tilts, at most, over the spread of the integrand about the saddle: between the poles errors take part twice."""


class _Order:
    """The saddles of one order of the pair: above 1, and from 0 to 1/2."""

    def __init__(self, cumulant: Cumulant) -> None:
        self.outer = SaddleTable(cumulant, _POLES, start=1.0)
        self.inner = SaddleTable(cumulant, _POLES, last=0.5)


class Tilts:
    """The tilted laws of a product, each drawn when it is first asked for."""

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], *, symmetric: bool) -> None:
        self.laws, self.counts, self.symmetric = laws, counts, symmetric
        self.drawn: dict[float, Tilted] = {}

    @cached_property
    def cumulant(self) -> Cumulant:
        """K, from sketches: it says where to tilt, and enters no bound."""
        return Cumulant([(law.sketch(), count) for law, count in zip(self.laws, self.counts, strict=True)])

    @cached_property
    def _orders(self) -> tuple[_Order, _Order]:
        """The order asked, and the other one: its loss is -L, its tilt 1 - c."""
        first = _Order(self.cumulant)
        if self.symmetric:
            return first, first
        return first, _Order(
            Cumulant([(Reversed(law).sketch(), n) for law, n in zip(self.laws, self.counts, strict=True)])
        )

    @cached_property
    def _tails(self) -> tuple[SaddleTable, SaddleTable]:
        return SaddleTable(self.cumulant, (0.0,)), SaddleTable(self.cumulant, (0.0,), sign=-1)

    def x_for_delta(self, delta: Array) -> Array:
        """Estimate epsilon(delta), or 0 where delta is above a half."""
        return np.where(
            delta < 0.5, np.maximum(self._orders[0].outer.x_for(np.log(np.minimum(delta, 0.5))), 0.0), 0.0
        )

    def x_for_alpha(self, alpha: Array) -> Array:
        """Estimate the losses x with P(L > x) = alpha."""
        least = np.maximum(np.minimum(alpha, 1 - alpha), 1e-300)
        above, below = (tail.x_for(np.log(least)) for tail in self._tails)
        return np.where(alpha <= 0.5, above, below)

    def near(self, x: Array) -> Columns:
        """Return tilts for each loss, along a new first axis; NaN where there is none."""
        c, sd = self._saddles(x - np.multiply.outer(_AIMS, np.sign(x) * self.sd(x)))
        widest = np.where((c > 0) & (c < 1), _INSIDE, _OUTSIDE) / spread(c, sd, _POLES)
        unit = np.exp2(np.floor(np.log2(widest)))
        tilts, which = np.unique(unit * np.round(c / unit), return_inverse=True)
        found = np.array([self._drawn(float(c)) for c in tilts]).reshape(-1, len(Columns._fields))[
            which.reshape(c.shape)
        ]
        return Columns(*np.moveaxis(found, -1, 0))

    def sd(self, x: Array) -> Array:
        """Return the standard deviation under the tilt for each loss."""
        return self._saddles(x)[1]

    def _drawn(self, c: float) -> Tilted:
        if c not in self.drawn:
            self.drawn[c] = tilted(self.laws, self.counts, c) or Tilted(*[math.nan] * len(Columns._fields))
        return self.drawn[c]

    def _saddles(self, x: Array) -> tuple[Array, Array]:
        """Return the saddle of each loss and its deviation: outside [0, 1] where delta of its order is below a half."""
        x = np.nan_to_num(x)
        (first, second), middle = self._orders, self.cumulant(0.5)[1]
        up, down = first.outer.at(np.maximum(x, 0.0)), second.outer.at(np.maximum(-x, 0.0))
        low, high = first.inner.at(np.minimum(x, middle)), second.inner.at(np.minimum(-x, -middle))
        cases = [(x >= 0) & (up.log < _HALF), (x < 0) & (down.log < _HALF), x <= middle]
        c = np.select(cases, [up.c, 1 - down.c, low.c], 1 - high.c)
        return c, np.select(cases, [up.sd, down.sd, low.sd], high.sd)
