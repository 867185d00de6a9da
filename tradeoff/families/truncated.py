"""Truncated noise: a law conditioned on [-cut, cut], tested against its shift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import kept
from tradeoff.families._symmetric import SymmetricFamily
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.intervals.bounds import Bounds, Pair, held
from tradeoff.intervals.functions import clip, exp, expm1, minimum, rational, where
from tradeoff.intervals.normal import shifted_tail
from tradeoff.intervals.rounding import Array

_FAR = 40.0  # deviations beyond which a normal law has less mass than any float


@dataclass(frozen=True, repr=False)
class Truncated(SymmetricFamily):
    """Testing X against X + shift in (0, 2 cut], X normal or Laplace, both given |X| <= cut.

    Scale (the deviation of a normal law), shift and cut are positive, in one unit. The loss still increases
    along the line, so thresholds stay optimal. With g the curve without truncation, s the mass of each tail
    that is cut off and k = 1 - 2 s what is left, the errors of a threshold are affine in those without it:
    f(alpha) = (g(k alpha + s) - s)_+/k, and hence delta(x) = (delta_g(x) + s (e^x - 1))/k up to the loss at
    the end of the support; from there on it is the mass at infinity.

    >>> f = Truncated(1.0, 1.0, 5.0, normal=False)
    >>> round(f.delta(1.0), 6), round(f(0.1), 6)
    (0.005828, 0.722344)
    """

    scale: float
    shift: float
    cut: float
    normal: bool

    def __post_init__(self) -> None:
        for name in ("scale", "cut", "shift"):
            last = name == "shift"  # which loses more where it is larger; less cut, more; a scale has no side
            high = float(rational(2 * Fraction(self.cut)).upper) if last else math.inf
            ends = {"open_low": True, "open_high": not last, "up": last, "down": name == "cut"}
            object.__setattr__(self, name, kept(name, getattr(self, name), 0, high, **ends))

    @cached_property
    def _uncut(self) -> tuple[TradeOff, TradeOff]:
        """Return the curve without truncation for the shift over the scale, rounded down and up."""
        less, more = rational(Fraction(self.shift) / Fraction(self.scale))
        return (Gaussian(less), Gaussian(more)) if self.normal else (Laplace(less), Laplace(more))

    def _beyond(self, x: Fraction) -> Bounds:
        """Bound the probability, without truncation, of more than x."""
        z = rational(abs(x) / Fraction(self.scale))
        tail = normal_tail(z) if self.normal else exp(-z) / 2
        return tail if x >= 0 else 1 - tail

    @cached_property
    def _cut_off(self) -> Bounds:
        return self._beyond(Fraction(self.cut))

    @cached_property
    def _left(self) -> Bounds:
        return 1 - 2 * self._cut_off

    @cached_property
    def mass_at_infinity(self) -> Bounds[float]:
        apart = self._beyond(Fraction(self.cut) - Fraction(self.shift)) - self._cut_off
        return clip(apart / self._left, 0.0, 1.0)

    @cached_property
    def _end(self) -> Bounds:
        """Bound the loss at the end of the common support, the greatest finite one."""
        cut, shift, scale = map(Fraction, (self.cut, self.shift, self.scale))
        if self.normal:
            return rational((2 * cut - shift) * shift / scale**2 / 2)
        return rational(min(2 * cut - shift, shift) / scale)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        place = clip(self._left * alpha + self._cut_off, 0.0, 1.0)
        less, more = self._uncut
        low, _ = more.beta_bounds(place.upper, tol)
        _, high = less.beta_bounds(place.lower, tol)
        beta = clip((held(low, high) - self._cut_off) / self._left, 0.0, 1.0)
        return tuple(minimum(beta, 1 - Bounds.of(alpha)))

    def _tail(self, epsilon: Array) -> Pair:
        less, more = self._uncut
        whole = held(less.delta_bounds(epsilon, None)[0], more.delta_bounds(epsilon, None)[1])
        inner = (whole + self._cut_off * expm1(epsilon)) / self._left
        inner = where(epsilon >= self._end.upper, self.mass_at_infinity, inner)
        lower = np.where(epsilon > self._end.lower, 0.0, inner.lower)  # at the end to a rounding
        least = self.mass_at_infinity
        return np.maximum(lower, least.lower), np.clip(inner.upper, least.upper, 1.0)

    @property
    def q_plus(self) -> float:
        return float(self.mass_at_infinity.upper)

    @property
    def sup_loss(self) -> float:
        return float(self._end.upper)

    @property
    def least_sup_loss(self) -> float:
        return float(self._end.lower)

    @property
    def notation(self) -> str:
        name = "N" if self.normal else "Lap"
        scale, cut, shift = map(float, (self.scale, self.cut, self.shift))
        return f"{name}({scale:.6g}) on [-{cut:.6g}, {cut:.6g}] + {shift:.6g}"


def normal_tail(z: Bounds) -> Bounds:
    """Bound Phi(-z), z >= 0, as the error of a test of level 1/2 between normal laws z apart."""
    half = np.array([0.5])
    low = float(shifted_tail(half, z.upper)[0][0]) if z.upper < _FAR else 0.0
    return held(low, float(shifted_tail(half, min(z.lower, _FAR))[1][0]))
