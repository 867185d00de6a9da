"""The commands on plan files and certificates, from init to verify; ledgers have commands of their own.

The docstring of a command is its help, with one flag a line below Args.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from functools import reduce
from inspect import Parameter as Argument
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tradeoff.atomic_write import atomic_write
from tradeoff.cli import terminal
from tradeoff.cli.terminal import Flag, Form, Integer, Output, Precision, Questions, Source
from tradeoff.display import TextTable, exactly, plain
from tradeoff.errors import DomainError, VerificationError
from tradeoff.report.styles import check_target, save

if TYPE_CHECKING:
    from tradeoff.curves.contract import TradeOff
    from tradeoff.spec import PlanFile


_TEMPLATE = """\
title = "My plan"
adjacency = "add-remove"   # neighbours: one record more or less; or "replace-one"
delta = [1e-5]             # compute epsilon at these; also: epsilon = [1.0], alpha = [0.01]

[[mechanism]]              # one table for each mechanism; `tradeoff kinds` lists them
kind = "subsampled-gaussian"
noise_multiplier = 1.1     # standard deviation of the noise over the clipping norm
sample_rate = 0.01         # probability that a record is in a batch
count = 1000               # number of steps

[[mechanism]]
kind = "laplace"
scale = 10.0               # with sensitivity 1, each run is 1/10-DP
count = 5
"""


def dp_sgd(
    *,
    noise_multiplier: float,
    batch_size: Integer | None = None,
    dataset_size: Integer | None = None,
    epochs: float | None = None,
    sample_rate: float | None = None,
    steps: Integer | None = None,
    questions: Questions = terminal.NO_QUESTIONS,
    precision: Precision = terminal.USUAL,
    form: Form = terminal.TEXT,
) -> None:
    """Print bounds for a DP-SGD training run with Poisson batches, for add/remove neighbours.

    Give --batch-size and --dataset-size, or --sample-rate; and --epochs or --steps. The default question is
    epsilon at delta = 1e-5.

    Args:
        noise_multiplier: Standard deviation of the noise over the clipping norm.
        batch_size: Expected number of records in a batch.
        dataset_size: Number of records.
        epochs: Number of passes over the records.
        sample_rate: Probability with which each record is in a batch.
        steps: Number of steps.
    """
    from tradeoff.mechanisms.plan import dp_sgd as training
    from tradeoff.spec import PlanFile

    given: dict[str, Any] = {"batch_size": batch_size, "dataset_size": dataset_size, "epochs": epochs}
    given |= {"sample_rate": sample_rate, "steps": steps}
    try:
        plan = training(noise_multiplier, **given)
    except DomainError as error:
        names = "|".join(("noise_multiplier", *given))
        text = re.sub(rf"\b({names})\b", lambda name: terminal.flag_of(name[0]), str(error))
        raise DomainError(text) from error
    content = terminal.replace_questions(PlanFile("DP-SGD", plan), questions)
    _print_answers(Path("dp-sgd"), content, precision, form)


def init(plan: Path = Path("plan.toml")) -> None:
    """Write a plan file with comments, to be edited.

    Args:
        plan: File to write; it must not exist.
    """
    if plan.exists():
        raise DomainError(f"PLAN must be a new file, got {str(plan)!r}")
    atomic_write(plan, _TEMPLATE)
    print(f"Plan written to {plan}; answer its questions with: tradeoff compose {plan}")


def kinds() -> None:
    """List the kinds of mechanisms of plan files, with their keys and default values."""
    from tradeoff.spec.plan_file import MECHANISMS

    rows, texts = [], {None: "?", Argument.empty: ""}  # after keys that are optional, or have no default
    for kind, signature in MECHANISMS.items():
        defaults = ((name, each.default) for name, each in signature.parameters.items())
        keys = (name + texts.get(default, f" = {default!r}") for name, default in defaults)
        rows.append((kind, ", ".join(keys)))
    notes = ["A key followed by ? is optional. Every mechanism also takes count, its number of runs."]
    terminal.show(TextTable(rows, ("kind", "keys"), "Mechanisms of plan files", notes, sides="<<"))


def compose(
    plan: Source,
    *,
    questions: Questions = terminal.NO_QUESTIONS,
    precision: Precision = terminal.USUAL,
    form: Form = terminal.TEXT,
) -> None:
    """Compose the mechanisms of a plan file, and print lower and upper bounds.

    The answers hold for every ordered pair of neighbours. An epsilon below 0 is reported as 0. Questions on
    the command line replace those of the file; the default is epsilon at delta = 1e-5.
    """
    _print_answers(plan, terminal.read_plan(plan, questions), precision, form)


def _print_answers(plan: Path, content: PlanFile, precision: Precision, form: Form) -> None:
    """Answer the questions of a plan, and print and draw the answers; ``plan`` is its file."""
    form.check()
    mu, failure, tol = precision.mu, precision.failure, precision.tol
    if failure is not None and not mu:
        raise DomainError(f"--failure must be given with --mu, got --failure {failure} alone")

    from tradeoff.families.gaussian import Gaussian
    from tradeoff.report.answers import COLUMNS, Answer, answer_query, csv, finite, latex, row

    with terminal.progress() as step:
        step("composing")
        curve = terminal.compose_plan(content.plan)
        answers = answer_query(curve, **content.questions, tol=tol, step=step)
        lines, reduced = list(answers), None
        if mu or isinstance(curve, Gaussian):
            step("reducing to one mu")
            result = curve.gdp(failure)
            reduced = {"failure": result.failure, "lower": result.bounds.lower, "upper": result.bounds.upper}
            lines.append(("mu", "failure", Answer(*reduced.values())))
        if form.plot is not None:
            from tradeoff.report.plot import figure

            step("drawing")
            save(figure(curve, title=content.title), form.plot)
    if form.as_json:
        one = {name: finite(value) for name, value in reduced.items()} if reduced else None
        terminal.print_json(plan, content, {"tol": tol, **answers.as_json(), "mu": one})
    elif form.as_csv or form.as_latex:
        sys.stdout.write((csv if form.as_csv else latex)(lines, answers))
    else:
        terminal.show(content.plan.grid()._replace(head=content.title))
        notes = _notes(content, curve, answers.reasons)
        notes += [] if reduced else ["For mu, one number for the whole curve: --mu"]
        notes += [f"Plot written to {form.plot}"] if form.plot is not None else []
        terminal.show(TextTable([row(*each) for each in lines], COLUMNS, notes=notes, sides="<>>"))


def _notes(content: PlanFile, curve: TradeOff, reasons: tuple[str, ...] = ()) -> list[str]:
    """Return the lines below answers: what pairs they are for, why one is infinite, and caveats."""
    valid = f"Valid for every pair of {content.plan.adjacency} neighbours, in either order."
    return [valid, *reasons, *curve.caveats]


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

    Args:
        vary: Parameter to find, such as mechanism[2].noise_multiplier: mechanisms are counted from 1. Several
            separated by commas are one value.
        epsilon: Largest privacy loss, in nats; with --delta.
        delta: Probability at which that loss holds.
        mu: Largest mu of a Gaussian bound on the whole curve.
        failure: Probability that mu may leave out; default: 1e-10, or 0 if all mechanisms are Gaussian.
        alpha: Type I error; with --beta.
        beta: Smallest type II error there.
        advantage: Largest advantage of an attack, its true-positive rate less its false-positive rate.
        tol: Relative width within which the parameter is bounded.
        write: Write the parameter into the file instead of printing the plan; the rest is unchanged.
    """
    from tradeoff.design.calibration import KINDS
    from tradeoff.design.calibration import calibrate as find_parameter
    from tradeoff.spec.plan_file import find_number, replace_number

    given = {"epsilon": epsilon, "delta": delta, "mu": mu, "failure": failure}
    given |= {"beta": beta, "alpha": alpha, "advantage": advantage}
    target = {name: value for name, value in given.items() if value is not None}
    if write and str(plan) == "-":
        raise DomainError("--write needs a plan file, got stdin")
    if write:
        check_target(plan, (plan.suffix.lower(),))
    content = terminal.read_source(plan)
    title = terminal.read_plan(plan, content=content).title  # raises if the file is malformed
    if tuple(target) not in KINDS:
        flags = [" with ".join(f"--{name}" for name in names) for names in KINDS if set(names) <= set(given)]
        typed = ", ".join(f"--{name}" for name in target) or "no flag"
        raise DomainError(f"the target must be one of {', '.join(flags)}, got {typed}")
    places = [each.strip() for each in vary.split(",")]

    def edited(value: float) -> str:
        """Return the text of the plan with the value at all places."""
        return reduce(lambda text, place: replace_number(text, place, value), places, content)

    edited(1)  # raises if the plan lacks the parameter

    def guarantee(value: float) -> TradeOff:
        return terminal.compose_plan(terminal.read_plan(plan, content=edited(value)).plan)

    is_integer = any(find_number(content, place)[2] for place in places)
    with terminal.progress() as step:
        step(f"calibrating {plain(vary)}")
        result = find_parameter(guarantee, target, integer=is_integer, tol=tol)
    text = edited(result.value)
    if write:
        atomic_write(plan, text)
    else:
        print(text.rstrip("\r\n"))
    low, high = result.achieved
    if title and re.search(r"\d", title):
        print("# the title is unchanged and may name the old number")
    print(f"# {vary} = {result.value!r}: {result.target}, reached in [{low!r}, {high!r}]")
    print(f"# the target is crossed between {result.bounds.lower!r} and {result.bounds.upper!r}")


