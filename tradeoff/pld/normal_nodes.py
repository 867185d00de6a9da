"""Trapezoid rules for sampled normal pairs: along the line, and on a path next to it for all frequencies.

On Im x = s the base loss l = mu x - mu^2/2 has the imaginary part u = mu s. A density 1 - b + b e^l of share
b moves on a segment from 1 to e^l as b grows, so for 0 < u < pi its argument grows with b, from 0 to u, and
that of the greater share over the other is in [0, u). So above the line if Q has the greater share, and below
it if P has, Im L >= 0 and |e^(iyL)| <= 1 for all y >= 0. |phi| is e^(s^2/2) times, and a density between
cos(u/2) and 1 times, its value on the line at the same Re x.

Hence on every line between Im x = 0 and 2a, 2 mu a < pi, the integrand phi P^(1-z) Q^z, z = c + iy, has a
modulus that integrates to at most e^(2 a^2) cos(mu a)^-falling M(c); ``falling`` adds up the negative ones of
the powers 1 - c of P and c of Q.
Its integral over Im x = a is that over the line (Cauchy), and the trapezoid rule on it errs by at most
2/(e^(2 pi a/step) - 1) times that bound (Trefethen, Weideman 2014, Theorem 5.1, of a strip of half-width a).
The step does not depend on y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import TINY, UNIT, Array, Complex, few_bits
from tradeoff.pld.components import (
    MARGIN,
    MAX_NODES,
    Base,
    Component,
    QuadratureNodes,
    SamplingRate,
    slopes,
    subsampled_loss,
    subsampled_slope,
    tilted,
)
from tradeoff.pld.law import LogRatio, logarithm

LOG_SQRT_2PI = math.log(2 * math.pi) / 2
MOST = 0.5  # shares above one half leave densities that nearly vanish: not 1 + v for a small v

# Most of the half-width of a strip about the line, as an angle of e^l: below pi, where 1 - p + p e^l may
# vanish.
_STRIP = 2.8

# Distance of the path, and its argument of e^l, at most: farther, moduli and so the rounding grow by more
# than nodes fall; and by at most e^(1/2) for negative powers.
_HIGHEST, _ANGLE = 1.0, 1.4

_NODES = 20_000  # most nodes: tilts that need more are rare, and their lines of few frequencies
_LARGEST = 300.0  # squares of e^300 are floats


class Trapezoid(NamedTuple):
    """A trapezoid rule: its step, its first and last node, and the parameters of its error.

    Those are the room beyond the ends, the digits, how many nodes may be left out, the distance of the rule
    from the line, how negative powers there are, by which exponent a damped density grows next to the line,
    and the mass that damping takes off. Columns of them are for as many rows of nodes.
    """

    h: float
    first: float
    last: float
    spare: float
    digits: float
    reach: float
    a: float = 0.0
    falling: float = 0.0
    grown: float = 0.0
    outside: float = 0.0

    def left_out(self, log_p: Array, loss: Array, c: float) -> tuple[Array, NDArray[np.bool_]]:
        """Return a bound on the mass beyond the ends, over the largest term, and which nodes count.

        At the powers c, MARGIN from it, and 0. Beyond the ends log-weights fall at least as fast as -x^2/2
        from ``spare`` on: each tail is at most its end's weight over h spare. A node that is left out is
        below e^-(digits + 20) of the largest term: at c a slope weighs it by a loss below 0.2 MAX_NODES, as
        h mu < 0.2. At powers between, of bells far apart where mu > 80, it may be more, but none is used.
        """
        weights = np.array([log_p + power * loss for power in (c - MARGIN, c + MARGIN, c, 0.0)])
        weights -= np.max(weights, axis=-1, keepdims=True)
        ends = np.max(np.exp(weights[..., [0, -1]]), axis=(0, -1), keepdims=True)[0]
        return 2 * ends * (1 + 1 / (self.h * self.spare)), np.max(weights, axis=0) > -self.digits - 20


Points = Callable[[Component, float, Trapezoid, Array], tuple[QuadratureNodes, NDArray[np.bool_]]]


def nodes(points: Points, part: Component, c: float, rule: Trapezoid) -> QuadratureNodes:
    """Return those nodes of a rule that count."""
    result, kept = points(part, c, rule, np.arange(rule.first, rule.last + 1.0))
    return result.only(kept)


def step(scale: float, y: float, falling: float, digits: float) -> float:
    """Return the step of a trapezoid rule on the line that errs by e^-digits at frequencies up to y.

    On Im x = a the integrand grows by at most e^(a^2/2 + y scale a), and cos(scale a/2)^-1 for each negative
    power, ``falling`` in all; one analytic in the strip then errs by 2/(e^(2 pi a/h) - 1) times its largest
    integral there (Trefethen, Weideman 2014, Theorem 5.1).
    """
    # About the widest step: -log cos(u/2) is near u^2/8.
    a = min(math.sqrt(2 * digits / (1 + falling * scale * scale / 4)), _STRIP / scale)
    growth = a * a / 2 + y * scale * a - falling * math.log(math.cos(scale * a / 2))
    return few_bits(2 * math.pi * a / (digits + growth))


def line_rule(part: Component, c: float, y: float, digits: float) -> Trapezoid:
    """Return the rule over the whole line for E e^((c' + iy') L), |c' - c| <= MARGIN, |y'| <= y.

    On Im x = a the modulus of phi grows by e^(a^2/2), that of e^(iyL) by at most e^(y mu a), since arg e^l =
    mu a bounds the difference of the two arguments; a negative power of 1 - p + p e^l grows by at most cos(mu
    a/2)^power: see ``step``.
    """
    mu, powers = part.base.scale, (c - MARGIN, c + MARGIN)
    falling = max(0.0, -powers[0]) * (min(part.b) > 0)
    falling += max(0.0, powers[1] - 1) * (min(part.d) > 0)
    h = step(mu, y, falling, digits)
    spare = math.sqrt(2 * digits) + 1.5
    low, high = _ends(part, powers, spare)
    first, last = math.floor((mu * low - spare) / h), math.ceil((mu * high + spare) / h)
    # Log-weights turn by at most 1 in a stride: slopes anywhere bound their derivatives.
    stride = max(1, int(1 / (h * (mu * (high - slopes(part, powers)[0]) + spare + h))))
    _check_size((last - first) / stride, part.base)
    looked = np.append(np.arange(first, last, stride, dtype=float), float(last))
    if stride > 1:
        # Beyond them all hold less than e^-(digits + 20) of the largest: log-weights between are above the
        # nearer neighbour's by 1/2 at most.
        x = h * looked
        logs = part.logs(part.base.loss(x), np.zeros(len(x)))
        log_p = part.base.log_density(x) + logs.p
        weights = np.array([log_p + power * logs.loss for power in (*powers, c, 0.0)])
        weights -= np.max(weights, axis=1, keepdims=True)
        near = np.flatnonzero(np.max(weights, axis=0) > -digits - 21)
        first, last = int(looked[max(near[0] - 1, 0)]), int(looked[min(near[-1] + 1, len(x) - 1)])
    _check_size(last - first, part.base)
    return Trapezoid(h, first, last, spare, digits, float(looked[-1] - looked[0]))


def _ends(part: Component, powers: tuple[float, float], spare: float) -> tuple[float, float]:
    """Bound the tilt of phi by the slopes of both densities: to the left of -spare, and anywhere.

    Slopes rise, so that those at -spare bound all to the left of it.
    """
    at = part.base.loss(np.array([-spare]))
    left_q, left_p = ((rate.slopes[0], _slope(rate, at)) for rate in (part.b, part.d))
    return min(tilted(left_q, left_p, powers)[0], 0.0), slopes(part, powers)[1]


def _slope(rate: SamplingRate, loss: Array) -> float:
    return float(subsampled_slope(rate, loss, subsampled_loss(rate, loss))[0]) * (1 + 1e-9)


def _check_size(count: float, base: Base) -> None:
    if count > MAX_NODES:
        raise SizeError(f"the quadrature of {base!r} needs {count:.3g} nodes, above {MAX_NODES}")


def damped_rule(part: Component, c: float, digits: float, y: float | None = None) -> Trapezoid:
    """Return the rule of a damped density on the line for frequencies up to y, or on the path for all; c > 1.

    With w = e^-e^(k (x - last)) and v = phi Q^c, P being phi, |w(x + is)| <= w(x)^g, g = cos(k s) >= cos of
    the angle. That is at most e^((1 - g) e^m) w(x) up to x_2 = last + m/k. Where g k e^m >= t + 1, t = c mu
    times the slope of log Q in l at x_2, v w^g falls faster than e^-x from there on, as w falls faster than
    that slope rises, k >= mu. So the integral beyond is at most v w^g/x_2 there. As v w^g is at least e^-1
    times that up to 1/(t + 1) before x_2, it is e (t + 1)/x_2 times the integral before at most.
    """
    base: Any = part.base
    mu, last, k = base.scale, base.last, base.sharp
    spare, power = math.sqrt(2 * digits) + 1.5, c + MARGIN

    def bend(g: float, room: float) -> tuple[float, float]:
        """Return m and t, the slope from above: a large enough m makes the slope at it enough."""
        t = power * mu
        for _ in range(4):
            m = max(math.log((t + room) / (g * k)), 0.0)
            t = power * mu * _slope(part.b, base.loss(np.array([last + m / k])))
        return m, t

    m, t = bend(0.5, 1.0)
    angle = min(1.0, math.sqrt(2 * digits * k / (t + k)), _STRIP / 2 * k / mu)
    g = math.cos(angle)
    m, t = bend(g, 1.0)
    grown = (1 - g) * math.exp(m) + math.log1p(math.e * (t + 1) / last)
    a = angle / k / (1 if y is not None else 2)
    growth = grown + (2 * a * a if y is None else a * a / 2 + y * mu * a)
    h = few_bits(2 * math.pi * a / (digits + growth))
    m, t = bend(1.0, spare)
    end = last + max(m, math.log(digits + t)) / k
    first, end = math.floor(-spare / h), math.ceil(end / h)
    _check_size(end - first, base)
    reach, away = end - first + 1.0, 0.0 if y is not None else a
    return Trapezoid(h, first, end, spare, digits, reach, away, 0.0, grown, base.outside(part.d))


def line_points(
    part: Component, c: float, rule: Trapezoid, at: Array
) -> tuple[QuadratureNodes, NDArray[np.bool_]]:
    """Return the nodes h ``at``, integers from the rule's first to its last, and which of them matter.

    If the base, the component and the rule hold columns, each row of the results is one component.
    """
    mu, x = part.base.scale, rule.h * at
    # l is two products and a difference, of a node that is a product itself; and mu may be a root.
    logs = part.logs(part.base.loss(x), 4 * UNIT * (np.abs(mu * x) + mu * mu))
    width, damping = np.log(rule.h * part.k), part.base.damping(x)
    log_p = width + part.base.log_density(x) + logs.p - damping
    # x^2/2 errs by 1.5 x^2 units and each of three sums by its size; log(h k) by 8 of itself, and by those
    # of k. A damping's exponent is known to 4 units of k (|x| + last), and by itself to 8.
    units = 16 + 4 * x * x + 12 * abs(width) + 4 * np.abs(logs.p) + part.units
    units = units + damping * part.base.stiffness(x)
    tails, kept = rule.left_out(log_p, logs.loss, c)
    # Tails beyond the nodes left out are small as those are.
    out = rule.reach + 2 * (1 + 1 / (rule.h * rule.spare))
    lost = 3 * np.exp(-rule.digits) + tails + out * np.exp(-rule.digits - 20) + rule.outside
    return QuadratureNodes(logs.loss, log_p, logs.p_error + UNIT * units, logs.error, lost), kept


def path_rule(part: Component, c: float, digits: float) -> Trapezoid | None:
    """Return the rule next to the line for E e^((c' + iy') L), |c' - c| <= MARGIN, at all y' >= 0.

    None where a share is above one half, nodes are too many, or e^l overflows.
    """
    mu, powers = part.base.scale, (c - MARGIN, c + MARGIN)
    falling = max(0.0, -powers[0]) * (part.b.part > 0) + max(0.0, powers[1] - 1) * (part.d.part > 0)
    a = min(_HIGHEST, _ANGLE / mu, 2 / (mu * math.sqrt(1 + falling)))
    growth = 2 * a * a - falling * math.log(math.cos(mu * a))
    h = few_bits(2 * math.pi * a / (digits + growth))
    spare = math.sqrt(2 * digits) + 1.5
    low, high = _ends(part, powers, spare)
    first, last = math.floor((mu * low - spare) / h), math.ceil((mu * high + spare) / h)
    if max(part.b.part, part.d.part) > MOST or last - first > _NODES or mu * h * last > _LARGEST:
        return None
    return Trapezoid(h, first, last, spare, digits, last - first + 1.0, a, falling)


def path_points(
    part: Component, c: float, rule: Trapezoid, at: Array
) -> tuple[QuadratureNodes, NDArray[np.bool_]]:
    """Return the complex nodes ``at``, Im L >= 0, and which of them count.

    With columns in the component and the rule it does so for rows of nodes.
    """
    mu, g, a, digits = part.base.scale, np.abs(part.g), rule.a, rule.digits
    least, t = np.minimum(part.b.part, part.d.part), rule.h * at
    base = mu * t - mu * mu / 2
    moved = 4 * UNIT * (np.abs(mu * t) + mu * mu)
    # On the line the moduli are those under the tilts of ``powers``; a node left out there, times its growth,
    # is left out here.
    real, fading = part.logs(base, moved), part.base.damping(t, a)
    tails, kept = rule.left_out(real.p - t * t / 2 - fading.real, real.loss, c)
    lift = np.exp(a * a / 2 + rule.grown - rule.falling * np.log(np.cos(mu * a / 2)))
    lost = 3 * np.exp(-digits) + lift * (tails + rule.reach * np.exp(-digits - 20)) + rule.outside
    # e^l - 1: expm1, cosine and sine are of 8 units, a product and a sum add two; mu a may err by two.
    turn, rise = mu * a, np.exp(base)
    excess = np.expm1(base) * np.cos(turn) - 2 * np.sin(turn / 2) ** 2 + 1j * (rise * np.sin(turn))
    off = 32 * UNIT * (1 + rise) + rise * moved
    lower = _log1p(least * excess, least * (off + part.units * UNIT * np.abs(excess)) + TINY)
    # The greater density over the lesser is 1 + odds: a sum, a product and a quotient are less than 32 units.
    under = 1 + least * excess
    odds = g * excess / under
    off_odds = (g * off + (part.units + 32) * UNIT * np.abs(g * excess)) / np.abs(under) + 4 * TINY
    ratio = _log1p(odds, off_odds + np.abs(odds) * lower.error)
    loss, log_p, p_error = ratio.log, lower.log, lower.error
    if np.all(part.g < 0):
        # P has the greater share: its logarithm is the sum of both, and the path is below the line.
        loss, log_p, p_error = -loss.conj(), (log_p + loss).conj(), lower.error + ratio.error
    loss.imag = np.maximum(loss.imag, 0.0)  # as the truth is
    width = np.log(rule.h * part.k)
    phi = (a * a - t * t) / 2 - LOG_SQRT_2PI - 1j * np.sign(part.g) * a * t
    log_p = width + phi + log_p - fading
    units = 24 + 4 * (t * t + a * a) + 8 * a * np.abs(t) + 12 * np.abs(width) + 4 * np.abs(log_p) + part.units
    units = units + np.abs(fading) * part.base.stiffness(t)
    return QuadratureNodes(loss, log_p, p_error + UNIT * units, ratio.error, lost), kept


def _log1p(v: Complex, error: Array) -> LogRatio:
    """Return log(1 + v), v known to ``error``: ``logarithm`` with 32 units more of large ones."""
    result = logarithm(v, error)
    large = np.where(np.abs(v) < 0.5, 0.0, np.abs(result.log))
    return result._replace(error=result.error + 32 * UNIT * large)
