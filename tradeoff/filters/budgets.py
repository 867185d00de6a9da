"""Filters whose costs add: epsilon, rho, Renyi divergence, ex-post losses, rounds.

``_limits`` are the limits of these sums, by default the parameters, ``_cost`` is what one step adds to them,
rounded up, and ``_curve`` is the guarantee. The sums may pass their limits by ``SLACK``, which ``widen`` adds
to the guarantee.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from tradeoff.conversions import from_renyi, from_zcdp
from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.families.approximate_dp import Identity, PureDP, TotalVariation, approximate_dp
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.base import (
    SLACK,
    Filter,
    is_sampled,
    loss_budget,
    pure_loss,
    renyi,
    square,
    widen,
    zcdp,
)
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log, rational, sqrt
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.base import mechanism as immutable
from tradeoff.mechanisms.fields import Declared, integer, optional_delta, parameter, real, stateful
from tradeoff.mechanisms.plan import Plan
from tradeoff.mechanisms.subsampled import SubsampledGaussian
from tradeoff.operators.subsample import Subsampled


@stateful
class PureDPFilter(Filter):
    """Grant steps while the sum of epsilon_k stays within epsilon: the whole interaction is epsilon-DP.

    Rogers, Roth, Ullman, Vadhan 2016, Theorem 3.6: basic composition holds for adaptively chosen parameters.

    >>> from tradeoff import Laplace, filters
    >>> budget = filters.PureDPFilter(1)
    >>> budget.spend(Laplace(0.1) ** 10)
    >>> budget.would_exceed(Laplace(0.001)), budget.guarantee()
    (True, f_{1,0} (not exact))
    """

    kind = "pure-dp"
    cost_name = "epsilon for delta = 0"
    remedy = "spend it in a filter with a delta"

    epsilon: float = parameter("Budget in nats.", "float in [0, 10000]", loss_budget)

    def _cost(self, curve: TradeOff) -> tuple[float]:
        epsilon, delta = pure_loss(curve)
        return (math.inf if delta else epsilon,)

    def _curve(self) -> TradeOff:
        return PureDP(widen(self.epsilon).upper)


@stateful
class RenyiFilter(Filter):
    """Grant steps while their Renyi divergences of one order add up to epsilon at most: (order, epsilon)-RDP.

    Feldman, Zrnic 2021, Theorem 4.3; Lecuyer 2021. A step is charged its divergence in the worse order of the
    pair. ``guarantee()`` is the curve that (order, epsilon)-RDP implies, a lower bound.

    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.RenyiFilter(8, 1)
    >>> budget.spend(Gaussian(0.1))
    >>> round(budget.spent, 6), round(budget.guarantee().epsilon(1e-5), 3)
    (0.04, 2.214)
    """

    kind = "renyi"
    cost_name = "Renyi divergence of this order"
    remedy = "spend a curve that bounds it"

    order: float = real("Order of the divergence.", "(1, 1e6]")
    epsilon: float = real("Budget in nats.", "[0, 1e6]")

    def _limits(self) -> tuple[float, ...]:
        return (self.epsilon,)

    def _cost(self, curve: TradeOff) -> tuple[float]:
        return (renyi(curve, self.order),)

    def _curve(self) -> TradeOff:
        return from_renyi({self.order: widen(self.epsilon).upper})


class ZCDP(NamedTuple):
    """Concentrated loss: delta-approximate rho-zCDP."""

    rho: float
    delta: float


class ConcentratedFilter(Filter):
    """Filter of steps that are approximately rho-zCDP."""

    amounts: ClassVar[type] = ZCDP
    cost_name = "rho"
    remedy = "spend approximate_dp(epsilon, delta) in its place, in a filter that has a delta for its steps"
    counts_sampling = False

    def _cost(self, curve: TradeOff) -> tuple[float, ...]:
        # A sampled step would be charged as if it were not: rho-zCDP is a bound for all Renyi orders.
        return (math.inf, 0.0) if is_sampled(curve) else zcdp(curve)


@stateful
class RhoFilter(ConcentratedFilter):
    r"""Grant steps while sum rho_k <= rho, sum delta_k <= delta: the whole is delta-approximately rho-zCDP.

    Feldman, Zrnic 2021, for every order at once; with deltas, Whitehouse, Ramdas, Rogers, Wu 2023. ``spent``,
    ``remaining`` and ``budget`` are pairs :math:`(\rho, \delta)`.

    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.RhoFilter(0.5)
    >>> budget.spend(Gaussian(0.1) ** 100)
    >>> budget.would_exceed(Gaussian(0.001)), round(budget.guarantee().epsilon(1e-5), 3)
    (True, 4.728)
    """

    kind = "rho-zcdp"

    rho: float = real("Budget.", "[0, 1e6]")
    delta: float = optional_delta("Budget for the failure probabilities of approximately zCDP steps.")

    def _curve(self) -> TradeOff:
        return from_zcdp(widen(self.rho).upper) @ TotalVariation(min(widen(self.delta).upper, 1.0))


@stateful
class ZCDPFilter(ConcentratedFilter):
    r"""Grant approximately rho-zCDP steps within sums of rho and of delta: the whole is (epsilon, delta)-DP.

    Namely while :math:`\sum_k \rho_k + 2 \sqrt{\sum_k \rho_k \log(1/\delta'')} \le \varepsilon` and
    :math:`\sum_k \delta_k` is at most ``step_delta``; :math:`\delta''` is what that leaves of :math:`\delta`.
    Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 1, and Rogers, Samorodnitsky, Wu, Ramdas 2023, Theorem 2,
    with the conversion of Bun, Steinke 2016. The slack of the sums is paid from the budget: :math:`\rho` is
    :math:`10^{-12}` of itself below the largest that :math:`\varepsilon` allows, and :math:`\delta''`
    accounts for the slack of ``step_delta``. ``spent``, ``remaining`` and ``budget`` are pairs
    :math:`(\rho, \delta)`.

    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.ZCDPFilter(1, 1e-6)
    >>> budget.spend(Gaussian(0.1))
    >>> round(budget.spent.rho, 6), round(budget.budget.rho, 6)
    (0.005, 0.017469)
    """

    kind = "zcdp"

    per_rho: ClassVar[float] = 1.0  # amount of the first sum that rho = 1 allows

    epsilon: float = real("Loss of the whole interaction in nats.", "[0, 1e4]")
    delta: float = real("Failure probability of the whole interaction.", "(0, 1)")
    step_delta: float = optional_delta(
        r"Share of ``delta`` for approximately zCDP steps; the rest is :math:`\delta''`."
    )

    def _limits(self) -> tuple[float, ...]:
        # Twice the slack: more than any rounding of the sum admits.
        conversion_delta = (self.delta - Bounds.of(self.step_delta) * (1 + 2 * SLACK)).lower
        if not conversion_delta > 0:
            rule = f"step_delta must leave a share of delta = {self.delta!r} to convert"
            raise DomainError(f"{rule}, got {self.step_delta!r}")
        rho = float((Bounds.of(rho_within(self.epsilon, conversion_delta)) / (1 + SLACK)).lower)
        return self.per_rho * rho, self.step_delta

    def _curve(self) -> TradeOff:
        return approximate_dp(self.epsilon, self.delta)


class Approximate(NamedTuple):
    """Squared losses and failure probabilities, summed over the steps."""

    epsilon_squared: float
    delta: float


@stateful
class ApproximateDPFilter(ZCDPFilter):
    r"""Grant (eps_k, delta_k)-DP steps within sums of eps_k^2 and delta_k: the whole is (epsilon, delta)-DP.

    Namely while :math:`\sqrt{2 V \log(1/\delta')} + V/2 \le \varepsilon`, :math:`V = \sum_k \varepsilon_k^2`,
    and :math:`\sum_k \delta_k` is at most ``step_delta``; :math:`\delta'` is the rest. Whitehouse, Ramdas,
    Rogers, Wu 2023, Theorem 2: advanced composition at no loss for adaptivity. A step is charged the least
    :math:`(\varepsilon, \delta)` with :math:`\delta` its mass at infinite loss; state another pair as
    ``approximate_dp(eps, delta)``. ``spent``, ``remaining`` and ``budget`` are pairs
    :math:`(\sum \varepsilon_k^2, \sum \delta_k)`.

    >>> from tradeoff import approximate_dp, filters
    >>> budget = filters.ApproximateDPFilter(1, 1e-5, step_delta=5e-6)
    >>> while not budget.would_exceed(approximate_dp(0.1, 1e-8)):
    ...     budget.spend(approximate_dp(0.1, 1e-8))
    >>> budget.steps
    3
    """

    kind = "approximate-dp"
    amounts = Approximate
    cost_name = "epsilon"
    remedy = "choose a delta for it, within step_delta, and spend approximate_dp(curve.epsilon(delta), delta)"
    counts_sampling = True
    per_rho = 2.0  # an eps-DP step is eps^2/2-zCDP, so that V = 2 rho

    def _cost(self, curve: TradeOff) -> tuple[float, float]:
        epsilon, delta = pure_loss(curve)
        return square(epsilon), delta


def rho_within(epsilon: float, delta: float) -> float:
    """Return the largest rho with rho + 2 sqrt(rho log(1/delta)) <= epsilon, rounded down.

    Its root is sqrt(log(1/delta) + epsilon) - sqrt(log(1/delta)).
    """
    if not epsilon > 0:
        return 0.0
    log_inverse = -log(delta)
    root = epsilon / (sqrt(log_inverse + epsilon) + sqrt(log_inverse))
    return float((root * root).lower)


@immutable
class ExPost(Declared):
    r"""Ex-post loss of a release: Pr[loss > epsilon(output)] <= delta, with epsilon a function of the output.

    Ligett, Neel, Roth, Waggoner, Wu 2017; Rogers, Samorodnitsky, Wu, Ramdas 2023, Definition 4.1. With
    :math:`\delta > 0` it is not immune to post-processing: keep the release together with its number.

    >>> ExPost(0.5)
    ExPost(epsilon=0.5, delta=0.0)
    """

    epsilon: float = real("Loss in nats of this output.", "[0, inf)")
    delta: float = real(
        "Probability, fixed before the release, that the loss is larger.", "[0, 1]", default=0.0
    )


class Loss(NamedTuple):
    """Sum of ex-post losses, and of the probabilities that they are larger."""

    epsilon: float
    delta: float


@stateful
class ExPostFilter(Filter):
    r"""Grant releases while their ex-post losses add up to epsilon at most, and their deltas to delta.

    A step is an ``ExPost``, or a curve, mechanism or plan whose losses are bounded (``PureDP``, ``Laplace``):
    its loss is then at most their supremum, whatever the output. An :math:`(\varepsilon, \delta)` guarantee
    with :math:`\delta > 0` is refused: it bounds an average, and not the probability of a loss. Each release
    must be granted *before* its output is drawn, which is why sessions of noise reduction announce their next
    loss.

    Losses add along the path, and the deltas by a union bound over it, so that the whole is
    :math:`(\varepsilon, \delta)`-DP in both orders (Rogers, Samorodnitsky, Wu, Ramdas 2023, Lemma 5.2).

    >>> from tradeoff.filters import ExPost, ExPostFilter, LaplaceNoiseReduction
    >>> budget = ExPostFilter(1.0)
    >>> session = LaplaceNoiseReduction(100.0, [0.25, 0.5, 2.0], filter=budget, rng=1)
    >>> for epsilon in (0.25, 0.5):
    ...     release = session.refine(epsilon)
    >>> release.spent, budget.would_exceed(ExPost(0.75))
    (ExPost(epsilon=0.5, delta=0.0), True)
    """

    kind = "ex-post"
    takes = (ExPost,)
    amounts = Loss
    cost_name = "bound on the loss for every output"
    remedy = (
        "refine it in a session with a boundary (LinearBoundary, MixtureBoundary), or state the loss of the "
        "output as an ExPost"
    )

    epsilon: float = parameter("Loss of the whole interaction in nats.", "float in [0, 10000]", loss_budget)
    delta: float = real("Probability that the whole loss is larger.", "[0, 1)", default=0.0)

    def _cost(self, step: Any) -> tuple[float, float]:
        if isinstance(step, ExPost):
            return step.epsilon, step.delta
        epsilon, delta = pure_loss(step)
        return math.inf if delta else epsilon, 0.0

    def _curve(self) -> TradeOff:
        return approximate_dp(widen(self.epsilon).upper, min(widen(self.delta).upper, 1.0))


class Sides(NamedTuple):
    """Costs of the steps, delta-approximately rho-zCDP, and of the releases, ex post."""

    rho: float
    step_delta: float
    ex_post_epsilon: float
    ex_post_delta: float


@stateful
class ConcurrentFilter(ConcentratedFilter):
    r"""Grant steps within a zCDP budget and releases within an ex-post one, interleaved at will.

    An ``ExPost`` loss, such as a session of noise reduction announces, is charged to the second side, every
    other step to the first. Each side is an interactive mechanism with a budget fixed in advance, and
    concurrent composition costs no more than one after the other (Vadhan, Zhang 2023, for f-DP), so that the
    whole is at or above :math:`f_{\varepsilon,\delta} \otimes f_{\varepsilon',\delta'}`, which implies
    :math:`(\varepsilon + \varepsilon', \delta + \delta')`-DP (Rogers, Samorodnitsky, Wu, Ramdas 2023, Theorem
    3). ``spent``, ``remaining`` and ``budget`` have four parts.

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
    takes = (ExPost,)
    amounts = Sides

    epsilon: float = real("Loss of the steps in nats.", "[0, 1e4]")
    delta: float = real("Failure probability of the steps.", "(0, 1)")
    ex_post_epsilon: float = parameter(
        "Loss of the releases in nats.", "float in [0, 10000]", loss_budget, kw_only=True
    )
    ex_post_delta: float = optional_delta("Probability that the loss of the releases is larger.")
    step_delta: float = optional_delta("Share of ``delta`` for approximately zCDP steps.")

    def _limits(self) -> tuple[float, ...]:
        steps = ZCDPFilter(self.epsilon, self.delta, step_delta=self.step_delta)
        releases = ExPostFilter(self.ex_post_epsilon, self.ex_post_delta)
        self._guarantees = steps.guarantee(), releases.guarantee()
        return *steps.limits, *releases.limits

    def _cost(self, step: Any) -> tuple[float, ...]:
        if isinstance(step, ExPost):
            return 0.0, 0.0, step.epsilon, step.delta
        return *super()._cost(step), 0.0, 0.0

    def _curve(self) -> TradeOff:
        of_steps, of_releases = self._guarantees
        return of_steps @ of_releases


