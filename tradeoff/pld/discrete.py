"""Laws of the loss L = log dQ/dP made of point masses, as logarithms: a million rounds do not underflow.

Also those between integer noises and their shifts (discrete normal laws, sums of coins, Skellam noise), of
their products, and of the greatest *profile* delta(eps) of several laws. Products on one lattice and greatest
profiles are sums of positive terms in extended precision (long double); without that there are no such laws.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from tradeoff import balls
from tradeoff.errors import DomainError, SizeError
from tradeoff.intervals.bounds import Array, Complex, Index
from tradeoff.pld.law import (
    Atoms,
    Cells,
    Ends,
    LogRatio,
    PlanningPoints,
    PrivacyLossDistribution,
    Transform,
    combine_masses_at_infinity,
    complex_log1p,
    in_order,
)
from tradeoff.pld.special import log_pmf
from tradeoff.pld.units import TINY, UNIT

MAX_ATOMS = 4_000_000  # most atoms of one law
LOST = 1e-300  # bound on the mass of atoms that are left out; e^-750 and less in truth
EVERYWHERE = -math.inf, math.inf  # ``outside`` of laws whose far tails were left out


@dataclass(frozen=True, eq=False)
class AtomicLaw(PrivacyLossDistribution):
    """Finitely many losses, increasing, and log P-masses; masses are known to 1 +- ``slack``.

    ``lost`` bounds the mass of losses left out, under P and Q, which are inside ``outside`` (low, high) if
    given.

    ``position`` bounds the error of every loss; by default it is 8 units of the loss and 16 of the square of
    a unit: the cost of the logarithm of a ratio of masses that are differences of floats
    (``pld.units.log_ratio``). ``fractions`` returns all masses under P and under Q, those at
    infinite losses too, where they are known, for certificates.
    """

    loss: Array
    log_p: Array
    mass_at_minus_infinity: float = 0.0
    mass_at_plus_infinity: float = 0.0
    slack: Array | None = None
    lost: float = 0.0
    position: float | None = None
    fractions: Callable[[], tuple[tuple[Fraction, ...], ...] | None] | None = None
    symmetric: bool = False
    outside: tuple[float, float] | None = None

    continuous = False

    @cached_property
    def atoms(self) -> Atoms:
        # By default log_p is a logarithm of a few operations, to a unit of itself.
        slack = (8 + 2 * np.abs(self.log_p)) * UNIT if self.slack is None else self.slack
        error = UNIT * (8 * np.abs(self.loss) + 16 * UNIT)
        error = error if self.position is None else np.full(len(self.loss), self.position)
        return Atoms(self.loss, self.log_p, slack, error)

    @cached_property
    def ends(self) -> Ends:
        both = (each[[0, -1]].tolist() if len(self.loss) else (0.0, 0.0) for each in self.atoms)
        (low, high), _, _, (low_error, high_error) = both
        least, most = self.outside or (low, high)  # of atoms left out
        return Ends(min(low - low_error, least), low, high, max(high + high_error, most))

    def sketch(self) -> PlanningPoints:
        run = -(-len(self.loss) // 2**17)  # atoms of one point: 2^17 points are enough to plan with
        if run <= 1:
            return PlanningPoints(self.loss, self.log_p)
        starts = np.arange(0, len(self.loss), run)
        log_p = np.logaddexp.reduceat(self.log_p, starts)
        share = np.exp(self.log_p - np.repeat(log_p, np.diff(np.append(starts, len(self.loss)))))
        return PlanningPoints(np.add.reduceat(share * self.loss, starts), log_p)

    def _cells(self, edges: Array) -> Cells:
        zero = np.zeros(len(edges) - 1)  # all mass is in atoms
        return Cells(zero, zero, zero)


def leaking(law: AtomicLaw, delta: float, kept: float | None = None) -> AtomicLaw:
    """Return the law of f_{0,delta} (x) f for f of ``law``: masses shrink by 1 - delta, the rest is at +-inf.

    ``kept`` is log(1 - delta), to 8 units of itself, where it is known better than by delta: a delta known to
    4 units leaves 1 - delta known to 4 delta/(1 - delta), its logarithm to 2 more; a sum costs one.
    """
    low, high = law.mass_at_minus_infinity, law.mass_at_plus_infinity
    low, high = (combine_masses_at_infinity([mass, delta], [1, 1]) for mass in (low, high))
    log_kept = math.log1p(-delta) if kept is None else kept
    off = 8 * delta * math.exp(-log_kept) if kept is None else 8 * abs(log_kept)
    log_p = law.log_p + log_kept
    slack = law.atoms.slack + UNIT * (8 + off + np.abs(log_p))
    return AtomicLaw(law.loss, log_p, low, high, slack, law.lost, law.position, outside=law.outside)


@dataclass(frozen=True, eq=False)
class BinomialLaw(AtomicLaw):
    """n rounds of f_{epsilon,0}, written out as the atoms of their product."""

    epsilon: float = 0.0
    n: int = 1

    def single_rounds(self, count: int) -> tuple[PrivacyLossDistribution, int]:
        return (self, count) if self.n == 1 else (binomial_law(self.epsilon, 1), count * self.n)


def too_many(name: str, count: float) -> SizeError:
    """Return the error of a law with ``count`` atoms, more than the cap."""
    return SizeError(
        f"{name} has {count:.3g} atoms, above the cap of {MAX_ATOMS}; "
        "bound it by its rho, with to.conversions.from_zcdp, or ask about fewer rounds"
    )


def binomial_law(epsilon: float, n: int) -> BinomialLaw:
    """Return n rounds of f_{epsilon,0}: losses (2k - n) epsilon, k ~ Bin(n, 1/(1 + e^epsilon)) (KOV)."""
    reach = 45 * math.sqrt(n) + 800  # Hoeffding: less than e^-4000 lies outside, under P and under Q
    low = max(0, int(n * expit(-epsilon) - reach))
    high = min(n, int(np.ceil(n * expit(epsilon) + reach)))
    if high - low >= MAX_ATOMS:
        raise too_many(f"the {n}-fold product of f_({epsilon:.6g},0)", high - low + 1.0)
    k = np.arange(low, high + 1, dtype=float)
    log_p, slack = log_pmf(k, n, epsilon)
    lost = 0.0 if (low, high) == (0, n) else LOST
    loss, most = (2 * k - n) * epsilon, n * epsilon * (1 + 16 * UNIT) + TINY
    ends = -most, most
    return BinomialLaw(loss, log_p, 0.0, 0.0, slack, lost, symmetric=True, outside=ends, epsilon=epsilon, n=n)


def merged(loss: Array, log_p: Array, slack: Array) -> tuple[Array, Array, Array]:
    """Sort atoms, and add the masses of equal losses."""
    loss, log_p, slack = in_order([(loss, log_p, slack)])
    starts = np.flatnonzero(np.append(True, np.diff(loss) > 0))
    top = np.maximum.reduceat(log_p, starts)
    share = np.exp((log_p - np.repeat(top, np.diff(np.append(starts, len(loss))))).astype(np.longdouble))
    mass = np.add.reduceat(share, starts)
    total = top + np.log(mass).astype(float)
    off = (np.add.reduceat(share * slack, starts) / mass).astype(float)
    return loss[starts], total, off + UNIT * (8 + 2 * np.abs(total))


@dataclass(frozen=True, eq=False)
class DiscreteGaussianLaw(AtomicLaw):
    """x on the integers against x + shift, pmf proportional to e^(-x^2/2 sigma^2)."""

    sigma: float = 1.0
    shift: int = 1

    outside: tuple[float, float] | None = EVERYWHERE

    def sketch(self) -> PlanningPoints:
        """Return every k-th atom, with the mass of k, k <= sigma/2.

        By Poisson summation all tilted sums change by e^-(2 pi^2 sigma^2/k^2) <= e^-78, relative.
        """
        k = max(int(self.sigma / 2), 1)
        return PlanningPoints(self.loss[::k], self.log_p[::k] + math.log(k))

    def transform(self, c: float, digits: float) -> Transform | None:
        if self.sigma < 1.0:  # narrower laws are few atoms, and their sums over frequencies long
            return super().transform(c, digits)
        return DiscreteGaussianTransform(self.sigma, self.shift, c)


def discrete_gaussian_law(sigma: float, shift: int) -> DiscreteGaussianLaw:
    """Return the law of L = (2 s x - s^2)/(2 sigma^2), x on the integers with pmf e^(-x^2/2 sigma^2)."""
    reach = np.ceil(40.0 * sigma) + 2  # deviations past which atoms are left out: less than e^-799 of mass
    if 2 * reach + shift >= MAX_ATOMS:
        raise too_many(f"the discrete Gaussian with sigma = {sigma:.6g}", 2 * reach + shift)
    if not sigma * sigma * sys.float_info.max > (reach + shift) ** 2:
        raise DomainError(
            f"sigma = {sigma:.6g} is so small that one step of the discrete Gaussian shifted by {shift} "
            "has losses that overflow floats; use TotalVariation(1), which bounds every curve from below"
        )
    x = np.arange(-reach, shift + reach + 1)
    half = np.exp(-((np.arange(reach, 0, -1) / sigma) ** 2) / 2)
    log_p = -((x / sigma) ** 2) / 2 - np.log1p(2 * np.sum(half))
    # A square of a quotient and a difference cost 4 units of the logarithms; the sum of masses, each known to
    # 8 units and 3 of an exponent that is below 0.4 with its mass, adds up pairwise, and has a logarithm of
    # at most 12, to 8 units.
    slack = (160 + 8 * np.abs(log_p)) * UNIT
    loss = (x - shift / 2) * (shift / sigma**2)
    return DiscreteGaussianLaw(loss, log_p, slack=slack, lost=LOST, symmetric=True, sigma=sigma, shift=shift)


class DiscreteGaussianTransform(Transform):
    """The transform of the discrete Gaussian shifted by s, with sigma >= 1, by Poisson summation.

    Tilted by c its mass at x is proportional to e^(-(x - x0)^2/2 sigma^2), x0 = c s, and at the frequency t =
    y s/sigma^2 of x the sum over all integers is sum_j e^(-2 pi i j x0 - sigma^2 (2 pi j - t)^2/2) up to a
    constant.
    """

    def __init__(self, sigma: float, shift: int, c: float) -> None:
        # x0 of the class is ``centre``, t = y ``pace``; ``base`` and ``rest`` are sums over j != 0, with
        # cos(2 pi j x0) and without, at t = 0 over the term j = 0.
        self.sigma, self.shift, self.pace, self.centre = sigma, shift, shift / sigma**2, c * shift
        # Frequencies 2 pi j next to the nearest: each adds at most e^(-4 pi^2 sigma^2) of the one before it,
        # less than a unit for |j| = 3, and 1e-68 for |j| = 2 from sigma = 2 on.
        self.terms = np.array([-1, 1] if sigma >= 2.0 else [-2, -1, 1, 2])
        decay = np.exp(-2 * (np.pi * sigma * self.terms) ** 2)
        phase = 2 * np.pi * (self.centre - round(self.centre)) * self.terms
        self.base, self.rest = float(np.sum(np.cos(phase) * decay)), float(np.sum(decay))
        drift = shift * self.pace * (c * c - c) / 2
        self.log_m = drift + math.log1p(self.base) - math.log1p(self.rest)
        # The drift is six operations on terms that may cancel; the sums, below 1e-8, have phases known to 13
        # units of the centre.
        size = shift * self.pace * (c * c + abs(c))
        self.log_m_error = UNIT * (8 * size + 1024 * (1 + abs(self.centre)) * self.rest)
        self.mean = (self.centre - shift / 2) * self.pace

    def _reduced(self, y: Array) -> tuple[Array, Array, Array]:
        """Return cycles, rest and its error of t = 2 pi cycles + rest, |rest| <= pi."""
        t = y * self.pace
        cycles = np.round(t / (2 * np.pi))
        return cycles, t - 2 * np.pi * cycles, 8 * UNIT * (np.abs(t) + 2)  # three operations and two, and pi

    def _exponent(self, rest: Array) -> Array:
        """Return the logarithms of the other frequencies' terms over that of the nearest one."""
        result: Array = 2 * np.pi * np.multiply.outer(rest, self.terms) - 2 * (np.pi * self.terms) ** 2
        return self.sigma**2 * result

    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        cycles, rest, slip = self._reduced(y)
        fraction = self.centre - round(self.centre)
        exponent = self._exponent(rest)
        others = np.sum(np.exp(exponent) * np.exp(-2j * np.pi * fraction * self.terms), axis=1)
        # Exponents move by 2 pi j sigma^2 slip, which is more than their own rounding where they count;
        # phases by 13 units of the centre, and a sum of four exponentials by less than 256.
        off = np.exp(np.max(exponent, axis=1))
        off *= 4 * np.pi * self.sigma**2 * slip + UNIT * 256 * (1 + abs(self.centre))
        bell = -((self.sigma * rest) ** 2) / 2
        tilt = self.sigma**2 * np.abs(rest) * slip
        tilt += 8 * UNIT * (np.abs(bell) + self.rest * 16 * (1 + abs(self.centre)))
        tail = complex_log1p(others, off)
        log: Complex = tail.log + (bell - math.log1p(self.base)) - 2j * np.pi * fraction * cycles
        # The centre is a float too, of rounded terms: its error moves every phase.
        moved = 8 * UNIT * y * self.pace * (1 + abs(self.centre) + self.shift)
        error = tail.error + tilt + moved + 8 * UNIT * np.abs(cycles) * (1 + abs(self.centre))
        height = np.log(np.abs(1 + others) + off + 8 * UNIT)
        ceiling = bell + tilt + height + 8 * UNIT * np.abs(height) - math.log1p(self.base)
        return LogRatio(log, error, np.minimum(ceiling, 0.0))

    def around(self, y: Array, radius: float) -> Array:
        # |rho| is at most the sum of the moduli of its terms, which falls as t leaves a multiple of 2 pi.
        _, rest, slip = self._reduced(y)
        distance = np.maximum(np.abs(rest) - radius * self.pace * (1 + 4 * UNIT) - slip, 0.0)
        bell = -((self.sigma * distance) ** 2) / 2
        others = np.log1p(np.sum(np.exp(self._exponent(distance)), axis=1))
        bound: Array = bell + others - math.log1p(self.base)
        # Near pi, where other terms count, exponents err by 350 units of sigma^2; the bell is 4.9 of it.
        return np.minimum(bound * (1 - 128 * UNIT) + 32 * UNIT, 0.0)

    def far(self, y: float) -> float:
        return 0.0  # the law is periodic in y


