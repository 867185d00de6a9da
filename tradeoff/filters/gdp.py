"""The GDP filter: squares of mu add up, whatever the rule. Its proof, runnable; and why other f have none."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number, written
from tradeoff.errors import BudgetExceeded, DomainError, KindError, domain, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.base import SLACK, Filter
from tradeoff.filters.costs import REMEMBERED, gdp_mu
from tradeoff.filters.shared import Shared, numbers
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import sqrt
from tradeoff.intervals.rounding import Array

# What a simulator has left, of 1, that is put down to rounding: a thousand times what squares may pass 1 by,
# so that it moves no variance by more than 1/1000; covariances of smaller m are below 4e-5.
_SPENT = 1e3 * SLACK


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
    (True, G_{1} (not exact))
    """

    kind = "gdp"

    def __init__(self, mu: float) -> None:
        self.mu = number("mu", mu, 0, open_high=True)
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


class GaussianSimulator(Shared):
    """Answer adaptive m_1, m_2, ... with sum m_i^2 <= 1 from one W_0 ~ N(b, 1), by independent N(b m_i, 1).

    Parameters
    ----------
    draw
        W_0, a number or an array: each entry is a run of its own.
    rng
        Source of all further randomness, which knows nothing of b.

    Notes
    -----
    W_i = m_i W_0 + U_i with Cov(U) = I - m m^T, factored by Cholesky row by row. With s_i = m_1^2 + ... +
    m_i^2, U_i given the past is normal with mean -m_i sum_{j<i} m_j U_j/(1 - s_{i-1}) and variance (1 -
    s_i)/(1 - s_{i-1}), so a round costs O(1); where next to nothing is left it is taken for a fresh N(0, 1).
    As the answers are made of one draw of N(b, 1), whatever the rule, the interaction is a post-processing of
    a 1-GDP release (Smith, Thakurta 2022, the proof of Theorem 1). In floating point: for simulation and
    proof, not for release. Threads may share a simulator; a copy, a pickle and a forked child go on with the
    same draws.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> simulator = GaussianSimulator(rng.normal(size=100_000), rng)
    >>> first = simulator.answer(0.6)
    >>> second = simulator.answer(np.where(first > 0, 0.8, 0.1))
    >>> bool(abs(np.corrcoef(first, second)[0, 1]) < 0.02), bool(abs(np.var(second) - 1) < 0.03)
    (True, True)
    """

    def __init__(self, draw: ArrayLike, rng: np.random.Generator) -> None:
        self._draw = np.array(numbers("draw", draw))
        if not np.all(np.isfinite(self._draw)):
            raise DomainError("draw holds a number that is not finite; give draws of N(b, 1)")
        if not hasattr(rng, "normal"):
            raise domain(
                "rng", rng, "the generators of numpy.random", "give one, such as numpy.random.default_rng(1)"
            )
        self._rng = rng
        self._left = np.ones_like(self._draw)  # 1 - s
        self._sum = np.zeros_like(self._draw)  # of m_j U_j

    @property
    def remaining(self) -> Any:
        """Return 1 - s, what the squares of further m may add up to."""
        return _plain(np.maximum(self._left, 0.0))

    def answer(self, m: ArrayLike) -> Any:
        """Answer the next query in each run: N(b m, 1), independent of the answers before.

        Parameters
        ----------
        m
            Finite numbers, one for each run or one for all; they may depend on earlier answers.

        Raises
        ------
        BudgetExceeded
            If the squares pass 1 in some run; nothing is drawn.
        DomainError
            If ``m`` is not made of finite numbers, or does not fit the runs.
        """
        m = numbers("m", m)
        try:
            m = np.broadcast_to(m, self._draw.shape)
        except ValueError as error:
            shapes = f"m has shape {m.shape}, and the runs {self._draw.shape}"
            raise DomainError(f"{shapes}; give one m for each run or one for all") from error
        with self._lock.once():
            after = self._after(m)
            # Where next to nothing is left m is as small, and U_i as good as a fresh N(0, 1).
            some = self._left > _SPENT
            before = np.where(some, self._left, 1.0)
            ratio = np.where(some, np.maximum(after, 0.0) / before, 1.0)
            u = -m * self._sum / before + np.sqrt(ratio) * self._rng.normal(size=m.shape)
            self._left, self._sum = after, self._sum + m * u
        return _plain(m * self._draw + u)

    def _after(self, m: Array) -> Array:
        """Return what is left after m, at most a rounding below 0, which is kept: roundings do not add up."""
        if not np.all(np.isfinite(m)):
            raise DomainError("m holds a number that is not finite")
        with np.errstate(over="ignore"):  # more than all is refused just below
            after = self._left - m**2
        if np.any(after < -SLACK):
            k = int(np.argmin(after))
            left, size = float(self._left.flat[k]), float(m.flat[k])
            asked = size * size  # inf where a power would raise
            raise BudgetExceeded(
                f"m^2 = {asked:.6g} is more than the {left:.6g} left in run {k}", 1 - left, asked, left, 1.0
            )
        return np.asarray(after)


def _plain(x: Array) -> Any:
    return x if x.ndim else float(x)


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
