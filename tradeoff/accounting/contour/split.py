"""Sampled normal steps of which few lose much, split by the largest of their losses.

A line of their product sums terms that nearly cancel where the tilted law has two bells, the bulk and losses
far above x, and the answer lies between them; and of few steps the bulk alone takes millions of nodes. So a
step is marked by its normal variable t, L = log(1 - q + q e^(mu t - mu^2/2)), q the sampling rate: as small
with probability w(t; a), as large with 1 - w(t; b), and else as middle, w(t; s) = e^-e^(k (t - s)). With A
the event of a large mark and B that of a middle one without it, delta(x) = E (e^L - e^x)_+ under P is

    Q(A) - e^x P(A) + E (e^x - e^L)_+ 1[A] + E (e^L - e^x)_+ 1[B] + E (e^L - e^x)_+ 1[all small],

whose third term is at most e^x P(A, L < x): b is where that is next to nothing. Nor does the last one matter
for a small enough a; it has a line of its own, or Chernoff's bound. On B the law has the transform (S + R)^n
- S^n, S and R those of a small and of a middle step: no large loss, and no bulk alone.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.accounting.contour.line import DIGITS, Chernoff, ContourLine, Factors
from tradeoff.accounting.engine import Enclosure
from tradeoff.accounting.saddles import Cumulant, Placement, SaddleTable, log_kappas, place_line
from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Array, Bounds, Complex
from tradeoff.intervals.functions import exp, expm1, log1p
from tradeoff.pld.components import Component, few_bits, inverse_subsampled_loss
from tradeoff.pld.gaussian import REACH, WindowBase
from tradeoff.pld.law import PrivacyLossDistribution, complex_log1p
from tradeoff.pld.quadrature import QuadratureTransform
from tradeoff.pld.transformed import DampedPLD
from tradeoff.pld.units import UNIT

_LEFT = 26.0  # each part left out is e^-_LEFT of an answer
_MOST = 4e8  # most terms of a line: nearly a second


@dataclass(frozen=True, eq=False)
class Marks:
    """Marks of ``count`` steps of a law with the one component ``part``; ``sharp`` is k, from 14 to 76.

    Softer marks move mass far from a and b, sharper ones take more nodes.
    """

    law: PrivacyLossDistribution
    part: Component
    count: int
    sharp: float

    def window(self, first: float, last: float, rest: Bounds | None = None) -> DampedPLD:
        """Return the part of the law marked from first to last; ``rest`` bounds P of the others, if known."""
        off, missing = (0.0, math.inf) if rest is None else (float(rest.width), float(rest.lower))
        base = WindowBase(self.part.base.scale, last, self.sharp, first, off)
        result = DampedPLD(self.law, replace(self.part, base=base), 0.0)
        result.mass_at_minus_infinity = missing
        return result

    def above(self, first: float, c: float) -> Bounds:
        """Bound the mass marked above ``first`` under P (c = 0) or Q (c = 1).

        The mass marked above T = mu + 45 is at most e^(k (k/2 - 45)) (e^(-k mu) + 1), below 1e-200.
        """
        window = self.window(first, max(self.part.base.scale + 45.0, first + 2.0))
        transform = QuadratureTransform(window, c, DIGITS)
        log = transform.log_m  # E e^(cL), which is P or Q
        off = transform.log_m_error + 8 * UNIT * (1 + abs(log))
        return exp(Bounds(log - off, log + off)) + Bounds(0.0, 1e-200)


def _variable(part: Component, loss: Array) -> Array:
    """Return the variable t of losses."""
    mu = part.base.scale
    return (inverse_subsampled_loss(part.b, loss) + mu * mu / 2) / mu


def may_split(law: PrivacyLossDistribution, x: Array) -> NDArray[np.bool_]:
    """Whether x is so large that the marks of small steps may end at the t of x/2, which must be above 1."""
    (part,) = law.components() or []
    return np.asarray(_variable(part, np.maximum(x, 0.0) / 2) > 1.0)


@dataclass(frozen=True, eq=False)
class SplitEnclosure(Enclosure):
    """Bounds on delta from the ``line`` of B, that of ``small`` steps or a bound on it, and P(A) and Q(A).

    ``large`` bounds the mass under P of one large mark. With one of a loss above x + aside, L < x takes that
    the other steps lose less than -aside, of probability ``below`` at most. A large mark at or below that
    loss, of variable t, has probability at most int_-inf^t e^(k (u - b)) phi(u) du <= e^(k (t - b) - t^2/2)/2
    for 0 <= t <= k - 1, as the integrand grows at least as e^u; twice that pays for the error of t.
    """

    line: ContourLine
    small: ContourLine | Chernoff
    marks: Marks
    b: float
    large: Bounds
    p: Bounds
    q: Bounds
    aside: float
    below: float

    def bound(self, x: Array) -> Bounds:
        """Bound delta(x) by the terms of the formula of the module, for x > 0."""
        sharp, t = self.marks.sharp, _variable(self.marks.part, np.maximum(x, 0.0) + self.aside)
        log_early = np.minimum(sharp * (t - self.b) - t * t / 2, 0.0)  # of a probability
        early = np.where((t >= 0) & (t <= sharp - 1), np.exp(log_early), 1.0)
        missing = self.marks.count * (early + self.large.upper * self.below) * (1 + 1e-9)  # P(A, L < x)
        rest = exp(x) * Bounds(np.zeros(len(x)), np.minimum(missing, 1.0))
        return Bounds(*self.line.psi(x)) + Bounds(*self.small.psi(x)) + (self.q - exp(x) * self.p) + rest


@np.errstate(all="ignore")  # nodes that are left out have no logarithm
def split(
    law: PrivacyLossDistribution, count: int, cumulant: Cumulant, x: float, log_psi: float
) -> SplitEnclosure | None:
    """Return bounds about x > 0, where delta is about e^log_psi, of sampled normal steps.

    None where no marks leave out next to nothing, or where a line is long.
    """
    with suppress(SizeError):  # of a quadrature
        return _split(law, count, cumulant, x, log_psi)
    return None


def _split(
    law: PrivacyLossDistribution, count: int, cumulant: Cumulant, x: float, log_psi: float
) -> SplitEnclosure | None:
    """Return ``split``, or raise ``SizeError``."""
    (part,) = law.components() or []  # one normal pair, as ``rarely_sampled`` made sure
    mu = part.base.scale
    # The sum is below -aside with probability e^-(_LEFT + 5), by Chernoff's bound at -theta, or never.
    theta = np.geomspace(0.5, 1e4, 32) / x
    losses = (cumulant.values(-theta) + _LEFT + 5.0) / theta
    best, lowest = int(np.argmin(losses)), -count * math.log1p(-part.b.part) * (1 + 1e-9)
    aside = min(lowest, float(losses[best]))
    # Of smaller mu t is not known well enough; other limits are where bounds were too wide to be of use.
    if not (0.01 < mu < 4 and aside < 4 * x):
        return None
    top = float(_variable(part, np.array([x + aside]))[0])
    marks = Marks(law, part, count, few_bits(max(14.0, 14.0 * mu, top + 2.0)))
    if not 0 < top < 60:
        return None
    log_early = math.log(count) + x - top * top / 2 - log_psi
    # Losses up to x + aside are marked as large with a share of e^-_LEFT of delta(x).
    b = few_bits(top + max(log_early + _LEFT, 16.0) / marks.sharp)
    if (tilts := _tilts(marks, x, log_psi, b)) is None:
        return None
    small, middle = marks.window(-math.inf, tilts.a, marks.above(tilts.a, 0.0)), marks.window(tilts.a, b)
    if (line := _line(small, middle, count, x, log_psi, tilts.line)) is None:
        return None
    bound = Factors([small], [count]).chernoff(tilts.small)
    rest: ContourLine | Chernoff | None = bound  # of small steps alone; a line where the bound is not small
    if math.log(max(float(bound.psi(np.array([x]))[1][0]), 1e-300)) > log_psi - _LEFT + 5.0:
        saddles = SaddleTable(Cumulant([(small.sketch(), count)]), (0.0, 1.0), start=1.0)
        place = place_line(saddles, x, None, middle=False)._replace(most=_MOST / 20)
        rest = Factors([small], [count]).line(place)
    if rest is None:
        return None
    tilt, below = float(theta[best]), 0.0
    if aside < lowest:
        below = math.exp(min(Factors([law], [count]).chernoff(-tilt).log_m - tilt * aside + 1e-9, 0.0))
    large = marks.above(b, 0.0)
    return SplitEnclosure(
        line=line,
        small=rest,
        marks=marks,
        b=b,
        large=large,
        p=-expm1(count * log1p(-large)),
        q=-expm1(count * log1p(-marks.above(b, 1.0))),
        aside=aside,
        below=below,
        center=x,
        scale=x / 8,
        final=True,
    )


class _Tilts(NamedTuple):
    """The end a of small marks, the tilt of Chernoff's bound on them, and where B's line is."""

    a: float
    small: float
    line: Placement


def _tilts(marks: Marks, x: float, log_psi: float, b: float) -> _Tilts | None:
    """Choose a, the t of a loss x/2, x/4 or x/8, and a line of B with few nodes; None if a is near b.

    a is the largest for which steps that are all small are a negligible share of psi(x), about e^log_psi. A
    "share" is Chernoff's bound over psi at each of the tilts c, in logarithms.
    """
    mu, sharp, count = marks.part.base.scale, marks.sharp, marks.count
    t = np.arange(-10.0, mu + REACH, 0.1)
    loss = marks.part.logs(mu * t - mu * mu / 2, np.zeros(len(t))).loss
    c = 1 + np.geomspace(0.05, 100.0, 64) / x
    chernoff = log_kappas(c) - (c - 1) * x - log_psi  # with log M(c) it bounds a share

    def log_moments(base: WindowBase) -> Array:
        """Estimate log E e^(c L) of a step in a window for every c, by sums over t."""
        with np.errstate(over="ignore", divide="ignore"):
            log = c[:, None] * loss - t * t / 2 - 3.2215 - base.damping(t)[0]  # log (0.1/sqrt(2 pi))
        peak = np.max(log, axis=1)
        return np.asarray(peak + np.log(np.sum(np.exp(log - peak[:, None]), axis=1)))

    # Where none makes them next to nothing, the bulk reaches x; their line is short if they are many.
    for divisor in (2.0, 4.0, 8.0, 4.0):
        a = few_bits(float(_variable(marks.part, np.array([x / divisor]))[0]))
        small = log_moments(WindowBase(mu, a, sharp))
        small_share = count * small + chernoff
        if np.min(small_share) < -_LEFT:
            break
    if not 1.0 < a < b - 1.1:
        return None
    rise = count * np.logaddexp(0.0, log_moments(WindowBase(mu, b, sharp, a)) - small)  # n log(1 + R/S)
    share = count * small + np.where(rise > 30, rise, np.log(np.expm1(np.minimum(rise, 30.0)))) + chernoff
    gap = c - c[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Of a line at the row whose aliases, bounded at the column's tilt, are a share of e^-_LEFT.
        periods = np.maximum(share + _LEFT, 1.0) / np.abs(gap)
    sides = [np.where(side, periods, math.inf) for side in (gap < 0, gap > 0)]
    period = np.maximum(*(np.min(side, axis=1) for side in sides))
    # Nodes grow with the period, and digits cancel where the integrand is larger than psi.
    k = int(np.argmin(np.log(period) + np.maximum(share, 0.0) / 3))
    low, high = (float(c[np.argmin(side[k])]) for side in sides)
    step = few_bits(2 * math.pi / float(period[k]))
    place = Placement(float(c[k]), low, high, step, math.exp(-_LEFT), _MOST, 0.0, x / 8)
    return _Tilts(a, float(c[np.argmin(small_share)]), place)


def _log_expm1(x: float) -> float:
    """Return log(e^x - 1), x > 0."""
    return math.log(math.expm1(x)) if x < 30 else x


def _line(
    small: DampedPLD, middle: DampedPLD, count: int, x: float, log_psi: float, place: Placement
) -> ContourLine | None:
    """Return the line of (S + R)^n - S^n = S^n (e^E - 1), E = n log(1 + r), r = R/S; None if it is long.

    Its values are over S(c)^n e^norm, e^norm = e^E(c) - 1; none is above n |R| (|S| + |R|)^(n - 1), which
    ``top`` bounds over |R|. ``s``, ``r`` are transforms, ``known`` the nodes where digits are left.
    """
    c, step, digits = place.c, place.step, DIGITS + math.log(count)
    s, r = (QuadratureTransform(law, c, digits) for law in (small, middle))
    apart = r.log_m - s.log_m  # log R(c)/S(c), known to ``unsure``
    if apart < -600.0:  # the quotient underflows
        return None
    unsure = r.log_m_error + s.log_m_error + UNIT * (8 + 4 * (abs(r.log_m) + abs(s.log_m)))
    size = count * math.log1p(math.exp(apart + unsure))  # E(c)
    norm = _log_expm1(size)
    top = math.log(count) + apart + unsure + size - norm + 1e-9
    goal, last = log_psi - _LEFT - (count * s.log_m + norm - (c - 1) * x) - top, 1.0 / x
    while (missing := r.far(last) - math.log(math.pi * last) - goal) > 0:
        last *= 1.25
        terms = last / step * (r.cost(last) + s.cost(last))
        if missing < 5 and terms > _MOST / 2:  # e^(5 - _LEFT) of the answer is left out
            break
        if terms > _MOST:
            return None
    y = step * np.arange(math.ceil(last / step) + 1.0)
    (log_s, error_s, ceiling_s), (log_r, error_r, ceiling_r) = (t.ratio(y, even=True) for t in (s, r))
    # Logarithms and phases are sums of these; an exponential is known to 24 units.
    off = error_s + error_r + unsure + UNIT * (64 + 4 * y * (abs(r.mean) + abs(s.mean)))
    off += 8 * UNIT * np.where(off < math.inf, np.abs(log_s) + np.abs(log_r), 0.0)
    known = off < 0.5
    ratio = np.exp(np.where(known, apart + log_r - log_s + 1j * (y * (r.mean - s.mean)), -800.0))
    # e^0.5 - 1 is below 1.3 times 0.5.
    rise = complex_log1p(ratio, 1.3 * np.abs(ratio) * np.where(known, off, 0.5))
    known &= count * rise.error < 0.5
    power = count * np.where(known, rise.log, 0.0)  # E; ``value`` is e^E - 1
    lift = np.exp(count * np.where(known, rise.log.real, 0.0))
    value = np.expm1(power.real) * np.cos(power.imag) - 2 * np.sin(power.imag / 2) ** 2
    value = value + 1j * lift * np.sin(power.imag)
    with np.errstate(divide="ignore"):
        log: Complex = (count * log_s + np.log(value) - norm).astype(complex)
        log[~known] = -np.inf
    # ``slip`` is the error of E, ``own`` that of the logarithm of the value less that of e^E - 1. Each of the
    # terms of e^E - 1 is known to 40 units and is at most |E| max(1, |e^E|).
    slip = np.where(known, count * rise.error, 0.0) + 64 * UNIT * np.abs(power)
    own = count * (np.where(known, error_s + 12 * UNIT * np.abs(log_s), 0.0)) + 64 * UNIT
    own += 12 * UNIT * np.where(np.isfinite(log), np.abs(log) + abs(norm), 0.0)  # two sums, and log value
    error = np.maximum(lift, 1.0) * np.expm1(slip) + np.abs(value) * np.expm1(own)
    error = np.exp(count * ceiling_s) * error
    most = np.exp(apart + unsure + ceiling_r)  # of |R|/S(c); ``whole`` bounds a value that is not known
    whole = count * most * np.exp((count - 1) * np.log(np.exp(ceiling_s) + most))

    def chernoff(c: float) -> Chernoff:
        """Bound log((S + R)^n - S^n) at c from above; it grows with S and R, so their upper bounds do."""
        transforms = (QuadratureTransform(law, c, digits) for law in (small, middle))
        log_s, log_r = (each.log_m + each.log_m_error for each in transforms)
        rise = count * float(np.logaddexp(0.0, log_r - log_s)) * (1 + 1e-12)
        return Chernoff(c, count * log_s + _log_expm1(rise) + 1e-9)

    return ContourLine(
        place,
        log_m=count * s.log_m + norm,
        log_m_error=count * s.log_m_error + 4 * UNIT * (abs(count * s.log_m) + abs(norm)),
        mean=count * s.mean,
        mean_error=2 * UNIT * abs(count * s.mean),
        log=log,
        error=np.where(known, error, whole) * math.exp(-norm) * (1 + 1e-6 + 32 * UNIT * count),
        tail_bound=math.exp(r.far(float(y[-1])) + top),
        left=chernoff(place.left),  # bounds the aliases on one side, and ``right`` on the other
        right=chernoff(place.right),
    )