@lru_cache(maxsize=128)  # every question of a plan needs all its laws; each has at most 2 MiB
def skellam_law(variance: float, shift: int) -> AtomicLaw:
    """Return the law of log p(x - shift)/p(x), p(x) = e^-v I_|x|(v) with v the variance (Skellam noise).

    P(x > r) is at most e^-(r asinh(r/v) - (sqrt(r^2 + v^2) - v)) (Chernoff), and I_(k-1) = I_(k+1) + 2 k/v
    I_k: sums of positive terms in balls.
    """
    low, reach = 0, 2**60
    while reach - low > 1:
        r = (low + reach) // 2
        # sqrt(r^2 + v^2) - v without cancellation; the bound has a margin of 2^-40 of itself.
        bound = r * math.asinh(r / variance) - r * (r / (math.hypot(r, variance) + variance))
        # Atoms past the least r with less than e^-760 outside are left out: no float holds that.
        low, reach = (low, r) if bound > 760.0 * (1 + 2**-40) else (r, reach)
    # Most atoms: some seconds, as every one is computed in balls.
    if 2 * reach + shift > 2**17:
        raise too_many(f"Skellam noise of variance {variance:.6g}, shifted by {shift},", 2.0 * reach + shift)
    v, top = balls.to_ball(variance), reach + shift
    after, here = (v.bessel_i(k, scaled=True) for k in (top + 1, top))
    log_p = [here.log()]  # of x = top down to 0
    for k in range(top, 0, -1):
        after, here = here, after + 2 * k / v * here
        log_p.append(here.log())
    x = range(-reach, top + 1)
    loss = [float((log_p[top - abs(k - shift)] - log_p[top - abs(k)]).mid()) for k in x]
    mass = [float(log_p[top - abs(k)].mid()) for k in x]
    return AtomicLaw(np.array(loss), np.array(mass), lost=LOST, symmetric=True, outside=EVERYWHERE)


