"""One vertical line Re z = c: the product of all transforms on it, and delta from it, from both sides.

    psi(x) = (1/2 pi) int e^(K(c + iy) - (c - 1 + iy) x) kernel(c + iy) dy,  K(z) = sum n_i log E_P e^(z L_i),

is delta(x) less the mass at infinity for c > 1, with kernel 1/(z (z - 1)), and 1 - delta(x) for 0 < c < 1,
with the kernel's sign changed (Zhu, Dong, Wang 2022). c is the tilt, y a frequency in 1/nats, and with
rho_i(y) = e^(K_i(c + iy) - K_i(c)) the "product" is prod (rho_i(y) e^(-iy m_i))^n_i, m_i a mean tilted loss.

Nodes are the frequencies k step that the trapezoid rule sums. It repeats e^((c - 1) x) psi(x) at the period
2 pi/step; psi is positive, so these aliases are too, and the sum over all nodes is never below the truth.
Chernoff's bound at one real point bounds the aliases, and psi where there is no line. The truncation is the
integral past the last node: there a walk over intervals of y shows how small prod |rho_i|^n_i stays, and ends
where the transforms' own tail bounds take over. Where the product does not decay, a Gaussian is added.
``off`` is the error of a value, ``slip`` that of a logarithm or a loss; a unit is 2^-53.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from tradeoff.accounting.contour.grid import Grid, make_grid, sum_on_grid
from tradeoff.accounting.engine import NODE_TERMS, Cache
from tradeoff.accounting.options import query_options
from tradeoff.accounting.saddles import (
    NODE_BYTES,
    Cumulant,
    Placement,
    epsilon_for_delta,
    log_kappa,
    tilt_for_epsilon,
)
from tradeoff.errors import SizeError, needed
from tradeoff.intervals.bounds import Array, Complex, Pair
from tradeoff.pld.components import cosine_and_sine, few_bits
from tradeoff.pld.law import LogRatio, Transform, Transformed
from tradeoff.pld.units import SUBNORMAL, TINY, UNIT

Powers = tuple[float, float, float]  # coefficients of 1, u^2 and u^4

DIGITS = 42.0  # quadratures err by e^-DIGITS, over all rounds together
_DEEP = 8.5  # frequencies, in units of 1/tau, past which e^(-tau^2 y^2/2) leaves nothing at all

# Below and above 1 - u M(u), u >= 0, with Mills' ratio M: `saddles.LEFT` is the area between them.
_POLYNOMIAL_BELOW, _POLYNOMIAL_ABOVE = (0.5, -0.157, 0.0), (1.0, -0.5, 0.077)

_BLOCK = 32  # nodes whose phases are computed; those of other blocks are theirs times one more phase
_MANY = 6 * _BLOCK  # nodes from which that pays, and is charged no more rounding
_PIECE = 2**13  # nodes computed at once: their numbers stay in a cache

# Numbers of nodes from and up to which many losses are summed on a grid: it takes the time of 80 to
# 500 losses; a curve at one alpha has 21 a line, and the evaluation of so many nodes takes longer.
_LONG = 2**15, 2**19

_SILENT = 120.0  # nodes of a long block where the product is below e^-_SILENT are skipped
_FACTORS = 64  # fewest factors worth sharing among jobs
_RAREST = 800.0  # nothing that a float holds is below e^-800


class Chernoff(NamedTuple):
    """A real tilt c and ``log_m`` >= K(c): psi(x) <= e^(log_m - (c - 1) x) kappa(c), kappa of `saddles`."""

    c: float
    log_m: float

    def psi(self, x: Array) -> Pair:
        """Bound psi(x) = delta(x) - Q(L = inf), from below by 0."""
        if self.log_m == math.inf:
            return np.zeros(len(x)), np.ones(len(x))
        terms = self.log_m, log_kappa(self.c), -(self.c - 1) * x
        # Three terms known to 8 units of themselves and 1, three sums, and an exponential of 4 units.
        size = 1 + abs(terms[0]) + abs(terms[1]) + np.abs(terms[2])
        return np.zeros(len(x)), np.exp(np.minimum(sum(terms) + 16 * UNIT * size, 0.0)) + TINY


class Sums(NamedTuple):
    """One sum, or a lower and an upper one, of ``values`` e^(i (mean - x) y) over the nodes y = k step.

    ``values`` has a row for each sum; of more than _MANY nodes, for each sum and each block of _BLOCK nodes
    that is more than rounding: ``blocks`` are their indices. Bounds for each sum: ``error`` (of the product,
    of blocks left out, and truncation), ``rounding``, of which ``of_values`` is that of the values alone, and
    ``moment`` = sum |values| y, which an error of mean - x is multiplied by.
    """

    values: Complex
    blocks: Array
    error: Array
    rounding: Array
    of_values: Array
    moment: Array


@dataclass(frozen=True, eq=False)
class ContourLine:
    """Values of the product at frequencies k step, k = 0 ... N, their errors, and bounds on the rest.

    ``place`` has the tilt c, the step and the smoothing width tau. At node k the product is within ``error``
    of e^``log``; K(c) is within ``log_m_error`` of ``log_m``, and ``mean`` (known to ``mean_error``) is sum
    n_i m_i. Past the last node |prod rho_i^n_i| is at most ``tail_bound``, or with a Gaussian of mu = tau
    added, up to _DEEP/tau, tail_bound e^(-tau^2 (y^2 - last^2)/2). ``left`` and ``right`` bound the aliases
    from either side.

    The Gaussian adds the time value int_0^tau e^(d/2 - d^2/2t^2 - t^2/8) dt/sqrt(2 pi) to the hockey-stick, d
    = L - x. Without e^(-t^2/8) that is tau e^(d/2) phi(u) (1 - u M(u)), u = |d|/tau, M Mills' ratio. So one
    polynomial in u^2 above 1 - u M(u) bounds it from above, and one below, times e^(-tau^2/8), from below.
    There 1 has the transform tau^2 e^(tau^2 (z^2 - z)/2), whose exponential the values hold; u^2 multiplies
    it by 1 + s, and u^4 by 3 + 6s + s^2, s = tau^2 (z - 1/2)^2. Taken off, these leave two functions with the
    hockey-stick between them. The upper one is positive, and so are its aliases; the lower one aliases no
    more than the hockey-stick does.
    """

    place: Placement
    log_m: float
    log_m_error: float
    mean: float
    mean_error: float
    log: Complex
    error: Array
    tail_bound: float
    left: Chernoff
    right: Chernoff
    lasting_terms: int = 0
    """Where the product stays above e^-20, as of atoms: terms summed at its last node; else 0."""

    @property
    def last(self) -> float:
        """The last frequency."""
        return self.place.step * (len(self.log) - 1)

    def truncation_exceeds(self, times: float) -> bool:
        """Whether the bound on the truncation is more than ``times`` the goal."""
        return self.tail_bound > times * self.place.goal * math.pi * self.last

    @property
    def _polynomials(self) -> tuple[tuple[Powers, float], ...]:
        """The polynomial, and its factor over tau^2, that is taken off for the lower and the upper bound."""
        both = (_POLYNOMIAL_ABOVE, math.exp(self.place.smoothing_width**2 / 8)), (_POLYNOMIAL_BELOW, 1.0)
        # A term taken off delta is added to 1 - delta.
        return both if self.place.c > 1 else both[::-1]

    @cached_property
    def _sums(self) -> Sums:
        """Sums (1/2 pi) int product kernel dy that bound psi: one for both sides without smoothing."""
        count, in_blocks = len(self.log), len(self.log) > _MANY
        step, tau = self.place.step, self.place.smoothing_width
        padded = count + (-count % _BLOCK if in_blocks else 0)
        values = np.zeros((2 if tau else 1, padded), complex)
        error, size, moment = np.zeros((3, len(values)))
        for start in range(0, count, _PIECE):
            here = slice(start, min(start + _PIECE, count))
            y = step * np.arange(here.start, here.stop, dtype=float)
            weight = np.where(y > 0, 1.0, 0.5) * (step / np.pi)
            # Where the product is nothing, only its error counts.
            product = np.where(np.isfinite(self.log[here].real), np.exp(self.log[here]), 0.0)
            for k, (kernel, parts) in enumerate(self._kernels(y)):
                values[k, here] = product * (kernel * weight)
                weighed = parts * weight
                sizes = np.abs(product) * weighed
                error[k] += np.sum(weighed * self.error[here])
                size[k] += np.sum(sizes)
                moment[k] += np.sum(sizes * y)
        # A sum of terms known to 40 units: an exponential 16, cosine and sine 16, kernel and products the
        # rest; terms of a Gaussian are known to 48 more: s to 9, polynomials to 25, factors the rest.
        # In blocks a phase is a product of two: 56 units, and 3 for a block times its phase; a block's sum
        # errs by sqrt(2) 2 32 more, that of 32 blocks by 32, and that of those by their number.
        units = 1.5 * (3 * _BLOCK + count / _BLOCK**2 + 62) if in_blocks else count + 40
        size *= UNIT * (1 + 1e-9)
        rounding = (units + (48 if tau else 0)) * size
        error, kept = error * (1 + 1e-9) + self._truncation, np.zeros(1)
        if in_blocks:
            # Products of laws that nearly have a period are nothing between its multiples.
            blocks = values.reshape(len(values), -1, _BLOCK)
            sizes = np.sum(np.abs(blocks), axis=2)
            is_kept = np.any(sizes > 2.0**-11 / sizes.shape[1] * size[:, None], axis=0)
            is_kept[0] = True  # also of a product that is nothing everywhere
            error += np.sum(sizes, axis=1, where=~is_kept) * (1 + 1e-9)
            values, kept = blocks[:, is_kept].reshape(-1, _BLOCK), np.flatnonzero(is_kept).astype(float)
        return Sums(values, kept, error, rounding, 88 * size, moment)

    @cached_property
    def _grid(self) -> Grid | None:
        """The sums at equally spaced losses, if the line is long and most of its blocks are kept."""
        sums, count = self._sums, len(self.log)
        if not (_LONG[0] <= count <= _LONG[1] and 2 * _BLOCK * len(sums.blocks) > count):
            return None
        values = np.zeros((len(sums.error), -(-count // _BLOCK), _BLOCK), complex)
        values[:, sums.blocks.astype(int)] = sums.values.reshape(len(values), -1, _BLOCK)
        grid = make_grid(values.reshape(len(values), -1))
        return grid._replace(error=grid.error + sums.of_values)

    def _kernels(self, y: Array) -> Iterator[tuple[Complex, Array]]:
        """Yield for each sum its kernel at frequencies y, and the sum of |parts| that rounding is part of."""
        c, tau = self.place.c, self.place.smoothing_width
        z, sign = (c + 1j * y).astype(complex), 1 if c > 1 else -1
        stick = 1 / (z * (z - 1) * sign)
        size = np.abs(stick)
        if not tau:
            yield stick, size
            return
        s = (tau * (z - 0.5)) ** 2
        for powers, factor in self._polynomials:
            square = factor * tau**2
            parts = size + square * _gaussian_factor(np.abs(powers), np.abs(s))
            yield stick - sign * square * _gaussian_factor(powers, s), parts

    @property
    def _truncation(self) -> Array:
        """Bound the integral past the last node for each sum: up to _DEEP/tau, and from one step before on.

        |z (z - 1)| >= y^2 leaves 1/y of the hockey-stick's kernel. With v = tau y, int_v^inf s^k e^((v^2 -
        s^2)/2) ds is at most m, v + m and v^3 + 3v + 3m for k = 0, 2, 4, m = min(1/v, sqrt(pi/2)) >= M(v).
        A sum is at most that where the integrand falls, from s^2 = k on, and else a step times its top more.
        """
        tau, step = self.place.smoothing_width, self.place.step
        if not tau:
            return np.array([self.tail_bound / (math.pi * self.last)])
        deep = max(_DEEP - tau * step, tau * self.last)
        # |s| is aside + v^2: k are the powers of v in a polynomial's factor.
        result, aside, k = np.zeros(2), (tau * (self.place.c - 0.5)) ** 2, np.array([0, 2, 4])
        for bound, v in ((self.tail_bound, tau * self.last), (math.exp(-deep * deep / 2), deep)):
            m, top = min(1 / v, math.sqrt(math.pi / 2)), np.maximum(v * v, k)
            whole = np.array([m, v + m, v**3 + 3 * v + 3 * m])
            whole += tau * step * (top > v * v) * top ** (k / 2) * np.exp((v * v - top) / 2)
            for side, (powers, factor) in enumerate(self._polynomials):
                (_, b, c), constant = np.abs(powers), _gaussian_factor(np.abs(powers), aside)
                added = factor * float(np.dot([constant, b + c * (6 + 2 * aside), c], whole))
                result[side] += bound * tau / math.pi * (1 / v + added)
        return result * (1 + 1e-9)

    def noise(self, x: float) -> float:
        """Return the error of the first sum at a loss but for truncation, relative to the sum: its noise."""
        total, off = self._sum_nodes(np.array([x]))
        return float(off[0, 0] - self._truncation[0]) / max(abs(float(total[0, 0])), TINY)

    def psi(self, x: Array, *, many: bool = False) -> Pair:
        """Bound psi at losses x from below and above: K, aliases and every error included.

        ``many`` is whether a long line may use a grid, made for the first of many losses.
        """
        total, off = self._sum_nodes(x, many=many)
        low = total[0] - off[0] - self._alias(self.left, x) - self._alias(self.right, x)
        high = total[-1] + off[-1]
        # The exponent is a difference, a product and a difference; an exponential and products cost 16.
        exponent = self.log_m - (self.place.c - 1) * x
        slack = self.log_m_error + UNIT * (16 + 8 * abs(self.log_m) + 16 * np.abs((self.place.c - 1) * x))
        # Above e^500 rounding alone is more than 1, and bounds are trivial; 1e40 keeps them finite.
        with np.errstate(invalid="ignore"):  # where an exponent has no digits
            least, most = (np.exp(np.fmin(each, 500.0)) for each in (exponent, exponent + slack))
            lower = np.maximum(low, 0.0) * least * (1 - slack) - SUBNORMAL
        return np.fmax(lower, 0.0), np.minimum(high, 1e40) * most + SUBNORMAL

    def _sum_nodes(self, x: Array, *, many: bool = False) -> tuple[Array, Array]:
        """Return each sum of ``Sums`` at losses x, real part, and its error: arrays (sums, losses)."""
        sums, grid = self._sums, self._grid if many else None
        result = np.empty((len(sums.error), len(x)))  # of each loss alone: none depends on the others
        if grid is not None:
            result = sum_on_grid(grid, (self.mean - x) * (grid.period * self.place.step / (2 * math.pi)))
        elif len(sums.values) == len(sums.error):
            count = sums.values.shape[1]
            each, y = max(1, _PIECE // count), self.place.step * np.arange(count)
            for first in range(0, len(x), each):
                some = slice(first, first + each)
                phase = np.multiply.outer(self.mean - x[some], y)
                cosine, sine = cosine_and_sine(phase)
                for total, values in zip(result, sums.values, strict=True):
                    total[some] = np.add.reduce(cosine * values.real - sine * values.imag, axis=1)
        else:
            # A node is y in its block and y' its start: e^(i pace (y + y')) = e^(i pace y) e^(i pace y').
            size = len(sums.blocks)
            y, starts = self.place.step * np.arange(_BLOCK, dtype=float), self.place.step * sums.blocks
            each = max(1, _PIECE // size)
            for first in range(0, len(x), each):
                some = slice(first, first + each)
                pace = (self.mean - x[some])[:, None]
                phases = pace * y, _BLOCK * (pace * starts)
                within, between = (c + 1j * s for c, s in map(cosine_and_sine, phases))
                for total, values in zip(result, sums.values.reshape(-1, size, _BLOCK), strict=True):
                    # Not by BLAS, whose sums depend on their number; any order of sums is charged.
                    rows = between * np.einsum("ij,kj->ki", values, within)
                    parts = np.add.reduceat(rows.real, np.arange(0, size, _BLOCK), axis=1)
                    total[some] = np.sum(parts, axis=1)
        # mean - x, which moves every phase, is known to three roundings, with y, or to six with 2 pi.
        slip = self.mean_error + (4 if grid is None else 8) * UNIT * (np.abs(x) + abs(self.mean))
        error = sums.error + (sums.rounding if grid is None else grid.error)
        return result, error[:, None] + np.outer(sums.moment, slip)

    def _alias(self, side: Chernoff, x: Array) -> Array:
        """Bound the sum over m > 0 of e^(+-(c - 1) m A) psi(x +- m A), the aliases on one side.

        With the period A = 2 pi/step and the Chernoff point c', ``side``, it is, in units of e^(log_m -
        (c - 1) x), at most e^(log_m' - log_m - (c' - c) x) kappa(c') r/(1 - r), r = e^(-|c' - c| A).
        """
        period, gap = 2 * np.pi / self.place.step, abs(side.c - self.place.c)
        # In the true unit e^log_m, as the sum is: alias and sum then err together. Of large exponents 1e-9 is
        # less than at most six roundings of each.
        apart = side.log_m - self.log_m
        unsure = self.log_m_error + 8 * UNIT * (abs(apart) + gap * (np.abs(x) + period))
        exponent = apart - (side.c - self.place.c) * x + log_kappa(side.c) + unsure
        share = np.exp(np.minimum(exponent - gap * period, 60.0)) / -np.expm1(-gap * period)
        return np.asarray(share * (1 + 1e-9))


def _gaussian_factor(powers: Powers | Array, s: Any) -> Any:
    """Return what a polynomial in u^2 multiplies a Gaussian's transform by (``ContourLine``)."""
    result = powers[0] + powers[1] * (1 + s)
    return result + powers[2] * (3 + s * (6 + s)) if powers[2] else result


