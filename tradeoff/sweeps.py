"""Sweeps: one function at every point of a grid, optionally in parallel, with a table of results."""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, product
from operator import mul
from os import PathLike
from pickle import PicklingError
from typing import Any, Literal

import numpy as np

from tradeoff.accounting.cache import Cache, shared_cache
from tradeoff.curves.parameters import workers
from tradeoff.display import Displayed, TextTable, exactly, rounded
from tradeoff.errors import DomainError, SweepError, domain, file_name, needed
from tradeoff.intervals.bounds import Bounds

_SHOWN = 20  # rows that a printed table shows, so that it fits a screen

# The safe side of columns by name.
_SAFE: dict[str, Literal["lower", "upper"]] = {
    **dict.fromkeys(("lower", "beta", "bayes_risk"), "lower"),
    **dict.fromkeys(("upper", "epsilon", "delta", "mu", "advantage"), "upper"),
}

# Products cached for the points that follow: a few MB each, 180 MiB at worst.
_CACHED_PRODUCTS = 8

# Least number of batches for each job, as points differ in cost, and most points of a batch.
_MIN_BATCHES, _MAX_POINTS = 8, 64


@dataclass(frozen=True, repr=False)
class Table(Displayed):
    """Immutable table of named columns; prints aligned.

    Examples
    --------
    >>> table = Table(("mu", "value"), ((1, 0.5), (2, 0.25)))
    >>> table
    mu  value
     1    0.5
     2   0.25
    >>> table["value"], len(table)
    ([0.5, 0.25], 2)
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    asked: int = 0
    """Number of leading columns that are parameters."""
    estimated: bool = False
    """Whether answers without a safe side are estimates, printed with six digits."""

    def __post_init__(self) -> None:
        if not all(isinstance(row, tuple) and len(row) == len(self.columns) for row in self.rows):
            raise DomainError("rows must be tuples with one value for each column")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        if column not in self.columns:
            raise domain("column", column, f"one of {', '.join(map(repr, self.columns))}")
        at = self.columns.index(column)
        return [row[at] for row in self.rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return ``{column: values}``, from which ``pandas.DataFrame`` and ``polars.DataFrame`` are made."""
        return {column: self[column] for column in self.columns}

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """Return the table as comma-separated text with every digit; write it to ``path`` if given."""
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        if path is not None:
            place = file_name(path)
            try:
                place.write_text(text.getvalue(), encoding="utf-8", newline="")
            except OSError as error:
                raise DomainError(f"{place}: cannot be written: {error.strerror or error}") from error
        return text.getvalue()

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``; raise ``MissingExtraError`` if pandas is not installed."""
        pandas = needed("pandas", 'a DataFrame needs pandas: pip install "tradeoff[pandas]"')
        return pandas.DataFrame(self.to_dict())

    def to_latex(self) -> str:
        """Return all rows as a LaTeX table for booktabs."""
        return self._texts(self.rows).latex()

    def grid(self) -> TextTable:
        hidden = len(self.rows) - _SHOWN
        notes = [f"... {hidden} more rows ..."] if hidden > 0 else []
        return self._texts(self.rows[:_SHOWN])._replace(notes=notes)

    def _texts(self, rows: Iterable[tuple[Any, ...]]) -> TextTable:
        texts = [[self._text(k, each) for k, each in enumerate(row)] for row in rows]
        return TextTable(texts, self.columns, sides=">" * len(self.columns))

    def _text(self, k: int, value: Any) -> str:
        """Format a cell: six digits towards the safe side of its column, every digit elsewhere."""
        if not isinstance(value, float | np.floating):
            return str(value)
        value = float(value)
        if k < self.asked:
            return exactly(value)
        side = _SAFE.get(self.columns[k])
        if side is None or math.isnan(value):
            return f"{value:.6g}" if self.estimated else exactly(value)
        return rounded(value, side, 6)


def sweep(function: Callable[..., Any], grid: Mapping[str, Any], *, n_jobs: int | None = 1) -> Table:
    """Tabulate a function at every point of a grid, the product of its axes.

    Parameters
    ----------
    function
        Called as ``function(**point)``. A number becomes the column ``value``, ``Bounds`` the columns
        ``lower`` and ``upper``, a mapping one column a key, each a str. Bounds, and columns named epsilon,
        delta, mu, advantage, beta or bayes_risk, are printed with six digits, rounded to their safe side; all
        others with every digit.
    grid
        ``{argument: values}``; the last axis varies fastest. Consecutive points share cached products:
        if delta or alpha is the last axis, each product is composed once.
    n_jobs
        1: in this process. More, or -1 for every core: through joblib, in processes unless
        ``joblib.parallel_config`` says otherwise (threads, Dask, Ray). None: as many as joblib is configured
        for.

    Returns
    -------
    Table
        One row a point, in the order of the grid whatever the number of jobs; each answer is that of the
        function called alone, to the last bit. Processes of joblib give NumPy's linear algebra fewer threads,
        which may round another way: for the same bits set ``OPENBLAS_NUM_THREADS=1`` for all.

    Raises
    ------
    DomainError
        If the grid is not a mapping of argument names to non-empty sequences, or answers differ in their
        columns or name one by anything but a str.
    SweepError
        If the function raises; ``point`` has its arguments, ``__cause__`` its error.
    MissingExtraError
        If ``n_jobs`` is not 1 and joblib is not installed.

    Examples
    --------
    >>> import tradeoff as to
    >>> def loss(mu, delta):
    ...     return {"epsilon": to.Gaussian(mu).epsilon(delta)}
    >>> to.sweep(loss, {"mu": [0.5, 1.0], "delta": [1e-5]})
     mu  delta  epsilon
    0.5  1e-05  1.99310
      1  1e-05  4.37718
    """
    rows = list(stream(function, grid, n_jobs=n_jobs))
    return Table(tuple(rows[0]), tuple(tuple(row.values()) for row in rows), len(grid))


def stream(
    function: Callable[..., Any], grid: Mapping[str, Any], *, n_jobs: int | None = 1
) -> Iterator[dict[str, Any]]:
    """Yield rows of ``sweep`` in the order of the grid, each as soon as it and those before it are computed.

    Parameters, columns and errors are those of ``sweep``; rows before an error stay valid.
    Closing the iterator kills the jobs that still run.

    Examples
    --------
    >>> import tradeoff as to
    >>> rows = to.sweeps.stream(lambda mu: to.Gaussian(mu)(0.05), {"mu": [0.5, 1.0]})
    >>> next(rows)
    {'mu': 0.5, 'value': 0.8738651018065696}
    """
    axes = _axes(grid)
    if not callable(function):
        raise domain("function", function, f"a function of {', '.join(axes)}")
    points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    answers = _answers(function, points, [len(values) for values in axes.values()], n_jobs)
    return _rows(points, answers)


def _rows(points: list[dict[str, Any]], answers: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    names: tuple[str, ...] | None = None
    for point, answer in zip(points, answers, strict=True):
        names = tuple(answer) if names is None else names
        if tuple(answer) != names:
            first = f"{list(names)} at {_named(points[0])}"
            raise DomainError(f"columns must be {first}, got {list(answer)} at {_named(point)}")
        if both := sorted(point.keys() & answer.keys()):
            raise DomainError(f"columns must not have names of arguments, got {both}")
        yield point | answer


def _axes(grid: Any) -> dict[str, tuple[Any, ...]]:
    if not isinstance(grid, Mapping) or not grid:
        raise domain("grid", grid, "a non-empty mapping {argument: values}")
    for name, values in grid.items():
        if not isinstance(name, str):
            raise domain("a key of grid", name, "the name of an argument")
        single = isinstance(values, str | bytes | Mapping) or getattr(values, "shape", None) == ()
        if single or not hasattr(values, "__len__") or len(values) == 0:
            raise domain(f"grid[{name!r}]", values, "a non-empty sequence of values")
    return {name: tuple(values) for name, values in grid.items()}


def _answers(
    function: Callable[..., Any], points: list[dict[str, Any]], lengths: Sequence[int], n_jobs: Any
) -> Iterable[dict[str, Any]]:
    n_jobs = workers("n_jobs", n_jobs)
    if n_jobs == 1:
        memory: Cache[Any] = Cache(_CACHED_PRODUCTS)
        return (_answer(function, point, memory) for point in points)
    joblib = needed("joblib", 'more than one job needs joblib: pip install "tradeoff[parallel]"')
    try:
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # some backends, such as Ray's, cannot return a generator
        parallel = joblib.Parallel(n_jobs=n_jobs)
    size = _batch_size(lengths, joblib.effective_n_jobs(n_jobs))
    starts = range(0, len(points), size)
    batches = (joblib.delayed(_batch)(function, points[start : start + size]) for start in starts)
    return _collect(parallel, batches)


def _collect(parallel: Callable[[Any], Any], work: Any) -> Iterator[dict[str, Any]]:
    """Yield the results of all batches; suppress joblib's warning that a sweep was stopped early."""
    batches = None
    try:
        batches = parallel(work)  # starts at once
        yield from chain.from_iterable(batches)
    except (PicklingError, TypeError, AttributeError) as error:
        given = str(error.__cause__ or error).strip('\n"').splitlines()  # loky's own holds a traceback
        why = given[-1] if given else type(error).__name__
        raise SweepError(f"function and results must be picklable: {why}; take n_jobs = 1", {}) from error
    finally:
        if isinstance(batches, Generator):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                batches.close()


