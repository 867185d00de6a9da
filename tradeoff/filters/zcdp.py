"""Filters in epsilon: pure losses add; so do rho and delta, to be converted to (epsilon, delta) once."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar, NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.errors import DomainError, KindError, domain, shown
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.pure_dp import PureDP
from tradeoff.filters.base import SLACK, Filter, widened
from tradeoff.filters.costs import REMEMBERED, pure_loss, sampled, square, zcdp
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log, sqrt


class ZCDP(NamedTuple):
    """Concentrated loss: delta-approximate rho-zCDP."""

    rho: float
    delta: float


class Converted(Filter):
    """Filter that adds up rho, or a multiple, and delta, and converts them into (epsilon, delta) once."""

    largest: ClassVar[float]
    """Largest epsilon it may have."""

    per_rho: ClassVar[float] = 1.0
    """Units of its first sum in one rho."""

    def __init__(self, epsilon: float, delta: float, *, step_delta: float = 0.0) -> None:
        self.epsilon = number("epsilon", epsilon, 0, self.largest)
        self.delta = number("delta", delta, 0, 1, open_low=True, open_high=True)
        self.step_delta = number("step_delta", step_delta, 0, self.delta, open_high=True)
        rho = rho_for(self.epsilon, self.delta, self.step_delta)
        super().__init__(self.per_rho * rho, self.step_delta)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: f_{epsilon,delta}, as promised to the last bit."""
        return approximate_dp(self.epsilon, self.delta)


class ZCDPFilter(Converted):
    """Grant steps while sum rho + 2 sqrt(sum rho log(1/delta'')) <= epsilon and sum delta <= step_delta.

    The whole interaction is (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon
        Loss of the whole interaction in nats, in [0, 1e300].
    delta
        Failure probability of the whole interaction, in (0, 1).
    step_delta
        Share of ``delta`` kept for steps that are only approximately zCDP, in [0, delta); the rest, delta'',
        pays for the conversion.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 1, and Rogers, Samorodnitsky, Wu, Ramdas 2023, Theorem 2,
    with the conversion of Bun, Steinke 2016. The slack of the sums is paid from the budget: rho is 1e-12 of
    itself below what epsilon allows, and delta'' what step_delta with its slack leaves. ``spent``,
    ``remaining`` and ``budget`` are pairs (rho, delta).

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
    largest = 1e300

    def _asked(self, curve: TradeOff) -> tuple[float, float]:
        return proved(curve)


class PureDPFilter(Filter):
    """Grant steps while the sum of epsilon_k stays within epsilon: the whole interaction is epsilon-DP.

    Parameters
    ----------
    epsilon
        Budget in nats, in [0, 1e300]; ``spent``, ``remaining`` and ``budget`` are in nats.

    Raises
    ------
    DomainError
        If ``epsilon`` is out of range.

    Notes
    -----
    Rogers, Roth, Ullman, Vadhan 2016, Theorem 3.6: basic composition holds for adaptively chosen parameters.

    Examples
    --------
    >>> from tradeoff import Laplace, filters
    >>> budget = filters.PureDPFilter(1)
    >>> for _ in range(10):
    ...     budget.spend(Laplace(0.1))
    >>> budget.would_exceed(Laplace(0.001)), budget.guarantee()
    (True, f_{1,0} (not exact))
    """

    kind = "pure-dp"

    def __init__(self, epsilon: float) -> None:
        self.epsilon = number("epsilon", epsilon, 0, 1e300)
        super().__init__(self.epsilon)

    def _asked(self, curve: TradeOff) -> tuple[float]:
        epsilon, delta = pure_loss(curve)
        if delta > 0 or math.isinf(epsilon):
            why = "as its losses are unbounded, or some are infinite; spend it in a filter with a delta"
            raise KindError(f"{shown(curve)} is epsilon-DP for no epsilon, {why}")
        return (epsilon,)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: f_{epsilon,0}, with epsilon widened by the slack of the sum."""
        return PureDP(widened(self.epsilon))


class Approximate(NamedTuple):
    """Squared losses and failure probabilities, summed over the steps."""

    epsilon_squared: float
    delta: float


class ApproximateDPFilter(Converted):
    """Grant steps while sqrt(2 log(1/delta') V) + V/2 <= epsilon, V = sum eps_k^2: (epsilon, delta)-DP.

    The steps' own deltas stay within step_delta.

    Parameters
    ----------
    epsilon
        Loss of the whole interaction in nats, in [0, 1e150].
    delta
        Failure probability of the whole interaction, in (0, 1).
    step_delta
        Share of ``delta`` kept for the steps' own, in [0, delta); the rest is delta'.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 2: advanced composition at no loss for adaptivity. A step is
    charged the least (eps, delta) with delta its mass at infinite loss; state another pair as
    ``approximate_dp(eps, delta)``. ``spent``, ``remaining`` and ``budget`` are pairs (sum of eps^2, sum of
    delta).

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
    largest = 1e150
    per_rho = 2.0  # V/2 is the rho of the same sums

    def _asked(self, curve: TradeOff) -> tuple[float, float]:
        epsilon, delta = pure_loss(curve)
        if math.isinf(epsilon):
            raise KindError(
                f"{shown(curve)} has unbounded losses; choose a delta for it, within step_delta, "
                "and spend approximate_dp(curve.epsilon(delta), delta)"
            )
        return square(epsilon), delta


def proved(curve: TradeOff) -> tuple[float, float]:
    """Return the (rho, delta) of a step; raise where no finite rho is known."""
    if sampled(curve):
        raise KindError(
            f"{shown(curve)} is sampled, and rho-zCDP, which asks for all orders, charges it as if it were "
            "not: spend it in a SampledFilter or a RenyiFilter, or here the curve of the whole step, if meant"
        )
    rho, delta = zcdp(curve)
    if math.isinf(rho):
        raise KindError(
            f"no finite rho is proved for {shown(curve)}; spend approximate_dp(epsilon, delta) in its place, "
            "with a delta of its own, in a filter that has one for its steps"
        )
    return rho, delta


@lru_cache(maxsize=REMEMBERED)
def rho_for(epsilon: float, delta: float, step_delta: float) -> float:
    """Return the rho that, with the slack of both sums, is (epsilon, delta)-DP."""
    # Twice the slack: more than any way to round the sum lets through.
    rest = (delta - Bounds.of(step_delta) * (1 + 2 * SLACK)).lower
    if not rest > 0:
        raise domain(
            "step_delta", step_delta, f"[0, delta = {delta!r})", "leave a share of delta for the conversion"
        )
    return float((Bounds.of(rho_within(epsilon, rest)) / (1 + SLACK)).lower)


def rho_within(epsilon: float, delta: float) -> float:
    """Return the largest rho with rho + 2 sqrt(rho log(1/delta)) <= epsilon, rounded down.

    Examples
    --------
    >>> rho = rho_within(1.0, 1e-6)
    >>> round(rho + 2 * math.sqrt(rho * math.log(1e6)), 12)
    1.0
    """
    if not delta > 0:
        raise DomainError(f"delta = {delta!r} is outside (0, 1); a conversion needs a failure probability")
    if not epsilon > 0:
        return 0.0
    needed = -log(delta)
    root = epsilon / (sqrt(needed + epsilon) + sqrt(needed))
    return float((root * root).lower)
