"""One budget of two sides: steps in zCDP, and releases whose loss is read off the output."""

from __future__ import annotations

from typing import Any, NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.filters.base import Filter, Step, widened
from tradeoff.filters.expost import ExPost, ExPostFilter, ex_post_or_curve
from tradeoff.filters.zcdp import ZCDPFilter, proved


class Sides(NamedTuple):
    """What the steps took, in zCDP, and what the releases did."""

    rho: float
    step_delta: float
    ex_post_epsilon: float
    ex_post_delta: float


class ConcurrentFilter(Filter):
    """Grant steps within a zCDP budget and releases within an ex-post one, interleaved at will.

    Parameters
    ----------
    epsilon, delta, step_delta
        Of the steps, as for ``ZCDPFilter``.
    ex_post_epsilon, ex_post_delta
        Of the releases, as for ``ExPostFilter``.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    An ``ExPost`` loss, such as a session of noise reduction announces, is charged to the second side, every
    other step to the first. Each side is an interactive mechanism with a budget fixed in advance, and
    concurrent composition costs no more than one after the other (Vadhan, Zhang 2023, for f-DP), so that the
    whole is at or above f_{epsilon,delta} (x) f_{epsilon',delta'}, which implies (epsilon + epsilon', delta +
    delta')-DP (Rogers, Samorodnitsky, Wu, Ramdas 2023, Theorem 3). ``spent``, ``remaining`` and ``budget``
    have four parts.

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
        super().__init__(*steps.limits, *releases.limits)

    def _read(self, step: ExPost | Step) -> ExPost | TradeOff:
        return ex_post_or_curve(step)

    def _asked(self, step: Any) -> tuple[float, ...]:
        if isinstance(step, ExPost):
            return 0.0, 0.0, step.epsilon, step.delta
        return *proved(step), 0.0, 0.0

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: the product of both, the second wider by its slack."""
        releases = approximate_dp(widened(self.ex_post_epsilon), min(widened(self.ex_post_delta), 1.0))
        return approximate_dp(self.epsilon, self.delta) @ releases