def compare(
    plan: Source,
    *,
    method: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    questions: Questions = terminal.NO_QUESTIONS,
    form: Form = terminal.TEXT,
) -> None:
    """Compare the exact answers for a plan with those of other methods, each error with its sign.

    Args:
        method: Methods to compare, one or more; default: all that apply.
    """
    form.check()
    content = terminal.read_plan(plan, questions)

    from tradeoff.report.compare import compare as compare_methods

    with terminal.progress() as step:
        step("composing")
        curve = terminal.compose_plan(content.plan)
        result = compare_methods(curve, method or None, **content.questions, step=step)
        if form.plot is not None:
            step("drawing")
            save(result.figure(), form.plot)
    if form.as_json:
        terminal.print_json(plan, content, result.as_json())
    elif form.as_csv or form.as_latex:
        sys.stdout.write(result.to_csv() if form.as_csv else result.to_latex() + "\n")
    else:
        grid = result.grid(terminal.screen().width)
        notes = [*grid.notes, *([f"Plot written to {form.plot}"] if form.plot is not None else [])]
        terminal.show(grid._replace(head=content.title, notes=notes))


def report(
    plan: Source,
    *,
    output: Output,
    failure: float | None = None,
    registry: Flag = False,
    questions: Questions = terminal.NO_QUESTIONS,
) -> None:
    """Write a report of a plan: answers with certificates, one mu with its regret, curves, assumptions.

    Args:
        output: HTML file to write; it opens without a network.
        failure: Probability that mu may leave out; default: 1e-10, or 0 if all mechanisms are Gaussian.
        registry: Write instead an entry for the registry of deployments of differential privacy, as JSON;
            null marks facts that no plan has.
    """
    target = check_target(output, (".json",) if registry else (".html", ".htm"), "--output")
    text = terminal.read_source(plan)
    content = terminal.read_plan(plan, questions, text)
    if registry and not content.delta:
        raise DomainError("--registry needs an epsilon: give --delta")

    from tradeoff.report.answers import answer_query
    from tradeoff.report.compare import compare as compare_methods
    from tradeoff.report.html import registry_entry
    from tradeoff.report.html import report as write_report

    with terminal.progress() as step:
        step("composing")
        curve = terminal.compose_plan(content.plan)
        if registry:
            answers = answer_query(curve, **content.questions, tol=None, step=step)
            entry = registry_entry(content.title, content.plan, answers)
            atomic_write(target, json.dumps(entry, indent=1, ensure_ascii=False) + "\n")
            print(f"Entry written to {plain(target)}")
            return
        step("reducing to one mu")
        reduction = curve.gdp(failure)
        comparison = compare_methods(curve, None, **content.questions, step=step)
        step("certifying and drawing")
        date, source = datetime.now(tz=UTC).date().isoformat(), (plan.name, text)
        page = write_report(content.title, content.plan, reduction, comparison, date=date, source=source)
        atomic_write(target, page)
    print(f"Report written to {plain(target)}")


