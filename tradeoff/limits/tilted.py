"""A product under the tilt e^(cL) as a normal law: mean, variance and distance, every error proved.

Moments of one law around a centre m, d = L - m, come from its transform: with rho(y) e^(-iym) = E_c e^(iyd)
at two small y, and K at two real tilts c +- s,

    E d^2 >= (2/y^2) (1 - Re rho),              E d^2 <= (2/y^2) (1 - Re rho) + (y^2/12) E d^4,
    E d^4 <= (12/s^4) (E e^(sd) + E e^(-sd) - 2 - s^2 E d^2),
    |E d - Im rho/y| <= (y^2/6) E|d|^3,         E|d|^3 <= (E d^2 E d^4)^(1/2),

by Taylor's formula for cos, cosh and sin, and by Cauchy and Schwarz. How small y and s are is taken from
sketches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tradeoff.errors import NoClosedForm
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, expm1, sqrt, total, whole
from tradeoff.intervals.rounding import Array
from tradeoff.limits.moments import NOTHING, recentred
from tradeoff.limits.normal_distance import Rough, normal_distance
from tradeoff.loss.changed import Reversed
from tradeoff.loss.cumulant import Cumulant
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.law import LossLaw
from tradeoff.loss.transform import Transform

_DIGITS = 60.0
"""Quadratures of transforms err by e^-60, far below their rounding."""

_FINE, _FINER, _WIDE = 1e-4, 1e-6, 0.05
"""y for the variance, y for the mean, and s, over the scale of the losses: rounding over y^r and the
remainder are alike."""

_TRAILING = 30
"""Binary digits of a tilt, so that c - s and c + s are floats."""

_PHI, _X_PHI = 0.399, 0.121
"""Above max phi = 0.3989..., and above half of max x phi(x) = 0.24197...: what a unit of mean and of variance
can do."""


class Moments(NamedTuple):
    """log M(c), mean, variance and E|L - E L|^3 of one law under the tilt c."""

    log_m: Bounds
    mean: Bounds
    variance: Bounds
    third: Bounds


class Tilted(NamedTuple):
    """A product under the tilt c: log M(c), and the normal law (mean, sd) within ``gamma`` of it.

    Fields are floats, or arrays of many tilts.
    """

    c: Any
    least_log_m: Any
    most_log_m: Any
    mean: Any
    sd: Any
    gamma: Any


NOWHERE = Tilted(*[math.nan] * len(Tilted._fields))
"""Of a tilt that no floats or quadratures reach: it says nothing."""


def tilted(laws: Sequence[LossLaw], counts: Sequence[int], c: float) -> Tilted:
    """Return the product under a tilt near c, or nothing where floats or quadratures do not reach."""
    unit = 2.0 ** (math.frexp(max(1.0, abs(c)))[1] - _TRAILING)
    try:
        c = unit * round(c / unit)
        found = _joined([moments(law, c, unit) for law in laws], counts, c)
    except (ValueError, ArithmeticError):  # too many nodes, or a float that overflows
        found = NOWHERE
    return found if all(map(math.isfinite, found)) and c not in {0.0, 1.0} else NOWHERE


def _joined(each: Sequence[Moments], counts: Sequence[int], c: float) -> Tilted:
    log_m, mean, variance, _ = (
        total(whole(n) * moment for moment, n in zip(column, counts, strict=True))
        for column in zip(*each, strict=True)
    )
    rough = [Rough(m.third, m.variance, n) for m, n in zip(each, counts, strict=True) if m.third.upper > 0]
    m, sd = (mean.lower + mean.upper) / 2, math.sqrt((variance.lower + variance.upper) / 2)
    # Two normal laws: a unit of the mean moves Phi by phi, and |log(s/s')| <= |V - V'|/(2 min V) by x phi(x).
    least = min(variance.lower, (Bounds.of(sd) ** 2).lower)
    apart = _PHI * _size(mean - m) / sqrt(least) + _X_PHI * _size(variance - Bounds.of(sd) ** 2) / least
    gamma = float((normal_distance(rough, variance) + apart).upper) if least > 0 else math.inf
    return Tilted(c, log_m.lower, log_m.upper, m, sd, gamma)


def moments(law: LossLaw, c: float, unit: float) -> Moments:
    """Return the moments of one law under the tilt c, a multiple of ``unit``."""
    same = law.base if isinstance(law, Reversed) else law
    if isinstance(same, GaussianLaw):
        square = Bounds.of(same.mu) ** 2
        return Moments(square * c * (Bounds.of(c) - 1) / 2, square * (Bounds.of(c) - 0.5), square, NOTHING)
    factor = law.transform(c, _DIGITS)
    if factor is None:
        raise NoClosedForm(f"{law!r} has no density in closed form to tilt; its curve's own bounds answer")
    return _measured(law, factor, c, unit)


def _measured(law: LossLaw, factor: Transform, c: float, unit: float) -> Moments:
    """Return moments by the inequalities above.

    ``sine`` and ``versine`` are Im rho and 1 - Re rho, the centre taken out.
    """
    fine, wide = _scales(law, factor.mean, c)
    near, far = fine * _FINER, fine * _FINE
    log, error, _ = factor.ratio(np.array([near, far]))
    rate, turn = (Bounds.of(part) + _within(error) for part in (log.real, log.imag))
    sine, versine = exp(rate) * _sin(turn), exp(rate) * _versine(turn) - expm1(rate)
    least = max(float(_at(2 * versine / Bounds.of(far) ** 2, 1).lower), 0.0)
    fourth = _fourth(law, factor, c, unit * max(round(_WIDE * min(wide / unit, 2.0**50)), 1), least)
    most = _at(2 * versine, 1) / Bounds.of(far) ** 2 + Bounds.of(far) ** 2 / 12 * fourth
    square = Bounds(least, most.upper)
    third = sqrt(most * fourth).upper
    off = _at(sine, 0) / near + _within((Bounds.of(near) ** 2 / 6 * third).upper)
    variance = square - off**2
    return Moments(
        factor.log_m + _within(factor.log_m_error),
        factor.mean + off,
        Bounds(max(variance.lower, 0.0), variance.upper),
        recentred(Bounds(0.0, third), _size(off), 3),
    )


def _fourth(law: LossLaw, factor: Transform, c: float, s: float, second: float) -> float:
    """Bound E d^4 by E e^(sd) and E e^(-sd), which are K at c + s and c - s."""
    spread = -(Bounds.of(s) ** 2) * second
    for sign in (1, -1):
        other = law.transform(c + sign * s, _DIGITS)
        if other is None:
            return math.inf
        errors = _within(other.log_m_error) + _within(factor.log_m_error)
        spread += expm1(Bounds.of(other.log_m) - factor.log_m - sign * Bounds.of(s) * factor.mean + errors)
    return max(float((12 * spread / Bounds.of(s) ** 4).upper), 0.0)


def _scales(law: LossLaw, centre: float, c: float) -> tuple[float, float]:
    """Return one over the losses that make the variance, and the fourth moment: choices only."""
    sketch = law.sketch()
    d = sketch.loss - centre
    weight = Cumulant([(sketch, 1)]).weights(c)[0]
    second, fourth, sixth = (float(np.sum(weight * d**k)) for k in (2, 4, 6))
    return (math.sqrt(second / fourth), math.sqrt(fourth / sixth)) if second > 0 else (1.0, 1.0)


def _sin(x: Bounds) -> Bounds:
    """Bound sin x = x (1 - t x^2/6), t in [0, 1]."""
    return x * (1 - Bounds(np.zeros_like(x.lower), (x**2 / 6).upper))


def _versine(x: Bounds) -> Bounds:
    """Bound 1 - cos x = x^2/2 (1 - t x^2/12), t in [0, 1]."""
    return x**2 / 2 * (1 - Bounds(np.zeros_like(x.lower), (x**2 / 12).upper))


def _within(error: float | Array) -> Bounds:
    return Bounds(-error, error)


def _size(x: Bounds) -> float:
    return float(max(abs(x.lower), abs(x.upper)))


def _at(x: Bounds, k: int) -> Bounds:
    return Bounds(x.lower[k], x.upper[k])