def binomial_noise_law(coins: int, shift: int) -> AtomicLaw:
    """Return the law of log p(x - shift)/p(x), p(x) = C(n, x)/2^n with n the coins, 0 < shift <= n."""
    if coins * shift > 2**20:  # most coins of binomial noise, and of coins times shift: a second
        raise too_many(f"noise of {coins} coins, shifted by {shift},", float(coins) * shift)
    x = np.arange(shift, coins + 1, dtype=float)
    log_p, slack = log_pmf(x, coins, 0.0)
    # C(n, x - s)/C(n, x) is the product over i < s of (x - i)/(n - x + i + 1).
    above = np.subtract.outer(x, np.arange(shift))
    below = coins + 1 - above
    # A quotient within half of 1 loses 1.5 units of its logarithm, others 2.5; a logarithm 8, and a
    # pairwise sum of up to 2^20 terms 32 of the sum of sizes.
    near = 2 * np.abs(above - below) <= below
    terms = np.where(near, np.log1p((above - below) / below * near), np.log(above / below))
    position = 64 * UNIT * float(np.max(np.sum(np.abs(terms), axis=1)))
    term = total = balls.to_ball(2) ** -coins  # P(x < shift) for the sum of fair coins
    for k in range(shift - 1):
        term = term * (coins - k) / (k + 1)
        total += term
    tail = max(float(total.mid()), TINY)  # below all floats for many coins
    loss = np.sum(terms, axis=1)
    return AtomicLaw(loss, log_p, tail, tail, slack, position=position, symmetric=True)


