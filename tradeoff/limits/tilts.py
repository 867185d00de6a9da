"""A product under every tilt that is asked for: where to tilt, and what the normal law found there proves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.special import erfcx, ndtr

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, exp, expm1, log1p, where
from tradeoff.intervals.rounding import UNIT, Array, around
from tradeoff.limits.moments import within
from tradeoff.limits.tilted import POLES, Tilted, tilted
from tradeoff.loss.changed import Reversed
from tradeoff.loss.cumulant import Cumulant, SaddleTable, spread
from tradeoff.loss.law import LossLaw

_HALF = math.log(0.5)  # of which delta the other part is told: the smaller keeps its digits
_NEARLY = 1 - 1e-9  # where tilts between the poles end
_AIMS = np.array([0.0, 0.5, 1.0])  # of tilts, in deviations from the loss towards 0: there errors are less
_APART = 0.3  # most unit of tilts over the integrand's spread: half of it off adds 1 % to an error
_BEYOND = 2.0**-10  # relative rounding up to which a first-order bound is one; worse is left between 0 and 1


class TiltedSum:
    """The product of ``laws``, each drawn ``counts`` times, under tilts e^(cL), masses at infinity aside.

    Which tilt serves which loss is a choice; whatever it is, what it proves holds.
    """

    def __init__(
        self, laws: Sequence[LossLaw], counts: Sequence[int], q_plus: Bounds, p_minus: Bounds
    ) -> None:
        rounds = [law.single_rounds(n) for law, n in zip(laws, counts, strict=True)]
        self.laws, self.counts = [law for law, _ in rounds], [n for _, n in rounds]
        self.q_plus, self.p_minus = q_plus, p_minus
        self._found: dict[float, Tilted] = {}
        self._other: TiltedSum | None = None

    def turned(self) -> TiltedSum:
        """Return the other order, whose loss is -L under Q: its tilt c is 1 - c here."""
        made = TiltedSum(list(map(Reversed, self.laws)), self.counts, self.p_minus, self.q_plus)
        made._other = self
        return made

    # What tilts prove; of all that were tried the best counts.

    def delta(self, x: Array) -> Bounds:
        """Bound delta(x)."""
        at = self.near(x)
        rest = part(at, x)
        below = exp(x) * self.p_minus - expm1(x) + rest
        found = where(at.c > 1, self.q_plus + rest, where(at.c > 0, 1 - rest, below))
        least = np.maximum((-expm1(x)).lower, 0.0)  # 1 - e^x
        return Bounds(np.fmax(np.fmax.reduce(found.lower), least), np.fmin(np.fmin.reduce(found.upper), 1.0))

    def line(self, x: Array, alpha: Array) -> Array:
        """Bound 1 - delta(x) - e^x alpha from below: in the form that does not cancel."""
        at = self.near(x)
        rest, cost = part(at, x), exp(x) * alpha
        below = exp(x) * (1 - self.p_minus - alpha) - rest
        found = where(at.c > 1, 1 - self.q_plus - cost - rest, where(at.c > 0, rest - cost, below))
        return np.asarray(np.nan_to_num(np.fmax.reduce(found.lower), nan=-np.inf))

    def above(self, x: Array) -> Array:
        """Bound P(L > x) from above: e^(K - cx) E_c e^(-cX) 1(X > 0), or what the other tail leaves."""
        at = self.near(x)
        g = np.sign(at.c) * _deviations(at, x)
        tail = exp(_log_m(at) - at.c * Bounds.of(x)) * _half(at, np.abs(at.c), g)
        return _least(where(at.c > 0, tail, 1 - self.p_minus - tail))

    def below(self, x: Array) -> Array:
        """Bound Q(L <= x) from above: e^(K - (c - 1) x) E_c e^((1 - c) X) 1(X <= 0), or 1 less the other."""
        at = self.near(x)
        k = 1 - at.c
        tail = exp(_log_m(at) + k * Bounds.of(x)) * _half(at, np.abs(k), -np.sign(k) * _deviations(at, x))
        return _least(where(k > 0, tail, 1 - self.q_plus - tail))

    # Where to tilt: choices only.

    def _cumulant(self, *, turned: bool) -> Cumulant:
        sketches = [(Reversed(law) if turned else law).sketch() for law in self.laws]
        return Cumulant(list(zip(sketches, self.counts, strict=True)))

    @cached_property
    def cumulant(self) -> Cumulant:
        """K, from sketches."""
        return self._cumulant(turned=False)

    @cached_property
    def _strips(self) -> tuple[SaddleTable, SaddleTable, SaddleTable]:
        """Saddles above 1, those of the other order (loss -L, tilt 1 - c), and those between 0 and 1."""
        return (
            SaddleTable(self.cumulant, POLES, start=1.0),
            SaddleTable(self._cumulant(turned=True), POLES, start=1.0),
            SaddleTable(self.cumulant, POLES, last=_NEARLY),
        )

    def x_for_alpha(self, alpha: Array) -> Array:
        """Estimate the losses x with P(L > x) = alpha."""
        least = np.maximum(np.minimum(alpha, 1 - alpha), 1e-300)
        above, below = (tail.x_for(np.log(least)) for tail in self.cumulant.tails)
        return np.where(alpha <= 0.5, above, below)

    def x_for_delta(self, delta: Array) -> tuple[Array, Array]:
        """Estimate the losses x with delta(x) = delta, 0 from a half up, and deviations under their tilts."""
        rare = self._strips[0].x_for(np.log(np.clip(delta, 1e-300, 0.5)))
        x = np.where(delta < 0.5, rare, 0.0)
        return x, self.sd(x)

    def _saddles(self, x: Array) -> tuple[Array, Array]:
        """Return saddles and deviations: outside [0, 1] where delta of the order is below a half."""
        above, other, between = self._strips
        up, down, inner = above.at(x), other.at(-x), between.at(x)
        cases = [(x >= 0) & (up.log < _HALF), (x < 0) & (down.log < _HALF)]
        return np.select(cases, [up.c, 1 - down.c], inner.c), np.select(cases, [up.sd, down.sd], inner.sd)

    def sd(self, x: Array) -> Array:
        """Return the standard deviation under the tilt for each loss."""
        return self._saddles(x)[1]

    def near(self, x: Array) -> Tilted:
        """Return tilts for each loss along a new first axis, rounded so that nearby losses share them."""
        x = np.nan_to_num(x)
        c, sd = self._saddles(x - np.multiply.outer(_AIMS, np.sign(x) * self.sd(x)))
        unit = np.exp2(np.floor(np.log2(_APART / spread(c, sd, POLES))))
        tilts, which = np.unique(unit * np.round(c / unit), return_inverse=True)
        return Tilted(*np.moveaxis(self.under(tilts.tolist())[which.reshape(c.shape)], -1, 0))

    def under(self, tilts: Sequence[float]) -> Array:
        """Return the product under each of these tilts, a row as ``Tilted`` has it."""
        if self._other is not None:
            c, least, most, mean, sd, gamma = self._other.under([1 - c for c in tilts]).T
            return np.array([1 - c, least, most, -mean, sd, gamma]).T
        if missing := [c for c in tilts if c not in self._found]:
            self._found.update(zip(missing, tilted(self.laws, self.counts, missing), strict=True))
        return np.array([self._found[c] for c in tilts]).reshape(-1, len(Tilted._fields))


def part(at: Tilted, x: Array) -> Bounds:
    """Bound e^(K - (c - 1) x) E_c h(X)."""
    inside = (at.c > 0) & (at.c < 1)
    over = np.where(inside, 1.0, np.where(at.c > 1, at.c - 1, -at.c))
    g = _deviations(at, x)
    # Outside (0, 1) h is the difference of two halves on one side of x, inside the sum of one on each.
    first = _normal_half(at, np.where(inside, at.c, over), np.where(at.c > 0, g, -g))
    second = _normal_half(at, np.where(at.c > 1, at.c, 1 - at.c), np.where(at.c > 1, g, -g))
    peak = where(inside, 1.0, exp(over * log1p(-1 / Bounds.of(over + 1)) - log1p(over))).upper
    mean = where(inside, first + second, first - second) + within((2 * Bounds.of(peak) * at.gamma).upper)
    return exp(_log_m(at) - (at.c - 1) * Bounds.of(x)) * clip(mean, 0.0, peak)


def _half(at: Tilted, k: Array, g: Array) -> Bounds:
    """Bound E_c e^(-kX) 1(X > 0), k > 0: it jumps to 1 and falls, so within 2 gamma of the normal law's."""
    return clip(_normal_half(at, k, g) + within(2 * at.gamma), 0.0, 1.0)


