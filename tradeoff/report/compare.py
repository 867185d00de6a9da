"""Comparison of exact bounds with the usual approximations, with signed errors, as table and figure.

Quantities are epsilon at a delta, delta at an epsilon and beta at an alpha, the *argument* of a question.
Claiming more privacy than there is, the unsafe side, is an epsilon or delta too small, or a beta too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import count, reals
from tradeoff.display import Displayed, TextTable, exactly, rounded
from tradeoff.errors import TradeOffError, domain
from tradeoff.intervals.bounds import Bounds
from tradeoff.report.answers import PARAMETERS, SYMBOLS, Answers, answer_query, composition, finite
from tradeoff.report.methods import METHODS, Claim, claim_of, evaluate_each
from tradeoff.sweeps import Exported, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tradeoff.report.series import Kind

# Verdicts: short, so that eight questions fit into 100 columns. Each has its line in the legend.
_LEGEND = {
    "unsafe": 'unsafe: claims more privacy than there is, in the answers marked "!".',
    "unsafe*": "unsafe*: claims more privacy than there is, but only for beta at an alpha that is not shown.",
    "safe": "safe: a proved bound, or on the safe side of the exact bounds wherever it was checked.",
    "open": 'open: the bounds above are too wide, or not exact, to prove either; "?" marks such answers.',
}

# The 129 type I errors at which the beta of each method is compared: hundredths, and more near 0.
ALPHAS = np.unique([*np.arange(101) / 100, *(float(f"{a:.3g}") for a in np.geomspace(1e-6, 0.495, 28))])


class Entry(NamedTuple):
    """One answer of one method; its error is to the middle of the exact bounds, or to a lone lower bound.

    It ``under_reports`` if it claims more privacy than both exact bounds. It is ``undecided`` if it lies
    between them and is not a proved bound.
    """

    argument: float
    value: float
    error: float
    under_reports: bool
    undecided: bool = False


class Unsafe(NamedTuple):
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

    ``sup_error`` is the signed difference beta - f of largest size among the type I errors ``ALPHAS``, at
    ``sup_error_at``, to the middle of the exact bounds. ``unsafe`` has for each quantity the largest error on
    the unsafe side, among the questions and for beta among ``ALPHAS`` too; empty where none is certain.
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
    def name(self) -> str:
        return self.method if self.claim is None else self.claim.name

    @property
    def under_reports(self) -> bool:
        """Whether any answer, or beta at any type I error checked, is certainly on the unsafe side."""
        return bool(self.unsafe)

    @property
    def verdict(self) -> str:
        """The word of tables, figures and files: unsafe, unsafe*, safe, open, or declined."""
        if self.claim is None:
            return "declined"
        if self.unsafe:
            entries = (entry for each in self.entries.values() for entry in each)
            return "unsafe" if any(entry.under_reports for entry in entries) else "unsafe*"
        return "safe" if self.proved else "open"

    def as_json(self) -> dict[str, Any]:
        """Return plain data; infinity is the string ``"inf"``, a missing answer null."""
        if self.claim is None:
            return {"method": self.method, "declined": self.declined}
        return {
            "method": self.method,
            "name": self.claim.name,
            "kind": self.claim.kind,
            "source": self.claim.source,
            **{name: [_plain(name, each._asdict()) for each in self.entries[name]] for name in PARAMETERS},
            **_plain("beta", {"sup_error": self.sup_error, "sup_error_at": self.sup_error_at}),
            "under_reports": self.under_reports,
            "verdict": self.verdict,
            "unsafe": [_plain(each.answered, each._asdict()) for each in self.unsafe],
        }


def _plain(quantity: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for JSON: NaN as null, infinities as text, ``argument`` under its name, as "delta"."""
    names = {"argument": PARAMETERS[quantity]}
    return {names.get(name, name): finite(value) for name, value in values.items()}


