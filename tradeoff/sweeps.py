"""Sweeps: a table of one function at every point of a grid, optionally in parallel."""

from __future__ import annotations

import csv
import io
import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, product
from operator import mul
from os import PathLike
from pickle import PicklingError
from typing import Any

import numpy as np

from tradeoff.accounting.options import SHARED, set_context
from tradeoff.atomic_write import atomic_write
from tradeoff.curves.parameters import count, workers
from tradeoff.display import Displayed, TextTable, exactly, rounded
from tradeoff.errors import DomainError, SweepError, advise_keywords, domain, needed, shown
from tradeoff.intervals.bounds import Bounds


class Exported:
    """Mixin for the exports of a result that has a table of numbers."""

    @abstractmethod
    def numbers(self) -> Table:
        """Return the table that is exported."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Return ``{column: values}``, from which ``pandas.DataFrame`` and ``polars.DataFrame`` are made."""
        table = self.numbers()
        return {column: table[column] for column in table.columns}

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """Return comma-separated text with every digit; write it to ``path`` if given."""
        table, text = self.numbers(), io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([table.columns, *table.rows])
        if path is not None:
            atomic_write(path, text.getvalue())
        return text.getvalue()

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``; raise ``MissingExtraError`` if pandas is not installed."""
        pandas = needed("pandas", 'a DataFrame needs pandas: pip install "tradeoff[pandas]"')
        return pandas.DataFrame(self.to_dict())


@dataclass(frozen=True, repr=False)
class Table(Exported, Displayed):
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
    n_arguments: int = 0  # number of leading columns that are parameters
    estimated: bool = False  # whether answers without a safe side are estimates, printed with six digits
    notes: tuple[str, ...] = ()  # sentences below the table, in LaTeX as comments

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

    def numbers(self) -> Table:
        return self

    def to_latex(
        self,
        *,
        pivot: str | None = None,
        digits: int | None = None,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        r"""Return all rows as a LaTeX table for booktabs, with typeset symbols and powers of ten.

        Parameters
        ----------
        pivot : parameter whose values become the columns; the cells are the only answer, or the upper bound
        digits
            Significant digits of answers, rounded to their safe side if they have one; default: six or all.
        caption, label : of a ``table`` environment around it; default: the ``tabular`` alone

        Examples
        --------
        >>> table = sweep(lambda mu, delta: {"epsilon": delta / mu}, {"mu": [1, 2], "delta": [1e-5, 0.1]})
        >>> print(table.to_latex(pivot="delta", digits=2).split("midrule")[0])
        \begin{tabular}{rrr}
        \toprule
        $\mu$ & $\delta = 10^{-5}$ & $\delta = 0.1$ \\
        \
        """
        text = self._texts(self.rows, digits if digits is None else count("digits", digits, 1, 17))
        if pivot is None:
            return text.latex(caption, label)
        arguments, answers = self.columns[: self.n_arguments], self.columns[self.n_arguments :]
        if pivot not in arguments:
            raise domain("pivot", pivot, f"one of {', '.join(map(repr, arguments))}")
        answer = self.columns.index(answers[0] if len(answers) == 1 else "upper")
        at = arguments.index(pivot)
        down = [k for k in range(self.n_arguments) if k != at]
        cells: dict[tuple[str, ...], dict[str, str]] = {}
        for row in text.rows:
            cells.setdefault(tuple(row[k] for k in down), {})[row[at]] = row[answer]
        across = list(dict.fromkeys(row[at] for row in text.rows))
        rows = [(*key, *(values.get(each, "") for each in across)) for key, values in cells.items()]
        columns = (*(arguments[k] for k in down), *(f"{pivot} = {each}" for each in across))
        return text._replace(rows=rows, columns=columns, sides=">" * len(columns)).latex(caption, label)

    def grid(self) -> TextTable:
        hidden = len(self.rows) - 20  # a screen has room for so many
        notes = [f"... {hidden} more rows ..."] if hidden > 0 else []
        return self._texts(self.rows[:20])._replace(notes=[*notes, *self.notes])

    def _texts(self, rows: Iterable[tuple[Any, ...]], digits: int | None = None) -> TextTable:
        texts = [[self._text(k, each, digits) for k, each in enumerate(row)] for row in rows]
        is_text = [all(isinstance(each, str) for each in column) for column in zip(*self.rows, strict=True)]
        sides = "".join("<" if each else ">" for each in is_text) or ">" * len(self.columns)
        return TextTable(texts, self.columns, notes=self.notes, sides=sides)

    def _text(self, k: int, value: Any, digits: int | None) -> str:
        """Format a cell as ``to_latex`` does; parameters keep all their digits."""
        if not isinstance(value, float | np.floating):
            return str(value)
        value = float(value)
        if k < self.n_arguments:
            return exactly(value)
        is_lower = self.columns[k] in {"lower", "beta", "bayes_risk"}
        has_side = is_lower or self.columns[k] in {"upper", "epsilon", "delta", "mu", "advantage"}
        if not has_side or math.isnan(value):
            return f"{value:.{digits or 6}g}" if digits or self.estimated else exactly(value)
        return rounded(value, "lower" if is_lower else "upper", digits or 6)


@advise_keywords(
    lambda axes: f"write sweep(function, {shown(axes)})" if all(map(_is_axis, axes.values())) else ""
)
def sweep(function: Callable[..., Any], grid: Mapping[str, Any], *, n_jobs: int | None = 1) -> Table:
    """Tabulate a function at every point of a grid, the product of its axes.

    Parameters
    ----------
    function
        Called as ``function(**point)``. A number becomes the column ``value``, ``Bounds`` the columns
        ``lower`` and ``upper``, a mapping one column a key, each a str. Bounds, and columns named epsilon,
        delta, mu, advantage, beta or bayes_risk, are printed with six digits, rounded to their safe side; all
        others with every digit. If it raises, ``SweepError`` has the arguments as ``point``.
    grid
        ``{argument: values}``; the last axis varies fastest. Neighbouring points share intermediate results:
        if the questions (delta, alpha) are the last axis, each product is composed once.
    n_jobs
        1: in this process. More, or -1 for every core: through joblib, in processes unless
        ``joblib.parallel_config`` sets another backend (threads, Dask, Ray). None: joblib's own number.

    Returns
    -------
    Table
        One row a point, in the order of the grid for any number of jobs; each answer equals that of the
        function called alone, to the last bit. joblib's processes give NumPy's linear algebra fewer threads,
        which may round differently: for the same bits set ``OPENBLAS_NUM_THREADS=1`` for all.

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


