"""Every exception of the library, below one base class."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

_LONGEST = 240  # characters of a value in an error: enough for a curve or a short list, and still a sentence


class TradeOffError(Exception):
    """Base of every error the library raises on purpose.

    An error with attributes keeps them as further arguments, so that it survives the way back from another
    process.
    """

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class DomainError(TradeOffError, ValueError):
    """A value lies outside the domain of the question or of the parameter."""


class CurveError(DomainError):
    """The data given do not describe a trade-off function; the message names the property and the place."""


class SizeError(TradeOffError, ValueError):
    """An exact answer would need more vertices or memory than the stated cap."""


class PrecisionError(TradeOffError, ArithmeticError):
    """The requested accuracy cannot be reached; ``reachable`` is the width that can."""

    def __init__(self, message: str, reachable: float) -> None:
        super().__init__(message, reachable)
        self.reachable = reachable


class Undecided(TradeOffError, ArithmeticError):  # noqa: N818 - the public name is part of the contract
    """Bounds overlap, so an order of curves, or numbers, is neither proved nor refuted; ``at`` is where."""

    def __init__(self, message: str, at: float) -> None:
        super().__init__(message, at)
        self.at = at


class KindError(TradeOffError, TypeError):
    """A curve is given in place of a mechanism, or the reverse."""


class SymbolError(TradeOffError, TypeError):
    """A number is requested of a curve that has free symbols."""


class NoClosedForm(TradeOffError, NotImplementedError):  # noqa: N818 - reads as the sentence it is
    """No closed form is known; the message names an alternative."""


class PlanError(TradeOffError, ValueError):
    """A plan or its file is malformed; the message names file, entry, value and range."""


class MissingExtraError(TradeOffError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class BudgetExceeded(TradeOffError):  # noqa: N818 - the public name is part of the contract
    """A step does not fit into the remaining budget of a filter; nothing was recorded.

    ``spent``, ``requested``, ``remaining`` and ``budget`` are in the units of the filter.
    """

    def __init__(self, message: str, spent: Any, requested: Any, remaining: Any, budget: Any) -> None:
        super().__init__(message, spent, requested, remaining, budget)
        self.spent, self.requested, self.remaining, self.budget = spent, requested, remaining, budget


class LedgerError(TradeOffError, RuntimeError):
    """A ledger cannot be read, written or trusted.

    The message names the file, the problem and the remedy.
    """


class VerificationError(TradeOffError, ValueError):
    """A certificate does not prove its bounds; ``term`` is the first entry that fails."""

    def __init__(self, message: str, term: str) -> None:
        super().__init__(message, term)
        self.term = term


class SweepError(TradeOffError, RuntimeError):
    """The function of a sweep raised the cause; ``point`` holds the arguments."""

    def __init__(self, message: str, point: dict[str, Any]) -> None:
        super().__init__(message, point)
        self.point = point


def needed(module: str, remedy: str) -> Any:
    """Import a module of an extra; else raise ``MissingExtraError`` with the remedy."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(remedy) from error


def called(name: str, function: Callable[[Any], Any], value: Any) -> Any:
    """Call a user's function; raise ``DomainError`` with the argument and the message if it fails."""
    try:
        return function(value)
    except Exception as error:
        given = " ".join(str(error).split())
        raise DomainError(f"{name}({shown(value)}) raised {type(error).__name__}: {given}") from error


def domain(name: str, value: Any, allowed: str, remedy: str = "") -> DomainError:
    """Build the error of a value outside its domain, ``allowed`` completing "must be"."""
    tail = f"; {remedy}" if remedy else ""
    allowed = f"in {allowed}" if allowed[0] in "[(" else allowed
    return DomainError(f"{name} must be {allowed}, got {shown(value)}{tail}")


def file_name(path: Any) -> Path:
    """Return a path; raise ``DomainError`` for another value."""
    if isinstance(path, str | PathLike) and "\0" not in str(path):
        return Path(path)
    raise domain("path", path, "a text or a pathlib.Path without null characters")


def shown(value: Any) -> str:
    """Return a value for an error message, on one line and at most 240 characters."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python prints no integer of more than 4300 digits
        return f"<{type(value).__name__} of thousands of digits>"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."
