"""Confidence limits on rates from counts: the binomial tail, its inverse, and the product of p-values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincc, betainccinv

from tradeoff.curves.parameters import number
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log
from tradeoff.intervals.roots import largest
from tradeoff.intervals.rounding import Array, Index

# Relative error charged to SciPy's incomplete beta: 700 times the worst that balls show, to 1e7 trials.
SLACK = 1e-10

MIN_TAIL = 2.0**-1000  # no p-value needs a smaller tail, and below 2^-1022 floats lose their digits


def check_confidence(confidence: object) -> float:
    """Return a checked confidence."""
    return number("confidence", confidence, 0, 1, open_low=True, open_high=True)


def error_probability(confidence: float) -> float:
    """Return the probability of error 1 - confidence, rounded down."""
    return float((1 - Bounds.of(confidence)).lower)


def bound_tail(count: ArrayLike, trials: int, rate: ArrayLike) -> Array:
    """Return an upper bound on P(K <= count) for K ~ Bin(trials, rate).

    >>> float(bound_tail(1, 2, 0.5)) >= 0.75
    True
    """
    inner = np.minimum(np.asarray(count, dtype=float), trials - 1)
    value = betaincc(inner + 1, trials - inner, np.asarray(rate, dtype=float))
    return np.where(np.asarray(count) >= trials, 1.0, np.clip(value * (1 + SLACK), MIN_TAIL, 1.0))


def largest_rate(count: ArrayLike, trials: int, level: ArrayLike) -> Array:
    """Return the largest rate at which P(at most ``count`` successes) >= ``level``, rounded up.

    The one-sided limit of Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", 1934. The inverse is only a candidate: it is verified by the tail, and 1 otherwise.

    >>> float(largest_rate(0, 10, 0.05)) >= 1 - 0.05 ** (1 / 10)
    True
    """
    level = np.asarray(level, dtype=float)
    inner = np.minimum(np.asarray(count, dtype=float), trials - 1)
    # The inverse stops where the tail is within about 1e-9 of the level: it is given one below.
    rate = np.minimum(betainccinv(inner + 1, trials - inner, level * (1 - 1e-6)), 1.0)
    return np.where((np.asarray(count) < trials) & (bound_tail(inner, trials, rate) <= level), rate, 1.0)


def spaced_counts(trials: int) -> Index:
    """Return the numbers of rejected null scores at which tests are set, closest at both ends."""
    steps = [0]
    while steps[-1] < trials // 2:  # apart by an eighth of the count, which costs less than more tests would
        steps.append(steps[-1] + max(1, steps[-1] // 8))
    low = np.array(steps)
    low = low[low < trials]
    return np.unique(np.concatenate([low, trials - 1 - low]))


def joint_level(chance: float) -> float:
    """Return a t, rounded down, with P(p q <= t) <= chance for two p-values, one valid given the other."""
    return largest(lambda t: joint_p_value(t) <= chance, 0.0, chance)


def joint_p_value(product: float) -> float:
    """Return the p-value t (1 - log t) of the product of two, rounded up.

    "Statistical methods for research workers", Fisher 1932, for two p-values.
    """
    t = Bounds.of(max(product, MIN_TAIL))
    return min(float((t * (1 - log(t))).upper), 1.0)
