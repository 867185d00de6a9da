"""Private choice of one of several candidates, and the best of a random number of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from tradeoff.conversions.renyi import from_renyi
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_LOSS, number
from tradeoff.errors import DomainError
from tradeoff.families.bounded_range import BoundedRange
from tradeoff.families.identity import Identity
from tradeoff.families.pure_dp import PureDP
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, expm1, log, log1p, rational
from tradeoff.intervals.roots import bracket_root
from tradeoff.intervals.rounding import Array
from tradeoff.mechanisms.base import (
    LOSS,
    Adjacency,
    Mechanism,
    mechanism,
    mechanism_field,
    one_of,
    real_range,
)
from tradeoff.operators.order import both_orders

# Losses outside are negligible, or their e^eps is not a float: f_{eps,0} replaces the curve there.
_MIN_LOSS, _MAX_LOSS = 1e-12, 700.0

# Orders of the divergences: a factor of 1.4 apart.
_ORDERS = (*(1 + np.geomspace(0.02, 1e4, 40)).tolist(), math.inf)

_MAX_MEAN = 1e12  # largest mean number of runs


@mechanism
class Selection(Mechanism):
    """A choice that is epsilon-DP, with no sharper bound."""

    exact = False

    epsilon: float = real_range(
        "Loss in nats, of utilities that change by at most Delta between neighbours.", LOSS
    )

    def curve(self) -> TradeOff:
        return PureDP(self.epsilon)


@mechanism
class ExponentialMechanism(Selection):
    """Choice with probability proportional to e^(eps u/(2 Delta)), u the utility, Delta its sensitivity.

    Dominating, and the best bound on one choice: the losses of a pair of neighbours lie in [t - eps, t]
    for some t in [0, eps], a bounded range (Durfee, Rogers 2019), and the curve is the hull of the minimum
    over t (``BoundedRange``). As it is below the curve of every t, products of it hold also where each t is
    chosen in view of earlier answers. Below 1e-12 and above 700 nats it is f_{eps,0}, which is lower. Where
    utilities can only rise, or only fall, the weights e^(eps u/Delta) have the same loss.

    >>> round((ExponentialMechanism(epsilon=0.1).curve() ** 100).epsilon(1e-6), 4)
    2.6118
    >>> round((PureDP(0.1) ** 100).epsilon(1e-6), 4)
    4.7746
    """

    def curve(self) -> TradeOff:
        return bounded_range(self.epsilon)


@mechanism
class ReportNoisyMax(Selection):
    """Index of the largest utility after independent noise on each, of scale 2 Delta/eps.

    Dominating. Gumbel noise is the exponential mechanism, and has its curve (Durfee, Rogers 2019).
    Exponential noise is permute-and-flip (Ding et al. 2021), and of it and of Laplace noise (Dwork, Roth
    2014, Claim 3.9) only pure DP is proved. Where utilities can only rise, or only fall, the scale Delta/eps
    has the same loss.

    >>> ReportNoisyMax(epsilon=1, noise="laplace").curve()
    f_{1,0} (not exact)
    """

    noise: str = one_of("Law of the noise.", "gumbel", "laplace", "exponential", default="gumbel")

    def curve(self) -> TradeOff:
        return bounded_range(self.epsilon) if self.noise == "gumbel" else PureDP(self.epsilon)


@mechanism
class PermuteAndFlip(Selection):
    """Candidates in random order, each taken with probability e^(eps (u - max u)/(2 Delta)).

    Dominating: pure DP only (McKenna, Sheldon 2020). If two candidates exchange their utilities, the losses
    are +-log(2 e^(eps/2) - 1), a range above eps: the curve of the exponential mechanism would not be safe.

    >>> PermuteAndFlip(epsilon=1).curve()
    f_{1,0} (not exact)
    """


@mechanism
class AboveThreshold(Selection):
    """Index of the first query above a noisy threshold: the sparse vector technique up to its first stop.

    Dominating: pure DP, however many queries lie below the threshold (Dwork, Roth 2014, Theorem 3.23; of the
    variants in print several are not private, Lyu, Su, Li 2017). The noise is 2 Delta/eps on the threshold
    and 4 Delta/eps on every query. Count it once for every stop, after which the noise on the threshold is
    drawn anew.

    >>> AboveThreshold(epsilon=0.5).curve()
    f_{0.5,0} (not exact)
    """


@mechanism
class RepeatAndSelect(Selection):
    """Best of a random number of runs of one eps-DP mechanism, as in the private choice of hyperparameters.

    Dominating: f_{(2 + eta) eps, 0} (Papernot, Steinke 2022, Corollary 3; Liu, Talwar 2019 for eta = 1). With
    x the probability of a run at most as good as y, the outcome y has density x' (1 - (1 - gamma) x)^(-1 -
    eta) up to a constant, and either factor changes by at most e^eps between neighbours, once and 1 + eta
    times. The mean number of runs does not matter.

    >>> RepeatAndSelect(epsilon=0.1, shape=1).curve()
    f_{0.3,0} (not exact)
    """

    epsilon: float = real_range("Loss of one run in nats.", LOSS)
    shape: float = real_range(
        "Shape eta of the truncated negative binomial law of the number of runs: 0 logarithmic, 1 geometric.",
        "(-1, inf)",
        default=1.0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        number("(2 + shape) epsilon", self._loss, 0, MAX_LOSS)

    @property
    def _loss(self) -> float:
        return float(rational((2 + Fraction(self.shape)) * Fraction(self.epsilon)).upper)

    def curve(self) -> TradeOff:
        return PureDP(self._loss)


def bounded_range(epsilon: float) -> TradeOff:
    """Return the least curve of a pair whose losses lie in an interval of this length, or one below it.

    >>> bounded_range(1.0), bounded_range(1000.0)
    (BR_{1}, f_{1000,0})
    """
    if epsilon == 0:
        return Identity()
    return BoundedRange(epsilon) if _MIN_LOSS <= epsilon <= _MAX_LOSS else PureDP(epsilon)


@mechanism
class BestOfRuns(Mechanism):
    """Best of a random number of runs of one mechanism, as in the private choice of hyperparameters.

    Dominating, with the optimal conversion of Renyi bounds d' by order, from those of one run, d, the larger
    of both orders of neighbours. Of a truncated negative binomial number with mean m and parameter gamma, for
    every order b,

        d'(a) = d(a) + (1 + eta) ((1 - 1/b) d(b) + log(1/gamma)/b) + log(m)/(a - 1)

    (Papernot, Steinke 2022, Theorem 2), and of a Poisson number, with e^eps = a/(a - 1),

        d'(a) = d(a) + m delta(eps) + log(m)/(a - 1)

    (the same, Theorem 6), here with e^-m for the outcome of no run under the logarithm: e^((a - 1) d') =
    e^-m + m e^((a - 1) (d + m delta)).

    >>> from tradeoff.mechanisms import Gaussian
    >>> round(BestOfRuns(Gaussian(10), mean=5).guarantee().epsilon(1e-6), 3)
    0.814
    """

    exact = False

    mechanism: Mechanism = mechanism_field(
        "One run, with hyperparameters and samples drawn anew; its results have a total order."
    )
    mean: float = real_range(
        "Expected number of runs, at least 1 unless it is a Poisson number, which may be 0.", "(0, 1e12]"
    )
    shape: float = real_range(
        "Shape eta of the truncated negative binomial law of the number of runs: 0 logarithmic, 1 geometric; "
        "inf for a Poisson number.",
        "(-1, inf]",
        default=1.0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape < math.inf:
            number("mean", self.mean, 1, _MAX_MEAN)

    @property
    def adjacency(self) -> Adjacency | None:
        return self.mechanism.adjacency

    @property
    def sized(self) -> bool:
        return self.mechanism.sized

    def curve(self) -> TradeOff:
        orders = both_orders(self.mechanism.curve())
        single = {a: max(f.renyi(a) for f in orders) for a in _ORDERS}
        if self.shape < math.inf:
            result = self._truncated(single)
        else:
            result = {a: self._poisson(a, d, orders) for a, d in single.items()}
        return from_renyi({a: max(float(bound.upper), 0.0) for a, bound in result.items()})

    def _truncated(self, single: Mapping[float, float]) -> dict[float, Bounds]:
        log_gamma = _log_gamma(self.mean, self.shape)

        def term(b: float, d: float) -> float:
            """Bound (1 - 1/b) d(b) + log(1/gamma)/b."""
            part = 0.0 if math.isinf(b) else Bounds.of(1.0) / b
            return float(((1 - Bounds.of(part)) * d + Bounds.of(part) * log_gamma).upper)

        # The order b = 1 leaves log(1/gamma) alone.
        least = min([log_gamma, *(term(b, d) for b, d in single.items())])
        excess = (1 + Bounds.of(self.shape)) * least + 0.0
        return {a: d + excess + _per_order(log(self.mean), a) for a, d in single.items()}

    def _poisson(self, a: float, d: float, orders: Any) -> Bounds:
        epsilon = 0.0 if math.isinf(a) else max(float(log1p(1 / (Bounds.of(a) - 1)).lower), 0.0)
        run = d + Bounds.of(self.mean) * max(f.bounds.delta(epsilon).upper for f in orders)
        no_run = 0.0 if math.isinf(a) else exp(-self.mean - log(self.mean) - (Bounds.of(a) - 1) * run)
        result: Bounds = run + _per_order(log(self.mean) + log1p(no_run), a)
        return result


def _per_order(value: Bounds, order: float) -> Bounds:
    """Bound value/(order - 1)."""
    return Bounds.of(0.0) if math.isinf(order) else value / (Bounds.of(order) - 1)


def _log_gamma(mean: float, shape: float) -> float:
    """Bound t = log(1/gamma) from above, by a t with mean eta (e^t - 1)/(1 - e^(-eta t)) surely as large."""
    if mean == 1:
        return 0.0

    def negative_mean(place: Array) -> Array:
        t = np.exp(np.minimum(place, 6.0))
        runs = expm1(t) / t if shape == 0 else shape * expm1(t) / -expm1(-shape * Bounds.of(t))
        return -np.asarray(runs.lower)

    upper = float(bracket_root(negative_mean, np.array([-mean]))[1][0])
    if math.isinf(upper):
        raise DomainError(
            f"mean = {mean!r} with shape = {shape!r} is out of range; give a smaller mean, or a larger shape"
        )
    return float(np.exp(upper))
