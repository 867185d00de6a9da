"""Renyi divergences of a curve, from both sides: closed forms, laws, and what operators make of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.tensor import Tensor, law_pair
from tradeoff.errors import NoClosedForm
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Bounds, held
from tradeoff.intervals.functions import log, log1p, meet, total, whole
from tradeoff.intervals.remainder import log_expm1, log_one_plus
from tradeoff.intervals.rounding import around
from tradeoff.loss.renyi import NOTHING_KNOWN, divergence
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled

_NARROW = 1e-9  # relative width with which the first way of asking is content
_BESIDE = 2.0**-36  # distance from order 1 of the order that bounds its divergence from above

# Whole orders whose binomial sum is added up: of a base with a closed form, and of another.
_MOST_TERMS, _MOST_ASKED = 2048, 64


def renyi(curve: TradeOff, order: float) -> Bounds[float]:
    """Bound D_a(P || Q) of a curve T(P, Q), in nats, a in (0, inf]; at inf it is sup L of the inverse.

    Infinite where P has mass that Q has not, and a >= 1; above, where no bound is known.
    """
    most = _largest(curve)
    return most if order == math.inf else _within(_of_curve(curve, order), most.upper)


def _within(found: Bounds, most: float) -> Bounds[float]:
    return Bounds(max(float(found.lower), 0.0), min(float(found.upper), most))


def _largest(curve: TradeOff) -> Bounds[float]:
    """Bound sup log dP/dQ."""
    other = curve.inverse()
    mass = other.mass_at_infinity
    least = math.inf if mass.lower > 0 else max(other.least_sup_loss, 0.0)
    return Bounds(least, math.inf if mass.upper > 0 else max(other.sup_loss, 0.0))


def _of_curve(curve: TradeOff, order: float) -> Bounds:
    """Bound D_a by laws or operands.

    They take a mass below all floats for none, or its ratio for infinite: the curve's own mass decides.
    """
    found = _known(curve, order)
    if order < 1:
        return found
    mass = curve.inverse().mass_at_infinity
    if mass.lower > 0:
        return Bounds(math.inf, math.inf)
    low = 0.0 if found.lower == math.inf else found.lower
    return Bounds(low, math.inf if mass.upper > 0 else found.upper)


def _known(curve: TradeOff, order: float) -> Bounds:
    try:
        return curve.renyi_bounds(order)
    except NoClosedForm:
        pass
    if isinstance(curve, Tensor):  # divergences of products add (van Erven, Harremoes 2014, Theorem 28)
        return total(whole(n) * renyi(factor, order) for factor, n in curve.factors.items())
    ways = [_of_laws, _of_operator]
    if isinstance(curve, Derived) and any(operand.composed for operand in curve.operands):
        ways.reverse()  # whole curves of composed operands are dear
    found = ways[0](curve, order)
    return found if found.width <= _NARROW * found.upper < math.inf else meet(found, ways[1](curve, order))


def _of_laws(curve: TradeOff, order: float) -> Bounds:
    """Ask the law, or those of curves below and above: a divergence falls as the curve rises."""
    if isinstance(curve, Subsampled) and curve.operands[0].q_plus >= 1:  # whatever its law was
        curve = Subsampled(TotalVariation(1.0), curve.p, flipped=curve.flipped)
    low, high, _ = law_pair(curve, 1)
    most = divergence(low, order)
    return most if low is high else Bounds(divergence(high, order).lower, most.upper)


def _of_operator(curve: TradeOff, order: float) -> Bounds:
    """Bound it by those of the operands, a > 1, through the divergence e^((a-1) D_a) - 1, of r^a - 1."""
    if order == 1:
        return Bounds(0.0, _of_operator(curve, 1 + _BESIDE).upper)
    k = Bounds.of(order) - 1
    match curve:
        case Maximum(operands=operands):
            return Bounds(0.0, min(renyi(f, order).upper for f in operands))
        case Mixture() if order > 1:  # its profile, and so every such divergence, is the mean
            shares = [log(held(*around(w, 2))) for w in curve.weights]
            return _joined([w + t for w, t in zip(shares, _logs(curve.operands, order), strict=True)]) / k
        case HullOfMinimum(operands=operands) if order > 1:  # its profile is the largest, at most the sum
            most = _joined(_logs(operands, order)) / k
            return Bounds(max(renyi(f, order).lower for f in operands), most.upper)
        # r^a is convex in P, and in Q
        case Subsampled(flipped=flipped, operands=(base,), rate=p) if order > 1:
            whole_moment = _logs([base.inverse() if flipped else base], order)[0]
            mixed = Bounds(0.0, (_joined([log(p) + whole_moment]) / k).upper)
            return meet(mixed, _of_sampled(curve, order)) if flipped else mixed
    return NOTHING_KNOWN


def _logs(curves: Sequence[TradeOff], order: float) -> list[Bounds]:
    return [log_expm1((Bounds.of(order) - 1) * renyi(f, order)) for f in curves]


def _joined(logs: Sequence[Bounds]) -> Bounds:
    """Bound log(1 + sum e^t)."""
    return log_one_plus(_stacked(logs))


def _stacked(each: Sequence[Bounds]) -> Bounds:
    return Bounds(np.array([t.lower for t in each]), np.array([t.upper for t in each]))


def _of_sampled(curve: Subsampled, order: float) -> Bounds:
    """Bound it for T((1-p) P + p Q, P): (a - 1) D_a is convex in a, and a sum at whole a."""
    below = math.floor(order)
    share = Bounds.of(order) - below
    low, high = (_moment(curve, n) if n > 1 else Bounds(0.0, 0.0) for n in (below, below + 1))
    if share.upper == 0:
        return low / (Bounds.of(order) - 1)
    most = ((1 - share) * low + share * high) / (Bounds.of(order) - 1)
    return Bounds((low / max(below - 1, 1)).lower, most.upper)


def _moment(curve: Subsampled, n: int) -> Bounds:
    """Bound (n - 1) D_n = log E_P (1 - p + p r)^n, r = dQ/dP: a binomial sum of the moments of the base.

    As the weights add to 1, and E_P r^j = 1 for j < 2, what is left of a sum with 1 taken off is positive
    (Mironov, Talwar, Zhang 2019, Section 3.3, for the Gaussian).
    """
    base, p = curve.operands[0].inverse(), curve.rate
    if n > (_MOST_ASKED if base.composed else _MOST_TERMS):
        return NOTHING_KNOWN
    orders = range(2, n + 1)
    moments = _stacked([(j - 1) * _of_curve(base, float(j)) for j in orders])
    at = np.array(orders, dtype=float)
    weights = _log_choices(n) + at * log(p) + (n - at) * log1p(-p)
    return log_one_plus(weights + log_expm1(moments))


def _log_choices(n: int) -> Bounds:
    """Bound log C(n, j) for j = 2 ... n, by the first 53 digits of the integers."""
    choices = accumulate(range(1, n), lambda c, j: c * (n - j) // (j + 1), initial=n)
    shifts, heads = zip(*((s := max(c.bit_length() - 53, 0), c >> s) for c in choices), strict=True)
    head, shift = np.array(heads[1:], dtype=float), np.array(shifts[1:], dtype=float)
    found: Bounds = log(Bounds(head, head + (shift > 0))) + shift * log(2.0)
    return found
