"""Sweeps: one function at every point of a grid, in parallel where wanted, with a table as the answer."""

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
from pathlib import Path
from pickle import PicklingError
from typing import Any, Literal

import numpy as np

from tradeoff.accounting.cache import Cache, shared_cache
from tradeoff.curves.parameters import workers
from tradeoff.display import Displayed, TextTable, exactly, rounded
from tradeoff.errors import DomainError, SweepError, file_name, needed
from tradeoff.intervals.bounds import Bounds

_SHOWN = 20  # rows that a printed table shows, so that it fits a screen

# Columns whose name says to which side they are safe.
_SAFE: dict[str, Literal["lower", "upper"]] = {
    **dict.fromkeys(("lower", "beta", "bayes_risk"), "lower"),
    **dict.fromkeys(("upper", "epsilon", "delta", "mu", "advantage"), "upper"),
}

# Products whose lines and tables are kept for the points that follow: a few MB each, 180 MiB at worst.
_KEPT = 8

# Batches for each job at least, as points differ in cost, of at most 64 points, which answer within seconds.
_BATCHES, _MOST = 8, 64


@dataclass(frozen=True, repr=False)
class Table(Displayed):
    """Named columns and rows that do not change; prints aligned.

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
    """How many columns, the first ones, are what was asked and not answered."""
    estimated: bool = False
    """Whether answers without a safe side are estimates, of which six digits are printed."""

    def __post_init__(self) -> None:
        if not all(isinstance(row, tuple) and len(row) == len(self.columns) for row in self.rows):
            raise DomainError("the rows of a table are tuples of one value for each column")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        if column not in self.columns:
            raise DomainError(f"column = {column!r} is none of {', '.join(map(repr, self.columns))}")
        at = self.columns.index(column)
        return [row[at] for row in self.rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return ``{column: values}``: what ``pandas.DataFrame`` and ``polars.DataFrame`` take."""
        return {column: self[column] for column in self.columns}

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """Return the table as comma-separated text with a header, numbers to the last digit.

        Write it to ``path`` if given; raise ``DomainError`` if it cannot be written there.
        """
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        if path is not None:
            _write(text.getvalue(), file_name(path))
        return text.getvalue()

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``; raise ``MissingExtraError`` if pandas is not installed."""
        pandas = needed("pandas", 'a DataFrame needs pandas: pip install "tradeoff[pandas]"')
        return pandas.DataFrame(self.to_dict())

    def to_latex(self) -> str:
        """Return all rows as a tabular of LaTeX, for the package booktabs."""
        return self._texts(self.rows).latex()

    def grid(self) -> TextTable:
        hidden = len(self.rows) - _SHOWN
        notes = [f"... {hidden} more rows ..."] if hidden > 0 else []
        return self._texts(self.rows[:_SHOWN])._replace(notes=notes)

    def _texts(self, rows: Iterable[tuple[Any, ...]]) -> TextTable:
        texts = [[self._text(k, each) for k, each in enumerate(row)] for row in rows]
        return TextTable(texts, self.columns, sides=">" * len(self.columns))

    def _text(self, k: int, value: Any) -> str:
        """Write a cell: what has a safe side by its name to six digits, all digits of the rest."""
        if not isinstance(value, float | np.floating):
            return str(value)
        value = float(value)
        if k < self.asked:
            return exactly(value)
        side = _SAFE.get(self.columns[k])
        if side is None or math.isnan(value):
            return f"{value:.6g}" if self.estimated else exactly(value)
        return rounded(value, side, 6)


def _write(text: str, path: Path) -> None:
    """Write into what is there, which may be a pipe or a device, as other libraries do with tables."""
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise DomainError(f"{path}: cannot be written: {error.strerror or error}") from error


def sweep(function: Callable[..., Any], grid: Mapping[str, Any], *, n_jobs: int | None = 1) -> Table:
    """Table of a function at every point of a grid, the product of its axes.

    Parameters
    ----------
    function
        Called as ``function(**point)``. A number becomes the column ``value``, ``Bounds`` the columns
        ``lower`` and ``upper``, a mapping one column a key, each a str. Bounds, and columns named epsilon,
        delta, mu, advantage, beta or bayes_risk, are printed with six digits, rounded to their safe side; all
        others with every digit.
    grid
        ``{argument: values}``; the last axis turns fastest. Points in a row share what they have in common:
        where the questions (delta, alpha) are the last axis, each product is composed once.
    n_jobs
        1: here and now. More, or -1 for every core: through joblib, in processes unless
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
        If the grid is no mapping of argument names to non-empty sequences, or answers differ in their
        columns or name one by anything but a str.
    SweepError
        If the function raises; the message and ``point`` say where, the cause says why.
    MissingExtraError
        If more than one job is asked and joblib is not installed.

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
    """Rows of ``sweep``, in the order of the grid, each as soon as it and those before it are known.

    Parameters, columns and errors are those of ``sweep``; what was yielded before an error stands.
    Jobs that still run when the rows are left are killed.

    Examples
    --------
    >>> import tradeoff as to
    >>> rows = to.sweeps.stream(lambda mu: to.Gaussian(mu)(0.05), {"mu": [0.5, 1.0]})
    >>> next(rows)
    {'mu': 0.5, 'value': 0.8738651018065696}
    """
    axes = _axes(grid)
    if not callable(function):
        raise DomainError(f"function = {function!r} is not callable: give a function of {', '.join(axes)}")
    points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    answers = _answers(function, points, [len(values) for values in axes.values()], n_jobs)
    return _rows(points, answers)


