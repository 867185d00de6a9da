"""The individual GDP filter: every record has its own budget, and leaves the steps that would pass it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import count, number, workers
from tradeoff.errors import DomainError, KindError, PlanError, domain, file_name, needed, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.base import SLACK, assumptions_of, curve_of
from tradeoff.filters.costs import gdp_mu
from tradeoff.filters.gdp import widened_mu
from tradeoff.filters.shared import Shared, numbers
from tradeoff.intervals.rounding import UNIT, Array, down, up
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan
from tradeoff.operators.assumed import assumed

Mask = NDArray[np.bool_]
Used = NDArray[np.uint64]

# Shares of mu^2 are whole numbers of 1/(7 2^60): exact sums in eight bytes, and two shares never wrap.
_ONE = 7 * 2.0**60

_LIMIT = np.uint64(int(_ONE) + int(SLACK * _ONE))  # shares that a record may use: all, and the slack of a sum

# Records charged at once, in 256 kB; pieces of a table for joblib; rows of a file read at once, 8 MB.
_BLOCK, _PIECES, _BATCH = 1 << 15, 64, 1 << 20


class IndividualGDPFilter(Shared):
    """Let each record take part while its own sum of mu_k^2 stays within mu^2: the whole is mu-GDP.

    Parameters
    ----------
    mu
        Budget of each record, in [1e-150, 1e150].
    records
        Number of records, as many as memory holds: 8 bytes each, and 1 for each answer.
    jobs
        1: one thread. Otherwise pieces of the table go through ``joblib.Parallel(n_jobs=jobs)``; None leaves
        the number and the place to ``joblib.parallel_config``, for example a Dask cluster.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    mu_k(z) bounds what record z can change in step k, given the answers so far: its own sensitivity over the
    standard deviation. The step is computed from the records granted alone. Neighbours add or remove one
    record (Feldman, Zrnic 2021, Theorem 4.5; Koskela, Tobaben, Honkela 2023, "Individual privacy accounting
    with Gaussian differential privacy", their theorem on fully adaptive GDP compositions). Who is granted
    depends on the data, and is not to be released. Threads may share a table; a copy, a pickle and a forked
    child are second budgets, at the same memory again.

    Examples
    --------
    >>> from tradeoff import filters
    >>> budget = filters.IndividualGDPFilter(1, records=3)
    >>> budget.spend([0.6, 0.8, 1.0]).tolist()
    [True, True, True]
    >>> budget.spend([0.8, 0.8, 0.1]).tolist()
    [True, False, False]
    """

    assumptions: tuple[str, ...] = ()
    """What the curves of steps rest on without proof, and so the guarantee; empty if on nothing."""

    def __init__(self, mu: float, records: int, *, jobs: int | None = 1) -> None:
        self.mu = number("mu", mu, 1e-150, 1e150)
        self.jobs = workers("jobs", jobs)
        self.steps = 0
        self._used: Used = _unspent(count("records", records))

    @property
    def records(self) -> int:
        """Return the number of records."""
        return len(self._used)

    @property
    def budget(self) -> float:
        """Return mu, the budget of each record."""
        return self.mu

    @property
    def spent(self) -> Array:
        """Return the mu each record has used, rounded up past a conversion, quotient, root and product."""
        with self._lock.once():
            return np.where(self._used > 0, up(self.mu * np.sqrt(self._used / _ONE), 8), 0.0)

    @property
    def remaining(self) -> Array:
        """Return the mu of the largest step each record still fits into, rounded down."""
        with self._lock.once():
            left = np.uint64(int(_ONE)) - np.minimum(self._used, np.uint64(int(_ONE)))
        return np.maximum(down(self.mu * np.sqrt(left / _ONE), 8), 0.0)

    def would_exceed(self, step: Any) -> Mask:
        """Return for each record whether ``spend(step)`` would leave it out."""
        mu, _ = self._checked(step)
        with self._lock.once():
            used = self._used.copy()
        return ~_grant(used, mu, self.mu)

    def spend(self, step: Any) -> Mask:
        """Charge every record that has room for the step, leave the others out, and say which take part.

        Parameters
        ----------
        step
            The mu of each record: numbers in [0, inf] of shape (records,), NumPy or Arrow; inf is always left
            out. Or one curve or mechanism for all.

        Raises
        ------
        DomainError
            If the shape is another, or a mu is negative or NaN; nothing is recorded.
        KindError
            If the step is a curve for which no finite mu is proved.
        PlanError
            If the step is a mechanism that is stated for other neighbours than those of the table.
        """
        mu, curve = self._checked(step)
        with self._lock.once():
            granted = _grant(self._used, mu, self.mu) if self.jobs == 1 else self._spend_in_pieces(mu)
            self.steps += 1
            self.assumptions = assumptions_of(curve, self.assumptions)
        return granted

    def _spend_in_pieces(self, mu: Array) -> Mask:
        joblib = needed("joblib", 'jobs other than 1 need joblib: pip install "tradeoff[parallel]"')
        size = max(_BLOCK, -(-self.records // _PIECES))
        parts = [slice(start, start + size) for start in range(0, self.records, size)]
        work = (joblib.delayed(_grant_apart)(self._used[part], mu[part], self.mu) for part in parts)
        done = joblib.Parallel(n_jobs=self.jobs)(work)
        # Nothing is recorded before every piece has come back.
        self._used = np.concatenate([self._used[:0], *(used for used, _ in done)])
        return np.concatenate([np.zeros(0, dtype=np.bool_), *(mask for _, mask in done)])

    def spend_parquet(self, path: str | Path, column: str = "mu") -> Mask:
        """Do as ``spend`` with the mu of each record in a column of a Parquet file, read in pieces.

        Raises
        ------
        MissingExtraError
            If pyarrow is not installed.
        DomainError
            If the file has another number of rows, no such column, or nulls in it; nothing is recorded.
        """
        return self.spend(read_column(path, column, self.records))

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction, for each record: G_mu, with mu widened by the slack of the sums."""
        return limited(assumed(Gaussian(widened_mu(self.mu)), self.assumptions), BOUND)

    def _checked(self, step: Any) -> tuple[Array, TradeOff | None]:
        """Return the mu of each record, and the curve they were read off, if any."""
        if isinstance(step, TradeOff | Mechanism | Plan) or hasattr(step, "trusted"):
            neighbours = getattr(step, "adjacency", None)
            if neighbours not in {None, "add-remove"}:
                said = "and a table lets records come and go: its neighbours are add-remove"
                raise PlanError(f"{shown(step)} is stated for {neighbours} neighbours, {said}")
            curve = curve_of(step)
            mu = gdp_mu(curve)
            if np.isinf(mu):
                raise KindError(
                    f"no finite mu with f >= G_mu is proved for {shown(step)}; give the mu of each record"
                )
            return np.broadcast_to(mu, (self.records,)), curve
        array = numbers("mu", step)
        if array.shape != (self.records,):
            wanted = f"one mu for each of the {self.records} records"
            raise DomainError(f"a step needs {wanted}, not an array of shape {array.shape}")
        lowest = float(np.min(array, initial=0.0))
        if not lowest >= 0:  # NaN lands here too
            place = int(np.argmax(~(array >= 0)))
            raise DomainError(f"mu[{place}] = {array[place]} is outside [0, inf]")
        return array, None

    def __repr__(self) -> str:
        return f"IndividualGDPFilter(mu={self.mu:g}, records={self.records}): {self.steps} steps"


def _unspent(records: int) -> Used:
    try:
        return np.zeros(records, dtype=np.uint64)
    except (ValueError, OverflowError, MemoryError) as error:
        remedy = "split the table: every record has its own budget, wherever it is kept"
        raise domain("records", records, "what memory holds at 8 bytes each", remedy) from error


def _grant(used: Used, mu: Array, budget: float) -> Mask:
    """Charge, in place, the records that have room; say which. Blocks reuse buffers in the cache."""
    granted = np.empty(len(used), dtype=np.bool_)
    share, total = np.empty(_BLOCK), np.empty(_BLOCK, dtype=np.uint64)
    for start in range(0, len(used), _BLOCK):
        block = slice(start, start + _BLOCK)
        size = len(used[block])
        _charge(used[block], mu[block], budget, share[:size], total[:size], granted[block])
    return granted


def _charge(used: Used, mu: Array, budget: float, share: Array, total: Used, granted: Mask) -> None:
    with np.errstate(over="ignore", under="ignore"):
        np.divide(mu, budget, out=share)
        np.multiply(share, share, out=share)
    # Six roundings: of mu to a float and the quotient, squared, and two products; 7 (1 + 8 u) is a float.
    np.multiply(share, _ONE * (1 + 8 * UNIT), out=share)
    # More than all, as NaN is, which a caller may write meanwhile; used + share stays below 2^64.
    np.fmin(share, 8 * 2.0**60, out=share)
    np.ceil(share, out=share)
    np.maximum(share, mu > 0, out=share)  # a square that underflows is charged a unit too
    np.copyto(total, share, casting="unsafe")
    np.add(total, used, out=total)
    np.less_equal(total, _LIMIT, out=granted)
    np.copyto(used, total, where=granted)


def _grant_apart(used: Used, mu: Array, budget: float) -> tuple[Used, Mask]:
    """Do the same on a copy: what another process is handed may be read-only, and does not come back."""
    used = used.copy()
    return used, _grant(used, mu, budget)


def read_column(path: str | Path, column: str, rows: int) -> Array:
    """Return a column of a Parquet file as floats; memory beyond the answer is that of one piece."""
    parquet = needed("pyarrow.parquet", 'Parquet files need pyarrow: pip install "tradeoff[arrow]"')
    source = file_name(path)
    try:
        with parquet.ParquetFile(source) as file:
            return _column(file, column, rows)
    except (OSError, ValueError) as error:  # damage, another shape, nulls, text, dates
        said = f"{source}: is no Parquet file whose column {column!r} has one float or integer a record"
        raise DomainError(f"{said}; fill nulls, cast to float64: {' '.join(str(error).split())}") from error


def _column(file: Any, column: str, rows: int) -> Array:
    names = file.schema_arrow.names
    if file.metadata.num_rows != rows or names.count(column) != 1:
        raise ValueError(
            f"has {file.metadata.num_rows} rows and the columns {names}; wanted: {rows} of one {column!r}"
        )
    values, start = np.empty(rows), 0
    for batch in file.iter_batches(batch_size=_BATCH, columns=[column]):
        end = start + len(batch)
        values[start:end] = numbers(column, batch.column(0).to_numpy(zero_copy_only=True))
        start = end
    return values
