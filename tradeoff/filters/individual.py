"""The individual GDP filter: every record has its own budget, and is left out of steps that would pass it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import count, number, reals
from tradeoff.errors import DomainError, KindError, PlanError, file_name, needed, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.base import ThreadSafe, all_assumptions, curve_of, widen
from tradeoff.filters.gdp import widen_mu
from tradeoff.filters.step_cost import gdp_mu
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import sqrt
from tradeoff.intervals.rounding import Array
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan
from tradeoff.operators.assumed import assumed

Mask = NDArray[np.bool_]


class IndividualGDPFilter(ThreadSafe):
    """Let each record take part while its own sum of mu_k^2 stays within mu^2: the whole is mu-GDP.

    mu_k(z) bounds the change that record z can cause in step k, given the answers so far: its own sensitivity
    over the standard deviation. The step is computed from the granted records alone. Neighbours add or remove
    one record (Feldman, Zrnic 2021, Theorem 4.5; Koskela, Tobaben, Honkela 2023, "Individual privacy
    accounting with Gaussian differential privacy", their theorem on fully adaptive GDP compositions). The
    granted records depend on the data, and are not to be released. Sums are floats, each addition rounded up:
    after n steps they are too large by at most n 2^-51 of themselves. Threads may share a table.

    Parameters
    ----------
    mu : Budget of each record, in [1e-9, 1e4].
    records : Number of records; each takes 8 bytes.

    Examples
    --------
    >>> from tradeoff import filters
    >>> budget = filters.IndividualGDPFilter(1, records=3)
    >>> budget.spend([0.6, 0.8, 1.0]).tolist()
    [True, True, True]
    >>> budget.spend([0.8, 0.8, 0.1]).tolist()
    [True, False, False]
    """

    def __init__(self, mu: float, records: int) -> None:
        super().__init__()
        self.mu = number("mu", mu, 1e-9, 1e4)
        self.steps = 0
        self.assumptions: tuple[str, ...] = ()
        self._limit = float((widen(self.mu) * self.mu).lower)
        self._used: Array = np.zeros(count("records", records))  # mu_k^2, summed and rounded up

    @property
    def records(self) -> int:
        """Number of records."""
        return len(self._used)

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
        """Mu of the largest step that each record still has room for, rounded down."""
        return np.asarray(sqrt(Bounds.of(self.mu) * self.mu - self._used).lower)

    def _after(self, mu: Array) -> Array:
        """Return the sums of the records if all of them took part, rounded up."""
        with np.errstate(over="ignore", under="ignore"):
            total = np.multiply(mu, mu)
            np.nextafter(total, np.inf, out=total, where=mu > 0)
            total += self._used
        return np.nextafter(total, np.inf, out=total, where=mu > 0)

    def would_exceed(self, step: Any) -> Mask:
        """Return for each record whether ``spend(step)`` would leave it out."""
        return self._after(self._mu_of(step)[0]) > self._limit

    def spend(self, step: Any) -> Mask:
        """Charge every record that has room for the step, and return the mask of records that take part.

        A step is the mu of each record: numbers in [0, inf] of shape (records,), NumPy or Arrow; inf is
        always left out. Or it is one curve or mechanism for all. If an error is raised, nothing is recorded.
        """
        mu, curve = self._mu_of(step)
        with self._lock:
            total = self._after(mu)
            granted = total <= self._limit
            self._used = np.where(granted, total, self._used)
            self.steps += 1
            self.assumptions = all_assumptions(curve, self.assumptions)
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
        return limited(assumed(Gaussian(widen_mu(self.mu)), self.assumptions), BOUND)

    def _mu_of(self, step: Any) -> tuple[Array, TradeOff | None]:
        """Return the mu of each record, and the curve of the step, if it has one."""
        if isinstance(step, TradeOff | Mechanism | Plan) or hasattr(step, "trusted"):
            neighbours = getattr(step, "adjacency", None)
            if neighbours not in {None, "add-remove"}:
                raise PlanError(f"adjacency of a step must be add-remove, got {neighbours} for {shown(step)}")
            curve = curve_of(step)
            mu = gdp_mu(curve)
            if np.isinf(mu):
                raise KindError(
                    f"no finite mu with f >= G_mu is proved for {shown(step)}; give the mu of each record"
                )
            return np.full(self.records, mu), curve
        array = reals("mu", step)
        if array.shape != self._used.shape:
            raise DomainError(f"a step must have the shape {self._used.shape}, got {array.shape}")
        if not np.all(array >= 0):
            place = int(np.argmin(array >= 0))
            raise DomainError(f"mu[{place}] must be in [0, inf], got {array[place]}")
        return array, None

    def __repr__(self) -> str:
        return f"IndividualGDPFilter(mu={self.mu:g}, records={self.records}): {self.steps} steps"
