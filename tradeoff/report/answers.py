"""The questions of a plan file with their answers, held from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import NOT_EXACT, ONE_ORDER
from tradeoff.display import Displayed, TextTable, exactly, plain, rounded
from tradeoff.errors import TradeOffError
from tradeoff.intervals.bounds import Bounds
from tradeoff.sweeps import Table

ASKED = {"epsilon": "delta", "delta": "epsilon", "beta": "alpha"}  # what is answered, and by what it is asked
COLUMNS = ("question", "at least", "at most")  # heads of a table of answers, whose lines are ``row``


@dataclass(frozen=True)
class Answer:
    """One question and its answer, ``lower <= truth <= upper``; a privacy loss below 0 is reported as 0."""

    asked: float
    lower: float
    upper: float


@dataclass(frozen=True, repr=False)
class Answers(Displayed):
    """Answers by what they say: epsilon at each delta, delta at each epsilon, beta at each alpha."""

    epsilon: tuple[Answer, ...] = ()
    delta: tuple[Answer, ...] = ()
    beta: tuple[Answer, ...] = ()
    assumptions: tuple[str, ...] = ()  # unproved statements on which the curve rests
    one_order: bool = False  # whether the curve is of one order of the neighbouring pair
    exact: bool = True  # whether both bounds are of the mechanism

    def __iter__(self) -> Iterator[tuple[str, str, Answer]]:
        """Go through all answers as (what is answered, by what it is asked, answer)."""
        for name, question in ASKED.items():
            for answer in getattr(self, name):
                yield name, question, answer

    def grid(self) -> TextTable:
        notes = [ONE_ORDER] * self.one_order + [NOT_EXACT] * (not self.exact)
        notes += [f"assumes: {each}" for each in self.assumptions]
        return TextTable([row(*each) for each in self], COLUMNS, notes=notes)

    def as_json(self) -> dict[str, Any]:
        """Return plain data in which infinity is the string ``"inf"``, as JSON has none.

        Examples
        --------
        >>> Answers(epsilon=(Answer(0.0, 1.5, float("inf")),)).as_json()["epsilon"]
        [{'delta': 0.0, 'lower': 1.5, 'upper': 'inf'}]
        """
        result: dict[str, Any] = {
            name: [
                {question: finite(a.asked), "lower": finite(a.lower), "upper": finite(a.upper)}
                for a in getattr(self, name)
            ]
            for name, question in ASKED.items()
        }
        order = {"one_order": True} if self.one_order else {}
        assumes = {"assumptions": list(self.assumptions)} if self.assumptions else {}
        return result | order | assumes | {"exact": self.exact}


Lines = Iterable[tuple[str, str, Answer]]  # what is answered, by what it is asked, and the answer


def row(name: str, question: str, answer: Answer, digits: int = 10) -> tuple[str, str, str]:
    """Return a question and both bounds as a table has them, rounded outward to so many digits."""
    bounds = rounded(answer.lower, "lower", digits), rounded(answer.upper, "upper", digits)
    return f"{name} at {question} = {exactly(answer.asked)}", *bounds


def csv(lines: Lines, assumptions: Iterable[str], *, exact: bool = True) -> str:
    """Write answers as CSV, every number to its last bit; infinity is inf."""
    assumed = "; ".join(map(plain, assumptions))
    rows = ((name, question, a.asked, a.lower, a.upper, assumed, exact) for name, question, a in lines)
    return Table(("answered", "question", "at", "lower", "upper", "assumes", "exact"), tuple(rows)).to_csv()


def latex(lines: Lines, assumptions: Iterable[str], *, exact: bool = True) -> str:
    r"""Write answers as a table for LaTeX with booktabs, bounds rounded outward to 6 digits.

    Examples
    --------
    >>> print(latex([("delta", "epsilon", Answer(1.0, 0.5, 0.75))], ["the noise is as stated"]), end="")
    % Assumes: the noise is as stated
    \begin{tabular}{lrr}
    \toprule
     & at least & at most \\
    \midrule
    $\delta$ at $\varepsilon$ = 1 & 0.5 & 0.75 \\
    \bottomrule
    \end{tabular}
    """
    notes = [f"Assumes: {plain(each)}" for each in assumptions] + [NOT_EXACT] * (not exact)
    return (
        TextTable([row(*each, digits=6) for each in lines], ("", *COLUMNS[1:]), "", notes, "<>>").latex()
        + "\n"
    )


def finite(value: float) -> float | str:
    """Return ``value``, or its name if it is infinite."""
    return f"{value:g}" if math.isinf(value) else value


def answer_query(
    curve: TradeOff,
    *,
    delta: Sequence[float] = (),
    epsilon: Sequence[float] = (),
    alpha: Sequence[float] = (),
    tol: float | None = None,
    step: Callable[[str], Any] = lambda _: None,
) -> Answers:
    """Ask a curve for epsilon at each delta, delta at each epsilon and beta at each alpha.

    Epsilon is clamped at 0 from below; ``step`` is called with what comes next, before each kind of question.
    """
    given: dict[str, tuple[Sequence[float], Callable[..., Bounds]]] = {
        "epsilon": (delta, curve.bounds.epsilon),
        "delta": (epsilon, curve.bounds.delta),
        "beta": (alpha, curve.bounds),
    }
    result: dict[str, tuple[Answer, ...]] = {}
    for name, (at, question) in given.items():
        if len(at):
            step(f"{name} at {len(at)} {ASKED[name]}{'s' if len(at) > 1 else ''}")
            floor = 0.0 if name == "epsilon" else -math.inf
            result[name] = _answers(at, question(np.asarray(at, dtype=float), tol=tol), floor)
    return Answers(**result, assumptions=curve.assumptions, one_order=not curve.symmetric, exact=curve.exact)


def _answers(asked: Sequence[float], bounds: Bounds, floor: float) -> tuple[Answer, ...]:
    if not np.all(bounds.lower <= bounds.upper):  # NaN lands here too, and must never pass for a small loss
        raise TradeOffError(f"no bounds found at {list(asked)}: {bounds}; please report this")
    lower, upper = ((np.maximum(side, floor) + 0.0).tolist() for side in bounds)  # + 0.0: no -0.0
    return tuple(map(Answer, map(float, asked), lower, upper))
