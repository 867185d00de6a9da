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
from tradeoff.intervals.functions import clip, where
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.law import LossLaw

_LOG_STEP = 4.0
"""Step in log s of the points to begin with; cells that matter are halved."""

_FAR = 40.0
"""log s up to which points are laid out: e^40 alpha is above 1 for all but the least alphas."""

_UNITS = 10
"""Units of 2^-53 by which NumPy's log and exp may miss, 8, and what is made of them by two roundings more."""

_STEEPEST = 700.0
"""Loss whose e^eps is still a float."""


class Derived(TradeOff):
    """Node ``operator(operands)``: a subclass bounds beta or delta, and duality gives the other."""

    operands: tuple[TradeOff, ...]
    parameters: tuple[Any, ...] = ()
    name: str
    composed = True

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return beta_from_delta(self, alpha, tol)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return delta_from_beta(self, epsilon, tol)

    @property
    def symmetric(self) -> bool:
        return all(operand.symmetric for operand in self.operands)

    @property
    def free_symbols(self) -> frozenset[Any]:
        return frozenset().union(*(operand.free_symbols for operand in self.operands))

    @property
    def assumptions(self) -> tuple[str, ...]:
        return gathered(self.operands)

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        """Return the operator on changed operands and parameters, built anew: it may be another curve."""
        del change
        raise SymbolError(f"{self!r} cannot substitute its symbols; substitute in the curves it is made of")

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        return self.upper.bounds.epsilon(delta).lower, self.lower.bounds.epsilon(delta).upper

    def laws(self) -> tuple[LossLaw, LossLaw]:
        return self.lower.loss_law(), self.upper.loss_law()

    def loss_law(self) -> LossLaw:
        return self.laws()[0]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and (self.operands, self.parameters) == (
            other.operands,
            other.parameters,
        )

    def __hash__(self) -> int:
        return hash((type(self), self.operands, self.parameters))

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, (*self.operands, *self.parameters)))
        return f"{self.name}({inner}){'' if self.symmetric else ' (one order)'}"


def beta_from_delta(curve: TradeOff, alpha: Array, tol: float | None) -> Pair:
    """Bound f(alpha) = sup_s 1 - delta(log s) - s alpha (Dong, Roth, Su 2022, 2.12)."""
    top = 1 + np.clip(curve.sup_loss, 0.0, _FAR)
    points = np.append(0.0, np.exp(np.arange(-_LOG_STEP, top + _LOG_STEP, _LOG_STEP)))
    start = 1 - curve.mass_at_infinity
    low, high = (np.where(alpha == 0, side, 0.0) for side in start)  # f(0), and f(1) = 0
    inside = (alpha > 0) & (alpha < 1)
    low[inside], high[inside] = conjugate(partial(_in_ratio, curve), alpha[inside], points, tol)
    # Beyond the last point delta is at least Q(L = inf), and s alpha only grows.
    high = np.maximum(high, (start - points[-1] * Bounds.of(alpha)).upper)
    return np.maximum(low, 0.0), np.maximum(high, 0.0)


def _in_ratio(curve: TradeOff, s: Array) -> Pair:
    """Bound delta(log s)."""
    epsilon = np.log(np.where(s > 0, s, 1.0))
    found = clip(Bounds(*curve.delta_bounds(epsilon, None)), 0.0, 1.0)
    # The rounding of log s moves epsilon, and delta falls by s P(L > eps) <= min(s, 1) a nat.
    moved = _UNITS * UNIT * np.minimum(s, 1.0) * np.abs(epsilon)
    low, high = where(s > 0, found + Bounds(-moved, moved), 1.0)
    return low, high


def delta_from_beta(curve: TradeOff, epsilon: Array, tol: float | None) -> Pair:
    """Bound delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha (the same)."""

    def value(alpha: Array) -> Pair:
        low, high = clip(Bounds(*curve.beta_bounds(np.minimum(alpha, 1.0), None)), 0.0, 1.0)
        return low, high

    tiny = np.geomspace(1e-20, 0.5, 100)
    points = np.unique(np.concatenate([[0.0], tiny, 1 - tiny[tiny > 1e-14], [1.0]]))
    slopes = np.exp(np.minimum(epsilon, _STEEPEST))
    # The slope is rounded, relative to itself, and s alpha <= 1 where 1 - f(alpha) - s alpha >= 0 is largest.
    found = Bounds(*conjugate(value, slopes, points, tol)) + Bounds(-_UNITS * UNIT, _UNITS * UNIT)
    # A steeper line than was asked leaves less: beyond the last slope delta is known from above, and by what
    # lies at infinity.
    low = np.where(epsilon > _STEEPEST, 0.0, found.lower)
    return np.maximum(low, curve.mass_at_infinity.lower), np.minimum(found.upper, 1.0)