class Factors:
    """Laws to transform and their counts, the factors of the product on a line, with the lines so far."""

    def __init__(self, laws: Sequence[Transformed], counts: Sequence[int]) -> None:
        self.laws, self.counts = laws, counts
        # Nodes of 180 MiB a strip, and as much for grids: a long line where atoms last, and the shorter one
        # before it. With room for one alone each would replace the other, at every question.
        self.lines = Cache[ContourLine | None](2 * (2**21 + 2**19))
        self.transforms = lru_cache(1)(self._transforms)  # one tilt is estimated, then evaluated
        self.chernoff = lru_cache(256)(self._chernoff)

    def _transforms(self, c: float) -> tuple[list[Transform], float] | None:
        """Return the transforms at a tilt, and minus the log of what atoms leave at all frequencies, or less.

        None where some density is unknown, or a quadrature is too large.
        """
        transforms, lasting = list[Transform](), 0.0
        with suppress(SizeError):
            for law, n in zip(self.laws, self.counts, strict=True):
                if (transform := law.transform(c, DIGITS + math.log(n))) is None:
                    return None
                transforms.append(transform)
                if lasting <= _RAREST:
                    lasting -= float(n * transform.bound_from(1e100))
            return transforms, lasting
        return None

    def _chernoff(self, c: float) -> Chernoff:
        """Bound K(c) from above, by infinity where a density is unknown or a quadrature is too large."""
        if c in {0.0, 1.0}:  # logs of finite masses, at most 0
            return Chernoff(c, 0.0)
        terms = list[float]()
        with suppress(SizeError):
            for law, n in zip(self.laws, self.counts, strict=True):
                if (transform := law.transform(c, DIGITS + math.log(n))) is None:
                    break
                terms.append(n * (transform.log_m + transform.log_m_error))
        if len(terms) < len(self.laws):
            return Chernoff(c, math.inf)
        # A count, a sum, a product and the sum of all: four roundings.
        return Chernoff(c, math.fsum(terms) + 4 * UNIT * math.fsum(map(abs, terms)))

    def epsilon_ceiling(self, cumulant: Cumulant, psi: float) -> float:
        """Bound the loss x with psi(x) = ``psi`` from above: Chernoff's bound at one tilt, solved for x."""
        point = self.chernoff(tilt_for_epsilon(cumulant, epsilon_for_delta(cumulant, psi)))
        terms = point.log_m, log_kappa(point.c), -math.log(psi)
        # Terms known to 8 units of themselves and 1, their sum and a quotient.
        return (math.fsum(terms) + 16 * UNIT * (1 + math.fsum(map(abs, terms)))) / (point.c - 1)

    def line(self, place: Placement) -> ContourLine | None:
        """Return the line of a placement, or None where a density is unknown or a number overflows.

        The transforms at its tilt are made first, then nodes are evaluated, and the aliases bounded.
        """
        if (kept := self.lines.get(place)) is not None:
            return kept[0]
        line, key, known, sides = None, place, None, [math.inf]
        with suppress(SizeError):  # a quadrature grew above its cap: the product decays too late
            if place.drawable and (known := self.transforms(place.c)) is not None:
                place = place._replace(step=few_bits(place.step))  # aliases are those of nodes equally apart
                log, error, tail_bound, terms = _evaluate_nodes(*known, self.counts, place)
                left, right = self.chernoff(place.left), self.chernoff(place.right)
                sides = [left.log_m, right.log_m]
        if known is not None and math.inf not in sides:
            tau = place.smoothing_width
            smoothing = tau**2 * (place.c**2 - place.c) / 2  # K of the Gaussian
            logs, errors, means = (
                [n * number for n, number in zip(self.counts, numbers, strict=True)]
                for numbers in zip(*((t.log_m, t.log_m_error, t.mean) for t in known[0]), strict=True)
            )
            sizes = [*map(abs, logs), abs(smoothing)]
            # A count is a float up to 2^53 and rounded above it; a product and an exact sum round once each.
            rounded = UNIT * (2 if max(self.counts) <= 2**53 else 4)
            line = ContourLine(
                place,
                log_m=math.fsum(logs) + smoothing,
                log_m_error=math.fsum(errors) + rounded * math.fsum(sizes[:-1]) + 4 * UNIT * math.fsum(sizes),
                mean=math.fsum(means) + tau**2 * (place.c - 0.5),
                mean_error=rounded * math.fsum(map(abs, means)) + 4 * UNIT * tau**2 * max(place.c, 0.5),
                log=log,
                error=error,
                tail_bound=tail_bound,
                left=left,
                right=right,
                lasting_terms=terms,
            )
        return self.lines.keep(key, line, 0 if line is None else len(line.log))


