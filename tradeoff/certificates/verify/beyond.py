"""How small the product stays beyond the last node: own bounds of every factor far out, and intervals cleared until there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tradeoff.certificates.description import Description
from tradeoff.certificates.verify.laws import Part
from tradeoff.certificates.verify.moments import GaussianTransform, Moments, moments

_ROUGH = 40.0
_BATCH = 2**21
_DEPTH, _DOUBLINGS = 14, 60
_INTERVALS = 32


class Product:
    """The factors at tilt c, for frequencies as high as they are asked, and an added Gaussian of mu = tau."""

    def __init__(self, factors: Sequence[Description], c: float, tau: float) -> None:
        self.factors, self.c, self.tau = factors, c, tau
        self.counts = [factor["count"] for factor in factors]
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
        return float(
            sum(n * tail.far(y) for n, tail in zip(self.counts, self.tails, strict=True))
            - (self.tau * y) ** 2 / 2
        )

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
            if (self._bound((left + right)[open_] / 2, (left + right)[open_] / 2) > level).any():
                return False  # it does not stay below
            middle = (left[open_] + right[open_]) / 2
            left, right = np.concatenate([left[open_], middle]), np.concatenate([middle, right[open_]])
        return False

    def _bound(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        total = -((self.tau * left) ** 2) / 2
        middle, radius = (left + right) / 2, (right - left) / 2 * (1 + 1e-9)
        for n, each in zip(self.counts, self.at(float(right[-1])), strict=True):
            step = max(1, _BATCH // each.size)
            cut = range(0, len(left), step)
            total = total + n * np.concatenate(
                [each.reaches(middle[k : k + step], radius[k : k + step]) for k in cut]
            )
        return total


class _Tail:
    """|M(c + iy)/M(c)| far out: each density gives 1 - mass + variation/y of any part of the line, by integration by parts."""

    def __init__(self, each: Moments) -> None:
        self.mu = each.mu if isinstance(each, GaussianTransform) else None
        self.parts = (
            []
            if self.mu is not None
            else [_variation(part, each) for part in each.parts if part.log_density is not None]
        )

    def far(self, y: float) -> float:
        if self.mu is not None:
            return -((self.mu * y) ** 2) / 2
        turning = sum(max(0.0, float(np.max(mass - variation / y))) for mass, variation in self.parts)
        return float(np.log1p(-min(turning, 1 - 1e-16)))


def _variation(part: Part, each: Moments) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the tilted mass right of every node, and the variation of the density of L there with its jump at the left end.

    The density of L is that of x over |dL/dx|; its variation is summed over the nodes and raised by two per cent.
    """
    if part.log_density is None or part.log_rise is None:
        return np.zeros(1), np.zeros(1)
    lean = each.c * part.loss - each.log_m
    mass = np.exp(np.clip((part.log_p + lean).astype(float), -700.0, 0.0))
    height = np.exp(np.clip((part.log_density + lean - part.log_rise).astype(float), -700.0, 600.0))
    left_to_right = _summed(mass), _summed(np.abs(np.diff(height, append=height[-1:]))) + height + height[-1]
    return left_to_right[0] * (1 - 1e-6) - mass, left_to_right[1] * 1.02


def _summed(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums from every entry to the last."""
    return np.asarray(np.cumsum(value[::-1])[::-1])
