"""The law of L between two mixtures of normal laws of one variance: its components, transform and cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.errors import NoClosedForm, SizeError
from tradeoff.intervals.functions import expm1
from tradeoff.intervals.rounding import TINY, UNIT, Array, position_slack
from tradeoff.pld.components import (
    MARGIN,
    MAX_NODES,
    SURE,
    TALLEST,
    Base,
    Component,
    QuadratureNodes,
    Tail,
    scaled,
    tilted,
)
from tradeoff.pld.gaussian import DROP, REACH
from tradeoff.pld.law import Cells, PlanningPoints, PrivacyLossDistribution, Transform
from tradeoff.pld.normal_mixtures import MixturePair
from tradeoff.pld.normal_nodes import Trapezoid, step
from tradeoff.pld.panels import Shape, walk
from tradeoff.pld.quadrature import QuadratureTransform
from tradeoff.pld.shifted import ShiftLaw


@dataclass(frozen=True)
class _Tuning:
    """Sizes of tables and quadratures: they set widths and times, never whether bounds hold."""

    terms: float = 3e7  # most means times nodes of a quadrature: a second
    grid: int = 4000  # points of a table of slopes: cells in which a density grows by a percent or so
    finest: int = 40_000  # most points of a table
    fainter: float = 1.5  # ratio of the slopes at which tails are tabulated
    thresholds: int = 40  # number of those slopes: down to 1e-7 of the steepest
    unsure: float = 100.0  # ratio of the bounds on a slope up to which it is used
    step: float = 0.08  # standard deviations between points of a sketch
    newton: int = 90  # most steps of Newton's method, halves included: from the whole line to two floats
    # Distances of paths from the line, over pi/s, the first of which decays most and the last grows least;
    # and the most of such a distance: beyond, e^(a^2/2) grows faster than all decays.
    shares: tuple[float, ...] = (0.5, 0.3, 0.1)
    highest: float = 1.5
    tail_reach: float = 9.0  # standard deviations beyond the steepest tilt where w is a tail of e^-40
    fine: int = 64  # cells of an upper sum a deviation: w and L' vary by e^(1/16) or so in them
    negligible: float = 1e-25  # tilted masses of cells below it count as if L' were 0 there
    widest: float = 100.0  # spread of means up to which the path is taken


_TUNING = _Tuning()


@dataclass(frozen=True, eq=False)
class MixtureBase(Base):
    """The density of P over the line, with l = log(Q/P), neither of which is affine."""

    pair: MixturePair

    @property
    def scale(self) -> float:  # type: ignore[override]  # a derived value here, a constant in the other
        return self.pair.spread

    def loss(self, x: Array) -> Array:
        return self.pair.logs(x).loss

    def log_density(self, x: Array) -> Array:
        return self.pair.logs(x).log_p

    def nodes(self, component: Component, c: float, y: float, digits: float) -> QuadratureNodes:
        """Trapezoid rule over the whole line.

        The component's own densities p and q are again mixtures of normal laws. On Im x = a their terms over
        phi, e^(m x - m^2/2), have arguments within s a of each other, s the spread of the means: while s a <
        pi the modulus of a sum is at most its value at Re x, at least cos(s a/2) of it, and arguments of q
        and p differ by at most s a. So |p^(1-z) q^z| grows by at most e^(a^2/2 + y s a), and by cos(s a/2)^-1
        for each negative power of a sum of several terms: see ``step``.
        """
        s, powers = self.pair.spread, (c - MARGIN, c + MARGIN)
        q, p = self._means(*component.b), self._means(*component.d)
        falling = max(0.0, -powers[0]) * (q[0] < q[1]) + max(0.0, powers[1] - 1) * (p[0] < p[1])
        h = step(s, y + MARGIN, falling, digits)
        low, high = tilted(q, p, powers)
        spare = math.sqrt(2 * digits) + 1.5
        first, last = math.floor((low - spare) / h), math.ceil((high + spare) / h)
        if last - first > min(MAX_NODES, _TUNING.terms / len(self.pair.means)):
            raise SizeError(f"the quadrature of {self!r} needs {last - first:.3g} nodes, too many")
        x = h * np.arange(first, last + 1, dtype=float)
        known = self.pair.logs(x)
        logs = component.logs(known.loss, known.error)
        width = np.log(h * component.k)
        log_p = width + known.log_p + logs.p
        # Each of three sums errs by its size; log(h k) by 8 of itself, and by those of k.
        slack = logs.p_error + known.p_error
        slack += UNIT * (16 + 12 * abs(width) + 4 * np.abs(logs.p) + 4 * np.abs(log_p) + component.units)
        rule = Trapezoid(h, first, last, spare, digits, len(x))
        tails, kept = rule.left_out(log_p, logs.loss, c)
        lost = 3 * math.exp(-digits) + tails + rule.reach * math.exp(-digits - 20)
        return QuadratureNodes(logs.loss, log_p, slack, logs.error, lost).only(kept)

    def _means(self, part: float, rest: float) -> tuple[float, float]:
        """Return the least and the greatest mean of rest P + part Q, which bound slopes of its logarithm."""
        each = ((rest, self.pair.p_weights), (part, self.pair.q_weights))
        lows, highs = zip(*(self.pair.ends(weights) for share, weights in each if share > 0), strict=True)
        return min(lows), max(highs)

    def tail(self, component: Component, c: float, log_m: float, log_m_error: float) -> Tail:
        """Tabulate, for one threshold of dL/dx after the other, the mass above and the variation of heights.

        Over the runs of cells where dL/dx is above the threshold, integration by parts of e^(iyL) w dx = h
        d(e^(iyL))/(iy), h = w/(dL/dx), leaves at most (heights at both ends + variation of h)/y.
        """
        x = self._grid(component, c)
        rate, mass, height, varied = self._steepness(component, c, log_m, x)
        grow = math.exp(log_m_error) * (1 + SURE)
        tau = float(np.max(rate)) * _TUNING.fainter ** -np.arange(_TUNING.thresholds)
        inside = np.pad(rate >= np.maximum(tau, TINY)[:, None], ((0, 0), (1, 1)))
        ends = (inside[:, 1:] != inside[:, :-1]) @ height
        return Tail(inside[:, 1:-1] @ mass / grow, (inside[:, 1:-1] @ varied + ends) * grow)

    def _grid(self, component: Component, c: float) -> Array:
        """Return equidistant points over the tilted mass, fine enough for the steepest slope."""
        low, high = tilted(self._means(*component.b), self._means(*component.d), (c, c))
        size = min(int(_TUNING.grid * max(1.0, self.pair.spread / 4)), _TUNING.finest)
        coarse = np.linspace(low - DROP, high + DROP, _TUNING.grid)
        known = self.pair.logs(coarse)
        logs = component.logs(known.loss, known.error)
        log_w = known.log_p + (1 - c) * logs.p + c * logs.q
        bounds = coarse[log_w > np.max(log_w) - DROP**2 / 2]
        return np.linspace(bounds[0], bounds[-1], size)

    def _steepness(
        self, component: Component, c: float, log_m: float, x: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return of every cell dL/dx (0 where its sign is not proved), mass from below and variation of h.

        The heights at the points are the third. With n the base's L', or the sum of the moduli of its parts,
        |n'| <= 2 s n, and, as its terms e^(u_i + u_j)/(P Q) grow by m_i + m_j - E_P m - E_Q m and variances
        are at most s^2/4, the next two derivatives of L are at most 2 s n and 4.5 s^2 n. From that follow the
        bounds on the first two derivatives of log h, whose terms are those of ``AffineBase``.
        """
        pair, s, width = self.pair, self.pair.spread, float(x[1] - x[0])
        known = pair.logs(x)
        logs = component.logs(known.loss, known.error)
        slope, parts = pair.slopes(x)
        log_w = known.log_p + (1 - c) * logs.p + c * logs.q + math.log(component.k) - log_m
        log_steep = math.log(abs(component.g)) + known.loss - logs.p - logs.q
        least = np.abs(slope) - parts * (math.expm1(2 * s * width) + SURE)
        least, most = np.maximum(least[1:], least[:-1]), _larger(parts) * math.exp(2 * s * width)
        sure = (least > most / _TUNING.unsure) & (least > 0)
        kappa = most / np.where(sure, least, most + TINY)
        away = _larger(pair.farthest(x))
        powers = abs(2 - c) + abs(c + 1)
        first = away + most * (powers + 1) + 2 * s * kappa
        second = 1 + s * s / 4 + 2 * s * most * (powers + 1) + most**2 * powers / 4
        second += s * s * kappa * (4.5 + 4 * kappa)
        with np.errstate(divide="ignore"):
            log_height = np.minimum(log_w - log_steep - np.log(np.abs(slope)), TALLEST)
        height = np.exp(log_height)
        top = np.exp(np.minimum(_larger(log_height) + first * width, TALLEST))
        # h' is within h'' |s - t| of its values at all t: on average width^2/3 of it.
        varied = np.abs(np.diff(height)) + width**2 / 3 * top * (first**2 + second)
        # log w lies at most width^2/8 of its second derivative below its chord.
        tilt = abs(1 - c) + abs(c)
        bow = (s * s / 4 + 2 * s * most * tilt + most**2 * tilt / 4) * width**2 / 8
        mass = width * np.exp(np.minimum((log_w[1:] + log_w[:-1]) / 2 - bow, 0.0))
        rate = np.where(sure, np.exp(np.minimum(log_steep[1:], log_steep[:-1])) * least, 0.0)
        return rate, mass, height, varied


