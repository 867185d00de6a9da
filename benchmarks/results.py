"""One answer, compared with the truth."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from cases import Truth


@dataclass(frozen=True)
class Result:
    """The answer of one setting to one question; ``answer`` is the output of the harness, unchanged."""

    setting: str
    case: str
    at: float
    truth: Truth | None
    answer: dict[str, Any]

    @property
    def first(self) -> dict[str, float]:
        """Return the first answer, or an empty one."""
        return self.answer.get("first", {})

    @property
    def reason(self) -> str:
        """Return the reason of a missing answer."""
        return self.answer.get("declined") or self.answer.get("failed") or ""

    @property
    def exhausted(self) -> bool:
        """Whether the limits of time or memory ended it."""
        return not self.first and self.reason.startswith(("more than", "needs more than", "ended with"))

    @property
    def seconds(self) -> float | None:
        """Return the seconds of the first answer."""
        return self.first.get("seconds")

    @property
    def later(self) -> float | None:
        """Return the seconds of a further answer from the same composed object."""
        return self.answer.get("later", {}).get("seconds")

    @property
    def peak(self) -> float | None:
        """Return the peak resident set in MiB, the interpreter and its imports included."""
        return self.first.get("mebibytes")

    @property
    def error(self) -> float | None:
        """Return the answer minus the truth."""
        return self.first["value"] - self.truth.value if self.first and self.truth else None

    @property
    def width(self) -> float | None:
        """Return upper minus lower, where both are claimed."""
        return self.first["upper"] - self.first["lower"] if {"lower", "upper"} <= self.first.keys() else None

    @property
    def broken(self) -> float | None:
        """Return how far a claimed bound is past the truth on the wrong side, and what that is known to."""
        if not self.first or not self.truth:
            return None
        value, slack = self.truth.value, self.truth.error
        excess = max(value - self.first.get("upper", math.inf), self.first.get("lower", -math.inf) - value)
        if any(math.isnan(bound) for bound in self.first.values()):
            return math.nan
        return excess if excess > slack else None

    def plain(self) -> dict[str, Any]:
        """Return it as a dictionary of plain values."""
        return asdict(self)

    def __str__(self) -> str:
        head = f"{self.setting:30}{self.case:12}{self.at:8.0e}"
        if not self.first:
            return f"{head}  {self.reason}"
        error = "" if self.error is None else f"  error {self.error:+9.1e}"
        width = "" if self.width is None else f"  width {self.width:8.1e}"
        broken = "" if self.broken is None else f"  BROKEN by {self.broken:.1e}"
        cost = f"{self.seconds:7.3f} s {self.peak:6.0f} MiB"
        return f"{head}{self.first['value']:16.10g}{error}{width}  {cost}{broken}"
