"""Comparison of exact bounds with the usual approximations, with signed errors, as table and figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import reals
from tradeoff.display import Displayed, TextTable, exactly, rounded
from tradeoff.errors import KindError, TradeOffError, domain, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import Array
from tradeoff.report.answers import PARAMETERS, Answer, Answers, answer_query, composition, finite
from tradeoff.report.methods import METHODS, Claim, claim_of
from tradeoff.sweeps import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNDER, ELSEWHERE, SAFE, WITHIN, DECLINED = (
    "under-reports",
    "under-reports elsewhere",
    "safe",
    "within the bounds",
    "declined",
)

# The 129 type I errors at which the beta of each method is compared: hundredths, and more near 0.
ALPHAS = np.unique(
    np.concatenate([np.arange(101) / 100, [float(f"{a:.3g}") for a in np.geomspace(1e-6, 0.495, 28)]])
)

NOTE = (
    'Signed errors are in brackets; "!" marks an error on the unsafe side: more privacy is claimed than the '
    'exact bounds allow. "under-reports": at least one answer above has such an error. '
    '"under-reports elsewhere": only beta has one, at another of the 129 values of alpha that are checked. '
    'The last column shows the largest such errors. "safe": no such error. "within the bounds" and "?": the '
    "exact bounds are too wide to decide. A bound is proved, an estimate is not."
)

Check = tuple[str, float, Answer]  # a quantity, the value of a method, and the exact answer


@dataclass(frozen=True)
class Entry:
    """One answer of one method; its error is to the middle of the exact bounds, or to a lone lower bound.

    It ``under_reports`` if it claims more privacy than both exact bounds: epsilon or delta too small, beta
    too large. It is ``undecided`` if it lies between them and is not a proved bound.
    """

    argument: float
    value: float
    error: float
    under_reports: bool
    undecided: bool = False


@dataclass(frozen=True)
class Unsafe:
    """A claim of more privacy than there is; ``error`` is the answer less the exact bound that it passes."""

    answered: str
    error: float
    argument: float

    def __str__(self) -> str:
        least = f"{'-' if self.error < 0 else '+'}{rounded(abs(self.error), 'lower', 2)}"
        return f"{self.answered} {least} at {PARAMETERS[self.answered]} = {exactly(self.argument)}"


@dataclass(frozen=True)
class Row:
    """The answers of one method, or the reason why it does not apply.

    ``sup_error`` is the signed difference beta - f of largest size among 129 type I errors, at
    ``sup_error_at``, taken to the middle of the exact bounds: positive on the unsafe side. ``unsafe`` has for
    epsilon, delta and beta the largest error on the unsafe side, among the questions and for beta those type
    I errors too; empty where none is certain.
    """

    method: str  # its name in the registry or in the mapping given
    claim: Claim | None  # None where it declined
    declined: str = ""  # the reason
    entries: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)  # by quantity
    sup_error: float = float("nan")
    sup_error_at: float = float("nan")
    unsafe: tuple[Unsafe, ...] = ()
    proved: bool = False  # a proved bound, or on the safe side of the exact bounds everywhere

    @property
    def under_reports(self) -> bool:
        """Whether any answer, or beta at any type I error checked, is certainly on the unsafe side."""
        return bool(self.unsafe)

    @property
    def verdict(self) -> str:
        """One of "under-reports" (elsewhere), "safe", "within the bounds" and "declined"."""
        if self.claim is None:
            return DECLINED
        if self.unsafe:
            entries = (entry for each in self.entries.values() for entry in each)
            return UNDER if any(entry.under_reports for entry in entries) else ELSEWHERE
        return f"{SAFE if self.proved else WITHIN} ({self.claim.kind})"

    def as_json(self) -> dict[str, Any]:
        """Return plain data; infinity is the string ``"inf"``, a missing answer null."""
        if self.claim is None:
            return {"method": self.method, "declined": self.declined}
        answers = {name: [_plain(name, vars(each)) for each in self.entries[name]] for name in PARAMETERS}
        return {
            "method": self.method,
            "name": self.claim.name,
            "kind": self.claim.kind,
            "source": self.claim.source,
            **answers,
            **_plain("beta", {"sup_error": self.sup_error, "sup_error_at": self.sup_error_at}),
            "under_reports": self.under_reports,
            "verdict": self.verdict,
            "unsafe": [_plain(each.answered, vars(each)) for each in self.unsafe],
        }


def _plain(quantity: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON data, the parameter under its own name."""
    return {
        (PARAMETERS[quantity] if name == "argument" else name): (
            value if not isinstance(value, float) else None if np.isnan(value) else finite(value)
        )
        for name, value in values.items()
    }


