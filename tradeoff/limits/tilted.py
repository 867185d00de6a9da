"""A product under the tilt e^(cL) as a normal law: mean, variance and distance, every error proved.

A law is summed over weighted points: with w_j their tilted masses and d = L - m, m near the tilted mean,

    |E_c d^k - sum w_j d_j^k| <= sum w_j (|d_j|^k u_j + k a_j (|d_j| + a_j)^(k-1)) + k!/r^k q G,

where masses are known to u_j, relative, and losses to a_j. A quadrature that errs by q relative to M(z), at
every z within r of c, errs in the k-th derivative of e^(-zm) M(z) at c as in the last term, by Cauchy: G =
E_c e^(r|d|) is at least M(c +- r) e^(-+rm)/M(c). By Cauchy and Schwarz E|d|^3 <= (E d^2 E d^4)^(1/2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import maximum, minimum, rational, sqrt, whole
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.limits.closed_forms import NOTHING
from tradeoff.limits.moments import recentred, size, within
from tradeoff.limits.sums import normal_distance
from tradeoff.loss.changed import Reversed
from tradeoff.loss.components import MARGIN, QuadratureNodes
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.law import LossLaw
from tradeoff.loss.quadrature import joined, log_moment, of_atoms

_DIGITS = 80.0  # quadratures err by e^-80: times 4!/r^4 it is far below fourth moments of losses of 1e-6
_RADIUS = MARGIN / 2  # of Cauchy's circle, and of tilts about the one that points were made for
_TRAILING, _FARTHEST = 30, 2.0**40  # binary digits of a tilt, so that 1 - c is a float, up to where tilts end
_LITTLE = 1e-6  # what points may lack, relative, so that logarithms are known to first order
_CHUNK = 2**18  # points times tilts held at once: what a cache holds
_GROWN = 1 + 1e-9  # above the rounding of sums of up to 4e6 positive terms, and of second orders of errors
_PHI, _X_PHI = 0.399, 0.121  # above max phi and max x phi(x)/2: what units of mean and of variance can do


class Moments(NamedTuple):
    """log M(c), mean, variance and E|L - E L|^3 of one law, under an array of tilts."""

    log_m: Bounds
    mean: Bounds
    variance: Bounds
    third: Bounds


class Tilted(NamedTuple):
    """A product under a tilt, or many: log M(c), and the normal law (mean, sd) within ``gamma`` of it."""

    c: Any
    least_log_m: Any
    most_log_m: Any
    mean: Any
    sd: Any
    gamma: Any


# Of the integrand: tilts there tell nothing, others delta, 1 - delta between them, delta of the other order.
POLES = 0.0, 1.0

NOWHERE = Tilted(*[math.nan] * len(Tilted._fields))  # of a tilt that no floats or quadratures reach


def tilted(laws: Sequence[LossLaw], counts: Sequence[int], tilts: Sequence[float]) -> list[Tilted]:
    """Return the product under tilts near these, or nothing where floats or quadratures do not reach."""
    c = np.array(tilts, dtype=float)
    unit = np.ldexp(1.0, np.frexp(np.maximum(1.0, np.abs(c)))[1] - _TRAILING)
    with np.errstate(all="ignore"):  # what overflows says nothing
        c = unit * np.round(c / unit)
        found = np.transpose(_joined([moments(law, c) for law in laws], counts, c))
    known = np.isfinite(found).all(axis=1) & ~np.isin(c, POLES)
    return [Tilted(*row) if ok else NOWHERE for row, ok in zip(found.tolist(), known, strict=True)]


def _joined(each: Sequence[Moments], counts: Sequence[int], c: Array) -> Tilted:
    log_m, mean, variance, _ = (
        sum((whole(n) * moment for moment, n in zip(column, counts, strict=True)), NOTHING)
        for column in zip(*each, strict=True)
    )
    rough = [(m, n) for m, n in zip(each, counts, strict=True) if np.any(m.third.upper > 0)]
    m, sd = (mean.lower + mean.upper) / 2, np.sqrt((variance.lower + variance.upper) / 2)
    # Two normal laws: a unit of the mean moves Phi by phi, and |log(s/s')| <= |V - V'|/(2 min V) by x phi(x).
    least = np.minimum(variance.lower, (Bounds.of(sd) ** 2).lower)
    apart = _PHI * size(mean - m) / sqrt(least) + _X_PHI * size(variance - Bounds.of(sd) ** 2) / least
    gamma = np.where(least > 0, (normal_distance(rough, variance) + apart).upper, np.inf)
    return Tilted(c, log_m.lower, log_m.upper, m, sd, gamma)


def moments(law: LossLaw, c: Array) -> Moments:
    """Return the moments of a law under tilts."""
    same = law.base if isinstance(law, Reversed) else law
    if isinstance(same, GaussianLaw):
        square = Bounds.of(same.mu) ** 2 if same.square is None else rational(same.square)
        log_m, mean = square * c * (Bounds.of(c) - 1) / 2, square * (Bounds.of(c) - 0.5)
        return Moments(log_m, mean, *(Bounds.of(np.ones_like(c)) * each for each in (square, NOTHING)))
    log_m, log_m_error, mean, *powers = _sums(law, c)
    known = zip(powers[:3], powers[3:], strict=True)
    off, square, fourth = (Bounds.of(at) + within(error) for at, error in known)
    square = maximum(square, 0.0)
    low, high = law.enclosure
    widest = Bounds.of(np.maximum(high - mean, mean - low) * _GROWN)  # |d| <= widest
    third = sqrt(square * minimum(fourth, widest**2 * square)).upper
    return Moments(
        log_m + within(log_m_error),
        mean + off,
        maximum(square - off**2, 0.0),
        recentred(Bounds(np.zeros_like(third), third), size(off), 3),
    )


def _sums(law: LossLaw, c: Array) -> Array:
    """Return log M(c), its error, m, the sums, k = 1, 2, 4, and their errors; cells of tilts share points."""
    found = np.full((9, len(c)), np.nan)
    cell = np.floor(c / (2 * _RADIUS)) if law.components() else np.zeros(len(c))  # atoms serve all tilts
    for place in np.unique(cell[(np.abs(c) < _FARTHEST) & ~np.isin(c, POLES)]).tolist():
        here = np.flatnonzero(cell == place)
        with suppress(ValueError, ArithmeticError):  # a quadrature of too many points
            points = _points(law, 2 * _RADIUS * (place + 0.5))
            for some in np.array_split(here, math.ceil(len(here) * points.loss.size / _CHUNK)):
                found[:, some] = _summed(law, points, c[some])
    return found


def _points(law: LossLaw, c: float) -> QuadratureNodes:
    """Return a law as points for all tilts within 2 ``_RADIUS`` of one."""
    smooth = [part.base.nodes(part, c, _RADIUS, _DIGITS) for part in law.components() or ()]
    some = len(law.atoms.loss) > 0
    return joined([*smooth, *[of_atoms(law.atoms, law.loss_error, c, cut=False)] * some])


def _summed(law: LossLaw, points: QuadratureNodes, c: Array) -> Array:
    """Do so for a row of points, by the inequality above."""
    column, loss, log_p = c[:, None], points.loss.real, points.log_p.real
    lacking = _lost(law, points, c)
    tilt = column * loss
    log_w = log_p + tilt
    # The exponent is a product and two sums; exp costs 8.
    uneven = points.slack + np.abs(column) * points.error
    uneven = uneven + UNIT * (8 + 4 * np.abs(tilt) + 4 * np.abs(log_p))
    points = points._replace(quadrature=lacking[:, None])
    log_m, log_m_error = log_moment(points, column, law.p_minus, log_w, uneven)
    log_w = log_w - log_m
    # Beside M(c) there are powers of d, 8 units each, their product with the mass, and the sum (Higham 2002).
    uneven += log_m_error + 4 * UNIT * (1 + np.abs(log_m)) + UNIT * (loss.size + 48)
    w = np.exp(log_w)
    mean = np.sum(w * loss, axis=-1)
    d = loss - mean[:, None]
    far = np.abs(d)
    at = points.error + 4 * UNIT * far
    lost = lacking * 2 * np.sum(np.exp(log_w + _RADIUS * far), axis=-1)
    order = np.array([1, 2, 4])[:, None, None]
    off = np.sum(w * (far**order * uneven + order * at * (far + at) ** (order - 1)), axis=-1) * _GROWN
    cauchy = np.array([[math.factorial(k) / _RADIUS**k] for k in (1, 2, 4)])
    powers = np.sum(w * d**order, axis=-1)
    return np.vstack([log_m[:, 0], log_m_error[:, 0], mean, powers, off + cauchy * lost])


def _lost(law: LossLaw, points: QuadratureNodes, c: Array) -> Array:
    """Bound what points lack, relative to M(z), at every z within ``_RADIUS`` of c; infinite if much."""
    each = np.broadcast_to(points.quadrature[0], c.shape)
    if law.lost > 0:  # the last atom weighs the more the larger z, the first the less: both at their worst
        ends = (
            [of_atoms(law.atoms, law.loss_error, x, cut=True).quadrature for x in (c + side).tolist()]
            for side in (-_RADIUS, _RADIUS)
        )
        each = np.maximum(each, np.sum(list(ends), axis=0))
    return np.where(each < _LITTLE, each, np.inf)