def log_truncation(transforms: Sequence[Transform], counts: Sequence[int], place: Placement) -> float:
    """Estimate the log of the truncation over the goal, of a line of as many nodes as it may sum."""
    nodes, spent = 64.0, 64.0 * _cost(transforms, 64.0 * place.step)
    while nodes < query_options().most(NODE_BYTES):  # as ``_evaluate_nodes`` adds blocks
        spent += nodes * _cost(transforms, 2 * nodes * place.step)
        if spent > place.most:
            break
        nodes *= 2
    last = place.step * nodes
    try:
        return bound_past(transforms, counts, last) - math.fsum(map(math.log, (place.goal, math.pi, last)))
    except SizeError:  # a quadrature grew above its cap
        return math.inf


def _evaluate_nodes(
    transforms: Sequence[Transform], lasting: float, counts: Sequence[int], place: Placement
) -> tuple[Complex, Array, float, int]:
    """Return the ``log``, ``error``, ``tail_bound`` and ``lasting_terms`` of a line.

    ``lasting`` is minus the log of a quick bound on what atoms leave at all frequencies.

    Blocks of nodes, each as long as all before, are added until the truncation is below ``place.goal``; where
    the cost allowed is spent before, or more than e^-20 of a product without smoothing never decays, the
    bounds are wider.
    """
    if lasting < _RAREST:  # a better bound
        lasting = -bound_past(transforms, counts, 1e100, _RAREST)
    tau, stop, gaussian_end = place.smoothing_width, math.inf, math.inf
    if tau:
        # Where the product is at most e^-lasting, the integral past y = depth/tau is at most
        # tau e^(-lasting - depth^2/2); from ``gaussian_end`` on the Gaussian is nothing.
        depth = math.sqrt(2 * max(math.log(tau / place.goal) - lasting, 2.0))
        stop, gaussian_end = min(depth, _DEEP) / tau, _DEEP / tau
    jobs = query_options().jobs
    sums = _sum_logs if jobs == 1 or len(transforms) < _FACTORS else partial(_run_jobs, jobs)
    log, error, size, spent, blocked = [], [], 0, 0.0, 0.0
    while True:
        end = max(2 * size, 64)
        if end * place.step > stop:
            end = max(math.ceil(stop / place.step) + 1, size + 1)
        block: Array = place.step * np.arange(size, end, dtype=float)
        values, slip, ceiling = sums(transforms, counts, block)
        absent = ceiling <= -_SILENT  # later factors were skipped there
        # The truth is in the unit disc: moving there brings the value no farther from it.
        values.real = np.where(absent, -np.inf, np.minimum(values.real, 0.0))
        modulus, near = np.exp(values.real), (slip < 0.5) & ~absent
        off = np.where(near, modulus * np.expm1(np.where(near, slip, 0.0)), np.exp(ceiling) + modulus)
        smooth = (tau * block) ** 2 / 2
        log.append(values - smooth)
        # Three roundings of a square, and twice that of its node, move both; the exponential and the products
        # are of the line's own 32 units.
        moved = 6 * UNIT * smooth * (off + np.exp(values.real))
        error.append((off + moved) * np.exp(-smooth) * (1 + 16 * UNIT))
        size, last = size + len(block), float(block[-1])
        spent += len(block) * _cost(transforms, last)
        level = -math.fsum(map(math.log, (place.goal, math.pi, last)))  # |product| < e^-level meets the goal
        # Where a walk has failed the product is too large: the next one starts there, or four times as far;
        # where it went through, ``blocked`` is infinite and the goal is met.
        if blocked <= last < stop and lasting > level and ceiling[-1] < -1.1 * level:
            reached = stays_below(transforms, counts, level, last, gaussian_end, place.most)
            blocked = reached if reached == math.inf else min(reached, 4 * last)
        if blocked == math.inf:
            bound = -level
        elif (
            last >= stop
            or (lasting < 20.0 and not tau)
            or size >= query_options().most(NODE_BYTES)
            or spent + min(size, stop / place.step + 1 - size) * _cost(transforms, 2 * last) > place.most
        ):
            bound = bound_past(transforms, counts, last)
        else:
            continue
        tail_bound = math.exp(bound - (tau * last) ** 2 / 2) * (1 + 1e-9)
        terms = int(min(_cost(transforms, last), place.most)) if lasting < 20.0 else 0
        return np.concatenate(log), np.concatenate(error), tail_bound, terms