def _larger(points: Array) -> Array:
    """Return the larger end of every cell."""
    return np.maximum(points[1:], points[:-1])


class MixtureTransform(QuadratureTransform):
    """The quadrature of a pair of mixtures whose loss increases, and its decay, by a path next to the line.

    The integral of p^(1-z) q^z, z = c + iy, is moved to Im x = a, 0 < a < pi/s, s the spread of the means.
    Over phi, the terms of p and of q have arguments within s a of each other there, so that |p| and |q| are
    e^(a^2/2) times at most, and at least cos(s a/2) of, their values on the line. L has an imaginary part in
    (0, pi), as

        Im(q conj p) = sum_(i<j) (p_i q_j - p_j q_i) e^(u_i + u_j) sin((m_j - m_i) a)

    is positive; with sin((m_j - m_i) a) >= (m_j - m_i) sin(s a)/s it is at least sin(s a)/s L' |p q|. So

        |M(c + iy)| <= e^(a^2/2) cos(s a/2)^-falling int w e^(-y L' sin(s a)/s) dx,   w = p^(1-c) q^c,

    which decreases in y: as fast as w where L' is below 1/y, while integration by parts gives no more than
    1/y. ``SURE`` is more than the rounding of slopes, logarithms and sums of spreads up to ``widest``: 1e6
    units.
    """

    def __init__(self, law: PrivacyLossDistribution, pair: MixturePair, c: float, digits: float) -> None:
        super().__init__(law, c, digits)
        self.pair, self._ends = pair, (pair.ends(pair.p_weights), pair.ends(pair.q_weights))

    def far(self, y: float) -> float:
        rate, mass = self._cells
        with np.errstate(divide="ignore", under="ignore", invalid="ignore"):  # NaN is not below 0
            sums = [(growth, np.sum(mass * np.exp(-y * lift * rate))) for growth, lift in self._distances]
            return min(0.0, *(float(np.log(result)) + growth + SURE for growth, result in sums))

    @cached_property
    def _distances(self) -> list[tuple[float, float]]:
        """Log of the growth of w, and Im L over L' from below, at some distances from the line."""
        s, (p, q) = self.pair.spread, self._ends
        falling = max(0.0, -self.c) * (q[0] < q[1]) + max(0.0, self.c - 1) * (p[0] < p[1])
        distances = [min(share * math.pi / s, _TUNING.highest) for share in _TUNING.shares]
        return [
            (a * a / 2 - falling * math.log(math.cos(s * a / 2)), math.sin(s * a) / s * (1 - SURE))
            for a in distances
        ]

    @cached_property
    def _cells(self) -> tuple[Array, Array]:
        """Cells' dL/dx from below and tilted mass from above; at the end 0, and all other mass.

        Cells are equal steps over all slopes of log(w/phi), which are means of p and q, tilted. (log w)' is a
        mean of p less x, and c L'; L' varies by e^(2 s t) over t at most. Beyond the last point (log w)' is
        below -9 and falls as -x: the mass there is below w/9.
        """
        s, (p, q) = self.pair.spread, self._ends
        by_p, by_q = scaled(1 - self.c, p), scaled(self.c, q)
        low, high = by_p[0] + by_q[0] - _TUNING.tail_reach, by_p[1] + by_q[1] + _TUNING.tail_reach
        x = np.linspace(low, high, min(int((high - low) * _TUNING.fine * (1 + s)), _TUNING.finest) + 1)
        width = float(x[1] - x[0]) * (1 + SURE)
        known, slope = self.pair.logs(x), self.pair.slopes(x)[0]
        off = known.p_error + abs(self.c) * known.error + self.log_m_error + SURE
        w = np.exp(known.log_p + self.c * known.loss - self.log_m + off)
        steep = self.pair.farthest(x) + abs(self.c) * slope * math.exp(2 * s * width) * (1 + SURE)
        with np.errstate(over="ignore", invalid="ignore"):  # of tilts so steep that the bound is trivial
            rise = np.exp(_larger(steep) * width / 2)
            mass = width * _larger(w) * rise
        rate = np.minimum(slope[1:], slope[:-1]) * math.exp(-s * width) * (1 - SURE)
        heavy = mass > _TUNING.negligible
        rest = np.sum(mass[~heavy]) + (w[0] + w[-1]) / _TUNING.tail_reach
        return np.append(rate[heavy], 0.0), np.append(mass[heavy], rest) * (1 + SURE)


