"""Where a profile ends: sup L and Q(L = inf) from both sides as rationals, exact where parameters give them.

Sums of parameters are sums of the floats as given: 0.1 + 0.1 + 0.1 is here a little more than 0.3, as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.tensor import Tensor
from tradeoff.families.laplace import Laplace
from tradeoff.families.total_variation import TotalVariation
from tradeoff.operators.group import Group
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled

Real = Fraction | float  # an exact rational, or an infinity
Span = tuple[Real, Real]  # numbers at or below and at or above the truth
_FEW = 16  # masses at infinity multiplied exactly: fractions grow by 53 bits a factor; so many are instant


def top(f: TradeOff) -> Span:
    """Bound sup L over the finite losses of one order, in nats: sums of parameters are fractions."""
    if isinstance(f, Tensor):
        return _sum([(top(factor), n) for factor, n in f.factors.items()])
    if isinstance(f, Group) and f.mass_at_infinity.upper == 0:
        return _sum([(top(f.operands[0]), f.k)])
    if isinstance(f, Mixture) or (isinstance(f, HullOfMinimum) and f.mass_at_infinity.upper == 0):
        low, high = zip(*map(top, f.operands), strict=True)
        return max(low), max(high)
    if isinstance(f, Laplace):
        return f.theta, f.theta
    return _real(f.least_sup_loss), _real(f.sup_loss)


def _real(x: float) -> Real:
    return Fraction(x) if math.isfinite(x) else x


def _sum(spans: list[tuple[Span, int]]) -> Span:
    low, high = (sum((_times(n, span[side]) for span, n in spans), Fraction(0)) for side in (0, 1))
    return low, high


def _times(n: int, x: Real) -> Real:
    """Return n x; a float is an infinity, which integers beyond floats do not multiply."""
    return n * x if isinstance(x, Fraction) else math.copysign(math.inf, x) if n else Fraction(0)


def lost(f: TradeOff) -> Span:
    """Bound Q(L = inf) = 1 - f(0): the delta that no epsilon removes."""
    low, high = (Fraction(side) for side in f.mass_at_infinity)
    exact = _parameter(f) if low < high else None
    return (exact, exact) if exact is not None else (low < high and _combined(f)) or (low, high)


def _parameter(f: TradeOff) -> Fraction | None:
    """Return Q(L = inf) where it is made of the curve's parameters."""
    if isinstance(f, TotalVariation) and f.kept_0 is not None:
        return 1 - f.kept_0 if f.exact else None
    return 1 - f.vertices[0][1] if isinstance(f, PiecewiseLinear) else None


def _combined(f: TradeOff) -> Span | None:
    """Combine Q(L = inf) of the operands, as fractions."""
    if isinstance(f, Subsampled):  # not flipped: what is loses nothing
        return _each(lambda masses: Fraction(f.p) * masses[0], f.operands)
    if isinstance(f, HullOfMinimum | Maximum):
        return _each(max if isinstance(f, HullOfMinimum) else min, f.operands)
    if not isinstance(f, Tensor):
        return None
    leaking = {factor: n for factor, n in f.factors.items() if factor.mass_at_infinity.upper > 0}
    if sum(leaking.values()) > _FEW:
        return None
    copies = [factor for factor, n in leaking.items() for _ in range(n)]
    return _each(lambda masses: 1 - math.prod(1 - mass for mass in masses), copies)


def _each(combine: Callable[[list[Real]], Real], curves: Iterable[TradeOff]) -> Span:
    """Combine lower bounds and upper bounds by an increasing function."""
    low, high = zip(*map(lost, curves), strict=True)
    return combine(list(low)), combine(list(high))


def loses(f: TradeOff) -> bool:
    """Whether the curve is certainly not the identity: some loss is above 0."""
    return lost(f)[0] > 0 or top(f)[0] > 0
