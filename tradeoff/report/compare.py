"""Exact bounds and the usual approximations in one table and one figure, each error with its sign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import reals
from tradeoff.errors import DomainError, KindError, TradeOffError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import Array
from tradeoff.report import textbook as _textbook  # noqa: F401 - enters its methods
from tradeoff.report.answers import ASKED, Answer, Answers, ask, finite
from tradeoff.report.digits import rounded
from tradeoff.report.methods import METHODS, Claim, claim_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNDER, SAFE, WITHIN = "under-reports", "safe", "within the bounds"
DECLINED = "declined"
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
        Its difference to the middle of the exact bounds, or to the lower one where the upper is infinite.
    under_reports
        Whether it claims more privacy than there is, beyond the exact bounds: epsilon or delta too small, beta too large.
    undecided
        Whether it lies between the exact bounds, so that they do not tell, and no theorem does.
    """

    asked: float
    value: float
    error: float
    under_reports: bool
    undecided: bool = False


@dataclass(frozen=True)
class Unsafe:
    """Where a method claims more privacy than there is, by how much at least: beyond the exact bound of that side.

    Parameters
    ----------
    answered
        What is answered: epsilon, delta or beta.
    error
        The answer less the exact bound it passes: positive for beta, negative for epsilon and delta.
    asked
        The delta, epsilon or alpha where.
    """

    answered: str
    error: float
    asked: float

    def __str__(self) -> str:
        return f"{self.answered} {self.error:+.1e} at {ASKED[self.answered]} = {self.asked:.2g}"


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
        Signed difference beta - f of largest size among 129 type I errors, and where: positive on the unsafe side. It is
        taken to the middle of the exact bounds, and says nothing between those type I errors.
    unsafe
        For epsilon, delta and beta the largest error on the unsafe side, among the questions and for beta those type I errors
        too; empty where none is certain.
    proved
        Whether no answer lies between the exact bounds, or a theorem says that such answers are safe.
    """

    method: str
    claim: Claim | None
    declined: str = ""
    entries: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    sup_error: float = float("nan")
    sup_error_at: float = float("nan")
    unsafe: tuple[Unsafe, ...] = ()
    proved: bool = False

    @property
    def under_reports(self) -> bool:
        """Whether any answer, or the curve at any of the type I errors looked at, is certain to be on the unsafe side."""
        return bool(self.unsafe)

    @property
    def verdict(self) -> str:
        """``"under-reports"``, ``"safe"``, or ``"within the bounds"``, where the exact bounds do not tell; ``"declined"``."""
        if self.claim is None:
            return DECLINED
        return UNDER if self.unsafe else f"{SAFE if self.proved else WITHIN} ({self.claim.kind})"


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
        raise DomainError(
            f"method = {method!r} is none of {', '.join(repr(row.method) for row in self.rows)}"
        )

    def header(self) -> list[str]:
        """Return the names of the columns."""
        questions = (f"{name} at {question} = {a.asked:g}" for name, question, a in self.exact)
        return ["method", "verdict", *questions, "largest error of beta", "largest unsafe error"]

    def table(self) -> list[list[str]]:
        """Return the rows as text: value and signed error; "!" where a method under-reports, "?" where the exact bounds do not tell."""
        sides = [
            [rounded(getattr(a, side), side, 6) for _, _, a in self.exact] for side in ("lower", "upper")
        ]
        exact = [
            ["exact, at least", "certified", *sides[0], "", ""],
            ["exact, at most", "certified", *sides[1], "", ""],
        ]
        return exact + [self._line(row) for row in self.rows]

    @property
    def declined(self) -> dict[str, str]:
        """The methods that do not apply, each with its reason."""
        return {row.method: row.declined for row in self.rows if row.claim is None}

    def _line(self, row: Row) -> list[str]:
        if row.claim is None:
            return [row.method, DECLINED, *["-" for _ in self.exact], "-", "-"]
        found = [_cell(e, name, row.claim.kind) for name in ASKED for e in row.entries[name]]
        largest = (
            f"{row.sup_error:+.1e} at alpha = {row.sup_error_at:.2g}" if np.isfinite(row.sup_error) else "-"
        )
        return [row.claim.name, row.verdict, *found, largest, "; ".join(map(str, row.unsafe)) or "-"]

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
        table = [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*table, *(f"{method} declined: {why}" for method, why in self.declined.items())])


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
        Names from ``tradeoff.report.methods.METHODS``; default: all of them, those that do not apply marked as declined. Or
        a mapping from names to curves or approximate curves.
    delta, epsilon, alpha
        Where to ask for epsilon, delta (epsilon in nats) and beta.
    step
        Called with the name of each method before it answers.

    Returns
    -------
    Comparison
        Table, figure and data; ``under_reports`` where a method claims more privacy than the exact bounds allow, on a question
        asked or on the curve at 129 type I errors, and ``unsafe`` says by how much and where.

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
    ('under-reports', ['epsilon -6.3e-01 at delta = 0.001', 'beta +1.8e-01 at alpha = 0.19'])
    """
    if not isinstance(curve, TradeOff):
        raise KindError(f"{curve!r} is no curve: compare plan.guarantee(), or mechanism.curve()")
    exact = ask(
        curve,
        delta=_numbers("delta", delta),
        epsilon=_numbers("epsilon", epsilon),
        alpha=_numbers("alpha", alpha),
    )
    on_grid = curve.bounds(_GRID)
    return Comparison(
        curve,
        exact,
        tuple(_row(name, claim, exact, on_grid) for name, claim in _claims(curve, methods, step)),
    )


