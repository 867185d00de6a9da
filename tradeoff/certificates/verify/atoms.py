"""What finitely many atoms answer, by sums of positive terms whose errors are bounded with them.

f(alpha) is found from both ends (Neyman and Pearson): reject alpha of P where the loss is greatest, or accept
1 - alpha of P where it is least. Rejecting as if masses of P were larger is a test, which errs no less than
the best; a best test rejects no more than if they were smaller. So f lies between the sums of either side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tradeoff.certificates.description import Description
from tradeoff.certificates.verify.arithmetic import EPS, REAL, TINY, UNIT, Long
from tradeoff.certificates.verify.laws import Atoms, law, power_of_two, rounded
from tradeoff.certificates.verify.report import Log

_MOST = 2**21
"""Most pairs of atoms that are added up at a time: a quarter of a gibibyte."""

_ENDS = 16 * UNIT
"""Relative error of the masses at infinity that a description states."""

_SAME = 1e-15
"""Losses that differ by less, relative to 1 and to themselves, are joined; their distance is added to their
error."""

_NOTHING_LOST = Atoms(*np.zeros((6, 1), REAL))
"""No rounds: one atom at 0."""


class Listed:
    """Atoms in order of loss, with the masses at infinity."""

    def __init__(self, listed: Atoms, p_minus: Any, q_plus: Any) -> None:
        self.atoms = Atoms(*(each[np.argsort(listed.loss, kind="stable")] for each in listed))
        self.p_minus, self.q_plus = p_minus, q_plus
        self.own = EPS * (len(listed.loss) + 16)

    def p(self, side: int) -> Long:
        """Return the masses of P, above (1) or below (-1) the truth."""
        return _masses(self.atoms.log_p, self.atoms.off_p, self.own, side)

    def q(self, side: int) -> Long:
        """Return the masses of Q."""
        return _masses(self.atoms.log_q, self.atoms.off_q, self.own, side)

    def delta(self, x: Any) -> tuple[Any, Any]:
        """Bound delta(x)."""
        return self._delta(x, -1), self._delta(x, 1)

    def _delta(self, x: Any, side: int) -> Any:
        loss = self.atoms.loss + side * (self.atoms.shift + EPS * abs(x))
        above = loss > x
        return self.q_plus * (1 + side * _ENDS) + np.sum(self.q(side)[above] * -np.expm1(x - loss[above]))

    def beta(self, alpha: Any) -> tuple[Any, Any]:
        """Bound f(alpha)."""
        left = REAL(1) - alpha - self.p_minus
        slip = _ENDS * self.p_minus + 2 * EPS
        low = np.maximum(self._rejecting(alpha, -1), self._accepting(left - slip, -1))
        high = np.minimum(self._rejecting(alpha, 1), self._accepting(left + slip, 1))
        return low, high

    def _rejecting(self, alpha: Any, side: int) -> Any:
        """Return what is left under Q once alpha is spent where the loss is greatest."""
        p, q = self.p(side)[::-1], self.q(side)[::-1]
        return np.sum(q * (1 - _share(p, alpha)))

    def _accepting(self, left: Any, side: int) -> Any:
        """Return what accepting so much of P where the loss is least accepts of Q."""
        p, q = self.p(-side), self.q(side)
        enough = side < 0 or left <= np.sum(p)
        return np.sum(q * _share(p, left)) if enough else REAL(np.inf)


def _masses(log: Long, off: Long, own: Any, side: int) -> Long:
    return np.asarray(np.exp(np.minimum(log + side * (off + own), 0)) + (TINY if side > 0 else 0))


def _share(p: Long, mass: Any) -> Long:
    """Return how much of every atom goes into the first ``mass``."""
    before = np.concatenate([np.zeros(1, REAL), np.cumsum(p)[:-1]])
    return np.asarray(np.clip((mass - before) / np.maximum(p, TINY), 0, 1))


def product(factors: Sequence[Description], log: Log) -> Atoms:
    """Return all atoms of a product, by binomial coefficients or repeated squaring."""
    found = _NOTHING_LOST
    for factor in factors:
        one, n = law(factor["law"]).atoms, factor["count"]
        power = power_of_two(one, n) if len(one.loss) == 2 else _power(one, n, log)
        found = _times(found, power, log)
    return found


def _power(one: Atoms, n: int, log: Log) -> Atoms:
    """Return n rounds, for at most as many atoms as the ways to share n among k losses, joined or not."""
    result = _NOTHING_LOST
    for bit in f"{n:b}":
        result = _times(result, result, log)
        if bit == "1":
            result = _times(result, one, log)
    return result


def _times(one: Atoms, two: Atoms, log: Log) -> Atoms:
    log.holds("atoms", len(one.loss) * len(two.loss) <= _MOST, "too many atoms to add up again")
    sums = Atoms(*(np.add.outer(*pair).ravel() for pair in zip(one, two, strict=True)))
    order = np.argsort(sums.loss, kind="stable")
    loss, log_p, log_q, off_p, off_q, shift = (each[order] for each in sums)
    starts = np.flatnonzero(np.append(True, np.diff(loss) > _SAME * (1 + np.abs(loss[1:]))))
    log_p, log_q = _added(log_p, starts), _added(log_q, starts)
    ends = np.append(starts[1:], len(loss)) - 1
    summed = EPS * (ends - starts + 1)
    off_p, off_q, shift = (np.maximum.reduceat(each, starts) for each in (off_p, off_q, shift))
    off_p, off_q = off_p + summed + rounded(log_p), off_q + summed + rounded(log_q)
    shift = shift + (loss[ends] - loss[starts]) + 2 * EPS * np.abs(loss[starts])
    return Atoms(loss[starts], log_p, log_q, off_p, off_q, shift)


def _added(log: Long, starts: Any) -> Long:
    """Return logarithms of the sums of masses between starts."""
    peak = np.maximum.reduceat(log, starts)
    lengths = np.diff(np.append(starts, len(log)))
    return peak + np.log(np.add.reduceat(np.exp(log - np.repeat(peak, lengths)), starts))


def ways(factors: Sequence[Description]) -> int:
    """Return how many atoms there are before any are joined: the ways to share n rounds among k losses."""
    sizes = [(factor["count"], len(law(factor["law"]).atoms.loss)) for factor in factors]
    return math.prod(math.comb(n + k - 1, max(k - 1, 0)) for n, k in sizes)
