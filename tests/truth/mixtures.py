"""Pairs of normal mixtures: the best tests reject where a sum of exponentials is positive, and Rolle says
where that is.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from tests.truth.balls import Number, ball, cumulative, hull
from tests.truth.search import ROUNDS, Function, arithmetic, crossing, small
from tests.truth.spec import Spec

Weights = tuple[tuple[Number, Number], ...]
Row = tuple[Fraction, Fraction, Fraction]
Terms = list[tuple[arb, arb]]
"""Factors c and exponents m of a sum of c e^(m x), by rising m."""

FARTHEST = 100
"""Doublings after which the sign at infinity is given up."""


@dataclass(frozen=True)
class NormalMixtures(Spec):
    """sum p_i N(a_i, sigma^2) against sum q_i N(b_i, sigma^2), weights divided by their sum; no two means are
    one.

    Densities at x sigma are sums of p e^(m x - m^2/2) and q e^(m x - m^2/2), m = a/sigma, but for one factor.
    """

    null: Weights
    alternative: Weights
    sigma: Number

    def table(self) -> list[Row]:
        """Return means over sigma, rising, with the weights of P and Q."""
        sides = [
            {
                Fraction(a) / Fraction(self.sigma): Fraction(w) / sum(Fraction(v) for _, v in side)
                for a, w in side
            }
            for side in (self.null, self.alternative)
        ]
        rows = [(m, *(side.get(m, Fraction(0)) for side in sides)) for m in sorted({*sides[0], *sides[1]})]
        return [(m, p, q) for m, p, q in rows if p or q]

    def stick(self, s: arb) -> arb:
        """A test with ends beside the best ones is worse by the integral of |q - s p| between them."""
        terms = [(ball(q - p) + (1 - s) * ball(p), ball(m)) for m, p, q in self.table()]
        terms = [(c, m) for c, m in terms if not c.is_zero()]
        if not terms or any(c.contains(0) for c, _ in terms):
            return arb.nan() if terms else arb(0)
        ends = zeros([(c * (-(m**2) / 2).exp(), m) for c, m in terms])
        inner = [sum((c * cumulative(m - x.mid()) for c, m in terms), start=arb(0)) for x in ends]
        gain = [a - b for a, b in itertools.pairwise([1 - s, *inner, arb(0)])]
        found = sum(gain[0 if terms[0][0] > 0 else 1 :: 2], start=arb(0))
        root = (2 * arb.pi()).sqrt()
        worse = [x.rad() * abs(sum(c * (-((x - m) ** 2) / 2).exp() for c, m in terms)) / root for x in ends]
        return hull(found, found + sum(worse, start=arb(0)))

    def curve(self, alpha: arb) -> arb:
        """Thresholds are best where q/p is monotone in the mean, and f' = -q/p there; else by duality."""
        table = self.table()
        if rising(table[::-1]):
            table = [(-m, p, q) for m, p, q in table[::-1]]
        elif not rising(table):
            return super().curve(alpha)
        mass = [(ball(p), ball(q), ball(m)) for m, p, q in table]
        t = crossing(lambda x: sum((p * cumulative(m - x) for p, _, m in mass), start=arb(0)), alpha)
        at = sum((p * cumulative(m - t.mid()) for p, _, m in mass), start=arb(0))
        beta = sum((q * cumulative(t.mid() - m) for _, q, m in mass), start=arb(0))
        weights = [(p, q, (m * t - m**2 / 2).exp()) for p, q, m in mass]
        slope = sum(q * w for _, q, w in weights) / sum(p * w for p, _, w in weights)
        return beta - slope * (alpha - at)

    def losses(self) -> tuple[arb, arb]:
        """Return the limits of log q/p where it is monotone; else only infinities are known."""
        table = self.table()
        ends = [log_ratio(*table[k][1:]) for k in (0, -1)]
        if rising(table) or rising(table[::-1]):
            return (ends[0], ends[1]) if rising(table) else (ends[1], ends[0])
        low, high = arb.neg_inf(), arb.pos_inf()
        return low if low in ends else arb.nan(), high if high in ends else arb.nan()


def rising(table: list[Row]) -> bool:
    """Whether q/p never falls along the rows."""
    return all(q * b <= d * p for (_, p, q), (_, b, d) in itertools.pairwise(table))


def log_ratio(p: Fraction, q: Fraction) -> arb:
    """Return log q/p, at the ends too."""
    return ball(q / p).log() if p and q else arb.pos_inf() if q else arb.neg_inf()


def zeros(terms: Terms) -> list[arb]:
    """Enclose the zeros of sum c e^(m x), m rising, all simple.

    Divided by its first term it is monotone between the zeros of its derivative, a sum of one term less.
    """
    (first, least), *rest = terms
    if not rest:
        return []

    def g(x: arb) -> arb:
        return first + sum((c * ((m - least) * x).exp() for c, m in rest), start=arb(0))

    turns = zeros([(c * (m - least), m) for c, m in rest])
    low, high = (turns[0].lower(), turns[-1].upper()) if turns else (arb(0), arb(0))
    marks = [beyond(g, first, low, -1), *turns, beyond(g, rest[-1][0], high, 1)]
    found = []
    for a, b in itertools.pairwise(marks):
        if g(a) * g(b) < 0:
            found.append(zero(g, a.upper(), b.lower()))
        elif not g(a) * g(b) > 0:
            raise ArithmeticError("two zeros that balls do not tell apart")
    return found


def beyond(g: Function, sign: arb, start: arb, step: int) -> arb:
    """Return a place on that side of ``start`` where g has its sign at infinity."""
    places = (start + step * arb(2) ** k for k in range(FARTHEST))
    found = next((x for x in places if g(x) * sign > 0), None)
    if found is None:
        raise ArithmeticError("a zero too far away")
    return found


def zero(g: Function, low: arb, high: arb) -> arb:
    """Enclose the one zero of a monotone g."""
    sign = g(high)
    for _ in range(ROUNDS):
        x = arithmetic(low, high)
        value = g(x) * sign
        if value < 0:
            low = x
        elif value > 0:
            high = x
        if small(high - low, x) or not (value < 0 or value > 0):
            break
    return hull(low, high)
