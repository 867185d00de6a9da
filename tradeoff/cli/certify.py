"""``tradeoff certify`` and ``tradeoff verify``: answers with their proof, and the proof made again."""

from __future__ import annotations

from pathlib import Path

from tradeoff.atomic_write import atomic_write, read_text
from tradeoff.cli.questions import (
    UNASKED,
    Flag,
    Output,
    Questions,
    Source,
    asked,
    composed,
    left_out,
    read,
    read_stdin,
)
from tradeoff.cli.terminal import progress, show
from tradeoff.display import plain
from tradeoff.report.saving import check_target

_MOST = 2**26  # letters that are read of certificates, some 1500 each, so that an endless file ends


def certify(
    plan: Source,
    *,
    output: Output,
    questions: Questions = UNASKED,
    mu: Flag = False,
    failure: float | None = None,
    tol: float | None = None,
) -> None:
    """Write the answers of a plan with their proof, which `tradeoff verify` makes again by other means.

    The answers hold for every ordered pair of neighbours: where the two orders differ there is a certificate
    for each, and beta is the lesser of both.

    Parameters
    ----------
    output
        JSON file to write.
    questions
        What is asked.
    mu
        Prove the least mu of a Gaussian bound on the whole curve, too.
    failure
        Probability that mu may leave out, above 0, with --mu; default: 1e-10.
    tol
        Width the bounds must reach: absolute for epsilon, relative for delta, beta and mu.
    """
    from tradeoff.curves.parameters import number

    failures = left_out(mu, failure)
    for each in failures:
        number("failure", each, 0, 1, open_low=True, open_high=True)
    target = check_target(output, (".json",))
    content = read(plan)
    given = asked(content, questions)

    from tradeoff.display import Grid
    from tradeoff.report.answers import COLUMNS, row
    from tradeoff.report.proofs import certified, written

    with progress() as step:
        step("certifying")
        composed(content.plan)  # which is refused where it is too large
        found = list(certified(content.plan, tol, failure=failures, **given))
    atomic_write(target, written(found))
    notes = [f"Valid for every pair of {content.plan.adjacency} neighbours, in either order."]
    notes += [f"Certificates written to {target}"]
    rows = [row(name, question, answer) for name, question, answer, _ in found]
    show(Grid(rows, COLUMNS, content.title, notes, "<>>"))


def verify(certificate: Path) -> None:
    """Prove certificates again from the laws they list, or end with code 1 and say what is not proved.

    Parameters
    ----------
    certificate
        What `tradeoff certify` wrote, or Certificate.to_json; - reads it from stdin.
    """
    from tradeoff.certificates.verify import verify as verified
    from tradeoff.report.proofs import read as certificates

    text = read_stdin(_MOST) if str(certificate) == "-" else read_text(certificate, _MOST)
    trusted: dict[str, None] = {}
    with progress() as step:
        for each in certificates(text):
            step(f"proving {each.question} at {each.value!r}")
            found = verified(each)
            head = f"{each.question} at {each.value!r} of {each.curve}: {each.lower!r} to {each.upper!r}"
            show(found.grid()._replace(head=head, notes=found.proofs))
            trusted |= dict.fromkeys(found.trusted)
    print(f"Verified. Trusted: {plain('; '.join(trusted))}.")
