"""The certificate: bounds on one number and the laws from which they are proved. Nothing but data.

A factor is ``{"law": description, "count": rounds}``; ``verify.laws`` lists the kinds of laws and their keys.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tradeoff.atomic_write import read_text
from tradeoff.errors import DomainError, shown

Description = dict[str, Any]
Question = Literal["delta", "epsilon", "beta"]
Orders = Literal["one", "both"]

FORMAT = 5  # of the text


@dataclass(frozen=True, repr=False)
class Certificate:
    r"""Bounds on delta, epsilon or beta of a product of laws, which ``verify`` proves from the laws alone.

    Parameters
    ----------
    question, at : ``delta`` at an epsilon in nats, ``epsilon`` at a delta, or ``beta`` at a type I error
    lower, upper : the bounds, in nats for epsilon; infinite if there is no claim
    orders : ``"one"``: :math:`P` against :math:`Q` as listed; ``"both"``: the guarantee for both orders
    factors : laws of :math:`L = \log(dQ/dP)` by their parameters, and how often each occurs in the product
    losses : losses at which ``verify`` encloses delta to bound beta: a hint, which proves nothing itself
    exact : whether the laws are the mechanism's own, as far as is known; else they are those of a bound on it

    Examples
    --------
    >>> law = {"law": {"kind": "response", "epsilon": 1.0}, "count": 2}
    >>> print(Certificate("delta", 1.0, 0.3, 0.4, "one", (law,)))
    0.3 <= delta(1.0) <= 0.4 for both orders of 2 x response(epsilon=1.0)
    """

    question: Question
    at: float
    lower: float
    upper: float
    orders: Orders
    factors: tuple[Description, ...]
    losses: tuple[float, ...] = ()
    exact: bool = True

    def to_json(self) -> str:
        """Return the certificate as JSON; floats keep every bit; infinities are ``Infinity``."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read the text that ``to_json`` returned; ``DomainError`` if it is not of the current format."""
        try:
            content = json.loads(text)
            if not isinstance(content, dict):
                raise DomainError(f"a certificate must be a JSON object, got {shown(content)}")
            if (version := content.pop("format", None)) != FORMAT:
                raise DomainError(f"format must be {FORMAT}, got {shown(version)}; certify again")
            return cls(**content | {name: tuple(content[name]) for name in ("factors", "losses")})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, DomainError):
                raise
            raise DomainError(f"the text is not a certificate: {error!r}") from error

    def __repr__(self) -> str:
        alike = all(each["law"]["kind"] in {"gaussian", "laplace", "response"} for each in self.factors)
        order = "both orders" if self.orders == "both" or alike else "one order"
        laws = " and ".join(f"{each['count']} x {describe(each['law'])}" for each in self.factors)
        laws += "" if self.exact is True else "; not exact: these laws are of a bound on the mechanism"
        return f"{self.lower!r} <= {self.question}({self.at!r}) <= {self.upper!r} for {order} of {laws}"


def describe(law: Description) -> str:
    """Return a law as text; lists are shortened."""
    inner = [f"{k}={describe(v) if isinstance(v, dict) else shown(v)}" for k, v in law.items() if k != "kind"]
    return f"{law['kind']}({', '.join(inner)})"


def read_certificates(path: str | Path) -> list[Certificate]:
    """Read a file of at most 64 Mi characters with a certificate, or a list of them; else ``DomainError``."""
    return parse_certificates(read_text(path, 2**26))  # a certificate has some 500 characters


def parse_certificates(text: str) -> list[Certificate]:
    """Return the certificates of a text that holds one, or a list of them."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DomainError(f"the text is not a certificate: {error}") from error
    entries = content if isinstance(content, list) else [content]
    if not entries:  # an empty list would prove nothing
        raise DomainError("the text is not a certificate: it is an empty list")
    return [Certificate.from_json(json.dumps(each)) for each in entries]
