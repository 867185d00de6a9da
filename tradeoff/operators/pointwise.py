"""Pointwise maximum, and the convex hull of the pointwise minimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tradeoff.accounting.options import measure
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.derived import Derived
from tradeoff.curves.hooks import BOUND, ENVELOPE, limited, pure
from tradeoff.curves.piecewise_linear import PiecewiseLinear, pointwise
from tradeoff.curves.query import certified_delta, certified_epsilon
from tradeoff.errors import DomainError
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import log
from tradeoff.intervals.functions import maximum as maximum_of
from tradeoff.intervals.functions import minimum as minimum_of
from tradeoff.intervals.rounding import Array
from tradeoff.operators.tabulate import BetaOperator, largest, segments
from tradeoff.pld.law import PrivacyLossDistribution

_STEEPEST = 690.0  # loss whose e^eps is still a float
_STEP = 1e-3  # nats between which a slope is measured
_USUAL = 1e-3  # width of epsilon that needs no whole curves without a tolerance


class _Pooled(Derived):
    """Base of both: an end is the least of the operands' ends, or the largest."""

    _bound: ClassVar[Callable[..., Bounds]]
    _largest: ClassVar[bool]

    def __init__(self, *curves: TradeOff) -> None:
        self.operands = curves

    @property
    def symmetric(self) -> bool:
        return all(f.inverse() in self.operands for f in self.operands)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return self._bound(*(f.mass_at_infinity for f in self.operands))

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        return _pooled(tuple(map(change, self.operands)), largest=self._largest)

    def inverse(self) -> TradeOff:
        return self if self.symmetric else self.replaced(lambda f: f.inverse())


class Maximum(_Pooled, BetaOperator):
    """max{f, g}: both guarantees hold, so the better one does at each alpha."""

    name = "maximum"
    _bound, _largest = staticmethod(minimum_of), True

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        low, high = zip(*(f.bounds(alpha, tol=tol) for f in self.operands), strict=True)
        return np.maximum.reduce(low), np.maximum.reduce(high)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = super().delta_bounds(epsilon, tol)
        return low, np.minimum(high, self._least_delta(epsilon))  # the maximum is mostly one of them

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        """Take the least of the operands, and whole curves where that differs from the maximum's."""
        high = np.minimum.reduce([f.bounds.epsilon(delta).upper for f in self.operands])
        low, near = np.full(len(delta), -np.inf), (delta > 0) & (np.abs(high) < _STEEPEST)
        if near.any():
            low[near] = self._epsilon_at(delta[near], high[near])
        if (wide := ~(high - low <= (_USUAL if tol is None else tol))).any():
            below, above = super().epsilon_bounds(delta[wide], tol)
            low[wide], high[wide] = np.fmax(low[wide], below), np.fmin(high[wide], above)
        return low, high

    def _least_delta(self, epsilon: Array) -> Array:
        return np.asarray(np.minimum.reduce([f.bounds.delta(epsilon).upper for f in self.operands]))

    def _epsilon_at(self, delta: Array, near: Array) -> Array:
        """Bound epsilon(delta) = sup log((1 - delta - f(alpha))/alpha) from below, by one alpha."""
        fall = self._least_delta(near - _STEP) - self._least_delta(near + _STEP)
        alpha = np.clip(fall / (2 * np.exp(near) * np.sinh(_STEP)), 0.0, 1.0)
        rest = 1 - Bounds.of(delta) - self.bounds(alpha)
        some = (rest.lower > 0) & (alpha > 0)
        result = log(Bounds(*(np.where(some, side, 1.0) for side in rest)) / np.where(some, alpha, 1.0))
        return np.where(some, result.lower, -np.inf)

    def of_polygons(self, curves: Sequence[PiecewiseLinear], *, up: bool) -> PiecewiseLinear:
        return largest([line for f in curves for line in segments(f)], up=up)

    @property
    def loss_bounds(self) -> Bounds[float]:
        # Near alpha = 0 the curve with the larger f(0) is the maximum, then the flatter one.
        least = self.mass_at_infinity.upper
        first = [f for f in self.operands if f.mass_at_infinity.lower <= least]
        known = all(f.mass_at_infinity.width == 0 for f in first)
        top = (min if known else max)(f.sup_loss for f in first)
        return Bounds(min(f.sup_loss_lower for f in first), top)


