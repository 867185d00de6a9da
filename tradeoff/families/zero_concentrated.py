"""Concentrated privacy: the curve implied by Renyi bounds of all orders, for one order of the pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import written
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import clip, exp, expm1, log, log1p, maximum, sqrt
from tradeoff.intervals.rounding import Array

_CLOSEST, _FARTHEST = -700.0, 330.0  # logarithms of orders, less 1, whose squares are floats
_STEEPEST, _LAST = (
    1e200,
    700.0,
)  # largest losses of a profile, and of that of the inverse, whose e^eps is a float


@dataclass(frozen=True, repr=False)
class ZeroConcentrated(TradeOff):
    """Curve f(alpha) = 1 - exp(-(sqrt(log(1/alpha) - xi) - sqrt(rho))_+^2), or its inverse.

    D_a(Q || P) <= xi + rho a gives x^a alpha^(1-a) <= e^((a-1)(xi + rho a)) for x = 1 - f(alpha), and the
    least x over all a > 1 is at a = sqrt((log(1/alpha) - xi)/rho). So delta(eps) is the least over a of
    Canonne, Kamath, Steinke 2020, Proposition 12, and at the best a it is e^(-rho (a-1)^2)/a.

    >>> f = ZeroConcentrated(0.5)
    >>> round(f.epsilon(1e-5), 5), f.inverse().inverse() == f
    (4.72839, True)
    """

    rho: float
    xi: float = 0.0
    flipped: bool = False

    symmetric = False

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        if self.flipped:
            root = sqrt(self.rho) + sqrt(-log1p(-Bounds.of(alpha)))
            return tuple(clip(exp(-self.xi - root * root), 0.0, 1.0))
        # sqrt(u) - sqrt(rho) is (u - rho)/(sqrt(u) + sqrt(rho)).
        rest = maximum(-log(Bounds.of(np.maximum(alpha, 5e-324))) - self.xi - self.rho, 0.0)
        root = rest / (sqrt(rest + self.rho) + sqrt(self.rho)) if self.rho else sqrt(rest)
        low, high = clip(-expm1(-(root * root)), 0.0, 1.0)
        return np.where(alpha == 0, 1.0, low), np.where(alpha == 0, 1.0, high)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta from above by the Renyi divergence of one order a, from below by one type I error y.

        With k = a - 1, log delta <= k (xi + rho a - eps) + k log(k/a) - log(a). For every y,
        delta >= x - e^eps y with x = 1 - f(y); at y = e^(-xi - rho a^2), x = e^(-rho k^2). The inverse curve
        has the profile 1 - e^eps (1 - delta(-eps)).
        """
        at = np.clip(epsilon, -_STEEPEST, _LAST if self.flipped else _STEEPEST)
        signed = -at if self.flipped else at
        k = Bounds.of(self._order(signed))
        loss = signed - self.xi - Bounds.of(self.rho) * (2 * k + 1)
        log_above, log_x = -k * (loss + k * self.rho + log1p(1 / k)) - log1p(k), -(k * k * self.rho)
        if self.flipped:
            above = 1 + exp(at) * expm1(log_above)
            below = -expm1(log_x + loss - signed) + exp(at) * expm1(log_x)
        else:
            above, below = exp(log_above), exp(log_x) * -expm1(loss)
        low = np.maximum(np.where(epsilon > at, 0.0, below.lower), self.mass_at_infinity.lower)
        return low, np.clip(above.upper, low, 1.0)

    def _order(self, epsilon: Array) -> Array:
        """Solve log(k/(k + 1)) + rho (2 k + 1) = eps - xi for k by bisection: the left side increases."""
        low, high = np.full(epsilon.shape, _CLOSEST), np.full(epsilon.shape, _FARTHEST)
        for _ in range(50):  # of the interval between them: the error of an order counts by its square
            middle = (low + high) / 2
            k = np.exp(middle)
            under = -np.log1p(1 / k) + self.rho * (2 * k + 1) < epsilon - self.xi
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return np.asarray(np.exp((low + high) / 2))

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return -expm1(-Bounds.of(self.xi) - self.rho) if self.flipped else Bounds(0.0, 0.0)

    @property
    def mass_at_minus_infinity(self) -> float:
        return self.inverse().mass_at_plus_infinity

    @property
    def loss_bounds(self) -> Bounds[float]:
        return Bounds.of(math.inf if self.rho or self.flipped else self.xi)

    def inverse(self) -> TradeOff:
        return ZeroConcentrated(self.rho, self.xi, not self.flipped)

    def __repr__(self) -> str:
        name = f"zCDP_{{{written(self.rho)},{written(self.xi)}}}"
        return f"{'~' if self.flipped else ''}{name} (one order)"
