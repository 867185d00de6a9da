r"""The largest r' with f (x) G_r' >= G_r: what a Gaussian budget r has left after a symmetric step f.

A symmetric f with finite losses is a mixture of randomised responses with public labels |L| = l, of weights
nu. With D(eps) = delta of f (x) G_r', the order f (x) G_r' >= G_r says D <= delta_{G_r} for eps >= 0; for eps
< 0 it follows by symmetry.

Between two points where it is known, D is held by its curvature. D(eps) = E delta_f(eps - Y) with Y normal of
variance r'^2, so (log D)'' = -1/r'^2 + Var/r'^4 >= -1/r'^2, with the variance of the posterior of Y; and log
delta_{G_r} is concave, as a convolution of log-concave functions is log-concave (Prekopa). So log D - log
delta_{G_r} exceeds its chord over a cell of width h by at most h^2/(8 r'^2); nor by more than h^2 (v + v^2)/8
with v = 1/delta_{G_r'} - 1 at the cell's end: D' = -R and D'' >= -R, R = e^eps P(L > eps), so -(log D)'' <=
R/D + (R/D)^2; and R/D <= (1 - D)/D, which grows with eps and is at most v, as D >= delta_{G_r'}.

Far out the densities decide. With e^{l/2} dP as reference they are even, and their log-ratio is at most -a
l^2/2 + b l + c, a = 1/r'^2 - 1/r^2, b = max loss/r'^2, c = (r^2 - r'^2)/8 + log(r/r'). Where that is negative
for good, D < delta_{G_r}.

Two cases need no search. With m the difference of those densities, J(eps) = e^{-eps/2} (D - delta_{G_r}) is
the integral of 2 sinh((l - eps)/2) m(l) over l > eps, or of its negative over l < eps, as m is orthogonal to
e^{l/2} and e^{-l/2}: both are probability laws under P and under Q. J'' = J/4 + m, so where m >= 0, J has no
positive inner maximum; and where m < 0 from a point on for good, J < 0.
(V) If a >= V/r'^4, V a bound on every tilted variance of L, the log-ratio is concave, so m has the signs
    (-, +, -), and J <= 0. Losses within [-eps, eps] have V <= eps^2 (Popoviciu).
(R) For one randomised response the log-ratio on l >= 0 is a constant plus log cosh(b l) - a l^2/2. Its slope
    b tanh(b l) - a l changes sign at most once, from + to -, so m has the signs (+, -) or (-, +, -) on l >=
    0. In the first case J <= max(J(0), 0). In the second J(0) <= 0 and J'(0) = 0 (J is even) make J fall
    until m turns positive. So J(0) <= 0 suffices: total variation alone decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from tradeoff.families.pure_dp import PureDP
from tradeoff.filters.costs import REMEMBERED, gdp_mu, square
from tradeoff.filters.responses import Bounded, Responses, log_delta, responses
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, expm1, log, minimum, sqrt
from tradeoff.intervals.rounding import Array

_MOST_WORK = 5_000_000  # pairs of a point and a label looked at before a check gives up: some seconds' work
_MARGIN = 2e-7  # share of r given up so that the order is strict, and seen through rounding

# What is searched: losses from this share of r up to 20, r in this range. Below that share, the variance
# takes at most 5e-7 of r too much.
_SHARE, _FARTHEST, _BUDGETS = 1e-3, 20.0, (1e-6, 50.0)

_LEAST = 1e-3  # share of r from which r' is searched: what leaves less takes all but 1e-6 of the budget
_TABLE = 200_000  # pairs of a point and a label in memory at once: 1.6 MB, and a few times that

# Cells that a check begins with, and how often a point that fails it is tried: twice in practice.
_CELLS, _AGAIN = 64, 12


@lru_cache(maxsize=REMEMBERED)
def charge(f: Bounded, r: float) -> float:
    """Return r^2 - r'^2 in [0, r^2], rounded up, with r' within 1e-6 of the largest; inf if none is found."""
    if f.top <= min(_SHARE * r, 1.0):
        return by_variance(square(f.top), r)
    mu = gdp_mu(PureDP(f.top) if f.leak else f.curve)
    return min(by_search(f, r), by_variance(square(f.top), r), by_envelope(mu, r))


def by_search(f: Bounded, r: float) -> float:
    """Return the charge with the largest r' that a search proves."""
    left = 0.0
    if f.top <= _FARTHEST and _BUDGETS[0] <= r <= _BUDGETS[1]:
        if isinstance(f.curve, PureDP):
            left = pure_residual(f.top, r)
        elif mixture := responses(f, r):
            left = residual(mixture, r)
    return float(((Bounds.of(r) - left) * (Bounds.of(r) + left)).upper) if left > 0 else math.inf


