"""The identity: an output that says nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tradeoff.curves.parameters import count, is_symbol
from tradeoff.families._symmetric import SymmetricFamily
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import Array
from tradeoff.loss.discrete import AtomicLaw


class Identity(SymmetricFamily):
    """Perfect privacy Id(alpha) = 1 - alpha: the unit of the tensor product and the top of the order.

    Notes
    -----
    Dong, Roth, Su 2022, section 3; no trade-off function lies above it (Proposition 2.2).

    Examples
    --------
    >>> from tradeoff import Identity
    >>> Identity()(0.25)
    0.75
    """

    sup_loss = 0.0

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return tuple(1 - Bounds.of(alpha))

    def _tail(self, epsilon: Array) -> Pair:
        return np.zeros_like(epsilon), np.zeros_like(epsilon)

    def exact_beta(self, alpha: Fraction) -> Fraction:
        return 1 - alpha

    def exact_delta(self, epsilon: Fraction) -> Fraction | None:
        return Fraction(0) if epsilon >= 0 else None

    def loss_law(self) -> AtomicLaw:
        return AtomicLaw(np.zeros(1), np.zeros(1), slack=np.zeros(1))

    def renyi_bounds(self, order: float) -> Bounds:
        """Bound the Renyi divergence of any order: 0."""
        del order
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
