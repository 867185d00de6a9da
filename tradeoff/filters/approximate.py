"""Filters in (epsilon, delta): pure losses add, and approximate ones by advanced composition."""

from __future__ import annotations

import math
from typing import NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.errors import KindError, shown
from tradeoff.families.pure_dp import PureDP
from tradeoff.filters.base import Filter, widened
from tradeoff.filters.costs import pure_loss, square
from tradeoff.filters.zcdp import Converted


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
    (True, f_{1,0})
    """

    kind = "pure-dp"

    def __init__(self, epsilon: float) -> None:
        self.epsilon = number("epsilon", epsilon, 0, 1e300, down=True)
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
