"""How an answer is reduced to pointwise claims, whoever proves them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import mpmath
import numpy as np

from tradeoff.certificates.certificate import Claim, Question
from tradeoff.certificates.conclusion import DIGITS, gain, implied
from tradeoff.errors import PrecisionError
from tradeoff.intervals.rounding import UNIT
from tradeoff.loss.cumulant import Cumulant, epsilon_for_alpha, log_delta_for_epsilon

_ATTEMPTS = 8  # most times that samples are moved, spread or drawn closer
_SAME = 3  # times that a peak not yet fenced in is only moved to, before samples spread

# Losses sampled at most: e^600 and e^-600 are floats, and so are their products with masses.
_FARTHEST = 600.0

_GONE = -800.0  # logarithm of a delta that no float holds: e^-745 is the least one
_PACE = 1e-2  # between samples at first, over the spread of a loss or 1
LARGEST = 1e30  # losses beyond which balls of some hundred bits know no e^L, and no power of it

# Samples about a supremum, in paces: close where it is looked for, far enough to fence it in.
OFFSETS = np.array([-64.0, -16, -6, -3, -2, -1, 0, 1, 2, 3, 6, 16, 64])


class Source(ABC):
    """One way to prove bounds on delta at given losses."""

    method: str
    engine: Any
    tol: float | None = None

    @property
    def cumulant(self) -> Cumulant:
        """The cumulant function of the product."""
        cumulant: Cumulant = self.engine.cumulant
        return cumulant

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        """Return an answer; its claims are still to be proved."""
        low, high = self.engine.answer(question, np.array([value]), self.tol)
        return float(low[0]), float(high[0])

    @abstractmethod
    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        """Claim bounds on delta at neighbouring losses; ``steep`` lets the other order speak below 0."""

    def start(self, alpha: float) -> tuple[float, float]:
        """Return where the supremum that gives f(alpha) lies, about, and how far from it to sample."""
        return epsilon_for_alpha(self.cumulant, alpha), _PACE * min(1.0, self.cumulant.spread)

    def claims(self, question: Question, value: float, tol: float) -> list[Claim]:
        """Return claims that imply an answer, as narrow as the engine's."""
        if question == "delta":
            return self.points([self._near(value)])
        return self._epsilon(value) if question == "epsilon" else self._beta(value, tol)

    def _near(self, value: float) -> float:
        """Return a loss that tells as much of delta: halved while no float holds the delta of that."""
        while value > _FARTHEST and log_delta_for_epsilon(self.cumulant, value / 2) < _GONE:
            value /= 2
        return value

    def _epsilon(self, value: float) -> list[Claim]:
        """Claim at both ends of the engine's answer, moved outwards where rounding undid the claim."""
        low, high = self.guess("epsilon", value)
        for attempt in range(_ATTEMPTS):
            ends = [end for end in (low, high) if math.isfinite(end)]
            claims = self.points(ends) if ends else []
            found = implied("epsilon", value, claims)
            if tuple(map(math.isfinite, found)) == (math.isfinite(low), math.isfinite(high)):
                return claims
            more = 2.0**attempt * max(
                abs(high - low) / 4 if len(ends) > 1 else 0.0,
                8 * UNIT * (1 + max(map(abs, ends), default=0.0)),
            )
            low, high = low - more, high + more
        raise PrecisionError(
            f"no claims enclose epsilon at delta = {value!r}; leave method out, or ask a wider tol", math.inf
        )

    def _beta(self, alpha: float, tol: float) -> list[Claim]:
        """Sample 1 - delta(log s) - s alpha about its supremum, closer until the bounds are narrow enough."""
        x, pace = self.start(alpha)
        best: tuple[float, list[Claim]] = (math.inf, [])
        for attempt in range(_ATTEMPTS):
            claims = self.points(list(np.clip(x, -_FARTHEST, _FARTHEST) + pace * OFFSETS), steep=True)
            with mpmath.workdps(DIGITS):
                low, high = map(mpmath.mpf, implied("beta", alpha, claims))
                width = float((high - low) / max(min(high, 1 - alpha - low), mpmath.mpf("1e-320")))
                fenced = high < 1 - mpmath.mpf(alpha)
                x, peaked = _top(claims, alpha)
            best = min(best, (width, claims), key=lambda pair: pair[0])
            if width <= tol / 2:
                break
            # A peak that is not fenced in is only off the middle of the samples.
            pace *= (
                max(min(0.5, math.sqrt(tol / width) / 2), 1e-2)
                if fenced
                else 1.0
                if peaked and attempt < _SAME
                else 2.0
            )
        return best[1]


def _top(claims: Sequence[Claim], alpha: float) -> tuple[float, bool]:
    """Return the top of the parabola through the best sample and its neighbours, and whether there is one."""
    gains = sorted((gain(claim, alpha) for claim in claims), key=itemgetter(0))
    at, value = [x for x, *_ in gains], [(mpmath.mpf(low) + mpmath.mpf(high)) / 2 for *_, low, high in gains]
    k = max(range(len(value)), key=value.__getitem__)
    if k in {0, len(at) - 1}:
        return at[k], False
    left, right = at[k - 1] - at[k], at[k + 1] - at[k]
    down, up = value[k - 1] - value[k], value[k + 1] - value[k]
    bend = right * down - left * up
    return (float(at[k] + (right**2 * down - left**2 * up) / (2 * bend)) if bend != 0 else at[k]), True
