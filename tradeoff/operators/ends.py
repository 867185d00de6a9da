"""Where a profile ends: sup L and Q(L = inf), as rationals from both sides, and exactly where the parameters give them.

Sums of parameters are sums of the floats as given: 0.1 + 0.1 + 0.1 is here a little more than 0.3, as it is.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tradeoff.core.curve import TradeOff, rounded_down
from tradeoff.core.piecewise_linear import PiecewiseLinear
from tradeoff.core.tensor import Tensor
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.numerics.rounding import UNIT
from tradeoff.operators.group import Group
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum

Real = Fraction | float
"""An exact rational, or an infinity."""

Span = tuple[Real, Real]
"""Numbers at or below and at or above the truth."""

_FEW = 16
"""Masses at infinity multiplied exactly: fractions grow by 53 bits a factor, and this many are still instant."""

_UNITS = 16
"""What a mass at infinity may be off, in units: a curve's contract is 4, and a product rounds twice more."""


def top(f: TradeOff) -> Span:
    """Bound sup L over the finite losses of one order, in nats."""
    if isinstance(f, PureDP | Laplace):
        return Fraction(f.epsilon_0), Fraction(f.epsilon_0)
    if isinstance(f, Tensor):
        return _sum([(top(factor), n) for factor, n in f.factors.items()])
    if isinstance(f, Group):  # the slope of 1 - (1 - f)^(o k) at 0 is that of f to the power of k
        return _sum([(top(f.operands[0]), f.k)]) if f.q_plus == 0 else (-math.inf, _above(f))
    if isinstance(f, Mixture) or (isinstance(f, HullOfMinimum) and f.q_plus == 0):
        low, high = zip(*map(top, f.operands), strict=True)
        return max(low), max(high)
    if isinstance(f, HullOfMinimum | Maximum) and f.q_plus > 0:  # the largest mass hides losses of the other curves
        return -math.inf, _above(f)
    return _real(rounded_down(f.least_sup_loss)), _above(f)


def _above(f: TradeOff) -> Real:
    """Bound sup L from above; a supremum is not trusted to its last bits."""
    return _real(-rounded_down(-f.sup_loss))


def _real(x: float) -> Real:
    return Fraction(x) if math.isfinite(x) else x


def _sum(spans: list[tuple[Span, int]]) -> Span:
    low, high = (sum((n * span[side] for span, n in spans), Fraction(0)) for side in (0, 1))
    return low, high


def lost(f: TradeOff) -> Span:
    """Bound Q(L = inf) = 1 - f(0): the delta that no epsilon removes."""
    if f.q_plus == 0:
        return Fraction(0), Fraction(0)
    if f.leak is not None:
        return Fraction(f.leak), Fraction(f.leak)
    if isinstance(f, PiecewiseLinear) and f.exact:
        return 1 - f.beta[0], 1 - f.beta[0]
    if isinstance(f, Tensor):
        leaking = [(lost(factor), n) for factor, n in f.factors.items() if factor.q_plus > 0]
        if sum(n for _, n in leaking) <= _FEW:
            low, high = (1 - math.prod(((1 - span[side]) ** n for span, n in leaking), start=Fraction(1)) for side in (0, 1))
            return low, high
    return Fraction(f.q_plus) * (1 - _UNITS * Fraction(UNIT)), min(Fraction(f.q_plus) * (1 + _UNITS * Fraction(UNIT)), Fraction(1))


def loses(f: TradeOff) -> bool:
    """Whether the curve is certainly not the identity: some loss is above 0."""
    return lost(f)[0] > 0 or top(f)[0] > 0
