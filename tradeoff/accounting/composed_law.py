"""The privacy loss distribution of a product, a law like any: its cells come from lines of its transform.

A cell [a, b] of losses has the excess Q - e^a P and the deficit P - e^-b Q. With M(z) = E_P e^(zL), E_c the
mean under the law tilted by e^(cL), and rho(y) = M(c + iy)/M(c) its characteristic function,

    E (e^(L-a) - 1) 1[a <= L <= b] = M(c) e^(-ca) E_c g(L - a),   g(u) = (e^u - 1) e^(-cu) on [0, h],

with h = b - a, and E_c g(L - a) = (1/2 pi) int ghat(y) rho(y) e^(-iya) dy, which is summed at equal steps.
ghat is entire, so that any c will do, and each sum is a difference of edge sums with the kernels 1/z (of P)
and 1/(z - 1) (of Q), z = c + iy. A rung is a tilt c; its line serves edges about its mean tilted loss, and
lines of neighbouring rungs all losses in between. Losses are moved by a uniform amount, the blur, so that the
integral past the last node converges. Aliases are what equal steps add: cells a period 2 pi/step away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from tradeoff.accounting.contour.line import Chernoff, ContourLine, Factors
from tradeoff.accounting.saddles import Cumulant, Placement
from tradeoff.intervals.bounds import Array, Complex, Index
from tradeoff.pld.batched import batch_factors, sketches
from tradeoff.pld.law import Cells, Ends, PlanningPoints, PrivacyLossDistribution, combine_masses_at_infinity
from tradeoff.pld.units import TINY, UNIT


class CellLine:
    """A line of the product's transform at c, made ready for edge sums, and how far cells are known by it.

    ``rows`` are the nodes' rho over each kernel, 64 a row and up to 16 rows a group; ``totals`` and
    ``moments`` sum their sizes, and y times these, which rounding and an error of the mean are multiplied by.
    A cell errs by max|g| times ``per_nat`` for each nat of its length (errors of the nodes, as |ghat| <= h
    max |g|), and by max|g| times ``left_out``: the integral past the last node, where |ghat(y)| <= 2 max|g|/y
    as g rises and falls once.
    """

    block = 64
    """Nodes in a row."""

    def __init__(self, line: ContourLine, blur: float) -> None:
        self.c, self.log_m, self.line, self.blur = line.place.c, line.log_m, line, blur
        y = line.place.step * np.arange(len(line.log), dtype=float)
        weight = np.where(y > 0, 1.0, 0.5) * (line.place.step / np.pi)
        rho: Complex = np.where(np.isfinite(line.log.real), np.exp(line.log), 0.0) * weight.astype(complex)
        size = np.abs(rho)
        # Moved by a uniform amount of width blur, losses have the factor sinh(w)/w = int_0^1 cosh(tw) dt with
        # w = z blur/2: within cosh(Re w) |w|^2/6 of 1, at most cosh(Re w)/|w|, where cosh(Re w) < 1 + 1e-9.
        error = weight * line.error + size * (np.hypot(self.c, y) * blur) ** 2 / 24
        seen = size > 1e-24 * weight  # others count as errors: floats cannot see them in a sum
        self.per_nat = float(np.sum(np.where(seen, error, error + size))) * (1 + 1e-8)
        kept = int(np.flatnonzero(seen)[-1]) + 1
        y, rho, size = y[:kept], np.where(seen, rho, 0.0)[:kept], np.where(seen, size, 0.0)[:kept]
        # int_Y^inf 2/y min(1, 2/(y blur)) dy = 2 (log(2/(Y blur)) + 1).
        reach = max(math.log(2 / (line.last * blur)), 0.0) + 1
        self.left_out = line.tail_bound * 2 * reach / math.pi * (1 + 1e-8)
        z, block = self.c + 1j * y, self.block
        together = min(16, math.ceil(len(y) / block))
        rows = [np.pad(rho / kernel, (0, -len(y) % (together * block))) for kernel in (z, z - 1)]
        self.rows = [each.reshape(-1, 1, together, block) for each in rows]
        self.totals = [float(np.sum(size / np.abs(kernel))) for kernel in (z, z - 1)]
        self.moments = [float(np.sum(size * y / np.abs(kernel))) for kernel in (z, z - 1)]
        # As in the line's own sum: each value 32 units, a phase a product of two, sums of rows and of
        # columns.
        self.units = 1.5 * (2 * block + 16 * len(self.rows[0]) + 100) * UNIT

    def sums(self, x: Array) -> tuple[list[Array], list[Array]]:
        """Return edge sums at losses x with the kernels 1/z and 1/(z - 1), and bounds on their rounding.

        By products of small matrices: for complex ones of 2^16 multiplications BLAS starts threads, which
        wait for each other on a busy machine.
        """
        pace, step = self.line.mean - x, self.line.place.step
        moved = self.line.mean_error + 4 * UNIT * (np.abs(x) + abs(self.line.mean))
        padded = np.pad(pace, (0, -len(x) % 32)).reshape(-1, 1, 32)
        within_a_row = step * np.arange(self.block, dtype=float)[:, None]
        groups, _, together, _ = self.rows[0].shape
        starts = step * self.block * np.arange(float(groups * together)).reshape(-1, 1, together, 1)
        result = [np.empty((len(padded), 32)), np.empty((len(padded), 32))]
        each = max(2**4 // groups, 1)
        for first in range(0, len(padded), each):
            some = slice(first, first + each)
            within, between = np.exp(1j * (within_a_row * padded[some])), np.exp(1j * (starts * padded[some]))
            for rows, sums in zip(self.rows, result, strict=True):
                sums[some] = np.sum(((rows @ within) * between).real, axis=(0, 2))
        flat = [sums.ravel()[: len(x)] for sums in result]
        return flat, [self.units * t + moved * m for t, m in zip(self.totals, self.moments, strict=True)]

    def aliases(self, a: Array, b: Array) -> Array:
        """Bound the aliases of cells [a, b], divided by max|g|.

        The first one to the right is of losses L >= a + T, T the period, where e^(cL) <=
        e^(c'L - (c' - c)(a + T)) for c' > c, ``log_m`` >= K(c') (Chernoff's bound); likewise to the left of
        b. Each further one is at most e^(-|c' - c| T) of the one before. A bound of e^60 bounds nothing.
        """
        period, result = 2 * np.pi / self.line.place.step, np.zeros(len(a))
        for side, x in ((self.line.left, b), (self.line.right, a)):
            gap = side.c - self.c
            units = 8 * UNIT * (abs(side.log_m) + abs(self.log_m) + abs(gap) * np.abs(x))
            slip = self.line.log_m_error + abs(gap) * self.blur + units
            log = side.log_m - self.log_m - gap * x - abs(gap) * period + slip
            result += np.exp(np.minimum(log, 60.0)) / -np.expm1(-abs(gap) * period) * (1 + 1e-9)
        return result

    @np.errstate(over="ignore", invalid="ignore")  # of cells too wide nothing is known: infinite, or NaN
    def cells(self, edges: Array) -> tuple[Array, ...]:
        """Return P, e^-a Q, e^-a excess and deficit of cells over M(c) e^(-ca), and their four errors."""
        a, b, h = edges[:-1], edges[1:], np.diff(edges)
        ((p_sums, q_sums), (p_errors, q_errors)), c = self.sums(edges), self.c
        fall, q_fall, down = np.exp(-c * h), np.exp((1 - c) * h), np.exp(-h)
        p, q = p_sums[:-1] - fall * p_sums[1:], q_sums[:-1] - q_fall * q_sums[1:]
        # An exponential and its exponent.
        units = (16 + 4 * (abs(c) + 1) * h) * UNIT
        p_off = p_errors[:-1] + fall * p_errors[1:] + units * fall * np.abs(p_sums[1:])
        q_off = q_errors[:-1] + q_fall * q_errors[1:] + units * q_fall * np.abs(q_sums[1:])
        p_off, q_off = p_off + 2 * UNIT * np.abs(p_sums[:-1]), q_off + 2 * UNIT * np.abs(q_sums[:-1])
        # max|g| on [0, h] for g = e^(-cu), e^((1-c)u), (e^u - 1) e^(-cu) and (1 - e^(u-h)) e^(-cu).
        most, q_most = np.maximum(fall, 1.0), np.maximum(q_fall, 1.0)
        steep, flat = np.fmin(np.expm1(h) * most, q_most), -np.expm1(-h) * most
        other = (self.per_nat * h + self.left_out + self.aliases(a, b)) * (1 + 1e-9)
        off = [p_off + other * most, q_off + other * q_most]
        off += [p_off + q_off + other * steep, p_off + down * (q_off + units * np.abs(q)) + other * flat]
        return (p, q, q - p, p - down * q, *off)


class Rung(NamedTuple):
    """A tilt, the mean and the deviation of the tilted loss, and log M."""

    c: float
    mean: float
    sd: float
    log_m: float


class ComposedLaw(PrivacyLossDistribution):
    """Law of the sum of the losses of a product with a transform and negligible atoms.

    Neighbouring rungs are at most ``apart`` deviations of the tilted loss from each other, at most ``most``
    on either side of the middle one. Where the deviation is below ``narrowest`` of the middle one's, nearly
    all mass is at an end.
    """

    apart, most, narrowest = 5.0, 16, 1e-6

    def __init__(
        self, laws: Sequence[PrivacyLossDistribution], counts: Sequence[int], *, symmetric: bool = False
    ) -> None:
        self.parts, self.symmetric = list(zip(laws, counts, strict=True)), symmetric
        self.factors = Factors(*batch_factors(laws, counts))
        above = [law.mass_at_plus_infinity for law in laws]
        below = [law.mass_at_minus_infinity for law in laws]
        self.mass_at_plus_infinity = combine_masses_at_infinity(above, counts)
        self.mass_at_minus_infinity = combine_masses_at_infinity(below, counts)
        self.cumulant = Cumulant(sketches(laws, counts))
        self.line = cache(self._line)
        self.middle = self._rung(0.5)  # between the poles of the kernels
        # Width of the uniform law by which losses are moved, so that sums past the last node converge.
        self.blur = 2.0**-44 * self.middle.sd

    @cached_property
    def ends(self) -> Ends:
        """Sums, rounded outward: a count and a product are three roundings, and the sum is one.

        The sum of supports has the atoms outside the ends of their law, which are in the cells of the sum.
        """
        each = [[n * x for x in (law.ends.least, *law.support, law.ends.most)] for law, n in self.parts]
        sums = [(math.fsum(side), 4 * UNIT * math.fsum(map(abs, side))) for side in zip(*each, strict=True)]
        least, low, high, most = (x + off * side for (x, off), side in zip(sums, (-1, -1, 1, 1), strict=True))
        return Ends(least, low - self.blur, high + self.blur, most)

    def _rung(self, c: float) -> Rung:
        value, mean, variance = self.cumulant(c)
        return Rung(c, mean, math.sqrt(max(variance, 0.0)), value)

    @cached_property
    def rungs(self) -> list[Rung]:
        """Rungs of increasing c, so far apart that half-way more than e^-5 of the accuracy is left."""
        result = [self.middle]
        for side in (-1, 1):
            for _ in range(self.most):
                rung = self._next(result[-1] if side > 0 else result[0], side)
                if rung is None:
                    break
                result = [*result, rung] if side > 0 else [rung, *result]
        return result

    def _next(self, at: Rung, side: int) -> Rung | None:
        """Return the rung right (``side`` 1) or left (-1) of one that leads farthest for its nodes, or None.

        It is not next to the poles 0 and 1 of the kernels; there is none where losses are too rare to matter.
        """
        best, most = None, 0.0
        # Where rare rounds lose much, a tilt next to another may take a hundred times its nodes.
        for share in (0.75**k for k in range(14)):
            step = share * self.apart / at.sd
            c = at.c + side * step
            near = round(min(max(c, 0.0), 1.0))
            c = near + side * step / 4 if abs(c - near) < step / 4 else c
            rung = self._rung(c)
            lost = (at.log_m + rung.log_m) / 2 - self.cumulant((at.c + c) / 2)[0]
            apart = side * (rung.mean - at.mean) > 0 and rung.sd > self.narrowest * self.middle.sd
            # Periods are more than 7 deviations, so that no gain is above step/sd.
            better = step > most * rung.sd
            if better and lost < 5.0 and apart and c * rung.mean - rung.log_m < 300.0:
                gain = step * self._place(rung).step  # nodes are inversely proportional to their step
                best, most = (rung, gain) if gain > most else (best, most)
        return best

    @cached_property
    def bounds(self) -> Array:
        """Losses between which the line of each rung serves: e^(K(c) - cx) of two rungs are equal there."""
        c, mean, sd, log_m = np.array(self.rungs).T
        ends = mean[[0, -1]] + np.array([-1, 1]) * self.apart / 2 * sd[[0, -1]]
        result = np.concatenate([ends[:1], np.diff(log_m) / np.diff(c), ends[1:]])
        return np.maximum.accumulate(result)

    def _line(self, k: int) -> CellLine | None:
        """Return the line of a rung, or None if its numbers overflow."""
        line = self.factors.line(self._place(self.rungs[k]))
        if line is None or max(line.tail_bound, line.log_m_error) > 1e-6:  # too wide to be of use
            return None
        return CellLine(line, self.blur)

    def _place(self, rung: Rung) -> Placement:
        """Place a line with aliases of e^-44 in cells less than ``apart`` deviations from its mean.

        Of each side it takes the Chernoff point, a reach in deviations from c, that needs the least period.
        """
        gap = np.multiply.outer([-1, 1], np.arange(2.0, 18.0, 2.0)) / rung.sd
        rise = self.cumulant.values((rung.c + gap).ravel()).reshape(gap.shape) - rung.log_m
        # Of the losses that a line serves, that at the far end needs the longest period.
        periods = (rise - gap * rung.mean + 44.0) / np.abs(gap) + self.apart * rung.sd
        left, right = rung.c + gap[[0, 1], np.argmin(periods, axis=1)]
        step, goal = 2 * math.pi / float(np.max(np.min(periods, axis=1))), 1e-17 * rung.sd / 30
        return Placement(rung.c, float(left), float(right), step, goal, 4e6, 0.0, rung.sd)

    @cached_property
    def usable(self) -> bool:
        """Whether rungs reach outside [0, 1], and the middle line bounds a cell of 1/64 deviation to 1e-4.

        A blur of 2^-44 deviations, times 80/``narrowest`` of the tilts between the poles and the farthest, is
        below 1e-5 up to a deviation of 1e6.
        """
        if not (0 < self.middle.sd < 1e6 and all(map(math.isfinite, self.ends[1:3]))):
            return False
        if self.rungs[0].c >= 0 or self.rungs[-1].c <= 1:
            return False
        if (line := self.line(self.rungs.index(self.middle))) is None:
            return False
        edges = self.middle.mean + np.array([0.0, self.middle.sd / 64])
        _, _, excess, deficit, _, _, high, low = line.cells(edges)
        known = high[0] < 1e-4 * excess[0] and low[0] < 1e-4 * deficit[0]
        return bool(known and len(self._sketch.loss) > 2)

    def sketch(self) -> PlanningPoints:
        return self._sketch

    @cached_property
    def _sketch(self) -> PlanningPoints:
        """Saddle-point masses e^(K - cx)/sqrt(2 pi K'') dx, eight a deviation.

        Lattices end at masses of e^-60, and larger losses count as infinite: rare rounds that lose much would
        lead them a thousand deviations on.
        """
        loss, log_p = [], []
        for side in (-1, 1):
            rung = self.middle
            for _ in range(320):  # eight points in a deviation, forty deviations out
                loss.append(rung.mean)
                log_p.append(rung.log_m - rung.c * rung.mean)
                if log_p[-1] + max(side * rung.mean, 0.0) < -60.0:
                    break
                after = self._rung(rung.c + side / (8 * rung.sd))
                if not (side * (after.mean - rung.mean) > 0 and after.sd > self.narrowest * self.middle.sd):
                    break
                rung = after
        at, index = np.unique(loss, return_index=True)
        spacing = np.gradient(at) if len(at) > 1 else np.ones(1)  # all of it rarer than it reaches
        mean, sd = np.array([(rung.mean, rung.sd) for rung in self.rungs]).T
        log = np.array(log_p)[index] + np.log(spacing) - 0.5 * np.log(2 * np.pi)
        log -= np.log(np.interp(at, mean, sd))
        return PlanningPoints(at, log - np.logaddexp.reduce(log) + self.cumulant(0.0)[0])

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + self.blur

    def _cells(self, edges: Array) -> Cells:
        """Add up the parts of each cell, cut where another line takes over, and both tails to cells there."""
        _, low, high, _ = self.ends
        inside = edges[(edges > low) & (edges < high)]
        lines = self._lines(inside)
        first, last = min(lines), max(lines)
        # Past the outermost edges a line serves as far as the last tilt: Chernoff's bound takes over there.
        bottom = min([self.bounds[0], *inside[:1]])
        top = max([self.bounds[-1], *inside[-1:]])
        inner = np.clip(edges, bottom, top)
        cuts = np.unique(np.concatenate([inner, self.bounds[first + 1 : last + 1], [bottom, top]]))
        cuts = cuts[(cuts >= inner[0]) & (cuts <= inner[-1])]
        start = np.searchsorted(cuts, inner)  # the cut at which each cell begins
        # Rows: excess and deficit from below, and both from above.
        parts = np.zeros((4, len(cuts)))  # one more of no length: cells may begin where the last part ends
        parts[:, :-1] = self._between(cuts, lines, edges, start)
        sides = np.where(np.diff(start) > 0, np.add.reduceat(parts, start[:-1], axis=1), 0.0)
        for side, x, k in ((-1, bottom, first), (1, top, last)):
            cell = int(np.searchsorted(edges, x, side="left" if side < 0 else "right")) - 1
            if 0 <= cell < len(edges) - 1:
                sides[2:, cell] += self._bound_tail(lines[k], x, side)
        # A sum of 64 + len(lines) positive terms.
        units = (64 + len(lines)) * UNIT
        least, most = sides[:2] * (1 - units), sides[2:] * (1 + units)
        value = np.where(most > 0, np.maximum(least / 2 + most / 2, TINY), 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):  # halves of floats below all others err by TINY
            slack = np.where(value > 0, ((most - least) / 2 + TINY) / value + 4 * UNIT, 0.0)
        return Cells(value[0], value[1], np.maximum(*slack))

    def _lines(self, inside: Array) -> dict[int, CellLine]:
        """Return the lines of consecutive rungs, by index, that serve edges ``inside`` and bound both tails.

        One more than the outermost edge needs leaves e^-12 of the mass past it, and three rungs below 0 and
        above 1 leave e^-80 of all. There are fewer on a side where the numbers of a line overflow.
        """
        ends = inside[[0, -1]] if len(inside) else np.full(2, self.middle.mean)
        (low, high), start = self._nearest(ends).tolist(), self.rungs.index(self.middle)
        below_0, up_to_1 = (sum(rung.c < 0 for rung in self.rungs), sum(rung.c <= 1 for rung in self.rungs))
        first, last = max(min(low - 1, below_0 - 3), 0), min(max(high + 1, up_to_1 + 2), len(self.rungs) - 1)
        result = {}
        for indices in (range(start, first - 1, -1), range(start, last + 1)):
            for k in indices:
                if (line := self.line(k)) is None:
                    break
                result[k] = line
        return result

    def _nearest(self, loss: Array) -> Array:
        """Return the index of the rung whose line serves each loss."""
        return np.clip(np.searchsorted(self.bounds, loss) - 1, 0, len(self.rungs) - 1)

    @np.errstate(over="ignore", invalid="ignore")  # of cells too wide nothing is known: infinite, or NaN
    def _between(self, cuts: Array, lines: dict[int, CellLine], edges: Array, start: Index) -> Array:
        """Bound excess and deficit of parts between cuts of the cells between edges: rows as in ``_cells``.

        Of a part [a', b'] of [a, b], Q - e^a P is its excess and (e^a' - e^a) P, and its deficit likewise.
        Exponents err by at most 16 units of their terms, products by 32, and e^-h by h more.
        """
        result = np.empty((4, len(cuts) - 1))
        owner = np.searchsorted(start, np.arange(len(cuts) - 1), side="right") - 1
        from_a = -np.expm1(np.minimum(edges[owner] - cuts[:-1], 0.0))
        to_b = -np.expm1(np.minimum(cuts[1:] - edges[owner + 1], 0.0))
        which = np.clip(self._nearest((cuts[1:] + cuts[:-1]) / 2), min(lines), max(lines))
        for k in np.unique(which).tolist():
            own, line = np.flatnonzero(which == k), lines[k]
            run = cuts[own[0] : own[-1] + 2]
            a, h, c, log_m = run[:-1], np.diff(run), line.c, line.log_m
            p, q, excess, deficit, *off = line.cells(run)
            slip = line.line.log_m_error + 16 * UNIT * (2 + abs(log_m) + (abs(c) + 1) * np.abs(a))
            down = np.exp(-h) * to_b[own]
            values = (
                (1 - c, excess, p * from_a[own], off[2] + off[0] * from_a[own]),
                (-c, deficit, q * down, off[3] + off[1] * down),
            )
            for side, (exponent, value, more, off_by) in enumerate(values):
                root = np.exp((log_m + exponent * a) / 2)  # by halves: its square may be no float
                error = off_by * (1 + 1e-9) + (32 + 4 * h) * UNIT * (np.abs(value) + np.abs(more))
                low = np.maximum(value + more - error, 0.0) * root * root * np.maximum(1 - slip, 0.0) - TINY
                high = (value + more + error) * root * root * np.exp(slip) + TINY
                # Moved losses have a mass of at most E_P e^(L + blur/2).
                result[side, own], result[side + 2, own] = np.fmax(low, 0.0), np.fmin(high, 1 + self.blur)
        return result

    def _bound_tail(self, line: CellLine, x: float, side: int) -> Array:
        """Bound Q- and P-mass below x (``side`` -1) or above (1) by e^(K(c) - (c - 1) x) and e^(K(c) - cx).

        These are Chernoff's, at the tilt of the last line and at that for x, which needs K alone and no line.
        """
        k = int(self._nearest(np.array(x)))
        point = self.factors.chernoff(self.rungs[k].c)
        known, result = Chernoff(line.c, line.log_m + line.line.log_m_error), np.full(2, line.blur)
        for c, log_m in (known, point):
            size = abs(log_m) + (abs(c) + 1) * abs(x) + 1
            slip = 16 * UNIT * size + (abs(c) + 1) * line.blur  # of losses that are moved
            logs = [log_m - t * x + slip if side * t > 0 else line.blur for t in (c - 1, c)]
            result = np.minimum(result, logs)
        return np.asarray(np.exp(result) * (1 + 1e-9) + TINY)