def by_variance(variance: float, r: float) -> float:
    """Return the charge of (V), 2V/(1 + sqrt(1 - 4V/r^2)): r'^2 is a root of x^2/r^2 - x + V = 0."""
    room = 1 - 4 * Bounds.of(variance) / r / r
    return float((2 * Bounds.of(variance) / (1 + sqrt(room))).upper) if room.lower >= 0 else math.inf


def by_envelope(mu: float, r: float) -> float:
    """Return the naive charge mu^2, for f >= G_mu."""
    naive = square(mu)
    return naive if naive <= (Bounds.of(r) * r).lower else math.inf


def pure_residual(epsilon: float, r: float) -> float:
    """Return r' from (R): tanh(eps/2) + 2 delta_{G_r'}(eps)/(1 + e^eps) <= 2 Phi(r/2) - 1; 0.0 if none."""
    share, sure = 2 / (1 + exp(epsilon)), -expm1(-epsilon) / (1 + exp(-epsilon))
    missed = sure - exp(log_delta(0.0, r))

    def excess(mu: float) -> float:
        return float((missed + share * exp(log_delta(epsilon, mu))).upper)

    if not (root := _crossing(excess, r, 1e-15)):
        return 0.0
    proved = (root * (1 - m) for m in (1e-13, 1e-12, 1e-10, 1e-8, 1e-6))
    return next((found for found in proved if excess(found) < 0), 0.0)


def residual(f: Responses, r: float) -> float:
    """Return r' with f (x) G_r' >= G_r proved, within 1e-6 of the largest; 0.0 if none is.

    The necessary condition D(eps) <= delta_{G_r}(eps) is solved where it binds, first at eps = 0, then where
    the check fails.
    """
    at = 0.0
    for _ in range(_AGAIN):
        found = _equal(f, r, at) * (1 - _MARGIN)
        if not 0 < found < r:
            return 0.0
        violated = _violation(f, found, r)
        if violated is None:
            return found
        if violated == at:
            break
        at = violated
    return 0.0


def _equal(f: Responses, r: float, at: float) -> float:
    """Return the r' with D = delta_{G_r} at one epsilon."""
    epsilon = np.array([at])
    goal = float(log_delta(at, r).lower)

    def excess(mu: float) -> float:
        return float(f.log_delta(epsilon, mu)[0]) - goal

    return _crossing(excess, r, 1e-12)


def _crossing(excess: Callable[[float], float], r: float, closeness: float) -> float:
    """Return about where an increasing function is 0 below r; 0.0 if it is nowhere."""
    low = _LEAST * r
    if not excess(low) < 0 < excess(r):
        return 0.0
    from scipy.optimize import brentq  # 0.15 s that those who search nothing do without

    return float(brentq(excess, low, r, xtol=closeness * r, rtol=1e-14))


def _violation(f: Responses, mu: float, r: float) -> float | None:
    """Return None if D <= delta_{G_r} is proved everywhere, else where it fails, or is closest to failing."""
    edges = np.linspace(0.0, reach(f.largest, mu, r), _CELLS + 1)
    work = 0
    gaps = _gap(f, edges, mu, r)
    while True:
        if np.max(gaps) > -1e-13:  # nearer logarithms take too many cells to tell apart
            return float(edges[np.argmax(gaps)])
        rate = expm1(-log_delta(edges[1:], mu))
        bend = minimum(1 / Bounds.of(mu) ** 2, rate * (1 + rate))
        bow = (Bounds.of(edges[1:]) - edges[:-1]) ** 2 / 8 * bend
        open_ = np.flatnonzero((np.maximum(gaps[:-1], gaps[1:]) + bow).upper > 0)
        if len(open_) == 0:
            return None
        work += len(open_) * len(f.loss)
        if work > _MOST_WORK:
            return float(edges[np.argmax(gaps)])
        middle = (edges[open_] + edges[open_ + 1]) / 2
        edges = np.insert(edges, open_ + 1, middle)
        gaps = np.insert(gaps, open_ + 1, _gap(f, middle, mu, r))


def _gap(f: Responses, epsilon: Array, mu: float, r: float) -> Array:
    """Return log D - log delta_{G_r}, rounded up."""
    chunks = np.array_split(epsilon, 1 + len(epsilon) * len(f.loss) // _TABLE)
    mine = np.concatenate([f.log_delta(chunk, mu) for chunk in chunks])
    return np.asarray((mine - log_delta(epsilon, r)).upper)


def reach(loss: float, mu: float, r: float) -> float:
    """Return the greater root of -a l^2/2 + b l + c, rounded up: beyond it the densities decide."""
    m = Bounds.of(mu)
    apart = (r - m) * (r + m)
    a = apart / (m * r) ** 2
    b = loss / m**2
    c = apart / 8 + log(r / m)
    return float(((b + sqrt(b * b + 2 * a * c)) / a).upper)
