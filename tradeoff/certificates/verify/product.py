"""M(c + iy) of a product of laws: at a point, at frequencies of equal distance, and far out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from flint import acb, acb_mat, arb

from tradeoff.certificates.certificate import Description
from tradeoff.certificates.verify.balls import dot, greatest
from tradeoff.certificates.verify.laws import Law, at_infinity, law, square_of
from tradeoff.certificates.verify.parts import Nodes
from tradeoff.certificates.verify.report import require
from tradeoff.certificates.verify.shifts import Slab

_POINTS = 1024  # points of a quadrature whose turns are held at a time
_WORK = 2**28  # most turns of a quadrature, nodes times frequencies: a minute or two
_COARSE = 40  # bits of the moments that place a line and bound its aliases


class Tilt(NamedTuple):
    """Of a product at c: log M(c), and the mean and variance of L under the tilted law, about."""

    log_m: arb
    mean: float
    variance: float


class Product:
    """A product of laws; its Gaussian factors are one, of the square ``square`` of its mu.

    ``goal`` is the logarithm of what may be left out, relative to the integrand at its saddle.
    """

    def __init__(self, factors: Sequence[Description], goal: float) -> None:
        self.goal = goal
        self.square = arb(0)
        self.factors: list[tuple[Law, int]] = []
        for factor in factors:
            square, n = square_of(factor["law"]), factor["count"]
            if square is None:
                self.factors.append((law(factor["law"]), n))
            else:
                self.square += n * square
        many = max((n for _, n in self.factors), default=1)
        self.bits = math.ceil(8 - goal / math.log(2)) + many.bit_length()
        self._tilts: dict[float, Tilt] = {}

    def lost(self) -> arb:
        """Return Q(L = inf), 1 - prod (1 - mass)^n."""
        kept = arb(1)
        for parts, n in self.factors:
            kept *= (1 - at_infinity(parts, 1)) ** n
        return 1 - kept

    def top(self) -> arb:
        """Return a bound on the finite losses."""
        if self.square > 0:
            return arb.pos_inf()
        return sum((n * greatest([part.top() for part in parts]) for parts, n in self.factors), arb(0))

    def tilt(self, c: float) -> Tilt:
        """Return the moments at c."""
        if c not in self._tilts:
            self._tilts[c] = self._tilt(arb(c))
        return self._tilts[c]

    def _tilt(self, c: arb) -> Tilt:
        log_m = self.square * (c * c - c) / 2
        mean, variance = float(self.square * (c - arb(1) / 2)), float(self.square)
        for parts, n in self.factors:
            plain, rest = _plain(parts)
            weight, loss, error = gathered(rest, c, 0.0, _COARSE)
            masses = [slab.transform(acb(c)).real for slab in plain]
            total = sum([*weight, *masses], arb(0))
            log_m += n * (total + error * arb(0, 1)).log()
            means, widths = zip(*(slab.moments(c) for slab in plain), strict=True) if plain else ((), ())
            weight, loss = [*weight, *masses], [*loss, *means]
            centre = dot(weight, loss) / total
            mean += n * float(centre)
            away = dot(weight, [(x - centre) * (x - centre) for x in loss]) + dot(masses, widths)
            variance += n * float(away / total)
        return Tilt(log_m, mean, variance)

    def values(self, c: float, step: float, count: int, tau: arb) -> list[acb]:
        """Return M(c + iky) for k = 0 ... count - 1 and y = step, times that of a Gaussian of mu tau."""
        z = [acb(arb(c), arb(step) * k) for k in range(count)]
        gauss = (self.square + tau * tau) / 2
        found = [(gauss * (at * at - at)).exp() for at in z] if gauss > 0 else [acb(1)] * count
        for parts, n in self.factors:
            plain, rest = _plain(parts)
            nodes = gathered(rest, arb(c), step * count, self.bits)
            said = f"{len(nodes.loss)} nodes at {count} frequencies take too long; certify wider bounds"
            require("claim", len(nodes.loss) * count <= _WORK, said)
            unknown = nodes.error * acb(arb(0, 1), arb(0, 1))
            each = [value + unknown for value in sums([nodes.weight], nodes.loss, step, count)[0]]
            for slab in plain:
                each = [value + slab.transform(at) for value, at in zip(each, z, strict=True)]
            found = [a * b**n for a, b in zip(found, each, strict=True)]
        return found


def _plain(parts: Law) -> tuple[list[Slab], Law]:
    """Return the slabs whose transform has a closed form, and the other parts."""
    plain = [part for part in parts if isinstance(part, Slab) and part.plain]
    return plain, tuple(part for part in parts if part not in plain)


def gathered(parts: Law, c: arb, top: float, bits: int) -> Nodes:
    """Return the nodes of all parts."""
    found = [part.nodes(c, top, bits) for part in parts]
    weight, loss = [w for each in found for w in each.weight], [x for each in found for x in each.loss]
    return Nodes(weight, loss, sum((each.error for each in found), arb(0)))


def sums(
    weights: Sequence[list[arb]], loss: list[arb], step: float | arb, count: int, start: float | arb = 0.0
) -> list[list[acb]]:
    """Return sum w e^(iy loss) at y = start + k step for each list of weights.

    One product of matrices: the turns within a row of frequencies, and those of the rows.
    """
    row = max(1, math.isqrt(count))
    rows = -(-count // row)
    total = acb_mat(row * len(weights), rows)
    for first in range(0, len(loss), _POINTS):
        block = slice(first, first + _POINTS)
        x = loss[block]
        begun = [acb(0, start * at).exp() for at in x]
        within = _powers(begun, [acb(0, step * at).exp() for at in x], row)
        between = _powers([acb(1)] * len(x), [acb(0, step * at * row).exp() for at in x], rows)
        weighed = [
            [a * w for a, w in zip(line, each[block], strict=True)] for each in weights for line in within
        ]
        left = acb_mat(len(weighed), len(x), [value for line in weighed for value in line])
        right = acb_mat(rows, len(x), [value for line in between for value in line])
        total += left * right.transpose()
    return [[total[j * row + k % row, k // row] for k in range(count)] for j in range(len(weights))]


def _powers(first: list[acb], turn: list[acb], count: int) -> list[list[acb]]:
    """Return first turn^k for k = 0 ... count - 1, each by few products, for every one widens a ball."""
    found = [[acb(1)] * len(turn), turn]
    for k in range(2, count):
        found.append([a * b for a, b in zip(found[k // 2], found[k - k // 2], strict=True)])
    return [[a * b for a, b in zip(first, each, strict=True)] for each in found[:count]]