def compare_claim(name: str, claim: Claim | str, exact: Answers, beta_bounds: Bounds) -> Row:
    """Compare a claim, or the reason why there is none, with the exact answers."""
    if isinstance(claim, str):
        return Row(name, None, claim)
    entries: dict[str, tuple[Entry, ...]] = {}
    checks: list[Check] = []
    for quantity in PARAMETERS:
        answers = getattr(exact, quantity)
        values = _evaluate_each(claim, quantity, [each.argument for each in answers])
        pairs = list(zip(values, answers, strict=True))
        entries[quantity] = tuple(make_entry(claim, quantity, *each, decidable=exact.exact) for each in pairs)
        checks += [(quantity, max(value, 0.0), answer) for value, answer in pairs]
    beta = _evaluate(claim, "beta", ALPHAS)
    sup_error = sup_error_at = float("nan")
    if beta is not None:
        checks += [("beta", v, Answer(*each)) for v, *each in zip(beta, ALPHAS, *beta_bounds, strict=True)]
        error = beta - (beta_bounds.lower + beta_bounds.upper) / 2
        if not np.isnan(error).all():
            k = int(np.nanargmax(np.abs(error)))
            sup_error, sup_error_at = float(error[k]), float(ALPHAS[k])
    proved = claim.kind == "bound" or all(
        np.isnan(value) or _is_safe(quantity, value, answer) for quantity, value, answer in checks
    )
    unsafe = largest_unsafe(checks) if exact.exact else ()
    return Row(name, claim, "", entries, sup_error, sup_error_at, unsafe, proved)


def _is_safe(quantity: str, value: float, exact: Answer) -> bool:
    return value <= exact.lower if quantity == "beta" else value >= exact.upper


def _excess(quantity: str, value: float, exact: Answer) -> float:
    """Return the answer less the exact bound that it passes on the unsafe side, 0 elsewhere."""
    if quantity == "beta":
        return value - exact.upper if value > exact.upper else 0.0
    return value - exact.lower if value < exact.lower else 0.0


def largest_unsafe(checks: Iterable[Check]) -> tuple[Unsafe, ...]:
    """Return the largest error past the exact bound on the unsafe side, for each quantity."""
    largest: dict[str, Unsafe] = {}
    for quantity, value, answer in checks:
        error = float(_excess(quantity, value, answer))
        if error != 0 and (quantity not in largest or abs(error) > abs(largest[quantity].error)):
            largest[quantity] = Unsafe(quantity, error, float(answer.argument))
    return tuple(largest.values())


def make_entry(claim: Claim, quantity: str, value: float, exact: Answer, *, decidable: bool = True) -> Entry:
    """Compare one answer; without ``decidable``, an answer on the unsafe side is undecided.

    That is for bounds on a dominating curve, to which a method may be closer from either side.
    """
    if np.isnan(value):
        return Entry(exact.argument, value, float("nan"), under_reports=False)
    value = max(value, 0.0)  # an epsilon below 0 is reported as 0, as the exact one is
    unsafe = _excess(quantity, value, exact) != 0
    between = not unsafe and not _is_safe(quantity, value, exact) and claim.kind != "bound"
    if value == exact.lower == exact.upper:  # infinite ones too
        error = 0.0
    else:
        error = value - (exact.lower if np.isinf(exact.upper) else (exact.lower + exact.upper) / 2)
    return Entry(exact.argument, value, error, unsafe and decidable, between or (unsafe and not decidable))


def _evaluate(claim: Claim, quantity: Any, at: ArrayLike) -> Array | None:
    """Return the answers of a method, or None where it has none."""
    try:
        return np.atleast_1d(claim.evaluate(quantity, np.asarray(at, dtype=float)))
    except TradeOffError:
        return None


def _evaluate_each(claim: Claim, quantity: str, at: list[float]) -> list[float]:
    """Evaluate a batch, which costs least, or one by one, NaN where there is no answer."""
    values = _evaluate(claim, quantity, at) if at else np.empty(0)
    if values is not None:
        return list(map(float, values))
    return [float("nan")] if len(at) == 1 else [_evaluate_each(claim, quantity, [x])[0] for x in at]


