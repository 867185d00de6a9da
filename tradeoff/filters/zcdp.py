"""Filters in epsilon, rho and Renyi divergence: costs that add, converted to a curve once, at the end."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

from tradeoff.conversions import from_renyi, from_zcdp
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.filters.base import SLACK, Filter, loss_budget, widen
from tradeoff.filters.step_cost import is_sampled, pure_loss, renyi, square, zcdp
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log, sqrt


class PureDPFilter(Filter):
    """Grant steps while the sum of epsilon_k stays within epsilon: the whole interaction is epsilon-DP.

    Rogers, Roth, Ullman, Vadhan 2016, Theorem 3.6: basic composition holds for adaptively chosen parameters.

    Parameters
    ----------
    epsilon : budget in nats, in [0, 1e4]

    Examples
    --------
    >>> from tradeoff import Laplace, filters
    >>> budget = filters.PureDPFilter(1)
    >>> budget.spend(Laplace(0.1) ** 10)
    >>> budget.would_exceed(Laplace(0.001)), budget.guarantee()
    (True, f_{1,0} (not exact))
    """

    kind = "pure-dp"

    def __init__(self, epsilon: float) -> None:
        self.epsilon = loss_budget("epsilon", epsilon)
        super().__init__(self.epsilon)

    def _cost(self, curve: TradeOff) -> tuple[float]:
        epsilon, delta = pure_loss(curve)
        if delta > 0 or math.isinf(epsilon):
            raise KindError(
                f"{shown(curve)} is epsilon-DP for no epsilon, as its losses are unbounded, or some are "
                "infinite; spend it in a filter with a delta"
            )
        return (epsilon,)

    def _curve(self) -> TradeOff:
        return PureDP(widen(self.epsilon).upper)


class RenyiFilter(Filter):
    """Grant steps while their Renyi divergences of one order add up to epsilon at most: (order, epsilon)-RDP.

    Feldman, Zrnic 2021, Theorem 4.3; Lecuyer 2021. A step is charged its divergence in the worse order of the
    pair. ``guarantee()`` is the curve that (order, epsilon)-RDP implies, a lower bound.

    Parameters
    ----------
    order : order of the divergence, in (1, 1e6]
    epsilon : budget in nats, in [0, 1e6]

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

    def _cost(self, curve: TradeOff) -> tuple[float]:
        divergence = renyi(curve, self.order)
        if math.isinf(divergence):
            raise KindError(
                f"no finite Renyi divergence of order {self.order:g} is proved for {shown(curve)}; "
                "spend a curve that bounds it"
            )
        return (divergence,)

    def _curve(self) -> TradeOff:
        return from_renyi({self.order: widen(self.epsilon).upper})


class ZCDP(NamedTuple):
    """Concentrated loss: delta-approximate rho-zCDP."""

    rho: float
    delta: float


class Approximate(NamedTuple):
    """Squared losses and failure probabilities, summed over the steps."""

    epsilon_squared: float
    delta: float


class RhoFilter(Filter):
    """Grant steps while sum rho_k <= rho and sum delta_k <= delta: the whole is delta-approximately rho-zCDP.

    Feldman, Zrnic 2021, for every order at once; with deltas, Whitehouse, Ramdas, Rogers, Wu 2023. ``spent``,
    ``remaining`` and ``budget`` are pairs (rho, delta).

    Parameters
    ----------
    rho : budget, in [0, 1e6]
    delta : budget for the failure probabilities of approximately zCDP steps, in [0, 1)

    Examples
    --------
    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.RhoFilter(0.5)
    >>> budget.spend(Gaussian(0.1) ** 100)
    >>> budget.would_exceed(Gaussian(0.001)), round(budget.guarantee().epsilon(1e-5), 3)
    (True, 4.728)
    """

    kind = "rho-zcdp"
    amounts = ZCDP

    def __init__(self, rho: float, *, delta: float = 0.0) -> None:
        self.rho = number("rho", rho, 0, 1e6)
        self.delta = number("delta", delta, 0, 1, open_high=True)
        super().__init__(self.rho, self.delta)

    def _cost(self, curve: TradeOff) -> tuple[float, float]:
        return zcdp_cost(curve)

    def _curve(self) -> TradeOff:
        return from_zcdp(widen(self.rho).upper) @ TotalVariation(min(widen(self.delta).upper, 1.0))


