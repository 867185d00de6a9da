"""Divergences of a curve, from both sides; they respect the Blackwell order.

Renyi's D_a come from closed forms, laws, and rules for operators; others from polygons below and above. r is
dP/dQ, and ``order`` a. T = (E_Q r^a - 1)/(a - 1) is linear in the profile, and KL(P || Q) at a = 1; D_a =
log(1 + (a - 1) T)/(a - 1) grows with T. A lower curve has larger divergences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tradeoff import balls
from tradeoff.balls import lower_float, to_ball, upper_float
from tradeoff.curves.contract import Derived, TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import Tensor, law_pair
from tradeoff.errors import DomainError, NoClosedForm, called, shown
from tradeoff.families.approximate_dp import TotalVariation
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, exp, expm1, maximum, meet, minimum, rational, total
from tradeoff.operators.pointwise import HullOfMinimum, Maximum, Mixture
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.tabulate import Nodes, polygon_below
from tradeoff.pld.moments import NOTHING_KNOWN
from tradeoff.pld.moments import divergence as of_law

Function = Callable[[float], float]


def divergence(curve: TradeOff, function: str | Function) -> Bounds[float]:
    """Bound D_F(P || Q) = int F(dP/dQ) dQ of a curve T(P, Q), F convex; mass of P alone weighs F'(inf).

    A callable is finite above 0, its values are good to 16 units of 2^-53 of 1 + |F(t)|, and a slope that is
    constant between 1e50 and 1e100 is taken for its last. Named ones are as narrow as Renyi divergences
    and delta(0); for a callable the sums over the atoms of ``curve.lower`` and ``curve.upper``, some 1e-3
    apart where the curve is not one of finitely many ratios, and infinite where P has mass after the last of
    them and F is not linear.

    By Jensen's inequality D_F falls when outcomes are merged, so that it follows the Blackwell order (Liese,
    Vajda 2006, Theorem 14). chi2 = e^D_2 - 1 and the squared Hellinger distance is 1 - e^(-D_(1/2)/2).
    """
    if isinstance(function, str) and function in _NAMED:
        return _NAMED[function](curve)
    if not callable(function):
        names = ", ".join(map(repr, _NAMED))
        raise DomainError(f"function must be one of {names}, or callable, got {shown(function)}")
    places = [0.0, *np.geomspace(2.0**-20, 2.0**20, 41).tolist()]  # a spot check of convexity
    for low, high in zip(places, places[2:], strict=False):
        middle = (low + high) / 2
        chord = (_value(function, low) + _value(function, high)) / 2
        if _value(function, middle).lower > chord.upper:
            raise DomainError(f"function is not convex: at {middle:.6g} it lies above its chord")
    return Bounds(_sum_atoms(curve.upper, function).lower, _sum_atoms(curve.lower, function).upper)


_NAMED: dict[str, Callable[[TradeOff], Bounds[float]]] = {
    "kl": lambda f: renyi(f, 1.0),
    "chi2": lambda f: expm1(renyi(f, 2.0)),
    "hellinger": lambda f: clip(-expm1(-renyi(f, 0.5) / 2), 0.0, 1.0),
    "total-variation": lambda f: f.bounds.delta(0.0),
}


def _sum_atoms(polygon: PiecewiseLinear, function: Function) -> Bounds:
    """Bound sum q F(p/q) over the atoms of a polygon, and the terms of masses at infinity.

    Atoms have losses log(q/p), known to ``error``, and masses p known to ``slack`` of themselves. A ratio p/q
    lies between two floats l <= u, where a convex function is below the larger of its values, and F(r) >=
    F(u) - g (u - r), g its slope after u.
    """
    law = polygon.loss_distribution()
    loss, log_p, slack, error = law.atoms
    at = loss + Bounds(-error, error)
    mass = exp(at + log_p) * (1 + Bounds(-slack, slack))
    low, high = exp(-at)  # l and u
    at_low, at_high, at_double = (
        Bounds(*np.array([[*_value(function, t)] for t in x.tolist()]).reshape(-1, 2).T)
        for x in (low, high, 2 * high)
    )
    # Any g at least the slope after u is safe: that from u to 2 u, or 0.
    least = at_high - maximum((at_double - at_high) / high, 0.0) * (high - Bounds.of(low))
    inside = Bounds(np.minimum(least.lower, at_high.lower), np.maximum(at_low.upper, at_high.upper))
    inner = total(mass * inside)
    # q and p are the masses where p/q is 0 and infinite.
    terms, q, p = [inner], polygon.mass_at_infinity, polygon.inverse().mass_at_infinity
    terms += [q * _value(function, 0.0)] if q.upper > 0 else []
    if p.upper > 0:  # lim F(t)/t: from below the slope at 1e50, and above where it is constant from there on
        near, far = ((_value(function, 2 * t) - _value(function, t)) / t for t in (1e50, 1e50**2))
        terms += [p * Bounds(near.lower, far.upper if far.lower <= near.upper else math.inf)]
    return total(terms)


def _value(function: Function, ratio: float) -> Bounds:
    """Bound the user's F at a float, finite unless the ratio is 0."""
    try:
        result = called("function", lambda t: float(function(t)), ratio)
    except DomainError as error:
        if isinstance(error.__cause__, OverflowError):  # above all floats
            return Bounds(float(np.finfo(float).max), math.inf)
        if ratio == 0 and isinstance(error.__cause__, ArithmeticError | ValueError):  # such as 1/t and -log t
            return Bounds(math.inf, math.inf)
        raise
    if math.isnan(result) or (math.isinf(result) and (ratio > 0 or result < 0)):
        raise DomainError(f"function({ratio!r}) = {result!r}; a convex function of a ratio is finite above 0")
    off = 2.0**-49 * (1 + abs(result)) if math.isfinite(result) else 0.0  # a few operations on floats
    return Bounds.of(result) + Bounds(-off, off)


