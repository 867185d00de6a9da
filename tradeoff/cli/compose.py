"""``tradeoff compose`` and ``tradeoff calibrate``: bounds for a plan, a parameter for a target."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tradeoff.atomic_write import atomic_write
from tradeoff.cli.questions import (
    NO_QUESTIONS,
    Csv,
    Flag,
    Json,
    Latex,
    Questions,
    Source,
    check_forms,
    compose_plan,
    read_plan,
    read_questions,
    read_source,
)
from tradeoff.cli.terminal import print_json, progress, show
from tradeoff.display import TextTable, plain
from tradeoff.errors import DomainError
from tradeoff.report.saving import check_target, save

if TYPE_CHECKING:
    from tradeoff.curves.contract import TradeOff
    from tradeoff.spec import PlanFile

_DEFAULT_FAILURE = 1e-10  # with failure 0, unbounded losses have no mu

_TARGETS = {
    ("epsilon", "delta"): "--epsilon with --delta",
    ("mu",): "--mu",
    ("mu", "failure"): "--mu with --failure",
    ("alpha", "beta"): "--beta with --alpha",
    ("advantage",): "--advantage",
}


def compose(
    plan: Source,
    *,
    questions: Questions = NO_QUESTIONS,
    mu: Flag = False,
    failure: float | None = None,
    tol: float | None = None,
    plot: Path | None = None,
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
) -> None:
    """Compose the mechanisms of a plan file, and print lower and upper bounds.

    The answers hold for every ordered pair of neighbours. An epsilon below 0 is reported as 0. Questions on
    the command line replace those of the file; the default is epsilon at delta = 1e-5.

    Parameters
    ----------
    questions
        The questions.
    mu
        Also print the least mu of a Gaussian bound on the whole curve. It is exact, and always printed, where
        all mechanisms are Gaussian; elsewhere it takes longer than other questions.
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
    check_forms(as_json, as_csv, as_latex)
    if failure is not None and not mu:
        raise DomainError(f"--failure must be given with --mu, got --failure {failure} alone")
    if plot is not None:
        check_target(plot, name="--plot")
    print_answers(
        plan,
        read_plan(plan),
        questions=questions,
        mu=mu,
        failure=failure,
        tol=tol,
        plot=plot,
        as_json=as_json,
        as_csv=as_csv,
        as_latex=as_latex,
    )


def print_answers(
    plan: Path,
    content: PlanFile,
    *,
    questions: Questions,
    mu: bool,
    failure: float | None = None,
    tol: float | None,
    plot: Path | None,
    as_json: bool,
    as_csv: bool = False,
    as_latex: bool = False,
) -> None:
    """Compose the contents of a plan file, and print the answers in the form asked for."""
    target = check_target(plot, name="--plot") if plot is not None else None
    queries = read_questions(content, questions)

    from tradeoff.curves.hooks import NOT_EXACT
    from tradeoff.families.gaussian import Gaussian
    from tradeoff.report.answers import COLUMNS, Answer, answer_query, csv, finite, latex, mechanism_rows, row

    with progress() as step:
        step("composing")
        curve = compose_plan(content.plan)
        answers = answer_query(curve, **queries, tol=tol, step=step)
        lines, reduced = list(answers), None
        if mu or isinstance(curve, Gaussian):
            step("reducing to one mu")
            result = curve.gdp(_DEFAULT_FAILURE if mu and failure is None else failure or 0.0)
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
        mechanisms = [*mechanism_rows(content.plan)]
        show(TextTable(mechanisms, ("runs", "mechanism", "parameters"), content.title, sides="><<"))
        notes = [f"Valid for every pair of {content.plan.adjacency} neighbours, in either order."]
        notes += [f"Assumes: {each}" for each in answers.assumptions] + [NOT_EXACT] * (not answers.exact)
        notes += [] if reduced else ["For mu, one number for the whole curve: --mu"]
        notes += [f"Plot written to {target}"] if target is not None else []
        show(TextTable([row(*each) for each in lines], COLUMNS, notes=notes, sides="<>>"))


def calibrate(
    plan: Source,
    *,
    vary: str,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    failure: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    advantage: float | None = None,
    tol: float = 1e-9,
    write: Flag = False,
) -> None:
    """Find the parameter of a plan that just meets a target, and print the plan with it.

    The target is --epsilon with --delta, --mu (with --failure), --beta with --alpha, or --advantage; it is
    met for every ordered pair of neighbours. The guarantee reached follows the plan as comments.

    Parameters
    ----------
    vary
        Parameter to find, such as mechanism[2].noise_multiplier: mechanisms are counted from 1.
    epsilon
        Largest privacy loss, in nats; with --delta.
    delta
        Probability at which that loss holds.
    mu
        Largest mu of a Gaussian bound on the whole curve.
    failure
        Probability that mu may leave out; default: 0.
    alpha
        Type I error; with --beta.
    beta
        Smallest type II error there.
    advantage
        Largest advantage of an attack, its true-positive rate less its false-positive rate.
    tol
        Relative width within which the parameter is found.
    write
        Write the parameter into the file instead of printing the plan; the rest is unchanged.
    """
    from tradeoff.design.calibration import calibrate as find_parameter
    from tradeoff.spec.plan_file import find_number, replace_number

    given = {"epsilon": epsilon, "delta": delta, "mu": mu, "failure": failure}
    given |= {"alpha": alpha, "beta": beta, "advantage": advantage}
    target = {name: value for name, value in given.items() if value is not None}
    if write and str(plan) == "-":
        raise DomainError("--write needs a plan file, got stdin")
    if write:
        check_target(plan, (plan.suffix.lower(),))
    content = read_source(plan)
    read_plan(plan, content)  # raises if the file is malformed
    if tuple(target) not in _TARGETS:
        flags = ", ".join(f"--{name}" for name in target) or "no flag"
        raise DomainError(f"the target must be one of {', '.join(_TARGETS.values())}, got {flags}")
    replace_number(content, vary, 1)  # raises if there is no such parameter

    def guarantee(value: float) -> TradeOff:
        return compose_plan(read_plan(plan, replace_number(content, vary, value)).plan)

    *_, is_integer = find_number(content, vary)
    with progress() as step:
        step(f"calibrating {plain(vary)}")
        result = find_parameter(guarantee, target, integer=is_integer, tol=tol)
    text = replace_number(content, vary, result.value)
    if write:
        atomic_write(plan, text)
    else:
        print(text.rstrip("\r\n"))
    low, high = result.achieved
    print(f"# {vary} = {result.value!r}: {result.target}, reached in [{low!r}, {high!r}]")
    print(f"# the target is crossed between {result.bounds.lower!r} and {result.bounds.upper!r}")
