"""Mixtures: one of several mechanisms runs, and everybody sees which."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, reduce
from operator import add
from typing import Any

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.derived import Derived
from tradeoff.curves.parameters import Number, is_symbol, real
from tradeoff.errors import DomainError, KindError, SymbolError, shown
from tradeoff.intervals.bounds import Bounds, Pair, held
from tradeoff.intervals.functions import clip
from tradeoff.intervals.rounding import Array, around
from tradeoff.loss.changed import Mixed
from tradeoff.loss.discrete import settled
from tradeoff.loss.law import LossLaw


def added(pairs: Iterable[tuple[TradeOff, float]]) -> dict[TradeOff, float]:
    """Return the weights of curves, those of equal ones added up with one rounding."""
    shares: dict[TradeOff, list[float]] = {}
    for curve, weight in pairs:
        shares.setdefault(curve, []).append(weight)
    return {curve: math.fsum(weights) for curve, weights in shares.items()}


class Mixture(Derived):
    """Average along equal slopes: delta(eps) = sum_i w_i delta_i(eps)."""

    name = "mixture"

    def __init__(self, weights: Mapping[TradeOff, float]) -> None:
        self.operands, self.parameters = tuple(weights), (tuple(weights.values()),)
        self.weights = tuple(weights.values())

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = self._average(f.bounds.delta(epsilon, tol=tol) for f in self.operands)
        return low, high

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        """Solve the sum: that takes a few lines of its terms, and whole curves take hundreds."""
        return TradeOff.epsilon_bounds(self, delta, tol)

    def _average(self, values: Iterable[Bounds]) -> Bounds:
        """Bound the sum of w_i x_i; weights, divided by their sum and then added up, are known to 3 units."""
        terms = [held(*around(w, 3)) * value for w, value in zip(self.weights, values, strict=True)]
        return reduce(add, terms)

    @property
    def q_plus(self) -> float:
        return math.fsum(w * f.q_plus for w, f in zip(self.weights, self.operands, strict=True))

    @cached_property
    def mass_at_infinity(self) -> Bounds[float]:
        return clip(self._average(f.mass_at_infinity for f in self.operands), 0.0, 1.0)

    @property
    def p_minus(self) -> float:
        return math.fsum(w * f.p_minus for w, f in zip(self.weights, self.operands, strict=True))

    @property
    def sup_loss(self) -> float:
        return max(f.sup_loss for f in self.operands)

    @property
    def least_sup_loss(self) -> float:
        return max(f.least_sup_loss for f in self.operands)

    def inverse(self) -> TradeOff:
        if self.symmetric:
            return self
        pairs = zip((f.inverse() for f in self.operands), self.weights, strict=True)
        return Mixture(added(pairs))  # not divided by their sum again

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        return mixture(added(zip(map(change, self.operands), self.weights, strict=True)))

    def laws(self) -> tuple[LossLaw, LossLaw]:
        pairs = [f.laws() for f in self.operands]
        below = Mixed([(w, settled(low)) for w, (low, _) in zip(self.weights, pairs, strict=True)])
        if all(low is high for low, high in pairs):
            return below, below
        return below, Mixed([(w, settled(high)) for w, (_, high) in zip(self.weights, pairs, strict=True)])

    def __repr__(self) -> str:
        parts = ", ".join(f"{f!r}: {w:.6g}" for f, w in zip(self.operands, self.weights, strict=True))
        return f"mixture({{{parts}}})"


def mixture(weights: Mapping[TradeOff, Number]) -> TradeOff:
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
        raise KindError(f"weights = {shown(weights)} is no mapping; write {{curve: probability}}")
    checked = {operand(f): _weight(w) for f, w in weights.items()}
    total = math.fsum(checked.values())
    if abs(total - 1) > 1e-12:
        raise DomainError(f"the weights add to {total!r}, not to 1")
    shares = {f: w / total for f, w in checked.items() if w > 0}
    return next(iter(shares)) if len(shares) == 1 else Mixture(shares)


def _weight(value: Any) -> float:
    if is_symbol(value):
        raise SymbolError(
            f"weight = {value!r} is symbolic, and the law of a mixture asks for numbers; give them"
        )
    return float(real("weight", value, 0, 1))
