"""Ex-post privacy: a loss read off the output, and filters that add such losses up, alone or with steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.errors import KindError, shown
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.filters.base import Filter, loss_budget, widen
from tradeoff.filters.step_cost import pure_loss
from tradeoff.filters.zcdp import ZCDPFilter, zcdp_cost


class Loss(NamedTuple):
    """Sum of ex-post losses, and of the probabilities that they are larger."""

    epsilon: float
    delta: float


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


class ExPostFilter(Filter):
    """Grant releases while their ex-post losses add up to epsilon at most, and their deltas to delta.

    A step is an ``ExPost``, or a curve, mechanism or plan whose losses are bounded (``PureDP``, ``Laplace``):
    its loss is then at most their supremum, whatever the output. An (epsilon, delta) guarantee with delta > 0
    is refused: it bounds an average, and not the probability of a loss. Each release must be granted *before*
    its output is drawn, which is why sessions of noise reduction announce their next loss.

    Losses add along the path, and the deltas by a union bound over it, so that the whole is (epsilon,
    delta)-DP in both orders (Rogers, Samorodnitsky, Wu, Ramdas 2023, Lemma 5.2). ``guarantee()`` includes the
    slack of both sums.

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
