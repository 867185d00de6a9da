"""The GDP filter: squares of mu add up, however the steps are chosen. No other curve has such a filter."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Self

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number, written
from tradeoff.errors import KindError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.base import SLACK, Filter
from tradeoff.filters.costs import REMEMBERED, gdp_mu
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import sqrt


class GDPFilter(Filter):
    """Grant steps while the sum of mu_k^2 stays within mu^2: the whole is mu-GDP, at no loss for adaptivity.

    Parameters
    ----------
    mu
        Budget, in [0, inf). ``spent``, ``remaining`` and ``budget`` are in the same unit: the mu of one
        Gaussian step.

    Raises
    ------
    DomainError
        If ``mu`` is not such a number.

    Notes
    -----
    A step is charged the least mu for which f >= G_mu is proved, in both orders of the pair (Smith, Thakurta
    2022, Theorem 1; Koskela, Tobaben, Honkela 2023). Where that mu is infinite the step is refused: the mu of
    a central limit theorem is no bound, and would prove nothing.

    Examples
    --------
    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.GDPFilter(1)
    >>> for _ in range(100):
    ...     budget.spend(Gaussian(0.1))
    >>> budget.would_exceed(Gaussian(0.001)), budget.guarantee()
    (True, G_{1})
    """

    kind = "gdp"

    def __init__(self, mu: float) -> None:
        self.mu = number("mu", mu, 0, open_high=True, down=True)
        super().__init__(1.0)  # in shares of mu^2, which neither underflow nor overflow

    def _asked(self, curve: TradeOff) -> tuple[float]:
        mu = gdp_mu(curve)
        if math.isinf(mu):
            raise KindError(
                f"no finite mu with f >= G_mu is proved for {shown(curve)}: its losses reach further than "
                "those of any Gaussian known to bound it; spend it in a ResidueFilter or an "
                "ApproximateDPFilter, or give a Gaussian that bounds it"
            )
        return (share(mu, self.mu),)

    def _shown(self, asked: tuple[float, ...]) -> float:
        return self.mu * math.sqrt(asked[0]) if self.mu > 0 or asked[0] == 0 else math.inf

    @property
    def budget(self) -> float:
        return self.mu

    @property
    def spent(self) -> float:
        return float((self.mu * sqrt(self.totals[0].bounds())).upper)

    @property
    def remaining(self) -> float:
        return float((self.mu * sqrt(self.totals[0].left(1.0))).lower)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: G_mu, with mu widened by the slack of the sum."""
        return Gaussian(widened_mu(self.mu))


class FDPFilter:
    """Refused: a filter that composes curves along the path and stops at a target f is not f-DP.

    Parameters
    ----------
    target
        Whatever it is, it is refused.

    Raises
    ------
    KindError
        Always; the message says which filter does the job.

    Notes
    -----
    Answers with different curves after different answers can each stay above f, while the whole, which an
    observer sees with the path, does not: a first randomised response, after one answer a leak with
    probability 0.01 and after the other a diluted randomised response, all with delta(1) = 0.01 along their
    paths, have delta(1) = 0.01495 together. What a Gaussian target has left is one number r, and every path
    is held to the same G_r.

    Examples
    --------
    >>> from tradeoff import PureDP, filters
    >>> filters.FDPFilter(PureDP(1))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tradeoff.errors.KindError: a filter for an arbitrary f-DP target is not private: ...
    """

    def __new__(cls, target: Any) -> Self:
        """Refuse."""
        mu = f"({written(target.mu)})" if isinstance(target, Gaussian) else ""
        other = "" if isinstance(target, TradeOff) else f" ({shown(target)} is not even a curve)"
        raise KindError(
            f"a filter for an arbitrary f-DP target is not private{other}: the curves composed along each "
            "path may all stay above the target while the adaptive whole does not (two answers, delta(1) = "
            "0.01 along either path, 0.01495 together); a Gaussian target has none of this: use "
            f"GDPFilter{mu} or ResidueFilter{mu}, or a filter in epsilon, rho or Renyi divergence"
        )


def widened_mu(mu: float) -> float:
    """Return mu sqrt(1 + SLACK), rounded up: what shares of mu^2 come to that add up to 1 + SLACK."""
    return float((mu * sqrt(1 + SLACK)).upper)


@lru_cache(maxsize=REMEMBERED)
def share(mu: float, budget: float) -> float:
    """Return (mu/budget)^2, rounded up: the share that a mu-GDP step takes; exactly 1 for the whole.

    Examples
    --------
    >>> share(0.5, 1.0), share(0.3, 0.3), share(1e-300, 1.0) > 0
    (0.25, 1.0, True)
    """
    if mu in (0, budget):
        return float(mu > 0)
    return float(((Bounds.of(mu) / budget) ** 2).upper)
