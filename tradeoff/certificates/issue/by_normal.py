"""Claims that Berry and Esseen's theorem proves."""

from __future__ import annotations

from tradeoff.certificates.certificate import Question
from tradeoff.certificates.issue.direct import Direct
from tradeoff.composition.planner import Composition
from tradeoff.curves.contract import TradeOff
from tradeoff.limits.berry_esseen import berry_esseen
from tradeoff.loss.cumulant import Cumulant


class Normal(Direct):
    """Claims from the band about one product."""

    method = "berry-esseen"

    def __init__(self, curve: TradeOff, composition: Composition) -> None:
        self.band, self.composition = berry_esseen(curve), composition

    @property
    def cumulant(self) -> Cumulant:
        laws, counts = self.composition.laws, self.composition.counts
        return Cumulant([(law.sketch(), n) for law, n in zip(laws, counts, strict=True)])

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        asked = self.band.bounds if question == "beta" else getattr(self.band, question)
        found = asked(value)
        return float(found.lower), float(found.upper)
