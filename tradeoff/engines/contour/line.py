"""One vertical line Re z = c: the product of all transforms on it, and from it delta and its kin with both sides.

    psi(x) = (1/2 pi) int e^(K(c + iy) - (c - 1 + iy) x) kernel(c + iy) dy

is delta(x) less the mass at infinity for c > 1, with kernel 1/(z (z - 1)), and 1 - delta(x) for 0 < c < 1, with
the kernel's sign turned (Zhu, Dong, Wang 2022). psi is positive and e^((c - 1) x) psi(x) is what the trapezoid rule
aliases: the sum over all nodes is never below the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tradeoff.engines.allowance import allowance
from tradeoff.engines.contour.choice import transform
from tradeoff.engines.contour.tail import stays_below
from tradeoff.engines.contour.transform import Complex, Transform
from tradeoff.engines.law import LossLaw
from tradeoff.errors import SizeError
from tradeoff.numerics.rounding import TINY, UNIT, Array

BYTES = 256
"""Working memory a node of a line takes while it is drawn and asked."""

DEEP = 8.5
"""Frequencies, in units of 1/tau, beyond which e^(-tau^2 y^2/2) leaves nothing."""

_DIGITS, _FAINT = 36.0, 20.0
_BLOCK = 64
_CHUNK = 2**21
_MANY, _SILENT, _SPARSE = 2048, 120.0, 8


class Chernoff(NamedTuple):
    """A second real point c' of the strip: K(c') from above. It bounds psi(x) by e^(K(c') - (c' - 1) x) kappa(c')."""

    c: float
    log_m: float


class Terms(NamedTuple):
    """Pieces of a bound on psi(x): a sum and all its errors in units of e^exponent, known to the relative ``slack``.

    ``nodes`` is the error of the values summed (quadrature of every transform and its rounding), ``rounding`` that of the
    sum, ``truncation`` what lies beyond the last node, ``left`` and ``right`` what other periods add.
    """

    total: Array
    nodes: float
    rounding: Array
    truncation: float
    left: Array
    right: Array
    blur: Array
    exponent: Array
    slack: Array


class Sum(NamedTuple):
    """Terms values e^(i (mean - x) y) of a sum over nodes; bounds on its error, its rounding, and sum of |values| y."""

    y: Array
    values: Complex
    error: float
    rounding: float
    moment: float


@dataclass(frozen=True, eq=False)
class Line:
    """Values of the product at frequencies k step, k = 0 ... N, with errors, and everything that bounds the rest.

    ``cut`` bounds |prod rho_i^n_i| beyond the last node; ``tau`` > 0 says that a Gaussian factor of that mu was added.
    ``scale`` is the standard deviation of the tilted sum.
    """

    c: float
    log_m: float
    log_m_error: float
    mean: float
    mean_error: float
    step: float
    log: Complex
    error: Array
    cut: float
    left: Chernoff
    right: Chernoff
    tau: float
    scale: float

    @property
    def last(self) -> float:
        """Return the last frequency."""
        return self.step * (len(self.log) - 1)

    @cached_property
    def _psi_sum(self) -> Sum:
        return self._prepared(lambda z: 1 / (z * (z - 1) * (1 if self.c > 1 else -1)))

    @cached_property
    def _blur_sum(self) -> Sum:
        # The bump of _blur: its transform is tau^2 e^(tau^2/8) times the values, which hold e^(-tau^2 y^2/2) already.
        return self._prepared(lambda z: np.full(len(z), self.tau**2 * math.exp(self.tau**2 / 8), dtype=complex))

    def _prepared(self, kernel: Callable[[Complex], Complex]) -> Sum:
        """Return the terms of (1/2 pi) int prod rho^n kernel dy; nodes where the product is nothing keep only their error."""
        y = self.step * np.arange(len(self.log), dtype=float)
        weight: Complex = kernel((self.c + 1j * y).astype(complex)) * (np.where(y > 0, 1.0, 0.5) * (self.step / np.pi))
        left = np.flatnonzero(np.isfinite(self.log.real))
        values = np.exp(self.log[left]) * weight[left]
        size = np.abs(values)
        rounding = (len(y) + 32) * UNIT * float(np.sum(size))
        return Sum(y[left], values, float(np.sum(np.abs(weight) * self.error)), rounding, float(np.sum(size * y[left])))

    def psi(self, x: Array) -> tuple[Array, Array]:
        """Bound psi at losses x; cost is one multiplication a node and loss."""
        t = self.terms(x)
        off = t.nodes + t.rounding + t.truncation
        low = t.total - off - t.left - t.right - (t.blur if self.c > 1 else 0.0)
        high = t.total + off + (0.0 if self.c > 1 else t.blur)
        scale = np.exp(np.minimum(t.exponent, 500.0))  # beyond, the bounds say nothing: psi <= 1
        high = np.minimum(high, 1e40)
        return np.maximum(low, 0.0) * scale * (1 - t.slack), high * scale * (1 + t.slack) + TINY

    def terms(self, x: Array) -> Terms:
        """Return what the bounds at losses x are made of."""
        known = self._psi_sum
        exponent = self.log_m - (self.c - 1) * x
        return Terms(
            total=self._at(known, x),
            nodes=known.error,
            rounding=known.rounding + self._turned(x) * known.moment,
            truncation=self.cut / (np.pi * self.last),
            left=self._alias(self.left, x),
            right=self._alias(self.right, x),
            blur=self._blur(x),
            exponent=exponent,
            slack=self.log_m_error + UNIT * (16 + 8 * abs(self.log_m) + 16 * np.abs((self.c - 1) * x)),
        )

    def _turned(self, x: Array) -> Array:
        """Bound the error of mean - x, which turns every phase."""
        return self.mean_error + 4 * UNIT * (np.abs(x) + abs(self.mean))

    def _at(self, known: Sum, x: Array) -> Array:
        """Return Re sum of values e^(i (mean - x) y) at every x."""
        found = np.empty(len(x))
        chunk = max(1, _CHUNK // max(len(known.y), 1))
        for start in range(0, len(x), chunk):
            phase = np.multiply.outer(self.mean - x[start : start + chunk], known.y)
            found[start : start + chunk] = np.cos(phase) @ known.values.real - np.sin(phase) @ known.values.imag
        return found

    def _alias(self, side: Chernoff, x: Array) -> Array:
        """Bound what the periods on one side add to the sum, in units of e^(log_m - (c - 1) x)."""
        period, gap = 2 * np.pi / self.step, abs(side.c - self.c)
        exponent = side.log_m - self.log_m - (side.c - self.c) * x + _log_kappa(side.c)
        found: Array = np.exp(np.minimum(exponent - gap * period, 60.0)) / -np.expm1(-gap * period) * (1 + 1e-9)
        return found

    def _blur(self, x: Array) -> Array:
        """Bound what the added Gaussian of mu = tau does to psi, in the same units.

        With d = L - x the time value of the hockey-stick is int_0^tau e^(d/2 - d^2/2t^2 - t^2/8) dt/sqrt(2 pi), at most
        tau e^(d/2) phi(d/tau). Its tilted mean is again a sum over the nodes, whose aliases are positive.
        """
        if self.tau == 0:
            return np.zeros(len(x))
        known = self._blur_sum
        off = known.error + known.rounding + self._turned(x) * known.moment
        found: Array = np.maximum(self._at(known, x) + off, 0.0) + self.cut / (np.pi * self.last)
        return found


def _log_kappa(c: float) -> float:
    """Return log sup_L (1 - e^(x-L))_+ e^((1-c)(L-x)): Chernoff's constant, 1 in the middle strip."""
    return (c - 1) * math.log1p(-1 / c) - math.log(c) if c > 1 else 0.0


class Aim(NamedTuple):
    """Where to draw a line: real part c, the two Chernoff points beside it, the step; what may be left out, and the cost allowed.

    ``scale`` is the standard deviation of the tilted sum.
    """

    c: float
    left: float
    right: float
    step: float
    goal: float
    most: float
    tau: float
    scale: float


def draw(laws: Sequence[LossLaw], counts: Sequence[int], aim: Aim) -> Line | None:
    """Return the line, or None where some density is unknown or a quadrature too large."""
    digits = [_DIGITS + 6 + math.log(n) for n in counts]
    found = [transform(law, aim.c, d) for law, d in zip(laws, digits, strict=True)]
    transforms = [t for t in found if t is not None]
    if len(transforms) < len(laws):
        return None
    try:
        product = _decayed(transforms, counts, aim)
    except SizeError:  # a quadrature grew beyond its cap: the product decays too late
        return None
    log, error, cut = product
    # What aliases is the product with the Gaussian added.
    sides = [Chernoff(c, _log_m(laws, counts, c, digits) + aim.tau**2 * max(c * c - c, 0.0) * (0.5 + 1e-9)) for c in (aim.left, aim.right)]
    blurred = aim.tau**2 * (aim.c**2 - aim.c) / 2
    scale = [n * t.log_m for n, t in zip(counts, transforms, strict=True)]
    means = [n * t.mean for n, t in zip(counts, transforms, strict=True)]
    return Line(
        c=aim.c,
        log_m=math.fsum(scale) + blurred,
        log_m_error=math.fsum(n * t.log_m_error for n, t in zip(counts, transforms, strict=True)) + 2 * UNIT * _size([*scale, blurred]),
        mean=math.fsum(means) + aim.tau**2 * (aim.c - 0.5),
        mean_error=2 * UNIT * _size(means) + 4 * UNIT * aim.tau**2 * aim.c,
        step=aim.step,
        log=log,
        error=error,
        cut=cut,
        left=sides[0],
        right=sides[1],
        tau=aim.tau,
        scale=aim.scale,
    )


def _size(terms: Sequence[float]) -> float:
    return math.fsum(map(abs, terms))


def _log_m(laws: Sequence[LossLaw], counts: Sequence[int], c: float, digits: Sequence[float]) -> float:
    """Return K(c) from above; where the truth is K(0) or K(1), at most 0, use that."""
    if c in {0.0, 1.0}:
        return 0.0
    each = [(n, transform(law, c, d)) for law, n, d in zip(laws, counts, digits, strict=True)]
    terms = [n * (t.log_m + t.log_m_error) for n, t in each if t is not None]
    return math.fsum(terms) + 4 * UNIT * _size(terms)


def _decayed(transforms: Sequence[Transform], counts: Sequence[int], aim: Aim) -> tuple[Complex, Array, float]:
    """Return log of the product at the nodes, absolute errors of the product, and a bound on it beyond the last node.

    The nodes go on until what is left out is below ``aim.goal``; where the cost allowed is spent before, the bounds are wider.
    """
    stop = DEEP / aim.tau if aim.tau > 0 else math.inf
    lasting = -_far(transforms, counts, 1e100)  # what atoms leave for ever
    log, error, size, spent = [], [], 0, 0
    while True:
        block: Array = aim.step * np.arange(size, max(2 * size, _BLOCK), dtype=float)
        values, off, ceiling = _product(transforms, counts, block)
        smooth = (aim.tau * block) ** 2 / 2
        log.append(values - smooth)
        error.append(off * np.exp(-smooth) * (1 + 4 * UNIT * smooth))
        size, last = size + len(block), float(block[-1])
        spent, price = spent + len(block) * _cost(transforms, last), len(block) * _cost(transforms, 2 * last)
        level = -math.log(aim.goal * math.pi * last)
        if last >= stop:
            cut = math.exp(-((aim.tau * last) ** 2) / 2)
        elif lasting > level and ceiling[-1] < -1.1 * level and stays_below(transforms, counts, level, last, stop) == math.inf:
            cut = math.exp(-level)
        elif (lasting < _FAINT and not aim.tau) or size >= allowance().most(BYTES) or spent + 2 * price > aim.most:
            cut = math.exp(_far(transforms, counts, last) - (aim.tau * last) ** 2 / 2)
        else:
            continue
        return np.concatenate(log), np.concatenate(error), cut * (1 + 1e-9)


def _cost(transforms: Sequence[Transform], y: float) -> int:
    return sum(t.cost(y) for t in transforms)


def _far(transforms: Sequence[Transform], counts: Sequence[int], y: float) -> float:
    return float(sum(n * t.far(y) for t, n in zip(transforms, counts, strict=True)))


def _product(transforms: Sequence[Transform], counts: Sequence[int], y: Array) -> tuple[Complex, Array, Array]:
    """Return sum n log rho, the absolute error of the product and the sum of ceilings; factors stop where nothing is left."""
    log, slip, ceiling = np.zeros(len(y), complex), np.zeros(len(y)), np.zeros(len(y))
    alive = np.arange(len(y))
    for factor, n in zip(transforms, counts, strict=True):
        ratio = factor.ratio(y[alive]) if len(alive) < len(y) / _SPARSE else factor.ratio(y, even=True).at(alive)
        known = np.isfinite(ratio.error)
        log[alive] += n * ratio.log.real + 1j * (n * ratio.log.imag)  # n times a complex -inf would be NaN
        slip[alive] += n * (ratio.error + 4 * UNIT * np.abs(np.where(known, ratio.log, 0.0))) + 2 * UNIT * np.abs(ratio.log.imag)
        ceiling[alive] += n * ratio.ceiling
        if len(y) > _MANY:
            alive = alive[ceiling[alive] > -_SILENT]
            if not len(alive):
                break
    slip += 2 * UNIT * len(transforms) * np.abs(np.where(np.isfinite(slip), log, 0.0))
    gone = ceiling <= -_SILENT
    log[gone] = -np.inf
    size = np.exp(np.minimum(log.real, 0.0))
    near = (slip < 0.5) & ~gone
    error = np.where(near, size * np.expm1(np.where(near, slip, 0.0)), np.exp(ceiling) + size)
    return log, error, ceiling
