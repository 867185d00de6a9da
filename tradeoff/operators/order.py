"""The Blackwell order: structure first, then ends and vertices, then bounds; and distances between curves.

f >= g means that the pair of g can be made into that of f (Dong, Roth, Su 2022, Theorem 2.10), and holds iff
delta_f <= delta_g at every real epsilon (Proposition 2.12). A polygon is the largest of its lines, so f >=
polygon iff delta_f(log s) <= delta_polygon(log s) at the slopes -s of its segments: for f_{eps,delta} the
definition of (eps, delta)-DP in both orders. A convex g lies below a segment iff it does at the ends, so
polygon >= g iff that holds at the polygon's vertices.

The ends of a curve are sup L and Q(L = inf), bounded by a ``Span`` (low, high) of rationals, equal where
parameters give them. Sums of parameters are sums of the floats as given: 0.1 + 0.1 + 0.1 is more than 0.3.
A rule returns an ``Answer``: True or False if it decides f >= g, else None. ``mine`` is of f, ``theirs`` of
g; both orders of the pair are f with g, and their inverses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from tradeoff import balls
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import choice, is_symbol, number, symbols_of
from tradeoff.curves.piecewise_linear import PiecewiseLinear, interpolate
from tradeoff.curves.product import Tensor, tensor
from tradeoff.errors import Undecided
from tradeoff.families.approximate_dp import Identity, PureDP, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.families.location_shift import LogConcaveShift
from tradeoff.intervals.bounds import Bounds, decimal
from tradeoff.intervals.functions import exp, rational
from tradeoff.operators.pointwise import HullOfMinimum, Maximum, Mixture
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.symmetrise import Envelope, ProfileSymmetrised
from tradeoff.operators.tabulate import Nodes, both_orders, chords, orders, polygon_below, tabulate, tail_end
from tradeoff.operators.unary import Group

Answer = bool | None
Real = Fraction | float  # a rational, or an infinity
Point = tuple[Fraction, Fraction]  # (alpha, beta)
Span = tuple[Real, Real]  # numbers at or below and at or above the truth

_MAX_VERTICES = 5000  # vertices compared one by one, at microseconds each; of more, whole curves are compared


def at_least(f: TradeOff, g: TradeOff) -> bool:
    """Decide f >= g, which is ``Undecided`` where it fails by no more than the rounding of float vertices."""
    answer = _decide(f, g)
    rounded = [h for h in (f, g) if isinstance(h, PiecewiseLinear) and (h.is_rounded or not h.is_rational)]
    # Rounding of vertices moves masses by far less than 2^-48.
    if not answer and rounded and _decide(f, g @ TotalVariation(2.0**-48)):
        losses = np.append(rounded[0].loss_distribution().atoms.loss, 0.0)
        at = float(losses[np.argmax(f.bounds.delta(losses).upper - g.bounds.delta(losses).lower)])
        raise Undecided(
            f"the vertices are closer than their rounding at epsilon = {at:.6g}; give fractions", at
        )
    return answer


def _decide(f: TradeOff, g: TradeOff) -> bool:
    """Decide f >= g by the first rule that can; raise ``Undecided`` where the bounds on profiles overlap."""
    if (answer := known(f, g)) is not None:
        return answer
    for h in (f, g):
        h.require_numbers()  # only structure compares formulas
    for rule in (_above_lines, _above_vertices):
        if (answer := rule(f, g)) is not None:
            return answer
    if isinstance(f, HullOfMinimum):  # an envelope is above a symmetric curve iff its base is
        parts = f.operands[:1] if isinstance(f, Envelope) and g.symmetric else f.operands
        return _all_above(at_least, [(part, g) for part in parts])
    if isinstance(g, Maximum):
        return _all_above(at_least, [(f, part) for part in g.operands])
    # f >= g needs Q(L = inf) at most that of g, and sup L too if both are equal; the same of the inverses.
    for one, two in orders(f, g):
        mine, theirs = infinite_mass(one), infinite_mass(two)
        if mine[0] > theirs[1] or (mine[0] >= theirs[1] and largest_loss(one)[0] > largest_loss(two)[1]):
            return False
    return _all_above(_compare_profiles, orders(f, g))


def dominates(f: TradeOff, g: TradeOff, *, failure: float) -> bool:
    """Decide f >= g (x) f_{0,failure}: f is as private as g but for an event of probability ``failure``."""
    for h in (f, g):
        h.require_numbers()  # only structure compares formulas
    is_plain = number("failure", failure, 0, 1) == 0 or known(f, g)
    return at_least(f, g if is_plain else g @ TotalVariation(failure))


class Witness(NamedTuple):
    """Type I error at which one curve is below the other, and a lower bound on the difference in beta.

    If beta resolves no difference, ``alpha`` is None, and ``gap`` bounds that in delta at ``epsilon``.
    """

    alpha: float | None
    gap: float
    epsilon: float | None = None


@dataclass(frozen=True)
class Verdict:
    r"""Order of two curves f and g; prints as sentences.

    Attributes
    ----------
    at_least, at_most
        Whether :math:`f \ge g`, and :math:`f \le g`, at every alpha; None if the bounds cannot decide.
    below, above
        Witnesses of :math:`f < g` and of :math:`f > g`; None if no point searched is one.

    Examples
    --------
    >>> import tradeoff as to
    >>> verdict = to.order(to.Laplace(1), to.Gaussian(1))
    >>> verdict.at_least, verdict.at_most
    (False, False)
    >>> verdict
    f is not at least g: at alpha = 0.317 it is lower by at least 0.0100
    f is not at most g: at alpha = 0.0805 it is higher by at least 0.125
    """

    at_least: bool | None
    at_most: bool | None
    below: Witness | None
    above: Witness | None

    def __bool__(self) -> bool:
        return bool(self.at_least)

    def __repr__(self) -> str:
        sentences = []
        for verdict, relation, sides, witness in (
            (self.at_least, "at least", ("lower", "higher"), self.below),
            (self.at_most, "at most", ("higher", "lower"), self.above),
        ):
            text = f"f is {'' if verdict else 'not '}{relation} g"
            if verdict is None:
                text = f"whether f is {relation} g is undecided: the bounds of the curves overlap"
            if witness:
                alpha, gap, epsilon = witness
                at = f"epsilon = {epsilon:.3g} its delta" if alpha is None else f"alpha = {alpha:.3g} it"
                text += f": at {at} is {sides[alpha is None]} by at least {decimal(gap, '.3g', up=False)}"
            sentences.append(text)
        return "\n".join(sentences)


def order(f: TradeOff, g: TradeOff) -> Verdict:
    r"""Compare two curves at every alpha, with a witness where one is below the other.

    Parameters
    ----------
    f, g
        Curves; ``f >= g`` means that f is at least as private as g.

    Returns
    -------
    Verdict
        Both directions, proved as ``f >= g`` is (Dong, Roth, Su 2022, Theorem 2.10); true if :math:`f \ge g`.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.order(to.Gaussian(1), to.Gaussian(2))
    f is at least g
    f is not at most g: at alpha = 0.0805 it is higher by at least 0.381
    """
    f, g = operand(f), operand(g)
    tail = np.geomspace(1e-12, 0.5, 60)
    # Where a witness is searched in beta: nearer to 1 it may take seconds, for differences of less than 1e-3.
    alphas = np.concatenate([[0.0], tail, 1 - tail[tail > 1e-3][-2::-1]])
    first, second = f.bounds(alphas), g.bounds(alphas)

    def compare(f: TradeOff, g: TradeOff, gap: Bounds) -> tuple[Answer, Witness | None]:
        """Decide f >= g; a positive lower bound on ``gap``, g - f at ``alphas``, is a witness against it."""
        k = int(np.argmax(gap.lower))
        if gap.lower[k] > 0:
            return False, Witness(float(alphas[k]), float(gap.lower[k]))
        try:
            answer = at_least(f, g)
        except Undecided:
            return None, None
        return answer, None if answer else _search_deltas(f, g)

    is_above, below = compare(f, g, Bounds.of(second.lower) - first.upper)
    is_below, above = compare(g, f, Bounds.of(first.lower) - second.upper)
    return Verdict(is_above, is_below, below, above)


def _search_deltas(f: TradeOff, g: TradeOff) -> Witness | None:
    """Return a loss at which bounds prove delta_f > delta_g, that of the largest difference; None if none."""
    for sign, (one, two) in zip((1, -1), orders(f, g), strict=False):
        grid = np.geomspace(1e-2, 64.0, 60)  # e^-64 is below all usual deltas
        grid = grid[grid < one.sup_loss]  # at which an engine takes a second for a delta of 0
        gap = Bounds.of(one.bounds.delta(grid).lower) - two.bounds.delta(grid).upper
        gap = gap if sign > 0 else exp(-grid) * gap  # delta at -eps is a line plus e^-eps that of the inverse
        if len(grid) and (least := float(np.max(gap.lower))) > 0:
            return Witness(None, least, sign * float(grid[np.argmax(gap.lower)]))
    return None


def _all_above(decide: Callable[[TradeOff, TradeOff], bool], pairs: Iterable[tuple[TradeOff, ...]]) -> bool:
    """Decide f >= g for all pairs (f, g); one refuted pair suffices, also after an undecided one."""
    doubts = []
    for f, g in pairs:
        try:
            if not decide(f, g):
                return False
        except Undecided as error:
            doubts.append(error)
    if doubts:
        raise doubts[0]
    return True


def _compare_profiles(f: TradeOff, goal: TradeOff) -> bool:
    """Decide delta_f <= delta_goal for eps >= 0, halving cells with a chord of f above a polygon of goal."""
    level = max(goal.mass_at_infinity.lower, 0.0)  # delta_goal is nowhere below it
    tail = tail_end(f, level)
    # Where no eps is known from which on delta_f is small enough, nothing is proved, but much refuted.
    reach = min(tail, 1e6) if tail < np.inf else 60.0  # e^-60 is below all usual deltas
    scales = np.linspace(0.0, 1.0, 17), np.geomspace(1.0, 1e-5, 17)
    grid = np.unique(reach * np.concatenate(scales))
    # At sup L an engine spends a second refining a delta of 0 in vain; the other nodes often refute at once.
    inner = grid[grid < min(f.sup_loss, goal.sup_loss)]
    if len(inner) and (f.bounds.delta(inner).lower > goal.bounds.delta(inner).upper).any():
        return False
    mine, theirs = Nodes.of(f, grid), Nodes.of(goal, grid)
    for _ in range(24):  # to 1e-8 of the range: where curves end together, more cost time and decide nothing
        overlaps = np.flatnonzero((mine.upper > theirs.lower) & (mine.lower <= theirs.upper))
        mine = mine.with_nodes(mine.epsilon[overlaps], 1e-8) if len(overlaps) else mine
        if (mine.lower > theirs.upper).any():
            return False
        t, value = polygon_below(theirs)
        above = chords(mine, mine.upper, t) > value if len(mine.epsilon) > 1 else np.empty((1, 0), dtype=bool)
        open_cells = np.flatnonzero(np.any(above, axis=0))
        # From ``tail`` on delta_f <= level is proved; among other nodes its bounds may be a little wider.
        if len(open_cells) == 0 and (tail <= reach or mine.upper[-1] <= level):
            return True
        overlaps = np.flatnonzero(mine.upper > theirs.lower)
        # Where a proof is impossible few nodes refute; 4000 take a second for closed forms.
        most = 96 if len(overlaps) or tail == np.inf else 4000
        if len(open_cells) == 0 or len(mine.epsilon) > most:
            break
        middles = mine.midpoints(open_cells)
        mine, theirs = mine.with_nodes(middles), theirs.with_nodes(middles)
    first = overlaps[0] if len(overlaps) else open_cells[0] if len(open_cells) else -1
    raise _undecided(float(mine.epsilon[first]))


def largest_loss(f: TradeOff) -> Span:
    """Bound sup L over the finite losses in nats; of products and groups by sums in fractions."""
    if isinstance(f, Tensor):
        spans = [(largest_loss(factor), n) for factor, n in f.factors.items()]
        low, high = (sum((n * span[side] for span, n in spans), Fraction(0)) for side in (0, 1))
        return low, high
    if isinstance(f, Group) and f.mass_at_infinity.upper == 0:
        low, high = largest_loss(f.operands[0])
        return f.k * low, f.k * high
    low, high = (Fraction(side) if math.isfinite(side) else side for side in f.loss_bounds)
    return low, high


def infinite_mass(f: TradeOff) -> Span:
    """Bound Q(L = inf) = 1 - f(0): the delta that no epsilon removes."""
    if isinstance(f, PiecewiseLinear):
        return (1 - f.vertices[0][1],) * 2
    low, high = f.mass_at_infinity
    return Fraction(low), Fraction(high)


def _all_of(answers: Iterable[Answer]) -> Answer:
    """Decide whether all hold: False if one is refuted, else None if one is open."""
    result = list(answers)
    return False if False in result else True if all(result) else None


def _by_ends(f: TradeOff, epsilon: Span, delta: Fraction) -> Answer:
    """Decide delta_f(epsilon) <= delta: delta_f falls to Q(L = inf), which it reaches at sup L."""
    mass, losses = infinite_mass(f), largest_loss(f)
    if mass[1] <= delta and losses[1] <= epsilon[0]:
        return True
    return False if mass[0] > delta or (mass[0] == delta and losses[0] > epsilon[1]) else None


def _dp_pair(f: TradeOff) -> tuple[float, Fraction] | None:
    """Return (eps, delta), exactly as given, if the curve is written as f_{eps,delta}, else None."""
    factors = f.factors
    kinds = PureDP | TotalVariation | Identity
    if f.free_symbols or any(n > 1 or not isinstance(factor, kinds) for factor, n in factors.items()):
        return None
    epsilons = [factor.epsilon_0 for factor in factors if isinstance(factor, PureDP)] or [0.0]
    masses = [infinite_mass(factor) for factor in factors if isinstance(factor, TotalVariation)] or [(0, 0)]
    # A mass that is not a float, of a product, has no exact fraction.
    single = len(epsilons) == len(masses) == 1 and masses[0][0] == masses[0][1]
    return (epsilons[0], Fraction(masses[0][0])) if single else None


def compare_polygons(f: PiecewiseLinear, g: PiecewiseLinear) -> Answer:
    """Decide f >= g of two polygons at the vertices of f, unless these are very many."""
    if len(f.alpha) + len(g.alpha) > _MAX_VERTICES:
        return None
    lower = g.rational()
    return f == g or all(lower.at(a) <= b for a, b in f.vertices)


def _above_lines(f: TradeOff, g: TradeOff) -> Answer:
    """Decide f >= g by delta_f(log s) <= delta for the lines s alpha + beta = 1 - delta of a polygon g.

    Each is (low, high, delta), bounds on log s >= 0: those with s >= 1 in ``lines[0]``, for f, the others
    with axes exchanged in ``lines[1]``, for f^-1. None if g is not a polygon of few vertices; ``Undecided``
    if the bounds on a delta of f lie on both sides of the line's.
    """
    goal = _dp_pair(g)
    lines: list[list[tuple[float, float, Fraction]]] = [[], []]
    if goal is not None:
        lines = [[(goal[0], *goal)], [(goal[0], *goal)]]
    elif not isinstance(g, PiecewiseLinear) or len(g.alpha) > _MAX_VERTICES:
        return None
    else:
        for (a, b), (c, d) in pairwise(g.vertices):
            flipped = b - d < c - a
            run, rise, x, y = (b - d, c - a, b, a) if flipped else (c - a, b - d, a, b)
            low, high = balls.to_bounds(balls.log_quotient(rise, run))
            lines[flipped].append((max(low, 0.0), high, 1 - y - rise / run * x))
    if f.symmetric:
        lines = [list(dict.fromkeys(lines[0] + lines[1]))]
    doubtful: list[float] = []
    for sign, one, its_lines in zip((1, -1), (f, f.inverse()), lines, strict=False):
        answers = [_by_ends(one, (Fraction(x), Fraction(y)), delta) for x, y, delta in its_lines]
        rest = [line for line, answer in zip(its_lines, answers, strict=True) if answer is None]
        if rest and False not in answers:
            # delta falls: at the lower bound of log s it is at least, at the upper one at most that at log s.
            most = one.bounds.delta([x for x, _, _ in rest]).upper.tolist()
            least = one.bounds.delta([y for _, y, _ in rest]).lower.tolist()
            answers += [low <= delta for (_, _, delta), low in zip(rest, least, strict=True)]
            doubtful += [sign * x for (x, _, delta), high in zip(rest, most, strict=True) if high > delta]
        if False in answers:
            return False
    # g may be f.lower itself, whose lines the bounds on delta do not decide.
    if not doubtful or (isinstance(g, PiecewiseLinear) and compare_polygons(f.lower, g)):
        return True
    raise _undecided(doubtful[0])


def _undecided(epsilon: float) -> Undecided:
    where = f"bounds on the curves do not decide their order near epsilon = {epsilon:.6g}"
    return Undecided(f"{where}; use dominates(g, failure=...)", epsilon)


def _vertices_of(f: TradeOff) -> list[tuple[tuple[Fraction, Fraction], ...]] | None:
    """Return for each vertex of a polygon (bounds on alpha, bounds on beta); None for other and large curves.

    Those of f_{eps,d} are (0, 1 - d), (k, k) and (1 - d, 0) with k = (1 - d)/(1 + e^eps).
    """
    goal = _dp_pair(f)
    if goal is not None:
        epsilon, rest = goal[0], 1 - goal[1]
        share = exp(-epsilon) / (1 + exp(-epsilon))  # 1/(1 + e^eps), which does not overflow
        inner = rest * Fraction(share.lower), rest * Fraction(share.upper)
        zero, start = (Fraction(0), Fraction(0)), (rest, rest)
        return [(zero, start), *([(inner, inner)] if epsilon else []), (start, zero)]
    if isinstance(f, PiecewiseLinear) and len(f.alpha) <= _MAX_VERTICES:
        return [((a, a), (b, b)) for a, b in f.vertices]
    return None


def _above_vertices(f: TradeOff, g: TradeOff) -> Answer:
    """Decide f >= g at the vertices of a polygon f: at the ends by g(0) = 1 - Q(L = inf), else by bounds."""
    if (vertices := _vertices_of(f)) is None:
        return None
    answers: list[Answer] = []
    back = g.inverse()
    for curve, height in ((g, vertices[0][1]), (back, vertices[-1][0])):
        low, high = infinite_mass(curve)
        answers.append(True if 1 - low <= height[0] else False if 1 - high > height[1] else None)
    # g(a) <= b iff g^-1(b) <= a: the smaller coordinate is the argument, as floats resolve it best.
    inner = [(v[1][0] < v[0][0], v) for v in vertices[1:-1]]
    for curve, mirrored in ((g, False), (back, True)):
        mine = [v[::-1] if mirrored else v for flat, v in inner if flat == mirrored]
        if mine and False not in answers:
            most = curve.bounds([rational(alpha[0]).lower for alpha, _ in mine]).upper.tolist()
            least = curve.bounds([rational(alpha[1]).upper for alpha, _ in mine]).lower.tolist()
            for (_, beta), high, low in zip(mine, most, least, strict=True):
                answers.append(True if high <= beta[0] else False if low > beta[1] else None)
    answer = _all_of(answers)
    # f may be g.upper itself, at whose vertices the bounds on g do not decide.
    is_above_upper = answer is None and isinstance(f, PiecewiseLinear) and compare_polygons(f, g.upper)
    return True if is_above_upper else answer


# Rules by structure, which evaluate no curve: operators preserve the order. ``or None`` ends a rule that is
# sufficient and not necessary.


def known(f: TradeOff, g: TradeOff) -> Answer:
    """Decide f >= g by structure alone: by equality, or the first of the rules below that does."""
    if isinstance(f, PiecewiseLinear) and isinstance(g, PiecewiseLinear):
        answer = compare_polygons(f, g)
    else:
        answer = f == g or isinstance(f, Identity) or g == TotalVariation(1) or None
    rules = iter((_by_parameter, _by_dp_pair, _by_operands, _same_operator, _products))
    while answer is None and (rule := next(rules, None)):
        answer = rule(f, g)
    return answer


def _by_parameter(f: TradeOff, g: TradeOff) -> Answer:
    """Compare parameters of two curves of one family, or shifts of one law; curves fall as they grow."""
    spans: list[tuple[Any, Span]] = []  # a family of one parameter, and bounds on the parameter
    if symbols_of(f, g):
        return None
    if isinstance(f, Laplace) and isinstance(g, Group) and isinstance(base := g.operands[0], PureDP):
        # A group of f_{eps,0} is below Lap_{k eps}, its limit as steps get smaller.
        return f.theta <= g.k * Fraction(base.epsilon_0) or None
    for h in (f, g):
        match h:
            case Gaussian():
                spans.append((Gaussian, (h.weight if h.mu < math.inf else math.inf,) * 2))
            case LogConcaveShift(name=name, arguments=arguments, shift=shift):
                spans.append(((name, arguments, shift > 0), (abs(shift),) * 2))
            case PureDP() | Laplace():
                spans.append((type(h), largest_loss(h)))
            case TotalVariation():
                spans.append((TotalVariation, infinite_mass(h)))
    if len(spans) < 2 or spans[0][0] != spans[1][0]:
        return None
    (least, most), (low, high) = spans[0][1], spans[1][1]
    return True if most <= low else False if least > high else None


def _by_dp_pair(f: TradeOff, g: TradeOff) -> Answer:
    """Decide f >= f_{eps,delta}: if sup L <= eps and Q(L = inf) <= delta in both orders; at delta = 0 iff."""
    goal = _dp_pair(g)
    if goal is None or symbols_of(f):
        return None
    epsilon, delta = Fraction(goal[0]), goal[1]
    if isinstance(f, PiecewiseLinear) and any(e <= epsilon and d <= delta for e, d in f.pairs):
        return True
    return _all_of(_by_ends(one, (epsilon, epsilon), delta) for one in both_orders(f))


def _by_operands(f: TradeOff, g: TradeOff) -> Answer:
    """Compare with operands: a maximum is above each, a hull below; others lie between theirs.

    f >= max{g_j} iff f is above all, and hull min{f_i} >= g iff all are. Mixtures average profiles; Symm lies
    between hull min{f, f^-1} and max{f, f^-1}; p f + (1 - p) Id is above f, and a group of f below it.
    """
    if isinstance(g, Maximum):
        return _all_of(known(f, part) for part in g.operands)
    if isinstance(f, HullOfMinimum):
        return _all_of(known(part, g) for part in f.operands)
    if isinstance(f, Maximum) and any(known(part, g) for part in f.operands):
        return True
    if isinstance(g, HullOfMinimum) and any(known(f, part) for part in g.operands):
        return True
    inner: list[tuple[TradeOff, ...]] = []  # curves of which f is above some, and g below some
    for h in (f, g):
        parts = h.operands if isinstance(h, Mixture) else ()
        inner.append(both_orders(h.operands[0]) if isinstance(h, ProfileSymmetrised) else parts)
    if isinstance(f, Subsampled):
        inner[0] = (f.operands[0].inverse() if f.flipped else f.operands[0],)
    if isinstance(g, Group) and not is_symbol(g.k):
        inner[1] = g.operands
    mine, theirs = inner
    is_above = bool(mine) and all(known(part, g) for part in mine)
    return is_above or (bool(theirs) and all(known(f, part) for part in theirs)) or None


def _same_operator(f: TradeOff, g: TradeOff) -> Answer:
    """Compare curves of one operator: it rises with operands, f_p falls in p, and groups of k in k."""
    match f, g:
        case Mixture(), Mixture():  # each share of f is above one of g
            return _matched(*(dict(zip(h.operands, h.shares, strict=True)) for h in (f, g))) or None
        case Subsampled(p=p), Subsampled(p=q) if f.flipped == g.flipped:
            if p == q:  # then it holds iff it does for the bases
                return known(f.operands[0], g.operands[0])
            if symbols_of(f, g):
                return None
            if p > q:  # of one base f is lower, unless the base loses nothing
                base, other = f.operands[0], g.operands[0]
                loses = infinite_mass(base)[0] > 0 or largest_loss(base)[0] > 0
                return False if base == other and loses else None
        case Group(k=k), Group(k=more) if not symbols_of(k, more) and k <= more:
            pass
        case ProfileSymmetrised(), ProfileSymmetrised():
            pass
        case _:
            return None
    return known(f.operands[0], g.operands[0]) or None


def _products(f: TradeOff, g: TradeOff) -> Answer:
    """Cancel, f (x) h >= g (x) h if f >= g; or match each factor of f with factors of g that it is above."""
    mine, theirs = f.factors, g.factors
    common = {factor: min(n, theirs[factor]) for factor, n in mine.items() if factor in theirs}
    rest = (tensor((h, n - common.get(h, 0)) for h, n in side.items()) for side in (mine, theirs))
    if common and known(*rest):
        return True
    return (isinstance(g, Tensor) and _matched(mine, theirs)) or None


def _matched(mine: Mapping[TradeOff, Any], theirs: Mapping[TradeOff, Any]) -> bool:
    """Decide whether each unit of ``mine`` fits above another of ``theirs``, {curve: power or share}.

    Greedily, those with the fewest choices first; False may be a failure of the search.
    """
    if max(len(mine), len(theirs)) > 24:  # every pair is compared
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


Metric = Literal["uniform", "levy"]


def distance(f: TradeOff, g: TradeOff, *, metric: Metric = "uniform") -> Bounds[float]:
    r"""Bound the distance between two curves.

    Parameters
    ----------
    f, g
        Curves.
    metric
        ``"uniform"``: :math:`\sup_\alpha \lvert f(\alpha) - g(\alpha) \rvert`. ``"levy"``: the least
        :math:`\kappa` with :math:`f(\alpha + \kappa) - \kappa \le g(\alpha)` for all :math:`\alpha` and the
        same with f and g exchanged, which is
        :math:`\max_\varepsilon \lvert \delta_f - \delta_g \rvert/(1 + e^\varepsilon)`: the largest gap in
        Bayes error over priors (Gomez et al. 2026).

    Returns
    -------
    Bounds
        Lower and upper bound in [0, 1]: of polygons and (eps, delta)-DP the distance at their vertices, up to
        rounding; of other curves about 1e-4 apart.

    Examples
    --------
    >>> from tradeoff import Gaussian, Identity
    >>> round(distance(Gaussian(1), Identity(), metric="levy").upper, 3)  # half of the total variation
    0.191
    >>> from tradeoff import PureDP
    >>> distance(PureDP(1), Identity()).width < 1e-14
    True
    """
    choice("metric", metric, get_args(Metric))
    if operand(f) == operand(g):
        return Bounds(0.0, 0.0)
    (below_f, above_f), (below_g, above_g) = (_polygons(curve, metric) for curve in (f, g))
    most = max(_excess(above_f, below_g), _excess(above_g, below_f))
    least = max(_excess(below_f, above_g), _excess(below_g, above_f), Fraction(0))
    return Bounds(rational(least).lower, min(rational(most).upper, 1.0))


def _polygons(f: TradeOff, metric: Metric) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return coordinates (x, y), x increasing, of a polygon below the curve and of one above it.

    Those of Levy's metric are alpha - beta and (alpha + beta)/2: a shift by kappa to the left and down, in
    (alpha, beta), only lowers y, by kappa.
    """
    sides: list[Sequence[Point]]
    if _dp_pair(f) is not None:
        sides = [[(a[side], b[side]) for a, b in _vertices_of(f) or ()] for side in (0, 1)]
    else:
        tails = np.geomspace(1e-9, 0.5, 128)
        nodes = np.concatenate([np.linspace(0, 1, 513), tails, 1 - tails])  # about 1e-4 from chord to curve
        both = (f, f) if isinstance(f, PiecewiseLinear) else tabulate(f, nodes)
        sides = [side.vertices for side in both]
    result = []
    for vertices in sides:
        points = set(vertices)
        if metric == "levy":
            corners = (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))  # so that x is from -1 to 1
            points = {(a - b, (a + b) / 2) for a, b in (*vertices, *corners)}
        x, y = (np.array(v, dtype=object) for v in zip(*sorted(points), strict=True))
        result.append((x, y))
    return result


def _excess(one: tuple[np.ndarray, np.ndarray], two: tuple[np.ndarray, np.ndarray]) -> Fraction:
    """Return the largest y of one polygon minus y of the other, a difference linear between vertices."""
    at = np.concatenate([one[0], two[0]])
    return Fraction(max(interpolate(at, *one) - interpolate(at, *two)))
