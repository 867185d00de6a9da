"""Operators of several curves: pointwise maximum, convex hull of the pointwise minimum, and mixture.

The operands of a ``Derived`` curve are the curves it is made of; its hooks ``beta_bounds``, ``delta_bounds``
and ``epsilon_bounds`` get an array and return (lower, upper) arrays; ``tol`` None is for the usual width.
Tightness is PAIR for the curve of one pair of neighbours, ENVELOPE for the largest curve below those of
several pairs, BOUND for one below them: ``pure`` removes this mark from operands, ``limited`` sets it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial, reduce
from operator import add, mul
from typing import Any, ClassVar, Literal

import numpy as np

from tradeoff.accounting.options import measure
from tradeoff.curves.contract import Derived, TradeOff, operand
from tradeoff.curves.hooks import BOUND, ENVELOPE, gathered, joint, limited, pure
from tradeoff.curves.parameters import Number
from tradeoff.curves.parameters import weights as check_weights
from tradeoff.curves.piecewise_linear import PiecewiseLinear, pointwise, segments
from tradeoff.curves.query import cached_by_options, certified_delta, certified_epsilon
from tradeoff.errors import DomainError
from tradeoff.families.discrete import IntegerNoise
from tradeoff.intervals.bounds import Array, Bounds, Pair, sides_of
from tradeoff.intervals.functions import clip, exp, expm1, log, rational
from tradeoff.intervals.functions import maximum as maximum_of
from tradeoff.operators.tabulate import BetaOperator, largest
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.transformed import MixturePLD, to_atomic


def maximum(*curves: TradeOff) -> TradeOff:
    """Pointwise maximum of curves, again a trade-off function: all the guarantees hold of the same mechanism.

    It meets the conditions of Dong, Roth, Su 2022, Proposition 2.2, as its operands do.

    >>> from tradeoff import Gaussian, PureDP, maximum
    >>> maximum(Gaussian(1), PureDP(1)).epsilon(0)
    1.0
    """
    return _maximum_or_hull(curves, largest=True)


def minimum(*curves: TradeOff) -> TradeOff:
    r"""Convex hull of the pointwise minimum: the least private of several mechanisms may have run.

    The plain minimum is not convex in general; the hull has profile :math:`\max_i \delta_i(\varepsilon)`
    (Dong, Roth, Su 2022, Proposition 2.12).

    >>> from tradeoff import Gaussian, PureDP, minimum
    >>> minimum(Gaussian(1), PureDP(1)).delta(0) >= Gaussian(1).delta(0)
    True
    """
    return _maximum_or_hull(curves, largest=False)


def _maximum_or_hull(curves: tuple[TradeOff, ...], *, largest: bool) -> TradeOff:
    """Return the operator on distinct curves, operands of the same operator merged; of polygons a polygon."""
    if not curves:
        raise DomainError("give at least one curve")
    kind = Maximum if largest else HullOfMinimum
    parts = ((f.operands if type(f) is kind else (f,)) for f in (pure(operand(f)) for f in curves))
    distinct = tuple(dict.fromkeys(part for each in parts for part in each))
    level, assumptions = min(f.tightness for f in curves), gathered(curves)
    if len(distinct) == 1:
        return limited(distinct[0], level, assumptions)
    level = BOUND if largest else min(level, ENVELOPE)  # no pair need attain a maximum
    if all(isinstance(f, PiecewiseLinear) for f in distinct):
        return limited(reduce(partial(pointwise, largest=largest), distinct), level)
    return limited(kind(*distinct), level, assumptions)


class _Pooled(Derived):
    """Base of maximum and hull: the mass at infinity, 1 - f(0), is the operands' least, or the largest."""

    _end: ClassVar[Any]  # min or max

    @property
    def symmetric(self) -> bool:
        return all(f.inverse() in self.operands for f in self.operands)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        lower, upper = zip(*(f.mass_at_infinity for f in self.operands), strict=True)
        return Bounds(self._end(lower), self._end(upper))

    def inverse(self) -> TradeOff:
        return self if self.symmetric else self.replaced(lambda f: f.inverse())


