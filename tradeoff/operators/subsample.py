"""Subsampling: the record takes part with probability p."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Rational
from typing import Any, Literal, get_args

import numpy as np

from tradeoff.core.bounds import Pair
from tradeoff.core.curve import TradeOff, operand, rounded_down
from tradeoff.core.derived import Derived
from tradeoff.core.parameters import choice, is_symbol, real
from tradeoff.core.piecewise_linear import PiecewiseLinear
from tradeoff.engines.law import LossLaw, Reversed, Thinned
from tradeoff.errors import DomainError
from tradeoff.families._symmetric import symbols_of, written
from tradeoff.families.identity import Identity
from tradeoff.numerics.roots import straddle
from tradeoff.numerics.rounding import UNIT, Array

Scheme = Literal["poisson", "without-replacement"]


def subsample(f: TradeOff, p: Any, *, scheme: Scheme = "poisson") -> TradeOff:
    """Subsampled curve f_p = p f + (1-p) Id = T(P, (1-p) P + p Q), the record absent under P.

    Parameters
    ----------
    f
        Base curve T(P, Q).
    p
        Sampling rate in [0, 1], or a SymPy expression: the Poisson curve is then a formula, C_p(f) waits for numbers.
    scheme
        ``"poisson"``: one order of add/remove neighbours; its inverse is the other. ``subsample(~f, p)`` is not
        ``~subsample(f, p)``. ``"without-replacement"``: C_p(f), the envelope of f_p and its inverse, for fixed-size
        samples, replace-one neighbours and a symmetric f (Dong, Roth, Su 2022, Theorem 4.2).

    Returns
    -------
    TradeOff
        ``repr`` says "one order" where the curve is not symmetric.

    Examples
    --------
    >>> from tradeoff import PureDP, subsample
    >>> round(subsample(PureDP(1.0), 0.5).epsilon(0), 6)
    0.620115
    """
    choice("scheme", scheme, get_args(Scheme))
    rate, symbolic = real("p", p, 0, 1), bool(operand(f).free_symbols) or is_symbol(p)
    if symbolic and scheme == "poisson":
        return f.symbolic().subsample(p)  # type: ignore[no-any-return]  # a Symbolic
    if rate == 0:
        return Identity()
    if isinstance(f, PiecewiseLinear) and f.exact and isinstance(p, Rational):
        one_order: TradeOff = _exactly(f, p)
    else:
        one_order = f if rate == 1 else Subsampled(f, rate)
    if scheme == "poisson":
        return one_order
    if not f.symmetric:
        raise DomainError("subsampling without replacement needs a symmetric base curve; take f.symmetrise(assume=...) first")
    return one_order.symmetrise(assume="either-order")


def _exactly(f: PiecewiseLinear, p: Any) -> PiecewiseLinear:
    """Return f_p in the arithmetic of fractions."""
    alpha, beta = f.alpha.tolist(), f.beta.tolist()
    if alpha[-1] < 1:
        alpha, beta = [*alpha, 1], [*beta, 0]
    return PiecewiseLinear(alpha, [p * b + (1 - p) * (1 - a) for a, b in zip(alpha, beta, strict=True)])


class Subsampled(Derived):
    """One order of Poisson subsampling, f_p, or its inverse."""

    name = "subsample"

    def __init__(self, base: TradeOff, p: float, *, flipped: bool = False) -> None:
        self.operands, self.parameters = (base,), (p, flipped)
        self.p, self.flipped = p, flipped

    @property
    def symmetric(self) -> bool:
        return False

    @property
    def free_symbols(self) -> frozenset[Any]:
        return super().free_symbols | symbols_of(self.p)

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        base, p = change(self.operands[0]), change(self.p)
        one_order = Subsampled(base, p) if base.free_symbols or is_symbol(p) else subsample(base, p)
        return one_order.inverse() if self.flipped else one_order

    def _beta(self, alpha: Array, tol: float | None) -> Pair:
        if self.flipped:
            straight = Subsampled(self.operands[0], self.p)
            low = straddle(lambda t: straight.bounds(np.clip(t, 0.0, 1.0)).lower, alpha)[0]
            high = straddle(lambda t: straight.bounds(np.clip(t, 0.0, 1.0)).upper, alpha)[1]
            return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
        low, high = self.operands[0].bounds(alpha)
        rest = (1 - self.p) * (1 - alpha)
        return (self.p * low + rest) * (1 - 8 * UNIT), (self.p * high + rest) * (1 + 8 * UNIT)

    def _delta(self, epsilon: Array, tol: float | None) -> Pair:
        return self._delta_flipped(epsilon) if self.flipped else self._delta_straight(epsilon)

    def _delta_straight(self, epsilon: Array) -> Pair:
        """Bound p delta_f(eps'), e^eps' = (e^eps - 1 + p)/p; where e^eps <= 1 - p it is 1 - e^eps."""
        inner = self._inner(epsilon)
        inside = np.isfinite(inner)
        low, high = -np.expm1(np.minimum(epsilon, 0.0)), -np.expm1(np.minimum(epsilon, 0.0))
        slack, base = _moved(inner[inside]), self.operands[0].bounds
        with np.errstate(over="ignore"):  # delta(inf) is a lower bound as well
            beyond = inner[inside] + slack
        low[inside] = self.p * base.delta(beyond).lower
        high[inside] = self.p * base.delta(inner[inside] - slack).upper
        return low * (1 - 8 * UNIT), high * (1 + 8 * UNIT)

    def _delta_flipped(self, epsilon: Array) -> Pair:
        """Bound (1 - (1-p) e^eps) delta_{f^-1}(-eps'), e^eps' = (e^-eps - 1 + p)/p; it is 0 where e^-eps <= 1 - p."""
        inner, scale = self._inner(-epsilon), np.exp(np.minimum(epsilon, 700.0))
        inside = np.isfinite(inner)
        low, high = np.zeros(len(epsilon)), np.zeros(len(epsilon))
        base = self.operands[0].inverse().bounds
        (share, error), slack = self._share(epsilon[inside], scale[inside]), _moved(inner[inside])
        low[inside] = np.maximum(share - error, 0.0) * base.delta(-inner[inside] + slack).lower
        high[inside] = np.maximum(share + error, 0.0) * base.delta(-inner[inside] - slack).upper
        # Where e^-eps - 1 + p is 0 but for rounding, so is the factor.
        edge = ~inside & (epsilon < -np.log1p(-self.p) * (1 + 8 * UNIT))
        high[edge] = 8 * UNIT * self.p * scale[edge]
        return low, high

    def _share(self, epsilon: Array, scale: Array) -> Pair:
        """Return 1 - (1-p) e^eps and its error; as p e^eps - (e^eps - 1) where those terms are small."""
        kept, gone, rest = self.p * scale, np.expm1(epsilon), (1 - self.p) * scale
        small = kept + np.abs(gone) < 1
        return np.where(small, kept - gone, 1 - rest), 8 * UNIT * np.where(small, kept + np.abs(gone), 1 + rest)

    def _epsilon(self, delta: Array, tol: float | None) -> Pair:
        if self.flipped:
            return TradeOff._epsilon(self, delta, tol)  # noqa: SLF001 - of the contract, not by way of polygons
        # delta = p delta_f(eps') where delta < p, else 1 - e^eps.
        low, high = np.log1p(-delta), np.log1p(-delta)
        inside = delta < self.p
        if inside.any():
            share, base = delta[inside] / self.p, self.operands[0].bounds
            low[inside] = self._outer(base.epsilon(np.minimum(share * (1 + 4 * UNIT), 1.0)).lower)
            high[inside] = self._outer(base.epsilon(share * (1 - 4 * UNIT)).upper)
        return low - 16 * UNIT * np.abs(low), high + 16 * UNIT * np.abs(high)

    def _outer(self, epsilon: Array) -> Array:
        """Return log(1 - p + p e^eps), by whichever form does not cancel."""
        near = np.minimum(epsilon, 600.0)
        change = self.p * np.expm1(near)
        with np.errstate(divide="ignore"):
            found = np.where(change > -0.5, np.log1p(np.maximum(change, -0.5)), np.log((1 - self.p) + self.p * np.exp(near)))
        return np.where(epsilon > 600.0, np.maximum(epsilon, 600.0) + np.log(self.p), found)

    def _inner(self, epsilon: Array) -> Array:
        """Return log((e^eps - 1 + p)/p), -inf where there is none."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            change = np.expm1(np.minimum(epsilon, 600.0))
            ratio = change / self.p
            small = np.where(np.isinf(ratio), np.log(change) - np.log(self.p), np.log1p(np.maximum(ratio, -1.0)))
            large = np.maximum(epsilon, 600.0)
            large = large + np.log1p(-(1 - self.p) * np.exp(-large)) - np.log(self.p)
        return np.where(epsilon <= 600.0, small, large)

    @property
    def q_plus(self) -> float:
        return 0.0 if self.flipped else self.p * self.operands[0].q_plus

    @property
    def p_minus(self) -> float:
        return self.p * self.operands[0].q_plus if self.flipped else 0.0

    @property
    def sup_loss(self) -> float:
        if self.flipped:
            return -float(self._outer(np.array(-self.operands[0].inverse().sup_loss))) * (1 + 32 * UNIT)
        top = self.operands[0].sup_loss
        if top > 600.0:
            return top  # log p below it: an upper bound
        return float(self._outer(np.array(top))) * (1 + 32 * UNIT)

    @property
    def least_sup_loss(self) -> float:
        top = self.operands[0].sup_loss
        return rounded_down(top + float(np.log(self.p))) if not self.flipped and 600.0 < top < np.inf else super().least_sup_loss

    def inverse(self) -> TradeOff:
        return Subsampled(self.operands[0], self.p, flipped=not self.flipped)

    def laws(self) -> tuple[LossLaw, LossLaw]:
        low, high = self.operands[0].laws()
        below = self._thin(low)
        return below, below if high is low else self._thin(high)

    def _thin(self, law: LossLaw) -> LossLaw:
        return Reversed(Thinned(law, self.p)) if self.flipped else Thinned(law, self.p)

    def __repr__(self) -> str:
        return f"{'~' if self.flipped else ''}subsample({self.operands[0]!r}, {written(self.p)}) (one order)"


def _moved(inner: Array) -> Array:
    """Return what rounding moves eps' by: e^eps' = 1 + (e^eps - 1)/p, and the quotient is known to a few units."""
    found: Array = 8 * UNIT * (1 + np.abs(inner) + np.exp(np.clip(-inner, -40, 40)))
    return found
