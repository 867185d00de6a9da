"""Claims that imply the mu of one Gaussian: losses where cells ask for more than the answer needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from tradeoff.certificates.certificate import Claim
from tradeoff.certificates.conclusion import Known, balls, chords, implied, known_of, least_mu
from tradeoff.certificates.issue.source import Source
from tradeoff.errors import PrecisionError

_FIRST = 9  # losses to begin with, a scale: a claim takes milliseconds

# When it ends: cells are halved twelve times, to a few hundred claims, seconds of proof.
_ROUNDS, _MOST = 12, 300

# How far beyond the engine's epsilon delta is claimed to be small enough, four times farther each time.
_BEYOND = 1e-9

_SHARE = 8  # claims are this much narrower than mu: what is claimed wider is proved faster
_ATTEMPTS = 16  # times that it is


class Points(Protocol):
    """What claims bounds on delta at losses."""

    def points(self, at: Sequence[float]) -> list[Claim]: ...


def reduced(sources: Sequence[Source], tops: Sequence[float], failure: float, goal: float) -> list[Claim]:
    """Claim delta of one order, or of both, at losses that imply mu to the relative width ``goal``."""
    sides = [_Side(source, failure, goal / _SHARE, top) for source, top in zip(sources, tops, strict=True)]
    for _ in range(_ROUNDS):
        least, most = least_mu(failure, [side.known for side in sides])
        wide = [side.wide(least * (1 + goal / 2)) for side in sides]
        if most <= least * (1 + goal) or not any(map(len, wide)) or sum(map(len, sides)) > _MOST:
            break
        for side, middles in zip(sides, wide, strict=True):
            side.ask(middles)
    if most == math.inf:
        raise PrecisionError(f"no claims bound mu at failure = {failure!r}; ask a larger one", most)
    claims, others = sides[0].claims, sides[-1].claims  # a symmetric curve has one side
    return [*claims, *(claim.turned for claim in others)]


def _past(top: float, delta: float) -> Claim:
    """Claim that delta is small enough where no loss is, past the largest."""
    return Claim("delta", False, top * (1 + _BEYOND) + _BEYOND, 0.0, delta)


def capped(claims: list[Claim], value: float, top: float) -> list[Claim]:
    """Add that epsilon is at most the largest loss, where claims leave it open and there is one."""
    left = top < math.inf and implied("epsilon", value, claims)[1] == math.inf
    return [*claims, _past(max(top, 0.0), value)] if left else claims


class Asked:
    """Claims about one order, which is the one that its source speaks of, wider by ``off``."""

    def __init__(self, source: Points, off: float) -> None:
        self.source, self.off, self.claims = source, off, list[Claim]()

    def __len__(self) -> int:
        return len(self.claims)

    def ask(self, losses: Sequence[float]) -> None:
        for x in losses:
            try:
                claims = self.source.points([float(x)])
            except PrecisionError:  # next to the largest loss no line is drawn, and others do
                continue
            for claim in claims:
                low, high = (
                    x + sign * self.off * min(x, 1 - x) for sign, x in ((-1, claim.lower), (1, claim.upper))
                )
                self.claims.append(replace(claim, lower=low, upper=high))


class _Side(Asked):
    """Claims from x = 0 to where nothing is asked."""

    def __init__(self, source: Source, failure: float, off: float, top: float) -> None:
        super().__init__(source, off)
        self.failure = failure
        end = max(source.guess("epsilon", failure)[1], 0.0)
        if end == math.inf:
            raise PrecisionError(f"no loss is known where delta is at most {failure!r}: ask a larger", end)
        for k in range(_ATTEMPTS):
            self.ask([end + 4.0**k * _BEYOND * (1 + end)])
            if any(known.upper <= failure for known in self.known):
                break
            self.claims.clear()
        if not self.claims and top < math.inf:
            self.claims.append(_past(top, failure))
            end = self.claims[0].at
        self.ask([0.0, *np.linspace(0.0, end, _FIRST)[1:-1], *end * np.geomspace(1e-3, 0.1, _FIRST)])

    @property
    def known(self) -> list[Known]:
        """What the claims say."""
        return known_of(self.claims, reverse=False)

    def wide(self, enough: float) -> list[float]:
        """Return the middles of cells that ask for more than ``enough``."""
        with balls():
            return [(c.first + c.last) / 2 for c in chords(self.failure, self.known) if not c.mu <= enough]
