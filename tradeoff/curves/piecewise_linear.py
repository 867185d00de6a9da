"""Piecewise-linear curves: finite tests, exact in fractions.

Vertices (alpha, beta) run from (0, f(0)) to the first beta = 0. Their complements are 1 - alpha and 1 - beta:
of a float and its complement the smaller is exact, the other rounded. ``points`` are (alpha, beta, 1 - alpha,
1 - beta) in floats, in code (x, y, rest, power). ``FloatBalls`` are floats with error bounds; integers are
multiples of 2^-1074, of which ``ONE`` makes 1. A segment from (a, b) to (c, d) is an atom with P-mass c - a,
Q-mass b - d.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from numbers import Rational
from typing import Any

import numpy as np

from tradeoff.accounting.options import Question
from tradeoff.balls import log_quotient, to_bounds
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import PAIR, gathered, limited
from tradeoff.curves.parameters import Number, exact_number, is_masked, reals
from tradeoff.errors import CurveError, DomainError, SizeError, shown
from tradeoff.intervals import polygon
from tradeoff.intervals.bounds import Array, Bounds, Pair
from tradeoff.intervals.float_balls import FloatBalls, exp, maximum, where
from tradeoff.intervals.functions import log, rational
from tradeoff.intervals.polygon import ONE, Line, Point, envelope, floats, hull, lower_hull, whole
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.law import weighted_mass
from tradeoff.pld.units import log_ratio, logarithm

MAX_VERTICES = 100_000  # most vertices an exact operation may make
_STEEPEST = 690.0  # loss whose e^eps times a vertex is still a float


class PiecewiseLinear(TradeOff):
    r"""Trade-off function of a pair with finitely many likelihood ratios, given by its vertices.

    Parameters
    ----------
    alpha, beta
        Vertices, alpha increasing from 0; the last has :math:`\beta = 0`. Floats, or ``fractions.Fraction``
        (next to others) for exact arithmetic: then products, inverse, hulls, groups of at most 32 and
        ``hockey_stick`` are exact.

    Raises
    ------
    CurveError
        Naming the property violated and the place: shape, range, order, convexity,
        :math:`f(\alpha) \le 1 - \alpha`.

    Notes
    -----
    Only true corners. A segment is an atom: P-mass its width, Q-mass its fall (Dong, Roth, Su 2022, 2.2).

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> f = PiecewiseLinear([0, F(1, 3), 1], [1, F(1, 3), 0])
    >>> f.hockey_stick(1)
    Fraction(1, 3)
    """

    alpha: Any
    beta: Any
    complements: tuple[Any, ...] = ()  # 1 - alpha and 1 - beta, of each curve
    is_rational: bool
    pairs: tuple[tuple[Fraction, Fraction], ...] = ()  # (epsilon, delta) guarantees that the curve is made of
    is_rounded = False  # whether fractions come from floats, whose rounding must not refute an order

    def __init__(self, alpha: Iterable[Number], beta: Iterable[Number]) -> None:
        x, y, is_rational, rounded = read(alpha, beta)
        vertices = checked(x, y, rounded=rounded)
        if is_rational:
            curve = self.of_checked(*vertices, is_rational=True)
        else:  # the hull of the numbers as given, in integers, and no vertex above 1 - alpha by a rounding
            curve = hull_of(zip(map(whole, x.tolist()), map(whole, y.tolist()), strict=True))
        vars(self).update(vars(curve))

    @classmethod
    def of_wholes(cls, alpha: Sequence[int], beta: Sequence[int]) -> PiecewiseLinear:
        """Return the curve in floats with these convex vertices, in integers."""
        rests = floats([ONE - a for a in alpha]), floats([ONE - b for b in beta])
        return cls.of_checked(floats(alpha), floats(beta), rests, is_rational=False)

    @classmethod
    def of_checked(
        cls, alpha: Any, beta: Any, rests: tuple[Any, Any] | None = None, *, is_rational: bool
    ) -> PiecewiseLinear:
        """Return a curve with checked vertices and complements, or of fractions up to the first zero."""
        if rests is None:
            stop = int(np.argmax(beta == 0)) + 1
            alpha, beta = alpha[:stop], beta[:stop]
            rests = 1 - alpha, 1 - beta
        curve = cls.__new__(cls)
        curve.is_rational, curve.alpha, curve.beta, curve.complements = is_rational, alpha, beta, rests
        for each in (alpha, beta):  # inverses are views of them, and answers are cached
            each.flags.writeable = False
        return curve

    def assuming(self, *assumptions: str) -> PiecewiseLinear:
        """Return the same curve with more assumptions: sentences on which it rests without proof."""
        return limited(self, PAIR, assumptions)

    def made_of(self, *curves: PiecewiseLinear) -> PiecewiseLinear:
        """Return this new curve with the assumptions of its operands; it is rounded if one of them is."""
        curve = limited(self, PAIR, gathered(curves))
        curve.is_rounded = any(f.is_rounded for f in curves)
        return curve

    @classmethod
    def hull(cls, alpha: Iterable[Number], beta: Iterable[Number]) -> PiecewiseLinear:
        """Lower convex hull of tests with errors (alpha, beta), such as a measured ROC, and 1 - alpha.

        It is the greatest curve below them; that of a mechanism may be lower.

        Parameters
        ----------
        alpha, beta
            Type I and type II errors (false-positive and false-negative rates) in [0, 1], in any order.

        Raises
        ------
        CurveError
            If the lists differ in length, or hold NaN or a number outside [0, 1], or true-positive rates.

        Examples
        --------
        >>> from fractions import Fraction as F
        >>> PiecewiseLinear.hull([F(1, 2), F(1, 4), F(1, 3)], [F(1, 4), F(1, 2), F(2, 3)])
        PL[(0, 1), (1/4, 1/2), (1/2, 1/4), (1, 0)]
        """
        x, y, exact, _ = read(alpha, beta)
        if np.any((x == 0) & (y == 0)) and np.any((x == 1) & (y == 1)):  # the ends of every ROC
            raise CurveError("beta must be the false-negative rate, got a true-positive rate; give 1 - beta")
        if exact:
            ends = [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))]
            points = sorted([*zip(x, np.minimum(y, 1 - x), strict=True), *ends])
            x, y = (np.array(side, dtype=object) for side in zip(*points, strict=True))
            return cls.of_checked(*lower_hull(x, y), is_rational=True)
        order = np.lexsort((y, x))
        few = order[polygon.below_chords(x[order], y[order])]  # exact integers are slow
        tests = zip(map(whole, x[few].tolist()), map(whole, y[few].tolist()), strict=True)
        return hull_of([*tests, *ENDS])

    @property
    def symmetric(self) -> bool:
        """Whether f is its own inverse, vertex by vertex: without a tolerance, in floats too."""
        return self.inverse() == self

    @property
    def mass_at_minus_infinity(self) -> float:
        return weighted_mass([(1.0, self.complements[0][-1])])

    @cached_property
    def loss_bounds(self) -> Bounds:
        """Bound log(q/p) of the first segment, whose masses are fractions, also of vertices in floats."""
        if len(self.alpha) == 1:
            return Bounds(-np.inf, 0.0)
        (a, b), (c, d) = self._first(2)
        return to_bounds(log_quotient(b - d, c - a)) if b > d else Bounds(-np.inf, -np.inf)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return rational(1 - self._first(1)[0][1])

    @cached_property
    def vertices(self) -> list[tuple[Fraction, Fraction]]:
        """All vertices as fractions.

        >>> PiecewiseLinear([0, 0.5, 1], [0.5, 0.125, 0]).vertices[1]
        (Fraction(1, 2), Fraction(1, 8))
        """
        return self._first(len(self.alpha))

    def _first(self, count: int) -> list[tuple[Fraction, Fraction]]:
        """Return the first vertices as fractions: of a float and its complement the smaller is exact."""
        if self.is_rational:
            return list(zip(self.alpha[:count].tolist(), self.beta[:count].tolist(), strict=True))
        points = zip(*(side[:count].tolist() for side in self.points), strict=True)
        return [
            (Fraction(x) if x <= 0.5 else 1 - Fraction(p), Fraction(y) if y <= 0.5 else 1 - Fraction(q))
            for x, y, p, q in points
        ]

    def rational(self) -> PiecewiseLinear:
        """Return the same curve with fractions for vertices, which every operation keeps exact."""
        x, y = (np.array(side, dtype=object) for side in zip(*self.vertices, strict=True))
        return self if self.is_rational else self.of_checked(x, y, is_rational=True).made_of(self)

    @cached_property
    def points(self) -> tuple[Array, Array, Array, Array]:
        """Return alpha, beta, 1 - alpha and 1 - beta of the vertices in floats."""
        x, y, rest, power = (v.astype(float) for v in (self.alpha, self.beta, *self.complements))
        return x, y, rest, power

    @np.errstate(all="ignore")
    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        if self.is_rational:
            at = np.array([Fraction(a) for a in alpha.tolist()], dtype=object)
            return _in_bounds(interpolate(at, self.alpha, self.beta))
        starts, stops, height, slope, vertices, values = self._segments
        k = np.searchsorted(starts, alpha, side="right")
        run = FloatBalls.of(stops.take(k)) - np.where(alpha > 0.5, alpha - 1, alpha)
        low, high = (height.take(k) + run * slope.take(k)).ends()
        at = np.flatnonzero((vertices.take(k) == alpha) | (alpha > self.points[0][-1]))
        low[at], high[at] = values[:, k[at]]
        if len(at := np.flatnonzero(~(high - low < np.inf))):  # where floats hold no slope
            low[at], high[at] = self.rational().beta_bounds(alpha[at], tol)
        return low, high

    @cached_property
    def _segments(self) -> tuple[Array, Array, FloatBalls, FloatBalls, Array, Array]:
        """Starts of all segments but the first; stops, heights there and slopes; vertices, and f there.

        The level end to (1, 0) is one, and one is cut at 1/2: up to there a stop is alpha, above it alpha -
        1, which is exact there. Vertices that are not floats are NaN; f has a row of lower and one of upper
        bounds. A float is at least a vertex if it is at least the vertex rounded up.
        """
        x, y, rest, power = np.hstack([self.points, [[1.0], [0.0], [0.0], [1.0]]])  # level to the end
        half, k = int(np.searchsorted(-rest, -0.5, side="right")), np.arange(len(x))
        k[half:] -= 1
        height = where(y <= 0.5, y, 1 - FloatBalls.of(power))
        slope = _run(y[1:], power[1:], y[:-1], power[:-1]) / _run(x[:-1], rest[:-1], x[1:], rest[1:])
        cut = height.take(half) + slope.take(half - 1) * (0.5 - FloatBalls.of(rest[half]))
        values = np.array(height.ends())
        stops, height = np.where(rest < 0.5, -rest, x)[k + 1], height.take(k + 1)
        stops[half - 1], height.middle[half - 1], height.radius[half - 1] = 0.5, cut.middle, cut.radius
        start = x + 2.0**-53 * ((x > 0.5) & (1 - x > rest))
        starts = np.insert(start[1:-1], half - 1, np.nextafter(0.5, 1.0))
        vertices = np.where((x <= 0.5) | (1 - x == rest), x, np.nan)[k]
        return starts, stops, height, slope.take(k), vertices, values[:, k]

    @np.errstate(all="ignore")
    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        r"""Bound delta by its terms at the vertices v.

        .. math::

           \delta(\varepsilon) = \max_v g_v, \quad g_v = 1 - \beta_v - s \alpha_v, \quad s = e^\varepsilon

        It is reached after the last segment steeper than s: at a vertex from i, after the last that is so for
        certain, to j, after the last that may be. A segment of slope m adds :math:`(m - s) \, d\alpha` to g,
        and those after i are at most as steep as its first:
        :math:`g_v \le g_i + (m_i - s)_+ (\alpha_j - \alpha_i)`.
        """
        alpha, power, _, slope, _ = self._corners
        s = exp(FloatBalls.of(np.clip(epsilon, -_STEEPEST, _STEEPEST)))
        least, most = s.ends()
        i, j = np.searchsorted(-slope.lower, -most), np.searchsorted(-slope.upper, -least)
        first = alpha.take(i)
        value = power.take(i) - s * first
        steeper = FloatBalls.of(np.where(j > i, slope.upper[i], 0.0))
        more = maximum(steeper - s, 0.0) * maximum(alpha.take(j) - first, 0.0)
        # Beyond, delta lies between Q(L = inf) and its last value; far below 0 it is 1 but for e^-690.
        low = np.where(epsilon > _STEEPEST, self.mass_at_infinity.lower, value.ends()[0])
        most = np.where(epsilon >= self.sup_loss, self.mass_at_infinity.upper, 1.0)
        # Where a segment is steeper than all floats, the sum is NaN and bounds nothing.
        return low, np.fmin(np.maximum((value + more).ends()[1], low), most)

    @np.errstate(all="ignore")
    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        r"""Bound epsilon by its terms at the vertices v.

        .. math::

           \varepsilon(\delta) = \max_v \log\, s_v, \quad s_v = (1 - \beta_v - \delta)/\alpha_v

        It is at the vertex where a line through :math:`(0, 1 - \delta)` touches f: after the last segment
        whose line starts above :math:`1 - \delta`, as i and j of ``delta_bounds``. With the slopes
        :math:`m \le m_i` of segments after i,
        :math:`s_v \alpha_v = s_i \alpha_i + \sum m \, d\alpha \le \max\{s_i, m_i\} \alpha_v`.
        """
        alpha, power, height, slope, reach = self._corners
        i, j = np.searchsorted(reach.upper, delta), np.searchsorted(reach.lower, delta)
        level = FloatBalls.of(delta)
        sides = []
        for k in (np.maximum(i, 1), np.maximum(j, 1)):
            y = height.take(k)
            rest = where(y.middle <= 0.5, (1 - level) - y, power.take(k) - level)
            sides.append(log(Bounds(*(rest / alpha.take(k)).ends())))
        # Where floats do not hold a slope, its logarithm is NaN and bounds nothing.
        high = np.where(i > 0, np.where(np.isnan(sides[0].upper), np.inf, sides[0].upper), -np.inf)
        high = np.where(j > i, np.maximum(high, log(slope).upper[i]), high)
        return np.fmax(np.fmax(sides[0].lower, sides[1].lower), -np.inf), high

    @cached_property
    @np.errstate(all="ignore")
    def _corners(self) -> tuple[FloatBalls, FloatBalls, FloatBalls, Bounds, Bounds]:
        """Alpha, 1 - beta and beta of the vertices, and bounds on m of the segments and on delta(log m).

        The last segment is level, from the last vertex on. Slopes fall, and delta(log m) rises.
        """
        x, y, rest, power = self.points
        if self.is_rational:
            exact = self.alpha, self.complements[1], self.beta, *self.atoms()
            alpha, height, depth, p, q = (FloatBalls.of(Bounds(*_in_bounds(each))) for each in exact)
        else:
            alpha = where(x <= 0.5, x, 1 - FloatBalls.of(rest))
            height, depth = where(y > 0.5, power, 1 - FloatBalls.of(y)), FloatBalls.of(y)
            p, q = _run(x[:-1], rest[:-1], x[1:], rest[1:]), _run(y[1:], power[1:], y[:-1], power[:-1])
        low, high = (q / p).ends()  # NaN where floats do not hold the slope
        low, high = np.append(np.fmax(low, 0.0), 0.0), np.append(np.fmin(high, np.inf), 0.0)
        low, high = np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)
        slope = FloatBalls.of(Bounds(low, high))
        least, most = (height - slope * alpha).ends()
        least, most = np.fmax(least, 0.0), np.fmin(most, 1.0)
        reach = Bounds(np.maximum.accumulate(least), np.minimum.accumulate(most[::-1])[::-1])
        return alpha, height, depth, Bounds(low, high), reach

    def exact_answer(self, question: Question, at: Fraction) -> Any:
        if not self.is_rational or question == "epsilon" or (question == "delta" and at != 0):
            return None
        return Fraction(self.at(at) if question == "beta" else self.hockey_stick(1))

    def hockey_stick(self, ratio: Number) -> Fraction | float:
        r"""Hockey-stick divergence at a ratio r, in fractions.

        .. math::

           \delta(\log\, r) = \sup_\alpha \; 1 - f(\alpha) - r \alpha

        Parameters
        ----------
        ratio
            Number >= 0; a ``Fraction`` or integer keeps the answer exact for an exact curve; else the answer
            is the float at or above it.

        Examples
        --------
        >>> PiecewiseLinear([0, 0.5, 1], [0.5, 0.25, 0]).rational().hockey_stick(1)
        Fraction(1, 2)
        """
        slope = exact_number("ratio", ratio, 0, math.inf, open_high=True)
        gain = max(1 - b - slope * a for a, b in self.vertices)
        return gain if self.is_rational and isinstance(ratio, Rational) else float(rational(gain).upper)

    def inverse(self) -> PiecewiseLinear:
        rest, power = self.complements
        mirrored = self.beta[::-1], self.alpha[::-1], (power[::-1], rest[::-1])
        return self.of_checked(*mirrored, is_rational=self.is_rational).made_of(self)

    def floats(self) -> PiecewiseLinear:
        """Return the same curve in floats: vertices rounded, and lowered where that is not convex."""
        return self.hull(*self.points[:2]).made_of(self) if self.is_rational else self

    def _mass_ends(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Return, for P and for Q, two numbers of each segment whose difference is its mass, exact ones."""
        (x, y), (rest, power) = (self.alpha, self.beta), self.complements
        of_p, of_q = x[:-1] >= 0.5, y[1:] >= 0.5
        p_ends = np.where(of_p, rest[:-1], x[1:]), np.where(of_p, rest[1:], x[:-1])
        return p_ends, (np.where(of_q, power[1:], y[:-1]), np.where(of_q, power[:-1], y[1:]))

    def atoms(self) -> tuple[Any, Any]:
        """Return the P- and Q-masses of the segments, by decreasing ratio, from the small numbers."""
        p_ends, q_ends = self._mass_ends()
        return p_ends[0] - p_ends[1], q_ends[0] - q_ends[1]

    def loss_distribution(self) -> AtomicLaw:
        p, q = self.atoms()
        keep = np.asarray(q > 0, dtype=bool)
        p_ends, q_ends = ((high[keep], low[keep]) for high, low in self._mass_ends())
        loss, log_p = log_ratio(p_ends, q_ends), logarithm(p[keep])
        below, above = (
            weighted_mass([(1.0, rest)]) for rest in (self.complements[0][-1], self.complements[1][0])
        )
        ends = below + float(np.sum(p[~keep])), above
        return AtomicLaw(loss[::-1], log_p[::-1], *ends, fractions=partial(masses, self.vertices))

    @property
    def bits(self) -> int:
        """Return the binary digits of the longest vertex."""
        return max(v.denominator.bit_length() for vertex in self.vertices for v in vertex)

    def at(self, alpha: Any) -> Any:
        """Return f(alpha), alpha in [0, 1], in the curve's own arithmetic, by linear interpolation.

        >>> PiecewiseLinear([0, 0.5, 1], [0.5, 0.25, 0]).rational().at(Fraction(1, 4))
        Fraction(3, 8)
        """
        return interpolate(np.array([alpha]), self.alpha, self.beta)[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PiecewiseLinear):
            return False
        mine, theirs = ((f.alpha, f.beta, *f.complements) for f in (self, other))
        alike = (self.is_rational, self.assumptions) == (other.is_rational, other.assumptions)
        return alike and all(map(np.array_equal, mine, theirs))

    def __hash__(self) -> int:
        return hash((self.is_rational, tuple(self.alpha.tolist()), tuple(self.beta.tolist())))

    @property
    def notation(self) -> str:
        if len(self.alpha) > 6:  # too many to read
            return f"PL[{len(self.alpha)} vertices]"
        short = self.is_rational and self.bits <= 40  # printed as fractions
        pairs = [
            f"({a}, {b})" if short else f"({float(a):.6g}, {float(b):.6g})"
            for a, b in zip(self.alpha, self.beta, strict=True)
        ]
        return f"PL[{', '.join(pairs)}]"