@stateful
class SampledFilter(Filter):
    r"""Grant a number of steps of DP-SGD: the whole has the curve of as many steps fixed in advance, exactly.

    A step is a ``SubsampledGaussian`` or a plan of them, or their curve with the record absent under the null
    hypothesis; it is charged how often it runs. Each has a curve at or above :math:`f`, that of the unit, in
    the same order of the pair, as :math:`p\,G_\mu + (1 - p)\,\mathrm{Id}` falls with :math:`p` and with
    :math:`\mu`. Whatever rule chooses them, the whole is at or above :math:`f^n`: by induction the steps
    after the first one are at or above :math:`f^{n-1}` for each of its outputs, and the product is tight for
    that (Dong, Roth, Su 2022, Theorem 3.2). The other order of the pair has the inverse curves, so the
    envelope is taken once, at the end.

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

    noise_multiplier: float = real("Least noise of a step, as in ``SubsampledGaussian``.", "(0, inf)")
    sample_rate: float = real("Largest sampling rate of a step.", "[0, 1]")
    rounds: int = integer("Budget in rounds.", 0, 10**9)  # the slack is far below one round

    def _limits(self) -> tuple[float, ...]:
        self.unit = SubsampledGaussian(self.noise_multiplier, self.sample_rate)
        return (float(self.rounds),)

    def _read(self, step: Any) -> Any:
        if isinstance(step, Mechanism) and step.order == "free":
            raise KindError(
                f"{shown(step)} has no fixed order of its pair, and all rounds of this filter share one; "
                "state it for add-remove neighbours"
            )
        return super()._read(step)

    def _cost(self, curve: TradeOff) -> tuple[float]:
        """Return the number of factors that depend on a record; raise unless each is that of a round."""
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
        return (float(rational(rounds).upper),)

    def _curve(self) -> TradeOff:
        return Plan({self.unit: self.rounds}).guarantee()


def _parameters(curve: TradeOff) -> tuple[float, float]:
    """Return mu and p, rounded up, of p G_mu + (1 - p) Id, record absent under P; inf for other curves."""
    match curve:
        case Identity():
            return 0.0, 0.0
        case Gaussian(mu=mu):
            return float(mu), 1.0
        case Subsampled(flipped=False, rate=rate, operands=(Gaussian(mu=mu),)):
            return float(mu), rate.upper
    return math.inf, math.inf
