"""Pairs of normal mixtures: the best tests reject where a sum of exponentials is positive, in
as many intervals as the theorem of Rolle allows.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from tests.truth.balls import Number, ball, cumulative, hull
from tests.truth.search import ROUNDS, Function, crossing, small
from tests.truth.spec import Spec

Row = tuple[Fraction, Fraction | int, Fraction | int]
Terms = list[tuple[arb, arb]]
"""Factors c and exponents m of a sum of c e^(m x), by rising m."""

BESIDE = arb(4999) / 10000
"""Where intervals are cut: halves would meet zeros that are short in binary, which balls cannot place."""

FARTHEST = 100
"""Doublings after which the sign at infinity is given up."""


@dataclass(frozen=True)
class NormalMixtures(Spec):
    """sum p_i N(a_i, sigma^2) against sum q_i N(b_i, sigma^2), weights divided by their sum, means distinct.

    Densities at x sigma are sums of p e^(m x - m^2/2) and q e^(m x - m^2/2), m = a/sigma, but for one factor.
    """

    null: tuple[tuple[Number, Number], ...]
    alternative: tuple[tuple[Number, Number], ...]
    sigma: Number

    def table(self) -> list[Row]:
        """Return means over sigma, rising, with the weights of P and Q."""
        p, q = ({Fraction(a): Fraction(w) for a, w in side} for side in (self.null, self.alternative))
        p, q = ({a: w / sum(side.values()) for a, w in side.items() if w} for side in (p, q))
        return [(a / Fraction(self.sigma), p.get(a, 0), q.get(a, 0)) for a in sorted({*p, *q})]

    def best(self, s: arb) -> tuple[Terms, list[arb], int]:
        """Return q - s p as a sum over means, its zeros, and which of the pieces between them is the first
        where it is positive."""
        rows = [((1 - s) * ball(p) if p == q else ball(q) - s * ball(p), ball(m)) for m, p, q in self.table()]
        terms = [(c, m) for c, m in rows if not c.is_zero()]
        if any(c.contains(0) for c, _ in terms):
            raise ArithmeticError("a factor without a sign")
        ends = zeros([(c * (-(m**2) / 2).exp(), m) for c, m in terms])
        return terms, ends, 0 if terms and terms[0][0] > 0 else 1

    def tails(self, s: arb) -> tuple[arb, arb]:
        """Return Q(L > log s) and P(L > log s)."""
        _, *where = self.best(s)
        p, q = (inside([(ball(row[k]), ball(row[0])) for row in self.table()], *where) for k in (1, 2))
        return q, p

    def stick(self, s: arb) -> arb:
        """A test with ends next to the best ones is worse by the integral of |q - s p| between them."""
        terms, ends, first = self.best(s)
        root = (2 * arb.pi()).sqrt()
        worse = [x.rad() * abs(sum(c * (-((x - m) ** 2) / 2).exp() for c, m in terms)) / root for x in ends]
        result = inside(terms, [x.mid() for x in ends], first)
        return hull(result, result + sum(worse, start=arb(0)))

    def curve(self, alpha: arb) -> arb:
        """f is the largest 1 - h(s) - s alpha, which rises by P(q > s p) - alpha in s."""

        def rejected(x: arb) -> arb:
            return self.tails(x.exp())[1]

        x = crossing(rejected, alpha)
        s, moved = x.mid().exp(), (x.upper().exp() - x.lower().exp())
        result = 1 - self.stick(s) - s * alpha
        return hull(result, result + moved * (rejected(x.lower()) - rejected(x.upper())))

    def losses(self) -> tuple[arb, arb]:
        """Return the limits of log q/p where it is monotone; else they are not known."""
        table = self.table()
        first, last = (log_ratio(*table[k][1:]) for k in (0, -1))
        if rising(table):
            return first, last
        return (last, first) if rising(table[::-1]) else (arb.nan(), arb.nan())


def rising(table: list[Row]) -> bool:
    """Whether q/p never falls along the rows."""
    return all(q * b <= d * p for (_, p, q), (_, b, d) in itertools.pairwise(table))


def log_ratio(p: Fraction | int, q: Fraction | int) -> arb:
    """Return log q/p, at the ends too."""
    return ball(q / p).log() if p and q else arb.pos_inf() if q else arb.neg_inf()


def inside(terms: Terms, ends: list[arb], first: int) -> arb:
    """Return the mass of sum c N(m, 1) in every second piece between the ends."""
    tails = [sum((c * cumulative(m - x) for c, m in terms), start=arb(0)) for x in ends]
    whole = sum((c for c, _ in terms), start=arb(0))
    gain = [a - b for a, b in itertools.pairwise([whole, *tails, arb(0)])]
    return sum(gain[first::2], start=arb(0))


def zeros(terms: Terms) -> list[arb]:
    """Enclose the zeros of sum c e^(m x), m rising, all simple.

    Divided by its first term it is monotone between the zeros of its derivative, a sum of one term less.
    """
    if len(terms) < 2:
        return []
    (first, least), *rest = terms

    def g(x: arb) -> arb:
        return first + sum((c * ((m - least) * x).exp() for c, m in rest), start=arb(0))

    turns = zeros([(c * (m - least), m) for c, m in rest])
    low, high = (turns[0].lower(), turns[-1].upper()) if turns else (arb(0), arb(0))
    marks = [zero_outside(g, first, low, -1), *turns, zero_outside(g, rest[-1][0], high, 1)]
    result = []
    for a, b in itertools.pairwise(marks):
        if g(a) * g(b) < 0:
            result.append(zero(g, a.upper(), b.lower()))
        elif not g(a) * g(b) > 0:
            raise ArithmeticError("two zeros that balls do not separate")
    return result


def zero_outside(g: Function, sign: arb, start: arb, step: int) -> arb:
    """Return a place on that side of ``start`` where g has its sign at infinity."""
    for k in range(FARTHEST):
        x = start + step * arb(2) ** k
        if g(x) * sign > 0:
            return x
    raise ArithmeticError("a zero too far away")


def zero(g: Function, low: arb, high: arb) -> arb:
    """Enclose the one zero of a monotone g."""
    sign = g(high)
    for _ in range(ROUNDS):
        x = (low + (high - low) * BESIDE).mid()
        value = g(x) * sign
        if value < 0:
            low = x
        elif value > 0:
            high = x
        if small(high - low, x) or not (value < 0 or value > 0):
            break
    return hull(low, high)