ENDS: list[Point] = [(0, ONE), (ONE, 0)]  # vertices of 1 - alpha, the curve above all others


def hull_of(points: Iterable[Point]) -> PiecewiseLinear:
    """Return the greatest curve below points, in integers, and 1 - alpha."""
    return PiecewiseLinear.of_wholes(*zip(*hull(points), strict=True))


def capped(size: int) -> None:
    """Refuse a curve of too many vertices."""
    if size > MAX_VERTICES:
        raise SizeError(
            f"an exact curve of {size} vertices is above the cap of {MAX_VERTICES}; "
            "use .floats(), which the engine composes"
        )


def _run(low: Array, low_rest: Array, high: Array, high_rest: Array) -> FloatBalls:
    """Return high - low >= 0 from each number or its complement, whichever is smaller and so exact."""
    across = (0.5 - FloatBalls.of(low)) + (0.5 - FloatBalls.of(high_rest))
    right = where(low_rest < 0.5, FloatBalls.of(low_rest) - high_rest, across)
    return maximum(where(high_rest >= 0.5, FloatBalls.of(high) - low, right), 0.0)


def _in_bounds(fractions: Any) -> Pair:
    low, high = np.array([tuple(rational(x)) for x in fractions]).reshape(-1, 2).T
    return low, high


