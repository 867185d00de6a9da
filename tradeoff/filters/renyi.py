"""Filters in Renyi divergences: one order, or rho-zCDP for all of them."""

from __future__ import annotations

import math

from tradeoff.conversions import from_renyi, from_zcdp
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.errors import KindError, shown
from tradeoff.families.total_variation import TotalVariation
from tradeoff.filters.base import Filter, widened
from tradeoff.filters.costs import renyi
from tradeoff.filters.zcdp import ZCDP, proved


class RenyiFilter(Filter):
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
    >>> round(budget.spent, 6), round(budget.guarantee().epsilon(1e-5), 3)
    (0.04, 2.214)
    """

    kind = "renyi"

    def __init__(self, order: float, epsilon: float) -> None:
        self.order = number("order", order, 1, 1e6, open_low=True)
        self.epsilon = number("epsilon", epsilon, 0, 1e6)
        super().__init__(self.epsilon)

    def _asked(self, curve: TradeOff) -> tuple[float]:
        divergence = renyi(curve, self.order)
        if math.isinf(divergence):
            what = f"no finite Renyi divergence of order {self.order:g} is proved for {shown(curve)}"
            raise KindError(f"{what}; spend a curve that bounds it")
        return (divergence,)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: what (order, epsilon)-RDP implies, a lower bound."""
        return from_renyi({self.order: widened(self.epsilon)})


class RhoFilter(Filter):
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
    Feldman, Zrnic 2021, for every order at once; with deltas, Whitehouse, Ramdas, Rogers, Wu 2023. ``spent``,
    ``remaining`` and ``budget`` are pairs (rho, delta).

    Examples
    --------
    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.RhoFilter(0.5)
    >>> for _ in range(100):
    ...     budget.spend(Gaussian(0.1))
    >>> budget.would_exceed(Gaussian(0.001)), round(budget.guarantee().epsilon(1e-5), 3)
    (True, 4.728)
    """

    kind = "rho-zcdp"
    amounts = ZCDP

    def __init__(self, rho: float, *, delta: float = 0.0) -> None:
        self.rho = number("rho", rho, 0, 1e6)
        self.delta = number("delta", delta, 0, 1, open_high=True)
        super().__init__(self.rho, self.delta)

    def _asked(self, curve: TradeOff) -> tuple[float, float]:
        return proved(curve)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: what approximate rho-zCDP implies, a lower bound."""
        return from_zcdp(widened(self.rho)) @ TotalVariation(min(widened(self.delta), 1.0))
