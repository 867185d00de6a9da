"""The certificate: what is claimed of which laws. Nothing but data, and no more than a proof needs.

A factor is ``{"law": description, "count": rounds}``. Laws describe themselves (``LossLaw.description``):

======================== ========================================== ======================================
kind                     parameters                                 law of L under P
======================== ========================================== ======================================
``gaussian``             ``mu``, or its ``square``: a quotient      normal laws mu apart
``gaussian mixtures``    ``means``, ``p``, ``q``: quotients         mixtures of unit normal laws whose
                                                                    ratio of weights increases
``laplace``              ``epsilon``                                Laplace laws epsilon apart
``response``, ``rounds`` ``epsilon``; of the second also ``rounds`` randomised response, once or counted
``discrete gaussian``    ``sigma``, ``shift``                       integer noise against its shift
``atoms``                ``loss``, ``log_p``, ``p_minus``,          losses written out, their masses and
                         ``q_plus``                                 those at minus and plus infinity
``masses``               ``p``, ``q``: fractions                    losses written out, by masses alone
``shift``                ``density``, ``theta``: a quotient; of     X against X + theta: ``logistic``,
                         ``gennorm`` also ``power``                 ``hypsecant``, ``gumbel``, ``gennorm``
``thinned``              ``p``, ``base``                            Poisson subsampling
``reversed``             ``base``                                   the other order of the pair
``mixed``                ``parts``: pairs of a weight and a law     a mixture whose label is published
======================== ========================================== ======================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from tradeoff.display import Displayed, Grid
from tradeoff.errors import DomainError, shown

Description = dict[str, Any]
Question = Literal["delta", "epsilon", "beta", "mu", "shortfall"]
Quantity = Literal["delta", "1 - delta", "beta"]

FORMAT = 4  # of the text: 1 held what one engine had computed, 2 knew one order alone, 3 had no parts


def turned(factors: Sequence[Description]) -> list[Description]:
    """Return the factors of the other order of the pair."""
    return [{**factor, "law": {"kind": "reversed", "base": factor["law"]}} for factor in factors]


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
        ``delta`` at an epsilon, ``epsilon`` at a delta, ``beta`` at an alpha, ``mu`` at a failure, or the
        ``shortfall`` (at 0) of one curve against another, both of them named by ``rule``.
    lower, upper
        The bounds, in nats for epsilon: what the claims imply, rounded outwards.
    method
        How the claims were found, and are proved: by closed forms, sums, or inversion integrals; ``"parts"``
        where they follow from other answers.
    factors
        Laws of L by their parameters, with multiplicities.
    claims
        Pointwise bounds that imply ``lower`` and ``upper``.
    rule, parts
        An operator on other curves (``rules``), and certificates of those, and of this one, that imply
        ``lower`` and ``upper``.
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
    rule: Description = field(default_factory=dict)
    parts: tuple[Certificate, ...] = ()
    digest: str = ""

    @property
    def about(self) -> Description:
        """Which curve it is about: an operator, or a product of laws."""
        return self.rule or {"kind": "product", "of": list(self.factors)}

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
            if not isinstance(content, dict):
                raise DomainError(f"the text is no certificate: {shown(content)} is no JSON object")
            known = content.pop("format", 1)
            if known != FORMAT:
                raise DomainError(f"format = {known!r} is not {FORMAT}, which is read here; certify again")
            return cls._read(content)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, DomainError):
                raise
            raise DomainError(f"the text is no certificate: {error!r}") from error

    @classmethod
    def listed(cls, text: str) -> list[Certificate]:
        """Read a certificate, or a list of them as ``tradeoff certify`` writes; else ``DomainError``."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DomainError(f"the text is no certificate: {error}") from error
        entries = found if isinstance(found, list) else [found]
        if not entries:  # nothing would be proved of it
            raise DomainError("the text is no certificate: it is an empty list")
        return [cls.from_json(json.dumps(each)) for each in entries]

    def said(self) -> str:
        """Return the answer in a line."""
        return f"{self.lower!r} <= {self.question} of {self.curve} at {self.value!r} <= {self.upper!r}"

    @classmethod
    def _read(cls, content: dict[str, Any]) -> Certificate:
        claims = tuple(Claim(**claim) for claim in content["claims"])
        parts = tuple(map(cls._read, content["parts"]))
        return cls(**content | {"factors": tuple(content["factors"]), "claims": claims, "parts": parts})

    def grid(self) -> Grid:
        rows = [
            ("curve", self.curve),
            ("question", f"{self.question} at {self.value!r}"),
            ("bounds", f"[{self.lower!r}, {self.upper!r}]"),
            ("method", self.method),
            *(("factor", f"{factor['count']} x {factor['law']}") for factor in self.factors[:3]),
            *(("claim", str(claim)) for claim in self.claims[:3]),
            *([("rule", f"{self.rule['kind']} of {len(self.rule['of'])}")] if self.rule else []),
            *(("part", part.said()) for part in self.parts[:3]),
        ]
        more = [
            (len(each) - 3, name)
            for name, each in (("factors", self.factors), ("claims", self.claims), ("parts", self.parts))
        ]
        return Grid([*rows, *(("", f"and {n} more {what}") for n, what in more if n > 0)])
