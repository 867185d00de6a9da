"""Every exception of the library, below one base class."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST = 240  # characters of a value in an error: enough for a curve or a short list, and still a sentence

Function = TypeVar("Function", bound=Callable[..., Any])


class TradeOffError(Exception):
    """Base of every error the library raises on purpose.

    An error with attributes keeps them as further arguments, so that it survives the way back from another
    process.

    >>> import tradeoff
    >>> issubclass(tradeoff.errors.DomainError, tradeoff.errors.TradeOffError)
    True
    """

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class DomainError(TradeOffError, ValueError):
    """A value lies outside the domain of the question or of the parameter.

    >>> import tradeoff
    >>> tradeoff.Gaussian(-1)
    Traceback (most recent call last):
    tradeoff.errors.DomainError: mu must be in [0, inf], got -1
    """


class CurveError(DomainError):
    """The data given do not describe a trade-off function; the message names the property and the place.

    >>> import tradeoff
    >>> tradeoff.PiecewiseLinear([0, 0.5, 1], [1, 0.9, 0])
    Traceback (most recent call last):
    tradeoff.errors.CurveError: f(alpha) must be at most 1 - alpha, got vertex 1: (0.5, 0.9)
    """


class SizeError(TradeOffError, ValueError):
    """An exact answer would need more vertices or memory than the stated cap.

    >>> import tradeoff
    >>> tradeoff.mechanisms.DiscreteGaussian(sigma=1e6).guarantee().delta(1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tradeoff.errors.SizeError: the discrete Gaussian with sigma = 1e+06 has 8e+07 atoms...
    """


class PrecisionError(TradeOffError, ArithmeticError):
    """The requested accuracy cannot be reached; ``reachable`` is the width that can.

    >>> import tradeoff
    >>> try:
    ...     (tradeoff.PureDP(0.1) ** 100).epsilon(1e-5, tol=1e-300)
    ... except tradeoff.errors.PrecisionError as error:
    ...     error.reachable < 1e-6
    True
    """

    def __init__(self, message: str, reachable: float) -> None:
        super().__init__(message, reachable)
        self.reachable = reachable


class Undecided(TradeOffError, ArithmeticError):  # noqa: N818 - the public name is part of the contract
    """Bounds overlap, so an order of curves, or numbers, is neither proved nor refuted; ``at`` is where.

    >>> import tradeoff
    >>> tradeoff.Bounds(0, 2) < tradeoff.Bounds(1, 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tradeoff.errors.Undecided: Bounds(lower=0, upper=2) < Bounds(lower=1, upper=3) is open...
    """

    def __init__(self, message: str, at: float) -> None:
        super().__init__(message, at)
        self.at = at


class KindError(TradeOffError, TypeError):
    """A curve is given in place of a mechanism, or the reverse.

    >>> import tradeoff
    >>> tradeoff.Gaussian(1) @ tradeoff.mechanisms.PureDP(epsilon=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tradeoff.errors.KindError: PureDP(epsilon=1.0) is a mechanism, not a curve...
    """


class SymbolError(TradeOffError, TypeError):
    """A number is requested of a curve that has free symbols.

    >>> import sympy, tradeoff
    >>> tradeoff.Gaussian(sympy.Symbol("mu")).delta(1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tradeoff.errors.SymbolError: G_{mu} has free symbols mu...
    """


class NoClosedForm(TradeOffError, NotImplementedError):  # noqa: N818 - reads as the sentence it is
    """No closed form is known; the message names an alternative.

    >>> import tradeoff
    >>> (tradeoff.Laplace(1) ** 50).delta(1, method="closed-form")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tradeoff.errors.NoClosedForm: Lap_{1}^50 has no closed form...
    """


class PlanError(TradeOffError, ValueError):
    """A plan or its file is malformed; the message names file, entry, value and range.

    >>> import tradeoff
    >>> tradeoff.spec.loads("title = 1")
    Traceback (most recent call last):
    tradeoff.errors.PlanError: plan: mechanism must be at least one table [[mechanism]], with double brackets
    """


class MissingExtraError(TradeOffError, ImportError):
    """An optional dependency is not installed; the message names the extra.

    >>> from tradeoff.errors import needed
    >>> needed("a_missing_package", "plots need matplotlib: pip install tradeoff[plot]")
    Traceback (most recent call last):
    tradeoff.errors.MissingExtraError: plots need matplotlib: pip install tradeoff[plot]
    """


class BudgetExceeded(TradeOffError):  # noqa: N818 - the public name is part of the contract
    """A step does not fit into the remaining budget of a filter; nothing was recorded.

    ``spent``, ``requested``, ``remaining`` and ``budget`` are in the units of the filter.

    >>> import tradeoff
    >>> tradeoff.filters.GDPFilter(1).spend(tradeoff.Gaussian(2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tradeoff.errors.BudgetExceeded: the step costs 2 (to 1e-13), but 1 of 1 remains (0 spent in 0 steps)...
    """

    def __init__(self, message: str, spent: Any, requested: Any, remaining: Any, budget: Any) -> None:
        super().__init__(message, spent, requested, remaining, budget)
        self.spent, self.requested, self.remaining, self.budget = spent, requested, remaining, budget


class LedgerError(TradeOffError, RuntimeError):
    """A ledger cannot be read, written or trusted.

    The message names the file, the problem and the remedy.

    >>> import tradeoff
    >>> tradeoff.filters.Ledger("missing.db")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tradeoff.errors.LedgerError: ...Ledger.create makes a new ledger in a folder that exists
    """


class VerificationError(TradeOffError, ValueError):
    """A certificate does not prove its bounds; ``term`` is the first entry that fails.

    >>> import tradeoff
    >>> tradeoff.errors.VerificationError("the certificate does not hold", term="sum").term
    'sum'
    """

    def __init__(self, message: str, term: str) -> None:
        super().__init__(message, term)
        self.term = term


class SweepError(TradeOffError, RuntimeError):
    """The function of a sweep raised the cause; ``point`` holds the arguments.

    >>> import tradeoff
    >>> tradeoff.sweep(lambda sigma: 1 / sigma, {"sigma": [0]})
    Traceback (most recent call last):
    tradeoff.errors.SweepError: the point sigma = 0: ZeroDivisionError: division by zero
    """

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


def advise_keywords(advise: Callable[..., str], name: str = "") -> Callable[[Function], Function]:
    """Return a decorator whose error for unknown keywords has a remedy made from them, or the parameters."""

    def decorate(function: Function) -> Function:
        from inspect import signature  # a fourth of the time of ``import tradeoff``

        names = signature(function).parameters

        @wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            if unknown := {name: value for name, value in given.items() if name not in names}:
                text = f"{name or function.__name__} has no parameter {next(iter(unknown))!r}"
                raise TypeError(f"{text}; {advise(unknown) or 'its parameters are ' + ', '.join(names)}")
            return function(*args, **given)

        return cast("Function", checked)

    return decorate


def domain(name: str, value: Any, allowed: str, remedy: str = "") -> DomainError:
    """Build the error of a value outside its domain, ``allowed`` completing "must be"."""
    tail = f"; {remedy}" if remedy else ""
    allowed = f"in {allowed}" if allowed[0] in "[(" else allowed
    return DomainError(f"{name} must be {allowed}, got {shown(value)}{tail}")


def file_name(path: Any) -> Path:
    """Return a path; raise ``DomainError`` for another value."""
    from pathlib import Path

    if isinstance(path, str | PathLike) and "\0" not in str(path):
        return Path(path)
    raise domain("path", path, "a text or a pathlib.Path without null characters")


def shown(value: Any) -> str:
    """Return a value for an error message, on one line and at most 240 characters."""
    try:
        text = re.sub(" at 0x[0-9a-fA-F]+(?=>)", "", " ".join(repr(value).split()))  # without addresses
    except ValueError:  # Python prints no integer of more than 4300 digits
        return f"<{type(value).__name__} of thousands of digits>"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."
