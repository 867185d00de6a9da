"""The certificate: bounds on one number and the laws from which they are proved. Nothing but data.

A factor is ``{"law": description, "count": rounds}``. Laws describe themselves (``LossLaw.description``):

======================== ========================================== ======================================
kind                     parameters                                 law of L under P
======================== ========================================== ======================================
``gaussian``             ``mu``, or its ``square``: a fraction      normal laws mu apart
``gaussian mixtures``    ``means``, ``p``, ``q``: fractions         mixtures of unit normal laws whose
                                                                    ratio of weights increases
``laplace``              ``epsilon``                                Laplace laws epsilon apart
``response``, ``rounds`` ``epsilon``; of the second also ``rounds`` randomised response, once or counted
``discrete gaussian``    ``sigma``, ``shift``                       integer noise against its shift
``atoms``                ``loss``, ``log_p``, ``p_minus``,          losses and logarithms of their masses,
                         ``q_plus``                                 which are divided by their sums
``masses``               ``p``, ``q``: fractions                    atoms by their masses
``thinned``              ``p``, ``base``                            Poisson subsampling
``reversed``             ``base``                                   the other order of the pair
``mixed``                ``parts``: pairs of a weight and a law     a mixture whose label is published
======================== ========================================== ======================================
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tradeoff.display import Displayed, Grid
from tradeoff.errors import DomainError, file_name, shown

Description = dict[str, Any]
Question = Literal["delta", "epsilon", "beta"]
Orders = Literal["one", "both"]

FORMAT = 5  # of the text
_MAX_SIZE = 2**26  # bytes of a file; a certificate has some 500


@dataclass(frozen=True, repr=False)
class Certificate(Displayed):
    """Bounds on one number of a product of laws, which ``verify`` proves from the laws alone.

    Parameters
    ----------
    question, at
        ``delta`` at an epsilon in nats, ``epsilon`` at a delta, or ``beta`` at a type I error.
    lower, upper
        The bounds, in nats for epsilon; an infinite one is no claim.
    orders
        ``"one"``: P against Q as listed; ``"both"``: the guarantee for both orders of the pair.
    factors
        Laws of L by their parameters, with multiplicities.
    losses
        Losses at which delta is enclosed to bound beta: a hint, which no bound rests on.
    """

    question: Question
    at: float
    lower: float
    upper: float
    orders: Orders
    factors: tuple[Description, ...]
    losses: tuple[float, ...] = ()

    def to_json(self) -> str:
        """Return the certificate as JSON; floats keep every bit, infinities are written as in JavaScript."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read the text that ``to_json`` returned.

        Raises
        ------
        DomainError
            If the text is not a certificate of the current format.
        """
        try:
            content = json.loads(text)
            if not isinstance(content, dict):
                raise DomainError(
                    f"the text is no certificate: it must be a JSON object, got {shown(content)}"
                )
            if (known := content.pop("format", None)) != FORMAT:
                raise DomainError(f"format must be {FORMAT}, got {shown(known)}; certify again")
            lists = {name: tuple(content[name]) for name in ("factors", "losses")}
            return cls(**content | lists)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, DomainError):
                raise
            raise DomainError(f"the text is no certificate: {error!r}") from error

    def __str__(self) -> str:
        order = "both orders" if self.orders == "both" else "one order"
        laws = " and ".join(f"{n} x {text}" for text, n in self._laws().items())
        return f"{self.lower!r} <= {self.question}({self.at!r}) <= {self.upper!r} for {order} of {laws}"

    def _laws(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for factor in self.factors:
            found[describe(factor["law"])] += factor["count"]
        return found

    def grid(self) -> Grid:
        rows = [
            ("question", f"{self.question} at {self.at!r}"),
            ("bounds", f"[{self.lower!r}, {self.upper!r}]"),
        ]
        rows += [("orders", self.orders), *(("factor", f"{n} x {text}") for text, n in self._laws().items())]
        return Grid(rows[:12] + ([("", f"and {len(rows) - 12} more")] if len(rows) > 12 else []))


def describe(law: Description) -> str:
    """Return a law as it is read by people; lists are shortened."""
    inner = [f"{k}={describe(v) if isinstance(v, dict) else shown(v)}" for k, v in law.items() if k != "kind"]
    return f"{law['kind']}({', '.join(inner)})"


def read_certificates(path: str | Path) -> list[Certificate]:
    """Read a file with a certificate, or a list of them.

    Raises
    ------
    DomainError
        If it is not a regular file of at most 64 MiB that holds certificates.
    """
    file = file_name(path)
    try:
        if not file.is_file():  # a pipe would block
            raise DomainError(f"{path} must be a regular file")
        if (size := file.stat().st_size) > _MAX_SIZE:
            raise DomainError(f"{path} must have at most {_MAX_SIZE} bytes, got {size}")
        return parse_certificates(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DomainError(f"{path} cannot be read: {error}") from error


def parse_certificates(text: str) -> list[Certificate]:
    """Return the certificates of a text that holds one, or a list of them."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DomainError(f"the text is no certificate: {error}") from error
    entries = content if isinstance(content, list) else [content]
    if not entries:  # an empty list would prove nothing
        raise DomainError("the text is no certificate: it is an empty list")
    return [Certificate.from_json(json.dumps(each)) for each in entries]
