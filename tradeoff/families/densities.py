"""Pairs of continuous laws: the curve of two laws on the line, and of two densities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import beta_from_delta
from tradeoff.curves.parameters import reals
from tradeoff.errors import DomainError, shown
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import exp, expm1, where
from tradeoff.intervals.rounding import Array
from tradeoff.loss.density import AGREED, Density
from tradeoff.loss.line import LOSS_ERROR, REACH, TRUST, LineLaw
from tradeoff.loss.pieces import Found, law_of


class LinePair(TradeOff):
    """T(P, Q) of two laws on the line, from the law of L in pieces on which it is monotone.

    Pairs of one ``key`` are equal; ``symmetric`` says that both orders have one curve.
    """

    assumptions: tuple[str, ...] = ()
    symmetric: bool = False

    def __init__(
        self, law: LineLaw, name: str, key: Hashable, assumptions: tuple[str, ...], *, symmetric: bool = False
    ) -> None:
        self._law, self.name, self.key = law, name, key
        self.assumptions, self.symmetric = assumptions, symmetric
        self._origin: LinePair | None = None

    @cached_property
    def _other(self) -> LineLaw:
        return self._law.reversed()

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        high = epsilon >= 0
        found = Bounds(*np.zeros((2, len(epsilon))))
        for law, chosen in ((self._law, high), (self._other, ~high)):
            if chosen.any():
                found.lower[chosen], found.upper[chosen] = law.tail(np.abs(epsilon[chosen]))
        # delta(-eps) = 1 - e^-eps + e^-eps delta(eps) of the other order.
        below = np.minimum(epsilon, 0.0)
        low, most = where(high, found, exp(below) * found - expm1(below))
        return low, np.where(epsilon >= self.sup_loss, self.mass_at_infinity.upper, most)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return beta_from_delta(self, alpha, tol)

    @property
    def q_plus(self) -> float:
        return min(self._law.q_plus + self._law.apart[1] + self._law.doubt[1], 1.0)

    @property
    def p_minus(self) -> float:
        return min(self._law.p_minus + self._law.apart[0] + self._law.doubt[0], 1.0)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return self._law.mass_at_infinity

    @cached_property
    def sup_loss(self) -> float:
        """L on a piece is at most what it is at its end, if that is known."""
        ends = zip(self._law.pieces, self._law.extremes, strict=True)
        tops = [(loss, piece.known[1] or self._law.bounded) for piece, (_, loss) in ends]
        found = max((loss for loss, _ in tops), default=0.0)  # no loss is finite
        seen = all(at_end for _, at_end in tops) and self._law.doubt[1] == 0
        return found + LOSS_ERROR * (1 + abs(found)) if seen else np.inf

    @property
    def least_sup_loss(self) -> float:
        found = max((most for _, most in self._law.extremes), default=-np.inf)
        return found - LOSS_ERROR * (1 + abs(found)) if np.isfinite(found) else -np.inf

    def inverse(self) -> TradeOff:
        if self.symmetric:
            return self
        turned = LinePair(self._other, f"inverse({self.name})", ("inverse", self.key), self.assumptions)
        turned._origin = self
        return self._origin or turned

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinePair) and (self.key, self.assumptions) == (other.key, other.assumptions)

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def notation(self) -> str:
        return self.name


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
    names = (str(getattr(each, "__name__", type(each).__name__)) for each in (p, q))
    key = first.key, second.key, found.breaks, ends
    return LinePair(found.law, f"T({', '.join(names)})", key, (trust, *constants, monotone(found, breaks)))


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
