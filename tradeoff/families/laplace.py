"""The Laplace family T(Lap(0,1), Lap(epsilon,1))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.core.bounds import Pair
from tradeoff.core.curve import TradeOff
from tradeoff.core.parameters import count, number, real
from tradeoff.engines.density import LaplaceLaw
from tradeoff.families._symmetric import SymmetricFamily, numeric, steep, symbols_of, written
from tradeoff.families.identity import Identity
from tradeoff.numerics.rounding import TINY, UNIT, Array, around

_UNDERFLOW = 1e3
"""Losses from here on, e^-eps is below all floats: rounding has nothing left to scale with."""


@dataclass(frozen=True, repr=False)
class Laplace(SymmetricFamily):
    """Testing Lap(0,1) against Lap(epsilon,1): the curve of the Laplace mechanism with sensitivity/scale = epsilon.

    f(alpha) is 1 - e^eps alpha below e^-eps/2, e^-eps/(4 alpha) up to 1/2, and e^-eps (1 - alpha) above.

    Parameters
    ----------
    epsilon
        Shift over scale, in nats, in [0, inf), or a SymPy expression.

    Notes
    -----
    The limit of k-fold groups of f_{eps/k,0} (Dong, Roth, Su 2022, Proposition 2.15).

    Examples
    --------
    >>> from tradeoff import Laplace
    >>> Laplace(1.0).epsilon(0)
    1.0
    """

    epsilon_0: Any

    def __init__(self, epsilon: Any) -> None:
        object.__setattr__(self, "epsilon_0", real("epsilon", epsilon, 0, open_high=True))

    def _beta(self, alpha: Array, tol: float | None) -> Pair:
        e, rise = self.epsilon_0, steep(self.epsilon_0, alpha)
        middle = np.exp(np.minimum(-e - np.log(np.maximum(4 * alpha, TINY)), 0.0))  # e^-eps alone may lie below all floats
        value = np.where(rise < 0.5, 1 - rise, np.where(alpha <= 0.5, middle, np.exp(-e) * (1 - alpha)))
        low, high = around(value, 32 + 8 * min(e, _UNDERFLOW))
        return low - TINY, high + TINY

    def _tail(self, epsilon: Array) -> Pair:
        gap = np.minimum(epsilon - self.epsilon_0, 0.0) / 2
        low, high = around(-np.expm1(gap), 8)
        # The gap itself carries one rounding of each loss.
        error = np.where(gap < 0, 4 * UNIT * np.minimum(epsilon, self.epsilon_0) + 4 * UNIT * self.epsilon_0, 0.0)
        return np.maximum(low - error, 0.0), np.where(gap < 0, high + error, 0.0)

    @property
    def sup_loss(self) -> float:
        return numeric(self, self.epsilon_0)

    def loss_law(self) -> LaplaceLaw:
        return LaplaceLaw(self.epsilon_0)

    def group(self, k: int) -> TradeOff:
        return Laplace(k * self.epsilon_0) if count("k", k) else Identity()  # the limit of f_{eps/m,0}^(o km) is closed under groups

    def kl(self) -> Any:
        """Kullback-Leibler divergence KL(P || Q) = eps - 1 + e^-eps, in nats."""
        return self.epsilon_0 + np.expm1(-self.epsilon_0)

    def renyi(self, order: float) -> float:
        """Renyi divergence of order > 1, log[a/(2a-1) e^((a-1) eps) + (a-1)/(2a-1) e^(-a eps)]/(a-1), in nats (Mironov 2017)."""
        a, e = number("order", order, 1, open_low=True), numeric(self, self.epsilon_0)
        share = (1 - 1 / a) / (2 - 1 / a)  # the bracket is e^((a-1) eps) [1 + share (e^(-(2a-1) eps) - 1)]
        return e + math.log1p(share * math.expm1(-(2 * a - 1) * e)) / (a - 1) if e else 0.0

    def slope(self, alpha: Any) -> Any:
        """Return the derivative f'(alpha) away from the two kinks."""
        alpha = np.asarray(alpha, dtype=float)
        e = self.epsilon_0
        inner = -np.exp(-e) / (4 * np.maximum(alpha, 1e-300) ** 2)
        return np.where(alpha < np.exp(-e) / 2, -np.exp(e), np.where(alpha <= 0.5, inner, -np.exp(-e)))

    @property
    def free_symbols(self) -> frozenset[Any]:
        return symbols_of(self.epsilon_0)

    def __repr__(self) -> str:
        return f"Lap_{{{written(self.epsilon_0)}}}"
