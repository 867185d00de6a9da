"""Products of finitely many atoms, added up without a lattice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tradeoff.engines.atomic import AtomicLaw, merged
from tradeoff.engines.law import LossLaw
from tradeoff.engines.profile import Profile
from tradeoff.numerics.rounding import TINY, UNIT, Array

MAX_PRODUCT = 2**20
"""Most atoms of a product taken exactly; beyond, the lattice answers."""

_FAR = 800.0


class Sums:
    """Bounds from the atoms of the product themselves."""

    def __init__(self, law: AtomicLaw, q_plus: float) -> None:
        self.law, self.table = law, profile(law, q_plus)

    def delta(self, epsilon: Array, tol: float | None) -> tuple[Array, Array]:
        """Bound delta(epsilon)."""
        return self.table.delta(epsilon)

    def epsilon(self, delta: Array, tol: float | None) -> tuple[Array, Array]:
        """Bound the least epsilon with delta(epsilon) <= delta."""
        return self.table.epsilon(delta)

    def beta(self, alpha: Array, tol: float | None) -> tuple[Array, Array]:
        """Bound f(alpha) for alpha in (0, 1)."""
        return beta(self.law, alpha)


def product(laws: Sequence[LossLaw], counts: Sequence[int]) -> AtomicLaw | None:
    """Return the law of the product if all factors are atomic and the atoms stay few, else None."""
    loss, log_p, slack, lost = np.zeros(1), np.zeros(1), 0.0, 0.0
    for law, count in zip(laws, counts, strict=True):
        atoms = law.atoms
        if law.continuous or len(atoms.loss) == 0 or count * np.log(max(len(atoms.loss), 1)) > np.log(MAX_PRODUCT) + 1:
            return None
        for _ in range(count if len(atoms.loss) > 1 else 1):
            if len(loss) * len(atoms.loss) > MAX_PRODUCT:
                return None
            times = 1 if len(atoms.loss) > 1 else count
            loss, log_p = merged(np.add.outer(loss, times * atoms.loss).ravel(), np.add.outer(log_p, times * atoms.log_p).ravel())
        slack += count * (float(np.max(atoms.slack)) + UNIT * (8 + 2 * float(np.max(np.abs(log_p)))))
        lost += count * getattr(law, "lost", 0.0)
    p_minus = float(-np.expm1(sum(n * np.log1p(-min(law.p_minus, 1 - UNIT)) for law, n in zip(laws, counts, strict=True))))
    return AtomicLaw(
        loss, log_p, p_minus, slack=np.full(len(loss), slack + 4 * UNIT * sum(counts) * (1 + float(np.max(np.abs(loss))))), lost=lost
    )


def beta(law: AtomicLaw, alpha: Array) -> tuple[Array, Array]:
    """Bound f(alpha) between the vertices (P(L > l_k), Q(L <= l_k)): tail sums of positive terms, whatever their size."""
    above = np.exp(np.append(np.logaddexp.accumulate(law.log_p[::-1])[::-1], -np.inf))  # P(L >= l_k), then 0
    under = np.exp(np.append(-np.inf, np.logaddexp.accumulate(law.log_p))) + law.p_minus  # P(L < l_k), then all
    below = np.exp(np.append(-np.inf, np.logaddexp.accumulate(law.log_p + law.loss)))  # Q(L < l_k), then all
    k = np.clip(np.searchsorted(-above, -alpha, side="right") - 1, 0, len(law.loss) - 1)
    near_one = alpha > 0.5  # there 1 - alpha is exact and its tail sums are the accurate ones
    part = np.where(near_one, (1 - alpha) - under[k], above[k] - alpha)
    share = np.clip(part / np.exp(law.log_p[k]), 0.0, 1.0)
    value = np.where(alpha >= above[0], 0.0, below[k] + share * (below[k + 1] - below[k]))
    size = np.max(np.abs(law.log_p) + np.abs(law.loss))
    slack = float(np.max(law.atoms.slack)) + UNIT * (64 + 8 * len(law.loss) + 8 * size)
    # A relative error of the abscissa moves f along its slope, e^l_k.
    error = slack * (value + np.exp(np.minimum(law.loss[k], 700.0)) * np.where(near_one, 1 - alpha, alpha)) + law.lost + TINY
    return np.maximum(value - error, 0.0), value + error


def profile(law: AtomicLaw, q_plus: float) -> Profile:
    """Return delta at every atom by sums of positive terms in logarithms; exact between them.

    delta_k = delta_(k+1) + (e^l_(k+1) - e^l_k) P(L > l_k); to the left of all atoms it is a line in e^epsilon to 1.
    """
    loss = law.loss
    log_above = np.logaddexp.accumulate(law.log_p[::-1])[::-1]
    step = np.log(np.expm1(np.diff(loss))) + loss[:-1] + log_above[1:]
    log_delta = np.append(np.logaddexp.accumulate(step[::-1])[::-1], -np.inf)
    size = np.where(np.isfinite(log_delta), np.abs(log_delta), 0.0)
    slack = law.atoms.slack + UNIT * (64 + 8 * len(loss) + 8 * np.abs(loss) + 4 * size + 4 * np.abs(log_above))
    delta = np.exp(np.minimum(log_delta, 0.0))
    shift = 8 * UNIT * (1 + np.max(np.abs(loss))) + float(np.max(law.atoms.slack))  # the slack counts the sums of losses too
    upper = np.minimum(delta * (1 + slack + shift) + q_plus * (1 + 16 * UNIT) + law.lost + TINY, 1.0)
    lower = delta * np.maximum(1 - slack - shift, 0.0) + q_plus * (1 - 16 * UNIT)

    def fenced(at: Array) -> Array:
        return np.concatenate([[loss[0] - _FAR], at, [loss[-1] + _FAR]])

    def ended(value: Array, first: float) -> Array:
        return np.concatenate([[first], value, value[-1:]])

    return Profile(fenced(loss + shift), ended(upper, 1.0), fenced(loss - shift), ended(lower, 1 - 8 * UNIT), q_plus * (1 - 16 * UNIT))
