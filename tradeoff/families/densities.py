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
from tradeoff.pld.density import CLOSEST, LEAST_LOG, REACH, TRUST, Density
from tradeoff.pld.monotone_pieces import Found, find_pieces
from tradeoff.pld.real_line import RealLineLaw

_FARTHEST = 1e6  # losses beyond which only mass at infinity is counted from below


class RealLinePair(TradeOff):
    """T(P, Q) of two laws on the line, from the law of L in pieces on which it is monotone.

    Pairs of one ``key`` are equal; ``symmetric`` states that both orders have one curve.
    """

    assumptions: tuple[str, ...] = ()
    symmetric: bool = False

    def __init__(
        self,
        law: RealLineLaw,
        name: str,
        key: Hashable,
        assumptions: tuple[str, ...],
        *,
        symmetric: bool = False,
    ) -> None:
        self._law, self.name, self.key = law, name, key
        self.assumptions, self.symmetric = assumptions, symmetric
        self._origin: RealLinePair | None = None

    @cached_property
    def _other(self) -> RealLineLaw:
        return self._law.reversed()

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        size, lower, upper = np.minimum(np.abs(epsilon), _FARTHEST), *np.zeros((2, len(epsilon)))
        for law, chosen in ((self._law, epsilon >= 0), (self._other, epsilon < 0)):
            if chosen.any():
                lower[chosen], upper[chosen] = law.tail(size[chosen])
        lower = np.where(np.abs(epsilon) > _FARTHEST, 0.0, lower)
        # delta(-eps) = 1 - e^-eps + e^-eps delta(eps) of the other order.
        below = np.minimum(epsilon, 0.0)
        low, most = where(
            epsilon >= 0, Bounds(lower, upper), exp(below) * Bounds(lower, upper) - expm1(below)
        )
        lost, far = self.mass_at_infinity, epsilon >= self.sup_loss
        return np.maximum(low, lost.lower), np.where(far, np.minimum(most, lost.upper), most)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return beta_from_delta(self, alpha, tol)

    @property
    def mass_at_plus_infinity(self) -> float:
        return float(self.mass_at_infinity.upper)

    @property
    def mass_at_minus_infinity(self) -> float:
        return float(self._other.mass_at_infinity.upper)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return self._law.mass_at_infinity

    @property
    def sup_loss(self) -> float:
        return float(self._law.sup_loss.upper)

    @property
    def sup_loss_lower(self) -> float:
        return float(self._law.sup_loss.lower)

    def inverse(self) -> TradeOff:
        if self.symmetric:
            return self
        other = RealLinePair(self._other, f"inverse({self.name})", ("inverse", self.key), self.assumptions)
        other._origin = self
        return self._origin or other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RealLinePair) and (self.key, self.assumptions) == (
            other.key,
            other.assumptions,
        )

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
    """Return the trade-off function T(P, Q) of two laws on the line, given by their densities.

    Parameters
    ----------
    p, q
        Densities (not logarithms): functions that take an array and return one value >= 0 for each entry, and
        that do not change afterwards. Each must integrate to 1 within 1e-9, and is divided by its integral.
    breaks
        Points between which log(q/p) is monotone and both densities are smooth; default: found.
    support
        Interval outside which both densities are zero; default: the whole line.

    Returns
    -------
    TradeOff
        A curve with ``assumptions``, under which its bounds hold. They are usually 1e-11 apart.

    Raises
    ------
    DomainError
        If a density is negative, not finite, not vectorised or does not integrate to 1, or log(q/p) turns
        between given breaks.

    Notes
    -----
    Between its breaks L = log(q/p) crosses each loss once, so that {L >= t}, the optimal test (Neyman,
    Pearson 1933), is a union of intervals; their masses are found by adaptive quadrature.

    Examples
    --------
    >>> import numpy as np
    >>> f = from_densities(lambda x: np.exp(-abs(x)) / 2, lambda x: np.exp(-abs(x - 1)) / 2, breaks=[0, 1])
    >>> round(f.delta(0.5), 9), len(f.assumptions)
    (0.221199217, 2)
    """
    places = None if breaks is None else check_breaks(breaks)
    ends = (-np.inf, np.inf) if support is None else _check_support(support)
    sides = []
    for name, density in (("p", p), ("q", q)):
        if not (callable(density) and isinstance(density, Hashable)):  # curves are compared by its hash
            raise DomainError(
                f"{name} must be a function, got {shown(density)}; give a density that takes an array, "
                "or two laws of scipy.stats to from_scipy"
            )
        sides.append(_Checked(density, name))
    laws = [Density(side, side.name, ends, cuts=places or (), least_log=LEAST_LOG) for side in sides]
    result = find_pieces(laws[0], laws[1], places)
    trust = (
        f"p and q are right to a share of {TRUST:g}, smooth where the quadrature found them so, and 0 where "
        "they return 0."
    )
    names = (str(getattr(each, "__name__", type(each).__name__)) for each in (p, q))
    key = (p, laws[0].mass.tobytes(), q, laws[1].mass.tobytes(), tuple(places or ()), ends)
    words = (trust, *describe_totals(laws), describe_pieces(result, breaks))
    return RealLinePair(result.law, f"T({', '.join(names)})", key, words)


class _Checked:
    """The logarithm of a user's density, whose values are checked."""

    def __init__(self, density: Callable[[Array], Any], name: str) -> None:
        self.density, self.name = density, name

    def __call__(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            result = self.density(x)
        try:
            value = np.asarray(result, dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            raise DomainError(f"{self.name} must return real numbers, got {shown(result)}") from error
        if value.shape != x.shape:
            raise DomainError(
                f"{self.name} must return one value for each of {x.size} points, got {shown(value)}; "
                "give a function that takes an array"
            )
        wrong = ~(value >= 0)
        if wrong.any():
            at, y = x[wrong][0], value[wrong][0]
            raise DomainError(
                f"{self.name} must be in [0, inf), got {y} at {at:.6g}; give a support without the point"
            )
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(value))


def describe_totals(laws: Sequence[Density]) -> list[str]:
    """Return an assumption for each density that is divided by an integral other than 1."""
    return [
        f"{law.name} integrates to 1 {law.total - 1:+.2g}, taken for the error of a constant."
        for law in laws
        if abs(law.total - 1) > TRUST
    ]


def describe_pieces(found: Found, breaks: Sequence[float] | None, loc: float = 0.0) -> str:
    """Return the assumption that the log ratio turns at known places only."""
    places = ", ".join(f"{loc + x:.6g}" for x in found.turns) or "none"
    how = "found among" if breaks is None else "given, and checked at"
    return (
        f"log(q/p) turns only at these points: {places}; they were {how} {found.looked} points, and beyond "
        f"{REACH:.2g} and within {CLOSEST:.2g} of 0 densities go on as in the octaves before."
    )


def check_breaks(places: Any) -> list[float]:
    """Return finite numbers, sorted."""
    result = reals("breaks", places)
    if result.ndim != 1 or not np.isfinite(result).all():
        raise DomainError(f"breaks must be a list of finite numbers, got {shown(places)}")
    return sorted(result.tolist())


def _check_support(support: Any) -> tuple[float, float]:
    result = reals("support", support)
    if result.shape != (2,) or not result[0] < result[1] or result[0] >= REACH or result[1] <= -REACH:
        raise DomainError(
            f"support must be two increasing numbers with a point within {REACH:.2g} between, "
            f"got {shown(support)}"
        )
    return float(result[0]), float(result[1])
