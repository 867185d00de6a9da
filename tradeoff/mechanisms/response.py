"""Randomised answers of one record each, and mechanisms known by (epsilon, delta) alone."""

from __future__ import annotations

from tradeoff.balls import Balls, exp, log, lower_float, to_ball, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import count, number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, domain
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.identity import Identity
from tradeoff.families.pure_dp import PureDP as PureDPCurve
from tradeoff.mechanisms.base import LOSS, Mechanism, integer_range, mechanism, ratio, real_range

ANSWER_LOSS = "[0, 700]"
"""Losses with e^eps and e^-eps among the floats."""

# Below it vertices near 1/2 round a loss away: f_{eps,0}, which is lower, replaces the curve.
_MIN_LOSS = 1e-9


@mechanism
class RandomizedResponse(Mechanism):
    """Answer truthfully with probability e^eps/(e^eps + k - 1), else with one of k - 1 others, uniformly.

    Exact, for replaced answers: one more record is one more answer, which shows. With D = e^eps + k - 1 the
    curve has the vertices (0, 1), (1/D, (k-1)/D),
    ((k-1)/D, 1/D), (1, 0): above f_{eps,0} for k > 2, and equal to it for k = 2 (Kairouz, Oh, Viswanath
    2015). For k > 2 the vertices are rounded to floats below the curve, and ``bounds`` are those of the
    rounded curve, which is less private by some 1e-16 in beta.

    >>> RandomizedResponse(epsilon=0.3).curve()
    f_{0.3,0}
    >>> RandomizedResponse(flip=0.25).curve()
    f_{1.09861,0}
    >>> many = RandomizedResponse(epsilon=1, categories=10).curve()
    >>> many.delta(0) < PureDP(epsilon=1).guarantee().delta(0)
    True
    """

    epsilon: float | None = real_range(
        "Log ratio of the true answer to any other, in nats.", ANSWER_LOSS, default=None
    )
    categories: int = integer_range("Number k of possible answers.", 2, default=2)
    flip: float | None = real_range(
        "Probability (k - 1)/(e^eps + k - 1) of an answer that is not true, at most (k - 1)/k, instead of "
        "``epsilon``.",
        "(0, 1)",
        default=None,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.epsilon is None) is (self.flip is None):
            raise DomainError("give either epsilon or flip")
        most = 1 - 1 / self.categories
        if self.flip is not None and not self.flip * self.categories <= self.categories - 1:
            raise domain("flip", self.flip, f"in (0, {most:g}]", "then the other answers are more likely")
        number("epsilon", self._loss, 0, 700)

    @property
    def _loss(self) -> float:
        """Return epsilon, rounded up."""
        if self.epsilon is not None:
            return self.epsilon
        flip = to_ball(self.flip)
        return upper_float(abs(log((self.categories - 1) * (1 - flip) / flip)))

    def curve(self) -> TradeOff:
        loss = self._loss
        if loss == 0:
            return Identity()
        if self.categories == 2:
            return PureDPCurve(loss)
        others = self.categories - 1
        total = exp(to_ball(loss)) + others
        return three_losses(loss, 1 / total, others / total)


@mechanism
class PureDP(Mechanism):
    """Any mechanism of which only epsilon-DP is known: f_{eps,0}, the least private curve it may have.

    Dominating (Dong, Roth, Su 2022, Proposition 2.5).

    >>> PureDP(epsilon=0.3).curve()
    f_{0.3,0} (not exact)
    """

    exact = False

    epsilon: float = real_range("Loss in nats, for every ordered pair of neighbours.", LOSS)

    def curve(self) -> TradeOff:
        return PureDPCurve(self.epsilon)


@mechanism
class ApproximateDP(Mechanism):
    """Any mechanism known to be (epsilon, delta)-DP only: f_{eps,delta}, the least private curve it may have.

    Dominating (Dong, Roth, Su 2022, Proposition 2.5).

    >>> ApproximateDP(epsilon=1, delta=0.25).guarantee().delta(1.0) >= 0.25
    True
    """

    exact = False

    epsilon: float = real_range("Loss in nats, for every ordered pair of neighbours.", LOSS)
    delta: float = real_range("Probability of failure.", "[0, 1]")

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0 < self.epsilon <= 1e-3 and self.delta > 0.1:
            remedy = "are epsilon and delta swapped? if not, give an epsilon above 1e-3"
            raise domain("delta", self.delta, "at most 0.1 for 0 < epsilon <= 1e-3", remedy)

    def curve(self) -> TradeOff:
        return approximate_dp(self.epsilon, self.delta)


