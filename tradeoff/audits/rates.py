"""Limits on rates from counts: the binomial tail, its inverse, and two p-values made one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincc, betainccinv

from tradeoff.curves.parameters import number
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log
from tradeoff.intervals.roots import largest
from tradeoff.intervals.rounding import TINY, Array, Index, up

# Relative error charged to SciPy's incomplete beta: 700 times the worst that balls show, to 1e7 trials.
SLACK = 1e-10

# Relative room left to the inverse, which stops searching where the tail is right to about 1e-9.
_ASIDE = 1e-6

# Counts beyond it are set apart by an eighth of themselves, which costs less than more tests would.
_SHARE = 8


def sure(confidence: object) -> float:
    """Return a checked confidence, a fraction rounded up."""
    return number("confidence", confidence, 0, 1, open_low=True, open_high=True)


def tail(count: ArrayLike, trials: int, rate: ArrayLike) -> Array:
    """Return an upper bound on P(K <= count) for K ~ Bin(trials, rate).

    Examples
    --------
    >>> float(tail(1, 2, 0.5)) >= 0.75
    True
    """
    inner = np.minimum(np.asarray(count, dtype=float), trials - 1)
    value = betaincc(inner + 1, trials - inner, np.asarray(rate, dtype=float))
    return np.where(np.asarray(count) >= trials, 1.0, np.minimum(value * (1 + SLACK) + TINY, 1.0))


def most(count: ArrayLike, trials: int, level: ArrayLike) -> Array:
    """Return the largest rate at which so few successes are not rarer than ``level``, rounded up.

    Notes
    -----
    The one-sided limit of Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", 1934. What the inverse returns is verified by ``tail``, and is 1 otherwise.

    Examples
    --------
    >>> float(most(0, 10, 0.05)) >= 1 - 0.05 ** (1 / 10)
    True
    """
    level = np.asarray(level, dtype=float)
    inner = np.minimum(np.asarray(count, dtype=float), trials - 1)
    rate = np.minimum(up(betainccinv(inner + 1, trials - inner, level * (1 - _ASIDE))), 1.0)
    return np.where((np.asarray(count) < trials) & (tail(inner, trials, rate) <= level), rate, 1.0)


def nodes(trials: int) -> Index:
    """Return the numbers of rejected null scores at which tests are set, closest at both ends."""
    steps = [0]
    while steps[-1] < trials // 2:
        steps.append(steps[-1] + max(1, steps[-1] // _SHARE))
    low = np.array(steps)
    low = low[low < trials]
    return np.unique(np.concatenate([low, trials - 1 - low]))


def jointly(chance: float) -> float:
    """Return a t, rounded down, with P(p q <= t) <= chance for two p-values, one valid given the other.

    Notes
    -----
    P(p q <= t) <= t (1 - log t): "Statistical methods for research workers", Fisher 1932, for two p-values.
    """
    return largest(lambda t: combined(t) <= chance, 0.0, chance)


def combined(product: float) -> float:
    """Return the p-value t (1 - log t) of the product of two, rounded up."""
    t = Bounds.of(max(product, TINY))
    return min(float((t * (1 - log(t))).upper), 1.0)
