"""Unified filters: single releases and sessions of noise reduction, interleaved at will, under one budget."""

from __future__ import annotations

from numpy.typing import ArrayLike

from tradeoff.filters.gdp import GDPFilter
from tradeoff.filters.noise_reduction.base import Charged, Seed
from tradeoff.filters.noise_reduction.sessions import BrownianMechanism, Doubling
from tradeoff.filters.renyi import RhoFilter


class _Sessions:
    """What both forms open: sessions that pay from this filter, before each reduction of their noise."""

    def brownian(
        self: Charged, value: ArrayLike, sensitivity: float = 1.0, *, rng: Seed = None
    ) -> BrownianMechanism:
        """Open a session of the Brownian mechanism; by time T it costs mu^2 = Delta^2/T, or half that in rho.

        Parameters are those of ``BrownianMechanism``; nothing is paid before the first ``refine``.
        """
        return BrownianMechanism(value, sensitivity, filter=self, rng=rng)

    def doubling(self: Charged, value: ArrayLike, sensitivity: float = 1.0, *, rng: Seed = None) -> Doubling:
        """Open a session of the baseline, which pays for every level; parameters as for ``brownian``."""
        return Doubling(value, sensitivity, filter=self, rng=rng)


class UnifiedFilter(_Sessions, GDPFilter):
    """Continue while sum mu_k^2 + sum Delta_j^2/T_j <= mu^2, over steps k and sessions j: it is mu-GDP.

    Parameters
    ----------
    mu
        Budget, in [0, inf).

    Raises
    ------
    DomainError
        If ``mu`` is not such a number.

    Notes
    -----
    A session in inverse time is Gaussian composition with increments chosen adaptively, so sessions and steps
    form one adaptive sequence for the GDP filter, in whatever order they are interleaved (Rogers,
    Samorodnitsky, Wu, Ramdas 2023, in their zCDP form; Smith, Thakurta 2022).

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> budget = UnifiedFilter(1.0)
    >>> first, second = budget.brownian(120.0, rng=1), budget.brownian(80.0, rng=2)
    >>> first.refine(16.0).spent, second.refine(4.0).spent, first.refine(2.0).spent
    (G_{0.25}, G_{0.5}, G_{0.707107})
    >>> budget.spend(Gaussian(0.5))
    >>> budget.would_exceed(Gaussian(0.001)), budget.guarantee()
    (True, G_{1} (not exact))
    """

    kind = "unified"


class UnifiedZCDPFilter(_Sessions, RhoFilter):
    """Continue while sum rho_k + sum Delta_j^2/(2 T_j) <= rho, over steps k and sessions j: it is rho-zCDP.

    Parameters
    ----------
    rho
        Budget, in [0, 1e6].
    delta
        Sum of what approximate steps may leak, in [0, 1).

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    It takes steps that are zCDP without being GDP, such as the discrete Gaussian; where all steps are
    Gaussian, ``UnifiedFilter(sqrt(2 rho))`` grants the same ones and guarantees more (Rogers, Samorodnitsky,
    Wu, Ramdas 2023).

    Examples
    --------
    >>> from tradeoff.mechanisms import DiscreteGaussian
    >>> budget = UnifiedZCDPFilter(0.5)
    >>> budget.spend(DiscreteGaussian(sigma=2))
    >>> budget.brownian(80.0, rng=1).refine(4.0).spent
    G_{0.5}
    >>> round(budget.spent.rho, 12)
    0.25
    """

    kind = "unified-zcdp"
