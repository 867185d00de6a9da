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

    def best(self, s: arb) -> tuple[Terms, list[arb], int]:
        """Return q - s p as a sum over means, its zeros, and which of the pieces between them is the first
        where it is positive."""
        terms = [(ball(q - p) + (1 - s) * ball(p), ball(m)) for m, p, q in self.table()]
        terms = [(c, m) for c, m in terms if not c.is_zero()]
        if any(c.contains(0) for c, _ in terms):
            raise ArithmeticError("a factor without a sign")
        ends = zeros([(c * (-(m**2) / 2).exp(), m) for c, m in terms])
        return terms, ends, 0 if terms and terms[0][0] > 0 else 1

    def stick(self, s: arb) -> arb:
        """A test with ends beside the best ones is worse by the integral of |q - s p| between them."""
        terms, ends, first = self.best(s)
        root = (2 * arb.pi()).sqrt()
        worse = [x.rad() * abs(sum(c * (-((x - m) ** 2) / 2).exp() for c, m in terms)) / root for x in ends]
        found = inside(terms, [x.mid() for x in ends], first)
        return hull(found, found + sum(worse, start=arb(0)))

    def curve(self, alpha: arb) -> arb:
        """f is the largest 1 - h(s) - s alpha, which rises by P(q > s p) - alpha in s.

        Where q/p is monotone in the mean, thresholds are best, and f' = -q/p there.
        """
        rows = self.table()
        turned = [(-m, p, q) for m, p, q in rows[::-1]]
        if rising(rows) or rising(turned):
            return by_threshold(rows if rising(rows) else turned, alpha)
        null = [(ball(p), ball(m)) for m, p, _ in rows]

        def rejected(x: arb) -> arb:
            return inside(null, *self.best(x.exp())[1:])

        x = crossing(rejected, alpha)
        s, moved = x.mid().exp(), (x.upper().exp() - x.lower().exp())
        found = 1 - self.stick(s) - s * alpha
        return hull(found, found + moved * (rejected(x.lower()) - rejected(x.upper())))

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


def inside(terms: Terms, ends: list[arb], first: int) -> arb:
    """Return the mass of sum c N(m, 1) in every second piece between the ends."""
    beyond = [sum((c * cumulative(m - x) for c, m in terms), start=arb(0)) for x in ends]
    whole = sum((c for c, _ in terms), start=arb(0))
    gain = [a - b for a, b in itertools.pairwise([whole, *beyond, arb(0)])]
    return sum(gain[first::2], start=arb(0))


def by_threshold(rows: list[Row], alpha: arb) -> arb:
    """Return Q(X <= t) where P(X > t) = alpha, to second order in the error of t."""
    null, other = ([(ball(row[k]), ball(row[0])) for row in rows] for k in (1, 2))
    t = crossing(lambda x: inside(null, [x], 1), alpha)
    q, p = (sum(w * (m * t - m**2 / 2).exp() for w, m in side) for side in (other, null))
    return inside(other, [t.mid()], 0) - q / p * (alpha - inside(null, [t.mid()], 1))


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
