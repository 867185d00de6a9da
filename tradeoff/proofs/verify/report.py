"""The report of a verification."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from flint import arb

from tradeoff.display import Displayed, TextTable
from tradeoff.errors import VerificationError


@dataclass(frozen=True)
class Check:
    """An enclosure of a quantity, rounded outward, a side (``<=``, ``>=``, ``>``), and the recorded value."""

    name: str
    lower: float
    upper: float
    side: str
    recorded: float

    @property
    def proved(self) -> bool:
        """Whether the enclosure proves the relation."""
        if self.side == "<=":
            return self.upper <= self.recorded
        return self.lower > self.recorded if self.side == ">" else self.lower >= self.recorded

    @property
    def refuted(self) -> bool:
        """Whether the enclosure proves the opposite."""
        if self.side == "<=":
            return self.lower > self.recorded
        return self.upper <= self.recorded if self.side == ">" else self.upper < self.recorded

    def __str__(self) -> str:
        verdict = "is refuted" if self.refuted else "is not proved"
        enclosure = f"the verifier encloses it in [{self.lower!r}, {self.upper!r}]"
        return f"{self.name} {self.side} {self.recorded!r} {verdict}: {enclosure}"


@dataclass(frozen=True, repr=False)
class Verification(Displayed):
    """Report of a certificate that holds: the claim, all comparisons, and the assumptions that none tests."""

    claim: str
    checks: tuple[Check, ...]
    trusted: tuple[str, ...]

    def grid(self) -> TextTable:
        rows = [(c.name, f"[{c.lower!r}, {c.upper!r}]", c.side, repr(c.recorded)) for c in self.checks]
        notes = [f"trusted: {text}" for text in self.trusted]
        return TextTable(rows, ("quantity", "enclosure", "", "recorded"), self.claim, notes, sides="<><>")


def require(term: str, condition: Any, message: str) -> None:
    """Raise a ``VerificationError`` unless the condition holds."""
    if not bool(condition):
        raise VerificationError(f"{term}: {message}", term)


def outward(ball: arb) -> tuple[float, float]:
    """Return floats on both sides of a ball."""
    low, high = float(ball.lower()), float(ball.upper())
    low = low if low <= ball.lower() else math.nextafter(low, -math.inf)
    return low, high if high >= ball.upper() else math.nextafter(high, math.inf)