def _rows(points: list[dict[str, Any]], answers: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    names: tuple[str, ...] | None = None
    for point, answer in zip(points, answers, strict=True):
        names = tuple(answer) if names is None else names
        if tuple(answer) != names:
            theirs = f"{_named(points[0])} with {list(names)}"
            raise DomainError(f"{_named(point)} answers with the columns {list(answer)}, and {theirs}")
        if both := sorted(point.keys() & answer.keys()):
            raise DomainError(f"the answers have columns named as arguments: {both}")
        yield point | answer


def _axes(grid: Any) -> dict[str, tuple[Any, ...]]:
    if not isinstance(grid, Mapping) or not grid:
        raise DomainError(f"grid = {grid!r} is not a non-empty mapping {{argument: values}}")
    for name, values in grid.items():
        if not isinstance(name, str):
            raise DomainError(f"{name!r} is not the name of an argument")
        single = isinstance(values, str | bytes | Mapping) or getattr(values, "shape", None) == ()
        if single or not hasattr(values, "__len__") or len(values) == 0:
            raise DomainError(f"grid[{name!r}] = {values!r} is not a non-empty sequence of values")
    return {name: tuple(values) for name, values in grid.items()}


def _answers(
    function: Callable[..., Any], points: list[dict[str, Any]], lengths: Sequence[int], n_jobs: Any
) -> Iterable[dict[str, Any]]:
    n_jobs = workers("n_jobs", n_jobs)
    if n_jobs == 1:
        memory: Cache[Any] = Cache(_KEPT)
        return (_answer(function, point, memory) for point in points)
    joblib = needed("joblib", 'more than one job needs joblib: pip install "tradeoff[parallel]"')
    try:
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # some backends, that of Ray among them, hand over everything at the end
        parallel = joblib.Parallel(n_jobs=n_jobs)
    size = _together(lengths, joblib.effective_n_jobs(n_jobs))
    starts = range(0, len(points), size)
    batches = (joblib.delayed(_batch)(function, points[start : start + size]) for start in starts)
    return _until_left(parallel, batches)


def _until_left(parallel: Callable[[Any], Any], work: Any) -> Iterator[dict[str, Any]]:
    """Yield what batches hold; joblib's warning that a sweep was left before its end tells nobody more."""
    batches = None
    try:
        batches = parallel(work)  # the first ones are handed over at once
        yield from chain.from_iterable(batches)
    except (PicklingError, TypeError, AttributeError) as error:
        given = str(error.__cause__ or error).strip('\n"').splitlines()  # loky's own holds a traceback
        why = given[-1] if given else type(error).__name__
        raise SweepError(f"no other process can be handed this: {why}; take n_jobs = 1", {}) from error
    finally:
        if isinstance(batches, Generator):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                batches.close()


def _together(lengths: Sequence[int], jobs: int) -> int:
    """Return how many points go to a worker at once: whole turns of as many last axes as fit."""
    size = max(1, min(_MOST, math.prod(lengths) // (_BATCHES * jobs)))
    turn = max(turn for turn in accumulate(reversed(lengths), mul, initial=1) if turn <= size)
    return size // turn * turn


def _batch(function: Callable[..., Any], points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    memory: Cache[Any] = Cache(_KEPT)
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
            raise DomainError(f"{_named(point)} answers with {name!r} as a column; give names of type str")
    return dict(value)


def _named(point: dict[str, Any]) -> str:
    return f"the point {', '.join(f'{name} = {value!r}' for name, value in point.items())}"
