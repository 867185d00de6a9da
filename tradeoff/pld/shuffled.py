"""Law of L for shuffled local randomisers, by clones of the record in question.

C ~ Bin(n-1, e^-eps0) others are clones, each of which shows either answer of the record with probability 1/2.
With m = C + 1 answers of either kind to be seen, a ~ Bin(m, 1/2) of the first and y = |m - 2a|/m, the record
is a randomised response with tau y = tanh(eps/2), tau = tanh(eps0/2): L = +- 2 artanh(tau y), P(L = +-) = (1
-+ tau y)/2.

So the law is a mixture over y, published. Its profile grows with y and is convex in it, which leaves three
ways to make it small that never overstate privacy: m may be rounded down (an answer more is one clone less),
mass may move to a larger y, and mass may be spread to both sides of y.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import expit

from tradeoff.intervals.functions import exp, expm1, log
from tradeoff.intervals.rounding import UNIT, Array, Index
from tradeoff.intervals.special import log_pmf
from tradeoff.pld.discrete import AtomicLaw

_SMALLEST = 1e-300  # least epsilon, which bounds smaller ones: below it products underflow
_REACH = 14.0  # standard deviations of C and of a that are listed: e^-98 lies beyond, and is moved to y = 1
_CLASSES, _LISTED = 512, 4_000_000  # most classes of C, and most pairs of C and a: a second or two
_NODES = (
    8192  # values of y, if there are more: over 14 standard deviations they add 1e-6 of one to its variance
)
_SHARE = 2.0**-40  # more than the rounding of a share of a cell of y, which moves outwards


@lru_cache(maxsize=16)
def shuffled_law(epsilon: float, records: int) -> AtomicLaw:
    """Return the law for ``records`` shuffled answers, each of them epsilon-DP."""
    epsilon = max(epsilon, _SMALLEST)
    y, weight, slack = _spread(*_distances(float(log(expm1(epsilon)).upper), records - 1))
    kept = weight > 0
    y, weight, slack = y[kept], weight[kept], slack[kept]
    # Near 1, 1 - tau = 2/(1 + e^eps0) and 1 - y keep the digits that tau y has lost.
    x, rest = math.tanh(epsilon / 2) * y, (2 / (1 + exp(epsilon))).lower
    below, above = (1 - y) + y * rest, 1 + x
    loss = np.where(x < 0.5, 2 * np.arctanh(np.minimum(x, 0.5)), np.log(above / below))
    order = np.argsort(np.concatenate([-loss, loss]), kind="stable")
    log_p = np.log(np.concatenate([weight, weight]) / 2) + np.log(np.concatenate([above, below]))
    # Beside the weights a dozen roundings, and those of the logarithm.
    slack = (np.concatenate([slack, slack]) + UNIT * (16 + 4 * np.abs(log_p)))[order]
    # A loss is good to a few units of itself, and so is the cell of y.
    losses, position = np.concatenate([-loss, loss])[order], 32 * UNIT * epsilon
    return AtomicLaw(losses, log_p[order], slack=slack, position=position)


def _distances(odds: float, others: int) -> tuple[Array, Array, Array]:
    """List y with its probability and the relative error of that, C ~ Bin(others, 1/(1 + e^odds))."""
    clones, weights, slack, lost = _clones(odds, others)
    listed = [_answers(c + 1, w, s) for c, w, s in zip(clones, weights, slack, strict=True)]
    listed.append((np.ones(1), np.array([lost]), np.array([4 * UNIT])))
    y, weight, error = (np.concatenate(column) for column in zip(*listed, strict=True))
    return y, weight, error


def _clones(odds: float, others: int) -> tuple[Array, Array, Array, float]:
    """Return classes of C by their least, with probabilities, and a bound on the probability below all."""
    mean = others * expit(-odds)
    reach = _REACH * np.sqrt(mean * expit(odds)) + _REACH
    low, high = max(0, int(mean - reach)), min(others, int(mean + reach) + 1)
    c = np.arange(low, high + 1, dtype=float)
    log_w, slack = log_pmf(c, others, odds) if others else (np.zeros(1), np.zeros(1))
    w = np.exp(log_w)
    lost = w[0] * _geometric(low * np.exp(odds) / (others - low + 1)) if low else 0.0
    w[-1] *= 1 + _geometric((others - high) * np.exp(-odds) / (high + 1))
    classes = min(_CLASSES, 1 + int(_LISTED / (_REACH * np.sqrt(high + 1) + 1)))
    starts = np.arange(0, len(c), -(-len(c) // classes))
    error = np.max(slack) + UNIT * (len(c) + 8 + np.max(np.abs(log_w)))
    return c[starts], np.add.reduceat(w, starts), np.full(len(starts), error), float(lost)


def _answers(m: float, weight: float, slack: float) -> tuple[Array, Array, Array]:
    """Return y = (m - 2a)/m for a ~ Bin(m, 1/2) with the probabilities of both signs, times a weight."""
    low, middle = max(0, int(m / 2 - _REACH / 2 * np.sqrt(m) - 1)), int(m // 2)
    a = np.arange(low, middle + 1, dtype=float)
    log_b, error = log_pmf(a, int(m), 0.0)
    b = np.where(2 * a == m, 1.0, 2.0) * np.exp(log_b) * weight
    far = b[0] * _geometric(low / (m - low + 1))
    y, b = np.append((m - 2 * a) / m, 1.0), np.append(b, far)
    return y, b, np.append(error, error[0]) + slack + UNIT * (8 + np.max(np.abs(log_b)))


def _geometric(ratio: float) -> float:
    """Bound the sum of all that follows a term, relative to it, where ratios fall from ``ratio`` < 1 on."""
    return float(ratio / (1 - ratio) * (1 + 16 * UNIT))


def _added(at: Index, weight: Array, size: int) -> Array:
    return np.asarray(np.bincount(at, weight, size), dtype=float)


def _spread(y: Array, weight: Array, slack: Array) -> tuple[Array, Array, Array]:
    """Add up weights of the same y; where there are too many, spread each to its neighbours on a grid."""
    if len(y) <= _NODES:
        nodes, at = np.unique(y, return_inverse=True)
        return nodes, _added(at, weight, len(nodes)), np.full(len(nodes), np.max(slack) + UNIT * len(y))
    top = np.max(y[y < 1]) * (1 + 4 * UNIT)
    nodes = np.append(np.linspace(0.0, top, _NODES), 1.0)
    cell = np.minimum((y / nodes[1]).astype(int), _NODES - 2)
    share = np.clip((y - nodes[cell]) / (nodes[cell + 1] - nodes[cell]) + _SHARE, 0.0, 1.0)
    cell, share = np.where(y > top, _NODES, cell), np.where(y > top, 0.0, share)
    size = _NODES + 1
    result = _added(cell, weight * (1 - share), size)
    result += _added(np.minimum(cell + 1, _NODES), weight * share, size)
    most = 2 * np.max(np.bincount(cell))
    return nodes, result, np.full(size, np.max(slack) + UNIT * (most + 4))
