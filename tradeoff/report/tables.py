"""Answers as lines of a table, for spreadsheets and papers."""

from __future__ import annotations

from collections.abc import Iterable

from tradeoff.display import Grid
from tradeoff.report.answers import Answer, row
from tradeoff.report.plain import plain
from tradeoff.sweeps import Table

Lines = Iterable[tuple[str, str, Answer]]
"""What is answered, by what it is asked, and the answer; as ``Answers`` are gone through."""


def csv(lines: Lines, assumptions: Iterable[str] = ()) -> str:
    """Write answers as CSV, every number to its last bit; infinity is inf."""
    assumed = "; ".join(map(plain, assumptions))
    rows = ((name, question, a.asked, a.lower, a.upper, assumed) for name, question, a in lines)
    return Table(("answered", "question", "at", "lower", "upper", "assumes"), tuple(rows)).to_csv()


def latex(lines: Lines, assumptions: Iterable[str] = ()) -> str:
    r"""Write answers as a table for LaTeX with booktabs, bounds rounded outward to 6 digits.

    Examples
    --------
    >>> print(latex([("delta", "epsilon", Answer(1.0, 0.5, 0.75))]), end="")
    \begin{tabular}{lrr}
    \toprule
     & at least & at most \\
    \midrule
    $\delta$ at $\varepsilon$ = 1 & 0.5 & 0.75 \\
    \bottomrule
    \end{tabular}
    """
    rows = [row(*line, digits=6) for line in lines]
    assumed = "".join(f"% Assumes: {plain(each)}\n" for each in assumptions)
    return f"{assumed}{Grid(rows, ('', 'at least', 'at most'), sides='<>>').latex()}\n"
