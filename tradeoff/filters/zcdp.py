"""The zCDP filter: rho and delta add up, and are converted to (epsilon, delta) once, at the end."""

from __future__ import annotations

import math
from typing import NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import real
from tradeoff.errors import DomainError, KindError, domain
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.filters.base import SLACK, AdditiveFilter
from tradeoff.filters.costs import above, below, zcdp
from tradeoff.intervals.rounding import UNIT


class ZCDP(NamedTuple):
    """Concentrated loss: delta-approximate rho-zCDP."""

    rho: float
    delta: float


class ZCDPFilter(AdditiveFilter):
    """Grant steps while sum rho + 2 sqrt(sum rho log(1/delta'')) <= epsilon and sum delta <= step_delta: (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon
        Loss of the whole interaction in nats, in [0, 1e300].
    delta
        Failure probability of the whole interaction, in (0, 1).
    step_delta
        Share of ``delta`` kept for steps that are only approximately zCDP, in [0, delta); the rest, delta'', pays for the
        conversion.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Whitehouse, Ramdas, Wu, Rogers 2023, Theorem 1, and Rogers, Samorodnitsky, Wu, Ramdas 2023, Theorem 2, with the
    conversion of Bun, Steinke 2016. The slack of the sums is paid from the budget: rho is 1e-12 of itself below what epsilon allows,
    and delta'' what step_delta with its slack leaves. ``spent``, ``remaining`` and ``budget`` are pairs (rho, delta).

    Examples
    --------
    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.ZCDPFilter(1, 1e-6)
    >>> budget.spend(Gaussian(0.1))
    >>> round(budget.spent.rho, 6), round(budget.budget.rho, 6)
    (0.005, 0.017469)
    """

    kind = "zcdp"

    def __init__(self, epsilon: float, delta: float, *, step_delta: float = 0.0) -> None:
        self.epsilon = float(real("epsilon", epsilon, 0, 1e300))
        self.delta = float(real("delta", delta, 0, 1, open_low=True, open_high=True))
        self.step_delta = float(real("step_delta", step_delta, 0, self.delta, open_high=True))
        super().__init__(rho_for(self.epsilon, self.delta, self.step_delta), self.step_delta)

    @property
    def parameters(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "delta": self.delta, "step_delta": self.step_delta}

    def _asked(self, curve: TradeOff) -> tuple[float, float]:
        rho, delta = zcdp(curve)
        if math.isinf(rho):
            raise KindError(
                f"no finite rho is proved for {curve!r}; state it as approximate_dp(epsilon, delta), with a delta of its own, "
                "and give the filter a step_delta"
            )
        return rho, delta

    def _shown(self, asked: tuple[float, ...]) -> ZCDP:
        return ZCDP(*asked)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: f_{epsilon,delta}, as promised to the last bit.

        Returns
        -------
        TradeOff
            A lower bound, whatever was spent: a rule may have stopped because of what it saw.
        """
        return approximate_dp(self.epsilon, self.delta)


def rho_for(epsilon: float, delta: float, step_delta: float) -> float:
    """Return the rho of a filter that is (epsilon, delta)-DP with the slack of its sums, of rho and of ``step_delta``."""
    rest = below(delta - above(step_delta * (1 + 2 * SLACK))) if step_delta > 0 else delta
    if not rest > 0:
        raise domain(
            "step_delta", step_delta, f"[0, delta = {delta!r})", "leave a share of delta for the conversion"
        )
    return rho_within(epsilon, rest) * (
        1 - SLACK - 16 * UNIT
    )  # times 1 + SLACK, rounded, it is at most that rho


def rho_within(epsilon: float, delta: float) -> float:
    """Return the largest rho with rho + 2 sqrt(rho log(1/delta)) <= epsilon, rounded down by a few units.

    Examples
    --------
    >>> rho = rho_within(1.0, 1e-6)
    >>> round(rho + 2 * math.sqrt(rho * math.log(1e6)), 12)
    1.0
    """
    if not delta > 0:
        raise DomainError(f"delta = {delta!r} is outside (0, 1); a conversion needs a failure probability")
    log = -math.log(delta) * (1 + 4 * UNIT) + 4 * UNIT  # too large is safe: less rho fits
    root = epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))
    return below(root * root * (1 - 32 * UNIT))  # two roots, a sum, a quotient and a square: under 16 units
