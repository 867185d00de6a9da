"""Bounds on mu from the structure of a curve, before its profile is evaluated."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from tradeoff import balls
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.product import Tensor, tensor
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, rational, sqrt, total, whole
from tradeoff.operators.assumed import Assumed
from tradeoff.operators.group import Group
from tradeoff.operators.inverse import Inverse
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.order import infinite_mass
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled

# Operators whose curves are within G_mu where those of their operands are, and have tails where those do.
_WITHIN = Subsampled | Mixture | HullOfMinimum | Assumed


def cap(f: TradeOff) -> float:
    """Return a mu with f >= G_mu that needs no failure, or inf.

    Products add mu^2, groups of k multiply mu by k (Dong, Roth, Su 2022, Corollary 3.3 and Theorem 2.14);
    subsampling, inverses, mixtures and envelopes of curves above G_mu are above G_mu, and a maximum is if an
    operand is. Where losses stay within [-eps, eps], f >= f_{eps,0} >= G_mu with
    mu = -2 Phi^-1(1/(1 + e^eps)).
    """
    return min(_by_parts(f), _by_losses(f))


def _by_parts(f: TradeOff) -> float:
    if isinstance(f, Gaussian):
        return float(f.mu)
    if isinstance(f, Tensor):
        return _root_of_squares((cap(factor), n) for factor, n in f.factors.items()).upper
    if isinstance(f, Inverse | _WITHIN):
        return max(cap(operand) for operand in f.operands)
    if isinstance(f, Maximum):
        return min(cap(operand) for operand in f.operands)
    if isinstance(f, Group):
        return float((whole(f.k) * cap(f.operands[0])).upper) if f.operands[0].symmetric else math.inf
    return 0.0 if isinstance(f, Identity) else math.inf


def operands_of(f: TradeOff, kind: type[Derived]) -> list[TradeOff]:
    """Return the operands of nested operators of this kind, flattened; f alone if it is of another kind."""
    return [part for g in f.operands for part in operands_of(g, kind)] if type(f) is kind else [f]


def _by_losses(f: TradeOff) -> float:
    if any(order.mass_at_infinity.upper > 0 for order in (f, f.inverse())):
        return math.inf
    reach = max(f.sup_loss, f.inverse().sup_loss, 0.0)
    if math.isinf(reach):
        return math.inf
    return 2 * balls.upper_float(balls.normal_isf(1 / (1 + balls.exp(balls.to_balls(reach)))))


def floor(f: TradeOff) -> float:
    """Return a mu that f >= G_mu needs because of the tails, however rarely they are reached.

    Let P >= v P' and Q >= w Q' on some event, 0 < v, w <= 1, where T(P', Q') = G_m. Then 1 - f(alpha) >= w (1
    - G_m(alpha)), which as alpha tends to 0 is more than 1 - G_mu(alpha) for every mu < m. Subsampling keeps
    such an event, products multiply them.
    """
    return max(_tail(f), _tail(f.inverse()))


def _tail(f: TradeOff) -> float:
    if isinstance(f, Gaussian):
        return f.least
    if isinstance(f, Tensor):
        return _root_of_squares((_tail(factor), n) for factor, n in f.factors.items()).lower
    if isinstance(f, Subsampled) and f.flipped:
        return 0.0  # losses end at -log(1 - p)
    return max(map(_tail, f.operands)) if isinstance(f, _WITHIN) else 0.0


def best_case(f: TradeOff) -> float:
    """Return a mu with f <= G_mu without failure: the Gaussian factors of a product, for f (x) h <= f."""
    return _root_of_squares((g.least, n) for g, n in f.factors.items() if isinstance(g, Gaussian)).lower


def _root_of_squares(parts: Iterable[tuple[float, int]]) -> Bounds[float]:
    """Bound the root of the sum of n x^2."""
    return sqrt(total(whole(n) * Bounds.of(x) ** 2 for x, n in parts))


def without_leak(f: TradeOff, failure: Fraction, most: Fraction) -> tuple[TradeOff, Bounds[float]]:
    """Return (h, d) with f >= G_mu (x) f_{0,failure} iff h >= G_mu (x) f_{0,d}, where f = h (x) f_{0,q}.

    Both sides have a factor f_{0,q}, which only scales the axes: (1 - q)(1 - d) = 1 - failure. ``d`` goes up
    to that of ``most``, the rounded ``failure``, which needs no more mu.
    """
    factors = f.factors
    leaks = {factor: n for factor, n in factors.items() if factor.leak is not None}
    low, high = (Fraction(side) for side in infinite_mass(tensor(leaks.items())))
    if not leaks or high > failure or high >= 1:
        return f, Bounds(max(rational(failure).lower, 0.0), min(rational(most).upper, 1.0))
    rest = tensor((factor, n) for factor, n in factors.items() if factor.leak is None)
    ends = rational((failure - high) / (1 - high)).lower, rational((most - low) / (1 - low)).upper
    return rest, clip(Bounds(*ends), 0.0, 1.0)


def reason_for_infinite_mu(f: TradeOff, failure: float) -> str | None:
    """Explain why no finite mu is enough, if so: the mass at infinity is above ``failure``."""
    for order, where in ((f, "f(0)"), (f.inverse(), "f^-1(0)")):
        if (mass := order.mass_at_infinity.lower) > failure:
            curve = f"G_mu (x) f_{{0,{failure:.6g}}}"
            return f"{where} = 1 - {mass:.6g}, and {curve} starts at 1 - {failure:.6g} for every finite mu"
    return None
