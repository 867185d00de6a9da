"""Filters whose costs add: epsilon, rho, Renyi divergence, ex-post losses, rounds. The curve at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from tradeoff.conversions import from_renyi, from_zcdp
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import count, number
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.filters.base import SLACK, Filter, loss_budget, widen
from tradeoff.filters.step_cost import is_sampled, pure_loss, renyi, square, zcdp
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log, sqrt, whole
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan
from tradeoff.mechanisms.subsampled import SubsampledGaussian
from tradeoff.operators.assumed import bare
from tradeoff.operators.subsample import Subsampled


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


class ZCDPFilter(Filter):
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
    amounts: ClassVar[type] = ZCDP

    per_rho: ClassVar[float] = 1.0
    """Units of the first sum in one rho."""

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

    def _cost(self, curve: TradeOff) -> tuple[float, float]:
        return zcdp_cost(curve)

    def _curve(self) -> TradeOff:
        return approximate_dp(self.epsilon, self.delta)


class Approximate(NamedTuple):
    """Squared losses and failure probabilities, summed over the steps."""

    epsilon_squared: float
    delta: float


class ApproximateDPFilter(ZCDPFilter):
    """Grant steps while sqrt(2 log(1/delta') V) + V/2 <= epsilon, V = sum eps_k^2: (epsilon, delta)-DP.

    The steps' own deltas stay within step_delta, and delta' is the rest. Whitehouse, Ramdas, Rogers, Wu 2023,
    Theorem 2: advanced composition at no loss for adaptivity. A step is charged the least (eps, delta) with
    delta its mass at infinite loss; state another pair as ``approximate_dp(eps, delta)``. ``spent``,
    ``remaining`` and ``budget`` are pairs (sum of eps^2, sum of delta).

    Parameters
    ----------
    epsilon, delta, step_delta : as for ``ZCDPFilter``

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


@dataclass(frozen=True)
class ExPost:
    """Ex-post loss of a release: Pr[loss > epsilon(output)] <= delta, with epsilon a function of the output.

    Ligett, Neel, Roth, Waggoner, Wu 2017; Rogers, Samorodnitsky, Wu, Ramdas 2023, Definition 4.1. With delta
    > 0 it is not immune to post-processing: keep the release together with its number.

    Parameters
    ----------
    epsilon : loss in nats of this output, in [0, inf)
    delta : probability, fixed before the release, that the loss is larger, in [0, 1]

    Examples
    --------
    >>> ExPost(0.5)
    ExPost(epsilon=0.5, delta=0.0)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, 0.0, open_high=True))
        object.__setattr__(self, "delta", number("delta", self.delta, 0.0, 1.0))


class Loss(NamedTuple):
    """Sum of ex-post losses, and of the probabilities that they are larger."""

    epsilon: float
    delta: float


class ExPostFilter(Filter):
    """Grant releases while their ex-post losses add up to epsilon at most, and their deltas to delta.

    A step is an ``ExPost``, or a curve, mechanism or plan whose losses are bounded (``PureDP``, ``Laplace``):
    its loss is then at most their supremum, whatever the output. An (epsilon, delta) guarantee with delta > 0
    is refused: it bounds an average, and not the probability of a loss. Each release must be granted *before*
    its output is drawn, which is why sessions of noise reduction announce their next loss.

    Losses add along the path, and the deltas by a union bound over it, so that the whole is (epsilon,
    delta)-DP in both orders (Rogers, Samorodnitsky, Wu, Ramdas 2023, Lemma 5.2).

    Parameters
    ----------
    epsilon : loss of the whole interaction in nats, in [0, 1e4]
    delta : probability that the whole loss is larger, in [0, 1)

    Examples
    --------
    >>> from tradeoff.filters import ExPostFilter, LaplaceNoiseReduction
    >>> budget = ExPostFilter(1.0)
    >>> session = LaplaceNoiseReduction(100.0, [0.25, 0.5, 2.0], filter=budget, rng=1)
    >>> for epsilon in (0.25, 0.5):
    ...     release = session.refine(epsilon)
    >>> release.spent, budget.would_exceed(ExPost(0.75))
    (ExPost(epsilon=0.5, delta=0.0), True)
    """

    kind = "ex-post"
    amounts = Loss

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        self.epsilon = loss_budget("epsilon", epsilon)
        self.delta = number("delta", delta, 0, 1, open_high=True)
        super().__init__(self.epsilon, self.delta)

    def _read(self, step: Any) -> Any:
        return step if isinstance(step, ExPost) else super()._read(step)

    def _cost(self, step: Any) -> tuple[float, float]:
        if isinstance(step, ExPost):
            return step.epsilon, step.delta
        epsilon, delta = pure_loss(step)
        if delta > 0 or math.isinf(epsilon):
            raise KindError(
                f"{shown(step)} has no bound on its loss that holds for every output: refine it in a session "
                "with a boundary (LinearBoundary, MixtureBoundary), or state the loss of the output as an "
                "ExPost"
            )
        return epsilon, 0.0

    def _curve(self) -> TradeOff:
        return approximate_dp(widen(self.epsilon).upper, min(widen(self.delta).upper, 1.0))


class Sides(NamedTuple):
    """Costs of the steps, in zCDP, and of the releases, ex post."""

    rho: float
    step_delta: float
    ex_post_epsilon: float
    ex_post_delta: float


class ConcurrentFilter(Filter):
    """Grant steps within a zCDP budget and releases within an ex-post one, interleaved at will.

    An ``ExPost`` loss, such as a session of noise reduction announces, is charged to the second side, every
    other step to the first. Each side is an interactive mechanism with a budget fixed in advance, and
    concurrent composition costs no more than one after the other (Vadhan, Zhang 2023, for f-DP), so that the
    whole is at or above f_{epsilon,delta} (x) f_{epsilon',delta'}, which implies (epsilon + epsilon', delta +
    delta')-DP (Rogers, Samorodnitsky, Wu, Ramdas 2023, Theorem 3). ``spent``, ``remaining`` and ``budget``
    have four parts.

    Parameters
    ----------
    epsilon, delta, step_delta : Of the steps, as for ``ZCDPFilter``.
    ex_post_epsilon, ex_post_delta : Of the releases, as for ``ExPostFilter``.

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> from tradeoff.filters import ConcurrentFilter, LaplaceNoiseReduction
    >>> budget = ConcurrentFilter(1.0, 1e-6, ex_post_epsilon=0.5)
    >>> budget.spend(Gaussian(0.1))
    >>> session = LaplaceNoiseReduction(100.0, [0.25, 0.5], filter=budget, rng=1)
    >>> release = session.refine(0.25)
    >>> round(budget.spent.rho, 6), budget.spent.ex_post_epsilon
    (0.005, 0.25)
    >>> round(budget.guarantee().epsilon(1e-6), 6)
    1.5
    """

    kind = "concurrent"
    amounts = Sides

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        ex_post_epsilon: float,
        ex_post_delta: float = 0.0,
        step_delta: float = 0.0,
    ) -> None:
        steps = ZCDPFilter(epsilon, delta, step_delta=step_delta)
        releases = ExPostFilter(ex_post_epsilon, ex_post_delta)
        self.epsilon, self.delta, self.step_delta = steps.epsilon, steps.delta, steps.step_delta
        self.ex_post_epsilon, self.ex_post_delta = releases.epsilon, releases.delta
        self._curves = steps.guarantee(), releases.guarantee()
        super().__init__(*steps.limits, *releases.limits)

    def _read(self, step: Any) -> Any:
        return step if isinstance(step, ExPost) else super()._read(step)

    def _cost(self, step: Any) -> tuple[float, ...]:
        if isinstance(step, ExPost):
            return 0.0, 0.0, step.epsilon, step.delta
        return *zcdp_cost(step), 0.0, 0.0

    def _curve(self) -> TradeOff:
        return self._curves[0] @ self._curves[1]


class SampledFilter(Filter):
    """Grant a number of steps of DP-SGD: the whole has the curve of as many steps fixed in advance, exactly.

    A step is a ``SubsampledGaussian`` or a plan of them, or their curve with the record absent under the null
    hypothesis; it is charged how often it runs. Each has a curve at or above f, that of the unit, in the same
    order of the pair, as p G_mu + (1 - p) Id falls with p and with mu. Whatever rule chooses them, the whole
    is at or above f^n: by induction the steps after the first one are at or above f^(n-1) for each of its
    outputs, and the product is tight for that (Dong, Roth, Su 2022, Theorem 3.2). The other order of the pair
    has the inverse curves, so the envelope is taken once, at the end.

    Parameters
    ----------
    noise_multiplier, sample_rate
        Of the step that takes one unit, as in ``mechanisms.SubsampledGaussian``: no later step may have less
        noise or sample more often, and noise is finite.
    rounds : Budget, an integer from 0 to 1e9; ``spent``, ``remaining`` and ``budget`` count rounds.

    Examples
    --------
    >>> from tradeoff.filters import SampledFilter
    >>> from tradeoff.mechanisms import SubsampledGaussian
    >>> step = SubsampledGaussian(noise_multiplier=1.0, sample_rate=0.01)
    >>> budget = SampledFilter(1.0, 0.01, rounds=1000)
    >>> for _ in range(10):
    ...     budget.spend(step)
    >>> budget.remaining, round(budget.guarantee().epsilon(1e-5), 4)
    (990.0, 1.8282)
    """

    kind = "sampled"

    def __init__(self, noise_multiplier: float, sample_rate: float, rounds: int) -> None:
        finite = number("noise_multiplier", noise_multiplier, 0, open_low=True, open_high=True)
        self.unit = SubsampledGaussian(finite, sample_rate)
        self.noise_multiplier, self.sample_rate = self.unit.noise_multiplier, self.unit.sample_rate
        self.rounds = count("rounds", rounds, 0, 10**9)  # the slack of a sum is far below one round
        super().__init__(float(self.rounds))

    def _read(self, step: Any) -> Any:
        if isinstance(step, Mechanism) and step.order == "free":
            raise KindError(
                f"{shown(step)} has no fixed order of its pair, and all rounds of this filter share one; "
                "state it for add-remove neighbours"
            )
        return super()._read(step)

    def _cost(self, curve: TradeOff) -> tuple[float]:
        mu, rate = _parameters(self.unit.curve())
        rounds = 0
        for factor, n in curve.factors.items():
            factor_mu, factor_rate = _parameters(factor)
            if 0 in {factor_mu, factor_rate}:
                continue  # it depends on no record
            if factor_mu > mu or factor_rate > rate:
                raise KindError(
                    f"{shown(factor)} must have noise_multiplier >= {self.noise_multiplier!r} and "
                    f"sample_rate <= {self.sample_rate!r}, with the record absent under the null "
                    "hypothesis: spend mechanisms.SubsampledGaussian within them, or use another filter"
                )
            rounds += n
        return (float(whole(rounds).upper),)

    def _curve(self) -> TradeOff:
        return Plan({self.unit: self.rounds}).guarantee()


def _parameters(curve: TradeOff) -> tuple[float, float]:
    """Return mu and the rate of p G_mu + (1 - p) Id, infinite for any other curve."""
    match bare(curve):
        case Identity():
            return 0.0, 0.0
        case Gaussian(mu=mu):
            return float(mu), 1.0
        case Subsampled(flipped=False, rate=rate, operands=(Gaussian(mu=mu),)):
            return float(mu), rate.upper
    return math.inf, math.inf
