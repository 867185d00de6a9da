"""The Gaussian family G_mu = T(N(0,1), N(mu,1))."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
from scipy.special import erf, log_ndtr, ndtri

from tradeoff import balls
from tradeoff.balls import Balls, exp, expm1, normal_isf, normal_sf, sqrt, to_balls
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_LOSS, Parameter, Value, count, is_symbol, real, sympy
from tradeoff.errors import advise_keywords, domain
from tradeoff.families._closed_form import MANY, ClosedForm, Formulas
from tradeoff.families.approximate_dp import Identity, TotalVariation
from tradeoff.intervals.bounds import Array, Bounds, Pair
from tradeoff.intervals.float_balls import FloatBalls
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.special import hockey_stick, shifted_tail


def gaussian_beta(alpha: Balls, mu: Balls) -> Balls:
    """Return Phi(Phi^-1(1 - alpha) - mu)."""
    return normal_sf(mu - normal_isf(alpha))


def gaussian_profile(x: Balls, mu: Balls) -> Balls:
    """Return Phi(-x/mu + mu/2) - e^x Phi(-x/mu - mu/2) (Dong, Roth, Su 2022, Corollary 2.13)."""
    a = x / mu - mu / 2
    return normal_sf(a) - exp(x) * normal_sf(a + mu)


def _profile_in_floats(x: Array, mu: float) -> Pair:
    """Bound the profile at many losses; delta(-x) = 1 - e^-x (1 - delta(x))."""
    low, high = hockey_stick(np.abs(x), mu)
    if (below := x < 0).any():
        at, other = FloatBalls.of(x[below]), FloatBalls.of(Bounds(low[below], high[below]))
        low[below], high[below] = (exp(at) * other - expm1(at)).ends()
    return low, np.minimum(high, 1.0)


@dataclass(frozen=True, repr=False, eq=False)
class Gaussian(ClosedForm):
    r"""Curve of a test of N(0, 1) against N(mu, 1), as of Gaussian noise.

    Parameters
    ----------
    mu
        Shift in standard deviations, in [0, 1e4] or infinite, or a SymPy expression. Privacy falls as mu
        grows.

    Notes
    -----
    Closed under products, :math:`G_\mu \otimes G_\nu = G_{\sqrt{\mu^2 + \nu^2}}`, and under groups,
    :math:`1 - (1 - G_\mu)^{\circ k} = G_{k \mu}` (Dong, Roth, Su 2022, Definition 2.6, Corollary 3.3 and
    Theorem 2.14).

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> Gaussian(3) @ Gaussian(4)
    G_{5}
    >>> round(Gaussian(1).epsilon(1e-5), 6)
    4.377178
    """

    mu: Value
    parameter = "mu"
    pattern = "G_{%s}"
    square: Fraction | None = field(default=None, init=False)
    """Exact mu^2 of a product or a group unless that of a float; ``mu`` is its root, rounded up."""

    @advise_keywords(
        lambda _: "for noise use tradeoff.mechanisms.Gaussian(noise_multiplier=...)", "the curve Gaussian"
    )
    def __init__(self, mu: Parameter) -> None:
        object.__setattr__(self, "mu", real("mu", mu, 0))
        if not is_symbol(mu) and MAX_LOSS < self.mu < math.inf:
            raise domain("mu", mu, f"in [0, {MAX_LOSS:g}], or inf")

    @property
    def weight(self) -> Fraction:
        """Exact mu^2, which adds under products."""
        return Fraction(self.mu) ** 2 if self.square is None else self.square

    @property
    def least(self) -> float:
        """Largest float at or below the exact mu."""
        return float(self.mu) if self.square is None else balls.lower_float(sqrt(to_balls(self.square)))

    @classmethod
    def product(cls, members: Sequence[tuple[Self, int]]) -> TradeOff:
        """Return the product of powers: mu^2 adds exactly, so that no order of factors matters."""
        if any(f.free_symbols for f, _ in members):
            return cls(sympy.sqrt(sum(n * f.mu * f.mu for f, n in members)))
        if any(np.isinf(f.mu) for f, _ in members):
            return cls(np.inf)
        return cls.from_weight(sum((n * f.weight for f, n in members), Fraction(0)))

    @classmethod
    def from_weight(cls, square: Fraction) -> Gaussian:
        """Return the curve of an exact mu^2 >= 0."""
        curve = cls(0.0)
        real("square", square, 0)
        mu = balls.upper_float(sqrt(to_balls(square)))  # it may leave the working range
        object.__setattr__(curve, "mu", mu)
        if Fraction(curve.mu) ** 2 != square:
            object.__setattr__(curve, "square", square)
        return curve

    formulas = Formulas(
        gaussian_beta, gaussian_profile, largest_loss=None, renyi=lambda _, mu, a: a * mu**2 / 2
    )

    def theta_ball(self) -> Balls:
        return to_balls(self.mu) if self.square is None else sqrt(to_balls(self.square))

    @property
    def _limit(self) -> ClosedForm | None:
        """The curve of mu = 0 or of an infinite one."""
        return TotalVariation(1.0) if np.isinf(self.mu) else Identity() if self.mu == 0 else None

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        if (limit := self._limit) is not None:
            return limit.beta_bounds(alpha, tol)
        if len(alpha) > MANY:
            low, high = shifted_tail(alpha, self.mu)
            return low, high if self.square is None else shifted_tail(alpha, self.least)[1]
        return super().beta_bounds(alpha, tol)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        if (limit := self._limit) is not None:
            return limit.delta_bounds(epsilon, tol)
        if len(epsilon) > MANY and self.least > 0:
            return _profile_in_floats(epsilon, self.least)[0], _profile_in_floats(epsilon, self.mu)[1]
        return super().delta_bounds(epsilon, tol)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        if (limit := self._limit) is not None:
            return limit.epsilon_bounds(delta, tol)
        if len(delta) > MANY:
            return self._many_losses(delta)
        mu, x, moving = float(self.mu), self._newton(delta), np.ones(len(delta), dtype=bool)
        for _ in range(3):  # each step doubles the digits
            at = to_balls(x[moving])
            slope = exp(at) * normal_sf(at / mu + mu / 2)
            excess = gaussian_profile(at, self.theta_ball()) - to_balls(delta[moving])
            x[moving] += (step := balls.middle(excess / slope).astype(float))
            moving[moving] = np.abs(step) > 1e-9 * mu
        root = np.where(np.isfinite(x), x, 0.0)  # nearly all digits, which bounds nothing
        points = np.stack([np.nextafter(root, -np.inf), root, np.nextafter(root, np.inf)])
        excess = gaussian_profile(to_balls(points), self.theta_ball()) - to_balls(delta)
        lower = np.max(np.where(excess >= 0, points, -np.inf), axis=0)
        upper = np.min(np.where(excess <= 0, points, np.inf), axis=0)
        rest = np.isinf(upper - lower)
        if rest.any():
            lower[rest], upper[rest] = super().epsilon_bounds(delta[rest], tol)
        return lower, upper

    def _many_losses(self, delta: Array) -> Pair:
        """Bound epsilon in floats, from roots moved by the error of delta, or in balls."""
        x = self._newton(delta)
        with np.errstate(all="ignore"):
            slope = np.exp(x + log_ndtr(-x / self.mu - self.mu / 2))
            gap = np.maximum(*(np.abs(side - delta) for side in self.delta_bounds(x, None)))
            reach = 2 * gap / slope + 4 * np.spacing(np.abs(x))
        near = reach <= 1e-10 * (np.abs(x) + self.mu)
        lower, upper = np.where(near, x - reach, x), np.where(near, x + reach, x)
        sure = near & (self.delta_bounds(lower, None)[0] >= delta)
        sure &= self.delta_bounds(upper, None)[1] <= delta
        for some in np.array_split(np.flatnonzero(~sure), np.count_nonzero(~sure) // MANY + 1):
            lower[some], upper[some] = self.epsilon_bounds(delta[some], None)
        return lower, upper

    def _newton(self, delta: Array) -> Array:
        """Return about where delta(x) = delta, which bounds nothing.

        Newton's start is Phi^-1(1 - delta) mu + mu^2/2, above the root, as delta(x) <= Phi(mu/2 - x/mu), and
        it takes steps in log delta, which is concave; below 0 it takes them in log(1 - delta).
        """
        mu, rest = float(self.mu), np.log1p(-delta)
        negative = delta > erf(mu / math.sqrt(8.0))  # delta(0)
        x = np.where(negative, rest, mu * mu / 2 - mu * ndtri(delta))
        with np.errstate(all="ignore"):
            for _ in range(8):  # of Newton's method in floats, from starts a few nats away
                a = x / mu - mu / 2
                first, second = log_ndtr(-a), x + log_ndtr(-a - mu)
                value = first + np.log1p(-np.exp(second - first))
                up = (value - np.log(delta)) * np.exp(value - second)
                value = np.logaddexp(log_ndtr(a), second)
                x = x + np.where(negative, (rest - value) * np.exp(value - second), up)
        return np.where(np.isfinite(x), x, 0.0)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        self.require_numbers()
        return Bounds(0.0, 0.0) if (limit := self._limit) is None else limit.mass_at_infinity

    @property
    def loss_bounds(self) -> Bounds[float]:
        return Bounds(np.inf, np.inf) if (limit := self._limit) is None else limit.loss_bounds

    def loss_distribution(self) -> PrivacyLossDistribution:
        if np.isinf(self.mu):
            return TotalVariation(1.0).loss_distribution()
        return GaussianLaw(float(self.mu), self.square)

    def group(self, k: Any) -> TradeOff:
        if not (k := k if is_symbol(k) else count("k", k)):
            return Identity()
        if is_symbol(k) or self.free_symbols:
            return Gaussian(k * self.mu)
        return self if np.isinf(self.mu) else self.from_weight(k * k * self.weight)
