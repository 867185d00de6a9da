"""delta of a few rounds from their laws put on a lattice of losses, above the truth and below it.

With h(s) = E_P (e^L - s)_+, above: the masses of a cell go to its ends so that P and Q are kept, which
spreads e^L and so raises h (Doroshenko et al. 2022). Below: Q(set) - s P(set) is at most h(s) whatever the
set; take one such line a cell, {L > its middle} or nothing, at each node the lesser of both beside it, and
join them by chords, each of which lies below the line of its cell, or by longer ones below those. Products of
measures stay above and below, for int r h_1(s/r) dP_2(r) grows with h_1. One too high by ``slip`` has a mass
of Q of at most whole + slip, and a product is too high by at most prod (whole + slip) - prod whole.
Polynomials in balls multiply them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from flint import arb, arb_poly

from tradeoff.certificates.certificate import Description
from tradeoff.certificates.verify.balls import Pair, gained
from tradeoff.certificates.verify.direct import Sums
from tradeoff.certificates.verify.laws import Law, at_infinity, discrete, law
from tradeoff.certificates.verify.parts import Atoms, Comb, Density
from tradeoff.certificates.verify.report import require
from tradeoff.certificates.verify.shifts import Shift

_MOST = 2**18  # most nodes of a product: a minute or two, where masses are hundreds of nats apart

# Steps from a node to an atom where the first would be: on which side it is would not be known of equals.
_OFF = 2.0**-20

_SURE = 40.0  # losses so far above the one asked count like infinite ones, but for e^-40 of their mass


# Nodes about a loss that may be on either side of it: it is known to half a step, and placed in floats.
_NEAR = 3

_BESIDE = 2**10  # most atoms beside a lattice, which is asked beside each

_NOTHING = arb(0), arb(0)


class _Sides(NamedTuple):
    """P-masses at ``offset + k step`` above and below.

    ``whole`` is the mass of Q, ``top`` what of it the first leaves at infinity, ``slip`` bounds by how much
    the second is too high.
    """

    offset: arb
    over: list[arb]
    under: list[arb]
    whole: arb
    top: arb
    slip: arb


class Lattice:
    """Densities on ``size`` nodes a law, beside atoms; for losses up to ``far``, delta from ``least`` on."""

    def __init__(self, factors: Sequence[Description], size: int, far: float, least: float) -> None:
        found = [(law(factor["law"]), factor) for factor in factors]
        listed = [factor for parts, factor in found if discrete(parts)]
        laws = [(parts, factor["count"]) for parts, factor in found if not discrete(parts)]
        rounds = sum(n for _, n in laws)
        require("factors", 0 < rounds * size <= _MOST, "too many rounds for a lattice")
        self.sums = Sums(listed)
        require("factors", self.sums.size <= _BESIDE, "too many atoms beside a lattice")
        bits = 40 + math.ceil(-1.5 * math.log(max(least, 1e-300)))
        ranges = [_range(parts, bits) for parts, _ in laws]
        most = far + _SURE - sum(n * min(low, 0.0) for (_, n), (low, _) in zip(laws, ranges, strict=True))
        ends = [(low, min(high, most)) for low, high in ranges]
        self.step = max(high - low for low, high in ends) / size
        self.offset, slipped, whole, finite, kept = arb(0), arb(1), arb(1), arb(1), arb(1)
        over, under = arb_poly([1]), arb_poly([1])
        for (parts, n), (low, high) in zip(laws, ends, strict=True):
            sides = _sides(parts, low, high, self.step)
            over, under = over * arb_poly(sides.over) ** n, under * arb_poly(sides.under) ** n
            self.offset += n * sides.offset
            whole, finite = whole * sides.whole**n, finite * (sides.whole - sides.top) ** n
            slipped *= (sides.whole + sides.slip) ** n
            kept *= (1 - at_infinity(parts, 1)) ** n
        self.top, self.slip, self.leak = whole - finite, slipped - whole, 1 - kept
        self.count = len(over)
        s = [(self.offset + k * arb(self.step)).exp() for k in range(max(len(over), len(under)))]
        self.sides = [_Tails(side.coeffs(), s) for side in (over, under)]

    def delta(self, x: float) -> tuple[arb, arb]:
        """Bound delta(x): atoms move the loss at which the densities are asked."""
        atoms = [*self.sums.atoms, *self.sums.unknown]
        low = high = self.sums.lost + self.sums.rest
        for a, b in atoms:
            at = x - (b / a).log()
            require("factors", 2 * at.rad() < self.step, "an atom beside a lattice has no loss")
            over, under = (side.gained(at, self.offset, self.step) for side in self.sides)
            low, high = low + b * (under - self.slip + self.leak).max(arb(0)), high + b * (over + self.top)
        return low, high + self.sums.garbled(atoms)

    def said(self) -> str:
        """Return how it proves, for a reader."""
        return f"lattice of step {self.step:.3g}, {self.count} nodes in all"


class _Tails:
    """What a law on nodes holds from each node on."""

    def __init__(self, p: Sequence[arb], s: Sequence[arb]) -> None:
        self.masses = [(mass, mass * ratio) for mass, ratio in zip(p, s, strict=False)]
        tails = ([pair[k] for pair in reversed(self.masses)] for k in (0, 1))
        self.p, self.q = (list(accumulate(tail, initial=arb(0)))[::-1] for tail in tails)

    def gained(self, x: arb, offset: arb, step: float) -> arb:
        """Return E_P (e^L - e^x)_+, x known to half a step: nodes next to it may be above or not."""
        first = math.floor(min(max(float((x - offset) / step), 0.0), len(self.masses)))
        last = min(first + _NEAR, len(self.masses))
        slope = x.exp()
        return gained(self.masses[first:last], slope) + self.q[last] - slope * self.p[last]


def _range(parts: Law, bits: int) -> tuple[float, float]:
    """Return between which losses all but 2^-bits of P and Q lie, about."""
    found = []
    for part in parts:
        require("factors", not isinstance(part, Comb), "integer noise of no lattice")
        if isinstance(part, Density):
            ends = part.bulk(arb(0), bits)[0], part.bulk(arb(1), bits)[1]
            found += [float(part.tilted(arb(x), arb(0))[1]) for x in ends]
        elif isinstance(part, Shift):
            found += [float(loss) for loss in part.losses(bits)]
        else:
            found += [float(loss) for loss in part.nodes(arb(0), 0.0, bits).loss]
    return min(found), max(found)


def _centre(parts: Law, low: float) -> float:
    """Return a loss where much of P lies: an atom, if there are any."""
    for part in parts if not any(isinstance(part, Atoms) for part in parts) else ():
        if isinstance(part, Density):
            weights = [float(w) for w in part.p]
            middle = sum(w * float(m) for w, m in zip(weights, part.slopes(), strict=True)) / sum(weights)
            return float(part.tilted(arb(middle), arb(0))[1])
    return low


def _sides(parts: Law, low: float, high: float, step: float) -> _Sides:
    """Put a law on nodes, one of them where much of it lies."""
    centre = _centre(parts, low) - _OFF * step
    first, last = int((low - centre) / step) - 2, int((high - centre) / step) + 2
    x = [arb(centre) + k * arb(step) for k in range(first, last + 1)]
    s = [at.exp() for at in x]
    sides = [part.masses(arb(0)) for part in parts]
    whole, infinite = sum((above[1] + below[1] for above, below in sides), arb(0)), at_infinity(parts, 1)
    nodes, cuts = [_above(parts, at) for at in x], [_above(parts, at + arb(step) / 2) for at in x[:-1]]
    cuts = [(p, q - infinite) for p, q in cuts]
    over = [arb(0)] * len(x)
    over[0] += (whole - nodes[0][1]) / s[0]
    for k, ((p0, q0), (p1, q1)) in enumerate(pairwise(nodes)):
        right = (q0 - q1 - s[k] * (p0 - p1)) / (s[k + 1] - s[k])
        over[k], over[k + 1] = over[k] + (p0 - p1) - right, over[k + 1] + right
    over[-1] += nodes[-1][0]
    top = nodes[-1][1] - s[-1] * nodes[-1][0]
    # Where a line is negative at the end of its cell nothing is a better set.
    lines = [(p, q) if q >= end * p else _NOTHING for (p, q), end in zip(cuts, s[1:], strict=True)]
    value = [_least(lines[max(k - 1, 0)], lines[min(k, len(cuts) - 1)], s[k]) for k in range(len(x))]
    value[-1] = value[-1].min(arb(0))
    value = list(accumulate(value, arb.min))
    exact = _bends([(arb(0), lines[0][1]), *zip(s, value, strict=True)])
    under = [mass.mid() if mass.mid() > 0 else arb(0) for mass in exact]
    slip = sum((abs(a - b) * at for a, b, at in zip(exact, under, s, strict=True)), arb(0)) + abs(value[-1])
    return _Sides(x[0], over, under, whole, top, slip)


def _bends(points: Sequence[Pair]) -> list[arb]:
    """Return by how much a chain of chords, then level, turns at all points but the first.

    A point on the chord of its neighbours or above it is left out, which lowers the chain, and makes it
    convex where the mass of a law ends on a step.
    """
    kept: list[tuple[int, Pair]] = []
    slopes: list[arb] = []
    for k, (s, value) in enumerate(points):
        while kept:
            slope = (value - kept[-1][1][1]) / (s - kept[-1][1][0])
            if not slopes or not slopes[-1] >= slope:
                slopes.append(slope)
                break
            kept.pop(), slopes.pop()
        kept.append((k, (s, value)))
    found = [arb(0)] * (len(points) - 1)
    for (k, _), (one, two) in zip(kept[1:], pairwise([*slopes, arb(0)]), strict=True):
        found[k - 1] = two - one
    return found


def _above(parts: Law, x: arb) -> Pair:
    """Return P(L > x) and Q(L > x)."""
    each = [part.above(x) for part in parts]
    return sum((p for p, _ in each), arb(0)), sum((q for _, q in each), arb(0))


def _least(one: Pair, two: Pair, s: arb) -> arb:
    """Return the lesser of two lines at s."""
    return (one[1] - s * one[0]).min(two[1] - s * two[0])