_MOST_POINTS = 2**15  # of a lattice: a second
_SAME = 1e-6  # share of a gap between losses within which two of them are one
_EXTENDED = np.finfo(np.longdouble)
# Whether long doubles are wider than floats.
_WIDE = _EXTENDED.minexp < -16000 and float(_EXTENDED.eps) < UNIT / 256


def product_on_lattice(laws: Sequence[PrivacyLossDistribution], counts: Sequence[int]) -> AtomicLaw | None:
    """Return the law of a product of laws whose atoms lie on one lattice, if they are few, or None.

    Masses p e^(L/2) are convolved, in long doubles, of which none is too small. Mass below e^-750 is left
    out. The relative error of p is at most a + b |log p|, b (``slope``) the largest of all laws. A mass m is
    a sum of at most N products of p. The error of a product is the sum of all a (``fixed``) and b times the
    |log| of the product, whose mean, weighted by the products, is at most |log m| + log N, as the entropy of
    N weights is at most log N. Where sums of losses and their point of the lattice, start + gap k, are up to
    r (``apart``) from each other, p e^(L/2) e^(-point/2) is up to e^(r/2) p.
    """
    gaps = [np.min(np.diff(law.atoms.loss), initial=np.inf) for law in laws]
    infinite = any(law.mass_at_minus_infinity or law.mass_at_plus_infinity for law in laws)
    atomic = not any(law.continuous for law in laws) and 0 < min(gaps) <= max(gaps) < np.inf
    if infinite or not (_WIDE and atomic):
        return None
    finest = laws[int(np.argmin(gaps))].atoms.loss
    gap = np.ptp(finest) / np.rint(np.ptp(finest) / min(gaps))
    size = sum(n * float(np.ptp(law.atoms.loss)) for law, n in zip(laws, counts, strict=True)) / gap
    if not (size < _MOST_POINTS and sum(counts) <= 64):
        return None
    ends = [sum(n * float(law.atoms.loss[k]) for law, n in zip(laws, counts, strict=True)) for k in (0, -1)]
    if (deepest := 780 + max(map(abs, ends)) / 2) > 11000:  # where masses are below long doubles
        return None
    start, position, mass = 0.0, 0.0, np.ones(1, np.longdouble)
    fixed, slope = 0.0, 0.0
    log_terms = -math.log(max(len(law.atoms.loss) for law in laws))  # all terms but one decide the last
    largest = sum(n * float(np.max(np.abs(law.atoms.loss))) for law, n in zip(laws, counts, strict=True))
    # A product and a sum of at most all losses cost two units, three where there are twice as many.
    apart = (4 + 2 * len(laws)) * UNIT * largest
    for law, n in zip(laws, counts, strict=True):
        loss, log_p, slack, error = law.atoms
        at = np.rint((loss - loss[0]) / gap).astype(np.int64)
        off = float(np.max(np.abs(loss - (loss[0] + gap * at))))
        if off > _SAME * gap:
            return None
        start += n * loss[0]
        apart += n * (off + 4 * UNIT * float(np.max(np.abs(loss))))
        position += n * float(np.max(error))
        usual = float(np.max(slack[log_p >= -1], initial=np.min(slack)))
        slope = max(slope, float(np.max((slack - usual) / np.maximum(-log_p, 1))))
        fixed, log_terms = fixed + n * usual, log_terms + n * math.log(len(loss))
        each = np.zeros(at[-1] + 1, np.longdouble)
        each[at] = np.exp(log_p.astype(np.longdouble) + loss.astype(np.longdouble) / 2)
        for _ in range(n):
            mass = np.convolve(mass, each)
            # The rest is below e^-750 under P and Q.
            seen = np.flatnonzero(mass > np.exp(-np.longdouble(deepest)))
            inside = slice(seen[0], seen[-1] + 1)
            start, mass = start + gap * seen[0], mass[inside]
            apart += 3 * UNIT * largest * (seen[0] > 0)
    seen = np.flatnonzero(mass)
    loss = start + gap * seen
    log_p = (np.log(mass[seen]) - loss / 2).astype(float)
    rounding = float(4 * len(mass) * sum(counts) * _EXTENDED.eps)
    rounding = rounding + UNIT * (8 + 1.01 * np.abs(log_p) + np.abs(loss))  # of a long double to a float
    slack = fixed + slope * (log_terms + np.abs(log_p))
    if float(np.max(slack)) > 1e-6:  # of errors of second order
        return None
    slack = slack * (1 + 1e-6) + rounding + 0.51 * apart
    return AtomicLaw(loss, log_p, slack=slack, position=position + apart)


