"""Claims about both orders of a pair, of which the worse is asked."""

from __future__ import annotations

from collections.abc import Sequence

from tradeoff.certificates.certificate import Claim, Question
from tradeoff.certificates.conclusion import gain
from tradeoff.certificates.issue.source import OFFSETS, Source
from tradeoff.loss.cumulant import Cumulant

_CROSSING = 1e-4
"""Pace of samples about the loss 0, where min{f, f^-1} bends: its lines there differ by less than 1e-8."""


class Either(Source):
    """Claims about f, and about f^-1 from a source of its own."""

    def __init__(self, method: str, one: Source, other: Source) -> None:
        self.method, self.one, self.other = method, one, other

    @property
    def cumulant(self) -> Cumulant:
        return self.one.cumulant

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        """Return the worse of two answers."""
        lows, highs = zip(*(each.guess(question, value) for each in (self.one, self.other)), strict=True)
        worse = min if question == "beta" else max
        return worse(lows), worse(highs)

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        claims = self.other.points(at, steep=steep)
        return [*self.one.points(at, steep=steep), *(claim.turned for claim in claims)]

    def claims(self, question: Question, value: float, tol: float) -> list[Claim]:
        if question == "beta":  # which follows from no beta of either order
            return self.sampled(value, tol)
        theirs = self.other.claims(question, value, tol)
        return [*self.one.claims(question, value, tol), *(claim.turned for claim in theirs)]

    def sampled(self, alpha: float, tol: float) -> list[Claim]:
        """Sample both orders where either has its supremum, and about 0, where they cross."""
        found: list[Claim] = []
        for one, other in ((self.one, self.other), (self.other, self.one)):
            claims = one.sampled(alpha, tol)
            at = [gain(claim, alpha)[0] for claim in claims]
            both = [*claims, *(claim.turned for claim in other.points(at, steep=True))]
            found += both if one is self.one else [claim.turned for claim in both]
        return [*found, *self.points((_CROSSING * OFFSETS).tolist(), steep=True)]