def _cost(transforms: Sequence[Transform], y: float) -> float:
    """Return the terms of the product at one node y: infinitely many if a quadrature grows above its cap."""
    try:
        return max(NODE_TERMS, sum(t.cost(y) for t in transforms))
    except SizeError:
        return math.inf


def _sum_logs(
    transforms: Sequence[Transform], counts: Sequence[int], y: Array, terms: int | None = None
) -> LogRatio:
    """Return log of the product at nodes y, its error, and a ceiling >= log |product|.

    Later factors skip nodes where the ceiling is so low that nothing is left. A count and its product cost
    two units of a term, and each of the ``terms`` (factors) summed in all, other jobs' included, one of all
    sizes.
    """
    if len(y) > _PIECE:
        parts = [_sum_logs(transforms, counts, y[k : k + _PIECE], terms) for k in range(0, len(y), _PIECE)]
        return LogRatio(*map(np.concatenate, zip(*parts, strict=True)))
    log, slip, ceiling = np.zeros(len(y), complex), np.zeros(len(y)), np.zeros(len(y))
    alive, units = np.arange(len(y)), (2 + (terms or len(transforms))) * UNIT
    for factor, n in zip(transforms, counts, strict=True):
        sparse = len(alive) < len(y) / 8
        ratio = factor.ratio(y[alive] if sparse else y, even=not sparse)
        if not sparse:
            ratio = LogRatio(ratio.log[alive], ratio.error[alive], ratio.ceiling[alive])
        size = np.abs(np.where(np.isfinite(ratio.error), ratio.log, 0.0))
        log[alive] += n * ratio.log.real + 1j * (n * ratio.log.imag)  # n times a complex -inf would be NaN
        slip[alive] += n * (ratio.error + units * size)
        ceiling[alive] += n * ratio.ceiling
        if len(transforms) > 1:
            alive = alive[ceiling[alive] > -_SILENT]
            if not len(alive):
                break
    return LogRatio(log, slip, ceiling)


