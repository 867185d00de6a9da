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

    def above(self, term: str, recorded: float, recomputed: Any) -> None:
        """Require a recorded upper bound to be at or above the number."""
        self.checks.append(Check(term, float(recorded), float(recomputed), ">="))
        said = f"recorded {recorded!r}, an upper bound, is below {float(recomputed)!r}"
        require(term, recorded >= recomputed, said)

    def below(self, term: str, recorded: float, recomputed: Any) -> None:
        """Require a recorded lower bound to be at or below the number."""
        self.checks.append(Check(term, float(recorded), float(recomputed), "<="))
        said = f"recorded {recorded!r}, a lower bound, is above {float(recomputed)!r}"
        require(term, recorded <= recomputed, said)

    def report(self) -> Verification:
        """Return what was seen, sentences once."""
        proofs, trusted = (tuple(dict.fromkeys(each)) for each in (self.proofs, self.trusted))
        return Verification(tuple(self.checks), proofs, trusted)
