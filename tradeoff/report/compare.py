"""Exact bounds and the usual approximations in one table and one figure, each error with its sign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.core.bounds import Bounds
from tradeoff.core.curve import TradeOff
from tradeoff.errors import DomainError, KindError, TradeOffError
from tradeoff.numerics.rounding import Array
from tradeoff.report import textbook as _textbook  # noqa: F401 - enters its methods
from tradeoff.report.answers import ASKED, Answers, ask, finite
from tradeoff.report.digits import rounded
from tradeoff.report.methods import METHODS, Claim, claim_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNDER = "under-reports"
_GRID = np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), np.geomspace(1e-6, 0.49, 28)]))


@dataclass(frozen=True)
class Entry:
    """One answer of one method beside the exact one.

    Parameters
    ----------
    asked
        The value asked at.
    value
        The method's answer.
    error
        Its difference to the middle of the exact bounds.
    under_reports
        Whether it claims more privacy than there is, beyond the exact bounds: epsilon or delta too small, beta too large.
    """

    asked: float
    value: float
    error: float
    under_reports: bool


@dataclass(frozen=True)
class Row:
    """What one method answers, or why it does not.

    Parameters
    ----------
    method
        Its name in the registry or in the mapping given.
    claim
        What it answers with; None where it declined.
    declined
        Why, if it did.
    entries
        Its entries by what is answered: epsilon, delta, beta.
    sup_error, sup_error_at
        Signed difference beta - f of largest size among 129 type I errors, and where: positive on the unsafe side.
    """

    method: str
    claim: Claim | None
    declined: str = ""
    entries: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    sup_error: float = float("nan")
    sup_error_at: float = float("nan")
    above: bool = False

    @property
    def under_reports(self) -> bool:
        """Whether any answer, or the curve at any of the type I errors looked at, is on the unsafe side."""
        return self.above or any(e.under_reports for entries in self.entries.values() for e in entries)


@dataclass(frozen=True)
class Comparison:
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
        raise DomainError(f"method = {method!r} is none of {', '.join(repr(row.method) for row in self.rows)}")

    def header(self) -> list[str]:
        """Return the names of the columns."""
        return ["method", *(f"{name}({question} = {a.asked:g})" for name, question, a in self.exact), "sup error", ""]

    def table(self) -> list[list[str]]:
        """Return the rows as text: value and signed error, a mark where a method under-reports."""
        sides = [[rounded(getattr(a, side), side, 6) for _, _, a in self.exact] for side in ("lower", "upper")]
        exact = [["exact, at least", *sides[0], "", ""], ["exact, at most", *sides[1], "", ""]]
        return exact + [self._line(row) for row in self.rows]

    def _line(self, row: Row) -> list[str]:
        if row.claim is None:
            return [row.method, *["-" for _ in self.exact], "-", f"declined: {row.declined}"]
        found = [_cell(e) for name in ASKED for e in row.entries[name]]
        verdict = UNDER if row.under_reports else row.claim.kind
        return [row.claim.name, *found, f"{row.sup_error:+.1e}" if np.isfinite(row.sup_error) else "-", verdict]

    def as_json(self) -> dict[str, Any]:
        """Return plain data: the exact answers and one object a method; infinity is the string ``"inf"``, no answer is null."""
        return {"exact": self.exact.as_json(), "methods": [_row_json(row) for row in self.rows]}

    def figure(self) -> Figure:
        """Draw the exact curve black with its band, every method dashed: type II errors with an inset, and profiles."""
        from tradeoff.report.figures import comparison_figure

        return comparison_figure(self)

    def __str__(self) -> str:
        lines = [self.header(), *self.table()]
        widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        return "\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def compare(
    curve: TradeOff,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    delta: ArrayLike = (1e-5,),
    epsilon: ArrayLike = (1.0,),
    alpha: ArrayLike = (0.01,),
) -> Comparison:
    """Set the exact answers of a curve beside those of limit theorems and textbook composition.

    Parameters
    ----------
    curve
        The guarantee, usually a product of curves or its either-order envelope.
    methods
        Names from ``tradeoff.report.methods.METHODS``; default: all of them, those that do not apply marked as declined. Or
        a mapping from names to curves or approximate curves.
    delta, epsilon, alpha
        Where to ask for epsilon, delta (epsilon in nats) and beta.

    Returns
    -------
    Comparison
        Table, figure and data; ``under_reports`` where a method claims more privacy than the exact bounds allow.

    Raises
    ------
    KindError
        If ``curve`` is no curve.
    DomainError
        If a method is unknown, or a question out of range.

    Examples
    --------
    >>> import tradeoff as to
    >>> found = compare(to.Laplace(0.5) ** 4, {"one Gaussian": to.Gaussian(0.5)}, delta=[1e-3], epsilon=[], alpha=[])
    >>> found["one Gaussian"].under_reports
    True
    """
    if not isinstance(curve, TradeOff):
        raise KindError(f"{curve!r} is no curve: compare plan.guarantee(), or mechanism.curve()")
    exact = ask(curve, delta=_numbers("delta", delta), epsilon=_numbers("epsilon", epsilon), alpha=_numbers("alpha", alpha))
    on_grid = curve.bounds(_GRID)
    return Comparison(curve, exact, tuple(_row(name, claim, exact, on_grid) for name, claim in _claims(curve, methods)))


def _numbers(name: str, value: ArrayLike) -> list[float]:
    try:
        return [float(each) for each in np.atleast_1d(np.asarray(value, dtype=float)).ravel()]
    except (TypeError, ValueError) as error:
        raise DomainError(f"{name} = {value!r} is not an array of real numbers") from error


def _claims(curve: TradeOff, methods: Sequence[str] | Mapping[str, Any] | None) -> Iterator[tuple[str, Claim | str]]:
    if isinstance(methods, Mapping):
        for name, thing in methods.items():
            yield name, claim_of(name, thing)
        return
    names = list(METHODS) if methods is None else [methods] if isinstance(methods, str) else list(methods)
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise DomainError(f"methods = {unknown!r} are none of {', '.join(map(repr, METHODS))}")
    for name in names:
        try:
            yield name, METHODS[name](curve)
        except TradeOffError as error:
            yield name, str(error)


def _row(name: str, claim: Claim | str, exact: Answers, on_grid: Bounds) -> Row:
    if isinstance(claim, str):
        return Row(name, None, claim)
    entries = {
        answered: tuple(_entry(getattr(claim, answered), a.asked, a.lower, a.upper, sign=-1 if answered == "beta" else 1) for a in answers)
        for answered, answers in ((key, getattr(exact, key)) for key in ASKED)
    }
    error, at, above = _largest(claim, on_grid)
    return Row(name, claim, "", entries, error, at, above)


def _entry(answer: Any, asked: float, lower: float, upper: float, *, sign: int) -> Entry:
    value = _value(answer, np.array([asked]))
    if value is None or np.isnan(value[0]):
        return Entry(asked, float("nan"), float("nan"), under_reports=False)
    found = max(float(value[0]), 0.0)  # a loss below 0 is reported as 0, as the exact one is
    error = 0.0 if lower == upper == found else found - (lower + upper) / 2
    return Entry(asked, found, error, under_reports=found < lower if sign > 0 else found > upper)


def _value(answer: Any, at: Array) -> Array | None:
    """Ask a method; None where it has no answer."""
    if answer is None:
        return None
    try:
        return np.atleast_1d(np.asarray(answer(at), dtype=float))
    except TradeOffError:
        return None


def _largest(claim: Claim, on_grid: Bounds) -> tuple[float, float, bool]:
    value = _value(claim.beta, _GRID)
    if value is None:
        return float("nan"), float("nan"), False
    error = value - (on_grid.lower + on_grid.upper) / 2
    k = int(np.argmax(np.abs(error)))
    return float(error[k]), float(_GRID[k]), bool(np.any(value > on_grid.upper))


def _cell(entry: Entry) -> str:
    if np.isnan(entry.value):
        return "-"
    return f"{entry.value:.5g} ({entry.error:+.1e}){'!' if entry.under_reports else ''}"


def _row_json(row: Row) -> dict[str, Any]:
    if row.claim is None:
        return {"method": row.method, "declined": row.declined}
    answers = {
        name: [
            {question: e.asked, "value": _plain(e.value), "error": _plain(e.error), "under_reports": e.under_reports}
            for e in row.entries[name]
        ]
        for name, question in ASKED.items()
    }
    at = {"sup_error": _plain(row.sup_error), "sup_error_at": _plain(row.sup_error_at)}
    head = {"method": row.method, "name": row.claim.name, "kind": row.claim.kind, "source": row.claim.source}
    return {**head, **answers, **at, "under_reports": row.under_reports}


def _plain(value: float) -> float | str | None:
    return None if np.isnan(value) else finite(value)