class Maximum(_Pooled, BetaOperator):
    """max{f, g}: both guarantees hold, so the better one does at each alpha."""

    name = "maximum"
    _end = staticmethod(min)
    rebuild = staticmethod(maximum)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        low, high = zip(*(f.bounds(alpha, tol=tol) for f in self.operands), strict=True)
        return np.maximum.reduce(low), np.maximum.reduce(high)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = super().delta_bounds(epsilon, tol)
        # Closer than whole curves where one operand alone is the maximum.
        return low, np.minimum(high, self._least_delta(epsilon))

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        """Take the least of the operands' epsilons, and whole curves where that is not close."""
        each = [f.bounds.epsilon(delta) for f in self.operands]
        high, low = np.minimum.reduce([answer.upper for answer in each]), np.full(len(delta), -np.inf)
        # Up to 690 nats e^eps is a float.
        near = (delta > self.mass_at_infinity.upper) & (np.abs(high) < 690.0)
        for f, answer in zip(self.operands, each, strict=True):
            if (mine := near & (answer.upper == high) & (answer.lower > -690.0)).any():
                low[mine] = np.maximum(low[mine], self._epsilon_of(f, delta[mine], answer.lower[mine]))
        if (left := near & np.isinf(low)).any():
            low[left] = self._epsilon_at(delta[left], high[left])
        # A width of 1e-3 needs no whole curves without a tolerance.
        if (wide := ~(high - low <= (1e-3 if tol is None else tol))).any():
            below, above = super().epsilon_bounds(delta[wide], tol)
            low[wide], high[wide] = np.fmax(low[wide], below), np.fmin(high[wide], above)
        return low, high

    def _least_delta(self, epsilon: Array) -> Array:
        """Bound delta from above by the least of the operands'."""
        return np.asarray(np.minimum.reduce([f.bounds.delta(epsilon).upper for f in self.operands]))

    def _epsilon_of(self, f: TradeOff, delta: Array, low: Array) -> Array:
        """Return ``low``, lower bounds on f's epsilon, where they are the maximum's as well, else -inf.

        At l = ``low`` delta_f(l) >= delta. For an alpha with the slope -alpha of delta_f in e^eps at l,

            (delta - delta_f(l + h))/(e^(l + h) - e^l) <= alpha <= (delta_f(l - h) - delta)/(e^l - e^(l - h)),

        and f(alpha) = 1 - delta_f(l) - e^l alpha. Where no operand is above f there the maximum has delta(l)
        >= 1 - f(alpha) - e^l alpha >= delta, and more before l, as it falls to less. Curves fall: the others
        at the least alpha are compared with f at the greatest.
        """
        h, s = 1e-3, exp(Bounds.of(low))
        before, after = (f.bounds.delta(at).upper for at in (low - h, low + h))
        least = (Bounds.of(delta) - after) / (s * expm1(Bounds.of(low + h) - low))
        most = (Bounds.of(before) - delta) / (s * -expm1(Bounds.of(low - h) - low))
        own = f.bounds(np.clip(most.upper, 0.0, 1.0)).lower
        at = np.clip(least.lower, 0.0, 1.0)
        is_largest = [g.bounds(at).upper <= own for g in self.operands if g is not f]
        return np.where(np.logical_and.reduce(is_largest), low, -np.inf)

    def _epsilon_at(self, delta: Array, near: Array) -> Array:
        """Bound epsilon(delta) = sup log((1 - delta - f(alpha))/alpha) from below, by one alpha.

        Every alpha proves a lower bound, or none (-inf). The best one is where f has the slope -e^eps at
        eps = epsilon(delta); there alpha = -d delta/d e^eps. It is estimated at the loss ``near``, an upper
        bound on eps, from the least delta of the operands: an error of it only loosens the bound.
        """
        step = 1e-3  # nats to both sides, for the difference quotient of delta in e^eps
        fall = self._least_delta(near - step) - self._least_delta(near + step)
        alpha = np.clip(fall / (2 * np.exp(near) * np.sinh(step)), 0.0, 1.0)
        rest = 1 - Bounds.of(delta) - self.bounds(alpha)
        some = (rest.lower > 0) & (alpha > 0)
        result = log(Bounds(*(np.where(some, side, 1.0) for side in rest)) / np.where(some, alpha, 1.0))
        return np.where(some, result.lower, -np.inf)

    def of_polygons(self, curves: Sequence[PiecewiseLinear], *, up: bool) -> PiecewiseLinear:
        return largest([line for f in curves for line in segments(f)], up=up)

    @property
    def loss_bounds(self) -> Bounds[float]:
        # At alpha = 0 the curves with the largest f(0) are the maximum, and next to it the flattest of them;
        # if bounds on f(0) overlap, it may be any of them.
        least = self.mass_at_infinity.upper
        first = [f for f in self.operands if f.mass_at_infinity.lower <= least]
        is_exact = all(f.mass_at_infinity.width == 0 for f in first)
        top = (min if is_exact else max)(f.sup_loss for f in first)
        return Bounds(min(f.loss_bounds.lower for f in first), top)


