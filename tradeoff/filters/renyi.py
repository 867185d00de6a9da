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
from tradeoff.filters.base import SLACK, AdditiveFilter
from tradeoff.filters.costs import renyi, zcdp
from tradeoff.filters.zcdp import ZCDP
from tradeoff.intervals.rounding import TINY, UNIT, Array

_ORDERS = 1 + np.geomspace(1e-3, 1e5, 400)
_POINTS = 1000


class RenyiFilter(AdditiveFilter):
    """Grant steps while the sum of their Renyi divergences of one order stays within epsilon: (order, epsilon)-RDP.

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
    Feldman, Zrnic 2021, Theorem 4.3; Lecuyer 2021. A step is charged its divergence in the worse order of the pair.

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

    @property
    def parameters(self) -> dict[str, float]:
        return {"order": self.order, "epsilon": self.epsilon}

    def _asked(self, curve: TradeOff) -> tuple[float]:
        divergence = renyi(curve, self.order)
        if math.isinf(divergence):
            raise KindError(
                f"no finite Renyi divergence of order {self.order:g} is proved for {curve!r}; spend a curve that bounds it"
            )
        return (divergence,)

    def _shown(self, asked: tuple[float, ...]) -> float:
        return asked[0]

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: what (order, epsilon)-RDP implies, a lower bound."""
        return converted(np.array([self.order]), np.array([self.epsilon]))


class RhoFilter(AdditiveFilter):
    """Grant steps while sum rho_k <= rho and sum delta_k <= delta: the whole interaction is delta-approximately rho-zCDP.

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
    Feldman, Zrnic 2021, for every order at once; with deltas, Whitehouse, Ramdas, Wu, Rogers 2023. ``spent``, ``remaining`` and
    ``budget`` are pairs (rho, delta).

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

    def __init__(self, rho: float, *, delta: float = 0.0) -> None:
        self.rho = float(real("rho", rho, 0, 1e6))
        self.delta = float(real("delta", delta, 0, 1, open_high=True))
        super().__init__(self.rho, self.delta)

    @property
    def parameters(self) -> dict[str, float]:
        return {"rho": self.rho, "delta": self.delta}

    def _asked(self, curve: TradeOff) -> tuple[float, float]:
        rho, delta = zcdp(curve)
        if math.isinf(rho):
            raise KindError(
                f"no finite rho is proved for {curve!r}; spend approximate_dp(epsilon, delta) in its place, with a delta of its own"
            )
        return rho, delta

    def _shown(self, asked: tuple[float, ...]) -> ZCDP:
        return ZCDP(*asked)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: what approximate rho-zCDP implies, a lower bound."""
        delta = min(self.delta * (1 + SLACK + 16 * UNIT), 1.0)
        return converted(_ORDERS, self.rho * _ORDERS) @ TotalVariation(delta)


def converted(orders: Array, divergences: Array) -> TradeOff:
    """Curve below every one with these Renyi divergences in both orders: delta(eps) = min_a e^((a-1)(D_a - eps)) (1 - 1/a)^a/(a - 1).

    Canonne, Kamath, Steinke 2020, Proposition 12; each order bounds delta, so a finite choice of them does.
    """
    if not np.any(divergences):
        return Identity()
    divergences = divergences * (1 + SLACK + 16 * UNIT)
    # Where the smallest order alone gives e^-60, nothing is left to say.
    top = float(np.min(divergences + (60 + _log_front(orders)) / (orders - 1)))
    epsilon = np.linspace(0.0, min(max(top, 1e-9), 700.0), _POINTS)
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
    """Return log((1 - 1/a)^a/(a - 1)); 1 - 1/a = 1/(1 + 1/(a - 1)), where nothing cancels before the logarithm."""
    return -orders * np.log1p(1 / (orders - 1)) - np.log(orders - 1)
