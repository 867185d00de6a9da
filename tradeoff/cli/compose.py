"""``tradeoff compose``: bounds on what the mechanisms of a plan leave together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tradeoff.cli.questions import UNASKED, Flag, Json, Questions, Source, asked, composed, left_out, read
from tradeoff.cli.terminal import print_json, progress, show
from tradeoff.display import TextTable
from tradeoff.errors import DomainError
from tradeoff.report.saving import check_target, save


def compose(
    plan: Source,
    *,
    questions: Questions = UNASKED,
    mu: Flag = False,
    failure: float | None = None,
    tol: float | None = None,
    plot: Path | None = None,
    as_json: Json = False,
    as_csv: Annotated[Flag, Parameter(name="--csv")] = False,
    as_latex: Annotated[Flag, Parameter(name="--latex")] = False,
) -> None:
    """Compose the mechanisms of a plan file, and answer with lower and upper bounds.

    The answers hold for every ordered pair of neighbours. An epsilon below 0 is reported as 0. Questions on
    the command line replace those of the file; if there are none, epsilon is asked at delta = 1e-5.

    Parameters
    ----------
    questions
        What is asked.
    mu
        Answer with the least mu of a Gaussian bound on the whole curve, too. Where all mechanisms are
        Gaussian it is exact and needs no asking; elsewhere it takes longer than other questions.
    failure
        Probability that mu may leave out, with --mu; default: 1e-10.
    tol
        Width the bounds must reach: absolute for epsilon, relative for delta and beta.
    plot
        Draw the trade-off curve into this file: .png, .svg or .pdf.
    as_json
        Print the answers as JSON.
    as_csv
        Print the answers as CSV.
    as_latex
        Print the answers as a LaTeX table for the package booktabs, rounded outward to 6 digits.
    """
    if as_json + as_csv + as_latex > 1:
        raise DomainError("an answer has one form: give one of --json, --csv and --latex")
    failures = left_out(mu, failure)
    target = check_target(plot) if plot is not None else None
    content = read(plan)
    given = asked(content, questions)

    from tradeoff.curves.hooks import NOT_EXACT
    from tradeoff.families.gaussian import Gaussian
    from tradeoff.report.answers import COLUMNS, Answer, answer_query, csv, finite, latex, row
    from tradeoff.report.summary import rows

    with progress() as step:
        step("composing")
        curve = composed(content.plan)
        answers = answer_query(curve, **given, tol=tol, step=step)
        lines, reduced = list(answers), None
        if mu or isinstance(curve, Gaussian):
            step("reducing to one mu")
            result = curve.gdp(failures[0] if mu else 0.0)
            reduced = {"failure": result.failure, "lower": result.bounds.lower, "upper": result.bounds.upper}
            lines.append(("mu", "failure", Answer(*reduced.values())))
        if target is not None:
            from tradeoff.report.plot import figure

            step("drawing")
            save(figure(curve, title=content.title), target)
    if as_json:
        one = {name: finite(value) for name, value in reduced.items()} if reduced else None
        print_json(plan, content, {"tol": tol, **answers.as_json(), "mu": one})
    elif as_csv or as_latex:
        sys.stdout.write((csv if as_csv else latex)(lines, answers.assumptions, exact=answers.exact))
    else:
        show(
            TextTable([*rows(content.plan)], ("runs", "mechanism", "parameters"), content.title, sides="><<")
        )
        notes = [f"Valid for every pair of {content.plan.adjacency} neighbours, in either order."]
        notes += [f"Assumes: {each}" for each in answers.assumptions] + [NOT_EXACT] * (not answers.exact)
        notes += [] if reduced else ["For mu, one number for the whole curve: --mu"]
        notes += [f"Plot written to {target}"] if target is not None else []
        show(TextTable([row(*each) for each in lines], COLUMNS, notes=notes, sides="<>>"))