def _batch_size(lengths: Sequence[int], jobs: int) -> int:
    """Return the number of points in a batch: complete cycles of as many last axes as fit."""
    size = max(1, min(_MAX_POINTS, math.prod(lengths) // (_MIN_BATCHES * jobs)))
    cycle = max(n for n in accumulate(reversed(lengths), mul, initial=1) if n <= size)
    return size // cycle * cycle


def _batch(function: Callable[..., Any], points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    memory: Cache[Any] = Cache(_CACHED_PRODUCTS)
    return [_answer(function, point, memory) for point in points]


def _answer(function: Callable[..., Any], point: dict[str, Any], memory: Cache[Any]) -> dict[str, Any]:
    """Return the columns of one answer."""
    try:
        with shared_cache(memory):
            value = function(**point)
    except Exception as error:
        given = " ".join(str(error).split())
        raise SweepError(f"{_named(point)}: {type(error).__name__}: {given}", point) from error
    if isinstance(value, Bounds):
        return {"lower": value.lower, "upper": value.upper}
    if not isinstance(value, Mapping):
        return {"value": value}
    for name in value:
        if not isinstance(name, str):
            raise DomainError(f"column names must be str, got {name!r} at {_named(point)}")
    return dict(value)


def _named(point: dict[str, Any]) -> str:
    return f"the point {', '.join(f'{name} = {value!r}' for name, value in point.items())}"
