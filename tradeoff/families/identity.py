"""The identity: an output that is independent of the data."""

from __future__ import annotations

import numpy as np

from tradeoff.balls import Balls, expm1, log1p, maximum, to_balls
from tradeoff.curves.parameters import count, is_symbol
from tradeoff.families._closed_form import ClosedForm
from tradeoff.intervals.bounds import Bounds
from tradeoff.pld.discrete import AtomicLaw


class Identity(ClosedForm):
    """Perfect privacy: the unit of the product and the greatest curve of the order.

    Notes
    -----
    Dong, Roth, Su 2022, section 3; no trade-off function lies above it (Proposition 2.2).

    Examples
    --------
    >>> from tradeoff import Identity
    >>> Identity()(0.25)
    0.75
    """

    elementary = True

    def beta_balls(self, alpha: Balls) -> Balls:
        return 1 - alpha

    def profile(self, x: Balls) -> Balls:
        return maximum(-expm1(x), 0)

    def loss(self, delta: Balls) -> Balls:
        return log1p(-delta)

    def largest_loss(self) -> Balls:
        return to_balls(0.0)

    def loss_distribution(self) -> AtomicLaw:
        return AtomicLaw(np.zeros(1), np.zeros(1), slack=np.zeros(1))

    def renyi_bounds(self, order: float) -> Bounds:
        """Return the Rényi divergence of any order: 0."""
        return Bounds(0.0, 0.0)

    def group(self, k: int) -> Identity:
        if not is_symbol(k):
            count("k", k)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity)

    def __hash__(self) -> int:
        return hash(Identity)

    @property
    def notation(self) -> str:
        return "Id"