def product(f: PiecewiseLinear, g: PiecewiseLinear) -> PiecewiseLinear:
    """Tensor product: all products of atoms, by decreasing ratio; exact in fractions."""
    capped((len(f.alpha) - 1) * (len(g.alpha) - 1) + 1)
    (p, q), (r, s) = f.atoms(), g.atoms()
    mass_p, mass_q = np.multiply.outer(p, r).ravel(), np.multiply.outer(q, s).ravel()
    order = sorted(range(len(mass_p)), key=lambda k: mass_q[k] / mass_p[k], reverse=True)
    start = f.beta[0] * g.beta[0]
    alpha = np.append(0 * start, np.cumsum(mass_p[order]))
    beta = start - np.append(0 * start, np.cumsum(mass_q[order]))
    return PiecewiseLinear(alpha.tolist(), beta.tolist()).made_of(f, g)


def exact_product(factors: Sequence[tuple[PiecewiseLinear, int]], work: float) -> PiecewiseLinear | None:
    """Return the product of powers in fractions; None if that takes ``work`` products of 150-bit numbers."""
    result = line = PiecewiseLinear([0, Fraction(1)], [Fraction(1), 0])
    for f in (f for f, n in factors if f != line for _ in range(n)):
        work -= (len(result.alpha) - 1) * (len(f.alpha) - 1) * (1 + result.bits / 150)
        if work < 0:
            return None
        result = product(result, f)
    return result