def _profiles(laws: Sequence[AtomicLaw], places: Sequence[Index], loss: Array) -> tuple[Any, Any, Any, Any]:
    """Return P-masses of laws at losses, widths in s = e^eps, and the profiles D and D - (1 - s) at losses.

    ``places`` are the indices in ``loss`` of each law's atoms; rows are laws.
    """
    mass = np.zeros((len(laws), len(loss)), np.longdouble)
    for row, law, at in zip(mass, laws, places, strict=True):
        np.add.at(row, at, np.exp(law.log_p.astype(np.longdouble)))
    # D_k = D_(k+1) + (s_(k+1) - s_k) P(L > s_k), and D - (1 - s) from the left: positive terms.
    width = np.diff(np.exp(loss.astype(np.longdouble)))
    rising, falling = np.cumsum(mass, axis=1), np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]
    above = np.pad(np.cumsum((width * falling[:, 1:])[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    return mass, width, above, np.pad(np.cumsum(width * rising[:, :-1], axis=1), ((0, 0), (1, 0)))


def law_of_greatest_profile(laws: Sequence[AtomicLaw]) -> AtomicLaw | None:
    """Return the law of the greatest profile D(s) of laws, s = e^eps, or None where it is not known well.

    Between the losses of all atoms profiles are lines in s. The law's own profile R is at each loss one of
    them, up to r of itself below the greatest; D - (1 - s) takes the place of D for s < 1. Masses that are
    known to a share of themselves leave both D known to it, and so the greatest: it is part of r.

    In a cell of width w where the profile changes, be A and B by how much the old line is above the new one
    at the start, and the new one above the old one at the stop. The chord, above both, has the mass B/w more
    at the start and A/w at the stop. Where it is above them by more than 1e-9 of D, R has a corner at a share
    t of the cell instead, on the old line or the new one. With values rounded by e, and t = A/(A + B) of
    those, the two lines differ there by at most 4 e, and so R misses the greater of them by that at most, and
    a third line, which is below R at the ends of the cell, by no more than at the corner. On the old
    line the corner has the mass B/((1 - t) w), and the stop (A - (A + B) t)/((1 - t) w) more than the new
    law: (A + B)/w and nothing to 4 e/((1 - t) w). On the new line the start has as much more than the old
    law, with t for 1 - t. The line is taken that moves the mass of a node by the smaller share.

    With k = 1 - r and the masses of R, those of Q become k q + (1 - k) p where q > p, and those of P become
    k p + (1 - k) q where q < p: that has the profile k D at (s - 1 + k)/k >= s, and likewise below 1. Both
    lose the same mass, at most r, and are divided by the rest. So laws below and, with k = 1 + r, above the
    greatest profile have masses and losses within 3 r of those of R. The mass that laws lack, below e^-750
    each, is less than the rounding of any delta.
    """
    least = min(float(np.min(np.diff(law.loss), initial=np.inf)) for law in laws)
    every = np.unique(np.concatenate([law.loss for law in laws]))
    # Losses up to which masses are floats.
    if not _WIDE or len(every) > _MOST_POINTS or not least > 0 or np.max(np.abs(every)) > 1000.0:
        return None
    first = np.append(True, np.diff(every) > _SAME * least)
    loss, owner = every[first], np.cumsum(first) - 1
    apart, known = float(np.max(every - loss[owner])), max(float(np.max(law.atoms.error)) for law in laws)
    if apart > 2 * known:  # losses that differ, of which one alone would lose what is next to nothing
        return None
    places = [owner[np.searchsorted(every, law.loss)] for law in laws]
    mass, width, above, below = _profiles(laws, places, loss)
    # Of sums of as many terms, and of differences of neighbouring e^eps.
    rounding = float((8 * len(loss) + 4 / np.min(np.diff(loss))) * _EXTENDED.eps)
    slack = max(float(np.max(law.atoms.slack)) for law in laws) + rounding
    # ``best`` is the law of the greatest profile at each loss; up to 4 slack below it the one before stays.
    value = np.where(loss >= 0, above, below)
    best, top = np.argmax(value, axis=0), np.max(value, axis=0)
    for i in range(1, len(best)):
        best[i] = best[i - 1] if top[i] <= value[best[i - 1], i] * (1 + 4 * slack) else best[i]
    for i in range(len(best) - 2, -1, -1):  # back to the first loss at which the next one is no less
        best[i] = best[i + 1] if value[best[i + 1], i] >= value[best[i], i] else best[i]
    # Cells [k, k + 1] where another profile becomes the greatest: A (``ahead``) and B (``behind``), t
    # (``share``), the value where old and new cross, and how much of it the chord is above both there
    # (``excess``).
    k = np.flatnonzero(best[1:] != best[:-1])
    at_start, at_stop = (np.where(loss[k + 1] > 0, above[:, at], below[:, at]) for at in (k, k + 1))
    old, new, cells = best[k], best[k + 1], np.arange(len(k))
    start, stop = at_start[old, cells], at_stop[old, cells]
    ahead, behind = np.maximum([start - at_start[new, cells], at_stop[new, cells] - stop], 0.0)
    share = ahead / np.maximum(ahead + behind, _EXTENDED.tiny)
    crossing = np.maximum(start + share * (stop - start), _EXTENDED.tiny)
    # By how much a third profile is above both there; a chord is above all.
    third = np.max(at_start + share * (at_stop - at_start), axis=0, initial=0.0) - crossing
    # In the cell about s = 1 both D and D - (1 - s) count, and D is known to its slack.
    about_1 = (loss[k] < 0) & (loss[k + 1] > 0)
    unsure = np.where(about_1, rounding + slack, rounding) * np.maximum(start, stop + behind)
    crossing = np.minimum(crossing, np.where(about_1, below[old, k], np.inf))
    excess = share * behind / crossing
    bent = excess > 1e-9
    # Share of itself by which the law may miss the greatest profile.
    misses = np.where(bent, (4 * unsure + np.maximum(third, 0.0)) / crossing, excess)
    r = 6 * slack + float(np.max(misses, initial=0.0))
    if r > 1e-9:
        return None
    p, off = mass[best, np.arange(len(loss))], np.zeros(len(loss), np.longdouble)
    with np.errstate(divide="ignore", invalid="ignore"):
        on_old, on_new = (4 * unsure / (part * width[k]) for part in (1 - share, share))
        is_old = on_old * p[k] <= on_new * p[k + 1]
    chord, corner = 2 * unsure / width[k], np.where(is_old, on_old, on_new)
    for at, more, moved in ((k, behind, ~is_old), (k + 1, ahead, is_old)):
        np.add.at(p, at, np.where(bent, 0.0, more / width[k]))
        np.add.at(off, at, np.where(bent, np.where(moved, corner, 0.0), chord))
    rise = share * np.expm1((loss[k + 1] - loss[k]).astype(np.longdouble))
    loss = np.append(loss, (loss[k] + np.log1p(rise).astype(float))[bent])
    order = np.argsort(loss)
    p = np.append(p, ((ahead + behind) / width[k])[bent])[order]
    loss, off = loss[order], np.append(off, corner[bent])[order]
    seen = p > 0  # lattices of other laws
    if np.any(off > p) or not np.all(np.diff(loss) > 0):
        return None
    log_p = np.log(p[seen]).astype(float)
    errors = np.minimum(off[seen] / p[seen], 1.0).astype(float) + slack + 3 * r
    errors += UNIT * (8 + 2 * np.abs(log_p))
    position = known + apart + 3 * r + 8 * UNIT * float(np.max(np.abs(loss)))
    return AtomicLaw(loss[seen], log_p, slack=errors, position=position, outside=EVERYWHERE)
