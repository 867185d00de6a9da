"""The law of L = log(Q/P) between mixtures P = sum p_i N(m_i, 1) and Q = sum q_i N(m_i, 1).

A *component* over a *base* (here P with l = L) has densities k (1 - d + d e^l) P and k (1 - b + b e^l) P, g =
b - d, in place of P and Q. The *tilt* c weighs p by e^(cL): w = p^(1-c) q^c/M(c), M(z) = E_P e^(zL), rho(y) =
M(c + iy)/M(c). s is always the spread of the means, n >= |L'| the sum of the moduli of the positive and the
negative part of the base's L' (`MixturePair.slopes`). ``error`` and ``off`` are absolute errors, ``slack``
relative ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.intervals.functions import clip, expm1, log1p, meet
from tradeoff.intervals.roots import bracket_root, bracket_sides
from tradeoff.pld.components import (
    MARGIN,
    MAX_NODES,
    SURE,
    TALLEST,
    Base,
    Component,
    QuadratureNodes,
    Tail,
    tilted_slopes,
)
from tradeoff.pld.gaussian import DROP, REACH, Trapezoid, step
from tradeoff.pld.law import FULL, Cells, Ends, PlanningPoints, PrivacyLossDistribution, Transform, masses
from tradeoff.pld.normal_mixtures import MixturePair
from tradeoff.pld.quadrature import QuadratureTransform
from tradeoff.pld.special import integrate
from tradeoff.pld.units import TINY, UNIT, position_slack

_GRID = 4000
"""Points of a table of slopes: cells in which a density grows by a percent or so."""
_FINEST = 40_000
"""Most points of a table."""


@dataclass(frozen=True, eq=False)
class MixtureBase(Base):
    """The density of P over the line, with l = log(Q/P); ``scale`` is the spread, at least |l'|."""

    pair: MixturePair
    scale: float

    def nodes(self, component: Component, c: float, y: float | None, digits: float) -> QuadratureNodes | None:
        """Return the nodes of a trapezoid rule over the whole line; no path for y None.

        The component's own densities p and q are again mixtures of normal laws. On Im x = a their terms over
        phi, e^(m x - m^2/2), have arguments within s a of each other, s the spread of the means: while s a <
        pi the modulus of a sum is at most its value at Re x, at least cos(s a/2) of it, and arguments of q
        and p differ by at most s a. So |p^(1-z) q^z| grows by at most e^(a^2/2 + y s a), and by cos(s a/2)^-1
        for each negative power of a sum of several terms: see ``step``.
        """
        if y is None:
            return None
        s, powers = self.pair.spread, (c - MARGIN, c + MARGIN)
        q, p = self._means(*component.b), self._means(*component.d)
        falling = max(0.0, -powers[0]) * (q[0] < q[1]) + max(0.0, powers[1] - 1) * (p[0] < p[1])
        h = step(s, y + MARGIN, falling, digits)
        low, high = tilted_slopes(q, p, powers)
        spare = math.sqrt(2 * digits) + 1.5
        first, last = math.floor((low - spare) / h), math.ceil((high + spare) / h)
        if last - first > min(MAX_NODES, 3e7 / len(self.pair.means)):  # 3e7 terms take a second
            raise SizeError(f"the quadrature of {self!r} needs {last - first:.3g} nodes, too many")
        x = h * np.arange(first, last + 1, dtype=float)
        known = self.pair.logs(x)
        logs = component.logs(known.loss, known.error)
        width = np.log(h * component.k)
        log_p = width + known.log_p + logs.p
        # Each of three sums errs by its size; log(h k) by 8 of itself, and by those of k.
        slack = logs.p_error + known.p_error
        slack += UNIT * (16 + 12 * abs(width) + 4 * np.abs(logs.p) + 4 * np.abs(log_p) + component.units)
        rule = Trapezoid(h, first, last, spare, digits)
        tails, kept = rule.left_out(log_p, logs.loss, c)
        lost = 3 * math.exp(-digits) + tails + rule.size * math.exp(-digits - 20)
        return QuadratureNodes(logs.loss, log_p, slack, logs.error, lost).only(kept)

    def _means(self, part: float, rest: float) -> tuple[float, float]:
        """Return the least and the greatest mean of rest P + part Q, which bound slopes of its logarithm."""
        means = [*self.pair.p_ends] * (rest > 0) + [*self.pair.q_ends] * (part > 0)
        return min(means), max(means)

    def tail(self, component: Component, c: float, log_m: float, log_m_error: float) -> Tail:
        """Tabulate sets of cells of x, those where |dL/dx| is above a threshold, for 40 thresholds.

        Over runs of such cells, integration by parts of e^(iyL) w dx = h d(e^(iyL))/(iy), h = w/(dL/dx) the
        *height*, leaves at most (heights at both ends + variation of h)/y. dL/dx = g e^l l'/(p q) over P.
        """
        pair, s = self.pair, self.pair.spread
        low, high = tilted_slopes(self._means(*component.b), self._means(*component.d), (c, c))
        for size in (_GRID, min(int(_GRID * max(1.0, s / 4)), _FINEST)):
            x = np.linspace(low - DROP, high + DROP, size)
            known = pair.logs(x)
            logs = component.logs(known.loss, known.error)
            log_w = known.log_p + (1 - c) * logs.p + c * logs.q
            bounds = x[log_w > np.max(log_w) - DROP**2 / 2]
            low, high = bounds[0] + DROP, bounds[-1] - DROP  # of the tilted mass, for the second grid
        log_w += math.log(component.k) - log_m
        width = float(x[1] - x[0])
        slope, n = pair.slopes(x)
        log_steep = math.log(abs(component.g)) + known.loss - logs.p - logs.q  # of dL/dx over l'
        # L' is 0 where its sign is not proved. |n'| <= 2 s n, and, as its terms e^(u_i + u_j)/(P Q) grow by
        # m_i + m_j - E_P m - E_Q m and variances are at most s^2/4, the next two derivatives of l are at most
        # 2 s n and 4.5 s^2 n. From that follow the bounds on the ``first`` and the ``second`` derivative of
        # log h, which is, but for constants, log P + (2 - c) log p + (c + 1) log q - l - log l'.
        least = np.abs(slope) - n * (math.expm1(2 * s * width) + SURE)
        least, most = np.maximum(least[1:], least[:-1]), _larger(n) * math.exp(2 * s * width)
        sure = (least > most / 100) & (least > 0)
        kappa = most / np.where(sure, least, most + TINY)  # >= n/|l'|
        powers = abs(2 - c) + abs(c + 1)
        first = _larger(pair.farthest(x)) + most * (powers + 1) + 2 * s * kappa
        second = 1 + s * s / 4 + 2 * s * most * (powers + 1) + most**2 * powers / 4
        second += s * s * kappa * (4.5 + 4 * kappa)
        with np.errstate(divide="ignore"):
            log_height = np.minimum(log_w - log_steep - np.log(np.abs(slope)), TALLEST)
        height = np.exp(log_height)
        top = np.exp(np.minimum(_larger(log_height) + first * width, TALLEST))
        # The variation in a cell is at most |h(b) - h(a)| and width/3 (mean of |x - t|) times |h''| width.
        varied = np.abs(np.diff(height)) + width**2 / 3 * top * (first**2 + second)
        # log w lies at most width^2/8 of its second derivative below its chord.
        tilt = abs(1 - c) + abs(c)
        bow = (s * s / 4 + 2 * s * most * tilt + most**2 * tilt / 4) * width**2 / 8
        mass = width * np.exp(np.minimum((log_w[1:] + log_w[:-1]) / 2 - bow, 0.0))
        rate = np.where(sure, np.exp(np.minimum(log_steep[1:], log_steep[:-1])) * least, 0.0)  # <= |dL/dx|
        grow = math.exp(log_m_error) * (1 + SURE)
        tau = float(np.max(rate)) * 1.5 ** -np.arange(40.0)  # down to 1e-7 of the steepest
        inside = np.pad(rate >= np.maximum(tau, TINY)[:, None], ((0, 0), (1, 1)))
        ends = (inside[:, 1:] != inside[:, :-1]) @ height  # heights where runs of cells begin and end
        return Tail(inside[:, 1:-1] @ mass / grow, (inside[:, 1:-1] @ varied + ends) * grow)


