"""What theory says of f >= g before any number is asked: a table of short rules, each of which may decline.

Source: Dong, Roth, Su, Gaussian Differential Privacy (2022): f >= g says that g's pair can be made into f's
(Theorem 2.10), and holds iff delta_f <= delta_g at every real epsilon (Proposition 2.12); operators preserve
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import is_symbol
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import Factors, Tensor, tensor
from tradeoff.families.discrete import DiscreteLaplaceCurve
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.location_shift import LogConcaveShift
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.operators.group import Group
from tradeoff.operators.inverse import Inverse
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.order_exact import Verdict, both_orders, every, loses, lost, polygons, pure, top
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.symmetrise import ProfileSymmetrised

Rule = Callable[[TradeOff, TradeOff], Verdict]

_MOST_PARTS = 24  # factors or shares matched with each other: every pair is asked, nested ones ask theirs


def known(f: TradeOff, g: TradeOff) -> Verdict:
    """Whether f >= g, where structure decides it."""
    return next((verdict for rule in RULES if (verdict := rule(f, g)) is not None), None)


def _proved(*verdicts: Verdict) -> Verdict:
    """Return True if all hold, else nothing: for rules that are sufficient, not necessary."""
    return True if all(verdicts) else None


def extremes(f: TradeOff, g: TradeOff) -> Verdict:
    """Reflexivity and the ends of the order: f >= f, Id >= g and f >= 0."""
    return True if f == g or isinstance(f, Identity) or g == TotalVariation(1) else None


def lossless(f: TradeOff, g: TradeOff) -> Verdict:
    """No loss above 0 in either order is the identity, Q <= P <= Q; all mass at infinity is 0."""
    if f.free_symbols or g.free_symbols:
        return None
    identity = all(lost(one)[1] == 0 and top(one)[1] <= 0 for one in both_orders(f))
    return _proved(identity or lost(g)[0] == 1)


def family(f: TradeOff, g: TradeOff) -> Verdict:
    """In a family of one parameter privacy falls as the parameter grows."""
    if type(f) is not type(g):
        return None
    if f.free_symbols or g.free_symbols:
        return _formulas(f, g)
    if isinstance(f, Gaussian) and isinstance(g, Gaussian):
        return g.mu == math.inf or (f.mu < math.inf and f.weight <= g.weight)
    if isinstance(f, PureDP | Laplace | TotalVariation):
        (least, most), (low, high) = map(lost, (f, g)) if isinstance(f, TotalVariation) else map(top, (f, g))
        return True if most <= low else False if least > high else None
    return None


def _formulas(f: TradeOff, g: TradeOff) -> Verdict:
    """Compare parameters as formulas, where SymPy knows which is larger."""
    name = getattr(type(f), "parameter", "")
    try:
        return bool(getattr(f, name) <= getattr(g, name)) if name else None
    except TypeError:  # it depends on the symbols
        return None


def shifted(f: TradeOff, g: TradeOff) -> Verdict:
    """Shifts of one log-concave law, continuous or discrete: privacy falls as the shift grows."""
    if isinstance(f, LogConcaveShift) and isinstance(g, LogConcaveShift):
        same = (f.name, f.arguments, f.shift > 0) == (g.name, g.arguments, g.shift > 0)
        return abs(f.shift) <= abs(g.shift) if same else None
    if isinstance(f, DiscreteLaplaceCurve) and isinstance(g, DiscreteLaplaceCurve) and f.scale == g.scale:
        return f.shift <= g.shift
    return None


def worst(f: TradeOff, g: TradeOff) -> Verdict:
    """Equivalences: f >= max{g_j} iff f is above all, and hull min{f_i} >= g iff all are above g."""
    if isinstance(g, Maximum):
        return every(known(f, part) for part in g.operands)
    return every(known(part, g) for part in f.operands) if isinstance(f, HullOfMinimum) else None


def best(f: TradeOff, g: TradeOff) -> Verdict:
    """Sufficient: max{f_i} >= g if one of them is, and f >= hull min{g_j} if f is above one."""
    if isinstance(f, Maximum) and any(known(part, g) for part in f.operands):
        return True
    return True if isinstance(g, HullOfMinimum) and any(known(f, part) for part in g.operands) else None


def mixed(f: TradeOff, g: TradeOff) -> Verdict:
    """Mixtures average profiles: each share of f is above one of g, or all parts compare with one curve."""
    if isinstance(f, Mixture) and isinstance(g, Mixture) and _placed(_shares(f), _shares(g)):
        return True
    if isinstance(f, Mixture) and _proved(*(known(part, g) for part in f.operands)):
        return True
    return _proved(*(known(f, part) for part in g.operands)) if isinstance(g, Mixture) else None


def _shares(f: Mixture) -> dict[TradeOff, Fraction]:
    """Return the exact weights, which add to 1."""
    return dict(zip(f.operands, f.shares, strict=True))


def thinned(f: TradeOff, g: TradeOff) -> Verdict:
    """Thinning: p f + (1-p) Id is above f, falls as p grows; f_p >= g_p iff f >= g; so in the other order."""
    if not isinstance(f, Subsampled):
        return None
    base = f.operands[0]
    if isinstance(g, Subsampled) and f.flipped == g.flipped:
        other = g.operands[0]
        if f.p == g.p:
            return known(base, other)
        if is_symbol(f.p) or is_symbol(g.p):
            return None
        if f.p < g.p and known(base, other):
            return True
        if f.p > g.p and base == other and loses(base):
            return False
    return _proved(known(base.inverse() if f.flipped else base, g))


def grouped(f: TradeOff, g: TradeOff) -> Verdict:
    """1 - (1 - f)^(o k) falls as k grows and rises with f; k = 1 is f, and Lap_{k eps} is that of Lap_eps."""
    if not isinstance(g, Group) or is_symbol(g.k):
        return None
    base = g.operands[0]
    if isinstance(f, Laplace) and isinstance(base, PureDP):  # Lap_eps >= f_{eps,0}
        numbers = not (f.free_symbols or base.free_symbols)
        return _proved(f.theta <= g.k * Fraction(base.epsilon_0)) if numbers else None
    one, k = (f.operands[0], f.k) if isinstance(f, Group) else (f, 1)
    return None if is_symbol(k) else _proved(k <= g.k, known(one, base))


def turned(f: TradeOff, g: TradeOff) -> Verdict:
    """Inversion keeps the order: f >= g iff f^-1 >= g^-1."""
    if not (isinstance(f, Inverse) or isinstance(g, Inverse)):
        return None
    simpler = all(isinstance(curve, Inverse) or curve.symmetric for curve in (f, g))
    return known(f.inverse(), g.inverse()) if simpler else None


def profiled(f: TradeOff, g: TradeOff) -> Verdict:
    """Symm rises with f, and lies between hull min{f, f^-1} and max{f, f^-1}."""
    one, two = (curve.operands[0] if isinstance(curve, ProfileSymmetrised) else None for curve in (f, g))
    if one is not None and two is not None and known(one, two):
        return True
    if one is not None and known(one, g) and known(one.inverse(), g):
        return True
    return _proved(known(f, two), known(f, two.inverse())) if two is not None else None


def product(f: TradeOff, g: TradeOff) -> Verdict:
    """Cancel: f (x) h >= g (x) h if f >= g; not if g >= f strictly, as the Hellinger affinity multiplies."""
    mine, theirs = f.factors, g.factors
    common = {factor: min(n, theirs[factor]) for factor, n in mine.items() if factor in theirs}
    if not common:
        return None
    rest_f, rest_g = _without(common, mine), _without(common, theirs)
    above = known(rest_f, rest_g)
    if above is not False:
        return above
    return False if known(rest_g, rest_f) and all(_keeps(h) for h in common) else None


def _without(common: Factors, side: Mapping[TradeOff, int]) -> TradeOff:
    return tensor((factor, n - common.get(factor, 0)) for factor, n in side.items())


def _keeps(h: TradeOff) -> bool:
    """Whether h is certainly not 0, the curve beside which all others are the same."""
    return isinstance(h, PureDP | Laplace) or (not h.free_symbols and h.bounds.delta(0.0).upper < 1)


def factorwise(f: TradeOff, g: TradeOff) -> Verdict:
    """Each factor of f is above a factor of g of its own; what g has besides only takes privacy away."""
    return True if isinstance(g, Tensor) and _placed(f.factors, g.factors) else None


def _placed(mine: Mapping[TradeOff, Any], theirs: Mapping[TradeOff, Any]) -> bool:
    """Whether all of ``mine`` finds room in ``theirs`` below it; greedily, who has the least choice first."""
    if len(mine) > _MOST_PARTS or len(theirs) > _MOST_PARTS:
        return False
    room, below = dict(theirs), {a: [b for b in theirs if known(a, b)] for a in mine}
    for a in sorted(mine, key=lambda a: len(below[a])):
        left = mine[a]
        for b in sorted(below[a], key=lambda b: sum(b in others for others in below.values())):
            taken = min(left, room[b])
            room[b], left = room[b] - taken, left - taken
        if left:
            return False
    return True


def packed(f: TradeOff, g: TradeOff) -> Verdict:
    """f_{a,0}^n >= f_{b,0}^m if the n copies fit into m groups of total loss at most b each."""
    (one, n), *more = f.factors.items()
    (two, m), *others = g.factors.items()
    alone = not (more or others or f.free_symbols or g.free_symbols)
    if not (alone and isinstance(one, PureDP) and isinstance(two, PureDP)):
        return None
    return _proved(-(-n // m) * Fraction(one.epsilon_0) <= Fraction(two.epsilon_0))


def finite(f: TradeOff, g: TradeOff) -> Verdict:
    """Two piecewise-linear curves are compared at the vertices of the upper one."""
    return polygons(f, g) if isinstance(f, PiecewiseLinear) and isinstance(g, PiecewiseLinear) else None


_EQUIVALENT: tuple[Rule, ...] = (extremes, family, shifted, pure, finite, worst)
_SUFFICIENT: tuple[Rule, ...] = (best, mixed, thinned, grouped, turned, profiled, product, factorwise, packed)
RULES = (*_EQUIVALENT, *_SUFFICIENT, lossless)  # the first that does not decline decides