class MixtureShape(Shape):
    """A pair on a piece of the line along which L increases."""

    def __init__(self, pair: MixturePair, span: tuple[float, float]) -> None:
        self.pair, self.span, self.theta = pair, span, pair.spread
        # Exponents err by 6 (|m_i| + |m_r|)(|x| + |m_i| + |m_r|) units, sums by the number of terms.
        farthest = float(np.max(np.abs(pair.means)))
        self.stiffness = 16 + 4 * len(pair.means) + 24 * farthest * (1 + farthest)

    def log_p(self, x: Array) -> Array:
        return self.pair.log_densities(x.ravel())[0].reshape(x.shape)

    def log_q(self, x: Array) -> Array:
        return self.pair.log_densities(x.ravel())[1].reshape(x.shape)

    def loss(self, x: Array) -> Array:
        return self.pair.logs(x).loss

    def loss_error(self, x: Array) -> Array:
        return self.pair.logs(x).error

    def slope_error(self, x: Array) -> Array:
        """Return the units of a double sum of k terms, known as ``logs`` are, times the sum of their moduli.

        Of a term w_i w_j e^(u_i + u_j) two logarithms cost 20 units each and exponents as much as their
        means; where sums are of logarithms, those of steps and gaps among them, each of ten takes k steps of
        their size. The factor 1/PQ, common to rise and fall, is charged with the densities. With n the sum of
        the moduli, |n'| <= 2 s n, and no panel is wider than 1/(2 s): n grows less than threefold.
        """
        pair = self.pair
        if pair.monotone:
            return np.zeros(len(x))
        k, farthest = len(pair.means), float(np.max(np.abs(pair.means)))
        weights = np.concatenate(pair.log_weights)
        steps = np.log([step for step in np.concatenate([*pair.steps, pair.gaps]) if step > 0])
        log = float(np.max(np.abs([*weights[np.isfinite(weights)], *steps])))
        exponent = 2 * farthest * (2 * farthest + REACH)
        units = 64 + 8 * k + 40 * log + 24 * farthest * (3 * farthest + REACH) + 10 * k * (log + exponent)
        return 3 * UNIT * units * pair.slopes(x)[1]

    def slope(self, x: Array) -> Array:
        return np.maximum(self.pair.slopes(x.ravel())[0], 0.0).reshape(x.shape)

    def steepness(self, x: Array, size: Array) -> Array:
        # Of the densities, and of L'.
        return np.asarray(_larger(self.pair.farthest(x)) + 2 * self.theta)

    def panels(self) -> Array:
        # On an ellipse about x of reach 1/2 r densities grow by e^0.8, and L' by e^2.3.
        first, last = float(self.pair.means[0]), float(self.pair.means[-1])
        return walk(*self.span, lambda x: 0.25 / (1 + max(abs(x - first), abs(x - last))))

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        x = self.panels()
        return np.maximum.accumulate(self.loss(x)), x

    @np.errstate(over="ignore")  # of steps where L is flat: they leave the bracket
    def locate(self, loss: Array) -> tuple[Array, Array]:
        low, high = (np.full(loss.shape, end) for end in self.span)
        x = np.clip(np.interp(loss, *self._table), low, high)
        for _ in range(_TUNING.newton):  # Newton inside a bracket that halves when it leaves
            known, slope = self.pair.logs(x), self.slope(x)
            value = known.loss - loss
            low, high = np.where(value <= 0, x, low), np.where(value >= 0, x, high)
            fresh = x - value / np.maximum(slope, 1e-300)
            fresh = np.where((fresh > low) & (fresh < high), fresh, (low + high) / 2)
            done = (np.abs(value) <= known.error) | (np.abs(fresh - x) <= 2 * UNIT * np.abs(x))
            if np.all(done):
                break
            x = np.where(done, x, fresh)
        ends = (loss <= self._table[0][0]) | (loss >= self._table[0][-1])  # cut there, whatever the loss is
        off = np.where(ends, 0.0, (np.abs(value) + known.error) / np.maximum(slope, 1e-300) * 1.01)
        return x, off + 4 * UNIT * (np.abs(x) + self.theta)


