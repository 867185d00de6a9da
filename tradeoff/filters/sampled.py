"""A filter for Poisson-sampled steps: it counts rounds, and composes the whole budget exactly."""

from __future__ import annotations

import math
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import count, number
from tradeoff.errors import KindError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.filters.base import Filter
from tradeoff.intervals.functions import whole
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan
from tradeoff.mechanisms.subsampled import SubsampledGaussian
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.unary import bare


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
