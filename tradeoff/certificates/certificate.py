"""The certificate: what is claimed of which laws. Nothing but data, and no more than a proof needs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from tradeoff.certificates.description import Description
from tradeoff.display import Displayed, Grid
from tradeoff.errors import DomainError

Question = Literal["delta", "epsilon", "beta"]
Quantity = Literal["delta", "1 - delta", "beta"]
Orders = Literal["first", "either"]

FORMAT = 3
"""Of the text. The first held what one engine had computed, the second knew no pairs in either order."""


@dataclass(frozen=True)
class Claim:
    """``lower <= quantity(at) <= upper`` for one order of the pair.

    Parameters
    ----------
    quantity, at
        ``"delta"`` or ``"1 - delta"`` at a loss in nats, ``"beta"`` at a type I error.
    reverse
        Whether it is of the other order of the pair.
    lower, upper
        Bounds on the quantity.
    """

    quantity: Quantity
    reverse: bool
    at: float
    lower: float
    upper: float

    @property
    def turned(self) -> Claim:
        """The same claim of the other order."""
        return replace(self, reverse=not self.reverse)

    def __str__(self) -> str:
        of = "f^-1" if self.reverse else "f"
        return f"{self.lower!r} <= {self.quantity} of {of} at {self.at!r} <= {self.upper!r}"


@dataclass(frozen=True, repr=False)
class Certificate(Displayed):
    """Bounds on one number, reduced to claims that can be proved again from the laws alone.

    Parameters
    ----------
    curve
        The curve as it is written; for readers only, the claims are about ``factors``.
    question, value
        ``delta`` at an epsilon, ``epsilon`` at a delta, or ``beta`` at an alpha.
    lower, upper
        The bounds, in nats for epsilon: what the claims imply, rounded outwards.
    method
        How the claims were found, and are proved: by closed forms, sums, or inversion integrals.
    factors
        Laws of L by their parameters, with multiplicities.
    claims
        Pointwise bounds that imply ``lower`` and ``upper``.
    orders
        Of which pairs: of (P, Q), or of the worse of (P, Q) and (Q, P), whose profile is the larger.
    digest
        Of all the rest, so that no number is changed unseen; not part of the proof.
    """

    curve: str
    question: Question
    value: float
    lower: float
    upper: float
    method: str
    factors: tuple[Description, ...]
    claims: tuple[Claim, ...]
    orders: Orders = "first"
    digest: str = ""

    def sealed(self) -> Certificate:
        """Return the certificate with the digest of its content."""
        text = json.dumps(asdict(replace(self, digest="")), sort_keys=True)
        return replace(self, digest=hashlib.sha256(text.encode()).hexdigest())

    def to_json(self) -> str:
        """Write the certificate as JSON; floats keep every bit, infinities are written as JavaScript does."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what ``to_json`` wrote.

        Raises
        ------
        DomainError
            If the text is no certificate, or one of another format.
        """
        try:
            content: dict[str, Any] = json.loads(text)
            known = content.pop("format", 1)
            if known != FORMAT:
                raise DomainError(f"format = {known!r} is not {FORMAT}, which is read here; certify again")
            claims = tuple(Claim(**claim) for claim in content.pop("claims"))
            return cls(factors=tuple(content.pop("factors")), claims=claims, **content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, DomainError):
                raise
            raise DomainError(f"the text is no certificate: {error!r}") from error

    def grid(self) -> Grid:
        rows = [
            ("curve", self.curve),
            ("question", f"{self.question} at {self.value!r}"),
            *([("orders", "the worse of (P, Q) and (Q, P)")] if self.orders == "either" else []),
            ("bounds", f"[{self.lower!r}, {self.upper!r}]"),
            ("method", self.method),
            *(("factor", f"{factor['count']} x {factor['law']}") for factor in self.factors[:3]),
            *(("claim", str(claim)) for claim in self.claims[:3]),
        ]
        more = [(len(self.factors) - 3, "factors"), (len(self.claims) - 3, "claims")]
        return Grid([*rows, *(("", f"and {n} more {what}") for n, what in more if n > 0)])
