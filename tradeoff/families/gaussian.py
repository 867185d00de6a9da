"""The Gaussian family G_mu = T(N(0,1), N(mu,1))."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import Parameter, Value, count, is_symbol, real, written
from tradeoff.errors import DomainError, domain
from tradeoff.families._symmetric import SymmetricFamily
from tradeoff.families.identity import Identity
from tradeoff.families.later import sympy
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.normal import hockey_stick, shifted_tail
from tradeoff.intervals.roots import FARTHEST, bracket_sides
from tradeoff.intervals.rounding import TINY, UNIT, Array, square_root
from tradeoff.loss.gaussian import GaussianLaw

_BLUNT = 1e6  # a shift from which on f(alpha) is below all floats for every alpha > 0 that is one
_UNRESOLVED = 1e15  # a shift from which on neighbouring floats epsilon have delta near 1 and near 0


@dataclass(frozen=True, repr=False)
class Gaussian(SymmetricFamily):
    """Testing N(0,1) against N(mu,1): G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu).

    Parameters
    ----------
    mu
        Shift in standard deviations, in [0, inf], or a SymPy expression. Privacy falls as mu grows.

    Notes
    -----
    Closed under products, G_mu (x) G_nu = G_sqrt(mu^2 + nu^2), and under groups, group(k) = G_{k mu}
    (Dong, Roth, Su 2022, Definition 2.6, Corollary 3.3 and Theorem 2.14).

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
    square: Fraction | None = field(default=None, init=False)
    """Exact mu^2 of a product or a group where it is that of no float; ``mu`` is its root, rounded up."""

    def __init__(self, mu: Parameter) -> None:
        object.__setattr__(self, "mu", real("mu", mu, 0, up=True))

    @property
    def weight(self) -> Fraction:
        """mu^2, exactly, of a finite number."""
        return Fraction(self.mu) ** 2 if self.square is None else self.square

    @property
    def least(self) -> float:
        """The largest float that is at most the exact mu."""
        return float(self.mu) if self.square is None else math.nextafter(self.mu, 0.0)

    @property
    def nearest(self) -> float:
        """The float next to the exact mu, a unit away at most, as what is computed from it allows for."""
        return float(self.mu) if self.square is None else square_root(self.square) or float(self.mu)

    @classmethod
    def product(cls, members: Sequence[tuple[Self, int]]) -> TradeOff:
        """Return the product of powers: mu^2 adds, in fractions: nothing underflows, no order matters."""
        if any(f.free_symbols for f, _ in members):
            return cls(sympy.sqrt(sum(n * f.mu * f.mu for f, n in members)))
        if any(np.isinf(f.mu) for f, _ in members):
            return cls(np.inf)
        return cls.of_square(sum((n * f.weight for f, n in members), Fraction(0)))

    @classmethod
    def of_square(cls, square: Fraction) -> Gaussian:
        """Return the curve of an exact mu^2 >= 0."""
        if square < 0:
            raise domain("square", square, "[0, inf)")
        mu = square_root(square)
        if mu < np.inf and Fraction(mu) ** 2 < square:
            mu = math.nextafter(mu, np.inf)
        if mu == np.inf:
            raise DomainError("the mu of a product is above all floats; compose fewer, or smaller ones")
        found = cls(mu)
        if Fraction(mu) ** 2 > square:
            object.__setattr__(found, "square", square)
        return found

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        if np.isinf(self.mu):
            return np.zeros_like(alpha), np.zeros_like(alpha)
        if self.mu == 0:
            return tuple(1 - Bounds.of(alpha))
        # Beyond ``_BLUNT`` both are 0 but for rounding, and f falls with mu.
        low, high = shifted_tail(alpha, min(self.nearest, _BLUNT))
        return np.where(alpha == 0, 1.0, low), high

    def _tail(self, epsilon: Array) -> Pair:
        if np.isinf(self.mu):
            return np.ones_like(epsilon), np.ones_like(epsilon)
        if self.mu == 0:
            return np.zeros_like(epsilon), np.zeros_like(epsilon)
        # Dong, Roth, Su 2022, Corollary 2.13.
        if self.mu < _BLUNT:
            return hockey_stick(epsilon, self.nearest)
        # delta <= Phi(-a) with a = eps/mu - mu/2, and 1 - delta <= Phi(a) + phi(a)/mu: no float tells them
        # from 0 beyond 40.
        above, below = epsilon / self.mu, self.mu / 2
        low, high = np.where(above < below, 1 - UNIT, 0.0), np.where(above < below, 1.0, TINY)
        near = np.abs(above - below) - 8 * UNIT * (above + below) < 40  # each is rounded once, and so is a
        known = hockey_stick(epsilon[near], self.nearest) if self.mu < _UNRESOLVED else (0.0, 1.0)
        low[near], high[near] = known
        return low, high

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        # mu^2 is above mu^2/2 - mu Phi^-1(delta), where the loss of a large mu is.
        farthest = max(FARTHEST, self.mu * self.mu)
        return bracket_sides(lambda epsilon: self.delta_bounds(epsilon, None), delta, farthest=farthest)

    @property
    def q_plus(self) -> float:
        return float(np.isinf(self.mu))

    @property
    def sup_loss(self) -> float:
        return np.inf if self.mu > 0 else 0.0

    @property
    def least_sup_loss(self) -> float:
        return self.sup_loss if np.isfinite(self.mu) else -np.inf  # all its losses are infinite

    def loss_law(self) -> GaussianLaw:
        return GaussianLaw(self.nearest, self.square)

    def group(self, k: int) -> TradeOff:
        if not (k := k if is_symbol(k) else count("k", k)):
            return Identity()
        if is_symbol(k) or self.free_symbols:
            return Gaussian(k * self.mu)
        if np.isinf(self.mu):
            return self
        return self.of_square(k * k * self.weight)

    def renyi_bounds(self, order: float) -> Bounds:
        """Bound the Renyi divergence of the given order, order mu^2/2, in nats."""
        shift = Bounds(self.least, float(self.mu))
        return Bounds.of(order) * shift * shift / 2

    @property
    def notation(self) -> str:
        return f"G_{{{written(self.mu)}}}"
