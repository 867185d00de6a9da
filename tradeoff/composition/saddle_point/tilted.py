"""The tilted law of a product as a normal law: mean, variance and Berry-Esseen distance, every error proved.

Moments of one law around a centre m, d = L - m, come from its transform: with rho(y) e^(-iym) = E_c e^(iyd) at two small y,
and K at two real tilts c +- s,

    E d^2 >= (2/y^2) (1 - Re rho),              E d^2 <= (2/y^2) (1 - Re rho) + (y^2/12) E d^4,
    E d^4 <= (12/s^4) (E e^(sd) + E e^(-sd) - 2 - s^2 E d^2),
    |E d - Im rho/y| <= (y^2/6) E|d|^3,         E|d|^3 <= (E d^2 E d^4)^(1/2),

by Taylor's formula for cos, cosh and sin, and by Cauchy and Schwarz. How small y and s are is taken from sketches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tradeoff.errors import NoClosedForm
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.changed import Reversed
from tradeoff.loss.cumulant import Cumulant
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.law import LossLaw
from tradeoff.loss.transform import Transform

_DIGITS = 60.0
_FINE, _FINER, _WIDE = 1e-4, 1e-6, 0.05
"""y for the variance, y for the mean, and s, over the scale of the losses."""

_INDEPENDENT = 0.56
_IDENTICAL = ((0.4690, 0.0), (0.3322, 0.429), (0.3031, 0.646))
"""sup |F - Phi| <= 0.56 sum P3/V^(3/2) (Shevtsova 2010), or a (P3/v^(3/2) + b)/sqrt(n) for n identical summands (Shevtsova 2013)."""

_LEAST = 1e-290


class Moments(NamedTuple):
    """log M(c), mean and variance of one tilted law with their errors, and E|L - E L|^3 from above."""

    log_m: float
    log_m_error: float
    mean: float
    mean_error: float
    variance: float
    variance_error: float
    third: float


class Tilted(NamedTuple):
    """A product under the tilt c: log M(c), and within ``gamma`` of its distribution function the normal law (mean, sd)."""

    c: float
    log_m: float
    log_m_error: float
    mean: float
    sd: float
    gamma: float


class Columns(NamedTuple):
    """Many tilted laws, field by field."""

    c: Array
    log_m: Array
    log_m_error: Array
    mean: Array
    sd: Array
    gamma: Array


def tilted(laws: Sequence[LossLaw], counts: Sequence[int], c: float) -> Tilted | None:
    """Return the product under a tilt near c, or None where floats or quadratures do not reach."""
    try:
        # A few trailing zeros make c - s and c + s exact.
        unit = 2.0 ** (math.frexp(max(1.0, abs(c)))[1] - 30)
        c = unit * round(c / unit)
        found = _joined([moments(law, c, unit) for law in laws], counts, c)
    except (ValueError, ArithmeticError):  # too many nodes, or a float that overflows
        return None
    return found if all(map(math.isfinite, found)) and c not in {0.0, 1.0} else None


def _joined(each: Sequence[Moments], counts: Sequence[int], c: float) -> Tilted:
    columns = [
        [n * value for value, n in zip(column, counts, strict=True)] for column in zip(*each, strict=True)
    ]
    log_m, log_m_error, mean, mean_error, variance, variance_error, _ = map(math.fsum, columns)
    log_m_error += 4 * UNIT * (math.fsum(map(abs, columns[0])) + log_m_error)
    mean_error += 4 * UNIT * (math.fsum(map(abs, columns[2])) + mean_error)
    least = variance * (1 - 4 * UNIT) - variance_error * (1 + 4 * UNIT)
    if not least > _LEAST:
        return Tilted(c, log_m, log_m_error, mean, math.nan, math.inf)
    # Two normal laws: phi(0) = 0.3989... a unit of the mean, and |log(s/s')| max x phi(x) = 0.24197... |log(s/s')|.
    apart = 0.399 * mean_error / math.sqrt(least) + 0.121 * (2 * variance_error + 8 * UNIT * variance) / least
    return Tilted(
        c,
        log_m,
        log_m_error,
        mean,
        math.sqrt(variance),
        (_distance(each, counts, least) + apart) * (1 + 32 * UNIT),
    )


def _distance(each: Sequence[Moments], counts: Sequence[int], variance: float) -> float:
    """Bound sup |F - Phi|. Normal factors are products of m narrower ones, whose third moments add up to less as m grows.

    A normal summand moves no two distribution functions apart, so identical factors may also be measured on their own.
    """
    rough = [(m, n) for m, n in zip(each, counts, strict=True) if m.third > 0]
    gamma = _INDEPENDENT * math.fsum(n * m.third for m, n in rough) / variance / math.sqrt(variance)
    if len(rough) == 1:
        m, n = rough[0]
        own = m.variance - m.variance_error
        if own > _LEAST:
            gamma = min(
                gamma, *(a * (m.third / own / math.sqrt(own) + b) / math.sqrt(n) for a, b in _IDENTICAL)
            )
    return gamma


def moments(law: LossLaw, c: float, unit: float) -> Moments:
    """Return the moments of one law under the tilt c, a multiple of ``unit``."""
    factor = law.transform(c, _DIGITS)
    if factor is None:
        raise NoClosedForm(f"{law!r} has no density in closed form to tilt; method='lattice' answers")
    same = law.base if isinstance(law, Reversed) else law
    if isinstance(same, GaussianLaw):
        square = same.mu * same.mu
        return Moments(
            factor.log_m,
            factor.log_m_error,
            factor.mean,
            4 * UNIT * square * (1 + abs(c)),
            square,
            2 * UNIT * square,
            0.0,
        )
    return _measured(law, factor, c, unit)


def _measured(law: LossLaw, factor: Transform, c: float, unit: float) -> Moments:
    fine, wide = _scales(law, factor.mean, c)
    y = np.array([fine * _FINER, fine * _FINE])
    log, error, _ = factor.ratio(y)
    turned, slip = (
        log.imag,
        np.exp(log.real) * (np.expm1(error) + 8 * UNIT * (np.abs(log) + np.abs(log.imag))),
    )
    sine = float(np.exp(log.real[0]) * np.sin(turned[0])) / y[0]
    drop = float(-np.expm1(log.real[1]) + np.exp(log.real[1]) * 2 * np.sin(turned[1] / 2) ** 2)
    least, most = (
        max(2 * (drop + sign * float(slip[1])) / y[1] ** 2 * (1 + sign * 8 * UNIT), 0.0) for sign in (-1, 1)
    )
    fourth = _fourth(law, factor, c, unit * max(round(_WIDE * min(wide / unit, 2.0**50)), 1), least)
    most += y[1] ** 2 / 12 * fourth * (1 + 8 * UNIT)
    third = math.sqrt(most * fourth) * (1 + 8 * UNIT)
    # The last term: closed forms centre themselves at c times the variance, which may cancel.
    off = (
        float(slip[0]) / y[0]
        + y[0] ** 2 / 6 * third
        + 8 * UNIT * (abs(sine) + abs(factor.mean) + (1 + abs(c)) * most)
    )
    low = max(least - (abs(sine) + off) ** 2, 0.0)
    variance, spread = (low + most) / 2, (most - low) / 2 + 4 * UNIT * most
    around_mean = (third ** (1 / 3) + abs(sine) + off) ** 3 * (1 + 32 * UNIT)
    return Moments(factor.log_m, factor.log_m_error, factor.mean + sine, off, variance, spread, around_mean)


def _scales(law: LossLaw, centre: float, c: float) -> tuple[float, float]:
    """Return one over the size of the losses that make the variance, and of those that make the fourth moment."""
    sketch = law.sketch()
    d = sketch.loss - centre
    weight = Cumulant([(sketch, 1)]).weights(c)[0]
    second, fourth, sixth = (float(np.sum(weight * d**k)) for k in (2, 4, 6))
    if not second > 0:
        return 1.0, 1.0
    return math.sqrt(second / fourth), math.sqrt(fourth / sixth)


def _fourth(law: LossLaw, factor: Transform, c: float, s: float, second: float) -> float:
    """Bound E d^4 by E e^(sd) and E e^(-sd), which are K at c + s and c - s."""
    total, size = -s * s * second, s * s * second
    for sign in (1, -1):
        other = law.transform(c + sign * s, _DIGITS)
        if other is None:
            return math.inf
        exponent = other.log_m - factor.log_m - sign * s * factor.mean
        error = other.log_m_error + factor.log_m_error
        error += 4 * UNIT * (abs(other.log_m) + abs(factor.log_m) + s * abs(factor.mean))
        total += math.expm1(exponent)
        size += abs(math.expm1(exponent)) + math.exp(exponent) * math.expm1(error) / (8 * UNIT)
    return 12 * max(total + 8 * UNIT * size, 0.0) / s**4 * (1 + 16 * UNIT)