def _run_jobs(jobs: int | None, transforms: Sequence[Transform], counts: Sequence[int], y: Array) -> LogRatio:
    """Return ``_sum_logs``, the factors split among parallel jobs; bounds allow for any order of sums."""
    joblib = needed("joblib", 'n_jobs other than 1 needs joblib: pip install "tradeoff[parallel]"')
    each = _FACTORS // 2
    starts = range(0, len(transforms), each)
    parts = [(transforms[i : i + each], counts[i : i + each], y, len(transforms)) for i in starts]
    done: list[LogRatio] = joblib.Parallel(n_jobs=jobs)(joblib.delayed(_sum_logs)(*part) for part in parts)
    return LogRatio(*(sum(column) for column in zip(*done, strict=True)))


def stays_below(
    transforms: Sequence[Transform],
    counts: Sequence[int],
    level: float,
    start: float,
    stop: float,
    most: float,
) -> float:
    """Walk from ``start`` up to a frequency until which sum n_i log|rho_i(y)| < -level; inf if for good.

    One evaluation at y bounds every |rho_i| on [y - s, y + s], and clears it where the bounds' sum n_i log is
    below -level. Any subset of the factors gives a bound, since no term is positive. Past ``stop`` nothing
    need be shown; after ``most`` terms the walk stops where it is.
    """
    try:
        few, powers = transforms, np.array(counts, dtype=float)
        if len(few) > 1:  # those that are smallest at the start, as many as multiply to e^(-3 level)
            strength = -powers * np.array([float(t.ratio(np.array([start])).ceiling[0]) for t in few])
            chosen = np.argsort(strength)[::-1]
            chosen = chosen[: int(np.searchsorted(np.cumsum(strength[chosen]), 3 * level)) + 1]
            few, powers = [transforms[i] for i in chosen.tolist()], powers[chosen]
        # All is cleared up to ``at``. ``ahead`` intervals of half-width ``step`` are tried at once: four, or
        # eight of few terms, as NumPy's overhead is that of so many, and more when the step no longer grows:
        # equal steps, exact in floats, share their sines.
        ahead = 4 if sum(t.cost(start) for t in few) > 1000 else 8
        step = few_bits(start / (2 * ahead))
        at, spent, failed, tried = step * math.floor(start / step), 0.0, False, 0
        while tried < 3200:  # steps double where they succeed, and so pass any frequency that matters
            # Before 48 intervals, when the best tail bound is computed, most walks have ended.
            if at >= stop or bound_past(few, powers, at, level, cheap=tried < 48) < -level:
                return np.inf
            middle: Array = at + step * np.arange(1, 2 * ahead, 2, dtype=float)
            cleared = powers @ np.array([t.around(middle, step * (1 + 1e-9)) for t in few]) < -level
            run = ahead if cleared.all() else int(np.argmin(cleared))
            at += 2 * step * run
            grown = run == ahead and not failed  # just after halving twice the step would fail again
            spent, tried = spent + ahead * sum(t.cost(at) for t in few), tried + ahead
            more, failed = run == ahead and failed, run <= ahead // 2
            ahead = min(2 * ahead, 128) if more else ahead
            step *= 2.0 if grown else 0.5 if failed else 1.0
            if step < 1e-4 * start or spent > most:  # the product has grown again
                break
    except SizeError:  # a quadrature grew too large before the walk ended
        return start
    return max(at, start)


def bound_past(
    transforms: Sequence[Transform],
    powers: Iterable[float],
    y: float,
    enough: float = math.inf,
    *,
    cheap: bool = False,
) -> float:
    """Bound sum n_i log|rho_i| at all frequencies from y on, by as many factors as reach -enough."""
    result = 0.0
    for t, n in zip(transforms, powers, strict=True):
        result += float(n * (t.bound_from(y) if cheap else t.far(y)))
        if result < -enough:
            break
    return result
