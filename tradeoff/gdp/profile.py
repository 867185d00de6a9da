"""What every cell of a profile needs of mu, and what a given mu leaves to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, ndtri_exp

from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, log1p, maximum
from tradeoff.intervals.roots import find_root, largest
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.operators.profile_samples import Floor, Nodes, chords, under

Mask = NDArray[np.bool_]
_JUST = 1e-3  # how far below what cells need nodes mostly ask for less, relative
_ULPS = 64  # units of 2^-53 charged to quantiles: ``ndtri`` and ``ndtri_exp`` err by a few, their sum by one

_MOST_MU = 64.0  # beyond, no profile is looked for: delta_{G_mu} is 1 to the last digit up to eps = 1500
_NEAR = 1e-14  # distance from the least mu, relative to the power of two above, at which it is found


def slopes(nodes: Nodes) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Return the cells of the lower hull of the upper bounds: start, end, and log of minus the slope in s.

    Leaving out a node only lengthens chords, so what is said of chords holds whichever nodes stay.
    """
    index = np.arange(len(nodes.epsilon))
    while True:
        a, b = nodes.epsilon[index[:-1]], nodes.epsilon[index[1:]]
        with np.errstate(divide="ignore", over="ignore"):
            fall = np.log(nodes.upper[index[:-1]] - nodes.upper[index[1:]]) - a - np.log(np.expm1(b - a))
        concave = np.flatnonzero(fall[1:] > fall[:-1])
        if len(concave) == 0:
            return index[:-1], index[1:], fall
        index = np.delete(index, concave[np.append(True, np.diff(concave) > 1)] + 1)


@dataclass(frozen=True)
class Lines:
    """What each cell needs: mu, its line c - alpha s, and the eps where the profile of mu touches it."""

    mu: Array
    log_alpha: Array
    c: Array
    touch: Array

    def inner(self, nodes: Nodes, needed: float) -> Array:
        """Return where to ask next: where lines above ``needed`` are touched, and halfway to the ends."""
        first, last, _ = slopes(nodes)
        start, end = nodes.epsilon[first], nodes.epsilon[last]
        open_ = self.mu > needed
        inside = open_ & (self.touch > start) & (self.touch < end)
        k = int(np.argmax(self.mu))
        worst = [] if inside[k] or not open_[k] else [(start[k] + end[k]) / 2]
        touch = self.touch[inside]
        return np.concatenate([touch, (start[inside] + touch) / 2, (touch + end[inside]) / 2, worst])


def cell_mu(nodes: Nodes, failure: float) -> Lines:
    """Return for each cell a mu with delta_f <= failure + (1 - failure) delta_{G_mu} on all of it.

    The chord is a line c - alpha s, and a line lies under the profile of a curve g for every s if g(alpha) <=
    1 - c (Dong, Roth, Su 2022, Proposition 2.12). For g = G_mu (x) f_{0,failure}, with alpha = (1 - failure)
    a and c = failure + (1 - failure) b, that is mu >= Phi^-1(1 - a) + Phi^-1(b).
    """
    first, last, log_alpha = slopes(nodes)

    def lifted(log_alpha: Array) -> Array:
        ends = (nodes.upper[k] + exp(Bounds.of(nodes.epsilon[k]) + log_alpha) for k in (first, last))
        return np.asarray(maximum(*ends).upper)

    # alpha is chosen freely; the line through it is then lifted over both ends. No profile falls as steeply
    # as bounds do that are wide beside a cell: there any alpha will do where g > 0.
    steep = ((log_alpha - log1p(-failure)).upper >= 0) & (lifted(log_alpha) > 1)
    log_alpha = np.where(steep, math.log((1 - failure) / 2), log_alpha)
    c, log_a = lifted(log_alpha), (log_alpha - log1p(-failure)).lower
    b = ((Bounds.of(c) - failure) / (1 - Bounds.of(failure))).upper
    # Else g is below 1 - c already: g <= 1 - failure, and g = 0 from 1 - failure on.
    needed = (b > 0) & (log_a < 0)
    z, y = -ndtri_exp(np.where(needed, log_a, -1.0)), ndtri(np.clip(b, 0.0, 1.0))
    with np.errstate(invalid="ignore"):
        mu = z + y + _ULPS * UNIT * (1 + np.abs(z) + np.abs(y))
    mu = np.where(needed, np.where(np.isnan(mu) | (b >= 1), np.inf, mu), 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        return Lines(np.maximum(mu, 0.0), log_alpha, c, mu * z - mu * mu / 2)


def goal(mu: float, failure: float, epsilon: Array) -> Bounds[Array]:
    """Bound failure + (1 - failure) delta_{G_mu}(eps), the profile of G_mu (x) f_{0,failure}."""
    return failure + (1 - Bounds.of(failure)) * above(mu, epsilon)


def above(mu: float, epsilon: Array) -> Bounds[Array]:
    """Bound delta_{G_mu}(eps), asked some hundred times, by the closed form alone."""
    return Bounds(*Gaussian(mu).delta_bounds(epsilon, None))


def needed(epsilon: Array, delta: Array, failure: float, near: float = math.inf) -> float:
    """Return the least mu, from below, whose profile with ``failure`` reaches delta at every node.

    It is looked for just below ``near`` first.
    """
    asked = delta > 0

    @cache
    def room(mu: float) -> float:
        """Return the least log of what mu gives over what is needed: below 0 only where it falls short."""
        with np.errstate(divide="ignore", over="ignore"):
            ratio = goal(mu, failure, epsilon[asked]).upper / delta[asked]
            return float(np.min(np.log(ratio), initial=np.inf))

    high = near if near < _MOST_MU else 1.0
    while room(high) < 0 and high < _MOST_MU:
        high = 2 * high
    low = high * (1 - _JUST) if room(high * (1 - _JUST)) < 0 else 0.0
    below = find_root(room, low, high, _NEAR * high) - 4 * _NEAR * high
    return below if below > 0 > room(below) else largest(lambda mu: room(mu) < 0, 0.0, high)


def gaps(nodes: Nodes, mu: float, failure: float) -> tuple[float, Array]:
    """Bound the largest (delta_g - delta_f)/(1 + e^eps), g = G_mu (x) f_{0,failure}, and that of each cell.

    Within a cell delta_g is under its chord, so the difference is at most a piecewise linear function of s,
    and such a function over 1 + s is largest at a corner.
    """
    result = goal(mu, failure, nodes.epsilon)
    least = ((result - nodes.upper) / (1 + exp(nodes.epsilon))).lower
    t, value = under(nodes)
    gap = maximum(Bounds.of(chords(nodes, result.upper, t)) - value, 0.0)
    weight = exp(-nodes.epsilon[:-1])
    most = gap * weight / (1 + t + weight)
    return float(np.max(least, initial=0.0)), np.max(most.upper, axis=0)


def stays_above(nodes: Nodes, floor: Floor, mu: float, failure: float) -> Mask:
    """Whether delta_{G_mu} <= failure + (1 - failure) delta_f on all of each cell."""
    most, (t, value) = above(mu, nodes.epsilon).upper, floor
    least = (failure + (1 - Bounds.of(failure)) * value).lower
    return np.asarray(np.all(chords(nodes, most, t) <= least, axis=0))
