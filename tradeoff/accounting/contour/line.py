"""One vertical line Re z = c: the product of all transforms on it, and from it delta, from both sides.

    psi(x) = (1/2 pi) int e^(K(c + iy) - (c - 1 + iy) x) kernel(c + iy) dy

is delta(x) less the mass at infinity for c > 1, with kernel 1/(z (z - 1)), and 1 - delta(x) for 0 < c < 1,
with the kernel's sign turned (Zhu, Dong, Wang 2022). psi is positive and e^((c - 1) x) psi(x) is what the
trapezoid rule aliases: the sum over all nodes is never below the truth. Chernoff's bound at one real point
bounds what aliases, and psi where there is no line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import SUBNORMAL, TINY, UNIT, Array, Complex
from tradeoff.pld.cumulant import Cumulant, epsilon_for_delta, tilt_for_epsilon
from tradeoff.pld.law import Transformed

DEEP = 8.5  # frequencies, in units of 1/tau, beyond which e^(-tau^2 y^2/2) leaves nothing at all

DIGITS = 42.0  # quadratures err by e^-DIGITS, over all rounds together
Powers = tuple[float, float, float]  # coefficients of 1, u^2 and u^4

# Polynomials below and above 1 - u M(u), u >= 0, with Mills' ratio M.
_LEAST, _MOST = (0.5, -0.157, 0.0), (1.0, -0.5, 0.077)

# What is between the two, the integral of their difference times phi(u), and a fifth for ends of lines.
LEFT = 0.48

_BLOCK = 64  # terms whose turns are computed; those of the next ones are theirs, turned once more
_MANY = 32 * _BLOCK  # terms from which that pays
PIECE = 2**13  # nodes computed at once: their numbers stay in a cache


def log_kappa(c: float) -> float:
    """Return log sup_L (1 - e^(x-L))_+ e^((1-c)(L-x)): 0 in the middle strip."""
    return (c - 1) * math.log1p(-1 / c) - math.log(c) if c > 1 else 0.0


class Chernoff(NamedTuple):
    """A real point c of the strip: K(c) from above. It bounds psi(x) by e^(K(c) - (c - 1) x) kappa(c)."""

    c: float
    log_m: float

    def psi(self, x: float) -> float:
        """Bound psi(x) = delta(x) - Q(L = inf) from above."""
        if self.log_m == math.inf:
            return 1.0
        return math.exp(min(_rounded_up(self.log_m, log_kappa(self.c), -(self.c - 1) * x), 0.0)) + TINY


def chernoff(laws: Sequence[Transformed], counts: Sequence[int], c: float) -> Chernoff:
    """Return K(c) from above; where the truth is K(0) or K(1), at most 0, use that."""
    if c in {0.0, 1.0}:
        return Chernoff(c, 0.0)
    each = [(n, law.transform(c, DIGITS + math.log(n))) for law, n in zip(laws, counts, strict=True)]
    terms = [n * (t.log_m + t.log_m_error) if t is not None else math.inf for n, t in each]
    # A count, a sum, a product and the sum of all: four roundings.
    return Chernoff(c, math.fsum(terms) + 4 * UNIT * math.fsum(map(abs, terms)))


def try_chernoff(laws: Sequence[Transformed], counts: Sequence[int], c: float) -> Chernoff:
    """Return the same, or an infinite bound where a quadrature is too large."""
    try:
        return chernoff(laws, counts, c)
    except SizeError:
        return Chernoff(c, math.inf)


def chernoff_epsilon(
    laws: Sequence[Transformed], counts: Sequence[int], cumulant: Cumulant, psi: float
) -> float:
    """Bound the loss x with psi(x) = ``psi`` from above."""
    point = try_chernoff(laws, counts, tilt_for_epsilon(cumulant, epsilon_for_delta(cumulant, psi)))
    return _rounded_up(point.log_m, log_kappa(point.c), -math.log(psi)) / (point.c - 1)


def _rounded_up(*terms: float) -> float:
    """Sum exponents, each known to 8 units of itself and 1, so that e^sum and a quotient stay above."""
    return math.fsum(terms) + 16 * UNIT * (1 + math.fsum(map(abs, terms)))


class Sums(NamedTuple):
    """Terms values e^(i (mean - x) y), y = k step, of sums: a row for each, or rows of _BLOCK beyond _MANY.

    Bounds, one a sum, on its error (that of the product, and what lies beyond the last node), its rounding,
    and sum of |values| y.
    """

    step: float
    values: Complex
    error: Array
    rounding: Array
    moment: Array


@dataclass(frozen=True, eq=False)
class ContourLine:
    """Values of the product at frequencies k step, k = 0 ... N, their errors, and what bounds the rest.

    Beyond the last one |prod rho_i^n_i| is at most ``cut``, or with a Gaussian of mu = ``tau`` added, up to
    DEEP/tau, cut e^(-tau^2 (y^2 - last^2)/2). ``scale`` is the spread of the integrand about the saddle.

    The Gaussian adds the time value int_0^tau e^(d/2 - d^2/2t^2 - t^2/8) dt/sqrt(2 pi) to the hockey-stick, d
    = L - x. Without e^(-t^2/8) that is tau e^(d/2) phi(u) (1 - u M(u)), u = |d|/tau, M Mills' ratio. So one
    polynomial in u^2 above 1 - u M(u) bounds it from above, and one below, times e^(-tau^2/8), from below.
    There 1 has the transform tau^2 e^(tau^2 (z^2 - z)/2), whose exponential the values hold; u^2 multiplies
    it by 1 + s, and u^4 by 3 + 6s + s^2, s = tau^2 (z - 1/2)^2. Taken off, these leave two functions with the
    hockey-stick between them. The upper one is positive, and so is what it aliases; the lower one aliases no
    more than the hockey-stick does.
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

    @property
    def _taken(self) -> tuple[tuple[Powers, float], ...]:
        """What is taken off the hockey-stick for bounds from below and from above, over tau^2."""
        both = (_MOST, math.exp(self.tau**2 / 8)), (_LEAST, 1.0)
        # What is taken off delta is added to 1 - delta.
        return both if self.c > 1 else both[::-1]

    @cached_property
    def _sums(self) -> Sums:
        """Sums (1/2 pi) int prod rho^n kernel dy that bound psi from below and from above.

        One for both where no Gaussian is added.
        """
        count, rows = len(self.log), len(self.log) > _MANY
        values = np.zeros((2 if self.tau else 1, count + (-count % _BLOCK if rows else 0)), complex)
        error, size, moment = np.zeros((3, len(values)))
        for start in range(0, count, PIECE):
            here = slice(start, min(start + PIECE, count))
            y = self.step * np.arange(here.start, here.stop, dtype=float)
            weight = np.where(y > 0, 1.0, 0.5) * (self.step / np.pi)
            # Where the product is nothing, only its error counts.
            product = np.where(np.isfinite(self.log[here].real), np.exp(self.log[here]), 0.0)
            for k, (kernel, parts) in enumerate(self._kernels(y)):
                values[k, here] = product * (kernel * weight)
                weighed = parts * weight
                sizes = np.abs(product) * weighed
                error[k] += np.sum(weighed * self.error[here])
                size[k] += np.sum(sizes)
                moment[k] += np.sum(sizes * y)
        # A sum of terms known to 32 units: exponential, cosine and sine 12 each at most, kernel and products
        # the rest; what a Gaussian adds is known to 48 more: s to 9, polynomials to 25, factors the rest.
        # In rows a turn is a product of two: 44 units, and 3 for a row times its turn; a row's sum errs by
        # sqrt(2) 2 64 more, that of 64 rows by 64, and that of those by their number.
        units = 1.5 * (3 * _BLOCK + count / _BLOCK**2 + 50) if rows else count + 32
        rounding = (units + (48 if self.tau else 0)) * UNIT * size * (1 + 1e-9)
        error = error * (1 + 1e-9) + self._beyond
        return Sums(self.step, values.reshape(-1, _BLOCK) if rows else values, error, rounding, moment)

    def _kernels(self, y: Array) -> Iterator[tuple[Complex, Array]]:
        """Yield the kernel of every sum, and what its parts add up to in size."""
        z, sign = (self.c + 1j * y).astype(complex), 1 if self.c > 1 else -1
        stick = 1 / (z * (z - 1) * sign)
        size = np.abs(stick)
        if not self.tau:
            yield stick, size
            return
        s = (self.tau * (z - 0.5)) ** 2
        s_size = np.abs(s)
        for powers, factor in self._taken:
            square = factor * self.tau**2
            yield stick - sign * square * _added(powers, s), size + square * _added(_sizes(powers), s_size)

    @property
    def _beyond(self) -> Array:
        """Bound what lies beyond the last node: up to DEEP/tau, and from the node before that on.

        |z (z - 1)| >= y^2 leaves 1/y of the hockey-stick's kernel. With v = tau y, int_v^inf s^k e^((v^2 -
        s^2)/2) ds is at most m, v + m and v^3 + 3v + 3m for k = 0, 2, 4, m = min(1/v, sqrt(pi/2)) >= M(v).
        A sum is at most that where the integrand falls, from s^2 = k on, and else a step times its top more.
        """
        if not self.tau:
            return np.array([self.cut / (math.pi * self.last)])
        deep = max(DEEP - self.tau * self.step, self.tau * self.last)
        result, aside, k = np.zeros(2), (self.tau * (self.c - 0.5)) ** 2, np.array([0, 2, 4])
        for cut, v in ((self.cut, self.tau * self.last), (math.exp(-deep * deep / 2), deep)):
            m, top = min(1 / v, math.sqrt(math.pi / 2)), np.maximum(v * v, k)
            whole = np.array([m, v + m, v**3 + 3 * v + 3 * m])
            whole += self.tau * self.step * (top > v * v) * top ** (k / 2) * np.exp((v * v - top) / 2)
            for side, (powers, factor) in enumerate(self._taken):
                (_, b, c), still = _sizes(powers), _added(_sizes(powers), aside)
                added = factor * float(np.dot([still, b + c * (6 + 2 * aside), c], whole))
                result[side] += cut * self.tau / math.pi * (1 / v + added)
        return result * (1 + 1e-9)

    def psi(self, x: Array) -> tuple[Array, Array]:
        """Bound psi at losses x; cost is one multiplication a node and loss, or two."""
        total, off = self._at(x)
        low = total[0] - off[0] - self._alias(self.left, x) - self._alias(self.right, x)
        high = total[-1] + off[-1]
        # The exponent is a difference, a product and a difference; an exponential and products cost 16.
        exponent = self.log_m - (self.c - 1) * x
        slack = self.log_m_error + UNIT * (16 + 8 * abs(self.log_m) + 16 * np.abs((self.c - 1) * x))
        # Beyond e^500, where rounding alone is more than 1, bounds say nothing; 1e40 keeps them finite.
        with np.errstate(invalid="ignore"):  # where an exponent is known to nothing
            least, most = (np.exp(np.fmin(each, 500.0)) for each in (exponent, exponent + slack))
            lower = np.maximum(low, 0.0) * least * (1 - slack) - SUBNORMAL
        return np.fmax(lower, 0.0), np.minimum(high, 1e40) * most + SUBNORMAL

    def _turned(self, x: Array) -> Array:
        """Bound the error of mean - x, which turns every phase: three roundings, with y."""
        return self.mean_error + 4 * UNIT * (np.abs(x) + abs(self.mean))

    def _at(self, x: Array) -> tuple[Array, Array]:
        """Return Re sum of values e^(i (mean - x) y) and its error, a row a sum."""
        known = self._sums
        # x by x: none depends on what is asked with it.
        result = (
            np.array([self._turned_sum(known, x_k) for x_k in x.tolist()]).reshape(-1, len(known.error)).T
        )
        return result, (known.error + known.rounding)[:, None] + np.outer(known.moment, self._turned(x))

    def _turned_sum(self, known: Sums, x: float) -> Array:
        turn, values = self.mean - x, known.values
        if len(values) == len(known.error):
            phase = turn * (known.step * np.arange(values.shape[1]))
            return np.asarray(np.sum(np.cos(phase) * values.real - np.sin(phase) * values.imag, axis=1))
        # e^(i turn (y + y')) = e^(i turn y) e^(i turn y'): both phases err by what is charged for their sum.
        size = len(values) // len(known.error)
        within, between = (turn * (known.step * np.arange(n, dtype=float)) for n in (_BLOCK, size))
        # Not by BLAS, which starts threads for so few numbers; the error charged holds for any order of sums.
        rows = np.einsum("ij,j->i", values, _unit(within)).reshape(-1, size)
        parts = (_unit(_BLOCK * between) * rows).real
        return np.asarray(np.sum(np.add.reduceat(parts, np.arange(0, size, _BLOCK), axis=1), axis=1))

    def _alias(self, side: Chernoff, x: Array) -> Array:
        """Bound what the periods on one side add to the sum, in units of e^(log_m - (c - 1) x)."""
        period, gap = 2 * np.pi / self.step, abs(side.c - self.c)
        # In the true unit e^log_m, as the sum is: alias and sum then err together. Of large exponents 1e-9 is
        # less than what at most six roundings of each take off.
        apart = side.log_m - self.log_m
        unsure = self.log_m_error + 8 * UNIT * (abs(apart) + gap * (np.abs(x) + period))
        exponent = apart - (side.c - self.c) * x + log_kappa(side.c) + unsure
        share = np.exp(np.minimum(exponent - gap * period, 60.0)) / -np.expm1(-gap * period)
        result: Array = share * (1 + 1e-9)
        return result


def _added(powers: Powers, s: Any) -> Any:
    """Return so many times what 1, u^2 and u^4 multiply the transform of a Gaussian by."""
    result = powers[0] + powers[1] * (1 + s)
    return result + powers[2] * (3 + s * (6 + s)) if powers[2] else result


def _sizes(powers: Powers) -> Powers:
    return abs(powers[0]), abs(powers[1]), abs(powers[2])


def _unit(phase: Array) -> Complex:
    """Return e^(i phase), each part as accurate as cosine and sine."""
    result: Complex = np.cos(phase) + 1j * np.sin(phase)
    return result
