"""Products of finitely many atoms, added up without a lattice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

from tradeoff.engines.atomic import AtomicLaw, merged
from tradeoff.engines.law import Atoms, LossLaw, lost_mass
from tradeoff.engines.profile import Profile
from tradeoff.numerics.rounding import TINY, UNIT, Array

MAX_PRODUCT = 2**20
"""Most atoms of a product taken exactly; beyond, the lattice answers."""

_FAR = 800.0
_FARTHEST = 5000.0
"""Losses up to this size have powers that extended precision holds."""

_FINE = float(np.finfo(np.longdouble).eps)


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
    """Return the law of the product if all factors are atomic and the atoms of the sum stay few, else None."""
    if any(law.continuous or len(law.atoms.loss) == 0 for law in laws):
        return None
    if sum(n * float(np.max(np.abs(law.atoms.loss))) for law, n in zip(laws, counts, strict=True)) > _FARTHEST:
        return None
    powers = [_power(law.atoms, count) for law, count in zip(laws, counts, strict=True) if count]
    loss, log_p, slack = np.zeros(1), np.zeros(1), 4 * UNIT * len(powers)
    for power in powers:
        if power is None or len(loss) * len(power.loss) > MAX_PRODUCT:
            return None
        loss, log_p = merged(np.add.outer(loss, power.loss).ravel(), np.add.outer(log_p, power.log_p).ravel())
        slack += float(np.max(power.slack)) + UNIT * (8 + 2 * float(np.max(np.abs(log_p))))
    lost = float(sum(count * getattr(law, "lost", 0.0) for law, count in zip(laws, counts, strict=True)))
    p_minus = lost_mass([min(law.p_minus, 1 - UNIT) for law in laws], counts)
    position = 4 * UNIT * (len(laws) + 2) * (1 + float(np.max(np.abs(loss))))
    return AtomicLaw(loss, log_p, p_minus, slack=np.full(len(loss), slack + position), lost=lost)


def _power(atoms: Atoms, n: int) -> Atoms | None:
    """Return the atoms of n rounds: one for every way to share n rounds among k losses, C(n + k - 1, k - 1) of them."""
    k = len(atoms.loss)
    if n == 1:
        return atoms
    if math.lgamma(n + k) - math.lgamma(k) - math.lgamma(n + 1) > math.log(MAX_PRODUCT / k):
        return None
    shares = _shares(n, k)
    log_ways = gammaln(n + 1.0) - np.sum(gammaln(shares + 1.0), axis=1)
    slack = n * float(np.max(atoms.slack)) + UNIT * (16 * k * (1 + n * math.log(n + 1)) + 8 * k * n * float(np.max(np.abs(atoms.log_p))))
    loss, log_p = merged(shares @ atoms.loss, shares @ atoms.log_p + log_ways)
    return Atoms(loss, log_p, np.full(len(loss), slack))


def _shares(n: int, k: int) -> Array:
    """Return all vectors of k non-negative integers that add up to n, one a row."""
    rows, left = np.zeros((1, 0)), np.array([n])
    for _ in range(k - 1):
        sizes = left + 1
        owner = np.repeat(np.arange(len(left)), sizes)
        taken = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows, left = np.column_stack([rows[owner], taken]), left[owner] - taken
    return np.column_stack([rows, left])


def _masses(logs: Array) -> Any:
    """Return exponentials in extended precision, whose range and digits make sums of a million terms exact to a float."""
    return np.exp(logs.astype(np.longdouble))


def _tail(masses: Any) -> Any:
    """Return the sums from every entry to the last."""
    return np.cumsum(masses[::-1])[::-1]


def _ends(values: Any) -> Array:
    return np.asarray(values, dtype=float)


def beta(law: AtomicLaw, alpha: Array) -> tuple[Array, Array]:
    """Bound f(alpha) between the vertices (P(L > l_k), Q(L <= l_k)): tail sums of positive terms, whatever their size."""
    p, q = _masses(law.log_p), _masses(law.log_p + law.loss)
    above = _ends(np.append(_tail(p), 0.0))  # P(L >= l_k), then 0
    under = _ends(np.append(0.0, np.cumsum(p))) + law.p_minus  # P(L < l_k), then all
    below = _ends(np.append(0.0, np.cumsum(q)))  # Q(L < l_k), then all
    k = np.clip(np.searchsorted(-above, -alpha, side="right") - 1, 0, len(law.loss) - 1)
    near_one = alpha > 0.5  # there 1 - alpha is exact and its tail sums are the accurate ones
    part = np.where(near_one, (1 - alpha) - under[k], above[k] - alpha)
    share = np.clip(part / np.exp(law.log_p[k]), 0.0, 1.0)
    value = np.where(alpha >= above[0], 0.0, below[k] + share * (below[k + 1] - below[k]))
    size = np.max(np.abs(law.log_p) + np.abs(law.loss))
    slack = float(np.max(law.atoms.slack)) + UNIT * (64 + 8 * size) + 4 * len(law.loss) * _FINE
    # A relative error of the abscissa moves f along its slope, e^l_k.
    error = slack * (value + np.exp(np.minimum(law.loss[k], 700.0)) * np.where(near_one, 1 - alpha, alpha)) + law.lost + TINY
    return np.maximum(value - error, 0.0), value + error


def profile(law: AtomicLaw, q_plus: float) -> Profile:
    """Return delta at every atom by sums of positive terms in logarithms; exact between them.

    delta_k = delta_(k+1) + (e^l_(k+1) - e^l_k) P(L > l_k); to the left of all atoms it is a line in e^epsilon to 1.
    """
    loss = law.loss
    gaps = np.expm1(np.minimum(np.diff(loss), 700.0)) * np.exp(loss[:-1].astype(np.longdouble))
    delta = _ends(np.append(_tail(gaps * _tail(_masses(law.log_p))[1:]), 0.0))
    slack = law.atoms.slack + UNIT * (64 + 8 * np.abs(loss)) + 4 * len(loss) * _FINE
    delta = np.minimum(delta, 1.0)
    shift = 8 * UNIT * (1 + np.max(np.abs(loss))) + float(np.max(law.atoms.slack))  # the slack counts the sums of losses too
    upper = np.minimum(delta * (1 + slack + shift) + q_plus * (1 + 16 * UNIT) + law.lost + TINY, 1.0)
    lower = delta * np.maximum(1 - slack - shift, 0.0) + q_plus * (1 - 16 * UNIT)

    def fenced(at: Array) -> Array:
        return np.concatenate([[loss[0] - _FAR], at, [loss[-1] + _FAR]])

    def ended(value: Array, first: float) -> Array:
        return np.concatenate([[first], value, value[-1:]])

    return Profile(fenced(loss + shift), ended(upper, 1.0), fenced(loss - shift), ended(lower, 1 - 8 * UNIT), q_plus * (1 - 16 * UNIT))
