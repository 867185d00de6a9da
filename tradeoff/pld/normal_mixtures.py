"""Mixtures P = sum p_i N(m_i, 1), Q = sum q_i N(m_i, 1): log P, L = log(Q/P) and L' at points, with errors.

Arrays of terms have a row for each mean and a column for each point x. With m_r the mean nearest to x and u_i
= (m_i - m_r)(x - (m_i + m_r)/2) <= 0, the term of m_i over that of m_r is e^(u_i): nothing overflows. The
loss L = log(Q/P) is, where the two are alike,

    L = log1p(sum_i d_i expm1(u_i) / sum_i p_i e^(u_i)),    d_i = q_i - p_i,    sum_i d_i = 0,

whose error scales with the d_i, however small a sampling rate makes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.balls import log_quotient, lower_float, to_bounds
from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Array, Bounds, Index
from tradeoff.intervals.functions import rational
from tradeoff.pld.gaussian import LOG_SQRT_2PI
from tradeoff.pld.special import tail_above
from tradeoff.pld.units import TINY, UNIT, around


class Logs(NamedTuple):
    """log P(x), the loss L(x), and their absolute errors."""

    log_p: Array
    loss: Array
    p_error: Array
    error: Array


@dataclass(eq=False)
class MixturePair:
    """P = sum p_i N(m_i, 1) and Q = sum q_i N(m_i, 1): increasing means ``at``, all arrays of fractions."""

    at: NDArray[np.object_]
    p_weights: NDArray[np.object_]
    q_weights: NDArray[np.object_]

    @classmethod
    def of(
        cls, null: Mapping[Fraction, Fraction], alternative: Mapping[Fraction, Fraction], sigma: Fraction
    ) -> MixturePair:
        """Return the pair of weights by mean, with means in units of sigma about their middle.

        It is mirrored at 0 where all ratios of weights fall, so that L can increase.
        """
        at = np.array(sorted({*null, *alternative}), dtype=object)
        p, q = (np.array([side.get(a, Fraction(0)) for a in at], object) for side in (null, alternative))
        pair = cls((at - (at[0] + at[-1]) / 2) / sigma, p, q)
        return pair if pair.steps[0].any() else pair.mirrored()

    def mirrored(self) -> MixturePair:
        return MixturePair(-self.at[::-1], self.p_weights[::-1], self.q_weights[::-1])

    def __post_init__(self) -> None:
        at, p, q = self.at, self.p_weights, self.q_weights
        # Means, weights of P and Q, their differences, and distances of neighbours, each rounded once.
        each = at, p, q, q - p, np.diff(at)
        self.means, self.p, self.q, self.d, self.gaps = (exact.astype(float) for exact in each)
        # The least and the greatest mean that P has, and those of Q.
        self.p_ends, self.q_ends = (self.means[side > 0][[0, -1]].tolist() for side in (p, q))
        # Bound on the distance of any two means, and so on |L'|.
        self.spread = float(self.means[-1] - self.means[0]) * (1 + 4 * UNIT)
        # How far r_i = q_i/(p_i + q_i) rises from mean to mean, and how far it falls.
        rise = np.diff(q / (p + q)).astype(float)
        self.steps = np.maximum(rise, 0.0), np.maximum(-rise, 0.0)
        # Whether r_i, and so the ratio of the weights, increases: then L increases, as normal kernels are
        # totally positive (Karlin, Total Positivity, 1968, chapter 1, section 3: variation diminishes).
        self.monotone = not self.steps[1].any()

    @cached_property
    def log_weights(self) -> tuple[Array, Array]:
        """Logarithms of the weights of P and of Q, known to 8 units of themselves; -inf of 0."""
        one, sides = Fraction(1), (self.p_weights, self.q_weights)
        logs = [[lower_float(log_quotient(w, one)) if w else -math.inf for w in side] for side in sides]
        return np.array(logs[0]), np.array(logs[1])

    @cached_property
    def log_ratios(self) -> list[Bounds[float]]:
        """Bounds on log(q_i/p_i) at every mean; L tends to the first and the last."""
        return [
            to_bounds(log_quotient(q, p)) if p and q else Bounds.of(math.inf if q else -math.inf)
            for p, q in zip(self.p_weights, self.q_weights, strict=True)
        ]

    @property
    def limits(self) -> tuple[float, float]:
        """Lower and upper bound on L, the extremes of log(q_i/p_i): where L increases, its limits."""
        return min(each.lower for each in self.log_ratios), max(each.upper for each in self.log_ratios)

    @cached_property
    def weight_bounds(self) -> list[Bounds]:
        """Bounds on the weights of P, of Q and on their differences, as columns."""
        sides = self.p_weights, self.q_weights, self.q_weights - self.p_weights
        return [Bounds(*np.array([tuple(rational(w)) for w in side]).T[:, :, None]) for side in sides]

    def mass(self, weight: Bounds, x: Array, side: float) -> Bounds:
        """Bound sum_i w_i Phi(side (m_i - x)): the mass above x for ``side`` 1, below it for -1."""
        m = Bounds(*around(self.means[:, None], 1))  # they round once
        each = weight * tail_above(side * (Bounds.of(x) - m))
        low, high = (np.sum(end, axis=0) for end in each)
        size = np.sum(np.maximum(np.abs(each.lower), np.abs(each.upper)), axis=0)
        off = (len(self.means) + 1) * UNIT * size
        return Bounds(low - off, high + off)

    def without_rare_means(self, most: float) -> tuple[MixturePair, float, float]:
        """Return the pair (P*, Q*), and how much of P and of Q they lack, each at most ``most``.

        L increases. Q* is Q without some of the greatest means, which only Q has; P* is P without some of the
        least, which only P has. Tests {L > t} reject Q* less often, and P* more often.
        """
        first, last, low, high = 0, len(self.at), Fraction(0), Fraction(0)
        while not self.q_weights[first] and low + self.p_weights[first] <= most:
            first, low = first + 1, low + self.p_weights[first]
        while not self.p_weights[last - 1] and high + self.q_weights[last - 1] <= most:
            last, high = last - 1, high + self.q_weights[last - 1]
        if not (low or high) or not self.monotone:
            return self, 0.0, 0.0
        at, p, q = (side[first:last] for side in (self.at, self.p_weights, self.q_weights))
        pair = MixturePair(at - (at[0] + at[-1]) / 2, p / (1 - low), q / (1 - high))
        return pair, float(low), float(high)

    def farthest(self, x: Array) -> Array:
        """Return the distance from each x to its farthest mean."""
        return np.asarray(np.maximum(np.abs(x - self.means[0]), np.abs(x - self.means[-1])))

    def _chunks(self, x: Array) -> Iterator[tuple[slice, Index, Array]]:
        """Yield slices of x with the nearest means r and the exponents u_i, a row for every mean."""
        # Numbers computed at once: 4 MiB, about the size of a cache.
        step, m = max(1, 2**19 // len(self.means)), self.means
        for start in range(0, len(x), step):
            here = slice(start, start + step)
            r = np.searchsorted((m[1:] + m[:-1]) / 2, x[here])
            yield here, r, (m[:, None] - m[r]) * (x[here] - (m[:, None] + m[r]) / 2)

    def logs(self, x: Array) -> Logs:
        """Return log P and L at points known to a unit of themselves."""
        result = Logs(*(np.empty(len(x)) for _ in Logs._fields))
        for here, r, u in self._chunks(x):
            nearest, others = self.means[r], np.arange(len(u))[:, None] != r
            at, z = x[here], x[here] - nearest
            # With s = |m_i| + |m_r|: differences of means are known to s units, x to one of itself, and u_i,
            # two sums and two products, to 6 s (|x| + s) in all.
            s = np.abs(self.means[:, None]) + np.abs(nearest)
            off = others * (6 * UNIT * s * (np.abs(at) + s))
            p, q = (_log_sum(log, u) for log in self.log_weights)  # over e^(-z^2/2)
            sums = zip(self.log_weights, (p, q), strict=True)
            p_error, q_error = (self._sum_error(log, value, u, off) for log, value in sums)
            near, error = self._near(u, off)
            apart = p_error + q_error + UNIT * np.abs(q - p)
            # (x - m_r)^2/2 errs by the point's error times |x - m_r|, and 3 units of itself.
            log_p = p - (z * z / 2 + LOG_SQRT_2PI)
            square = 4 * UNIT * np.abs(z) * (np.abs(at) + np.abs(nearest) + np.abs(z))
            result.log_p[here] = log_p
            result.loss[here] = np.where(error < apart, near, q - p)
            result.p_error[here] = p_error + square + UNIT * (4 + 2 * np.abs(log_p) + np.abs(p))
            result.error[here] = np.minimum(error, apart)
        return result

    def _sum_error(self, log_weights: Array, value: Array, u: Array, off: Array) -> Array:
        """Bound the error of ``value`` = log sum w_i e^(u_i), u_i known to ``off``: by their shares.

        Logarithms are known to 8 units; sums and exponentials cost 20 + k, a logarithm 10 of the value.
        """
        bounds = np.isfinite(log_weights)
        log, u, off = log_weights[bounds, None], u[bounds], off[bounds]
        share = np.exp(log + u - value)
        each = off + UNIT * (10 * np.abs(log) + 2 * np.abs(u))
        moved: Array = np.sum(share * each, axis=0) * 1.001
        return moved + UNIT * (20 + len(u) + 10 * np.abs(value))

    def _near(self, u: Array, off: Array) -> tuple[Array, Array]:
        """Return L by the module's log1p, and its error, infinite where Q/P is not within a half of 1.

        A term d_i expm1(u_i) is known to 10 units and d_i e^(u_i) off_i, the denominator likewise; a sum of k
        to k more; log1p, whose slope is below 2 here, to 8 of itself. A subnormal term loses TINY.
        """
        k, e = len(u), np.exp(u)
        rise, bottom = self.d[:, None] * np.expm1(u), np.maximum(_sum(self.p, e), 1e-290)
        odds = np.sum(rise, axis=0) / bottom
        above = UNIT * (12 + k) * np.sum(np.abs(rise), axis=0) + _sum(np.abs(self.d), e * off) + k * TINY
        below = _sum(self.p, e * off) / bottom + (12 + k) * UNIT
        known = (np.abs(odds) < 0.5) & (bottom > 1e-280)
        loss = np.log1p(np.where(known, odds, 0.0))
        error = 2.01 * (above / bottom + np.abs(odds) * below) + 8 * UNIT * np.abs(loss)
        return loss, np.where(known, error, np.inf)

    def slopes(self, x: Array) -> tuple[Array, Array]:
        """Return L', and the sum n of the moduli of its positive and its negative part.

        With w = p + q, r = q/w and F_s, G_s the sums of w_i e^(u_i) up to s and after it,

            L' P Q = sum_(i<j) (m_j - m_i) (r_j - r_i) w_i w_j e^(u_i + u_j)
                   = sum_(s,t) (m_(s+1) - m_s) (r_(t+1) - r_t) F_min(s,t) G_max(s,t):

        positive where r increases, and else a difference of two such sums.
        """
        rise, fall = np.zeros(len(x)), np.zeros(len(x))
        for here, _, u in self._chunks(x):
            rise[here] = self._crossed(u, self.steps[0])
            if not self.monotone:
                fall[here] = self._crossed(u, self.steps[1])
        return rise - fall, rise + fall

    def extrema(self, reach: float) -> Array:
        """Return the turning points of L, increasing, up to ``reach`` outside of all means.

        With s the ``spread`` and n >= |L'| the second of ``slopes``, |L''| <= 2 s n and |n'| <= 2 s n: L'
        keeps its sign in a cell of width w that has an end with |L'| > n (e^(2 s w) - 1). Other cells are
        halved, 34 times, to 1e-10, where L varies by 1e-20.
        """
        most = 200_000  # cells searched for extrema of L: of means 400 deviations apart, in half a second
        if self.monotone:
            return np.zeros(0)
        low, high = self.means[0] - reach, self.means[-1] + reach
        x = np.linspace(low, high, int(min((high - low) * (1 + self.spread), most)) + 2)
        slope, n = self.slopes(x)
        for _ in range(34):
            growth, enough = np.expm1(2 * self.spread * np.diff(x)), n * (1 + 1e-9)  # over the rounding of L'
            is_steep = [np.abs(slope[end]) > enough[end] * growth for end in (slice(1, None), slice(-1))]
            has_one_sign = is_steep[0] | is_steep[1] | (n[1:] == 0)
            if has_one_sign.all():
                break
            if len(x) > most:
                raise SizeError(
                    f"more than {most} cells are needed to locate the extrema of the loss of these "
                    "mixtures; give weights less far apart, or a larger sigma"
                )
            at, middle = np.flatnonzero(~has_one_sign) + 1, ((x[1:] + x[:-1]) / 2)[~has_one_sign]
            more = middle, *self.slopes(middle)
            x, slope, n = (np.insert(a, at, b) for a, b in zip((x, slope, n), more, strict=True))
        points, signs = x[slope != 0], np.sign(slope[slope != 0])
        at = np.flatnonzero(signs[1:] != signs[:-1])
        return np.asarray((points[at] + points[at + 1]) / 2)

    def _crossed(self, u: Array, steps: Array) -> Array:
        """Return the sum over (s, t) of ``slopes`` over P Q, for the rises or the falls ``steps`` of r.

        Terms of P and of Q over sqrt(P Q) are at most e^(|L|/2): those that underflow take less than
        1e-300 e^(|L|/2) ``spread`` of the sum. Where it is below 1e-100, or |L| above 600, logarithms serve.
        """
        p, q = (_log_sum(log, u) for log in self.log_weights)
        log_terms = np.logaddexp(*(log[:, None] for log in self.log_weights)) + u
        with np.errstate(under="ignore", over="ignore", invalid="ignore", divide="ignore"):
            result = _double_sum(np.exp(log_terms - (p + q) / 2), steps, self.gaps, np.add, np.multiply, 0.0)
            unsure = ~((result > 1e-100) & (np.abs(q - p) < 600.0))
            if unsure.any() and steps.any():
                log_steps, log_gaps = np.log(steps), np.log(self.gaps)
                logs = _double_sum(log_terms[:, unsure], log_steps, log_gaps, np.logaddexp, np.add, -np.inf)
                result[unsure] = np.exp(logs - (p + q)[unsure])
        return result


def _double_sum(each: Array, steps: Array, gaps: Array, add: np.ufunc, times: np.ufunc, zero: float) -> Array:
    """Return sum_(s,t) gaps_s steps_t F_min(s,t) G_max(s,t) of ``slopes``, F and G the sums of ``each`` row.

    With np.logaddexp to ``add``, np.add for ``times`` and ``zero`` -inf, all of them are logarithms.
    """
    step, gap = steps[:, None], gaps[:, None]
    before = add.accumulate(each, axis=0)[:-1]
    after = add.accumulate(each[::-1], axis=0)[::-1][1:]
    left, right = add.accumulate(times(step, before), axis=0), np.full_like(before, zero)
    right[:-1] = add.accumulate(times(step, after)[::-1], axis=0)[::-1][1:]
    both = add(times(left, after), times(before, right))
    return np.asarray(add.reduce(times(gap, both), axis=0))


def _sum(weights: Array, each: Array) -> Array:
    """Return the weighted sum of rows; unlike with BLAS, no entry depends on its neighbours."""
    return np.asarray(np.sum(weights[:, None] * each, axis=0))


def _log_sum(log_weights: Array, u: Array) -> Array:
    """Return log sum_i w_i e^(u_i) of each column."""
    bounds = np.isfinite(log_weights)
    exponent = log_weights[bounds, None] + u[bounds]
    top = np.max(exponent, axis=0)
    return np.asarray(top + np.log(np.sum(np.exp(exponent - top), axis=0)))