def compare_claim(name: str, claim: Claim | str, exact: Answers, beta_bounds: Bounds) -> Row:
    """Compare a claim with the exact answers; a text is the reason why a method has no claim.

    ``beta_bounds`` are the exact ones at ``ALPHAS``. Bounds on a dominating curve are not exact: a method may
    be closer to the mechanism from either side, so an answer on their unsafe side is undecided.
    """
    if isinstance(claim, str):
        return Row(name, None, claim)
    entries: dict[str, tuple[Entry, ...]] = {}
    unsafe, proved = [], claim.kind == "bound"
    is_safe_everywhere = True
    sup_error = sup_error_at = float("nan")
    for quantity in PARAMETERS:
        answers = [(each.argument, each.lower, each.upper) for each in getattr(exact, quantity)]
        n, is_beta = len(answers), quantity == "beta"
        at, lower, upper = np.array(answers, dtype=float).reshape(-1, 3).T
        if is_beta:  # after the questions
            at, lower, upper = np.hstack([(at, lower, upper), (ALPHAS, *beta_bounds)])
        # An epsilon below 0 is reported as 0; NaN is no answer.
        value = np.maximum(evaluate_each(partial(claim.evaluate, quantity), at, np.nan), 0.0)
        with np.errstate(invalid="ignore"):  # inf - inf
            middle = np.where(np.isinf(upper), lower, (lower + upper) / 2)
            error = np.where((value == lower) & (value == upper), 0.0, value - middle)
            past, safe = (value > upper, value <= lower) if is_beta else (value < lower, value >= upper)
            excess = np.where(past, value - (upper if is_beta else lower), 0.0)
        safe |= np.isnan(value)
        is_safe_everywhere &= bool(safe.all())
        undecided = ~safe & (~past & (not proved) | (not exact.exact))
        columns = (at, value, error, past & exact.exact, undecided)
        rows = zip(*(column[:n].tolist() for column in columns), strict=True)
        entries[quantity] = tuple(Entry(*each) for each in rows)
        if is_beta and not np.isnan(error[n:]).all():
            k = n + int(np.nanargmax(np.abs(error[n:])))
            sup_error, sup_error_at = float(error[k]), float(at[k])
        if exact.exact and past.any():
            k = int(np.argmax(np.abs(excess)))
            unsafe.append(Unsafe(quantity, float(excess[k]), float(at[k])))
    proved = proved or is_safe_everywhere
    return Row(name, claim, "", entries, sup_error, sup_error_at, tuple(unsafe), proved)


