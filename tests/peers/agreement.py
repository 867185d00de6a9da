"""What it means here that a number of a neighbour's test agrees, and how its tables are read."""

import math

from scipy.stats import binom

import tradeoff as to
from tradeoff import mechanisms as m


def holds(bounds, expected, off):
    """Whether a number overlaps bounds, given its own tolerance."""
    return bounds.lower - off <= expected <= bounds.upper + off


def near(curve, epsilon, expected, off):
    assert holds(curve.bounds.delta(epsilon), expected, off)


def dots(masses, infinite, step=1.0):
    """Return delta at the grid points of connect-the-dots masses."""
    return {
        k * step: infinite + sum(p * -math.expm1(step * (k - j)) for j, p in masses.items() if j > k)
        for k in masses
    }


def one_order(curve, adjacency):
    """Return the order in which the peer's upper law is Q: removing has the record there."""
    return curve if adjacency == "remove" else ~curve


def replaced(sigma, sensitivity, rate):
    """Return the curve of a normal sum over a Poisson sample, of which a record is replaced."""
    return m.SubsampledGaussian(sigma / sensitivity, rate, adjacency="replace-one").curve()


def cut_batches(records, rate, most, sigma):
    """Return how probable it is that others fill a batch, and the peer's curve then: a record gives way."""
    full = binom.sf(most - 1, records - 1, rate)
    inside = binom.sf(most, records, rate) * most / full / records
    there = {0: 1 - inside, 2: inside}
    return full, to.GaussianMixtures(null={-x: w for x, w in there.items()}, alternative=there, sigma=sigma)
