"""Certificates of the answers of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tradeoff.mechanisms import Plan
from tradeoff.proofs import Certificate
from tradeoff.proofs.certify import certify
from tradeoff.report.answers import ASKED, Answer

# The quantity, the parameter it is a function of, the proved bounds, and their certificate.
Proved = tuple[str, str, Answer, Certificate]


def certify_plan(plan: Plan, tol: float | None, **questions: Sequence[float]) -> Iterator[Proved]:
    """Yield certified answers for every ordered pair of neighbours, in the order of ``Answers``."""
    curve = plan.guarantee()
    for name, parameter in ASKED.items():
        for at in questions.get(parameter, ()):
            made = certify(curve, name, at, tol=tol)  # type: ignore[arg-type]  # one of three
            ends = made.lower, made.upper
            if name == "epsilon":  # a loss below 0 is reported as 0
                ends = max(ends[0], 0.0), max(ends[1], 0.0)
            yield name, parameter, Answer(at, *ends), made


def to_json(proved: Iterable[Proved]) -> str:
    """Return one certificate as its JSON, several as a list."""
    texts = [certificate.to_json() for *_, certificate in proved]
    return texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]"
