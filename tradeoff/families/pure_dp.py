"""Pure differential privacy f_{epsilon,0}: the curve of binary randomised response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.core.bounds import Pair
from tradeoff.core.parameters import number, real
from tradeoff.engines.atomic import AtomicLaw, binomial_law
from tradeoff.families._symmetric import SymmetricFamily, numeric, steep, symbols_of, written
from tradeoff.numerics.rounding import TINY, UNIT, Array, around


@dataclass(frozen=True, repr=False)
class PureDP(SymmetricFamily):
    """Least private curve of epsilon-DP: f_{eps,0}(alpha) = max{1 - e^eps alpha, e^-eps (1 - alpha)}.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, inf), or a SymPy expression.

    Notes
    -----
    Powers are exact: losses (2k - n) eps with binomial masses (Kairouz, Oh, Viswanath 2015, Theorem 3.3).

    Examples
    --------
    >>> from tradeoff import PureDP
    >>> round((PureDP(0.1) ** 1000).epsilon(1e-5), 6)
    17.787128
    """

    epsilon_0: Any

    def __init__(self, epsilon: Any) -> None:
        object.__setattr__(self, "epsilon_0", real("epsilon", epsilon, 0, open_high=True))

    def _beta(self, alpha: Array, tol: float | None) -> Pair:
        e = self.epsilon_0
        least, most = around(steep(e, alpha), 8)
        low, high = around(np.exp(-e) * (1 - alpha), 16)
        # 1 - e^eps alpha cancels, so that its rounding is the product's; below the normal floats e^-eps loses units of its own.
        return np.maximum(np.nextafter(1 - most, -1), low - TINY), np.maximum(np.nextafter(1 - least, 2), high + TINY)

    def _tail(self, epsilon: Array) -> Pair:
        gap = np.minimum(epsilon - self.epsilon_0, 0.0)
        scale = 1 / (1 + np.exp(-self.epsilon_0))
        low, high = around(-np.expm1(gap) * scale, 16)
        error = np.where(gap < 0, 4 * UNIT * np.minimum(epsilon, self.epsilon_0) + 4 * UNIT * self.epsilon_0, 0.0)
        return np.maximum(low - error, 0.0), np.where(gap < 0, high + error, 0.0)

    @property
    def sup_loss(self) -> float:
        return numeric(self, self.epsilon_0)

    def loss_law(self) -> AtomicLaw:
        return binomial_law(self.epsilon_0, 1)

    def power_law(self, n: int) -> AtomicLaw:
        """Return the law of L of the n-fold product, exactly."""
        return binomial_law(self.epsilon_0, n)

    def kl(self) -> Any:
        """Kullback-Leibler divergence KL(P || Q) = eps tanh(eps/2), in nats."""
        return self.epsilon_0 * np.tanh(self.epsilon_0 / 2)

    def renyi(self, order: float) -> float:
        """Renyi divergence of order > 1, log[p^a q^(1-a) + q^a p^(1-a)]/(a-1) with p/q = e^eps, in nats."""
        a, e = number("order", order, 1, open_low=True), numeric(self, self.epsilon_0)
        share = math.exp(-e) / (1 + math.exp(-e))  # the sum is e^((a-1) eps) [1 + q (e^(-2(a-1) eps) - 1)]
        return e + math.log1p(share * math.expm1(-2 * (a - 1) * e)) / (a - 1) if e else 0.0

    def slope(self, alpha: Any) -> Any:
        """Return the derivative f'(alpha) away from the kink."""
        return np.where(np.asarray(alpha) < 1 / (1 + np.exp(self.epsilon_0)), -np.exp(self.epsilon_0), -np.exp(-self.epsilon_0))

    @property
    def free_symbols(self) -> frozenset[Any]:
        return symbols_of(self.epsilon_0)

    def __repr__(self) -> str:
        return f"f_{{{written(self.epsilon_0)},0}}"
