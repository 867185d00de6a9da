"""Laws X and X + theta on the line, in balls: e_0 = p(x) and e_1 = p(x - theta) are the terms of a part.

As p is log-concave e_1/e_0 rises along the line: losses above one are a ray, whose masses are tails of X.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from flint import acb, arb, ctx

from tradeoff.certificates.verify.balls import Pair, dot, greatest
from tradeoff.certificates.verify.parts import Nodes, Part
from tradeoff.errors import VerificationError

Cut = tuple[Pair, Pair]  # masses of both terms where e_1 > r e_0, and where not

# Steps of Newton: fewer than ten, and for powers up to 100 a hundredth of the way each at first.
_MOST_STEPS = 1000

_NOTHING, _EVERY, _UNKNOWN = ((each, each) for each in (arb(0), arb(1), arb(0).union(arb(1))))


@dataclass(frozen=True)
class Noise(ABC):
    """The law of X, and its shift."""

    theta: arb

    @abstractmethod
    def cut(self, r: arb) -> Cut:
        """Cut at a ratio r > 0."""

    def limits(self, bits: int | None = None) -> Cut:
        """Return e_0 and e_1, up to a factor, where e_1/e_0 is least, and where it is largest.

        With bits: where all but about 2^-bits of the mass lies between.
        """
        return (self.theta.exp(), arb(1)), (arb(1), self.theta.exp())

    def ratio(self, v: acb) -> acb:
        """Return e_1/e_0 where P(X > x) = v."""
        raise VerificationError("laws: of this noise no moments are proved", "laws")


@dataclass(frozen=True)
class Logistic(Noise):
    """P(X > x) = u/(1 + u), u = e^-x, and e_1/e_0 = e^theta ((1 + u)/(1 + e^theta u))^2."""

    def cut(self, r: arb) -> Cut:
        u, one = _quotient(self.theta, r.sqrt())
        grown = self.theta.exp() * u
        return (u / (u + one), grown / (grown + one)), (one / (u + one), one / (grown + one))

    def ratio(self, v: acb) -> acb:
        return self.theta.exp() / (1 + self.theta.expm1() * v) ** 2


@dataclass(frozen=True)
class HyperbolicSecant(Noise):
    """P(X > x) = 2/pi arctan e^-x, and with u = e^-2x e_1/e_0 = e^theta (1 + u)/(1 + e^(2 theta) u)."""

    def cut(self, r: arb) -> Cut:
        u, one = (_root(each) for each in _quotient(2 * self.theta, r))
        grown, share = self.theta.exp() * u, 2 / arb.pi()
        above = share * arb.atan2(u, one), share * arb.atan2(grown, one)
        return above, (share * arb.atan2(one, u), share * arb.atan2(one, grown))

    def ratio(self, v: acb) -> acb:
        return self.theta.exp() / (1 + (2 * self.theta).expm1() * (v * acb.pi() / 2).sin() ** 2)


def _quotient(theta: arb, w: arb) -> Pair:
    """Return u and its denominator, w = e^(theta/2) (1 + u)/(1 + e^theta u): u = 0 at the most, inf below."""
    root = (theta / 2).exp()
    return (root - w).max(arb(0)), (root * (w * root - 1)).max(arb(0))


def _root(x: arb) -> arb:
    """Return the root of what is not negative, though its ball may be in part."""
    return x.sqrt() if x >= 0 else arb(0).union(x.upper().sqrt())


@dataclass(frozen=True)
class Gumbel(Noise):
    """P(X <= x) = e^-u, u = e^-x, and log e_1/e_0 = theta - (e^theta - 1) u."""

    def cut(self, r: arb) -> Cut:
        u = (self.theta - r.log()).max(arb(0)) / self.theta.expm1()
        each = u, u * self.theta.exp()
        above, below = [-(-v).expm1() for v in each], [(-v).exp() for v in each]
        return (above[0], above[1]), (below[0], below[1])

    def limits(self, bits: int | None = None) -> Cut:
        least = arb(0) if bits is None else (self.theta - self.theta.expm1() * bits).exp()
        return (arb(1), least), (arb(1), self.theta.exp())


@dataclass(frozen=True)
class GeneralisedNormal(Noise):
    """Density proportional to e^-|x|^power, power > 1; log e_1/e_0 = |x|^power - |x - theta|^power rises."""

    power: arb

    def cut(self, r: arb) -> Cut:
        loss = r.log()
        right = self._place(abs(loss))
        left = self.theta - right  # the loss is odd about theta/2
        x = right if loss >= 0 else left if loss <= 0 else left.union(right)
        y = x - self.theta
        return (self._over(x), self._over(y)), (self._over(-x), self._over(-y))

    def limits(self, bits: int | None = None) -> Cut:
        if bits is None:
            return (arb(1), arb(0)), (arb(0), arb(1))
        most = self._loss(arb(bits) ** (1 / self.power) + self.theta)
        return (most.exp(), arb(1)), (arb(1), most.exp())

    def _over(self, x: arb) -> arb:
        """Return P(X > x)."""
        if x >= 0 or x <= 0:
            tail = _powered(x, self.power).gamma_upper(1 / self.power, regularized=1) / 2
            return tail if x >= 0 else 1 - tail
        return self._over(x.lower()).union(self._over(x.upper())) if x.is_finite() else arb("nan")

    def _loss(self, x: arb) -> arb:
        return _powered(x, self.power) - _powered(x - self.theta, self.power)

    def _place(self, loss: arb) -> arb:
        """Return a ball around x >= theta/2 with this loss >= 0, by Newton and signs on either side.

        The slope is between those that give |x - theta| and x the power - 1; the loss bends upwards if that
        is above 1, else downwards, so that steps from the right, or from the left, do not pass it.
        """
        less, goal, theta = self.power - 1, loss.mid(), self.theta.mid()
        x = (goal / (theta * self.power)) ** (1 / less)
        x = x + theta if less >= 1 else x.max(theta / 2)
        for _ in range(_MOST_STEPS):
            x, away = x.mid(), x.mid() - theta
            slope = x**less + _powered(away, less) * (-1 if away > 0 else 1)
            step = (self._loss(x) - goal) / (self.power * slope)
            x = x - step
            if abs(step) < x * arb(2) ** (-ctx.prec // 2):
                break
        x = x.mid()
        for k in range(ctx.prec):
            off = x * arb(2) ** (8 + k - ctx.prec)
            if self._loss(x - off) < loss < self._loss(x + off):
                return (x - off).union(x + off)
        return arb("nan")


def _powered(x: arb, power: arb) -> arb:
    """Return |x|^power, of a ball around 0 as well."""
    size = abs(x)
    return size**power if size > 0 or size.is_zero() else arb(0).union(size.upper() ** power)


@dataclass(frozen=True)
class Shift(Part):
    """A law and its shift."""

    noise: Noise

    def masses(self, x: arb) -> Cut:
        g, h = (b - x.exp() * a for a, b in zip(self.p, self.q, strict=True))
        if (g <= 0 and h <= 0) or (g >= 0 and h >= 0):
            above, below = (_NOTHING, _EVERY) if g <= 0 and h <= 0 else (_EVERY, _NOTHING)
        elif g < 0 < h:
            above, below = self.noise.cut(-g / h)
        elif h < 0 < g:
            below, above = self.noise.cut(-g / h)
        else:
            above = below = _UNKNOWN
        return (dot(self.p, above), dot(self.q, above)), (dot(self.p, below), dot(self.q, below))

    def losses(self, bits: int | None = None) -> list[arb]:
        """Return the losses at both limits of the ratio, between which L lies."""
        pairs = [(dot(self.p, each), dot(self.q, each)) for each in self.noise.limits(bits)]
        return [
            -arb.pos_inf() if q.is_zero() else arb.pos_inf() if p.is_zero() else (q / p).log()
            for p, q in pairs
        ]

    def top(self) -> arb:
        return greatest(self.losses())

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        raise VerificationError("laws: no lattice decides this, and a shifted law has no transform", "laws")
