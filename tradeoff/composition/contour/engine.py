"""The contour: lines of a saddle-point integral about the losses asked, and Chernoff's bound beyond."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tradeoff.composition.budget import (
    LINE_TERMS,
    LINE_TERMS_EACH,
    LOOKING,
    PATIENT_TERMS,
    SMOOTHED,
    SMOOTHING,
    USUAL,
    Question,
)
from tradeoff.composition.cache import alike
from tradeoff.composition.contour import chernoff
from tradeoff.composition.contour.strip import HALF, Drawn, Strip
from tradeoff.composition.engine import Engine
from tradeoff.intervals.bounds import Pair
from tradeoff.intervals.roots import bracket_root
from tradeoff.intervals.rounding import Array, Index
from tradeoff.loss.changed import Reversed
from tradeoff.loss.cumulant import Cumulant, epsilon_for_alpha
from tradeoff.loss.law import LossLaw, lost_mass

_WIDE = 1.0
"""Bounds on epsilon farther apart than this are set beside Chernoff's."""

_FARTHEST = 1e4
"""Losses beyond this are not looked for in the middle strip."""

_SHARE = 3.0
"""What a smoothing adds to the widths of most answers, over its own accuracy; where it is more, a finer one
follows."""


class Cost(NamedTuple):
    """Most terms summed for a line.

    Where a Gaussian is added, the width it may leave, and its share of the terms. The width is that of psi,
    relative, or in nats that of the loss where psi takes a value.
    """

    terms: float
    accuracy: float
    share: float = 1.0
    in_nats: bool = False


class ContourEngine(Engine[tuple[Strip, float], Cost]):
    """Bounds from saddle-point contours, for laws whose densities have a closed form.

    A first question costs 5 to 50 ms a distinct factor, of many thinned normal pairs 1 ms each, later ones
    near it about 1 ms; counts cost nothing.
    """

    name = "contour"

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], *, symmetric: bool = False) -> None:
        plain = [law.single_rounds(count) for law, count in zip(laws, counts, strict=True)]
        laws, counts = [law for law, _ in plain], [count for _, count in plain]
        turned = [Reversed(law) for law in laws]
        q_plus = lost_mass([law.q_plus for law in laws], counts)
        p_minus = lost_mass([law.p_minus for law in laws], counts)
        self.tail = Strip(laws, counts, q_plus, "delta")
        self.other = self.tail.turned() if symmetric else Strip(turned, counts, p_minus, "other")
        self.middle = Strip(laws, counts, q_plus, "rest")

    @cached_property
    def possible(self) -> bool:
        """Whether all densities are known in closed form."""
        return all(law.has_transform for law in self.tail.laws)

    @property
    def terms(self) -> float:
        """Most terms summed for a line while no tolerance is asked."""
        return max(LINE_TERMS, LINE_TERMS_EACH * len(self.tail.laws))

    def first(self, question: Question, tol: float | None) -> Cost:
        if tol is None:
            return Cost(self.terms, SMOOTHING, 1 / SMOOTHED)
        return Cost(PATIENT_TERMS, min(SMOOTHING, tol / _SHARE), in_nats=question == "epsilon")

    def finer(self, effort: Cost, by: float) -> Cost:
        return effort._replace(accuracy=effort.accuracy / by)

    def rough(self, effort: Cost) -> Cost | None:
        return effort._replace(share=min(self.terms / effort.terms, 1.0) / LOOKING)

    def goal(self, question: Question) -> float:
        return USUAL[question].line

    def enough(self, question: Question) -> float:
        return USUAL[question].after_lines

    def places(self, x: Array, *, steep: bool = False) -> Iterator[tuple[tuple[Strip, float], Index]]:
        far = self.tail.rare(x)
        other = (x < 0) & self.other.rare(np.maximum(-x, 0.0)) if steep else np.zeros(len(x), bool)
        for strip, mine in ((self.tail, far), (self.other, other), (self.middle, ~(far | other))):
            at = np.flatnonzero(mine)
            loss = -x[at] if strip is self.other else x[at]
            for aim, which in alike(strip.anchors(loss)) if len(at) else ():
                yield (strip, aim), at[which]

    def enclose(self, place: tuple[Strip, float], effort: Cost) -> Drawn | None:
        strip, aim = place
        slope = strip.slope(aim) if effort.in_nats else 1.0
        return strip.enclose(aim, effort.terms, slope * effort.accuracy, share=effort.share)

    def loss_at_delta(self, delta: Array) -> Array:
        if self.tail.too_far:
            return np.zeros(len(delta))
        left = np.log(delta - self.tail.q_plus)
        x = self.tail.saddles.x_for(left)
        near = ~((x >= 0) & (left < HALF))
        if near.any():
            goal = -np.log1p(-delta[near])
            found = bracket_root(lambda x: -self.middle.saddles.at(x).log, goal)[1]
            x[near] = np.clip(found, -_FARTHEST, _FARTHEST)
        return x

    def loss_at_alpha(self, alpha: float) -> float:
        return epsilon_for_alpha(self.cumulant, alpha)

    @property
    def cumulant(self) -> Cumulant:
        return self.tail.cumulant

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = super().delta(epsilon, tol)
        for k in np.flatnonzero((high >= 1) & (epsilon > 0)):
            high[k] = min((self.tail.leak + self.tail.chernoff(chernoff.delta, epsilon[k])).upper, 1.0)
        return low, high

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        low, high = super().epsilon(delta, tol)
        for k in np.flatnonzero(~(high - low < _WIDE)):
            left = (delta[k] - self.tail.leak).lower
            high[k] = min(high[k], self.tail.chernoff(chernoff.epsilon, left)) if left > 0 else high[k]
        return low, high
