"""Masses of a product in cells of losses, from a line of its transform.

With E_c the mean under the law tilted by e^(cL), and rho(y) = M(c + iy)/M(c) its characteristic function,

    E (e^(L-a) - 1) 1[a <= L <= b] = M(c) e^(-ca) E_c g(L - a),   g(u) = (e^u - 1) e^(-cu) on [0, h],

with h = b - a, and E_c g(L - a) = (1/2 pi) int ghat(y) rho(y) e^(-iya) dy, which is summed at equal steps.
ghat is entire, so that any c will do, and each sum is a difference of edge sums with the kernels 1/z and
1/(z - 1), z = c + iy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tradeoff.accounting.contour.line import ContourLine
from tradeoff.intervals.rounding import UNIT, Array, Complex

# Values of the product that count as errors: next to what floats can see of a sum they are nothing.
_UNSEEN = 1e-24

# Frequencies in a row, and rows summed at once, for as many edges: few enough for one thread of a BLAS.
_BLOCK, _TOGETHER = 64, 2048


class Sums(NamedTuple):
    """Edge sums of a line with the kernels 1/z and 1/(z - 1), and bounds on their rounding."""

    p: Array
    q: Array
    p_error: Array
    q_error: Array


class CellLine:
    """A line of the product's transform at c, and how far cells [a, b] are known by it.

    A cell errs by max|g| times ``each`` for each nat of its length (errors of the nodes, as |ghat| <= h max
    |g|), and by max|g| times ``left_out``: what lies beyond the last node, where |ghat(y)| <= 2 max|g|/y as g
    rises and falls once.
    """

    def __init__(self, line: ContourLine, blur: float) -> None:
        self.c, self.log_m, self.line, self.blur = line.c, line.log_m, line, blur
        y = line.step * np.arange(len(line.log), dtype=float)
        weight = np.where(y > 0, 1.0, 0.5) * (line.step / np.pi)
        rho: Complex = np.where(np.isfinite(line.log.real), np.exp(line.log), 0.0) * weight.astype(complex)
        size = np.abs(rho)
        # Moved by a uniform amount of width blur, losses have the factor sinh(w)/w = int_0^1 cosh(tw) dt with
        # w = z blur/2: within cosh(Re w) |w|^2/6 of 1, at most cosh(Re w)/|w|, where cosh(Re w) < 1 + 1e-9.
        error = weight * line.error + size * (np.hypot(line.c, y) * blur) ** 2 / 24
        seen = size > _UNSEEN * weight
        self.each = float(np.sum(np.where(seen, error, error + size))) * (1 + 1e-8)
        kept = int(np.flatnonzero(seen)[-1]) + 1
        y, rho, size = y[:kept], np.where(seen, rho, 0.0)[:kept], np.where(seen, size, 0.0)[:kept]
        # int_Y^inf 2/y min(1, 2/(y blur)) dy = 2 (log(2/(Y blur)) + 1).
        reach = max(math.log(2 / (line.last * blur)), 0.0) + 1
        self.left_out = line.cut * 2 * reach / math.pi * (1 + 1e-8)
        z = line.c + 1j * y
        pad = -len(y) % _BLOCK
        self.rows = [np.pad(rho / kernel, (0, pad)).reshape(-1, _BLOCK) for kernel in (z, z - 1)]
        self.totals = [float(np.sum(size / np.abs(kernel))) for kernel in (z, z - 1)]
        self.moments = [float(np.sum(size * y / np.abs(kernel))) for kernel in (z, z - 1)]
        # As in the line's own sum: each value 32 units, a turn a product of two, sums of rows and of columns.
        self.units = 1.5 * (2 * _BLOCK + len(self.rows[0]) + 100) * UNIT

    def sums(self, x: Array) -> Sums:
        """Return the edge sums at losses x."""
        turn, step = self.line.mean - x, self.line.step
        moved = self.line.mean_error + 4 * UNIT * (np.abs(x) + abs(self.line.mean))
        result = [np.empty(len(x)), np.empty(len(x))]
        each = max(_TOGETHER // len(self.rows[0]), 8)
        for first in range(0, len(x), each):
            some = slice(first, first + each)
            within = np.exp(1j * np.outer(step * np.arange(_BLOCK, dtype=float), turn[some]))
            starts = step * _BLOCK * np.arange(len(self.rows[0]), dtype=float)
            between = np.exp(1j * np.outer(starts, turn[some]))
            for rows, sums in zip(self.rows, result, strict=True):
                sums[some] = np.sum(((rows @ within) * between).real, axis=0)
        errors = [self.units * t + moved * m for t, m in zip(self.totals, self.moments, strict=True)]
        return Sums(*result, *errors)

    def aliases(self, a: Array, b: Array) -> Array:
        """Bound what other periods hold of a cell, over max|g|.

        A period T to the right, L >= a + T, where e^(cL) <= e^(c'L - (c' - c)(a + T)) for c' > c; likewise
        to the left of b.
        """
        period, result = 2 * np.pi / self.line.step, np.zeros(len(a))
        for side, x in ((self.line.left, b), (self.line.right, a)):
            gap = side.c - self.c
            units = 8 * UNIT * (abs(side.log_m) + abs(self.log_m) + abs(gap) * np.abs(x))
            slip = self.line.log_m_error + abs(gap) * self.blur + units
            log = side.log_m - self.log_m - gap * x - abs(gap) * period + slip
            result += np.exp(np.minimum(log, 60.0)) / -np.expm1(-abs(gap) * period) * (1 + 1e-9)
        return result

    @np.errstate(over="ignore", invalid="ignore")  # of cells too wide nothing is known: infinite, or NaN
    def cells(self, edges: Array) -> tuple[Array, ...]:
        """Return P, e^-a Q, e^-a excess and deficit of cells over M(c) e^(-ca), and their errors."""
        a, b, h = edges[:-1], edges[1:], np.diff(edges)
        known, c = self.sums(edges), self.c
        fall, q_fall, down = np.exp(-c * h), np.exp((1 - c) * h), np.exp(-h)
        p = known.p[:-1] - fall * known.p[1:]
        q = known.q[:-1] - q_fall * known.q[1:]
        # An exponential and its exponent.
        units = (16 + 4 * (abs(c) + 1) * h) * UNIT
        p_off = known.p_error[:-1] + fall * known.p_error[1:] + units * fall * np.abs(known.p[1:])
        q_off = known.q_error[:-1] + q_fall * known.q_error[1:] + units * q_fall * np.abs(known.q[1:])
        p_off, q_off = p_off + 2 * UNIT * np.abs(known.p[:-1]), q_off + 2 * UNIT * np.abs(known.q[:-1])
        # Most of e^(-cu), e^((1-c)u), (e^u - 1) e^(-cu) and (1 - e^(u-h)) e^(-cu) on [0, h].
        most, q_most = np.maximum(fall, 1.0), np.maximum(q_fall, 1.0)
        steep, flat = np.fmin(np.expm1(h) * most, q_most), -np.expm1(-h) * most
        other = (self.each * h + self.left_out + self.aliases(a, b)) * (1 + 1e-9)
        off = [p_off + other * most, q_off + other * q_most]
        off += [p_off + q_off + other * steep, p_off + down * (q_off + units * np.abs(q)) + other * flat]
        return (p, q, q - p, p - down * q, *off)
