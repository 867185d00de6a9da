"""What every closed form of a symmetric family shares: it is asked only for epsilon >= 0."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import symbols_of
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.digits import precise
from tradeoff.intervals.functions import exp, expm1
from tradeoff.intervals.rounding import Array


class SymmetricFamily(TradeOff):
    """Symmetric family with one parameter and a profile known for epsilon >= 0."""

    symmetric = True

    parameter: ClassVar[str] = ""
    """Name of the parameter that may be a symbol; none in most."""

    @property
    def free_symbols(self) -> frozenset[Any]:
        return symbols_of(getattr(self, self.parameter, None))

    @abstractmethod
    def _tail(self, epsilon: Array) -> Pair:
        """Bound delta(epsilon) for epsilon >= 0."""

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        tail = self._tail(np.abs(epsilon))
        if (turned := epsilon < 0).any():
            # delta(-eps) = 1 - e^-eps + e^-eps delta(eps) when f = f^-1: two positive terms.
            below = np.minimum(epsilon, 0.0)
            other = exp(below) * Bounds(*tail) - expm1(below)
            tail = np.where(turned, other.lower, tail[0]), np.where(turned, other.upper, tail[1])
        return tail


@lru_cache(maxsize=256)  # of curves in use: a thousand questions to one of them need it once
def grown(epsilon: float) -> tuple[float, float, int]:
    """Return e^epsilon as (high + low) 2^exponent, ½ <= high < 1; beyond 2^4000 it is 2^4000."""
    mp = precise(160)
    mantissa, exponent = mp.frexp(mp.exp(epsilon))
    high = float(mantissa)
    return high, float(mantissa - high), min(exponent, 4000)


def numeric(curve: TradeOff, parameter: Any) -> float:
    """Return a parameter where a number is asked of the curve."""
    curve.require_numbers()
    return float(parameter)
