"""Answers as lines of a table, for spreadsheets and papers."""

from __future__ import annotations

import csv as _csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tradeoff.report.answers import Answers, finite
from tradeoff.report.digits import rounded

if TYPE_CHECKING:
    from tradeoff.gdp import Reduction


class Line(NamedTuple):
    """One question with bounds on its answer, such as epsilon at delta = 1e-5."""

    answered: str
    question: str
    at: float
    lower: float
    upper: float


def lines(answers: Answers, found: Reduction | None = None) -> list[Line]:
    """Return one line a question; the last is mu at a failure probability, if it was asked."""
    rows = [Line(name, question, a.asked, a.lower, a.upper) for name, question, a in answers]
    return rows if found is None else [*rows, Line("mu", "failure", found.failure, *found.bounds)]


def reduced(found: Reduction | None) -> dict[str, Any] | None:
    """Return mu as plain data, as answers are; None where it was not asked."""
    if found is None:
        return None
    lower, upper = found.bounds
    return {"failure": found.failure, "lower": finite(lower), "upper": finite(upper)}


def csv(rows: Sequence[Line]) -> str:
    """Write lines as CSV under their names, every number to its last bit; infinity is inf.

    Examples
    --------
    >>> print(csv([Line("epsilon", "delta", 1e-05, 1.5, float("inf"))]), end="")
    answered,question,at,lower,upper
    epsilon,delta,1e-05,1.5,inf
    """
    text = io.StringIO()
    writer = _csv.writer(text, lineterminator="\n")
    writer.writerows([Line._fields, *rows])
    return text.getvalue()


def latex(rows: Sequence[Line]) -> str:
    r"""Write lines as a table for LaTeX with booktabs, bounds rounded outward to 6 digits.

    Examples
    --------
    >>> print(latex([Line("delta", "epsilon", 1.0, 0.5, 0.75)]), end="")
    \begin{tabular}{lrr}
    \toprule
    & at least & at most \\
    \midrule
    $\delta$ at $\varepsilon = 1$ & $0.5$ & $0.75$ \\
    \bottomrule
    \end{tabular}
    """
    body = [
        f"${_sign(name)}$ at ${_sign(question)} = {_number(f'{at:.12g}')}$ "
        f"& ${_number(rounded(lower, 'lower', 6))}$ & ${_number(rounded(upper, 'upper', 6))}$ \\\\"
        for name, question, at, lower, upper in rows
    ]
    head = [r"\begin{tabular}{lrr}", r"\toprule", r"& at least & at most \\", r"\midrule"]
    return "\n".join([*head, *body, r"\bottomrule", r"\end{tabular}", ""])


def _sign(name: str) -> str:
    greek = {"epsilon": r"\varepsilon", "failure": r"\mathrm{failure}"}
    return greek.get(name, f"\\{name}")


def _number(text: str) -> str:
    digits, _, power = text.replace("inf", r"\infty").partition("e")
    return rf"{digits} \cdot 10^{{{int(power)}}}" if power else digits