def segments(f: PiecewiseLinear) -> list[Line]:
    """Return the lines of the segments of a polygon, which is the largest of them and 0."""
    if not f.is_rational:
        each = ((b - d, c - a, a, b) for (a, b), (c, d) in pairwise(float_vertices(f)))
        return [polygon.reduced((rise * ONE, run * ONE, rise * a + run * b)) for rise, run, a, b in each]
    result = []
    for (a, b), (c, d) in pairwise(f.vertices):
        rise, run, level = b - d, c - a, (b - d) * a + (c - a) * b
        scale = math.lcm(*(x.denominator for x in (rise, run, level)))
        u, v, w = (x.numerator * (scale // x.denominator) for x in (rise, run, level))
        result.append((u, v, w))
    return result


def float_vertices(f: PiecewiseLinear) -> list[Point]:
    """Return the vertices in units: of alpha = x and 1 - alpha = p the smaller float is exact, as of beta."""
    points = zip(*(side.tolist() for side in f.points), strict=True)
    return [
        (whole(x) if x <= 0.5 else ONE - whole(p), whole(y) if y <= 0.5 else ONE - whole(q))
        for x, y, p, q in points
    ]


def largest_of(lines: Iterable[Line], *curves: PiecewiseLinear) -> PiecewiseLinear:
    """Return the largest of lines and 0, exactly, with the assumptions of the curves they are made of."""
    corners = [(Fraction(x, d), Fraction(y, d)) for x, y, d in envelope(lines)]
    capped(len(corners))
    return _made_exactly(PiecewiseLinear(*zip(*corners, strict=True)), curves)


def pointwise(f: PiecewiseLinear, g: PiecewiseLinear, *, largest: bool) -> PiecewiseLinear:
    """Return max{f, g}, or the convex hull of min{f, g}, exactly."""
    if largest:
        return largest_of([*segments(f), *segments(g)], f, g)
    if not (f.is_rational or g.is_rational):  # far cheaper than fractions
        return hull_of([*float_vertices(f), *float_vertices(g)]).made_of(f, g)
    return _made_exactly(PiecewiseLinear.hull(*zip(*f.vertices, *g.vertices, strict=True)), (f, g))


def _made_exactly(result: PiecewiseLinear, curves: Sequence[PiecewiseLinear]) -> PiecewiseLinear:
    """Return a curve made of others: in floats if all its vertices are some of those in floats."""
    given = {vertex for curve in curves if not curve.is_rational for vertex in curve.vertices}
    if given.issuperset(result.vertices):
        result = hull_of((int(a * ONE), int(b * ONE)) for a, b in result.vertices)
    return result.made_of(*curves)


def read(alpha: Any, beta: Any) -> tuple[Any, Any, bool, bool]:
    """Check points one by one: return alpha, beta, whether they are fractions, and whether floats were given.

    With fractions among them, floats are converted to fractions exactly.
    """
    for name, values in (("alpha", alpha), ("beta", beta)):
        if is_masked(values) or not np.iterable(values):
            raise CurveError(f"{name} must be a list of vertices, one number each, got {shown(values)}")
    given = list(alpha), list(beta)
    every = [*given[0], *given[1]]
    rounded = not all(isinstance(v, Rational) for v in every)
    exact = Fraction in set(map(type, every)) and all(
        isinstance(v, Rational) or math.isfinite(v) for v in every
    )
    sides: list[Any] = []
    for name, values in zip(("alpha", "beta"), given, strict=True):
        try:
            side = np.array(list(map(Fraction, values)), dtype=object) if exact else reals(name, values)
        except DomainError as error:
            raise CurveError(f"{name} must be a list of numbers, got {shown(values)}") from error
        if side.ndim != 1:
            raise CurveError(f"{name} must be one list of numbers, got {shown(values)}")
        for k in np.flatnonzero(~((side >= 0) & (side <= 1)))[:1]:
            raise CurveError(f"{name}[{k}] must be in [0, 1], got {side[k]}")
        sides.append(side)
    x, y = sides
    if len(x) != len(y):
        raise CurveError(f"alpha and beta must have the same length, got {len(x)} and {len(y)}")
    return x, y, exact, rounded or not exact


def checked(alpha: Any, beta: Any, *, rounded: bool) -> tuple[Any, Any]:
    """Check every property of a trade-off function, up to a rounding, which the hull returned repairs."""
    if len(alpha) == 0:
        raise CurveError("alpha and beta must have at least one vertex, got 0")
    slack: Any = 1e-12 if rounded else 0
    hull = lower_hull(alpha, np.minimum(beta, 1 - alpha)) if np.all(np.diff(alpha) >= 0) else (alpha, beta)
    # The upper end of a vertical start is not a vertex of the curve; elsewhere a fall is not convex.
    repeated = (alpha == 0) & np.append(np.diff(alpha) == 0, False)
    above = (beta - interpolate(alpha, *hull) > slack) & ~repeated
    remedy = "PiecewiseLinear.hull(alpha, beta) is the greatest convex curve below the vertices"
    for wrong, rule in (
        (alpha[:1] != 0, "alpha[0] must be 0: give f(0) as the first vertex, got {}"),
        (np.append(beta[:-1] < 0, beta[-1] != 0), "the last beta must be 0, as f(1) = 0 for all f, got {}"),
        (np.append(False, np.diff(alpha) < 0), "alpha must increase, got {}"),
        (np.append(False, np.diff(beta) > slack), "beta must decrease, got {}"),
        (beta > 1 - alpha + slack, "f(alpha) must be at most 1 - alpha, got {}"),
        (above, f"not convex at {{}} lies above the chord of its neighbours; {remedy}"),
    ):
        for k in np.flatnonzero(wrong)[:1]:
            raise CurveError(rule.format(f"vertex {k}: ({alpha[k]}, {beta[k]})"))
    return hull


def interpolate(at: Any, x: Any, y: Any) -> Any:
    """Interpolate linearly in the arithmetic of the arguments; constant outside."""
    if len(x) == 1:
        return y[0] + 0 * at
    k = np.clip(np.searchsorted(x, at, side="right"), 1, len(x) - 1)
    value = y[k - 1] + (y[k] - y[k - 1]) * (at - x[k - 1]) / (x[k] - x[k - 1])
    return np.where(at > x[-1], y[-1], value)


def masses(vertices: Sequence[tuple[Fraction, Fraction]]) -> tuple[tuple[Fraction, ...], ...]:
    """Return the P-masses and the Q-masses of all segments, from the loss inf (Q alone) to -inf (P alone)."""
    ends = (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))
    steps = [(c - a, b - d) for (a, b), (c, d) in pairwise([ends[0], *vertices, ends[1]])]
    return tuple(zip(*(step for step in steps if any(step)), strict=True))
