"""Claims that need no reduction: exact sums over atoms, closed forms of single laws, and bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tradeoff.certificates.certificate import Claim, Question
from tradeoff.certificates.issue.source import LARGEST, Source
from tradeoff.composition import exact
from tradeoff.composition.planner import Composition
from tradeoff.curves.contract import TradeOff
from tradeoff.errors import PrecisionError
from tradeoff.intervals.rounding import UNIT
from tradeoff.limits.band import Band
from tradeoff.limits.berry_esseen import berry_esseen
from tradeoff.limits.edgeworth_bounds import edgeworth_bounds
from tradeoff.loss.cumulant import Cumulant

# What masses are written to in each round: logarithms down to -30 in floats; fainter masses add little.
_WRITTEN = 64 * UNIT

# Bands of the central limit theorem, by the methods that ask for them.
BANDS: dict[str, Callable[[TradeOff], Band]] = {"berry-esseen": berry_esseen, "edgeworth": edgeworth_bounds}

# Shares of its width and of itself by which a claim is wider than a band, as thresholds that prove it are
# found to 1e-12, and of 1 + |epsilon|, where delta has moved by more than that.
_ROOM, _FOUND, _BESIDE = 1e-9, 1e-12, 1e-6


class Direct(Source):
    """Claims of what answers delta and beta at any point."""

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        return [self._claim("delta", float(x)) for x in at]

    def _beta(self, alpha: float, tol: float) -> list[Claim]:
        return [self._claim("beta", alpha)]

    def _claim(self, question: Literal["delta", "beta"], at: float) -> Claim:
        """Claim an answer to a float beyond either side: balls never prove that numbers are equal."""
        low, high = self.guess(question, at)
        low, high = max(np.nextafter(low, -1.0), 0.0), min(np.nextafter(high, 2.0), 1.0)
        return Claim(question, False, at, float(low), float(high))


class Adding(Direct):
    """Claims from all atoms of a product."""

    method = "exact"

    def __init__(self, sums: exact.ExactEngine, rounds: int) -> None:
        self.engine, self.rounds = sums, rounds

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        low, high = super().guess(question, value)
        if question == "epsilon":
            return low, high
        off = _WRITTEN * self.rounds * (high if question == "delta" else self._moved(value, high))
        return max(low - off, 0.0), high + off

    def _moved(self, alpha: float, high: float) -> float:
        """Bound what beta moves by for each unit that all masses are off by.

        Those accepted under Q move it by a unit of themselves, and those rejected under P by a unit of alpha
        times the slope, which is at most f(alpha/2)/(alpha/2).
        """
        return high + 2 * super().guess("beta", alpha / 2)[1]


class Formulas(Direct):
    """Claims of what answers at once: the closed form of one curve."""

    def __init__(
        self, method: str, composition: Composition, beta: Any, profile: Any, top: float = 0.0
    ) -> None:
        self.method, self.composition, self.beta, self.profile = method, composition, beta, profile
        self.most = LARGEST if LARGEST < top < math.inf else math.inf

    @cached_property
    def cumulant(self) -> Cumulant:
        laws, counts = self.composition.laws, self.composition.counts
        return Cumulant([(law.sketch(), n) for law, n in zip(laws, counts, strict=True)])

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        if max(map(abs, at)) > self.most:
            raise PrecisionError(f"no losses above {LARGEST:g} are verified; leave method out", math.inf)
        return super().points(at)

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        bounds = self.beta(value) if question == "beta" else getattr(self.profile, question)(value)
        return float(bounds.lower), float(bounds.upper)


class Limit(Formulas):
    """Claims of a band about one product, a little wider."""

    def __init__(self, curve: TradeOff, composition: Composition, method: str) -> None:
        band = BANDS[method](curve)
        super().__init__(method, composition, band.bounds, band)

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        low, high = super().guess(question, value)
        if question == "epsilon":
            return low - _BESIDE * (1 + abs(low)), high + _BESIDE * (1 + abs(high))
        room = _ROOM * (high - low)
        return low * (1 - _FOUND) - room, high * (1 + _FOUND) + room
