"""The certificate: what is claimed, and the numbers that prove it. Nothing but data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from tradeoff.certificates.description import Description
from tradeoff.certificates.evidence import KINDS, Evidence
from tradeoff.display import Displayed, Grid
from tradeoff.errors import DomainError

Question = Literal["delta", "epsilon", "beta"]
Quantity = Literal["delta", "1 - delta", "beta"]


@dataclass(frozen=True)
class Claim:
    """``lower <= quantity(at) <= upper`` for one order of the pair, proved by ``evidence`` of that number.

    Parameters
    ----------
    quantity, at
        ``"delta"`` or ``"1 - delta"`` at a loss in nats, ``"beta"`` at a type I error.
    reverse
        Whether it is of the other order of the pair.
    lower, upper
        Bounds on the quantity.
    evidence
        Index of the evidence that proves them.
    terms
        The errors that the bounds contain, by name, in the units of the evidence.
    """

    quantity: Quantity
    reverse: bool
    at: float
    lower: float
    upper: float
    evidence: int
    terms: dict[str, float]


@dataclass(frozen=True, repr=False)
class Certificate(Displayed):
    """Bounds on one number, with everything needed to prove them again from scratch.

    Parameters
    ----------
    curve
        The curve as it is written; for readers only, the claims are about ``factors``.
    question, value
        ``delta`` at an epsilon, ``epsilon`` at a delta, or ``beta`` at an alpha.
    lower, upper
        The bounds on the answer, in nats for epsilon.
    method
        Which engine answered.
    factors
        Laws of L by their parameters, with multiplicities.
    evidence
        Lines, lattices or sums, with all their error terms.
    claims
        Pointwise bounds that imply ``lower`` and ``upper``.
    """

    curve: str
    question: Question
    value: float
    lower: float
    upper: float
    method: str
    factors: tuple[Description, ...]
    evidence: tuple[Evidence, ...]
    claims: tuple[Claim, ...]

    def to_json(self) -> str:
        """Write the certificate as JSON; floats keep every bit, infinities are written as JavaScript does."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        content["evidence"] = [{"kind": one.kind, **asdict(one)} for one in self.evidence]
        content["claims"] = [asdict(claim) for claim in self.claims]
        return json.dumps(content, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what ``to_json`` wrote.

        Raises
        ------
        DomainError
            If the text is no certificate.
        """
        try:
            content: dict[str, Any] = json.loads(text)
            evidence = tuple(_evidence(dict(one)) for one in content.pop("evidence"))
            claims = tuple(Claim(**claim) for claim in content.pop("claims"))
            return cls(factors=tuple(content.pop("factors")), evidence=evidence, claims=claims, **content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DomainError(f"the text is no certificate: {error!r}") from error

    def grid(self) -> Grid:
        rows: list[tuple[str, str]] = [
            ("curve", self.curve),
            ("question", f"{self.question} at {self.value!r}"),
            ("bounds", f"[{self.lower!r}, {self.upper!r}]"),
            ("method", self.method),
        ]
        for k, one in enumerate(self.evidence):
            mine = [claim for claim in self.claims if claim.evidence == k]
            rows += [*one.rows(), *(("claim", _claimed(claim)) for claim in mine[:3])]
            rows += [("", f"and {len(mine) - 3} more claims")] if len(mine) > 3 else []
            rows += [(f"  {name}", f"{value:.3g}") for name, value in (mine[0].terms if mine else {}).items()]
        return Grid(rows)


def ulps(lower: float, upper: float) -> float:
    """Return how far apart two bounds are, in units of the last place of the upper one."""
    return (upper - lower) / max(abs(upper) * 2.0**-52, 5e-324) if upper > 0 else 0.0


def _claimed(claim: Claim) -> str:
    of = "f^-1" if claim.reverse else "f"
    return f"{claim.lower!r} <= {claim.quantity} of {of} at {claim.at!r} <= {claim.upper!r}"


def _evidence(content: dict[str, Any]) -> Evidence:
    return KINDS[content.pop("kind")].read(content)