@dataclass(frozen=True, repr=False)
class Comparison(Displayed):
    """Exact answers with those of every method; prints as a table.

    Parameters
    ----------
    curve
        The curve compared against.
    exact
        Its two-sided answers.
    rows
        One for each method.
    beta
        Bounds on the beta of the curve at 129 type I errors.
    """

    curve: TradeOff
    exact: Answers
    rows: tuple[Row, ...]
    beta: Bounds

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, method: str) -> Row:
        for row in self.rows:
            if row.method == method:
                return row
        raise domain("method", method, f"one of {', '.join(repr(row.method) for row in self.rows)}")

    @property
    def declined(self) -> dict[str, str]:
        """The methods that do not apply, each with its reason."""
        return {row.method: row.declined for row in self.rows if row.claim is None}

    @property
    def _sides(self) -> dict[str, Literal["lower", "upper"]]:
        """Return the names of the rows of both bounds."""
        name = "exact" if self.exact.exact else "bound used"
        return {f"{name}, at least": "lower", f"{name}, at most": "upper"}

    def _questions(self) -> list[str]:
        return [f"{name} at {parameter} = {exactly(a.argument)}" for name, parameter, a in self.exact]

    def header(self) -> list[str]:
        """Return the names of the columns."""
        errors = ["largest error of beta", "largest error on the unsafe side"]
        return ["method", "verdict", *self._questions(), *errors]

    def table(self) -> list[list[str]]:
        """Return the rows as text: value and signed error, "!" where unsafe, "?" where undecided."""
        exact = [
            [name, "certified", *(rounded(getattr(a, side), side, 6) for *_, a in self.exact), "", ""]
            for name, side in self._sides.items()
        ]
        return exact + [self._line(row) for row in self.rows]

    def _line(self, row: Row) -> list[str]:
        if row.claim is None:
            return [row.method, DECLINED, *["-" for _ in self.exact], "-", "-"]
        cells = [_cell(e, name, row.claim.kind) for name in PARAMETERS for e in row.entries[name]]
        largest = f"{row.sup_error:+.1e} at alpha = {row.sup_error_at:.2g}"
        unsafe = "; ".join(map(str, row.unsafe)) or "-"
        return [row.claim.name, row.verdict, *cells, "-" if np.isnan(row.sup_error) else largest, unsafe]

    def grid(self) -> TextTable:
        declined = (f"{method} declined: {reason}" for method, reason in self.declined.items())
        return TextTable(self.table(), self.header(), notes=[*declined, *self.curve.caveats])

    def as_json(self) -> dict[str, Any]:
        """Return plain data: the exact answers and one object for each method."""
        return {"exact": self.exact.as_json(), "methods": [row.as_json() for row in self.rows]}

    def numbers(self) -> Table:
        """Return answers and signed errors as a table of numbers; None where a method has no answer."""
        questions = self._questions()
        columns = ["method", "verdict", *questions, *(f"error of {each}" for each in questions)]
        columns += ["largest error of beta", "alpha there"]
        rows: list[tuple[Any, ...]] = []
        for name, side in self._sides.items():
            values = [getattr(a, side) for *_, a in self.exact]
            rows.append((name, "certified", *values, *[None] * (len(questions) + 2)))
        for row in self.rows:
            entries = [each for name in PARAMETERS for each in row.entries.get(name, ())]
            pairs = [(each.value, each.error) for each in entries] or [(np.nan, np.nan)] * len(questions)
            numbers = [*(v for v, _ in pairs), *(e for _, e in pairs), row.sup_error, row.sup_error_at]
            name = row.method if row.claim is None else row.claim.name
            rows.append((name, row.verdict, *(None if np.isnan(x) else float(x) for x in numbers)))
        notes = {} if self.curve.symmetric else {"order": "one order of the pair"}
        if self.curve.assumptions:
            notes["assumes"] = "; ".join(self.curve.assumptions)
        return Table((*columns, *notes), tuple((*row, *notes.values()) for row in rows))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return ``numbers()`` as ``{column: values}``."""
        return self.numbers().to_dict()

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """Return ``numbers()`` as comma-separated text with every digit; write it to ``path`` if given."""
        return self.numbers().to_csv(path)

    def to_pandas(self) -> Any:
        """Return ``numbers()`` as a ``pandas.DataFrame``; raise ``MissingExtraError`` without pandas."""
        return self.numbers().to_pandas()

    def to_latex(self) -> str:
        """Return the printed table, each bound rounded to its safe side, as a LaTeX table for booktabs."""
        return self.grid().latex()

    def figure(self) -> Figure:
        """Draw errors with an inset, and profiles: the exact curve black, its band grey, methods dashed."""
        from tradeoff.report.figures import comparison_figure

        claims = [row.claim for row in self.rows if row.claim is not None]
        worst = [(row.sup_error_at, row.sup_error) for row in self.rows if np.isfinite(row.sup_error)]
        return comparison_figure(self.curve, claims, worst[0] if worst else None)


def compare(
    curve: TradeOff,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    delta: ArrayLike = (1e-5,),
    epsilon: ArrayLike = (1.0,),
    alpha: ArrayLike = (0.01,),
    step: Callable[[str], Any] = lambda _: None,
) -> Comparison:
    """Compare the exact answers of a curve with those of limit theorems and textbook composition.

    Parameters
    ----------
    curve
        The guarantee, usually a product of curves or its either-order envelope.
    methods
        Names from ``tradeoff.report.methods.METHODS``; default: all of them, those that do not apply marked
        as declined. Or a mapping from names to anything that ``tradeoff.plot`` draws.
    delta, epsilon, alpha
        Values at which epsilon, delta (epsilon in nats) and beta are compared.
    step
        Called with the name of each method before it answers.

    Returns
    -------
    Comparison
        Table, figure and data; ``under_reports`` where a method claims more privacy than the exact bounds
        allow, on a question or on the curve at 129 type I errors; ``unsafe`` has the amounts and the places.

    Raises
    ------
    KindError
        If ``curve`` is not a curve.
    DomainError
        If a method is unknown.

    Examples
    --------
    >>> import tradeoff as to
    >>> result = compare(
    ...     to.Laplace(0.5) ** 4, {"one Gaussian": to.Gaussian(0.5)}, delta=[1e-3], epsilon=[], alpha=[]
    ... )
    >>> row = result["one Gaussian"]
    >>> row.verdict, [str(each) for each in row.unsafe]
    ('under-reports', ['epsilon -0.63 at delta = 0.001', 'beta +0.17 at alpha = 0.19'])
    """
    if not isinstance(curve, TradeOff):
        raise KindError(
            f"curve must be a curve, got {shown(curve)}; use .guarantee() of a mechanism or a plan"
        )
    given = {"delta": delta, "epsilon": epsilon, "alpha": alpha}
    values: Any = {name: np.atleast_1d(reals(name, at)).ravel().tolist() for name, at in given.items()}
    exact = answer_query(curve, **values)
    beta = curve.bounds(ALPHAS)
    rows = tuple(compare_claim(*each, exact, beta) for each in _claims(curve, methods, step))
    return Comparison(curve, exact, rows, beta)


def _claims(
    curve: TradeOff, methods: Sequence[str] | Mapping[str, Any] | None, step: Callable[[str], Any]
) -> Iterator[tuple[str, Claim | str]]:
    if isinstance(methods, Mapping):
        for name, thing in methods.items():
            step(name)
            yield name, claim_of(name, thing)
        return
    if not isinstance(methods, Iterable | None):
        raise domain("methods", methods, "names, or a mapping from names to curves")
    names = list(METHODS) if methods is None else [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if name not in METHODS:
            raise domain("method", name, f"one of {', '.join(map(repr, METHODS))}")
    for name in names:
        step(name)
        try:
            yield name, claim_of(name, METHODS[name](composition(curve)))
        except TradeOffError as error:
            yield name, str(error)


def _cell(entry: Entry, quantity: str, kind: str) -> str:
    if np.isnan(entry.value):
        return "-"
    safe: Literal["lower", "upper"] = "lower" if quantity == "beta" else "upper"
    # A proved number stays one when it is rounded.
    value = f"{entry.value:.5g}" if kind == "estimate" else rounded(entry.value, safe, 5)
    return f"{value} ({entry.error:+.1e}){'!' if entry.under_reports else '?' if entry.undecided else ''}"