class HullOfMinimum(_Pooled):
    """Greatest trade-off function below all operands: its profile is the largest of theirs."""

    name = "minimum"
    _end = staticmethod(max)
    rebuild: Callable[..., TradeOff] = staticmethod(minimum)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return self._largest_answer("delta", epsilon, tol)

    def estimate_losses(self, alpha: Array) -> list[tuple[Array, float]]:
        """Estimate losses that attain f(alpha): the operands' farthest from 0, or all if signs differ."""
        estimates = super().estimate_losses(alpha)  # (losses at each alpha, spread) of each operand
        if not estimates:
            return []
        losses = np.array([loss for loss, _ in estimates])
        is_used = np.arange(len(losses))[:, None] == np.argmax(np.abs(losses), axis=0)
        is_used |= (losses.min(axis=0) < 0) & (losses.max(axis=0) > 0)
        return list(zip(np.where(is_used, losses, np.nan), (spread for _, spread in estimates), strict=True))

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        return self._largest_answer("epsilon", delta, tol)

    def _largest_answer(self, question: Literal["delta", "epsilon"], at: Array, tol: float | None) -> Pair:
        """Bound the largest answer of the operands; only those that may decide it are refined to ``tol``.

        An operand whose answer is at most the upper bound so far changes no bound: neither a delta nor, where
        its delta at that epsilon is at most ``at``, an epsilon. ``ceiling`` is a cheap upper bound on delta.
        """
        answer = certified_delta if question == "delta" else certified_epsilon
        low, high, answers = np.full(len(at), -np.inf), np.full(len(at), -np.inf), []
        for k, f in enumerate(self.operands):
            is_open = np.ones(len(at), bool)  # whether f may change the bounds of a question
            # An epsilon below 0 costs as much as a bound on delta there.
            known = np.flatnonzero(np.isfinite(high) & (question == "delta" or high >= 0))
            if k and len(known):
                loss, level = (at, high) if question == "delta" else (high, at)
                is_open[known] = ~(f.ceiling(loss[known], level[known]) <= level[known])
            open_ = np.flatnonzero(is_open)
            below, above = answer(f, at[open_], None)
            low[open_], high[open_] = np.maximum(low[open_], below), np.maximum(high[open_], above)
            answers.append((f, open_, above))
        if tol is None:
            return low, high
        for f, open_, above in answers:
            width = measure(question, at[open_], low[open_], high[open_], tol)
            wide = np.flatnonzero((above > low[open_]) & ~(width <= tol))
            if len(wide):
                below, above[wide] = answer(f, at[open_[wide]], tol)
                low[open_[wide]] = np.maximum(low[open_[wide]], below)
        high[:] = -np.inf
        for _, open_, above in answers:
            high[open_] = np.maximum(high[open_], above)
        return low, high

    @property
    def has_law(self) -> bool:
        return False

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        return self._own_laws or super().laws()

    @cached_by_options
    def _own_laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution] | None:
        """Law of the hull, twice, of products of integer noise, of atoms on one lattice; None of others."""
        from tradeoff.pld.discrete import law_of_greatest_profile, product_on_lattice

        laws = []
        for f in self.operands:
            if not all(isinstance(factor, IntegerNoise) and factor.has_law for factor in f.factors):
                return None
            law = product_on_lattice(
                [factor.loss_distribution() for factor in f.factors], [*f.factors.values()]
            )
            if law is None:
                return None
            laws.append(law)
        hull = law_of_greatest_profile(laws)
        return None if hull is None else (hull, hull)

    @property
    def loss_bounds(self) -> Bounds[float]:
        # If f(0) < 1, the hull may leave its start along a chord to a steeper curve, flatter than that curve.
        result = maximum_of(*(f.loss_bounds for f in self.operands))
        return result if self.mass_at_infinity.upper == 0 else Bounds(-np.inf, result.upper)


