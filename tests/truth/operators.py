"""Operators on descriptions, through atoms where there are any, else through the hockey stick h(s) =
delta(log s)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce

from flint import arb, ctx

from tests.truth.atoms import Atomic, Law, Pair, TooMany, lost
from tests.truth.balls import Number, ball
from tests.truth.continuous import Gaussian, Gaussians
from tests.truth.spec import Spec

MOST_BESIDE = 1000
"""Most atoms that are summed next to a density: every step of a search sums them again."""


def law_of(spec: Spec) -> Law | None:
    """Return the atoms of a description that has nothing else."""
    return spec.law if isinstance(spec, Atomic) else None


class Operator(Atomic):
    """A description that has atoms only if what it is made of has."""

    @abstractmethod
    def by_parts(self, s: arb) -> arb:
        """Enclose h(s) from the hockey sticks of the parts."""

    def stick(self, s: arb) -> arb:
        return self.law.stick(s) if self.law else self.by_parts(s)

    def curve(self, alpha: arb) -> arb:
        return self.law.curve(alpha) if self.law else Spec.curve(self, alpha)

    def least(self, level: arb) -> arb:
        return self.law.least(level) if self.law else Spec.least(self, level)


@dataclass(frozen=True)
class Subsampled(Operator):
    """T(P, (1 - p) P + p Q): h_p(s) = p h((s - 1 + p)/p) where s > 1 - p, else 1 - s.

    f_p = p f + (1 - p)(1 - alpha).
    """

    base: Spec
    rate: Number

    def make(self) -> Law | None:
        inner = law_of(self.base)
        return inner and inner.thin(ball(self.rate))

    def by_parts(self, s: arb) -> arb:
        p = ball(self.rate)
        if s > 1 - p:
            return p * self.base.stick((s - 1 + p) / p)
        return 1 - s if s <= 1 - p else arb.nan()  # more digits will decide

    def curve(self, alpha: arb) -> arb:
        p = ball(self.rate)
        return p * self.base.curve(alpha) + (1 - p) * (1 - alpha)

    def masses(self) -> Pair:
        p, (plus, minus) = ball(self.rate), self.base.masses()
        return p * plus, minus if p >= 1 else arb(0)

    def losses(self) -> Pair:
        p = ball(self.rate)
        least, most = (_thinned(x, p) for x in self.base.losses())
        return ((-p).log1p() if self.base.masses()[1] > 0 and p < 1 else least), most


def _thinned(loss: arb, p: arb) -> arb:
    """Return log(1 - p + p e^loss)."""
    if loss == arb.pos_inf() or (loss == arb.neg_inf() and p >= 1):
        return loss
    return (-p).log1p() if loss == arb.neg_inf() else (p * loss.expm1()).log1p()


@dataclass(frozen=True)
class ReversedPLD(Operator):
    """T(Q, P): h(s) = 1 - s + s h_f(1/s)."""

    base: Spec

    def make(self) -> Law | None:
        inner = law_of(self.base)
        return inner and inner.reverse()

    def by_parts(self, s: arb) -> arb:
        return 1 - s + s * self.base.stick(1 / s)

    def tails(self, s: arb) -> Pair:
        """Return Q(L > log s) and P(L > log s), of laws with densities."""
        q, p = self.base.tails(1 / s)
        return 1 - p, 1 - q

    def masses(self) -> Pair:
        return self.base.masses()[::-1]

    def losses(self) -> Pair:
        least, most = self.base.losses()
        return -most, -least


@dataclass(frozen=True)
class FixedSize(Operator):
    """C_p(f), f symmetric: the hull of min{f_p, f_p^-1}, whose h is the larger of the two orders'."""

    base: Spec
    rate: Number

    def make(self) -> Law | None:
        inner = law_of(self.base)
        return inner and inner.fold(ball(self.rate))

    def by_parts(self, s: arb) -> arb:
        one = Subsampled(self.base, self.rate)
        return one.by_parts(s).max(1 - s + s * one.by_parts(1 / s))

    def masses(self) -> Pair:
        return (ball(self.rate) * self.base.masses()[0],) * 2

    def losses(self) -> Pair:
        most = _thinned(self.base.losses()[1], ball(self.rate))
        return -most, most


@dataclass(frozen=True)
class Mixture(Operator):
    """One of several runs, and which is known: h is the average; weights are divided by their sum."""

    parts: tuple[tuple[Number, Spec], ...]

    def weighted(self) -> list[tuple[arb, Spec]]:
        """Return the shares and what they are of."""
        total = sum((ball(w) for w, _ in self.parts), start=arb(0))
        return [(ball(w) / total, spec) for w, spec in self.parts if w > 0]

    def make(self) -> Law | None:
        inner = [(w, law_of(spec)) for w, spec in self.weighted()]
        if any(law is None for _, law in inner):
            return None
        pairs = [(w * p, w * q) for w, law in inner for p, q in law.pairs]
        return Law(pairs, *self.masses())

    def by_parts(self, s: arb) -> arb:
        return sum((w * spec.stick(s) for w, spec in self.weighted()), start=arb(0))

    def masses(self) -> Pair:
        parts = [(w, spec.masses()) for w, spec in self.weighted()]
        return tuple(sum((w * ends[k] for w, ends in parts), start=arb(0)) for k in (0, 1))

    def losses(self) -> Pair:
        least, most = zip(*(spec.losses() for _, spec in self.weighted()), strict=True)
        return _least(least), _greatest(most)


