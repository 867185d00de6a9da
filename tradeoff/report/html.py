"""A report in one HTML file that asks no network: tables, interactive curves, assumptions in words."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from html import escape
from importlib import metadata
from string import Template

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import NOT_EXACT
from tradeoff.display import exactly, folded, rounded
from tradeoff.errors import TradeOffError
from tradeoff.gdp import Reduction
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms import Mechanism, Plan
from tradeoff.report.answers import COLUMNS, Answer, Answers, row
from tradeoff.report.compare import Comparison
from tradeoff.report.interactive import figure_of, library, to_html
from tradeoff.report.methods import claim_of, remembered
from tradeoff.report.page import PAGE
from tradeoff.report.plot import mu_name
from tradeoff.report.proofs import Proved, certify_plan, to_json
from tradeoff.report.rows import DECLINED, under
from tradeoff.report.series import known, outline
from tradeoff.report.summary import rows

# Adjacencies in words.
_NEIGHBOURS = {
    "add-remove": "Two data sets are neighbours if one of them has a single record more than the other.",
    "replace-one": "Two data sets are neighbours if they have the same size and differ in a single record.",
}

# Ways to hide who takes part, in words.
_SCHEMES = {
    "poisson": "Each batch is a Poisson sample: every record enters it by a coin of its own",
    "without-replacement": "Each batch is a set of a fixed number of records, every such set alike",
    "with-replacement": "Each batch is a fixed number of draws of one record each, which may meet again",
    "allocated": "Each record takes part in a fixed number of steps, every choice of them alike",
    "shuffled": "Each record is answered for on its own, and the answers are shuffled",
}

_SIDES = "The truth lies between the two bounds; rounding is inside them."  # of an exact curve

_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)  # what the policy of the page must name


class Strong(str):
    """A cell in bold: the number to report."""

    __slots__ = ()


def report(title: str, plan: Plan, answers: Answers, found: Reduction, comparison: Comparison) -> str:
    """Write a report of a plan as one HTML page that opens without a network: script and style are inside.

    ``found`` is the reduction of the plan's guarantee to one mu.
    """
    curve = found.of
    script = library("offline").get_plotlyjs()
    methods = [outline(row.claim) for row in comparison if row.claim is not None]
    exact = replace(claim_of("exact", curve), band=remembered(curve))
    claims = [exact, outline(claim_of(mu_name(found), found)), *methods]
    tradeoff = to_html("tradeoff", figure_of("tradeoff", claims, series=known))
    profile = to_html("profile", figure_of("profile", claims, series=known))
    return Template(PAGE).substitute(
        title=escape(folded(title) or "A privacy guarantee"),
        words="".join(f"<li>{escape(each)}</li>" for each in (*assumptions(plan), *curve.assumptions)),
        sides=_SIDES if curve.exact else escape(f"The number to report is safe. {NOT_EXACT}"),
        reading="".join(f"<li>{escape(each)}</li>" for each in readings(curve)),
        mechanisms=_table(("runs", "mechanism", "parameters"), rows(plan)),
        answers=_table(COLUMNS, _answers(answers)),
        proofs=_proofs(plan, answers),
        gdp=_gdp(found),
        comparison=_table(comparison.header(), (row for row in comparison.table() if row[1] != DECLINED)),
        declined=_declined(comparison),
        allowed=" ".join(map(_hash, [script, *_SCRIPT.findall(tradeoff + profile)])),
        script=script,
        tradeoff=tradeoff,
        profile=profile,
        version=escape(metadata.version("tradeoff")),
    )


def _hash(script: str) -> str:
    """Name a script as the policy of the page does; one put there by others has no name and does not run."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def assumptions(plan: Plan) -> list[str]:
    """Say in plain words what the numbers rest on."""
    fixed = "The noise and the number of releases were fixed in advance."
    said = [
        f"{_NEIGHBOURS[plan.adjacency]} (Adjacency: {plan.adjacency}.)",
        "The numbers hold for every such pair, whichever of the two is the real data set.",
        f"{fixed} What was released may have been looked at in between.",
    ]
    schemes = {getattr(each, "scheme", None) for one in plan.mechanisms for each in _inside(one)}
    said += [f"{words}; who it was stays secret." for name, words in _SCHEMES.items() if name in schemes]
    return [*said, "Everything released is in the list below, and nothing else about the data is."]