def _larger(points: Array) -> Array:
    """Return the larger end of every cell."""
    return np.maximum(points[1:], points[:-1])


class MixtureTransform(QuadratureTransform):
    """The quadrature of a pair of mixtures whose loss increases, and ``far`` by a path next to the line.

    The integral of p^(1-z) q^z, z = c + iy, is moved to Im x = a, 0 < a < pi/s, s the spread of the means.
    Over phi, the terms of p and of q have arguments within s a of each other there, so that |p| and |q| are
    e^(a^2/2) times at most, and at least cos(s a/2) of, their values on the line. L has an imaginary part in
    (0, pi), as

        Im(q conj p) = sum_(i<j) (p_i q_j - p_j q_i) e^(u_i + u_j) sin((m_j - m_i) a)

    is positive; with sin((m_j - m_i) a) >= (m_j - m_i) sin(s a)/s it is at least sin(s a)/s L' |p q|. So

        |M(c + iy)| <= e^(a^2/2) cos(s a/2)^-falling int w e^(-y L' sin(s a)/s) dx,   w = p^(1-c) q^c,

    which decreases in y: as fast as w where L' is below 1/y, while integration by parts gives no more than
    1/y. ``SURE`` is more than the rounding of slopes, logarithms and sums of spreads up to 100: 1e6 units.
    """

    def __init__(self, law: PrivacyLossDistribution, pair: MixturePair, c: float, digits: float) -> None:
        super().__init__(law, c, digits)
        self.pair = pair

    def far(self, y: float) -> float:
        # log |rho| <= log sum mass e^(-y rate sin(s a)/s) + growth over cells, for the best a.
        s, p, q, (rate, mass), result = self.pair.spread, self.pair.p_ends, self.pair.q_ends, self._cells, 0.0
        falling = max(0.0, -self.c) * (q[0] < q[1]) + max(0.0, self.c - 1) * (p[0] < p[1])
        # The first decays most, the last grows least; above 1.5 e^(a^2/2) grows faster than all decays.
        for share in (0.5, 0.3, 0.1):
            a = min(share * math.pi / s, 1.5)
            growth = a * a / 2 - falling * math.log(math.cos(s * a / 2))
            with np.errstate(divide="ignore", under="ignore", invalid="ignore"):
                left = np.log(np.sum(mass * np.exp(-y * (math.sin(s * a) / s * (1 - SURE)) * rate)))
            result = min(result, float(left) + growth + SURE)  # NaN is not below
        return result

    @cached_property
    def _cells(self) -> tuple[Array, Array]:
        """Lower bounds on L' in cells of x and upper ones on their tilted masses; last 0 and all other mass.

        Cells are equal steps over all slopes of log(w/phi), which are means of p and q, tilted. (log w)' is a
        mean of p less x, and c L'; L' varies by e^(2 s t) over t at most. Past the last point (log w)' is
        below -9 and falls as -x: the mass there is below w/9.
        """
        s, reach = self.pair.spread, 9.0  # deviations past the steepest tilt where w is a tail of e^-40
        slopes = [self.c * q + (1 - self.c) * p for q in self.pair.q_ends for p in self.pair.p_ends]
        low, high = min(slopes) - reach, max(slopes) + reach
        # In 64 cells a deviation w and L' vary by e^(1/16) or so.
        x = np.linspace(low, high, min(int((high - low) * 64 * (1 + s)), _FINEST) + 1)
        width = float(x[1] - x[0]) * (1 + SURE)
        known, slope = self.pair.logs(x), self.pair.slopes(x)[0]
        off = known.p_error + abs(self.c) * known.error + self.log_m_error + SURE
        w = np.exp(known.log_p + self.c * known.loss - self.log_m + off)
        steep = self.pair.farthest(x) + abs(self.c) * slope * math.exp(2 * s * width) * (1 + SURE)
        with np.errstate(over="ignore", invalid="ignore"):  # of tilts so steep that the bound is trivial
            rise = np.exp(_larger(steep) * width / 2)
            mass = width * _larger(w) * rise
        rate = np.minimum(slope[1:], slope[:-1]) * math.exp(-s * width) * (1 - SURE)
        heavy = mass > 1e-25  # lighter cells count as if L' were 0 there
        rest = np.sum(mass[~heavy]) + (w[0] + w[-1]) / reach
        return np.append(rate[heavy], 0.0), np.append(mass[heavy], rest) * (1 + SURE)


