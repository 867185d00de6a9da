"""A report as one HTML page that needs no network: tables, figures, certificates, assumptions in words."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
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
from tradeoff.report.answers import COLUMNS, Line, certify_plan, join_certificates, mechanism_rows, row
from tradeoff.report.compare import ALPHAS, Comparison
from tradeoff.report.figures import paper, shared_legend
from tradeoff.report.methods import Claim, claim_of
from tradeoff.report.plot import mu_name, paint
from tradeoff.report.saving import figure_bytes
from tradeoff.report.series import Kind, Scale, make_known_series, outline, view_of
from tradeoff.report.styles import PAGE

_NEIGHBOURS = {
    "add-remove": "Two data sets are neighbours if one of them has a single record more than the other.",
    "replace-one": "Two data sets are neighbours if they have the same size and differ in a single record.",
}

_SCHEMES = {
    "poisson": "Each batch is a Poisson sample: each record is included independently.",
    "without-replacement": "Each batch is a uniformly random set of a fixed number of records.",
    "with-replacement": "Each batch is a fixed number of independent uniform draws of one record.",
    "allocated": "Each record takes part in a fixed number of steps, chosen uniformly at random.",
    "shuffled": "Each record is randomised on its own, and the outputs are shuffled.",
}

_VIEWS: tuple[tuple[Kind, Scale], ...] = (
    ("tradeoff", "linear"),
    ("tradeoff", "loglog"),
    ("profile", "linear"),
)

_TEMPLATE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>$title</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #111; max-width: 60rem; margin: 2rem auto;
 padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.2rem 0.8rem 0.2rem 0; border-bottom: 1px solid #ddd;
 white-space: nowrap; vertical-align: top; }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
dt { font-weight: 600; } dd { margin: 0 0 0.4rem 1.2rem; } img { max-width: 100%; }
.under td { color: #9c1c1c; font-weight: 600; }
@media (max-width: 40rem) { body { margin: 1rem auto; } ul { padding-left: 1.2rem; } }
@media print {
 @page { margin: 1.5cm; }
 body { font-size: 9pt; margin: 0; max-width: none; padding: 0; }
 .wide { overflow: visible; }
 th, td { white-space: normal; padding-right: 0.4rem; } th:first-child, td:first-child { position: static; }
 table { font-size: 7pt; } h2, h2 + p { break-after: avoid; }
 table, li, img { break-inside: avoid; }
}
footer { margin-top: 2rem; color: #555; font-size: 0.85rem; }
</style>
</head>
<body>
<h1>$title</h1>
<h2>Assumptions</h2>
<ul>$assumptions</ul>
<h2>Releases</h2>
$mechanisms
<h2>How to read the numbers</h2>
<dl>
<dt>α, type I error (alpha)</dt><dd>The false-positive rate of a test for one record.</dd>
<dt>β, type II error (beta)</dt><dd>The false-negative rate of that test. The trade-off curve is the
smallest β of any test at each α: the higher the curve, the more private.</dd>
<dt>ε and δ (epsilon, delta)</dt><dd>Every event is at most e<sup>ε</sup> times as
probable for one of two neighbours as for the other, plus δ. ε is in nats, the unit of natural logarithms;
smaller is more private.</dd>
<dt>at least, at most</dt><dd>$sides The number to
report is in bold: the upper bound for ε and δ, the lower bound for β. These never claim more privacy than
there is.</dd>
</dl>
<h2>Answers</h2>
$answers
$proofs
<h2>Attacks by someone who has every record but one</h2>
<ul>$risks</ul>
<h2>One number</h2>
$gdp
<h2>Curves</h2>
<p>Black is exact, dashes are other methods. Left: the trade-off curve; higher is more private. Middle: the
power 1 − β on log axes, so that small α can be seen; lower is more private. Right: the smallest δ at each ε;
lower is more private.</p>
<img alt="Trade-off curve, power on log axes, and privacy profile" src="data:image/svg+xml;base64,$figure">
<h2>Other methods</h2>
$comparison
<ul>$notes</ul>
<footer>Made by tradeoff $version. Exact bounds are certified: lower bounds on β and upper bounds on ε and δ
never under-report. This page is complete in itself and uses no network.</footer>
</body>
</html>
""")


class Strong(str):
    """A cell in bold: the number to report."""

    __slots__ = ()


def report(title: str, plan: Plan, reduction: Reduction, comparison: Comparison) -> str:
    """Write a report of a plan as one HTML page without scripts.

    ``reduction`` is that of the plan's guarantee to one mu.
    """
    curve, answers = reduction.of, comparison.exact
    exact = replace(claim_of("exact", curve), band=lambda _: comparison.beta, whole=None)  # at ALPHAS alone
    methods = [row.claim for row in comparison if row.claim is not None]
    claims = [exact, *map(outline, [claim_of(mu_name(reduction), reduction), *methods])]
    sides = "The truth lies between the two bounds; they account for rounding."
    return _TEMPLATE.substitute(
        title=escape(folded(title) or "A privacy guarantee"),
        assumptions=_items([*assumptions(plan), *curve.assumptions]),
        sides=sides if curve.exact else escape(f"The number to report is safe. {NOT_EXACT}"),
        risks=_items(risks(curve)),
        mechanisms=_table(("runs", "mechanism", "parameters"), mechanism_rows(plan)),
        answers=_table(COLUMNS, map(_emphasise, answers)),
        proofs=_proofs(plan, answers),
        gdp=_gdp(reduction),
        comparison=_table(comparison.header(), comparison.table()),
        notes=_items(comparison.notes()),
        figure=b64encode(_figure(claims)).decode(),
        version=escape(metadata.version("tradeoff")),
    )


