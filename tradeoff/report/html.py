"""Reports: an HTML page that needs no network, and an entry for the registry of deployments."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from string import Template
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff._version import __version__
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import NOT_EXACT
from tradeoff.curves.product import law_pair
from tradeoff.display import Strong, TextTable, exactly, folded, plain, rounded
from tradeoff.errors import TradeOffError
from tradeoff.gdp import Reduction
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms import Plan
from tradeoff.report.answers import Answers, certify_curve, describe_sampling, factors, join_certificates, row
from tradeoff.report.compare import ALPHAS, Comparison
from tradeoff.report.methods import Claim, claim_of
from tradeoff.report.plot import draw_methods, paint, paper
from tradeoff.report.series import Kind, Scale, make_series, mu_name, view_of
from tradeoff.report.styles import COLUMN, figure_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEIGHBOURS = {
    "add-remove": "Two data sets are neighbours if one of them has a single record more than the other.",
    "replace-one": "Two data sets are neighbours if they have the same size and differ in a single record.",
}


def report(
    title: str,
    plan: Plan,
    reduction: Reduction,
    comparison: Comparison,
    *,
    date: str = "",
    source: tuple[str, str] | None = None,
) -> str:
    """Write a report as one HTML page without scripts; ``source`` is the name and text of the plan file."""
    curve, answers = reduction.of, comparison.exact
    lines, proofs = _certify_answers(curve, answers)
    made, file = f"Made{f' on {date}' if date else ''} by tradeoff {__version__}", ""
    if source is not None:
        text = "\n".join(map(plain, source[1].splitlines()))
        made, file = f"{made} from {plain(source[0])}", f"<h2>Plan file</h2><pre>{escape(text)}</pre>"
    exact, gaussian = claim_of("exact", curve), claim_of(mu_name(reduction), reduction).outline()
    # ``_draw`` needs beta at alphas of the comparison alone, where bounds are known.
    known: Any = SimpleNamespace(
        bounds=lambda at: Bounds(*(np.interp(at, ALPHAS, each) for each in comparison.beta))
    )
    beta = replace(exact, truth=known)
    losses = [f"{name}: at most {most}" for name, _, most in lines if not name.startswith("beta")]
    sides = "The truth lies between the two bounds; they account for rounding."
    return Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(folded(title) or "A privacy guarantee"),
        made=escape(f"{made}."),
        assumptions=_items([*assumptions(plan), *curve.assumptions]),
        sides=sides if curve.exact else escape(f"The number to report is safe. {NOT_EXACT}"),
        risks=_items(risks(curve)),
        mechanisms=plan.grid().html(),
        answers=answers.grid()._replace(rows=lines, notes=()).html(),
        proofs=proofs + "".join(f"<p>{escape(each)}</p>" for each in answers.reasons),
        gdp=_describe_reduction(reduction),
        curves=_draw("tradeoff", "linear", beta, gaussian)
        + _draw("tradeoff", "loglog", beta)
        + _draw("profile", "linear", exact),
        comparison=TextTable(comparison.table(4), comparison.header()).html(),
        notes=_items(comparison.notes()),
        methods=_image(draw_methods(curve, comparison.rows, across=2), "Profile of each method"),
        parameters=escape("; ".join(losses) or "Which ε, at which δ?"),
        plan=file,
        version=escape(__version__),
    )


def _draw(kind: Kind, scale: Scale, *claims: Claim) -> str:
    """Return a plot of claims, the exact one first, as an image element."""
    view = view_of(kind, scale, claims[:1])
    if view.square:
        view = view.pointwise(ALPHAS[view.xlim[0] <= ALPHAS])
    with paper(COLUMN, COLUMN, layout="none") as (figure, axes):
        figure.subplots_adjust(0.17, 0.15, 0.97, 0.95)
        paint(axes, view, list(make_series(view, claims)))
        if view.square and scale == "linear":
            axes.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        return _image(figure, f"{kind} curve, {scale} axes")


def _image(figure: Figure, words: str) -> str:
    svg = b64encode(figure_bytes(figure, ".svg")).decode()
    return f"<img alt='{words}' src='data:image/svg+xml;base64,{svg}'>"


def assumptions(plan: Plan) -> list[str]:
    """Return the assumptions of a guarantee in plain words."""
    return [
        f"{_NEIGHBOURS[plan.adjacency]} (Adjacency: {plan.adjacency}.)",
        "The numbers hold for every such pair, whichever of the two is the real data set.",
        "Noise and number of releases were fixed in advance; outputs may have been seen in between.",
        *describe_sampling(plan),
        "Everything released is in the list below, and nothing else about the data is.",
    ]


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


def _certify_answers(curve: TradeOff, answers: Answers) -> tuple[list[Sequence[str]], str]:
    """Return rows of answers, those with a certificate as it proves them, and a link to the certificates."""
    lines, certificates, missing, is_long = list(answers), [], "", False
    with suppress(TradeOffError):  # many laws, or several laws with many atoms, take minutes
        sizes = [len(law_pair(*each)[0].atoms.loss) for each in factors(curve).items()]
        is_long = len(sizes) > 1 and sum(max(size, 32) for size in sizes) > 1_000
    if is_long:
        missing = "<p>No certificates, as they take minutes: <code>tradeoff certify</code> writes them.</p>"
    for i, (name, parameter, answer) in enumerate(() if is_long else answers):
        try:
            ((lines[i], certificate),) = certify_curve(curve, None, **{parameter: [answer.argument]})
            certificates.append(certificate)
        except TradeOffError as error:
            reason = f"{name} at {parameter} = {exactly(answer.argument)}: {error}"
            missing += f"<p>No certificate for {escape(reason)}.</p>"
    rows: list[Sequence[str]] = []
    for line in lines:
        question, lower, upper = row(*line)
        bold = (Strong(lower), upper) if line[0] == "beta" else (lower, Strong(upper))
        rows.append((question, *bold))
    if not certificates:
        return rows, missing
    file, data = "certificates.json", b64encode(join_certificates(certificates).encode()).decode()
    link = f"<a download={file} href='data:application/json;base64,{data}'>{file}</a>"
    which = "The other bounds" if missing else "These bounds"
    check = f"<code>tradeoff verify {file}</code> checks them"
    return rows, f"<p>{which} are proved in {link}; {check}.</p>{missing}"


def _describe_reduction(reduction: Reduction) -> str:
    """Return paragraphs on mu, its failure probability and its regret."""
    failure = exactly(reduction.failure)
    unless = f", except with probability {failure}" if reduction.failure else ""
    if reduction.reason is not None:
        return f"<p>No finite μ holds with failure {failure}: {escape(reduction.reason)}.</p>"
    mu, regret = rounded(reduction.mu, "upper", 6), rounded(reduction.regret, "upper", 3)
    return (
        f"<p>The guarantee is at least as private as one Gaussian release with <strong>μ = {mu}</strong>"
        f"{unless}; this is proved for every type I error. "
        "Telling two neighbours apart is then at least as hard as telling N(0, 1) from N(μ, 1): "
        "μ = 0 is perfect privacy, and smaller is more private.</p>"
        "<p>For every prior belief of an attacker, the true probability of an error is at most "
        f"<strong>{regret}</strong> larger than μ implies. This is the regret of reporting μ alone: "
        "if it is small, μ describes the whole curve well.</p>"
    )


def _items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{escape(each)}</li>" for each in texts)


_BY_USER = {  # keys of the registry for facts that no plan has, by section
    "product": (
        "name data_curators intended_use data_product_type data_product_region description publication_date "
        "data_product_sector"
    ),
    "model": (
        "model_name model_name_description actors release_type release_type_description data_source_type "
        "data_source_type_description access_type access_type_description"
    ),
    "implementation": "pre_processing_eda_hyperparameter_tuning justification",
    "resources": "sources registry_authors",
}


def registry_entry(title: str, plan: Plan, answers: Answers) -> dict[str, Any]:
    """Return plain data with the keys of the registry; null where the plan has no answer.

    The keys are those of Nanayakkara, Ghazi, Vadhan 2025 (arXiv:2509.13509), as the registry's files have
    them. Epsilon is the upper bound at the first delta of the answers.

    >>> import tradeoff as to
    >>> from tradeoff.report.answers import answer_query
    >>> plan = to.Plan({to.mechanisms.Gaussian(noise_multiplier=2): 4})
    >>> answers = answer_query(plan.guarantee(), delta=[1e-5])
    >>> registry_entry("counts", plan, answers)["deployment"]["dp_flavor"]["input_metric"]
    'Symmetric distance'
    """
    entry: dict[str, dict[str, Any]] = {name: dict.fromkeys(keys.split()) for name, keys in _BY_USER.items()}
    epsilon, delta = (answers.as_json()["epsilon"][0][name] for name in ("upper", "delta"))
    entry["product"]["name"] = title or None
    entry["dp_flavor"] = {
        "name": "Approximate DP" if delta else "Pure DP",
        "input_metric": f"{'Symmetric' if plan.adjacency == 'add-remove' else 'Change-one'} distance",
        "bound_on_input_distance": "1",
        "output_measure": "Approximate divergence" if delta else "Max divergence",
        "bound_on_output_distance": f"({epsilon}, {exactly(delta)})",
        "data_domain": None,
        "unprotected_quantities": None,
    }
    bounds = [
        f"{name} at {parameter} = {exactly(each.argument)}: at least {each.lower!r}, at most {each.upper!r}"
        for name, parameter, each in answers
    ]
    entry["privacy_loss"] = {
        "privacy_unit": None,
        "privacy_unit_description": assumptions(plan)[0],
        "privacy_parameters": {"epsilon": epsilon, "delta": delta},
        "privacy_parameters_description": "\n".join(bounds),
    }
    entry["accounting"] = {
        "post_processing": None,
        "composition": f"Composed as trade-off functions, with certified bounds, by tradeoff {__version__}.",
    }
    rows = (f"{n} × {mechanism!r}" for mechanism, n in plan.mechanisms.items())
    entry["implementation"]["mechanisms"] = "\n".join([*rows, *assumptions(plan)[1:], *answers.assumptions])
    return {"status": "Draft", "tier": None, "deployment": entry}
