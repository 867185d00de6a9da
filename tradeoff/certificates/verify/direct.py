"""delta and beta without an integral: of one law from its closed forms, of few atoms from all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from flint import arb, arb_poly, ctx

from tradeoff.certificates.description import Description
from tradeoff.certificates.verify.balls import Pair, gained
from tradeoff.certificates.verify.laws import Law, at_infinity, binomial, law, real
from tradeoff.certificates.verify.parts import Atoms, Comb, Part
from tradeoff.certificates.verify.product import Product
from tradeoff.certificates.verify.report import require
from tradeoff.errors import VerificationError

_MOST = 2**20
"""Most atoms of a product: a gigabyte of balls."""

_FAINT = 1e-30
"""Gaussians of a smaller sum of mu change delta by less than most doubles show: an error and no factor."""

_FARTHEST = 400
"""Doublings after which no loss is larger: 2^400."""


_HUGE = 1e30
"""Losses beyond which e^L may be no ball: delta is no larger there, and not below Q(L = inf)."""


class Single:
    """One round of one law, beside any that tell all or nothing.

    Of such one atom (p, q) has a finite loss, and each multiplies 1 - delta by q and moves L by log q/p.
    """

    def __init__(self, factors: Sequence[Description]) -> None:
        self.alone, self.kept, self.moved = len(factors) == 1, arb(1), arb(0)
        self.law: Law = ()
        for factor in factors:
            parts, n = law(factor["law"]), factor["count"]
            finite = [pair for part in parts if isinstance(part, Atoms) for pair in part.finite()[0]]
            if not self.alone and len(parts) == len(finite) == 1:
                self.kept, self.moved = self.kept * finite[0][1] ** n, self.moved + n * _loss(finite[0])
            else:
                require("factors", not self.law and n == 1, "a product has no closed form")
                self.law = parts
        require("factors", self.law, "a product has no closed form")

    def delta(self, x: float) -> arb:
        """Return delta(x), which falls."""
        if x > _HUGE:
            return self.delta(_HUGE).union(1 - self.kept * (1 - at_infinity(self.law, 1)))
        return 1 - self.kept + self.kept * sum((part.excess(x - self.moved) for part in self.law), arb(0))

    def short_of_one(self, x: float) -> arb:
        """Return 1 - delta(x)."""
        return 1 - self.delta(x)

    def beta(self, alpha: float) -> tuple[arb, arb]:
        """Bound f(alpha) by lines of slope -e^x where P(L > x) is near alpha, and by tests there."""
        require("factors", self.alone, "of a product no beta has a closed form")
        level, low, high = arb(alpha), arb(-1.1), arb(0.9)
        for _ in range(_FARTHEST):
            low = low if self._masses(low)[0] > level else 2 * low
            high = high if self._masses(high)[0] <= level else 2 * high
            if self._masses(low)[0] > level and self._masses(high)[0] <= level:
                break
        while high - low > (1 + abs(low)) * arb(2) ** (20 - ctx.prec):
            middle = ((low + high) / 2).mid()
            size = self._masses(middle)[0]
            if not (size > level or size <= level):  # a corner is at this level, and between them
                break
            low, high = (middle, high) if size > level else (low, middle)
        x = low, ((low + high) / 2).mid(), high
        (more, less), (near, held), (fewer, rest) = each = [self._masses(at) for at in x]
        lines = [accepted + at.exp() * (size - level) for at, (size, accepted) in zip(x, each, strict=True)]
        least = arb(0).max(lines[0]).max(lines[1]).max(lines[2])
        if not fewer <= level:
            return least, arb(1)
        most = rest + (less - rest) * (level - fewer) / (more - fewer) if more > level else rest
        if near > fewer:  # on the chord to the corner, or beyond it
            most = most.min(held.max(rest + (held - rest) * (level - fewer) / (near - fewer)))
        return least, most

    def _masses(self, x: arb) -> Pair:
        """Return P(L > x) and Q(L <= x)."""
        each = [part.masses(x) for part in self.law]
        return sum((above[0] for above, _ in each), arb(0)), sum((below[1] for _, below in each), arb(0))


def _loss(atom: Pair) -> arb:
    return (atom[1] / atom[0]).log()


_CLOSE = 2.0**-44
"""Atoms are joined whose losses round to the same multiple: sums of equal losses written in double are."""


class Sums:
    """All atoms of a product, those of about the same loss joined.

    To join atoms is a garbling, which lowers delta: by nothing where all their losses are above x or below,
    and by at most the mass of Q times the growth of e^L among them where they are about x.
    """

    def __init__(self, factors: Sequence[Description]) -> None:
        self.atoms: list[Pair] = [(arb(1), arb(1))]
        self.rest, self.q_plus = arb(0), Product(factors, -1.0).lost(1)
        self.apart = 0.0
        for factor in factors:
            what, n = factor["law"], factor["count"]
            mu = n * real(what["mu"], "mu", 0.0) if what["kind"] == "gaussian" else arb(1)
            if mu < _FAINT:
                self.rest += arb(0).union(mu)  # from nothing to its total variation, which is less than n mu
                continue
            power, rest = _power(law(what), n)
            power, apart = _joined(power, 0.0)
            require("factors", len(self.atoms) * len(power) <= _MOST, "too many atoms to add up")
            both = [(a * c, b * d) for a, b in self.atoms for c, d in power]
            self.atoms, self.apart = _joined(both, self.apart + apart)
            self.rest += rest

    def _garbled(self, slope: arb) -> arb:
        """Bound what joining took from E_P (e^L - slope)_+."""
        grown = arb(self.apart).expm1()
        held = [b for a, b in self.atoms if self.apart and not abs(b - slope * a) > 2 * grown * slope * a]
        return arb(0).union(sum(held, arb(0)) * grown)

    def delta(self, x: float) -> arb:
        """Return delta(x)."""
        slope = arb(x).exp()
        return self.q_plus + gained(self.atoms, slope) + self._garbled(slope) + self.rest

    def short_of_one(self, x: float) -> arb:
        """Return 1 - delta(x), the sum of the lesser of q and e^x p: no difference where delta is near 1."""
        slope, rest = arb(x).exp(), self.rest.union(-self.rest)
        return sum((b.min(slope * a) for a, b in self.atoms), arb(0)) - self._garbled(slope) + rest

    def beta(self, alpha: float) -> tuple[arb, arb]:
        """Bound f(alpha), by the test that rejects where q/p is greatest, and the line at its last atom."""
        level, size = arb(alpha), arb(0)
        atoms = sorted(self.atoms, key=lambda pair: float((pair[1] / pair[0]).log()), reverse=True)
        k = 0
        while k < len(atoms) - 1 and size + atoms[k][0] + self.rest <= level:
            size, k = size + atoms[k][0], k + 1
        p, q = atoms[k]
        share = ((level - size - self.rest) / p).lower().max(arb(0)).min(arb(1))
        high = sum((b for _, b in atoms[k + 1 :]), arb(0)) + q * (1 - share) + self.rest
        slope = q / p
        each = [(slope * a, b, slope * a - b) for a, b in atoms]
        below = sum((b if gap >= 0 else b.min(a) for a, b, gap in each if not gap < 0), arb(0))
        above = sum((a for a, b, gap in each if gap < 0), arb(0))
        return below + above - slope * level - self._garbled(slope) - self.rest, high


def _joined(atoms: list[Pair], apart: float) -> tuple[list[Pair], float]:
    """Return atoms joined, unless they stay as many, and how far apart the losses of one are at most.

    Each may hold losses within ``apart``, about its own; those of about the same multiple are joined.
    """
    found: dict[int, Pair] = {}
    ends: dict[int, Pair] = {}
    for p, q in atoms:
        loss = (q / p).log()
        near = loss.mid() / _CLOSE
        key = round(float(near)) if abs(near) < 2**53 else len(found) + 2**60
        a, b = found.get(key, (arb(0), arb(0)))
        low, high = ends.get(key, (loss, loss))
        found[key], ends[key] = (p + a, q + b), (low.min(loss), high.max(loss))
    if len(found) == len(atoms):
        return atoms, apart
    spread = max(float((high - low).upper()) for low, high in ends.values())
    return list(found.values()), (2 * apart + spread) * (1 + _CLOSE)


def _power(parts: Law, n: int) -> tuple[list[Pair], arb]:
    """Return all finite atoms of n rounds, and a bound on the mass of what is left out of P and of Q."""
    if all(isinstance(part, Atoms) for part in parts):
        return _shared([pair for part in parts for pair in _listed(part)[0]], n), arb(0)
    if n == 1:
        each = [_listed(part) for part in parts]
        return [pair for atoms, _ in each for pair in atoms], sum((rest for _, rest in each), arb(0))
    comb = parts[0]
    if len(parts) > 1 or not isinstance(comb, Comb):
        raise VerificationError("factors: such rounds have no exact sums", "factors")
    atoms, rest = comb.listed()
    single = all(sum(not w.is_zero() for w in side) == 1 for side in (comb.p, comb.q))
    require("factors", single and len(atoms) * n <= _MOST, "losses of integer noise that are no lattice")
    powers = [(arb_poly([pair[k] for pair in atoms]) ** n).coeffs() for k in (0, 1)]
    left = arb(0).union(n * (rest[0] + rest[1]) * (1 + rest[0] + rest[1]) ** n)
    return list(zip(*powers, strict=True)), left


def _listed(part: Part) -> tuple[list[Pair], arb]:
    """Return the finite atoms of one round, and a bound on the mass of what is left out of P and of Q."""
    if isinstance(part, Comb):
        atoms, rest = part.listed()
        return atoms, rest[0].union(rest[1])
    if not isinstance(part, Atoms):
        raise VerificationError("factors: a law with a density has no exact sums", "factors")
    pairs = zip(part.p, part.q, strict=True)
    return [pair for pair in pairs if not (pair[0].is_zero() or pair[1].is_zero())], arb(0)


def _shared(atoms: list[Pair], n: int) -> list[Pair]:
    """Return the ways to share n rounds among atoms, (n; k_1 ... k_m) p_1^k_1 ... p_m^k_m, and so of Q."""
    ways = math.comb(n + len(atoms) - 1, len(atoms) - 1) if atoms and n < _MOST else math.inf
    require("factors", ways <= _MOST, f"{n} rounds of {len(atoms)} atoms are too many to add up")
    if len(atoms) == 2:
        return list(zip(*(binomial(side, n) for side in zip(*atoms, strict=True)), strict=True))
    return list(_ways(atoms, n))


def _ways(atoms: list[Pair], n: int) -> Iterator[Pair]:
    (p, q), others = atoms[0], atoms[1:]
    if not others:
        yield p**n, q**n
        return
    for k in range(n + 1):
        a, b = math.comb(n, k) * p**k, math.comb(n, k) * q**k
        for c, d in _ways(others, n - k):
            yield a * c, b * d
