"""The privacy loss distribution of a product, a law like any: its cells come from lines of its transform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tradeoff.accounting.cache import Cache
from tradeoff.accounting.contour.cells import CellLine
from tradeoff.accounting.contour.place import Placement
from tradeoff.accounting.contour.product import evaluate_line
from tradeoff.intervals.rounding import TINY, UNIT, Array, Index
from tradeoff.pld.batched import batch_factors, sketches
from tradeoff.pld.cumulant import Cumulant
from tradeoff.pld.law import Cells, PlanningPoints, PrivacyLossDistribution, combine_masses_at_infinity

# Deviations of the tilted loss from one line to the next, at most; half-way e^5 of the accuracy is lost.
_APART, _LOST = 5.0, 5.0

# Shares of that distance which are tried: where rare rounds lose much, a tilt next to another may take a
# hundred times its nodes.
_SHARES = 0.75 ** np.arange(14.0)

# Lines on either side of the middle, at most, and minus the logarithm of the rarest loss they are for.
_RUNGS, _RAREST = 16, 300.0

_ALIAS = 44.0  # minus the logarithm of what other periods may add to a line
_GOAL = 1e-17  # size of the product beyond the last node, aimed at
_TERMS = 2e6  # terms summed for a line, about 30 ms: laws whose products take more are left to whole curves
_BLURRED = 2.0**-44  # losses are moved by so much, in deviations, that sums beyond the last node converge
_FINER, _POINTS = 8, 40.0  # points of a sketch in a deviation, and how many deviations it reaches

# Minus the logarithm of the rarest masses of a sketch: lattices end there, and what is beyond counts as
# infinite. Rare rounds that lose much would lead them a thousand deviations on.
_DEEPEST = 48.0

# Deviation of a tilted loss over that of the middle one below which next to all mass is at an end.
_NARROWEST = 1e-6

# Deviation of the middle line up to which the blur is nothing to any tilt: 2^-44 of it, times 80/_NARROWEST
# of the tilts between the poles and the farthest, is below 1e-5.
_WIDEST = 1e6

# Lines drawn beyond the outermost edge between cells, and with tilts below 0 and above 1; what is left is
# e^-12 of what that edge holds, and e^-80 of all.
_BEYOND, _BESIDE = 1, 3

# Size of a product beyond the last node, and error of a logarithm, from which on a line tells nothing.
_FAINT = 1e-6


class Rung(NamedTuple):
    """A tilt, and the mean and the deviation of the tilted loss."""

    c: float
    mean: float
    sd: float
    log_m: float


class ComposedLaw(PrivacyLossDistribution):
    """Law of the sum of the losses of a product that has a transform and no atoms to speak of."""

    def __init__(
        self, laws: Sequence[PrivacyLossDistribution], counts: Sequence[int], *, symmetric: bool = False
    ) -> None:
        self.parts, self.symmetric = list(zip(laws, counts, strict=True)), symmetric
        self.factors, self.counts = batch_factors(laws, counts)
        self.mass_at_plus_infinity = combine_masses_at_infinity(
            [law.mass_at_plus_infinity for law in laws], counts
        )
        self.mass_at_minus_infinity = combine_masses_at_infinity(
            [law.mass_at_minus_infinity for law in laws], counts
        )
        self.cumulant = Cumulant(sketches(laws, counts))
        self._drawn: Cache[CellLine | None] = Cache(2 * _RUNGS + 1)

    @property
    def support(self) -> tuple[float, float]:
        """Sums of supports, not of spans: atoms outside the span of their law are in the cells of the sum."""
        return self._moved([law.support for law, _ in self.parts])

    @property
    def range(self) -> tuple[float, float]:
        return self._sum([law.range for law, _ in self.parts])

    @property
    def enclosure(self) -> tuple[float, float]:
        return self._sum([law.enclosure for law, _ in self.parts])

    def _sum(self, ends: list[tuple[float, float]]) -> tuple[float, float]:
        """Add ends up, rounded outward: a count and a product are three roundings, and the sum is one."""
        low, high = zip(
            *((n * low, n * high) for (low, high), (_, n) in zip(ends, self.parts, strict=True)), strict=True
        )
        off = [4 * UNIT * math.fsum(map(abs, side)) for side in (low, high)]
        return math.fsum(low) - off[0], math.fsum(high) + off[1]

    def _moved(self, ends: list[tuple[float, float]]) -> tuple[float, float]:
        """Add ends up, and hold what the blur moves past them."""
        low, high = self._sum(ends)
        return low - self.blur, high + self.blur

    @cached_property
    def middle(self) -> Rung:
        """The tilt 1/2: between the poles of the kernels."""
        return self._rung(0.5)

    @property
    def blur(self) -> float:
        """Return the width of what losses are moved by."""
        return _BLURRED * self.middle.sd

    def _rung(self, c: float) -> Rung:
        value, mean, variance = self.cumulant(c)
        return Rung(c, mean, math.sqrt(max(variance, 0.0)), value)

    @cached_property
    def rungs(self) -> list[Rung]:
        """Tilts so far apart that half-way e^_LOST of the accuracy is lost, not next to the poles 0 and 1."""
        result = [self.middle]
        for side in (-1, 1):
            for _ in range(_RUNGS):
                rung = self._next(result[-1] if side > 0 else result[0], side)
                if rung is None:
                    break
                result = [*result, rung] if side > 0 else [rung, *result]
        return result

    def _next(self, at: Rung, side: int) -> Rung | None:
        """Return the tilt that leads farthest for its nodes, or None where losses are rarer than matters."""
        best, most = None, 0.0
        for share in _SHARES:
            step = share * _APART / at.sd
            c = at.c + side * step
            near = round(min(max(c, 0.0), 1.0))
            c = near + side * step / 4 if abs(c - near) < step / 4 else c
            rung = self._rung(c)
            lost = (at.log_m + rung.log_m) / 2 - self.cumulant.value((at.c + c) / 2)
            apart = side * (rung.mean - at.mean) > 0 and rung.sd > _NARROWEST * self.middle.sd
            if lost < _LOST and apart and c * rung.mean - rung.log_m < _RAREST:
                gain = step * self._place(rung).step
                best, most = (rung, gain) if gain > most else (best, most)
        return best

    @cached_property
    def bounds(self) -> Array:
        """Losses between which each line is asked: e^(K(c) - cx) of its neighbours are equal there."""
        c, mean, sd, log_m = np.array(self.rungs).T
        ends = mean[[0, -1]] + np.array([-1, 1]) * _APART / 2 * sd[[0, -1]]
        result = np.concatenate([ends[:1], np.diff(log_m) / np.diff(c), ends[1:]])
        return np.maximum.accumulate(result)

    def line(self, k: int) -> CellLine | None:
        """Return the line of a rung, or None where none can be drawn."""
        return self._drawn.of(k, lambda: self._line(self.rungs[k]))

    def _line(self, rung: Rung) -> CellLine | None:
        place = self._place(rung)
        line = evaluate_line(self.factors, self.counts, place) if place.drawable else None
        faint = line is None or line.cut > _FAINT or line.log_m_error > _FAINT
        return None if line is None or faint else CellLine(line, self.blur)

    def _place(self, rung: Rung) -> Placement:
        """Place a line whose aliases are nothing to cells less than _APART deviations from its mean."""
        best = []
        for side in (-1, 1):
            worst = rung.mean - side * _APART * rung.sd

            def period(reach: float, side: int = side, worst: float = worst) -> float:
                gap = side * reach / rung.sd
                rise = self.cumulant.value(rung.c + gap) - rung.log_m
                return (rise - gap * worst + _ALIAS) / abs(gap)

            reaches = np.arange(2.0, 18.0, 2.0).tolist()
            best.append(min((period(reach), side * reach) for reach in reaches))
        left, right = (rung.c + reach / rung.sd for _, reach in best)
        step = 2 * math.pi / max(each for each, _ in best)
        return Placement(rung.c, left, right, step, _GOAL * rung.sd / 30, _TERMS, 0.0, rung.sd)

    @cached_property
    def usable(self) -> bool:
        """Whether tilts reach beyond 0 and 1, and the middle line knows 1/64 deviation to 1e-4."""
        if not (0 < self.middle.sd < _WIDEST and all(map(math.isfinite, self.support))):
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
        """Saddle-point densities."""
        loss, log_p = [], []
        for side in (-1, 1):
            rung = self.middle
            for _ in range(int(_FINER * _POINTS)):
                loss.append(rung.mean)
                log_p.append(rung.log_m - rung.c * rung.mean)
                if log_p[-1] + max(side * rung.mean, 0.0) < -_DEEPEST:
                    break
                after = self._rung(rung.c + side / (_FINER * rung.sd))
                if not (side * (after.mean - rung.mean) > 0 and after.sd > _NARROWEST * self.middle.sd):
                    break
                rung = after
        at, index = np.unique(loss, return_index=True)
        spacing = np.gradient(at) if len(at) > 1 else np.ones(1)  # all of it rarer than it reaches
        # e^(K - cx)/sqrt(2 pi K'') dx
        log = np.array(log_p)[index] + np.log(spacing) - 0.5 * np.log(2 * np.pi) - np.log(self._deviation(at))
        return PlanningPoints(at, log - np.logaddexp.reduce(log) + self.cumulant.value(0.0))

    def _deviation(self, at: Array) -> Array:
        mean, sd = np.array([(rung.mean, rung.sd) for rung in self.rungs]).T
        return np.asarray(np.interp(at, mean, sd))

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + self.blur

    def _cells(self, edges: Array) -> Cells:
        low, high = self.span
        inside = edges[(edges > low) & (edges < high)]
        lines = self._lines(inside)
        first, last = min(lines), max(lines)
        bottom = min([self.bounds[first], *inside[:1]])
        top = max([self.bounds[last + 1], *inside[-1:]])
        asked = np.clip(edges, bottom, top)
        cuts = np.unique(np.concatenate([asked, self.bounds[first + 1 : last + 1], [bottom, top]]))
        cuts = cuts[(cuts >= asked[0]) & (cuts <= asked[-1])]
        start = np.searchsorted(cuts, asked)
        parts = np.zeros((4, len(cuts)))  # one more of no length: cells may begin where the last part ends
        parts[:, :-1] = self._between(cuts, lines, edges, start)
        sides = np.where(np.diff(start) > 0, np.add.reduceat(parts, start[:-1], axis=1), 0.0)
        for side, x, k in ((-1, bottom, first), (1, top, last)):
            cell = int(np.searchsorted(edges, x, side="left" if side < 0 else "right")) - 1
            if 0 <= cell < len(edges) - 1:
                sides[2:, cell] += _beyond(lines[k], x, side)
        # A sum of so many positive terms.
        units = (64 + len(lines)) * UNIT
        least, most = sides[:2] * (1 - units), sides[2:] * (1 + units)
        value = np.where(most > 0, np.maximum(least / 2 + most / 2, TINY), 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):  # halves of floats below all others err by TINY
            slack = np.where(value > 0, ((most - least) / 2 + TINY) / value + 4 * UNIT, 0.0)
        return Cells(value[0], value[1], np.maximum(*slack))

    def _lines(self, inside: Array) -> dict[int, CellLine]:
        """Return lines in a row, the outermost to bound what is left: with tilts below 0 and above 1."""
        bounds = inside[[0, -1]] if len(inside) else np.full(2, self.middle.mean)
        (low, high), start = self._nearest(bounds).tolist(), self.rungs.index(self.middle)
        below, above = (sum(rung.c < 0 for rung in self.rungs), sum(rung.c <= 1 for rung in self.rungs))
        result = {}
        for way in (
            range(start, max(min(low - _BEYOND, below - _BESIDE), 0) - 1, -1),
            range(start, min(max(high + _BEYOND, above + _BESIDE - 1) + 1, len(self.rungs))),
        ):
            for k in way:
                if (line := self.line(k)) is None:
                    break
                result[k] = line
        return result

    def _nearest(self, loss: Array) -> Array:
        """Return the line that is asked about each loss."""
        return np.clip(np.searchsorted(self.bounds, loss) - 1, 0, len(self.rungs) - 1)

    @np.errstate(over="ignore", invalid="ignore")  # of cells too wide nothing is known: infinite, or NaN
    def _between(self, cuts: Array, lines: dict[int, CellLine], edges: Array, start: Index) -> Array:
        """Bound excess and deficit of cells between cuts, and what each adds to the cell that it is part of.

        Of a part [a', b'] of [a, b], Q - e^a P is its excess and (e^a' - e^a) P, and its deficit likewise.
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
            rises, falls = p * from_a[own], q * np.exp(-h) * to_b[own]
            values = (
                (1 - c, excess, rises, off[2] + off[0] * from_a[own]),
                (-c, deficit, falls, off[3] + off[1] * np.exp(-h) * to_b[own]),
            )
            for side, (exponent, value, more, off_by) in enumerate(values):
                root = np.exp((log_m + exponent * a) / 2)  # by halves, as neither may be a float
                error = off_by * (1 + 1e-9) + (32 + 4 * h) * UNIT * (np.abs(value) + np.abs(more))
                low = np.maximum(value + more - error, 0.0) * root * root * np.maximum(1 - slip, 0.0) - TINY
                high = (value + more + error) * root * root * np.exp(slip) + TINY
                # Moved losses have a mass of at most E_P e^(L + blur/2).
                result[side, own], result[side + 2, own] = np.fmax(low, 0.0), np.fmin(high, 1 + self.blur)
        return result


def _beyond(line: CellLine, x: float, side: int) -> Array:
    """Bound Q- and P-mass below (above) x by Chernoff's e^(K(c) - (c - 1) x) and e^(K(c) - cx)."""
    log_m, size = line.log_m + line.line.log_m_error, abs(line.log_m) + (abs(line.c) + 1) * abs(x) + 1
    slip = 16 * UNIT * size + (abs(line.c) + 1) * line.blur  # of losses that are moved
    logs = [log_m - t * x + slip if side * t > 0 else line.blur for t in (line.c - 1, line.c)]
    return np.exp(np.minimum(logs, line.blur)) * (1 + 1e-9) + TINY
