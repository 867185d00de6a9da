"""The law of L = log dQ/dP between normal laws mu apart, and trapezoid rules for sampled ones.

A *component* has dP = k (1 - d + d e^l) phi and dQ = k (1 - b + b e^l) phi over a *base* phi with loss l, and
g = b - d (`components.Component`); b and d are its *shares*. Under the *tilt* c, w = P^(1-c) Q^c/M(c), M(z) =
E_P e^(zL), z = c + iy at *frequencies* y >= 0. A rule is a set of equidistant nodes h j, of weight h, on the
real line for frequencies up to some y, or on a *path* next to it, complex, for all.

On Im x = s the base loss l = mu x - mu^2/2 has the imaginary part u = mu s. A density 1 - b + b e^l of share
b moves on a segment from 1 to e^l as b grows, so for 0 < u < pi its argument grows with b, from 0 to u, and
that of the greater share over the other is in [0, u). So above the line if Q has the greater share, and below
it if P has, Im L >= 0 and |e^(iyL)| <= 1 for all y >= 0. |phi| is e^(s^2/2) times, and a density between
cos(u/2) and 1 times, its value on the line at the same Re x.

Hence on every line between Im x = 0 and 2a, 2 mu a < pi, the integrand phi P^(1-z) Q^z has a modulus that
integrates to at most e^(2 a^2) cos(mu a)^-falling M(c); ``falling`` adds up the absolute values of the
negative ones of the powers 1 - c of P and c of Q. Its integral over Im x = a is that over the line (Cauchy),
and the trapezoid rule on it errs by at most 2/(e^(2 pi a/h) - 1) times that bound (Trefethen, Weideman 2014,
Theorem 5.1, of a strip of half-width a). The step h does not depend on y. Along the line the strip is |Im x|
< a, where the integrand grows by at most e^(a^2/2 + y mu a) cos(mu a/2)^-falling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Array
from tradeoff.pld.components import (
    MARGIN,
    MAX_NODES,
    AffineBase,
    Base,
    Component,
    QuadratureNodes,
    SamplingRate,
    Tail,
    few_bits,
    tilted_slopes,
)
from tradeoff.pld.law import (
    Cells,
    Ends,
    LogRatio,
    PlanningPoints,
    PrivacyLossDistribution,
    Transform,
    complex_log1p,
)
from tradeoff.pld.special import integrate
from tradeoff.pld.units import TINY, UNIT, position_slack

LOG_SQRT_2PI = math.log(2 * math.pi) / 2
MOST = 0.5  # most of a share on a path: above one half 1 - b + b e^l nearly vanishes where arg e^l is near pi

_STRIP = 2.8  # most of mu a of a strip |Im x| < a, an angle of e^l: below pi, where densities may vanish


class Trapezoid(NamedTuple):
    """The nodes h j, first <= j <= last, and the parameters of their error; columns are for rows of nodes."""

    h: float
    first: float
    last: float
    spare: float  # past the ends log-weights fall by at least this a unit of h j
    digits: float  # e^-digits is the relative error of the step
    a: float = 0.0  # Im x of the nodes: 0 on the line; of a half line, the angle of the path at 0
    grown: float = 0.0  # log of how much the modulus of the integrand grows at most from the line to the path
    outside: float = 0.0  # bound on the mass that a window takes off
    stretch: float = 1.0  # s of ``HalfNormalBase.rule``

    @property
    def size(self) -> float:
        """The number of nodes."""
        return self.last - self.first + 1.0

    def left_out(self, log_p: Array, loss: Array, c: float) -> tuple[Array, NDArray[np.bool_]]:
        """Return a bound on the mass past both ends, over the largest term, and a mask of nodes that count.

        It is the worst of the tilts c, MARGIN from it, and 0. Past the ends log-weights fall by at least
        ``spare`` times the distance: each tail is at most its end's weight (1 + 1/(h spare)). A node that is
        left out is below e^-(digits + 20) of the largest term: at c the slope of rho weighs it by a loss
        below 0.2 MAX_NODES, as h mu < 0.2. At tilts between, of bells far apart where mu > 80, it may be
        more, but none is used.
        """
        weights = np.array([log_p + power * loss for power in (c - MARGIN, c + MARGIN, c, 0.0)])
        weights -= np.max(weights, axis=-1, keepdims=True)
        ends = np.max(np.exp(weights[..., [0, -1]]), axis=(0, -1), keepdims=True)[0]
        return 2 * ends * (1 + 1 / (self.h * self.spare)), np.max(weights, axis=0) > -self.digits - 20


def step(scale: float, y: float, falling: float, digits: float) -> float:
    """Return the step of a trapezoid rule on the real line with error e^-digits at frequencies up to y.

    In the strip |Im x| < a the integrand grows by a factor of at most e^growth, growth = a^2/2 + y scale a -
    falling log cos(scale a/2), so that 2 pi a/h = digits + growth: see the module, mu being ``scale``.
    """
    # Of all a about that of the widest step: -log cos(u/2) is near u^2/8.
    a = min(math.sqrt(2 * digits / (1 + falling * scale * scale / 4)), _STRIP / scale)
    growth = a * a / 2 + y * scale * a - falling * math.log(math.cos(scale * a / 2))
    return few_bits(2 * math.pi * a / (digits + growth))


def _slope(rate: SamplingRate, loss: float) -> float:
    """Bound s e^loss/(1 - s + s e^loss), the slope of log(1 - s + s e^loss), from above."""
    return rate.part and rate.part / (rate.part + rate.rest * math.exp(min(-loss, 700.0))) * (1 + 1e-9)


def _check_size(rule: Trapezoid, base: Base) -> Trapezoid:
    """Return the rule, or raise SizeError where it has too many nodes."""
    if rule.size > MAX_NODES:
        raise SizeError(f"the quadrature of {base!r} needs {rule.size:.3g} nodes, above {MAX_NODES}")
    return rule


def _falling(part: Component, powers: tuple[float, float]) -> float:
    """Return ``falling`` of the module for the least and greatest c in ``powers``.

    A density whose share is 0 or 1 is a normal one, and has no part in it.
    """
    return max(0.0, -powers[0]) * (min(part.b) > 0) + max(0.0, powers[1] - 1) * (min(part.d) > 0)


def line_points(
    part: Component, c: float, rule: Trapezoid, at: Array
) -> tuple[QuadratureNodes, NDArray[np.bool_]]:
    """Return the nodes h ``at`` on the line, for integers from first to last, and a mask of those to keep.

    If the base, the component and the rule have columns, results have a row for each.
    """
    base: Any = part.base
    x, _, width, node_units, moved = base.place(rule, at)
    base_loss, log_phi, _ = base.at(x)
    logs = part.logs(base_loss, moved)
    width, (damping, damping_units) = width + np.log(rule.h * part.k), base.damping(x)
    log_p = width + log_phi + logs.p - damping
    # x^2/2 errs by 1.5 x^2 units and its node, and each of three sums by its size; log(h k) by 8 of itself,
    # and by those of k. A damping's exponent is known to 4 units of k (|x| + last), and by itself to 8.
    units = 16 + node_units + 12 * np.abs(width) + 4 * np.abs(logs.p) + part.units + damping_units
    tails, kept = rule.left_out(log_p, logs.loss, c)
    # Tails past nodes left out are as small as those, and count like 2 (1 + 1/(h spare)) more of them.
    count = rule.size + 2 * (1 + 1 / (rule.h * rule.spare))
    lost = 3 * np.exp(-rule.digits) + tails + count * np.exp(-rule.digits - 20) + rule.outside
    return QuadratureNodes(logs.loss, log_p, logs.p_error + UNIT * units, logs.error, lost), kept


def path_points(
    part: Component, c: float, rule: Trapezoid, at: Array
) -> tuple[QuadratureNodes, NDArray[np.bool_]]:
    """Return the complex nodes ``at`` of a path, Im L >= 0, and a mask of those to keep.

    With x = Re node, a its height, m the lesser share and g = |b - d|, the lesser density is 1 + m (e^l - 1)
    and the greater that times 1 + odds, odds = g (e^l - 1)/(1 + m (e^l - 1)). Columns give rows of nodes.
    """
    base: Any = part.base
    mu, g, digits, least = base.scale, np.abs(part.g), rule.digits, np.minimum(part.b.part, part.d.part)
    t, a, width, node_units, moved = base.place(rule, at)
    loss, _, normal = base.at(t)
    z, (damping, damping_units) = normal + 1j * a, base.damping(t, rule.a)
    # Nodes are left out whose modulus on the line, times e^grown, is small enough.
    real = part.logs(loss, moved)
    tails, kept = rule.left_out(real.p - z.real**2 / 2 + width.real - damping.real, real.loss, c)
    lift = np.exp(rule.grown)
    lost = 3 * np.exp(-digits) + lift * (tails + rule.size * np.exp(-digits - 20)) + rule.outside
    # e^l - 1: expm1, cosine and sine are of 8 units, a product and a sum add two; mu a may err by two.
    angle, rise, width = mu * a, np.exp(loss), width + np.log(rule.h * part.k)
    excess = np.expm1(loss) * np.cos(angle) - 2 * np.sin(angle / 2) ** 2 + 1j * (rise * np.sin(angle))
    off = 32 * UNIT * (1 + rise) + rise * moved
    lower = complex_log1p(least * excess, least * (off + part.units * UNIT * np.abs(excess)) + TINY)
    # For 1 + odds a sum, a product and a quotient are less than 32 units.
    lesser = 1 + least * excess
    odds = g * excess / lesser
    odds_error = (g * off + (part.units + 32) * UNIT * np.abs(g * excess)) / np.abs(lesser) + 4 * TINY
    ratio = complex_log1p(odds, odds_error + np.abs(odds) * lower.error)
    loss, p_error, log_p = ratio.log, lower.error, width - z * z / 2 - LOG_SQRT_2PI + lower.log - damping
    if np.all(part.g < 0):
        # P has the greater share: its logarithm is the sum of both, and the path is below the line.
        loss, log_p, p_error = -loss.conj(), (log_p + loss).conj(), lower.error + ratio.error
    loss.imag = np.maximum(loss.imag, 0.0)  # as the truth is
    units = 24 + node_units + 12 * np.abs(width) + 4 * np.abs(log_p) + part.units + damping_units
    return QuadratureNodes(loss, log_p, p_error + UNIT * units, ratio.error, lost), kept


REACH = 39.0  # standard deviations past which a normal law has no mass a float can hold
DROP = 9.0  # standard deviations past the steepest tilt: the tilted mass left, e^-40, is in no bound


@dataclass(frozen=True, eq=False)
class GaussianLaw(PrivacyLossDistribution):
    """L = mu x - mu^2/2 with x standard normal under P.

    Where ``square`` is given it is mu^2 exactly, and ``mu`` its root rounded up: all errors have a unit of mu
    more.
    """

    mu: float
    square: Fraction | None = None

    symmetric = True
    damping = True

    @property
    def ends(self) -> Ends:
        reach, most = self.mu * REACH + self.mu * self.mu / 2, math.inf if self.mu else 0.0
        return Ends(-most, -reach, reach, most)

    def sketch(self) -> PlanningPoints:
        x = np.linspace(-REACH, self.mu + REACH, 751)
        log_p = np.log(x[1] - x[0]) - x**2 / 2 - LOG_SQRT_2PI
        return PlanningPoints(self.mu * x - self.mu * self.mu / 2, log_p)

    def components(self) -> list[Component]:
        return [Component(NormalBase(self.mu))]

    def transform(self, c: float, digits: float) -> Transform:
        return GaussianTransform(self.mu, c)

    def _rounding(self, edges: Array) -> Array:
        # For an edge a, a/mu + mu/2 costs 4 units of a and mu^2: mu, a quotient, a sum.
        return 4 * UNIT * (np.abs(edges) + self.mu * self.mu)

    def _cells(self, edges: Array) -> Cells:
        mu = self.mu
        x = edges / mu + mu / 2

        def integrands(point: Array, rise: Array, fall: Array) -> tuple[Array, Array]:
            # Of the excess Q - e^a P and the deficit P - e^-b Q of a cell [a, b]: q (1 - e^(a - L)) and
            # p (1 - e^(L - b)), L - a = mu rise and b - L = mu fall.
            q = np.exp(-((point - mu) ** 2) / 2 - LOG_SQRT_2PI)
            p = np.exp(-point * point / 2 - LOG_SQRT_2PI)
            return q * -np.expm1(-mu * rise), p * -np.expm1(-mu * fall)

        steepest = np.maximum(np.abs(x[:-1]), np.abs(x[1:]))
        # Intervals where P or Q has a density that is a float, and the cells in which that density alone
        # bends the integrand: the part that a reference takes off P's falls as e^(-mu t) from where a cell
        # stops, and of Q's from where it starts, and a unit away it is nothing.
        regions: list[tuple[tuple[float, float], Any]] = [((-REACH, mu + REACH), False)]
        if mu > 2 * REACH:
            left, right = (-REACH, REACH), (mu - REACH, mu + REACH)
            regions = [(left, x[1:] > REACH + 1), (right, x[:-1] < mu - REACH - 1)]
        parts = [
            integrate(integrands, x[:-1], x[1:], np.where(alone, REACH + 1, steepest + mu + 1), within)
            for within, alone in regions
        ]
        excess, deficit = np.sum(parts, axis=0)
        # With z = |x| + mu: point and difference, known to 4 units of z, and a square move the exponent by 5
        # z^2; exp, expm1, weights and a sum of 12 terms cost less than 64.
        density = (64 + 5 * (steepest + mu) ** 2) * UNIT
        return Cells(excess, deficit, density + position_slack(edges, self._rounding(edges)))


@dataclass(frozen=True)
class NormalBase(AffineBase):
    """phi = N(0, 1) on the line, with l = mu x - mu^2/2, mu the ``scale``."""

    scale: float

    bend = 1.0

    def positive_part(self) -> NormalBase:
        return HalfNormalBase(self.scale)

    def at(self, x: Array) -> tuple[Array, Array, Array]:
        return self.scale * x - self.scale * self.scale / 2, -x * x / 2 - LOG_SQRT_2PI, x

    def grid(self, component: Component, c: float, size: int) -> Array:
        # The density in L is phi times P^(2-c) Q^(c+1) e^-l, up to a factor. The logarithm of the latter has
        # a slope in l from least - 1 to most - 1, so that the mass lies about mu times that.
        slopes = [(c + 1) * q + (2 - c) * p for q in component.b.slopes for p in component.d.slopes]
        least, most = min(slopes), max(slopes)
        low, high = self.scale * (least - 1) - DROP, self.scale * max(most, 1.0) + DROP
        coarse = np.linspace(low, high, size)
        loss, log_phi, _ = self.at(coarse)
        logs = component.logs(loss, np.zeros(size))
        top = float(coarse[np.argmax((1 - c) * logs.p + c * logs.q + log_phi)])
        return np.linspace(max(low, top - DROP), high, size)

    def place(self, rule: Trapezoid, at: Array) -> tuple[Array, Any, Any, Array, Array]:
        """Return the nodes x + ia, x = h ``at``, of a rule: x, a, and the log of their weight over h.

        And the units of 2^-53 of the square of a node and its weight, and the error of the loss l.
        """
        x, mu = rule.h * at, self.scale
        # l is two products and a difference, of a node that is a product itself; and mu may be a root.
        moved = 4 * UNIT * (np.abs(mu * x) + mu * mu)
        return x, rule.a, np.zeros(1), 4 * (np.abs(x) + rule.a) ** 2, moved

    def rule(self, part: Component, c: float, digits: float, y: float | None = None) -> Trapezoid | None:
        """Return the rule for E e^((c' + iy') L), |c' - c| <= MARGIN, |y'| <= y; for y None a path, all y'.

        See the module and ``step``. There is no path, but None, where a share is above one half, nodes are
        too many, or e^l overflows.
        """
        # A normal density falls to e^-digits at sqrt(2 digits), and from there on ``spare`` or so a unit.
        mu, powers, spare = self.scale, (c - MARGIN, c + MARGIN), math.sqrt(2 * digits) + 1.5
        falling, a, grown = _falling(part, powers), 0.0, 0.0
        if y is None:
            # A larger a, or a larger argument mu a of e^l, makes moduli and so the rounding grow by more than
            # it saves nodes; those of negative powers grow by at most e^(1/2).
            a = min(1.0, 1.4 / mu, 2 / (mu * math.sqrt(1 + falling)))
            growth = 2 * a * a - falling * math.log(math.cos(mu * a))
            h = few_bits(2 * math.pi * a / (digits + growth))
            grown = a * a / 2 - falling * math.log(math.cos(mu * a / 2))
        else:
            h = step(mu, y, falling, digits)
        # P^(1-c) Q^c over phi has slopes mu times ``tilted_slopes``, and with phi its mass lies around them;
        # slopes rise, so that those at -spare bound all to the left of it.
        at = -mu * spare - mu * mu / 2
        q, p = ((rate.slopes[0], _slope(rate, at)) for rate in (part.b, part.d))
        low = min(tilted_slopes(q, p, powers)[0], 0.0)
        high = max(tilted_slopes(part.b.slopes, part.d.slopes, powers)[1], 1.0)
        first, last = math.floor((mu * low - spare) / h), math.ceil((mu * high + spare) / h)
        # Tilts that need more nodes are rare, and have few frequencies; squares of e^300 are floats.
        has_path = last - first <= 20_000 and mu * h * last <= 300.0 and max(part.b.part, part.d.part) <= MOST
        rule = Trapezoid(h, first, last, spare, digits, a, grown)
        return _check_size(rule, self) if y is not None else rule if has_path else None

    def nodes(self, component: Component, c: float, y: float | None, digits: float) -> QuadratureNodes | None:
        if (rule := self.rule(component, c, digits, y)) is None:
            return None
        points = path_points if y is None else line_points
        result, kept = points(component, c, rule, np.arange(rule.first, rule.last + 1.0))
        return result.only(kept)


@dataclass(frozen=True)
class WindowBase(NormalBase):
    """The standard normal density times a smooth window from ``first`` to ``last``, of ``sharp`` edges.

    The window is w(x; last) - w(x; first), w(x; s) = e^-e^(k (x - s)), k = ``sharp``: about 1 below s, 0
    above; with first = -inf it is w(x; last). No tilt outweighs that. The difference is w(x; last) (1 -
    e^-v), v = e^(k (x - first)) (1 - e^(k (first - last))).
    """

    last: float
    sharp: float
    first: float = -math.inf
    unsure: float | None = None  # where given, P's mass outside is a loss of -inf, known to this error

    @np.errstate(over="ignore", invalid="ignore")  # of factors of 0, and at -inf
    def damping(self, x: Array, a: float = 0.0) -> tuple[Any, Array]:
        # -log w(x + ia; last) = e^(k (x + ia - last)), less log(1 - e^-v).
        size, angle = np.exp(self.sharp * (x - self.last)), self.sharp * a
        rotation = math.cos(angle) + 1j * math.sin(angle) if a else 1.0
        # The relative error of e^(k (x - place)), with its cosine and sine, in units of 2^-53: a difference
        # of x, a product itself, and a product; three functions and two products.
        at_last, at_first = (40 + 4 * self.sharp * (np.abs(x) + abs(end)) for end in (self.last, self.first))
        value, error = size * rotation, size * at_last
        if self.first == -math.inf:
            return value, error
        # From e^4 on, where Re v > 47, the factor is 1.
        far = self.sharp * (x - self.first)
        v = np.exp(np.minimum(far, 4.0)) * -math.expm1(self.sharp * (self.first - self.last))
        rest = -np.expm1(-v)
        if a:
            v, phase = v * math.cos(angle), v * math.sin(angle)
            rest = -np.expm1(-v) * np.cos(phase) + 2 * np.sin(phase / 2) ** 2
            rest = rest + 1j * np.exp(-v) * np.sin(phase)
        # 1 - e^-v is known to 80 units where it is small, and else to as many of 1; v to as many as e^(k (x -
        # first)), which move the logarithm by |v|/|e^v - 1| times that, where |e^v - 1| >= Re v >= |v| cos
        # 1/2. A logarithm costs 8 units of itself.
        error = error + np.where(far < 4.0, 1.2 * at_first + 100 + 8 * np.abs(far), 100.0)
        return value - np.log(rest), error

    def outside(self, rate: SamplingRate) -> float:
        """Bound the mass that w = e^-t, t = e^(k (x - last)), takes off (1 - s) N(0, 1) + s N(mu, 1).

        Of each normal law that is at most E t, and 1. Its exponent errs by 4 units of its terms.
        """
        if self.unsure is not None:
            return self.unsure
        k, shift = self.sharp, self.sharp * self.scale
        log = k * k / 2 - k * self.last + 4 * UNIT * (k * k + k * abs(self.last) + shift)
        lost = rate.rest * math.exp(min(log, 0.0)) + rate.part * math.exp(min(log + shift, 0.0))
        return lost * (1 + 1e-9)

    def tail(self, component: Component, c: float, log_m: float, log_m_error: float) -> Tail:
        return Tail(np.zeros(1), np.zeros(1))  # trivial: the path bounds it

    def rule(self, part: Component, c: float, digits: float, y: float | None = None) -> Trapezoid:
        """Return the rule of the windowed density, on the line for frequencies up to y, a path for y None.

        It is for c > 1, and at c = 0 and 1 for that power alone.

        With w = e^-e^(k (x - last)) and f = phi Q^c, P being phi, |w(x + is)| <= w(x)^g, g = cos(k s) >= cos
        of ``angle``. That is at most e^((1 - g) e^m) w(x) up to x_2 = last + m/k. Where g k e^m >= t + 1, t =
        c mu times the slope of log Q in l at x_2, f w^g falls faster than e^-x from there on, as w falls
        faster than that slope rises, k >= mu. So the integral from there is at most f w^g/x_2 there. As f w^g
        is at least 1/e times that up to 1/(t + 1) before x_2, it is e (t + 1)/x_2 times the integral before
        at most.

        With the factor 1 - e^-v of a window, Re v >= 0, |1 - e^-v| is at most min(|v|, 2), and so 7/3 times
        its value on the line, as long as that is all from 1/(t + 1) before x_2 on: v >= 2 there.
        """
        mu, last, k = self.scale, self.last, self.sharp
        spare, power = math.sqrt(2 * digits) + 1.5, c + MARGIN

        def balance(g: float, room: float) -> tuple[float, float]:
            """Return m with g k e^m >= t + room, and t from above, by iteration: t falls as m grows."""
            t = power * mu
            for _ in range(4):
                m = max(math.log((t + room) / (g * k)), 0.0)
                t = power * mu * _slope(part.b, mu * (last + m / k) - mu * mu / 2)
            return m, t

        m, t = balance(0.5, 1.0)  # for the angle, before g = cos of it is known
        angle = min(1.0, math.sqrt(2 * digits * k / (t + k)), _STRIP / 2 * k / mu)
        g = math.cos(angle)
        m, t = balance(g, 1.0)
        grown = (1 - g) * math.exp(m) + math.log1p(math.e * (t + 1) / last)
        grown += math.log(7 / 3) * (self.first > -math.inf)
        a = angle / k / (1 if y is not None else 2)  # of a path the strip is from 0 to 2a
        growth = grown + (2 * a * a if y is None else a * a / 2 + y * mu * a)
        h = few_bits(2 * math.pi * a / (digits + growth))
        m, t = balance(1.0, spare)  # on the line, from where f w falls at least ``spare`` a unit of x
        end = last + max(m, math.log(digits + t)) / k
        first, end = math.floor(-spare / h), math.ceil(end / h)
        height = 0.0 if y is not None else a
        grown += height * height / 2
        return _check_size(Trapezoid(h, first, end, spare, digits, height, grown, self.outside(part.d)), self)


@dataclass(frozen=True)
class HalfNormalBase(NormalBase):
    """N(0, 1) above mu/2, in t = x - mu/2 > 0, the x of all methods here: near 0, l = mu t is not rounded."""

    half = True

    def at(self, x: Array) -> tuple[Array, Array, Array]:
        normal = x + self.scale / 2
        return self.scale * x, -normal * normal / 2 - LOG_SQRT_2PI, normal

    def grid(self, component: Component, c: float, size: int) -> Array:
        x = NormalBase(self.scale).grid(component, c, size) - self.scale / 2
        return np.linspace(max(float(x[0]), 0.0), x[-1], size)

    def place(self, rule: Trapezoid, at: Array) -> tuple[Array, Any, Any, Array, Array]:
        # t = s log(1 + w), w = e^(u + ia), by q = e^-|u|: its real part x and imaginary part, ``height``, are
        # known to 64 units of themselves, and for large u, which is exact, to a few; log t' to less than 64.
        u = rule.h * at
        q, right = np.exp(-np.abs(u)), u > 0
        size = np.log1p(q * (2 * math.cos(rule.a) + q)) / 2
        rotation = np.arctan2(q * math.sin(rule.a), 1 + q * math.cos(rule.a))
        rotation = np.where(right, rule.a - rotation, rotation)
        x, height = rule.stretch * (np.maximum(u, 0.0) + size), rule.stretch * rotation
        width = math.log(rule.stretch) + np.minimum(u, 0.0) - size
        known, far = 4 + 60 * np.where(right, q, 1.0), x + height + self.scale / 2
        moved = (known + 2) * UNIT * self.scale * (x + height)
        width = width + 1j * (rule.a - rotation) if rule.a else width
        return x, height, width, 64 + (known + 4) * far**2, moved

    def rule(self, part: Component, c: float, digits: float, y: float | None = None) -> Trapezoid | None:
        """Return the rule in u, t = s log(1 + e^(u + ia)): on the line, a = 0, for |y'| <= y, else a path.

        On Im u = v, where w = e^(u + ia) has the angle a + v, Re t grows from 0 to infinity, Im t from 0 to
        s (a + v), and |t'| = s |w|/|1 + w| <= Re t'/cos(a + v). On all lines of angles from 0 (for the path)
        or -1.3 to 1.3, where Im t is up to 1.3 s = ``top``, |F t'| integrates to at most M(c) e^growth, with

            growth = top^2/2 - falling log cos(mu top/2) - log cos 1.3, and y mu top more without a path.

        At a node, |F t'| h at x = Re t is at most that, too: log |F| is harmonic, so that F(x) is at most
        2/(pi r) times the largest integral of |F| along a line that meets the disc of radius r = |t'| cos(a)
        about x, and r is at most x and s. Off the line it grows by e^growth once more. To the left the
        nodes fall as e^u; to the right t grows nearly as s u, and they fall at least s ``spare`` a unit of u.
        """
        mu, powers, spare = self.scale, (c - MARGIN, c + MARGIN), math.sqrt(2 * digits) + 1.5
        falling, angle = _falling(part, powers), 1.3
        top = min(1.0, 1.4 / mu, 2 / (mu * math.sqrt(1 + falling))) * (2 if y is None else 1)
        growth = top * top / 2 - falling * math.log(math.cos(mu * top / 2)) - math.log(math.cos(angle))
        a, growth = (angle / 2, growth) if y is None else (0.0, growth + y * mu * top)
        h, s = few_bits(2 * math.pi * (angle - a) / (digits + growth)), top / angle
        end = mu * (max(tilted_slopes(part.b.slopes, part.d.slopes, powers)[1], 1.0) - 0.5) + spare
        first, last, room = math.floor(-(digits + 13) / h), math.ceil(end / s / h), min(1.0, spare * s) / 2
        rule = _check_size(Trapezoid(h, first, last, room, digits, a, 2 * growth, 0.0, s), self)
        fits = last - first < 20_000 and mu * s * h * last < 300.0
        return rule if fits or y is not None else None


class GaussianTransform(Transform):
    """rho of the normal pair: log M(z) = mu^2 (z^2 - z)/2, so log |rho(y)| = -mu^2 y^2/2."""

    def __init__(self, mu: float, c: float) -> None:
        self.mu, c = mu, float(c)  # whose products overflow to infinity, a trivial bound, without a warning
        self.log_m = mu * mu * (c * c - c) / 2
        # Four roundings, of terms c^2 and c that may cancel, and twice that of mu.
        self.log_m_error = 6 * UNIT * mu * mu * (c * c + abs(c))
        self.mean = mu * mu * (2 * c - 1) / 2

    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        value = -((self.mu * y) ** 2) / 2  # log |rho|
        # Three roundings of a square, and twice those of its node and of mu. The centre is a float too: the
        # true phase is y mu^2 (2c - 1)/2, known to six units and, where 2c - 1 was rounded, to one of mu^2.
        error = 4 * UNIT * (2 * np.abs(value) + 1.5 * np.abs(y * self.mean) + y * self.mu * self.mu)
        return LogRatio(value.astype(complex), error, np.minimum(value * (1 - 8 * UNIT), 0.0))

    def around(self, y: Array, radius: float) -> Array:
        nearest = np.maximum(y - radius * (1 + 4 * UNIT), 0.0)
        return -((self.mu * nearest) ** 2) / 2 * (1 - 8 * UNIT)

    def far(self, y: float) -> float:
        distance = self.mu * float(y)
        return -(distance * distance) / 2 * (1 - 8 * UNIT)
