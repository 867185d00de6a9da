"""The transform of a thinned normal pair at every frequency from one set of nodes: a path beside the line.

On Im x = s the base loss l = mu x - mu^2/2 has the imaginary part u = mu s. A density 1 - b + b e^l of share
b moves on a segment from 1 to e^l as b grows, so for 0 < u < pi its argument grows with b, from 0 to u, and
that of the greater share over the other is in [0, u). So above the line if Q has the greater share, and below
it if P has, Im L >= 0 and |e^(iyL)| <= 1 for all y >= 0. |phi| is e^(s^2/2) times, and a density between
cos(u/2) and 1 times, what it is on the line at the same Re x.

Hence on every line between Im x = 0 and 2a, 2 mu a < pi, the integrand phi P^(1-z) Q^z, z = c + iy, has a
modulus that integrates to at most e^(2 a^2) cos(mu a)^-falling M(c); ``falling`` adds up the negative ones of
the powers 1 - c of P and c of Q.
Its integral over Im x = a is that over the line (Cauchy), and the trapezoid rule on it errs by at most
2/(e^(2 pi a/step) - 1) times that bound (Trefethen, Weideman 2014, Theorem 5.1, of a strip of half-width a).
The step does not depend on y.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.intervals.rounding import TINY, UNIT, Array
from tradeoff.loss.components import MARGIN, Component, QuadratureNodes, Trapezoid, slopes
from tradeoff.loss.transform import Complex, logarithm

_HIGHEST, _ANGLE = 1.0, 1.4
"""Distance of the path, and its argument of e^l, at most: farther, moduli and so the rounding grow by more
than nodes fall; and by at most e^(1/2) for negative powers."""

MOST = 0.5
"""Shares above one half leave densities that nearly vanish: what is near 0 there is not 1 + v."""

_NODES = 4000
"""Most nodes: tilts that need more are rare, and their lines of few frequencies."""

_LARGEST = 300.0
"""Squares of e^300 are floats."""


class _Log(NamedTuple):
    """log(1 + v), known to ``error``."""

    value: Complex
    error: Array


def rule(part: Component, c: float, digits: float) -> Trapezoid | None:
    """Return the rule for E e^((c' + iy') L), |c' - c| <= MARGIN, at all y' >= 0.

    None where a share is above one half, nodes are too many, or e^l is no float.
    """
    mu, powers = part.base.scale, (c - MARGIN, c + MARGIN)
    falling = max(0.0, -powers[0]) * (part.b.part > 0) + max(0.0, powers[1] - 1) * (part.d.part > 0)
    a = min(_HIGHEST, _ANGLE / mu, 2 / (mu * math.sqrt(1 + falling)))
    growth = 2 * a * a - falling * math.log(math.cos(mu * a))
    step = 2 * math.pi * a / (digits + growth)
    (low, high), spare = slopes(part, powers), math.sqrt(2 * digits) + 1.5
    first, last = math.floor((mu * low - spare) / step), math.ceil((mu * high + spare) / step)
    if max(part.b.part, part.d.part) > MOST or last - first > _NODES or mu * step * last > _LARGEST:
        return None
    return Trapezoid(step, first, last, spare, digits, last - first + 1.0, a, falling)


def points(
    part: Component, c: float, rule: Trapezoid, at: Array
) -> tuple[QuadratureNodes, NDArray[np.bool_]]:
    """Return the complex nodes ``at``, Im L >= 0, and which of them say anything.

    With columns in the component and the rule it does so for rows of nodes.
    """
    mu, g, a, digits, step = part.base.scale, np.abs(part.g), rule.a, rule.digits, rule.h
    least, t = np.minimum(part.b.part, part.d.part), step * at
    base = mu * t - mu * mu / 2
    moved = 4 * UNIT * (np.abs(mu * t) + mu * mu)
    # On the line the moduli are those under the tilts of ``powers``; what is left out there, times what they
    # grow by, is left out here.
    real = part.logs(base, moved)
    mass = real.p - t * t / 2
    weights = np.array([mass + power * real.loss for power in (c - MARGIN, c + MARGIN, c, 0.0)])
    weights -= np.max(weights, axis=-1, keepdims=True)
    lift = np.exp(a * a / 2 - rule.falling * np.log(np.cos(mu * a / 2)))
    ends = np.max(np.exp(weights[..., [0, -1]]), axis=(0, -1), keepdims=True)[0]
    tails = 2 * ends * (1 + 1 / (step * rule.spare))
    kept = np.max(weights, axis=0) > -digits - 20
    lost = 3 * np.exp(-digits) + lift * (tails + rule.reach * np.exp(-digits - 20))
    # e^l - 1: expm1, cosine and sine are of 8 units, a product and a sum add two; mu a may err by one.
    turn, rise = mu * a, np.exp(base)
    excess = np.expm1(base) * np.cos(turn) - 2 * np.sin(turn / 2) ** 2 + 1j * (rise * np.sin(turn))
    off = 32 * UNIT * (1 + rise) + rise * moved
    lower = _log1p(least * excess, least * (off + part.units * UNIT * np.abs(excess)) + TINY)
    # The greater density over the lesser is 1 + odds: a sum, a product and a quotient are less than 32 units.
    under = 1 + least * excess
    odds = g * excess / under
    off_odds = (g * off + (part.units + 32) * UNIT * np.abs(g * excess)) / np.abs(under) + 4 * TINY
    ratio = _log1p(odds, off_odds + np.abs(odds) * lower.error)
    loss, log_p, p_error = ratio.value, lower.value, lower.error
    if np.all(part.g < 0):
        # P has the greater share: its logarithm is the sum of both, and the path is below the line.
        loss, log_p, p_error = -loss.conj(), (log_p + loss).conj(), lower.error + ratio.error
    loss.imag = np.maximum(loss.imag, 0.0)  # as the truth is
    width = np.log(step * part.k)
    phi = (a * a - t * t) / 2 - math.log(2 * math.pi) / 2 - 1j * np.sign(part.g) * a * t
    log_p = width + phi + log_p
    units = 24 + 4 * (t * t + a * a) + 8 * a * np.abs(t) + 12 * np.abs(width) + 4 * np.abs(log_p) + part.units
    return QuadratureNodes(loss, log_p, p_error + UNIT * units, ratio.error, lost), kept


def _log1p(v: Complex, error: Array) -> _Log:
    """Return log(1 + v), v known to ``error``: beside what ``logarithm`` says, 32 units of large ones."""
    found = logarithm(v, error)
    large = np.where(np.abs(v) < 0.5, 0.0, np.abs(found.log))
    return _Log(found.log, found.error + 32 * UNIT * large)
