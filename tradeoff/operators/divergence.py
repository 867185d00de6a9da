"""Divergences of a curve, from both sides; they respect the Blackwell order.

Renyi's come from closed forms, laws, and rules for operators; others from polygons below and above.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tradeoff import balls
from tradeoff.balls import lower_float, to_ball, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import Tensor, law_pair
from tradeoff.errors import DomainError, NoClosedForm, called, shown
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import (
    clip,
    exp,
    expm1,
    maximum,
    meet,
    total,
    whole,
)
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled
from tradeoff.pld.moments import NOTHING_KNOWN
from tradeoff.pld.moments import divergence as of_law

_ERROR = 2.0**-49  # error of a callable, relative to 1 + |F|: a few operations on floats
_LARGE = 1e50  # where the last slope of a callable is taken, and at its square
_FARTHEST = 100.0  # losses up to which t log t is itself, so that its slope beyond is seen at 1e50
_NARROW = 1e-9  # relative width at which no second method is tried
_STEP = 2.0**-36  # distance from order 1 of the order that bounds its divergence from above

# Largest orders with a binomial sum: of a base with a closed form, and of another.
_MAX_ORDER, _MAX_COMPOSED_ORDER = 2048, 64

Function = Callable[[float], float]


def divergence(curve: TradeOff, function: str | Function) -> Bounds[float]:
    """Bound D_F(P || Q) = int F(dP/dQ) dQ of a curve T(P, Q), F convex; mass of P alone weighs F'(inf).

    A callable is finite above 0, its values are good to 16 units of 2^-53 of 1 + |F(t)|, and a slope that is
    constant between 1e50 and 1e100 is taken for its last. Named ones are as narrow as Renyi divergences
    and delta(0); of a callable the sums over the atoms of ``curve.lower`` and ``curve.upper``, some 1e-3
    apart where the curve is not one of finitely many ratios, and infinite where P has mass beyond the last of
    them and F is not linear.

    By Jensen's inequality D_F falls when outcomes are merged, so that it follows the Blackwell order (Liese,
    Vajda 2006, Theorem 14). chi2 = e^D_2 - 1 and the squared Hellinger distance is 1 - e^(-D_(1/2)/2).

    Raises
    ------
    DomainError
        If the name is unknown, or the function is not convex.
    """
    if isinstance(function, str) and function in _NAMED:
        return _NAMED[function](curve)
    if not callable(function):
        names = ", ".join(map(repr, _NAMED))
        raise DomainError(f"function must be one of {names}, or callable, got {shown(function)}")
    convex = _checked(function)
    return Bounds(_sum(curve.upper, convex).lower, _sum(curve.lower, convex).upper)


_NAMED: dict[str, Callable[[TradeOff], Bounds[float]]] = {
    "kl": lambda f: renyi(f, 1.0),
    "chi2": lambda f: expm1(renyi(f, 2.0)),
    "hellinger": lambda f: clip(-expm1(-renyi(f, 0.5) / 2), 0.0, 1.0),
    "total-variation": lambda f: f.bounds.delta(0.0),
}


def _sum(polygon: PiecewiseLinear, function: Function) -> Bounds:
    """Bound sum q F(p/q) over the atoms of a polygon, and the terms of masses at infinity.

    A ratio lies between two floats l <= u, where a convex function is below the larger of its values, and
    F(r) >= F(u) - g (u - r), g its slope beyond u.
    """
    law = polygon.loss_distribution()
    loss, log_p, slack = law.atoms
    at = loss + Bounds(-law.loss_error, law.loss_error)
    mass = exp(at + log_p) * (1 + Bounds(-slack, slack))
    low, high = exp(-at)
    first, last, farther = (
        Bounds(*np.array([[*_value(function, t)] for t in x.tolist()]).reshape(-1, 2).T)
        for x in (low, high, 2 * high)
    )
    least = last - maximum((farther - last) / high, 0.0) * (high - Bounds.of(low))
    inner = total(mass * Bounds(np.minimum(least.lower, last.lower), np.maximum(first.upper, last.upper)))
    terms, q, p = [inner], polygon.mass_at_infinity, polygon.inverse().mass_at_infinity
    terms += [q * _value(function, 0.0)] if q.upper > 0 else []
    if p.upper > 0:  # lim F(t)/t: from below the slope at 1e50, and above where it is constant from there on
        near, far = ((_value(function, 2 * t) - _value(function, t)) / t for t in (_LARGE, _LARGE * _LARGE))
        terms += [p * Bounds(near.lower, far.upper if far.lower <= near.upper else math.inf)]
    return total(terms)


def _value(function: Function, ratio: float) -> Bounds:
    """Bound F at a float, which is infinite at 0 at most."""
    try:
        result = called("function", lambda t: float(function(t)), ratio)
    except DomainError as error:
        if isinstance(error.__cause__, OverflowError):
            return Bounds(float(np.finfo(float).max), math.inf)
        if ratio == 0 and isinstance(error.__cause__, ArithmeticError | ValueError):  # such as 1/t and -log t
            return Bounds(math.inf, math.inf)
        raise
    if math.isnan(result) or (math.isinf(result) and (ratio > 0 or result < 0)):
        raise DomainError(f"function({ratio!r}) = {result!r}; a convex function of a ratio is finite above 0")
    off = _ERROR * (1 + abs(result)) if math.isfinite(result) else 0.0
    return Bounds.of(result) + Bounds(-off, off)


def _checked(function: Function) -> Function:
    """Return a function that lies below its chords at sample points; else raise ``DomainError``."""
    places = [0.0, *np.geomspace(2.0**-20, 2.0**20, 41).tolist()]
    for low, high in zip(places, places[2:], strict=False):
        middle = (low + high) / 2
        chord = (_value(function, low) + _value(function, high)) / 2
        if _value(function, middle).lower > chord.upper:
            raise DomainError(f"function is not convex: at {middle:.6g} it lies above its chord")
    return function


def renyi(curve: TradeOff, order: float) -> Bounds[float]:
    """Bound D_a(P || Q) of a curve T(P, Q), in nats, a in (0, inf]; at inf it is sup L of the inverse.

    Infinite where P has mass that Q has not, and a >= 1; above, where no bound is known.
    """
    most = _largest(curve)
    if order == math.inf:
        return most
    result = _of_curve(curve, order)
    return Bounds(max(float(result.lower), 0.0), min(float(result.upper), most.upper))


def _largest(curve: TradeOff) -> Bounds[float]:
    """Bound sup log dP/dQ."""
    other = curve.inverse()
    mass = other.mass_at_infinity
    least = math.inf if mass.lower > 0 else max(other.sup_loss_lower, 0.0)
    return Bounds(least, math.inf if mass.upper > 0 else max(other.sup_loss, 0.0))


def _of_curve(curve: TradeOff, order: float) -> Bounds:
    """Bound D_a by laws or operands.

    They round a mass below all floats to 0, or its ratio to infinity: the curve's own mass decides.
    """
    result = _known(curve, order)
    if order < 1:
        return result
    mass = curve.inverse().mass_at_infinity
    if mass.lower > 0:
        return Bounds(math.inf, math.inf)
    low = 0.0 if result.lower == math.inf else result.lower
    return Bounds(low, math.inf if mass.upper > 0 else result.upper)


def _known(curve: TradeOff, order: float) -> Bounds:
    try:
        return curve.renyi_bounds(order)
    except NoClosedForm:
        pass
    if isinstance(curve, Tensor):  # divergences of products add (van Erven, Harremoes 2014, Theorem 28)
        return total(whole(n) * renyi(factor, order) for factor, n in curve.factors.items())
    ways = [_of_laws, _of_operator]
    if isinstance(curve, Derived) and any(operand.composed for operand in curve.operands):
        ways.reverse()  # whole curves of composed operands are slow
    result = ways[0](curve, order)
    return (
        result if result.width <= _NARROW * result.upper < math.inf else meet(result, ways[1](curve, order))
    )


def _of_laws(curve: TradeOff, order: float) -> Bounds:
    """Ask the law, or those of curves below and above: a divergence falls as the curve rises."""
    if isinstance(curve, Subsampled) and curve.operands[0].mass_at_plus_infinity >= 1:  # whatever its law was
        curve = Subsampled(TotalVariation(1.0), curve.p, flipped=curve.flipped)
    low, high, _ = law_pair(curve, 1)
    most = of_law(low, order)
    return most if low is high else Bounds(of_law(high, order).lower, most.upper)


def _of_operator(curve: TradeOff, order: float) -> Bounds:
    """Bound it by those of the operands, a > 1, through the divergence e^((a-1) D_a) - 1, of r^a - 1."""
    if order == 1:
        most = _of_operator(curve, 1 + _STEP).upper
        hull = isinstance(curve, HullOfMinimum) and not any(f.composed for f in curve.operands)
        return Bounds(0.0, min(most, _kl_of_hull(curve)) if hull else most)  # type: ignore[arg-type]  # checked
    k = Bounds.of(order) - 1
    match curve:
        case Maximum(operands=operands):
            return Bounds(0.0, min(renyi(f, order).upper for f in operands))
        case Mixture(shares=shares, operands=operands) if order > 1:  # its profile is the mean of theirs
            return (
                _log_moment([(w, order, renyi(f, order)) for w, f in zip(shares, operands, strict=True)]) / k
            )
        case HullOfMinimum(operands=operands) if order > 1:  # its profile is the largest, at most the sum
            divergences = [renyi(f, order) for f in operands]
            most = _log_moment((1, order, d) for d in divergences) / k
            return Bounds(max(d.lower for d in divergences), most.upper)
        case Subsampled(flipped=flipped, operands=(base,), p=p) if order > 1:  # r^a is convex in P, and in Q
            whole_moment = renyi(base.inverse() if flipped else base, order)
            mixed = Bounds(0.0, (_log_moment([(p, order, whole_moment)]) / k).upper)
            return meet(mixed, _of_sampled(curve, order)) if flipped else mixed
    return NOTHING_KNOWN


def _kl_of_hull(curve: HullOfMinimum) -> float:
    """Bound KL of a hull from above, by curves of finitely many ratios next to it and to its operands.

    F(t) = t log t is a convex function, its own tangent beyond some T, plus the integral of (t - s)^+/s over
    s > T. The divergence of the first falls as curves rise. That of the second integrates E_Q (P/Q - s)^+,
    which of a hull is the largest of the operands', at most their sum: each sum is a difference of both.
    """
    lower = curve.lower
    top = math.exp(min(-float(np.min(lower.loss_distribution().atoms.loss, initial=0.0)), _FARTHEST))

    def near(t: float) -> float:
        return t * math.log(t) if 0 < t <= top else max(t * (1 + math.log(top)) - top, 0.0)

    excess = [Bounds.of(renyi(f, 1.0).upper) - _sum(f.upper, near).lower for f in curve.operands]
    return float(total([_sum(lower, near).upper, *(max(x.upper, 0.0) for x in excess)]).upper)


def _log_moment(terms: Iterable[tuple[Any, float, Bounds]]) -> Bounds:
    """Bound log(1 + sum w (e^((a - 1) D) - 1)) over weights w, orders a and their divergences D."""
    sides = to_ball(0), to_ball(0)
    for weight, order, divergences in terms:
        k = to_ball(order) - 1
        sides = tuple(
            total + to_ball(weight) * balls.expm1(k * to_ball(d))
            for total, d in zip(sides, divergences, strict=True)
        )
    low, high = (balls.log1p(side) for side in sides)
    return Bounds(lower_float(low), upper_float(high))


def _of_sampled(curve: Subsampled, order: float) -> Bounds:
    """Bound D_a of T((1-p) P + p Q, P): (a - 1) D_a is convex in a, and at integers a binomial sum.

    (n - 1) D_n = log E_P (1 - p + p r)^n, r = dQ/dP. As the weights add to 1, and E_P r^j = 1 for j < 2, the
    sum minus 1 has positive terms (Mironov, Talwar, Zhang 2019, Section 3.3, for the Gaussian).
    """
    base, p, below = curve.operands[0].inverse(), to_ball(curve.p), math.floor(order)
    if below >= (_MAX_COMPOSED_ORDER if base.composed else _MAX_ORDER):
        return NOTHING_KNOWN
    each = [(j, _of_curve(base, float(j))) for j in range(2, below + 2)]
    low, high = (
        _log_moment((math.comb(n, j) * p**j * (1 - p) ** (n - j), j, d) for j, d in each[: n - 1])
        for n in (below, below + 1)
    )
    k, share = Bounds.of(order) - 1, Bounds.of(order) - below
    if share.upper == 0:
        return low / k
    return Bounds((low / max(below - 1, 1)).lower, (((1 - share) * low + share * high) / k).upper)
