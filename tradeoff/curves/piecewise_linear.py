"""Piecewise-linear curves: finite tests, exact in fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from numbers import Rational
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, gathered, limited
from tradeoff.curves.parameters import Number, count, exact_number
from tradeoff.curves.vertices import canonical, chained, checked, interpolate, lowest, masses, read, scattered
from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import clip, exp, log_quotient, maximum, rational, where
from tradeoff.intervals.polygon import ONE, Lines, corners, floats, hull, whole
from tradeoff.intervals.rounding import Array, log_ratio, logarithm
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.law import weighted_mass

MAX_VERTICES = 100_000  # most vertices an exact operation may make
_LARGEST_GROUP = 32  # most compositions written out: each may double the vertices
_LONGEST = 4096  # binary digits to which fractions may grow in them
_STEEPEST = 690.0  # loss whose e^eps times a vertex is still a float
_SHOWN = 40  # binary digits of fractions that are printed as such


class PiecewiseLinear(TradeOff):
    """Trade-off function of a pair with finitely many likelihood ratios, given by its vertices.

    Parameters
    ----------
    alpha, beta
        Vertices, alpha increasing from 0; the last has beta = 0. Floats, or ``fractions.Fraction`` (beside
        others) for exact arithmetic: then products, inverse, hulls, groups and ``hockey_stick`` are exact.

    Raises
    ------
    CurveError
        Naming the property violated and the place: shape, range, order, convexity, f <= 1 - alpha.

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

    assumptions: tuple[str, ...] = ()
    pairs: tuple[tuple[Fraction, Fraction], ...] = ()  # (epsilon, delta) guarantees that the curve is made of
    is_rounded = False  # whether fractions come from floats, whose rounding must not refute an order

    def __init__(self, alpha: Iterable[Number], beta: Iterable[Number]) -> None:
        x, y, self.is_rational, rounded = read(alpha, beta)
        vertices = checked(x, y, rounded=rounded)
        if self.is_rational:
            self.alpha, self.beta = canonical(*vertices)
        else:  # convex to the last bit, and no vertex above 1 - alpha by a rounding
            given = zip(map(whole, x.tolist()), map(whole, y.tolist()), strict=True)
            points = hull([(a, min(b, ONE - a)) for a, b in given])
            self.alpha, self.beta, self.complements = _in_floats(*zip(*points, strict=True))
        _settle(self.alpha, self.beta)

    @classmethod
    def from_lines(cls, slopes: Array, intercepts: Array) -> PiecewiseLinear:
        """Return max_k (intercept_k - slope_k alpha)_+, rounded down; slopes are positive."""
        lines = [(whole(s), ONE, whole(c)) for s, c in zip(slopes.tolist(), intercepts.tolist(), strict=True)]
        return cls.of_wholes(*zip(*hull(corners(lines, up=False)), strict=True))

    @classmethod
    def of_wholes(cls, alpha: Sequence[int], beta: Sequence[int]) -> PiecewiseLinear:
        """Return the curve with these convex vertices, multiples of 2^-1074."""
        x, y, rests = _in_floats(alpha, beta)
        return cls.of_checked(x, y, rests, is_rational=False)

    @classmethod
    def of_checked(
        cls, alpha: Any, beta: Any, rests: tuple[Any, Any] | None = None, *, is_rational: bool
    ) -> PiecewiseLinear:
        """Return a curve whose vertices have been checked before; of fractions, the rests follow."""
        curve = cls.__new__(cls)
        curve.is_rational, curve.alpha, curve.beta = is_rational, alpha, beta
        _settle(alpha, beta)
        if rests is not None:
            curve.complements = rests
        return curve

    def assuming(self, *assumptions: str) -> PiecewiseLinear:
        """Return the same curve with more assumptions."""
        every = tuple(dict.fromkeys((*self.assumptions, *assumptions)))
        if every == self.assumptions:
            return self
        curve = self.of_checked(self.alpha, self.beta, self.complements, is_rational=self.is_rational)
        curve.assumptions, curve.is_rounded, curve.pairs = every, self.is_rounded, self.pairs
        return curve

    def made_of(self, *curves: PiecewiseLinear) -> PiecewiseLinear:
        """Return this fresh curve with the assumptions of its operands, and as rounded as they are."""
        curve = self.assuming(*gathered(curves))
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
            If the lists differ in length, or hold NaN or a number outside [0, 1].

        Examples
        --------
        >>> from fractions import Fraction as F
        >>> PiecewiseLinear.hull([F(1, 2), F(1, 4), F(1, 3)], [F(1, 4), F(1, 2), F(2, 3)])
        PL[(0, 1), (1/4, 1/2), (1/2, 1/4), (1, 0)]
        """
        x, y, exact = scattered(alpha, beta)
        if exact:
            return cls.of_checked(*lowest(x, y), is_rational=True)
        points = zip(map(whole, x.tolist()), map(whole, y.tolist()), strict=True)
        return cls.of_wholes(*zip(*hull([*points, (0, ONE), (ONE, 0)]), strict=True))

    @property
    def symmetric(self) -> bool:
        return self.inverse() == self

    @property
    def mass_at_plus_infinity(self) -> float:
        return weighted_mass([(1.0, self.complements[1][0])])

    @property
    def mass_at_minus_infinity(self) -> float:
        return weighted_mass([(1.0, self.complements[0][-1])])

    @property
    def sup_loss(self) -> float:
        return float(self._sup_loss.upper)

    @property
    def sup_loss_lower(self) -> float:
        return float(self._sup_loss.lower)

    @cached_property
    def _sup_loss(self) -> Bounds:
        """Bound log(q/p) of the first segment, whose masses are fractions, also of vertices in floats."""
        if len(self.alpha) == 1:
            return Bounds(-np.inf, 0.0)
        (a, b), (c, d) = self.vertices[:2]
        return log_quotient(b - d, c - a) if b > d else Bounds(-np.inf, -np.inf)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return rational(1 - self.vertices[0][1])

    @cached_property
    def vertices(self) -> list[tuple[Fraction, Fraction]]:
        """Return the vertices as fractions: of a pair that adds to 1, floats hold the smaller number."""
        if self.is_rational:
            return list(zip(self.alpha.tolist(), self.beta.tolist(), strict=True))
        points = zip(*map(np.ndarray.tolist, self.points), strict=True)
        return [(_nearer(x, p), _nearer(y, q)) for x, y, p, q in points]

    def rational(self) -> PiecewiseLinear:
        """Return the same curve with fractions for vertices, which every operation keeps exact."""
        x, y = (np.array(side, dtype=object) for side in zip(*self.vertices, strict=True))
        return self if self.is_rational else self.of_checked(x, y, is_rational=True).made_of(self)

    @classmethod
    def _remembered(cls) -> set[str]:
        return super()._remembered() - {"complements"}  # set by hand where vertices came with them

    @cached_property
    def complements(self) -> tuple[Any, Any]:
        """Return 1 - alpha and 1 - beta: of each pair the smaller number is exact."""
        return 1 - self.alpha, 1 - self.beta

    @cached_property
    def points(self) -> tuple[Array, Array, Array, Array]:
        """Return alpha, beta, 1 - alpha and 1 - beta of the vertices in floats."""
        x, y, rest, power = (v.astype(float) for v in (self.alpha, self.beta, *self.complements))
        return x, y, rest, power

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        if self.is_rational:
            return self._lines.at(alpha)
        x, y, rest, power = self.points
        left = 1 - alpha  # exact where alpha > 1/2, and used only there
        near, far = np.searchsorted(x, alpha, side="right"), np.searchsorted(-rest, -left, side="right")
        k = np.clip(np.where(alpha < 0.5, near, far) - 1, 0, len(x) - 1)
        after = np.minimum(k + 1, len(x) - 1)
        before, ahead = _run(x[k], rest[k], alpha, left), _run(alpha, left, x[after], rest[after])
        share = ahead / where(before.upper + ahead.upper > 0, before + ahead, 1.0)
        height = where(y <= 0.5, y, 1 - Bounds.of(power))
        first, last = (Bounds(height.lower[i], height.upper[i]) for i in (k, after))
        fall = _run(y[after], power[after], y[k], power[k])
        low, high = where(before.upper > 0, last + fall * clip(share, 0.0, 1.0), first)
        return low, high

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        slopes = zip(*(side.tolist() for side in exp(np.clip(epsilon, -_STEEPEST, _STEEPEST))), strict=True)
        gains = [self._gain(*map(Fraction, ends)) for ends in slopes]
        low, high = np.array([side.lower for side in gains]), np.array([side.upper for side in gains])
        # Beyond, delta lies between Q(L = inf) and its last value; far below 0 it is 1 but for e^-690.
        return np.where(epsilon > _STEEPEST, self.mass_at_infinity.lower, low), high

    def _gain(self, least: Fraction, most: Fraction) -> Bounds[float]:
        """Bound the largest 1 - beta - s alpha over the vertices, s between two slopes.

        It is reached after the last segment steeper than s, and any vertex bounds it from below.
        """
        k = int(np.searchsorted(self._slopes, -float(least)))  # a float chooses where to compare
        while k < len(self._slopes) and self._is_steeper(k, least):
            k += 1
        while k > 0 and not self._is_steeper(k - 1, least):
            k -= 1
        a, b = self.vertices[k]
        return Bounds(rational(1 - b - most * a).lower, rational(1 - b - least * a).upper)

    def _is_steeper(self, k: int, slope: Fraction) -> bool:
        (a, b), (c, d) = self.vertices[k : k + 2]
        return b - d > slope * (c - a)

    @cached_property
    def _slopes(self) -> Array:
        """Slopes of the segments, rounded."""
        p, q = (each.astype(float) for each in self.atoms())
        with np.errstate(all="ignore"):
            return np.asarray(-q / p)

    def exact_beta(self, alpha: Fraction) -> Fraction | None:
        return Fraction(self.at(alpha)) if self.is_rational else None

    def exact_delta(self, epsilon: Fraction) -> Fraction | None:
        return Fraction(self.hockey_stick(1)) if self.is_rational and epsilon == 0 else None

    def hockey_stick(self, ratio: Number) -> Fraction | float:
        """Hockey-stick divergence sup_alpha 1 - f(alpha) - ratio alpha = delta(log ratio), in fractions.

        Parameters
        ----------
        ratio
            Number >= 0; a ``Fraction`` or integer keeps the answer exact for an exact curve; else the answer
            is the float at or above it.
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

    def atoms(self) -> tuple[Any, Any]:
        """Return the P- and Q-masses of the segments, by decreasing ratio, from the small numbers."""
        (x, y), (rest, power) = (self.alpha, self.beta), self.complements
        p = np.where(x[:-1] >= 0.5, -np.diff(rest), np.diff(x))
        return p, np.where(y[1:] >= 0.5, np.diff(power), -np.diff(y))

    def loss_distribution(self) -> AtomicLaw:
        p, q = self.atoms()
        keep = np.asarray(q > 0, dtype=bool)
        (x, y), (rest, power) = (self.alpha, self.beta), self.complements
        of_p, of_q = x[:-1] >= 0.5, y[1:] >= 0.5  # the ends of which ``atoms`` takes the differences
        p_ends = np.where(of_p, rest[:-1], x[1:])[keep], np.where(of_p, rest[1:], x[:-1])[keep]
        q_ends = np.where(of_q, power[1:], y[:-1])[keep], np.where(of_q, power[:-1], y[1:])[keep]
        loss, log_p = log_ratio(p_ends, q_ends), logarithm(p[keep])
        ends = self.mass_at_minus_infinity + float(np.sum(p[~keep])), self.mass_at_plus_infinity
        return AtomicLaw(loss[::-1], log_p[::-1], *ends, fractions=partial(masses, self.vertices))

    def group(self, k: int) -> TradeOff:
        """Guarantee for groups of k, 1 - (1 - f)^(o k), exact in fractions while k is at most 32."""
        k = count("k", k)
        short = self.is_rational and k <= _LARGEST_GROUP and k * self.bits <= _LONGEST
        if not short:
            return super().group(k)
        vertices = np.array([0, Fraction(1)]), np.array([Fraction(1), 0])
        for _ in range(k):
            vertices = chained(vertices, (self.alpha, self.beta))
            capped(len(vertices[0]))
        powers = self.of_checked(*vertices, is_rational=True).made_of(self)
        return powers if k == 1 else limited(powers, BOUND)

    @property
    def bits(self) -> int:
        """Return the binary digits of the longest vertex."""
        return max(v.denominator.bit_length() for vertex in self.vertices for v in vertex)

    def at(self, alpha: Any) -> Any:
        """Return f(alpha), alpha in [0, 1], in the curve's own arithmetic, by linear interpolation."""
        return interpolate(np.array([alpha]), self.alpha, self.beta)[0]

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.vertices)

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
        short = self.is_rational and self.bits <= _SHOWN
        pairs = [
            f"({a}, {b})" if short else f"({float(a):.6g}, {float(b):.6g})"
            for a, b in zip(self.alpha, self.beta, strict=True)
        ]
        shown = pairs if len(pairs) <= 6 else [*pairs[:3], f"... {len(pairs) - 5} more ...", *pairs[-2:]]
        return f"PL[{', '.join(shown)}]"


