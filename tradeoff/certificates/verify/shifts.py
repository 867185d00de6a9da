"""Laws X and X + theta on the line, in balls: e_0 = p(x) and e_1 = p(x - theta) are the terms of a part.

As p is log-concave e_1/e_0 rises along the line: losses above one are a ray, whose masses are tails of X.

Where two Laplace laws overlap they have a density on an interval; its transform has a rule, or a closed form.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from flint import acb, arb, ctx

from tradeoff.certificates.verify.balls import Pair, dot, greatest
from tradeoff.certificates.verify.parts import MOST, Density, Nodes, Part
from tradeoff.certificates.verify.report import require
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


RULE = 40  # nodes of a Gauss-Legendre panel, which errs by about r^-80, r = 6 that of its ellipse
_PANEL = 2.5  # how far a phase turns on a panel, about

# Exponents below which a slab is as good as level, and above which 1/sinh^2 is none.
_LEVEL, _STEEP = 1e-3, 300.0


@dataclass(frozen=True)
class Slab(Density):
    """Terms 1 and e^(2x - epsilon) against e^-x/2 on (0, epsilon): where two Laplace laws overlap."""

    epsilon: arb

    def logs(self, x: Any) -> Any:
        return [x * 0, 2 * x - self.epsilon], -x - arb(2).log()

    def slopes(self) -> Sequence[arb]:
        return arb(0), arb(2)

    def root(self, gain: list[arb]) -> arb:
        t = ((-gain[0] / gain[1]).log() + self.epsilon) / 2
        return t.max(arb(0)).min(self.epsilon)

    def beyond(self, t: arb | None, side: int) -> list[arb]:
        low, high = arb(0) if t is None or side < 0 else t, self.epsilon if t is None or side > 0 else t
        width = high - low
        return [-((-low).exp() * (-width).expm1()) / 2, (low - self.epsilon).exp() * width.expm1() / 2]

    def bulk(self, c: arb, bits: int) -> tuple[float, float]:
        return 0.0, float(self.epsilon)

    def top(self) -> arb:
        return greatest([self.tilted(x, arb(0))[1] for x in (arb(0), self.epsilon)])

    @property
    def plain(self) -> bool:
        """Whether P and Q are single terms, and the transform has a closed form."""
        return all(sum(not w.is_zero() for w in side) == 1 for side in (self.p, self.q))

    @cached_property
    def _terms(self) -> tuple[int, int, arb, arb]:
        """The terms that P and Q of a plain slab have, and the logarithms of P and of Q/P without them."""
        k, n = (next(j for j, w in enumerate(side) if not w.is_zero()) for side in (self.p, self.q))
        log_p = self.p[k].log()
        return k, n, log_p - self.epsilon / 2 + (self.epsilon / 2).log(), self.q[n].log() - log_p

    def transform(self, z: acb) -> acb:
        """Return M(z) of a plain slab: half the integral of e^(tu) over (-1, 1), at x = epsilon (1 + u)/2."""
        _, _, log, turn = self._terms
        value: acb = (log + turn * z).exp() * (self._rate(z) * acb(0, 1)).sinc()
        return value

    def _rate(self, z: Any) -> Any:
        """Return t."""
        k, n, _, _ = self._terms
        return (z * (n - k) + (k - arb(1) / 2)) * self.epsilon

    def moments(self, c: arb) -> Pair:
        """Return mean and variance of L under the tilted law of a plain slab, about: those of u, scaled."""
        (k, n, _, turn), t = self._terms, float(self._rate(c))
        steep = abs(t) > _LEVEL
        mean = 1 / math.tanh(t) - 1 / t if steep else t / 3
        variance = 1 / t**2 - (1 / math.sinh(t) ** 2 if abs(t) < _STEEP else 0.0) if steep else 1 / 3
        scale = (n - k) * self.epsilon
        return turn + scale * mean, scale**2 * variance

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        """Gauss-Legendre panels, analytic in ellipses: (64/15) M r^-2N/(1 - r^-2), half a width of it.

        For f = sum a_k T_k, |a_k| <= 2 M r^-k, and even T_k from k = 2N on err by at most 2 + 2/(k^2 - 1).
        A box of P that holds real points, where P > 0, and not 0 does not meet the cut of the logarithm.
        """
        e = float(self.epsilon)
        panels = math.ceil(e * (top + 2 * max(abs(float(c)), abs(1 - float(c))) + 4) / _PANEL)
        require("laws", panels * RULE < MOST, f"a law needs {panels} panels, too many")
        half, r = self.epsilon / (2 * panels), arb(6)
        weight, loss, error, width = [], [], arb(0), half * arb(0, 1)
        for k in range(panels):
            middle = half * (2 * k + 1)
            for at, share in legendre(ctx.prec):
                log, there = self.tilted(middle + half * at, c)
                weight.append(log.exp() * share * half)
                loss.append(there)
            around = acb(middle + width * (r + 1 / r) / 2, width * (r - 1 / r) / 2)
            log, there = self.tilted(around, c)
            size = (log.real.upper() + top * there.imag.abs_upper()).exp()
            error += half * size * arb(64) / 15 * r ** (-2 * RULE) / (1 - r**-2)
        return Nodes(weight, loss, error)


@cache
def legendre(prec: int) -> list[tuple[arb, arb]]:
    """Return a Gauss-Legendre rule on (-1, 1)."""
    del prec  # of the context
    return [arb.legendre_p_root(RULE, k, weight=True) for k in range(RULE)]
