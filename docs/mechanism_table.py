"""The table of mechanisms, made from the objects themselves: signature, neighbours, sampling, notes."""

from __future__ import annotations

import inspect
import re

from tradeoff.mechanisms import KINDS, Mechanism, Sampled

HEAD = ("mechanism", "what it does", "neighbours", "sampling", "curve", "source")

OTHER_SAMPLES = {
    "mixture-of-gaussians": "as stated",
    "random-allocation": "a fixed number of steps",
    "balls-in-bins": "one bin for all epochs",
    "shuffled-randomizers": "shuffled",
    "matrix-mechanism": "none, or one bin for all epochs",
}
"""Samples that no parameter named ``sample_rate`` describes."""

SOURCE = re.compile(
    r"[A-Z][\w-]+(?:, [A-Z][\w-]+| [A-Z][a-z][\w-]+)*(?: et al\.)? \d{4}[ab]?"
    r"(?:, (?:(?:Theorem|Corollary|Proposition|Claim|Lemma)s?|section) [\w.]*\d"
    r"(?: and (?:Theorem )?[\d.]*\d)?)?"
)
"""Authors, year and number of a statement, as docstrings cite them."""


def row(kind: type[Mechanism]) -> tuple[str, ...]:
    """Return the cells of one mechanism."""
    parameters = inspect.signature(kind).parameters
    summary, _, rest = str(inspect.getdoc(kind)).partition("\n")
    notes = " ".join(rest.partition("Notes\n-----\n")[2].partition("\n\nExamples\n")[0].split())
    adjacency = inspect.getattr_static(kind, "adjacency")
    if "adjacency" in parameters:
        neighbours = "as stated"
    elif isinstance(adjacency, str):
        neighbours = adjacency
    elif "strategy" in parameters:
        neighbours = "any; add-remove with bins"
    else:
        neighbours = (
            "any" if adjacency is inspect.getattr_static(Mechanism, "adjacency") else "of what it runs"
        )
    sampling = OTHER_SAMPLES.get(kind.kind, "Poisson" if "sample_rate" in parameters else "none")
    if issubclass(kind, Sampled):
        sampling = "Poisson, fixed size, with replacement"
    curve = re.split(r"[,.:;(]", notes)[0].strip()
    sources = "; ".join(dict.fromkeys(SOURCE.findall(notes)))
    name = f"{{py:class}}`{kind.__name__} <tradeoff.mechanisms.{kind.__name__}>` `{', '.join(parameters)}`"
    return name, re.sub(r"([*_|<])", r"\\\1", summary), neighbours, sampling, curve, sources or "the caller"


def table() -> str:
    """Return the table as Markdown."""
    rows = [HEAD, ("---",) * len(HEAD), *(row(kind) for _, kind in sorted(KINDS.items()))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)
