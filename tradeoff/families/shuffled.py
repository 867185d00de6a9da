"""Shuffled answers of local randomisers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradeoff.curves.parameters import count, real
from tradeoff.families.discrete import FinitelyMany
from tradeoff.families.pure_dp import PureDP
from tradeoff.intervals.bounds import Pair
from tradeoff.intervals.rounding import Array
from tradeoff.loss.discrete import AtomicLaw
from tradeoff.loss.shuffled import shuffled_law

# Most records: beyond, the standard deviations of their counts take more numbers than are listed.
MOST_RECORDS = 10**9


@dataclass(frozen=True, repr=False, eq=True)
class ShuffledCurve(FinitelyMany):
    """One record changed of at most 10^9 whose epsilon-DP answers are shuffled, epsilon in (0, 700].

    The pair of clones dominates, of finitely many atoms (Feldman, McMillan, Talwar, Hiding Among the Clones,
    2021). Where these are too many they are gathered on the safe side: see ``tradeoff.loss.shuffled``.

    >>> round(ShuffledCurve(1.0, 1000).epsilon(1e-6), 4)
    0.1824
    """

    epsilon_0: float
    records: int

    symmetric = True

    def __post_init__(self) -> None:
        checked = real("epsilon_0", self.epsilon_0, 0, 700, open_low=True, up=True)
        object.__setattr__(self, "epsilon_0", checked)
        object.__setattr__(self, "records", count("records", self.records, 1, MOST_RECORDS))

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = super().delta_bounds(epsilon, tol)
        alone = PureDP(self.epsilon_0).bounds.delta(epsilon).upper  # shuffling is post-processing
        return np.minimum(low, alone), np.minimum(high, alone)

    def loss_law(self) -> AtomicLaw:
        return shuffled_law(self.epsilon_0, self.records)

    def __repr__(self) -> str:
        return f"shuffled(f_{{{self.epsilon_0:.6g},0}}, {self.records})"
