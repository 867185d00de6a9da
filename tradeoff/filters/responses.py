"""Symmetric curves as mixtures of randomised responses, and their profiles after Gaussian noise, in logs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.filters.costs import pure_loss
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, expm1, log, log1p, maximum, minimum, where
from tradeoff.intervals.normal import mills
from tradeoff.intervals.polygon import lower_hull
from tradeoff.intervals.quadrature import gauss_legendre
from tradeoff.intervals.rounding import UNIT, Array, around, down, up

_MOST_LOSSES = 2000  # labels of a mixture, at most: a look at one point then takes some 0.1 ms

# Width h of the lattice of losses over sqrt(r): the variance of L grows by h^2/6 at most, 4e-7 of r.
_RESOLUTION = 2e-3

# Below this mu the difference of two Mills ratios is integrated; from this t on 1 - t R(t) is a series.
_SMALL, _FAR = 0.1, 40.0

# Gauss-Legendre on [0, 1]. The weights hold the remainder, too: mu^10 (5!)^4/(11 (10!)^3) R^(11)/R' < 1e-18,
# as R^(11)/R', the mean of s^10 by s e^(-t s - s^2/2), falls in t, from 4800 at -0.05.
_NODES = [
    (Bounds(*around((1 + node) / 2)), Bounds(*around(weight / 2, 64)))
    for node, weight in zip(*gauss_legendre(5), strict=True)
]

_LOG_SQRT_2PI = log(Bounds(math.pi, math.nextafter(math.pi, 4)) * 2) / 2  # of the normal density


@dataclass(frozen=True)
class Responses:
    """Mixture of randomised responses: public label k of weight nu_k, then RR(loss_k); losses rise from 0."""

    loss: Array
    weight: Array

    @property
    def largest(self) -> float:
        """Return the largest loss."""
        return float(self.loss[-1])

    def delta(self, epsilon: Array) -> Array:
        """Return the profile sum of nu_k (e^l_k - e^eps)_+/(1 + e^l_k) at epsilon >= 0, rounded down."""
        gap = np.maximum(self.loss - epsilon[:, None], 0.0)
        units = len(self.loss) + 20  # a sum of positive terms, and of each its two functions and products
        return (-np.expm1(-gap) * expit(self.loss)) @ self.weight * (1 - units * UNIT)

    def log_delta(self, epsilon: Array, mu: float) -> Array:
        """Return log D at epsilon >= 0, of the mixture times G_mu, rounded up."""
        loss = np.append(self.loss, -self.loss)  # of two labels each, by 1 to e^-l
        share = log(np.append(self.weight, self.weight)) - log1p(exp(-loss))
        terms = (share + log_delta((Bounds.of(epsilon[:, None]) - loss).lower, mu)).upper
        most = np.max(terms, axis=1)
        powers = exp(Bounds.of(terms) - most[:, None]).upper
        return np.asarray((most + log(up(np.sum(powers, axis=1), len(loss)))).upper)


def log_delta(epsilon: ArrayLike, mu: float) -> Bounds:
    """Bound log delta_{G_mu}(eps), however small, as -a^2/2 - log sqrt(2 pi) + log(R(a) - R(a + mu)).

    For small mu the difference of Mills' ratios is the integral of -R' = 1 - t R(t), the transform of s
    e^(-s^2/2): as its derivatives have alternating signs, five nodes miss it from below, by less than a unit.
    """
    x = np.abs(epsilon)
    a = Bounds.of(x) / mu - mu / 2
    if mu < _SMALL:
        gain = sum((_shortfall(a + mu * at) * weight for at, weight in _NODES), Bounds(0.0, 0.0)) * mu
    else:
        gain = mills(a) - mills(a + mu)
    tail = minimum(log(gain) - a * a / 2 - _LOG_SQRT_2PI, 0.0)
    folded = log(exp(tail - x) - expm1(-x))  # delta(-x) = 1 - e^-x + e^-x delta(x)
    return where(np.less(epsilon, 0), folded, tail)


def _shortfall(t: Bounds) -> Bounds:
    """Bound 1 - t R(t), which cancels far out: there between two sums of its asymptotic series."""
    near = 1 - t * mills(t)
    if np.max(t.upper) <= _FAR:
        return near
    u = 1 / maximum(t, _FAR) ** 2
    series = u * (1 - u * (3 - u * (15 - u * (105 - u * (945 - u * Bounds(0.0, 10395.0))))))
    return where(np.greater(t.lower, _FAR), series, near)


def responses(f: Bounded, r: float) -> Responses | None:
    """Return a mixture below ``f``, or None where rounding does not let it be checked.

    Between its kinks the profile of the mixture is linear in e^eps, and that of f is convex: at the kinks it
    is checked to lie above, so that nothing before that check needs to be exact.
    """
    size = int(min(_MOST_LOSSES, 2 + f.top / (_RESOLUTION * math.sqrt(r))))
    loss = np.linspace(0.0, f.top, size) if f.kinks is None else f.kinks
    # The lower hull of upper bounds still bounds what is convex.
    s, goal = lower_hull(np.exp(loss), np.minimum.accumulate(f.at(loss)))
    goal = goal + 1e-11 * goal[0] * (s[-1] - s) / (s[-1] - 1)  # room for the roundings below
    slope = np.append(np.diff(goal) / np.diff(s), 0.0)
    weight = np.maximum(np.diff(slope), 0.0) * (1 + s[1:])  # the slope of RR(l) changes by 1/(1 + e^l) at l
    total = max(1.0, float(np.sum(weight)) * (1 + 1e-12))
    # Weights above 1 are scaled down, and losses up by as much as makes good for it at eps = 0.
    stretch = 1 + 1e-12 + 4 * (total - 1) * math.sinh(f.top) / f.top
    rest = max(0.0, (1 - Bounds.of(down(np.sum(weight / total), len(weight)))).upper)  # none is lost
    found = Responses(np.append(0.0, np.log(s[1:]) * stretch), np.append(rest, weight / total))
    return found if found.largest >= f.top and np.all(found.delta(found.loss) >= f.at(found.loss)) else None


@dataclass(frozen=True)
class Bounded:
    """Symmetric curve with losses up to ``top``, such that ``curve`` >= it (x) f_{0,leak}."""

    curve: TradeOff
    top: float
    leak: float = 0.0

    def at(self, epsilon: Array) -> Array:
        """Bound the profile from above: (delta - leak)/(1 - leak) below ``top``, 0 from there on."""
        delta = (self.curve.bounds.delta(epsilon) - self.leak) / (1 - Bounds.of(self.leak))
        return np.where(epsilon < self.top, np.maximum(delta.upper, 0.0), 0.0)

    @property
    def kinks(self) -> Array | None:
        """Return the losses >= 0 of a polygon, which need no lattice, a hair up, to reach the top."""
        if not isinstance(self.curve, PiecewiseLinear):
            return None
        loss = self.curve.loss_law().loss
        return np.append(0.0, loss[loss > 0] * (1 + 1e-12))


def bounded(curve: TradeOff, leak: float) -> Bounded | None:
    """Return the envelope of both orders without ``leak`` of its mass; None if still unbounded."""
    curve = curve.symmetrise(assume="either-order")
    epsilon, delta = pure_loss(curve)
    if math.isinf(epsilon):
        delta = leak
        epsilon = curve.epsilon(leak) if leak > curve.q_plus else math.inf
    return Bounded(curve, max(0.0, epsilon), delta) if math.isfinite(epsilon) else None