def _is_axis(values: Any) -> bool:
    """Return whether values are a non-empty sequence, not a text, a mapping or an array of no dimensions."""
    single = isinstance(values, str | bytes | Mapping) or getattr(values, "shape", None) == ()
    return not single and hasattr(values, "__len__") and len(values) > 0


def stream(
    function: Callable[..., Any], grid: Mapping[str, Any], *, n_jobs: int | None = 1
) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``sweep`` in the order of the grid, each as soon as all before it are known.

    Parameters, columns and errors are those of ``sweep``; rows before an error are still yielded. Closing the
    iterator ends all jobs.

    Examples
    --------
    >>> import tradeoff as to
    >>> rows = to.sweeps.stream(lambda mu: to.Gaussian(mu)(0.05), {"mu": [0.5, 1.0]})
    >>> next(rows)
    {'mu': 0.5, 'value': 0.8738651018065696}
    """
    if not isinstance(grid, Mapping) or not grid:
        raise domain("grid", grid, "a non-empty mapping {argument: values}")
    for name, values in grid.items():
        if not isinstance(name, str):
            raise domain("an argument of grid", name, "a str")
        if not _is_axis(values):
            raise domain(f"grid[{name!r}]", values, "a non-empty sequence of values")
    if not callable(function):
        raise domain("function", function, f"callable with {', '.join(grid)}")
    points = [dict(zip(grid, values, strict=True)) for values in product(*map(tuple, grid.values()))]
    lengths = [len(values) for values in grid.values()]
    answers = _answers(function, points, lengths, workers("n_jobs", n_jobs))

    def rows() -> Iterator[dict[str, Any]]:
        names: list[str] | None = None
        for point, answer in zip(points, answers, strict=True):
            names = list(answer) if names is None else names
            if list(answer) != names:
                first = f"those at {_format_point(points[0])} are {names}"
                raise DomainError(f"the columns at {_format_point(point)} are {list(answer)}, and {first}")
            if both := sorted(point.keys() & answer.keys()):
                raise DomainError(f"columns must not have the names of arguments, got {both}")
            yield point | answer

    return rows()


def _answers(
    function: Callable[..., Any], points: list[dict[str, Any]], lengths: Sequence[int], n_jobs: int | None
) -> Iterator[dict[str, Any]]:
    """Yield the columns of every point, in order; ``lengths`` are those of the axes of the grid."""
    if n_jobs == 1:
        # Products shared between neighbouring points: 180 MiB at worst.
        cache: Callable[..., dict[Any, Any]] = lru_cache(8)(lambda _: {})
        yield from (_answer(function, point, cache) for point in points)
        return
    joblib = needed("joblib", 'more than one job needs joblib: pip install "tradeoff[parallel]"')
    try:
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # some backends, such as Ray's, return everything at the end
        parallel = joblib.Parallel(n_jobs=n_jobs)
    # Points differ in cost. A batch is whole cycles of as many last axes as fit: they share products.
    size = max(1, min(64, len(points) // (8 * joblib.effective_n_jobs(n_jobs))))
    size -= size % max(cycle for cycle in accumulate(reversed(lengths), mul, initial=1) if cycle <= size)
    starts, batches = range(0, len(points), size), None
    try:
        batches = parallel(joblib.delayed(_batch)(function, points[at : at + size]) for at in starts)
        yield from chain.from_iterable(batches)
    except (PicklingError, TypeError, AttributeError) as error:
        lines = str(error.__cause__ or error).strip('\n"').splitlines()  # loky's own has a traceback
        why = lines[-1] if lines else type(error).__name__
        raise SweepError(f"the function or an answer cannot be pickled: {why}; use n_jobs=1", {}) from error
    finally:
        if isinstance(batches, Generator):
            with warnings.catch_warnings():  # joblib warns where it is closed early
                warnings.simplefilter("ignore", UserWarning)
                batches.close()


def _batch(function: Callable[..., Any], points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    cache: Callable[..., dict[Any, Any]] = lru_cache(8)(lambda _: {})
    return [_answer(function, point, cache) for point in points]


def _answer(function: Callable[..., Any], point: dict[str, Any], cache: Callable[..., Any]) -> dict[str, Any]:
    """Return the columns of one answer."""
    try:
        with set_context(SHARED, cache):
            value = function(**point)
    except Exception as error:
        message = " ".join(str(error).split())
        raise SweepError(f"{_format_point(point)}: {type(error).__name__}: {message}", point) from error
    if isinstance(value, Bounds):
        return {"lower": value.lower, "upper": value.upper}
    if not isinstance(value, Mapping):
        return {"value": value}
    for name in value:
        if not isinstance(name, str):
            raise DomainError(f"a column at {_format_point(point)} must be named by a str, got {name!r}")
    return dict(value)


def _format_point(point: dict[str, Any]) -> str:
    return f"the point {', '.join(f'{name} = {value!r}' for name, value in point.items())}"
