"""Claims that need no reduction: exact sums over atoms, and closed forms of single laws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tradeoff.certificates.certificate import Claim, Quantity, Question, ulps
from tradeoff.certificates.evidence import Formula, Sums
from tradeoff.certificates.issue.source import Source
from tradeoff.composition import exact
from tradeoff.curves.contract import TradeOff


class Adding(Source):
    """Claims from all atoms of a product."""

    method = "exact"

    def __init__(self, sums: exact.ExactEngine) -> None:
        self.sums = sums
        self.evidence = (Sums(len(sums.law.loss), float(np.max(sums.law.atoms.slack))),)

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        low, high = getattr(self.sums, question)(np.array([value]), None)
        return float(low[0]), float(high[0])

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        return [_claim("delta", x, self.guess("delta", x)) for x in at]

    def beta(self, alpha: float, tol: float) -> list[Claim]:
        return [_claim("beta", alpha, self.guess("beta", alpha))]


class Formulas(Source):
    """Claims from the closed form of one curve."""

    method = "closed-form"
    evidence = (Formula(),)

    def __init__(self, curve: TradeOff) -> None:
        self.curve = curve

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        bounds = (
            self.curve.bounds(value) if question == "beta" else getattr(self.curve.bounds, question)(value)
        )
        return float(bounds.lower), float(bounds.upper)

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        return [_claim("delta", float(x), self.guess("delta", float(x))) for x in at]

    def beta(self, alpha: float, tol: float) -> list[Claim]:
        return [_claim("beta", alpha, self.guess("beta", alpha))]


def _claim(quantity: Quantity, at: float, bounds: tuple[float, float]) -> Claim:
    low, high = bounds
    return Claim(
        quantity, reverse=False, at=at, lower=low, upper=high, evidence=0, terms={"ulps": ulps(low, high)}
    )
