"""One vertical line Re z = c: the product of all transforms on it, and from it delta, from both sides.

    psi(x) = (1/2 pi) int e^(K(c + iy) - (c - 1 + iy) x) kernel(c + iy) dy

is delta(x) less the mass at infinity for c > 1, with kernel 1/(z (z - 1)), and 1 - delta(x) for 0 < c < 1,
with the kernel's sign turned (Zhu, Dong, Wang 2022). psi is positive and e^((c - 1) x) psi(x) is what the
trapezoid rule aliases: the sum over all nodes is never below the truth. Chernoff's bound at one real point
bounds what aliases, and psi where there is no line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import SUBNORMAL, TINY, UNIT, Array, Complex
from tradeoff.loss.cumulant import Cumulant, epsilon_for_delta, tilt_for_epsilon
from tradeoff.loss.law import Transformed

DEEP = 8.5
"""Frequencies, in units of 1/tau, beyond which e^(-tau^2 y^2/2) leaves nothing at all."""


DIGITS = 42.0
"""Quadratures err by e^-DIGITS, over all rounds together."""


def log_kappa(c: float) -> float:
    """Return log sup_L (1 - e^(x-L))_+ e^((1-c)(L-x)): 0 in the middle strip."""
    return (c - 1) * math.log1p(-1 / c) - math.log(c) if c > 1 else 0.0


class Chernoff(NamedTuple):
    """A real point c of the strip: K(c) from above. It bounds psi(x) by e^(K(c) - (c - 1) x) kappa(c)."""

    c: float
    log_m: float

    def psi(self, x: float) -> float:
        """Bound psi(x) = delta(x) - Q(L = inf) from above."""
        return math.exp(min(_rounded_up(self.log_m, log_kappa(self.c), -(self.c - 1) * x), 0.0)) + TINY

    def smoothed(self, tau: float) -> Chernoff:
        """Return the point of the product with a Gaussian of mu = tau added."""
        return self._replace(log_m=self.log_m + tau**2 * max(self.c**2 - self.c, 0.0) * (0.5 + 1e-9))


def chernoff(laws: Sequence[Transformed], counts: Sequence[int], c: float) -> Chernoff:
    """Return K(c) from above; where the truth is K(0) or K(1), at most 0, use that."""
    if c in {0.0, 1.0}:
        return Chernoff(c, 0.0)
    each = [(n, law.transform(c, DIGITS + math.log(n))) for law, n in zip(laws, counts, strict=True)]
    terms = [n * (t.log_m + t.log_m_error) if t is not None else math.inf for n, t in each]
    # A count, a sum, a product and the sum of all: four roundings.
    return Chernoff(c, math.fsum(terms) + 4 * UNIT * math.fsum(map(abs, terms)))


def chernoff_near(
    laws: Sequence[Transformed], counts: Sequence[int], cumulant: Cumulant, x: float
) -> Chernoff:
    """Return the point whose bound on psi is least about x."""
    return _known(laws, counts, tilt_for_epsilon(cumulant, x))


def chernoff_epsilon(
    laws: Sequence[Transformed], counts: Sequence[int], cumulant: Cumulant, psi: float
) -> float:
    """Bound the loss x with psi(x) = ``psi`` from above."""
    point = _known(laws, counts, tilt_for_epsilon(cumulant, epsilon_for_delta(cumulant, psi)))
    return _rounded_up(point.log_m, log_kappa(point.c), -math.log(psi)) / (point.c - 1)


def _known(laws: Sequence[Transformed], counts: Sequence[int], c: float) -> Chernoff:
    try:
        return chernoff(laws, counts, c)
    except SizeError:  # a quadrature too large
        return Chernoff(c, math.inf)


def _rounded_up(*terms: float) -> float:
    """Sum exponents, each known to 8 units of itself and 1, so that e^sum and a quotient stay above."""
    return math.fsum(terms) + 16 * UNIT * (1 + math.fsum(map(abs, terms)))


class Terms(NamedTuple):
    """Pieces of a bound on psi(x): a sum and its errors over e^exponent, known to the relative ``slack``.

    ``nodes`` is the error of the values summed (quadrature of every transform and its rounding), ``rounding``
    that of the sum, ``truncation`` what lies beyond the last node, ``left`` and ``right`` what other periods
    add.
    """

    total: Array
    nodes: float
    rounding: Array
    truncation: float
    left: Array
    right: Array
    smoothing: Array
    exponent: Array
    slack: Array


_BLOCK = 64
"""Terms whose turns are computed; those of the next ones are theirs, turned once more."""

_MANY = 32 * _BLOCK
"""Terms from which that pays."""


class Sum(NamedTuple):
    """Terms values e^(i (mean - x) y), y = k step, of a sum: at most _MANY, or rows of _BLOCK.

    Bounds on its error, its rounding, and sum of |values| y.
    """

    step: float
    values: Complex
    error: float
    rounding: float
    moment: float


@dataclass(frozen=True, eq=False)
class ContourLine:
    """Values of the product at frequencies k step, k = 0 ... N, their errors, and what bounds the rest.

    ``cut`` bounds |prod rho_i^n_i| beyond the last node, with the Gaussian factor of mu = ``tau`` if one was
    added. ``scale`` is the spread of the integrand about the saddle.
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
    def _product(self) -> Complex:
        """Return the product at the nodes; where it is nothing, only its error counts."""
        found: Complex = np.where(np.isfinite(self.log.real), np.exp(self.log), 0.0)
        return found

    @cached_property
    def _psi_sum(self) -> Sum:
        return self._prepared(lambda z: 1 / (z * (z - 1) * (1 if self.c > 1 else -1)))

    @cached_property
    def _smoothing_sum(self) -> Sum:
        # The bump of _smoothing: its transform is tau^2 e^(tau^2/8) times the values, which hold e^(-tau^2
        # y^2/2) already.
        return self._prepared(
            lambda z: np.full(len(z), self.tau**2 * math.exp(self.tau**2 / 8), dtype=complex)
        )

    def _prepared(self, kernel: Callable[[Complex], Complex]) -> Sum:
        """Return the terms of (1/2 pi) int prod rho^n kernel dy."""
        y = self.step * np.arange(len(self.log), dtype=float)
        weight: Complex = kernel((self.c + 1j * y).astype(complex)) * (
            np.where(y > 0, 1.0, 0.5) * (self.step / np.pi)
        )
        values: Complex = self._product * weight
        size = np.abs(values)
        # A sum of terms known to 32 units: exponential, cosine and sine 12 each at most, kernel and products
        # the rest. In rows a turn is a product of two: 44 units, and 3 for a row times its turn; a row's sum
        # errs by sqrt(2) 2 64 more, that of 64 rows by 64, and that of those by their number.
        rows = len(y) > _MANY
        units = 1.5 * (3 * _BLOCK + len(y) / _BLOCK**2 + 50) if rows else len(y) + 32
        rounding = units * UNIT * float(np.sum(size)) * (1 + 1e-9)
        error, moment = float(np.sum(np.abs(weight) * self.error)) * (1 + 1e-9), float(np.sum(size * y))
        if rows:
            values = np.pad(values, (0, -len(values) % _BLOCK)).reshape(-1, _BLOCK)
        return Sum(self.step, values, error, rounding, moment)

    def psi(self, x: Array) -> tuple[Array, Array]:
        """Bound psi at losses x; cost is one multiplication a node and loss."""
        t = self.terms(x)
        off = t.nodes + t.rounding + t.truncation
        low = t.total - off - t.left - t.right - (t.smoothing if self.c > 1 else 0.0)
        high = t.total + off + (0.0 if self.c > 1 else t.smoothing)
        # Beyond e^500, where rounding alone is more than 1, bounds say nothing; 1e40 keeps them finite.
        with np.errstate(invalid="ignore"):  # where an exponent is known to nothing
            least, most = (np.exp(np.fmin(each, 500.0)) for each in (t.exponent, t.exponent + t.slack))
            lower = np.maximum(low, 0.0) * least * (1 - t.slack) - SUBNORMAL
        return np.fmax(lower, 0.0), np.minimum(high, 1e40) * most + SUBNORMAL

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
            smoothing=self._smoothing(x),
            exponent=exponent,
            # The exponent is a difference, a product and a difference; an exponential and products cost 16.
            slack=self.log_m_error + UNIT * (16 + 8 * abs(self.log_m) + 16 * np.abs((self.c - 1) * x)),
        )

    def _turned(self, x: Array) -> Array:
        """Bound the error of mean - x, which turns every phase: three roundings, with y."""
        return self.mean_error + 4 * UNIT * (np.abs(x) + abs(self.mean))

    def _at(self, known: Sum, x: Array) -> Array:
        """Return Re sum of values e^(i (mean - x) y), x by x: none depends on what is asked with it."""
        return np.array([self._turned_sum(known, x_k) for x_k in x.tolist()])

    def _turned_sum(self, known: Sum, x: float) -> float:
        turn, values = self.mean - x, known.values
        if values.ndim == 1:
            phase = turn * (known.step * np.arange(len(values)))
            return float(np.sum(np.cos(phase) * values.real - np.sin(phase) * values.imag))
        # e^(i turn (y + y')) = e^(i turn y) e^(i turn y'): both phases err by what is charged for their sum.
        within, between = (turn * (known.step * np.arange(n, dtype=float)) for n in (_BLOCK, len(values)))
        rows = np.dot(values, _unit(within))
        parts = (_unit(_BLOCK * between) * rows).real
        return float(np.sum(np.add.reduceat(parts, np.arange(0, len(parts), _BLOCK))))

    def _alias(self, side: Chernoff, x: Array) -> Array:
        """Bound what the periods on one side add to the sum, in units of e^(log_m - (c - 1) x)."""
        period, gap = 2 * np.pi / self.step, abs(side.c - self.c)
        # In the true unit e^log_m, as the sum is: alias and sum then err together. Of large exponents 1e-9 is
        # less than what at most six roundings of each take off.
        apart = side.log_m - self.log_m
        unsure = self.log_m_error + 8 * UNIT * (abs(apart) + gap * (np.abs(x) + period))
        exponent = apart - (side.c - self.c) * x + log_kappa(side.c) + unsure
        share = np.exp(np.minimum(exponent - gap * period, 60.0)) / -np.expm1(-gap * period)
        found: Array = share * (1 + 1e-9)
        return found

    def _smoothing(self, x: Array) -> Array:
        """Bound what the added Gaussian of mu = tau does to psi, in the same units.

        With d = L - x the time value of the hockey-stick is int_0^tau e^(d/2 - d^2/2t^2 - t^2/8) dt/sqrt(2
        pi), at most tau e^(d/2) phi(d/tau). Its tilted mean is again a sum over the nodes, whose aliases are
        positive.
        """
        if self.tau == 0:
            return np.zeros(len(x))
        known = self._smoothing_sum
        off = known.error + known.rounding + self._turned(x) * known.moment
        found: Array = np.maximum(self._at(known, x) + off, 0.0) + self._bump_beyond()
        return found

    def _bump_beyond(self) -> float:
        """Bound what the bump's sum lacks beyond the last node.

        There the product is below cut and below e^(-tau^2 y^2/2), which meet at y = turn. From turn on the
        integral of the latter is at most e^(-tau^2 turn^2/2)/(tau^2 turn): with cut for the exponential, or
        less where turn is the last node.
        """
        cut, tau = max(self.cut, SUBNORMAL), self.tau
        turn = max(math.sqrt(max(-2 * math.log(cut), 0.0)) / tau, self.last)
        return cut * (tau**2 * (turn - self.last) + 1 / turn) * math.exp(tau**2 / 8) / math.pi * (1 + 1e-9)


def _unit(phase: Array) -> Complex:
    """Return e^(i phase), each part as accurate as cosine and sine."""
    found: Complex = np.cos(phase) + 1j * np.sin(phase)
    return found
