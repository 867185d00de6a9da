"""Reference laws: sums over atoms in 50 digits, and enumerations of batches with one quadrature."""

import math
from fractions import Fraction
from itertools import combinations, product

import mpmath as mp
import numpy as np


def hockey_stick(p, q, epsilon):
    """Return sum (q - e^eps p)_+ in 50 digits."""
    with mp.workdps(50):
        return sum(max(b - mp.exp(epsilon) * a, 0) for a, b in zip(p, q, strict=True))


def dominated(curve, p, q, losses=(-3.0, -0.7, -0.2, 0.0, 0.1, 0.4, 0.9, 1.3, 2.5)):
    return all(
        hockey_stick(one, two, e) <= curve.bounds.delta(e).upper
        for e in losses
        for one, two in ((p, q), (q, p))
    )


def truncated_delta(normal, scale, shift, cut, epsilon):
    """Return delta of noise on [-cut, cut], in 220 digits."""

    def cdf(x):
        if normal:
            return mp.ncdf(x / scale)
        return mp.exp(x / scale) / 2 if x < 0 else 1 - mp.exp(-x / scale) / 2

    with mp.workdps(220):
        scale, shift, cut, epsilon = map(mp.mpf, (scale, shift, cut, epsilon))
        kept = cdf(cut) - cdf(-cut)

        # Where the loss is epsilon; Laplace losses are constant outside [0, shift].
        if normal:
            place = scale**2 * epsilon / shift + shift / 2
        else:
            place = (shift + scale * epsilon) / 2 if abs(epsilon) < shift / scale else cut * mp.sign(epsilon)
        threshold = min(max(place, shift - cut), cut)
        q = (cdf(cut) - cdf(threshold - shift)) / kept
        return q - mp.exp(epsilon) * (cdf(cut) - cdf(threshold)) / kept


EPSILON = np.array([-1.0, -0.1, 0.0, 0.05, 0.3, 1.0, 2.0])
X = np.linspace(-14, 14, 40_001)
ROUNDING = 2e-7
"""More than the error of the sums below: the square of a step, at the kinks where an integrand becomes 0."""


def profile(null, alternative, sigma):
    """Return delta at EPSILON of two mixtures of normal laws {mean: weight}, by the trapezoid rule."""
    p, q = (
        sum(float(w) * np.exp(-(((X - a) / sigma) ** 2) / 2) for a, w in law.items())
        / (sigma * math.sqrt(2 * math.pi))
        for law in (null, alternative)
    )
    return np.array([np.sum(np.maximum(q - math.exp(e) * p, 0)) * (X[1] - X[0]) for e in EPSILON])


def law_of(batches, values):
    """Return {sum: weight} of a list of (weight, indices)."""
    result = {}
    for weight, chosen in batches:
        total = sum(values[i] for i in chosen)
        result[total] = result.get(total, 0) + weight
    return result


def poisson(n, q):
    for chosen in product((0, 1), repeat=n):
        yield q ** sum(chosen) * (1 - q) ** (n - sum(chosen)), [i for i in range(n) if chosen[i]]


def fixed(n, size):
    every = list(combinations(range(n), size))
    yield from ((Fraction(1, len(every)), chosen) for chosen in every)


def drawn(n, draws):
    yield from ((Fraction(1, n**draws), chosen) for chosen in product(range(n), repeat=draws))


def cut(n, q, most):
    for weight, chosen in poisson(n, q):
        kept = list(combinations(chosen, min(most, len(chosen))))
        yield from ((weight / len(kept), each) for each in kept)


SIGMA, Q = 0.8, Fraction(1, 4)
VALUES = (-1.0, 0.0, 1.0)


def worst(batches, changed, sigma=SIGMA):
    """Return the largest profile over all data sets, of the batches without and with the change."""
    result = np.zeros(len(EPSILON))
    for before, after in changed:
        null, alternative = (law_of(batches(len(values)), values) for values in (before, after))
        result = np.maximum(result, profile(null, alternative, sigma))
    return result


def replaced(n):
    for rest in product(VALUES, repeat=n - 1):
        for one, two in product(VALUES, repeat=2):
            yield (one, *rest), (two, *rest)


def added(n, group=1):
    for rest in product(VALUES, repeat=n - group):
        for more in product(VALUES, repeat=group):
            yield rest, (*rest, *more)


def at_most(value, curve, exact):
    upper = curve.bounds.delta(EPSILON).upper
    assert (value <= upper + ROUNDING).all()
    if exact:
        assert (value >= curve.bounds.delta(EPSILON).lower - ROUNDING).all()