def _figure(claims: Sequence[Claim]) -> bytes:
    with paper(PAGE, 3.1, columns=len(_VIEWS)) as (figure, panels):
        for axes, (kind, scale) in zip(panels, _VIEWS, strict=True):
            view = view_of(kind, scale, claims[:1])
            view = view.pointwise(ALPHAS) if view.square else view
            paint(axes, view, list(make_known_series(view, claims)))
        panels[0].set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        panels[2].set_box_aspect(1)
        shared_legend(figure, *panels)
        return figure_bytes(figure, ".svg")


def assumptions(plan: Plan) -> list[str]:
    """Return the assumptions of a guarantee in plain words."""
    schemes = {getattr(each, "scheme", None) for one in plan.mechanisms for each in _nested(one)}
    return [
        f"{_NEIGHBOURS[plan.adjacency]} (Adjacency: {plan.adjacency}.)",
        "The numbers hold for every such pair, whichever of the two is the real data set.",
        "Noise and number of releases were fixed in advance; outputs may have been seen in between.",
        *(f"{words} The choice stays secret." for name, words in _SCHEMES.items() if name in schemes),
        "Everything released is in the list below, and nothing else about the data is.",
    ]


def _nested(mechanism: Mechanism | None) -> Iterator[Mechanism]:
    """Yield a mechanism, and those that it runs."""
    while mechanism is not None:
        yield mechanism
        mechanism = getattr(mechanism, "mechanism", None)


def risks(curve: TradeOff) -> list[str]:
    """Bound the success of an attacker with all records but one, in words."""
    alphas = 0.001, 0.01, 0.1
    power = (1 - Bounds.of(curve.bounds(np.array(alphas)).lower)).upper
    chance = rounded(((1 + Bounds.of(curve.delta(0.0))) / 2).upper, "upper", 4)
    return [
        *(
            f"A test for one record with a false-positive rate of {alpha * 100:g}% detects it "
            f"with probability at most {rounded(most, 'upper', 4)}."
            for alpha, most in zip(alphas, power, strict=True)
        ),
        f"A guess between two equally likely neighbours is right with probability at most {chance}.",
    ]


def _emphasise(line: Line) -> Sequence[str]:
    question, lower, upper = row(*line)
    return (question, Strong(lower), upper) if line[0] == "beta" else (question, lower, Strong(upper))


def _proofs(plan: Plan, answers: Iterable[Line]) -> str:
    """Attach a certificate of each answer, or the reason why there is none."""
    lines, certificates, missing = [], [], ""
    for name, parameter, answer in answers:
        try:
            for line, certificate in certify_plan(plan, None, **{parameter: [answer.argument]}):
                lines.append(line)
                certificates.append(certificate)
        except TradeOffError as error:
            reason = escape(f"{name} at {parameter} = {exactly(answer.argument)}: {error}")
            missing += f"<p>No certificate for {reason}.</p>"
    if not lines:
        return missing
    file, text = "certificates.json", b64encode(join_certificates(certificates).encode()).decode()
    link = f"<a download={file} href='data:application/json;base64,{text}'>{file}</a>"
    return (
        f"<p>Certificates are in {link}; <code>tradeoff verify {file}</code> checks them. They prove:</p>"
        f"{_table(COLUMNS, map(_emphasise, lines))}{missing}"
    )


def _gdp(reduction: Reduction) -> str:
    failure = exactly(reduction.failure)
    if reduction.reason is not None:
        return f"<p>No finite μ holds with failure {failure}: {escape(reduction.reason)}.</p>"
    mu, regret = rounded(reduction.mu, "upper", 6), rounded(reduction.regret, "upper", 3)
    return (
        f"<p>The guarantee is at least as private as one Gaussian release with <strong>μ = {mu}</strong>, "
        f"except with probability {failure}; this is proved for every type I error. "
        "Telling two neighbours apart is then at least as hard as telling N(0, 1) from N(μ, 1): "
        "μ = 0 is perfect privacy, and smaller is more private.</p>"
        "<p>For every prior belief of an attacker, the true probability of an error is at most "
        f"<strong>{regret}</strong> larger than μ implies. This is the regret of reporting μ alone: "
        "if it is small, μ describes the whole curve well.</p>"
    )


def _items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{escape(each)}</li>" for each in texts)


def _table(header: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    def cell(text: str) -> str:
        return (
            f"<td><strong>{escape(text)}</strong></td>"
            if isinstance(text, Strong)
            else f"<td>{escape(text)}</td>"
        )

    head = "".join(f"<th>{escape(each)}</th>" for each in header)
    body = ""
    for cells in rows:
        unsafe = any(each.endswith("!") for each in cells)
        body += f"<tr{' class=under' if unsafe else ''}>{''.join(map(cell, cells))}</tr>"
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
