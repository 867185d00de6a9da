"""Laws with finitely many likelihood ratios: everything is a finite sum over pairs of masses (p, q).

delta(eps) = Q(inf) + sum (q - e^eps p)_+, and with A_k, B_k the P- and Q-masses of the k largest ratios

    delta(eps) = max_k {Q(inf) + B_k - e^eps A_k},
    eps(delta) = max_k log((Q(inf) + B_k - delta)/A_k),
    f(alpha)   = max over the ratios r_k of {1 - Q(inf) - B_k - r_k (alpha - A_k)}.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb

from flint import arb, arb_poly, ctx, fmpz

from tests.truth.balls import Number, ball, hull, positive, refined
from tests.truth.spec import Spec

Pair = tuple[arb, arb]

MOST = 40_000
"""Atoms that are summed at most; above, a description is refused as too large."""


class TooMany(ValueError):  # noqa: N818 - names the problem
    """More atoms than the oracle sums."""


class Law:
    """Atoms with finite losses by decreasing ratio, and the masses at both infinities."""

    def __init__(self, pairs: Iterable[Pair], at_plus: arb, at_minus: arb, *, even: bool = False) -> None:
        self.pairs = sorted(pairs, key=_place, reverse=True)
        self.at_plus, self.at_minus, self.even = at_plus, at_minus, even
        zero = (arb(0), arb(0))
        self.sums = list(accumulate(self.pairs, lambda a, b: (a[0] + b[0], a[1] + b[1]), initial=zero))

    def stick(self, s: arb) -> arb:
        total = self.at_plus
        for p, q in self.pairs:
            gain = q - s * p
            total += positive(gain)
            if gain < 0:  # and so are all that follow
                break
        return total

    def curve(self, alpha: arb) -> arb:
        best = arb(0)
        for (p, q), (a, b) in zip(self.pairs, self.sums, strict=False):
            best = best.max(1 - self.at_plus - b - q / p * (alpha - a))
            if a > alpha:
                break
        return best

    def least(self, level: arb) -> arb:
        best = arb.neg_inf()
        for a, b in self.sums[1:]:
            rise = self.at_plus + b - level
            if rise > 0:
                best = best.max((rise / a).log())
            elif not rise < 0:
                best = hull(best, (rise.upper() / a).log()) if best.is_finite() else arb.nan()
        return best

    def losses(self) -> Pair:
        if not self.pairs:
            return arb.nan(), arb.nan()
        (p, q), (r, s) = self.pairs[-1], self.pairs[0]
        return (q / p).log(), (s / r).log()

    def divergence(self, order: arb) -> arb:
        """Enclose the Renyi divergence D_a(P || Q): infinite where P has mass at -inf and a >= 1."""
        if order >= 1 and not self.at_minus.is_zero():
            return arb.pos_inf() if self.at_minus > 0 else arb.nan()
        if order == 1:
            return sum((p * (p / q).log() for p, q in self.pairs), start=arb(0))
        moment = sum((p * (p / q) ** (order - 1) for p, q in self.pairs), start=arb(0))
        return moment.log() / (order - 1) if self.pairs else arb.pos_inf()

    def fold(self, rate: arb) -> Law | None:
        """Return the law of C_p of a symmetric law: f_p's atoms above 0, their mirror images, the rest at 0.

        The rest is (1 - p) delta(0) + P(L = 0). None where balls do not decide on which side of 0 an atom is.
        """
        above = [(p, q) for p, q in self.pairs if q > p]
        level = [p for p, q in self.pairs if p is q or p == q]
        if len(above) + len(level) + sum(bool(q < p) for p, q in self.pairs) < len(self.pairs):
            return None
        thinned = [(p, p + rate * (q - p)) for p, q in above]
        rest = (1 - rate) * (sum((q - p for p, q in above), start=self.at_plus)) + sum(level, start=arb(0))
        middle = [] if rest == 0 else [(rest, rest)]
        lost = rate * self.at_plus
        return Law([*thinned, *middle, *((q, p) for p, q in thinned)], lost, lost)

    def reverse(self) -> Law:
        return Law([(q, p) for p, q in self.pairs], self.at_minus, self.at_plus)

    def thin(self, rate: arb) -> Law:
        """Return the law of T(P, (1 - p) P + p Q).

        What had no mass under Q keeps 1 - p of its mass under P.
        """
        pairs = [(p, (1 - rate) * p + rate * q) for p, q in self.pairs]
        lost = [(self.at_minus, (1 - rate) * self.at_minus)] if self.at_minus > 0 and rate < 1 else []
        return Law(pairs + lost, rate * self.at_plus, arb(0) if lost else self.at_minus)

    def power(self, n: int) -> Law:
        """Return n independent rounds: powers of polynomials if the losses are evenly spaced, else
        multinomials over the distinct atoms."""
        size = len(self.pairs)
        if n == 1:
            return self
        if self.even and n * size <= MOST:
            powers = (list(arb_poly([pair[side] for pair in self.pairs]) ** n) for side in (0, 1))
            return Law(zip(*powers, strict=True), lost(self.at_plus, n), lost(self.at_minus, n), even=True)
        if comb(n + size - 1, n) > MOST:
            raise TooMany(f"{size} atoms to the power {n}")
        pairs = list(_multinomial(self.pairs, n))
        return Law(pairs, lost(self.at_plus, n), lost(self.at_minus, n))

    def times(self, other: Law) -> Law:
        if len(self.pairs) * len(other.pairs) > MOST:
            raise TooMany(f"{len(self.pairs)} times {len(other.pairs)} atoms")
        pairs = [(p * r, q * s) for p, q in self.pairs for r, s in other.pairs]
        return Law(
            pairs,
            *(a + b - a * b for a, b in ((self.at_plus, other.at_plus), (self.at_minus, other.at_minus))),
        )


def _place(pair: Pair) -> arb:
    """Return the ratio q/p; masses that may be nothing have none, and come first, where no sum has ended."""
    ratio = pair[1] / pair[0]
    return ratio.mid() if ratio.is_finite() else arb.pos_inf()


def lost(mass: arb, n: int) -> arb:
    """Return 1 - (1 - mass)^n."""
    return -(fmpz(n) * (-mass).log1p()).expm1() if mass < 1 else arb(1)


def _multinomial(pairs: list[Pair], n: int) -> Iterable[Pair]:
    """Yield the masses n!/(n_1! ... n_k!) prod p_i^n_i of all counts that add to n."""
    if not pairs:
        return
    if len(pairs) == 1:
        (p, q) = pairs[0]
        yield p ** fmpz(n), q ** fmpz(n)
        return
    *rest, (p, q) = pairs
    ways, to_p, to_q = arb(1), arb(1), arb(1)
    for k in range(n + 1):
        for a, b in _multinomial(rest, n - k):
            yield ways * to_p * a, ways * to_q * b
        ways, to_p, to_q = ways * (n - k) / (k + 1), to_p * p, to_q * q


class Atomic(Spec):
    """A description that has a ``Law``."""

    def make(self) -> Law:
        """Build the law at the precision of the moment."""
        raise NotImplementedError

    @property
    def law(self) -> Law:
        """The law at the precision of the moment, remembered."""
        return _law(self, ctx.prec)

    def stick(self, s: arb) -> arb:
        return self.law.stick(s)

    def curve(self, alpha: arb) -> arb:
        return self.law.curve(alpha)

    def least(self, level: arb) -> arb:
        return self.law.least(level)

    def masses(self) -> Pair:
        return self.law.at_plus, self.law.at_minus

    def losses(self) -> Pair:
        return self.law.losses()

    @refined
    def renyi(self, order: Number) -> arb:
        """Enclose D_a(P || Q), a in (0, inf]; TooMany where there is a density."""
        if self.law is None:
            raise TooMany("a density")
        if order != float("inf"):
            return self.law.divergence(ball(order))
        least, lost = self.law.losses()[0], self.law.at_minus
        return -least if lost == 0 else arb.pos_inf() if lost > 0 else arb.nan()


@lru_cache(maxsize=64)
def _law(spec: Atomic, bits: int) -> Law:  # noqa: ARG001 - part of the key of the cache
    return spec.make()


@dataclass(frozen=True)
class PureDP(Atomic):
    """f_{eps,0}: P = (1, e^eps)/(1 + e^eps), Q the other way round."""

    epsilon_0: Number

    def make(self) -> Law:
        small = 1 / (1 + ball(self.epsilon_0).exp())
        return Law(
            [(small, 1 - small), (1 - small, small)] if self.epsilon_0 else [(arb(1), arb(1))],
            arb(0),
            arb(0),
            even=True,
        )


@dataclass(frozen=True)
class TotalVariation(Atomic):
    """f_{0,delta}: with probability delta everything is revealed, else nothing."""

    mass: Number

    def make(self) -> Law:
        d = ball(self.mass)
        return Law([(1 - d, 1 - d)], d, d)


@dataclass(frozen=True)
class DiscreteLaplace(Atomic):
    """Integer noise with pmf (1 - r)/(1 + r) r^|x|, r = e^(-1/scale), against its shift by s.

    There are s + 1 ratios.
    """

    scale: Number
    shift: int = 1

    def make(self) -> Law:
        s, r = self.shift, (-1 / ball(self.scale)).exp()
        end, inner = r**s / (1 + r), [(1 - r) / (1 + r) * r**j for j in range(1, s)]
        p = [1 / (1 + r), *inner, end]  # P(x <= 0), P(x = 1), ..., P(x >= s)
        return Law(zip(p, reversed(p), strict=True), arb(0), arb(0), even=True)


@dataclass(frozen=True)
class DiscreteGaussian(Atomic):
    """Integer noise with pmf proportional to e^(-x^2/(2 sigma^2)) against its shift by s.

    Tails beyond 2^-prec are a ball.
    """

    sigma: Number
    shift: int = 1

    def make(self) -> Law:
        sigma, s = ball(self.sigma), self.shift
        reach = int(float((sigma * (arb(ctx.prec + 64) * 2 * arb(2).log()).sqrt()).upper())) + 2
        if reach > MOST // 4:
            raise TooMany(f"a discrete Gaussian of sigma {self.sigma}")
        weight = {x: (-((ball(x) / sigma) ** 2) / 2).exp() for x in range(reach + s + 1)}
        cut = weight[reach] / (1 - (-(arb(reach) / sigma**2)).exp())  # a geometric series holds the tail
        total = (
            weight[0] + 2 * sum((weight[x] for x in range(1, reach)), start=arb(0)) + hull(arb(0), 2 * cut)
        )
        pairs = [(weight[abs(x)] / total, weight[abs(x - s)] / total) for x in range(1 - reach, reach + s)]
        rest = hull(arb(0), cut / total)
        return Law(pairs, rest, rest, even=True)

    def losses(self) -> Pair:
        return arb.neg_inf(), arb.pos_inf()


@dataclass(frozen=True)
class Masses(Atomic):
    """Two laws on finitely many outcomes, each divided by its sum, exactly."""

    p: tuple[Number, ...]
    q: tuple[Number, ...]

    def make(self) -> Law:
        p, q = ([Fraction(x) / sum(map(Fraction, side)) for x in side] for side in (self.p, self.q))
        both = list(zip(p, q, strict=True))
        ends = sum(b for a, b in both if a == 0), sum(a for a, b in both if b == 0)
        return Law([(ball(a), ball(b)) for a, b in both if a and b], *map(ball, ends))
