"""Curves that an operator makes of other curves: lazy nodes, bounded through their operands.

Every operator of the algebra preserves the order, so it maps (lower, upper) of its operands to (lower, upper)
of its result; refining the result means refining the operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import gathered
from tradeoff.errors import SymbolError
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import Array
from tradeoff.pld.law import PrivacyLossDistribution


class Derived(TradeOff):
    """Node ``operator(operands)``: a subclass bounds beta or delta, and duality gives the other.

    It may also bound ``mass_at_infinity``, 0 by default, and ``loss_bounds``.
    """

    operands: tuple[TradeOff, ...]
    parameters: tuple[Any, ...] = ()
    name: str
    composed = True

    def expected(self, alpha: float) -> list[tuple[float, float]]:
        return [place for operand in self.operands for place in operand.expected(alpha)]

    @property
    def symmetric(self) -> bool:
        return all(operand.symmetric for operand in self.operands)

    @property
    def free_symbols(self) -> frozenset[Any]:
        return frozenset().union(*(operand.free_symbols for operand in self.operands))

    @property
    def assumptions(self) -> tuple[str, ...]:
        return gathered(self.operands)

    @property
    def mass_at_minus_infinity(self) -> float:
        return (self if self.symmetric else self.inverse()).mass_at_plus_infinity

    @property
    def loss_bounds(self) -> Bounds[float]:
        """Bound sup L over the finite losses, in nats."""
        return Bounds(-np.inf, np.inf)

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        """Return the operator on changed operands and parameters, built anew: it may be another curve."""
        raise SymbolError(f"{self!r} cannot substitute its symbols; substitute in the curves it is made of")

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        return self.upper.bounds.epsilon(delta).lower, self.lower.bounds.epsilon(delta).upper

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        return self.lower.loss_distribution(), self.upper.loss_distribution()

    @property
    def has_law(self) -> bool:
        return type(self).laws is not Derived.laws and all(f.has_law for f in self.operands)

    def loss_distribution(self) -> PrivacyLossDistribution:
        return self.laws()[0]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return (self.operands, self.parameters) == (other.operands, other.parameters)

    def __hash__(self) -> int:
        return hash((type(self), self.operands, self.parameters))

    @property
    def notation(self) -> str:
        inner = [operand.notation for operand in self.operands] + [repr(each) for each in self.parameters]
        return f"{self.name}({', '.join(inner)})"
