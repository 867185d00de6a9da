"""What every closed form of a symmetric family shares: it is asked only for epsilon >= 0."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from tradeoff.core.bounds import Pair
from tradeoff.core.curve import TradeOff
from tradeoff.core.parameters import is_symbol
from tradeoff.numerics.rounding import UNIT, Array


class SymmetricFamily(TradeOff):
    """Symmetric family with one parameter and a profile known for epsilon >= 0."""

    @property
    def symmetric(self) -> bool:
        return True

    @abstractmethod
    def _tail(self, epsilon: Array) -> Pair:
        """Bound delta(epsilon) for epsilon >= 0."""

    def _delta(self, epsilon: Array, tol: float | None) -> Pair:
        # delta(-eps) = 1 - e^-eps + e^-eps delta(eps) when f = f^-1: two positive terms.
        low, high = self._tail(np.abs(epsilon))
        fold, scale = -np.expm1(np.minimum(epsilon, 0.0)), np.exp(np.minimum(epsilon, 0.0))
        return (fold + scale * low) * (1 - 8 * UNIT), (fold + scale * high) * (1 + 8 * UNIT)


def steep(epsilon: float, alpha: Array) -> Array:
    """Return e^epsilon alpha, good to 8 units wherever it is at most 1; above, some number above 1."""
    part = min(epsilon, 700.0)  # in two parts, as e^710 is no float and e^-746 is 0
    return np.asarray(np.exp(part) * np.minimum(alpha, 2 * np.exp(-part)) * np.exp(min(epsilon - part, 700.0)))


def numeric(curve: TradeOff, parameter: Any) -> float:
    """Return a parameter where a number is asked of the curve."""
    curve.require_numbers()
    return float(parameter)


def symbols_of(*values: Any) -> frozenset[Any]:
    """Return the free symbols of all symbolic parameters."""
    return frozenset().union(*(value.free_symbols for value in values if is_symbol(value)))


def written(value: Any) -> str:
    """Return a parameter as it is printed: six digits, or the formula in the notation of papers."""
    return str(value).replace("**", "^").replace(" ", "") if is_symbol(value) else format(value, ".6g")