class HullOfMinimum(_Pooled):
    """Greatest trade-off function below all operands: its profile is the largest of theirs."""

    name = "minimum"
    _bound, _largest = staticmethod(maximum_of), False

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return self._largest_answer("delta", epsilon, tol, lambda f, high: f.ceiling(epsilon, high) > high)

    def expected(self, alpha: float) -> list[tuple[float, float]]:
        """Take the farthest loss, mostly of the least private; all of them where they differ in sign."""
        result = super().expected(alpha)
        losses = [loss for loss, _ in result]
        if not result or min(losses) < 0 < max(losses):
            return result
        return [max(result, key=lambda place: abs(place[0]))]

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        def may_exceed(f: TradeOff, high: Array) -> NDArray[np.bool_]:
            """Whether epsilon_f(delta) may be above ``high``: it is not where delta_f(high) <= delta."""
            known = np.isfinite(high)
            return ~known | (f.ceiling(np.where(known, high, 0.0), delta) > delta)

        return self._largest_answer("epsilon", delta, tol, may_exceed)

    def _largest_answer(
        self,
        question: Literal["delta", "epsilon"],
        at: Array,
        tol: float | None,
        may_exceed: Callable[[TradeOff, Array], NDArray[np.bool_]],
    ) -> Pair:
        """Bound the largest answer of the operands; only those that may decide it are refined to ``tol``.

        An operand whose answer is at most the upper bound so far changes no bound.
        """
        answer = certified_delta if question == "delta" else certified_epsilon
        low, high, answers = np.full(len(at), -np.inf), np.full(len(at), -np.inf), []
        for k, f in enumerate(self.operands):
            seen = np.flatnonzero(may_exceed(f, high)) if k else np.arange(len(at))
            below, above = answer(f, at[seen], None, refuse=False)
            low[seen], high[seen] = np.maximum(low[seen], below), np.maximum(high[seen], above)
            answers.append((f, seen, above))
        if tol is None:
            return low, high
        for f, seen, above in answers:
            width = measure(question, at[seen], low[seen], high[seen])
            wide = np.flatnonzero((above > low[seen]) & ~(width <= tol))
            if len(wide):
                below, above[wide] = answer(f, at[seen[wide]], tol, refuse=False)
                low[seen[wide]] = np.maximum(low[seen[wide]], below)
        high[:] = -np.inf
        for _, seen, above in answers:
            high[seen] = np.maximum(high[seen], above)
        return low, high

    @property
    def has_law(self) -> bool:
        return False

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        return (self._law, self._law) if self._law else super().laws()

    @cached_property
    def _law(self) -> PrivacyLossDistribution | None:
        """The law of products of integer noise, whose atoms lie on one lattice."""
        from tradeoff.pld.integer_noise import law_of_greatest_profile, product_on_lattice

        laws = []
        for f in self.operands:
            if not all(factor.has_law for factor in f.factors):
                return None
            law = product_on_lattice(
                [factor.loss_distribution() for factor in f.factors], [*f.factors.values()]
            )
            if law is None:
                return None
            laws.append(law)
        return law_of_greatest_profile(laws)

    @property
    def loss_bounds(self) -> Bounds[float]:
        # From a lower start a chord may reach over to a steep curve, flatter than that is.
        result = maximum_of(*(Bounds(f.sup_loss_lower, f.sup_loss) for f in self.operands))
        return result if self.mass_at_infinity.upper == 0 else Bounds(-np.inf, result.upper)


def _pooled(curves: tuple[TradeOff, ...], *, largest: bool) -> TradeOff:
    if not curves:
        raise DomainError("give at least one curve")
    distinct = tuple(dict.fromkeys(pure(operand(f)) for f in curves))
    level = min(f.tightness for f in curves)
    if len(distinct) == 1:
        return limited(distinct[0], level)
    level = BOUND if largest else min(level, ENVELOPE)
    if all(isinstance(f, PiecewiseLinear) for f in distinct):
        result = distinct[0]
        for f in distinct[1:]:
            result = pointwise(result, f, largest=largest)  # type: ignore[arg-type]  # checked above
        return limited(result, level)
    return limited(Maximum(*distinct) if largest else HullOfMinimum(*distinct), level)


def maximum(*curves: TradeOff) -> TradeOff:
    """Pointwise maximum of curves, again a trade-off function: all the guarantees hold of the same mechanism.

    It meets the conditions of Dong, Roth, Su 2022, Proposition 2.2, as its operands do.

    Examples
    --------
    >>> from tradeoff import Gaussian, PureDP, maximum
    >>> maximum(Gaussian(1), PureDP(1)).epsilon(0)
    1.0
    """
    return _pooled(curves, largest=True)


def minimum(*curves: TradeOff) -> TradeOff:
    """Convex hull of the pointwise minimum: the least private of several mechanisms may have run.

    The plain minimum is not convex in general; the hull has profile max_i delta_i(eps) (Dong, Roth, Su 2022,
    Proposition 2.12).

    Examples
    --------
    >>> from tradeoff import Gaussian, PureDP, minimum
    >>> minimum(Gaussian(1), PureDP(1)).delta(0) >= Gaussian(1).delta(0)
    True
    """
    return _pooled(curves, largest=False)
