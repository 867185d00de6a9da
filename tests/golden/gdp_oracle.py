"""The least mu of a curve and its regret in more than 15 digits.

Suprema over vertices and thresholds, mpmath alone.

A test "reject where L > t" is one point (alpha, beta) of f; here it carries all four tails, so that nothing
cancels. The point asks for

    mu >= Phi^-1(1 - alpha/(1-d)) - Phi^-1(beta/(1-d)),

the same for f and for f^-1 with alpha and beta exchanged, so one walk over all t serves both orders. Where f
is a line between two vertices they decide, because G_mu is convex. Where L has a density, mu(t) rises iff
r(t) = (z_alpha^2 - z_beta^2)/2 - t > 0, because d alpha = -p dt and d beta = e^t p dt: every local maximum is
a fall of r through 0, located on a dense grid and then bisected.

The regret max_t (delta_g - delta_f)/(1 + e^t), over all real t for both orders, rises iff (alpha_f -
alpha_g)(1 + e^t) > delta_g - delta_f. Between atoms delta_g minus a line in s = e^t over 1 + s is
quasi-convex: atoms decide.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import mpmath as mp
import numpy as np

from tests.golden import contour_oracle as contour
from tests.golden import oracle
from tests.golden import sums_oracle as sums

STEPS = 32
"""Halvings of a grid cell: 9 digits of it, 18 and more of the value, as a maximum is flat."""


@dataclass(frozen=True)
class Point:
    """P(L > t), Q(L <= t) and their complements."""

    t: mp.mpf
    alpha: mp.mpf
    beta: mp.mpf
    not_alpha: mp.mpf
    not_beta: mp.mpf

    @property
    def delta(self) -> mp.mpf:
        """delta(t) = Q(L > t) - e^t P(L > t)."""
        return self.not_beta - mp.exp(self.t) * self.alpha


@functools.cache
def tail_quantile(tail: mp.mpf) -> mp.mpf:
    """z with P(N(0,1) > z) = tail, for a tail of at most 1/2."""
    z = mp.sqrt(-2 * mp.log(2 * tail))
    with mp.workdps(oracle.DIGITS):
        for _ in range(100):
            step = (oracle.normal_cdf(-z) - tail) / mp.npdf(z)
            z += step if abs(step) < 1 else mp.sign(step)
            if abs(step) < mp.mpf(10) ** -24:  # the next error is its square
                break
    return z


def quantile(tail: mp.mpf, rest: mp.mpf) -> mp.mpf:
    """z with P(N(0,1) > z) = tail = 1 - rest, whichever is smaller being exact."""
    return tail_quantile(tail) if tail <= rest else -tail_quantile(rest)


def quantiles(point: Point, d: mp.mpf) -> tuple[mp.mpf, mp.mpf] | None:
    """z_alpha, z_beta once the failure is taken off; None where the point asks for nothing."""
    if point.not_alpha <= d or point.not_beta <= d:
        return None
    if point.alpha == 0 or point.beta == 0:
        return mp.inf, mp.mpf(0)
    left = 1 - d
    return quantile(point.alpha / left, (point.not_alpha - d) / left), quantile(
        point.beta / left, (point.not_beta - d) / left
    )


def need(point: Point, d: mp.mpf) -> mp.mpf:
    """The mu that one point asks for."""
    pair = quantiles(point, d)
    return pair[0] + pair[1] if pair else mp.mpf(0)


class Law:
    """Points of a curve: all vertices, and grids over intervals where L has a density."""

    def vertices(self) -> Iterable[Point]:
        return ()

    def grids(self) -> Iterable[Sequence[mp.mpf]]:
        return ()

    def at(self, u: mp.mpf, *, again: bool = False) -> Point:
        """The point at a place on a grid; ``again`` by another evaluation."""
        raise NotImplementedError


@dataclass
class Lattice(Law):
    """Finitely many losses, P-mass ``minus`` at -inf and Q-mass ``plus`` at inf.

    Tails below ``floor`` have too few digits left.
    """

    losses: Sequence[mp.mpf]
    p: Sequence[mp.mpf]
    minus: mp.mpf = field(default_factory=mp.mpf)
    plus: mp.mpf = field(default_factory=mp.mpf)
    floor: mp.mpf = field(default_factory=mp.mpf)

    @functools.cached_property
    def rows(self) -> list[Point]:
        with mp.workprec(sums.BITS):
            q = [m * mp.exp(loss) for loss, m in zip(self.losses, self.p, strict=True)]
            p_below, q_below = accumulate(self.p, initial=self.minus), accumulate(q, initial=mp.mpf(0))
            p_above = list(accumulate(reversed(self.p), initial=mp.mpf(0)))[::-1]
            q_above = list(accumulate(reversed(q), initial=self.plus))[::-1]
            every = zip([self.losses[0], *self.losses], p_above, q_below, p_below, q_above, strict=True)
            return [Point(t, *tails) for t, *tails in every if all(m == 0 or m >= self.floor for m in tails)]

    def vertices(self) -> Iterable[Point]:
        return self.rows


def with_leak(group: sums.Group, q: mp.mpf) -> Lattice:
    """A symmetric lattice times f_{0,q}: finite masses shrink by 1 - q."""
    return Lattice(group.losses, [m * (1 - q) for m in group.p], q, q)


@dataclass
class OneGaussian(Law):
    """T(N(0,1), (1-p) N(0,1) + p N(mu,1)): reject above x, from ``low`` to ``high``."""

    mu: mp.mpf
    rate: mp.mpf
    low: float
    high: float

    def grids(self) -> Iterable[Sequence[mp.mpf]]:
        return [mp.linspace(self.low, self.high, 600)]

    def at(self, u: mp.mpf, *, again: bool = False) -> Point:
        p, (up, down, far, near) = (
            self.rate,
            (oracle.normal_cdf(y) for y in (-u, u, self.mu - u, u - self.mu)),
        )
        t = mp.log1p(p * mp.expm1(self.mu * u - self.mu**2 / 2))
        return Point(t, up, (1 - p) * down + p * near, down, (1 - p) * up + p * far)


@dataclass(eq=False)
class LaplacePower(Law):
    """Laplace(epsilon)^n by residues at z = 1/2, as oracle.laplace_power_delta but with 1/z for 1/(z (z-1)).

    Symmetric, so t >= 0 is enough. There are atoms at (n - 2j) epsilon, and a smooth density between them.
    """

    epsilon: mp.mpf
    n: int
    far: float
    inside: int

    @functools.cached_property
    def rows(self) -> list[list[int]]:
        """Coefficients of (v + 1)^(j-1) (v - 1)^(n-j), j = 1..n, v = 2z - 1, highest power first."""
        row = [(-1) ** k * math.comb(self.n - 1, k) for k in range(self.n)]
        result = [row]
        for _ in range(1, self.n):
            divided = list(accumulate(row))[:-1]  # by v - 1
            row = [a + b for a, b in zip([*divided, 0], [0, *divided], strict=True)]  # times v + 1
            result.append(row)
        return result

    def above(self, t: mp.mpf, *, closed: bool) -> mp.mpf:
        """P(L > t), or P(L >= t): (1/2 pi i) int M^n e^(-zt)/z dz; terms that fall to the right vanish."""
        total = mp.mpf(0)
        for j, row in enumerate(self.rows, 1):
            rate = (2 * j - self.n) * self.epsilon - t
            if rate > 0 or (closed and rate == 0):
                total += (
                    math.comb(self.n, j)
                    * mp.exp(rate / 2 - j * self.epsilon)
                    * self.coefficient(row, rate / 2)
                )
        return total / mp.mpf(2) ** self.n

    def coefficient(self, row: Sequence[int], half: mp.mpf) -> mp.mpf:
        """Coefficient of v^(n-1) in the row times e^(half v)."""
        total, term = mp.mpf(0), mp.mpf(1)
        for k, c in enumerate(row, 1):
            total += c * term
            term *= half / k
        return total

    def point(self, t: mp.mpf, *, closed: bool, digits: int) -> Point:
        """Reject L > t, or L >= t if ``closed``; Q(L <= t) = P(L >= -t)."""
        with mp.workdps(digits):
            alpha, beta = self.above(t, closed=closed), self.above(-t, closed=not closed)
            return Point(t, alpha, beta, 1 - alpha, 1 - beta)

    @functools.cache  # noqa: B019 - a handful of laws, each kept to the end
    def at(self, u: mp.mpf, *, again: bool = False) -> Point:
        return self.point(u, closed=False, digits=self.n + (80 if again else 60))

    def knots(self) -> list[mp.mpf]:
        with mp.workdps(self.n + 80):
            return [k * self.epsilon for k in range(self.n % 2, self.n, 2) if k * self.epsilon <= self.far]

    @functools.cache  # noqa: B019 - as above
    def vertices(self) -> Iterable[Point]:
        return [
            self.point(t, closed=closed, digits=self.n + 60) for t in self.knots() for closed in (False, True)
        ]

    def grids(self) -> Iterable[Sequence[mp.mpf]]:
        """Stay off the atoms: their two sides are vertices."""
        share = [(k + mp.mpf("1e-9")) / (self.inside + mp.mpf("2e-9")) for k in range(self.inside + 1)]
        return [[a + (b - a) * x for x in share] for a, b in pairwise(self.knots())]


@dataclass(eq=False)
class ByContour(Law):
    """Products without atoms, each threshold on the contour whose saddle point is nearest."""

    factors: contour.Factors
    deep: float
    size: int = 240
    step: float = 0.02

    @functools.cached_property
    def ladder(self) -> list[tuple[float, float]]:
        """(c, K'(c)) left of 0, between the poles, and right of 1, out to tails of about ``deep``."""
        left, right = (
            contour.saddle(self.factors, self.deep, reverse=reverse)[0] for reverse in (True, False)
        )
        spread = [
            -np.geomspace(max(-left, 0.5), 0.4, 4),
            [0.45],
            1 + np.geomspace(0.4, max(right - 1, 0.5), 4),
        ]
        return [(float(c), contour.derivatives(self.factors, float(c))[1]) for c in np.concatenate(spread)]

    def grids(self) -> Iterable[Sequence[mp.mpf]]:
        return [mp.linspace(self.ladder[0][1], self.ladder[-1][1], self.size)]

    @functools.cache  # noqa: B019 - as above
    def contours(self, k: int) -> tuple[contour.Contour, contour.Contour]:
        slopes = [slope for _, slope in self.ladder[max(k - 1, 0) : k + 2]]
        return contour.both_ways(self.factors, self.ladder[k][0], slopes, step=self.step)

    @functools.cache  # noqa: B019 - as above
    def at(self, u: mp.mpf, *, again: bool = False) -> Point:
        k = min(range(len(self.ladder)), key=lambda k: abs(self.ladder[k][1] - u))
        c, path = self.ladder[k][0], self.contours(k)[1 if again else 0]
        one, two = contour.type_one(path, u), contour.type_two(path, u)
        # Left of 0 type_one misses the pole and is -P(L <= t); right of 1 type_two is -Q(L > t).
        alpha, not_alpha = (one, 1 - one) if c > 0 else (1 + one, -one)
        beta, not_beta = (two, 1 - two) if c < 1 else (1 + two, -two)
        return Point(u, alpha, beta, not_alpha, not_beta)


def summits(law: Law, rises: Callable[[Point], bool]) -> Iterator[mp.mpf]:
    """Every local maximum that the grids show."""
    for grid in law.grids():
        signs = [rises(law.at(u)) for u in grid]
        for low, high, up, on in zip(grid, grid[1:], signs, signs[1:], strict=False):
            if up and not on:
                yield polished(law, rises, low, high)


def polished(law: Law, rises: Callable[[Point], bool], low: mp.mpf, high: mp.mpf) -> mp.mpf:
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(law.at(middle)) else (low, middle)
    return (low + high) / 2


def supremum(law: Law, d: mp.mpf) -> tuple[mp.mpf, Point, mp.mpf]:
    """mu, the point where it is decided, and how far two evaluations there are apart."""

    def rises(point: Point) -> bool:
        pair = quantiles(point, d)
        # Where alpha >= 1 - d nothing is required, and more is required at larger t.
        return (pair[0] ** 2 - pair[1] ** 2) / 2 > point.t if pair else point.not_alpha <= d

    tops = [(law.at(u), law.at(u, again=True)) for u in summits(law, rises)]
    pairs = [*tops, *((p, p) for p in law.vertices())]
    both = max(pairs, key=lambda pair: need(pair[0], d))
    return need(both[0], d), both[0], abs(need(both[0], d) - need(both[1], d))


def gap(point: Point, mu: mp.mpf, d: mp.mpf) -> mp.mpf:
    """(delta_g - delta_f)/(1 + e^t) for g = G_mu (x) f_{0,d}."""
    return (
        (d + (1 - d) * oracle.gaussian_delta(point.t, mu) - point.delta) / (1 + mp.exp(point.t))
        if mu
        else mp.mpf(0)
    )


def regret(law: Law, mu: mp.mpf, d: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """Largest gap, where it is."""

    def rises(point: Point) -> bool:
        alpha = (1 - d) * oracle.normal_cdf(-point.t / mu - mu / 2)
        return point.alpha - alpha > gap(point, mu, d)

    points = [*(law.at(u) for u in summits(law, rises)), *law.vertices()]
    best = max(points, key=lambda point: gap(point, mu, d))
    return max(gap(best, mu, d), mp.mpf(0)), best.t
