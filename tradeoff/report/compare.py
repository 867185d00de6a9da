"""Exact bounds and the usual approximations in one table and one figure, each error with its sign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import reals
from tradeoff.display import Displayed, TextTable, exactly, rounded
from tradeoff.errors import DomainError, KindError, TradeOffError, shown
from tradeoff.report import textbook as _textbook  # noqa: F401 - enters its methods
from tradeoff.report.answers import ASKED, Answers, answer_query
from tradeoff.report.figures import comparison_figure
from tradeoff.report.methods import METHODS, Claim, claim_of, remembered
from tradeoff.report.rows import ALPHAS, DECLINED, Entry, Row, row_of
from tradeoff.report.summary import composition
from tradeoff.sweeps import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Comparison(Displayed):
    """Exact answers with those of every method; prints as a table.

    Parameters
    ----------
    curve
        The curve compared against.
    exact
        Its answers, from both sides.
    rows
        One a method.
    """

    curve: TradeOff
    exact: Answers
    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, method: str) -> Row:
        for row in self.rows:
            if row.method == method:
                return row
        known = ", ".join(repr(row.method) for row in self.rows)
        raise DomainError(f"method = {method!r} is none of {known}")

    def header(self) -> list[str]:
        """Return the names of the columns."""
        questions = (f"{name} at {question} = {exactly(a.asked)}" for name, question, a in self.exact)
        return ["method", "verdict", *questions, "largest error of beta", "largest error on the unsafe side"]

    def table(self) -> list[list[str]]:
        """Return the rows as text: value and signed error, "!" where unsafe, "?" where bounds do not tell."""
        exact = [
            [name, "certified", *(rounded(getattr(a, side), side, 6) for *_, a in self.exact), "", ""]
            for name, side in self._sides.items()
        ]
        return exact + [self._line(row) for row in self.rows]

    @property
    def _sides(self) -> dict[str, Literal["lower", "upper"]]:
        """Return the names of the rows of both bounds."""
        name = "exact" if self.exact.exact else "bound used"
        return {f"{name}, at least": "lower", f"{name}, at most": "upper"}

    @property
    def declined(self) -> dict[str, str]:
        """The methods that do not apply, each with its reason."""
        return {row.method: row.declined for row in self.rows if row.claim is None}

    def _line(self, row: Row) -> list[str]:
        if row.claim is None:
            return [row.method, DECLINED, *["-" for _ in self.exact], "-", "-"]
        result = [_cell(e, name, row.claim.kind) for name in ASKED for e in row.entries[name]]
        largest = "-" if row.worst is None else f"{row.sup_error:+.1e} at alpha = {row.sup_error_at:.2g}"
        return [row.claim.name, row.verdict, *result, largest, "; ".join(map(str, row.unsafe)) or "-"]

    def as_json(self) -> dict[str, Any]:
        """Return plain data: the exact answers and one object a method."""
        return {"exact": self.exact.as_json(), "methods": [row.as_json() for row in self.rows]}

    def numbers(self) -> Table:
        """Return answers and signed errors as a table of numbers; None where a method says nothing."""
        questions = self.header()[2:-2]
        errors = [f"error of {question}" for question in questions]
        columns = ["method", "verdict", *questions, *errors, "largest error of beta", "alpha there"]
        nothing = [None] * (len(errors) + 2)
        rows = [
            (name, "certified", *(getattr(a, side) for *_, a in self.exact), *nothing)
            for name, side in self._sides.items()
        ]
        rows += [self._numbers(row, len(errors)) for row in self.rows]
        if not self.curve.symmetric:
            columns.append("order")
            rows = [(*row, "one order of the pair") for row in rows]
        if self.curve.assumptions:
            columns.append("assumes")
            rows = [(*row, "; ".join(self.curve.assumptions)) for row in rows]
        return Table(tuple(columns), tuple(rows))

    @staticmethod
    def _numbers(row: Row, count: int) -> tuple[Any, ...]:
        name = row.method if row.claim is None else row.claim.name
        result = [each for asked in ASKED for each in row.entries.get(asked, ())]
        said = [getattr(each, what) for what in ("value", "error") for each in result] or [np.nan] * 2 * count
        given = [None if np.isnan(x) else float(x) for x in (*said, row.sup_error, row.sup_error_at)]
        return name, row.verdict, *given

    def to_dict(self) -> dict[str, list[Any]]:
        """Return ``numbers()`` as ``{column: values}``."""
        return self.numbers().to_dict()

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """Return ``numbers()`` as comma-separated text, every digit; write it to ``path`` if given."""
        return self.numbers().to_csv(path)

    def to_pandas(self) -> Any:
        """Return ``numbers()`` as a ``pandas.DataFrame``; ``MissingExtraError`` where there is no pandas."""
        return self.numbers().to_pandas()

    def to_latex(self) -> str:
        """Return the table that is printed, each bound rounded to its safe side, as a tabular of booktabs."""
        return self.grid().latex()

    def figure(self) -> Figure:
        """Draw errors with an inset, and profiles: the exact curve black, its band grey, methods dashed."""
        claims = {row.claim.name: row.claim for row in self.rows if row.claim is not None}
        worst = next((row.worst for row in self.rows if row.worst is not None), None)
        return comparison_figure(self.curve, claims, worst)

    def grid(self) -> TextTable:
        declined = (f"{method} declined: {why}" for method, why in self.declined.items())
        return TextTable(self.table(), self.header(), notes=[*declined, *self.curve.caveats])


def compare(
    curve: TradeOff,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    delta: ArrayLike = (1e-5,),
    epsilon: ArrayLike = (1.0,),
    alpha: ArrayLike = (0.01,),
    step: Callable[[str], Any] = lambda _: None,
) -> Comparison:
    """Set the exact answers of a curve beside those of limit theorems and textbook composition.

    Parameters
    ----------
    curve
        The guarantee, usually a product of curves or its either-order envelope.
    methods
        Names from ``tradeoff.report.methods.METHODS``; default: all of them, those that do not apply marked
        as declined. Or a mapping from names to anything that ``tradeoff.plot`` draws.
    delta, epsilon, alpha
        Where to ask for epsilon, delta (epsilon in nats) and beta.
    step
        Called with the name of each method before it answers.

    Returns
    -------
    Comparison
        Table, figure and data; ``under_reports`` where a method claims more privacy than the exact bounds
        allow, on a question or on the curve at 129 type I errors; ``unsafe`` says how much and where.

    Raises
    ------
    KindError
        If ``curve`` is no curve.
    DomainError
        If a method is unknown, or a question out of range.

    Examples
    --------
    >>> import tradeoff as to
    >>> found = compare(
    ...     to.Laplace(0.5) ** 4, {"one Gaussian": to.Gaussian(0.5)}, delta=[1e-3], epsilon=[], alpha=[]
    ... )
    >>> row = found["one Gaussian"]
    >>> row.verdict, [str(each) for each in row.unsafe]
    ('under-reports', ['epsilon -0.63 at delta = 0.001', 'beta +0.17 at alpha = 0.19'])
    """
    if not isinstance(curve, TradeOff):
        raise KindError(f"{shown(curve)} is not a curve; compare the .guarantee() of a mechanism or a plan")
    given = {"delta": delta, "epsilon": epsilon, "alpha": alpha}
    asked: Any = {name: np.atleast_1d(reals(name, at)).ravel().tolist() for name, at in given.items()}
    exact = answer_query(curve, **asked)
    on_grid = remembered(curve)(ALPHAS)
    rows = tuple(row_of(name, claim, exact, on_grid) for name, claim in _claims(curve, methods, step))
    return Comparison(curve, exact, rows)


def _claims(
    curve: TradeOff, methods: Sequence[str] | Mapping[str, Any] | None, step: Callable[[str], Any]
) -> Iterator[tuple[str, Claim | str]]:
    if isinstance(methods, Mapping):
        for name, thing in methods.items():
            step(name)
            yield name, claim_of(name, thing)
        return
    if not isinstance(methods, Iterable | None):
        raise DomainError(f"methods = {methods!r} is neither names nor a mapping from names to curves")
    names = list(METHODS) if methods is None else [methods] if isinstance(methods, str) else list(methods)
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise DomainError(f"methods = {unknown!r} are none of {', '.join(map(repr, METHODS))}")
    for name in names:
        step(name)
        try:
            yield name, METHODS[name](composition(curve))
        except TradeOffError as error:
            yield name, str(error)


def _cell(entry: Entry, answered: str, kind: str) -> str:
    if np.isnan(entry.value):
        return "-"
    safe: Literal["lower", "upper"] = "lower" if answered == "beta" else "upper"
    # What is proved is so when printed, too.
    value = f"{entry.value:.5g}" if kind == "estimate" else rounded(entry.value, safe, 5)
    return f"{value} ({entry.error:+.1e}){'!' if entry.under_reports else '?' if entry.undecided else ''}"