@dataclass(frozen=True, repr=False)
class Comparison(Exported, Displayed):
    """Exact answers with those of every method; prints as a table of at most 100 columns if it can.

    ``exact`` has the two-sided answers of the ``curve``, ``rows`` those of each method, and ``beta`` bounds
    on the beta of the curve at ``ALPHAS``.
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

    def header(self) -> list[str]:
        """Return the names of the columns, those of questions in two lines."""
        questions = (f"{SYMBOLS[name]} at\n{SYMBOLS[p]}={exactly(a.argument)}" for name, p, a in self.exact)
        return ["method", "verdict", *questions]

    def table(self, digits: int = 5, *, errors: bool = True) -> list[list[str]]:
        """Return the rows of ``header``, of bounds and methods that apply: "!" if unsafe, "?" if undecided.

        Bounds have ``digits`` digits, rounded to their safe side; with ``errors`` each answer has its signed
        error in brackets.
        """

        def cell(kind: str, quantity: str, entry: Entry) -> str:
            if np.isnan(entry.value):
                return "-"
            value = f"{entry.value:.{digits}g}"
            if kind != "estimate":  # a proved number stays one when it is rounded
                value = rounded(entry.value, "lower" if quantity == "beta" else "upper", digits)
            mark = "!" if entry.under_reports else "?" if entry.undecided else ""
            return f"{value} ({entry.error:+.2g}){mark}" if errors else value + mark

        answers = [answer for *_, answer in self.exact]
        lines = [
            ["lower bound", "certified", *(rounded(each.lower, "lower", digits) for each in answers)],
            ["upper bound", "certified", *(rounded(each.upper, "upper", digits) for each in answers)],
        ]
        for row in self.rows:
            if row.claim is not None:
                kind = row.claim.kind
                cells = (cell(kind, name, entry) for name in PARAMETERS for entry in row.entries[name])
                lines.append([row.name, row.verdict, *cells])
        return lines

    def notes(self, *, errors: bool = True) -> list[str]:
        """Return the legend of the table, the errors on the unsafe side, and reasons of declined methods."""
        legend = [text for word, text in _LEGEND.items() if word in {row.verdict for row in self.rows}]
        if errors and legend:
            legend.append("In brackets: the answer less the exact one.")
        unsafe = ((row.name, "; ".join(map(str, row.unsafe))) for row in self if row.unsafe)
        worst = [f"{name}, unsafe by at least: {texts}." for name, texts in unsafe]
        reasons = [f"{method} does not apply: {reason}." for method, reason in self.declined.items()]
        return [*legend, *worst, *reasons, *self.curve.caveats]

    def _layout(self, digits: int, *, errors: bool) -> TextTable:
        header, notes = self.header(), self.notes(errors=errors)
        sides = "<<" + ">" * (len(header) - 2)
        return TextTable(self.table(digits, errors=errors), header, notes=notes, sides=sides)

    def grid(self, width: int = 100) -> TextTable:
        """Return the table with as many digits, and if possible errors, as fit into ``width`` columns."""
        layouts = (self._layout(5, errors=True), *(self._layout(n, errors=False) for n in (5, 4, 3)))
        return next((each for each in layouts if each.width <= width), layouts[-1])

    def as_json(self) -> dict[str, Any]:
        """Return plain data: the exact answers and one object for each method."""
        return {"exact": self.exact.as_json(), "methods": [row.as_json() for row in self.rows]}

    def numbers(self) -> Table:
        """Return answers and signed errors as a table of numbers; None where a method has no answer."""
        questions = [f"{name} at {parameter} = {exactly(a.argument)}" for name, parameter, a in self.exact]
        columns = ["method", "verdict", *questions, *(f"error of {each}" for each in questions)]
        columns += ["largest error of beta", "alpha there"]
        n = len(questions)
        rows: list[tuple[Any, ...]] = [
            (f"{side} bound", "certified", *(getattr(a, side) for *_, a in self.exact), *[None] * (n + 2))
            for side in ("lower", "upper")
        ]
        for row in self.rows:
            entries = [each for name in PARAMETERS for each in row.entries.get(name, ())]
            numbers = [e.value for e in entries] + [e.error for e in entries] or [np.nan] * 2 * n
            numbers += [row.sup_error, row.sup_error_at]
            rows.append((row.name, row.verdict, *(None if np.isnan(x) else float(x) for x in numbers)))
        notes = {} if self.curve.symmetric else {"order": "one order of the pair"}
        if self.curve.assumptions:
            notes["assumes"] = "; ".join(self.curve.assumptions)
        return Table((*columns, *notes), tuple((*row, *notes.values()) for row in rows))

    def to_latex(
        self,
        *,
        digits: int = 4,
        errors: bool = False,
        pivot: bool = False,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        """Return the table, each bound rounded to its safe side, as a LaTeX table for booktabs.

        Parameters
        ----------
        digits : significant digits
        errors : whether each answer has its signed error in brackets
        pivot : put questions down and methods across
        caption, label : of a ``table`` environment around it; default: the ``tabular`` alone
        """
        result = self._layout(count("digits", digits, 1, 17), errors=errors)
        if pivot:
            columns, *rows = zip(result.columns, *result.rows, strict=True)
            result = result._replace(rows=rows, columns=columns, sides="<" + ">" * (len(columns) - 1))
        return result.latex(caption, label)

    def figure(self, kind: Kind = "profile") -> Figure:
        """Draw one panel per method: the exact curve, and the method as dashes, red if it under-reports."""
        from tradeoff.report.plot import draw_methods

        return draw_methods(self.curve, self.rows, kind)


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

    A row ``under_reports`` where its method claims more privacy than the exact bounds allow, on a question or
    on the curve at 129 type I errors; ``unsafe`` has the amounts and the places.

    Parameters
    ----------
    curve : the guarantee, usually a product of curves or its either-order envelope
    methods
        Names among "clt", "dp-sgd-clt", "edgeworth" (estimates), "berry-esseen", "zcdp", "renyi", "advanced"
        and "basic" (proved bounds); default: all of them, those that do not apply marked as declined. Or a
        mapping from names to anything that ``tradeoff.plot`` draws.
    delta, epsilon, alpha : values at which epsilon, delta (epsilon in nats) and beta are compared
    step : called with the name of each method before it answers

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.Laplace(0.5) ** 4
    >>> result = compare(f, {"one Gaussian": to.Gaussian(0.5)}, delta=[1e-3], epsilon=[], alpha=[])
    >>> result
    method        verdict               ε at
                                     δ=0.001
    lower bound   certified           1.9841
    upper bound   certified           1.9842
    one Gaussian  unsafe     1.3523 (-0.63)!
    unsafe: claims more privacy than there is, in the answers marked "!".
    In brackets: the answer less the exact one.
    one Gaussian, unsafe by at least: epsilon -0.63 at delta = 0.001; beta +0.17 at alpha = 0.19.
    """
    given = {"delta": delta, "epsilon": epsilon, "alpha": alpha}
    values: Any = {name: np.atleast_1d(reals(name, at)).ravel().tolist() for name, at in given.items()}
    exact = answer_query(operand(curve), **values)
    beta = curve.bounds(ALPHAS)
    if not isinstance(methods, Iterable | None):
        raise domain("methods", methods, "names, or a mapping from names to curves")
    names = list(METHODS) if methods is None else [methods] if isinstance(methods, str) else list(methods)
    if not isinstance(methods, Mapping) and (unknown := [name for name in names if name not in METHODS]):
        raise domain("method", unknown[0], f"one of {', '.join(map(repr, METHODS))}")

    def claim(name: str) -> Claim | str:
        step(name)
        if isinstance(methods, Mapping):
            return claim_of(name, methods[name])
        try:
            return claim_of(name, METHODS[name](composition(curve)))
        except TradeOffError as error:  # the method does not apply
            return str(error)

    rows = tuple(compare_claim(name, claim(name), exact, beta) for name in names)
    return Comparison(curve, exact, rows, beta)
