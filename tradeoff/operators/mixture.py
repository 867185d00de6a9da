"""Mixtures: one of several mechanisms runs, and its index is published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property, reduce
from operator import add, mul
from typing import Any

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.derived import Derived
from tradeoff.curves.hooks import joint, limited, pure
from tradeoff.curves.parameters import Number, exact_number, is_symbol
from tradeoff.errors import DomainError, KindError, SymbolError, shown
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import clip, maximum, rational
from tradeoff.intervals.rounding import TINY, Array
from tradeoff.pld.discrete import to_atomic
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.transformed import MixturePLD

_TOLERANCE = 1e-12  # by which weights may miss 1: thousands of rounded ones miss it by less


def added(pairs: Iterable[tuple[TradeOff, float | Fraction]]) -> dict[TradeOff, Fraction]:
    """Return the weights of curves, those of equal ones added up exactly."""
    shares: dict[TradeOff, Fraction] = {}
    for curve, weight in pairs:
        shares[curve] = shares.get(curve, Fraction(0)) + Fraction(weight)
    return shares


class Mixture(Derived):
    """Average along equal slopes: delta(eps) = sum_i w_i delta_i(eps).

    ``shares`` are fractions that add to 1, by which mixtures are equal and ordered; ``weights`` are floats.
    """

    name = "mixture"

    def __init__(self, shares: Mapping[TradeOff, Fraction]) -> None:
        self.operands, self.shares = tuple(shares), tuple(shares.values())
        self.parameters = (self.shares,)
        self.weights = tuple(float(share) or TINY for share in self.shares)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = self._average(f.bounds.delta(epsilon, tol=tol) for f in self.operands)
        return low, high

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        """Solve the sum: that takes a few lines of its terms, and whole curves take hundreds."""
        return TradeOff.epsilon_bounds(self, delta, tol)

    def _average(self, values: Iterable[Bounds]) -> Bounds:
        """Bound the sum of w_i x_i."""
        return reduce(add, map(mul, self.weight_bounds, values))

    @cached_property
    def weight_bounds(self) -> list[Bounds[float]]:
        """Weights as the floats next to them."""
        return [rational(share) for share in self.shares]

    @cached_property
    def mass_at_infinity(self) -> Bounds[float]:
        return clip(self._average(f.mass_at_infinity for f in self.operands), 0.0, 1.0)

    @property
    def loss_bounds(self) -> Bounds[float]:
        return maximum(*(Bounds(f.sup_loss_lower, f.sup_loss) for f in self.operands))

    def inverse(self) -> TradeOff:
        if self.symmetric:
            return self
        return Mixture(added(zip((f.inverse() for f in self.operands), self.shares, strict=True)))

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        return mixture(added(zip(map(change, self.operands), self.shares, strict=True)))

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        sides = zip(*(f.laws() for f in self.operands), strict=True)
        below, above = (
            [(w, to_atomic(law)) for w, law in zip(self.weights, side, strict=True)] for side in sides
        )
        exact = all(low is high for (_, low), (_, high) in zip(below, above, strict=True))
        lower = MixturePLD(below)
        return lower, lower if exact else MixturePLD(above)

    @property
    def notation(self) -> str:
        parts = ", ".join(f"{f.notation}: {w:.6g}" for f, w in zip(self.operands, self.weights, strict=True))
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
        raise KindError(f"weights must be a mapping {{curve: probability}}, got {shown(weights)}")
    if symbols := [w for w in weights.values() if is_symbol(w)]:
        raise SymbolError(f"weight must be a number, got the symbol {symbols[0]!r}; substitute it first")
    most = 1 + _TOLERANCE
    checked = {pure(operand(f)): exact_number("weight", w, 0, most) for f, w in weights.items()}
    total = sum(checked.values(), Fraction(0))
    if abs(total - 1) > _TOLERANCE:
        raise DomainError(f"weights must add to 1, got {float(total)!r}")
    shares = {f: w / total for f, w in checked.items() if w > 0}
    mixed = next(iter(shares)) if len(shares) == 1 else Mixture(shares)
    return limited(mixed, joint(weights))
