"""``tradeoff certify`` and ``tradeoff verify``: certificates of answers, and their verification."""

from __future__ import annotations

from pathlib import Path

from tradeoff.atomic_write import atomic_write
from tradeoff.cli.questions import (
    NO_QUESTIONS,
    Output,
    Questions,
    Source,
    compose_plan,
    read_plan,
    read_questions,
    read_stdin,
)
from tradeoff.cli.terminal import progress, show
from tradeoff.errors import VerificationError
from tradeoff.report.saving import check_target


def certify(
    plan: Source, *, output: Output, questions: Questions = NO_QUESTIONS, tol: float | None = None
) -> None:
    """Write certificates of the answers for a plan; `tradeoff verify` checks them independently.

    The answers hold for every ordered pair of neighbours.

    Parameters
    ----------
    output
        JSON file to write.
    questions
        The questions.
    tol
        Width the bounds must reach: absolute for epsilon, relative for delta and beta.
    """
    target = check_target(output, (".json",), "--output")
    content = read_plan(plan)
    queries = read_questions(content, questions)

    from tradeoff.curves.hooks import NOT_EXACT
    from tradeoff.display import TextTable
    from tradeoff.report.answers import COLUMNS, certify_plan, join_certificates, row

    with progress() as step:
        step("certifying")
        curve = compose_plan(content.plan)  # raises if the plan is too large
        lines, certificates = zip(*certify_plan(content.plan, tol, **queries), strict=True)
    atomic_write(target, join_certificates(certificates))
    notes = [f"Valid for every pair of {content.plan.adjacency} neighbours, in either order."]
    notes += [NOT_EXACT] * (not curve.exact) + [f"Certificates written to {target}"]
    show(TextTable([row(*each) for each in lines], COLUMNS, content.title, notes, "<>>"))


def verify(certificate: Path) -> None:
    """Verify certificates from the laws they list: exit code 1 if a bound is not proved.

    Parameters
    ----------
    certificate
        File written by `tradeoff certify` or Certificate.to_json; - reads stdin.
    """
    from tradeoff.display import exactly, plain
    from tradeoff.proofs.certificate import parse_certificates, read_certificates
    from tradeoff.proofs.verify import verify as prove
    from tradeoff.report.answers import PARAMETERS

    stdin = str(certificate) == "-"
    certificates = parse_certificates(read_stdin()) if stdin else read_certificates(certificate)
    name, reports, questions = plain(certificate), [], []
    with progress() as step:
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
        show(report.grid())
