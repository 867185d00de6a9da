"""Two sums that are normal up to known errors, and the trade-off functions such a pair may have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tradeoff.balls import (
    PRECISION,
    Balls,
    exp,
    expm1,
    log,
    log1p,
    lower_float,
    maximum,
    minimum,
    normal_isf,
    normal_sf,
    precision,
    sqrt,
    to_ball,
    to_balls,
    to_floats,
    union,
    upper_float,
)
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import Array

_BITS = PRECISION // 2
"""Bits carried: 1 - r^2 of a float r is exact in 106 bits, and else cancels little."""

_ZERO = Bounds(0.0, 0.0)

# Thresholds whose slopes make the guarantee: dense where probabilities are neither 0 nor 1.
_THRESHOLDS = np.concatenate([np.linspace(-8.5, 8.5, 601), np.linspace(-40.0, 40.0, 161)])
_STEEPEST = 600.0  # no line is steeper than e^600: floats hold its product with any probability


@dataclass(frozen=True)
class NormalPair:
    """A pair P, Q with |P(S <= t) - Phi((t - m_P)/s_P)| <= gamma_p at every t, and likewise under Q.

    A test at threshold t = m_P + s_P z has alpha = P(S > t) within gamma_p of Phi(-z) and beta = Q(S <= t)
    within gamma_q of Phi(r z - d), where r = s_P/s_Q and d = (m_Q - m_P)/s_Q. With ``mass_at_minus_infinity``
    p under P and ``mass_at_plus_infinity`` q under Q, f(alpha) = (1 - q) f_finite(alpha/(1 - p)).
    """

    gap: Bounds
    sd_p: Bounds
    sd_q: Bounds
    gamma_p: float
    gamma_q: float
    mass_at_minus_infinity: Bounds = _ZERO
    mass_at_plus_infinity: Bounds = _ZERO

    @cached_property
    def ratio(self) -> Bounds:
        """Bound r = s_P/s_Q."""
        return self.sd_p / self.sd_q

    @cached_property
    def distance(self) -> Bounds:
        """Bound d = (m_Q - m_P)/s_Q."""
        return self.gap / self.sd_q

    @cached_property
    def is_trivial(self) -> bool:
        """Whether all of P or of Q may be at infinity."""
        return bool(max(self.mass_at_minus_infinity.upper, self.mass_at_plus_infinity.upper) >= 1)

    def bounds(self, alpha: Array) -> Pair:
        """Bound f(alpha): Phi(r z - d) up to gamma_q, where Phi(-z) = alpha up to gamma_p."""
        most = (1 - Bounds.of(alpha)).upper
        if self.is_trivial:
            return np.zeros_like(alpha), most
        with precision(_BITS):
            inner = to_balls(alpha) / (1 - union(*self.mass_at_minus_infinity))
            finite = 1 - union(*self.mass_at_plus_infinity)
            low, _ = to_floats(finite * (self._beta(inner + self.gamma_p) - self.gamma_q))
            most_finite = minimum(self._beta(inner - self.gamma_p) + self.gamma_q, 1 - inner)
            _, high = to_floats(finite * most_finite)
        high = np.where(alpha >= (1 - self.mass_at_minus_infinity).upper, 0.0, high)
        return np.maximum(low, 0.0), np.minimum(high, most)

    def _beta(self, alpha: Balls) -> Balls:
        """Bound Phi(r z - d) where Phi(-z) = alpha; outside (0, 1) that is 1 or 0."""
        r, d = union(*self.ratio), union(*self.distance)

        def value(a: Balls) -> Balls:
            if a <= 0 or a >= 1:
                return to_ball(float(a <= 0))
            result = normal_sf(d - r * normal_isf(a)) if a > 0 and a < 1 else None
            return result if result is not None and result.is_finite() else union(0.0, 1.0)

        return np.frompyfunc(value, 1, 1)(alpha)

    def delta(self, epsilon: Array, side: int) -> Array:
        """Bound delta(eps) = sup_t Q(S > t) - e^eps P(S > t), for finite eps, below (side 0) or above (1)."""
        if self.is_trivial:
            return np.full_like(epsilon, side)
        bound, ends, finite = (
            (self._least, upper_float, lower_float) if side == 0 else (self._most, lower_float, upper_float)
        )
        with precision(_BITS):
            p, q = union(*self.mass_at_minus_infinity), union(*self.mass_at_plus_infinity)
            inner = [x + log1p(-p) - log1p(-q) for x in epsilon.tolist()]  # losses of the finite parts
            deltas = [q + (1 - q) * maximum(-expm1(x), bound(ends(x))) for x in inner]
            return np.clip([finite(each) for each in deltas], 0.0, 1.0)

    def _least(self, epsilon: float) -> float:
        """Bound the finite delta from below: any threshold z proves it, whatever r and d are."""
        slope, r, d = exp(to_ball(epsilon)), union(*self.ratio), union(*self.distance)
        points = [z.mid() for z in self._stationary_points(epsilon, self.ratio.mid, self.distance.mid)]
        gains = (
            1 - (normal_sf(d - r * z) + self.gamma_q) - slope * (normal_sf(z) + self.gamma_p) for z in points
        )
        return max([0.0, *map(lower_float, gains)])

    def _most(self, epsilon: float) -> float:
        """Bound the finite delta from above.

        It is at most the largest value of 1 - (Phi(r z - d) - gamma_q)_+ - e^eps (Phi(-z) - gamma_p)_+. At
        each z that is largest at an end of r and at the upper end of d; and for each such pair it is largest
        where a clipped term reaches 0, or where the derivative of both terms together is 0.
        """
        slope, d = exp(to_ball(epsilon)), to_ball(self.distance.upper)
        alpha, beta = self._axes
        gains = [to_ball(1) - beta, 1 - slope * alpha]
        for r in {*self.ratio}:
            for z in self._stationary_points(epsilon, r, self.distance.upper):
                terms = normal_sf(d - r * z) - self.gamma_q, normal_sf(z) - self.gamma_p
                gains.append(1 - maximum(terms[0], 0) - slope * maximum(terms[1], 0))
        result = float(np.max(list(map(upper_float, gains))))
        return 1.0 if np.isnan(result) else min(result, 1.0)

    @cached_property
    def _axes(self) -> tuple[float, float]:
        """Bound from below the alpha from which on the lower bound on the finite f is 0, and its f(0)."""
        r, d = union(*self.ratio), union(*self.distance)
        alpha = beta = to_ball(1)
        if self.gamma_q > 0:
            alpha = normal_sf((d - normal_isf(to_ball(self.gamma_q))) / r)
        if self.gamma_p > 0:
            beta = normal_sf(d - r * normal_isf(to_ball(self.gamma_p)))
        return max(0.0, lower_float(alpha - self.gamma_p)), max(0.0, lower_float(beta - self.gamma_q))

    @staticmethod
    def _stationary_points(epsilon: float, ratio: float, distance: float) -> Iterator[Balls]:
        """Yield every z with r phi(r z - d) = e^eps phi(z).

        These are the roots of (1 - r^2) z^2 + 2 r d z = d^2 + 2 (eps - log r).
        """
        r, d = to_ball(ratio), to_ball(distance)
        level, bend = d * d + 2 * (epsilon - log(r)), 1 - r * r
        square = r * d * r * d + bend * level
        if square < 0:
            return
        root = sqrt(square) if square > 0 else union(0.0, sqrt(to_ball(max(upper_float(square), 0.0))))
        if r * d + root > 0:
            yield level / (r * d + root)
        elif bend != 0:
            yield (root - r * d) / bend
        if bend != 0:
            yield -(r * d + root) / bend

    def slopes(self) -> Array:
        """Return slopes of the lower bound at many points."""
        if self.is_trivial:
            return np.ones(1)
        r, d = self.ratio.lower, self.distance.upper
        z = np.concatenate([_THRESHOLDS, (_THRESHOLDS + d) / r])
        with np.errstate(over="ignore"):
            loss = np.log(r) + (z - (r * z - d)) * (z + (r * z - d)) / 2
        moved = np.log1p(-self.mass_at_plus_infinity.upper) - np.log1p(-self.mass_at_minus_infinity.upper)
        return np.asarray(np.exp(np.clip(loss + moved, -_STEEPEST, _STEEPEST)))
