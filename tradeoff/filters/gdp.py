"""GDP filters: squares of mu add up, for the whole interaction or for each record; and the proof, as code.

A step is at or above G_mu_k in both orders of a pair of neighbours; mu is the budget.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import MAX_LOSS, number, reals, written
from tradeoff.errors import BudgetExceeded, DomainError, KindError, file_name, needed, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.base import (
    SLACK,
    Filter,
    StepRecord,
    ThreadSafe,
    gdp_mu,
    loss_budget,
    square,
    widen,
    widen_mu,
)
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.intervals.functions import sqrt
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.fields import integer, parameter, stateful
from tradeoff.mechanisms.plan import Plan

Mask = NDArray[np.bool_]


@stateful
class GDPFilter(Filter):
    r"""Grant steps while the sum of mu_k^2 stays within mu^2: the whole is mu-GDP, at no loss for adaptivity.

    A step is charged the least :math:`\mu` for which :math:`f \ge G_\mu` is proved, in both orders of the
    pair (Smith, Thakurta 2022, Theorem 1; Koskela, Tobaben, Honkela 2023). Where that :math:`\mu` is infinite
    the step is refused: the :math:`\mu` of a central limit theorem is not a bound, and would prove nothing.

    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.GDPFilter(1)
    >>> budget.spend(Gaussian(0.1) ** 100)
    >>> budget.would_exceed(Gaussian(0.001)), budget.guarantee()
    (True, G_{1} (not exact))
    """

    kind = "gdp"
    cost_name = "mu with f >= G_mu"
    remedy = "spend it in a ResidueFilter or an ApproximateDPFilter at some delta, or in a RhoFilter"
    counts_sampling = False

    mu: float = parameter("Budget.", "float in [0, 10000]", loss_budget)

    def _limits(self) -> tuple[float, ...]:
        self._unit = self.mu or 1.0  # a budget of 0 divides nothing
        return (self.mu / self._unit,)  # sums are of (mu_k/mu)^2, which neither overflow nor underflow

    def _cost(self, curve: TradeOff) -> tuple[float]:
        return (square(gdp_mu(curve), self._unit),)

    def _in_units(self, *amounts: Bounds) -> tuple[Bounds, ...]:
        return (self._unit * sqrt(amounts[0]),)

    def _curve(self) -> TradeOff:
        return Gaussian(widen_mu(self.mu))


@stateful
class IndividualGDPFilter(StepRecord):
    r"""Let each record take part while its own sum of mu_k^2 stays within mu^2: the whole is mu-GDP.

    :math:`\mu_k(z)` bounds the change that record :math:`z` can cause in step :math:`k`, given the answers so
    far: its own sensitivity over the standard deviation. The step is computed from the granted records alone.
    Neighbours add or remove one record (Feldman, Zrnic 2021, Theorem 4.5; Koskela, Tobaben, Honkela 2023,
    "Individual privacy accounting with Gaussian differential privacy", their theorem on fully adaptive GDP
    compositions). The granted records depend on the data, and are not to be released. Sums are floats, each
    addition rounded up: after :math:`n` steps they are too large by at most :math:`n\,2^{-50}` of themselves.
    Threads may share a table.

    >>> from tradeoff import filters
    >>> budget = filters.IndividualGDPFilter(1, records=3)
    >>> budget.spend([0.6, 0.8, 1.0]).tolist()
    [True, True, True]
    >>> budget.spend([0.8, 0.8, 0.1]).tolist()
    [True, False, False]
    """

    cost_name = GDPFilter.cost_name
    remedy = "give the mu of each record"
    counts_sampling = False

    mu: float = parameter("Budget of each record.", "float in [1e-9, 10000]", partial(loss_budget, low=1e-9))
    records: int = integer("Number of records; each takes 8 bytes.", 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.adjacency = "add-remove"
        self._limit = float((widen(self.mu) * self.mu).lower)
        self._used: Array = np.zeros(self.records)  # mu_k^2, summed and rounded up

    @property
    def budget(self) -> float:
        """Budget of each record, in mu."""
        return self.mu

    @property
    def spent(self) -> Array:
        """Mu that each record has used, rounded up."""
        return np.asarray(sqrt(self._used).upper)

    @property
    def remaining(self) -> Array:
        """Mu of the largest step that each record has room for, rounded down."""
        return np.asarray(sqrt(Bounds.of(self.mu) * self.mu - self._used).lower)

    def _cost(self, step: TradeOff) -> tuple[float]:
        return (gdp_mu(step),)

    def would_exceed(self, step: Any) -> Mask:
        """Return for each record whether ``spend(step)`` would leave it out."""
        return self._sums_with(step)[0] > self._limit

    def spend(self, step: Any) -> Mask:
        """Charge every record that has room for the step, and return the mask of records that take part.

        A step is the mu of each record: numbers in [0, inf] of shape (records,), NumPy or Arrow; inf is
        always left out. Or it is one curve or mechanism for all. If an error is raised, nothing is recorded.
        """
        with self._lock:
            sums, curve = self._sums_with(step)
            granted = sums <= self._limit
            self._record(step, curve, ())
            self._used = np.where(granted, sums, self._used)
        return granted

    def spend_parquet(self, path: str | Path, column: str = "mu") -> Mask:
        """Spend a step whose mu of each record is in a column of a Parquet file, without nulls."""
        parquet = needed("pyarrow.parquet", 'Parquet files need pyarrow: pip install "tradeoff[arrow]"')
        source = file_name(path)
        try:
            mu = reals(column, parquet.read_table(source, columns=[column])[column].to_numpy())
        except (OSError, ValueError, KeyError) as error:  # damage, nulls, text, dates
            raise DomainError(
                f"{source} must be a Parquet file with one number a record in the column {column!r}; "
                f"fill nulls, cast to float64: {' '.join(str(error).split())}"
            ) from error
        return self.spend(mu)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction, for each record: G_mu, with mu widened by the slack of the sums."""
        return limited(Gaussian(widen_mu(self.mu)), BOUND, self.assumptions)

    def _sums_with(self, step: Any) -> tuple[Array, TradeOff | None]:
        """Return the sums if all records take part, rounded up, and the curve of the step, if it has one."""
        curve = None
        if isinstance(step, TradeOff | Mechanism | Plan) or hasattr(step, "trusted"):
            curve, cost = self._charge(step)
            mu = np.full(self.records, cost)
        else:
            mu = reals("mu", step)
        if mu.shape != self._used.shape:
            raise DomainError(f"a step must have the shape {self._used.shape}, got {mu.shape}")
        if not np.all(mu >= 0):
            place = int(np.argmin(mu >= 0))
            raise DomainError(f"mu[{place}] must be in [0, inf], got {mu[place]}")
        # The float above a rounded result is at or above the exact one.
        return np.nextafter(np.nextafter(mu * mu, np.inf) + self._used, np.inf), curve

    def __repr__(self) -> str:
        return f"{super().__repr__()}: {self.steps} steps{self._note}"


