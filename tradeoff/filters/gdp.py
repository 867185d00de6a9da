"""The GDP filter: squares of mu add up, whatever the rule. Its proof, runnable; and why other f have none."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number, reals, written
from tradeoff.errors import BudgetExceeded, DomainError, KindError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.base import SLACK, Filter, ThreadSafe
from tradeoff.filters.step_cost import gdp_mu
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import sqrt


class GDPFilter(Filter):
    """Grant steps while the sum of mu_k^2 stays within mu^2: the whole is mu-GDP, at no loss for adaptivity.

    A step is charged the least mu for which f >= G_mu is proved, in both orders of the pair (Smith, Thakurta
    2022, Theorem 1; Koskela, Tobaben, Honkela 2023). Where that mu is infinite the step is refused: the mu of
    a central limit theorem is not a bound, and would prove nothing.

    Parameters
    ----------
    mu
        Budget, in [0, 1e4]. ``spent``, ``remaining`` and ``budget`` are in the same unit: the mu of one
        Gaussian step.

    Examples
    --------
    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.GDPFilter(1)
    >>> budget.spend(Gaussian(0.1) ** 100)
    >>> budget.would_exceed(Gaussian(0.001)), budget.guarantee()
    (True, G_{1} (not exact))
    """

    kind = "gdp"

    def __init__(self, mu: float) -> None:
        self.mu = number("mu", mu, 0, 1e4)
        self._unit = self.mu or 1.0
        super().__init__(self.mu / self._unit)  # sums are of (mu_k/mu)^2

    def _cost(self, curve: TradeOff) -> tuple[float]:
        mu = gdp_mu(curve)
        if math.isinf(mu):
            raise KindError(
                f"no finite mu with f >= G_mu is proved for {shown(curve)}; spend it in a ResidueFilter or "
                "an ApproximateDPFilter, or spend a Gaussian that bounds it"
            )
        return (share(mu, self._unit),)

    def _in_units(self, *amounts: Bounds) -> tuple[Bounds, ...]:
        return (self._unit * sqrt(amounts[0]),)

    def _curve(self) -> TradeOff:
        return Gaussian(widen_mu(self.mu))


def share(mu: float, unit: float) -> float:
    """Return (mu/unit)^2, rounded up."""
    return float(((Bounds.of(mu) / unit) ** 2).upper)


def widen_mu(mu: float) -> float:
    """Return mu sqrt(1 + SLACK), rounded up: the mu of shares of mu^2 that add up to 1 + SLACK."""
    return float((mu * sqrt(1 + SLACK)).upper)


class FDPFilter:
    """Refused: a filter that composes curves along the path and stops at a target f is not f-DP.

    Answers with different curves after different answers can each stay above f, while the whole, which an
    observer sees with the path, does not: a first randomised response, after one answer a leak with
    probability 0.01 and after the other a diluted randomised response, all with delta(1) = 0.01 along their
    paths, have delta(1) = 0.01495 together. The remainder of a Gaussian target is one number r, and every
    path uses the same G_r.

    Parameters
    ----------
    target : any target; it is refused

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
        raise KindError(
            "a filter for an arbitrary f-DP target is not private: the curves composed along each path may "
            "all stay above the target while the adaptive whole does not (two answers, delta(1) = 0.01 along "
            "either path, 0.01495 together); a Gaussian target is safe: use "
            f"GDPFilter{mu} or ResidueFilter{mu}, or a filter in epsilon, rho or Renyi divergence"
        )


class GaussianSimulator(ThreadSafe):
    """Answer adaptive m_1, m_2, ... with sum m_i^2 <= 1 from one W_0 ~ N(b, 1), by independent N(b m_i, 1).

    W_i = m_i W_0 + U_i with Cov(U) = I - m m^T, factored by Cholesky row by row. With s_i = m_1^2 + ... +
    m_i^2, U_i given the past is normal with mean -m_i sum_{j<i} m_j U_j/(1 - s_{i-1}) and variance (1 -
    s_i)/(1 - s_{i-1}), so a round costs O(1); where 1 - s_{i-1} is below 1e-9 it is drawn afresh from N(0,
    1). As the answers are made of one draw of N(b, 1), whatever the rule, the interaction is a
    post-processing of a 1-GDP release (Smith, Thakurta 2022, the proof of Theorem 1). In floating point: for
    simulation and proof, not for release.

    Parameters
    ----------
    draw : W_0, a finite number or an array of them: each entry is a run of its own
    rng : source of all further randomness, independent of b

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
        super().__init__()
        self._draw = np.array(reals("draw", draw))
        if not np.all(np.isfinite(self._draw)):
            raise DomainError("draw must be finite; give draws of N(b, 1)")
        self._rng = rng
        self._left = np.ones_like(self._draw)  # 1 - s
        self._sum = np.zeros_like(self._draw)  # of m_j U_j

    @property
    def remaining(self) -> Any:
        """Return 1 - s: the most that the squares of further m may add up to."""
        return _unwrap(np.maximum(self._left, 0.0))

    def answer(self, m: ArrayLike) -> Any:
        """Answer the next query in each run: N(b m, 1), independent of the answers before.

        ``m`` is finite, one number for each run or one for all, and may depend on earlier answers. If the
        squares pass 1 in some run, ``BudgetExceeded`` is raised and nothing is drawn.
        """
        m = reals("m", m)
        if not np.all(np.isfinite(m)) or m.shape not in {(), self._draw.shape}:
            raise DomainError(f"m must be finite, of shape () or {self._draw.shape}, got {shown(m)}")
        m = np.broadcast_to(m, self._draw.shape)
        with self._lock:
            with np.errstate(over="ignore"):
                after = self._left - m**2
            if np.any(after < -SLACK):
                k = int(np.argmin(after))
                left, cost = float(self._left.flat[k]), float(m.flat[k]) * float(m.flat[k])
                raise BudgetExceeded(
                    f"m^2 = {cost:.6g} is more than the {left:.6g} left in run {k}", 1 - left, cost, left, 1.0
                )
            # Below 1000 times the rounding of s, m is so small that a fresh N(0, 1) is as good.
            some = self._left > 1e3 * SLACK
            before = np.where(some, self._left, 1.0)
            ratio = np.where(some, np.maximum(after, 0.0) / before, 1.0)
            u = -m * self._sum / before + np.sqrt(ratio) * self._rng.normal(size=m.shape)
            self._left, self._sum = after, self._sum + m * u
        return _unwrap(m * self._draw + u)


def _unwrap(x: Any) -> Any:
    return x if np.ndim(x) else float(x)
