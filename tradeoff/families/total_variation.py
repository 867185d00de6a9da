"""Total variation f_{0,delta}: with probability delta everything is revealed, else nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.core.bounds import Pair
from tradeoff.core.curve import TradeOff
from tradeoff.core.parameters import count, number, real
from tradeoff.engines.atomic import AtomicLaw
from tradeoff.families._symmetric import SymmetricFamily, symbols_of, written
from tradeoff.families.identity import Identity
from tradeoff.numerics.rounding import Array, around


@dataclass(frozen=True, repr=False)
class TotalVariation(SymmetricFamily):
    """Catastrophic failure with probability delta: f_{0,delta}(alpha) = max{0, 1 - delta - alpha}.

    Parameters
    ----------
    delta
        Probability in [0, 1], or a SymPy expression; 1 is the zero curve, no privacy at all.

    Notes
    -----
    f_{0,a} (x) f_{0,b} = f_{0,1-(1-a)(1-b)}, and f (x) f_{0,delta} scales both axes of f by 1 - delta.

    Examples
    --------
    >>> from tradeoff import TotalVariation
    >>> TotalVariation(0.5) @ TotalVariation(0.5)
    f_{0,0.75}
    """

    delta_0: Any

    def __init__(self, delta: Any) -> None:
        object.__setattr__(self, "delta_0", real("delta", delta, 0, 1))

    @property
    def weight(self) -> Any:
        """Return -log(1 - delta), which adds under products."""
        if self.free_symbols:
            import sympy

            return -sympy.log(1 - self.delta_0)
        return -np.log1p(-self.delta_0) if self.delta_0 < 1 else np.inf

    @staticmethod
    def from_weight(weight: Any) -> TradeOff:
        """Return the curve of a sum of weights."""
        if hasattr(weight, "free_symbols") and weight.free_symbols:
            import sympy

            return TotalVariation(sympy.simplify(1 - sympy.exp(-weight)))
        return TotalVariation(float(-np.expm1(-weight))) if weight > 0 else Identity()

    def _beta(self, alpha: Array, tol: float | None) -> Pair:
        low, high = around(np.maximum(1 - self.delta_0 - alpha, 0.0), 4)
        error = 4 * 2.0**-53
        return np.maximum(low - error, 0.0), high + error

    def _tail(self, epsilon: Array) -> Pair:
        return around(np.full_like(epsilon, self.delta_0), 8)

    @property
    def q_plus(self) -> float:
        return float(self.delta_0)

    @property
    def leak(self) -> float:
        return float(self.delta_0)

    @property
    def sup_loss(self) -> float:
        return 0.0

    def loss_law(self) -> AtomicLaw:
        with np.errstate(divide="ignore"):
            log_p = np.log1p(-np.array([self.delta_0]))
        keep = log_p > -np.inf
        return AtomicLaw(np.zeros(1)[keep], log_p[keep], self.delta_0, self.delta_0)

    def group(self, k: int) -> TradeOff:
        k = count("k", k)
        if k == 0:
            return Identity()
        return super().group(k) if self.free_symbols else TotalVariation(min(1.0, k * self.delta_0))

    def kl(self) -> float:
        """Kullback-Leibler divergence: infinite unless delta = 0."""
        return np.inf if self.delta_0 else 0.0

    def renyi(self, order: float) -> float:
        """Renyi divergence of any order above 1: infinite unless delta = 0."""
        number("order", order, 1, open_low=True)
        return self.kl()

    def slope(self, alpha: Any) -> Any:
        """Return the derivative f'(alpha) away from the kink."""
        return np.where(np.asarray(alpha) < 1 - self.delta_0, -1.0, 0.0)

    @property
    def free_symbols(self) -> frozenset[Any]:
        return symbols_of(self.delta_0)

    def __repr__(self) -> str:
        return f"f_{{0,{written(self.delta_0)}}}"