class Piece(PrivacyLossDistribution):
    """A pair on an interval ``line`` along which L increases."""

    def __init__(self, pair: MixturePair, line: tuple[float, float]) -> None:
        self.pair, self.line = pair, line
        _, self._losses, _, self.end_errors = pair.logs(np.array(line))

    @cached_property
    def ends(self) -> Ends:
        (low, high), (low_error, high_error) = self._losses.tolist(), self.end_errors.tolist()
        return Ends(low - low_error, low, high, high + high_error)

    def sketch(self) -> PlanningPoints:
        raise NotImplementedError

    @property
    def next_to_ends(self) -> tuple[float, float]:
        # At an extremum L is flat: 64 errors away its width is known to 1/128.
        low, high = np.array(super().next_to_ends) + 64 * self.end_errors
        return float(low), float(high)

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """Losses at equidistant points x, made to increase, and these points."""
        x = np.linspace(*self.line, _GRID)
        return np.maximum.accumulate(self.pair.logs(x).loss), x

    def place(self, loss: Array) -> tuple[Array, Array]:
        """Return x with L(x) near each loss, a bound on |L(x) - loss|; or the nearest end and its error.

        By secants in a cell [low, high] of the table, or halves where they leave it, until L is as near as it
        is known; two to four are enough unless L has an extremum at an end of the cell.
        """
        # Where L is flat to the last digit many x have its least or largest value: all lie inside.
        is_above = loss >= self.ends.high
        x, off = (np.where(is_above, end[1], end[0]) for end in (self.line, self.end_errors))
        left = np.flatnonzero((loss > self.ends.low) & ~is_above)
        table, points = self._table
        k = np.clip(np.searchsorted(table, loss[left]), 1, len(points) - 1)
        goal, low, high = loss[left], points[k - 1], points[k]
        last, before, at, gap = low, table[k - 1] - goal, high, table[k] - goal  # both ends of the secant
        for _ in range(60):  # halves alone lead to neighbouring floats
            with np.errstate(divide="ignore", invalid="ignore"):
                new = at - gap * (at - last) / (gap - before)
            new = np.where((new > low) & (new < high), new, (low + high) / 2)
            known = self.pair.logs(new)
            last, before, at, gap = at, gap, new, known.loss - goal
            x[left], off[left] = at, known.error + np.abs(gap)
            low, high = np.where(gap < 0, at, low), np.where(gap < 0, high, at)
            far = np.abs(gap) > known.error / 4
            if not far.any():
                break
            left = left[far]
            goal, low, high, last, before, at, gap = (
                each[far] for each in (goal, low, high, last, before, at, gap)
            )
        return x, off

    def mass_above(self, weight: Bounds, x: Array) -> Bounds:
        """Bound sum_i weight_i N(m_i, 1) of the interval from x to the end of the piece."""
        mass, stop = self.pair.mass, np.full(len(x), self.line[1])
        above = mass(weight, x, 1.0)
        if stop[0] >= self.pair.means[-1] + REACH:
            return above
        return meet(above - mass(weight, stop, 1.0), mass(weight, stop, -1.0) - mass(weight, x, -1.0))

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + 2 * self.place(edges)[1] + 2 * UNIT * self.pair.spread

    def _cells(self, edges: Array) -> Cells:
        """Integrate the excess Q (1 - e^(a - L)) and the deficit P (1 - e^(L - b)) of cells [a, b] over x.

        They are those of a law near by: a point between the places of two edges a and b has the loss computed
        there, moved into the cell, and keeps its mass under Q, or under P. On the ellipses of ``integrate``
        s |Im x| is below 1.1, s the spread of the means, so that neither density vanishes, and the sum of the
        moduli of both parts of L' grows by at most e^5.
        """
        if (spread := self.pair.spread) > 125:
            most = f"means {spread:.6g} deviations apart, above 125"
            raise SizeError(f"cells of a law with {most}, take too many panels; give a larger sigma")
        x = np.maximum.accumulate(self.place(edges)[0])
        ends = self.pair.logs(x)
        apart = ends.error + np.abs(ends.loss - edges)
        off, slack = np.maximum(apart[:-1], apart[1:]), np.zeros(len(x) - 1)

        def integrands(point: Array, *_: Array) -> tuple[Array, Array]:
            """Return both integrands; raise a cell's ``off`` and ``slack`` to errors of L and densities."""
            at = point.ravel()
            known = self.pair.logs(at)
            cell = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
            np.maximum.at(off, cell, known.error)
            np.maximum.at(slack, cell, known.p_error + known.error)
            above = known.log_p + known.loss, np.maximum(known.loss - edges[cell], 0.0)
            below = known.log_p, np.maximum(edges[cell + 1] - known.loss, 0.0)
            with np.errstate(under="ignore"):
                excess, deficit = (np.exp(log) * -np.expm1(-gap) for log, gap in (above, below))
            return excess.reshape(point.shape), deficit.reshape(point.shape)

        rate = _larger(self.pair.farthest(x)) + 2 * spread + 1
        excess, deficit = integrate(integrands, x[:-1], x[1:], rate)
        # Without the limits of its cell the excess is the integral of q - e^a p, an entire function, and L
        # leaves it by at most ``off``, its distance from the edges at both ends; at the nodes L is known to
        # ``off``, too. As 1 - e^-t grows no faster than t, each of the two moves the excess by ``off`` Q, and
        # the deficit by ``off`` P. Those masses are known to the slack, up to 1/2: twice. Exponentials,
        # expm1, weights and sums of 12 terms cost 64 units more.
        p, q = masses(Cells(excess, deficit, slack), edges)
        with np.errstate(over="ignore"):  # of parts far below their errors: the slack is 1
            moved = off * np.maximum(q / np.maximum(excess, TINY), p / np.maximum(deficit, TINY))
        slack = np.where(x[1:] > x[:-1], np.minimum(slack + 4 * moved + 64 * UNIT, 1.0), 0.0)
        return Cells(excess, deficit, slack)