def _numbers(name: str, value: ArrayLike) -> list[float]:
    return [float(each) for each in np.atleast_1d(reals(name, value)).ravel()]


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
            yield name, METHODS[name](curve)
        except TradeOffError as error:
            yield name, str(error)


def _row(name: str, claim: Claim | str, exact: Answers, on_grid: Bounds) -> Row:
    if isinstance(claim, str):
        return Row(name, None, claim)
    entries = {answered: _entries(claim, answered, getattr(exact, answered)) for answered in ASKED}
    value = _value(claim.beta, _GRID)
    error, at = _largest(value, on_grid)
    looked = {
        answered: [(e.value, a) for e, a in zip(entries[answered], getattr(exact, answered), strict=True)]
        for answered in ASKED
    }
    if value is not None:
        looked["beta"] += [
            (v, Answer(*each)) for v, *each in zip(value, _GRID, on_grid.lower, on_grid.upper, strict=True)
        ]
    return Row(name, claim, "", entries, error, at, _unsafe(looked), claim.kind == "bound" or _beyond(looked))


def _unsafe(looked: Mapping[str, Sequence[tuple[float, Answer]]]) -> tuple[Unsafe, ...]:
    """Return the largest error past the exact bound on the unsafe side, for each kind of answer."""
    found = [
        Unsafe(answered, float(value - (a.upper if answered == "beta" else a.lower)), float(a.asked))
        for answered, pairs in looked.items()
        for value, a in pairs
        if (value > a.upper if answered == "beta" else value < a.lower)
    ]
    kinds = dict.fromkeys(each.answered for each in found)
    return tuple(
        max((each for each in found if each.answered == kind), key=lambda each: abs(each.error))
        for kind in kinds
    )


def _beyond(looked: Mapping[str, Sequence[tuple[float, Answer]]]) -> bool:
    """Whether every answer is past the exact bound on the safe side."""
    pairs = (
        (answered, value, a)
        for answered, found in looked.items()
        for value, a in found
        if not np.isnan(value)
    )
    return all(value <= a.lower if answered == "beta" else value >= a.upper for answered, value, a in pairs)


def _entries(claim: Claim, answered: str, exact: Sequence[Answer]) -> tuple[Entry, ...]:
    """Ask a method all questions of a kind at once, which costs least, or one by one where it has no answer to some."""
    if not exact:
        return ()
    values = _value(getattr(claim, answered), np.array([each.asked for each in exact]))
    if values is None and len(exact) > 1:
        return tuple(entry for each in exact for entry in _entries(claim, answered, [each]))
    return tuple(
        _entry(claim, answered, float(v), a)
        for v, a in zip([np.nan] if values is None else values, exact, strict=True)
    )


def _entry(claim: Claim, answered: str, value: float, exact: Answer) -> Entry:
    if np.isnan(value):
        return Entry(exact.asked, float("nan"), float("nan"), under_reports=False)
    found = max(value, 0.0)  # a loss below 0 is reported as 0, as the exact one is
    safe, unsafe = (
        (found <= exact.lower, found > exact.upper)
        if answered == "beta"
        else (found >= exact.upper, found < exact.lower)
    )
    return Entry(
        exact.asked,
        found,
        _error(found, exact),
        unsafe,
        undecided=not (safe or unsafe) and claim.kind != "bound",
    )


def _error(found: float, exact: Answer) -> float:
    if found == exact.lower == exact.upper:  # infinite ones too
        return 0.0
    return found - (exact.lower if np.isinf(exact.upper) else (exact.lower + exact.upper) / 2)


def _value(answer: Any, at: Array) -> Array | None:
    """Ask a method; None where it has no answer."""
    if answer is None:
        return None
    try:
        return np.atleast_1d(np.asarray(answer(at), dtype=float))
    except TradeOffError:
        return None


def _largest(value: Array | None, on_grid: Bounds) -> tuple[float, float]:
    """Return the signed error of beta of largest size, and where."""
    error = np.full(1, np.nan) if value is None else value - (on_grid.lower + on_grid.upper) / 2
    if np.isnan(error).all():
        return float("nan"), float("nan")
    k = int(np.nanargmax(np.abs(error)))
    return float(error[k]), float(_GRID[k])


def _cell(entry: Entry, answered: str, kind: str) -> str:
    if np.isnan(entry.value):
        return "-"
    # What is proved stays so when printed.
    value = (
        rounded(entry.value, "lower" if answered == "beta" else "upper", 5)
        if kind == "bound"
        else f"{entry.value:.5g}"
    )
    return f"{value} ({entry.error:+.1e}){'!' if entry.under_reports else '?' if entry.undecided else ''}"


def _row_json(row: Row) -> dict[str, Any]:
    if row.claim is None:
        return {"method": row.method, "declined": row.declined}
    answers = {
        name: [
            {question: finite(e.asked), "value": _plain(e.value), "error": _plain(e.error), **_verdict(e)}
            for e in row.entries[name]
        ]
        for name, question in ASKED.items()
    }
    at = {"sup_error": _plain(row.sup_error), "sup_error_at": _plain(row.sup_error_at)}
    head = {"method": row.method, "name": row.claim.name, "kind": row.claim.kind, "source": row.claim.source}
    unsafe = [
        {"answered": u.answered, ASKED[u.answered]: finite(u.asked), "error": finite(u.error)}
        for u in row.unsafe
    ]
    return {
        **head,
        **answers,
        **at,
        "under_reports": row.under_reports,
        "verdict": row.verdict,
        "unsafe": unsafe,
    }


def _verdict(entry: Entry) -> dict[str, bool]:
    return {"under_reports": entry.under_reports, "undecided": entry.undecided}


def _plain(value: float) -> float | str | None:
    return None if np.isnan(value) else finite(value)
