"""Randomised response, and mechanisms of which only the (epsilon, delta) guarantee is known."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradeoff.curves.contract import TradeOff
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.identity import Identity
from tradeoff.families.pure_dp import PureDP as PureDPCurve
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp
from tradeoff.mechanisms.base import LOSS, SHARE, Mechanism, wholes, within
from tradeoff.mechanisms.local import three_losses


@dataclass(frozen=True)
class RandomizedResponse(Mechanism):
    """Answer truly with probability e^eps/(e^eps + k - 1), else with one of k - 1 others, each alike.

    Parameters
    ----------
    epsilon
        Log ratio of the true answer to any other, in nats, in [0, 700].
    categories
        Number k of possible answers, a whole number from 2.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact, for replaced answers: one more record is one more answer, which shows. With D = e^eps + k - 1 the
    curve has the vertices (0, 1), (1/D, (k-1)/D),
    ((k-1)/D, 1/D), (1, 0): above f_{eps,0} for k > 2, and equal to it for k = 2 (Kairouz, Oh, Viswanath
    2015). The vertices are rounded to floats below the curve, and ``bounds`` hold that one's answers.

    Examples
    --------
    >>> RandomizedResponse(epsilon=0.3).curve()
    f_{0.3,0}
    >>> many = RandomizedResponse(epsilon=1, categories=10).curve()
    >>> many.delta(0) < PureDP(epsilon=1).curve().delta(0)
    True
    """

    kind = "randomized-response"

    epsilon: float = field(metadata=within(0, 700))
    categories: int = field(default=2, metadata=wholes(2))

    def curve(self) -> TradeOff:
        if self.epsilon == 0:
            return Identity()
        if self.categories == 2:
            return PureDPCurve(self.epsilon)
        others = Bounds.of(self.categories - 1)
        total = exp(self.epsilon) + others
        return three_losses(self.epsilon, 1 / total, others / total)


@dataclass(frozen=True)
class PureDP(Mechanism):
    """Any mechanism of which only epsilon-DP is known: f_{eps,0}, the least private curve it may have.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, inf), for every ordered pair of neighbours.

    Raises
    ------
    DomainError
        If ``epsilon`` is out of range.

    Notes
    -----
    Dominating (Dong, Roth, Su 2022, Proposition 2.5).

    Examples
    --------
    >>> PureDP(epsilon=0.3).curve()
    f_{0.3,0}
    """

    kind = "pure-dp"

    epsilon: float = field(metadata=LOSS)

    def curve(self) -> TradeOff:
        return PureDPCurve(self.epsilon)


@dataclass(frozen=True)
class ApproximateDP(Mechanism):
    """Any mechanism known to be (epsilon, delta)-DP only: f_{eps,delta}, the least private curve it may have.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, inf), for every ordered pair of neighbours.
    delta
        Probability of failure, in [0, 1].

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Dominating (Dong, Roth, Su 2022, Proposition 2.5).

    Examples
    --------
    >>> ApproximateDP(epsilon=1, delta=0.25).curve().delta(1.0) >= 0.25
    True
    """

    kind = "approximate-dp"

    epsilon: float = field(metadata=LOSS)
    delta: float = field(metadata=SHARE)

    def curve(self) -> TradeOff:
        return approximate_dp(self.epsilon, self.delta)