def renyi(curve: TradeOff, order: float) -> Bounds[float]:
    """Bound D_a(P || Q) of a curve T(P, Q), in nats, a in (0, inf]; at inf it is sup L of the inverse.

    Infinite for a >= 1 if P has mass where Q has none. D grows with a, so that D_inf is an upper bound.
    """
    other = curve.inverse()
    mass = other.mass_at_infinity  # of P where Q has none
    if mass.lower >= 1 or (order >= 1 and mass.lower > 0):
        return Bounds(math.inf, math.inf)
    sup = Bounds(max(other.loss_bounds.lower, 0.0), math.inf if mass.upper > 0 else max(other.sup_loss, 0.0))
    if order == math.inf:
        return sup
    try:
        result = curve.renyi_bounds(order)
    except NoClosedForm:
        result = _of_curve(curve, order)
    low = float(result.lower)  # laws may round the ratio of a mass below all floats to infinity
    low = 0.0 if low == math.inf and order >= 1 else max(low, 0.0)
    return Bounds(low, math.inf if order >= 1 and mass.upper > 0 else min(float(result.upper), sup.upper))


def _of_curve(curve: TradeOff, order: float) -> Bounds:
    """Bound D_a by the factors, the law or the operands."""
    if isinstance(curve, Tensor):  # divergences of products add (van Erven, Harremoes 2014, Theorem 28)
        return total(rational(n) * renyi(factor, order) for factor, n in curve.factors.items())
    # Without a law, ``_of_laws`` makes whole curves of composed operands, which is slow.
    is_slow = isinstance(curve, Derived) and not curve.has_law and any(f.composed for f in curve.operands)
    first, second = (_of_operator, _of_laws) if is_slow else (_of_laws, _of_operator)
    result = first(curve, order)
    is_hull = is_slow and isinstance(curve, HullOfMinimum)  # whose whole curves are hardly narrower
    if result.width <= (1e-2 if is_hull else 1e-9) * result.upper < math.inf:
        return result
    return meet(result, second(curve, order))


def _of_laws(curve: TradeOff, order: float) -> Bounds:
    """Bound D_a by the law, or those of curves below and above."""
    if isinstance(curve, Subsampled) and curve.operands[0].mass_at_plus_infinity >= 1:  # f = 0, by any law
        curve = Subsampled(TotalVariation(1.0), curve.p, flipped=curve.flipped)
    low, high, _ = law_pair(curve, 1)  # of curves below and above
    most = of_law(low, order)
    return most if low is high else Bounds(of_law(high, order).lower, most.upper)


