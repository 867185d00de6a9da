"""``tradeoff report``: one HTML file that says what a plan guarantees."""

from __future__ import annotations

from tradeoff.cli.questions import UNASKED, Output, Questions, Source, asked, composed, read
from tradeoff.cli.terminal import progress
from tradeoff.report.plain import plain
from tradeoff.report.saving import check_target
from tradeoff.whole_files import write_whole


def report(plan: Source, *, output: Output, failure: float = 1e-10, questions: Questions = UNASKED) -> None:
    """Write a report of a plan: answers, one mu with its regret, interactive curves, assumptions in words.

    Parameters
    ----------
    output
        HTML file to write; it opens without a network.
    failure
        Probability that the reported mu may leave out.
    questions
        What is asked.
    """
    from tradeoff.report.compare import compare
    from tradeoff.report.html import report as written
    from tradeoff.report.interactive import library

    library("offline")  # said before anything is computed, if it is missing
    target = check_target(output, (".html", ".htm"))
    content = read(plan)
    given = asked(content, questions)
    with progress() as step:
        step("composing")
        curve = composed(content.plan)
        step("reducing to one mu")
        found = curve.gdp(failure)
        comparison = compare(curve, None, **given, step=step)
        step("drawing")
        write_whole(target, written(content.title, content.plan, comparison.exact, found, comparison))
    print(f"Report written to {plain(target)}")
