"""Curves in plan files: JSON with exact numbers, in the plan itself or in a file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError, PlanError
from tradeoff.exchange import CURVES
from tradeoff.spec.entries import text, wrong
from tradeoff.spec.limits import limit, within
from tradeoff.whole_files import read_text


def written(curve: TradeOff) -> str:
    """Write a curve as a line of JSON, as ``tradeoff.save`` does; ``PlanError`` if it has no form there.

    >>> from fractions import Fraction
    >>> from tradeoff import PiecewiseLinear
    >>> written(PiecewiseLinear([0, Fraction(1, 3), 1], [1, Fraction(1, 3), 0]))[:54]
    '{"schema": 1, "tradeoff": {"kind": "piecewise-linear",'
    """
    try:
        return CURVES.dumps(curve)
    except DomainError as error:
        raise PlanError(str(error)) from error


def read(where: str, value: Any, folder: Path) -> TradeOff:
    """Read a curve from JSON text, or from a file; ``folder`` is where relative names start."""
    given = text(where, value)
    content = given if given.lstrip().startswith("{") else _content(where, folder / given)
    try:
        curve = CURVES.loads(content)
    except ValueError as error:  # errors of JSON, and our own
        raise PlanError(f"{where}: {error}") from error
    if not isinstance(curve, TradeOff):
        raise wrong(where, given, "a curve")
    return curve


def _content(where: str, path: Path) -> str:
    try:
        content = read_text(path, limit("letters"))
    except (OSError, ValueError) as error:
        raise PlanError(
            f"{where}: {path} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    within("letters", len(content), f"letters of {path}")
    return content
