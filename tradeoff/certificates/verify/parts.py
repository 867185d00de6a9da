"""The parts of laws, in balls: masses on both sides of a loss, and transforms.

P and Q of a part are sums of the same positive terms,

    P = sum_j p_j e_j(x),    Q = sum_j q_j e_j(x),    p_j, q_j >= 0,    L = log Q/P:

indicators of atoms, e^(m x - m^2/2) against a normal law or integer noise, and 1, e^(2x - epsilon) against
e^-x/2 on (0, epsilon). Thinning, reversal and mixture change the coefficients alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, Self

from flint import arb, ctx

from tradeoff.certificates.verify.balls import Pair, above, divided, dot, gained, greatest
from tradeoff.certificates.verify.report import require

MOST = 2**21  # most atoms of one law: a gigabyte of balls; of nodes, which are made often, an eighth
_FEW = 64  # most steps that widen a bracket, and most of Newton's from a float on

# Halvings in floats, to their last digits: each of Newton's steps from there doubles what there are.
_HALVINGS = 48

_SPARE = 4  # bits beyond the last, and by which the distance grows at which signs are looked at


class Nodes(NamedTuple):
    """M(c + iy) = sum w e^(iy loss), to an absolute error, for all frequencies |y| up to the one asked."""

    weight: list[arb]
    loss: list[arb]
    error: arb


@dataclass(frozen=True)
class Part(ABC):
    """A part of a law, by its coefficients; ``rising`` says that L rises along x."""

    p: tuple[arb, ...]
    q: tuple[arb, ...]

    def changed(self, change: Callable[[arb, arb], Pair]) -> Self:
        """Return the part whose P and Q are made of these."""
        pairs = [change(a, b) for a, b in zip(self.p, self.q, strict=True)]
        return replace(self, p=tuple(a for a, _ in pairs), q=tuple(b for _, b in pairs))

    def turned(self) -> Self:
        """Return the other order."""
        return replace(self, p=self.q, q=self.p)

    @abstractmethod
    def masses(self, x: arb) -> tuple[Pair, Pair]:
        """Return the masses where L > x, and those where not."""

    def above(self, x: arb) -> Pair:
        """Return the masses where L > x."""
        return self.masses(x)[0]

    def excess(self, x: arb) -> arb:
        """Return E_P (e^L - e^x)_+, with the mass of Q at infinity."""
        p, q = self.above(x)
        return q - x.exp() * p

    def top(self) -> arb:
        """Return a bound on the finite losses."""
        return arb.pos_inf()

    @abstractmethod
    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        """Return M(c + iy) for |y| <= top, to about 2^-bits of M(c)."""


@dataclass(frozen=True)
class Atoms(Part):
    """Atoms; of those at infinity one coefficient is 0."""

    def masses(self, x: arb) -> tuple[Pair, Pair]:
        return divided(zip(self.p, self.q, strict=True), x)

    def excess(self, x: arb) -> arb:
        return gained(zip(self.p, self.q, strict=True), x.exp())

    def finite(self) -> tuple[list[Pair], list[arb]]:
        """Return the atoms of finite losses, and these."""
        found = [(a, b) for a, b in zip(self.p, self.q, strict=True) if not (a.is_zero() or b.is_zero())]
        return found, [(b / a).log() for a, b in found]

    def listed(self) -> tuple[list[Pair], Pair]:
        """Return the finite atoms, and that nothing is left out."""
        return self.finite()[0], (arb(0), arb(0))

    def top(self) -> arb:
        return greatest(self.finite()[1])

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        finite, loss = self.finite()
        return Nodes([a * (c * at).exp() for (a, _), at in zip(finite, loss, strict=True)], loss, arb(0))


@dataclass(frozen=True)
class Density(Part):
    """A density along a line, with terms e_j; L is monotone."""

    rising: bool

    def turned(self) -> Self:
        return replace(super().turned(), rising=not self.rising)

    @abstractmethod
    def logs(self, x: Any) -> Any:
        """Return the logarithms of all terms, and of the density that they multiply."""

    @abstractmethod
    def slopes(self) -> Sequence[arb]:
        """Return d log e_j/dx."""

    @abstractmethod
    def root(self, gain: list[arb]) -> arb:
        """Return where sum gain_j e_j changes its sign, from that of its first coefficient."""

    @abstractmethod
    def beyond(self, t: arb | None, side: int) -> list[arb]:
        """Return the integrals of the terms right (1) or left (-1) of t; of all where t is None."""

    def masses(self, x: arb) -> tuple[Pair, Pair]:
        over, under = self._beside(x, (1, -1))
        return over, under

    def above(self, x: arb) -> Pair:
        return self._beside(x, (1,))[0]

    def _beside(self, x: arb, sides: Sequence[int]) -> list[Pair]:
        """Return the masses where L > x (1), and those where not (-1)."""
        ratio = x.exp()
        gain = [b - ratio * a for a, b in zip(self.p, self.q, strict=True)]
        side_of_all = next((side for side in (1, -1) if all(side * g >= 0 for g in gain)), None)
        if side_of_all is None:
            t, sign = self.root(gain), 1 if self.rising else -1
            held = [self.beyond(t, sign * side) for side in sides]
        else:
            held = [self.beyond(None, 1) if side == side_of_all else [arb(0)] * len(gain) for side in sides]
        return [(dot(self.p, each), dot(self.q, each)) for each in held]

    def tilted(self, x: Any, c: arb) -> tuple[Any, Any]:
        """Return log of the density times e^(cL), and L, at a point, a ball or a series."""
        logs, base = self.logs(x)
        log_p, log_q = _mixed(self.p, logs), _mixed(self.q, logs)
        return base + (1 - c) * log_p + c * log_q, log_q - log_p

    @abstractmethod
    def bulk(self, c: arb, bits: int) -> tuple[float, float]:
        """Return between which x all but 2^-bits of the tilted mass lies, about."""

    def log_height(self, x: Any, c: arb) -> Any:
        """Return log of the tilted density of L itself.

        With slopes m of log e dL/dx is the sum over i < j of (m_j - m_i)(q_j p_i - q_i p_j) e_i e_j/PQ.
        """
        (logs, base), slope, sign = self.logs(x), self.slopes(), 1 if self.rising else -1
        pairs = list(combinations(range(len(logs)), 2))
        turns = [
            sign * (slope[j] - slope[i]) * (self.q[j] * self.p[i] - self.q[i] * self.p[j]) for i, j in pairs
        ]
        rise = _mixed(turns, [logs[i] + logs[j] for i, j in pairs])
        return base + (2 - c) * _mixed(self.p, logs) + (1 + c) * _mixed(self.q, logs) - rise


def _mixed(weights: Sequence[arb], logs: Sequence[Any]) -> Any:
    """Return log of a sum of weights times exponentials."""
    held = [(w, log) for w, log in zip(weights, logs, strict=True) if not w.is_zero()]
    if len(held) == 1:
        return held[0][1] + held[0][0].log()
    total = held[0][0] * held[0][1].exp()
    for w, log in held[1:]:
        total = total + w * log.exp()
    return total.log()


@dataclass(frozen=True)
class Bell(Density):
    """Terms e^(m x - m^2/2) against a normal law: normal laws about the means m, which rise."""

    means: tuple[arb, ...]

    def top(self) -> arb:
        """Return the loss far out, where it is greatest and the outermost mean outweighs the others."""
        p, q = self.p[-1 if self.rising else 0], self.q[-1 if self.rising else 0]
        return arb.pos_inf() if p.is_zero() or q.is_zero() else (q / p).log()

    def logs(self, x: Any) -> Any:
        return [m * x - m * m / 2 for m in self.means], -x * x / 2 - (2 * arb.pi()).log() / 2

    def slopes(self) -> Sequence[arb]:
        return self.means

    def root(self, gain: list[arb]) -> arb:
        held = [(g, m) for g, m in zip(gain, self.means, strict=True) if not g.is_zero()]
        if len(held) == 2:
            (g, m), (k, n) = held
            return ((-g / k).log() + (n * n - m * m) / 2) / (n - m)
        first = 1 if held[0][0] > 0 else -1
        low, high = self.means[0].mid() - 1, self.means[-1].mid() + 1
        for _ in range(_FEW):
            left, right = _balance(held, low) * first > 0, _balance(held, high) * first < 0
            if left and right:
                return _narrowed(held, low, high, first)
            low, high = low if left else 3 * low - 2 * high, high if right else 3 * high - 2 * low
        return arb("nan")

    def beyond(self, t: arb | None, side: int) -> list[arb]:
        if t is None:
            return [arb(1)] * len(self.means)
        return [above(side * (t - m)) for m in self.means]

    def _held(self) -> list[list[arb]]:
        """Return the means of the terms of P, and of those of Q."""
        sides = self.p, self.q
        return [[m for w, m in zip(side, self.means, strict=True) if not w.is_zero()] for side in sides]

    def _grid(self, c: arb, top: float, bits: int) -> tuple[arb, arb]:
        """Return the spacing of the trapezoid rule, and its error relative to M(c).

        On Im x = b the normal density grows by e^(b^2/2). The terms of P lie in a sector of the angle b
        spread_P, so that |P| is between cos(b spread_P/2) P(Re x) and P(Re x), as with Q; e^(iyL) grows by at
        most e^(|y| b spread). The rule then errs by 2/(e^(2 pi a/h) - 1) of the integral of the bound
        (Trefethen, Weideman 2014, Theorem 5.1).
        """
        whole, of_p, of_q = (m[-1] - m[0] for m in (self.means, *self._held()))
        nats = bits * math.log(2)
        a = min(math.sqrt(2 * nats), 2.8 / float(whole) if float(whole) else math.inf)
        log = arb(a) ** 2 / 2 + arb(top) * whole * a
        for power, spread in ((c - 1, of_p), (-c, of_q)):
            log -= power.max(arb(0)) * (spread * a / 2).cos().log()
        h = 2 * math.pi * a / (nats + 1 + float(log))
        return arb(h), 2 * log.exp() / (2 * arb.pi() * a / h).expm1()

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        return self._sampled(c, bits, *self._grid(c, top, bits))

    def _leans(self, c: arb) -> Pair:
        """Return between which x the tilted density turns: P'/P lies between the means of P, as Q'/Q."""
        powers = zip((1 - c, c), self._held(), strict=True)
        ends = [(power * m[0], power * m[-1]) for power, m in powers]
        return sum((a.min(b) for a, b in ends), arb(0)), sum((a.max(b) for a, b in ends), arb(0))

    def bulk(self, c: arb, bits: int) -> tuple[float, float]:
        low, high = self._leans(c)
        reach = math.sqrt(2 * math.log(2) * (bits + 8)) + 1
        return float(low) - reach, float(high) + reach

    def _sampled(self, c: arb, bits: int, h: arb, relative: arb) -> Nodes:
        """Return nodes a step h apart, but for what lies beyond the last, a geometric series at most.

        The derivative of the tilted density's logarithm at x is -x and what lies between the leans.
        """
        low, high = self._leans(c)
        left, right = self.bulk(c, bits)
        first, last = math.floor(left / float(h)), math.ceil(right / float(h))
        require("laws", last - first < MOST // 8, f"a law needs {last - first} nodes, more than {MOST // 8}")
        held = [self.tilted(k * h, c) for k in range(first, last + 1)]
        weight = [log.exp() * h for log, _ in held]
        ends = (weight[0], (first * h - low) * h), (weight[-1], (high - last * h) * h)
        require("laws", relative < 1 and all(r < 0 for _, r in ends), "a quadrature misses its law")
        error = sum((w * r.exp() / -r.expm1() for w, r in ends), arb(0))
        total = sum(weight, arb(0)) + error
        error += total * relative / (1 - relative)
        least = total * arb(2) ** (-bits - 20)
        kept = [(w, loss) for w, (_, loss) in zip(weight, held, strict=True) if not w < least]
        error += sum((w for w in weight if w < least), arb(0))
        return Nodes([w for w, _ in kept], [loss for _, loss in kept], error)


@dataclass(frozen=True)
class Comb(Bell):
    """The same terms at the multiples of a step: integer noise, in units of its sigma."""

    step: arb
    log_total: arb

    def logs(self, x: Any) -> Any:
        return [m * x - m * m / 2 for m in self.means], -x * x / 2 - self.log_total

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        nodes = self._sampled(c, bits, self.step, arb(0))
        return Nodes([w / self.step for w in nodes.weight], nodes.loss, nodes.error / self.step)

    def listed(self) -> tuple[list[Pair], Pair]:
        """Return atoms, and bounds on what is left out: no mean is within ``reach`` steps of the ends."""
        reach = math.ceil((2 * ctx.prec) ** 0.5 / float(self.step)) + 2
        end = math.ceil(float(self.means[-1] / self.step)) + reach
        require("laws", end + reach < MOST, f"integer noise of {end + reach} atoms is more than {MOST}")
        found = []
        for k in range(-reach, end + 1):
            logs, base = self.logs(k * self.step)
            terms = [(log + base).exp() for log in logs]
            found.append((dot(self.p, terms), dot(self.q, terms)))
        ratio = (-(reach * self.step) * self.step).exp()
        rest = [arb(0).union((found[0][k] + found[-1][k]) * ratio / (1 - ratio)) for k in (0, 1)]
        return found, (rest[0], rest[1])

    above = Part.above

    def masses(self, x: arb) -> tuple[Pair, Pair]:
        atoms, rest = self.listed()
        above, below = divided(atoms, x)
        return (above[0] + rest[0], above[1] + rest[1]), (below[0] + rest[0], below[1] + rest[1])

    def excess(self, x: arb) -> arb:
        atoms, rest = self.listed()
        return gained(atoms, x.exp()) + rest[1]


def _terms(held: Sequence[Pair], t: arb) -> list[Pair]:
    """Return g e^(m t - m^2/2) over that of the mean nearest to t, and how much more each rises."""
    near = min((m for _, m in held), key=lambda m: abs(float(t - m)))
    return [(g * ((m - near) * (t - (m + near) / 2)).exp(), m - near) for g, m in held]


def _balance(held: Sequence[Pair], t: arb) -> arb:
    """Return the sum of the terms, of one sign with sum g e^(m t - m^2/2)."""
    return sum((term for term, _ in _terms(held, t)), arb(0))


def _about(held: Sequence[Pair], low: arb, high: arb, first: int) -> arb:
    """Return in floats where the balance changes its sign: a guess, about a mean so that nothing cancels."""
    centre = held[0][1]
    terms = [(math.copysign(1, g.mid()) * first, _log(g), float(m - centre)) for g, m in held]
    left, right = float(low - centre), float(high - centre)
    for _ in range(_HALVINGS):
        t = (left + right) / 2
        exponents = [log + m * t - m * m / 2 for _, log, m in terms]
        top = max(exponents)
        rest = sum(sign * math.exp(e - top) for (sign, _, _), e in zip(terms, exponents, strict=True))
        left, right = (t, right) if rest > 0 else (left, t)
    return (centre + left).mid()


def _log(g: arb) -> float:
    """Return about log |g|: what is 0 or less than floats hold counts for nothing."""
    return float(abs(g.mid()).log()) if g.mid() != 0 else -math.inf


def _narrowed(held: Sequence[Pair], low: arb, high: arb, first: int) -> arb:
    """Return a ball around the change of sign of a balance, which is positive at ``low`` times ``first``.

    Newton's steps lead next to it from a guess; then the least distance is taken at which signs are known.
    """
    at = _about(held, low, high, first)
    width = (1 + abs(at)) * arb(2) ** (_SPARE - ctx.prec)
    for _ in range(_FEW):
        value, slopes = zip(*_terms(held, at), strict=True)
        step = (sum(value, arb(0)) / dot(value, slopes)).mid()
        at = (at - step).mid()
        if not abs(step) > width:
            break
    while width < high - low:
        if _balance(held, at - width) * first > 0 > _balance(held, at + width) * first:
            return (at - width).union(at + width)
        width *= 2**_SPARE
    return low.union(high)