def capped(size: int) -> None:
    """Refuse a curve of too many vertices."""
    if size > MAX_VERTICES:
        raise SizeError(
            f"an exact curve of {size} vertices is above the cap of {MAX_VERTICES}; "
            "use .floats(), which the engine composes"
        )


def _nearer(value: float, rest: float) -> Fraction:
    return Fraction(value) if value <= 0.5 else 1 - Fraction(rest)


def _run(low: Array, low_rest: Array, high: Array, high_rest: Array) -> Bounds[Array]:
    """Bound high - low from the smaller number, which is exact, of each pair that adds to 1."""
    across = (0.5 - Bounds.of(low)) + (0.5 - Bounds.of(high_rest))
    right = where(low_rest < 0.5, Bounds.of(low_rest) - high_rest, across)
    return maximum(where(high_rest >= 0.5, Bounds.of(high) - low, right), 0.0)


def _settle(*coordinates: Any) -> None:
    """Make coordinates read-only: inverses are views of them, and answers are cached."""
    for each in coordinates:
        each.flags.writeable = False


def _in_floats(alpha: Sequence[int], beta: Sequence[int]) -> tuple[Any, Any, tuple[Any, Any]]:
    """Return multiples of 2^-1074 as floats, and their complements to 1."""
    return floats(alpha), floats(beta), (floats([ONE - a for a in alpha]), floats([ONE - b for b in beta]))
