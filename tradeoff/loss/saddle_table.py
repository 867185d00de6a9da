"""Saddle points in order, tabulated as far as asked, for arrays of questions. Estimates, never bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tradeoff.intervals.rounding import Array
from tradeoff.loss.cumulant import Cumulant

_RUNG, _FIRST, _LEAST = 0.4, 0.01, 1e-9
"""A rung's height, and the first one's, over the standard deviation; 1 + u is above 1."""

_RAREST, _MOST = 745.0, 4000
"""Minus the logarithm of the least float, and a number of rungs that no law has been seen to need."""


class Rung(NamedTuple):
    """Where e^(K(c) - c x)/prod |c - p| has its saddle: c, x, tilted deviation, -log of the integral."""

    c: float
    x: float
    sd: float
    rarity: float


class Saddles(NamedTuple):
    """The saddle of each loss, the standard deviation under that tilt, and the logarithm of the integral."""

    c: Array
    sd: Array
    log: Array


def spread(c: Array, sd: Array, poles: Sequence[float]) -> Array:
    """Return the root of the second derivative of K(c) - sum log |c - p|."""
    return np.sqrt(sd * sd + sum((c - p) ** -2 for p in poles))


class _Climbed:
    """A ladder as far as it was climbed: the last u, and the rungs, as columns too."""

    def __init__(self, u: float, rungs: tuple[Rung, ...]) -> None:
        self.u, self.rungs = u, rungs
        self.columns: list[Array] = [np.array(column) for column in zip(*rungs, strict=True)]


class SaddleTable:
    """The saddles c = start + sign u of growing u, up to where what they estimate is too small for floats.

    With the poles 0 and 1 they estimate log delta(x) for c > 1 and log(1 - delta(x)) for 0 < c < 1; with the
    pole 0 alone log P(L > x) for c > 0 and log P(L <= x) for c < 0.
    """

    def __init__(
        self,
        cumulant: Cumulant,
        poles: Sequence[float],
        start: float = 0.0,
        sign: int = 1,
        last: float = math.inf,
    ) -> None:
        self.cumulant, self.poles, self.start, self.sign = cumulant, poles, start, sign
        self.last = min(last, cumulant.steepest)
        u = min(max(_FIRST / math.sqrt(1 + cumulant(start)[2]), _LEAST), self.last / 2)
        # Replaced as a whole, and each rung follows from the one below: threads that climb at once write the
        # same.
        self._climbed = _Climbed(u, (self._rung(u),))

    def _rung(self, u: float) -> Rung:
        c = self.start + self.sign * u
        value, mean, variance = self.cumulant(c)
        away = [c - p for p in self.poles]
        x, curvature = mean - sum(1 / d for d in away), variance + sum(d**-2 for d in away)
        # Of the poles 0 and 1 the second stands for e^x, which delta multiplies.
        log = (
            value
            - (c - (len(away) - 1)) * x
            - sum(math.log(abs(d)) for d in away)
            - 0.5 * math.log(2 * math.pi * curvature)
        )
        return Rung(c, x, math.sqrt(max(variance, 0.0)), -log)

    def _climb(self, enough: Callable[[Rung], bool]) -> list[Array]:
        """Climb, and return the rungs as columns."""
        climbed = self._climbed
        u, rungs = climbed.u, list(climbed.rungs)
        while not enough(top := rungs[-1]) and u < self.last and len(rungs) < _MOST:
            if top.rarity > _RAREST and top.rarity > rungs[-2:][0].rarity:  # near 0 it may fall first
                break
            u = min(u + _RUNG / float(spread(np.array(top.c), np.array(top.sd), self.poles)), self.last)
            rungs.append(self._rung(u))
        if len(rungs) > len(climbed.rungs):
            climbed = self._climbed = _Climbed(u, tuple(rungs))
        return climbed.columns

    def at(self, x: Array) -> Saddles:
        """Return the saddle of each x, on a ladder of growing c."""
        most = float(np.max(x, initial=-math.inf))
        c, loss, sd, rarity = self._climb(lambda top: top.x > most)
        loss = np.maximum.accumulate(loss)
        return Saddles(np.interp(x, loss, c), np.interp(x, loss, sd), -np.interp(x, loss, rarity))

    def spread(self, x: Array) -> Array:
        """Return the spread of the integrand about each saddle: a tilt so far from x costs e^(1/2)."""
        c, sd, _ = self.at(x)
        return spread(c, sd, self.poles)

    def x_for(self, log: Array) -> Array:
        """Return the x at which the estimated logarithm is ``log``."""
        most = float(np.max(-log, initial=-math.inf))
        _, loss, _, rarity = self._climb(lambda top: top.rarity > most)
        return np.asarray(
            np.interp(-log, np.maximum.accumulate(rarity), loss)
        )  # in order, however far the climb went
