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
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tradeoff.errors import NoClosedForm
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, expm1, maximum, sqrt, total, where, whole
from tradeoff.intervals.rounding import Array
from tradeoff.limits.moments import NOTHING, recentred
from tradeoff.limits.normal_distance import Rough, normal_distance
from tradeoff.loss.changed import Reversed
from tradeoff.loss.cumulant import Cumulant
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.law import LossLaw

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


class _Read(NamedTuple):
    """What transforms say near a tilt: K and centre, log rho at two y, K at c + s and c - s, and errors."""

    log_m: Any
    log_m_error: Any
    mean: Any
    near: Any
    far: Any
    rate_near: Any
    rate_far: Any
    turn_near: Any
    turn_far: Any
    error_near: Any
    error_far: Any
    s: Any
    above: Any
    above_error: Any
    below: Any
    below_error: Any


class Moments(NamedTuple):
    """log M(c), mean, variance and E|L - E L|^3 of one law under the tilt c, or of many under many."""

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


_POLES = 0.0, 1.0
"""Tilts that tell nothing."""

NOWHERE = Tilted(*[math.nan] * len(Tilted._fields))
"""Of a tilt that no floats or quadratures reach: it says nothing."""


def tilted(laws: Sequence[LossLaw], counts: Sequence[int], tilts: Sequence[float]) -> list[Tilted]:
    """Return the product under tilts near these, or nothing where floats or quadratures do not reach."""
    at = np.array(tilts)
    unit = np.ldexp(1.0, np.frexp(np.maximum(1.0, np.abs(at)))[1] - _TRAILING)
    at = unit * np.round(at / unit)
    columns = np.transpose([list(each) for each in moments(laws, at, unit)]).tolist()  # a tilt, a law
    found = []
    for c, column in zip(at.tolist(), columns, strict=True):
        joined = NOWHERE
        with suppress(ArithmeticError, ValueError):  # a float that overflows
            joined = _joined([Moments(*map(Bounds, *law)) for law in column], counts, c)
        found.append(joined if c not in _POLES and all(map(math.isfinite, joined)) else NOWHERE)
    return found


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


def moments(laws: Sequence[LossLaw], c: Array, unit: Array) -> Moments:
    """Return the moments of laws, along the first axis, under tilts c, each a multiple of its ``unit``.

    All in one pass, since of so few numbers the call of an operation costs more than the operation.
    """
    each = [[_read(law, *at) for at in zip(c.tolist(), unit.tolist(), strict=True)] for law in laws]
    found = _measured(_Read(*np.moveaxis(np.array(each), -1, 0)))
    normal = np.array([[_mu(law)] for law in laws])
    square = Bounds.of(normal) ** 2
    closed = square * c * (Bounds.of(c) - 1) / 2, square * (Bounds.of(c) - 0.5), square, NOTHING
    return Moments(*(where(np.isnan(normal), *both) for both in zip(found, closed, strict=True)))


def _mu(law: LossLaw) -> float:
    """Return mu of a Gaussian law of either order, whose moments are known; NaN of others."""
    same = law.base if isinstance(law, Reversed) else law
    return float(same.mu) if isinstance(same, GaussianLaw) else math.nan


def _read(law: LossLaw, c: float, unit: float) -> _Read:
    """Ask the transforms of a law; NaN where nothing is to be asked, or a quadrature takes too many nodes."""
    nothing = _Read(*[math.nan] * len(_Read._fields))
    if math.isfinite(_mu(law)) or not math.isfinite(c) or c in _POLES:
        return nothing
    try:
        factor = law.transform(c, _DIGITS)
        if factor is None:
            raise NoClosedForm(
                f"{law!r} has no density in closed form to tilt; its curve's own bounds answer"
            )
        fine, wide = _scales(law, factor.mean, c)
        log, error, _ = factor.ratio(y := np.array([fine * _FINER, fine * _FINE]))
        s = unit * max(round(_WIDE * min(wide / unit, 2.0**50)), 1)
        beside = [law.transform(c + step, _DIGITS) for step in (s, -s)]
    except (ValueError, ArithmeticError):
        return nothing
    ends = [end for at in beside for end in ((at.log_m, at.log_m_error) if at else (math.nan, math.nan))]
    seen = (factor.log_m, factor.log_m_error, factor.mean, *y, *log.real, *log.imag, *error, s, *ends)
    return _Read._make(seen)


def _measured(read: _Read) -> Moments:
    """Return moments by the inequalities above.

    ``sine`` and ``versine`` are Im rho and 1 - Re rho, the centre taken out, at the nearer and the farther y.
    """
    near, far, error = read.near, read.far, np.array([read.error_near, read.error_far])
    rate = np.array([read.rate_near, read.rate_far]) + _within(error)
    turn = np.array([read.turn_near, read.turn_far]) + _within(error)
    sine, versine = exp(rate) * _sin(turn), exp(rate) * _versine(turn) - expm1(rate)
    least = np.maximum(_at(2 * versine / Bounds.of(far) ** 2, 1).lower, 0.0)
    fourth = _fourth(read, least)
    most = _at(2 * versine, 1) / Bounds.of(far) ** 2 + Bounds.of(far) ** 2 / 12 * fourth
    square = Bounds(least, most.upper)
    third = sqrt(most * fourth).upper
    off = _at(sine, 0) / near + _within((Bounds.of(near) ** 2 / 6 * third).upper)
    return Moments(
        read.log_m + _within(read.log_m_error),
        read.mean + off,
        maximum(square - off**2, 0.0),
        recentred(Bounds(np.zeros_like(third), third), _size(off), 3),
    )


def _fourth(read: _Read, second: Array) -> Array:
    """Bound E d^4 by E e^(sd) and E e^(-sd), which are K at c + s and c - s."""
    s = Bounds.of(read.s)
    spread = -(s**2) * second
    for sign, log_m, error in ((1, read.above, read.above_error), (-1, read.below, read.below_error)):
        errors = _within(error) + _within(read.log_m_error)
        spread += expm1(Bounds.of(log_m) - read.log_m - sign * s * read.mean + errors)
    return np.asarray(np.maximum((12 * spread / s**4).upper, 0.0))


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


def _size(x: Bounds) -> Any:
    return np.maximum(np.abs(x.lower), np.abs(x.upper))


def _at(x: Bounds, k: int) -> Bounds:
    return Bounds(x.lower[k], x.upper[k])
