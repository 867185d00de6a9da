"""What a verification saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tradeoff.display import Displayed, Grid
from tradeoff.errors import VerificationError


@dataclass(frozen=True)
class Check:
    """One number of the certificate beside what was found of it.

    Parameters
    ----------
    name
        Which number it is.
    recorded, recomputed
        The two numbers, in its units.
    side
        ``"<="`` or ``">="``: on which side of the second the first must lie.
    """

    name: str
    recorded: float
    recomputed: float
    side: str


@dataclass(frozen=True, repr=False)
class Verification(Displayed):
    """Report of a certificate that holds: every check that was made, how, and what was taken on trust.

    Parameters
    ----------
    checks
        In the order in which they were made.
    proofs
        Sentences: how the claims were proved.
    trusted
        Sentences: what no check can see.
    """

    checks: tuple[Check, ...]
    proofs: tuple[str, ...]
    trusted: tuple[str, ...]

    def grid(self) -> Grid:
        rows = [(c.name, repr(c.recorded), c.side, repr(c.recomputed)) for c in self.checks]
        notes = [*(f"proof: {text}" for text in self.proofs), *(f"trusted: {text}" for text in self.trusted)]
        return Grid(rows, ("check", "recorded", "", "recomputed"), notes=notes, sides="<><>")


def require(term: str, good: Any, said: str) -> None:
    """Require a condition."""
    if not bool(good):
        raise VerificationError(f"{term}: {said}", term)


class Log:
    """Checks as they are made; the first that fails is raised."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.proofs: list[str] = []
        self.trusted: list[str] = []

    def compare(self, term: str, recorded: float, side: str, found: Any) -> None:
        """Require a recorded bound to be at the number, or on its side of it."""
        self.checks.append(Check(term, float(recorded), float(found), side))
        good, said = (recorded >= found, "an upper bound, is below")
        if side == "<=":
            good, said = (recorded <= found, "a lower bound, is above")
        require(term, good, f"recorded {recorded!r}, {said} {float(found)!r}")

    def report(self) -> Verification:
        """Return what was seen, sentences once."""
        proofs, trusted = (tuple(dict.fromkeys(each)) for each in (self.proofs, self.trusted))
        return Verification(tuple(self.checks), proofs, trusted)