def _normal_half(at: Tilted, k: Array, g: Array) -> Bounds:
    """Bound E e^(-kX) 1(X > 0), X of mean g sd: e^(a^2/2 - ag) Phi(g - a) = phi(g) R(a - g), a = k sd.

    R, Mills' ratio, has |R'/R| <= 1 + |a - g|: of 1 + a + |g| = s, arguments with 2 units and exponents with
    3 lose 16 s^2 units at most, and the functions 32.
    """
    a = k * at.sd
    by_phi = np.exp(np.minimum(a * (a / 2 - g), 0.0)) * ndtr(g - a)  # where the ratio is too large for floats
    value = np.where(a < g, by_phi, np.exp(-g * g / 2) / 2 * erfcx(np.maximum(a - g, 0.0) * np.sqrt(0.5)))
    units = 32 + 16 * (1 + a + np.abs(g)) ** 2
    return where(units * UNIT < _BEYOND, clip(Bounds(*around(value, units)), 0.0, 1.0), Bounds(0.0, 1.0))


def _log_m(at: Tilted) -> Bounds:
    return Bounds(at.least_log_m, at.most_log_m)


def _deviations(at: Tilted, x: Array) -> Array:
    return np.asarray((at.mean - x) / at.sd)


def _least(found: Bounds) -> Array:
    return np.asarray(np.fmin.reduce(found.upper))
