"""Laws of L of records in random order and of steps chosen at random: amplification, by finitely many losses.

**Shuffled local randomisers**, by clones of the record in question.

Of any randomiser, C ~ Bin(n-1, e^-eps0) others are clones, each of which shows either answer of the record
with probability 1/2. With m = C + 1 answers of either kind to be seen, a ~ Bin(m, 1/2) of the first and y =
|m - 2a|/m, the record is a randomised response with tau y = tanh(eps/2), tau = tanh(eps0/2): L = +- 2
artanh(tau y), P(L = +-) = (1 -+ tau y)/2.

So the law is a mixture over y, published. Its profile grows with y and is convex in it, which leaves three
ways to make it small that never overstate privacy: m may be rounded down (an answer more is one clone less),
mass may move to a larger y, and mass may be spread to both sides of y.

Randomised response with k answers has a privacy blanket (Balle, Bell, Gascon, Nissim 2019; the best of all
decompositions: Su, Cheng, Wang 2025). Another record shows either answer of the record in question with
probability 1/D each, D = e^eps0 + k - 1, one of the k - 2 others with (k - 2)/D, and else its own true
answer, which is published. Of s answers of either kind, a of the first, and o of other kinds, none published,
(s, o) has the same probability in both laws, a ~ Bin(s, 1/2) in their mean, and with theta = e^eps0 - 1

    e^L = (s + o + theta (s - a))/(s + o + theta a) = (1 + tau z y)/(1 - tau z y), y = (s - 2a)/s,

z = (theta + 2)/(theta + 2 + 2 o/s), which is 1 for k = 2: there C ~ Bin(n-1, 2/D). It is safe to round s down
in y, as the mean of s signs averages that of fewer, to round s up and o down in z, and to spread o to both
sides, as z is convex in o.

**One step of many chosen at random**, above and below: lattices of ratios, which products compose.

Steps may be correlated: with the record absent, and X normal with the Gram matrix G of the means of steps,
the ratio is Y = mean over i of Y_i = e^(X_i - G_ii/2). Let G' >= G in each entry, both Gram matrices, and phi
convex. Along G + s (G' - G) the derivative of E phi(Y) is half the sum of (G'_ij - G_ij) E phi''(Y) Y_i Y_j
over all i and j, divided by their number squared: never negative (Kahane 1986; terms of first order cancel,
as each Y_i has mean 1, so that i = j is like the others). Hockey-sticks of both orders are such expectations.
So ``Groups`` at or above G in each entry, and those at or below, bound them.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tradeoff.intervals.functions import exp, expm1, log
from tradeoff.intervals.rounding import UNIT, Array, Index
from tradeoff.intervals.special import log_pmf
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.law import masses

_REACH = 14.0  # standard deviations of C and of a that are listed: e^-98 lies outside, and is moved to y = 1
_LISTED = 4_000_000  # most pairs of C and a: a second or two
_NODES = 8192  # most values of y: over 14 standard deviations they add 1e-6 of one to its variance
_SHARE = 2.0**-40  # more than the rounding of a share of a cell of y, which moves outwards


@lru_cache(maxsize=16)
def shuffled_law(epsilon: float, records: int, categories: int | None = None) -> AtomicLaw:
    """Return the law for shuffled answers: any epsilon-DP ones, or randomised response."""
    epsilon = max(epsilon, 1e-300)  # least epsilon, which bounds smaller ones: below it products underflow
    if categories is None or categories == 2:
        # y for C ~ Bin(n - 1, 1/(1 + e^odds)).
        odds = log(expm1(epsilon) / (categories or 1))
        c, w, error, lost, above_all = _clones(float(odds.upper), records - 1)
        w[-1] += above_all
        starts = _starts(len(c), c[-1])
        parts = zip(c[starts] + 1, np.add.reduceat(w, starts), strict=True)
        listed = [*(_answers(m, each, error) for m, each in parts), _at_one(lost)]
    else:
        listed = _distances_of_many(epsilon, records - 1, categories - 2)
    y, weight, slack = _spread(*map(np.concatenate, zip(*listed, strict=True)))
    kept = weight > 0
    y, weight, slack = y[kept], weight[kept], slack[kept]
    # Near 1, 1 - tau = 2/(1 + e^eps0) and 1 - y keep the digits that tau y has lost.
    x, rest = math.tanh(epsilon / 2) * y, (2 / (1 + exp(epsilon))).lower
    below, above = (1 - y) + y * rest, 1 + x
    loss = np.where(x < 0.5, 2 * np.arctanh(np.minimum(x, 0.5)), np.log(above / below))
    order = np.argsort(np.concatenate([-loss, loss]), kind="stable")
    log_p = np.log(np.concatenate([weight, weight]) / 2) + np.log(np.concatenate([above, below]))
    # With the weights a dozen roundings, and those of the logarithm.
    slack = (np.concatenate([slack, slack]) + UNIT * (16 + 4 * np.abs(log_p)))[order]
    # A loss is good to a few units of itself, and so is the cell of y.
    losses, position = np.concatenate([-loss, loss])[order], 32 * UNIT * epsilon
    return AtomicLaw(losses, log_p[order], slack=slack, position=position)


Listed = tuple[Array, Array, Array]  # y, its probability and the relative error of that


def _distances_of_many(epsilon: float, others: int, more: int) -> list[Listed]:
    """List y z, for randomised response with 2 + ``more`` answers."""
    least = 9  # least number of values of o, if there are more
    e = exp(epsilon)
    odds, odds_of_more = log((e + (more - 1)) / 2).mid, float(log(expm1(epsilon) / more).upper)
    c, w, error, *lost = _clones(float(odds), others)
    # The derivative of log P(C = c) by the odds is E C - c, and they are good to some units.
    error += 16 * UNIT * (1 + abs(odds)) * (c[-1] - c[0] + _REACH)
    starts, listed = _starts(len(c), c[-1] * least**2), [_at_one(sum(lost), error)]
    stops = np.append(starts[1:], len(c)) - 1
    values = max(least, int(_LISTED / (2 * _REACH * len(starts) * math.sqrt(c[-1] + 1))))
    for first, last, weight in zip(c[starts], c[stops], np.add.reduceat(w, starts), strict=True):
        o, share, error_of_o, lost_of_o = _spread_counts(odds_of_more, others - int(last), values)
        listed.append(_at_one(lost_of_o * weight, error))
        for own, chance in ((1, (e + 1) / (e + 1 + more)), (0, more / (e + 1 + more))):
            if last + own == 0:
                listed.append((np.zeros(1), np.array([weight * chance.mid]), np.array([error + 32 * UNIT])))
                continue
            y, b, slack = _answers(max(first + own, 1.0), weight * chance.mid, error)
            z = ((e + 1) / (e + 1 + 2 * (o + (1 - own)) / (last + own))).upper
            product = np.minimum(np.nextafter(np.multiply.outer(z, y), 2.0), 1.0)
            product[:, -1] = 1.0  # all that are not listed
            total = np.broadcast_to(slack + error_of_o + 32 * UNIT, product.shape)
            listed.append((product.ravel(), np.multiply.outer(share, b).ravel(), total.ravel()))
    return listed


def _at_one(weight: float, slack: float = 0.0) -> Listed:
    return np.ones(1), np.array([weight]), np.array([slack + 4 * UNIT])


def _clones(odds: float, others: int) -> tuple[Array, Array, float, float, float]:
    """Return C with probabilities, their relative error, and bounds on those below and above."""
    mean = others * expit(-odds)
    reach = _REACH * np.sqrt(mean * expit(odds)) + _REACH
    low, high = max(0, int(mean - reach)), min(others, int(mean + reach) + 1)
    c = np.arange(low, high + 1, dtype=float)
    log_w, slack = log_pmf(c, others, odds) if others else (np.zeros(1), np.zeros(1))
    w = np.exp(log_w)
    lost = w[0] * _geometric(low * np.exp(odds) / (others - low + 1)) if low else 0.0
    above = w[-1] * _geometric((others - high) * np.exp(-odds) / (high + 1))
    error = np.max(slack) + UNIT * (len(c) + 8 + np.max(np.abs(log_w)))
    return c, w, float(error), float(lost), float(above)


def _starts(size: int, highest: float) -> Index:
    """Return where classes of C start, few enough that all of a can be listed for each."""
    classes = min(512, 1 + int(_LISTED / (_REACH * np.sqrt(highest + 1) + 1)))
    return np.arange(0, size, -(-size // classes))


def _spread_counts(odds: float, trials: int, values: int) -> tuple[Array, Array, float, float]:
    """Spread C to both sides on so few of its values; return these as ``_clones`` does."""
    c, w, error, lost, above = _clones(odds, trials)
    w[-1] += above
    if len(c) <= values:
        return c, w, error, lost
    nodes = np.linspace(c[0], c[-1], values)
    cell = np.minimum(np.searchsorted(nodes, c, side="right") - 1, values - 2)
    share = np.clip((c - nodes[cell]) / (nodes[1] - nodes[0]) - _SHARE, 0.0, 1.0)
    weight = _added(cell, w * (1 - share), values) + _added(cell + 1, w * share, values)
    return nodes, weight, error + UNIT * (2 * len(c) + 8), lost


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


_LEAST = 1e-12  # least mu of a law: a smaller one is a greater one with noise added, and no less private
_RATIOS = 1024  # ratios of a block: dense where most of its mass is, so that they add 1e-4 to its variance
_LEFT = 1e-60  # mass under P, or under Q, that is moved from the ends of a block to the ratios 0 and infinity


class Block(NamedTuple):
    """Ratios, increasing, their mass under P, Q at infinity, and relative errors of masses and ratios."""

    ratio: Array
    mass: Array
    infinite: float
    slack: float
    off: float


@lru_cache(maxsize=16)
def allocated_laws(mu: float, steps: int) -> tuple[AtomicLaw, AtomicLaw]:
    """Return laws of finitely many losses with hockey-sticks above, and below, those of one of ``steps``.

    A block of steps is given by the law of its mean ratio under P, and two blocks make a third. Mass between
    two nodes goes to both, its mean kept: the true pair is made of that one by post-processing, and so is
    then every pair made of such blocks. Or it goes to its mean: that pair is made of the true one.
    """
    above = _law(_mean(_single(max(mu, _LEAST), merged=False), steps, merged=False))
    if mu < _LEAST:
        return above, AtomicLaw(np.zeros(1), np.zeros(1))
    return above, _law(_mean(_single(mu, merged=True), steps, merged=True))


class Groups(NamedTuple):
    """Steps in groups, whose X share variance: G_ij is common, + group in one group, + single for i = j."""

    steps: int
    size: int  # of a group; the last one may be smaller
    common: float
    group: float
    single: float


@lru_cache(maxsize=16)
def grouped_law(groups: Groups, *, merged: bool) -> AtomicLaw:
    """Return the law above that of correlated steps, or below it (``merged``).

    Given the shared variable, ratios of steps are independent; it multiplies their mean.
    """
    (steps, size), least = groups[:2], 0.0 if merged else _LEAST**2
    common, group, single = (x if x >= _LEAST**2 else least * (x > 0) for x in groups[2:])
    single = max(single, least)
    if single == 0:  # no loss is less than any
        return AtomicLaw(np.zeros(1), np.zeros(1))
    count, rest = divmod(steps, size)

    def group_of(n: int) -> Block:
        return _scaled(
            _mean(_single(math.sqrt(single), merged=merged), n, merged=merged), group, merged=merged
        )

    mean = _mean(group_of(size), count, merged=merged)
    if rest:
        mean = _joined(mean, 1 - rest / steps, group_of(rest), rest / steps, merged=merged)
    return _law(_scaled(mean, common, merged=merged))


def _law(block: Block) -> AtomicLaw:
    kept = (block.mass > 0) & (block.ratio > 0)
    loss, log_p = np.log(block.ratio[kept]), np.log(block.mass[kept])
    slack = block.slack + UNIT * (8 + 2 * np.abs(log_p))
    position = block.off + UNIT * (32 + 8 * float(np.max(np.abs(loss))))
    # More mass at infinity is never more private; _LEFT is more than all products below floats.
    zero = float(np.sum(block.mass[block.ratio == 0])) * (1 + 4 * block.slack)
    infinite = block.infinite * (1 + 4 * block.slack)
    if zero or infinite:
        zero, infinite = zero + _LEFT, infinite + _LEFT
    return AtomicLaw(loss, log_p, zero, infinite, slack, position=position)


def _mean(block: Block, n: int, *, merged: bool) -> Block:
    """Return the block of n independent ones."""
    if n == 1:
        return block
    half = _mean(block, n // 2, merged=merged)
    even = _joined(half, 0.5, half, 0.5, merged=merged)
    return even if n % 2 == 0 else _joined(even, (n - 1) / n, block, 1 / n, merged=merged)


@lru_cache(maxsize=16)
def _single(mu: float, *, merged: bool) -> Block:
    """Place a step on nodes: excess/(e^b - e^a) at the right of a cell, deficit/(1 - e^(a-b)) at its left."""
    # Standard deviations of a step that are resolved: e^-144 lies beyond.
    reach = mu * 17.0 + mu * mu / 2
    inner = _spaced(-reach, reach, mu)
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    cells = GaussianLaw(mu).cells(edges)
    # An edge is exact; its ratio, and the ratio of a width, are good to a few units.
    slack = float(np.max(cells.slack)) + 64 * UNIT
    if merged:
        p, q = masses(cells, edges)
        some = (p > 0) & (q > 0)
        return Block(q[some] / p[some], p[some], 0.0, slack, 2 * slack)
    fall = -np.expm1(-np.diff(edges))
    mass = cells.deficit / fall
    mass[1:] += cells.excess[:-1] / np.exp(inner) / fall[:-1]
    return Block(np.append(0.0, np.exp(inner)), mass, float(cells.excess[-1]), slack, 4 * UNIT)


def _spaced(low: float, high: float, scale: float) -> Array:
    """Return nodes between two logarithms of ratios, even up to the scale, in their logarithm beyond."""
    start, end = (math.asinh(side / (2 * scale)) for side in (low, high))
    return np.asarray(2 * scale * np.sinh(np.linspace(start, end, _RATIOS)))


def _ends(ratio: Array, mass: Array) -> tuple[float, float]:
    """Return logarithms of ratios beyond which there is hardly any mass, under P below and under Q above."""
    coarse = np.geomspace(np.min(ratio[ratio > 0]), np.max(ratio), 400)
    at = np.searchsorted(coarse, ratio)
    under_p, under_q = (np.bincount(at, m, len(coarse) + 1) for m in (mass, mass * ratio))
    low = int(np.searchsorted(np.cumsum(under_p), _LEFT)) - 1
    high = len(coarse) - int(np.searchsorted(np.cumsum(under_q[::-1]), _LEFT))
    return float(np.log(coarse[max(low, 0)])), float(np.log(coarse[min(high, len(coarse) - 1)]))


def _joined(one: Block, first: float, two: Block, second: float, *, merged: bool) -> Block:
    """Return the block of both, with their shares of the steps."""
    # More than the rounding of any sum here: more at infinity is never more private.
    infinite = first * one.infinite + second * two.infinite
    ratio = np.add.outer(first * one.ratio, second * two.ratio)
    return _placed(one, two, ratio, infinite, max(one.off, two.off) + 8 * UNIT, merged=merged)


def _scaled(block: Block, variance: float, *, merged: bool) -> Block:
    """Return the block times an independent ratio of a normal loss: both may be infinite."""
    if variance == 0:
        return block
    other = _single(math.sqrt(variance), merged=merged)
    ratio = np.multiply.outer(block.ratio, other.ratio)
    infinite = block.infinite + other.infinite
    return _placed(block, other, ratio, infinite, block.off + other.off + 8 * UNIT, merged=merged)


def _placed(one: Block, two: Block, ratio: Array, infinite: float, off: float, *, merged: bool) -> Block:
    """Return the block of ratios of two independent ones, an outer product, on nodes of its own."""
    ratio, mass = ratio.ravel(), np.multiply.outer(one.mass, two.mass).ravel()
    # The spread of a lognormal ratio of this variance; rows are sorted, which makes them quick to place.
    # ratios whose squares are floats: beyond, they do not change a spread
    scale = float(np.sqrt(np.log1p(np.sum(mass * (np.minimum(ratio, 1e150) - 1) ** 2))))
    nodes = np.append(0.0, np.exp(_spaced(*_ends(ratio, mass), scale)))
    cell = np.searchsorted(nodes, ratio, side="right") - 1
    if merged:
        nearest = nodes[np.maximum(cell, 1)]
        sums = np.asarray(np.bincount(cell, mass, _RATIOS + 1), dtype=float)
        moved = np.bincount(cell, mass * (ratio - nearest), _RATIOS + 1)
        some = sums > 0
        moved, sums, nodes = moved[some] / sums[some], sums[some], np.append(nodes[1], nodes[1:])[some]
        slack = one.slack + two.slack + UNIT * (int(np.max(np.bincount(cell))) + 16)
        # A mean of distances to a node, weighted by masses with this error.
        off += 4 * slack * float(np.max(np.abs(moved) / (nodes + moved)))
        return Block(nodes + moved, sums, 0.0, slack, off)
    cell = np.minimum(cell, _RATIOS - 1)
    left, right = nodes[cell], nodes[cell + 1]
    inside = np.minimum(ratio, nodes[-1])
    below, above = mass * ((right - inside) / (right - left)), mass * ((inside - left) / (right - left))
    added = np.bincount(cell, below, _RATIOS + 1) + np.bincount(cell + 1, above, _RATIOS + 1)
    # Each share is a quotient of differences of floats, 3 units; sums have as many terms as a node has pairs.
    slack = one.slack + two.slack + UNIT * (2 * int(np.max(np.bincount(cell))) + 16)
    infinite = (infinite + float(np.sum(mass * (ratio - inside)))) * (1 + 1e-9)
    return Block(nodes, np.asarray(added, dtype=float), infinite, slack, off)