@dataclass(frozen=True)
class Minimum(Operator):
    """Hull of the minimum: h is the largest; the either-order envelope is Minimum((f, Reversed(f)))."""

    parts: tuple[Spec, ...]

    def make(self) -> None:
        return None

    def by_parts(self, s: arb) -> arb:
        return _greatest([spec.stick(s) for spec in self.parts])

    def masses(self) -> Pair:
        return tuple(map(_greatest, zip(*(spec.masses() for spec in self.parts), strict=True)))

    def losses(self) -> Pair:
        """Return the range of losses.

        Above sup L of each part h is Q(L = inf), so where that differs sup L is where they meet.
        """
        return arb.nan(), arb.nan()


@dataclass(frozen=True)
class Maximum(Spec):
    """Pointwise maximum of curves, known through f."""

    parts: tuple[Spec, ...]

    def curve(self, alpha: arb) -> arb:
        return _greatest([spec.curve(alpha) for spec in self.parts])

    def masses(self) -> Pair:
        return tuple(map(_least, zip(*(spec.masses() for spec in self.parts), strict=True)))

    def losses(self) -> Pair:
        return arb.nan(), arb.nan()


@dataclass(frozen=True)
class Group(Spec):
    """1 - (1 - f)^(o k) for symmetric f: the falling f is evaluated at both ends of its own ball."""

    base: Spec
    size: int

    def curve(self, alpha: arb) -> arb:
        for _ in range(self.size):
            alpha = 1 - _falling(self.base, alpha)
        return 1 - alpha

    def masses(self) -> Pair:
        return (1 - self.curve(arb(0)) if self.base.masses()[0] > 0 else arb(0),) * 2

    def losses(self) -> Pair:
        return arb.nan(), arb.nan()


def _falling(spec: Spec, alpha: arb) -> arb:
    ends = [spec.curve(x) if x > 0 else 1 - spec.masses()[0] for x in (alpha.lower(), alpha.upper()) if x < 1]
    return ends[0].union(ends[-1]) if ends else arb(0)


@dataclass(frozen=True)
class Product(Operator):
    """Independent rounds; the field holds pairs (description, count).

    Gaussians add mu^2 and atoms multiply; a sum over atoms handles one more law: h(s) = Q_A(inf) + sum q
    h_f(s p/q).
    """

    parts: tuple[tuple[Spec, int], ...]

    def split(self) -> tuple[Law, Spec | None]:
        """Return the atoms and the law with a density, None if there is none; TooMany if there are two."""
        law, smooth = Law([(arb(1), arb(1))], arb(0), arb(0)), []
        normal = []
        for spec, n in self.parts:
            if isinstance(spec, Gaussian):
                pairs = spec.mu if isinstance(spec, Gaussians) else ((spec.mu, 1),)
                normal += [(mu, n * m) for mu, m in pairs if n]
            elif n:
                inner = law_of(spec)
                law = law if inner is None else law.times(inner.power(n))
                smooth += [spec] * min(n, 2) if inner is None else []
        smooth += [Gaussians(tuple(normal))] if normal else []
        if len(smooth) > 1 or (smooth and len(law.pairs) > MOST_BESIDE):
            raise TooMany(f"{len(smooth)} densities, {len(law.pairs)} atoms")
        return law, smooth[0] if smooth else None

    def make(self) -> Law | None:
        law, smooth = _split(self, ctx.prec)
        return law if smooth is None else None

    def by_parts(self, s: arb) -> arb:
        law, smooth = _split(self, ctx.prec)
        return law.at_plus + sum((q * smooth.stick(s * p / q) for p, q in law.pairs), start=arb(0))

    def curve(self, alpha: arb) -> arb:
        """One atom only scales both errors; alpha beyond its P-mass finds everything."""
        law, smooth = _split(self, ctx.prec)
        if smooth is None or len(law.pairs) != 1:
            return super().curve(alpha)
        p, q = law.pairs[0]
        return arb(0) if alpha >= p else q * smooth.curve(alpha / p)

    def masses(self) -> Pair:
        return tuple(_either([lost(spec.masses()[k], n) for spec, n in self.parts]) for k in (0, 1))

    def losses(self) -> Pair:
        ends = [(spec.losses(), n) for spec, n in self.parts if n]
        return tuple(sum((n * each[k] for each, n in ends), start=arb(0)) for k in (0, 1))


@lru_cache(maxsize=64)
def _split(product: Product, bits: int) -> tuple[Law, Spec | None]:  # noqa: ARG001 - part of the key of the cache
    return product.split()


def _either(masses: list[arb]) -> arb:
    return reduce(lambda total, mass: total + mass - total * mass, masses, arb(0))


def _greatest(values: Iterable[arb]) -> arb:
    return reduce(arb.max, values)


def _least(values: Iterable[arb]) -> arb:
    return -_greatest([-value for value in values])
