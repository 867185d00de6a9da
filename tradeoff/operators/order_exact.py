"""The order by the ends of profiles, and against curves of finitely many lines: few questions decide it.

A polygon is the largest of its lines, so f >= polygon iff delta_f(log s) <= delta_polygon(log s) at the
slopes -s of its segments: for f_{eps,delta} the definition of (eps, delta)-DP in both orders. A convex g lies
below a segment iff it does at the ends, so polygon >= g iff that holds at the polygon's vertices.

Ends, sup L and Q(L = inf), are rationals from both sides, exact where parameters give them. Their sums
are sums of the floats as given: 0.1 + 0.1 + 0.1 is here a little more than 0.3, as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import Tensor
from tradeoff.errors import Undecided
from tradeoff.families.identity import Identity
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.functions import exp, log_quotient, rational
from tradeoff.intervals.rounding import UNIT
from tradeoff.operators.group import Group
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled

Verdict = bool | None
Point = tuple[Fraction, Fraction]
Real = Fraction | float  # an exact rational, or an infinity
Span = tuple[Real, Real]  # numbers at or below and at or above the truth

_MOST = 5000  # vertices compared one by one, at microseconds each; beyond, the bounds of the whole curves do
_NOISE = 16 * Fraction(UNIT)  # relative error of vertices given in floats: no smaller violation refutes
_FEW = 16  # masses at infinity multiplied exactly: fractions grow by 53 bits a factor; so many are instant


# Where a profile ends.


def top(f: TradeOff) -> Span:
    """Bound sup L over the finite losses of one order, in nats: sums of parameters are fractions."""
    if isinstance(f, Tensor):
        return _sum([(top(factor), n) for factor, n in f.factors.items()])
    if isinstance(f, Group) and f.mass_at_infinity.upper == 0:
        return _sum([(top(f.operands[0]), f.k)])
    if isinstance(f, Mixture) or (isinstance(f, HullOfMinimum) and f.mass_at_infinity.upper == 0):
        low, high = zip(*map(top, f.operands), strict=True)
        return max(low), max(high)
    return _real(f.sup_loss_lower), _real(f.sup_loss)


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
    if isinstance(f, TotalVariation):
        return Fraction(f.delta_0) if f.product_weight is None else None
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


# The two kinds of polygons.


def approximate(f: TradeOff) -> tuple[float, Fraction] | None:
    """Return (eps, delta), exactly as given, if the curve is written as f_{eps,delta}."""
    factors = f.factors
    epsilons = [factor.epsilon_0 for factor in factors if isinstance(factor, PureDP)] or [0.0]
    masses = [lost(factor) for factor in factors if isinstance(factor, TotalVariation)] or [(0, 0)]
    kinds = PureDP | TotalVariation | Identity
    if any(n > 1 or not isinstance(factor, kinds) for factor, n in factors.items()):
        return None
    if f.free_symbols or len(epsilons) > 1 or len(masses) > 1 or masses[0][0] < masses[0][1]:
        return None
    return epsilons[0], Fraction(masses[0][0])


def polygons(f: PiecewiseLinear, g: PiecewiseLinear) -> Verdict:
    """Compare two piecewise-linear curves exactly; of numbers given in floats no rounding refutes."""
    if f == g:
        return True
    if _many(f, g):
        return None
    lower, crossed = g.rational(), _crossed(f, g)
    noise = _noise(f, g) if f.is_rational and g.is_rational else _NOISE
    farther = [(a + noise * a, b + noise * b) for a, b in crossed]
    return True if not crossed else False if any(lower.at(a) > b for a, b in farther) else None


def _noise(*curves: TradeOff) -> Fraction:
    """Return the relative error of vertices that were made of numbers in floats."""
    rounded = (isinstance(f, PiecewiseLinear) and f.is_rounded for f in curves)
    return _NOISE if any(rounded) else Fraction(0)


def _many(*curves: PiecewiseLinear) -> bool:
    return sum(len(f.alpha) for f in curves) > _MOST


def _crossed(f: PiecewiseLinear, g: PiecewiseLinear) -> list[Point]:
    """Return the vertices of f below g."""
    lower = g.rational()
    return [(a, b) for a, b in f.vertices if lower.at(a) > b]


# f >= f_{eps,delta} without a number asked.


def pure(f: TradeOff, g: TradeOff) -> Verdict:
    """(eps, delta)-DP if in both orders sup L <= eps and Q(L = inf) <= delta; for delta = 0 also only if."""
    goal = approximate(g)
    if goal is None or f.free_symbols:
        return None
    epsilon, delta = Fraction(goal[0]), goal[1]
    if isinstance(f, PiecewiseLinear) and any(e <= epsilon and d <= delta for e, d in f.pairs):
        return True
    most, noise = epsilon + _noise(f) * (1 + epsilon), _noise(f) * delta
    return every(
        _ended(lost(one), top(one), (epsilon, most), (delta, delta + noise)) for one in both_orders(f)
    )


def every(verdicts: Iterable[Verdict]) -> Verdict:
    """Whether all hold: False if one is refuted, else None if one is open."""
    result = list(verdicts)
    return False if False in result else True if all(result) else None


def _ended(mass: Span, losses: Span, epsilon: Span, delta: Span) -> Verdict:
    """Whether delta_f(epsilon) <= delta, by Q(L = inf) and sup L of f."""
    if mass[1] <= delta[0] and losses[1] <= epsilon[0]:
        return True
    return False if mass[0] > delta[1] or (mass[0] == delta[1] and losses[0] > epsilon[1]) else None


def both_orders(f: TradeOff) -> tuple[TradeOff, ...]:
    """Return the curve, and its inverse if that is another one."""
    return (f,) if f.symmetric else (f, f.inverse())


# Finitely many questions.


def by_corners(f: TradeOff, g: TradeOff) -> Verdict:
    """Decide f >= g if one is a polygon; None if neither is, or the bounds at some vertex do not tell.

    ``Undecided`` if g is a polygon and delta_f at one of its slopes lies within the bounds.
    """
    if isinstance(f, PiecewiseLinear) and isinstance(g, PiecewiseLinear) and not _many(f, g):
        a, b = _crossed(f, g)[0]
        message = f"the vertices are closer than their rounding at alpha = {float(a):.6g}; give fractions"
        # The epsilon of the chord from (0, 1).
        raise Undecided(message, math.log(1 - b) - math.log(a) if a else math.inf)
    lines = lines_of(g)
    if lines is not None:
        # A symmetric curve answers for its inverse.
        folded = list(dict.fromkeys(replace(line, flipped=False) for line in lines)) if f.symmetric else lines
        return _above_lines(f, g, folded)
    points = corners_of(f)
    verdict = None if points is None else _above_corners(points, g)
    # A polygon may be the one that was made of g's bounds.
    return True if verdict is None and isinstance(f, PiecewiseLinear) and polygons(f, g.upper) else verdict


@dataclass(frozen=True)
class Line:
    """Supporting line of a polygon: the question delta_f(eps) <= delta, eps >= 0, to f or to its inverse."""

    least: float
    most: float
    delta: Fraction
    flipped: bool = False


def lines_of(g: TradeOff) -> list[Line] | None:
    """Return the supporting lines of a polygon."""
    goal = approximate(g)
    if goal is not None:
        return [Line(goal[0], goal[0], goal[1], flipped=flipped) for flipped in (False, True)]
    if isinstance(g, PiecewiseLinear) and len(g.alpha) <= _MOST:
        return [_line(*ends) for ends in pairwise(g.vertices)]
    return None


def _line(start: Point, end: Point) -> Line:
    """Return the line through two vertices, s alpha + beta = 1 - delta; for s < 1 as one of the inverse."""
    (a, b), (c, d) = start, end
    flipped = b - d < c - a
    run, rise, x, y = (b - d, c - a, b, a) if flipped else (c - a, b - d, a, b)
    slope = rise / run
    low, high = log_quotient(slope, Fraction(1))
    return Line(max(low, 0.0), high, 1 - y - slope * x, flipped=flipped)


def _above_lines(f: TradeOff, g: TradeOff, lines: Sequence[Line]) -> bool:
    """Decide whether f lies above every line of g: the profiles of both orders at finitely many epsilon."""
    result: dict[Line, Verdict] = {}
    for one, flipped in ((f, False), (f.inverse(), True)):
        mine = [line for line in lines if line.flipped == flipped]
        result.update(zip(mine, _below(one, mine, _noise(f, g)), strict=True))
        if False in result.values():
            return False
    doubtful = [line for line, verdict in result.items() if verdict is None]
    if not doubtful or (isinstance(g, PiecewiseLinear) and polygons(f.lower, g)):
        return True
    at = -doubtful[0].least if doubtful[0].flipped else doubtful[0].least
    message = f"the curves are closer than their bounds at epsilon = {at:.6g}; ask dominates(g, failure=...)"
    raise Undecided(message, at)


def _below(f: TradeOff, lines: Sequence[Line], noise: Fraction) -> list[Verdict]:
    """Whether delta_f <= delta at each line, by the ends of the profile, else by its bounds; delta falls.

    Masses that are off by ``noise``, relative, move delta by at most so much in all, and a loss as well.
    """
    ends = lost(f), top(f)
    verdicts = [
        _ended(
            *ends,
            (Fraction(line.least), Fraction(line.most) + noise * (1 + Fraction(line.most))),
            (line.delta, line.delta + noise * line.delta),
        )
        for line in lines
    ]
    left = [k for k, verdict in enumerate(verdicts) if verdict is None]
    if left and False not in verdicts:
        most = f.bounds.delta([lines[k].least for k in left]).upper
        least = f.bounds.delta([lines[k].most for k in left]).lower
        for k, high, low in zip(left, most.tolist(), least.tolist(), strict=True):
            verdicts[k] = True if high <= lines[k].delta else False if low > lines[k].delta + noise else None
    return verdicts


@dataclass(frozen=True)
class Corner:
    """Vertex (a, b) of a polygon: exact, or between rationals."""

    alpha: tuple[Fraction, Fraction]
    beta: tuple[Fraction, Fraction]


def corners_of(f: TradeOff) -> list[Corner] | None:
    """Return the vertices; of f_{eps,d} (0, 1 - d), (k, k) and (1 - d, 0) with k = (1 - d)/(1 + e^eps)."""
    goal = approximate(f)
    if goal is not None:
        epsilon, kept = goal[0], 1 - goal[1]
        share = exp(-epsilon) / (1 + exp(-epsilon))
        inner = kept * Fraction(share.lower), kept * Fraction(share.upper)
        zero, start = (Fraction(0), Fraction(0)), (kept, kept)
        return [Corner(zero, start), *([Corner(inner, inner)] if epsilon else []), Corner(start, zero)]
    if isinstance(f, PiecewiseLinear) and len(f.alpha) <= _MOST:
        grown = 1 + _noise(f)
        return [Corner((a, a * grown), (b, b * grown)) for a, b in f.vertices]
    return None


def _above_corners(corners: Sequence[Corner], g: TradeOff) -> Verdict:
    """Whether g lies below every vertex: its masses at infinity at the ends, its bounds between."""
    back = g.inverse()
    verdicts = [_less(lost(g), corners[0].beta), _less(lost(back), corners[-1].alpha)]
    if False in verdicts:
        return False
    inner = corners[1:-1]
    # g(a) <= b iff g^-1(b) <= a: the smaller coordinate is asked, as floats know it best.
    flat = [corner.beta[0] < corner.alpha[0] for corner in inner]
    verdicts += _under(g, [corner for corner, is_flat in zip(inner, flat, strict=True) if not is_flat])
    late = [corner for corner, is_flat in zip(inner, flat, strict=True) if is_flat]
    verdicts += _under(back, [Corner(corner.beta, corner.alpha) for corner in late])
    return every(verdicts)


def _less(mass: Span, height: Span) -> Verdict:
    """Whether g starts at ``height`` or lower: 1 - mass <= height."""
    return True if 1 - mass[0] <= height[0] else False if 1 - mass[1] > height[1] else None


def _under(g: TradeOff, corners: Sequence[Corner]) -> list[Verdict]:
    """Whether g(a) <= b at each vertex; g falls."""
    if not corners:
        return []
    most = g.bounds([rational(corner.alpha[0]).lower for corner in corners]).upper.tolist()
    least = g.bounds([rational(corner.alpha[1]).upper for corner in corners]).lower.tolist()
    heights = [corner.beta for corner in corners]
    asked = zip(heights, most, least, strict=True)
    return [True if high <= beta[0] else False if low > beta[1] else None for beta, high, low in asked]