class _ConvertedFilter(Filter):
    """Filter that adds up a multiple of rho, and delta, and converts them into (epsilon, delta) once."""

    per_rho: ClassVar[float] = 1.0
    """Units of its first sum in one rho."""

    def __init__(self, epsilon: float, delta: float, *, step_delta: float = 0.0) -> None:
        self.epsilon = number("epsilon", epsilon, 0, 1e4)
        self.delta = number("delta", delta, 0, 1, open_low=True, open_high=True)
        self.step_delta = number("step_delta", step_delta, 0, self.delta, open_high=True)
        # Twice the slack: more than any rounding of the sum admits.
        rest = (self.delta - Bounds.of(self.step_delta) * (1 + 2 * SLACK)).lower
        if not rest > 0:
            raise DomainError(
                f"step_delta must leave a share of delta = {delta!r} to convert, got {step_delta!r}"
            )
        rho = float((Bounds.of(rho_within(self.epsilon, rest)) / (1 + SLACK)).lower)
        super().__init__(self.per_rho * rho, self.step_delta)

    def _curve(self) -> TradeOff:
        return approximate_dp(self.epsilon, self.delta)


class ZCDPFilter(_ConvertedFilter):
    """Grant steps while sum rho + 2 sqrt(sum rho log(1/delta'')) <= epsilon and sum delta <= step_delta.

    The whole interaction is (epsilon, delta)-DP: Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 1, and
    Rogers, Samorodnitsky, Wu, Ramdas 2023, Theorem 2, with the conversion of Bun, Steinke 2016. The slack of
    the sums is paid from the budget: rho is 1e-12 of itself below the largest that epsilon allows, and
    delta'' accounts for the slack of step_delta. ``spent``, ``remaining`` and ``budget`` are pairs (rho,
    delta).

    Parameters
    ----------
    epsilon : loss of the whole interaction in nats, in [0, 1e4]
    delta : failure probability of the whole interaction, in (0, 1)
    step_delta : share of ``delta`` for approximately zCDP steps, in [0, delta); the rest is delta''

    Examples
    --------
    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.ZCDPFilter(1, 1e-6)
    >>> budget.spend(Gaussian(0.1))
    >>> round(budget.spent.rho, 6), round(budget.budget.rho, 6)
    (0.005, 0.017469)
    """

    kind = "zcdp"
    amounts = ZCDP

    def _cost(self, curve: TradeOff) -> tuple[float, float]:
        return zcdp_cost(curve)


class ApproximateDPFilter(_ConvertedFilter):
    """Grant steps while sqrt(2 log(1/delta') V) + V/2 <= epsilon, V = sum eps_k^2: (epsilon, delta)-DP.

    The steps' own deltas stay within step_delta. Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 2: advanced
    composition at no loss for adaptivity. A step is charged the least (eps, delta) with delta its mass at
    infinite loss; state another pair as ``approximate_dp(eps, delta)``. ``spent``, ``remaining`` and
    ``budget`` are pairs (sum of eps^2, sum of delta).

    Parameters
    ----------
    epsilon : loss of the whole interaction in nats, in [0, 1e4]
    delta : failure probability of the whole interaction, in (0, 1)
    step_delta : share of ``delta`` for the deltas of steps, in [0, delta); the rest is delta'

    Examples
    --------
    >>> from tradeoff import approximate_dp, filters
    >>> budget = filters.ApproximateDPFilter(1, 1e-5, step_delta=5e-6)
    >>> while not budget.would_exceed(approximate_dp(0.1, 1e-8)):
    ...     budget.spend(approximate_dp(0.1, 1e-8))
    >>> budget.steps
    3
    """

    kind = "approximate-dp"
    amounts = Approximate
    per_rho = 2.0  # V/2 is the rho of the same sums

    def _cost(self, curve: TradeOff) -> tuple[float, float]:
        epsilon, delta = pure_loss(curve)
        if math.isinf(epsilon):
            raise KindError(
                f"{shown(curve)} has unbounded losses; choose a delta for it, within step_delta, "
                "and spend approximate_dp(curve.epsilon(delta), delta)"
            )
        return square(epsilon), delta


def zcdp_cost(curve: TradeOff) -> tuple[float, float]:
    """Return the (rho, delta) of a step; raise where no finite rho is proved."""
    if is_sampled(curve):
        raise KindError(
            f"{shown(curve)} is sampled, and rho-zCDP, a bound for all orders, charges it as if it were not: "
            "spend it in a SampledFilter or a RenyiFilter, or here the curve of the whole step, if meant"
        )
    rho, delta = zcdp(curve)
    if math.isinf(rho):
        raise KindError(
            f"no finite rho is proved for {shown(curve)}; spend approximate_dp(epsilon, delta) in its place, "
            "with a delta of its own, in a filter that has one for its steps"
        )
    return rho, delta


def rho_within(epsilon: float, delta: float) -> float:
    """Return the largest rho with rho + 2 sqrt(rho log(1/delta)) <= epsilon, rounded down.

    >>> rho = rho_within(1.0, 1e-6)
    >>> round(rho + 2 * math.sqrt(rho * math.log(1e6)), 12)
    1.0
    """
    if not delta > 0:
        raise DomainError(f"delta must be in (0, 1), got {delta!r}")
    if not epsilon > 0:
        return 0.0
    cost = -log(delta)
    root = epsilon / (sqrt(cost + epsilon) + sqrt(cost))
    return float((root * root).lower)
