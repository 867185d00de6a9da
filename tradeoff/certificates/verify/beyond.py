"""How small the product stays beyond the last node: factors far out, and intervals cleared until there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tradeoff.certificates.description import Description
from tradeoff.certificates.verify.laws import Nodes
from tradeoff.certificates.verify.moments import GaussianTransform, Moments, moments

Array = NDArray[np.float64]

_ROUGH = 40.0
"""Frequency that the quadratures serve on whose nodes variations are summed."""

_BATCH = 2**21
"""Most pairs of a frequency and a point at a time: 32 mebibytes an array."""

_DEPTH = 14
"""Halvings of an interval that is not cleared at once."""

_DOUBLINGS = 60
"""Octaves in which the bounds of the factors far out must take over."""

_INTERVALS = 32
"""Intervals an octave is cleared in."""

_RAISED = 1.02
"""What a variation summed over nodes is raised by."""


class Product:
    """The factors at tilt c, for frequencies as high as they are asked, and an added Gaussian of mu = tau."""

    def __init__(self, factors: Sequence[Description], c: float, tau: float) -> None:
        self.factors, self.c, self.tau = factors, c, tau
        self.counts = [float(factor["count"]) for factor in factors]
        self._made: dict[float, list[Moments]] = {}

    def at(self, y: float) -> list[Moments]:
        """Return all moments with quadratures that serve frequencies up to y."""
        top = 2.0 ** np.ceil(np.log2(max(y, 1.0)))
        if top not in self._made:
            self._made[top] = [moments(factor["law"], self.c, top) for factor in self.factors]
        return self._made[top]

    @cached_property
    def tails(self) -> list[_Tail]:
        return [_Tail(each) for each in self.at(_ROUGH)]

    def far(self, y: float) -> float:
        """Bound log of the product at all frequencies above y."""
        each = sum(n * tail.far(y) for n, tail in zip(self.counts, self.tails, strict=True))
        return float(each - (self.tau * y) ** 2 / 2)

    def stays_below(self, level: float, start: float) -> bool:
        """Whether log of the product is proved to be at most ``level`` everywhere beyond ``start``."""
        low = start
        for _ in range(_DOUBLINGS):
            if self.far(low) <= level:
                return True
            if not self._cleared(low, 2 * low, level):
                return False
            low *= 2
        return False

    def _cleared(self, low: float, high: float, level: float) -> bool:
        """Clear an interval, by halves where one evaluation is not enough."""
        ends = np.linspace(low, high, _INTERVALS + 1)
        left, right = ends[:-1], ends[1:]
        for _ in range(_DEPTH):
            open_ = self._bound(left, right) > level
            if not open_.any():
                return True
            left, right = left[open_], right[open_]
            middle = (left + right) / 2
            if (self._bound(middle, middle) > level).any():
                return False  # it does not stay below
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        return False

    def _bound(self, left: Array, right: Array) -> Array:
        total = -((self.tau * left) ** 2) / 2
        middle, radius = (left + right) / 2, (right - left) / 2 * (1 + 1e-9)
        for n, each in zip(self.counts, self.at(float(right[-1])), strict=True):
            step = max(1, _BATCH // each.size)
            batches = [slice(k, k + step) for k in range(0, len(left), step)]
            total = total + n * np.concatenate([each.reaches(middle[k], radius[k]) for k in batches])
        return total


class _Tail:
    """|M(c + iy)/M(c)| far out: a density gives 1 - mass + variation/y of any part of the line, by parts."""

    def __init__(self, each: Moments) -> None:
        self.mu = each.mu if isinstance(each, GaussianTransform) else None
        self.parts = [] if self.mu is not None else [_variation(nodes, each) for nodes in each.nodes]

    def far(self, y: float) -> float:
        if self.mu is not None:
            return -((self.mu * y) ** 2) / 2
        turning = sum(max(0.0, float(np.max(mass - variation / y))) for mass, variation in self.parts)
        return float(np.log1p(-min(turning, 1 - 1e-16)))


def _variation(nodes: Nodes, each: Moments) -> tuple[Array, Array]:
    """Return the tilted mass right of every node, and the variation of the density of L there.

    The jump at the left end is part of it. The density of L is that of x over |dL/dx|; its variation is
    summed over the nodes.
    """
    lean = each.c * nodes.loss - each.log_m
    mass = np.exp(np.clip((nodes.log_p + lean).astype(float), -700.0, 0.0))
    height = np.exp(np.clip((nodes.log_density + lean - nodes.log_rise).astype(float), -700.0, 600.0))
    turns = _summed(np.abs(np.diff(height, append=height[-1:])))
    return _summed(mass) * (1 - 1e-6) - mass, _RAISED * (turns + height + height[-1])


def _summed(value: Array) -> Array:
    """Return sums from every entry to the last."""
    return np.asarray(np.cumsum(value[::-1])[::-1])
