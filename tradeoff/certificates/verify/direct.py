"""delta and beta without an integral: of atoms, all of them listed, and of one law beside them."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from flint import arb, arb_poly, ctx

from tradeoff.certificates.certificate import Description
from tradeoff.certificates.verify.balls import Pair, greatest
from tradeoff.certificates.verify.laws import Law, at_infinity, bell, binomial, discrete
from tradeoff.certificates.verify.parts import Atoms, Comb, Part
from tradeoff.certificates.verify.product import Product
from tradeoff.certificates.verify.report import require

_MOST = 2**20  # most atoms of a product: a gigabyte of balls
_SOME = 2**14  # most of rounds of noise on all integers, for which there are lines as well
_BESIDE = 64  # most atoms that a law may carry to either side of a loss: each asks for its closed forms

# Gaussians of a smaller mu change delta by less than most doubles show: an error and no factor.
_FAINT = 1e-30

_FARTHEST = 400  # doublings after which no loss is larger: 2^400
# Losses beyond which e^L may be no ball: delta is no larger there than here, and not below Q(L = inf).
_HUGE = 1e30
_FEW = 256  # atoms that are not joined: to add so many is no work

# Atoms are joined whose losses round to the same multiple: sums of equal losses written in double are.
_CLOSE = 2.0**-44

_NOTHING: Pair = arb(0), arb(0)

_SIDE = 2.0**-40  # relative error allowed to losses in floats, by which atoms are surely on one side


class Sums:
    """Atoms beside a law: L = l + L', and delta(x) - P(l = inf) the sum of q_l delta'(x - l).

    To join atoms is a garbling, which lowers delta: by nothing where their losses are, whatever L' is, all
    above x or all below. Elsewhere r delta'(x - log r) rises with r = e^l by at most as much as r, and so by
    at most the mass of Q times the growth of e^l among them.
    """

    def __init__(self, factors: Sequence[Description]) -> None:
        product = Product(factors, -1.0)
        atoms, self.apart, self.lost, self.rest = [(arb(1), arb(1))], 0.0, arb(0), arb(0)
        laws: list[tuple[Law, int]] = []
        if product.factors and product.square < _FAINT**2:
            self.rest += arb(0).union(product.square.sqrt())  # its total variation is less than mu
        elif product.square > 0:
            laws.append((bell(product.square.sqrt()), 1))
        for parts, n in product.factors:
            if not discrete(parts):
                laws.append((parts, n))
                continue
            power, rest = _power(parts, n)
            power, apart = _joined(power, 0.0) if n > 1 else (power, 0.0)
            require("factors", len(atoms) * len(power) <= _MOST, "too many atoms to add up")
            both, apart = [(a * c, b * d) for a, b in atoms for c, d in power], self.apart + apart
            several = min(len(atoms), len(power)) > 1
            atoms, self.apart = _joined(both, apart) if several else (both, apart)
            self.rest += rest
            self.lost = 1 - (1 - self.lost) * (1 - at_infinity(parts, 1)) ** n
        require("factors", sum(n for _, n in laws) <= 1, "rounds with a density have no closed form")
        self.law: Law | None = laws[0][0] if laws else None
        self._ordered(atoms)
        reach = self.low + self.high
        wide = max((bisect_right(self.at, x + reach) - k for k, x in enumerate(self.at)), default=0)
        require("factors", self.law is None or wide <= _BESIDE, "too many atoms beside a density")

    def _ordered(self, atoms: list[Pair]) -> None:
        """Order atoms by their losses, but for those of no known loss, and sum them up from both ends."""
        parts = self.law or (Atoms((arb(1),), (arb(1),)),)
        # L' lies in [-low, high], and has the masses ``whole`` above that; Q(L' = inf) is ``leak``
        self.low, self.high = _end(tuple(part.turned() for part in parts)), _end(parts)
        all_above = [part.masses(arb(-self.low - 1))[0] for part in parts if self.low < math.inf]
        self.whole = [sum((pair[k] for pair in all_above), arb(0)) for k in (0, 1)]
        self.leak = at_infinity(parts, 1)
        losses = [((b / a).log(), a, b) for a, b in atoms]
        known = sorted(((float(x), a, b) for x, a, b in losses if _sure(x)), key=lambda atom: atom[0])
        self.size = len(atoms)
        self.at, self.atoms = [x for x, _, _ in known], [(a, b) for _, a, b in known]
        self.unknown = [(a, b) for x, a, b in losses if not _sure(x)]
        self.below, above = (
            [list(accumulate((pair[k] for pair in each), initial=arb(0))) for k in (0, 1)]
            for each in (self.atoms, self.atoms[::-1])
        )
        self.above = [each[::-1] for each in above]

    def _split(self, x: arb) -> tuple[Pair, Pair, list[Pair]]:
        """Return masses of atoms beside which no finite L is above x, and all are; and the other atoms."""
        near = float(x)

        def room(end: float) -> float:
            return (abs(near) + abs(end)) * _SIDE + 2 * self.apart + 1e-300

        first = bisect_left(self.at, near - self.high - room(self.high)) if self.high < math.inf else 0
        last = len(self.at)
        if self.low < math.inf:
            last = max(bisect_right(self.at, near + self.low + room(self.low)), first)
        below, above = self.below, self.above
        return (
            (below[0][first], below[1][first]),
            (above[0][last], above[1][last]),
            [*self.atoms[first:last], *self.unknown],
        )

    def _parts(self, atoms: Sequence[Pair]) -> Iterator[Part]:
        """Yield the law moved by each of some atoms."""
        if self.law is None:
            yield Atoms(*(tuple(pair[k] for pair in atoms) for k in (0, 1)))
        else:
            for a, b in atoms:
                yield from (part.changed(lambda p, q, a=a, b=b: (a * p, b * q)) for part in self.law)  # type: ignore[misc]  # a default of a lambda has no type

    def garbled(self, atoms: Sequence[Pair]) -> arb:
        """Bound what joining these took from delta."""
        return arb(0).union(sum((b for _, b in atoms), arb(0)) * arb(self.apart).expm1())

    def delta(self, x: float) -> arb:
        """Return delta(x), which falls."""
        if x <= _HUGE:
            return self._delta(x)
        found, far = self._delta(x), self._delta(_HUGE).union(1 - (1 - self.lost) * (1 - self.leak))
        return found.intersection(far) if found.is_finite() else far

    def _delta(self, x: float) -> arb:
        (_, q), (a, b), others = self._split(arb(x))
        total = self.lost + q * self.leak + b * self.whole[1] - arb(x).exp() * a * self.whole[0]
        each = sum((part.excess(arb(x)) for part in self._parts(others)), arb(0))
        return total + each + self.garbled(others) + self.rest

    def short_of_one(self, x: float) -> arb:
        """Return 1 - delta(x), of atoms the sum of the lesser of q and e^x p: delta may be near 1.

        Its share of atoms p, q is p h(q/p), h(r) = r Q(L' <= x - log r) + e^x P(L' > x - log r), the least of
        lines that rise from h >= 0 at 0: h rises and h(r)/r falls. So joined atoms, whose r are within
        e^apart, have at most their joined share, and at least e^-apart of it.
        """
        if x > _HUGE:
            return 1 - self.delta(x)
        (_, q), (a, _), others = self._split(arb(x))
        slope = arb(x).exp()
        if self.law is None:
            each = sum((d.min(slope * c) for c, d in others), arb(0))
        else:
            each = sum((d for _, d in others), arb(0))
            each -= sum((part.excess(arb(x)) for part in self._parts(others)), arb(0))
        each = each.union(each * (-arb(self.apart)).exp())
        return q * (1 - self.leak) + slope * a * self.whole[0] + each + self.rest.union(-self.rest)

    def beta(self, alpha: float) -> tuple[arb, arb]:
        """Bound f(alpha) by lines of slope -e^x where P(L > x) is near alpha, and by tests there."""
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
        (more, less, _), (near, held, _), (fewer, rest, _) = each = [self._masses(at) for at in x]
        least = arb(0)
        for at, (size, accepted, unsure) in zip(x, each, strict=True):
            line = accepted + at.exp() * (size - level) - unsure  # wide where an atom may be on either side
            least = least.max(line.lower())
        if not fewer <= level:
            return least, arb(1)
        most = rest + (less - rest) * (level - fewer) / (more - fewer) if more > level else rest
        if near > fewer:  # on the chord to the corner, or beyond it
            most = most.min(held.max(rest + (held - rest) * (level - fewer) / (near - fewer)))
        return least, most

    def _masses(self, x: arb) -> tuple[arb, arb, arb]:
        """Return P(L > x) and Q(L <= x), and what joining atoms took from the line there."""
        (_, q), (a, _), others = self._split(x)
        unsure = self.rest.union(-self.rest)
        size, accepted = a * self.whole[0] + unsure, q * (1 - self.leak) + unsure
        for part in self._parts(others):
            above, below = part.masses(x)
            size, accepted = size + above[0], accepted + below[1]
        return size, accepted, self.garbled(others)


def _end(parts: Law) -> float:
    """Return a float that no finite loss exceeds."""
    end = greatest([part.top() for part in parts])
    return math.nextafter(float(end.upper()), math.inf) if end.is_finite() else math.inf


def _sure(loss: arb) -> bool:
    """Whether a float is as good as a loss."""
    return bool(loss.is_finite() and loss.rad() <= abs(loss.mid()) * _CLOSE and abs(loss) < _HUGE)


def _joined(atoms: list[Pair], apart: float) -> tuple[list[Pair], float]:
    """Return atoms joined, unless they are few or stay as many, and how far apart the losses of one may be.

    Each may hold losses within ``apart``, about its own; those of about the same multiple are joined.
    """
    losses = [(q / p).log() for p, q in atoms] if len(atoms) > _FEW else []
    scale = min((arb(1), greatest([abs(x).mid() for x in losses if x.is_finite()])), key=float) * _CLOSE
    found: dict[int, tuple[Pair, Pair]] = {}
    for loss, (p, q) in zip(losses, atoms, strict=False):
        near = loss.mid() / scale
        key = round(float(near)) if abs(near) < 2**53 else len(found) + 2**60
        (a, b), (low, high) = found.get(key, (_NOTHING, (loss, loss)))
        found[key] = (p + a, q + b), (low.min(loss), high.max(loss))
    if len(found) in {0, len(atoms)}:
        return atoms, apart
    spread = max(float((high - low).upper()) for _, (low, high) in found.values())
    # A spread below all floats is not 0.
    most = math.nextafter((2 * apart + spread) * (1 + _CLOSE), math.inf)
    return [pair for pair, _ in found.values()], most


def _power(parts: Law, n: int) -> tuple[list[Pair], arb]:
    """Return all finite atoms of n rounds, and a bound on the mass of what is left out of P and of Q."""
    each = [part.listed() for part in parts]  # type: ignore[attr-defined]  # of atoms and combs
    atoms = [pair for found, _ in each for pair in found]
    rest = sum((one.union(other).upper() for _, (one, other) in each), arb(0))
    left = arb(0).union(n * rest * (1 + rest) ** n)
    if n == 1:
        return atoms, left
    combs = [part for part in parts if isinstance(part, Comb)]
    plain = all(sum(not w.is_zero() for w in side) == 1 for part in combs for side in (part.p, part.q))
    if not (plain and len(combs) == len(parts) == 1):
        return _shared(atoms, n, _SOME if combs else _MOST), left
    require("factors", len(atoms) * n <= _MOST, "too many atoms to add up")  # losses are multiples of one
    powers = [(arb_poly([pair[k] for pair in atoms]) ** n).coeffs() for k in (0, 1)]
    return list(zip(*powers, strict=True)), left


def _shared(atoms: list[Pair], n: int, most: int) -> list[Pair]:
    """Return the ways to share n rounds among atoms, (n; k_1 ... k_m) p_1^k_1 ... p_m^k_m, and so of Q."""
    ways = math.comb(n + len(atoms) - 1, len(atoms) - 1) if atoms and n < _MOST else math.inf
    require("factors", ways <= most, f"{n} rounds of {len(atoms)} atoms are too many to add up")
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