class MixtureLaw(PrivacyLossDistribution):
    """The law of L of a pair, by the pieces of the line along which L rises or falls (those mirrored)."""

    def __init__(self, pair: MixturePair) -> None:
        even = np.array_equal(pair.at, -pair.at[::-1])
        self.pair, self.symmetric = pair, even and np.array_equal(pair.p_weights, pair.q_weights[::-1])

    @cached_property
    def pieces(self) -> list[Piece]:
        """The laws of the pieces, whose cells add up; where L falls, of the mirrored pair."""
        cuts = [self.pair.means[0] - REACH, *self.pair.extrema(REACH), self.pair.means[-1] + REACH]
        loss = self.pair.logs(np.array(cuts)).loss
        return [
            Piece(self.pair, (a, b)) if low <= high else Piece(self.pair.mirrored(), (-b, -a))
            for (a, b), (low, high) in zip(pairwise(map(float, cuts)), pairwise(loss), strict=True)
        ]

    @cached_property
    def ends(self) -> Ends:
        least, most = self.pair.limits
        try:
            each = [piece.ends for piece in self.pieces]
        except SizeError:  # of pieces: there are no cells
            return Ends(least, least, most, most)
        return Ends(least, min(ends.low for ends in each), max(ends.high for ends in each), most)

    def sketch(self) -> PlanningPoints:
        """Return equidistant points: sums over them are as good as integrals."""
        ends = self.pair.means[0] - REACH, self.pair.means[-1] + REACH
        x = np.linspace(*ends, min(int((ends[1] - ends[0]) / 0.08), _FINEST) + 2)
        known = self.pair.logs(x)
        order = np.argsort(known.loss, kind="stable")
        return PlanningPoints(known.loss[order], known.log_p[order] + math.log(x[1] - x[0]))

    def tail(self, epsilon: Array) -> tuple[Array, Array]:
        """Bound delta(eps) from below and above by the test {L > eps}, which errs by e in nats.

        Any test is a lower bound. This one misplaces points with losses within e of eps, and so misses at
        most |1 - e^(eps - L)| <= e^e - 1 of the mass of Q of those points. All of them are among the test's
        at eps - 4 e, if its own error is at most 2 e.
        """
        rise = expm1(epsilon)
        value, _, e = self._test(epsilon, rise)
        _, under_q, other = self._test(epsilon - 4 * e, rise)
        missed = expm1(e) * np.where(other <= 2 * e, under_q.upper, 1.0)
        high = (value + missed + TINY * (2 + len(self.pair.means))).upper
        return np.maximum(value.lower, (-rise).lower), np.minimum(high, under_q.upper + TINY)

    def _test(self, epsilon: Array, rise: Bounds) -> tuple[Bounds, Bounds, Array]:
        """Bound Q(S) - (1 + rise) P(S) and Q(S) for S = {L > eps}, rise = e^eps - 1, and its errors in nats.

        Masses of one mean are taken together, q_i - e^eps p_i = (q_i - p_i) - rise p_i: only tails cancel.
        """
        value, under_q, off = Bounds.of(np.zeros(len(epsilon))), Bounds.of(np.zeros(len(epsilon))), []
        for piece in self.pieces:
            x, error = piece.place(epsilon)
            off.append(error)
            p, q, gain = piece.pair.weight_bounds
            value += piece.mass_above(gain - rise * p, x)
            under_q += piece.mass_above(q, x)
        return value, clip(under_q, 0.0, 1.0), np.asarray(np.max(off, axis=0))

    def beta(self, alpha: Array) -> tuple[Array, Array]:
        """Bound f(alpha) where L increases: Q(X < x) for x with P(X > x) above alpha, and below it."""
        mass, trivial = self.pair.mass, 1 - Bounds.of(alpha)
        near, level = alpha <= 0.5, np.where(alpha <= 0.5, alpha, alpha - 1)  # exact for alpha >= 1/2
        p, q, _ = self.pair.weight_bounds

        def under_p(x: Array, k: int) -> Array:
            """Return the lower (k = 0) or upper bound on P(X > x), or on P(X > x) - 1 where alpha > 1/2."""
            above, below = mass(p, x, 1.0), -mass(p, x, -1.0)
            return np.asarray(np.where(near, tuple(above)[k], tuple(below)[k]))

        left, right = (bracket_root(partial(under_p, k=k), level)[k] for k in (0, 1))
        first, last = (mass(q, np.where(np.isfinite(x), x, 0.0), -1.0) for x in (left, right))
        low = np.where(np.isfinite(left), first.lower, 0.0)
        high = np.where(np.isfinite(right), last.upper, 1.0)
        inside = (alpha > 0) & (alpha < 1)
        low, high = np.maximum(low, 0.0), np.minimum(high, trivial.upper)
        return np.where(inside, low, trivial.lower), np.where(inside, high, trivial.upper)

    def epsilon(self, delta: Array) -> tuple[Array, Array]:
        """Bound epsilon(delta) where L increases: L(x) for the x at which the test (x, inf) has delta."""
        (p, _, gain), (bottom, top) = self.pair.weight_bounds, self.pair.limits

        def loss(x: Array) -> Bounds:
            _, middle, _, error = self.pair.logs(x)
            return Bounds(middle - error, middle + error)

        def test(x: Array) -> Bounds:
            """Bound Q(X > x) - e^L(x) P(X > x), which falls as x grows."""
            at = loss(x)
            # For larger losses e^L overflows: a lesser one leaves more of Q, and delta is not below 0.
            rise = expm1(Bounds(*(np.minimum(end, FULL) for end in at)))
            weight = gain - rise * p
            value = meet(self.pair.mass(weight, x, 1.0), -rise - self.pair.mass(weight, x, -1.0))
            return Bounds(np.where(at.upper > FULL, 0.0, value.lower), value.upper)

        left, right = bracket_sides(test, delta)
        low, high = (loss(np.where(np.isfinite(x), x, 0.0)) for x in (left, right))
        least = log1p(-Bounds.of(delta))  # of eps: delta >= 1 - e^eps, equal where eps is below all losses
        lower = np.where(np.isfinite(left), low.lower, -np.inf)
        upper = np.where(np.isfinite(right), high.upper, top)
        upper = np.where(least.upper <= bottom, least.upper, np.minimum(upper, top))
        return np.maximum(lower, least.lower), upper

    def components(self) -> list[Component]:
        return [Component(MixtureBase(self.pair, self.pair.spread))]

    def transform(self, c: float, digits: float) -> Transform | None:
        narrow = self.pair.monotone and self.pair.spread <= 100
        return MixtureTransform(self, self.pair, c, digits) if narrow else super().transform(c, digits)

    def edge_error(self, edges: Array) -> Array:
        each = [piece.edge_error(edges) for piece in self.pieces]
        # Losses at cuts are known as all losses are.
        return np.asarray(np.maximum.reduce(each) + 16 * UNIT * np.abs(edges))

    def _cells(self, edges: Array) -> Cells:
        each = [piece.cells(edges) for piece in self.pieces]
        excess, deficit = np.sum([cells[:2] for cells in each], axis=0)
        slack = np.max([cells.slack for cells in each], axis=0) + len(each) * UNIT
        return Cells(excess, deficit, slack + position_slack(edges, 16 * UNIT * np.abs(edges)))