class MixtureLaw(PrivacyLossDistribution):
    """The law of L of a pair, by the pieces of the line along which L rises or falls."""

    def __init__(self, pair: MixturePair) -> None:
        self.pair, self.symmetric = pair, pair.symmetric

    @cached_property
    def pieces(self) -> list[ShiftLaw]:
        """The laws of the pieces, whose cells add up."""
        cuts = [self.pair.means[0] - REACH, *self.pair.turns(REACH), self.pair.means[-1] + REACH]
        return [self._piece(float(a), float(b)) for a, b in pairwise(cuts)]

    def _piece(self, start: float, stop: float) -> ShiftLaw:
        low, high = self.pair.logs(np.array([start, stop])).loss
        if low <= high:
            return ShiftLaw(MixtureShape(self.pair, (start, stop)))
        return ShiftLaw(MixtureShape(self.pair.mirrored(), (-stop, -start)))

    @cached_property
    def support(self) -> tuple[float, float]:
        lows, highs = zip(*(piece.support for piece in self.pieces), strict=True)
        return min(lows), max(highs)

    @property
    def range(self) -> tuple[float, float]:
        return self.pair.limits

    def sketch(self) -> PlanningPoints:
        """Return equidistant points: sums over them are as good as integrals."""
        ends = self.pair.means[0] - REACH, self.pair.means[-1] + REACH
        x = np.linspace(*ends, min(int((ends[1] - ends[0]) / _TUNING.step), _TUNING.finest) + 2)
        known = self.pair.logs(x)
        order = np.argsort(known.loss, kind="stable")
        return PlanningPoints(known.loss[order], known.log_p[order] + math.log(x[1] - x[0]))

    def tail(self, epsilon: Array) -> tuple[Array, Array]:
        """Bound delta(eps), the sum over pieces in which L rises up to its error e.

        At eps - 2e nothing with L > eps is left out, and all that is in has L > eps - 4e.
        """
        e = 2 * np.max([piece.shape.loss_error(piece.place(epsilon)[0]) for piece in self.pieces], axis=0)
        lows, highs = ([piece.share(at, 2 * e) for piece in self.pieces] for at in (epsilon, epsilon - 2 * e))
        grow = len(self.pieces) * UNIT  # of a sum of as many terms
        low, high = np.sum([low for low, _ in lows], axis=0), np.sum([high for _, high in highs], axis=0)
        return np.maximum(low * (1 - grow), (-expm1(epsilon)).lower), high * (1 + grow)

    def components(self) -> list[Component]:
        return [Component(MixtureBase(self.pair))]

    def transform(self, c: float, digits: float) -> Transform | None:
        narrow = self.pair.monotone and self.pair.spread <= _TUNING.widest
        return MixtureTransform(self, self.pair, c, digits) if narrow else super().transform(c, digits)

    def edge_error(self, edges: Array) -> Array:
        each = [piece.edge_error(edges) for piece in self.pieces]
        return np.asarray(np.maximum.reduce(each) + _cut_error(edges))

    def _cells(self, edges: Array) -> Cells:
        each = [piece.cells(edges) for piece in self.pieces]
        excess, deficit = np.sum([cells[:2] for cells in each], axis=0)
        slack = np.max([cells.slack for cells in each], axis=0) + len(each) * UNIT
        return Cells(excess, deficit, slack + position_slack(edges, _cut_error(edges)))

    def description(self) -> dict[str, Any]:
        """Return the pair in units of sigma, in quotients of integers."""
        pair = self.pair
        if not pair.monotone:
            raise NoClosedForm(
                "the likelihood ratio of these mixtures is not monotone, which no verifier knows; "
                "certify curve.lower or curve.upper instead"
            )
        numbers = {"means": pair.at, "p": pair.p_weights, "q": pair.q_weights}
        return {"kind": "gaussian mixtures"} | {name: list(map(str, each)) for name, each in numbers.items()}


def _cut_error(edges: Array) -> Array:
    """Bound the errors of losses at cuts, which are known as all losses are."""
    return 16 * UNIT * np.abs(edges)