def add_weights(pairs: Iterable[tuple[TradeOff, float | Fraction]]) -> dict[TradeOff, Fraction]:
    """Return the weights of curves, those of equal ones added up exactly."""
    shares: dict[TradeOff, Fraction] = {}
    for curve, weight in pairs:
        shares[curve] = shares.get(curve, Fraction(0)) + Fraction(weight)
    return shares


class Mixture(Derived):
    """Average along equal slopes: delta(eps) = sum_i w_i delta_i(eps).

    ``shares`` are fractions that add to 1, by which mixtures are equal and ordered.
    """

    name = "mixture"
    rebuild = staticmethod(lambda *parts: mixture(add_weights(zip(parts[:-1], parts[-1], strict=True))))

    def __init__(self, shares: Mapping[TradeOff, Fraction]) -> None:
        self.shares = tuple(shares.values())
        super().__init__(*shares, parameters=(self.shares,))

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return sides_of(self._average(f.bounds.delta(epsilon, tol=tol) for f in self.operands))

    def _average(self, values: Iterable[Bounds]) -> Bounds:
        """Bound the sum of w_i x_i."""
        return reduce(add, map(mul, map(rational, self.shares), values))

    @cached_property
    def mass_at_infinity(self) -> Bounds[float]:
        return clip(self._average(f.mass_at_infinity for f in self.operands), 0.0, 1.0)

    @property
    def loss_bounds(self) -> Bounds[float]:
        return maximum_of(*(f.loss_bounds for f in self.operands))

    def inverse(self) -> TradeOff:
        if self.symmetric:
            return self
        return Mixture(add_weights(zip((f.inverse() for f in self.operands), self.shares, strict=True)))

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        sides = zip(*(f.laws() for f in self.operands), strict=True)
        weights = [float(share) or math.ulp(0.0) for share in self.shares]  # no share of 0 is dropped
        below, above = ([(w, to_atomic(law)) for w, law in zip(weights, side, strict=True)] for side in sides)
        exact = all(low is high for (_, low), (_, high) in zip(below, above, strict=True))
        lower = MixturePLD(below)
        return lower, lower if exact else MixturePLD(above)

    @property
    def notation(self) -> str:
        parts = ", ".join(
            f"{f.notation}: {float(w):.6g}" for f, w in zip(self.operands, self.shares, strict=True)
        )
        return f"mixture({{{parts}}})"


def mixture(weights: Mapping[TradeOff, Number]) -> TradeOff:
    r"""Curve of choosing mechanism i with probability w_i and publishing i.

    Parameters
    ----------
    weights
        Probabilities of the curves; they must add to 1 within 1e-12, and are divided by their sum.

    Returns
    -------
    TradeOff
        The curve with profile :math:`\sum_i w_i \delta_i(\varepsilon)`.

    Examples
    --------
    >>> from tradeoff import Gaussian, Identity, mixture
    >>> mixture({Gaussian(1): 0.5, Identity(): 0.5}).delta(0) <= 0.1914625
    True
    """
    shares = check_weights("weights", weights, "curve: probability", lambda f: pure(operand(f)))
    mixed = next(iter(shares)) if len(shares) == 1 else Mixture(shares)
    return limited(mixed, joint(weights))
