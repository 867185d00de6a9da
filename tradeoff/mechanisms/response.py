"""Randomised answers, most with the losses -eps, 0 and eps, and what only (epsilon, delta) is known of."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import count
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.identity import Identity
from tradeoff.families.pure_dp import PureDP as PureDPCurve
from tradeoff.intervals.digits import precise
from tradeoff.mechanisms.base import LOSS, SHARE, Mechanism, ratio, wholes, within

_MOST_LOSS = 700.0  # losses up to here have e^eps and e^-eps among the floats

# Below, vertices near 1/2 say nothing of a loss that is less than their rounding: f_{eps,0} stands there.
_LEAST_LOSS = 1e-9

_LONG = partial(precise, 160)  # vertices are rounded once, and by less than a question charges


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
    2015). The vertices are rounded to floats below the curve, by less than ``bounds`` charge.

    Examples
    --------
    >>> RandomizedResponse(epsilon=0.3).curve()
    f_{0.3,0}
    >>> many = RandomizedResponse(epsilon=1, categories=10).curve()
    >>> many.delta(0) < PureDP(epsilon=1).guarantee().delta(0)
    True
    """

    kind = "randomized-response"

    epsilon: float = field(metadata=within(0, _MOST_LOSS))
    categories: int = field(default=2, metadata=wholes(2))

    def curve(self) -> TradeOff:
        if self.epsilon == 0:
            return Identity()
        if self.categories == 2:
            return PureDPCurve(self.epsilon)
        others = self.categories - 1
        total = _LONG().exp(self.epsilon) + others
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
    f_{0.3,0} (not exact)
    """

    kind = "pure-dp"
    exact = False

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
    >>> ApproximateDP(epsilon=1, delta=0.25).guarantee().delta(1.0) >= 0.25
    True
    """

    kind = "approximate-dp"
    exact = False

    epsilon: float = field(metadata=LOSS)
    delta: float = field(metadata=SHARE)

    def curve(self) -> TradeOff:
        return approximate_dp(self.epsilon, self.delta)


@dataclass(frozen=True)
class SubsetSelection(Mechanism):
    """A random subset of all answers, e^eps times as likely if it holds the true one.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, 700].
    categories
        Number k of possible answers, a whole number from 2.
    size
        Size d of the subset, a whole number from 1 to k - 1; the optimum is near k/(e^eps + 1).

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact: the corners of the curve are (d(k - d)/((k - 1) D), (d(d - 1) e^eps + (k - 1)(k - d))/((k - 1) D))
    and its mirror image, D = d e^eps + k - d, from the shares of subsets that hold the one answer and not the
    other (the mechanism: Wang et al. 2016; Ye, Barg 2018). Size 1 is randomised response.

    Examples
    --------
    >>> SubsetSelection(epsilon=1, categories=10, size=3).curve()
    PL[(0, 1), (0.153966, 0.581477), (0.581477, 0.153966), (1, 0)]
    """

    kind = "subset-selection"

    epsilon: float = field(metadata=within(0, _MOST_LOSS))
    categories: int = field(metadata=wholes(2))
    size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", count("size", self.size, 1, self.categories - 1))

    def curve(self) -> TradeOff:
        k, d, r = self.categories, self.size, _LONG().exp(-self.epsilon)
        total = (d + (k - d) * r) * (k - 1)  # that is D (k - 1) e^-eps, which no loss makes too large
        return three_losses(
            self.epsilon, d * (k - d) * r / total, (d * (d - 1) + (k - 1) * (k - d) * r) / total
        )


@dataclass(frozen=True)
class Rappor(Mechanism):
    """A record as a vector of bits, each flipped alone: RAPPOR, and unary encoding for one bit of many.

    Parameters
    ----------
    epsilon
        Loss of the whole answer in nats, in [0, 700].
    hashes
        Number h of bits a record sets; two records differ in 2h bits at most. Each bit is kept with the odds
        e^(eps/2h) to 1.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact: f_{eps/2h, 0}^(2h), for the answers that stay the same for good (Erlingsson, Pihur, Korolova 2014,
    Theorem 1, where e^(eps/2h) = (1 - f/2)/(f/2)); what is drawn from these again is post-processing.

    Examples
    --------
    >>> Rappor(epsilon=2).curve() == PureDP(1).curve() ** 2
    True
    """

    kind = "rappor"

    epsilon: float = field(metadata=within(0, _MOST_LOSS))
    hashes: int = field(default=1, metadata=wholes(1))

    def curve(self) -> TradeOff:
        return PureDPCurve(ratio(self.epsilon, 2 * self.hashes)) ** (2 * self.hashes)


@dataclass(frozen=True, repr=False)
class Staircase(Mechanism):
    """Staircase noise on a query: density falling by e^eps a step, steps as wide as the sensitivity.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, 700]: the log ratio of neighbouring steps.
    gamma
        Share of a step by which the top one is wider to either side, in [0, 1]; left out, 1/(1 + e^(eps/2)),
        which has the least mean size.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact (Geng, Viswanath 2016; the steps in units of the sensitivity): shifts up to the
    sensitivity lose -eps, 0 or eps, so that a curve is known by its total variation, P(|x| < shift/2), which
    grows with the shift. With r = e^-eps and D = gamma + r (1 - gamma) the corner is (r (gamma + (1/2 -
    gamma) r)/D, r/2D) for gamma <= 1/2, else (r/2D, (gamma - 1/2 + r (1 - gamma))/D). It is f_{eps,0} at
    gamma = 1/2 alone.

    Examples
    --------
    >>> Staircase(epsilon=1).guarantee().delta(0) < PureDP(1).guarantee().delta(0)
    True
    """

    kind = "staircase"

    epsilon: float = field(metadata=within(0, _MOST_LOSS))
    gamma: float | None = field(default=None, metadata={"checked": SHARE["checked"]})

    def curve(self) -> TradeOff:
        if self.gamma == 0.5:
            return PureDPCurve(self.epsilon)
        mp = _LONG()
        r = mp.exp(-self.epsilon)
        gamma = 1 / (1 + mp.exp(mp.mpf(self.epsilon) / 2)) if self.gamma is None else mp.mpf(self.gamma)
        least = gamma + r * (1 - gamma)
        p, rest = (gamma + (0.5 - gamma) * r) / least * r, r / 2 / least
        if self.gamma is not None and self.gamma > 0.5:
            p, rest = rest, (gamma - 0.5 + r * (1 - gamma)) / least
        return three_losses(self.epsilon, p, rest)


def three_losses(epsilon: float, p: Any, rest: Any) -> TradeOff:
    """Return the symmetric curve with the losses -eps, 0 and eps, its vertices rounded to floats below it.

    ``p`` is the mass under P of the greatest loss, ``rest`` the mass under Q of the others.
    """
    if epsilon < _LEAST_LOSS:
        return PureDPCurve(epsilon) if epsilon else Identity()
    low, high = sorted(float(x) if float(x) <= x else math.nextafter(float(x), 0.0) for x in (p, rest))
    return PiecewiseLinear([0.0, low, high, 1.0], [1.0, high, low, 0.0])
