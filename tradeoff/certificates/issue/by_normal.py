"""Claims that the central limit theorem proves, with Berry and Esseen's error or Edgeworth's."""

from __future__ import annotations

from collections.abc import Callable

from tradeoff.certificates.certificate import Question
from tradeoff.certificates.issue.direct import Direct
from tradeoff.composition.planner import Composition
from tradeoff.curves.contract import TradeOff
from tradeoff.limits.band import Band
from tradeoff.limits.berry_esseen import berry_esseen
from tradeoff.limits.edgeworth_bounds import edgeworth_bounds
from tradeoff.loss.cumulant import Cumulant

BANDS: dict[str, Callable[[TradeOff], Band]] = {"berry-esseen": berry_esseen, "edgeworth": edgeworth_bounds}
"""Bands, by the methods that ask for them."""

_ROOM, _BESIDE = 1e-9, 1e-6
"""Share of its width by which a claim is wider than the band, as thresholds that prove it are found to 1e-12;
and of 1 + |epsilon|, where delta has moved by more than that."""


class Normal(Direct):
    """Claims from the band about one product."""

    def __init__(self, curve: TradeOff, composition: Composition, method: str) -> None:
        self.band, self.composition, self.method = BANDS[method](curve), composition, method

    @property
    def cumulant(self) -> Cumulant:
        laws, counts = self.composition.laws, self.composition.counts
        return Cumulant([(law.sketch(), n) for law, n in zip(laws, counts, strict=True)])

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        asked = self.band.bounds if question == "beta" else getattr(self.band, question)
        low, high = (float(side) for side in asked(value))
        if question == "epsilon":
            return low - _BESIDE * (1 + abs(low)), high + _BESIDE * (1 + abs(high))
        room = _ROOM * (high - low)
        return low - room, high + room
