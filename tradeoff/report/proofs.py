"""Answers of a plan with their proof: a certificate for each question, and for each order of the pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from tradeoff.certificates import Certificate
from tradeoff.certificates.certificate import Question
from tradeoff.certificates.issue import certify
from tradeoff.errors import DomainError, shown
from tradeoff.mechanisms import Plan
from tradeoff.report.answers import ASKED, Answer

_KNOWN = get_args(Question)  # what certificates answer

# What is answered, by what it is asked, the answer for the worse order, and the proof for each.
Proved = tuple[str, str, Answer, list[Certificate]]


def certified(plan: Plan, tol: float | None, **asked: Sequence[float]) -> Iterator[Proved]:
    """Yield answers for every ordered pair of neighbours, in the order of ``Answers``, then mu, with proofs.

    Where the orders differ, epsilon and delta are the larger, beta is the lesser; mu is that of both.
    """
    curve = plan.curve()
    for name, question in {**ASKED, "mu": "failure"}.items():
        worse = min if name == "beta" else max
        orders = [curve] if curve.symmetric or name == "mu" else [curve, curve.inverse()]
        for at in asked.get(question, ()):
            found = [certify(order, name, at, tol=tol) for order in orders]  # type: ignore[arg-type]  # one of four
            lower, upper = (worse(getattr(each, side) for each in found) for side in ("lower", "upper"))
            if name == "epsilon":  # a loss below 0 is reported as 0
                lower, upper = max(lower, 0.0), max(upper, 0.0)
            yield name, question, Answer(at, lower, upper), found


def written(found: Iterable[Proved]) -> str:
    """Return one certificate as its JSON, several as a list."""
    texts = [each.to_json() for *_, proofs in found for each in proofs]
    return texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]"


def read(text: str) -> list[Certificate]:
    """Return the certificates of a text that ``written`` made."""
    certificates = Certificate.listed(text)
    for each in certificates:
        if each.question not in _KNOWN:  # a reader would take bounds on beta for those on "epsilon "
            raise DomainError(f"question = {shown(each.question)} is none of {', '.join(_KNOWN)}")
    return certificates