def _inside(mechanism: Mechanism | None) -> Iterator[Mechanism]:
    """Yield a mechanism, and those that it runs."""
    while mechanism is not None:
        yield mechanism
        mechanism = getattr(mechanism, "mechanism", None)


def readings(curve: TradeOff) -> list[str]:
    """Say what an attacker who knows all records but one can still do."""
    alphas = 0.001, 0.01, 0.1
    lower, _ = remembered(curve)(np.array(alphas))
    said = [
        f"A test for one record that raises a false alarm in {alpha * 100:g}% of all cases finds it "
        f"with probability at most {rounded(most, 'upper', 4)}."
        for alpha, most in zip(alphas, (1 - Bounds.of(lower)).upper, strict=True)
    ]
    right = rounded(((1 + Bounds.of(curve.delta(0.0))) / 2).upper, "upper", 4)
    guess = "Whoever must guess between two equally likely neighbours is right with probability at most"
    return [*said, f"{guess} {right}."]


def _answers(answers: Iterable[tuple[str, str, Answer]]) -> Iterable[Sequence[str]]:
    for line in answers:
        said, lower, upper = row(*line)
        yield (said, Strong(lower), upper) if line[0] == "beta" else (said, lower, Strong(upper))


def _proofs(plan: Plan, answers: Answers) -> str:
    """Attach a certificate of each answer, or the reason why there is none."""
    result: list[Proved] = []
    refused = ""
    for name, by, answer in answers:
        try:
            result += certify_plan(plan, None, **{by: [answer.asked]})
        except TradeOffError as error:
            said = f"{name} at {by} = {exactly(answer.asked)}: {error}"
            refused += f"<p>No proof is attached of {escape(said)}.</p>"
    if not result:
        return refused
    file, text = "certificates.json", b64encode(to_json(result).encode()).decode()
    link = f"<a download={file} href='data:application/json;base64,{text}'>{file}</a>"
    return (
        f"<p>Certificates are in {link}; <code>tradeoff verify {file}</code> checks them. They prove:</p>"
        f"{_table(COLUMNS, _answers(each[:3] for each in result))}{refused}"
    )


def _gdp(found: Reduction) -> str:
    if found.reason is not None:
        return f"<p>No finite μ holds with failure {exactly(found.failure)}: {escape(found.reason)}.</p>"
    mu, regret = rounded(found.mu, "upper", 6), rounded(found.regret, "upper", 3)
    return (
        f"<p>The guarantee is at least as private as one Gaussian release with <strong>μ = {mu}</strong>, "
        f"but for an event of probability {exactly(found.failure)}; this is proved for every type I error. "
        "Here μ is how far apart two bell curves of width one lie, if telling them apart is at least as easy "
        "as telling the two data sets apart: μ = 0 is perfect privacy, and smaller is more private.</p>"
        "<p>Whatever an attacker believed before, the probability of being wrong is in truth at most "
        f"<strong>{regret}</strong> larger than μ makes it seem. This is the regret of reporting μ alone: "
        "a small one says that μ tells nearly the whole story.</p>"
    )


def _declined(comparison: Comparison) -> str:
    if not comparison.declined:
        return ""
    said = "".join(f"<li>{escape(name)}: {escape(why)}.</li>" for name, why in comparison.declined.items())
    return f"<p>Methods that do not apply to this plan:</p><ul>{said}</ul>"


def _table(header: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in header)
    body = "".join(
        f"<tr{' class=under' if any(map(under, row)) else ''}>{''.join(map(_cell, row))}</tr>" for row in rows
    )
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(text: str) -> str:
    inner = f"<strong>{escape(text)}</strong>" if isinstance(text, Strong) else escape(text)
    return f"<td>{inner}</td>"