@mechanism
class SubsetSelection(Mechanism):
    """A random subset of all answers, e^eps times as likely if it contains the true one.

    Exact: the corners of the curve are (d(k - d)/((k - 1) D), (d(d - 1) e^eps + (k - 1)(k - d))/((k - 1) D))
    and its mirror image, D = d e^eps + k - d, from the shares of subsets that contain one answer and not the
    other (the mechanism: Wang et al. 2016; Ye, Barg 2018). Size 1 is randomised response.

    >>> SubsetSelection(epsilon=1, categories=10, size=3).curve()
    PL[(0, 1), (0.153966, 0.581477), (0.581477, 0.153966), (1, 0)]
    """

    epsilon: float = real_range("Loss in nats.", ANSWER_LOSS)
    categories: int = integer_range("Number k of possible answers.", 2)
    size: int = integer_range("Size d of the subset, below k; the optimum is near k/(e^eps + 1).")

    def __post_init__(self) -> None:
        super().__post_init__()
        count("size", self.size, 1, self.categories - 1)

    def curve(self) -> TradeOff:
        k, d, r = self.categories, self.size, exp(to_ball(-self.epsilon))
        total = (d + (k - d) * r) * (k - 1)  # D (k - 1) e^-eps, which no loss makes too large
        return three_losses(
            self.epsilon, d * (k - d) * r / total, (d * (d - 1) + (k - 1) * (k - d) * r) / total
        )


@mechanism
class Rappor(Mechanism):
    """A record as a vector of bits, each flipped independently: RAPPOR; with one hash, unary encoding.

    Exact: f_{eps/2h, 0}^(2h), for the permanent answers (Erlingsson, Pihur, Korolova 2014, Theorem 1, where
    e^(eps/2h) = (1 - f/2)/(f/2)); answers that are drawn from these again are post-processing.

    >>> Rappor(epsilon=2).curve() == PureDP(1).curve() ** 2
    True
    """

    epsilon: float = real_range("Loss of the whole answer in nats.", ANSWER_LOSS)
    hashes: int = integer_range(
        "Number h of bits a record sets; two records differ in at most 2h bits, each kept with the odds "
        "e^(eps/2h) to 1.",
        default=1,
    )

    def curve(self) -> TradeOff:
        return PureDPCurve(ratio(self.epsilon, 2 * self.hashes)) ** (2 * self.hashes)


@mechanism
class Staircase(Mechanism):
    """Staircase noise on a query: density falling by e^eps a step, steps as wide as the sensitivity.

    Exact (Geng, Viswanath 2016; the steps in units of the sensitivity): shifts up to the
    sensitivity lose -eps, 0 or eps, so that a curve is known by its total variation, P(|x| < shift/2), which
    grows with the shift. With r = e^-eps and D = gamma + r (1 - gamma) the corner is (r (gamma + (1/2 -
    gamma) r)/D, r/2D) for gamma <= 1/2, else (r/2D, (gamma - 1/2 + r (1 - gamma))/D). It is f_{eps,0} at
    gamma = 1/2 alone.

    >>> Staircase(epsilon=1).guarantee().delta(0) < PureDP(1).guarantee().delta(0)
    True
    """

    epsilon: float = real_range("Loss in nats: the log ratio of neighbouring steps.", ANSWER_LOSS)
    gamma: float | None = real_range(
        "Share of a step by which the top one is wider to either side; by default 1/(1 + e^(eps/2)), which "
        "has the least mean size.",
        "[0, 1]",
        default=None,
    )

    def curve(self) -> TradeOff:
        if self.gamma == 0.5:
            return PureDPCurve(self.epsilon)
        loss = to_ball(self.epsilon)
        r, gamma = exp(-loss), 1 / (1 + exp(loss / 2)) if self.gamma is None else to_ball(self.gamma)
        least = gamma + r * (1 - gamma)
        p, rest = (gamma + (0.5 - gamma) * r) / least * r, r / 2 / least
        if self.gamma is not None and self.gamma > 0.5:
            p, rest = rest, (gamma - 0.5 + r * (1 - gamma)) / least
        return three_losses(self.epsilon, p, rest)


def three_losses(epsilon: float, p: Balls, rest: Balls) -> TradeOff:
    """Return the symmetric curve with the losses -eps, 0 and eps, its vertices rounded to floats below it.

    ``p`` is the mass under P of the greatest loss, ``rest`` the mass under Q of the others.
    """
    if epsilon < _MIN_LOSS:
        return PureDPCurve(epsilon) if epsilon else Identity()
    low, high = sorted((lower_float(p), lower_float(rest)))
    return PiecewiseLinear([0.0, low, high, 1.0], [1.0, high, low, 0.0])
