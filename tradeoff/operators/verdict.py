"""The order of two curves with a witness: where one is below the other, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.errors import Undecided
from tradeoff.intervals.bounds import Bounds
from tradeoff.operators.order import at_least

_TAIL = np.geomspace(1e-12, 0.5, 60)
_ALPHAS = np.concatenate([[0.0], _TAIL, 1 - _TAIL[-2::-1]])  # where a witness is searched


class Witness(NamedTuple):
    """Type I error at which one curve is below the other, and a lower bound on the difference in beta."""

    alpha: float
    gap: float


@dataclass(frozen=True)
class Verdict:
    """Order of two curves f and g; prints as sentences.

    Attributes
    ----------
    at_least, at_most
        Whether f >= g, and f <= g, at every alpha; None if the bounds cannot decide.
    below, above
        Witnesses of f < g and of f > g; None if there is none, or none among the type I errors searched.

    Examples
    --------
    >>> import tradeoff as to
    >>> verdict = to.order(to.Laplace(1), to.Gaussian(1))
    >>> verdict.at_least, verdict.at_most
    (False, False)
    >>> verdict
    f is not at least g: at alpha = 0.317 it is lower by at least 0.0101
    f is not at most g: at alpha = 0.0805 it is higher by at least 0.125
    """

    at_least: bool | None
    at_most: bool | None
    below: Witness | None
    above: Witness | None

    def __bool__(self) -> bool:
        return bool(self.at_least)

    def __repr__(self) -> str:
        return "\n".join(
            _sentence(*side)
            for side in (
                (self.at_least, "at least", "lower", self.below),
                (self.at_most, "at most", "higher", self.above),
            )
        )


def order(f: TradeOff, g: TradeOff) -> Verdict:
    """Compare two curves at every alpha, with a witness where one is below the other.

    Parameters
    ----------
    f, g
        Curves; ``f >= g`` means that f is at least as private as g.

    Returns
    -------
    Verdict
        Both directions, proved as ``f >= g`` is (Dong, Roth, Su 2022, Theorem 2.10); true if f >= g.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.order(to.Gaussian(1), to.Gaussian(2))
    f is at least g
    f is not at most g: at alpha = 0.0805 it is higher by at least 0.381
    """
    f, g = operand(f), operand(g)
    first, second = f.bounds(_ALPHAS), g.bounds(_ALPHAS)
    below = _witness(Bounds.of(second.lower) - first.upper)
    above = _witness(Bounds.of(first.lower) - second.upper)
    # A witness refutes the order; without one it has to be decided.
    at_least = _decide(f, g) if below is None else False
    at_most = _decide(g, f) if above is None else False
    return Verdict(at_least, at_most, below, above)


def _witness(gap: Bounds) -> Witness | None:
    """Return the largest certain difference."""
    k = int(np.argmax(gap.lower))
    return Witness(float(_ALPHAS[k]), float(gap.lower[k])) if gap.lower[k] > 0 else None


def _decide(f: TradeOff, g: TradeOff) -> bool | None:
    try:
        return at_least(f, g)
    except Undecided:
        return None


def _sentence(verdict: bool | None, relation: str, side: str, witness: Witness | None) -> str:  # noqa: FBT001 - three values
    if verdict is None:
        return f"whether f is {relation} g is undecided: the bounds of the curves overlap"
    if verdict:
        return f"f is {relation} g"
    where = f": at alpha = {witness.alpha:.3g} it is {side} by at least {witness.gap:.3g}" if witness else ""
    return f"f is not {relation} g{where}"
