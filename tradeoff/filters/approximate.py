"""Filters in (epsilon, delta): pure losses add, and approximate ones by advanced composition."""

from __future__ import annotations

import math
from typing import NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import real
from tradeoff.errors import KindError
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.pure_dp import PureDP
from tradeoff.filters.base import SLACK, AdditiveFilter
from tradeoff.filters.costs import pure_loss, square
from tradeoff.filters.zcdp import rho_for
from tradeoff.intervals.rounding import UNIT


class PureDPFilter(AdditiveFilter):
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
        self.epsilon = float(real("epsilon", epsilon, 0, 1e300))
        super().__init__(self.epsilon)

    @property
    def parameters(self) -> dict[str, float]:
        return {"epsilon": self.epsilon}

    def _asked(self, curve: TradeOff) -> tuple[float]:
        epsilon, delta = pure_loss(curve)
        if delta > 0 or math.isinf(epsilon):
            raise KindError(
                f"{curve!r} is epsilon-DP for no epsilon, as its losses are unbounded; spend it in an ApproximateDPFilter"
            )
        return (epsilon,)

    def _shown(self, asked: tuple[float, ...]) -> float:
        return asked[0]

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: f_{epsilon,0}, with epsilon widened by the slack of the sum."""
        return PureDP(self.epsilon * (1 + SLACK + 16 * UNIT))


class Approximate(NamedTuple):
    """Squared losses and failure probabilities, summed over the steps."""

    epsilon_squared: float
    delta: float


class ApproximateDPFilter(AdditiveFilter):
    """Grant steps while sqrt(2 log(1/delta') V) + V/2 <= epsilon, V = sum eps_k^2, and sum delta_k <= step_delta: (epsilon, delta)-DP.

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
    Whitehouse, Ramdas, Wu, Rogers 2023, Theorem 1: advanced composition at no loss for adaptivity. A step is charged the least
    (eps, delta) with delta its mass at infinite loss; state another pair as ``approximate_dp(eps, delta)``. ``spent``, ``remaining``
    and ``budget`` are pairs (sum of eps^2, sum of delta).

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

    def __init__(self, epsilon: float, delta: float, *, step_delta: float = 0.0) -> None:
        self.epsilon = float(real("epsilon", epsilon, 0, 1e150))
        self.delta = float(real("delta", delta, 0, 1, open_low=True, open_high=True))
        self.step_delta = float(real("step_delta", step_delta, 0, self.delta, open_high=True))
        # V/2 is the rho of the same sums.
        super().__init__(2 * rho_for(self.epsilon, self.delta, self.step_delta), self.step_delta)

    @property
    def parameters(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "delta": self.delta, "step_delta": self.step_delta}

    def _asked(self, curve: TradeOff) -> tuple[float, float]:
        epsilon, delta = pure_loss(curve)
        if math.isinf(epsilon):
            raise KindError(
                f"{curve!r} has unbounded losses; choose a delta for it, within step_delta, "
                "and spend approximate_dp(curve.epsilon(delta), delta)"
            )
        return square(epsilon), delta

    def _shown(self, asked: tuple[float, ...]) -> Approximate:
        return Approximate(*asked)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: f_{epsilon,delta}, as promised to the last bit: the slack of the sums is paid from the budget."""
        return approximate_dp(self.epsilon, self.delta)
