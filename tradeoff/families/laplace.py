"""The Laplace family T(Lap(0,1), Lap(epsilon,1))."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tradeoff.core.bounds import Bounds, Pair
from tradeoff.core.curve import TradeOff
from tradeoff.core.parameters import count, real
from tradeoff.engines.density import LaplaceLaw
from tradeoff.families._symmetric import SymmetricFamily, symbols_of, written
from tradeoff.families.identity import Identity
from tradeoff.intervals.bounds import held
from tradeoff.intervals.functions import clip, exp, expm1, minimum, rational, where
from tradeoff.numerics.rounding import Array


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
    least: float | None = None
    """The float below epsilon where it is a product, rounded up."""

    def __init__(self, epsilon: Any) -> None:
        object.__setattr__(self, "epsilon_0", real("epsilon", epsilon, 0, open_high=True))

    def _beta(self, alpha: Array, tol: float | None) -> Pair:
        shrink = exp(-self.epsilon_0)
        steps, start = exp(self.epsilon_0) * alpha, shrink / 2
        steep = 1 - minimum(steps, 0.5)
        middle = shrink / 4 / np.where(alpha > 0, alpha, 1.0)
        flat = shrink * (1 - Bounds.of(alpha))
        kink = held((1 - steps).lower, middle.upper)  # 1 - x <= 1/(4x): where floats cannot tell them apart both are held
        inner = where(alpha <= start.lower, steep, where(alpha < start.upper, kink, middle))
        low, high = clip(where(alpha > 0.5, flat, inner), 0.0, 1.0)
        return low, high

    def _tail(self, epsilon: Array) -> Pair:
        # delta(eps') = 1 - e^((eps' - eps)/2) for eps' <= eps.
        low, high = clip(-expm1(minimum(Bounds.of(epsilon) - self.epsilon_0, 0.0) / 2), 0.0, 1.0)
        return low, high

    @property
    def sup_loss(self) -> float:
        return float(self.epsilon_0)

    @property
    def least_sup_loss(self) -> float:
        return self.sup_loss if self.least is None else self.least

    def loss_law(self) -> LaplaceLaw:
        return LaplaceLaw(self.epsilon_0)

    def group(self, k: int) -> TradeOff:
        # The limit of f_{eps/m,0}^(o km) is closed under groups.
        if count("k", k) == 0:
            return Identity()
        if self.free_symbols:
            return Laplace(k * self.epsilon_0)
        least, most = rational(k * Fraction(self.epsilon_0))
        group = Laplace(most)
        object.__setattr__(group, "least", least if least < most else None)
        return group

    def kl(self) -> Any:
        """Kullback-Leibler divergence KL(P || Q) = eps - 1 + e^-eps, in nats."""
        return self.epsilon_0 + np.expm1(-self.epsilon_0)

    def renyi(self, order: float) -> float:
        """Renyi divergence of order > 1, log[a/(2a-1) e^((a-1) eps) + (a-1)/(2a-1) e^(-a eps)]/(a-1), in nats (Mironov 2017)."""
        a = real("order", order, 1, open_low=True)
        first = np.log(a / (2 * a - 1)) + (a - 1) * self.epsilon_0
        second = np.log((a - 1) / (2 * a - 1)) - a * self.epsilon_0
        return float(np.logaddexp(first, second) / (a - 1))

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