def certify(
    plan: Source, *, output: Output, questions: Questions = terminal.NO_QUESTIONS, tol: float | None = None
) -> None:
    """Write certificates of the answers for a plan; `tradeoff verify` checks them independently.

    The answers hold for every ordered pair of neighbours.

    Args:
        output: JSON file to write.
        tol: Width the bounds must reach: absolute for epsilon, relative for delta and beta.
    """
    target = check_target(output, (".json",), "--output")
    content = terminal.read_plan(plan, questions)

    from tradeoff.report.answers import COLUMNS, certify_curve, join_certificates, row

    with terminal.progress() as step:
        step("certifying")
        curve = terminal.compose_plan(content.plan)  # raises if the plan is too large
        lines, certificates = zip(*certify_curve(curve, tol, **content.questions), strict=True)
    atomic_write(target, join_certificates(certificates))
    notes = [*_notes(content, curve), f"Certificates written to {target}"]
    terminal.show(TextTable([row(*each) for each in lines], COLUMNS, content.title, notes, "<>>"))


def verify(certificate: Path) -> None:
    """Verify certificates from the laws they list: exit code 1 if a bound is not proved.

    Args:
        certificate: File written by `tradeoff certify` or Certificate.to_json; - reads stdin.
    """
    from tradeoff.proofs.certificate import parse_certificates, read_certificates
    from tradeoff.proofs.verify import verify as prove
    from tradeoff.report.answers import PARAMETERS

    stdin = str(certificate) == "-"
    try:
        certificates = parse_certificates(terminal.read_stdin()) if stdin else read_certificates(certificate)
    except DomainError as error:
        named = str(error).startswith(str(certificate))
        raise DomainError(str(error) if named else f"{plain(certificate)}: {error}") from error
    name, reports, questions = plain(certificate), [], []
    with terminal.progress() as step:
        for each in certificates:
            question = f"{each.question} at {PARAMETERS[each.question]} = {exactly(each.at)}"
            step(f"proving {question}")
            try:
                reports.append(prove(each))
            except VerificationError:
                print(f"NOT VERIFIED: {name}: {question}")
                raise
            questions.append(question)
    print(f"VERIFIED: {name}: {', '.join(questions)}")
    for report in reports:
        terminal.show(report.grid())
