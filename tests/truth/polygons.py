"""Piecewise-linear curves in fractions: hulls, maxima, inverses, all exact."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tests.truth.atoms import Atomic, Law
from tests.truth.balls import ball

Vertex = tuple[Fraction, Fraction]


def hull(vertices: Iterable[Vertex]) -> list[Vertex]:
    """Return the lower convex hull, cut off where it reaches 0."""
    result: list[Vertex] = []
    for a, b in sorted(set(vertices)):
        if result and result[-1][0] == a:  # the lower of two on one vertical comes first
            continue
        while len(result) > 1 and _above(result[-2], result[-1], (a, b)):
            result.pop()
        result.append((a, b))
    stop = next(k for k, (_, b) in enumerate(result) if b == 0)
    return result[: stop + 1]


def of_weights(weights: Iterable[tuple[int, int]], plus: int, minus: int) -> list[Vertex]:
    """Return the vertices of T(P, Q) of integer weights (p, q) of atoms, and of Q at inf and P at -inf."""
    weights = sorted(weights, key=lambda pq: Fraction(pq[1], pq[0]), reverse=True)
    p_total, q_total = sum(p for p, _ in weights) + minus, sum(q for _, q in weights) + plus
    steps = ((Fraction(p, p_total), -Fraction(q, q_total)) for p, q in weights)
    start = Fraction(0), 1 - Fraction(plus, q_total)
    return list(itertools.accumulate(steps, lambda at, by: (at[0] + by[0], at[1] + by[1]), initial=start))


def _above(left: Vertex, mid: Vertex, right: Vertex) -> bool:
    return (mid[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (mid[0] - left[0])


@dataclass(frozen=True)
class Polygon(Atomic):
    """Curve with these vertices (numbers taken as they are): its segments are the atoms."""

    across: tuple[float | Fraction, ...]
    down: tuple[float | Fraction, ...]

    @property
    def vertices(self) -> list[Vertex]:
        """Vertices in fractions, in convex position."""
        return hull(
            (Fraction(a), min(Fraction(b), 1 - Fraction(a)))
            for a, b in zip(self.across, self.down, strict=True)
        )

    def make(self) -> Law:
        points = self.vertices
        pairs = [(ball(a1 - a0), ball(b0 - b1)) for (a0, b0), (a1, b1) in itertools.pairwise(points)]
        return Law(pairs, ball(1 - points[0][1]), ball(1 - points[-1][0]))

    def at(self, alpha: Fraction) -> Fraction:
        """Return f(alpha), exactly."""
        points = self.vertices
        for (a0, b0), (a1, b1) in itertools.pairwise(points):
            if alpha <= a1:
                return b0 + (b1 - b0) * (alpha - a0) / (a1 - a0)
        return Fraction(0)

    def inverse(self) -> Polygon:
        """Return T(Q, P)."""
        return of((b, a) for a, b in self.vertices)

    def minimum(self, other: Polygon) -> Polygon:
        """Return the hull of min{f, g}."""
        return of([*self.vertices, *other.vertices])

    def maximum(self, other: Polygon) -> Polygon:
        """Return max{f, g}: corners of both and their crossings."""
        alpha = sorted({a for a, _ in self.vertices} | {a for a, _ in other.vertices} | {Fraction(1)})
        gap = [self.at(a) - other.at(a) for a in alpha]
        cuts = [
            a0 + (a1 - a0) * g0 / (g0 - g1)
            for a0, a1, g0, g1 in zip(alpha, alpha[1:], gap, gap[1:], strict=False)
            if g0 * g1 < 0
        ]
        return of((a, max(self.at(a), other.at(a))) for a in [*alpha, *cuts])


@dataclass(frozen=True)
class Hull(Polygon):
    """Greatest curve below these points and 1 - alpha."""

    @property
    def vertices(self) -> list[Vertex]:
        """Corners of the hull."""
        points = zip(map(Fraction, self.across), map(Fraction, self.down), strict=True)
        return hull([*points, (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))])


def of(vertices: Iterable[Vertex]) -> Polygon:
    """Return the polygon of the hull of these vertices and (1, 0)."""
    points = hull([*vertices, (Fraction(1), Fraction(0))])
    return Polygon(tuple(a for a, _ in points), tuple(b for _, b in points))
