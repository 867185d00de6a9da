"""The privacy loss distribution of a product, a law like any: its cells come from lines of its transform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tradeoff.composition.cache import Cache
from tradeoff.composition.contour.cells import CellLine
from tradeoff.composition.contour.place import Placement
from tradeoff.composition.contour.product import evaluate_line
from tradeoff.intervals.rounding import TINY, UNIT, Array, Index
from tradeoff.loss.cumulant import Cumulant
from tradeoff.loss.law import Cells, LossLaw, Sketch, lost_mass
from tradeoff.loss.together import sketches, together

_APART, _LOST = 5.0, 5.0
"""Deviations of the tilted loss from one line to the next, at most; half-way e^5 of the accuracy is lost."""

_SHARES = 0.75 ** np.arange(8.0)
"""Shares of that distance which are tried: where rare rounds lose much, a tilt next to another may take a
hundred times its nodes."""

_RUNGS, _RAREST = 16, 300.0
"""Lines on either side of the middle, at most, and minus the logarithm of the rarest loss they are for."""

_ALIAS = 44.0
"""Minus the logarithm of what other periods may add to a line."""

_GOAL = 1e-17
"""Size of the product beyond the last node, aimed at."""

_TERMS = 2e6
"""Terms summed for a line, about 30 ms: laws whose products take more are left to whole curves."""

_BLURRED = 2.0**-44
"""Losses are moved by so much, in deviations, that sums beyond the last node converge."""

_FINER, _POINTS = 8, 40.0
"""Points of a sketch in a deviation, and how many deviations it reaches."""

_DEEPEST = 48.0
"""Minus the logarithm of the rarest masses of a sketch: lattices end there, and what is beyond counts as
infinite. Rare rounds that lose much would lead them a thousand deviations on."""

_NARROWEST = 1e-6
"""Deviation of a tilted loss over that of the middle one below which next to all mass is at an end."""

_BEYOND = 1
"""Lines drawn beyond the outermost edge between cells; what is left is e^-12 of what that holds."""

_FAINT = 1e-6
"""Size of a product beyond the last node, and error of a logarithm, from which on a line tells nothing."""


class Rung(NamedTuple):
    """A tilt, and the mean and the deviation of the tilted loss."""

    c: float
    mean: float
    sd: float
    log_m: float


class ComposedLaw(LossLaw):
    """Law of the sum of the losses of a product that has a transform and no atoms to speak of."""

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], *, symmetric: bool = False) -> None:
        self.parts, self.symmetric = list(zip(laws, counts, strict=True)), symmetric
        self.factors, self.counts = together(laws, counts)
        self.q_plus = lost_mass([law.q_plus for law in laws], counts)
        self.p_minus = lost_mass([law.p_minus for law in laws], counts)
        self.cumulant = Cumulant(sketches(laws, counts))
        self._drawn: Cache[CellLine | None] = Cache(2 * _RUNGS + 1)

    @property
    def support(self) -> tuple[float, float]:
        return self._sum([law.support for law, _ in self.parts])

    @property
    def range(self) -> tuple[float, float]:
        return self._sum([law.range for law, _ in self.parts])

    @property
    def span(self) -> tuple[float, float]:
        return self._sum([law.span for law, _ in self.parts])

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
        found = [self.middle]
        for side in (-1, 1):
            for _ in range(_RUNGS):
                rung = self._next(found[-1] if side > 0 else found[0], side)
                if rung is None:
                    break
                found = [*found, rung] if side > 0 else [rung, *found]
        return found

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
        found = np.concatenate([ends[:1], np.diff(log_m) / np.diff(c), ends[1:]])
        return np.maximum.accumulate(found)

    def line(self, k: int) -> CellLine | None:
        """Return the line of a rung, or None where none can be drawn."""
        return self._drawn.of(k, lambda: self._line(self.rungs[k]))

    def _line(self, rung: Rung) -> CellLine | None:
        line = evaluate_line(self.factors, self.counts, self._place(rung))
        return (
            None
            if line is None or line.cut > _FAINT or line.log_m_error > _FAINT
            else CellLine(line, self.blur)
        )

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
        """Whether the middle line knows a cell of 1/64 deviation to 1e-4 of itself."""
        if not (0 < self.middle.sd < math.inf and all(map(math.isfinite, self.support))):
            return False
        if (line := self.line(self.rungs.index(self.middle))) is None:
            return False
        edges = self.middle.mean + np.array([0.0, self.middle.sd / 64])
        _, _, excess, deficit, _, _, high, low = line.cells(edges)
        return bool(high[0] < 1e-4 * excess[0] and low[0] < 1e-4 * deficit[0])

    def sketch(self) -> Sketch:
        return self._sketch

    @cached_property
    def _sketch(self) -> Sketch:
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
        spacing = np.gradient(at)
        # e^(K - cx)/sqrt(2 pi K'') dx
        log = np.array(log_p)[index] + np.log(spacing) - 0.5 * np.log(2 * np.pi) - np.log(self._deviation(at))
        return Sketch(at, log - np.logaddexp.reduce(log) + math.log1p(-self.p_minus))

    def _deviation(self, at: Array) -> Array:
        mean, sd = np.array([(rung.mean, rung.sd) for rung in self.rungs]).T
        return np.asarray(np.interp(at, mean, sd))

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + self.blur

    def _cells(self, edges: Array) -> Cells:
        low, high = self.span
        inside = edges[(edges > low) & (edges < high)]
        first, last = self._reach(inside)
        bottom = min([self.bounds[first], *inside[:1]])
        top = max([self.bounds[last + 1], *inside[-1:]])
        asked = np.clip(edges, bottom, top)
        cuts = np.unique(np.concatenate([asked, self.bounds[first + 1 : last + 1], [bottom, top]]))
        cuts = cuts[(cuts >= asked[0]) & (cuts <= asked[-1])]
        sides = np.zeros((4, len(edges) - 1))
        if len(cuts) > 1:
            start = np.searchsorted(cuts, asked)
            each, size = self._between(cuts, first, last, edges, start), np.diff(start)
            at = np.minimum(start[:-1], len(cuts) - 2)
            sides = np.where(size > 0, np.add.reduceat(each, at, axis=1), 0.0)
        self._beyond(sides, edges, (bottom, top), (first, last))
        least, most = sides[:2], sides[2:] * (1 + 64 * UNIT)
        least = np.maximum(least * (1 - 64 * UNIT), 0.0)
        value = least / 2 + most / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            slack = np.where(value > 0, (most - least) / (2 * value) + 4 * UNIT, 0.0)
        return Cells(value[0], value[1], np.maximum(*slack))

    def _reach(self, inside: Array) -> tuple[int, int]:
        """Return the outermost lines to draw: with tilts below 0 and above 1, to bound what is left."""
        held = inside[[0, -1]] if len(inside) else np.full(2, self.middle.mean)
        (low, high), start = self._nearest(held).tolist(), self.rungs.index(self.middle)
        below, above = (sum(rung.c < 0 for rung in self.rungs), sum(rung.c <= 1 for rung in self.rungs))
        first = self._drawn_to(start, min(low - _BEYOND, below - 1), -1)
        return first, self._drawn_to(start, max(high + _BEYOND, above), 1)

    def _drawn_to(self, start: int, end: int, side: int) -> int:
        """Return the line nearest to the one at ``end`` that can be reached from ``start`` by lines drawn."""
        k = start
        while side * (end - k) > 0 and 0 <= k + side < len(self.rungs) and self.line(k + side) is not None:
            k += side
        return k

    def _nearest(self, loss: Array) -> Array:
        """Return the line that is asked about each loss."""
        return np.clip(np.searchsorted(self.bounds, loss) - 1, 0, len(self.rungs) - 1)

    def _between(self, cuts: Array, first: int, last: int, edges: Array, start: Index) -> Array:
        """Bound excess and deficit of cells between cuts, and what each adds to the cell that it is part of.

        Of a part [a', b'] of [a, b], Q - e^a P is its excess and (e^a' - e^a) P, and its deficit likewise.
        """
        found = np.empty((4, len(cuts) - 1))
        owner = np.searchsorted(start, np.arange(len(cuts) - 1), side="right") - 1
        from_a = -np.expm1(np.minimum(edges[owner] - cuts[:-1], 0.0))
        to_b = -np.expm1(np.minimum(cuts[1:] - edges[owner + 1], 0.0))
        which = np.clip(self._nearest((cuts[1:] + cuts[:-1]) / 2), first, last)
        for k in np.unique(which).tolist():
            own = np.flatnonzero(which == k)
            run = cuts[own[0] : own[-1] + 2]
            a, h = run[:-1], np.diff(run)
            line = self.line(k)
            if line is None:  # lines are asked that were drawn
                raise AssertionError
            p, q, excess, deficit, *off = line.cells(run)
            c, log_m = line.c, line.log_m
            slip = line.line.log_m_error + 16 * UNIT * (2 + abs(log_m) + (abs(c) + 1) * np.abs(a))
            down = np.exp(-h) * to_b[own]
            values = [excess + p * from_a[own], deficit + q * down]
            errors = [off[2] + off[0] * from_a[own], off[3] + off[1] * down]
            for side, (value, off_by, exponent) in enumerate(zip(values, errors, (1 - c, -c), strict=True)):
                with np.errstate(over="ignore", invalid="ignore"):
                    scale = np.exp(log_m + exponent * a)
                    error = off_by + 32 * UNIT * np.abs(value)
                    found[side, own] = np.nan_to_num(
                        np.maximum(value - error, 0.0) * scale * np.maximum(1 - slip, 0.0)
                    )
                    found[side + 2, own] = np.fmin(
                        np.nan_to_num((value + error) * scale * (1 + 2 * slip), nan=1.0) + TINY, 1.0
                    )
        return found

    def _beyond(self, sides: Array, edges: Array, ends: tuple[float, float], lines: tuple[int, int]) -> None:
        """Add bounds on what lies beyond the lines drawn, by Chernoff at the outermost ones."""
        cells = (
            np.searchsorted(edges, ends[0], side="left") - 1,
            np.searchsorted(edges, ends[1], side="right") - 1,
        )
        for side, x, k, cell in zip((-1, 1), ends, lines, cells, strict=True):
            if not 0 <= cell < len(edges) - 1:
                continue
            line, c = self.line(k), self.rungs[k].c
            if line is None:
                raise AssertionError
            log_m = line.log_m + line.line.log_m_error
            for row, under in ((2, 1), (3, 0)):
                log = log_m - (c - under) * x
                known = side * (c - under) > 0
                sides[row, cell] += (
                    min(math.exp(min(log + 16 * UNIT * (abs(log_m) + abs(c * x) + 1), 0.0)), 1.0)
                    if known
                    else 1.0
                )
