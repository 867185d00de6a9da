"""Curves that an operator makes of other curves: lazy nodes, bounded through their operands.

Every operator of the algebra preserves the order, so it maps (lower, upper) of its operands to (lower, upper)
of its result; refining the result means refining the operands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import gathered
from tradeoff.errors import SymbolError
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.concave import conjugate
from tradeoff.intervals.functions import clip, exp
from tradeoff.intervals.rounding import Array
from tradeoff.pld.law import PrivacyLossDistribution

_LOG_STEP = 4.0  # step in log s of the first points; cells that matter are halved
_FAR = 40.0  # log s up to which points are laid out: e^40 alpha is above 1 for all but the least alphas
_CLOSEST = 1e-11  # share of s by which points differ at least
_ABOUT = np.array([-0.06, -0.02, 0.02, 0.06])  # points about a supremum that is expected, in its spreads

_STEEPEST = 700.0  # loss whose e^eps is still a float


class Derived(TradeOff):
    """Node ``operator(operands)``: a subclass bounds beta or delta, and duality gives the other.

    It may also bound ``mass_at_infinity``, 0 by default, and ``loss_bounds``.
    """

    operands: tuple[TradeOff, ...]
    parameters: tuple[Any, ...] = ()
    name: str
    composed = True

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return beta_from_delta(self, alpha, tol)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return delta_from_beta(self, epsilon, tol)

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
    def mass_at_infinity(self) -> Bounds[float]:
        return Bounds(0.0, 0.0)

    @property
    def mass_at_plus_infinity(self) -> float:
        return float(self.mass_at_infinity.upper)

    @property
    def mass_at_minus_infinity(self) -> float:
        return (self if self.symmetric else self.inverse()).mass_at_plus_infinity

    @property
    def loss_bounds(self) -> Bounds[float]:
        """Bound sup L over the finite losses, in nats."""
        return Bounds(-np.inf, np.inf)

    @property
    def sup_loss(self) -> float:
        return float(self.loss_bounds.upper)

    @property
    def sup_loss_lower(self) -> float:
        return float(self.loss_bounds.lower)

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


def beta_from_delta(curve: TradeOff, alpha: Array, tol: float | None) -> Pair:
    """Bound f(alpha) = sup_s 1 - delta(log s) - s alpha (Dong, Roth, Su 2022, 2.12)."""
    leak = curve.mass_at_infinity
    low, high = (np.where(alpha == 0, side, 0.0) for side in 1 - leak)  # f(0), and f(1) = 0
    inside = (alpha > 0) & (alpha < 1)
    points = [_ratios_about(curve, each) for each in alpha[inside].tolist()]
    result = conjugate(partial(_in_ratio, curve), alpha[inside], points, tol, limit=leak.lower)
    low[inside], high[inside] = result
    return np.maximum(low, 0.0), np.maximum(high, 0.0)


def _ratios_about(curve: TradeOff, alpha: float) -> Array:
    """Return first points s: about where the supremum is expected, or from e^-4 up to 1/alpha.

    Between suprema expected on both sides of 1 there may be a corner of both orders' profiles.
    """
    expected = [place for place in curve.expected(alpha) if np.isfinite(place).all()]
    if not expected:
        top = 1 + min(max(curve.sup_loss, 0.0), _FAR)
        losses = np.arange(-_LOG_STEP, top + _LOG_STEP, _LOG_STEP)
        losses = losses[losses <= _LOG_STEP - np.log(alpha)]
    else:
        losses = np.concatenate([loss + spread * _ABOUT for loss, spread in expected])
        losses = np.append(losses, 0.0) if losses.min() < 0 < losses.max() else losses
    s: Array = np.append(0.0, np.exp(np.unique(np.clip(losses, -_STEEPEST, _STEEPEST))))
    apart: Array = s[np.append(True, np.diff(s) > _CLOSEST * s[1:])]
    return apart


def _in_ratio(curve: TradeOff, s: Array) -> Pair:
    """Bound delta(log s) - (1 - s)_+, which is s delta_{f^-1}(-log s) where s < 1."""
    low, high = np.zeros(len(s)), np.zeros(len(s))
    for some, f in ((s >= 1, curve), ((s > 0) & (s < 1), curve.inverse())):
        if some.any():
            # ``conjugate`` allows for the rounding of the logarithm.
            result = clip(Bounds(*f.delta_bounds(np.abs(np.log(s[some])), None)), 0.0, 1.0)
            low[some], high[some] = result * np.minimum(s[some], 1.0)
    return low, high


def delta_from_beta(curve: TradeOff, epsilon: Array, tol: float | None) -> Pair:
    """Bound delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha (the same)."""

    def value(alpha: Array) -> Pair:
        low, high = clip(Bounds(*curve.beta_bounds(np.minimum(alpha, 1.0), None)), 0.0, 1.0)
        return low, high

    tiny = np.geomspace(1e-20, 0.5, 100)
    points = np.unique(np.concatenate([[0.0], tiny, 1 - tiny[tiny > 1e-14], [1.0]]))
    slope = exp(np.minimum(epsilon, _STEEPEST))
    low, high = conjugate(value, slope.lower, points, tol)
    # The supremum falls with the slope s, by no more than its relative change: s alpha <= 1 where it is
    # reached, as it is not below 0. Beyond the last slope it is bounded above, and by the mass at infinity.
    change = (slope.upper - Bounds.of(slope.lower)) / slope.lower
    low = np.where(epsilon > _STEEPEST, 0.0, (Bounds.of(low) - change).lower)
    return np.maximum(low, curve.mass_at_infinity.lower), np.minimum(high, 1.0)
