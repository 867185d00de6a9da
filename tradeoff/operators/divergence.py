"""F-divergences of a curve, which respect the Blackwell order: polygons below and above it bound them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError, called, shown
from tradeoff.intervals.bounds import Bounds, held
from tradeoff.intervals.functions import clip, exp, expm1, maximum, total
from tradeoff.intervals.remainder import summed
from tradeoff.intervals.rounding import UNIT, Array, around
from tradeoff.loss.law import LossLaw
from tradeoff.operators.renyi import renyi

NAMES = ("kl", "chi2", "hellinger", "total-variation")  # divergences with a name
_UNITS = 16  # units of 2^-53 by which a callable may miss: what a few operations on floats cost
_LARGE = 1e50  # where the last slope of a callable is taken, and at its square

Function = Callable[[float], float]


def divergence(curve: TradeOff, function: str | Function) -> Bounds[float]:
    """Bound D_F(P || Q) = int F(dP/dQ) dQ of a curve T(P, Q), F convex; mass of P alone weighs F'(inf).

    A callable is finite above 0, its values are good to 16 units of 2^-53 of 1 + |F(t)|, and a slope that has
    come to rest between 1e50 and 1e100 is taken for its last. Named ones are as narrow as Renyi divergences
    and delta(0); of a callable the sums over the atoms of ``curve.lower`` and ``curve.upper``, some 1e-3
    apart where the curve is not one of finitely many ratios, and infinite where P has mass beyond the last of
    them and F is not linear.

    By Jensen's inequality D_F falls when outcomes are merged, so that it follows the Blackwell order (Liese,
    Vajda 2006, Theorem 14). chi2 = e^D_2 - 1 and the squared Hellinger distance is 1 - e^(-D_(1/2)/2).

    Raises
    ------
    DomainError
        If the name is none of ``NAMES``, or the function is no convex one.
    """
    if isinstance(function, str) and function in NAMES:
        return _named(curve, function)
    if not callable(function):
        raise DomainError(
            f"function = {shown(function)} is none of {', '.join(map(repr, NAMES))}, and no function"
        )
    convex = _checked(function)
    return Bounds(_sum(curve.upper.loss_law(), convex).lower, _sum(curve.lower.loss_law(), convex).upper)


def _named(curve: TradeOff, name: str) -> Bounds[float]:
    match name:
        case "kl":
            return renyi(curve, 1.0)
        case "chi2":
            return expm1(renyi(curve, 2.0))
        case "hellinger":
            return clip(-expm1(-renyi(curve, 0.5) / 2), 0.0, 1.0)
    return curve.bounds.delta(0.0)


def _sum(law: LossLaw, function: Function) -> Bounds:
    """Bound sum q F(p/q) over the atoms of a law, and what lies at infinity.

    A ratio lies between two floats l <= u, where a convex function is below the larger of its values, and
    F(r) >= F(u) - g (u - r), g its slope beyond u.
    """
    loss, log_p, slack = law.atoms
    at = loss + Bounds(-law.loss_error, law.loss_error)
    mass = exp(at + log_p) * (1 + Bounds(-slack, slack))
    low, high = exp(-at)
    first, last, beyond = (_values(function, x) for x in (low, high, 2 * high))
    least = last - maximum((beyond - last) / high, 0.0) * (high - Bounds.of(low))
    inner = summed(mass * Bounds(np.minimum(least.lower, last.lower), np.maximum(first.upper, last.upper)))
    q, p = (
        clip(held(*around(x, 16)), 0.0, 1.0) if x else Bounds(0.0, 0.0) for x in (law.q_plus, law.p_minus)
    )
    outer = [q * _value(function, 0.0)] if law.q_plus else []
    return total([inner, *outer, *([p * _last_slope(function)] if law.p_minus else [])])


def _values(function: Function, at: Array) -> Bounds:
    found = [_value(function, x) for x in at.tolist()]
    return Bounds(np.array([v.lower for v in found]), np.array([v.upper for v in found]))


def _value(function: Function, ratio: float) -> Bounds:
    """Bound F at a float, which is infinite at 0 at most."""
    try:
        found = called("function", lambda t: float(function(t)), ratio)
    except DomainError as error:
        if isinstance(error.__cause__, OverflowError):
            return Bounds(float(np.finfo(float).max), math.inf)
        if ratio == 0 and isinstance(error.__cause__, ArithmeticError | ValueError):  # such as 1/t and -log t
            return Bounds(math.inf, math.inf)
        raise
    if math.isnan(found) or (math.isinf(found) and (ratio > 0 or found < 0)):
        raise DomainError(f"function({ratio!r}) = {found!r}; a convex function of a ratio is finite above 0")
    off = _UNITS * UNIT * (1 + abs(found)) if math.isfinite(found) else 0.0
    return Bounds.of(found) + Bounds(-off, off)


def _last_slope(function: Function) -> Bounds:
    """Bound lim F(t)/t from below by the slope at 1e50, and from above where that has come to rest there."""
    near, far = ((_value(function, 2 * at) - _value(function, at)) / at for at in (_LARGE, _LARGE * _LARGE))
    return Bounds(near.lower, far.upper if far.lower <= near.upper else math.inf)


def _checked(function: Function) -> Function:
    """Refuse what is seen not to be convex: at a point between two others it lies above their chord."""
    places = [0.0, *np.geomspace(2.0**-20, 2.0**20, 41).tolist()]
    for low, high in zip(places, places[2:], strict=False):
        middle = (low + high) / 2
        chord = (_value(function, low) + _value(function, high)) / 2
        if _value(function, middle).lower > chord.upper:
            raise DomainError(f"function is not convex: at {middle:.6g} it lies above its chord")
    return function
