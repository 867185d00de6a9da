"""Pairs of mixtures of normal laws whose loss increases along the line, from their means and weights."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

from tradeoff.certificates.description import Description
from tradeoff.certificates.verify.arithmetic import PI, REAL, TINY, Long, to_real

_DIGITS = 40
"""Of a quotient before it is rounded to extended precision."""

_ROUGH, _STEPS, _HALVES = 90, 5, 500
"""Halves in double, to its last digits; steps of Newton's method, each of which doubles 10 digits; and halves
in as many digits as are ever used."""

_FARTHEST = 1e7
"""Standard deviations beyond which no threshold matters: means lie within 10^6 of each other."""


class Values(NamedTuple):
    """At points of the line: the loss, log P, and the logarithm of dL/dx."""

    loss: Long
    log_density: Long
    log_rise: Long


def spread(what: Description) -> float:
    """Return the distance of the extreme means."""
    return float(Fraction(what["means"][-1]) - Fraction(what["means"][0]))


def values(what: Description, x: Long) -> Values:
    """Return what a quadrature needs, in extended precision.

    Terms are taken over the one nearest to x; where Q is near P the loss is the log1p of their difference.
    """
    m, p, q = (_long(map(Fraction, what[name])) for name in ("means", "p", "q"))
    d = _long(Fraction(b) - Fraction(a) for a, b in zip(what["p"], what["q"], strict=True))
    nearest = m[np.argmin(np.abs(m - x), axis=0), 0]
    e = np.exp((m - nearest) * (x - (m + nearest) / 2))
    over_p, over_q, gain = np.sum(p * e, axis=0), np.sum(q * e, axis=0), np.sum(d * e, axis=0)
    near = np.abs(gain) < over_p / 2
    loss = np.where(near, np.log1p(np.where(near, gain / over_p, 0)), np.log(over_q) - np.log(over_p))
    centre = np.sum(p * e * m, axis=0) / over_p
    rise = np.sum(d * e * (m - centre), axis=0) / over_q
    density = np.log(over_p) - (x - nearest) ** 2 / 2 - np.log(2 * PI) / 2
    return Values(loss, density, np.log(np.maximum(rise, TINY)))


def _long(each: Any) -> Long:
    with mp.workdps(_DIGITS):
        return np.array([to_real(_mpf(value)) for value in each], REAL)[:, None]


def _mpf(value: Fraction) -> Any:
    return mp.mpf(value.numerator) / value.denominator


def masses(what: Description, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return the masses of P and Q where the loss is above x and where it is not, in mpmath's digits."""
    m, p, q = ([_mpf(Fraction(each)) for each in what[name]] for name in ("means", "p", "q"))
    t = _threshold(m, p, q, x)
    p_above, p_below, q_above, q_below = (
        mp.fsum(w * _tail(side * (t - a)) for w, a in zip(weights, m, strict=True))
        for weights in (p, q)
        for side in (1, -1)
    )
    return p_above, p_below, q_above, q_below


def _threshold(m: list[Any], p: list[Any], q: list[Any], x: Any) -> Any:
    """Return t with L(t) = x: by halves in double, then by Newton's method, and by halves if that failed."""

    def sums(t: Any) -> list[Any]:
        e = [mp.exp(a * t - a * a / 2) for a in m]
        return [mp.fdot(w, e) for w in (p, q)] + [mp.fdot(w, map(operator.mul, e, m)) for w in (p, q)]

    def above(t: Any) -> bool:
        over_p, over_q, *_ = sums(t)
        return bool(over_q > mp.exp(x) * over_p)

    t = mp.mpf(_roughly(m, p, q, float(x)))
    if abs(t) == _FARTHEST:
        return t
    for _ in range(_STEPS):
        over_p, over_q, by_p, by_q = sums(t)
        t -= (mp.log(over_q / over_p) - x) / (by_q / over_q - by_p / over_p)
    near = mp.mpf(10) ** (8 - mp.mp.dps) * (1 + abs(t))
    if above(t + near) and not above(t - near):
        return t
    low, high = -mp.mpf(_FARTHEST), mp.mpf(_FARTHEST)
    for _ in range(_HALVES):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return low


def _roughly(m: list[Any], p: list[Any], q: list[Any], x: float) -> float:
    """Return about t, or an end where L takes no such value."""
    means = np.array([float(a) for a in m])
    with np.errstate(divide="ignore"):
        log_p, log_q = (np.log(np.array([float(w) for w in weights])) for weights in (p, q))

    def loss(t: float) -> float:
        terms = means * t - means * means / 2
        return float(np.logaddexp.reduce(log_q + terms) - np.logaddexp.reduce(log_p + terms))

    low, high = -_FARTHEST, _FARTHEST
    if not loss(low) < x < loss(high):
        return low if x <= loss(low) else high
    for _ in range(_ROUGH):
        middle = (low + high) / 2
        low, high = (low, middle) if loss(middle) > x else (middle, high)
    return low


def _tail(a: Any) -> Any:
    return mp.erfc(a / mp.sqrt(2)) / 2 if abs(a) < 10**6 else mp.mpf(int(a < 0))
