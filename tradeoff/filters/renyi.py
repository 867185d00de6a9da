"""Filters in Renyi divergences: one order, or rho-zCDP for all of them."""

from __future__ import annotations

import math

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import real
from tradeoff.errors import KindError
from tradeoff.families.identity import Identity
from tradeoff.families.profile import Profile
from tradeoff.families.total_variation import TotalVariation
from tradeoff.filters.base import AdditiveFilter, widened
from tradeoff.filters.costs import renyi
from tradeoff.filters.zcdp import ZCDP, proved
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import TINY, Array

_ORDERS = 1 + np.geomspace(1e-3, 1e5, 400)
"""Orders by which rho-zCDP is converted, 5% apart in a - 1: the best is missed by 1e-3 of log delta."""

_POINTS = 1000
"""Losses at which the converted profile is told: the curve is the greatest f_{eps,delta} of these pairs."""

_NOTHING, _STEEPEST, _NARROWEST = 60.0, 700.0, 1e-9
"""Left out of a profile: what is below e^-60, and losses beyond 700, where e^eps ends; its least width."""


class RenyiFilter(AdditiveFilter):
    """Grant steps while their Renyi divergences of one order add up to epsilon at most: (order, epsilon)-RDP.

    Parameters
    ----------
    order
        Order of the divergence, in (1, 1e6].
    epsilon
        Budget in nats, in [0, 1e6]; ``spent``, ``remaining`` and ``budget`` are in nats.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Feldman, Zrnic 2021, Theorem 4.3; Lecuyer 2021. A step is charged its divergence in the worse order of the
    pair.

    Examples
    --------
    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.RenyiFilter(8, 1)
    >>> budget.spend(Gaussian(0.1))
    >>> round(budget.spent, 6), round(budget.guarantee().epsilon(1e-5), 6)
    (0.04, 2.214116)
    """

    kind = "renyi"

    def __init__(self, order: float, epsilon: float) -> None:
        self.order = float(real("order", order, 1, 1e6, open_low=True))
        self.epsilon = float(real("epsilon", epsilon, 0, 1e6))
        super().__init__(self.epsilon)

    def _asked(self, curve: TradeOff) -> tuple[float]:
        divergence = renyi(curve, self.order)
        if math.isinf(divergence):
            what = f"no finite Renyi divergence of order {self.order:g} is proved for {curve!r}"
            raise KindError(f"{what}; spend a curve that bounds it")
        return (divergence,)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: what (order, epsilon)-RDP implies, a lower bound."""
        return converted(np.array([self.order]), np.array([widened(self.epsilon)]))


class RhoFilter(AdditiveFilter):
    """Grant steps while sum rho_k <= rho and sum delta_k <= delta: the whole is delta-approximately rho-zCDP.

    Parameters
    ----------
    rho
        Budget, in [0, 1e6].
    delta
        Budget for the failure probabilities of steps that are only approximately zCDP, in [0, 1).

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Feldman, Zrnic 2021, for every order at once; with deltas, Whitehouse, Ramdas, Wu, Rogers 2023. ``spent``,
    ``remaining`` and ``budget`` are pairs (rho, delta).

    Examples
    --------
    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.RhoFilter(0.5)
    >>> for _ in range(100):
    ...     budget.spend(Gaussian(0.1))
    >>> budget.would_exceed(Gaussian(0.001)), round(budget.guarantee().epsilon(1e-5), 4)
    (True, 4.7285)
    """

    kind = "rho-zcdp"
    amounts = ZCDP

    def __init__(self, rho: float, *, delta: float = 0.0) -> None:
        self.rho = float(real("rho", rho, 0, 1e6))
        self.delta = float(real("delta", delta, 0, 1, open_high=True))
        super().__init__(self.rho, self.delta)

    def _asked(self, curve: TradeOff) -> tuple[float, float]:
        return proved(curve)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: what approximate rho-zCDP implies, a lower bound."""
        divergences = (Bounds.of(_ORDERS) * widened(self.rho)).upper
        return converted(_ORDERS, divergences) @ TotalVariation(min(widened(self.delta), 1.0))


def converted(orders: Array, divergences: Array) -> TradeOff:
    """Curve below every one with these Renyi divergences in both orders.

    delta(eps) = min_a e^((a-1)(D_a - eps)) (1 - 1/a)^a/(a - 1) (Canonne, Kamath, Steinke 2020, Proposition
    12); each order bounds delta, so a finite choice of them does.
    """
    if not np.any(divergences):
        return Identity()
    top = float(np.min(divergences + (_NOTHING + _log_front(orders)) / (orders - 1)))
    epsilon = np.linspace(0.0, min(max(top, _NARROWEST), _STEEPEST), _POINTS)
    # The exponential's few units are in the slack of the logarithm, which is 90 of them.
    delta = np.maximum(np.exp(np.minimum(log_delta(orders, divergences, epsilon), 0.0)), TINY)
    return Profile.from_epsilon_delta(dict(zip(epsilon.tolist(), delta.tolist(), strict=True)))


def log_delta(orders: Array, divergences: Array, epsilon: Array) -> Array:
    """Return the logarithm of that delta(eps), rounded up."""
    x = orders - 1
    exponents = x * (divergences - epsilon[:, None]) + _log_front(orders)
    # Each part is good to a few units of its size, fewer than 90 in all.
    slack = 1e-14 * (1 + np.abs(np.log(x)) + x * (divergences + epsilon[:, None]))
    return np.asarray(np.min(exponents + slack, axis=1))


def _log_front(orders: Array) -> Array:
    """Return log((1 - 1/a)^a/(a - 1)); nothing cancels in 1 - 1/a = 1/(1 + 1/(a - 1))."""
    return -orders * np.log1p(1 / (orders - 1)) - np.log(orders - 1)