class FDPFilter:
    r"""Refused: a filter that composes curves along the path and stops at a target f is not f-DP.

    The products along all paths can stay above :math:`f` while the whole, which an observer sees with the
    path, does not. In the documentation's example of two steps, all paths have :math:`\delta(1) = 0.01` and
    the whole 0.01495.

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
        mu = f"({written(target.mu)})" if isinstance(target, Gaussian) else ""
        raise KindError(
            "a filter for an arbitrary f-DP target is not private: the curves composed along each path may "
            "all stay above the target while the adaptive whole does not (two answers, delta(1) = 0.01 along "
            "either path, 0.01495 together); a Gaussian target is safe: use "
            f"GDPFilter{mu} or ResidueFilter{mu}, or a filter in epsilon, rho or Renyi divergence"
        )


class GaussianSimulator(ThreadSafe):
    r"""Answer adaptive m_1, m_2, ... of sum m_i^2 <= mu^2 by independent N(b m_i, 1), from one N(b mu, 1).

    In units of :math:`\mu = 1`, :math:`W_i = m_i W_0 + U_i` with :math:`\mathrm{Cov}(U) = I - m m^\top`,
    so that all :math:`W_i` have variance 1 and are independent given :math:`b`. With :math:`s_i = m_1^2 +
    \cdots + m_i^2`, :math:`U_i` given the past is normal with mean :math:`-m_i \sum_{j<i} m_j U_j/(1 -
    s_{i-1})` and variance :math:`(1 - s_i)/(1 - s_{i-1})` (Cholesky, row by row); where :math:`1 - s_{i-1}`
    is below :math:`10^{-9}` it is drawn afresh from :math:`N(0, 1)`. As the answers are made of one draw,
    whatever the rule, the interaction is a post-processing of a :math:`\mu`-GDP release (Smith, Thakurta
    2022, the proof of Theorem 1). In floating point: for simulation and proof.

    Parameters
    ----------
    draw : :math:`W_0`, a finite number or an array of them: each entry is a run of its own
    rng : source of all further randomness, independent of :math:`b`
    mu : root of the sum that the squares of :math:`m` may reach, in [1e-9, 1e4]

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> simulator = GaussianSimulator(rng.normal(size=100_000), rng)
    >>> first = simulator.answer(0.6)
    >>> second = simulator.answer(np.where(first > 0, 0.8, 0.1))
    >>> bool(abs(np.corrcoef(first, second)[0, 1]) < 0.02), bool(abs(np.var(second) - 1) < 0.03)
    (True, True)
    """

    def __init__(self, draw: ArrayLike, rng: np.random.Generator, *, mu: float = 1.0) -> None:
        super().__init__()
        self._draw = np.array(reals("draw", draw))
        if not np.all(np.isfinite(self._draw)):
            raise DomainError("draw must be finite; give draws of N(b mu, 1)")
        self.mu = number("mu", mu, 1e-9, MAX_LOSS)
        self._rng = rng
        self._left = np.ones_like(self._draw)  # 1 - s_i of each run
        self._sum = np.zeros_like(self._draw)  # of m_j U_j

    @property
    def remaining(self) -> Any:
        """Return mu^2 less the squares of all m, in each run: the most that further ones may add up to."""
        return np.maximum(self._left, 0.0) * self.mu**2

    def answer(self, m: ArrayLike) -> Any:
        r"""Answer the next query in each run: N(b m, 1), independent of the answers before.

        ``m`` is finite, one number for each run or one for all, and may depend on earlier answers. If the
        squares pass :math:`\mu^2` in some run, ``BudgetExceeded`` is raised and nothing is drawn.
        """
        m = reals("m", m)
        if not np.all(np.isfinite(m)) or m.shape not in {(), self._draw.shape}:
            raise DomainError(f"m must be finite, of shape () or {self._draw.shape}, got {shown(m)}")
        m = np.broadcast_to(m, self._draw.shape) / self.mu
        with self._lock:
            with np.errstate(over="ignore"):
                square = m**2
            after = self._left - square
            if np.any(after < -SLACK):
                k = int(np.argmin(after))
                most = self.mu**2
                left, cost = most * float(self._left.flat[k]), most * float(square.flat[k])
                message = f"m^2 = {cost:.6g} is more than the {left:.6g} left in run {k}"
                raise BudgetExceeded(message, most - left, cost, left, most)
            # Below 1000 times the rounding of s, m is so small that a fresh N(0, 1) is as good.
            has_room = self._left > 1e3 * SLACK
            before = np.where(has_room, self._left, 1.0)
            variance = np.where(has_room, np.maximum(after, 0.0) / before, 1.0)
            u = -m * self._sum / before + np.sqrt(variance) * self._rng.normal(size=m.shape)
            self._left, self._sum = after, self._sum + m * u
        return m * self._draw + u
