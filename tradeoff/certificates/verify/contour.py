"""delta by the inversion integral along a vertical line, every error of its sum a ball.

    psi(x) = delta(x) - Q(L = inf) for c > 1,    psi(x) = 1 - delta(x) for 0 < c < 1,

is (1/2 pi) int M(c + iy) e^(-(c - 1 + iy) x) kernel(c + iy) dy with the kernel 1/(z (z - 1)), its sign turned
where c < 1 (Zhu, Dong, Wang 2022). The trapezoid sum of distance ``step`` is sum_m e^((c-1) m A) psi(x + m A)
with A = 2 pi/step, never below psi, and its other terms are at most geometric series by Chernoff's bound

    psi(x) <= M(c') e^(-(c' - 1) x) kappa(c'),   kappa = (1 - 1/c')^(c' - 1)/c' for c' > 1, and 1 for c' <= 1.

Where atoms keep the product from falling a Gaussian of mu tau is added. It only adds to delta: at most
e^x tau e^(d/2) phi(d/tau) for each d = L - x (the time value of an option, whose vega this bounds), which is
a sum over the same nodes with tau^2 e^(tau^2/8) for the kernel.

How small a product stays beyond the last node: intervals cleared one by one, a bound for the rest.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise

from flint import acb, acb_mat, arb, arb_series, ctx

from tradeoff.certificates.verify.balls import dot
from tradeoff.certificates.verify.laws import Law
from tradeoff.certificates.verify.parts import Comb, Density, Nodes
from tradeoff.certificates.verify.product import Product, gathered, sums

# Nodes of a line without an added Gaussian, doubled until the rest is proved to be nothing.
_FIRST, _LAST = 64, 2**13

_MOST = 2**20  # nodes of any line: minutes, and a gigabyte
_WIDER = 1.5  # by how much a period is lengthened that is too short

# A lower tilt may lose a factor of e^3 against the saddle if its period is at most a third.
_GIVEN, _SHORTER = 3.0, 3.0

_STEPS = 60  # most times that it is; halvings that find a saddle point; and doublings that bracket it


class Line:
    """A line near the saddle point of psi at x, with or without an added Gaussian."""

    def __init__(self, product: Product, x: float, *, middle: bool, tau: float = 0.0) -> None:
        self.product, self.x, self.middle, self.tau = product, x, middle, tau
        self.c, self.spread = self._saddle()
        self.period, self.left, self.right = self._period()
        if not middle:
            self._lower()
        self.step = float((2 * arb.pi() / self.period).mid())
        self.holds = self._drawn()

    def _saddle(self) -> tuple[float, float]:
        """Return where K(c) - (c - 1) x - log |c (c - 1)| is least, about, and the root of its bend there."""

        def at(t: float) -> float:
            return 1 / (1 + math.exp(-t)) if self.middle else 1 + math.exp(t)

        low, high = (-30.0, 30.0) if self.middle else (-30.0, 0.0)
        for _ in range(_STEPS if not self.middle else 0):
            if self._slope(at(high))[0] > 0:
                break
            low, high = high, high + 2
        for _ in range(_STEPS):
            t = (low + high) / 2
            low, high = (low, t) if self._slope(at(t))[0] > 0 else (t, high)
            if high - low < 0.05:
                break
        c = at((low + high) / 2)
        return c, math.sqrt(self._slope(c)[1])

    def _slope(self, c: float) -> tuple[float, float]:
        tilt = self.product.tilt(c)
        slope = tilt.mean + self.tau**2 * (c - 0.5) - self.x - 1 / c - 1 / (c - 1)
        return slope, tilt.variance + self.tau**2 + 1 / c**2 + 1 / (c - 1) ** 2

    def _log_m(self, c: float) -> arb:
        """Return log M(c), of the ends of the strips 0 from above."""
        if c in {0.0, 1.0}:
            return arb(0)
        return self.product.tilt(c).log_m + arb(self.tau) ** 2 * (arb(c) ** 2 - c) / 2

    def _period(self) -> tuple[float, float, float]:
        """Return a period and two Chernoff points for which what it adds is nothing beside the integrand."""
        ends = (0.0, 1.0) if self.middle else (1.0, math.inf)
        steps = [2.0 ** (k / 2) / self.spread for k in range(-4, 14)]
        points = [[max(self.c - s, ends[0]) for s in steps], [min(self.c + s, ends[1]) for s in steps]]
        size = self._log_m(self.c) - (self.c - 1) * arb(self.x)
        size -= arb(self.c * abs(self.c - 1) * self.spread * 2.6).log()
        period = 8 * self.spread
        for _ in range(_STEPS):
            best = [self._best(each, period) for each in points]
            if all(alias <= size + self.product.goal for alias, _ in best):
                break
            period *= _WIDER
        return period, best[0][1], best[1][1]

    def _lower(self) -> None:
        """Tilt less where that is worth it: K may soar beyond the saddle, and the period with it."""
        saddle = self.c, self.spread, self.period, self.left, self.right
        self.c -= min((self.c - 1) / 2, _GIVEN / max(self.x, _GIVEN / self.c))
        self.spread = math.sqrt(self._slope(self.c)[1])
        self.period, self.left, self.right = self._period()
        if self.period * _SHORTER > saddle[2]:
            self.c, self.spread, self.period, self.left, self.right = saddle

    def _best(self, points: list[float], period: float) -> tuple[arb, float]:
        """Return the least logarithm of an alias, and its point; they fall and then rise along the points."""
        found: list[tuple[arb, float]] = []
        for c in points:
            log = self._exponent(c, arb(self.x)) - abs(c - self.c) * period
            if found and float(log) > float(found[-1][0]):
                break
            found.append((log, c))
        return found[-1]

    def _exponent(self, c: float, x: arb) -> arb:
        """Return the logarithm of Chernoff's bound at x."""
        point = arb(c)
        kappa = (point - 1) * (1 - 1 / point).log() - point.log() if c > 1 else arb(0)
        return self._log_m(c) - (point - 1) * x + kappa

    def most(self, x: float) -> arb:
        """Return Chernoff's bound on psi(x), which asks for no nodes."""
        return self._exponent(self.c, arb(x)).exp()

    def _drawn(self) -> bool:
        """Find nodes and values; whether what lies beyond them could be bounded."""
        product = self.product
        if self.tau:
            count = math.ceil(math.sqrt(-2 * product.goal) / self.tau / self.step) + 2
            if count > _MOST:
                return False
            end = arb(self.tau) * self.step * (count - 1)
            self._take(count, (-end * end / 2).exp())
            return True
        goal = product.goal - max(0.0, math.log(self.c * abs(self.c - 1) * self.spread**2))
        beyond, count = Beyond(product, self.c, goal), _FIRST
        while count <= _LAST:
            last = self.step * (count - 1)
            ended = product.square * arb(last) ** 2 / 2 > -goal
            if not (ended or product.square > 0 or beyond.far(math.inf) < goal):
                return False
            self._take(count, arb(goal).exp())
            small = abs(self.values[-1]) < self.cut / 4 * self.values[0].real
            if ended or (small and beyond.stays_below(last)):
                return True
            count *= 2
        return False

    def _take(self, count: int, cut: arb) -> None:
        """Compute the values; ``cut`` bounds them over the first beyond the last."""
        self.cut, self.values = cut, self.product.values(self.c, self.step, count, arb(self.tau))

    def bounds(self, x: float) -> tuple[arb, arb]:
        """Bound psi(x)."""
        loss, step, size = arb(x), arb(self.step), (-(arb(self.c) - 1) * arb(x)).exp()
        total, bump = self._summed(loss)
        scale, last = size * step / arb.pi(), step * (len(self.values) - 1)
        # |z (z - 1)| >= y^2, and the sum over k > K of 1/(k step)^2 is less than 1/(K step^2).
        rest = size * self.values[0].real * self.cut / (arb.pi() * last)
        aliases = self._alias(self.left, loss) + self._alias(self.right, loss)
        low, high = scale * total.real - rest - aliases, scale * total.real + rest
        if self.tau:  # beyond the nodes the integral of e^(-tau^2 y^2/2) is less than itself over tau^2 y
            square = arb(self.tau) ** 2
            blur = square * (square / 8).exp() * (scale * bump.real + rest / square)
            low, high = (low, high + blur) if self.middle else (low - blur, high)
        return low.max(arb(0)), high.max(arb(0))

    @cached_property
    def _terms(self) -> list[acb_mat]:
        """Values times the kernel, and by themselves, in rows."""
        sign, values = -1 if self.middle else 1, [self.values[0] / 2, *self.values[1:]]
        z = [acb(arb(self.c), arb(self.step) * k) for k in range(len(values))]
        weighed = [value / (at * (at - 1)) * sign for value, at in zip(values, z, strict=True)]
        row = math.isqrt(len(values)) + 1
        blank = [acb(0)] * (row * row - len(values))
        return [acb_mat(row, row, [*each, *blank]) for each in (weighed, values)]

    def _summed(self, x: arb) -> list[acb]:
        """Return the sums of both over all nodes, turned by e^(-iyx): rows of turns, and those of rows."""
        row = self._terms[0].nrows()
        angles = [[-x * self.step * (k * pace) for k in range(row)] for pace in (row, 1)]
        left, right = ([acb(0, angle).exp() for angle in each] for each in angles)
        return [(acb_mat(1, row, left) * each * acb_mat(row, 1, right))[0, 0] for each in self._terms]

    def _alias(self, c: float, x: arb) -> arb:
        """Bound what the periods on one side add, each e^-gap of the one before it."""
        gap = abs(arb(c) - arb(self.c)) * 2 * arb.pi() / arb(self.step)
        return (self._exponent(c, x) - gap).exp() / -(-gap).expm1()

    def said(self) -> str:
        """Return how it proves, for a reader."""
        added = f", a Gaussian of mu {self.tau:.3g} added" if self.tau else ""
        end = self.step * (len(self.values) - 1)
        return f"contour at c = {self.c:.6g}: {len(self.values)} nodes up to {end:.6g}{added}"

    def blur(self) -> float:
        """Return about how much more a Gaussian of mu tau adds to psi at its saddle, over tau^2."""
        size = self._log_m(self.c) - (self.c - 1) * arb(self.x)
        return float(size.exp()) / (2.5 * self.spread)


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
