"""Claims of exact sums, added up again from the descriptions of the laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tradeoff.certificates.certificate import Claim, ulps
from tradeoff.certificates.description import Description
from tradeoff.certificates.evidence import Sums
from tradeoff.certificates.verify.laws import EPS, REAL, Long, Need, binomial, law
from tradeoff.certificates.verify.moments import lost
from tradeoff.certificates.verify.report import Log

_MOST = 2**21
_SEEN = -650.0


class CheckedSums:
    """All atoms of the product, made by repeated products of one round at a time or by binomial coefficients."""

    def __init__(self, sums: Sums, factors: Sequence[Description], log: Log) -> None:
        self.log = log
        log.holds("slack", 0 <= sums.slack < 1e-2, f"{sums.slack!r} is outside [0, 0.01)")
        self.loss, self.log_p, rounds = _product(factors, log)
        self.q_plus, self.p_minus = lost(factors, "q_plus"), lost(factors, "p_minus")
        self.own = EPS * (256 + 64 * rounds * (1 + float(np.max(np.abs(self.loss), initial=0)))) + REAL(
            1e-290
        )
        total = np.sum(np.exp(self.log_p))
        log.close("mass", 1.0, total + self.p_minus, 4 * sums.slack + self.own)
        log.above(
            "atoms", sums.atoms, len(np.unique(np.round(self.loss[self.log_p > _SEEN].astype(float), 9)))
        )
        log.below("atoms", sums.atoms, _ways(factors))

    def claim(self, claim: Claim) -> None:
        """Verify the bounds of one claim."""
        self.log.close("ulps", claim.terms["ulps"], ulps(claim.lower, claim.upper), 0.0)
        # Masses that add up to 1 are known to a few units of 1, and so is what is left of it next to alpha = 1.
        sides = (
            (self._beta(REAL(claim.at), off) for off in (-16 * EPS, 16 * EPS))
            if claim.quantity == "beta"
            else (self._delta(REAL(claim.at)),) * 2
        )
        least, most = sides
        self.log.below(f"{claim.quantity} lower", claim.lower, most * (1 + self.own * (1 + abs(most))))
        self.log.above(f"{claim.quantity} upper", claim.upper, least * (1 - self.own * (1 + abs(least))))

    def _delta(self, x: Any) -> Any:
        above = self.loss > x
        return self.q_plus + np.sum(
            np.exp(self.log_p[above] + self.loss[above]) * -np.expm1(x - self.loss[above])
        )

    def _beta(self, alpha: Any, off: Any) -> Any:
        """Reject where the loss is greatest until alpha is spent (Neyman and Pearson): what is left under Q."""
        p = np.exp(self.log_p)
        before, spent = np.cumsum(p) - p, np.cumsum(p)  # P(L < l_k), P(L <= l_k)
        left = 1 - alpha - self.p_minus + off  # mass accepted among the finite losses
        share = np.clip((left - before) / np.where(p > 0, p, 1), 0, 1)
        share = np.where(spent <= left, 1, share)
        return np.sum(share * np.exp(self.log_p + self.loss))


def _product(factors: Sequence[Description], log: Log) -> tuple[Long, Long, int]:
    loss, log_p, rounds = np.zeros(1, REAL), np.zeros(1, REAL), 0
    for factor in factors:
        parts, n = law(factor["law"], Need(1.0, 0.0)).parts, factor["count"]
        log.holds(
            "factors",
            all(part.log_density is None for part in parts),
            "a law with a density has no exact sums",
        )
        one = np.concatenate([part.loss for part in parts]), np.concatenate([part.log_p for part in parts])
        power = binomial(*one, n) if len(one[0]) == 2 else _power(*one, n, log)
        loss, log_p = _merged(*_times((loss, log_p), power, log))
        rounds += n.bit_length() + 8
    return loss, log_p, rounds


def _times(one: tuple[Long, Long], two: tuple[Long, Long], log: Log) -> tuple[Long, Long]:
    log.holds("atoms", len(one[0]) * len(two[0]) <= _MOST, "too many atoms to add up again")
    return np.add.outer(one[0], two[0]).ravel(), np.add.outer(one[1], two[1]).ravel()


def _merged(loss: Long, log_p: Long) -> tuple[Long, Long]:
    """Sort, and add the masses of losses that differ by rounding only."""
    order = np.argsort(loss, kind="stable")
    loss, log_p = loss[order], log_p[order]
    starts = np.flatnonzero(np.append(True, np.diff(loss) > 1e-15 * (1 + np.abs(loss[1:]))))
    peak = np.maximum.reduceat(log_p, starts)
    lengths = np.diff(np.append(starts, len(loss)))
    return loss[starts], peak + np.log(np.add.reduceat(np.exp(log_p - np.repeat(peak, lengths)), starts))


def _power(loss: Long, log_p: Long, n: int, log: Log) -> tuple[Long, Long]:
    result = np.zeros(1, REAL), np.zeros(1, REAL)
    for bit in f"{n:b}":
        result = _merged(*_times(result, result, log))
        if bit == "1":
            result = _merged(*_times(result, (loss, log_p), log))
    return result


def _ways(factors: Sequence[Description]) -> int:
    """Return how many atoms there are before equal losses are joined: the ways to share n rounds among k losses."""
    sizes = [sum(len(part.loss) for part in law(factor["law"], Need(1.0, 0.0)).parts) for factor in factors]
    return math.prod(
        math.comb(factor["count"] + k - 1, max(k - 1, 0)) for factor, k in zip(factors, sizes, strict=True)
    )
