"""How small a product stays beyond a frequency: intervals cleared one by one, a bound for the rest."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise

from flint import acb, arb, arb_series, ctx

from tradeoff.certificates.verify.balls import dot
from tradeoff.certificates.verify.laws import Law
from tradeoff.certificates.verify.parts import Comb, Density, Nodes
from tradeoff.certificates.verify.product import Product, gathered, sums

_COARSE = 40  # bits of M(c), and of the mass where densities are bounded from below
_DOUBLINGS = 40  # octaves in which the bounds of the factors far out must take over

# Intervals that an octave is cut in, and how often halves of what is left are cut in as many.
_INTERVALS, _DEPTH = 16, 8

Step = tuple[arb, arb]  # the mass and the variation of a step function


class Beyond:
    """|M(c + iy)/M(c)| of all factors of a product but the Gaussians, at high frequencies."""

    def __init__(self, product: Product, c: float, level: float) -> None:
        self.product, self.c, self.level = product, arb(c), level

    @cached_property
    def tails(self) -> list[_Tail]:
        rounds = sum(n for _, n in self.product.factors)
        cells = int(min(max(64 * math.exp(min(-self.level / max(rounds, 1), 6.0)), 256), 8192))
        return [_Tail(parts, self.c, cells) for parts, _ in self.product.factors]

    def far(self, y: float) -> arb:
        """Bound log of the product at all frequencies above y."""
        each = [n * tail.far(y) for (_, n), tail in zip(self.product.factors, self.tails, strict=True)]
        gauss = self.product.square * arb(y) ** 2 / 2 if self.product.square > 0 else arb(0)
        return sum(each, arb(0)) - gauss

    def stays_below(self, start: float) -> bool:
        """Whether log of the product is proved to be at most the level everywhere beyond ``start``."""
        if not self.far(math.inf) < self.level and self.product.square == 0:
            return False
        low = start
        for _ in range(_DOUBLINGS):
            if self.far(low) <= self.level:
                return True
            if not self._cleared(low):
                return False
            low *= 2
        return False

    def _cleared(self, low: float) -> bool:
        """Clear an octave in intervals, cut again where they are too long."""
        known = [gathered(parts, self.c, 2 * low, self.product.bits) for parts, _ in self.product.factors]
        return self._short(list(map(_centred, known)), arb(low), arb(2 * low), _DEPTH)

    def _short(self, known: list[Nodes], low: arb, high: arb, depth: int) -> bool:
        radius = (high - low) / (2 * _INTERVALS)
        each = [_reaches(nodes, low + radius, radius) for nodes in known]
        left = []
        for k in range(_INTERVALS):
            start = low + 2 * k * radius
            log = -self.product.square * start**2 / 2
            log += sum((n * logs[k] for (_, n), logs in zip(self.product.factors, each, strict=True)), arb(0))
            left += [] if log <= self.level else [k]
        if not left or depth == 0:
            return not left
        ends = [low + 2 * k * radius for k in (left[0], (left[0] + left[-1] + 1) / 2, left[-1] + 1)]
        return all(self._short(known, a, b, depth - 1) for a, b in pairwise(ends))


def _centred(nodes: Nodes) -> Nodes:
    """Return the nodes of a law less the mean of its loss, in units of M(c) from below."""
    total = sum(nodes.weight, arb(0)) - nodes.error
    centre = (dot(nodes.weight, nodes.loss) / total).mid()
    return Nodes([w / total for w in nodes.weight], [x - centre for x in nodes.loss], nodes.error / total)


def _reaches(nodes: Nodes, first: arb, radius: arb) -> list[arb]:
    """Bound log |rho| within ``radius`` of first + 2 k radius, by Taylor's formula of second order."""
    weight, loss, error = nodes
    slopes = [w * x for w, x in zip(weight, loss, strict=True)]
    more = radius**2 / 2 * dot(slopes, loss) + error
    found = []
    for value, slope in zip(*sums([weight, slopes], loss, 2 * radius, _INTERVALS, first), strict=True):
        turn = slope * acb(0, radius)
        size = arb(abs(value + turn)).max(abs(value - turn)) + more
        found.append(size.upper().log() if size < 1 else arb(0))
    return found


class _Tail:
    """One law far out.

    Below the density of L under the tilted law lies a step function. Its transform is at most its variation
    over |y|, and what lies above it, with all atoms, at most its mass.
    """

    def __init__(self, parts: Law, c: arb, cells: int) -> None:
        nodes = gathered(parts, c, 0.0, _COARSE)
        total = sum(nodes.weight, arb(0)) + nodes.error
        smooth = [part for part in parts if isinstance(part, Density) and not isinstance(part, Comb)]
        self.parts = [_steps(part, c, total, cells) for part in smooth]

    def far(self, y: float) -> arb:
        """Bound log of its modulus at all frequencies above y."""
        held = arb(0)
        for part in self.parts:
            mass, turns = max(part, key=lambda step: float(step[0]) - float(step[1]) / y)
            held += (mass - turns / y if y < math.inf else mass).max(arb(0))
        return (1 - held.lower()).log() if held < 1 else arb(0)


def _steps(part: Density, c: arb, total: arb, cells: int) -> list[Step]:
    """Return step functions that begin or end at any cell."""
    low, high = part.bulk(c, _COARSE)
    edges = [arb(min(low + (high - low) * k / cells, high)) for k in range(cells + 1)]
    at = [part.tilted(x, c)[1] for x in edges]
    lengths = [abs(b - a) for a, b in pairwise(at)]
    heights = [_least(part, c, a, b) / total for a, b in pairwise(edges)]
    return [*_summed(heights, lengths), *_summed(heights[::-1], lengths[::-1])]


def _least(part: Density, c: arb, low: arb, high: arb) -> arb:
    """Bound the density of L between two points from below, by the mean value theorem."""
    middle, half = (low + high) / 2, (high - low) / 2
    cap, ctx.cap = ctx.cap, 2
    slope = part.log_height(arb_series([low.union(high), 1]), c)[1]
    ctx.cap = cap
    log = part.log_height(middle, c) - abs(slope) * half
    return log.exp().lower() if log.is_finite() else arb(0)


def _summed(heights: list[arb], lengths: list[arb]) -> list[Step]:
    """Return mass and variation, the fall at the end among it, of what begins at each cell or after."""
    found, mass, turns, last = [], arb(0), heights[-1], heights[-1]
    for height, length in zip(heights[::-1], lengths[::-1], strict=True):
        mass, turns, last = mass + height * length, turns + abs(height - last), height
        found.append((mass.lower(), (turns + height).upper()))
    return found
