"""What a verification saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tradeoff.certificates.certificate import Claim
from tradeoff.certificates.verify.arithmetic import EPS
from tradeoff.display import Displayed, Grid
from tradeoff.errors import VerificationError

PLATFORM = (
    "; on this platform long double is a double, whose rounding is counted: verify where it has 64 bits"
    if EPS > 2.0**-60
    else ""
)
"""What a refusal adds where extended precision is none."""


@dataclass(frozen=True)
class Check:
    """One number of the certificate beside the same number computed again.

    Parameters
    ----------
    name
        Which term it is.
    recorded, recomputed
        The two numbers, in the units of the term.
    allowed
        How far apart they may be.
    """

    name: str
    recorded: float
    recomputed: float
    allowed: float


@dataclass(frozen=True, repr=False)
class Verification(Displayed):
    """Report of a certificate that holds: every check that was made, and what was taken on trust.

    Parameters
    ----------
    checks
        In the order in which they were made.
    trusted
        Sentences: what no check can see.
    """

    checks: tuple[Check, ...]
    trusted: tuple[str, ...]

    def grid(self) -> Grid:
        rows = [(c.name, repr(c.recorded), repr(c.recomputed), f"{c.allowed:.3g}") for c in self.checks]
        columns, notes = (
            ("check", "recorded", "recomputed", "allowed"),
            [f"trusted: {text}" for text in self.trusted],
        )
        return Grid(rows, columns, notes=notes, sides="<>>>")


class Log:
    """Checks as they are made; the first that fails is raised."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.trusted: list[str] = []

    def trust(self, text: str) -> None:
        """Note what is not checked."""
        if text not in self.trusted:
            self.trusted.append(text)

    def holds(self, term: str, good: Any, said: str) -> None:
        """Require a condition."""
        if not bool(good):
            raise VerificationError(f"{term}: {said}{PLATFORM}", term)

    def close(self, term: str, recorded: Any, recomputed: Any, allowed: Any) -> None:
        """Require ``|recorded - recomputed| <= allowed``."""
        self._noted(term, recorded, recomputed, allowed)
        self.holds(
            term,
            abs(recorded - recomputed) <= allowed,
            f"recorded {float(recorded)!r}, found {float(recomputed)!r} +- {float(allowed):.3g}",
        )

    def above(self, term: str, recorded: Any, recomputed: Any) -> None:
        """Require a recorded upper bound to be at or above the number."""
        self._noted(term, recorded, recomputed, 0.0)
        self.holds(
            term,
            recorded >= recomputed,
            f"recorded {float(recorded)!r}, an upper bound, is below {float(recomputed)!r}",
        )

    def below(self, term: str, recorded: Any, recomputed: Any) -> None:
        """Require a recorded lower bound to be at or below the number."""
        self._noted(term, recorded, recomputed, 0.0)
        self.holds(
            term,
            recorded <= recomputed,
            f"recorded {float(recorded)!r}, a lower bound, is above {float(recomputed)!r}",
        )

    def encloses(self, claim: Claim, least: Any, most: Any) -> None:
        """Require a claim to reach as low as the most, and as high as the least, that its quantity can be."""
        self.below(f"{claim.quantity} lower", claim.lower, most)
        self.above(f"{claim.quantity} upper", claim.upper, least)

    def _noted(self, term: str, recorded: Any, recomputed: Any, allowed: Any) -> None:
        self.checks.append(Check(term, float(recorded), float(recomputed), float(allowed)))

    def report(self) -> Verification:
        """Return what was seen."""
        return Verification(tuple(self.checks), tuple(self.trusted))
