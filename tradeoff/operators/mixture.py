"""Mixtures: one of several mechanisms runs, and everybody sees which."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tradeoff.core.bounds import Pair
from tradeoff.core.curve import TradeOff, operand
from tradeoff.core.derived import Derived
from tradeoff.core.parameters import is_symbol, real
from tradeoff.engines.law import LossLaw, Mixed
from tradeoff.errors import DomainError, KindError, SymbolError
from tradeoff.numerics.rounding import UNIT, Array


class Mixture(Derived):
    """Average along equal slopes: delta(eps) = sum_i w_i delta_i(eps)."""

    name = "mixture"

    def __init__(self, weights: Mapping[TradeOff, float]) -> None:
        self.operands, self.parameters = tuple(weights), (tuple(weights.values()),)
        self.weights = tuple(weights.values())

    def _delta(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = zip(*(f.bounds.delta(epsilon, tol=tol) for f in self.operands), strict=True)
        slack = (len(self.weights) + 4) * UNIT
        return self._mean(low) * (1 - slack), self._mean(high) * (1 + slack)

    def _mean(self, each: Sequence[Array]) -> Array:
        """Add up entry by entry, in one order: a matrix product rounds as its shape has it."""
        return sum((w * value for w, value in zip(self.weights, each, strict=True)), start=np.zeros(len(each[0])))

    @property
    def q_plus(self) -> float:
        return math.fsum(w * f.q_plus for w, f in zip(self.weights, self.operands, strict=True))

    @property
    def p_minus(self) -> float:
        return math.fsum(w * f.p_minus for w, f in zip(self.weights, self.operands, strict=True))

    @property
    def sup_loss(self) -> float:
        return max(f.sup_loss for f in self.operands)

    def inverse(self) -> TradeOff:
        if self.symmetric:
            return self
        return mixture({f.inverse(): w for f, w in zip(self.operands, self.weights, strict=True)})

    def laws(self) -> tuple[LossLaw, LossLaw]:
        pairs = [f.laws() for f in self.operands]
        below = Mixed([(w, low) for w, (low, _) in zip(self.weights, pairs, strict=True)])
        if all(low is high for low, high in pairs):
            return below, below
        return below, Mixed([(w, high) for w, (_, high) in zip(self.weights, pairs, strict=True)])

    def __repr__(self) -> str:
        parts = ", ".join(f"{f!r}: {w:.6g}" for f, w in zip(self.operands, self.weights, strict=True))
        return f"mixture({{{parts}}})"


def mixture(weights: Mapping[TradeOff, Any]) -> TradeOff:
    """Curve of choosing mechanism i with probability w_i and publishing i.

    Parameters
    ----------
    weights
        Probabilities of the curves; they must add to 1 within 1e-12, and are divided by their sum.

    Returns
    -------
    TradeOff
        The curve with profile sum_i w_i delta_i(eps).

    Examples
    --------
    >>> from tradeoff import Gaussian, Identity, mixture
    >>> mixture({Gaussian(1): 0.5, Identity(): 0.5}).delta(0) <= 0.1914625
    True
    """
    if not isinstance(weights, Mapping):
        raise KindError(f"weights = {weights!r} is no mapping; write {{curve: probability}}")
    checked = {operand(f): _weight(w) for f, w in weights.items()}
    total = math.fsum(checked.values())
    if abs(total - 1) > 1e-12:
        raise DomainError(f"the weights add to {total!r}, not to 1")
    shares = {f: w / total for f, w in checked.items() if w > 0}
    return next(iter(shares)) if len(shares) == 1 else Mixture(shares)


def _weight(value: Any) -> float:
    if is_symbol(value):
        raise SymbolError(f"weight = {value!r} is symbolic, and the law of a mixture asks for numbers; give them")
    return float(real("weight", value, 0, 1))
