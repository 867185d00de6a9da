"""Pairs of continuous laws: the curve of two densities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import reals
from tradeoff.errors import DomainError, shown
from tradeoff.families.line_pair import LinePair
from tradeoff.intervals.rounding import Array
from tradeoff.loss.density import AGREED, Density
from tradeoff.loss.line import REACH, TRUST
from tradeoff.loss.pieces import Found, law_of


def from_densities(
    p: Callable[[Array], Any],
    q: Callable[[Array], Any],
    breaks: Sequence[float] | None = None,
    support: tuple[float, float] | None = None,
) -> TradeOff:
    """Trade-off function T(P, Q) of two laws on the line, given by their densities.

    Parameters
    ----------
    p, q
        Densities (no logarithms): functions that take an array and return one value >= 0 for each entry. Each
        must integrate to 1 within 1e-9, and is divided by its integral; one that reads what has changed since
        is refused when a number is asked.
    breaks
        Points between which log(q/p) is monotone and both densities are smooth; default: found.
    support
        Interval outside which both densities are zero; default: the whole line.

    Returns
    -------
    TradeOff
        A curve with ``assumptions``: bounds hold if what they say does. Numbers are usually 1e-11 wide.

    Raises
    ------
    DomainError
        If a density is negative, not finite, not vectorised or does not integrate to 1, or log(q/p) turns
        between given breaks.

    Notes
    -----
    Between its breaks L = log(q/p) crosses each loss once, so that {L >= t}, the optimal test (Neyman,
    Pearson 1933), is a union of intervals; their masses are found by Gauss-Legendre quadrature on panels that
    halve until they agree.

    Examples
    --------
    >>> import numpy as np
    >>> f = from_densities(lambda x: np.exp(-abs(x)) / 2, lambda x: np.exp(-abs(x - 1)) / 2, breaks=[0, 1])
    >>> round(f.delta(0.5), 9), len(f.assumptions)
    (0.221199217, 2)
    """
    places = None if breaks is None else checked("breaks", breaks)
    ends = (-np.inf, np.inf) if support is None else _support(support)
    for name, density in (("p", p), ("q", q)):
        if not (callable(density) and isinstance(density, Hashable)):  # by its hash curves are told apart
            raise DomainError(
                f"{name} = {shown(density)} is no function; give a density that takes an array, "
                "or two laws of scipy.stats to from_scipy"
            )
    first, second = Density(p, "p", ends, places or ()), Density(q, "q", ends, places or ())
    found = law_of(first, second, np.union1d(first.points, second.points), ends, places)
    if breaks is None and any(abs(x) < REACH and ends[0] < x < ends[1] for x in found.places):
        first, second = Density(p, "p", ends, found.places), Density(q, "q", ends, found.places)
        found = law_of(first, second, np.union1d(first.points, second.points), ends, places)
    trust = (
        f"Where they are asked, p and q are right to a share of {TRUST:g}, and so are their integrals by a "
        f"quadrature that agrees with itself to {AGREED:g}; a density that is below 5e-312 is 0."
    )
    constants = [
        f"{each.name} integrates to 1 {each.total - 1:+.2g}, taken for its constants."
        for each in (first, second)
        if abs(each.total - 1) > TRUST
    ]
    told = f"T({_named(p)}, {_named(q)})"
    key = first.key, second.key, found.breaks, ends
    return LinePair(found.law, told, key, (trust, *constants, monotone(found, breaks)))


def monotone(found: Found, breaks: Sequence[float] | None) -> str:
    """Say that the pieces are where they were seen."""
    places = ", ".join(f"{x:.6g}" for x in found.breaks) or "none"
    if breaks is None:
        return f"log(q/p) turns at these points alone: {places}; they were found among {found.looked} points."
    return f"log(q/p) turns at given breaks alone: {places}; it was looked at in {found.looked} points."


def checked(name: str, places: Any) -> list[float]:
    """Return finite numbers, sorted."""
    found = reals(name, places)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise DomainError(f"{name} = {shown(places)} is no list of finite numbers; give points of the line")
    return sorted(found.tolist())


def _support(support: Any) -> tuple[float, float]:
    found = reals("support", support)
    if found.shape != (2,) or not found[0] < found[1]:
        raise DomainError(f"support = {shown(support)} is no interval; give its two ends, the smaller first")
    if found[0] >= REACH or found[1] <= -REACH:
        raise DomainError(f"support = {shown(support)} lies beyond {REACH:.3g}; give the laws of a logarithm")
    return float(found[0]), float(found[1])


def _named(density: Callable[..., Any]) -> str:
    return str(getattr(density, "__name__", type(density).__name__))