def _of_operator(curve: TradeOff, order: float) -> Bounds:
    """Bound D_a by those of the operands, through T; without a rule by [0, inf].

    As (r^a)'' = a (a - 1) r^(a - 2), T is a times the integral over x > 0 of e^((a - 1) x) delta_{f^-1}(x) +
    e^(-a x) delta_f(x) (Liese, Vajda 2006, Theorem 11).
    """
    if not isinstance(curve, Derived):
        return NOTHING_KNOWN
    each = [renyi(f, order) for f in curve.operands]
    match curve:
        case Maximum():
            return Bounds(0.0, min(d.upper for d in each))  # it is above each of them
        case Mixture(shares=shares):  # its profile is the mean of theirs
            return _from_linear(order, zip(shares, each, strict=True))
        case HullOfMinimum():  # its profile is the largest, at most the sum
            bounds = Bounds(max(d.lower for d in each), _from_linear(order, [(1, d) for d in each]).upper)
            return meet(bounds, _of_hull(curve, order, each)) if bounds.upper < math.inf else bounds
        case Subsampled(flipped=flipped, operands=(base,), p=p):  # T is convex in P, and in Q: p T at most
            unsampled = renyi(base.inverse(), order) if flipped else each[0]
            return Bounds(0.0, _from_linear(order, [(p, unsampled)]).upper)
    return NOTHING_KNOWN


def _from_linear(
    order: float, terms: Iterable[tuple[Any, Bounds]], more: Iterable[float] = (0.0, 0.0)
) -> Bounds:
    """Bound the divergence whose T is sum w_i T_i + ``more``, of terms (w_i, D_i)."""
    k = to_ball(order) - 1
    sides = [*map(to_ball, more)]  # lower, upper
    for weight, d in terms:
        for side, value in enumerate(map(to_ball, d)):
            sides[side] += to_ball(weight) * (balls.expm1(k * value) / k if k != 0 else value)
    low, high = (balls.log1p(k * side) / k if k != 0 else side for side in sides)
    lower, upper = lower_float(low), upper_float(high)
    return Bounds(lower if lower > 0 else 0.0, min(math.inf, upper))  # NaN bounds nothing


def _of_hull(curve: HullOfMinimum, order: float, each: list[Bounds]) -> Bounds:
    """Bound D_a: its T up to ``end``, where little is left, by the integral, then by the operands' sum."""
    back = curve.inverse()
    end, logs = 2.0**-24, [-math.inf]  # logarithms of the integrand of f^-1
    while end < 100.0 and (len(logs) < 3 or logs[-1] > max(logs) - 25):  # a share of 1e-11 is left
        end *= 2
        logs.append((order - 1) * end + math.log(back.bounds.delta(end).upper or 1e-300))
    grid = end * np.linspace(0.0, 1.0, 321) ** 2
    profiles = {f: Nodes.of(f, grid) for g in curve.operands for f in (g, g.inverse())}
    for hull, parts in ((curve, curve.operands), (back, [f.inverse() for f in curve.operands])):
        sides = zip(*((profiles[f].lower, profiles[f].upper) for f in parts), strict=True)
        profiles[hull] = Nodes(hull, grid, *map(np.maximum.reduce, sides))

    def integrate_to_end(f: TradeOff) -> Bounds:
        a = Bounds.of(order)
        return a * (_integrate(profiles[f.inverse()], a - 1) + _integrate(profiles[f], -a))

    of_hull, of_operands = integrate_to_end(curve), [integrate_to_end(f).lower for f in curve.operands]
    most = _from_linear(order, [(1, d) for d in each], Bounds.of(of_hull.upper) - total(of_operands))
    return Bounds(_from_linear(order, [], of_hull).lower, most.upper)


def _integrate(nodes: Nodes, c: Bounds) -> Bounds:
    """Bound the integral of e^(c x) delta(x) dx over cells: chords are above, one line in e^x each below."""
    t, low = polygon_below(nodes)
    start, width = Bounds.of(nodes.epsilon[:-1]), Bounds.of(nodes.epsilon[1:]) - nodes.epsilon[:-1]
    slope = (Bounds.of(low[2]) - low[0]) / Bounds(t.lower[2], t.upper[2])
    # A line of the mean slope through the middle point is below a convex polygon; lower bounds may be none.
    middle = minimum(low[1] - slope * t.lower[1], low[0])
    below = middle, middle + slope * Bounds(t.lower[2], t.upper[2])  # values at the ends of cells

    def area(c: Bounds) -> Bounds:
        """Bound the integral of e^(c u) over 0 < u < width."""
        return width if c.lower == c.upper == 0 else expm1(c * width) / c

    def integrate_lines(left: Any, right: Any) -> Bounds:
        """Bound the integral of e^(c x) (left + (right - left) (e^u - 1)/(e^width - 1)), x = start + u."""
        rise = (area(c + 1) - area(c)) / expm1(width)
        return total(exp(c * start) * (left * area(c) + (right - Bounds.of(left)) * rise))

    return Bounds(integrate_lines(*below).lower, integrate_lines(nodes.upper[:-1], nodes.upper[1:]).upper)
